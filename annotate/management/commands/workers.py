"""`manage.py workers`: who works on which queue, and what the loop is doing; fails where a queue has nobody."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.loop.progress import WORKER_QUEUES, summary, workers_state


class Command(BaseCommand):
    help = "Say who works and what waits. Exits with an error where nobody works on a queue (a health check)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", choices=WORKER_QUEUES, help="ask after this queue alone")

    def handle(self, *args: Any, **options: Any) -> None:
        states = [state for state in workers_state() if options["queue"] in (None, state.queue)]
        for state in states:
            self.stdout.write(str(state))
        self.stdout.write(summary())
        if missing := [str(state) for state in states if not state.alive]:
            raise CommandError("; ".join(missing))
