"""A page for each model: its runs, where it stands among the others, what it costs, its scores over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Run
from benchmarks.presentation.numbers import money_range, number, plural, points
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import known_cost, n_of_mean, total_cost
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.queries import history as history_reads
from benchmarks.queries.judge_words import joined, judge_words, judged_scores
from benchmarks.queries.live import live_state
from benchmarks.queries.model_status import troubled_models
from benchmarks.queries.models import ModelStanding, ModelTotals, model_standings, model_totals, served_models
from benchmarks.queries.runs import RunFilters, run_list
from benchmarks.queries.tables.models import SERVED
from benchmarks.queries.tables.run_list import runs_table
from benchmarks.queries.tables.runs import per_thousand
from benchmarks.services.access import may_launch
from frontend.history import history_charts, of_two_runs
from frontend.view_models import MetricRow, metric_row
from frontend.views.shared import chart_response, placed

RUNS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A standing in words. ``difference`` is that to the mean of the other models, in points; ``judged`` says who gave
    the score, if a judge did."""

    standing: ModelStanding
    metric: MetricRow
    judged: str
    rank: str
    n_of: str
    difference: str
    verdict: str
    cost: str
    latency: float | None
    usd: float | None = None


@require_safe
def model(request: HttpRequest, name: str) -> HttpResponse:
    totals = model_totals(name)
    if totals is None:
        raise Http404(f"No run has asked the model {name}.")
    histories = history_reads.histories(history_reads.latest_runs(model=name))
    standings = sorted(model_standings(name), key=_ahead, reverse=True)
    judged = [judged_scores([(each.run, each.run.headline)]) for each in standings]
    known = judge_words({pair for pairs in judged for pair in pairs})
    rows = [_row(each, joined(of_each, known)) for each, of_each in zip(standings, judged, strict=True)]
    is_baseline = name.startswith("baseline/")
    served = [] if is_baseline else served_models(model=name).get(name)
    latest = run_list(RunFilters(model=name))[:RUNS_SHOWN]
    context = {
        "live_state": live_state(),
        "name": name,
        "totals": totals,
        "is_baseline": is_baseline,
        "standings": rows,
        "leads": _baseline(name) if is_baseline else _leads(standings),
        "spends": "" if is_baseline else _spends(rows, totals),
        "trouble": troubled_models().get(name),
        "charts": placed(history_charts(histories, by_dataset=True), "model-chart", name),
        "two_runs": of_two_runs(histories, by_dataset=True),
        "runs": runs_table(latest, "Runs of the model", ["model"]),
        "at_zero": "" if is_baseline else _at_zero(latest),
        "served": SERVED.of(served) if served else None,
        "runs_shown": RUNS_SHOWN,
        "may_launch": may_launch(request.user),
        "crumbs": [("Models", reverse("frontend:models")), (name, None)],
    }
    return render(request, "frontend/models/detail.html", context)


@require_safe
def chart(request: HttpRequest, model: str, name: str, form: str) -> HttpResponse:
    histories = history_reads.histories(history_reads.latest_runs(model=model))
    return chart_response(request, history_charts(histories, by_dataset=True), name, form)


def _row(standing: ModelStanding, judged: str) -> StandingRow:
    run, n = standing.run, standing.table.n_ranked
    rank, difference = standing.table.rank(standing.place), _difference(standing)
    latency = run.numbers.latency_ms
    usd, unknown = known_cost(*per_thousand(run))
    return StandingRow(
        standing=standing,
        metric=metric_row(run.headline, standing.place.numbers),
        judged=judged,
        rank=f"{rank} of {n}" if rank and n > 1 else "",
        n_of=n_of_mean(run.headline, standing.place.numbers),
        difference="" if difference is None else ("+" if difference > 0 else "") + points(difference),
        verdict=_verdict(standing),
        cost=total_cost(*per_thousand(run)),
        latency=latency.p50 if latency else None,
        usd=None if unknown else usd,
    )


def _difference(standing: ModelStanding) -> float | None:
    mean = standing.place.numbers.mean
    return None if mean is None or standing.others is None else mean - standing.others


def _ahead(standing: ModelStanding) -> float:
    """The order of standings, strengths first; those that cannot be compared come last."""
    difference = _difference(standing)
    return -math.inf if difference is None else difference


def _leads(standings: Sequence[ModelStanding]) -> str:
    """On which benchmarks no other model scores significantly higher, and on which one does, as a sentence."""
    tested = [each for each in standings if each.table.n_ranked > 1 and each.n_below is not None]
    leading = [each.run.dataset.title for each in tested if not each.n_below]
    behind = [each.run.dataset.title for each in tested if each.n_below]
    parts = [f"not significantly behind any model on {listed(leading)}"] if leading else []
    parts += [f"significantly behind others on {listed(behind)}"] if behind else []
    if not parts and not any(each.table.n_ranked == 1 for each in standings):
        return ""
    said = "; ".join(parts) or "no other model has run its benchmarks in the same way"
    return f"{said[0].upper()}{said[1:]}."


def _baseline(name: str) -> str:
    """That it is no model, and what it does."""
    does = BASELINE_MODELS.get(name.partition("/")[2])
    return f"A baseline, not a model. {does}." if does else "A baseline, not a model."


def _spends(rows: Sequence[StandingRow], totals: ModelTotals) -> str:
    """What the model's answers cost and how many of them failed, as sentences."""
    known = [row.usd for row in rows if row.usd is not None]
    cost = f"1,000 results cost {money_range(min(known), max(known))}. " if known else ""
    failed = f"{number(totals.errors)} of {plural(totals.results, 'result')}" if totals.errors else "No result"
    return f"{cost}{failed} failed."


def _at_zero(latest: Iterable[Run]) -> str:
    """Which of the latest runs have no answer right, as a sentence; empty for none."""
    wrong = [run for run in latest if is_score(run.headline) and run.numbers_of(run.headline).mean == 0]
    named = listed([f"{run.pk} ({run.variant})" if run.variant else str(run.pk) for run in wrong])
    return f"No answer is right in {'run' if len(wrong) == 1 else 'runs'} {named}." if wrong else ""


def _verdict(standing: ModelStanding) -> str:
    """How it stands to the other models: ``Above 2, not separated from 1``; why it has no rank."""
    if standing.place.reason:
        return standing.place.reason
    above, below, words = standing.n_above, standing.n_below, ""
    if standing.table.n_ranked == 1:
        words = "The only model"
    elif above is not None and below is not None:
        rest = standing.table.n_ranked - 1 - above - below
        parts = ((above, "above {}"), (below, "below {}"), (rest, "not separated from {}"))
        words = ", ".join(words.format(n) for n, words in parts if n).capitalize()
    return ". ".join(filter(None, (words, standing.under)))
