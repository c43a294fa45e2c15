"""Which key does what on the labelling page: the defaults, and what a person chose instead.

A key is what it prints (a letter in lower case, a digit, a sign) or one of NAMED. The arrows always move, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.errors import PlumblineError
from annotate.models import Person

DEFAULTS = {
    "bad": "1",
    "okay": "2",
    "great": "3",
    "next": "j",
    "previous": "k",
    "undo": "u",
    "redo": "r",
    "unsure": "q",
    "answer": "a",
    "zoom": "z",
    "give_up": "g",
    "bad_problem": "b",
    "skip": "s",
    "submit": "Enter",
    "rules": "i",
    "keys": "?",
}
NAMES = {
    "bad": gettext_lazy("bad"),
    "okay": gettext_lazy("okay"),
    "great": gettext_lazy("great"),
    "next": gettext_lazy("next step"),
    "previous": gettext_lazy("step before"),
    "undo": gettext_lazy("undo"),
    "redo": gettext_lazy("redo"),
    "unsure": gettext_lazy("unsure"),
    "answer": gettext_lazy("guess of the answer"),
    "zoom": gettext_lazy("step, large"),
    "give_up": gettext_lazy("give up"),
    "bad_problem": gettext_lazy("bad problem"),
    "skip": gettext_lazy("put aside"),
    "submit": gettext_lazy("submit"),
    "rules": gettext_lazy("rules"),
    "keys": gettext_lazy("keys"),
}
NAMED = ("Enter", "Space", "Backspace", "Delete", "Home", "End", "PageUp", "PageDown")


class BadKeys(PlumblineError):
    """Two actions on one key, or a key that is none."""


def keys_of(person: Person) -> dict[str, str]:
    """The person's key for every action."""
    return {action: person.keymap.get(action, key) for action, key in DEFAULTS.items()}


def choose_keys(*, person: Person, keys: Mapping[str, str]) -> None:
    """Keep the keys a person chose; an action that is left out or empty has its default.

    Raises BadKeys, and changes nothing, for a key that is none or that two actions would share.
    """
    chosen = {action: _read(keys.get(action, "")) or default for action, default in DEFAULTS.items()}
    by_key: dict[str, str] = {}
    for action, key in chosen.items():
        other = by_key.setdefault(key, action)
        if other != action:
            raise BadKeys(
                _("“%(key)s” cannot be both “%(one)s” and “%(other)s”.")
                % {"key": shown(key), "one": NAMES[other], "other": NAMES[action]}
            )
    person.keymap = {action: key for action, key in chosen.items() if key != DEFAULTS[action]}
    person.save(update_fields=("keymap",))


def shown(key: str) -> str:
    """A key as the page prints it."""
    return {"Enter": "↵", "Space": "␣"}.get(key, key.upper() if len(key) == 1 else key)


def _read(typed: str) -> str:
    key = "Space" if typed == " " else typed.strip()
    named = {name.lower(): name for name in NAMED}
    if not key or key.lower() in named:
        return named.get(key.lower(), "")
    if key == "↵":
        return "Enter"
    if len(key) != 1 or not key.isprintable():
        raise BadKeys(
            _("“%(key)s” is no key: type one letter, digit or sign, or one of %(names)s.")
            % {"key": key[:20], "names": ", ".join(NAMED)}
        )
    return key.lower()
