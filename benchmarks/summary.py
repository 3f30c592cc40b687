"""A run's numbers as they are stored: what ``engine.summary`` computes, and everything else reads.

What was added since the first release has a default, with which a summary is read that an earlier version stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from benchmarks import codec
from benchmarks.codec import empty, left_out
from benchmarks.metrics import judge_calibration
from benchmarks.statistics.contamination import Contamination
from benchmarks.statistics.cycles import Cycles
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.panel import JudgeOfPanel
from benchmarks.statistics.preference import NextPair
from benchmarks.statistics.reliability import JudgeSpread

SURFACE = "surface"
TIMES = ("latency_ms", "first_token_ms", "tokens_per_second")
_DIGITS = 10
"""Of what is computed from stored means: 3 right of 6 is 0.5 exactly, which meets a threshold of 0.5."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% interval; ``None`` if nothing is scored."""

    mean: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    n_clusters: int | None = None
    """Canvases, or tasks of a run with repeats"""
    method: str = ""
    note: str = ""

    @classmethod
    def of(cls, interval: Interval, **more: Any) -> Self:
        return cls(
            interval.mean,
            interval.n,
            interval.low,
            interval.high,
            interval.n_clusters,
            interval.method,
            interval.note,
            **more,
        )

    def noted(self, text: str) -> Self:
        """With one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, text))))


M = TypeVar("M", bound=Mean)


@dataclass(frozen=True, slots=True)
class Expected(Mean):
    """A mean with the number of results, tasks or canvases that it should contain."""

    n_expected: int | None = None
    """The N of n"""
    lowest: float | None = left_out()
    """The mean with every missing score counted as 0, if results do not weigh the same in it"""
    highest: float | None = left_out()
    """The mean with every missing score counted as 1, if results do not weigh the same in it"""

    @property
    def if_missing_wrong(self) -> float | None:
        """The mean of scores from 0 to 1 with every missing one counted as 0."""
        if self.lowest is not None:
            return round(self.lowest, _DIGITS)
        if self.mean is None or not self.n_expected:
            return self.mean
        return round(self.mean * min(1.0, self.n / self.n_expected), _DIGITS)

    @property
    def if_missing_right(self) -> float | None:
        """The mean of scores from 0 to 1 with every missing one counted as 1."""
        if self.highest is not None:
            return round(self.highest, _DIGITS)
        if self.mean is None or not self.n_expected:
            return self.mean
        return round(self.mean + (1 - self.mean) * max(0.0, 1 - self.n / self.n_expected), _DIGITS)

    @property
    def low_missing(self) -> float | None:
        """The lower bound with every missing score counted as 0."""
        if self.low is None or self.mean is None or self.if_missing_wrong is None:
            return self.low
        return self.low - (self.mean - self.if_missing_wrong)

    @property
    def high_missing(self) -> float | None:
        """The upper bound with every missing score counted as 1."""
        if self.high is None or self.mean is None or self.if_missing_right is None:
            return self.high
        return min(1.0, self.high + (self.if_missing_right - self.mean))


@dataclass(frozen=True, slots=True)
class Counted(Expected):
    """A strict mean with the share of its results that have a score."""

    coverage: float | None = None
    """n / n_expected"""


@dataclass(frozen=True, slots=True)
class Readable:
    """The mean over readable answers, and their share of all scored answers."""

    mean: float | None = None
    n: int = 0
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Weighted(Mean):
    """The mean in which a task counts by its weight."""

    n_effective: float = 0.0
    """Number of tasks of equal weight that would give an equally narrow interval"""
    if_missing_wrong: float | None = None
    """With every missing score counted as 0"""


@dataclass(frozen=True, slots=True)
class MetricNumbers(Counted):
    """The strict mean of a metric, and the number of results by why they score 0 or have no score."""

    readable: Readable = Readable()
    weighted: Weighted | None = left_out()
    """Only if the weights of the tasks differ"""
    n_not_applicable: int = 0
    n_unparsable: int = 0
    n_truncated: int = 0
    n_refused: int = 0
    n_judge_error: int = 0
    n_metric_error: int = 0
    n_doubtful: int = 0
    n_provider_error: int = 0
    n_internal_error: int = 0
    n_pending: int = 0
    n_cancelled: int = 0
    n_ungraded: int = 0
    n_missing: int = 0

    @property
    def n_no_answer(self) -> int:
        """Results without a score without an answer: the endpoint or the application failed, or nothing was sent."""
        return self.n_provider_error + self.n_internal_error + self.n_pending + self.n_cancelled

    @property
    def n_no_verdict(self) -> int:
        """Answers without a score: the judge or another metric gave none."""
        return self.n_judge_error + self.n_metric_error + self.n_ungraded + self.n_missing


NO_NUMBERS = MetricNumbers()
"""Of a metric before the first summary."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Results that are not correct for one reason."""

    outcome: str
    reason: str
    """In a few words, or the kind of error; empty if unknown"""
    n: int
    """Number of results"""
    where: Mapping[str, int]
    """Task class, or difficulty, → number of results"""
    examples: Sequence[int]
    """Ids of up to three results"""


