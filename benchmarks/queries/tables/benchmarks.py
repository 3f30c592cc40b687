"""The table of benchmarks."""

from __future__ import annotations

from benchmarks.models import Dataset
from benchmarks.presentation.cells import Cell, Group, Link, Mean, Moment, Part, Strip, Strong, Words, soft
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import interval, plural, score
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.benchmarks import Benchmark
from benchmarks.queries.tables.runs import dataset_link

_TASKS = {Dataset.Kind.CANVAS: "question"}
"""What a task is called, by the kind of its dataset."""


def _name(row: Benchmark) -> Cell:
    dataset = row.dataset
    known = [plural(dataset.current_version.task_count, _TASKS.get(dataset.kind, "task"))]
    if row.standing:
        known += [row.judged or metric_title(row.standing.metric), f"v{row.standing.version_label}"]
        known += [row.standing.setting] if row.standing.setting else []
    marks = [Words(text, "tag caution") for text in row.warnings] + ([Words(row.newer, "tag")] if row.newer else [])
    parts: list[Part] = [dataset_link(dataset)]
    parts.append(Group([soft(" · ".join(known)), *marks], block=True))
    return [*parts, Group([_models(row)], "narrow-only", block=True)]


def _models(row: Benchmark) -> Part:
    best = row.best
    if best is None or not row.has_marks:
        return ""
    numbers = best.numbers
    label = f"Means of {plural(len(row.means), 'model')}, the best {score(numbers.mean)}"
    return Strip(row.means[1:], Mean(numbers.mean, numbers.low, numbers.high), row.guess, label)


def _score(row: Benchmark) -> Cell:
    if row.best is None:
        return None
    numbers = row.best.numbers
    bounds = "" if numbers.low is None or numbers.high is None else interval(numbers.low, numbers.high)
    return [Strong(score(numbers.mean)), Group([soft(bounds)], block=True)]


def _best(row: Benchmark) -> Cell:
    if row.best is None:
        return Words(row.note or "No results yet", "soft")
    models = [Link(run.model, "model", (run.model,)) for run in row.leaders]
    numbers = row.best.numbers
    scored = f"scored {n_of_mean(row.best.run.headline, numbers)}"
    of = f"of {plural(len(row.means), 'model')}" if len(row.means) > 1 else "only model"
    among = Link(of, "leaderboard", query={"dataset": row.dataset.slug})
    said = [*([soft(row.tie)] if row.tie else []), *([soft(row.note)] if row.note else [])]
    return [*models, *said, Group([among, f", {scored}"], "soft small", between="", block=True)]


def _run(row: Benchmark) -> Cell:
    query = {"dataset": row.dataset.slug}
    return Link("Run", "launch", query=query, look="button", name=f"Start run on {row.dataset.title}")


BENCHMARKS = Table[Benchmark](
    "Benchmarks",
    [
        Column("Benchmark", _name, "name"),
        Column("Models, 0 to 1", _models, only="page", look="nowrap wide-only"),
        Column("Best score", _score, "number"),
        Column("Best model", _best, look="wide-only"),
        Column(
            "Last run", lambda row: Moment(at) if (at := row.dataset.last_run_at) else "Never", look="soft wide-only"
        ),
        Column("Start", _run, "number", hidden_head=True, only="page", given="may_launch"),
    ],
    sortable=True,
)
