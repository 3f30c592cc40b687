"""Samples of lm-evaluation-harness 0.4, as ``lm_eval run --output_path DIR --log_samples`` writes them.

A file of samples has a line for each document and filter of one task. Documents become tasks, and each metric with
each filter a metric, in the file's order, so the first decides the outcome. What is not one number for each sample,
such as BLEU and ``brier_score``, is a number of the run, and so are the means of groups of tasks. Of a multiple-choice
document the answer is the most likely choice. The results file beside it names the model, and its counts, means and
hash must be those of the samples.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from benchmarks.dataset_format.problems import quoted
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.imports import chats, reading, tables
from benchmarks.imports.assembly import check_count, is_same, lacking, score_of
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.parts import (
    Amount,
    Count,
    Part,
    Text,
    accepted,
    as_text,
    at,
    label_values,
    read,
    sampling_of,
    shown,
)
from benchmarks.imports.reading import ForeignFile
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem, Unused
from benchmarks.metrics.base import Score, ScoreStatus

_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+")
_DATE = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl?")
_OF_ALL = frozenset({"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"})
"""Metrics whose samples have a log-likelihood, which is not the metric."""
_NOT_SAID = Score(ScoreStatus.METRIC_ERROR, reason="lm-evaluation-harness gave no number for this document.")
UNSCORED = "bypass"
"""Stands for the metrics of samples that were written with ``--predict_only``."""
_MEANS = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match"})
"""Metrics whose mean is the default aggregation."""
_LONGEST_POSITION = 10
"""Characters of the position of a choice, and one."""
_LONGEST_LIST = 100_000
"""Characters of a list of targets, which is written as Python does."""


class Request(Part):
    """What the model was sent: a prompt with settings to generate with, or with the text whose likelihood counts."""

    called: ClassVar = "requests"
    prompt: Any = at("arg_0")
    rest: Any = at("arg_1")


class Sample(Part):
    called: ClassVar = "samples"
    doc_id: Annotated[Text, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
    doc: Any = None
    target: Text = ""
    requests: dict[str, Request] = at("arguments", ...)
    replies: tuple[Any, ...] = at("resps", ...)
    filtered: tuple[Any, ...] = at("filtered_resps", ())
    filter: Text = "none"
    metrics: tuple[Text, ...]
    doc_hash: Text = ""
    prompt_hash: Text = ""
    target_hash: Text = ""


class Message(Part):
    called: ClassVar = "messages"
    role: Text
    content: Any = ""


class Aggregation(Part):
    called: ClassVar = "the task's metrics"
    without_loss: ClassVar = frozenset({"higher_is_better"})
    metric: Any = None
    aggregation: Any = None


class TaskConfig(Part):
    called: ClassVar = "the task's configuration"
    without_loss: ClassVar = frozenset(
        # What they make of a document is in the samples, and the number of shots in ``n-shot``.
        {"task", "doc_to_text", "doc_to_target", "doc_to_choice", "description", "target_delimiter", "output_type"}
        | {"num_fewshot", "fewshot_delimiter", "fewshot_config", "generation_kwargs", "repeats", "filter_list"}
    )
    metrics: tuple[Aggregation, ...] = at("metric_list", ())
    dataset: Text = at("dataset_path", "")
    subset: Text = at("dataset_name", "")
    split: Text = at("test_split|validation_split", "")


class Samples(Part):
    original: Count | None = None
    effective: Count | None = None


class Summary(Part):
    """A results file."""

    called: ClassVar = "the results file"
    without_loss: ClassVar = frozenset(
        {"pretty_env_info", "model_name_sanitized", "system_instruction", "system_instruction_sha"}
        | {"chat_template_sha", "fewshot_as_multiturn", "config.model", "config.device", "config.bootstrap_iters"}
        | {"config.gen_kwargs", "transformers_version", "eot_token_id", "max_length", "start_time", "end_time"}
    )
    results: dict[str, dict[str, object]] = at("results", {})
    groups: dict[str, dict[str, object]] = at("groups", {})
    subtasks: dict[str, tuple[Text, ...]] = at("group_subtasks", {})
    configs: dict[str, object] = at("configs", {})
    samples: dict[str, Samples] = at("n-samples", {})
    higher_is_better: dict[str, dict[str, object]] = at("higher_is_better", {})
    hashes: dict[str, Text] = at("task_hashes", {})
    shots: dict[str, object] = at("n-shot", {})
    versions: dict[str, object] = at("versions", {})
    model: Text = at("model_name", "")
    source: Text = at("model_source", "")
    limit: Any = at("config.limit")
    lm_eval: Text = at("lm_eval_version", "")
    commit: Text = at("git_hash", "")
    date: Amount | None = None
    seconds: Text = at("total_evaluation_time_seconds", "")


@dataclass(slots=True)
class _Document:
    """A document with its result, whose scores are still by metric and filter."""

    task: TaskSpec
    result: ImportedResult
    prompt_hash: str
    likelihoods: Sequence[float] = ()
    """Of the choices."""
    filters: set[str] = field(default_factory=set)
    scores: dict[str, Score] = field(default_factory=dict)


@dataclass(slots=True)
class _Read:
    """What the lines of a file of samples add up to."""

    documents: dict[str, _Document] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """Metric and filter, as in the results file → what the samples have there."""
    systems: set[str] = field(default_factory=set)
    settings: dict[str, object] = field(default_factory=dict)
    repeats: int = 1
    hashed: Any = field(default_factory=hashlib.sha256)
    unused: Unused = field(default_factory=Counter)


class LmEvalImporter(Importer):
    name = "lm-eval"
    title = "lm-evaluation-harness"
    files = "samples with their results file (.jsonl and .json)"
    made_with = "lm_eval run --output_path DIR --log_samples"

    def detect(self, files: Files) -> list[Files]:
        """Samples with their results: those with the same date in the name, or else the only ones."""
        samples = [file for file in files if file.has_rows and {"doc_id", "resps"} <= file.outline.keys()]
        others = [file for file in files if not file.has_rows]
        dated = {date[1]: file for file in others if (date := _DATE.search(file.name))}
        named = [file for file in others if file.name.startswith("results_")]
        only = named if len(named) == 1 else []
        logs: list[Files] = []
        for file in samples:
            date = _DATE.search(file.name)
            beside = dated.get(date[1]) if date else None
            logs.append([file, *([beside] if beside else only)])
        used = [file for log in logs for file in log]
        results = {"results", "n-samples"}, {"results", "n-shot"}
        alone = (file for file in others if file not in used and any(keys <= file.outline.keys() for keys in results))
        return [*logs, *([file] for file in alone)]

    def read(self, log: Files) -> list[ImportedRun]:
        samples, *results = log
        if not samples.has_rows:
            raise ImportProblem(
                "lm-evaluation-harness writes what was asked and answered to samples_*.jsonl, with --log_samples. "
                "Import these files, together with this one if it is the results file"
            )
        return [_run_of(samples, *(file.document("the results file") for file in results))]


def _run_of(samples: ForeignFile, summary: Any = None) -> ImportedRun:
    log = _Read()
    if samples.path.stat().st_size > samples.max_bytes:
        raise ImportProblem(f"exceeds the limit of {samples.max_bytes // 2**20} MB")
    for row in tables.jsonl_rows(samples.path):
        if row.problem:
            raise ImportProblem(f"line {row.line}: {row.problem}")
        _add(log, row.values, f"line {row.line}")
    if not log.documents:
        raise ImportProblem("no samples found")
    named = _NAME.fullmatch(samples.stem)
    task = named["task"] if named else samples.stem
    if summary is None:
        return _run(Summary(), TaskConfig(), task, log, None)
    head = read(Summary, summary, "", log.unused)
    task = _task_in(head, task, log.hashed.hexdigest())
    config = read(TaskConfig, head.configs.get(task, {}), f"configs.{task}", log.unused)
    averaged = _averaged(config, log)
    _check(head, task, log, averaged)
    return _run(head, config, task, log, averaged)


def _task_in(head: Summary, name: str, digest: str) -> str:
    """The task of the samples in the results file: that of the file's name, or the one with the hash of the samples."""
    if name in head.results:
        return name
    if task := next((task for task, known in head.hashes.items() if known == digest), None):
        return task
    raise ImportProblem(
        f"the results file has no task {quoted(name)}. Name the file as lm-eval does, samples_TASK_DATE.jsonl, "
        f"or leave out the results file. Its tasks: {', '.join(map(quoted, list(head.results)[:10]))}"
    )