@dataclass(frozen=True, slots=True)
class Times:
    """Quantiles of answered requests."""

    n: int
    mean: float
    p50: float
    p95: float
    max: float


@dataclass(frozen=True, slots=True)
class Tokens:
    reasoning: int | None = None
    """Part of the tokens out"""
    cached: int | None = None
    """Part of the tokens in"""


@dataclass(frozen=True, slots=True)
class PartOfCost:
    """What is known of an unknown cost of answers, retries left out."""

    known_usd: float | None = None
    n_unknown: int = 0
    """Answers without a cost…"""
    n: int = 0
    """…of so many"""
    by_system: bool = False
    """Whether a system under test says itself what its answers cost"""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Edges of equal bins, and the counts in them."""

    edges: Sequence[float]
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Corrected(Expected):
    """A score above the best guess: 0 is the guess rate, 1 is perfect."""

    if_missing_wrong: float | None = None
    """With every missing score counted as wrong"""
    low_missing: float | None = None
    """The lower bound with every missing score counted as wrong"""
    high_missing: float | None = None
    """The upper bound with every missing score counted as right"""


@dataclass(frozen=True, slots=True)
class CorrectedGroup:
    group: str
    """Task class; empty: all tasks with choices"""
    guess: float
    """Expected score of guessing"""
    raw: Counted
    corrected: Corrected


@dataclass(frozen=True, slots=True)
class Chance:
    """Scores above the best guess."""

    groups: Sequence[CorrectedGroup]
    average: Corrected
    """Unweighted mean of the corrected scores; null unless every task class of the run has one"""
    left_out: Sequence[str] = ()
    """Groups without scores or without a guess rate"""

    @property
    def guess(self) -> float | None:
        """Expected score of guessing over all tasks; ``None`` unless every task class has one."""
        n = sum(group.raw.n for group in self.groups)
        return None if self.left_out or not n else sum(group.guess * group.raw.n for group in self.groups) / n


@dataclass(frozen=True, slots=True)
class Level:
    difficulty: float
    mean: float
    n: int
    n_expected: int | None = None
    """Results that the metric applies to"""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The difficulty at which the corrected score is 0.5; a bound that the data leave open is ``null``."""

    measure: str
    """n_shapes, tracking_steps or inference_steps"""
    group: str
    """Task class; empty: all together"""
    guess: float
    status: str
    """fitted, too_few, beyond, before or flat"""
    threshold: float | None = None
    low: float | None = None
    high: float | None = None
    slope: float | None = None
    lapse: float | None = None
    n: int = 0
    note: str = ""
    n_expected: int | None = None
    """Results that the metric applies to"""
    levels: Sequence[Level] = ()


@dataclass(frozen=True, slots=True)
class Reliability:
    """The consistency of a metric across repeats."""

    pass_at: Mapping[str, Expected]
    """k → share of tasks with at least 1 of k repeats correct"""
    pass_hat: Mapping[str, Expected]
    """k → share of tasks with all k repeats correct"""
    flipped: Expected
    """Share of repeated tasks with differing repeats"""
    agreement: Expected
    """Probability that two repeats of a task agree"""
    alpha: float | None
    """Krippendorff's α of the repeats"""
    n_tasks: int
    n_repeated: int
    judge: JudgeSpread | None = left_out()
    """Spread of the judge over identical answers to one task, each judged separately; only if there are any"""


@dataclass(frozen=True, slots=True)
class Panel:
    """How the verdicts of several judges, or repeated ones, on the same answers agree; as ``PanelAgreement``."""

    n_answers: int
    judges: Sequence[JudgeOfPanel]
    same: Mean
    alpha: float | None
    order: Mean


@dataclass(frozen=True, slots=True)
class Canvases:
    """The canvases of one number of shapes that the run asked about."""

    n_shapes: int
    n: int
    """Number of canvases"""
    first: int
    """Lowest number of a canvas within its number of shapes, from 0"""
    last: int
    """Highest number"""


@dataclass(frozen=True, slots=True)
class Stratum(Expected):
    n_shapes: int = 0
    asked: int = 0
    """Canvases used"""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """How an adaptive run stopped. Its intervals are confidence sequences, valid at every interim look."""

    target_half_width: float
    max_canvases: int
    canvases: int
    strata: Sequence[Stratum]
    overall: Expected
    """Unweighted mean over the numbers of shapes"""
    reached: bool
    reason: str
    without_scores: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Subset:
    """How many of how many tasks were drawn; ``n_all`` also counts those that the estimate is not about."""

    n: int = 0
    n_tasks: int = 0
    n_all: int | None = None


