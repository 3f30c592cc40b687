"""Results of promptfoo as ``promptfoo eval --output`` writes them to JSON and YAML, versions 2 and 3 of the summary,
and to JSON Lines, which have the results only.

Each column of promptfoo's table, a provider with a prompt, becomes a run. With several prompts, a task is what they are
filled with, their variables, so that all columns have the same tasks; with one it is the filled prompt, and if that is
a chat, its messages. Whether a test passed decides the outcome; its score and each assertion are further metrics, or
measurements if a value in the file is below 0 or above 1. A test without assertions passes in promptfoo, so it has no
score here. A request or a grader that failed is an error, not a zero, and so is an assertion that promptfoo rejects.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, model_validator

from benchmarks.dataset_format.limits import MAX_NAME
from benchmarks.dataset_format.messages import as_text as text_of_chat
from benchmarks.dataset_format.problems import printable
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.imports import chats, reading
from benchmarks.imports.assembly import check_count, numbered, score_of
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.parts import (
    Amount,
    Count,
    Moment,
    Part,
    Text,
    as_text,
    at,
    expected,
    label_values,
    read,
    shown,
)
from benchmarks.imports.promptfoo_providers import Column, Placed, Providers
from benchmarks.imports.reading import ForeignFile
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem, Spent, Unused
from benchmarks.metrics.base import Score, ScoreStatus

GRADER = "promptfoo's grader"
"""Its model is not in the file."""
REQUEST_FAILED = 2
"""Promptfoo's ``failureReason``; 0 is no failure, 1 a failed assertion."""
_REJECTED = re.compile(
    r"\s+at (?:async )?runAssertions? \("
    r"|(?:Error: )?(?:Unknown assertion type: |Invariant failed: \"[\w-]+\" assertion )"
)
"""How the error of a test reads, or its stack, that did not fail at the request but at an assertion."""
_INVALID = "Invalid regex pattern: "
"""How the reason of an assertion begins that no answer could pass."""
_NOT_ASSERTED = Score(ScoreStatus.NOT_APPLICABLE, reason="The test has no such assertion.")
_EXPECTING = frozenset(
    {"equals", "contains", "icontains", "starts-with", "similar", "levenshtein", "rouge-n", "bleu", "factuality"}
    | {"model-graded-factuality", "model-graded-closedqa", "contains-json", "is-json"}
)
"""Assertions whose value is, or describes, the expected answer."""
_FILLED = re.compile(r"\{[{%](.{0,1000}?)[}%]\}", re.DOTALL)
"""What a template replaces or decides by."""
_LONGEST_NAME = 60
MAX_VARIANT = 100
_OWN = ("assertion", "pass", "score")
"""What an assertion is called without a name, and names that are those of a test."""


def _provider(value: Any) -> Any:
    name = (value.get("label") or value.get("id")) if isinstance(value, dict) else value
    if not isinstance(name, str) or not name.strip():
        raise expected("the name of a provider")
    return name.strip()


def _provider_id(value: Any) -> Any:
    given = value.get("id") if isinstance(value, dict) else value
    return given if isinstance(given, str) else ""


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise expected("a number")
    return value


Number = Annotated[Any, BeforeValidator(_number)]


class Component(Part):
    """The verdict of one assertion."""

    called: ClassVar = "assertions"
    without_loss: ClassVar = frozenset({"assertion.value", "metadata.renderedAssertionValue", "pass", "tokensUsed"})
    score: Number = None
    reason: Text = ""
    metric: Text = at("assertion.metric", "")
    type: Text = at("assertion.type", "")
    grader_failed: Any = at("metadata.graderError")

    @property
    def failure(self) -> Score | None:
        """The score of an assertion that failed itself, so that it says nothing about the answer."""
        if self.grader_failed is True:
            return Score(ScoreStatus.JUDGE_ERROR, reason=self.reason)
        return Score(ScoreStatus.METRIC_ERROR, reason=self.reason) if self.reason.startswith(_INVALID) else None


