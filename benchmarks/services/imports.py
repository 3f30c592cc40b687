"""Import runs of other tools from their files, so that they can be read and compared with runs made here.

They are stored as ended runs, under the tool's name and with its scores. The answers are also scored by deterministic
metrics of this dashboard, so that there is a metric in common with runs made here. Nothing can be sent again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from benchmarks.dataset_format.files import SLUG, SLUG_RULE
from benchmarks.dataset_format.spec import DatasetSpec, as_mapping
from benchmarks.dataset_format.validation import validate_dataset_fields
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.result_store import upsert_scores
from benchmarks.engine.execution.scoring import (
    FAILED,
    ending_of,
    failures_in,
    not_applicable_to,
    score_of,
    with_stored_answer,
)
from benchmarks.engine.execution.step_store import write_steps
from benchmarks.engine.summary.summarize import summarize
from benchmarks.imports.assembly import unread_sentence
from benchmarks.imports.reading import MAX_ZIP_BYTES
from benchmarks.imports.registered_importers import Log, logs_in
from benchmarks.imports.runs import TESTED, ImportedResult, ImportedRun, ImportProblem, Unused
from benchmarks.metrics.base import DeterministicMetric, Item, Metric, Score
from benchmarks.metrics.imported import sent_by, tool_title
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.models import (
    NAMED_THERE,
    Dataset,
    DatasetVersion,
    Experiment,
    Outcome,
    Result,
    ResultState,
    Run,
    RunStatus,
    Task,
    Transcript,
)
from benchmarks.presentation.numbers import n_of
from benchmarks.providers.clean_text import full_sentence
from benchmarks.providers.steps import Step, of_messages
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.code_version import code_version

OUR_METRICS = ("exact_match",)
"""Metrics of this dashboard that score imported answers by default."""
UNNAMED = "unknown"
"""The model of a file that names none."""
BATCH = 500
MAX_ERROR = 10_000
MAX_MODEL_NAME = 200

_AS_STORED = (
    *("repeat", "duration_ms", "tokens_in", "tokens_out", "reasoning_tokens", "cached_tokens", "cost_usd", "cached"),
    *("finish_reason", "finished_at"),
)
"""Fields that an imported and a stored result have in the same form."""
_COMPARED = (
    *("task_id", "repeat", "answer", "reasoning", "messages", "tool_calls", "retrieved", "error", "cancelled"),
    *("finish_reason", "duration_ms", "tokens_in", "tokens_out", "cost_usd"),
)
"""Fields of results in which every format of a tool agrees."""
_TOTALS = ("tokens_in", "tokens_out", "cost_usd")


@dataclass(frozen=True, slots=True)
class Imported:
    """A run of the file, whether it is new or was imported before, and what of the file was not used, in sentences and
    counted."""

    run: Run
    is_new: bool
    unused: Sequence[str] = ()
    unread: Unused = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """A run as an import would store it, and what would be created for it."""

    run: Run
    is_new: bool
    unused: Sequence[str]
    creates_dataset: bool
    creates_version: bool


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """How runs are imported, and who imports them. ``origin`` says where they come from: the file, or the tool."""

    origin: Mapping[str, str]
    ours: Sequence[DeterministicMetric]
    slug: str | None
    dataset: str | None
    user: Caller
    name: str = ""
    """By which people know the run."""


def import_runs(
    *paths: Path, names: Sequence[str] = (), form: str | None = None, max_bytes: int = MAX_ZIP_BYTES, **options: Any
) -> list[Imported]:
    """Import all runs in the files of other tools, or none.

    Files that belong together, such as samples with their results, are one import (``logs_in``). ``names`` are the
    original names of the files, ``form`` is the name of their importer, by default detected, and at most ``max_bytes``
    of each are read, counted after decompression. ``options`` are those of ``import_log``, which also raises.
    """
    files = list(zip(paths, names or [path.name for path in paths], strict=True))
    with transaction.atomic():
        return noted([each for log in logs_in(files, form, max_bytes) for each in import_log(log, **options)])


def noted(imported: Sequence[Imported]) -> list[Imported]:
    """The runs; what of their files was not read stands once, at the first."""
    runs = {each.run.pk: each for each in imported}
    unread = sum((each.unread for each in runs.values()), Counter[tuple[str, str]]())
    # Parts of the whole file, such as results of several tasks, are the same for each of its runs.
    once = {key: 1 for key in unread if key[1].startswith("the ")}
    sentences = unread_sentence(Counter({**unread, **once}))
    return [replace(each, unused=[*each.unused, *(() if place else sentences)]) for place, each in enumerate(imported)]


def import_log(
    log: Log,
    *,
    slug: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    metrics: Sequence[str] = OUR_METRICS,
    user: Caller = None,
) -> list[Imported]:
    """Import all runs in a log of another tool, or none. One that was imported before returns the same runs.

    The tasks become a dataset of their own at ``slug``, by default named after the tool and its task. With ``dataset``
    they are matched by input with the tasks of that dataset, so that the run appears on its leaderboard. Runs of
    several prompts become an experiment, with the prompts as its variants. ``model`` is the model if the file names
    none, ``metrics`` are scored in addition (see ``own_metrics``). Raises ``NotPossible`` with the place of the error.
    """
    ours = chosen_metrics(metrics)
    if slug is not None and not SLUG.fullmatch(slug):
        raise NotPossible(f"The slug is not valid: {SLUG_RULE}.")
    try:
        digest = " ".join(_sha256(file.path) for file in log.files)
        read = log.runs()
    except ImportProblem as problem:
        raise NotPossible(f"{full_sentence(problem)} Nothing was imported.") from None
    except OSError as error:
        raise NotPossible(f"Cannot read {log.files[0].path}: {error.strerror}.") from None
    sources = [named_here(replace(source, model=source.model or (model or "").strip() or UNNAMED)) for source in read]
    if slug is not None and len({source.name for source in sources}) > 1:
        raise NotPossible("The file has several sets of tasks, one for each prompt. Leave the slug out.")
    request = ImportRequest({"file": log.name, "sha256": digest}, ours, slug, dataset, user)
    with transaction.atomic():
        imported = [
            replace(each, unused=[*each.unused, *_ungraded(source), *source.unused], unread=source.unread)
            for source, each in ((source, _import_run(source, request)) for source in sources)
        ]
        _join_experiment(sources, imported, user)
        return imported


def named_here(source: ImportedRun) -> ImportedRun:
    """The run with the model's name here, and that of the tool among its facts where it is another one."""
    model = settings.CODEFORGE.name_here(source.model)
    return (
        source
        if model == source.model
        else replace(source, model=model, facts={**source.facts, NAMED_THERE: source.model})
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def preview_runs(*paths: Path, **options: Any) -> list[ImportPreview]:
    """What ``import_runs`` would do with the same arguments, which also raises the same errors. Nothing is stored."""
    with transaction.atomic():
        imported = import_runs(*paths, **options)
        transaction.set_rollback(True)
    runs = [each.run for each in imported]
    datasets = {*Dataset.objects.filter(pk__in=[run.dataset_id for run in runs]).values_list("pk", flat=True)}
    versions = DatasetVersion.objects.filter(pk__in=[run.dataset_version_id for run in runs])
    stored = {*versions.values_list("pk", flat=True)}
    return [
        ImportPreview(
            each.run,
            each.is_new,
            each.unused,
            creates_dataset=each.run.dataset_id not in datasets,
            creates_version=each.run.dataset_version_id not in stored,
        )
        for each in imported
    ]


def own_metrics() -> dict[str, DeterministicMetric]:
    """Metrics of this dashboard that can score imported answers: without a judge, a canvas or running code."""
    return {
        metric.name: metric
        for metric in REGISTERED_METRICS.values()
        if isinstance(metric, DeterministicMetric) and not metric.blocking and "group" not in metric.needs
    }


def chosen_metrics(names: Sequence[str]) -> list[DeterministicMetric]:
    """Those of ``own_metrics`` with these names. Raises ``NotPossible`` for other names."""
    usable = own_metrics()
    if unusable := [name for name in names if name not in usable]:
        raise NotPossible(f"{unusable[0]} cannot score imported answers. Choose from: {', '.join(usable)}.")
    return [usable[name] for name in names]


def _import_run(source: ImportedRun, request: ImportRequest) -> Imported:
    # The same for the same part of the same file.
    key = hashlib.sha256(f"{request.origin['sha256']} {source.part}".encode()).hexdigest()
    digest = _digest_of(source)
    if known := Run.objects.filter(import_key=key).first() or _in_other_format(source, digest):
        return Imported(known, is_new=False, unused=list(_named(known, source, request)))
    told = {"results_sha256": digest, **({"evaluation": source.evaluation} if source.evaluation else {})}
    request = replace(request, origin={**request.origin, **told})
    version, tasks = _matched_tasks(source, request.dataset) if request.dataset else imported_tasks(source, request)
    return store_run(source, version, tasks, request, key)


def _named(known: Run, source: ImportedRun, request: ImportRequest) -> Iterator[str]:
    """If the known run has no model and this source of it has, store what it says of the run; what became of that."""
    if not known.model == UNNAMED != source.model:
        return
    if known.metrics[: len(source.metrics)] != [*source.metrics]:
        # The scores have another kind by this source, which can change every outcome.
        yield f"Run {known.pk} names no model. To import it as {source.model}, delete it first."
        return
    _check_model(source)
    for name, value in _said_of(source).items():
        setattr(known, name, value if value not in (None, "", {}) else getattr(known, name))
    known.environment |= {**_facts(source), **({"evaluation": source.evaluation} if source.evaluation else {})}
    known.note_asked()
    _end_run(known, source)
    Run.objects.filter(rescored_from=known.pk, model=UNNAMED).update(model=source.model)
    record(request.user, "run.import", f"run {known.pk}", dataset=known.dataset.slug, model=known.model)
    yield f"Run {known.pk} named no model. It is one of {source.model} now."


def _digest_of(source: ImportedRun) -> str:
    """SHA-256 of the tasks and of their results: the same for every format in which the tool writes them."""

    # Not every format says which scorers measure.
    def plain(names: Iterable[str]) -> list[str]:
        return [name.replace("#", ":", 1) for name in names]

    rows = [
        [
            *(getattr(result, name) for name in _COMPARED),
            sorted([*plain([name]), score.status, score.value, score.reason] for name, score in result.scores.items()),
        ]
        for result in source.results
    ]
    tasks = [as_mapping(task) for task in source.tasks]
    told = [source.part, plain(source.metrics), sorted(rows, key=repr), sorted(tasks, key=repr)]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


class _StepsDigest:
    """SHA-256 of the steps of results, of which there may be more than fit into memory: of each while they are read."""

    def __init__(self) -> None:
        self._of_results: list[tuple[str, int, str]] = []

    def passing(self, result: ImportedResult) -> Iterator[Step]:
        """The steps of a result; they count once the last one is read."""
        hashed = hashlib.sha256()
        for step in result.steps() if result.steps is not None else ():
            hashed.update(repr(step).encode())
            yield step
        self._of_results.append((result.task_id, result.repeat, hashed.hexdigest()))

    def digest(self) -> str:
        """Empty without steps."""
        return hashlib.sha256(json.dumps(sorted(self._of_results)).encode()).hexdigest() if self._of_results else ""

    @classmethod
    def of(cls, source: ImportedRun) -> str:
        read = cls()
        for result in source.results:
            if result.steps is not None:
                deque(read.passing(result), maxlen=0)
        return read.digest()


def _in_other_format(source: ImportedRun, digest: str) -> Run | None:
    """The run that was imported from another file of the same evaluation: one with the same results and steps that
    names no other model and no other evaluation. Of runs of earlier releases, the steps are not compared."""
    of_steps = ""
    same = Run.objects.filter(import_format=source.format, environment__results_sha256=digest)
    for run in same.order_by("pk"):
        is_model = run.model == source.model or UNNAMED in (run.model, source.model)
        evaluations = {run.environment.get("evaluation"), source.evaluation} - {None, ""}
        if not is_model or len(evaluations) > 1:
            continue
        stored = run.environment.get("steps_sha256", "")
        of_steps = of_steps or (_StepsDigest.of(source) if stored else "")
        if len({stored, of_steps} - {""}) < 2:
            return run
    return None


def store_run(
    source: ImportedRun, version: DatasetVersion, tasks: Mapping[str, Task], request: ImportRequest, key: str
) -> Imported:
    """Store a run as ended, with its summary. ``tasks`` are those of the version, by their id in the source.

    ``key`` identifies the source: a run that has it already is returned, and nothing is stored. Raises ``NotPossible``.
    """
    _check_model(source)
    # The unique key refuses the row if another process imports the same file now.
    run, is_new = Run.objects.get_or_create(import_key=key, defaults=_run_fields(source, version, tasks, request))
    if not is_new:
        return Imported(run, is_new=False)
    read = _StepsDigest()
    run.errors = _store_results(run, source.results, tasks, request.ours, read)
    run.environment |= {"steps_sha256": of_steps} if (of_steps := read.digest()) else {}
    _end_run(run, source)
    record(request.user, "run.import", f"run {run.pk}", dataset=run.dataset.slug, model=run.model, **request.origin)
    return Imported(run, is_new=True)


def _check_model(source: ImportedRun) -> None:
    if len(source.model) > MAX_MODEL_NAME:
        raise NotPossible(f"The model's name has {len(source.model)} characters; the limit is {MAX_MODEL_NAME}.")


def _end_run(run: Run, source: ImportedRun) -> None:
    run.status = RunStatus.COMPLETED_WITH_ERRORS if run.errors or source.shortfall else RunStatus.COMPLETED
    run.summary, run.breakdown = summarize(run)
    run.summarized_at = timezone.now()
    run.save()


def _ungraded(source: ImportedRun) -> Iterator[str]:
    """The metrics that failed for some answers, in sentences."""
    answered = [result.scores for result in source.results if result.error is None and not result.cancelled]
    for name in source.metrics:
        failed = sum(name in scores and scores[name].status in FAILED for scores in answered)
        if failed:
            verb = "is an error" if failed == 1 else "are errors"
            yield f"No score of {name} for {n_of(failed, len(answered))} answers, which {verb} of the metric here."


def _join_experiment(sources: Sequence[ImportedRun], imported: Sequence[Imported], user: Caller) -> None:
    """Make an experiment of the runs of a file with several prompts, whose tasks are the same."""
    runs = [each.run for each in imported]
    if not any(source.variant for source in sources) or not any(each.is_new for each in imported):
        return
    metrics = [name for name in runs[0].metrics if name in REGISTERED_METRICS]
    variants = {run.variant: {"name": run.variant, **run.parameters} for run in runs}
    request = {
        "name": sources[0].name,
        "datasets": [runs[0].dataset.slug],
        "models": list(dict.fromkeys(run.model for run in runs)),
        "variants": list(variants.values()),
        "metrics": metrics,
    }
    experiment = Experiment.objects.create(
        name=sources[0].name[:200], request=request, created_by=account_of(user), tags=[tool_title(sources[0].format)]
    )
    for run in runs:
        run.experiment = experiment
        run.save(update_fields=["experiment"])
    record(user, "experiment.import", f"experiment {experiment.pk}", name=experiment.name, runs=len(runs))


def imported_tasks(source: ImportedRun, request: ImportRequest) -> tuple[DatasetVersion, dict[str, Task]]:
    """The tasks of the source as a dataset of their own, by id. Raises ``NotPossible``."""
    slug = request.slug or slugify(f"{source.format}-{source.name}")[:100]
    known = Dataset.objects.select_related("current_version").filter(slug=slug).first()
    if known is not None and (
        known.current_version is None or known.current_version.origin != DatasetVersion.Origin.IMPORTED
    ):
        raise NotPossible(f"Dataset {slug} already exists and was not imported. Choose another identifier.")
    version = import_dataset(_spec(source), slug, DatasetVersion.Origin.IMPORTED, request.user)
    return version, {task.task_id: task for task in version.tasks.all()}


def _spec(source: ImportedRun) -> DatasetSpec:
    name = " ".join(source.name.split())[:190] or tool_title(source.format)
    description = f"The tasks of {name} as sent {sent_by(source.format)}."
    sent = DatasetSpec(name=name, description=description, tasks=tuple(source.tasks))
    spec, problems = validate_dataset_fields(as_mapping(sent))
    if spec is None:
        where, messages = next(iter(problems.items()))
        raise NotPossible(f"The tasks are not a valid dataset: {where}: {messages[0]}. Nothing was imported.")
    return spec


def _matched_tasks(source: ImportedRun, slug: str) -> tuple[DatasetVersion, dict[str, Task]]:
    """The tasks of a dataset's current version with the same input, by their id in the file."""

    dataset = Dataset.objects.select_related("current_version").filter(slug=slug).first()
    if dataset is None or dataset.current_version is None or dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"YAML dataset {slug} does not exist or has no tasks.")
    version = dataset.current_version
    by_input = {spaced(task.input): task for task in version.tasks.all()}
    tasks = {task.id: by_input[spaced(task.question)] for task in source.tasks if spaced(task.question) in by_input}
    unmatched = [task.id for task in source.tasks if task.id not in tasks]
    if unmatched:
        raise NotPossible(
            f"{len(unmatched)} of {len(source.tasks)} tasks do not match any task in {slug}, for example, "
            f"{unmatched[0]}. Import them as a separate dataset; runs are still compared on shared tasks."
        )
    if len(source.tasks) == 1:  # a trajectory; its run is one on only this task
        return version, tasks
    if len({task.pk for task in tasks.values()}) != len(source.tasks) or len(source.tasks) != version.task_count:
        raise NotPossible(
            f"The file has {len(source.tasks)} tasks and {slug} has {version.task_count}, so the run would not be "
            "comparable with full runs. Import the tasks as a separate dataset."
        )
    return version, tasks


