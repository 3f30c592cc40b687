"""One row a model, per dataset version and metric, with quality versus cost and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.analysis import rankings
from benchmarks.analysis.matrices import Cell
from benchmarks.models import Dataset, Run, ShareLink
from benchmarks.presentation import sentences
from benchmarks.presentation.comparisons import threshold_sentence
from benchmarks.presentation.numbers import number
from benchmarks.queries import leaderboard as reads
from benchmarks.queries.benchmarks import scored_otherwise
from benchmarks.queries.corrected_ranks import CORRECTED, can_correct, corrected_ranks, corrected_sentence
from benchmarks.queries.judge_words import measured
from benchmarks.queries.live import live_state
from benchmarks.queries.matrix import Matrix
from benchmarks.queries.newer_references import newer_references
from benchmarks.queries.overall_leaderboard import MOST_DATASETS, overall_leaderboard
from benchmarks.queries.ranked_tables import RankedTable, ranked_table
from benchmarks.queries.schedules import fallen_runs
from benchmarks.queries.tables.corrected_ranks import CORRECTED_RANKS
from benchmarks.queries.tables.runs import per_thousand
from benchmarks.services.access import may_launch
from benchmarks.summary import MetricNumbers, Times
from frontend import charts, params
from frontend.chart_parts import Chart
from frontend.charts import Contender
from frontend.chips import Choice, choice, toggles
from frontend.matrix import JUDGES
from frontend.sharing import shared_or_shareable
from frontend.view_models import MetricRow, corrected_mean, metric_row
from frontend.views.shared import chart_response, placed

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. Cost is US dollars per 1,000 results, latency the median of ``n_timed`` in milliseconds.
    ``first_token`` (milliseconds) and ``speed`` (tokens per second) have the numbers of streamed answers, if any.

    A run without ``rank`` has a ``reason``; ``differs`` is that of its ``Place``; ``threshold`` is empty if the run
    has none. ``rank`` is a range such as ``2–3`` where the tests do not separate models, and ``group`` has the letters
    of the groups that they do not separate.
    """

    run: Run
    rank: str
    group: str
    reason: str
    numbers: MetricNumbers
    score: MetricRow
    n_runs: int
    cost: float | None
    cost_words: str
    latency: float | None
    n_timed: int
    first_token: Times | None
    speed: Times | None
    threshold: str
    rubric: str
    differs: str


@require_safe
def leaderboard(request: HttpRequest) -> HttpResponse:
    shown = board(request.GET)
    context = {
        **shown,
        "share": shared_or_shareable(request, ShareLink.Kind.LEADERBOARD, shown["query"]) if shown["rows"] else None,
        "choices": _choices(request.GET, shown),
        # Not the default of another moment: a run that ends elsewhere must not change the dataset under the reader.
        "live_address": f"{request.path}?{urlencode(shown['query'])}",
        "newer_references": newer_references(row.run for row in shown["rows"]),
        "may_launch": may_launch(request.user),
        "live_state": live_state(),
    }
    return render(request, "frontend/leaderboard/leaderboard.html", context)


def _choices(query: QueryDict, shown: dict[str, Any]) -> list[Choice]:
    """What the leaderboard can be of; another dataset has its own versions, metrics and settings."""
    of_any = query.copy()
    for name in ("version", "metric", "setting"):
        of_any.pop(name, None)
    datasets = [(each.slug, each.title) for each in shown["datasets"]]
    choices = [choice(of_any, "dataset", "Benchmark", datasets, shown["dataset"].slug if shown["dataset"] else "")]
    if shown["dataset"]:
        versions = [(each, f"Version {each}") for each in shown["versions"]]
        choices.append(choice(query, "version", "Version", versions, shown["version"] and shown["version"].number))
        metrics = [(row.name, row.title) for row in shown["metrics"]]
        choices.append(choice(query, "metric", "Metric", metrics, shown["metric"] and shown["metric"].name))
    if len(shown["settings"]) > 1:
        settings = [(words, words or "Default") for words in shown["settings"]]
        choices.append(choice(query, "setting", "Setting", settings, shown["setting"]))
    choices.append(choice(query, "choose", "Run per model", shown["choices"], shown["choose"]))
    if shown["can_correct"]:
        choices.append(choice(query, "judge", "Judge", JUDGES.items(), shown["judge"]))
    if shown["has_thresholds"]:
        choices.append(choice(query, "rank", "Ranked by", shown["ranks"], shown["rank"]))
    return choices