class Grading(Part):
    called: ClassVar = "grading results"
    without_loss: ClassVar = frozenset({"tokensUsed", "namedScores", "namedScoreWeights"})
    passed: Any = at("pass")
    score: Number = None
    reason: Text = ""
    components: tuple[Component | None, ...] = at("componentResults", ())


class Usage(Part):
    called: ClassVar = "usage"
    without_loss: ClassVar = frozenset({"assertions", "cached", "numRequests", "total"})
    prompt: Count | None = None
    completion: Count | None = None
    reasoning: Count | None = at("completionDetails.reasoning")


class Row(Part):
    """One test with one provider and one prompt."""

    called: ClassVar = "results"
    without_loss: ClassVar = frozenset(
        {"id", "promptIdx", "testCase.vars", "testCase.options", "prompt.config", "namedScores"}
    )
    provider: Annotated[Text, BeforeValidator(_provider)]
    provider_id: Annotated[Text, BeforeValidator(_provider_id)] = at("provider", "")
    prompt: Text = at("prompt.raw", "")
    prompt_label: Text = at("prompt.label", "")
    prompt_id: Text = at("promptId", "")
    prompt_index: Count | None = at("promptIdx")
    test_index: Count | None = at("testIdx")
    variables: dict[str, object] = at("vars", {})
    metadata: dict[str, object] = at("testCase.metadata|test.metadata", {})
    description: Text = at("testCase.description|test.description|description", "")
    assertions: tuple[dict[str, object], ...] = at("testCase.assert|test.assert", ())
    output: Any = at("response.output")
    response_error: Any = at("response.error")
    cached: Any = at("response.cached")
    finish_reason: Text = at("response.finishReason", "")
    usage: Usage = at("tokenUsage|response.tokenUsage", Usage())
    grading_usage: Usage = at("tokenUsage.assertions|gradingResult.tokensUsed", Usage())
    cost: Amount | None = at("cost|response.cost")
    latency_ms: Amount | None = at("latencyMs")
    error: Any = None
    failure_reason: Count | None = at("failureReason")
    success: Any = None
    score: Number = None
    grading: Grading | None = at("gradingResult")

    @model_validator(mode="before")
    @classmethod
    def _of_plain_response(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("response"), str):
            return {**value, "response": {"output": value["response"]}}
        return value

    @property
    def question(self) -> str:
        """The prompt with its variables filled in; without a prompt the variables themselves."""
        if self.prompt.strip():
            return self.prompt
        return "\n".join(f"{as_text(name)}: {as_text(value)}" for name, value in self.variables.items())

    @property
    def chat(self) -> tuple[Mapping[str, object], ...] | None:
        """The messages of a prompt that promptfoo sends as a chat, a list in JSON or YAML; see ``messages_of``."""
        text = self.prompt.strip()
        reader = reading.json_of if text.startswith("[") else reading.yaml_of if text.startswith("- role:") else None
        try:
            return chats.messages_of(reader(text.encode(), "")) if reader else ()
        except ImportProblem:
            return ()

    @property
    def unfilled(self) -> str:
        """The prompt with the names of the variables in place of their values."""
        values = {as_text(value): as_text(name) for name, value in self.variables.items() if value not in (None, "")}
        pattern = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
        return re.sub(pattern, lambda match: f"{{{{{values[match[0]]}}}}}", self.prompt) if pattern else self.prompt

    @property
    def request_error(self) -> str | None:
        """Why there is no answer. An ``error`` alone may also be the reason why an assertion failed."""
        if self.rejection:
            return None
        reason = self.error or self.response_error
        failed = (
            self.failure_reason == REQUEST_FAILED
            or (self.failure_reason is None and reason and self.grading is None)
            or (self.output is None and self.grading is None)
        )
        if not failed:
            return None
        return as_text(reason) if reason else "promptfoo reports neither an answer nor a reason"

    @property
    def rejection(self) -> str:
        """Why promptfoo rejected an assertion, in one line; empty if it did not. It keeps no answer then."""
        text = self.error if isinstance(self.error, str) and self.grading is None else ""
        return text.partition("\n")[0].removeprefix("Error: ") if _REJECTED.search(text) else ""

    @property
    def components(self) -> list[Component]:
        return [component for component in self.grading.components if component] if self.grading else []

    @property
    def failed_assertion(self) -> Score | None:
        """The first assertion that failed itself, as a score of the test."""
        failure = next((failure for component in self.components if (failure := component.failure)), None)
        if failure is None:
            return None
        what = "A grader" if failure.status is ScoreStatus.JUDGE_ERROR else "An assertion"
        return replace(failure, reason=f"{what} failed: {failure.reason}")

    @property
    def has_verdict(self) -> bool:
        """Whether the test was graded. Without assertions promptfoo passes a test unseen."""
        graded = bool(self.components or self.assertions) and self.failed_assertion is None
        return graded and not self.rejection and self.request_error is None

    @property
    def passed(self) -> Any:
        return self.grading.passed if self.success is None and self.grading else self.success


