"""Files of problems that a manager sent: kept in storage until a worker has imported them. Reads no rows itself."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.jobs import enqueue_job
from annotate.loop.problems import import_problems
from annotate.models import Job, JobStatus, Person
from prm_backend.text.problems import read_problems
from prm_backend.types import Progress, ProgressCallback

KIND = "import_problems"
ENDINGS = tuple(f"{kind}{packed}" for kind in (".json", ".jsonl", ".csv") for packed in ("", ".gz"))
LARGEST = 512 * 1024 * 1024  # bytes
REASONS_KEPT = 100
KEEP_FAILED = timedelta(days=7)


class UploadRefused(PlumblineError):
    """The file cannot be one of problems."""


def receive(*, file: UploadedFile, by: Person) -> Job:
    """Keep an uploaded file and ask a worker to import it. The name it came with is only ever shown.

    Raises UploadRefused for a file that is empty, too large or of no known kind.
    """
    name = PurePath((file.name or "").replace("\\", "/")).name[:200]
    ending = next((e for e in reversed(ENDINGS) if name.lower().endswith(e)), None)
    if ending is None:
        raise UploadRefused(
            _("%(file)s: send a file that ends in %(endings)s.")
            % {"file": name, "endings": ", ".join(ENDINGS)}
        )
    if not file.size:
        raise UploadRefused(_("%(file)s is empty.") % {"file": name})
    if file.size > LARGEST:
        raise UploadRefused(
            _(
                "%(file)s has %(size)s MB; at most %(largest)s MB can be sent here. Split it, or use "
                "`manage.py import_problems` on the server."
            )
            % {"file": name, "size": round(file.size / 2**20), "largest": LARGEST // 2**20}
        )
    path = default_storage.save(f"uploads/{uuid.uuid4().hex}{ending}", file)
    return enqueue_job(KIND, key=path[-100:], payload={"path": path, "name": name, "size": file.size}, by=by)


def import_upload(*, payload: dict[str, Any], progress: ProgressCallback) -> dict[str, Any]:
    """Import a received file; progress counts its bytes. Run again, it adds nothing twice.

    Returns what the page shows: `added`, `known`, `n_refused` and the first REASONS_KEPT `refused` [line, reason].
    """
    path, name = payload["path"], payload["name"]
    with default_storage.open(path, "rb") as stored:
        file = cast(BinaryIO, stored)

        def rows_read(now: Progress) -> None:
            progress(Progress(file.tell(), payload["size"], f"{now.done:,} rows of {name}"))

        summary = import_problems(
            rows=read_problems(file), source=PurePath(name).name.partition(".")[0][:100], progress=rows_read
        )
    return {
        "added": summary.added,
        "known": summary.known,
        "n_refused": summary.n_refused,
        "refused": [[row.line, row.reason[:300]] for row in summary.refused[:REASONS_KEPT]],
    }


def forget_files() -> None:
    """Delete files that are imported, or whose job failed so long ago that nobody will try it again.

    Apart from the import itself: a worker killed between the two must still find the file.
    """
    over = Q(status=JobStatus.DONE) | Q(finished_at__lt=timezone.now() - KEEP_FAILED)
    for job in Job.objects.filter(over, kind=KIND, payload__has_key="path"):
        default_storage.delete(job.payload.pop("path"))
        job.save(update_fields=("payload",))
