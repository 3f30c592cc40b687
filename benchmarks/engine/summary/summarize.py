"""A run's numbers, computed from its rows: per metric, by difficulty, task class and number of shapes.

The summary is written from time to time while a run is in progress and when it ends. Means are strict: an answer that
is unparsable, cut off or refused has the lowest score, unless another tool scored it. Results without a score are
counted beside them, by reason. Expensive parts (scores above the best guess, thresholds, reliability) are computed at
the end only.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Avg, Case, Count, F, Max, Min, Q, QuerySet, Sum, When
from django.db.models.functions import MD5

from benchmarks.analysis.preferences import preference_numbers
from benchmarks.analysis.score_table import FETCHED, LEFT_OUT
from benchmarks.analysis.sums import (
    Cell,
    Sums,
    added,
    doubtful_results,
    headline_of,
    scored_rows,
    summed_cells,
)
from benchmarks.engine.configured import is_system
from benchmarks.engine.summary.adaptive import adaptive_numbers, with_sequential_intervals
from benchmarks.engine.summary.agreement import agreement_numbers, panel_numbers
from benchmarks.engine.summary.contamination import contamination_numbers
from benchmarks.engine.summary.faults import fault_rates
from benchmarks.engine.summary.guessing import chance_numbers, guesses_of, threshold_numbers
from benchmarks.engine.summary.labels import label_breakdown
from benchmarks.engine.summary.means import (
    SURFACE,
    WHOLE,
    Facets,
    Level,
    Mean,
    Means,
    interval_of,
    means_of,
    range_of,
    weighted_numbers,
)
from benchmarks.engine.summary.subset import with_estimates
from benchmarks.metrics.base import Metric
from benchmarks.metrics.deciding import is_deciding
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, LOST, Outcome, Result, ResultState, Run, RunStatus, Score
from benchmarks.statistics.reliability import Tally, judge_spread_of_sums, reliability_of_tallies
from benchmarks.summary import (
    Breakdown,
    Canvases,
    Counted,
    Expected,
    Failure,
    Histogram,
    MetricNumbers,
    PartOfCost,
    Readable,
    Reliability,
    Summary,
    SurfaceCell,
    Times,
    Tokens,
)

FACETS = ("difficulty", "group", "n_shapes")
BINS = 10
MOST_FAILURES = 40
EXAMPLES = 3
MOST_RESPONSE_MODELS = 10


def summarize(run: Run, *, live: bool = False) -> tuple[dict[str, object], dict[str, object]]:
    """The run's ``summary`` and ``breakdown`` as they are stored; for a live run without expensive parts.

    Sets ``run.headline``, which may change while results come in, and which the caller stores with them.
    """
    run.headline = headline_of(run)
    cells = summed_cells(run)
    means = means_of(run, cells)
    sums = added(cells, lambda cell: cell.metric)
    outcomes = _outcomes(run)
    latency, first_token, speed = _times(run)
    summary = Summary(
        metrics={metric: _metric_numbers(run, metric, means, outcomes) for metric in run.all_metrics},
        outcomes=outcomes,
        error_kinds=_error_kinds(run) if run.errors else {},
        failures=_failures(run),
        latency_ms=latency,
        first_token_ms=first_token,
        tokens_per_second=speed,
        tokens=Tokens(**run.results.aggregate(reasoning=Sum("reasoning_tokens"), cached=Sum("cached_tokens"))),
        part_of_cost=_part_of_cost(run) if run.cost_usd is None and run.done else None,
        histograms={
            metric: _histogram(run, metric, of_metric.highest)
            for metric, of_metric in sums.items()
            if metric in run.all_metrics and of_metric.highest is not None
        },
    )
    breakdown = _breakdown(run, means)
    if not live:
        summary = _ended(run, summary, cells, means)
    if run.target_half_width is not None:
        adaptive = adaptive_numbers(run)
        metrics, breakdown = with_sequential_intervals(run, adaptive, summary.metrics, breakdown)
        summary = replace(summary, metrics=metrics, adaptive=adaptive)
    if run.subset_design and not live:
        metrics, breakdown, subset = with_estimates(run, summary.metrics, breakdown)
        # What is computed from the drawn tasks alone would be biased toward uncertain ones.
        summary = replace(summary, metrics=metrics, subset=subset, chance={}, thresholds=[])
    return _rounded(summary.stored()), _rounded(breakdown.stored())


def _part_of_cost(run: Run) -> PartOfCost | None:
    # An error before any reply has no duration, and was not paid for.
    kept = Q(state__in=(ResultState.DONE, ResultState.ANSWERED, ResultState.JUDGING))
    answered = run.results.filter(kept | Q(state=ResultState.ERROR, duration_ms__isnull=False))
    unknown = Count("pk", filter=Q(cost_usd=None))
    part = PartOfCost(
        **answered.aggregate(known_usd=Sum("cost_usd"), n_unknown=unknown, n=Count("pk")),
        by_system=is_system(run.model),
    )
    return part if part.n_unknown and (part.n_unknown < part.n or part.by_system) else None


def _ended(run: Run, summary: Summary, cells: Mapping[Cell, Sums], means: Means) -> Summary:
    """With what is computed at the end only."""
    guesses = guesses_of(run)
    judged = run.status in (RunStatus.RUNNING, *COMPLETED)  # not of a run that was canceled or has failed
    return replace(
        summary,
        fault_rates=fault_rates(run),
        chance=chance_numbers(run, cells, means, guesses),
        thresholds=threshold_numbers(run, cells, {name: guess.rate for name, guess in guesses.items()}),
        reliability=_reliability(run),
        panels=panel_numbers(run) or None,
        response_models=_answered_by(run, "response_model"),
        fingerprints=_answered_by(run, "response_fingerprint") or None,
        canvases=_canvases(run) if run.representation else None,
        contamination=contamination_numbers(run.fresh_of, run) if run.fresh_of is not None else None,
        agreement=agreement_numbers(run) if run.is_calibration and judged else None,
        preference=preference_numbers(run) if run.is_preference and judged else None,
    )


def _rounded(numbers: Any) -> Any:
    """Every number with 12 significant digits: the databases add in any order, so later ones are rounding errors."""
    if isinstance(numbers, dict):
        return {name: _rounded(value) for name, value in numbers.items()}
    if isinstance(numbers, list | tuple):
        return [_rounded(value) for value in numbers]
    return float(f"{numbers:.12g}") if isinstance(numbers, float) else numbers


def _metric_numbers(run: Run, metric: str, means: Means, outcomes: Mapping[str, int]) -> MetricNumbers:
    """The strict mean and the mean over readable answers, with the number of results by fault, and of results without
    a score by reason.
    """
    mean = means.get((metric, WHOLE, ())) or Mean(interval_of(metric, Sums()), Sums())
    sums, statuses = mean.sums, mean.sums.statuses
    readable = statuses[Score.Status.SCORED]
    # Results without a row of the metric. Some have an outcome although the metric scored them (canceled while another
    # metric was judged), so that each reason takes at most what the ones before it leave.
    missing = sums.results - statuses.total()
    counts = {}
    for name, number in (
        ("n_provider_error", outcomes.get(Outcome.PROVIDER_ERROR, 0)),
        ("n_internal_error", outcomes.get(Outcome.INTERNAL_ERROR, 0)),
        ("n_pending", sums.results - sum(outcomes.values())),
        ("n_cancelled", outcomes.get(Outcome.CANCELLED, 0)),
        ("n_ungraded", outcomes.get(Outcome.ANSWERED, 0) if is_deciding(metric) else 0),
        ("n_missing", missing),
    ):
        counts[name] = min(number, missing)
        missing -= counts[name]
    counts |= {f"n_{status.value}": statuses[status] for status in Score.Status if status != Score.Status.SCORED}
    return MetricNumbers.of(
        mean.interval,
        n_expected=sums.expected,
        coverage=mean.coverage,
        readable=Readable(
            mean=sums.readable_total / readable if readable else None,
            n=readable,
            share=readable / sums.n if sums.n else None,
        ),
        weighted=weighted_numbers(run, metric),
        **counts,
    )


def _canvases(run: Run) -> list[Canvases]:
    """By number of shapes, how many canvases the run asked about, with the lowest and highest of their numbers.

    A set may grow, and an adaptive run chooses its canvases, so the version alone does not say this.
    """
    number = "task__question__canvas__number"
    rows = run.results.filter(n_shapes__isnull=False).order_by("n_shapes").values_list("n_shapes")
    numbered = rows.annotate(n=Count("cluster", distinct=True), first=Min(number), last=Max(number))
    return [Canvases(*row) for row in numbered]


def _outcomes(run: Run) -> dict[str, int]:
    counts = run.results.exclude(outcome="").order_by().values_list("outcome").annotate(n=Count("id"))
    return dict(counts)


def _answered_by(run: Run, column: str) -> dict[str, int]:
    """What the endpoint says has answered → number of results, the most frequent first."""
    answered = run.results.exclude(**{column: None}).exclude(**{column: ""}).order_by().values_list(column)
    counted = answered.annotate(n=Count("id")).order_by("-n", column)
    return dict(counted[:MOST_RESPONSE_MODELS])


def _error_kinds(run: Run) -> dict[str, int]:
    """How many results ended in an error of each kind; a canceled result is not an error."""
    failed = run.results.filter(state=ResultState.ERROR).exclude(outcome=Outcome.CANCELLED).order_by()
    return dict(failed.values_list("error_kind").annotate(n=Count("id")))


def _failures(run: Run) -> list[Failure]:
    """What is not correct by outcome and reason, the most frequent first: ``n`` results, where they are (task class, or
    difficulty, → number), and up to three of them as examples, from different places if there are several.
    """
    facet = "group" if run.has_canvases else "difficulty"
    failed = run.results.exclude(outcome__in=("", Outcome.CORRECT, Outcome.ANSWERED, Outcome.CANCELLED))
    keys = ("outcome", "failure", "error_kind")
    rows = failed.order_by().values(*keys, facet).annotate(n=Count("id"), first=Min("id"), last=Max("id"))
    groups: dict[tuple[str, str], list[tuple[str, int, int, int]]] = defaultdict(list)
    for row in rows.order_by("-n", "first"):
        reason = row["failure"] or row["error_kind"]
        groups[row["outcome"], reason].append((row[facet], row["n"], row["first"], row["last"]))
    failures = []
    for (outcome, reason), parts in groups.items():
        where = Counter[str]()
        for place, n, _, _ in parts:
            where[place] += n
        examples = dict.fromkeys([*(first for *_, first, _ in parts), *(last for *_, last in parts)])
        failures.append(Failure(outcome, reason, where.total(), where, list(examples)[:EXAMPLES]))
    return sorted(failures, key=lambda failure: -failure.n)[:MOST_FAILURES]


def _times(run: Run) -> list[Times | None]:
    """Latency, time to the first token and the speed after it, of the endpoint's answers, judged or not. The time of a
    cached response or of an error means nothing, and only streamed answers have the latter two."""
    timed = Result.objects.filter(run=run, cached=False, duration_ms__isnull=False).order_by()
    timed = timed.exclude(outcome__in=LOST)
    measured = ("duration_ms", "first_token_ms", "tokens_per_second")
    numbers = timed.aggregate(
        **{
            f"{field}_{which}": function(field)
            for field in measured
            for which, function in (("n", Count), ("mean", Avg), ("max", Max))
        }
    )
    return [
        _quantiles(timed, field, *(numbers[f"{field}_{which}"] for which in ("n", "mean", "max"))) for field in measured
    ]


def _quantiles(timed: QuerySet[Result], field: str, n: int, mean: float, highest: float) -> Times | None:
    """``None`` if nothing was measured."""
    return Times(n, mean, _quantile(timed, field, n, 0.5), _quantile(timed, field, n, 0.95), highest) if n else None


def _quantile(timed: QuerySet[Result], field: str, n: int, share: float) -> float:
    """Linear interpolation between the closest ranks (type 7 of Hyndman and Fan)."""
    place = (n - 1) * share
    below = int(place)
    measured = timed.filter(**{f"{field}__isnull": False})
    times: list[float] = list(measured.order_by(field).values_list(field, flat=True)[below : below + 2])
    return times[0] + (times[-1] - times[0]) * (place - below)


def _histogram(run: Run, metric: str, highest: float) -> Histogram:
    """Edges of equal bins and the counts in them; a value on an edge counts above it, the highest below."""
    scores, _ = scored_rows(run, metric)
    low, high = range_of(metric)
    if math.isinf(low):
        low = scores.aggregate(low=Min("value"))["low"]
    width = ((highest if high is None else high) - low) / BINS or 1.0
    edges = [low + width * edge for edge in range(BINS + 1)]
    # The outer bins are open, so that a value outside its metric's range is not lost.
    below = (When(value__lt=edge, then=place) for place, edge in enumerate(edges[1:BINS]))
    bins = scores.order_by().values_list(Case(*below, default=BINS - 1))
    counts = dict(bins.annotate(n=Count("pk")))
    return Histogram(edges, [counts.get(place, 0) for place in range(BINS)])


def _breakdown(run: Run, means: Means) -> Breakdown:
    """By labels and by each facet of the run, and the surface over shapes and task classes."""
    facets = label_breakdown(run)
    for facet in FACETS:
        levels: dict[str, dict[str, Counted]] = {}
        for metric, (level,), mean in _ordered(run, means, (facet,)):
            levels.setdefault(str(level), {})[metric] = mean.counted
        if levels:
            facets[facet] = levels
    surface = [
        SurfaceCell.of(
            mean.interval,
            n_expected=mean.sums.expected,
            coverage=mean.coverage,
            n_shapes=n_shapes,
            group=group,
            metric=metric,
        )
        for metric, (n_shapes, group), mean in _ordered(run, means, SURFACE)
    ]
    return Breakdown(facets, surface)


def _ordered(run: Run, means: Means, facets: Facets) -> list[tuple[str, Level, Mean]]:
    """By level, easy before hard and few shapes before many, then by the run's metrics."""
    ranks = {name: place for place, name in enumerate(("easy", "medium", "hard", *run.all_metrics))}

    def order(row: tuple[str, Level, Mean]) -> tuple[Any, ...]:
        metric, level, _ = row
        return (*((ranks.get(name, 0), name) for name in level), ranks[metric])

    return sorted(((metric, level, mean) for (metric, of, level), mean in means.items() if of == facets), key=order)


