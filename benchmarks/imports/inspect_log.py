"""Logs of Inspect: ``.eval`` archives and ``.json`` files, as this and earlier releases write them.

Scorers become metrics, the log's headline first, which decides the outcome, and the others in the log's order. Letters
count as in Inspect: C is 1, P 0.5, I and N 0, and so does what is not a number. What Inspect leaves out of its means,
because a scorer gave no value, is an error of the scorer. A sample that ended in an error has no scores, unless the
evaluation scored errors. Counts, means and tokens are compared with the log's own. What failed attempts at a sample
used is part of the run: of each the log has the last request only, and in its totals all of them. A sample that the
log should have and lacks is one that was not answered: its question is unknown, but it counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from benchmarks.dataset_format.limits import MAX_ANSWERS, MAX_ITEMS
from benchmarks.dataset_format.problems import quoted
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.imports import chats, inspect_prompts
from benchmarks.imports.assembly import check_count, lacking
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.inspect_results import Results, check_results, number_of, score_name
from benchmarks.imports.inspect_steps import steps_of_events
from benchmarks.imports.inspect_usage import Attempt, Usage, usage_of, used_besides
from benchmarks.imports.parts import (
    Amount,
    Count,
    Moment,
    Part,
    Repeat,
    Text,
    accepted,
    as_text,
    at,
    label_values,
    plain_json,
    read,
    sampling_of,
    tag_values,
)
from benchmarks.imports.reading import Archive
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem, Unused
from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.providers.steps import Step

HEADER, UNFINISHED_HEADER = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)
"""The names of samples may contain slashes, because their ids may."""
_ATTACHMENT = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")
MOST_MISSING = 100_000
"""Results that a log may lack and still be counted with them."""
MAX_RUN_TAG = 40
"""Characters of a tag of a run."""
_EVENTS = "events"
Reopen = Callable[[], AbstractContextManager[Archive]]
Given = tuple[str, Any, Callable[[], Iterable[Step]] | None]
"""Where a sample stands, the sample without its events, and what reads those."""
_FINISHED = {"max_tokens": "length", "model_length": "length"}
_NOT_SAID = Score(ScoreStatus.METRIC_ERROR, reason="The scorer gave no score of this sample in Inspect.")
_GRADER_FAILED = "grader_failed"
"""Inspect's reason where the model of a scorer gave no grade."""
_INTERRUPTED = "CancelledError("
"""How the error of a sample begins that ended because the evaluation did."""


def _named(value: Any) -> Any:
    """Older logs have the name itself where newer ones have an object with a name."""
    return value.get("name", "") if isinstance(value, dict) else value


def _error_message(value: Any) -> Any:
    return (value.get("message") if isinstance(value, dict) else value) or "an error without a message"