def spaced(text: str) -> str:
    """The text by which inputs of tasks are compared."""
    return " ".join(text.split())


def _run_fields(
    source: ImportedRun, version: DatasetVersion, tasks: Mapping[str, Task], request: ImportRequest
) -> dict[str, object]:
    besides = {name: spent for name, spent in source.besides.items() if name != TESTED}
    judges = sorted({*besides, *(name for result in source.results for name in result.judging)})
    judging = [spent for result in source.results for spent in result.judging.values()] + [*besides.values()]
    return dict(
        dataset=version.dataset,
        dataset_version=version,
        **_said_of(source),
        variant=source.variant,
        name=request.name,
        tags=list(source.tags),
        metrics=list(dict.fromkeys([*source.metrics, *(metric.name for metric in request.ours)])),
        only_task=next(iter(tasks.values())).task_id if len(tasks) == 1 < version.task_count else "",
        repeats=max(result.repeat for result in source.results),
        status=RunStatus.RUNNING,
        is_prepared=True,
        total=len(source.results),
        done=len(source.results),
        judge_model=", ".join(judges)[:MAX_MODEL_NAME],
        **{name: _spent(source, name) for name in _TOTALS},
        **{f"judge_{name}": _total(getattr(spent, name) for spent in judging) for name in _TOTALS if judging},
        code_version=code_version(),
        environment={**request.origin, **_facts(source)},
        import_format=source.format,
        created_by=account_of(request.user),
    )


