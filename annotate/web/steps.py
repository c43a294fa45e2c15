"""A step on the labelling page. Its text is rendered each time; what stands around it, once for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from .prose import prose

register = template.Library()

_CUT = "\ue000"  # stands where the time and the text go; the frame around them holds no text of anybody's


@register.simple_tag(takes_context=True)
def step(context: Context, row: Mapping[str, Any]) -> SafeString:
    """A row's step, with the person's keys; as a part of its own to swap in where the context says `oob`."""
    one, keys, oob = row["step"], context["keys"], bool(context.get("oob"))
    before, between, after = _frame(
        one.index,
        one.rating,
        one.unsure,
        one.after_error,
        one.after_error and not context["work"].goes_on,
        one.index == context.get("now") and not oob,
        oob,
        keys["bad"],
        keys["okay"],
        keys["great"],
        get_language() or "",
    )
    plain = not row["answer"] and not row.get("lesson")
    text = prose(row["text"]) if plain else render_to_string("label/_text.html", {**row}).rstrip("\n")
    return mark_safe(f"{before}{one.active_ms}{between}{text}{after}")


@lru_cache(maxsize=4096)  # a few hundred are in use; rendered each time, they are half of a page's cost
def _frame(
    index: int,
    rating: int | None,
    unsure: bool,
    after_error: bool,
    later: bool,
    here: bool,
    oob: bool,
    bad: str,
    okay: str,
    great: str,
    _language: str,
) -> list[str]:
    """The HTML before a step's time, between time and text, and after it. `later`: it is not rated any more."""
    context = {
        "index": index,
        "number": index + 1,
        "rating": rating,
        "unsure": unsure,
        "after_error": after_error,
        "later": later,
        "here": here,
        "oob": oob,
        "bad": bad,
        "okay": okay,
        "great": great,
        "cut": _CUT,
    }
    return render_to_string("label/_step.html", context).split(_CUT)
