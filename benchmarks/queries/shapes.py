"""How the score of a run on canvases changes with the number of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from benchmarks.analysis.score_table import LEFT_OUT, read_scores
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Run
from benchmarks.presentation.sentences import change
from benchmarks.statistics.intervals import mean_interval
from benchmarks.summary import Expected


@dataclass(frozen=True, slots=True)
class ShapesEnds:
    """The means with the fewest and with the most shapes, over the task classes that are asked with both; ``missing``
    are those that are asked with one of them only, which would change the mix of questions."""

    few: int
    many: int
    first: Expected
    last: Expected
    missing: Sequence[str]

    @property
    def change(self) -> str:
        """``falls``, ``rises`` or empty, as of ``change``."""
        return change(self.first, self.last)


def ends_of_shapes(run: Run, metric: str) -> ShapesEnds | None:
    """``None`` without scores at several numbers of shapes, or without a task class that is asked with both."""
    cells = [cell for cell in run.parts.surface if cell.metric == metric and cell.mean is not None]
    levels = sorted({cell.n_shapes for cell in cells})
    if len(levels) < 2:
        return None
    few, many = levels[0], levels[-1]
    at_few, at_many = ({cell.group for cell in cells if cell.n_shapes == level} for level in (few, many))
    missing, shared = sorted(at_few ^ at_many), at_few & at_many
    if missing and not (shared and is_score(metric)):
        return None
    first, last = (
        _mean_of(run, metric, n, sorted(shared)) if missing else run.parts.at("n_shapes", str(n), metric)
        for n in (few, many)
    )
    return None if first.mean is None or last.mean is None else ShapesEnds(few, many, first, last, missing)


def _mean_of(run: Run, metric: str, n_shapes: int, classes: Sequence[str]) -> Expected:
    import numpy as np

    asked = read_scores(run, metric, "cluster", "status", where=Q(n_shapes=n_shapes, group__in=classes))
    asked = asked.where(~np.isin(asked["status"], LEFT_OUT))
    scored = asked.scored
    interval = mean_interval(scored.value.tolist(), scored["cluster"].tolist())
    return Expected.of(interval, n_expected=len(asked))