def _reliability(run: Run) -> dict[str, Reliability]:
    """Metric → its reliability, for metrics that decide outcomes; empty for runs without repeats.

    A repeat is correct if its score reaches ``passes_at`` of the metric. ``judge`` is the spread of the judge's scores
    for identical answers to one task; it is missing if there are none.
    """
    if run.repeats < 2:
        return {}
    numbers: dict[str, Reliability] = {}
    for name in run.all_metrics:
        metric = metric_named(name)
        if metric is None or metric.range != (0.0, 1.0) or not metric.decides_outcome:
            continue
        reliability = reliability_of_tallies(_tallies(run, metric))
        share = partial(Expected.of, n_expected=_expected_tasks(run, name))
        spread = judge_spread_of_sums(_judged_again(run, metric)) if metric.judged else None
        numbers[name] = Reliability(
            pass_at={str(k): share(interval) for k, interval in reliability.pass_at.items()},
            pass_hat={str(k): share(interval) for k, interval in reliability.pass_hat.items()},
            flipped=share(reliability.flipped),
            agreement=share(reliability.agreement),
            alpha=reliability.alpha,
            n_tasks=reliability.n_tasks,
            n_repeated=reliability.n_repeated,
            judge=spread if spread and spread.n_answers else None,
        )
    return numbers


