"""People: added with a random password, given other roles, put to rest. Nobody is deleted: labels keep their author."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.crypto import get_random_string
from django.utils.translation import gettext as _
from rest_framework.authtoken.models import Token

from annotate.errors import PlumblineError
from annotate.loop.draft import NOBODY
from annotate.models import ANNOTATOR, MANAGER, ROLE_NAMES, ROLES, Person, QueueItem

_UNMISTAKABLE = "abcdefghjkmnpqrstuvwxyz23456789"  # no l and 1, no o and 0


@dataclass(frozen=True)
class Access:
    """A person and the password to hand over; only its hash is kept, so this is the one time it can be shown."""

    person: Person
    password: str


@transaction.atomic
def add_person(*, username: str, role: str) -> Access:
    """Make a person with one role. Raises PlumblineError for a name that is taken or cannot be one."""
    if role not in ROLES:
        raise PlumblineError(_no_role(role))
    username = Person.normalize_username(username.strip())
    try:
        Person._meta.get_field("username").clean(username, None)
    except ValidationError as error:
        raise PlumblineError(" ".join(error.messages)) from None
    if Person.objects.filter(username__iexact=username).exists():
        raise PlumblineError(_("%(name)s is taken; choose another name.") % {"name": username})
    password = _new_password()
    try:
        with transaction.atomic():
            person = Person.objects.create_user(username, password=password)
    except IntegrityError:  # the same name a moment ago
        raise PlumblineError(_("%(name)s is taken; choose another name.") % {"name": username}) from None
    person.groups.add(Group.objects.get_or_create(name=role)[0])
    return Access(person, password)


@transaction.atomic
def reset_password(*, person: Person) -> Access:
    """Give a person another random password; all their sessions end, and their API token."""
    password = _new_password()
    person.set_password(password)
    person.save(update_fields=("password",))
    Token.objects.filter(user=person).delete()
    return Access(person, password)


@transaction.atomic
def set_roles(*, person: Person, roles: Collection[str], by: Person) -> None:
    """Give a person exactly these roles; who manages may label, too. What they hold is freed with the annotator's.

    Raises PlumblineError for a role that does not exist, or where `by` would stop being a manager, which also keeps
    the last one in.
    """
    if wrong := sorted(set(roles) - set(ROLES)):
        raise PlumblineError(_no_role(wrong[0]))
    if person == by and MANAGER not in roles:
        raise PlumblineError(_("You cannot take the manager's role from yourself; another manager can."))
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in ROLES}
    person.groups.remove(*(group for name, group in groups.items() if name not in roles))
    person.groups.add(*(groups[name] for name in roles))
    if ANNOTATOR not in roles:
        _free_what_they_hold(person)


@transaction.atomic
def deactivate(*, person: Person, by: Person) -> None:
    """Let a person log in no more and free what they hold; their labels and drafts stay.

    Raises PlumblineError where `by` would lock themselves out, which also keeps the last manager in.
    """
    if person == by:
        raise PlumblineError(_("You cannot deactivate yourself; another manager can."))
    Person.objects.filter(pk=person.pk).update(is_active=False)
    _free_what_they_hold(person)


def reactivate(*, person: Person) -> None:
    """Let a person log in again, with the password they had."""
    Person.objects.filter(pk=person.pk).update(is_active=True)


def _free_what_they_hold(person: Person) -> None:
    QueueItem.objects.open().filter(leased_by=person).update(**NOBODY)


def _no_role(name: str) -> str:
    return _("There is no role “%(role)s”; choose among %(roles)s.") % {
        "role": name,
        "roles": ", ".join(map(str, ROLE_NAMES.values())),
    }


def _new_password() -> str:
    return "-".join(get_random_string(4, _UNMISTAKABLE) for _part in range(4))
