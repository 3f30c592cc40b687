"""Logs of Inspect: ``.eval`` archives and ``.json`` files, as this and earlier releases of it write them.

Scorers become metrics in the log's order, the first deciding. Letters count as Inspect counts them: C is 1, P 0.5, I
and N 0. What Inspect leaves out of its means (NaN), and what is no number at all, is unscored here. A sample that
ended in an error has no scores, whatever the log has.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import quoted
from benchmarks.imports import reading
from benchmarks.imports.archive import MOST_ZIP_BYTES, Archive
from benchmarks.imports.reading import mapping, optional_mapping, optional_sequence, optional_text
from benchmarks.imports.runs import ExternalResult, ExternalRun, ExternalTask, ImportProblem
from benchmarks.metrics.base import Score, ScoreStatus

FORMAT = "inspect"
HEADER, UNFINISHED_HEADER = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/[^/]+\.json")
_ATTACHMENT = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_FINISHED = {"max_tokens": "length", "model_length": "length"}
_SENT = ("temperature", "top_p", "max_tokens", "seed")
_COMPLETE = "success"


def read_archive(path: Path, most_bytes: int = MOST_ZIP_BYTES) -> list[ExternalRun]:
    """The run of an ``.eval`` file. Raises ``ImportProblem``, and ``OSError``."""
    with Archive.of(path, most_bytes) as archive:
        name = next((name for name in (HEADER, UNFINISHED_HEADER) if name in archive.names), None)
        if name is None:
            raise ImportProblem(f"it has no {HEADER}, as logs of Inspect do")
        header = mapping(archive.json(name), name)
        members = sorted(filter(_SAMPLE.fullmatch, archive.names), key=_by_number)
        return [_run(header, ((member, archive.json(member)) for member in members))]


def run_of(log: Mapping[str, Any]) -> list[ExternalRun]:
    """The run of a whole log, loaded. Raises ``ImportProblem``."""
    samples = optional_sequence(log.get("samples"), "samples")
    return [_run(log, ((f"samples[{place}]", sample) for place, sample in enumerate(samples)))]


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample's result before its scores are known to be scores or measurements."""

    task: ExternalTask
    result: Callable[[Mapping[str, Score]], ExternalResult]
    scores: Mapping[str, Score]


def _run(header: Mapping[str, Any], loaded: Iterable[tuple[str, Any]]) -> ExternalRun:
    spec = mapping(header.get("eval"), "eval")
    model = reading.text(spec.get("model"), "eval.model")
    samples = [_sample(mapping(value, where), where, model) for where, value in loaded]
    if not samples:
        raise ImportProblem("samples: there are none. Logs written with --no-log-samples have nothing to take over")
    names = _metric_names(samples, spec)
    results = [sample.result({names[name]: score for name, score in sample.scores.items()}) for sample in samples]
    _check_unique(results)
    stats = optional_mapping(header.get("stats"), "stats")
    return ExternalRun(
        format=FORMAT,
        model=model,
        name=reading.text(spec.get("task"), "eval.task"),
        tasks=_tasks(samples),
        results=results,
        metrics=list(names.values()),
        parameters=_parameters(header, spec),
        facts=_facts(spec),
        shortfall=_shortfall(header, spec, samples),
        started_at=reading.moment(stats.get("started_at"), "stats.started_at"),
        completed_at=reading.moment(stats.get("completed_at"), "stats.completed_at"),
    )