def _said_of(source: ImportedRun) -> dict[str, Any]:
    """The fields of a run that another source of the same results may know better."""
    return {
        "model": source.model,
        "parameters": dict(source.parameters),
        "reported": dict(source.reported),
        "error_message": source.shortfall,
        "started_at": source.started_at,
        "completed_at": source.completed_at,
    }


def _facts(source: ImportedRun) -> dict[str, str]:
    return {name: text for name, text in source.facts.items() if text}


def _spent(source: ImportedRun, name: str) -> Any:
    """The sum over all results, and what none of them has. The number of a result without an answer counts if it is
    known, and is no gap otherwise."""
    numbers = [
        number
        for result in source.results
        if (number := getattr(result, name)) is not None or (result.error is None and not result.cancelled)
    ]
    besides = getattr(source.besides.get(TESTED), name, None)
    return _total(numbers if besides is None else [*numbers, besides])


def _total(numbers: Iterable[Any]) -> Any:
    """The sum; unknown if one of the numbers is, or if there are none."""
    known = list(numbers)
    if not known or None in known:
        return None
    return sum(known) if isinstance(known[0], int) else math.fsum(known)


def _store_results(
    run: Run,
    results: Sequence[ImportedResult],
    tasks: Mapping[str, Task],
    ours: Sequence[DeterministicMetric],
    read: _StepsDigest,
) -> int:
    """Store the results with their steps, which pass ``read``, and return how many of them ended with an error."""
    prompts = PromptBuilder(run)
    metrics = [metric for name in run.metrics if (metric := metric_named(name)) is not None]
    errors = 0
    for begin in range(0, len(results), BATCH):
        rows: list[Result] = []
        transcripts: list[Transcript] = []
        scores: list[Mapping[str, Score]] = []
        for position, result in enumerate(results[begin : begin + BATCH], begin + 1):
            task = tasks[result.task_id]
            row = Result(
                run=run,
                task=task,
                position=position,
                difficulty=task.difficulty,
                cluster=task.cluster or str(task.pk),
                attempts=0 if result.cancelled else result.attempts,
                judge_cost_usd=_total(spent.cost_usd for spent in result.judging.values()),
                **{name: getattr(result, name) for name in _AS_STORED},
            )
            transcript = Transcript(
                result=row,
                messages=list(result.messages),
                actual_output=result.answer,
                reasoning=result.reasoning,
                tool_calls=list(result.tool_calls),
                retrieved=None if result.retrieved is None else list(result.retrieved),
                notes=list(result.notes),
            )
            scores.append(_end(row, result, prompts.item(task), metrics, ours))
            errors += row.state == ResultState.ERROR
            rows.append(row)
            transcripts += [transcript] if result.error is None or result.messages else []
        Result.objects.bulk_create(rows)
        Transcript.objects.bulk_create(transcripts)
        upsert_scores(run.pk, zip((row.pk for row in rows), scores, strict=True))
        keys = zip(rows, results[begin : begin + BATCH], strict=True)
        write_steps((row.pk, read.passing(result)) for row, result in keys if result.steps is not None)
    return errors


