"""The first page: what needs attention, runs, changes, standings; on an empty database, what to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from benchmarks import models
from benchmarks.engine.workers import ALIVE_FOR
from benchmarks.local_llm import NAME
from benchmarks.models import ScoreDrop
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries import datasets as dataset_reads
from benchmarks.queries import operations
from benchmarks.queries import runs as run_reads
from benchmarks.queries.experiments import experiments
from benchmarks.queries.leaderboard import scored_runs
from benchmarks.queries.live import live_state, stamp_of_workers
from benchmarks.queries.providers import any_provider_works, provider_rows
from benchmarks.queries.run_list import ListedRun, newest
from benchmarks.queries.tables.operations import WORKERS
from benchmarks.queries.tables.run_list import part_table
from benchmarks.services.access import may, may_edit, may_launch, may_set_keys
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.files import starter_experiment
from benchmarks.services.experiments.start import plan_experiment
from benchmarks.services.operations.local_model import PROVIDER, local_model
from benchmarks.services.schedules import dismiss_score_drop
from frontend.inbox import hung_notices, inbox
from frontend.overview import board, live_runs, moved, needs
from frontend.views.live import live_read
from frontend.views.settings.hub import crumbs
from frontend.views.settings.webhooks import VIEW as VIEW_DELIVERIES
from frontend.views.shared import require_launch

LATEST, LIVE, RANKED = 6, 6, 200
DATASETS = 12
"""Named on the first visit."""
UNFOLDED = 7
"""Notices that are shown at once."""
LONG_INBOX = 3
"""With more notices, what was found last stands beside them, in as many rows as end where they do."""


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    state = live_state()
    # Before what is live: a run that has ended here is not listed there.
    latest = newest(LATEST)
    live = run_reads.latest_runs(LIVE, models.LIVE) if state.is_live else []
    shown: dict[str, object] = {
        "live_state": state,
        "live": live_runs(live),
        "may_launch": may_launch(request.user),
    }
    notices = inbox(live, with_webhooks=may(request.user, VIEW_DELIVERIES))
    measured = experiments().exists() or run_reads.real_models_used() or any(each.dismiss for each in notices)
    if not latest or not measured:
        shown["latest"] = part_table(latest, "Latest runs", ["cost"])  # baselines cost nothing
        return render(request, "frontend/overview/first_visit.html", _first_visit(request) | shown)
    now = timezone.localtime()
    spent, part_unknown = run_reads.spending(now.replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    running = {run.pk for run in live}
    latest = [each for each in latest if not (isinstance(each, ListedRun) and each.run.pk in running)]
    fills_aside = len(notices) > LONG_INBOX
    if fills_aside:
        latest = latest[: max(2, min(len(notices), UNFOLDED) - 1 - len(live))]
    scores = board(scored_runs(RANKED), request.GET.getlist("model"), request.GET.getlist("benchmark"))
    shown |= _connection(request) | {
        "needs": needs(len(notices)),
        "moved": moved(scores),
        "today": now,
        "recent": run_reads.runs().filter(created_at__gte=now - timedelta(days=1)).count(),
        "spent": spent,
        "part_unknown": part_unknown,
        "n_notices": len(notices),
        "notices": notices[:UNFOLDED],
        "more_notices": notices[UNFOLDED:],
        "board": scores,
        "board_slugs": [row.dataset.slug for row in scores.rows],
        "fills_aside": fills_aside,
        "latest": part_table(latest, "Latest experiments and runs"),
    }
    return render(request, "frontend/overview/overview.html", shown)


def _first_visit(request: HttpRequest) -> dict[str, object]:
    """What an installation has in which only baselines ran, and the fields of its first experiment."""
    local = local_model()
    running = bool(local and local.state == "running")
    starter = starter_experiment()
    if starter and running:
        starter["models"].append(f"{PROVIDER}/{NAME}")
    plan = None
    if starter:
        try:
            plan = plan_experiment(starter)
        except InvalidRequest:  # what is stored cannot be asked, such as a canvas set without questions
            starter = None
    datasets, providers, judge = dataset_reads.runnable_datasets(), provider_rows(), settings.CODEFORGE.judge.model
    return _connection(request) | {
        "datasets": datasets[:DATASETS],
        "more_datasets": len(datasets[DATASETS:]),
        "starter": starter,
        "plan": plan,
        "starter_is_free": all(is_baseline(model) for model in starter["models"]) if starter else False,
        "providers": providers,
        "workers": [worker for worker in operations.workers() if worker.alive],
        "judge": judge,
        "judge_status": next((row.status for row in providers if judge and row.name == judge.partition("/")[0]), ""),
        "may_edit": may_edit(request.user),
        "has_run": run_reads.person_completed_a_run(),
        "has_own_dataset": dataset_reads.has_own_datasets(),
    }


def _connection(request: HttpRequest) -> dict[str, object]:
    """How to connect a first model, for whoever may, until a provider works."""
    works = any_provider_works()
    if works or not may_set_keys(request.user):
        return {"connected": works}
    keyless = [row.name for row in provider_rows() if row.lacks_key and row.key_can_be_entered]
    model = local_model()
    return {"connecting": bool(keyless or model), "keyless": keyless, "local_model": model}


@require_POST
def dismiss_drop(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a score drop, and the others of its run, from the overview."""
    require_launch(request)
    scheduled = get_object_or_404(ScoreDrop.objects.select_related("scheduled_run"), pk=pk).scheduled_run
    for drop in scheduled.score_drops.filter(dismissed_at=None):
        dismiss_score_drop(drop, request.user)
    messages.success(request, f"Score drop of run {scheduled.run_id} dismissed.")
    return HttpResponseRedirect(reverse("frontend:overview"))


@live_read(stamp_of_workers, within_page=True)
def workers(request: HttpRequest) -> HttpResponse:
    """The workers, what each of them does, and how much work waits."""
    known = operations.workers()
    context: dict[str, Any] = {
        "installation": operations.installation(),
        "workers": WORKERS.of(known),
        "problems": hung_notices(run for worker in known for run in worker.runs),
        "may_launch": may_launch(request.user),
        "n_silent": sum(not worker.alive for worker in known),
        "silent_after": ALIVE_FOR.total_seconds(),
        "crumbs": crumbs(("Workers", None)),
    }
    return render(request, "frontend/workers/list.html", context)
