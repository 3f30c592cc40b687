"""Adaptive runs: how often the interval at the stop contains the truth, and how many canvases that takes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.psychometric import Level, ThresholdStatus, fit_threshold
from benchmarks.statistics.sequential import AdaptiveRule, decide
from tests.benches.statistics.coverage import canvas_rates, holds
from tests.benches.statistics.report import share, table

REPEATS = 200
FITS = 1_000
QUESTIONS = 6
TARGET = 0.05


def adaptive_runs(random: np.random.Generator) -> Iterator[str]:
    """The adaptive rule beside a naive one, which stops as soon as the ordinary interval is narrow enough."""
    rule = AdaptiveRule(TARGET, cap=600, batch=20)
    rows = []
    for rates in ((0.5,), (0.8,), (0.95,), (0.95, 0.8, 0.5)):
        for correlation in (0.0, 0.3):
            followed, naive = [], []
            for _ in range(REPEATS // len(rates)):
                drawn = [
                    random.binomial(QUESTIONS, canvas_rates(random, (rule.cap,), rate, correlation)) / QUESTIONS
                    for rate in rates
                ]
                followed.append(_follow(drawn, rates, rule))
                naive.append(_follow_naively(drawn[0], rates[0], rule))
            canvases, held = np.mean(followed, axis=0)
            row: list[object] = [", ".join(map(str, rates)), correlation, share(held), round(canvases / len(rates))]
            if len(rates) == 1:
                canvases, held, held_always = np.mean(naive, axis=0)
                row += [share(held), round(canvases), share(held_always)]
            rows.append(row + [""] * (7 - len(row)))
    head = ["rates of the strata", "correlation", "all intervals hold", "canvases"]
    yield table([*head, "ordinary interval holds", "canvases", "it holds at every look"], rows)


def _follow(
    drawn: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]], rates: tuple[float, ...], rule: AdaptiveRule
) -> tuple[int, bool]:
    taken = dict.fromkeys(map(str, rates), 0)
    sources = dict(zip(taken, drawn, strict=True))
    while True:
        decision = decide({name: sources[name][:n].tolist() for name, n in taken.items()}, rule)
        if not decision.add:
            inside = all(holds(decision.intervals[str(rate)], rate) for rate in rates)
            return sum(taken.values()), inside and holds(decision.overall, sum(rates) / len(rates))
        for name, more in decision.add.items():
            taken[name] += more


def _follow_naively(
    drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]], rate: float, rule: AdaptiveRule
) -> tuple[int, bool, bool]:
    """Where the ordinary interval would stop, whether it holds there, and whether it holds at every look."""
    looks = range(rule.batch, rule.cap + 1, rule.batch)
    intervals = {n: mean_interval(drawn[:n].tolist()) for n in looks}
    widths = {n: interval.half_width or 0.0 for n, interval in intervals.items()}
    stop = next((n for n in looks if widths[n] <= rule.target_half_width), rule.cap)
    return stop, holds(intervals[stop], rate), all(holds(interval, rate) for interval in intervals.values())


def thresholds(random: np.random.Generator) -> Iterator[str]:
    """The interval of the fitted threshold, if a threshold is named."""
    rows = []
    for guess, lapse in ((0.0, 0.0), (0.125, 0.03), (0.5, 0.0), (0.0, 0.1), (0.0, 0.15)):
        fits = []
        for _ in range(FITS):
            levels = [
                Level(x, float(random.binomial(60, _share(x, guess, lapse))), 60)
                for x in (1.0, 3.0, 5.0, 7.0, 9.0, 12.0)
            ]
            fits.append(fit_threshold(levels, guess))
        named = [fit for fit in fits if fit.status is ThresholdStatus.FITTED]
        held = [(fit.low is None or fit.low <= 6) and (fit.high is None or fit.high >= 6) for fit in named]
        rows.append([guess, lapse, len(fits), len(named), share(float(np.mean(held)))])
    yield table(["guess rate", "lapse rate", "runs", "threshold named", "interval holds it"], rows)


def _share(x: float, guess: float, lapse: float) -> float:
    """A curve with its threshold at 6."""
    half = (1 - guess) / 2 / (1 - guess - lapse)
    return guess + (1 - guess - lapse) / (1 + math.exp(0.8 * (x - 6)) * (1 - half) / half)