def _expected_tasks(run: Run, metric: str) -> int:
    """The N of shares of tasks: those that the metric applies to and whose reference is not in doubt."""
    if is_deciding(metric):
        results = run.results.exclude(pk__in=doubtful_results(run).values("pk"))
    else:
        left_out = run.scores.filter(metric=metric, status__in=LEFT_OUT)
        results = run.results.exclude(pk__in=left_out.values("result"))
    return results.order_by().values("task").distinct().count()


def _tallies(run: Run, metric: Metric) -> Iterator[tuple[Tally, int]]:
    """The tally of each canvas, or other cluster of tasks; without any, each task is one of its own."""
    scores, at = scored_rows(run, metric.name)
    right = Q(outcome=Outcome.CORRECT) if is_deciding(metric.name) else Q(value__gte=metric.passes_at)
    tasks = (
        scores.order_by(f"{at}cluster")
        .values_list(f"{at}cluster", f"{at}task")
        .annotate(n=Count("pk"), right=Count("pk", filter=right))
    )
    rows = tasks.iterator(chunk_size=FETCHED)
    if not (run.has_canvases or run.has_task_clusters):
        yield from (({counts: 1}, number) for counts, number in Counter(row[2:] for row in rows).items())
        return
    for _, of_canvas in groupby(rows, key=itemgetter(0)):
        yield Counter(row[2:] for row in of_canvas), 1


def _judged_again(run: Run, metric: Metric) -> Iterator[tuple[int, float, float, float]]:
    """Number, sum, sum of squares and range of the scores of every answer that the judge scored more than once."""
    answers = (
        run.scores.filter(metric=metric.name, value__isnull=False, judge__isnull=False)
        .order_by()
        .values_list("result__task", MD5("result__transcript__actual_output"))
        .annotate(
            n=Count("pk"), total=Sum("value"), squares=Sum(F("value") * F("value")), width=Max("value") - Min("value")
        )
        .filter(n__gt=1)
    )
    for *_, n, total, squares, width in answers.iterator(chunk_size=FETCHED):
        yield n, total, squares, width