def _check_unique(results: Iterable[ExternalResult]) -> None:
    seen = set()
    for result in results:
        if (result.task_id, result.repeat) in seen:
            raise ImportProblem(f"sample {quoted(result.task_id)}: epoch {result.repeat} is there twice")
        seen.add((result.task_id, result.repeat))


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sorts ``samples/10_epoch_1.json`` behind ``samples/9_epoch_1.json``."""
    return [(int(part), "") if part.isdecimal() and len(part) < 19 else (0, part) for part in re.split(r"(\d+)", name)]


def _metric_names(samples: Sequence[_Sample], spec: Mapping[str, Any]) -> dict[str, str]:
    """Scorer → name of its metric. Values beyond 1 anywhere make a measurement of it."""
    highest: dict[str, float] = {}
    for name in _scorers(spec):
        if any(name in sample.scores for sample in samples):
            highest[name] = 0.0
    for sample in samples:
        for name, score in sample.scores.items():
            highest[name] = max(highest.get(name, 0.0), score.value or 0.0)
    return {name: reading.metric_name(FORMAT, name, measurement=most > 1) for name, most in highest.items()}


def _scorers(spec: Mapping[str, Any]) -> Iterator[str]:
    for place, scorer in enumerate(optional_sequence(spec.get("scorers"), "eval.scorers")):
        where = f"eval.scorers[{place}]"
        yield reading.text(mapping(scorer, where).get("name"), f"{where}.name")


def _tasks(samples: Sequence[_Sample]) -> list[ExternalTask]:
    tasks: dict[str, ExternalTask] = {}
    for sample in samples:
        known = tasks.setdefault(sample.task.id, sample.task)
        if known != sample.task:
            raise ImportProblem(f"sample {quoted(known.id)}: its epochs differ in what they ask or expect")
    return list(tasks.values())


def _sample(sample: Mapping[str, Any], where: str, model: str) -> _Sample:
    task_id = _id(sample.get("id"), f"{where}.id")
    attachments = optional_mapping(sample.get("attachments"), f"{where}.attachments")
    resolve = _resolver(attachments)
    task = ExternalTask(
        task_id,
        _input(sample.get("input"), f"{where}.input", resolve),
        _target(sample.get("target"), f"{where}.target"),
        _choices(sample.get("choices"), f"{where}.choices"),
    )
    error = _error(sample.get("error"), f"{where}.error")
    scores = {} if error else dict(_scores(sample, where))
    said = _Said.of(sample, where, resolve)
    usage = _usage(sample, where, model)
    seconds = reading.amount(said.seconds, f"{where}.output.time")

    def result(named: Mapping[str, Score]) -> ExternalResult:
        return ExternalResult(
            task_id=task_id,
            repeat=reading.count(sample.get("epoch", 1), f"{where}.epoch", reading.MOST_REPEATS) or 1,
            answer=said.answer,
            reasoning=said.reasoning,
            messages=said.messages,
            tool_calls=said.tool_calls,
            scores=named,
            error=error,
            cancelled=not (error or scores or said.answer or said.tool_calls),
            finish_reason=said.finish_reason,
            duration_ms=None if seconds is None else 1_000 * seconds,
            tokens_in=reading.count(usage.get("input_tokens"), f"{where}.model_usage.input_tokens"),
            tokens_out=reading.count(usage.get("output_tokens"), f"{where}.model_usage.output_tokens"),
            cost_usd=reading.amount(usage.get("total_cost"), f"{where}.model_usage.total_cost"),
            finished_at=reading.moment(sample.get("completed_at"), f"{where}.completed_at"),
            notes=_limit_note(sample, where),
        )

    return _Sample(task, result, scores)


def _id(value: Any, where: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(reading.count(value, where)) if value >= 0 else reading.as_text(value)
    return reading.text(value, where).strip()


Resolve = Callable[[str], str]


def _resolver(attachments: Mapping[str, Any]) -> Resolve:
    def put(found: re.Match[str]) -> str:
        whole = attachments.get(found[1])
        return whole if isinstance(whole, str) else found[0]

    return lambda text: reading.as_text(_ATTACHMENT.sub(put, text)) if "://" in text else text


def _input(value: Any, where: str, resolve: Resolve) -> str:
    if isinstance(value, str):
        return resolve(reading.text(value, where))
    messages = [mapping(message, f"{where}[{place}]") for place, message in enumerate(reading.sequence(value, where))]
    texts = [
        _content(message.get("content"), f"{where}[{place}].content", resolve) for place, message in enumerate(messages)
    ]
    if len(messages) == 1:
        return texts[0][0]
    roles = [optional_text(message.get("role"), f"{where}.role") or "user" for message in messages]
    return "\n\n".join(f"{role}: {said}" for role, (said, _) in zip(roles, texts, strict=True))


def _target(value: Any, where: str) -> str:
    if isinstance(value, list):
        return "\n".join(reading.text(one, f"{where}[{place}]") for place, one in enumerate(value))
    return optional_text(value, where)


def _choices(value: Any, where: str) -> tuple[str, ...]:
    """Left out where they are no choice: fewer than two, blank, or one twice."""
    given = tuple(reading.text(one, f"{where}[{place}]") for place, one in enumerate(optional_sequence(value, where)))
    return given if len(given) > 1 and len(set(given)) == len(given) and all(map(str.strip, given)) else ()


def _error(value: Any, where: str) -> str | None:
    if value is None:
        return None
    message = mapping(value, where).get("message") if isinstance(value, dict) else value
    return optional_text(message, f"{where}.message") or "an error without a message"


def _scores(sample: Mapping[str, Any], where: str) -> Iterator[tuple[str, Score]]:
    """Scorer → score; ``scorer/key`` for each of several values of one scorer."""
    given = sample.get("scores")
    if given is None and sample.get("score") is not None:
        given = {"score": sample["score"]}  # before several scorers could be used at once
    for scorer, value in optional_mapping(given, f"{where}.scores").items():
        place = f"{where}.scores.{scorer}"
        score = mapping(value, place)
        reason = optional_text(score.get("explanation"), f"{place}.explanation")
        extracted = None if score.get("answer") is None else optional_text(score["answer"], f"{place}.answer")
        for name, one in _values(scorer, score.get("value")):
            yield name, _score(one, reason, extracted)


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{scorer}/{key}", one) for key, one in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}/{place}", one) for place, one in enumerate(value, 1))
    else:
        yield scorer, value


def _score(value: Any, reason: str, extracted: str | None) -> Score:
    number = _number(value)
    if number is not None and number >= 0:
        return Score(ScoreStatus.SCORED, number, reason, extracted, detail={"value": value})
    if value is None or (number is None and isinstance(value, float)):
        why, status = "Inspect left it unscored.", ScoreStatus.NOT_APPLICABLE
    elif number is not None:
        why, status = f"{number:g} is below 0, which no score is here.", ScoreStatus.NOT_APPLICABLE
    else:
        why, status = f"{quoted(reading.as_text(value))} is no number.", ScoreStatus.UNPARSABLE
    return Score(status, None, f"{why} {reason}".strip(), extracted)


def _number(value: Any) -> float | None:
    """As Inspect reads values as numbers; ``None`` where it is none, or not a finite one."""
    if isinstance(value, str):
        if (known := _VALUES.get(value, _VALUES.get(value.lower()) if len(value) > 1 else None)) is not None:
            return known
    elif not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class _Said:
    """The model's last word, and the whole exchange."""

    answer: str
    reasoning: str
    messages: Sequence[Mapping[str, Any]]
    tool_calls: Sequence[Mapping[str, Any]]
    finish_reason: str
    seconds: Any

    @classmethod
    def of(cls, sample: Mapping[str, Any], where: str, resolve: Resolve) -> _Said:
        output = optional_mapping(sample.get("output"), f"{where}.output")
        choices = optional_sequence(output.get("choices"), f"{where}.output.choices")
        first = mapping(choices[0], f"{where}.output.choices[0]") if choices else {}
        place = f"{where}.output.choices[0].message"
        message = optional_mapping(first.get("message"), place)
        answer, reasoning = _content(message.get("content"), f"{place}.content", resolve)
        stop = optional_text(first.get("stop_reason"), f"{where}.output.choices[0].stop_reason")
        exchange = optional_sequence(sample.get("messages"), f"{where}.messages")
        return cls(
            answer=answer or resolve(optional_text(output.get("completion"), f"{where}.output.completion")),
            reasoning=reasoning,
            messages=[_message(one, f"{where}.messages[{n}]", resolve) for n, one in enumerate(exchange)],
            tool_calls=_calls(message.get("tool_calls"), f"{place}.tool_calls"),
            finish_reason=_FINISHED.get(stop, stop)[:40],
            seconds=output.get("time"),
        )


