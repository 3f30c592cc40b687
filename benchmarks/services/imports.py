"""Runs that other tools made, taken over from their files, to be read and compared beside our own.

They are stored like runs that have ended, under the tool's name and with its scores. Answers are also scored by our own
deterministic metrics, so that there is a metric in common with runs made here. Nothing of them can be asked again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from benchmarks.dataset_format import DatasetSpec, validate_dataset_fields
from benchmarks.dataset_format.files import SLUG
from benchmarks.dataset_format.problems import printable
from benchmarks.engine.execution.scoring import failed_score, leading_value, outcome_of, score_of
from benchmarks.engine.summary.summarize import summarize
from benchmarks.imports.archive import MAX_ZIP_BYTES
from benchmarks.imports.formats import read_runs
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportedTask, ImportProblem
from benchmarks.metrics.base import DeterministicMetric, Item, Metric, Score
from benchmarks.metrics.imported import TOOLS
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.models import Dataset, DatasetVersion, Outcome, Result, ResultState, Run, RunStatus, Task, Transcript
from benchmarks.models import Score as StoredScore
from benchmarks.providers.base import ToolCall
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.code_version import code_version

OUR_METRICS = ("exact_match",)
"""Taken of the answers where nothing else is asked for."""
PORTION = 500
MAX_ERROR = 10_000
LONGEST_MODEL = 200


@dataclass(frozen=True, slots=True)
class Imported:
    """A run of the file, and whether it is new or was taken over before."""

    run: Run
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Import:
    """What was asked for, and by whom."""

    file: str
    sha256: str
    ours: Sequence[DeterministicMetric]
    slug: str | None
    dataset: str | None
    user: Caller

    def key(self, found: ImportedRun) -> str:
        """The same for the same part of the same file."""
        return hashlib.sha256(f"{self.sha256} {found.part}".encode()).hexdigest()


def import_runs(
    path: Path,
    *,
    name: str | None = None,
    form: str | None = None,
    slug: str | None = None,
    dataset: str | None = None,
    metrics: Sequence[str] = OUR_METRICS,
    max_bytes: int = MAX_ZIP_BYTES,
    user: Caller = None,
) -> list[Imported]:
    """Take over every run in a file of another tool, or none. A file that was taken over before gives the same runs.

    The tasks become a dataset of their own under ``slug``, by default named after the tool and its task; or they are
    those of our ``dataset``, each found by what it asks, so that the run stands beside ours on its leaderboard.
    ``name`` is what the file is called, ``metrics`` are ours to score the answers by (:func:`own_metrics`), and no more
    than ``max_bytes`` are read, counted as an archive is decompressed. Raises ``NotPossible`` that says where in the
    file what is wrong.
    """
    ours = _chosen(metrics)
    if slug is not None and not SLUG.fullmatch(slug):
        raise NotPossible("The slug of a dataset has 1 to 100 letters, digits, _ or -.")
    try:
        digest = _digest(path)
        found = read_runs(path, form, name, max_bytes=max_bytes)
    except ImportProblem as problem:
        raise NotPossible(f"{problem}. Nothing was taken over.") from None
    except OSError as error:
        raise NotPossible(f"{path} cannot be read: {error.strerror}.") from None
    if len(found) > 1 and slug is not None and len({one.name for one in found}) > 1:
        raise NotPossible("The file has several sets of tasks, one for each prompt: leave their slugs to be made.")
    asked = _Import(printable(name or path.name), digest, ours, slug, dataset, user)
    with transaction.atomic():
        return [_imported(one, asked) for one in found]


def own_metrics() -> dict[str, DeterministicMetric]:
    """Our metrics that can be taken of answers from elsewhere, by name: without a judge, a canvas or running code."""
    return {
        one.name: one
        for one in REGISTERED_METRICS.values()
        if isinstance(one, DeterministicMetric) and not one.blocking and "group" not in one.needs
    }


def _chosen(names: Sequence[str]) -> list[DeterministicMetric]:
    usable = own_metrics()
    for name in names:
        if name not in usable:
            raise NotPossible(f"{name} cannot be taken of answers from elsewhere. Choose from: {', '.join(usable)}.")
    return [usable[name] for name in names]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _imported(found: ImportedRun, asked: _Import) -> Imported:
    if known := _known(found, asked):
        return Imported(known, is_new=False)
    if len(found.model) > LONGEST_MODEL:
        raise NotPossible(
            f"The name of the model has {len(found.model)} characters; at most {LONGEST_MODEL} are stored."
        )
    version, tasks = _tasks_of_ours(found, asked.dataset) if asked.dataset else _tasks_of_its_own(found, asked)
    try:
        with transaction.atomic():
            run = _new_run(found, version, asked)
    except IntegrityError:
        if known := _known(found, asked):  # somebody took it over in the same moment
            return Imported(known, is_new=False)
        raise
    for begin in range(0, len(found.results), PORTION):
        _write(run, found.results[begin : begin + PORTION], tasks, begin, asked.ours)
    run.summary, run.breakdown = summarize(run)
    run.summarized_at = timezone.now()
    run.save()
    told = {"dataset": run.dataset.slug, "model": run.model, "file": asked.file, "sha256": asked.sha256}
    record(asked.user, "run.import", f"run {run.pk}", **told)
    return Imported(run, is_new=True)


def _known(found: ImportedRun, asked: _Import) -> Run | None:
    return Run.objects.select_related("dataset").filter(import_key=asked.key(found)).first()


def _tasks_of_its_own(found: ImportedRun, asked: _Import) -> tuple[DatasetVersion, dict[str, Task]]:
    chosen = asked.slug or slugify(f"{found.format}-{found.name}")[:100]
    known = Dataset.objects.select_related("current_version").filter(slug=chosen).first()
    if known is not None and (
        known.current_version is None or known.current_version.origin != DatasetVersion.Origin.IMPORTED
    ):
        raise NotPossible(f"There is a dataset {chosen} already that was not imported. Choose another slug.")
    version = import_dataset(_spec(found), chosen, DatasetVersion.Origin.IMPORTED, asked.user)
    return version, {task.task_id: task for task in version.tasks.all()}


def _spec(found: ImportedRun) -> DatasetSpec:
    tool = TOOLS[found.format]
    name = " ".join(found.name.split())[:190] or tool
    spec, problems = validate_dataset_fields(
        {
            "name": name,
            "description": f"The tasks of {name} as {tool} asked them.",
            "tasks": [_task_fields(task) for task in found.tasks],
        }
    )
    if spec is None:
        where, messages = next(iter(problems.items()))
        raise NotPossible(f"The tasks make no dataset: {where}: {messages[0]}. Nothing was taken over.")
    return spec


def _task_fields(task: ImportedTask) -> dict[str, Any]:
    fields = {"id": task.id, "name": task.id, "input": task.input, "expected_output": task.expected_output}
    return {**fields, "choices": list(task.choices)} if task.choices else fields


def _tasks_of_ours(found: ImportedRun, slug: str) -> tuple[DatasetVersion, dict[str, Task]]:
    """The tasks of a dataset's current version that ask the same, by the ids that they have in the file."""
    dataset = Dataset.objects.select_related("current_version").filter(slug=slug).first()
    if dataset is None or dataset.current_version is None or dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"There is no YAML dataset {slug} with tasks.")
    version = dataset.current_version
    by_input = {_spaced(task.input): task for task in version.tasks.all()}
    tasks = {task.id: by_input[_spaced(task.input)] for task in found.tasks if _spaced(task.input) in by_input}
    strange = [task.id for task in found.tasks if task.id not in tasks]
    if strange:
        raise NotPossible(
            f"{len(strange)} of {len(found.tasks)} tasks ask what no task of {slug} asks, such as {strange[0]}. "
            "Let them be a dataset of their own; runs are compared on the tasks they share all the same."
        )
    if len({task.pk for task in tasks.values()}) != len(found.tasks) or len(found.tasks) != version.task_count:
        raise NotPossible(
            f"The file has {len(found.tasks)} tasks and {slug} has {version.task_count}: beside runs of all tasks, one "
            "of a part of them would not be comparable. Let the tasks be a dataset of their own."
        )
    return version, tasks


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _new_run(found: ImportedRun, version: DatasetVersion, asked: _Import) -> Run:
    errors = sum(_failed(result) for result in found.results)
    answered = [result for result in found.results if result.error is None and not result.cancelled]
    tokens_in, tokens_out = _total(one.tokens_in for one in answered), _total(one.tokens_out for one in answered)
    cost_usd = _total(one.cost_usd for one in answered)
    return Run.objects.create(
        dataset=version.dataset,
        dataset_version=version,
        model=found.model,
        metrics=list(dict.fromkeys([*found.metrics, *(metric.name for metric in asked.ours)])),
        parameters=dict(found.parameters),
        repeats=max(result.repeat for result in found.results),
        status=RunStatus.COMPLETED_WITH_ERRORS if errors or found.shortfall else RunStatus.COMPLETED,
        error_message=found.shortfall,
        total=len(found.results),
        done=len(found.results),
        errors=errors,
        tokens_in=None if tokens_in is None else int(tokens_in),
        tokens_out=None if tokens_out is None else int(tokens_out),
        cost_usd=cost_usd,
        code_version=code_version(),
        environment={"file": asked.file, "sha256": asked.sha256, **found.facts},
        import_format=found.format,
        import_key=asked.key(found),
        created_by=account_of(asked.user),
        started_at=found.started_at,
        completed_at=found.completed_at,
    )


