"""`/people/`: who works here, their passwords and their rest. Names what to do; `loop/people.py` does it."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import people as verbs
from annotate.models import ROLE_NAMES, Person

from .access import PersonRequest, manager_required
from .acts import act

_PER_PAGE = 100  # an import may bring thousands, who come last


@manager_required
@require_safe
def people(request: PersonRequest) -> HttpResponse:
    return _page(request)


@manager_required
@require_POST
def add(request: PersonRequest) -> HttpResponse:
    username, role = request.POST.get("username", ""), request.POST.get("role", "")
    try:
        access = verbs.add_person(username=username, role=role)
    except PlumblineError as error:
        return _page(request, refused=str(error), username=username, role=role)
    return _password(request, access, new=True)


@manager_required
@require_POST
def reset_password(request: PersonRequest, pk: int) -> HttpResponse:
    return _password(request, verbs.reset_password(person=get_object_or_404(Person, pk=pk)))


@manager_required
@require_POST
def set_roles(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        roles = request.POST.getlist("roles")
        verbs.set_roles(person=person, roles=roles, by=request.user)
        if not roles:
            return _("%(name)s is without a role now.") % {"name": person}
        named = get_text_list([str(ROLE_NAMES[role]) for role in sorted(roles)], _("and"))
        return _("%(name)s is now: %(roles)s.") % {"name": person, "roles": named}

    return act(request, do, back_to="people")


@manager_required
@require_POST
def deactivate(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        verbs.deactivate(person=person, by=request.user)
        return _("%(name)s can no longer log in; every label stays.") % {"name": person}

    return act(request, do, back_to="people")


@manager_required
@require_POST
def reactivate(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        verbs.reactivate(person=person)
        return _("%(name)s can log in again.") % {"name": person}

    return act(request, do, back_to="people")


def _page(request: PersonRequest, **form: str) -> HttpResponse:
    page = Paginator(Person.objects.with_work(), _PER_PAGE).get_page(request.GET.get("page"))
    context = {"people": page, "roles": ROLE_NAMES.items(), "form": form}
    return render(request, "people/people.html", context, status=400 if form else 200)


@never_cache
def _password(request: PersonRequest, access: verbs.Access, new: bool = False) -> HttpResponse:
    """Shown in the answer itself and kept nowhere, so it is seen once."""
    return render(request, "people/shown_once.html", {"access": access, "new": new})
