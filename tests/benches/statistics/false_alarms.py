"""How often two runs of the same model are called different, and how often a real difference is detected."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.statistics.contamination import Contamination, Sample, published_against_fresh
from benchmarks.statistics.paired import Comparison, compare
from benchmarks.statistics.planning import PairedDesign, tasks_needed
from tests.benches.statistics.coverage import canvas_rates
from tests.benches.statistics.report import coverage, share, table
from tests.support.statistics import exact_power, family

ALIKE = 2_000
APART = 500
FAMILIES = 400
DRAWN_TWICE = 200
SHIFT = 0.1
QUESTIONS = 6


def _scores(
    random: np.random.Generator, rates: np.ndarray[tuple[int, ...], np.dtype[np.float64]], *, graded: bool
) -> dict[int, float]:
    """One run: task rates (canvases, questions) to a score by task number. Graded ones come in twentieths."""
    drawn = np.round(random.beta(4 * rates, 4 * (1 - rates)) * 20) / 20 if graded else random.binomial(1, rates)
    return dict(enumerate(drawn.ravel().tolist()))


def _two_runs(
    random: np.random.Generator, canvases: int, *, clustered: bool, graded: bool, lift: float
) -> tuple[dict[int, float], dict[int, float], dict[int, int] | None]:
    """Two runs on the same tasks, of all difficulties; B is better by ``lift`` on each.

    If ``clustered``, each run has its own good and bad canvases, so the differences on one canvas correlate.
    """
    base = random.uniform(0.25, 0.65, (canvases, QUESTIONS))
    runs = []
    for gain in (0.0, lift):
        effects = random.uniform(-0.2, 0.2, (canvases, 1)) if clustered else 0.0
        runs.append(_scores(random, base + gain + effects, graded=graded))
    clusters = {task: task // QUESTIONS for task in runs[0]} if clustered else None
    return runs[0], runs[1], clusters


def two_runs(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for graded in (False, True):
        for clustered in (False, True):
            for canvases in (10, 30, 80):
                alike = [
                    compare(*_two_runs(random, canvases, clustered=clustered, graded=graded, lift=0.0))
                    for _ in range(ALIKE)
                ]
                apart = [
                    compare(*_two_runs(random, canvases, clustered=clustered, graded=graded, lift=SHIFT))
                    for _ in range(APART)
                ]
                rows.append(
                    [
                        "graded" if graded else "0/1",
                        canvases * QUESTIONS,
                        canvases if clustered else "none",
                        share(float(np.mean([comparison.is_clear for comparison in alike]))),
                        coverage(_covered(alike, 0.0)),
                        share(float(np.mean([comparison.is_clear for comparison in apart]))),
                        coverage(_covered(apart, SHIFT)),
                    ]
                )
    head = [
        "scores",
        "tasks",
        "clusters",
        "false alarms",
        "interval holds 0",
        "10 points detected",
        "interval holds 10",
    ]
    yield table(head, rows)


def _covered(comparisons: list[Comparison], truth: float) -> float:
    return float(np.mean([_holds(comparison, truth) for comparison in comparisons]))


def _holds(estimate: Comparison | Contamination, truth: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def six_runs(random: np.random.Generator) -> Iterator[str]:
    """Any false alarm among the 15 pairs of six runs of one model, on one metric and on two, with Holm and without."""
    rows = []
    for metrics in (("exact",), ("exact", "judge")):
        with_holm = without = 0
        for _ in range(FAMILIES // len(metrics)):
            rates = random.uniform(0.1, 0.9, (20, QUESTIONS))
            runs = {
                f"run {number}": {metric: _scores(random, rates, graded=False) for metric in metrics}
                for number in range(6)
            }
            clear = [p_adjusted for comparison, p_adjusted in family(runs) if comparison.is_clear]
            with_holm += any(p_adjusted <= 0.05 for p_adjusted in clear)
            without += bool(clear)
        repeats = FAMILIES // len(metrics)
        rows.append([15 * len(metrics), repeats, share(with_holm / repeats), share(without / repeats)])
    yield table(["comparisons", "families", "any false alarm", "without Holm"], rows)


def published_and_fresh(random: np.random.Generator) -> Iterator[str]:
    """A model that knows neither set: how often the check says that it knows one."""
    rows = []
    for canvases in (10, 40):
        for correlation in (0.0, 0.3):
            alarms = 0
            names = [canvas for canvas in range(canvases) for _ in range(QUESTIONS)]
            for _ in range(DRAWN_TWICE):
                strata = {}
                for rate in (0.95, 0.8, 0.5):
                    rates = canvas_rates(random, (2, canvases, 1), rate, correlation)
                    drawn = random.binomial(1, np.repeat(rates, QUESTIONS, axis=2)).reshape(2, -1).tolist()
                    strata[str(rate)] = (Sample(drawn[0], names), Sample(drawn[1], names))
                alarms += not _holds(published_against_fresh(strata), 0.0)
            rows.append([3, canvases, correlation, share(alarms / DRAWN_TWICE)])
    yield table(["strata", "canvases each", "correlation", "false alarms"], rows)


def planned_sizes() -> Iterator[str]:
    """The exact power of the size that is planned for 80%."""
    discordances, differences = (0.1, 0.2, 0.3, 0.5), (0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5)
    rows = []
    for difference in differences:
        powers = []
        for discordance in discordances:
            if difference > discordance:
                powers.append("–")
                continue
            size = tasks_needed(difference, PairedDesign(discordance=discordance))
            powers.append(share(exact_power(size.tasks, difference, discordance)))
        rows.append([difference, *powers])
    yield table(["difference", *(f"discordance {discordance}" for discordance in discordances)], rows)
