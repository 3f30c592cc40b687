"""How often the intervals of people's agreement and of means corrected by their labels contain the truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.statistics.alpha import Level, alpha_of
from benchmarks.statistics.prediction_powered import CorrectedMean, corrected_mean
from tests.benches.statistics.coverage import canvas_rates
from tests.benches.statistics.report import band_summary, coverage, table

STUDIES = 2_000
ALPHAS = 2_000
RATES = (0.5, 0.7, 0.9)
JUDGES = ((0.05, 0.05), (0.1, 0.1), (0.3, 0.05), (0.05, 0.2))
"""Shares of the wrong answers that a judge accepts, and of the right answers that it rejects."""
SAMPLES = ((240, 40), (640, 40), (640, 120))
QUESTIONS = 4
"""On each canvas, where answers share canvases."""


def study(
    random: np.random.Generator,
    rate: float,
    judge: tuple[float, float],
    sizes: tuple[int, int],
    correlation: float = 0.0,
) -> CorrectedMean:
    """One simulated study: a judge with these errors scores all answers, people label a random part without error.

    ``sizes`` are the numbers of answers and of labels. With a correlation, answers share canvases, and so do the
    judge's errors.
    """
    n, labels = sizes
    shape, each = ((n // QUESTIONS,), QUESTIONS) if correlation else ((n,), 1)
    rates, lenient, strict = (
        np.repeat(canvas_rates(random, shape, share, correlation), each) for share in (rate, *judge)
    )
    right = random.random(n) < rates
    judged = np.where(right, random.random(n) >= strict, random.random(n) < lenient)
    drawn = random.choice(n, labels, replace=False).tolist()
    clusters = [place // QUESTIONS for place in range(n)] if correlation else None
    found = corrected_mean(judged.astype(float).tolist(), {place: float(right[place]) for place in drawn}, clusters)
    if found is None:
        raise ValueError(f"{labels} labels are too few")
    return found


def corrected_means(random: np.random.Generator, studies: int = STUDIES) -> Iterator[str]:
    for correlation, title in ((0.0, "Independent answers"), (0.3, "Four answers to a canvas, correlation 0.3")):
        rows, holds, widths = [], [], []
        for n, labels in SAMPLES:
            for judge in JUDGES:
                for rate in RATES:
                    found = [study(random, rate, judge, (n, labels), correlation) for _ in range(studies)]
                    corrected = float(np.mean([each.low <= rate <= each.high for each in found]))
                    judged = float(np.mean([(each.judge.low or 0) <= rate <= (each.judge.high or 1) for each in found]))
                    alone = float(
                        np.mean([(each.labels.low or 0) <= rate <= (each.labels.high or 1) for each in found])
                    )
                    width = float(np.mean([each.half_width / (each.labels.half_width or 1) for each in found]))
                    holds.append(corrected)
                    widths.append(width)
                    rows.append(
                        [
                            *(f"{labels} of {n}", "{:.0%} accepted, {:.0%} rejected".format(*judge), rate),
                            *(coverage(judged), coverage(alone), coverage(corrected), f"{width:.2f}"),
                        ]
                    )
        yield f"{title}:\n"
        yield table(["labels", "judge", "mean", "judge alone", "labels alone", "corrected", "width"], rows)
        yield band_summary(holds)
        inside = sum(0.94 <= each <= 0.96 for each in holds)
        narrower = sum(width < 1 for width in widths)
        yield (
            f"{inside} of {len(holds)} from 94 to 96%, {narrower} narrower than labels alone; "
            f"width {min(widths):.2f} to {max(widths):.2f}, on average {float(np.mean(widths)):.2f}.\n"
        )


def alphas(random: np.random.Generator, studies: int = ALPHAS) -> Iterator[str]:
    """Raters who each choose another value at random with a chance of ``error``; a third rates half of the items."""
    holds, rows = [], []
    for level, values in ((Level.NOMINAL, 2), (Level.ORDINAL, 5), (Level.INTERVAL, 5)):
        for raters in (2, 3):
            for error in (0.05, 0.15, 0.3):
                row = []
                many = max(40_000, 200 * studies)  # the error of the true value must be small beside that of coverage
                truth = alpha_of(_ratings(random, many, raters, values, error), level).alpha or 0.0
                for items in (30, 40, 60, 120):
                    found = (alpha_of(_ratings(random, items, raters, values, error), level) for _ in range(studies))
                    row.append(
                        float(
                            np.mean([each.low <= truth <= (each.high or 1) for each in found if each.low is not None])
                        )
                    )
                holds += row
                rows.append([level.value, raters, error, f"{truth:.2f}", *map(coverage, row)])
    yield table(["level", "raters", "error", "α", *(f"{n} items" for n in (30, 40, 60, 120))], rows)
    yield band_summary(holds)


def _ratings(
    random: np.random.Generator, items: int, raters: int, values: int, error: float
) -> list[list[float | None]]:
    truth = random.integers(values, size=(items, 1))
    # Wrong ratings of a scale are mostly beside the right one.
    step = random.choice([-1, 1], size=(items, raters)) if values > 2 else 1
    wrong = np.clip(truth + step, 0, values - 1) if values > 2 else 1 - truth
    ratings = np.where(random.random((items, raters)) < error, wrong, truth).astype(float).tolist()
    if raters > 2:
        ratings = [row if place % 2 else [*row[:2], None] for place, row in enumerate(ratings)]
    return ratings  # type: ignore[no-any-return]


def rare_values(random: np.random.Generator, studies: int = 4_000) -> Iterator[str]:
    """Two raters of two values, one of them rare, who each err with a chance of ``error``."""
    holds, rows, known = [], [], {}
    for prevalence in (0.5, 0.8, 0.9, 0.95, 0.98):
        for error in (0.02, 0.05, 0.15):
            both = [p * a * a + (1 - p) * b * b for p, a, b in _readings(prevalence, error)]
            apart = 1 - sum(both)
            share_of_one = both[0] + apart / 2
            truth = 1 - apart / (2 * share_of_one * (1 - share_of_one))
            row = []
            for items in (20, 30, 40, 60, 120):
                found = []
                for drawn in map(tuple, random.multinomial(items, (both[0], apart, both[1]), studies).tolist()):
                    if drawn not in known:
                        one, mixed, other = drawn
                        ratings = [[1.0, 1.0]] * one + [[1.0, 0.0]] * mixed + [[0.0, 0.0]] * other
                        known[drawn] = alpha_of(ratings, Level.NOMINAL)
                    found.append(known[drawn])
                # Without a rating of the rare value there is no α.
                bounded = [each for each in found if each.low is not None and each.high is not None]
                row.append(float(np.mean([each.low <= truth <= each.high for each in bounded])))
                holds.append(row[-1])
            rows.append([prevalence, error, f"{truth:.2f}", *map(coverage, row)])
    yield table(["more frequent value", "error", "α", *(f"{n} items" for n in (20, 30, 40, 60, 120))], rows)
    yield band_summary(holds)


def _readings(prevalence: float, error: float) -> list[tuple[float, float, float]]:
    """For a rating of the frequent and of the rare value: how often that is true, and how often it is then given."""
    return [(prevalence, 1 - error, error), (prevalence, error, 1 - error)]