class Stats(Part):
    called: ClassVar = "the summary"
    without_loss: ClassVar = frozenset({"durationMs", "evaluationDurationMs"})
    successes: Count | None = None
    failures: Count | None = None
    errors: Count | None = None
    usage: Usage | None = at("tokenUsage")


class Summary(Part):
    called: ClassVar = "the summary"
    without_loss: ClassVar = frozenset({"version"})
    results: tuple[Any, ...] = ()
    stats: Stats = Stats()
    prompts: Any = at("prompts|table.head.prompts")
    timestamp: Moment = None


class Document(Part):
    called: ClassVar = "the file"
    without_loss: ClassVar = frozenset(
        {"results", "vars", "shareableUrl"}
        | {f"metadata.{key}" for key in ("exportedAt", "evaluationCreatedAt", "platform", "arch", "nodeVersion")}
        | {f"config.{key}" for key in ("prompts", "tests", "defaultTest", "sharing", "outputPath")}
    )
    evaluation: Text = at("evalId", "")
    providers: Any = at("config.providers")
    description: Text = at("config.description", "")
    version: Text = at("metadata.promptfooVersion", "")


_IN_RESULTS = frozenset({"provider", "results", "stats"})
"""Keys of a summary, or of its first result."""


class PromptfooImporter(Importer):
    name = "promptfoo"
    title = "promptfoo"
    files = "results (.json, .yaml, .yml or .jsonl)"
    made_with = "promptfoo eval --output results.json"

    def detect(self, files: Files) -> list[Files]:
        def is_ours(file: ForeignFile) -> bool:
            if file.has_rows:
                return not file.outline or "provider" in file.outline
            inside = file.outline.get("results")
            return inside is not None and (not inside or not _IN_RESULTS.isdisjoint(inside))

        return [[file] for file in files if is_ours(file)]

    def read(self, log: Files) -> list[ImportedRun]:
        (file,) = log
        return _runs_of({"results": file.rows()} if file.has_rows else file.document(), file.stem)


