"""How many tasks a comparison needs, which difference a given number can detect, and what the requests take.

Source: Connor (1987), Biometrics 43:207, for two runs on the same 0/1 tasks,

    n = (z_confidence · √ψ + z_power · √(ψ - δ²))² / δ²

with the difference δ and the discordance ψ, the share of tasks on which the two runs differ; Kish (1965), Survey
Sampling, for the design effect 1 + (m - 1) · ρ of m tasks to a canvas whose differences correlate by ρ; Miller (2024),
arXiv:2411.00640, for splitting the variance between tasks and repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from benchmarks.statistics.spread import normal_quantile, two_sided_z

_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """The assumptions about two runs to be compared."""

    discordance: float = 0.3
    """The share of tasks on which single repeats of A and B differ; a pilot's ``n_changed / n_shared`` estimates it."""
    noise_share: float = 0.0
    """The share of the differences' variance between repeats of a task, which more repeats average out."""
    repeats: int = 1
    tasks_per_cluster: float = 1.0
    cluster_correlation: float = 0.0
    confidence: float = 0.95
    power: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.discordance <= 1:
            raise ValueError(f"discordance {self.discordance!r}: give a share above 0 and at most 1")
        for name in ("noise_share", "cluster_correlation"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} {getattr(self, name)!r}: give a share from 0 to 1")
        if self.repeats < 1 or self.tasks_per_cluster < 1:
            raise ValueError("repeats and tasks_per_cluster are at least 1")
        if not 0.5 <= self.power < 1:
            raise ValueError(f"power {self.power!r}: give a number from 0.5 to below 1, such as 0.8")

    @property
    def variance_factor(self) -> float:
        """The factor of clusters and repeats on the variance of independent single repeats."""
        repeated = 1 - self.noise_share + self.noise_share / self.repeats
        return repeated * (1 + (self.tasks_per_cluster - 1) * self.cluster_correlation)


@dataclass(frozen=True, slots=True)
class SampleSize:
    tasks: int
    clusters: int
    repeats: int


def tasks_needed(difference: float, design: PairedDesign | None = None) -> SampleSize:
    """The tasks, in whole clusters, that detect a true ``difference`` (0.05 for 5 points) with the power of the design.

    Raises ``ValueError`` for a difference that is not above 0 or exceeds the discordance, which bounds it.
    """
    design = design or PairedDesign()
    if not 0 < difference <= design.discordance:
        raise ValueError(
            f"difference {difference!r}: give one above 0 and at most the discordance of {design.discordance}, "
            "because a run cannot gain more tasks than change"
        )
    clusters = math.ceil(_exact_need(difference, design) / design.tasks_per_cluster)
    return SampleSize(math.ceil(clusters * design.tasks_per_cluster), clusters, design.repeats)


def tasks_for_same(margin: float, design: PairedDesign | None = None) -> SampleSize:
    """The tasks, in whole clusters, on which two runs without a true difference are shown to be the same within the
    ``margin`` (0.02 for 2 points) with the power of the design, by two one-sided tests.

    The formula is that of the paired difference with variance ψ: n = ψ · (z_level + z_(1 + power)/2)² / margin², where
    both tests have to succeed. Raises ``ValueError`` for a margin that is not above 0 and at most 1.
    """
    design = design or PairedDesign()
    if not 0 < margin <= 1:
        raise ValueError(f"margin {margin!r}: give one above 0 and at most 1")
    quantiles = normal_quantile(design.confidence) + normal_quantile((1 + design.power) / 2)
    # The bounds are half a task wider than the formula's, so they need about 1/margin more tasks.
    need = design.discordance * (quantiles / margin) ** 2 * design.variance_factor + 1 / margin
    clusters = math.ceil(need / design.tasks_per_cluster)
    return SampleSize(math.ceil(clusters * design.tasks_per_cluster), clusters, design.repeats)


def detectable_difference(n_tasks: int, design: PairedDesign | None = None) -> float | None:
    """The smallest difference that ``n_tasks`` detect with the power of the design; ``None`` if no result on so few
    tasks is significant. The inverse of :func:`tasks_needed` up to the discordance of the design.

    A larger difference takes a larger discordance, of which it is the smallest: all changes are in one direction.
    """
    design = design or PairedDesign()
    if n_tasks >= 1 and _exact_need(design.discordance, design) <= n_tasks:
        return _smallest(0.0, design.discordance, lambda middle: _exact_need(middle, design) <= n_tasks)
    pairs = int(n_tasks / max(1.0, design.variance_factor))
    return share_detected(pairs, design.confidence, design.power, least=design.discordance)


