"""One run with its live status and charts, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.analysis.rankings import under_baseline
from benchmarks.engine.configured import provider_named
from benchmarks.metrics.rubrics import TaskRubric
from benchmarks.models import COMPLETED, ERRORS, STOPPED, Outcome, Run, RunStatus, ShareLink, Task
from benchmarks.presentation import sentences
from benchmarks.presentation.actions import allowed_actions, delete_question, done_sentence
from benchmarks.presentation.cells import Money
from benchmarks.presentation.labels import OUTCOME, RESULT_STATE, metric_title, sentence_case
from benchmarks.presentation.numbers import plural
from benchmarks.queries import runs as reads
from benchmarks.queries.canvas_sets import canvas_sets
from benchmarks.queries.interval_covers import covers_of
from benchmarks.queries.judge_words import judges_of_headline
from benchmarks.queries.live import stamp_of_run
from benchmarks.queries.newer_references import NewerReferences, newer_references
from benchmarks.queries.ranked_tables import NO_TABLE, table_of
from benchmarks.queries.results import (
    NOT_CORRECT,
    SEARCH_WINDOW,
    ResultFilters,
    ResultPage,
    examples_of,
    newest_results,
    result_page,
    results_in_flight,
)
from benchmarks.queries.reviews import count_labeled, verdicts_on
from benchmarks.queries.schedules import open_score_drops, scheduled_run_of
from benchmarks.queries.tables.run_list import runs_table
from benchmarks.queries.webhooks import deliveries_of
from benchmarks.services.access import may, may_launch
from benchmarks.services.contamination import check_contamination
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import reviewer_name
from benchmarks.services.runs import control as services
from benchmarks.services.runs.control import edit_run
from benchmarks.services.runs.exports import forms_here
from frontend import params
from frontend.chips import Chip, chips
from frontend.inbox import drop_notices, provider_page
from frontend.judges import judge_reliability, panel_rows
from frontend.result_rows import disputed, rows_of_examples, rows_of_page
from frontend.run_charts import run_charts, surface_charts, surface_said, telling_charts, variant_of
from frontend.sharing import shared_or_shareable
from frontend.view_models import (
    Failure,
    beside,
    chosen_settings,
    comparables,
    failures_of,
    labels_known,
    metric_rows,
    outcome_counts,
    run_row,
    run_rows,
    settings_of,
    spent,
    weak_spots,
)
from frontend.views.live import live_read
from frontend.views.settings.schedules import ADD
from frontend.views.shared import chart_response, may_copy, paged, placed, require_launch, run_or_404, unconfirmed
from frontend.views.statistics import report_of

COMPARED = 5
SORTS = (
    ("position", "Task order"),
    ("-position", "Reverse task order"),
    ("value", "Lowest score first"),
    ("-value", "Highest score first"),
    ("-duration", "Slowest first"),
    ("duration", "Fastest first"),
)
_CHIPS = {
    "outcome": "",
    "reason": "Reason",
    "group": "Task class",
    "n_shapes": "Shapes",
    "difficulty": "Difficulty",
    "label": "Tag",
    "metric": "Metric",
    "low": "Score at least",
    "high": "Score at most",
    "text": "Contains",
}
"""Filter of results → what its chip says before the value."""


@never_cache
@require_safe
def run(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_or_404(pk)
    report = report_of(run)
    scheduled = scheduled_run_of(run)
    scores = _scores(run, params.text(request.GET, "charts"))
    said = verdicts_on(run, reviewer_name(request.user))
    # Of a live run, that part is replaced while it is looked at; people label its answers later.
    of_people = {} if run.is_live else disputed(run, said)
    status = _status(run, of_people)
    controls = _controls(request, run, fails_alike=status["fails_alike"])
    context = status | report | scores | _results(request, run, said) | controls
    newer, scorings = newer_references([run]), reads.scorings(run)
    context |= {
        "weak_first": (scores["weak"] or run.parts.surface) and not context["is_filtered"],
        "run_title": f"{run.model} on {run.dataset.title}",
        "has_surface": bool(run.parts.surface),
        "settings": settings_of(run),
        "chosen_settings": chosen_settings(run),
        "canvases": sentences.canvases(run.numbers.canvases),
        "system_prompt": run.parameters.get("system_prompt", ""),
        "scheduled": scheduled,
        "drops": drop_notices(list(open_score_drops().filter(scheduled_run=scheduled))) if scheduled else [],
        "deliveries": deliveries_of(run),
        "judge_reliability": judge_reliability(run),
        "panels": panel_rows(run),
        "n_labeled": 0 if run.is_live else count_labeled(run),
        "scorings": run_rows(scorings),
        "newer_references": newer,
        "scored_by_newer": _scored_by(scorings, newer),
        "crumbs": [("Runs", reverse("frontend:runs")), (f"Run {pk}", None)],
    }
    return render(request, "frontend/runs/detail.html", context)


def _scored_by(scorings: Sequence[Run], newer: Sequence[NewerReferences]) -> Run | None:
    """The latest scoring of the answers by newer references."""
    versions = {each.new for each in newer}
    by_newer = (each for each in reversed(scorings) if each.dataset_version.number in versions)
    return next((each for each in by_newer if each.status not in STOPPED), None)


def _scores(run: Run, chosen: str) -> dict[str, Any]:
    """The charts and weak spots of the chosen metric, by default the headline."""
    measured_by = [row for row in metric_rows(run) if row.mean is not None]
    drawn = next((row for row in measured_by if row.name == chosen), metric_rows(run)[0])
    weak = weak_spots(run, drawn)
    return {
        "drawn_metrics": measured_by,
        "drawn_metric": drawn.name,
        "drawn_title": drawn.title,
        "weak": [*weak.values()],
        "charts": placed(telling_charts(run, drawn.name, weak), "run-chart", run.pk),
    }


def _results(request: HttpRequest, run: Run, said: Mapping[tuple[str, int], list[float]]) -> dict[str, Any]:
    """The list of results, its filters as chips, and what they can be set to."""
    query = request.GET.copy()
    if run.numbers.failures and not run.is_live and "outcome" not in query and not params.kept(query):
        query["outcome"] = NOT_CORRECT  # failures first; the other results are one link away
    filters = params.result_filters(query)
    results = paged(request, lambda after, before: result_page(run, filters, after, before))
    outcomes = [(NOT_CORRECT, "Not correct"), *Outcome.choices, ("pending", RESULT_STATE["pending"])]
    titles = {
        "outcome": dict(outcomes),
        "difficulty": dict(Task.Difficulty.choices),
        "group": {name: sentence_case(name) for name in run.task_classes},
        "metric": {name: metric_title(name) for name in run.all_metrics},
    }
    shown_chips = chips(request.GET, _CHIPS, titles)
    known = {"": run.total, NOT_CORRECT: sum(group.n for group in run.numbers.failures)}
    return {
        "filters": filters,
        # A list that is filtered further is not counted: it may have a million rows.
        "n_listed": known.get(filters.outcome)
        if filters == ResultFilters(filters.outcome, sort=filters.sort)
        else None,
        "chips": shown_chips,
        "widened": _widened(run, shown_chips) if len(shown_chips) > 1 and not results.rows else (),
        "emptying": _emptying(run, request.GET, shown_chips) if shown_chips and not results.rows else (),
        "kept": params.kept(query),
        "why_none": _why_none(filters) if not results.rows else "",
        "is_filtered": bool(params.kept(request.GET)),
        "lists_results": not run.is_live or "outcome" in query or bool(params.kept(query)),
        "results": results,
        "rows": rows_of_page(run, results, said),
        "not_correct": NOT_CORRECT,
        "sorts": SORTS,
        "search_window": SEARCH_WINDOW,
        "outcomes_known": outcomes,
        "difficulties": Task.Difficulty.choices,
        "labels_known": labels_known(run),
        "may_copy": may_copy(request, run),
    }


def _why_none(filters: ResultFilters) -> str:
    """Why no result has the scores that are asked for, where that can be known."""
    if filters.low is None and filters.high is None:
        return ""
    if filters.outcome in ERRORS:
        return f"A result with a {OUTCOME[filters.outcome].lower()} has no score."
    return "Scores go from 0 to 1." if (filters.low or 0) > 1 or (filters.high or 0) < 0 else ""


def _widened(run: Run, shown: Sequence[Chip]) -> list[tuple[Chip, str]]:
    """Of filters that together select nothing, those without which some results are left, and how many."""
    pages = [(chip, _selected(run, QueryDict(chip.url.removeprefix("?")))) for chip in shown]
    return [
        (chip, f"{plural(len(page.rows), 'result')}{' or more' if page.after else ''}")
        for chip, page in pages
        if page.rows
    ]


def _emptying(run: Run, query: QueryDict, shown: Sequence[Chip]) -> list[Chip]:
    """The filters that select nothing without the others either. A metric selects by the bounds of its score."""
    names = [name for name in _CHIPS if params.text(query, name)]
    alone = [QueryDict(mutable=True) for _ in names]
    for kept, name in zip(alone, names, strict=True):
        kept.update({each: params.text(query, each) for each in (name, "metric")})
    return [chip for chip, kept in zip(shown, alone, strict=True) if not _selected(run, kept).rows]


def _selected(run: Run, query: QueryDict) -> ResultPage:
    """The first results that the filters select. Not in the chosen order, which leaves out what has no such value."""
    return result_page(run, replace(params.result_filters(query), sort="position"))


def _controls(request: HttpRequest, run: Run, *, fails_alike: bool) -> dict[str, Any]:
    """What the user can do with the run."""
    launches = may_launch(request.user)
    actions = allowed_actions(run) if launches else {}
    stop = reads.blocked(run) if launches else None
    # A run that is stopped goes on when its budget is raised or its key is checked, which its status offers.
    apart = {"budget", "check", "delete"} | ({"resume"} if stop else set())
    key_page = provider_page(stop.provider) if stop and not stop.by_budget else ""
    # What fails again, or is offered where it is explained, is not the first thing to do.
    n_first = 0 if stop or (fails_alike and "retry" in actions) else 2
    return {
        "actions": actions,
        "buttons": [(name, label) for name, label in actions.items() if name in _ACTIONS and name not in apart],
        "first_buttons": f":{n_first}",
        "more_buttons": f"{n_first}:",
        "blocked": stop,
        "spent": spent(run) if "budget" in actions else None,
        "key_page": key_page,
        "export_forms": forms_here(),
        "share": shared_or_shareable(request, ShareLink.Kind.RUN, {"run": run.pk}),
        "previous_run": reads.previous_run(run) if run.status in COMPLETED else None,
        "rescore_url": reverse("frontend:rescore", args=(run.pk,)) if "rescore" in actions else "",
        "again": f"{reverse('frontend:launch')}?like={run.pk}" if "again" in actions else "",
        "may_launch": launches,
        "may_schedule": may(request.user, *ADD),
    }


@live_read(stamp_of_run)
def status(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of a run's page that changes while it is live."""
    run = run_or_404(pk, reads.run_status)
    context = _status(run, {})
    if not run.is_live:  # they give way with everything else, once the page has fetched its other parts
        context["newest"] = rows_of_page(run, newest_results(run), {})
    response = render(request, "frontend/runs/status.html", context)
    if not context["still_changes"]:
        response["HX-Trigger"] = "run-ended"  # the page fetches its other parts once, and polls no more
    return response


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do one of ``_ACTIONS`` with a run and report the outcome."""
    require_launch(request)
    if action not in _ACTIONS:
        raise Http404(f"{action} is not an action for runs.")
    run = run_or_404(pk)
    page = reverse("frontend:run", args=(pk,))
    if action == "delete" and (
        confirmation := unconfirmed(request, delete_question(pk, run.total), "Delete run", page)
    ):
        return confirmation
    try:
        _ACTIONS[action](run, request)
    except NotPossible as error:
        messages.error(request, error.message)
    except InvalidRequest as error:
        messages.error(request, " ".join(text for texts in error.errors.values() for text in texts))
    else:
        messages.success(request, done_sentence(action, pk, run.unasked), extra_tags="passing")
        if action == "delete":
            return HttpResponseRedirect(reverse("frontend:runs"))
    return HttpResponseRedirect(page)


@require_POST
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Save the name, tags, notes, pin and reference of a run."""
    require_launch(request)
    run = run_or_404(pk)
    data: dict[str, object] = {name: request.POST.get(name, "") for name in ("name", "notes")}
    tags = [tag.strip() for tag in request.POST.get("tags", "").split(",") if tag.strip()]
    data |= {"tags": tags, "pinned": "pinned" in request.POST}
    if run.status in COMPLETED:
        data["baseline"] = "baseline" in request.POST
    try:
        edit_run(run, data, request.user)
    except InvalidRequest as error:
        messages.error(request, " ".join(text for texts in error.errors.values() for text in texts))
    else:
        messages.success(request, f"Run {pk} saved.")
    return HttpResponseRedirect(reverse("frontend:run", args=(pk,)))