def _runs_of(document: Any, name: str) -> list[ImportedRun]:
    """The runs of a document; ``name`` replaces a missing description."""
    unused: Unused = Counter()
    head = read(Document, document, "", unused)
    # The summary is the document itself, or below its key ``results``.
    inner = document.get("results")
    nested = isinstance(inner, dict)
    summary = read(Summary, inner if nested else document, "results" if nested else "", unused)
    counts: list[Unused] = [Counter() for _ in summary.results]
    rows = [
        _row(value, f"{'results.' if nested else ''}results[{index}]", counts[index])
        for index, value in enumerate(summary.results)
    ]
    if not rows:
        raise ImportProblem("results: none found")
    # Promptfoo writes results in the order in which they came.
    ordered = sorted(zip(rows, counts, strict=True), key=lambda each: each[0].test_index or 0)
    rows, counts = [row for row, _ in ordered], [count for _, count in ordered]
    _check_stats(rows, summary.stats)
    prompts = _Prompts(rows, summary.prompts)
    placed = _columns(rows, prompts)
    sites = {column: Placed(row.provider_id, row.prompt_index) for row, column in placed}
    width = len(summary.prompts) if isinstance(summary.prompts, list) else 0
    providers = Providers(sites, head.providers, width, unused)
    columns: dict[Column, _Column] = {}
    tasks = _Tasks(prompts, unused)
    for (row, key), count in zip(placed, counts, strict=True):
        own = tasks if prompts.share_tasks else _Tasks(prompts, unused)
        column = columns.setdefault(key, _Column(own))
        column.results.append(_result(row, column.tasks.of(row).id))
        column.unread.update(count)
    title = head.description or name
    runs: list[ImportedRun] = []
    for key, column in columns.items():
        provider, prompt, place = key
        asked = providers.asked(key)
        prompt_variant = prompts.variant(prompt) if prompts.share_tasks else ""
        is_of_all = prompts.share_tasks or len(prompts.names) == 1
        runs.append(
            ImportedRun(
                tasks=list(column.tasks.specs.values()),
                results=column.results,
                metrics=["pass"],
                missing=_NOT_ASSERTED,
                part=json.dumps([provider, prompt, *([place] if Column(provider, prompt, 1) in columns else [])]),
                model=asked.model,
                variant=", ".join(filter(None, (prompt_variant, asked.variant)))[:MAX_VARIANT],
                name=title if is_of_all else f"{title}, prompt {prompts.number(prompt)}",
                parameters={**(prompts.parameters(prompt) if prompts.share_tasks else {}), **asked.parameters},
                evaluation=head.evaluation,
                facts={"promptfoo": head.version, "prompt": prompt},
                unread=column.unread if runs else column.unread + unused,
                completed_at=summary.timestamp,
            )
        )
    return runs


def _columns(rows: Sequence[Row], prompts: _Prompts) -> list[tuple[Row, Column]]:
    """Each row with its column. In older files without positions, equal names are one column."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    named = [(row, (row.provider, prompts.name_of(row))) for row in rows]
    for row, name in named:
        if row.prompt_index is not None and row.prompt_index not in places[name]:
            places[name].append(row.prompt_index)
    order = {name: sorted(indexes) for name, indexes in places.items()}
    return [
        (row, Column(*name, 0 if row.prompt_index is None else order[name].index(row.prompt_index)))
        for row, name in named
    ]


def _check_stats(rows: Sequence[Row], stats: Stats) -> None:
    """Compare the tokens, the number of tests, and that of tests that passed with those in the file's own summary."""
    for what in ("prompt", "completion"):
        used = sum(getattr(row.usage, what) or 0 for row in rows)
        check_count(f"results.stats.tokenUsage.{what}", getattr(stats.usage, what, None), used, "tokens of the results")
    if stats.successes is None or stats.failures is None or stats.errors is None:
        return
    total = stats.successes + stats.failures + stats.errors
    if total != len(rows):
        raise ImportProblem(f"results.stats: {total:,} tests, but {len(rows):,} results found")
    passed = sum(row.passed is True for row in rows)
    check_count("results.stats.successes", stats.successes, passed, "results passed")


def _row(value: Any, where: str, unused: Unused) -> Row:
    row = read(Row, value, where, unused)
    if not row.question:
        raise ImportProblem(f"{where}: neither prompt.raw nor vars contain the prompt")
    if row.has_verdict and not isinstance(row.passed, bool):
        raise ImportProblem(f"{where}.success: expected true or false, found {shown(row.passed)}")
    return row


