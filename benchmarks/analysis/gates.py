"""A run held against an earlier one by a margin: the numbers and their verdict, for pages, API and commands."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.analysis.comparisons import common_metrics
from benchmarks.analysis.score_table import edges_of, task_scores
from benchmarks.models import GateCheck, Run
from benchmarks.presentation.comparisons import gate_sentence
from benchmarks.presentation.numbers import points
from benchmarks.statistics.margins import LEVEL, NIGHTS, Edges, Verdict


@dataclass(frozen=True, slots=True)
class MarginCheck:
    """Whether ``run`` is no worse than ``against`` by the margin, a score from 0 to 1, on the headline of ``against``.

    ``metric`` is empty if the runs share no score from 0 to 1.
    """

    run: Run
    against: Run
    metric: str
    margin: float
    edges: Edges

    @property
    def verdict(self) -> Verdict:
        return self.edges.verdict(self.margin)

    @property
    def more_tasks(self) -> int | None:
        """How many more tasks would decide an undecided check; ``None`` if it is decided, or none would."""
        return self.edges.more_tasks(self.margin) if self.verdict is Verdict.UNDECIDED else None

    @property
    def name(self) -> str:
        return f"{self.metric} not worse by {points(self.margin)} points".lstrip()

    @property
    def sentence(self) -> str:
        if not self.metric:
            return "Undecided: the runs share no score from 0 to 1."
        return gate_sentence(self.edges, self.margin, f"run {self.against.pk}", f"run {self.run.pk}")


def check_margin(run: Run, against: Run, margin: float, *, in_series: bool = False) -> MarginCheck:
    """``in_series``: the bound that calls the run worse is that of one check of a series of ``NIGHTS``."""
    metric = next(iter(common_metrics([against, run])), "")
    if not metric:
        return MarginCheck(run, against, "", margin, Edges(0, 0))
    found = edges_of(
        task_scores(against, metric), task_scores(run, metric), LEVEL, LEVEL / NIGHTS if in_series else LEVEL
    )
    return MarginCheck(run, against, metric, margin, found)


@dataclass(frozen=True, slots=True)
class Gated:
    """A check, and what a series stored of it."""

    check: MarginCheck
    counted: GateCheck | None = None