def _content(value: Any, where: str, resolve: Resolve) -> tuple[str, str]:
    """Text and reasoning of a message's content; of pictures and the like only what they are."""
    if value is None or isinstance(value, str):
        return resolve(optional_text(value, where)), ""
    texts, thoughts = [], []
    for place, given in enumerate(reading.sequence(value, where)):
        part = mapping(given, f"{where}[{place}]")
        kind = optional_text(part.get("type"), f"{where}[{place}].type")
        if kind == "reasoning":
            thoughts.append(resolve(optional_text(part.get("reasoning"), f"{where}[{place}].reasoning")))
        elif kind == "text":
            texts.append(resolve(optional_text(part.get("text"), f"{where}[{place}].text")))
        else:
            texts.append(f"[{kind or 'something without a type'}]")
    return "\n".join(texts), "\n".join(thoughts)


def _message(value: Any, where: str, resolve: Resolve) -> dict[str, Any]:
    message = mapping(value, where)
    told: dict[str, Any] = {
        "role": optional_text(message.get("role"), f"{where}.role") or "user",
        "content": _content(message.get("content"), f"{where}.content", resolve)[0],
    }
    if calls := _calls(message.get("tool_calls"), f"{where}.tool_calls"):
        told["tool_calls"] = [
            {"type": "function", "function": {"name": call["name"], "arguments": call["raw"]}} for call in calls
        ]
    return told


