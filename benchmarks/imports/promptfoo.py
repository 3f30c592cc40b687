"""Results of promptfoo as ``promptfoo eval --output results.json`` writes them, versions 2 and 3 of the summary.

Each column of promptfoo's table, a provider with a prompt, becomes a run. Whether a test passed decides right and
wrong; its score and each assertion are metrics beside that. A test without assertions passes in promptfoo and says
nothing here. A request that failed is an error, and so is a grader that failed, neither of them a zero.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dataset_format.problems import printable
from benchmarks.imports import reading
from benchmarks.imports.reading import mapping, optional_mapping, optional_sequence, optional_text
from benchmarks.imports.runs import ExternalResult, ExternalRun, ExternalTask, ImportProblem
from benchmarks.metrics.base import Score, ScoreStatus

FORMAT = "promptfoo"
PASS = reading.metric_name(FORMAT, "pass")
NO_FAILURE, ASSERTION_FAILED, REQUEST_FAILED = 0, 1, 2
_EXPECTING = frozenset(
    {"equals", "contains", "icontains", "starts-with", "similar", "levenshtein", "rouge-n", "bleu", "factuality"}
    | {"model-graded-factuality", "model-graded-closedqa", "contains-json", "is-json"}
)
"""Assertions whose value is, or names, the answer that is wanted."""

Row = tuple[str, Mapping[str, Any]]


def runs_of(document: Mapping[str, Any], name: str) -> list[ExternalRun]:
    """The runs of a whole file, loaded; ``name`` stands for one that has no description. Raises ``ImportProblem``."""
    summary, where = _summary(document)
    rows = [
        (f"{where}[{place}]", mapping(row, f"{where}[{place}]"))
        for place, row in enumerate(reading.sequence(summary.get("results"), where))
    ]
    if not rows:
        raise ImportProblem(f"{where}: there are no results")
    config = optional_mapping(document.get("config"), "config")
    described = optional_text(config.get("description"), "config.description") or name
    columns: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        columns.setdefault(_column(*row), []).append(row)
    prompts = list(dict.fromkeys(prompt for _, prompt in columns))
    completed_at = reading.moment(summary.get("timestamp"), "timestamp")
    return [
        _run(
            found,
            part=json.dumps([model, prompt]),
            model=model,
            name=described if len(prompts) == 1 else f"{described}, prompt {prompts.index(prompt) + 1}",
            facts=_facts(document, prompt),
            completed_at=completed_at,
        )
        for (model, prompt), found in columns.items()
    ]


def _summary(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The summary: the document itself, or what stands in it under ``results``."""
    inner = document.get("results")
    if isinstance(inner, dict):
        return inner, "results.results"
    return document, "results"