class _Prompts:
    """The prompts of a file: their names, their templates where the file has them, and what they are filled with."""

    def __init__(self, rows: Sequence[Row], heads: Any) -> None:
        # The id is of the prompt's text; the index is that of the column, another one for each provider.
        labels = {(row.prompt_label, row.prompt_id) for row in rows if row.prompt_label}
        counts = Counter(label for label, _ in labels)
        self._repeated = {label for label, count in counts.items() if count > 1}
        self.names = list(dict.fromkeys(self.name_of(row) for row in rows))
        prompts = [head for head in (heads if isinstance(heads, list) else ()) if isinstance(head, dict)]
        self._templates = {as_text(head.get("label")): as_text(head["raw"]) for head in prompts if head.get("raw")}
        self._templates |= {name: name for name in self.names if "{{" in name and name not in self._templates}
        # JSON Lines have filled prompts only. A template is what all of one prompt are without their variables.
        for name in self.names if not self._templates else ():
            emptied = {row.unfilled for row in rows if self.name_of(row) == name}
            if len(emptied) == 1 and "{{" in (text := emptied.pop()):
                self._templates[name] = text
        filled = " ".join(block for text in self._templates.values() for block in _FILLED.findall(text))
        words = set(re.findall(r"[\w.-]+", filled))
        variables = {name for row in rows for name in row.variables}
        self.used = {name for name in variables if name in words or any(w.startswith(f"{name}.") for w in words)}
        self.share_tasks = len(self.names) > 1 and all(row.variables for row in rows)

    def name_of(self, row: Row) -> str:
        """The label of a prompt, with its id if several have it; without a label what else identifies it."""
        if row.prompt_label in self._repeated:
            return f"{row.prompt_label} ({row.prompt_id[:8]})"
        return row.prompt_label or row.prompt_id or ("" if row.prompt_index is None else f"prompt {row.prompt_index}")

    def number(self, name: str) -> int:
        return self.names.index(name) + 1

    def variant(self, name: str) -> str:
        """A short label as it is; by default promptfoo labels a prompt with all of its text."""
        is_short = len(name) <= _LONGEST_NAME and "{{" not in name and "\n" not in name
        return name if is_short and name else f"prompt {self.number(name)}"

    def parameters(self, name: str) -> dict[str, str]:
        """The prompt template: with one variable one of ours, otherwise promptfoo's text, or its label alone."""
        template = self._templates.get(name, name)
        if len(self.used) == 1 and "{%" not in template and not template.lstrip().startswith(("[", "{\n", '{"')):
            (variable,) = self.used
            parts = re.split(r"\{\{\s*" + re.escape(variable) + r"\s*\}\}", template)
            if len(parts) > 1:
                template = "{input}".join(part.replace("{", "{{").replace("}", "}}") for part in parts)
        return {"prompt_template": template} if template else {}


class _Tasks:
    """The tasks of one column, or of all. Rows that ask and assert the same repeat one task."""

    def __init__(self, prompts: _Prompts, unused: Unused) -> None:
        self.specs: dict[str, TaskSpec] = {}
        self._prompts = prompts
        self._unused = unused
        self._ids: Counter[str] = Counter()

    def of(self, row: Row) -> TaskSpec:
        chat = () if self._prompts.share_tasks else row.chat
        if chat is None:
            self._unused["prompt.raw as messages, which is text here,", "results"] += 1
        question = self._question(row)
        key = json.dumps([question, row.assertions], sort_keys=True)
        if key not in self.specs:
            task_id = f"test-{len(self.specs) + 1 if row.test_index is None else row.test_index + 1}"
            self._ids[task_id] += 1
            if self._ids[task_id] > 1:
                task_id = f"{task_id}-{self._ids[task_id]}"
            name = printable(" ".join(row.description.split()))[:MAX_NAME] or task_id
            self.specs[key] = TaskSpec(
                id=task_id,
                name=name,
                input="" if chat else question,
                messages=chat or (),
                expected_output=_expected_output(row),
                metadata=label_values(row.metadata, "the tasks", self._unused),
            )
        return self.specs[key]

    def _question(self, row: Row) -> str:
        """The variables that the prompts are filled with, all if that is unknown; or the filled prompt."""
        if not self._prompts.share_tasks:
            return row.question
        known = {name: as_text(value) for name, value in row.variables.items() if name in self._prompts.used}
        known = known or {name: as_text(value) for name, value in row.variables.items()}
        text = "\n".join(f"{as_text(name)}: {value}" for name, value in known.items())
        return (next(iter(known.values())) if len(known) == 1 else text).strip() or row.question