def _add(log: _Read, values: Mapping[str, object], where: str) -> None:
    unused: Unused = Counter()
    sample = read(Sample, values, where, unused)
    log.unused.update({key: count for key, count in unused.items() if key[0] not in sample.metrics})
    document = log.documents.get(sample.doc_id)
    if document is None:
        document = log.documents[sample.doc_id] = _document(sample, where, log)
        document.task = replace(document.task, metadata=_metadata(sample, document.task, log.unused))
    if document.prompt_hash != sample.prompt_hash:
        raise ImportProblem(f"{where}: document {quoted(sample.doc_id)} has different prompts in its filters")
    if sample.filter in document.filters:
        raise ImportProblem(
            f"{where}: document {quoted(sample.doc_id)} occurs twice with filter {quoted(sample.filter)}"
        )
    document.filters.add(sample.filter)
    log.hashed.update((sample.doc_hash + sample.prompt_hash + sample.target_hash).encode())
    for metric in sample.metrics:
        if metric == UNSCORED:
            continue
        name = f"{metric},{sample.filter}"
        value = values.get(metric)
        log.values[name].append(value)
        document.scores[name] = score_of(value, LmEvalImporter.title, extracted=_extracted(sample, metric, document))


def _check(head: Summary, task: str, log: _Read, averaged: Sequence[str]) -> None:
    """Compare the number of samples, the means over them, and their hash with those in the results file."""
    present = max(map(len, log.values.values()), default=len(log.documents))
    check_count(f"n-samples.{task}.effective", head.samples.get(task, Samples()).effective, present, "samples found")
    for name in averaged:
        mean, given = _mean(log.values[name]), _number(head.results[task].get(name))
        if mean is not None and given is not None and not is_same(mean, given):
            raise ImportProblem(
                f"results.{task}: {quoted(name)} is {given:.6g}, but the mean of the samples is {mean:.6g}"
            )
    if head.hashes.get(task, "") not in ("", log.hashed.hexdigest()):
        raise ImportProblem(
            f"task_hashes.{task}: {quoted(head.hashes[task][:12])}, but that of the samples is "
            f"{quoted(log.hashed.hexdigest()[:12])}: they are of another evaluation or not complete"
        )


