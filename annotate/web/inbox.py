"""`/inbox/`: what annotators noticed, each answered by one act of a manager."""

from __future__ import annotations

from collections.abc import Callable

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import inbox as verbs
from annotate.models import Concern

from .access import PersonRequest, manager_required
from .acts import act, first_behind, on_to
from .gold import rated_steps

_PER_PAGE = 25


@manager_required
@require_safe
def inbox(request: PersonRequest) -> HttpResponse:
    concerns = Concern.objects.select_related("label__annotator", "problem")
    context = {
        "page": Paginator(concerns.open().order_by("created_at", "id"), _PER_PAGE).get_page(
            request.GET.get("page")
        ),
        "resolved": concerns.filter(resolved_at__isnull=False).order_by("-resolved_at")[:10],
    }
    return render(request, "quality/inbox.html", context)


@manager_required
@require_safe
def concern(request: PersonRequest, pk: int) -> HttpResponse:
    return _page(request, _concern(pk))


@manager_required
@require_POST
def fix_answer(request: PersonRequest, pk: int) -> HttpResponse:
    found, answer = _concern(pk), request.POST.get("answer", "")

    def do() -> str:
        n = verbs.fix_answer(concern=found, answer=answer, by=request.user, reply=_reply(request))
        return ngettext(
            "The answer is corrected; %(n)s solution will be graded anew.",
            "The answer is corrected; %(n)s solutions will be graded anew.",
            n,
        ) % {"n": n}

    return _answer(request, found, do)


@manager_required
@require_POST
def retire(request: PersonRequest, pk: int) -> HttpResponse:
    found = _concern(pk)

    def do() -> str:
        verbs.retire_problem(concern=found, by=request.user, reply=_reply(request))
        return _("The problem is retired; its open items are handed out no more.")

    return _answer(request, found, do)


@manager_required
@require_POST
def write_back(request: PersonRequest, pk: int) -> HttpResponse:
    found = _concern(pk)

    def do() -> str:
        verbs.write_back(concern=found, reply=_reply(request), by=request.user)
        return _("%(name)s will see your answer under My work.") % {"name": found.label.annotator}

    return _answer(request, found, do)


def _answer(request: PersonRequest, found: Concern, do: Callable[[], str]) -> HttpResponse:
    """On to the next concern with the word, or back to the inbox; or, refused, the same page with what was typed."""
    try:
        said = do()
    except verbs.Answered as late:
        said = str(late)
    except PlumblineError as error:
        return _page(request, found, refused=str(error))
    following = _next(found)
    return act(request, lambda: said, back_to=on_to("concern", following, otherwise="inbox"))


def _next(found: Concern) -> int | None:
    """The open concern to look at next, in the order they were raised."""
    waiting = Concern.objects.open().exclude(pk=found.pk).order_by("created_at", "id")
    later = Q(created_at__gt=found.created_at) | Q(created_at=found.created_at, pk__gt=found.pk)
    return first_behind(waiting, later)


def _page(request: PersonRequest, found: Concern, *, refused: str = "") -> HttpResponse:
    context = {
        "concern": found,
        "label": found.label,
        "rows": rated_steps(found.label),
        "refused": refused,
        "following": _next(found),
        "typed": {"answer": request.POST.get("answer"), "reply": _reply(request)},
    }
    return render(request, "quality/concern.html", context, status=400 if refused else 200)


def _concern(pk: int) -> Concern:
    return get_object_or_404(
        Concern.objects.select_related("label__annotator", "problem", "resolved_by"), pk=pk
    )


def _reply(request: PersonRequest) -> str:
    return request.POST.get("reply", "")