def _one_as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Id = Annotated[Text, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ContentPart(Part):
    called: ClassVar = "content"
    without_loss: ClassVar = frozenset({"detail"})
    type: Text = ""
    text: Text = ""
    image: Text = ""
    reasoning: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return {"type": "text", "text": value} if isinstance(value, str) else value


class Call(Part):
    called: ClassVar = "tool calls"
    without_loss: ClassVar = frozenset({"id", "type"})
    function: Annotated[Text, BeforeValidator(_named)] = ""
    arguments: Annotated[Any, BeforeValidator(plain_json)] = None


Content = Annotated[tuple[ContentPart, ...], BeforeValidator(_one_as_list)]


class Message(Part):
    called: ClassVar = "messages"
    without_loss: ClassVar = frozenset({"id", "model", "tool_call_id", "function"})
    role: Text = "user"
    content: Content = ()
    source: Text = ""
    """``input`` if the message is part of the sample's input, which may contain earlier turns of an assistant."""
    tool_calls: tuple[Call, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return {"content": value} if isinstance(value, str) else value


class SampleScore(Part):
    called: ClassVar = "scores"
    value: Any = None
    answer: Text | None = None
    explanation: Text = ""
    why: Text = at("reason|metadata.unscored_reason", "")
    """Why the scorer gave no value; in logs before 0.3.285 or so it is in the metadata."""


class Sample(Part):
    called: ClassVar = "samples"
    without_loss: ClassVar = frozenset(
        {"uuid", "started_at", "total_time", "turn_count", "events_data", "output.model", "output.input_context_tokens"}
        | {f"output.choices[].message.{key}" for key in ("id", "model", "role", "source")}
    )
    id: Id
    epoch: Repeat = 1
    input: Annotated[tuple[Message, ...], BeforeValidator(_one_as_list)]
    metadata: dict[str, object] = Field({})
    target: Annotated[tuple[Text, ...], BeforeValidator(_one_as_list)] = ()
    choices: tuple[Text, ...] = ()
    error: Annotated[Text, BeforeValidator(_error_message)] | None = None
    scores: dict[str, SampleScore] | None = None
    score: SampleScore | None = None
    """Instead of ``scores`` in logs from before Inspect had several scorers."""
    content: Content = at("output.choices[0].message.content", ())
    tool_calls: tuple[Call, ...] = at("output.choices[0].message.tool_calls", ())
    stop_reason: Text = at("output.choices[0].stop_reason", "")
    completion: Text = at("output.completion", "")
    usage: Any = at("output.usage")
    seconds: Amount | None = at("working_time|output.time")
    """Without the time that the sample waited for its turn or for a retry; in older logs, of the last answer."""
    messages: tuple[Message, ...] = ()
    model_usage: dict[str, object] = Field({})
    failed_attempts: tuple[Attempt, ...] = at("error_retries", ())
    attachments: dict[str, object] = Field({})
    limit: Text = at("limit.type", "")
    completed_at: Moment | None = None

    @property
    def given_scores(self) -> dict[str, SampleScore]:
        return self.scores if self.scores is not None else {"score": self.score} if self.score else {}


class Generation(Part):
    temperature: Any = None
    top_p: Any = None
    max_tokens: Any = None
    seed: Any = None


class Headline(Part):
    called: ClassVar = "headlines"
    without_loss: ClassVar = frozenset({"metric", "reducer"})
    scorer: Text = ""
    score: Text = ""


class Log(Part):
    """A log, or its header, in which ``samples`` are empty."""

    called: ClassVar = "the log"
    without_loss: ClassVar = frozenset(
        {"version", "plan.name", "eval.created", "eval.task_id", "eval.task_display_name"}
        | {"eval.config.max_samples", "eval.config.sandbox_cleanup"}
        | {f"eval.config.log_{key}" for key in ("samples", "realtime", "images", "model_api", "shared")}
        | {
            "eval.config.epochs_reducer",
            "eval.config.score_display",
            "eval.config.fail_on_error",
            "results.total_samples",
        }
    )
    status: Text = "started"
    model: Text = at("eval.model", ...)
    task: Text = at("eval.task", ...)
    scorers: tuple[Annotated[Text, BeforeValidator(_named)], ...] = at("eval.scorers", ())
    scorer_details: Any = at("eval.scorers")
    score_on_error: Any = at("eval.config.score_on_error")
    results: tuple[Results, ...] = at("results.scores", ())
    headline: Headline = at("results.headline", Headline())
    completed_samples: Count | None = at("results.completed_samples")
    wanted_samples: Count | None = at("eval.dataset.samples")
    wanted_ids: tuple[Id, ...] = at("eval.dataset.sample_ids", ())
    """Of the samples that the evaluation chose; old logs have only their number."""
    epochs: Repeat = at("eval.config.epochs", 1)
    dataset: Text = at("eval.dataset.name", "")
    limit: Any = at("eval.config.limit")
    sample_id: Any = at("eval.config.sample_id")
    inspect_ai: Text = at("eval.packages.inspect_ai", "")
    solver: Text = at("eval.solver", "")
    commit: Text = at("eval.revision.commit", "")
    run_id: Text = at("eval.run_id", "")
    eval_id: Text = at("eval.eval_id", "")
    defaults: Generation = at("eval.model_generate_config", Generation())
    generation: Generation = at("plan.config", Generation())
    started_at: Moment | None = at("stats.started_at")
    completed_at: Moment | None = at("stats.completed_at")
    total_usage: dict[str, object] = at("stats.model_usage", {})
    tags: Any = None
    given_tags: Any = at("eval.tags")
    """Those of the evaluation; ``tags`` also has those that were added to the log."""
    samples: tuple[Any, ...] = ()


class InspectImporter(Importer):
    name = "inspect"
    title = "Inspect"
    files = "logs (.eval or .json)"
    made_with = "inspect eval TASK.py"

    def detect(self, files: Files) -> list[Files]:
        return [
            [file] for file in files if file.suffix == ".eval" or "eval" in file.outline or _header_in(file.members)
        ]

    def read(self, log: Files) -> list[ImportedRun]:
        (file,) = log
        if not file.is_archive:
            return [_of_document(file.document())]
        with Archive.of(file.path, file.max_bytes) as archive:
            return [_of_archive(archive, partial(Archive.of, file.path, file.max_bytes))]


def _header_in(names: Collection[str]) -> str | None:
    return next((name for name in (HEADER, UNFINISHED_HEADER) if name in names), None)


def _of_archive(archive: Archive, reopened: Reopen) -> ImportedRun:
    name = _header_in(archive.names)
    if name is None:
        raise ImportProblem(f"{HEADER} not found, so this is not a log of Inspect")
    unused: Unused = Counter()
    log = read(Log, archive.json(name), name, unused)
    members = sorted(filter(_SAMPLE.fullmatch, archive.names), key=_by_number)
    # Samples are read one by one: a log may be many times larger than its results.
    return _run(log, (_sample_of(archive, member, reopened) for member in members), unused)


def _sample_of(archive: Archive, member: str, reopened: Reopen) -> Given:
    sample, events = _without_events(archive, member)
    return member, sample, partial(_stored_events, reopened, member) if events else None


def _without_events(archive: Archive, member: str) -> tuple[dict[str, Any], int]:
    """A sample without its events, of which there may be more than fit into memory, and their number."""
    sample: dict[str, Any] = {}
    events = 0
    for key, value in archive.members(member, _EVENTS):
        if key == _EVENTS:
            events += 1
        else:
            sample[key] = value
    return sample, events


def _stored_events(reopened: Reopen, member: str) -> Iterator[Step]:
    """The steps of a sample, whose archive is read once more, because the texts stored apart follow the events."""
    with reopened() as archive:
        texts = _without_events(archive, member)[0].get("attachments")
        events = (value for key, value in archive.members(member, _EVENTS) if key == _EVENTS)
        yield from steps_of_events(events, _resolver(texts if isinstance(texts, dict) else {}))


def _of_document(document: Any) -> ImportedRun:
    unused: Unused = Counter()
    log = read(Log, document, "", unused)
    return _run(log, (_with_events(f"samples[{index}]", sample) for index, sample in enumerate(log.samples)), unused)


def _with_events(where: str, sample: Any) -> Given:
    events = sample.get(_EVENTS) if isinstance(sample, dict) else None
    if not isinstance(events, list) or not events:
        return where, sample, None
    texts = sample.get("attachments")
    resolve = _resolver(texts if isinstance(texts, dict) else {})
    return where, {**sample, _EVENTS: None}, partial(steps_of_events, events, resolve)


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sorts ``samples/10_epoch_1.json`` behind ``samples/9_epoch_1.json``."""
    return [(int(part), "") if part.isdecimal() and len(part) < 19 else (0, part) for part in re.split(r"(\d+)", name)]


def _run(log: Log, samples: Iterable[Given], unused: Unused) -> ImportedRun:
    tasks: dict[str, TaskSpec] = {}
    results: list[ImportedResult] = []
    values: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    parts: dict[str, dict[str, None]] = defaultdict(dict)
    sent: dict[str, list[inspect_prompts.Sent]] = defaultdict(list)
    used: list[Mapping[str, Usage]] = []
    is_partial = log.status != "success"
    for where, value, steps in samples:
        sample = read(Sample, value, where, unused)
        usages = usage_of(sample.model_usage, sample.failed_attempts, where, log.model, sample.usage)
        task, result = _read_sample(sample, usages, log, unused)
        used.append(usages)
        is_partial |= bool(sample.failed_attempts) or not sample.model_usage
        sent[task.id] += filter(None, [_sent(sample)])
        tasks[task.id] = _of_all_epochs(tasks.get(task.id, task), task, unused)
        results.append(replace(result, steps=steps))
        for scorer, given in sample.given_scores.items():
            parts[scorer] |= dict.fromkeys(_parts_of(scorer, given.value))
        for name, score in result.scores.items():
            values[name][task.id] += [] if score.value is None else [score.detail["value"]]
    if not results:
        raise ImportProblem("samples: none found. Logs written with `--no-log-samples` cannot be imported")
    if not log.score_on_error:
        completed = sum(result.error is None and not result.cancelled for result in results)
        what = "samples without an error found"
        check_count("results.completed_samples", log.completed_samples, completed, what)
    reductions = check_results(log.results, log.scorer_details, values)
    # A scorer of several values that gave none of them has none under its own name either.
    silent = {scorer for scorer, names in parts.items() if names and not any(values.get(scorer, {}).values())}
    for key, task in tasks.items():
        tasks[key], sent[key] = inspect_prompts.with_choices(task, sent[key])
    each_sent = [one for several in sent.values() for one in several]
    prompting = inspect_prompts.parameters_of(each_sent)
    status = "" if log.status == "success" else f"Status in Inspect: {log.status}."
    is_chosen = log.limit is not None or log.sample_id is not None
    missing = list(_missing(log, results, is_chosen))
    for result in missing:
        tasks.setdefault(result.task_id, _unknown_task(result.task_id))
    headline = score_name(log.headline.scorer, log.headline.score)
    valued = [name for name in values if name not in silent]
    shortfall = lacking(len(results), len(results) + len(missing), is_chosen=False) or lacking(
        len(tasks), log.wanted_samples, is_chosen
    )
    return ImportedRun(
        model=log.model,
        name=log.task,
        tasks=list(tasks.values()),
        results=[*(replace(each, scores=_by_part(each.scores, parts, silent)) for each in results), *missing],
        metrics=[*filter(valued.__contains__, (headline, *log.scorers)), *valued],
        missing=_NOT_SAID,
        evaluation=log.eval_id,
        parameters={
            **sampling_of(log.defaults.model_dump() | log.generation.model_dump(exclude_none=True)),
            **prompting,
        },
        tags=tag_values(log.tags or log.given_tags, "the log", unused, MAX_RUN_TAG),
        facts={
            "inspect_ai": log.inspect_ai,
            "dataset": log.dataset,
            "solver": log.solver,
            "commit": log.commit,
            "inspect run": log.run_id,
        },
        shortfall=" ".join(filter(None, (status, shortfall))),
        besides=used_besides(log.total_usage, used, log.model, is_partial=is_partial),
        unused=[*reductions, *inspect_prompts.unsent(each_sent, prompting)],
        unread=unused,
        started_at=log.started_at,
        completed_at=log.completed_at,
    )


def _missing(log: Log, results: Sequence[ImportedResult], is_chosen: bool) -> Iterator[ImportedResult]:
    """The results of samples and epochs that the evaluation began with and the log lacks; none if they are too many."""
    known = dict.fromkeys(result.task_id for result in results)
    wanted = dict.fromkeys(each.strip() for each in log.wanted_ids)
    if not wanted:
        more = 0 if is_chosen else max(0, (log.wanted_samples or 0) - len(known))
        if more > MAX_ITEMS:
            return
        wanted = {**known, **dict.fromkeys(f"missing {number}" for number in range(1, more + 1))}
    if len({**known, **wanted}) > MAX_ITEMS or len(wanted) * log.epochs - len(results) > MOST_MISSING:
        return
    present = {(result.task_id, result.repeat) for result in results}
    for task_id in wanted:
        for epoch in range(1, log.epochs + 1):
            if (task_id, epoch) not in present:
                yield ImportedResult(task_id=task_id, repeat=epoch, cancelled=True)


def _unknown_task(task_id: str) -> TaskSpec:
    return TaskSpec(id=task_id, name=task_id, input=f"(The log lacks the sample {task_id}.)", expected_output="")


def _of_all_epochs(known: TaskSpec, task: TaskSpec, unused: Unused) -> TaskSpec:
    """The task with what its epochs share: an epoch may change its metadata."""
    shared = {key: value for key, value in known.metadata.items() if task.metadata.get(key) == value}
    if replace(known, metadata=shared) != replace(task, metadata=shared):
        raise ImportProblem(f"sample {quoted(task.id)}: its epochs differ in input, target or choices")
    unused.update((f"metadata.{key}, which epochs change,", "samples") for key in known.metadata.keys() - shared)
    return replace(known, metadata=shared)


def _read_sample(
    sample: Sample, usages: Mapping[str, Usage], log: Log, unused: Unused
) -> tuple[TaskSpec, ImportedResult]:
    """The task and the result, whose scores are still by scorer."""
    resolve = _resolver(sample.attachments)
    choices = tuple(sample.choices)
    # What cannot be chosen from is not a choice.
    valid = len(choices) > 1 and len(set(choices)) == len(choices) and all(map(str.strip, choices))
    conversation = _conversation(sample.input, resolve, unused)
    asked = [(message.role, _content(message.content, resolve)[0]) for message in sample.input]
    if len({*filter(str.strip, sample.target)}) > MAX_ANSWERS:
        unused[f"targets after the first {MAX_ANSWERS}", "samples"] += 1
    task = TaskSpec(
        id=sample.id.strip(),
        name=sample.id.strip(),
        input="" if conversation else chats.as_one_text(asked),
        messages=conversation,
        expected_output=accepted(sample.target),
        choices=choices if valid else (),
        metadata=label_values(sample.metadata, "samples", unused),
    )
    answer, reasoning = _content(sample.content, resolve)
    answer = answer or resolve(sample.completion)
    replies = [message for message in sample.messages if message.role == "assistant" and message.source != "input"]
    calls = [_call(call) for message in replies for call in message.tool_calls]
    calls = calls or [_call(call) for call in sample.tool_calls]
    interrupted = sample.error is not None and sample.error.startswith(_INTERRUPTED)
    scores = dict(_scores(sample)) if sample.error is None or log.score_on_error else {}
    error = None if interrupted or scores else sample.error
    # Tokens of the model itself, apart from those of models that scored.
    usage = usages[log.model]
    notes = [f"Ended by the {sample.limit} limit of the evaluation"] if sample.limit else []
    notes += [f"Attempt {number} failed: {attempt.message}" for number, attempt in enumerate(sample.failed_attempts, 1)]
    if scores and sample.error is not None:
        notes.append(f"Scored although it ended with an error: {sample.error}")
    return task, ImportedResult(
        task_id=task.id,
        repeat=sample.epoch or 1,
        answer=answer,
        reasoning=reasoning,
        messages=[_message(message, resolve) for message in sample.messages],
        tool_calls=calls,
        scores=scores,
        error=error,
        cancelled=error is None and not scores and (interrupted or not (answer or calls)),
        finish_reason=_FINISHED.get(sample.stop_reason, sample.stop_reason)[:40],
        duration_ms=None if sample.seconds is None else 1_000 * sample.seconds,
        tokens_in=usage.tokens_in,
        tokens_out=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=usage.input_tokens_cache_read,
        cost_usd=usage.total_cost,
        judging={name: judge.spent for name, judge in usages.items() if name != log.model},
        attempts=1 + len(sample.failed_attempts),
        finished_at=sample.completed_at,
        notes=notes,
    )


def _sent(sample: Sample) -> inspect_prompts.Sent | None:
    resolve = _resolver(sample.attachments)
    given, messages = (
        [
            inspect_prompts.Said(message.role, _content(message.content, resolve)[0], message.source == "input")
            for message in of_sample
        ]
        for of_sample in (sample.input, sample.messages)
    )
    return inspect_prompts.sent(given, messages)


Resolve = Callable[[str], str]


def _resolver(attachments: Mapping[str, object]) -> Resolve:
    """A function that puts in the texts that the log stores apart."""

    def put(match: re.Match[str]) -> str:
        attachment = attachments.get(match[1])
        return attachment if isinstance(attachment, str) else match[0]

    return lambda text: as_text(_ATTACHMENT.sub(put, text)) if "://" in text else text


def _conversation(messages: Sequence[Message], resolve: Resolve, unused: Unused) -> tuple[Mapping[str, object], ...]:
    """The input as messages of a task; empty if it is one text, or if a task cannot have it, which is counted."""
    contents = [[part for part in message.content if part.type != "reasoning"] for message in messages]
    if [message.role for message in messages] == ["user"] and all(part.type == "text" for part in contents[0]):
        return ()
    chat = []
    for message, parts in zip(messages, contents, strict=True):
        known = [
            {"image_url": resolve(part.image)}
            if part.type == "image"
            else {"type": part.type, "text": resolve(part.text)}
            for part in parts
        ]
        has_text = len(parts) == 1 and parts[0].type == "text"
        chat.append({"role": message.role, "content": known[0]["text"] if has_text else known})
    if conversation := chats.messages_of(chat):
        return conversation
    unused["input as messages, which is text here,", "samples"] += 1
    return ()


def _content(parts: Sequence[ContentPart], resolve: Resolve) -> tuple[str, str]:
    """Text and reasoning of a message's content; of images and the like only their type."""
    texts = [
        resolve(part.text) if part.type == "text" else f"[{part.type or 'something without a type'}]"
        for part in parts
        if part.type != "reasoning"
    ]
    return "\n".join(texts), "\n".join(resolve(part.reasoning) for part in parts if part.type == "reasoning")


def _message(message: Message, resolve: Resolve) -> dict[str, object]:
    plain: dict[str, object] = {"role": message.role or "user", "content": _content(message.content, resolve)[0]}
    if calls := [_call(call) for call in message.tool_calls]:
        plain["tool_calls"] = [
            {"type": "function", "function": {"name": call["name"], "arguments": call["raw"]}} for call in calls
        ]
    return plain


def _call(call: Call) -> dict[str, object]:
    arguments = call.arguments if isinstance(call.arguments, dict) else None
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    return {"name": call.function, "arguments": arguments, "raw": raw, "malformed": arguments is None}


def _scores(sample: Sample) -> Iterator[tuple[str, Score]]:
    """Scorer → score; ``scorer/key`` for each of several values of one scorer."""
    for scorer, score in sample.given_scores.items():
        for name, value in (_parts_of(scorer, score.value) or {scorer: score.value}).items():
            yield name, _score(value, score)


def _parts_of(scorer: str, value: Any) -> dict[str, object]:
    """The several values of a scorer by their names; empty if it has one value."""
    if isinstance(value, dict):
        return {f"{scorer}/{key}": each for key, each in value.items()}
    return {f"{scorer}/{place}": each for place, each in enumerate(value, 1)} if isinstance(value, list) else {}


def _by_part(
    scores: Mapping[str, Score], parts: Mapping[str, Iterable[str]], silent: Collection[str]
) -> dict[str, Score]:
    """The scores, in which that of a scorer that gave none of its several values stands for each of them."""
    return {part: score for name, score in scores.items() for part in (parts[name] if name in silent else (name,))}


def _score(value: Any, given: SampleScore) -> Score:
    number = number_of(value)
    if number is not None:
        return Score(ScoreStatus.SCORED, number, given.explanation, given.answer, detail={"value": value})
    if value is not None and not isinstance(value, float):
        # Inspect's own mean counts it as 0 too.
        text = as_text(value)
        reason = f"{quoted(text)} is not a number. {given.explanation}".strip()
        return Score(ScoreStatus.UNPARSABLE, 0.0, reason, given.answer, detail={"value": text})
    status = ScoreStatus.JUDGE_ERROR if given.why == _GRADER_FAILED else ScoreStatus.METRIC_ERROR
    why = f" ({given.why.replace('_', ' ')})" if given.why else ""
    return Score(status, None, f"Unscored in Inspect{why}. {given.explanation}".strip(), given.answer)
