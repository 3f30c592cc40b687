"""What share links show to people without an account: pages of statements, tables and charts that lead nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.core.exceptions import ObjectDoesNotExist
from django.http import QueryDict

from benchmarks.analysis import rankings
from benchmarks.analysis.comparisons import Compared, common_metrics, compared_runs, newer_sentence
from benchmarks.analysis.matrices import latency_title
from benchmarks.exports.html_file import TextTable, tables_html
from benchmarks.exports.matrix_files import NOTE
from benchmarks.models import Run, ShareLink
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, interval, milliseconds, money, n_of, plural, score
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries import matrix as matrices
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.experiments import averages_variants, experiment_detail, experiment_runs, progress
from benchmarks.queries.judge_words import measured
from benchmarks.queries.matrix_export import matrix_table
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from benchmarks.queries.tables.comparisons import differences_from
from benchmarks.run_parameters import RUN_PARAMETERS, Kind
from frontend import drawing, params
from frontend.chart_parts import Chart
from frontend.matrix import BoardRow, board_row, guess_over, matrix_charts
from frontend.views.leaderboard import Row, board, charts_of


def shared_page(link: ShareLink) -> str | None:
    """The page of a link that is not to a run, as HTML; ``None`` where what it showed does not exist any more."""
    query = QueryDict(link.query)
    match link.kind:
        case ShareLink.Kind.EXPERIMENT:
            return _experiment(query)
        case ShareLink.Kind.COMPARISON:
            return _comparison(query)
        case ShareLink.Kind.OVERALL:
            return _overall(query)
        case _:
            return _leaderboard(query)


def _experiment(query: QueryDict) -> str | None:
    try:
        stored = experiment_detail(params.whole_number(query, "experiment") or 0)
    except ObjectDoesNotExist:
        return None
    runs = experiment_runs(stored)
    state = progress(runs)
    lead = f"{state.state.text}: {n_of(state.ended, state.runs)} ended. Cost: {state.cost}."
    said, tables, charts = _matrix(runs, query)
    averages = averages_variants(stored, params.text(query, "variants")) and runs
    if averages and (models := _averaged(runs, query)):
        said, tables = (
            models.said,
            [TextTable("Averages over the variants", *matrices.average_texts(models.found)), *tables],
        )
    return tables_html(stored.name, lead, said, tables, notes=[NOTE] if tables else [], images=charts)


def _averaged(runs: Sequence[Run], query: QueryDict) -> matrices.AveragedModels | None:
    metric, dataset = (params.text(query, name) for name in ("metric", "dataset"))
    return matrices.averaged_models(matrices.matrix(runs, metric, dataset))


def _comparison(query: QueryDict) -> str | None:
    ids = params.run_ids(query)
    runs = runs_to_compare(ids)
    metrics = common_metrics(runs) if runs else []
    if len(runs) < 2 or not metrics:
        return None
    wanted = params.text(query, "metric")
    metric = wanted if wanted in metrics else metrics[0]
    pairs = compared_runs(runs, with_first=True, margin=params.margin(query))
    against = [pair for pair in pairs if pair.metric == metric]
    differences = differences_from(runs[0], against)
    said, tables, charts = _matrix(runs, query)
    if len(runs) == 2:
        said = _pair(against[0])
    else:
        said += (
            f"{pair.name_b}: {sentence}"
            for pair in against
            for sentence in (pair.missing_sentence, pair.scope_sentence)
            if sentence
        )
    heads = [column.head for column in differences.columns_of("text")]
    tables.append(TextTable(f"Difference from {runs[0].model_label}, run {runs[0].pk}", heads, differences.texts()))
    gone = len(ids) - len(runs)
    lead = f"{plural(len(runs), 'run')} on shared tasks by {metric_title(metric)}. " + (
        f"{plural(gone, 'run')} of this comparison {'was' if gone == 1 else 'were'} deleted." if gone else ""
    )
    title = "Comparison of " + ", ".join(dict.fromkeys(run.model_label for run in runs))
    return tables_html(title, lead, said, tables, notes=[NOTE, str(differences.table.title)], images=charts)


def _pair(pair: Compared) -> list[str]:
    """What the page of two runs says of them, the verdict first."""
    judged = measured([(pair.a, pair.metric), (pair.b, pair.metric)])
    return [
        *pair.sentences,
        newer_sentence(pair.a, pair.b),
        pair.same_sentence,
        pair.missing_sentence,
        f"{judged}." if judged else "",
        pair.scope_sentence,
    ]


def _matrix(runs: Sequence[Run], query: QueryDict) -> tuple[list[str], list[TextTable], list[tuple[str, str]]]:
    """What is said of runs read as one, their table with costs, and their charts."""
    if not runs:
        return ["The experiment has no runs."], [], []
    metric, dataset, facet = (params.text(query, name) for name in ("metric", "dataset", "columns"))
    grid = matrices.matrix(runs, metric, dataset, facet, margin=params.margin(query))
    written = matrix_table(grid, "Scores")
    # What differs between variants may quote their prompts.
    names = [row.variant for row in grid.rows]
    shown = [replace(row, variant=name) for row, name in zip(written.rows, names, strict=True)]
    written = replace(written, rows=shown)
    rows = [board_row(row) for row in grid.rows]
    spent = Table[BoardRow](
        "Costs",
        [
            Column("$ per 1,000 results", lambda row: money(row.cost)),
            Column(latency_title(grid.rows), lambda row: milliseconds(row.latency_ms)),
        ],
    )
    table = TextTable(
        "Scores",
        [*written.table.heads, *spent.heads],
        [
            [*one, *other]
            for one, other in zip(written.table.of(written.rows).texts(), spent.of(rows).texts(), strict=True)
        ],
    )
    ranked = [row for row in rows if row.row.place]
    drawn = {"ranked": ranked, "metric": metric, "guess": guess_over(grid, metric)}
    charts = _pictures(matrix_charts(drawn)) if ranked else []
    return [*filter(None, [grid.none_right]), *grid.sentences] or [grid.no_verdict], [table], charts


def _leaderboard(query: QueryDict) -> str | None:
    shown = board(query)
    if not shown["rows"]:
        return None
    setting = shown["setting_told"] and f"setting: {shown['setting_told']}"
    lead = ", ".join(filter(None, [f"Version {shown['version_label']}", shown["metric"].title, setting]))
    ranked = _without_texts(shown["rows"], shown["query"]["metric"])
    rows = [
        [
            row.rank or MISSING,
            ", ".join(filter(None, [row.run.model_label, row.differs, row.reason])),
            f"{score(row.score.mean)} ({interval(row.score.low, row.score.high)})",
            row.score.n_of,
            row.cost_words,
            milliseconds(row.latency),
        ]
        for row in ranked
    ]
    heads = ["Rank", "Model", "Score (95% interval)", "n", "$ per 1,000", "Median latency"]
    notes = [f"A rank requires scores for {shown['min_coverage']} of the results. Cost includes the judge."]
    pictures = _pictures(charts_of(ranked))
    return tables_html(
        shown["title"],
        lead,
        [*shown["said"], *shown["cautions"]],
        [TextTable("Ranking", heads, rows)],
        notes=notes,
        images=pictures,
    )


def _overall(query: QueryDict) -> str | None:
    several = overall_leaderboard(params.text(query, "datasets").split(","))
    if not several.rows:
        return None
    columns = [(column, metric_title(column.metric)) for column in several.columns]
    heads = [
        f"{column.dataset.title} v{column.version_label}, " + ", ".join(filter(None, [title, column.setting_told]))
        for column, title in columns
    ]
    rows = [
        [
            row.ranks or MISSING,
            ", ".join(filter(None, [row.model, row.reason])),
            f"{row.mean_rank.mean:.2f}" if row.mean_rank else MISSING,
            *(
                f"{score(cell.mean)} ({interval(cell.low, cell.high)}), n = {n_of(cell.n, cell.total or 0)}"
                if cell
                else MISSING
                for cell in row.cells
            ),
        ]
        for row in several.rows
    ]
    lead = "Latest full run of each model, ranked by the average of its ranks."
    notes = [f"A rank requires scores for {rankings.MIN_COVERAGE:.0%} of the results on every dataset."]
    table = TextTable("Ranking", ["Rank", "Model", "Mean rank", *heads], rows)
    return tables_html("Leaderboard over several benchmarks", lead, [], [table], notes=notes)


def _without_texts(rows: Sequence[Row], metric: str) -> list[Row]:
    """Rows that differ in numbers and choices say so; the number of the run stands for texts, which may be prompts."""
    values = [rankings.row_values(row.run, metric) for row in rows]
    kept = [{name: value for name, value in own.items() if name in _NOT_TEXTS} for own in values]
    told = rankings.differences([(row.run, own) for row, own in zip(rows, kept, strict=True)])
    return [
        row if words == row.differs else replace(row, differs=", ".join(filter(None, [words, f"run {row.run.pk}"])))
        for row, words in zip(rows, told, strict=True)
    ]


_NOT_TEXTS = {
    name
    for name, parameter in RUN_PARAMETERS.items()
    if parameter.kind in (Kind.INTEGER, Kind.NUMBER, Kind.SWITCH, Kind.CHOICE)
}


def _pictures(charts: Sequence[Chart | None]) -> list[tuple[str, str]]:
    return [(chart.title, drawing.svg(chart, "light")) for chart in charts if chart]
