"""The table of runs ranked by corrected means."""

from __future__ import annotations

from benchmarks.analysis.corrected_ranks import CorrectedPlace
from benchmarks.presentation.cells import Cell, Group, Mean, Words, run_link
from benchmarks.presentation.numbers import MISSING, n_of, rank_range, score
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.tables.judges import with_bar


def _model(row: CorrectedPlace) -> Cell:
    reason = [Group([f"Not ranked. {row.reason}"], "soft small", block=True)] if row.reason else []
    return [row.run.model_label, *reason]


def _mean(row: CorrectedPlace) -> Mean | None:
    return Mean(row.means.mean, row.means.low, row.means.high) if row.means else None


CORRECTED_RANKS = Table[CorrectedPlace](
    "Ranked by means corrected by labels",
    [
        Column("Rank", lambda row: rank_range(*row.ranks) if row.ranks else MISSING, "number", "nowrap"),
        Column("Model", _model, "name"),
        Column("Run", lambda row: run_link(row.run.pk), look="nowrap"),
        *with_bar("Corrected mean", _mean, Words("Too few labels", "soft")),
        Column("Judge alone", lambda row: score(row.means.judge.mean) if row.means else MISSING, "number"),
        Column("Labeled", lambda row: n_of(row.n_labels, row.n_judged), "number", "nowrap"),
    ],
    region=True,
)
