"""The table of scores over time of which there are too few for a chart."""

from __future__ import annotations

from benchmarks.presentation.cells import Bar, Cell, Group, Link, Mean, run_link, soft
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.history import History
from benchmarks.queries.tables.runs import dataset_link, model_link


def _named(history: History, link: Link) -> Cell:
    asked = ", ".join(filter(None, [metric_title(history.metric), history.setting]))
    return [link, Group([asked], "soft small", block=True)]


def _score(history: History, place: int) -> Cell:
    point = history.points[place]
    numbers = point.numbers
    what = soft(f"n = {n_of_mean(history.metric, numbers)}, ")
    mean = Mean(numbers.mean, numbers.low, numbers.high)
    return [Group([mean], "mean"), Group([Bar(mean)]), Group([what, run_link(point.run.pk)], "small", block=True)]


TWO_RUNS = Table[History](
    "Scores of two runs",
    [
        Column("Benchmark", lambda each: _named(each, dataset_link(each.dataset)), "name", given="by_dataset"),
        Column("Model", lambda each: _named(each, model_link(each.model)), "name", given="by_model"),
        Column("First run", lambda each: _score(each, 0), look="nowrap"),
        Column("Latest run", lambda each: _score(each, -1), look="nowrap"),
    ],
    look="by-line two-runs",
)
