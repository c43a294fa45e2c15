"""`/problems/upload/`: managers send files of problems and watch them being imported."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate.errors import PlumblineError
from annotate.loop import uploads
from annotate.models import Job, JobStatus

from .access import PersonRequest, manager_required
from .live import live_page

SHOWN = 10


@manager_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: PersonRequest) -> HttpResponse:
    if request.method == "POST":
        return _receive(request)
    imports = list(Job.objects.filter(kind=uploads.KIND).select_related("requested_by")[:SHOWN])
    context = {
        "imports": imports,
        "busy": any(job.status in (JobStatus.QUEUED, JobStatus.RUNNING) for job in imports),
        "endings": ",".join(uploads.ENDINGS),
        "largest_mb": uploads.LARGEST // 2**20,
    }
    return live_page(request, "problems/upload.html", context)


def _receive(request: PersonRequest) -> HttpResponse:
    files = request.FILES.getlist("file")
    if not files:
        messages.error(request, _("Choose a file first."))
    for file in files:
        try:
            uploads.receive(file=file, by=request.user)
        except PlumblineError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _("%(file)s has arrived; a worker imports it.") % {"file": file.name})
    return redirect("upload")
