"""Acts of which only one at a time may run, in any process on any host: advisory locks of the database."""

from __future__ import annotations

from enum import IntEnum

from django.db import connection


class Turn(IntEnum):
    """What takes turns, by a number of its own."""

    FIRST_RUN = 0xF125
    ROUND = 0x20D0
    IMPORT = 0x1A7E57E9
    PROMOTION = 0x9203
    VERSION_NUMBER = 0x9204

    def take(self) -> None:
        """Wait for it, and hold it until the transaction ends."""
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s)", [self.value])
