"""What can go wrong between a person and the loop. Every message is written for that person to read.

Pages show the message; the API answers `status` with it. Knows nothing of HTTP beyond that number.
"""

from __future__ import annotations


class PlumblineError(Exception):
    """A refusal with its reason. `status` is the HTTP status an API answers with."""

    status = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotYourItem(PlumblineError):
    """The person never began this item, or it does not exist: both look the same from outside."""

    status = 404


class LeaseLost(PlumblineError):
    """Somebody else holds or has finished the item; the person's ratings stay as a draft."""

    status = 409


class AlreadySubmitted(PlumblineError):
    """The label is final."""

    status = 409


class InvalidRating(PlumblineError):
    """No such step, no such rating, or a step after the first error."""


class InvalidFinish(PlumblineError):
    """The finish reason does not fit the ratings, or lacks its reason in words."""
