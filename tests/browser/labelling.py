"""Acts on the label page in a browser, and what the server has of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.models import Label, StepRating

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def item(page: Page) -> int:
    return int(page.locator("#work").get_attribute("data-item") or 0)


def rate_and_fetch(page: Page, keys: str = "331") -> int:
    """Rate the item that is shown, to its end, and wait until the next one is there; the item that is shown."""
    shown = item(page)
    for key in keys:
        page.keyboard.press(key)
    page.locator("#standing:not([data-finish=''])").wait_for()
    page.wait_for_function("() => ahead.fetched.text")
    return shown


class Held:
    """Requests that the server gets only once they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self.page, self.pattern = page, pattern
        self.routes: list[Route] = []
        page.route(pattern, self.hold)

    def hold(self, route: Route) -> None:
        self.routes.append(route)

    def let_go(self) -> None:
        for route in self.routes:
            route.continue_()
        self.page.unroute(self.pattern)


def submit_unanswered(page: Page) -> tuple[int, Held]:
    """The item that was rated and submitted, its next one on the page; the server hears of it once it is let go."""
    first = rate_and_fetch(page)
    held = Held(page, "**/submit/")
    page.keyboard.press("Enter")
    return first, held


def ratings(page: Page) -> dict[int, list[int | None]]:
    """By item, once the page has nothing left to send."""
    page.evaluate("() => line")
    found: dict[int, list[int | None]] = {}
    for label in Label.objects.exclude(queue_item=None):
        rated = StepRating.objects.filter(label=label).order_by("step_index")
        found[label.queue_item_id or 0] = list(rated.values_list("rating", flat=True))
    return found


def saved(page: Page) -> list[int | None]:
    """The ratings in the database, once the page has nothing left to send."""
    page.evaluate("() => line")
    return list(StepRating.objects.order_by("label", "step_index").values_list("rating", flat=True))
