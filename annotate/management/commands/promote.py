"""`manage.py promote`: let a PRM version serve by an explicit decision, or go back to the one before."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.errors import PlumblineError
from annotate.loop import promote as verbs
from annotate.models import PRMVersion


class Command(BaseCommand):
    help = "Let a version serve, whatever the criterion said: promote 3 --reason '…'. Or --back to the one before."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("number", type=int, nargs="?", help="of the version")
        what.add_argument("--back", action="store_true", help="to the version that served before")
        parser.add_argument("--reason", default="", help="written down with the decision")

    def handle(self, *args: Any, **options: Any) -> None:
        reason = options["reason"] or "decided on the command line"
        try:
            if options["back"]:
                serving = verbs.roll_back(reason=reason)
            else:
                version = PRMVersion.objects.get(number=options["number"])
                serving = verbs.promote(version=version, reason=reason)
        except PRMVersion.DoesNotExist:
            raise CommandError(f"There is no version {options['number']}.") from None
        except PlumblineError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{serving} serves now.")
