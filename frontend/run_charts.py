"""The charts of one run, from its stored summary and breakdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from urllib.parse import urlencode

from django.urls import reverse

from benchmarks.models import Run
from benchmarks.presentation import sentences
from benchmarks.presentation.labels import prompt_variant, sentence_case
from benchmarks.presentation.ranks import listed
from benchmarks.queries.shapes import ends_of_shapes
from benchmarks.summary import Counted
from frontend import charts, difficulty_charts
from frontend.chart_parts import Chart, Row, figures
from frontend.view_models import MetricRow, facets_of, metric_rows

_LEVELS = {"difficulty": "difficulty", "group": "task class", "n_shapes": "number of shapes"}
_DIFFICULTIES = ("easy", "medium", "hard")


def run_charts(run: Run, metric: str = "") -> list[Chart]:
    """Scores by difficulty, task class and number of shapes where there are several, and their distribution.

    For all metrics, or for one alone.
    """
    rows = [row for row in metric_rows(run) if row.mean is not None and metric in ("", row.name)]
    return _existing(chart for row in rows for chart in (*_breakdowns(run, row), _distribution(run, row)))


def telling_charts(run: Run, metric: str, facets: Container[str]) -> list[Chart]:
    """The charts of these facets of the breakdown, and the distribution if there are scores between 0 and 1."""
    scores = run.numbers.histograms.get(metric)
    between = scores is not None and any(scores.counts[1:-1])
    kinds = [(chart, chart.name.partition("-")[0]) for chart in run_charts(run, metric)]
    return [chart for chart, kind in kinds if kind in facets or (kind == "spread" and between)]


def surface_charts(run: Run, metric: str, others: Sequence[Run] = ()) -> list[Chart]:
    """The difficulty surface of a run on a canvas set; empty where the run has none.

    Heat maps of the run and, if the model was run with other prompt variants (``others``), of all variants side by side
    and of each other variant; then the same as lines.
    """
    row = next((row for row in metric_rows(run) if row.name == metric), None)
    if row is None:
        return []
    cells, variant = _surface_cells(run, metric), "prompt variant"
    maps, lines = [difficulty_charts.surface_heat_map(cells, row)], [difficulty_charts.surface_lines(cells, row)]
    if others:
        variants = [cell for each in (run, *others) for cell in _variant_cells(each, metric)]
        maps.append(difficulty_charts.surface_heat_map(variants, row, "variants", variant))
        lines.append(difficulty_charts.surface_lines(variants, row, "variants-lines", variant))
    for other in others:
        by = f"task class, {variant_of(other)}"
        cells = _surface_cells(other, metric)
        maps.append(difficulty_charts.surface_heat_map(cells, row, f"surface-{other.pk}", by))
    return _existing([*maps, *lines])


def surface_said(run: Run, metric: str) -> list[str]:
    """Whether the score changes from the fewest shapes to the most, over which task classes, and the lowest cell of the
    surface; empty without several numbers of shapes."""
    row = next((row for row in metric_rows(run) if row.name == metric), None)
    ends, cells = ends_of_shapes(run, metric), _surface_cells(run, metric)
    if row is None or ends is None:
        return []
    few, many = (
        f"{row.words(of.mean or 0.0)} with {n_shapes} shapes (n = {sentences.n_of_mean(metric, of)})"
        for n_shapes, of in ((ends.few, ends.first), (ends.many, ends.last))
    )
    if ends.change:
        said = f"The score {ends.change} from {few} to {many}."
    else:
        said = f"The score is {few} and {many}: no significant change."
    lowest = min(cells, key=lambda cell: cell["mean"])
    where = f"{lowest['group']} with {lowest['n_shapes']} shapes"
    left_out = f"Without {listed([*map(sentence_case, ends.missing)])}, not asked at both ends."
    return [
        said,
        *([left_out] if ends.missing else []),
        f"Lowest cell: {where}, {row.words(lowest['mean'])}, n = {lowest['n']}.",
    ]


def variant_of(run: Run) -> str:
    return prompt_variant(run.representation, run.few_shot)


def _existing(built: Iterable[Chart | None]) -> list[Chart]:
    return [chart for chart in built if chart is not None]


def _surface_cells(run: Run, metric: str) -> list[Row]:
    """The scored cells of the surface by task class, then by number of shapes."""
    scored = (cell for cell in run.parts.surface if cell.metric == metric and cell.mean is not None)
    return [
        _cell(run, metric, cell, sentence_case(cell.group), group=cell.group, n_shapes=cell.n_shapes)
        for cell in sorted(scored, key=lambda cell: (cell.group, cell.n_shapes))
    ]


def _variant_cells(run: Run, metric: str) -> list[Row]:
    """All task classes of a run together, by number of shapes; the group is the prompt variant."""
    by_shapes = run.parts.facets.get("n_shapes", {})
    levels = {int(n_shapes): run.parts.at("n_shapes", n_shapes, metric) for n_shapes in by_shapes}
    return [
        _cell(run, metric, level, variant_of(run), n_shapes=n_shapes)
        for n_shapes, level in sorted(levels.items())
        if level.mean is not None
    ]


def _cell(run: Run, metric: str, level: Counted, name: str, **filters: str | int) -> Row:
    """``filters``, among them the number of shapes, select the results of the cell."""
    url = f"{reverse('frontend:run', args=(run.pk,))}?{urlencode(filters)}#results"
    return {"group": name, "n_shapes": filters["n_shapes"], **figures(level, metric), "url": url}


def _breakdowns(run: Run, row: MetricRow) -> Iterable[Chart | None]:
    for key, name in facets_of(run).items():
        words = _LEVELS.get(key) or name.lower()
        by_level = run.parts.facets.get(key, {})
        if len(by_level) > 1:  # a single level repeats the mean of the whole run
            levels = {
                sentence_case(level) if key in _LEVELS else level: run.parts.at(key, level, row.name)
                for level in sorted(by_level, key=_order)
            }
            yield charts.breakdown(key, words, levels, row)


def _order(level: str) -> tuple[int, str]:
    """Easy before hard, 3 shapes before 12, task classes by name."""
    if level in _DIFFICULTIES:
        return _DIFFICULTIES.index(level), level
    return (int(level), "") if level.isdigit() else (0, level)


def _distribution(run: Run, row: MetricRow) -> Chart | None:
    scores = run.numbers.histograms.get(row.name)
    return charts.histogram(f"spread-{row.name}", scores.edges, scores.counts, row) if scores else None
