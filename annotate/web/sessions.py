"""Django's sessions in the database, read by a statement that is made once."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotate.models import Given, Statement

_LIVE = Statement(lambda: Session.objects.filter(session_key=Given("key"), expire_date__gt=Given("now")))


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Any:
        session = _LIVE.first(key=self.session_key, now=timezone.now())
        if session is None:
            self._session_key = None
        return session