@require_safe
def overall(request: HttpRequest) -> HttpResponse:
    """The models over several datasets."""
    several = overall_leaderboard(list(filter(None, request.GET.getlist("dataset"))))
    chosen = [column.dataset.slug for column in several.columns]
    share = {"datasets": ",".join(chosen)}
    context = {
        "toggles": toggles(request.GET, "dataset", {each.slug: each.title for each in several.offered}, chosen),
        "share": shared_or_shareable(request, ShareLink.Kind.OVERALL, share) if several.rows else None,
        "newer_references": newer_references(run for column in several.columns for run in column.runs),
        "may_launch": may_launch(request.user),
        "live_state": live_state(),
        "board": several,
        "columns": [
            (column, metric_row(column.metric), _n_of_all(row.cells[place] for row in several.rows))
            for place, column in enumerate(several.columns)
        ],
        "ranked": [row for row in several.rows if row.rank],
        "unranked": [row for row in several.rows if not row.rank],
        "min_coverage": f"{rankings.MIN_COVERAGE:.0%}",
        "most": MOST_DATASETS,
    }
    return render(request, "frontend/leaderboard/overall.html", context)


def _n_of_all(cells: Iterable[Cell | None]) -> int | None:
    """How many results each score of a column is of, if each has all of as many."""
    sizes = {size for cell in cells if cell is not None for size in (cell.n, cell.total)}
    return sizes.pop() if len(sizes) == 1 else None


@require_safe
def chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    return chart_response(request, charts_of(board(request.GET)["rows"]), name, form)


