"""A page for each model: its runs, where it stands among the others, what it costs, its scores over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from benchmarks.analysis.rankings import Place
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Run
from benchmarks.presentation.cells import Mean
from benchmarks.presentation.numbers import money_range, number, plural, score, signed_points
from benchmarks.presentation.ranks import Mark, listed
from benchmarks.presentation.sentences import known_cost, n_of_mean, total_cost
from benchmarks.presentation.texts import visible
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.model_names import is_baseline
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
from frontend.large_ruler import LargeRuler, Scored
from frontend.ruler import strip
from frontend.view_models import MetricRow, metric_row
from frontend.views.shared import chart_response, placed

RUNS_SHOWN, RULERS_SHOWN = 8, 4
DRAWN = 200
"""Pixels of a score beside those of the other models; a phone has room for the number beside it."""


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A standing in words, ``drawn`` beside the other models; ``judged`` says who gave the score, if a judge did. A
    ``note`` says why there is no rank, or which baseline is not reached."""

    standing: ModelStanding
    metric: MetricRow
    judged: str
    drawn: SafeString
    rank: str
    note: str
    n_of: str
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
    built_in = is_baseline(name)
    served = [] if built_in else served_models(model=name).get(name, [])
    above = {each.run.pk for each in standings}
    latest = list(run_list(RunFilters(model=name))[: RUNS_SHOWN + len(above)])
    others = [run for run in latest if run.pk not in above][:RUNS_SHOWN]
    context = {
        "live_state": live_state(),
        "name": name,
        "totals": totals,
        "is_baseline": built_in,
        "standings": rows,
        "lead": _under_models(standings) if built_in else _lead(standings),
        "spends": _does(name) if built_in else _spends(rows, totals),
        "trouble": troubled_models().get(name),
        "beside": [(each, _models_above(each)) for each in rows[:RULERS_SHOWN] if each.drawn and each.standing.others]
        if built_in
        else [],
        "charts": placed(history_charts(histories, by_dataset=True), "model-chart", name),
        "two_runs": of_two_runs(histories, by_dataset=True),
        "runs": runs_table(others, "Other runs of the model", ["model"]),
        "at_zero": [] if built_in else _at_zero(latest[:RUNS_SHOWN]),
        "served": SERVED.of(served) if len(served) > 1 else None,
        "answered_as": served[0] if len(served) == 1 else None,
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
    numbers, rank = standing.place.numbers, standing.table.rank(standing.place)
    latency = run.numbers.latency_ms
    usd, unknown = known_cost(*per_thousand(run))
    metric = metric_row(run.headline, numbers)
    return StandingRow(
        standing=standing,
        metric=metric,
        judged=judged,
        drawn=_drawn(standing, metric),
        rank=f"{rank} of {n}" if rank and n > 1 else "",
        note=standing.place.reason or ". ".join(filter(None, ("Only model" if n == 1 else "", standing.under))),
        n_of=n_of_mean(run.headline, numbers),
        cost=total_cost(*per_thousand(run)),
        latency=latency.p50 if latency else None,
        usd=None if unknown else usd,
    )


def _drawn(standing: ModelStanding, metric: MetricRow) -> SafeString:
    """Its score with its interval, a tick for each other model."""
    if not metric.bounded:
        return SafeString("")
    others = [(place.run.model_label, mean) for place in standing.others if (mean := place.numbers.mean) is not None]
    said = "; ".join(f"{visible(name)} {score(mean)}" for name, mean in others)
    own = Mean(metric.mean, metric.low, metric.high)
    guess = None if standing.run.is_baseline else standing.run.guess_of(metric.name)
    label = f"Score {score(metric.mean)}. Other models: {said or 'none'}."
    return strip([mean for _, mean in others], own, guess, label, DRAWN)


def _models_above(row: StandingRow) -> LargeRuler:
    """The models beside a baseline, which stands on the axis, each with its difference from it."""
    own = row.metric.mean or 0.0
    scored = [
        Scored.of(
            place.run.model_label, mean, place.numbers.low, place.numbers.high, more=f"({signed_points(mean - own)})"
        )
        for place in row.standing.others
        if (mean := place.numbers.mean) is not None
    ]
    baseline = Mark(row.standing.run.model.partition("/")[2], own)
    said = "; ".join(f"{each.model} {score(each.mean)}" for each in scored)
    return LargeRuler(scored, [baseline], label=f"Means with 95% intervals, and the baseline at {score(own)}: {said}.")


def _higher(standing: ModelStanding) -> list[Place]:
    own = standing.place.numbers.mean or 0.0
    return [place for place in standing.others if (place.numbers.mean or 0.0) > own]


def _ahead(standing: ModelStanding) -> float:
    """The order of standings, strengths first; those that cannot be compared come last."""
    mean, others = standing.place.numbers.mean, standing.mean_of_others
    return -math.inf if mean is None or others is None else mean - others


def _lead(standings: Sequence[ModelStanding]) -> str:
    """On which benchmarks it has or shares the first rank, and on which other models are significantly better, as one
    sentence; without either, that it differs from none."""
    tested = [(each.run.dataset.title, each) for each in standings if each.table.n_ranked > 1 and each.span]
    first = [title for title, each in tested if each.span == (1, 1)]
    alike = [title for title, each in tested if each.span == (1, each.table.n_ranked)]
    shared = [title for title, each in tested if each.span and 1 == each.span[0] < each.span[1] < each.table.n_ranked]
    behind = [(title, each.ahead) for title, each in tested if each.ahead]
    parts = [f"ranks first on {listed(first)}"] if first else []
    parts += [f"shares rank 1 on {listed(shared)}"] if shared else []
    if behind:
        few = len(behind) == 1 and len(behind[0][1]) < 3
        who = listed([visible(place.run.model_label) for place in behind[0][1]]) if few else "others"
        parts.append(f"significantly behind {who} on {listed([title for title, _ in behind])}")
    if alike and not parts:
        parts.append(f"not significantly different from any other on {listed(alike)}")
    if not parts and not any(each.table.n_ranked == 1 for each in standings):
        return ""
    return _sentence("; ".join(parts) or "no other model has run its benchmarks in the same way")


def _does(name: str) -> str:
    does = BASELINE_MODELS.get(name.partition("/")[2])
    return f"{does}." if does else ""


def _under_models(standings: Sequence[ModelStanding]) -> str:
    """That a baseline is no model, and on which benchmarks models score higher."""
    groups: dict[str, list[str]] = {}
    for each in standings:
        n, n_all = len(_higher(each)), len(each.others)
        if n_all:
            who = "no model scores" if n == 0 else "all models score" if n == n_all else "some models score"
            groups.setdefault(f"{who} higher on", []).append(each.run.dataset.title)
    scores = "; ".join(f"{words} {listed(titles)}" for words, titles in groups.items())
    return f"A baseline, not a model. {_sentence(scores)}".strip()


def _sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _spends(rows: Sequence[StandingRow], totals: ModelTotals) -> str:
    """What the model's answers cost and how many have an error, as one sentence."""
    known = [row.usd for row in rows if row.usd is not None]
    cost = f"1,000 results cost {money_range(min(known), max(known))}; " if known else ""
    failed = f"{number(totals.errors)} of {plural(totals.results, 'result')}" if totals.errors else "no result"
    return _sentence(f"{cost}{failed} {'have' if totals.errors > 1 else 'has'} an error")


def _at_zero(latest: Iterable[Run]) -> list[Run]:
    """Those of the latest runs that have no answer right."""
    return [run for run in latest if is_score(run.headline) and run.numbers_of(run.headline).mean == 0]
