"""The matrix of an experiment, or of any runs that are compared, as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.analysis.matrices import Column, Row
from benchmarks.exports.matrix_files import (
    Figures,
    MatrixTable,
    TableRow,
    matrix_csv,
    matrix_latex,
    matrix_markdown,
    matrix_png,
)
from benchmarks.models import Run
from benchmarks.presentation.labels import words
from benchmarks.presentation.numbers import rank_range
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.experiments import experiment_detail, experiment_runs
from benchmarks.queries.matrix import Matrix, UnknownChoice, matrix, matrix_rows, unknown_choices
from benchmarks.statistics.margins import MARGIN

_WRITERS: dict[str, tuple[str, Callable[[MatrixTable], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", lambda table: "".join(matrix_csv(table)).encode()),
    "md": ("text/markdown; charset=utf-8", lambda table: matrix_markdown(table).encode()),
    "tex": ("application/x-tex; charset=utf-8", lambda table: matrix_latex(table).encode()),
    "png": ("image/png", matrix_png),
}
MATRIX_TYPES = {form: kind for form, (kind, _) in _WRITERS.items()}
"""Ending of the file → its content type."""


def matrix_file(
    form: str,
    *,
    experiment: int | None,
    runs: Sequence[int],
    metric: str = "",
    dataset: str = "",
    facet: str = "",
    margin: float = MARGIN,
) -> tuple[bytes, str]:
    """The matrix of an experiment or of runs, as the page shows it, and the name of the file.

    ``form`` is a key of ``MATRIX_TYPES``. Raises ``Experiment.DoesNotExist``, ``Run.DoesNotExist`` without any run, and
    ``UnknownChoice`` for a metric or a dataset that no run has.
    """
    if experiment is not None:
        chosen = experiment_detail(experiment)
        members, title, name = experiment_runs(chosen), chosen.name, f"experiment-{chosen.pk}"
    else:
        members = runs_to_compare(runs)
        title, name = f"{len(members)} runs", f"runs-{'-'.join(str(run.pk) for run in members)}"
    if not members:
        raise Run.DoesNotExist("There are no runs to export.")
    if problems := unknown_choices(members, metric, dataset):
        raise UnknownChoice(problems)
    grid = matrix(members, metric, dataset, facet, margin=margin)
    return _WRITERS[form][1](matrix_table(grid, title)), f"{name}.{form}"


def matrix_table(grid: Matrix, title: str) -> MatrixTable:
    """The matrix in words and as rows of the API."""
    levels = [cell.level for row in grid.rows for cell in row.cells if cell is not None]
    return MatrixTable(
        title=title,
        verdict=" ".join(filter(None, [grid.verdict, grid.same_sentence])),
        columns=[_column(column) for column in grid.columns],
        rows=[_row(row) for row in grid.rows],
        numbers=[row | {"level": level} for row, level in zip(matrix_rows(grid), levels, strict=True)],
    )


def _column(column: Column) -> str:
    return words(column.level) if column.level else f"{column.run.dataset.title} v{column.run.version_label}"


def _row(row: Row) -> TableRow:
    place = row.place
    return TableRow(
        model=row.model,
        variant=", ".join(filter(None, (row.variant, row.differs))),
        rank=rank_range(place.rank_low, place.rank_high) if place else "",
        group=place.group if place else "",
        best=place.best if place else None,
        overall=Figures(*(row.overall or (None, None, None))),
        cells=[
            None if cell is None else Figures(cell.mean, cell.low, cell.high, cell.n, cell.total) for cell in row.cells
        ],
    )
