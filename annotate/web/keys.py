"""What each key of the labelling page does, in words: for its sheet and for the settings."""

from __future__ import annotations

import json
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.loop.keymap import keys_of, shown
from annotate.models import Person

WORDS: dict[str, Promise] = {
    "bad": _("rate the step bad: something in it is wrong, cannot be checked, or leads nowhere"),
    "okay": _("rate it okay: sound, but it adds nothing"),
    "great": _("rate it great: right, easy to check, a sensible thing to try"),
    "next": _("next step (the arrow does it, too)"),
    "previous": _("step before (the arrow does it, too)"),
    "undo": _("take the last rating back; right after a submit, the submit"),
    "redo": _("give again what was taken back"),
    "unsure": _("mark the step as one you are unsure of, or take the mark off"),
    "answer": _("show or hide the guess of the answer"),
    "zoom": _("show the step large"),
    "give_up": _("give up, with a reason"),
    "bad_problem": _("bad problem: it cannot be solved as it stands"),
    "skip": _("put this solution aside and take another"),
    "submit": _("submit, once every step up to the first error is rated"),
    "rules": _("the rating rules"),
    "keys": _("this list of keys"),
}


def sheet(person: Person) -> dict[str, Any]:
    """For templates: `keys`, each action's key as it is shown, and `keymap`, the actions by key, as JSON;
    `key_rows` pairs the actions with their keys and words."""
    keys = keys_of(person)
    return {
        "keys": {action: shown(key) for action, key in keys.items()},
        "keymap": json.dumps({key: action for action, key in keys.items()}),
        "key_rows": [(action, key, WORDS[action]) for action, key in keys.items()],
    }
