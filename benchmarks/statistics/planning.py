"""How many tasks a comparison needs, what a given number can show, and what asking them takes.

Source: Connor (1987), Biometrics 43:207, for two runs on the same 0/1 tasks,

    n = (z_confidence · √ψ + z_power · √(ψ - δ²))² / δ²

with the difference δ and the discordance ψ, the share of tasks on which the two runs differ; Kish (1965), Survey
Sampling, for the design effect 1 + (m - 1) · ρ of m tasks to a canvas whose differences correlate by ρ; Miller (2024),
arXiv:2411.00640, for splitting the variance between tasks and repeats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.statistics.distributions import normal_quantile, two_sided_z

_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """What is assumed about two runs that are to be compared."""

    discordance: float = 0.3
    """The share of tasks on which a single try of A and one of B differ; a pilot's ``n_changed / n_shared`` tells it.
    """
    noise_share: float = 0.0
    """The share of the differences' variance that comes from asking again, not from the task: repeats average it out.
    """
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
            raise ValueError(f"power {self.power!r}: give a chance from 0.5 to below 1, such as 0.8")

    @property
    def variance_factor(self) -> float:
        """By what clusters and repeats multiply the variance of independent single tries."""
        repeated = 1 - self.noise_share + self.noise_share / self.repeats
        return repeated * (1 + (self.tasks_per_cluster - 1) * self.cluster_correlation)


@dataclass(frozen=True, slots=True)
class SampleSize:
    tasks: int
    clusters: int
    repeats: int


def discordance_of(rate_a: float, rate_b: float, correlation: float = 0.0) -> float:
    """The discordance of two runs with these shares right, whose answers correlate from task to task."""
    together = correlation * math.sqrt(rate_a * (1 - rate_a) * rate_b * (1 - rate_b))
    both = min(rate_a, rate_b, max(0.0, rate_a + rate_b - 1, rate_a * rate_b + together))
    return rate_a + rate_b - 2 * both


def tasks_needed(difference: float, design: PairedDesign | None = None) -> SampleSize:
    """The tasks, in whole clusters, at which a true ``difference`` (0.05 for 5 points) is seen with the wanted power.

    Raises ``ValueError`` for a difference that is not above 0 or exceeds the discordance, which bounds it.
    """
    design = design or PairedDesign()
    if not 0 < difference <= design.discordance:
        raise ValueError(
            f"difference {difference!r}: give one above 0 and at most the discordance of {design.discordance}, "
            "for a run cannot gain more tasks than change"
        )
    clusters = math.ceil(_exact_need(difference, design) / design.tasks_per_cluster)
    return SampleSize(math.ceil(clusters * design.tasks_per_cluster), clusters, design.repeats)


def detectable_difference(n_tasks: int, design: PairedDesign | None = None) -> float | None:
    """The smallest difference that ``n_tasks`` show with the wanted power; ``None`` where they can show none.

    The inverse of :func:`tasks_needed`: none is left where even all changed tasks going one way would not be enough.
    """
    design = design or PairedDesign()
    if n_tasks < 1 or _exact_need(design.discordance, design) > n_tasks:
        return None
    enough, small = design.discordance, 0.0
    for _ in range(_BISECTIONS):
        middle = (enough + small) / 2
        if middle > 0 and _exact_need(middle, design) <= n_tasks:
            enough = middle
        else:
            small = middle
    return enough


def _exact_need(difference: float, design: PairedDesign) -> float:
    changed = design.discordance
    chance_part = two_sided_z(design.confidence) * math.sqrt(changed)
    power_part = normal_quantile(design.power) * math.sqrt(max(0.0, changed - difference**2))
    # The exact test moves in steps of whole tasks, for which it needs about 1/δ tasks more than the formula says.
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
    """What holds requests up. ``None`` where a limit is not set."""

    concurrency: int
    seconds_per_request: Range
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """What asking takes. ``cost`` is ``None`` where a price is unknown, which is not the same as free."""

    requests: int
    tokens_in: Range
    tokens_out: Range
    cost: Range | None
    seconds: Range
    bottleneck: str
    """What the usual duration is set by: ``concurrency``, ``requests per minute`` or ``tokens per minute``."""


def workload(
    requests: int,
    tokens_in: Range,
    tokens_out: Range,
    limits: Limits,
    *,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Workload:
    """The sum of ``requests`` alike. Tokens are for one request, prices in currency for a million tokens."""
    all_in, all_out = tokens_in.times(requests), tokens_out.times(requests)
    cost = None
    if price_in is not None and price_out is not None:
        cost = all_in.times(price_in / 1e6).plus(all_out.times(price_out / 1e6))
    demands = {"concurrency": limits.seconds_per_request.times(math.ceil(requests / limits.concurrency))}
    if limits.requests_per_minute is not None:
        demands["requests per minute"] = Range(1, 1, 1).times(60 * requests / limits.requests_per_minute)
    if limits.tokens_per_minute is not None:
        demands["tokens per minute"] = all_in.plus(all_out).times(60 / limits.tokens_per_minute)
    seconds = Range(
        max(demand.low for demand in demands.values()),
        max(demand.usual for demand in demands.values()),
        max(demand.high for demand in demands.values()),
    )
    bottleneck = max(demands, key=lambda name: demands[name].usual)
    return Workload(requests, all_in, all_out, cost, seconds, bottleneck)


def together(workloads: Sequence[Workload]) -> Workload:
    """Several workloads at once, such as a model's and its judge's: the fastest side by side, the slowest in turn.

    The cost is unknown as soon as one of them is. Raises ``ValueError`` for none at all.
    """
    if not workloads:
        raise ValueError("no workload to add up: give at least one")
    total = workloads[0]
    for other in workloads[1:]:
        slower = max(total, other, key=lambda one: one.seconds.usual)
        total = replace(
            total,
            requests=total.requests + other.requests,
            tokens_in=total.tokens_in.plus(other.tokens_in),
            tokens_out=total.tokens_out.plus(other.tokens_out),
            cost=None if total.cost is None or other.cost is None else total.cost.plus(other.cost),
            seconds=Range(
                max(total.seconds.low, other.seconds.low),
                slower.seconds.usual,
                total.seconds.high + other.seconds.high,
            ),
            bottleneck=slower.bottleneck,
        )
    return total