def _total(numbers: Iterable[float | None]) -> float | None:
    """The sum over all answers; unknown where it is of one, or where there is no answer."""
    known = list(numbers)
    return math.fsum(one for one in known if one is not None) if known and None not in known else None


def _failed(result: ImportedResult) -> bool:
    return (
        result.error is not None
        or result.cancelled
        or any(score.status.value == StoredScore.Status.JUDGE_ERROR for score in result.scores.values())
    )


def _write(
    run: Run,
    portion: Sequence[ImportedResult],
    tasks: Mapping[str, Task],
    begin: int,
    ours: Sequence[DeterministicMetric],
) -> None:
    scores = [_all_scores(one, tasks[one.task_id], ours) for one in portion]
    metrics = [metric for name in run.metrics if (metric := metric_named(name)) is not None]
    rows = [
        _row(run, one, tasks[one.task_id], begin + place, _ending(one, metrics, found))
        for place, (one, found) in enumerate(zip(portion, scores, strict=True), 1)
    ]
    results = Result.objects.bulk_create(rows)
    Transcript.objects.bulk_create(
        Transcript(
            result=row,
            messages=list(one.messages),
            actual_output=one.answer,
            reasoning=one.reasoning,
            tool_calls=list(one.tool_calls),
            notes=list(one.notes),
        )
        for row, one in zip(results, portion, strict=True)
        if one.error is None or one.messages
    )
    StoredScore.objects.bulk_create(
        (
            _score_row(run, row, name, score)
            for row, found in zip(results, scores, strict=True)
            for name, score in found.items()
        ),
        batch_size=PORTION,
    )


