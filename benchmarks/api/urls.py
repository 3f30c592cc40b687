"""Routes of the REST API. Trailing slashes are optional."""

from __future__ import annotations

from typing import Any

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from benchmarks.api import (
    canvas_sets,
    experiments,
    gates,
    imports,
    judges,
    leaderboard,
    operations,
    preferences,
    providers,
    reviews,
    statistics,
    systems,
    task_analysis,
    views,
)
from benchmarks.api.root import ApiRoot

RUN, SLUG = r"runs/(?P<pk>[0-9]{1,18})", r"(?P<slug>[-\w]{1,100})"

router = SimpleRouter()
router.trailing_slash = "/?"
router.register("datasets", views.DatasetViewSet, basename="dataset")
router.register("canvas-sets", canvas_sets.CanvasSetViewSet, basename="canvas-set")
router.register(rf"canvas-sets/{SLUG}/canvases", canvas_sets.CanvasViewSet, basename="canvas")
router.register("runs", views.RunViewSet, basename="run")
router.register("experiments", experiments.ExperimentViewSet, basename="experiment")
router.register("reviews", reviews.ReviewViewSet, basename="review")
router.register("calibrations", judges.CalibrationViewSet, basename="calibration")
router.register("preferences", preferences.PreferenceViewSet, basename="preference")
router.register("imports/runs", imports.PushedRunViewSet, basename="pushed-run")
router.register("providers", providers.ProviderViewSet, basename="provider")
router.register("systems", systems.SystemViewSet, basename="system")

VIEWS = (
    (f"{RUN}/results", views.ResultList, "result-list"),
    (r"results/(?P<pk>[0-9]{1,18})/steps", views.StepList, "result-steps"),
    (r"results/(?P<pk>[0-9]{1,18})/labels", reviews.ResultLabelsView, "result-labels"),
    (r"reviews/(?P<pk>[0-9]{1,18})/export/(?P<form>csv|jsonl)", reviews.ReviewExport, "review-export"),
    (r"reviews/(?P<pk>[0-9]{1,18})/import", reviews.ReviewImport, "review-import"),
    (f"{RUN}/statistics", statistics.RunStatistics, "run-statistics"),
    (f"{RUN}/contamination-check", statistics.ContaminationCheckView, "contamination-check"),
    (f"{RUN}/export/(?P<form>csv|jsonl|parquet)", views.ExportView, "run-export"),
    ("runs/export/(?P<form>csv|jsonl|parquet)", experiments.RunsExport, "runs-export"),
    (f"datasets/{SLUG}/tasks", views.TaskList, "task-list"),
    (f"datasets/{SLUG}/analysis", task_analysis.TaskAnalysisView, "task-analysis"),
    (f"datasets/{SLUG}/doubtful-references", task_analysis.DoubtfulTasksView, "doubtful-tasks"),
    ("matrix/(?P<form>csv|md|tex|png)", experiments.MatrixExport, "matrix-export"),
    (f"{RUN}/gate", gates.GateView, "run-gate"),
    (f"{RUN}/self-check", gates.SelfCheckView, "run-self-check"),
    ("gates", gates.GateSeriesList, "gate-series-list"),
    (f"gates/{SLUG}", gates.GateSeriesView, "gate-series"),
    (f"gates/{SLUG}/reset", gates.GateSeriesReset, "gate-series-reset"),
    ("leaderboard", leaderboard.OverallLeaderboard, "overall-leaderboard"),
    ("compare", statistics.Comparisons, "compare"),
    ("history", leaderboard.HistoryList, "history"),
    ("plan", statistics.RunSize, "plan"),
    ("judges/agreement", judges.JudgeAgreementView, "judge-agreement"),
    ("judges/corrected", judges.CorrectedRanksView, "judge-corrected"),
    ("metrics", views.MetricList, "metric-list"),
    ("system-trials", systems.SystemTrialView, "system-trials"),
    ("imports/files", imports.ImportFile, "import-file"),
    ("imports/datasets", imports.ImportDataset, "import-dataset"),
    ("installation", operations.InstallationView, "installation"),
)

LISTED = {
    route: view
    for route, view in sorted(
        [*((prefix, view) for prefix, view, _ in router.registry), *((r, v) for r, v, _ in VIEWS)]
    )
    if "(" not in route
}
"""Routes without parameters, which the first address lists."""

urlpatterns = [
    re_path(r"^v1/?$", ApiRoot.as_view(views=LISTED), name="api-root"),
    path("v1/benchmarks/", include(router.urls)),
    *(re_path(rf"^v1/benchmarks/{route}/?$", view.as_view(), name=name) for route, view, name in VIEWS),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]


def without_trailing_slashes(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep one form of each route in the schema, without the trailing slash."""
    return [(address.rstrip("/"), regex, method, view) for address, regex, method, view in endpoints]
