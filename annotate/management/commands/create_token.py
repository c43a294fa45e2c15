"""`manage.py create_token USERNAME`: the token that person's scripts sign in to the API with."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.authtoken.models import Token

from annotate.models import Person


class Command(BaseCommand):
    help = "Print the API token of a person; a new one with --new, which ends the old one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--new", action="store_true", help="make a new token; the old one stops working")

    def handle(self, *, username: str, new: bool, **_: Any) -> None:
        person = Person.objects.filter(username=username).first()
        if person is None:
            raise CommandError(f"There is nobody called {username!r}.")
        if not person.is_active:
            raise CommandError(f"{username!r} is deactivated; a token would not let them in.")
        if new:
            Token.objects.filter(user=person).delete()
        self.stdout.write(Token.objects.get_or_create(user=person)[0].key)