@dataclass(frozen=True, slots=True)
class Agreement(judge_calibration.Agreement):
    """With what the judge has cost so far; ``None`` is unknown."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Wins:
    """A share of judgements, a tie as half a win."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""

    @classmethod
    def of(cls, interval: Interval, **more: Any) -> Self:
        return cls(interval.mean, interval.low, interval.high, interval.n, interval.note, **more)


@dataclass(frozen=True, slots=True)
class Strength:
    """Of one candidate, as the ``Strength`` of ``statistics.preference``."""

    value: float
    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    wins: Wins
    judgements: int


@dataclass(frozen=True, slots=True)
class PairOfCandidates(Wins):
    """How often ``a`` is preferred to ``b``."""

    a: int = 0
    b: int = 0
    wins: int = 0
    ties: int = 0
    losses: int = 0
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Position(Wins):
    """How often the first answer was chosen, and the share of pairs with the same verdict in both orders."""

    consistent: float | None = None
    is_clear: bool = False


@dataclass(frozen=True, slots=True)
class Preferences:
    """What judgements between candidates show. Candidates are numbered from 0, in the order of the request."""

    strengths: Sequence[Strength]
    """One for each candidate"""
    order: Sequence[int]
    """The strongest first"""
    pairs: Sequence[PairOfCandidates]
    position: Position
    cycles: Cycles
    next: Sequence[NextPair]
    """The pairs of which another task would show most"""
    connected: bool
    n_tasks: int
    n: int
    missing: int | None = left_out()
    """Judgements that have no verdict; only of one run"""
    runs: Sequence[int] | None = left_out()
    """The runs that these numbers are pooled over"""


@dataclass(frozen=True)
class Summary:
    """``Run.summary``. What is computed at the end only is ``None`` before."""

    metrics: Mapping[str, MetricNumbers] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    fault_rates: Mapping[str, Expected] | None = left_out()
    """Refused, cut off and unreadable answers → their share of all answers"""
    error_kinds: Mapping[str, int] = field(default_factory=dict)
    failures: Sequence[Failure] = ()
    latency_ms: Times | None = empty()
    first_token_ms: Times | None = empty()
    tokens_per_second: Times | None = empty()
    tokens: Tokens = Tokens()
    part_of_cost: PartOfCost | None = left_out()
    """Only of an unknown cost of answers of which a part is known, or that a system under test leaves out"""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    chance: Mapping[str, Chance] | None = left_out()
    thresholds: Sequence[Threshold] | None = left_out()
    reliability: Mapping[str, Reliability] | None = left_out()
    panels: Mapping[str, Panel] | None = left_out()
    response_models: Mapping[str, int] | None = left_out()
    fingerprints: Mapping[str, int] | None = left_out()
    canvases: Sequence[Canvases] | None = left_out()
    contamination: Contamination | None = left_out()
    agreement: Agreement | None = left_out()
    preference: Preferences | None = left_out()
    adaptive: Adaptive | None = left_out()
    subset: Subset | None = left_out()

    def stored(self) -> dict[str, Any]:
        return dict(codec.stored(self))

    @property
    def times(self) -> list[tuple[str, Times]]:
        """What was measured, by its name."""
        return [(name, times) for name in TIMES if (times := getattr(self, name))]


read_summary = codec.read_when_used(Summary)
"""``Run.summary`` as a ``Summary``, part by part: a list of runs uses few of them."""


@dataclass(frozen=True, slots=True)
class SurfaceCell(Counted):
    """A metric at one number of shapes in one task class."""

    n_shapes: int = 0
    group: str = ""
    metric: str = ""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """``Run.breakdown``: facet, or key of the tasks' labels → level → metric → its mean; and the surface over shapes
    and task classes."""

    facets: Mapping[str, Mapping[str, Mapping[str, Counted]]] = field(default_factory=dict)
    surface: Sequence[SurfaceCell] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Breakdown:
        facets = {name: levels for name, levels in stored.items() if name != SURFACE}
        return codec.read(cls, {"facets": facets, SURFACE: stored.get(SURFACE, ())})

    def stored(self) -> dict[str, Any]:
        return {**codec.stored(self.facets), SURFACE: codec.stored(self.surface)}

    def noted(self, text: str, where: Callable[[Mean], bool] = lambda mean: True) -> Breakdown:
        """With one more note at each mean, or at those of a kind."""

        def noted(mean: M) -> M:
            return mean.noted(text) if where(mean) else mean

        facets = {
            facet: {level: {name: noted(mean) for name, mean in means.items()} for level, means in levels.items()}
            for facet, levels in self.facets.items()
        }
        return Breakdown(facets, [noted(cell) for cell in self.surface])

    def at(self, facet: str, level: str, metric: str) -> Counted:
        """Without any numbers if there is no such part."""
        return self.facets.get(facet, {}).get(level, {}).get(metric, NO_NUMBERS)
