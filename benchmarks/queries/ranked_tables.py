"""The table of a leaderboard: the models of one setting in their order, with the ranks that paired tests allow. Every
page that names the rank of a run on its dataset reads it here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.analysis.rankings import LATEST, MEAN, Place, places, runs_to_test
from benchmarks.models import Run
from benchmarks.presentation.numbers import rank_range
from benchmarks.queries.leaderboard import comparable_runs
from benchmarks.queries.matrix import Matrix, tested


@dataclass(frozen=True, slots=True)
class RankedTable:
    """``places`` by ``metric``. ``grid`` has the tests of all pairs, ``spans`` the ranks, best and worst, that they
    allow to each run, and ``groups`` the letters of what they do not separate; ``None`` and empty if there are too many
    pairs, or models are ranked by threshold."""

    metric: str
    places: Sequence[Place]
    grid: Matrix | None
    spans: Mapping[int, tuple[int, int]]
    groups: Mapping[int, str] = field(default_factory=dict)

    @property
    def n_ranked(self) -> int:
        return sum(place.rank is not None for place in self.places)

    def place_of(self, run: Run) -> Place | None:
        return next((place for place in self.places if place.run.pk == run.pk), None)

    def rank(self, place: Place) -> str:
        """``1``, ``2–3``; empty without a rank."""
        span = self.spans.get(place.run.pk)
        return rank_range(*span) if span else str(place.rank or "")


NO_TABLE = RankedTable("", (), None, {})


def ranked_table(candidates: Sequence[Run], metric: str, choose: str = LATEST, rank: str = MEAN) -> RankedTable:
    """The table of runs of one setting; the arguments are those of ``places``."""
    found = places(candidates, metric, choose, rank)
    grid = tested(runs_to_test(found), metric) if rank == MEAN else None
    placed = {row.runs[0].pk: row.place for row in grid.rows if row.place} if grid else {}
    spans = {pk: (place.rank_low, place.rank_high) for pk, place in placed.items()}
    return RankedTable(metric, found, grid, spans, {pk: place.group for pk, place in placed.items()})


def table_of(run: Run) -> RankedTable:
    """The leaderboard on which a completed run stands, by its headline; empty if no other model stands there."""
    runs = comparable_runs(run)
    table = ranked_table(runs, run.headline)
    return table if len(table.places) > 1 else NO_TABLE
