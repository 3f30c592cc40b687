"""The first page: runs in progress, latest runs, standings, what needs attention; on an empty database, what to do."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks import models
from benchmarks.local_llm import NAME
from benchmarks.models import ScoreDrop
from benchmarks.presentation.numbers import percent
from benchmarks.queries import datasets as dataset_reads
from benchmarks.queries import operations
from benchmarks.queries import runs as run_reads
from benchmarks.queries.experiments import experiments, progress
from benchmarks.queries.history import histories
from benchmarks.queries.leaderboard import MIN_COVERAGE, completed_runs, standings
from benchmarks.queries.live import live_state
from benchmarks.queries.providers import provider_rows
from benchmarks.queries.schedules import LEVEL, MOST_SHOWN, open_score_drops
from benchmarks.services.access import may_edit, may_launch, may_set_keys
from benchmarks.services.operations.local_model import PROVIDER, local_model
from benchmarks.services.runs.presets import preset_metrics
from benchmarks.services.schedules import dismiss_score_drop
from frontend.history import history_rows
from frontend.view_models import run_rows, standing_rows
from frontend.views.shared import require_launch

LATEST, LIVE, TROUBLED, RANKED, CHANGED, EXPERIMENTS = 10, 6, 5, 200, 8, 5
STARTER, STARTER_LIMIT = "reasoning", 10
"""The dataset of the starter experiment, if it exists, and how many of its tasks are asked."""
STARTER_MODELS = ("baseline/random", "baseline/majority")


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    shown: dict[str, object] = {
        "live_state": live_state(),
        "live": run_rows(run_reads.latest_runs(LIVE, models.LIVE)),
        "latest": run_rows(run_reads.latest_runs(LATEST)),
    }
    found = list(experiments()[:EXPERIMENTS])
    drops = open_score_drops()[:MOST_SHOWN]
    if not shown["latest"] or not (found or drops or run_reads.real_models_used()):
        return render(request, "frontend/overview/first_visit.html", _first_visit(request) | shown)
    completed = list(completed_runs()[:RANKED])
    shown |= _connection(request) | {
        "standings": standing_rows(standings(completed)),
        "histories": history_rows(histories(completed)[:CHANGED]),
        "ranked_over": RANKED,
        "min_coverage": percent(MIN_COVERAGE),
        "troubled": run_rows(run_reads.latest_runs(TROUBLED, run_reads.TROUBLED)),
        "score_drops": drops,
        "score_drop_level": percent(LEVEL),
        "files": dataset_reads.files_needing_attention(),
        "experiments": [(each, progress(list(each.runs.all()))) for each in found],
        "may_launch": may_launch(request.user),
    }
    return render(request, "frontend/overview/overview.html", shown)


def _first_visit(request: HttpRequest) -> dict[str, object]:
    """What an installation has in which only baselines ran, and the fields of its first experiment."""
    datasets = dataset_reads.runnable_datasets()
    presets = {dataset: preset_metrics(dataset) for dataset in datasets}
    fitting = [dataset for dataset, metrics in presets.items() if metrics]
    starter = next((dataset for dataset in fitting if dataset.slug == STARTER), next(iter(fitting), None))
    local = local_model()
    return _connection(request) | {
        "datasets": datasets,
        "starter": starter,
        "starter_metrics": presets[starter] if starter else [],
        "starter_limit": STARTER_LIMIT,
        "starter_models": [
            *STARTER_MODELS,
            *([f"{PROVIDER}/{NAME}"] if local and local.state == "running" else []),
        ],
        "providers": provider_rows(),
        "workers": [worker for worker in operations.workers() if worker.alive],
        "judge": settings.CODEFORGE.judge.model,
        "may_launch": may_launch(request.user),
        "may_edit": may_edit(request.user),
    }


def _connection(request: HttpRequest) -> dict[str, object]:
    """How to connect a first model, for whoever may, until a model other than a baseline has been asked."""
    if not may_set_keys(request.user) or run_reads.real_models_used():
        return {}
    keyless = [row.name for row in provider_rows() if row.lacks_key and row.key_can_be_entered]
    model = local_model()
    return {"connecting": bool(keyless or model), "keyless": keyless, "local_model": model}


@require_POST
def dismiss_drop(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a score drop from the overview."""
    require_launch(request)
    drop = get_object_or_404(ScoreDrop.objects.select_related("scheduled_run"), pk=pk)
    dismiss_score_drop(drop, request.user)
    messages.success(request, f"Score drop of {drop.metric} in run {drop.scheduled_run.run_id} dismissed.")
    return HttpResponseRedirect(reverse("frontend:overview"))


@require_safe
@never_cache
def workers(request: HttpRequest) -> HttpResponse:
    """The workers, what each of them does, and how much work waits."""
    context = {"installation": operations.installation(), "workers": operations.workers()}
    return render(request, "frontend/workers/list.html", context)