def _end(
    row: Result, result: ImportedResult, task: Item, metrics: Sequence[Metric], ours: Sequence[DeterministicMetric]
) -> Mapping[str, Score]:
    """Set how the result ended; return the tool's scores, and those of our metrics that apply to the answer."""
    if result.error is not None or result.cancelled:
        row.state = ResultState.ERROR
        row.outcome, row.error_kind = Outcome.PROVIDER_ERROR, "external"
        row.error_message = (result.error or "")[:MAX_ERROR]
        if result.error is None:
            row.outcome, row.error_kind = Outcome.CANCELLED, "cancelled"
            row.error_message = "The run ended before the task did."
        return {}
    # The file does not say whether the model could call tools.
    item = replace(with_stored_answer(replace(task, steps=None, failures=None), row), tools_offered=False)
    if task.failures is not None:
        steps = of_messages(row.transcript.messages) if result.steps is None else result.steps()
        item = replace(item, failures=failures_in(steps))
    scores = dict(result.scores)
    for metric in ours:
        if not metric.applies_to_any(item):
            scores[metric.name] = not_applicable_to(metric, item)
        elif not result.answer_lost:
            scores[metric.name] = metric.fault(item, result.finish_reason) or score_of(metric, item)
    for name, value in ending_of(metrics, scores, result.finish_reason).items():
        setattr(row, name, value)
    return scores
