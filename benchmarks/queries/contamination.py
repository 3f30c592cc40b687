"""Checks of published tasks for contamination, from the stored numbers of the fresh run."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.analysis.comparisons import label_of
from benchmarks.asking import differing
from benchmarks.models import TERMINAL, Run
from benchmarks.presentation.comparisons import contamination_sentence
from benchmarks.run_parameters import RUN_PARAMETERS
from benchmarks.statistics.contamination import Contamination


@dataclass(frozen=True, slots=True)
class ContaminationCheck:
    """A run on a published set compared with the same run on fresh tasks, on the headline of both.

    ``measured`` is ``None`` until both have ended.
    """

    published: Run
    fresh: Run
    measured: Contamination | None

    @property
    def sentence(self) -> str:
        if self.measured is None:
            status = self.fresh.get_status_display()
            on_canvases = "repeats the questions on fresh canvases"
            does = on_canvases if self.fresh.representation else "asks tasks of a new seed"
            return f"Run {self.fresh.pk} {does}. Status: {status}."
        also = f" Apart from their tasks, the runs differ in {', '.join(self.differing)}." if self.differing else ""
        return contamination_sentence(self.measured) + also

    @property
    def differing(self) -> list[str]:
        """The labels of what the fresh run asks or answers in another way, such as parameters of the model that were
        changed in between. Which tasks it asks differs by intention."""
        both = [run.asked.values() for run in (self.published, self.fresh)]
        asked = [{name: value for part in parts for name, value in part.items()} for parts in both]
        return [label_of(RUN_PARAMETERS[name]) for name in differing(asked)]


def contamination_check(run: Run) -> ContaminationCheck | None:
    """The latest check of a run, or the one that the run itself is; ``None`` if there is none. From stored numbers."""
    fresh = run if run.fresh_of_id is not None else run.fresh_runs.order_by("-pk").first()
    published = run.fresh_of if fresh is run else run
    if fresh is None or published is None:
        return None
    ended = published.status in TERMINAL and fresh.status in TERMINAL
    return ContaminationCheck(published, fresh, fresh.numbers.contamination if ended else None)