@require_safe
def chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    return chart_response(request, run_charts(run_or_404(pk)), name, form)


@require_safe
def surface(request: HttpRequest, pk: int) -> HttpResponse:
    """The difficulty surface of a run on a canvas set."""
    run = run_or_404(pk)
    metric = params.text(request.GET, "metric") or run.headline
    others = reads.other_variants(run)
    drawn = placed(surface_charts(run, metric, others), "surface-chart", pk, metric)
    maps = [each for each in drawn if not each.chart.name.endswith("-lines")]
    context = {
        "run": run,
        "said": surface_said(run, metric),
        "variant": variant_of(run),
        "metrics": metric_rows(run),
        "metric": metric,
        "others": [(other, variant_of(other)) for other in others],
        "maps": maps[:2],
        "other_maps": maps[2:],
        "lines": [each for each in drawn if each.chart.name.endswith("-lines")],
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {pk}", reverse("frontend:run", args=(pk,))),
            ("Difficulty surface", None),
        ],
    }
    if not drawn:
        context |= {
            "with_surface": runs_table(
                reads.runs_with_surface(run.model), "Runs with a difficulty surface", page="surface"
            ),
            "canvas_set": canvas_sets().exclude(dataset=None).first(),
        }
        context["may_launch"] = may_launch(request.user)
    return render(request, "frontend/runs/surface.html", context)