def _column(where: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Provider and prompt, as promptfoo labels them."""
    provider = row.get("provider")
    if isinstance(provider, dict):
        given = optional_text(provider.get("label"), f"{where}.provider.label")
        provider = given or provider.get("id")
    model = reading.text(provider, f"{where}.provider.id").strip()
    if not model:
        raise ImportProblem(f"{where}.provider.id: empty, where the name of a provider is wanted")
    prompt = optional_mapping(row.get("prompt"), f"{where}.prompt")
    label = optional_text(prompt.get("label"), f"{where}.prompt.label")
    number = reading.count(row.get("promptIdx"), f"{where}.promptIdx")
    told = label or optional_text(row.get("promptId"), f"{where}.promptId")
    return model, told or ("" if number is None else f"prompt {number}")


def _facts(document: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    told = {"promptfoo evaluation": optional_text(document.get("evalId"), "evalId"), "prompt": prompt}
    return {name: text for name, text in told.items() if text}


def _run(rows: Sequence[Row], **told: Any) -> ExternalRun:
    tasks: dict[str, ExternalTask] = {}
    seen: Counter[str] = Counter()
    results = []
    for where, row in rows:
        key = _task_key(where, row)
        if key not in tasks:
            tasks[key] = _task(where, row, taken={task.id for task in tasks.values()})
        seen[key] += 1
        results.append(_result(where, row, tasks[key].id, seen[key]))
    if max(seen.values()) > reading.MOST_REPEATS:
        raise ImportProblem(f"one test is there more than {reading.MOST_REPEATS:,} times")
    scored = dict.fromkeys(name for result in results for name in result.scores)
    metrics = list(dict.fromkeys([PASS, *scored]))
    return ExternalRun(format=FORMAT, tasks=list(tasks.values()), results=results, metrics=metrics, **told)


def _task_key(where: str, row: Mapping[str, Any]) -> str:
    """Equal for rows that ask and demand the same, which are repeats of one test."""
    demanded = [one for _, one in _assertions(where, row)]
    return json.dumps([_asked(where, row), demanded], sort_keys=True)


def _task(where: str, row: Mapping[str, Any], taken: set[str]) -> ExternalTask:
    number = reading.count(row.get("testIdx"), f"{where}.testIdx")
    task_id = f"test-{len(taken) + 1 if number is None else number + 1}"
    while task_id in taken:
        task_id += "-again"
    return ExternalTask(task_id, _asked(where, row), _expected(where, row))


def _asked(where: str, row: Mapping[str, Any]) -> str:
    """The prompt with its variables put in; a chat's only message by itself."""
    prompt = optional_mapping(row.get("prompt"), f"{where}.prompt")
    raw = optional_text(prompt.get("raw"), f"{where}.prompt.raw")
    if raw.strip():
        return raw
    variables = optional_mapping(row.get("vars"), f"{where}.vars")
    if not variables:
        raise ImportProblem(f"{where}: neither prompt.raw nor vars tell what was asked")
    return "\n".join(f"{reading.as_text(name)}: {reading.as_text(value)}" for name, value in variables.items())


def _assertions(where: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    case = optional_mapping(row.get("testCase", row.get("test")), f"{where}.testCase")
    for place, one in enumerate(optional_sequence(case.get("assert"), f"{where}.testCase.assert")):
        here = f"{where}.testCase.assert[{place}]"
        yield here, mapping(one, here)


def _expected(where: str, row: Mapping[str, Any]) -> str:
    """The value of the first assertion that has the wanted answer for one; empty where none has."""
    for here, one in _assertions(where, row):
        if optional_text(one.get("type"), f"{here}.type") in _EXPECTING and isinstance(
            one.get("value"), str | int | float
        ):
            return _with_variables(reading.as_text(one["value"]), optional_mapping(row.get("vars"), f"{where}.vars"))
    return ""


def _with_variables(template: str, variables: Mapping[str, Any]) -> str:
    def put(found: re.Match[str]) -> str:
        return reading.as_text(variables[found[1]]) if found[1] in variables else found[0]

    return re.sub(r"\{\{\s*([\w.-]{1,100})\s*\}\}", put, template)


def _result(where: str, row: Mapping[str, Any], task_id: str, repeat: int) -> ExternalResult:
    response = _response(row.get("response"), f"{where}.response")
    error = _request_error(where, row, response)
    output = response.get("output")
    usage = optional_mapping(row.get("tokenUsage") or response.get("tokenUsage"), f"{where}.tokenUsage")
    answer = "" if output is None else reading.as_text(output)
    asked = _asked(where, row)
    messages = [{"role": "user", "content": asked}, *([{"role": "assistant", "content": answer}] if answer else [])]
    cost = reading.amount(row.get("cost", response.get("cost")), f"{where}.cost")
    return ExternalResult(
        task_id=task_id,
        repeat=repeat,
        answer=answer,
        messages=messages,
        scores={} if error else _scores(where, row),
        error=error,
        finish_reason=optional_text(response.get("finishReason"), f"{where}.response.finishReason")[:40],
        duration_ms=reading.amount(row.get("latencyMs"), f"{where}.latencyMs"),
        tokens_in=reading.count(usage.get("prompt"), f"{where}.tokenUsage.prompt") or None,
        tokens_out=reading.count(usage.get("completion"), f"{where}.tokenUsage.completion") or None,
        cost_usd=cost or None,  # promptfoo writes 0 where it knows no price
        cached=response.get("cached") is True,
    )


def _response(value: Any, where: str) -> Mapping[str, Any]:
    return {"output": value} if isinstance(value, str) else optional_mapping(value, where)


def _request_error(where: str, row: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Why there is no answer. An ``error`` alone may also tell why an assertion failed."""
    said = row.get("error") or response.get("error")
    reason = reading.count(row.get("failureReason"), f"{where}.failureReason")
    graded = isinstance(row.get("gradingResult"), dict)
    failed = (
        reason == REQUEST_FAILED
        or (reason is None and said and not graded)
        or (response.get("output") is None and not graded)
    )
    if not failed:
        return None
    return reading.as_text(said) if said else "promptfoo tells no answer and no reason"


def _scores(where: str, row: Mapping[str, Any]) -> dict[str, Score]:
    grading = optional_mapping(row.get("gradingResult"), f"{where}.gradingResult")
    place = f"{where}.gradingResult.componentResults"
    parts = [
        (f"{place}[{number}]", mapping(part, f"{place}[{number}]"))
        for number, part in enumerate(optional_sequence(grading.get("componentResults"), place))
        if part is not None
    ]
    if not parts and not list(_assertions(where, row)):
        return {PASS: Score(ScoreStatus.NOT_APPLICABLE, reason="The test has no assertions.")}
    reason = optional_text(grading.get("reason"), f"{where}.gradingResult.reason")
    broken = next((_reason(*part) for part in parts if _grader_failed(*part)), None)
    if broken is not None:
        found = {PASS: Score(ScoreStatus.JUDGE_ERROR, reason=f"A grader failed: {broken}")}
    else:
        passed = row.get("success", grading.get("pass"))
        if not isinstance(passed, bool):
            raise ImportProblem(f"{where}.success: true or false is wanted")
        found = {PASS: Score(ScoreStatus.SCORED, float(passed), reason)}
        found |= _value("score", row.get("score", grading.get("score")), reason, f"{where}.score")
    used: Counter[str] = Counter()
    for here, part in parts:
        name = _assertion_name(here, part)
        used[name] += 1
        numbered = name if used[name] == 1 else f"{name} {used[name]}"
        if _grader_failed(here, part):
            failed = Score(ScoreStatus.JUDGE_ERROR, reason=_reason(here, part))
            found[reading.metric_name(FORMAT, numbered)] = failed
        else:
            found |= _value(numbered, part.get("score"), _reason(here, part), f"{here}.score")
    return found


def _value(name: str, value: Any, reason: str, where: str) -> dict[str, Score]:
    """The score under its name. One beyond 1, which promptfoo's own scripts may give, is not comparable with others."""
    if value is None:
        return {}
    metric = reading.metric_name(FORMAT, name)
    if isinstance(value, bool):
        return {metric: Score(ScoreStatus.SCORED, float(value), reason)}
    if not isinstance(value, int | float):
        raise ImportProblem(f"{where}: a number is wanted")
    if not 0 <= value <= 1:
        said = printable(str(value) if isinstance(value, float) or abs(value) < 10**30 else "a huge number")
        return {metric: Score(ScoreStatus.NOT_APPLICABLE, reason=f"{said} is no score from 0 to 1. {reason}".strip())}
    return {metric: Score(ScoreStatus.SCORED, float(value), reason)}


def _assertion_name(where: str, part: Mapping[str, Any]) -> str:
    one = optional_mapping(part.get("assertion"), f"{where}.assertion")
    given = optional_text(one.get("metric"), f"{where}.assertion.metric").strip()
    name = given or optional_text(one.get("type"), f"{where}.assertion.type").strip()
    return f"{name or 'assertion'} assertion" if name in ("", "pass", "score") else name


def _grader_failed(where: str, part: Mapping[str, Any]) -> bool:
    return optional_mapping(part.get("metadata"), f"{where}.metadata").get("graderError") is True


def _reason(where: str, part: Mapping[str, Any]) -> str:
    return optional_text(part.get("reason"), f"{where}.reason")
