"""Acts of a person on the label page, as the page sends them."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from annotate.models import QueueItem
from tests.factories import QueueItemFactory

STEPS = ["Call it $x$.", r"So $\frac{x}{2} = 3$.", "Then $x = 5$.", "It is 5.\n\n# Answer\n\n5"]
HTMX = {"HX-Request": "true"}


def make_item(**more: Any) -> QueueItem:
    return QueueItemFactory.create(solution__steps=STEPS, **more)


def post(client: Client, name: str, item: int, htmx: bool = True, **data: Any) -> Any:
    return client.post(reverse(name, args=[item]), data, headers=HTMX if htmx else {})


def rate(client: Client, item: int, index: int, rating: int, **more: Any) -> Any:
    return post(client, "label_rate", item, rating=f"{index}:{rating}", **more)