def share_detected(pairs: int, confidence: float, power: float, *, least: float = 0.0) -> float | None:
    """The smallest share of independent pairs, from ``least``, that must change, all in one direction, for the exact
    test to be significant with this power; ``None`` if no result on so few pairs is."""
    fewest = _fewest_changes(confidence)
    if pairs < fewest:
        return None
    return _smallest(least, 1.0, lambda middle: _chance_of(fewest, pairs, middle) >= power)


def _smallest(small: float, enough: float, is_enough: Callable[[float], bool]) -> float:
    for _ in range(_BISECTIONS):
        middle = (small + enough) / 2
        if middle > 0 and is_enough(middle):
            enough = middle
        else:
            small = middle
    return enough


def _fewest_changes(confidence: float) -> int:
    """The changes in one direction whose exact two-sided p-value, 2^(1 - n), is significant."""
    return math.ceil(1 - math.log2(1 - confidence))


def _chance_of(least: int, n: int, share: float) -> float:
    """The chance that at least ``least`` of ``n`` tasks change."""
    return 1.0 - sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(least))


def _exact_need(difference: float, design: PairedDesign) -> float:
    changed = design.discordance
    chance_part = two_sided_z(design.confidence) * math.sqrt(changed)
    power_part = normal_quantile(design.power) * math.sqrt(max(0.0, changed - difference**2))
    # The p-values of the exact test are discrete, so it needs about 1/δ more tasks than the formula says.
    return ((chance_part + power_part) / difference) ** 2 * design.variance_factor + 1 / difference


@dataclass(frozen=True, slots=True)
class Range:
    """A low, a usual and a high estimate of one quantity."""

    low: float
    usual: float
    high: float

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.usual * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.usual + other.usual, self.high + other.high)


@dataclass(frozen=True, slots=True)
class Limits:
    """What limits the speed of requests; ``None`` if a limit is not set."""

    concurrency: int
    seconds_per_request: Range
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """What the requests take. ``cost`` is ``None`` if a price is unknown, which is not the same as free."""

    requests: int
    tokens_in: Range
    tokens_out: Range
    cost: Range | None
    seconds: Range
    bottleneck: str
    """What determines the usual duration: ``concurrency``, ``requests per minute`` or ``tokens per minute``."""


def workload(
    requests: int,
    tokens_in: Range,
    tokens_out: Range,
    limits: Limits,
    *,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Workload:
    """The sum of ``requests`` equal requests. Tokens are per request, prices per million tokens."""
    all_in, all_out = tokens_in.times(requests), tokens_out.times(requests)
    cost = None
    if price_in is not None and price_out is not None:
        cost = all_in.times(price_in / 1e6).plus(all_out.times(price_out / 1e6))
    durations = {"concurrency": limits.seconds_per_request.times(math.ceil(requests / limits.concurrency))}
    if limits.requests_per_minute is not None:
        durations["requests per minute"] = Range(1, 1, 1).times(60 * requests / limits.requests_per_minute)
    if limits.tokens_per_minute is not None:
        durations["tokens per minute"] = all_in.plus(all_out).times(60 / limits.tokens_per_minute)
    lows, usuals, highs = zip(*(astuple(duration) for duration in durations.values()), strict=True)
    bottleneck = max(durations, key=lambda name: durations[name].usual)
    return Workload(requests, all_in, all_out, cost, Range(max(lows), max(usuals), max(highs)), bottleneck)


def together(workloads: Sequence[Workload]) -> Workload:
    """Several concurrent workloads, such as a model's and its judge's. Durations: low if they overlap fully, high if
    they run one after the other.

    The cost is unknown if one of them is. Raises ``ValueError`` without any workload.
    """
    if not workloads:
        raise ValueError("no workload to add up: give at least one")
    total = workloads[0]
    for other in workloads[1:]:
        slower = max(total, other, key=lambda workload: workload.seconds.usual)
        total = Workload(
            total.requests + other.requests,
            total.tokens_in.plus(other.tokens_in),
            total.tokens_out.plus(other.tokens_out),
            None if total.cost is None or other.cost is None else total.cost.plus(other.cost),
            Range(
                max(total.seconds.low, other.seconds.low),
                slower.seconds.usual,
                total.seconds.high + other.seconds.high,
            ),
            slower.bottleneck,
        )
    return total
