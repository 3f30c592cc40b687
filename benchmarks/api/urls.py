"""Routes of the REST API. Trailing slashes are optional."""

from __future__ import annotations

from typing import Any

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from benchmarks.api import canvas_sets, judges, statistics, views
from benchmarks.api.exports import ExportView
from benchmarks.api.operations import InstallationView

router = SimpleRouter()
router.trailing_slash = "/?"
router.register("datasets", views.DatasetViewSet, basename="dataset")
router.register("canvas-sets", canvas_sets.CanvasSetViewSet, basename="canvas-set")
router.register("runs", views.RunViewSet, basename="run")
router.register("calibrations", judges.CalibrationViewSet, basename="calibration")

urlpatterns = [
    path("v1/benchmarks/", include(router.urls)),
    re_path(r"^v1/benchmarks/runs/(?P<pk>[0-9]{1,18})/results/?$", views.ResultList.as_view(), name="result-list"),
    re_path(r"^v1/benchmarks/datasets/(?P<slug>[-\w]{1,100})/tasks/?$", views.TaskList.as_view(), name="task-list"),
    re_path(
        r"^v1/benchmarks/canvas-sets/(?P<slug>[-\w]{1,100})/canvases/?$",
        canvas_sets.CanvasList.as_view(),
        name="canvas-list",
    ),
    re_path(
        r"^v1/benchmarks/canvas-sets/(?P<slug>[-\w]{1,100})/canvases/(?P<index>[0-9]{1,9})/?$",
        canvas_sets.CanvasDetail.as_view(),
        name="canvas-detail",
    ),
    re_path(
        r"^v1/benchmarks/runs/(?P<pk>[0-9]{1,18})/statistics/?$",
        statistics.RunStatistics.as_view(),
        name="run-statistics",
    ),
    re_path(
        r"^v1/benchmarks/runs/(?P<pk>[0-9]{1,18})/contamination-check/?$",
        statistics.ContaminationCheckView.as_view(),
        name="contamination-check",
    ),
    re_path(r"^v1/benchmarks/compare/?$", statistics.Comparisons.as_view(), name="compare"),
    re_path(r"^v1/benchmarks/plan/?$", statistics.RunSize.as_view(), name="plan"),
    re_path(r"^v1/benchmarks/metrics/?$", views.MetricList.as_view(), name="metric-list"),
    re_path(
        r"^v1/benchmarks/runs/(?P<pk>[0-9]{1,18})/export/(?P<form>csv|jsonl|parquet)/?$",
        ExportView.as_view(),
        name="run-export",
    ),
    re_path(r"^v1/benchmarks/installation/?$", InstallationView.as_view(), name="installation"),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]


def without_trailing_slashes(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep one form of each route in the schema, without the trailing slash."""
    return [(address.rstrip("/"), regex, method, view) for address, regex, method, view in endpoints]
