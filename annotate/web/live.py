"""Pages that keep themselves up to date: the fragment htmx asks for is the one the page itself includes."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from .access import PersonRequest


def live_page(request: PersonRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Render a page, or for htmx only its `live` partial; 204, which htmx leaves alone, where it would be the same.

    The template shows `{{ figures }}`, its own partial of that name, already rendered, and in the address it asks
    again says which it has: `?seen={{ seen }}`. So an idle page never moves, loses a selection or is read aloud.
    """
    context["csrf_token"] = token = get_token(request)  # masked anew each time it is asked for
    figures = render_to_string(f"{template}#figures", context, request)
    seen = hashlib.sha256(figures.replace(token, "").encode()).hexdigest()[:16]
    if request.htmx and request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    context |= {"figures": mark_safe(figures), "seen": seen}
    return render(request, f"{template}#live" if request.htmx else template, context)