@require_safe
def surface_chart(request: HttpRequest, pk: int, metric: str, name: str, form: str) -> HttpResponse:
    run = run_or_404(pk)
    return chart_response(request, surface_charts(run, metric, reads.other_variants(run)), name, form)


def _raise_budget(run: Run, request: HttpRequest) -> None:
    usd = params.real_number(request.POST, "budget_usd")
    if usd is None:
        raise NotPossible("Enter the new budget in US dollars, for example 5.")
    services.raise_budget(run, usd, request.user)


_ACTIONS: dict[str, Callable[[Run, HttpRequest], Any]] = {
    "pause": lambda run, request: services.pause_run(run, request.user),
    "cancel": lambda run, request: services.cancel_run(run, request.user),
    "resume": lambda run, request: services.resume_run(run, request.user),
    "retry": lambda run, request: services.retry_failed(run, request.user),
    "delete": lambda run, request: services.delete_run(run, request.user),
    "check": lambda run, request: check_contamination(run, request.user),
    "include_doubtful": lambda run, request: services.include_doubtful(run, True, request.user),
    "leave_out_doubtful": lambda run, request: services.include_doubtful(run, False, request.user),
    "budget": _raise_budget,
}


def _status(run: Run, of_people: Mapping[str, int]) -> dict[str, Any]:
    metrics, outcomes = metric_rows(run), outcome_counts(run, of_people)
    table = table_of(run) if run.status in COMPLETED else NO_TABLE
    comparable, own = comparables(table), table.place_of(run)
    numbers, judges = run.numbers_of(run.headline), judges_of_headline(run)
    failures, n_counted = failures_of(run, rows_of_examples(examples_of(run))), sum(each.count for each in outcomes)
    by_n = sorted(failures, key=lambda failure: -failure.n)
    unscored = [failure for failure in failures if failure.scores_zero is False]
    told = unscored if run.status == RunStatus.COMPLETED_WITH_ERRORS else []
    cause = max(told, key=lambda failure: failure.n, default=None)
    return {
        "run": run,
        "still_changes": reads.still_changes(run),
        "row": run_row(run),
        "metrics": metrics,
        "other_metrics": [beside(row, metrics[0]) for row in metrics[1:]],
        # Among the other facts there is room for two.
        "few_others": len(metrics) <= 3,
        "columns": [row for row in metrics if row.name in run.metrics],
        "headline": metrics[0],
        "covers": covers_of([run]).sentence if numbers.low is not None else "",
        "numbers": numbers,
        "guess": run.guess_of(run.headline),
        "comparable": [each for at, each in enumerate(comparable) if at < COMPARED or each.run.pk == run.pk],
        "why_unranked": next((each.reason for each in comparable if each.run.pk == run.pk), ""),
        "under": under_baseline(own, table.places, run.headline) if own else "",
        "judges": judges,
        "passes_at": _passes_at(run),
        "doubted": any(row.standing.caution for row in judges),
        "outcomes": outcomes,
        "n_counted": n_counted,  # a little behind ``done`` while the run is live
        "unfinished": run.total - n_counted,
        "failures": failures,
        "n_failed": sum(failure.n for failure in failures),
        "commonest": by_n[0] if len(by_n) > 1 and by_n[0].n > by_n[1].n else None,
        "n_unscored": sum(failure.n for failure in unscored),
        "fails_alike": bool(unscored) and all(failure.reason in sentences.FAILS_ALIKE for failure in unscored),
        "cause": cause,
        "cause_advice": sentences.advice(cause.reason) if cause else "",
        "cause_said": _said_by(cause) if cause else "",
        "cause_words": sentences.error_sentence(_said_by(cause), run.model) if cause else "",
        # The message above says it of all results.
        "is_told": run.status == RunStatus.FAILED and len(failures) == 1 and unscored and unscored[0].n == n_counted,
        "is_empty": run.status == RunStatus.FAILED and metrics[0].mean is None,
        "newest": rows_of_page(run, newest_results(run), {}) if run.is_live else [],
        "stalled": _stalled(run),
        "stopped_by": sentences.error_sentence(run.error_message, run.model),
        "waiting": sentences.waiting(run.waits_until, run.done, run.total) or sentences.turn_awaited(run),
        "adjustments": sentences.adjustments(run.adjustments, run.judge_trial, run.numbers.response_models),
        # In steps of ten: a screen reader would read out every single percent.
        "announced_percent": 10 * (100 * run.done // run.total // 10) if run.total else 0,
        "tokens": sentences.tokens(run.tokens_in, run.tokens_out),
        "latency": run.numbers.latency_ms,
        "first_token": run.numbers.first_token_ms,
        "speed": run.numbers.tokens_per_second,
        # Before it is prepared, a run has no cost to explain.
        "cost_words": Money(*sentences.cost_of_answers(run)).text,
        "cost_note": sentences.unknown_cost_of_answers(run) if run.total else "",
        "judge_cost_note": sentences.unknown_cost(run.judge_model, run.judge_cost_usd, run.judge_tokens_in)
        if run.total
        else "",
    }


def _said_by(failure: Failure) -> str:
    """How the reason of a failure and the error of an example begin: ``Rate limit: Too many requests``."""
    errors = [row.result.error_preview or "" for row in failure.examples]
    return ": ".join([failure.label, *filter(None, errors[:1])])


def _passes_at(run: Run) -> float | None:
    """From which score of its judge an answer counts as correct; ``None`` where each task says so itself."""
    metric = run.metric_named(run.headline)
    return metric.passes_at if metric and metric.judged and metric.name != TaskRubric.name else None


@dataclass(frozen=True, slots=True)
class Stalled:
    """Of a run that gets no answers: which provider owes them, how long a request waits for it and how often it is
    sent; how many results wait for it."""

    provider: str
    page: str
    timeout: float
    attempts: int
    n_waiting: int


def _stalled(run: Run) -> Stalled | None:
    """``None`` while answers come, or where the provider is configured no longer."""
    if not sentences.silent(run):
        return None
    name = (run.judge_model if getattr(run, "is_judging", False) else run.model).partition("/")[0]
    configured = provider_named(name)
    if configured is None:
        return None
    return Stalled(
        name,
        provider_page(name),
        configured.timeouts.first_byte,
        configured.retries.max_attempts,
        results_in_flight(run),
    )
