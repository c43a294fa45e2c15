"""Every address of the API, in the order of the loop."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from annotate.api.disputes import Disputes
from annotate.api.docs import docs
from annotate.api.gold import Golds
from annotate.api.inbox import Concerns
from annotate.api.jobs import Jobs, Retrain
from annotate.api.keys import Keys
from annotate.api.labels import ExportLabels, Labels
from annotate.api.problems import Problems
from annotate.api.progress import Progress
from annotate.api.quality import Policy, Standings
from annotate.api.queue import Queue
from annotate.api.rounds import Rounds
from annotate.api.versions import Versions

router = SimpleRouter(use_regex_path=False)
router.register("problems", Problems, basename="problem")
router.register("rounds", Rounds, basename="round")
router.register("queue", Queue, basename="queue")
router.register("labels", Labels, basename="label")
router.register("gold", Golds, basename="gold")
router.register("disputes", Disputes, basename="dispute")
router.register("concerns", Concerns, basename="concern")
router.register("versions", Versions, basename="version")
router.register("jobs", Jobs, basename="job")

app_name = "api"
urlpatterns = [
    path("", include(router.urls)),
    path("labels/export/", ExportLabels.as_view(), name="export"),
    path("keys/", Keys.as_view(), name="keys"),
    path("quality/policy/", Policy.as_view(), name="quality_policy"),
    path("quality/standings/", Standings.as_view(), name="quality_standings"),
    path("retrain/", Retrain.as_view(), name="retrain"),
    path("progress/", Progress.as_view(), name="progress"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", docs, name="docs"),
]
