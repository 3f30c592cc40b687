"""How often the 95% interval of a mean contains the true mean, by the functions that the pages use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.statistics.agreement import Kappa, cohen_kappa
from benchmarks.statistics.intervals import Interval, Moments, interval_from_moments, mean_interval
from benchmarks.statistics.spread import counted
from benchmarks.statistics.weighted import WeightedPart, weighted_mean
from tests.benches.statistics.report import band_summary, coverage, table
from tests.support.statistics import Group, average_above_guessing

REPEATS = 2_500
RATES = (0.5, 0.8, 0.95)
ERRORS = (0.02, 0.1, 0.3)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
Floats = NDArray[np.float64]


def holds(interval: Interval | Kappa, truth: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high


def _share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))


def canvas_rates(random: np.random.Generator, shape: tuple[int, ...], rate: float, correlation: float) -> Floats:
    """Each canvas's own rate, spread so that the answers on one canvas correlate by ``correlation``."""
    if correlation == 0:
        return np.full(shape, rate)
    spread = (1 - correlation) / correlation
    return random.beta(rate * spread, (1 - rate) * spread, shape)


def independent_zeros_and_ones() -> Iterator[str]:
    """Exact, by summing over every possible count."""
    sizes, rates = (10, 30, 100, 300, 1000), (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
    cells = {}
    for n in sizes:
        intervals = [interval_from_moments(Moments(n, right, right)) for right in range(n + 1)]
        for rate in rates:
            chances = binom.pmf(np.arange(n + 1), n, rate)
            cells[n, rate] = float(
                sum(chance for chance, interval in zip(chances, intervals, strict=True) if holds(interval, rate))
            )
    yield table(
        ["n", *(f"rate {rate}" for rate in rates)], [[n, *(coverage(cells[n, r]) for r in rates)] for n in sizes]
    )
    yield band_summary(list(cells.values()))


def clustered_zeros_and_ones(random: np.random.Generator) -> Iterator[str]:
    values: list[float] = []
    rows: list[list[object]] = []
    for canvases in (10, 20, 30, 50, 200):
        for questions in (3, 18):
            for rate in RATES:
                row = []
                for correlation in CORRELATIONS:
                    rates = canvas_rates(random, (4 * REPEATS, canvases), rate, correlation)
                    right = random.binomial(questions, rates)
                    row.append(_share(holds(_from_sums(sums, questions), rate) for sums in right.tolist()))
                values += row
                rows.append([canvases, questions, rate, *map(coverage, row)])
    yield table(["canvases", "questions each", "rate", *(f"correlation {c}" for c in CORRELATIONS)], rows)
    yield band_summary(values)
    yield "Of these, with 30 canvases or more: " + band_summary(values[2 * len(values) // 5 :])


def _from_sums(sums: list[int], questions: int) -> Interval:
    n, total = questions * len(sums), sum(sums)
    return interval_from_moments(Moments(n, total, total), [(questions, right, 1) for right in sums])


def uneven_clusters(random: np.random.Generator) -> Iterator[str]:
    """Canvases of 1 to 12 scored questions, as when some answers have no score."""
    values: list[float] = []
    rows: list[list[object]] = []
    for canvases in (20, 50, 200):
        sizes = random.integers(1, 13, (REPEATS, canvases))
        for rate in RATES:
            row = []
            for correlation in CORRELATIONS:
                right = random.binomial(sizes, canvas_rates(random, sizes.shape, rate, correlation))
                intervals = (
                    interval_from_moments(
                        Moments(sum(size), sum(sums), sum(sums)), counted(zip(size, sums, strict=True))
                    )
                    for size, sums in zip(sizes.tolist(), right.tolist(), strict=True)
                )
                row.append(_share(holds(interval, rate) for interval in intervals))
            values += row
            rows.append([canvases, rate, *map(coverage, row)])
    yield table(["canvases of 1 to 12", "rate", *(f"correlation {c}" for c in CORRELATIONS)], rows)
    yield band_summary(values)


def weighted_means(random: np.random.Generator) -> Iterator[str]:
    """0/1 scores of tasks whose weights have nothing to do with their rates, or whose heavy ones are hard or easy."""
    kinds: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "1 to 3": ((1, 2, 3), (1 / 3, 1 / 3, 1 / 3)),
        "1, a fifth 5": ((1, 5), (0.8, 0.2)),
        "1, a twentieth 20": ((1, 20), (0.95, 0.05)),
    }
    rates = {"0.8": (0.8, 0.8), "0.9, the heaviest 0.5": (0.9, 0.5), "0.6, the heaviest 0.95": (0.6, 0.95)}
    values: list[float] = []
    rows: list[list[object]] = []
    for kind, (weights, shares) in kinds.items():
        for name, (light, heavy) in rates.items():
            row: list[float | None] = []
            for n in (30, 100, 300):
                for repeats in (1, 3):
                    drawn = random.choice(weights, p=shares, size=(REPEATS // 2, n))
                    task_rates = np.where(drawn == max(weights), heavy, light)
                    # Repeats of one task agree: a beta of correlation ½ around its rate.
                    own = random.beta(task_rates, 1 - task_rates) if repeats > 1 else task_rates
                    drawings = zip(drawn.tolist(), random.binomial(repeats, own).tolist(), strict=True)
                    intervals = [each for each in (_weighted(*it, repeats) for it in drawings) if each.low is not None]
                    *lighter, heaviest = np.multiply(shares, weights)
                    truth = float((sum(lighter) * light + heaviest * heavy) / (sum(lighter) + heaviest))
                    many = len(intervals) > len(drawn) / 2
                    row.append(_share(holds(each, truth) for each in intervals) if many else None)
            values += [each for each in row if each is not None]
            rows.append([kind, name, *("no interval" if each is None else coverage(each) for each in row)])
    head = ("n = 30", "3 repeats", "n = 100", "3 repeats", "n = 300", "3 repeats")
    yield table(["weights", "rate", *head], rows)
    yield band_summary(values)


def _weighted(weights: Sequence[int], right: Sequence[int], repeats: int) -> Interval:
    rows = zip(weights, right, strict=True)
    return weighted_mean(
        [WeightedPart(repeats, weight * repeats, weight * sums, weight * sums)] for weight, sums in rows
    ).interval


def graded_scores(random: np.random.Generator) -> Iterator[str]:
    def mostly_right(share: float) -> Callable[[tuple[int, int]], Floats]:
        return lambda shape: np.where(random.random(shape) < share, 1.0, random.random(shape))

    kinds: dict[str, tuple[Callable[[tuple[int, int]], Floats], float]] = {
        "beta(8, 2)": (lambda shape: random.beta(8, 2, shape), 0.8),
        "beta(½, ½)": (lambda shape: random.beta(0.5, 0.5, shape), 0.5),
        "70% ones, else uniform": (mostly_right(0.7), 0.85),
        "90% ones, else uniform": (mostly_right(0.9), 0.95),
        "0, ½ or 1": (lambda shape: random.choice([0, 0.5, 1], p=[0.1, 0.2, 0.7], size=shape), 0.8),
    }
    sizes = (10, 30, 100, 300)
    values: list[float] = []
    rows: list[list[object]] = []
    for name, (draw, truth) in kinds.items():
        row = [_share(holds(mean_interval(scores), truth) for scores in draw((REPEATS, n)).tolist()) for n in sizes]
        values += row
        rows.append([name, *map(coverage, row)])
    yield table(["scores", *(f"n = {n}" for n in sizes)], rows)
    yield band_summary(values)


def rare_zeros(random: np.random.Generator) -> Iterator[str]:
    """Graded scores of which a share is 0, as faults of answers are."""
    kinds: dict[str, tuple[Callable[[tuple[int, int]], Floats], float]] = {
        "beta(20, 3)": (lambda shape: random.beta(20, 3, shape), 20 / 23),
        "beta(8, 2)": (lambda shape: random.beta(8, 2, shape), 0.8),
        "beta(2, 2)": (lambda shape: random.beta(2, 2, shape), 0.5),
        "70% ones, else uniform": (lambda shape: np.where(random.random(shape) < 0.7, 1.0, random.random(shape)), 0.85),
    }
    sizes = (5, 10, 20, 50, 100, 200)
    values: list[float] = []
    rows: list[list[object]] = []
    for name, (draw, mean) in kinds.items():
        for zeros in (0.0, 0.02, 0.05, 0.1, 0.2):
            row = []
            for n in sizes:
                drawn = np.where(random.random((REPEATS, n)) < zeros, 0.0, draw((REPEATS, n)))
                row.append(_share(holds(mean_interval(scores), (1 - zeros) * mean) for scores in drawn.tolist()))
            values += row
            rows.append([f"{name}, {zeros:.0%} zeros", *map(coverage, row)])
    yield table(["scores", *(f"n = {n}" for n in sizes)], rows)
    yield band_summary(values)


def averaged_groups(random: np.random.Generator) -> Iterator[str]:
    """The corrected average over three task classes with questions about the same canvases."""
    guesses = {"existence": 0.5, "coordinate": 0.125, "count": 0.25}
    values: list[float] = []
    rows: list[list[object]] = []
    for canvases in (20, 50, 200):
        names = [canvas for canvas in range(canvases) for _ in range(3)]
        row = []
        for correlation in CORRELATIONS:
            truth = float(np.mean([(0.8 - guess) / (1 - guess) for guess in guesses.values()]))
            rates = canvas_rates(random, (REPEATS // 5, canvases, 1), 0.8, correlation)
            answers = {
                name: random.binomial(1, np.repeat(rates, 3, axis=2)).reshape(len(rates), -1) for name in guesses
            }
            intervals = (
                average_above_guessing(
                    {name: Group(answers[name][at].tolist(), guess, names) for name, guess in guesses.items()}
                )
                for at in range(len(rates))
            )
            row.append(_share(holds(interval, truth) for interval in intervals))
        values += row
        rows.append([canvases, *map(coverage, row)])
    yield table(["canvases", *(f"correlation {c}" for c in CORRELATIONS)], rows)
    yield band_summary(values)


def kappas(random: np.random.Generator) -> Iterator[str]:
    """κ of a rater against a known truth: independent items, and calibrations with ten answers to a canvas."""
    values: list[float] = []
    rows: list[list[object]] = []
    for items in (30, 40, 100, 300):
        for positive in (0.5, 0.8, 0.9):
            truth = random.random((REPEATS, items)) < positive
            row = [_kappa_coverage(random, truth, error, error=error, positive=positive) for error in ERRORS]
            values += row
            rows.append([f"{items} items", f"{positive:.0%} positive", *map(coverage, row)])
    for canvases in (10, 20, 50):
        truth = np.tile([True, False], (REPEATS // 5, 5 * canvases))
        clusters = [item // 10 for item in range(10 * canvases)]
        for correlation in (0.0, 0.3):
            row = []
            for error in ERRORS:
                errors = np.repeat(canvas_rates(random, (len(truth), canvases), error, correlation), 10, axis=1)
                row.append(_kappa_coverage(random, truth, errors, error=error, positive=0.5, clusters=clusters))
            values += row
            rows.append([f"{canvases} canvases", f"correlation {correlation}", *map(coverage, row)])
    yield table(["raters", "", *(f"error {error}" for error in ERRORS)], rows)
    independent = 12 * len(ERRORS)
    yield "Independent items: " + band_summary(values[:independent])
    yield "Of these, 40 or more: " + band_summary(values[independent // 4 : independent])
    yield "In canvases: " + band_summary(values[independent:])


def _kappa_coverage(
    random: np.random.Generator,
    truth: NDArray[np.bool_],
    errors: float | Floats,
    *,
    error: float,
    positive: float,
    clusters: Sequence[int] | None = None,
) -> float:
    """How often the bounds contain the κ of a rater who errs with the chances ``errors``, on average ``error``."""
    judged_positive = positive * (1 - error) + (1 - positive) * error
    expected = positive * judged_positive + (1 - positive) * (1 - judged_positive)
    kappa = (1 - error - expected) / (1 - expected)
    verdicts = truth ^ (random.random(truth.shape) < errors)
    found = (cohen_kappa(*pair, clusters=clusters) for pair in zip(truth.tolist(), verdicts.tolist(), strict=True))
    # Raters who always give the same verdict have no κ.
    return _share(holds(each, kappa) for each in found if each.kappa is not None)
