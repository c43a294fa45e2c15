"""Property tests have no deadline: how long an example takes depends on who else is using the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("plumbline", deadline=None)
settings.load_profile("plumbline")
