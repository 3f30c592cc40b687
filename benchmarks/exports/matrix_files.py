"""A matrix of runs as a file for spreadsheets, documents, papers and slides: CSV, Markdown, LaTeX, PNG."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.exports.text_files import BYTE_ORDER_MARK, csv_line
from benchmarks.presentation.cells import Cell
from benchmarks.presentation.numbers import MISSING, chance, interval, n_of, score
from benchmarks.presentation.tables import Column, Table, markdown_of
from benchmarks.presentation.texts import visible

NOTE = (
    "Strict mean, 95% interval, n of N. Rows that share a group are not significantly different (paired tests, "
    "Holm-adjusted). Rank: the ranks that these tests allow. Best: the chance of the highest score, by bootstrap."
)
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "–": "--",
}
_CELL_WIDTH, _CELL_HEIGHT = 170, 46
_MOST_COLUMNS = 100
"""Characters of a line above the picture."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A mean with its interval and its n of N; all ``None`` without a score. Of an average there is no n."""

    mean: float | None
    low: float | None
    high: float | None
    n: int | None = None
    total: int | None = None

    @property
    def text(self) -> str:
        if self.mean is None:
            return MISSING
        known = f"{score(self.mean)} ({interval(self.low, self.high)})" if self.low is not None else score(self.mean)
        return known if self.n is None else f"{known}, {n_of(self.n, self.total or 0)}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A model in one variant; ``cells`` has one for each column. Without a place ``rank`` and ``group`` are empty."""

    model: str
    variant: str
    rank: str
    group: str
    best: float | None
    overall: Figures
    cells: Sequence[Figures | None]


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """``numbers`` are the rows of the API, one for each run and column."""

    title: str
    verdict: str
    columns: Sequence[str]
    rows: Sequence[TableRow]
    numbers: Sequence[Mapping[str, object]] = field(default_factory=list)

    @property
    def table(self) -> Table[TableRow]:
        """The columns in words. Of a single one, the overall scores would be the same."""
        variant: Column[TableRow] = Column("Variant", lambda row: row.variant)
        overall: Column[TableRow] = Column("Overall", lambda row: row.overall.text)
        scores: list[Column[TableRow]] = [Column(name, _figures(place)) for place, name in enumerate(self.columns)]
        first, later = ([overall], scores) if len(scores) > 1 else (scores, [])
        columns: list[Column[TableRow]] = [
            Column("Rank", lambda row: row.rank or MISSING),
            Column("Model", lambda row: row.model, "name"),
            *([variant] if any(row.variant for row in self.rows) else []),
            *first,
            Column("Group", lambda row: row.group or MISSING),
            Column("Best", lambda row: chance(row.best)),
            *later,
        ]
        return Table(self.title, columns)


def _figures(place: int) -> Callable[[TableRow], Cell]:
    return lambda row: figures.text if (figures := row.cells[place]) else MISSING


def matrix_csv(table: MatrixTable) -> Iterator[str]:
    """One line for each run and column, with every number of the API, the head first."""
    if not table.numbers:
        return
    names = list(table.numbers[0])
    yield BYTE_ORDER_MARK + csv_line(names)
    for row in table.numbers:
        yield csv_line("–".join(map(str, value)) if isinstance(value, list) else value for value in row.values())


def matrix_markdown(table: MatrixTable) -> str:
    parts = [f"## {markdown_of(table.title)}", markdown_of(table.verdict), table.table.markdown(table.rows), NOTE]
    return "\n\n".join(filter(None, parts)) + "\n"


def matrix_latex(table: MatrixTable) -> str:
    """A table for the package booktabs."""

    def line(cells: Iterable[str]) -> str:
        return f"    {' & '.join(_latex(cell) for cell in cells)} \\\\"

    caption = " ".join(filter(None, [f"{table.title}.", table.verdict, NOTE]))
    heads, rows = table.table.heads, table.table.of(table.rows).texts()
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            "\\begin{table}",
            f"  \\caption{{{_latex(caption)}}}",
            f"  \\begin{{tabular}}{{{'l' * len(heads)}}}",
            "    \\toprule",
            line(heads),
            "    \\midrule",
            *map(line, rows),
            "    \\bottomrule",
            "  \\end{tabular}",
            "\\end{table}",
            "",
        ]
    )


def matrix_png(table: MatrixTable) -> bytes:
    """The matrix as a picture in light colors, its cells tinted by the score."""
    import vl_convert

    many = len(table.columns) > 1
    columns = [*(["Overall"] if many else []), *table.columns]
    names = [_line(_name(row), 400) for row in table.rows]
    values = [
        {"row": name, "column": column, "mean": cell.mean, "text": score(cell.mean), "small": _small(cell)}
        for name, row in zip(names, table.rows, strict=True)
        for column, cell in zip(map(_line, columns), (*([row.overall] if many else []), *row.cells), strict=True)
        if cell is not None and cell.mean is not None
    ]
    text = {"type": "text", "baseline": "middle"}
    axis = {"title": None, "sort": None, "type": "nominal"}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": "#ffffff",
        "padding": 16,
        "title": {
            "text": _line(table.title),
            "subtitle": textwrap.wrap(_line(f"{table.verdict} {NOTE}", 2_000), _MOST_COLUMNS),
            "anchor": "start",
            "offset": 12,
        },
        "width": {"step": _CELL_WIDTH},
        "height": {"step": _CELL_HEIGHT},
        "data": {"values": values},
        "encoding": {
            "x": {**axis, "field": "column", "axis": {"orient": "top", "labelAngle": 0, "labelLimit": _CELL_WIDTH - 8}},
            "y": {**axis, "field": "row", "axis": {"labelLimit": 420}, "scale": {"domain": names}},
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "#ffffff"},
                "encoding": {
                    "color": {
                        "field": "mean",
                        "type": "quantitative",
                        "legend": None,
                        "scale": {"domain": [0, 0.5, 1], "range": ["#f6e3d3", "#eef1f2", "#a9cbe8"]},
                    }
                },
            },
            {"mark": {**text, "dy": -8, "fontSize": 14, "fontWeight": 600}, "encoding": {"text": {"field": "text"}}},
            {"mark": {**text, "dy": 10, "fontSize": 11, "color": "#55595e"}, "encoding": {"text": {"field": "small"}}},
        ],
        "config": {"view": {"stroke": None}, "axis": {"domain": False, "ticks": False, "labelFontSize": 12}},
    }
    return bytes(vl_convert.vegalite_to_png(spec, scale=2, allowed_base_urls=[]))


def _name(row: TableRow) -> str:
    """What tells the rows of the picture apart, with the place in the ranking."""
    name = f"{row.model} ({row.variant})" if row.variant else row.model
    return f"{name} · rank {row.rank} · {row.group}" if row.rank else f"{name} · not ranked"


def _small(cell: Figures) -> str:
    """Below the mean: the interval, and n of N."""
    parts = [interval(cell.low, cell.high) if cell.low is not None else ""]
    return ", ".join(filter(None, [*parts, "" if cell.n is None else n_of(cell.n, cell.total or 0)]))


def _line(text: str, length: int = 120) -> str:
    # The renderer ends the whole process at a character that XML does not allow.
    return " ".join(visible(text).split())[:length]


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _line(text, 4_000))