def _averaged(config: TaskConfig, log: _Read) -> list[str]:
    """The metrics, with their filters, whose result is the mean over the samples."""
    stated = {each.metric: each.aggregation for each in config.metrics if type(each.metric) is str}
    names = []
    for name in log.values:
        metric = name.rpartition(",")[0]
        if stated.get(metric) == "mean" or (stated.get(metric) is None and metric in _MEANS):
            names.append(name)
    return names


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [number for value in values if (number := _number(value)) is not None]
    return math.fsum(numbers) / len(numbers) if len(numbers) == len(values) else None


def _run(head: Summary, config: TaskConfig, task: str, log: _Read, averaged: Sequence[str] | None) -> ImportedRun:
    """The run; without a results file ``averaged`` is ``None``."""
    # A metric without any number is one that failed for every document, unless its samples have something else.
    imported = [
        name
        for name, values in log.values.items()
        if name.rpartition(",")[0] not in _OF_ALL
        and (any(_number(v) is not None for v in values) or all(v is None or isinstance(v, float) for v in values))
    ]
    lower = {metric for metric, higher in head.higher_is_better.get(task, {}).items() if higher is False}
    documents = log.documents.values()
    parameters = dict(log.settings)
    if len(log.systems) == 1:
        (parameters["system_prompt"],) = log.systems
    started, completed = _times(head)
    reported = dict(_reported(head, task, averaged or ()))
    return ImportedRun(
        part=task,
        model=head.model,
        name=task,
        tasks=[document.task for document in documents],
        results=[
            replace(
                document.result,
                scores={
                    name.removesuffix(",none"): document.scores[name] for name in imported if name in document.scores
                },
            )
            for document in documents
        ],
        metrics=[name.removesuffix(",none") for name in imported],
        measurements=[name.removesuffix(",none") for name in imported if name.rpartition(",")[0] in lower],
        missing=_NOT_SAID,
        reported=reported,
        evaluation=started.isoformat() if started else "",
        parameters={name: value for name, value in parameters.items() if value not in (None, "")},
        facts={
            "lm_eval": head.lm_eval,
            "lm_eval model": head.source,
            "dataset": " ".join(filter(None, (config.dataset, config.subset))),
            "split": config.split,
            "task version": as_text(head.versions.get(task, "")),
            "few-shot examples": as_text(head.shots.get(task, "")),
            "commit": head.commit,
        },
        shortfall=lacking(len(documents), head.samples.get(task, Samples()).original, head.limit is not None),
        unused=list(_unused(log, imported, averaged, reported)),
        unread=log.unused,
        started_at=started,
        completed_at=completed,
    )


