"""The table of benchmarks."""

from __future__ import annotations

from benchmarks.models import Dataset
from benchmarks.presentation.cells import (
    Cell,
    Group,
    Info,
    Link,
    Mean,
    Moment,
    Part,
    Strip,
    Strong,
    Tick,
    Words,
    soft,
    tag,
)
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import interval, n_of, number, plural, score
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.benchmarks import Benchmark
from benchmarks.queries.tables.runs import dataset_link

_TASKS = {Dataset.Kind.CANVAS: "question"}
"""What a task is called, by the kind of its dataset."""
FORM = "selected"
"""The form that the boxes belong to."""


def _tick(row: Benchmark) -> Cell:
    return Tick("dataset", row.dataset.slug, FORM, f"Select {row.dataset.title}")


def _name(row: Benchmark) -> Cell:
    dataset = row.dataset
    tasks = plural(dataset.current_version.task_count, _TASKS.get(dataset.kind, "task"))
    few = f"{tasks} (few)" if row.few_tasks else tasks
    scored = [row.judged or metric_title(row.standing.metric), row.standing.setting] if row.standing else []
    known: list[Part] = [
        Words(few, "soft small", row.few_tasks),
        soft("".join(f" · {text}" for text in scored if text)),
    ]
    marks = [Words("Saturated", "tag caution", "The best model has nearly every point")] if row.is_saturated else []
    marks += [tag(text) for text in (row.newer, row.otherwise) if text]
    parts: list[Part] = [dataset_link(dataset)]
    parts.append(Group([*known, *marks], block=True))
    return parts


def drawn_models(row: Benchmark) -> Part:
    best = row.best
    if best is None or not row.has_marks:
        return ""
    numbers = best.numbers
    label = f"Means of {plural(len(row.means), 'model')}, the best {score(numbers.mean)}"
    return Strip(row.means[1:], Mean(numbers.mean, numbers.low, numbers.high), row.guess, label)


def best_score(row: Benchmark) -> Cell:
    if row.best is None:
        return None
    numbers = row.best.numbers
    bounds = "" if numbers.low is None or numbers.high is None else interval(numbers.low, numbers.high)
    count = number(numbers.n) if numbers.n_expected is None else n_of(numbers.n, numbers.n_expected)
    said = [Words(bounds, "interval"), Words("·", "wide-only")] if bounds else []
    return [Strong(score(numbers.mean)), Group([*said, Words(f"n = {count}", "nowrap")], "soft small", block=True)]


def best_model(row: Benchmark) -> Cell:
    if row.best is None:
        return Words(row.under or "No results yet", "soft")
    models = [Link(run.model, "model", (run.model,)) for run in row.leaders]
    tie = [soft(row.tie)] if row.tie else []
    parts: list[Part] = []
    if len(row.means) > 1 or not row.unranked:
        parts.append(Link(f"of {plural(len(row.means), 'model')}", "leaderboard", query={"dataset": row.dataset.slug}))
    if row.under:
        parts.append(soft(row.under))
    if row.unranked:
        parts.append(Group([tag("Not ranked"), Info("coverage", row.unranked)], "nowrap"))
    return [*models, *tie, Group(parts, "soft small", block=True)]


def launch_link(row: Benchmark) -> Cell:
    query = {"dataset": row.dataset.slug}
    return Link("Run", "launch", query=query, look="button", name=f"Start run on {row.dataset.title}")


BENCHMARKS = Table[Benchmark](
    "Benchmarks",
    [
        Column("Select", _tick, hidden_head=True, only="page", look="tick", given="may_launch"),
        Column("Benchmark", _name, "name"),
        Column("Model scores, 0 to 1", drawn_models, only="page", look="nowrap"),
        Column("Best score", best_score, "number"),
        Column("Best model", best_model),
        Column(
            "Last run", lambda row: Moment(at) if (at := row.dataset.last_run_at) else "Never", look="soft wide-only"
        ),
        Column("Start", launch_link, "number", hidden_head=True, only="page", given="may_launch"),
    ],
    sortable=True,
    look="scored",
)
