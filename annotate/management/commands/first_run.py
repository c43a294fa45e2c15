"""`manage.py first_run`: on an empty database, the first people, problems and round; shows the passwords once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from annotate.loop.first_run import first_run


class Command(BaseCommand):
    help = "Fill an empty database: a manager, an annotator, the sample problems, round 1. Else do nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        made = first_run()
        if made is None:
            return
        self.stdout.write(f"{made.problems} sample problems are in; {made.round} has started.")
        self.stdout.write("Two people can log in. Their passwords are shown this once:")
        for access in (made.manager, made.annotator):
            self.stdout.write(f"  {access.person.username:<10} {access.password}")