def _reported(head: Summary, task: str, averaged: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The numbers of the task that are no means of its samples, and those of the groups that it is part of."""
    for name, value in head.results.get(task, {}).items():
        if name not in averaged and (number := _stated(name, value)) is not None:
            yield name.removesuffix(",none"), number
    inside = {task}
    # The groups of a file are few, and a group is part of others.
    for _ in head.subtasks:
        inside |= {group for group, members in head.subtasks.items() if inside & {*members}}
    for group in head.subtasks:
        for name, value in head.groups.get(group, head.results.get(group, {})).items() if group in inside else ():
            if (number := _stated(name, value)) is not None:
                yield f"{group}/{name.removesuffix(',none')}", number


def _stated(name: str, value: object) -> float | None:
    """The number if it is that of a metric with a filter, and no standard error."""
    metric, _, _ = name.rpartition(",")
    return None if not metric or metric.endswith("_stderr") else _number(value)


def _unused(
    log: _Read, metrics: Sequence[str], averaged: Sequence[str] | None, reported: Mapping[str, float]
) -> Iterator[str]:
    if not log.values:
        yield "The answers have no scores, as requested (--predict_only)."
    if averaged is None:
        yield "Without the results file (results_*.json), counts and means are not checked, and the model is not named."
    elif unchecked := [name for name in metrics if name not in averaged]:
        yield f"Not means of their samples, so not checked: {', '.join(unchecked)}."
    without = [name.removesuffix(",none") for name in log.values if name not in metrics]
    if kept := [name for name in without if name in reported]:
        yield f"Metrics without a number for each sample are numbers of the run: {', '.join(kept)}."
    if left_out := [name for name in without if name not in reported]:
        yield f"Metrics without a number for each sample, not imported: {', '.join(left_out)}."
    if log.repeats > 1:
        yield (
            f"Each document has {log.repeats} answers, of which the filters make one. The answer shown is the first; "
            "the others are in its messages."
        )
    if len(log.systems) > 1:
        yield "The system messages differ between documents. They are in the messages of the results only."


def _times(head: Summary) -> tuple[datetime | None, datetime | None]:
    if not head.date:
        return None, None
    try:
        started = datetime.fromtimestamp(head.date, UTC)
        return started, started + timedelta(seconds=float(head.seconds)) if head.seconds else None
    except (ValueError, OverflowError, OSError):
        return None, None


def _document(sample: Sample, where: str, log: _Read) -> _Document:
    requests = list(sample.requests.values())
    if not requests or len(sample.replies) < len(requests):
        raise ImportProblem(
            f"{where}: {len(requests)} requests in arguments, but {len(sample.replies)} answers in resps"
        )
    prompts = [_messages(request.prompt, f"{where}.arguments") for request in requests]
    settings = requests[0].rest
    if isinstance(settings, dict):
        return _generated(sample, prompts[0], settings, log)
    if isinstance(settings, str):
        return _likely(sample, prompts, [as_text(request.rest).strip() for request in requests], where)
    # A rolling likelihood, of the whole text.
    text = prompts[0][-1].content if prompts[0] else ""
    result = ImportedResult(task_id=sample.doc_id, notes=["Only the likelihood of the text was asked for."])
    return _Document(_task(sample, as_text(text), ""), result, sample.prompt_hash)


def _generated(sample: Sample, prompt: Sequence[Message], settings: Mapping[str, object], log: _Read) -> _Document:
    replies = [reply if isinstance(reply, list) else [reply] for reply in sample.replies]
    # Of several requests for one document, which no task of lm-eval's own makes, the answers are one text.
    answers = ["\n\n".join(map(as_text, each)) for each in zip(*replies, strict=False)]
    log.repeats = max(log.repeats, len(answers))
    system = as_text(prompt[0].content) if len(prompt) > 1 and prompt[0].role == "system" else ""
    log.systems |= {system}
    # The settings of the first document stand for all: lm-eval takes them from the task.
    limit = {"max_tokens": settings.get("max_gen_toks", settings.get("max_tokens"))}
    log.settings = log.settings or sampling_of({**settings, **limit})
    question = prompt[1:] if system else prompt
    messages = [*prompt, *(Message(role="assistant", content=answer) for answer in answers)]
    result = ImportedResult(
        task_id=sample.doc_id,
        answer=answers[0] if answers else "",
        messages=[{"role": message.role, "content": as_text(message.content)} for message in messages],
        notes=[f"The first of {len(answers)} answers"] if len(answers) > 1 else [],
    )
    task = _task(sample, _text_of(question), _targets(sample))
    if len(question) > 1 and (chat := chats.messages_of([message.model_dump() for message in question])):
        task = replace(task, input="", messages=chat)
    return _Document(task, result, sample.prompt_hash)


def _likely(sample: Sample, prompts: Sequence[Sequence[Message]], texts: list[str], where: str) -> _Document:
    """A multiple-choice document, or one text whose likelihood counts."""
    contexts = [_text_of(prompt) for prompt in prompts]
    replies = [_likelihood(reply, f"{where}.resps[{index}]") for index, reply in enumerate(sample.replies)]
    likelihoods = [number for number, _ in replies[: len(texts)]]
    half = len(texts) // 2
    if half and texts[:half] == texts[half:] and not any(map(str.strip, contexts[half:])):
        # For mutual information each choice is asked again without its context.
        texts, contexts, likelihoods = texts[:half], contexts[:half], likelihoods[:half]
    if len(texts) == 1:
        number, is_greedy = replies[0]
        note = f"Log-likelihood of the target: {number:g}. It is {'' if is_greedy else 'not '}the most likely text."
        result = ImportedResult(task_id=sample.doc_id, answer=texts[0] if is_greedy else "", notes=[note])
        return _Document(_task(sample, contexts[0], texts[0]), result, sample.prompt_hash)
    # Either the choices differ, or, as in winogrande, what precedes the same text.
    options, question = (texts, contexts[0]) if len(set(texts)) > 1 else ([text.strip() for text in contexts], texts[0])
    answer = options[_most(likelihoods)]
    shown = "; ".join(f"{option}: {number:.4g}" for option, number in zip(options, likelihoods, strict=True))
    result = ImportedResult(
        task_id=sample.doc_id,
        answer=answer,
        messages=[{"role": "user", "content": question}, {"role": "assistant", "content": answer}],
        notes=[f"Log-likelihoods of the choices: {shown}"],
    )
    task = _task(sample, question, _chosen_target(sample.target.strip(), options))
    valid = len(set(options)) == len(options) and all(options)
    task = replace(task, choices=tuple(options)) if valid else task
    return _Document(task, result, sample.prompt_hash, likelihoods)


def _likelihood(reply: Any, where: str) -> tuple[float, bool]:
    """The log-likelihood, and whether the text is what the model would have generated."""
    pair: Any = reply[0] if isinstance(reply, list) and reply else None
    try:
        number, is_greedy = pair
        return float(number), str(is_greedy) == "True"
    except (TypeError, ValueError):
        raise ImportProblem(
            f"{where}: expected a log-likelihood and whether it is greedy, found {shown(pair)}"
        ) from None


def _most(likelihoods: Sequence[float]) -> int:
    """The position of the highest number, the first of several."""
    return max(range(len(likelihoods)), key=lambda index: likelihoods[index])


def _extracted(sample: Sample, metric: str, document: _Document) -> str | None:
    """What the filter made of the answer, or the choice that the metric takes for the model's."""
    if not document.likelihoods:
        return as_text(sample.filtered[0]) if sample.filtered and document.result.messages else None
    options = document.task.choices
    sizes: Mapping[str, Callable[[str], int]] = {
        "acc": lambda option: 1,
        "acc_norm": len,
        "acc_bytes": lambda option: len(option.encode()),
    }
    if metric not in sizes or not options:
        return None
    each = zip(document.likelihoods, options, strict=True)
    return options[_most([number / sizes[metric](option) for number, option in each])]


def _task(sample: Sample, question: str, expected: str | tuple[str, ...]) -> TaskSpec:
    name = sample.doc_id.strip()
    return TaskSpec(id=name, name=name, input=question, expected_output=expected)


def _metadata(sample: Sample, task: TaskSpec, unused: Unused) -> dict[str, Any]:
    """The columns of the document that neither its question, its choices nor its target come from."""
    if not isinstance(sample.doc, dict):
        return {}
    known = "\n".join((task.question, sample.target, *task.choices, *task.accepted_answers))

    def is_known(value: Any, depth: int) -> bool:
        if isinstance(value, str):
            return value.strip() in known
        if isinstance(value, list | dict) and depth:
            return all(is_known(each, depth - 1) for each in (value.values() if isinstance(value, dict) else value))
        return as_text(value) == sample.target

    columns = {as_text(key): value for key, value in sample.doc.items() if not is_known(value, 2)}
    return label_values(columns, "documents", unused, "doc")


def _targets(sample: Sample) -> str | tuple[str, ...]:
    """The accepted answers. Several are written as a Python list, which a document may also have as its text."""
    is_text = isinstance(sample.doc, dict) and sample.target in map(as_text, sample.doc.values())
    several = None if is_text else _list_in(sample.target)
    return sample.target if several is None else accepted([each for each in several if isinstance(each, str)])


def _chosen_target(target: str, options: Sequence[str]) -> str | tuple[str, ...]:
    """The correct choice, or several: the file has their text or their positions."""
    if target in options:
        return target
    positions = _list_in(target) or ([int(target)] if target.isdecimal() and len(target) < _LONGEST_POSITION else [])
    return accepted([options[each] for each in positions if type(each) is int and 0 <= each < len(options)])


def _list_in(text: str) -> list[Any] | None:
    if not text.startswith("[") or len(text) > _LONGEST_LIST:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _messages(prompt: Any, where: str) -> list[Message]:
    """A prompt is text or, with a chat template, a list with the messages as JSON."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        messages = reading.json_of(prompt[0].encode(errors="replace"), where)
        if isinstance(messages, list) and messages:
            return [read(Message, message, f"{where}[{index}]") for index, message in enumerate(messages)]
    return [Message(role="user", content=prompt)]


def _text_of(messages: Sequence[Message]) -> str:
    return chats.as_one_text([(message.role, as_text(message.content)) for message in messages])


def _number(value: Any) -> float | None:
    """``None`` for everything but a finite number."""
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None