def board(query: QueryDict) -> dict[str, Any]:
    """The chosen dataset, version and metric, by default what most models share, and their rows."""
    datasets = reads.ranked_datasets()
    if not params.text(query, "dataset"):
        shared = reads.most_shared_dataset()
        datasets.sort(key=lambda dataset: dataset.pk != shared)
    slug, asked = params.text(query, "dataset"), params.whole_number(query, "version")
    unknown = slug if slug and datasets and slug not in {dataset.slug for dataset in datasets} else ""
    dataset = None if unknown else _first(datasets, lambda dataset: dataset.slug == slug)
    versions = reads.ranked_versions(dataset) if dataset else []
    version = _first(versions, lambda version: version.number == asked)
    whole, n_partial = reads.whole_runs(version) if version else ([], 0)
    settings = reads.by_setting(whole)
    names = {setting: setting.words(settings) for setting in settings}
    setting = _first([*settings], lambda setting: names[setting] == params.text(query, "setting"))
    runs, setting_words = (settings[setting], names[setting]) if setting else ([], "")
    metrics = rankings.metrics_of(runs)
    metric = _first(metrics, lambda name: name == params.text(query, "metric")) or ""
    choose = rankings.BEST if query.get("choose") == rankings.BEST else rankings.LATEST
    rank = rankings.THRESHOLD if query.get("rank") == rankings.THRESHOLD else rankings.MEAN
    table = ranked_table(runs, metric, choose, rank)
    rows = [_row(place, table) for place in table.places]
    chosen: dict[str, str] = {}
    if dataset and version:
        chosen = {"dataset": dataset.slug, "version": str(version.number), "metric": metric}
        chosen |= {"setting": setting_words, "choose": choose, "rank": rank}
    places = corrected_ranks([row.run for row in rows], metric) if _is_corrected(query, metric) and rows else None
    if places is not None:
        chosen["judge"] = CORRECTED
    drawn = placed(charts_of(rows), "leaderboard-chart", query=urlencode(chosen))
    return {
        "datasets": datasets,
        "query": chosen,
        "unknown": unknown,
        "dataset": dataset,
        "versions": [item.number for item in versions],
        "version": version,
        "version_label": setting.version(version.number) if version and setting else "",
        "metrics": [metric_row(name) for name in metrics],
        "metric": metric_row(metric) if metric else None,
        "title": f"{dataset.title}: leaderboard" if dataset else "Leaderboard",
        "settings": [*names.values()],
        "setting": setting_words,
        "setting_told": setting.words(settings, quotes=False) if setting else "",
        "n_partial": n_partial,
        "elsewhere": ", ".join(sorted({run.model_label for run in runs} - {row.run.model_label for row in rows})),
        "min_coverage": f"{rankings.MIN_COVERAGE:.0%}",
        "choose": choose,
        "choices": [(rankings.LATEST, "Latest run"), (rankings.BEST, "Best run")],
        "rank": rank,
        "ranks": [(rankings.MEAN, "Mean score"), (rankings.THRESHOLD, "50% threshold")],
        "is_tested": bool(table.spans),
        "said": _said(table.grid, rows, metric) if places is None else [corrected_sentence(places)],
        "cautions": [*_cautions(rows), *_otherwise(dataset, metric)] if places is None else [],
        "can_correct": can_correct(metric),
        "judge": "" if places is None else CORRECTED,
        "corrected": None if places is None else CORRECTED_RANKS.of(places),
        "guess": _guess(rows),
        "has_readable": any(row.score.readable for row in rows),
        "has_corrected": any(row.score.corrected for row in rows),
        "has_thresholds": any(row.threshold for row in rows),
        "threshold_levels": _threshold_levels(table.places),
        "has_streamed": any(row.first_token for row in rows),
        "rows": rows,
        "best_for_price": _best_for_price(rows),
        "fallen": fallen_runs([row.run.pk for row in rows], metric),
        "equal_n": _equal_n(rows),
        "judges": _judges(rows),
        # The table has the ruler of each model.
        "charts": [each for each in drawn if each.chart.name != "ranking" and places is None],
        "export": None if places is not None else next((each for each in drawn if each.chart.name == "ranking"), None),
    }


def _is_corrected(query: QueryDict, metric: str) -> bool:
    return query.get("judge") == CORRECTED and can_correct(metric)


def _said(grid: Matrix | None, rows: Sequence[Row], metric: str) -> list[str]:
    """What can be said of the order, and who gave the scores."""
    # A statement on the scores says who gave them.
    judged = "" if grid and grid.statement else measured((row.run, metric) for row in rows if row.rank)
    return [*filter(None, [*(grid.sentences if grid else ()), judged and f"{judged}."])]


def _cautions(rows: Sequence[Row]) -> list[str]:
    """To which tasks the scores apply, if not to all, and whether they come from different judges."""
    judges = _judges(rows)
    differ = f"These runs use different judges ({', '.join(judges)}), so their scores are not strictly comparable."
    return [*filter(None, [rows[0].score.applies if rows else ""]), *([differ] if len(judges) > 1 else [])]


def _otherwise(dataset: Dataset | None, metric: str) -> list[str]:
    title = scored_otherwise(dataset, metric) if dataset and metric else ""
    return [f"New runs are scored by {title}."] if title else []


def _judges(rows: Sequence[Row]) -> list[str]:
    return sorted({row.run.judge_model for row in rows if row.score.judged})


def _first(items: Sequence[Item], wanted: Any) -> Item | None:
    """The wanted item, otherwise the first one."""
    return next(filter(wanted, items), next(iter(items), None))


