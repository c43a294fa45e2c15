"""`manage.py run_round`: start a round, and with --wait follow it until everything is chosen."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.errors import PlumblineError
from annotate.loop.progress import summary
from annotate.loop.rounds import PROBLEMS, SAMPLES_PER_PROBLEM, start_round
from annotate.models import Round
from prm_backend.config import SelectionConfig


class Command(BaseCommand):
    help = "Start a round: problems that were in the fewest rounds get their solutions sampled, graded, scored, queued."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--problems", type=int, default=PROBLEMS)
        parser.add_argument("--samples", type=int, default=SAMPLES_PER_PROBLEM, help="for each problem")
        parser.add_argument(
            "--quota", type=int, default=SelectionConfig().quota, help="queued for each problem"
        )
        parser.add_argument("--force", action="store_true", help="even while another round runs")
        parser.add_argument("--wait", action="store_true", help="until every problem is chosen from")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            started = start_round(
                problems=options["problems"],
                samples_per_problem=options["samples"],
                selection=SelectionConfig(quota=options["quota"]),
                force=options["force"],
            )
        except (PlumblineError, ValueError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{started} has started with {started.places.count()} problems.")
        said = ""
        while options["wait"] and Round.objects.running().filter(pk=started.pk).exists():
            if (now := summary()) != said:
                self.stdout.write(said := now)
            time.sleep(2)
