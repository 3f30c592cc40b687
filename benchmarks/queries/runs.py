"""Reads of runs. Lists carry the summary, never the breakdown, the parameters or the environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import OuterRef, QuerySet, Subquery

from benchmarks.models import COMPLETED, Lease, Run, RunStatus

TROUBLED = (RunStatus.FAILED, RunStatus.COMPLETED_WITH_ERRORS, RunStatus.PAUSED)
"""The statuses of runs that failed, ended with errors or ran out of budget."""

_LIST_FIELDS = (
    *("model", "import_format", "metrics", "judge_model", "representation", "few_shot", "limit", "task_classes"),
    *("repeats", "target_half_width", "experiment_id", "variant", "tokens_out"),
    *("status", "error_message", "total", "done", "errors", "cost_usd", "judge_cost_usd", "summary", "summarized_at"),
    *("include_doubtful", "created_at", "started_at", "completed_at", "active_seconds", "active_since"),
    *("dataset__slug", "dataset__name", "dataset__kind", "dataset_version__number", "added_canvases"),
)
_WAITS = Lease.objects.filter(run=OuterRef("pk"), waits_until__isnull=False).order_by("-waits_until")
_LIVE_STATE = {"waits_until": Subquery(_WAITS.values("waits_until")[:1])}
"""Until when the endpoint asked the run's workers to wait; ``None`` while they do not wait."""
SORTS = {
    "newest": ("-id",),
    "oldest": ("id",),
    "model": ("model", "-id"),
    "dataset": ("dataset__slug", "-id"),
    "status": ("status", "-id"),
}


@dataclass(frozen=True, slots=True)
class RunFilters:
    dataset: str = ""
    model: str = ""
    status: str = ""
    sort: str = "newest"


def runs() -> QuerySet[Run]:
    """All runs as lists show them, newest first. Judge calibrations have lists of their own."""
    runs = Run.objects.filter(calibration__isnull=True)
    return runs.select_related("dataset", "dataset_version").only(*_LIST_FIELDS)


def full_runs() -> QuerySet[Run]:
    """All runs with their parameters, newest first, for the API. Breakdown and environment are deferred."""
    runs = Run.objects.select_related("dataset", "dataset_version").annotate(**_LIVE_STATE)
    return runs.defer("breakdown", "environment").order_by("-id")


def run_list(filters: RunFilters) -> QuerySet[Run]:
    chosen = {"dataset__slug": filters.dataset, "model": filters.model, "status": filters.status}
    given = {name: value for name, value in chosen.items() if value}
    return runs().filter(**given).order_by(*SORTS.get(filters.sort, SORTS["newest"]))


def latest_runs(limit: int, statuses: Iterable[str] = RunStatus.values) -> list[Run]:
    """The latest runs with one of these statuses."""
    return list(runs().filter(status__in=statuses).order_by("-id")[:limit])


def run_detail(pk: int) -> Run:
    """One run with everything about it. Raises ``Run.DoesNotExist``."""
    runs = Run.objects.select_related("dataset", "dataset_version", "parent", "created_by")
    return runs.annotate(**_LIVE_STATE).get(pk=pk)


def run_status(pk: int) -> Run:
    """One run as its status shows it, without what is only drawn once. Raises ``Run.DoesNotExist``."""
    return full_runs().defer("breakdown", "environment", "parameters").get(pk=pk)


def other_variants(run: Run, limit: int = 12) -> list[Run]:
    """The latest completed run of the same model on the same version for each other prompt variant."""
    same = runs().filter(dataset_version=run.dataset_version_id, model=run.model, status__in=COMPLETED, limit=None)
    latest: dict[tuple[str, bool], Run] = {}
    for other in same.defer("summary")[:200]:
        latest.setdefault((other.representation, other.few_shot), other)
    latest.pop((run.representation, run.few_shot), None)
    return list(latest.values())[:limit]


def comparable_runs(run: Run, limit: int = 4) -> list[Run]:
    """The latest other completed run of each model on the same dataset, the run's own model first."""
    others = runs().filter(dataset=run.dataset_id, status__in=COMPLETED).exclude(pk=run.pk).defer("summary")
    latest: dict[str, Run] = {}
    for other in others[:100]:
        latest.setdefault(other.model_label, other)
    return sorted(latest.values(), key=lambda other: (other.model != run.model, -other.pk))[:limit]


def models_used(*, external: bool = True) -> list[str]:
    """The names of all models that any run asked, sorted; without ``external`` those that were asked from here."""
    found = Run.objects.filter(calibration__isnull=True)
    if not external:
        found = found.filter(import_format="")
    return list(found.order_by("model").values_list("model", flat=True).distinct())


def real_models_used() -> bool:
    """Whether any run from here asked a model other than a baseline."""
    return Run.objects.filter(import_format="").exclude(model__startswith="baseline/").exists()