def _row(place: rankings.Place, table: RankedTable) -> Row:
    run, metric = place.run, table.metric
    model, judge = per_thousand(run)
    latency = run.numbers.latency_ms
    return Row(
        run=run,
        rank=table.rank(place),
        group=table.groups.get(run.pk, ""),
        reason=place.reason,
        numbers=place.numbers,
        score=metric_row(metric, place.numbers, corrected_mean(run, metric)),
        n_runs=place.n_runs,
        cost=None if model is None or judge is None else model + judge,
        cost_words=sentences.total_cost(model, judge),
        latency=latency.p50 if latency else None,
        n_timed=latency.n if latency else 0,
        first_token=run.numbers.first_token_ms,
        speed=run.numbers.tokens_per_second,
        threshold=threshold_sentence(place.threshold) if place.threshold else "",
        rubric=run.rubric_version(metric),
        differs=place.differs,
    )


def _threshold_levels(places: Iterable[rankings.Place]) -> str:
    """Of which numbers of shapes the thresholds are, if they are all of the same, though not of all that were asked."""
    fits = [(place.run, place.threshold) for place in places if place.threshold and place.threshold.levels]
    spans = {(levels[0].difficulty, levels[-1].difficulty) for levels in (fit.levels for _, fit in fits)}
    asked = {int(level) for run, _ in fits for level in run.parts.facets.get("n_shapes", {})}
    if len(spans) != 1 or len(asked) <= len(fits[0][1].levels):
        return ""
    first, last = spans.pop()
    return f"from {first:g} to {last:g} shapes, where all task classes are asked"


def _best_for_price(rows: Sequence[Row]) -> set[int]:
    """The ranked runs than which nothing is both better and cheaper; none if that is true of all with a known cost,
    because the mark then tells nobody apart."""
    priced = [row for row in rows if row.rank and row.cost is not None and row.numbers.mean is not None]
    points = [(row.cost or 0.0, row.numbers.mean or 0.0) for row in priced]
    floor = charts.floor(priced[0].score, _guess(priced)) if priced else 0.0
    best = {priced[index].run.pk for index in charts.frontier(points, floor)}
    return best if len(best) < len(priced) else set()


def _guess(rows: Sequence[Row]) -> float | None:
    return next((guess for row in rows if (guess := row.run.guess_of(row.score.name)) is not None), None)


def _equal_n(rows: Sequence[Row]) -> str:
    """``n = 340`` if every score is of that many results, all that there should be; else empty."""
    counts = {(row.numbers.n, row.numbers.n_expected) for row in rows}
    n, expected = counts.pop() if len(counts) == 1 else (0, None)
    return f"n = {number(n)}" if n and n == expected else ""


def charts_of(rows: Sequence[Row]) -> Sequence[Chart | None]:
    """Quality against cost and latency, and the ranking."""
    ranked = [row for row in rows if row.rank or (row.run.is_baseline and row.numbers.mean is not None)]
    if not ranked:
        return []
    # Names in charts must be unique, or a model with two rows would be drawn as one.
    n_places = Counter(row.run.model_label for row in ranked)
    contenders = [_contender(row, alone=n_places[row.run.model_label] == 1) for row in ranked]
    measure, guess = ranked[0].score, _guess(ranked)
    return [
        *(charts.quality_against(by, contenders, measure, guess=guess) for by in ("cost", "latency")),
        charts.ranking(contenders, measure),
    ]


def _contender(row: Row, alone: bool) -> Contender:
    """A model that is ranked once goes by its name, another one by its parameters and its judge too."""
    judge = f"{row.run.judge_model}{f', rubric {row.rubric}' if row.rubric else ''}"
    more = (row.differs, f"judged by {judge}" if row.run.judge_model else "")
    label = row.run.model_label if alone else ", ".join(filter(None, (row.run.model_label, *more)))
    mean, low, high = row.numbers.mean, row.numbers.low, row.numbers.high
    bounded = replace(row.numbers, low=mean if low is None else low, high=mean if high is None else high)
    return Contender(label, bounded, row.cost, row.latency)