@dataclass(slots=True)
class _Column:
    """The results of one provider with one prompt."""

    tasks: _Tasks
    results: list[ImportedResult] = field(default_factory=list)
    unread: Unused = field(default_factory=Counter)


def _expected_output(row: Row) -> str:
    """The value of the first assertion that contains the expected answer, variables filled in; empty if none does."""

    def put(match: re.Match[str]) -> str:
        return as_text(row.variables[match[1]]) if match[1] in row.variables else match[0]

    for assertion in row.assertions:
        value = assertion.get("value")
        if str(assertion.get("type")) in _EXPECTING and isinstance(value, str | int | float):
            return re.sub(r"\{\{\s*([\w.-]{1,100})\s*\}\}", put, as_text(value))
    return ""


def _result(row: Row, task_id: str) -> ImportedResult:
    answer = "" if row.output is None else as_text(row.output)
    grading = row.grading_usage
    chat = row.chat or ({"role": "user", "content": row.question},)
    messages = [{"role": message["role"], "content": text_of_chat([message])} for message in chat]
    if answer:
        messages.append({"role": "assistant", "content": answer})
    return ImportedResult(
        task_id=task_id,
        answer=answer,
        answer_lost=bool(row.rejection) and row.output is None,
        messages=messages,
        scores={} if row.request_error else _scores(row),
        error=row.request_error,
        finish_reason=row.finish_reason[:40],
        duration_ms=row.latency_ms,
        # Promptfoo writes 0 for unknown numbers of tokens and for unknown prices.
        tokens_in=row.usage.prompt or None,
        tokens_out=row.usage.completion or None,
        reasoning_tokens=row.usage.reasoning or None,
        cost_usd=row.cost or None,
        # Promptfoo does not write what its graders cost.
        judging={GRADER: Spent(grading.prompt, grading.completion, None)} if grading.prompt else {},
        cached=row.cached is True,
    )


def _scores(row: Row) -> dict[str, Score]:
    """The scores by their names in promptfoo."""
    if not row.components and not row.assertions:
        return {"pass": Score(ScoreStatus.NOT_APPLICABLE, reason="The test has no assertions.")}
    if row.rejection:
        failed = Score(ScoreStatus.METRIC_ERROR, reason=f"promptfoo rejected an assertion: {row.rejection}")
        named = (as_text(assertion.get("metric") or assertion.get("type") or "") for assertion in row.assertions)
        return {"pass": failed, "score": failed, **dict.fromkeys(numbered(named, *_OWN), failed)}
    grading = row.grading or Grading()
    if row.failed_assertion is not None:
        scores = dict.fromkeys(("pass", "score"), row.failed_assertion)
    else:
        scores = {"pass": Score(ScoreStatus.SCORED, float(row.passed), grading.reason)}
        total = grading.score if row.score is None else row.score
        scores |= {} if total is None else {"score": score_of(total, PromptfooImporter.title, grading.reason)}
    names = numbered((component.metric.strip() or component.type for component in row.components), *_OWN)
    for name, component in zip(names, row.components, strict=True):
        scores[name] = component.failure or score_of(component.score, PromptfooImporter.title, component.reason)
    return scores
