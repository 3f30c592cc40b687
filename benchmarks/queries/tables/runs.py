"""The table of runs, and what marks a run wherever it is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import COMPLETED, Dataset, PushedRun, Run
from benchmarks.presentation import sentences
from benchmarks.presentation.cells import (
    Button,
    Cell,
    Group,
    Link,
    Mean,
    Moment,
    Money,
    Part,
    Words,
    run_link,
    state_of,
    tag,
)
from benchmarks.presentation.labels import OUTCOME, metric_title
from benchmarks.presentation.numbers import MISSING, number, plural
from benchmarks.presentation.tables import Column, Table


def marks(run: Run) -> list[str]:
    """How a run is marked: pinned, as the reference run, with its own tags."""
    marked = (("Pinned", run.pinned), ("Reference run", run.baseline))
    return [*(name for name, holds in marked if holds), *run.tags]


def origin(run: Run) -> list[str]:
    """Whether a run asked no model, or was not made here."""
    return ["Baseline"] if run.is_baseline else ["Imported"] if run.is_imported else []


def left_out(run: Run) -> list[str]:
    """Which tasks of a run do not count, or count although their references are doubtful."""
    names = []
    if run.subset:
        n_tasks = number(run.numbers.subset.n_tasks if run.numbers.subset else None)
        names.append(f"Estimated from {number(run.subset)} of {n_tasks} tasks")
    if run.include_doubtful:
        names.append("Includes doubtful expected answers")
    elif run.n_doubtful:
        names.append(f"{plural(run.n_doubtful, 'doubtful expected answer')} left out")
    return names


def headline(run: Run) -> tuple[Mean, str]:
    """The score of a run, and what it is the mean of: the metric and its n of N."""
    of = run.numbers_of(run.headline)
    return Mean(of.mean, of.low, of.high), f"{metric_title(run.headline)}, {n_of_headline(run)}"


def n_of_headline(run: Run) -> str:
    """``n = 24 of 26 (92.3%), at least 0.850``"""
    of = run.numbers_of(run.headline)
    n_of = sentences.n_of_expected(of.n, of.n_expected) if run.is_live else sentences.n_of_mean(run.headline, of)
    return f"n = {n_of}"


def cost(run: Run) -> Money | str:
    """That of model and judge. Before a run is prepared, nothing was sent, which is not an unknown cost."""
    judge_cost = run.judge_cost_usd if run.judge_model else 0.0
    return Money(*sentences.known_cost(run.cost_usd, judge_cost, run.numbers.part_of_cost)) if run.total else MISSING


def dataset_link(dataset: Dataset, look: str = "") -> Link:
    """The title of a dataset, with a link to its page; commands and files say its slug."""
    whole = "" if dataset.title == dataset.name else dataset.name
    return Link(dataset.title, "dataset", (dataset.slug,), look=look, more=whole, typed=dataset.slug)


def per_thousand(run: Run) -> tuple[float | None, float | None]:
    """What 1,000 results cost, of the model and of the judge."""
    costs = (run.answers_cost_usd, run.judge_cost_usd if run.judge_model else 0.0)
    model, judge = (None if cost is None or not run.done else 1000 * cost / run.done for cost in costs)
    return model, judge


def model_link(model: str) -> Link:
    """The name of a model that runs have asked, with a link to its page."""
    return Link(model, "model", (model,))


def without_points(run: Run) -> list[Part]:
    """What became of the answers of a run that scores 0."""
    counts = sorted(run.numbers.outcomes.items(), key=lambda outcome: -outcome[1])
    if run.numbers_of(run.headline).mean != 0 or not counts:
        return []
    return [Words(", ".join(f"{number(n)} {OUTCOME[name].lower()}" for name, n in counts[:2]), "tag caution")]


def asked(run: Run) -> list[str]:
    """How a run shows canvases, and which part of the tasks it asks."""
    shown = [run.representation, *(["few-shot"] if run.few_shot else [])] if run.representation else []
    return [*shown, *([f"first {number(run.limit)}"] if run.limit else []), *([run.split] if run.split else [])]


def _run(run: Run) -> Cell:
    return [f"Run {run.pk}", run.name, *marks(run)]


def _model(run: Run) -> Cell:
    return [run.model, *origin(run), *left_out(run), run.variant]


def _dataset(run: Run) -> Cell:
    return [run.dataset.slug, f"v{run.version_label}", *asked(run)]


def _score(run: Run) -> Cell:
    mean, what = headline(run)
    if run.status in COMPLETED:
        return [mean, what, *without_points(run)]
    if run.is_live:
        what = metric_title(run.headline)  # its progress is newer than the n of the mean
    return ["Provisional", what] if mean.mean is not None else MISSING


def _progress(run: Run) -> Cell:
    return [f"{number(run.done)} of {number(run.total)}", *([plural(run.errors, "error")] if run.errors else [])]


RUNS = Table[Run](
    "Runs",
    [
        Column("Run", _run),
        Column("Model", _model, "name"),
        Column("Dataset", _dataset),
        Column("Score", _score),
        Column("Status", state_of),
        Column("Progress", _progress, "number"),
        Column("Cost", cost, "number"),
        Column("Queued", lambda run: Moment(run.created_at)),
    ],
)
"""As commands print it."""


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """A run of an imported file; ``is_preview`` if nothing is imported yet. ``unused`` are sentences."""

    run: Run
    is_new: bool
    is_preview: bool
    unused: Sequence[str]
    creates_dataset: bool = False
    creates_version: bool = False


def _imported_run(row: ImportedRow) -> Cell:
    if row.is_new and row.is_preview:
        return "New"
    return [run_link(row.run.pk), *([] if row.is_new else [tag("Imported before")])]


def _imported_model(row: ImportedRow) -> Cell:
    named = row.run.named_there
    return [
        row.run.model,
        *([tag(f"named {named} in the file")] if named else []),
        *([tag(row.run.variant)] if row.run.variant else []),
    ]


def _imported_into(row: ImportedRow) -> Cell:
    dataset = row.run.dataset
    if row.creates_dataset:
        return [dataset.title, tag("New dataset")]
    return [dataset_link(dataset), *([tag("New version")] if row.creates_version else [])]


def _scores(row: ImportedRow) -> Cell:
    numbers = ((name, row.run.numbers_of(name)) for name in row.run.all_metrics)
    return [Group([metric_title(name), Mean(of.mean, of.low, of.high)], "nowrap", block=True) for name, of in numbers]


IMPORTED_RUNS = Table[ImportedRow](
    "Runs in the file",
    [
        Column("Run", _imported_run, look="nowrap"),
        Column("Model", _imported_model, "name"),
        Column("Dataset", _imported_into, look="anywhere"),
        Column("Results", lambda row: row.run.total, "number"),
        Column("Scores", _scores),
        Column(
            "Not used",
            lambda row: [Group([each], block=True) for each in row.unused] or MISSING,
            look="wide-text anywhere",
        ),
    ],
    region=True,
)


def _received(pushed: PushedRun) -> Cell:
    expected = f" of {number(pushed.expected)}" if pushed.expected else ""
    return f"{number(pushed.received)}{expected}"


def _delete_pushed(pushed: PushedRun) -> Cell:
    name = f"Delete {pushed.model} with {pushed.received} results"
    return Button("Delete", name, "delete-pushed-run", (pushed.pk,), look="danger")


RECEIVING = Table[PushedRun](
    "Runs that receive results, newest first",
    [
        Column("Model", lambda pushed: pushed.model, "name", "anywhere"),
        Column("Dataset", lambda pushed: pushed.dataset, look="anywhere"),
        Column("Received", _received, "number", "nowrap"),
        Column("Opened", lambda pushed: Moment(pushed.created_at), look="nowrap"),
        Column(
            "Last batch", lambda pushed: Moment(pushed.received_at) if pushed.received_at else MISSING, look="nowrap"
        ),
        Column("Delete", _delete_pushed, "number", hidden_head=True, only="page", given="may_import"),
    ],
    region=True,
)
