"""What a verb refuses, in words a person can act on. Pages show the message; the API answers 400 or 409 with it."""

from __future__ import annotations


class PlumblineError(Exception):
    """A refusal; the message says what, where and how to mend it, and may be shown to the person who asked."""
