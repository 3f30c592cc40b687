"""Models ranked over several datasets, by the average of their ranks on each.

On each dataset the latest full run of each model counts, on the newest version that has one and in the setting that
most models have. A rank requires a run on every chosen dataset with scores for ``MIN_COVERAGE`` of its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from benchmarks.analysis.overall_ranks import Column, OverallRow, common_metric, models_of, overall_rows, shared_places
from benchmarks.models import Dataset
from benchmarks.presentation.numbers import number, plural
from benchmarks.presentation.ranks import tied_names
from benchmarks.queries.leaderboard import Alike, latest_runs
from benchmarks.statistics.ranking import MeanRank, datasets_needed

MOST_DATASETS = 12


@dataclass(frozen=True, slots=True)
class Overall:
    """``offered`` are the datasets that at least two models have run; ``columns`` are the chosen ones. ``unknown`` are
    the names of others that were chosen."""

    offered: Sequence[Dataset]
    columns: Sequence[Column]
    rows: Sequence[OverallRow]
    unknown: Sequence[str] = ()

    @property
    def datasets_missing(self) -> int:
        """How many more datasets could show the ranks on others like them; 0 if these are enough."""
        n_ranked = sum(row.mean_rank is not None for row in self.rows)
        return max(0, datasets_needed(n_ranked) - len(self.columns)) if n_ranked > 1 else 0

    @property
    def sentences(self) -> list[str]:
        """Who leads by the mean rank, and who comes next with which; empty if nobody is ranked."""
        first, behind = list[tuple[str, MeanRank]](), list[tuple[str, MeanRank]]()
        for row in self.rows:
            if row.mean_rank and row.places:
                (first if row.places[0] == 1 else behind).append((row.named, row.mean_rank))
        if not first:
            return []
        leaders = tied_names([name for name, _ in first], len(first) + len(behind))
        over = plural(len(self.columns), "benchmark")
        if len({rank.mean for _, rank in first}) > 1:
            said = [f"{leaders} share the lead over {over}; the ranges of their mean ranks overlap."]
        else:
            verb = "have" if len(first) > 1 else "has"
            said = [f"{leaders} {verb} the best mean rank over {over}, {_mean_rank(first[0][1])}."]
        return said + [f"{name} is next with {_mean_rank(rank)}." for name, rank in behind[:1]]

    @property
    def problem(self) -> str:
        """What to say about the unknown names; empty if there are none."""
        if not self.unknown:
            return ""
        two = "a dataset" if len(self.unknown) == 1 else "datasets"
        known = f"Choose from: {', '.join(dataset.slug for dataset in self.offered)}." if self.offered else ""
        return f"Not {two} with full runs of two models: {', '.join(self.unknown)}. {known}".strip()


def overall_leaderboard(slugs: Sequence[str] = ()) -> Overall:
    """The leaderboard over these datasets, at most ``MOST_DATASETS``; without any, over all that are offered, or the
    most that two models share if no two models share all. It is empty with an unknown one."""
    groups = sorted(_groups(), key=lambda alike: alike.runs[0].dataset.slug)
    offered = [alike.runs[0].dataset for alike in groups]
    if unknown := sorted({*slugs} - {dataset.slug for dataset in offered}):
        return Overall(offered, (), (), unknown)
    if slugs:
        chosen = [alike for alike in groups if alike.runs[0].dataset.slug in slugs]
    else:
        chosen = [groups[place] for place in shared_places([alike.runs for alike in groups])]
    columns = [
        Column(
            alike.runs[0].dataset,
            alike.setting.version(alike.version.number),
            alike.words,
            common_metric(alike.runs),
            alike.runs,
            alike.told,
        )
        for alike in chosen[:MOST_DATASETS]
    ]
    return Overall(offered, columns, overall_rows(columns))


def _mean_rank(rank: MeanRank) -> str:
    return f"{number(rank.mean, 2)} ({number(rank.low, 2)} to {number(rank.high, 2)})"


def _groups() -> list[Alike]:
    """For each dataset that at least two models have run, their runs on its newest version, in the setting of most."""
    newest: dict[int, Alike] = {}
    for alike in sorted(latest_runs(Q()), key=lambda alike: (-alike.version.number, -_n_models(alike))):
        newest.setdefault(alike.version.dataset_id, alike)
    return [alike for alike in newest.values() if _n_models(alike) > 1 and common_metric(alike.runs)]


def _n_models(alike: Alike) -> int:
    return len({run.model_label for run in models_of(alike.runs)})
