"""How much a person may ask of the API: counted once for all web processes where the broker is a Redis or Valkey."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.core.cache import caches
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import ScopedRateThrottle, SimpleRateThrottle, UserRateThrottle

if TYPE_CHECKING:  # it loads the settings, which name the classes below
    from rest_framework.views import APIView

log = logging.getLogger(__name__)


class Windows(SimpleRateThrottle):
    """Counts in windows that begin on the minute: two small commands a request, where DRF keeps a list of moments.

    A brake for a script that runs wild, no quota: where there is no count to be had, nobody is kept out.
    """

    cache = caches["throttle"]

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = self.get_cache_key(request, view)
        most, seconds = self.parse_rate(self.rate)
        if key is None or most is None or seconds is None:
            return True
        self.now = self.timer()
        window = f"{key}_{int(self.now // seconds)}"
        try:
            self.cache.add(window, 0, timeout=seconds)
            return self.cache.incr(window) <= most
        except (RedisError, ValueError) as error:  # ValueError: the window ended between the two
            log.warning("requests are not counted: %s", error)
            return True

    def wait(self) -> float:
        seconds = self.parse_rate(self.rate)[1]
        return seconds - self.now % seconds if seconds else 0


class PersonRate(UserRateThrottle, Windows):
    """Of all that one person asks."""


class ScopedRate(ScopedRateThrottle, Windows):
    """Of what one person asks where a view names a scope of its own."""