def _all_scores(one: ImportedResult, task: Task, ours: Sequence[DeterministicMetric]) -> dict[str, Score]:
    """The tool's scores, and ours where there is an answer that they apply to."""
    if one.error is not None or one.cancelled:
        return {}
    item = Item(
        input=task.input,
        expected_output=task.expected_output,
        actual_output=one.answer,
        expected_tools=task.expected_tools,
        tool_calls=[ToolCall("", call["name"], call["arguments"], call["raw"]) for call in one.tool_calls],
        context=task.context,
        schema=task.schema,
        choices=task.choices,
        pattern=task.pattern,
        tolerance=task.tolerance,
        duration_ms=one.duration_ms,
        tokens_out=one.tokens_out,
    )
    return {**one.scores, **{metric.name: score_of(metric, item) for metric in ours if metric.applies_to(item)}}


def _row(run: Run, one: ImportedResult, task: Task, position: int, ended: Mapping[str, Any]) -> Result:
    return Result(
        run=run,
        task=task,
        repeat=one.repeat,
        position=position,
        state=ResultState.ERROR if _failed(one) else ResultState.DONE,
        difficulty=task.difficulty,
        cluster=str(task.pk),
        duration_ms=one.duration_ms,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        cost_usd=one.cost_usd,
        cached=one.cached,
        attempts=0 if one.cancelled else 1,
        finish_reason=one.finish_reason,
        finished_at=one.finished_at,
        **ended,
    )


def _ending(one: ImportedResult, metrics: Sequence[Metric], scores: Mapping[str, Score]) -> dict[str, Any]:
    if one.error is not None:
        return {"outcome": Outcome.PROVIDER_ERROR, "error_kind": "external", "error_message": one.error[:MAX_ERROR]}
    if one.cancelled:
        why = "There is neither an answer nor an error in the file."
        return {"outcome": Outcome.CANCELLED, "error_kind": "cancelled", "error_message": why}
    failed = failed_score(scores)
    return {
        "outcome": outcome_of(metrics, scores, one.finish_reason),
        "value": leading_value(metrics, scores),
        "error_kind": "judge" if failed else "",
        "error_message": failed.reason[:MAX_ERROR] if failed else "",
    }


def _score_row(run: Run, row: Result, name: str, score: Score) -> StoredScore:
    return StoredScore(
        result=row,
        run=run,
        metric=name,
        status=score.status.value,
        value=score.value,
        reason=score.reason,
        extracted=score.extracted,
        detail=dict(score.detail),
        judge=asdict(score.usage) if score.usage else None,
    )