def _calls(value: Any, where: str) -> list[dict[str, Any]]:
    found = []
    for place, made in enumerate(optional_sequence(value, where)):
        call = mapping(made, f"{where}[{place}]")
        given = reading.plain_json(call.get("arguments"), f"{where}[{place}].arguments")
        arguments = given if isinstance(given, dict) else None
        raw = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        name = _function_name(call.get("function"), f"{where}[{place}].function")
        found.append({"name": name, "arguments": arguments, "raw": raw, "malformed": arguments is None})
    return found


def _function_name(value: Any, where: str) -> str:
    """Older logs have the name itself where newer ones have an object with a name."""
    return optional_text(value.get("name") if isinstance(value, dict) else value, where)


def _usage(sample: Mapping[str, Any], where: str, model: str) -> Mapping[str, Any]:
    """Tokens of the model itself, without those of models that scored."""
    by_model = optional_mapping(sample.get("model_usage"), f"{where}.model_usage")
    output = optional_mapping(sample.get("output"), f"{where}.output")
    return optional_mapping(by_model.get(model, output.get("usage")), f"{where}.model_usage")


def _limit_note(sample: Mapping[str, Any], where: str) -> list[str]:
    limit = optional_mapping(sample.get("limit"), f"{where}.limit")
    kind = optional_text(limit.get("type"), f"{where}.limit.type")
    return [f"Ended by the {kind} limit of the evaluation"] if kind else []


def _parameters(header: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    plan = optional_mapping(header.get("plan"), "plan")
    given = {
        **optional_mapping(spec.get("model_generate_config"), "eval.model_generate_config"),
        **optional_mapping(plan.get("config"), "plan.config"),
    }
    numbers = {name: reading.amount(given.get(name), f"plan.config.{name}") for name in _SENT}
    return {name: number for name, number in numbers.items() if number is not None}


def _facts(spec: Mapping[str, Any]) -> dict[str, Any]:
    packages = optional_mapping(spec.get("packages"), "eval.packages")
    revision = optional_mapping(spec.get("revision"), "eval.revision")
    told = {
        "inspect_ai": optional_text(packages.get("inspect_ai"), "eval.packages.inspect_ai"),
        "solver": optional_text(spec.get("solver"), "eval.solver"),
        "commit": optional_text(revision.get("commit"), "eval.revision.commit"),
        "inspect run": optional_text(spec.get("run_id"), "eval.run_id"),
    }
    return {name: text for name, text in told.items() if text}


def _shortfall(header: Mapping[str, Any], spec: Mapping[str, Any], samples: Sequence[_Sample]) -> str:
    status = optional_text(header.get("status"), "status") or "started"
    dataset = optional_mapping(spec.get("dataset"), "eval.dataset")
    config = optional_mapping(spec.get("config"), "eval.config")
    wanted = reading.count(dataset.get("samples"), "eval.dataset.samples")
    whole = config.get("limit") is None and config.get("sample_id") is None
    told = [] if status == _COMPLETE else [f"Inspect says of its status: {status}."]
    present = len({sample.task.id for sample in samples})
    if wanted is not None and present < wanted:
        told.append(f"{present:,} of {wanted:,} samples are in the log{'.' if whole else ', as was asked for.'}")
    return " ".join(told)
