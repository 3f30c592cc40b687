"""One row a model, per dataset version and metric, with quality set against cost and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.models import Run
from benchmarks.queries import leaderboard as reads
from benchmarks.statistics.sentences import threshold_sentence
from frontend import charts, params
from frontend.chart_parts import Chart
from frontend.charts import Contender
from frontend.placed import placed
from frontend.view_models import MetricRow, corrected_mean, metric_row, total_cost
from frontend.views.assets import drawn


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. Cost is US dollars per 1,000 results, latency the median in milliseconds."""

    run: Run
    setting: str
    score: MetricRow
    n_runs: int
    cost: float | None
    latency: float | None
    threshold: str
    """In words; empty where the run has none."""


@require_safe
def leaderboard(request: HttpRequest) -> HttpResponse:
    board = _board(request)
    return render(request, "frontend/leaderboard/leaderboard.html", board)


@require_safe
def chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    return drawn(request, _charts(_board(request)["rows"]), name, form)


def _board(request: HttpRequest) -> dict[str, Any]:
    """The dataset, version and metric asked for (the first of each by default) and the rows they give."""
    datasets = reads.ranked_datasets()
    slug = params.text(request.GET, "dataset")
    dataset = next((dataset for dataset in datasets if dataset.slug == slug), next(iter(datasets), None))
    versions = reads.ranked_versions(dataset) if dataset else []
    number = params.whole_number(request.GET, "version")
    version = next((version for version in versions if version.number == number), next(iter(versions), None))
    runs = reads.whole_runs(version) if version else []
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    asked = params.text(request.GET, "metric")
    metric = asked if asked in metrics else next(iter(metrics), "")
    choose = reads.BEST if request.GET.get("choose") == reads.BEST else reads.LATEST
    rank = reads.THRESHOLD if request.GET.get("rank") == reads.THRESHOLD else reads.MEAN
    rows = _rows(reads.places(runs, metric, choose, rank), metric)
    query = urlencode(
        {"dataset": dataset.slug, "version": version.number, "metric": metric, "choose": choose, "rank": rank}
        if dataset and version
        else {}
    )
    return {
        "datasets": datasets,
        "dataset": dataset,
        "versions": [item.number for item in versions],
        "version": version,
        "metrics": [metric_row(name) for name in metrics],
        "metric": metric_row(metric) if metric else None,
        "title": f"{dataset.slug}: leaderboard" if dataset else "Leaderboard",
        "choose": choose,
        "choices": [(reads.LATEST, "Latest run"), (reads.BEST, "Best run")],
        "rank": rank,
        "ranks": [(reads.MEAN, "Mean score"), (reads.THRESHOLD, "Threshold")],
        "has_corrected": any(row.score.corrected for row in rows),
        "has_thresholds": any(row.threshold for row in rows),
        "rows": rows,
        "judges": sorted({row.run.judge_model for row in rows if row.score.judged}),
        "charts": placed(_charts(rows), lambda *name: f"{reverse('frontend:leaderboard-chart', args=name)}?{query}"),
    }


def _rows(places: Sequence[reads.Place], metric: str) -> list[Row]:
    return [
        Row(
            run=place.run,
            setting=_setting(place.run),
            score=metric_row(metric, place.summary, corrected_mean(place.run, metric)),
            n_runs=place.n_runs,
            cost=_per_thousand(place.run),
            latency=(place.run.summary.get("latency_ms") or {}).get("p50"),
            threshold=_threshold(place),
        )
        for place in places
    ]


def _threshold(place: reads.Place) -> str:
    found = place.threshold
    return "" if found is None else threshold_sentence(*(found[name] for name in ("threshold", "low", "high", "note")))


def _setting(run: Run) -> str:
    """How a canvas set was shown to the model; empty for YAML datasets."""
    return f"{run.representation}, {'few-shot' if run.few_shot else 'zero-shot'}" if run.representation else ""


def _per_thousand(run: Run) -> float | None:
    cost = total_cost(run)
    return None if cost is None or not run.total else 1000 * cost / run.total


def _charts(rows: Sequence[Row]) -> list[Chart | None]:
    if not rows:
        return []
    places = Counter(row.run.model_label for row in rows)
    contenders = [_contender(row, alone=places[row.run.model_label] == 1) for row in rows]
    measure = rows[0].score.measure
    return [
        charts.quality_against("cost", contenders, measure),
        charts.quality_against("latency", contenders, measure),
        charts.ranking(contenders, measure),
    ]


def _contender(row: Row, alone: bool) -> Contender:
    """A model that is ranked once goes by its name alone, another by how it was asked too."""
    name = row.run.model_label
    label = name if alone or not row.setting else f"{name}, {row.setting}"
    mean = row.score.mean or 0.0
    low = mean if row.score.low is None else row.score.low
    high = mean if row.score.high is None else row.score.high
    return Contender(label, mean, low, high, row.score.n, row.cost, row.latency)
