"""Every page of the site, in the order of the loop; the API has its own list."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from annotate.web import (
    access,
    health,
    home,
    labelling,
    people,
    problems,
    progress,
    queues,
    upload,
    versions,
    work,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", access.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", access.ChangePassword.as_view(), name="password"),
    path("label/", labelling.label, name="label"),
    path("label/<int:item>/rate/", labelling.rate, name="label_rate"),
    path("label/<int:item>/flag/", labelling.flag, name="label_flag"),
    path("label/<int:item>/undo/", labelling.undo, name="label_undo"),
    path("label/<int:item>/submit/", labelling.submit, name="label_submit"),
    path("label/<int:item>/heartbeat/", labelling.heartbeat, name="label_heartbeat"),
    path("label/<int:item>/release/", labelling.release, name="label_release"),
    path("work/", work.mine, name="work"),
    path("work/<int:pk>/", work.label, name="work_label"),
    path("progress/", progress.progress, name="progress"),
    path("progress/round/", progress.start_round, name="round_start"),
    path("progress/retrain/", progress.retrain, name="retrain"),
    path("jobs/<int:pk>/cancel/", progress.cancel_job, name="job_cancel"),
    path("jobs/<int:pk>/retry/", progress.retry_job, name="job_retry"),
    path("versions/", versions.versions, name="versions"),
    path("versions/roll-back/", versions.roll_back, name="roll_back"),
    path("versions/<int:number>/", versions.version, name="version"),
    path("versions/<int:number>/promote/", versions.promote, name="version_promote"),
    path("versions/<int:number>/reject/", versions.reject, name="version_reject"),
    path("problems/", problems.problems, name="problems"),
    path("problems/upload/", upload.upload, name="upload"),
    path("queues/", queues.queues, name="queues"),
    path("queues/add/", queues.edit, name="queue_add"),
    path("queues/<int:pk>/", queues.edit, name="queue_edit"),
    path("queues/<int:pk>/rounds/", queues.take_rounds, name="queue_take_rounds"),
    path("queues/<int:pk>/problems/", queues.put_problems, name="queue_put_problems"),
    path("queues/<int:pk>/pause/", queues.pause, name="queue_pause"),
    path("queues/<int:pk>/resume/", queues.resume, name="queue_resume"),
    path("labels.jsonl", queues.export, name="export"),
    path("people/", people.people, name="people"),
    path("people/add/", people.add, name="person_add"),
    path("people/<int:pk>/password/", people.reset_password, name="person_reset_password"),
    path("people/<int:pk>/deactivate/", people.deactivate, name="person_deactivate"),
    path("people/<int:pk>/reactivate/", people.reactivate, name="person_reactivate"),
    path("api/", include("annotate.api.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
