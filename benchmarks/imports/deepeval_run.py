"""Test runs of DeepEval 4, as it writes them to ``.deepeval/.latest_test_run.json`` and ``DEEPEVAL_RESULTS_FOLDER``.

Whether a test case passed decides the outcome; the score of each metric is a further metric. A metric that failed has
no score, and neither does a case that failed only because of it. Test cases that ask and expect the same repeat one
task. The counts of passes, failures and errors, the means and the cost must be those of the file's own summary.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from benchmarks.dataset_format.limits import MAX_NAME
from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.imports import chats
from benchmarks.imports.assembly import check_count, is_same, numbered
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.parts import (
    Amount,
    Count,
    Part,
    Text,
    as_text,
    at,
    expected,
    label_values,
    plain_json,
    read,
    sampling_of,
    tag_values,
)
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem, Spent, Unused
from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.providers.clean_text import storable

PASS = "pass"
_OWN_NAME = re.compile(r"\.?latest_(?:test_run|run_full).*|test_run_\d{8}_\d{6}.*")
"""How DeepEval itself names files, which says nothing about what was tested."""
WITHOUT_MODEL = "DeepEval's metrics"
"""Stands for the judge of metrics that cost something but name no model."""
_NOT_MEASURED = Score(ScoreStatus.NOT_APPLICABLE, reason="The test case has no such metric.")
_SPANS = ("agentSpans", "toolSpans", "retrieverSpans", "llmSpans", "baseSpans")


def _verdict(value: Any) -> Any:
    if value is not None and not isinstance(value, bool):
        raise expected("true or false")
    return value


def _number(value: Any) -> Any:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    raise expected("a number")


Number = Annotated[Any, BeforeValidator(_number)]
Verdict = Annotated[Any, BeforeValidator(_verdict)]


class Metric(Part):
    """The verdict of one metric on one test case."""

    called: ClassVar = "metrics"
    name: Text
    score: Number = None
    success: Verdict = None
    reason: Text = ""
    error: Text = ""
    flaky: Any = False
    model: Text = at("evaluationModel", "")
    cost: Amount | None = at("evaluationCost")
    tokens_in: Count | None = at("inputTokenCount")
    tokens_out: Count | None = at("outputTokenCount")
    expectations: Any = at("expectationsData")

    @property
    def counts(self) -> bool:
        """Whether DeepEval does not count it as an error. It does count what is not a number."""
        return self.score is not None and self.success is not None

    @property
    def has_score(self) -> bool:
        return self.counts and math.isfinite(self.score)


class Tool(Part):
    called: ClassVar = "tool calls"
    without_loss: ClassVar = frozenset({"type"})
    name: Text
    arguments: Annotated[Any, BeforeValidator(plain_json)] = at("inputParameters")


class Turn(Part):
    called: ClassVar = "turns"
    without_loss: ClassVar = frozenset({"order"})
    role: Text
    content: Text = ""


class Span(Part):
    called: ClassVar = "spans"
    metrics: tuple[Metric, ...] = at("metricsData", ())


class Case(Part):
    """A test case; that of a conversation has turns in place of input and output."""

    called: ClassVar = "test cases"
    without_loss: ClassVar = frozenset({"order", "runDuration", "evaluationCost", "expectationsData"})
    name: Text = ""
    input: Text = ""
    output: Text | None = at("actualOutput")
    expected: Text = at("expectedOutput|expectedOutcome", "")
    scenario: Text = ""
    turns: tuple[Turn, ...] = ()
    context: Any = None
    """The passages that should have been retrieved; DeepEval gives them to no model."""
    retrieved: Any = at("retrievalContext")
    tools: tuple[Tool, ...] = at("toolsCalled", ())
    expected_tools: tuple[Tool, ...] = at("expectedTools", ())
    cost: Amount | None = at("tokenCost")
    tokens_in: Count | None = at("inputTokenCount")
    tokens_out: Count | None = at("outputTokenCount")
    seconds: Amount | None = at("completionTime")
    success: Verdict = None
    metrics: tuple[Metric, ...] = at("metricsData", ())
    metadata: dict[str, object] = Field({})
    tags: Any = None
    trace: dict[str, object] = at("trace", {})

    @property
    def answer(self) -> str:
        """The output, or the last turn if it is the assistant's."""
        if self.turns:
            return self.turns[-1].content if self.turns[-1].role == "assistant" else ""
        return self.output or ""

    @property
    def asked(self) -> list[dict[str, str]]:
        """The turns that the answer follows, as a chat."""
        turns = self.turns[:-1] if self.turns and self.turns[-1].role == "assistant" else self.turns
        return [{"role": turn.role, "content": turn.content} for turn in turns]

    @property
    def question(self) -> str:
        text = "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in self.asked)
        return "\n\n".join(filter(str.strip, (self.scenario, text))) if self.turns else self.input


class Totals(Part):
    """A metric in the summary of the file."""

    called: ClassVar = "the summary"
    metric: Text
    scores: tuple[Number, ...] = ()
    passes: Count = 0
    fails: Count = 0
    errors: Count = 0


class Run(Part):
    called: ClassVar = "the test run"
    cases: tuple[Any, ...] = at("testCases", ())
    conversations: tuple[Any, ...] = at("conversationalTestCases", ())
    totals: tuple[Totals, ...] = at("metricsScores", ())
    passed: Count | None = at("testPassed")
    failed: Count | None = at("testFailed")
    cost: Amount | None = at("evaluationCost")
    identifier: Text = ""
    file: Text = at("testFile", "")
    dataset: Text = at("datasetAlias", "")
    settings: dict[str, object] = at("hyperparameters", {})
    seconds: Amount | None = at("runDuration")


class Document(Part):
    """The run, or in ``.latest_test_run.json`` an object with it."""

    without_loss: ClassVar = frozenset({"testRunLink"})
    inner: Any = at("testRunData")


_KEYS = frozenset({"testRunData", "testRunLink", "testCases", "conversationalTestCases"})


class DeepEvalImporter(Importer):
    name = "deepeval"
    title = "DeepEval"
    files = "test runs (.json)"
    made_with = "deepeval test run TESTS.py"

    def detect(self, files: Files) -> list[Files]:
        return [[file] for file in files if _KEYS & file.outline.keys()]

    def read(self, log: Files) -> list[ImportedRun]:
        (file,) = log
        return [_run_of(file.document(), file.stem)]


def _run_of(document: Any, name: str) -> ImportedRun:
    """The run of a document; ``name`` replaces a missing identifier."""
    unused: Unused = Counter()
    inner = read(Document, document, "").inner
    if inner is not None:
        read(Document, document, "", unused)
    where = "" if inner is None else "testRunData"
    run = read(Run, document if inner is None else inner, where, unused)
    inside = f"{where}." if where else ""
    cases = [
        read(Case, value, f"{inside}{key}[{index}]", unused)
        for key, values in (("testCases", run.cases), ("conversationalTestCases", run.conversations))
        for index, value in enumerate(values)
    ]
    if not cases:
        raise ImportProblem(
            "testCases: none found. A run that was uploaded leaves only a link here; "
            "set DEEPEVAL_RESULTS_FOLDER, and import the file written there"
        )
    spans = [
        metric for index, case in enumerate(cases) for metric in _of_spans(case, f"{inside}case {index + 1}.trace")
    ]
    _check(run, cases, spans, inside)
    tasks: dict[str, TaskSpec] = {}
    results = []
    for number, case in enumerate(cases, 1):
        if not case.question.strip():
            raise ImportProblem(f"{inside}case {number}: expected input or turns, found nothing")
        key = json.dumps([case.question, case.expected, case.context, _expected_calls(case)], sort_keys=True)
        if key not in tasks:
            tasks[key] = _task(case, number, unused)
        results.append(_result(case, tasks[key].id, unused))
    settings = {as_text(key): value for key, value in run.settings.items()}
    model = settings.get("model")
    sampling = sampling_of(settings)
    facts = {
        f"hyperparameter {printable(key)}": as_text(value)
        for key, value in settings.items()
        if key != "model" and key not in sampling
    }
    return ImportedRun(
        model=printable(as_text(model)) if model else "",
        name=run.identifier
        or run.dataset
        or Path(run.file).stem
        or ("test run" if _OWN_NAME.fullmatch(name) else name),
        tasks=list(tasks.values()),
        results=results,
        metrics=[PASS],
        missing=_NOT_MEASURED,
        parameters=sampling,
        facts={**facts, "test file": run.file},
        unused=list(_unused(run, cases)),
        unread=unused + _left_out(cases, spans),
    )


def _of_spans(case: Case, where: str) -> Iterator[Metric]:
    """The verdicts on spans of the trace, which DeepEval counts with those on test cases."""
    for kind in _SPANS:
        spans = case.trace.get(kind)
        for index, span in enumerate(spans if isinstance(spans, list) else ()):
            yield from read(Span, span, f"{where}.{kind}[{index}]").metrics


def _check(run: Run, cases: Sequence[Case], spans: Sequence[Metric], inside: str) -> None:
    """Compare the passes, the counts and mean of each metric, and the cost with the file's own summary."""
    for what, stated, verdict in (("testPassed", run.passed, True), ("testFailed", run.failed, False)):
        counted = sum(case.success is verdict for case in cases)
        check_count(f"{inside}{what}", stated, counted, "test cases found")
    by_name: dict[str, list[Metric]] = defaultdict(list)
    for metric in (*(metric for case in cases for metric in case.metrics), *spans):
        if metric.expectations is None:
            by_name[metric.name].append(metric)
    for totals in run.totals:
        scored = [metric for metric in by_name[totals.metric] if metric.counts]
        errors = len(by_name[totals.metric]) - len(scored)
        passes = sum(metric.success for metric in scored)
        stated_counts, counts = (totals.passes, totals.fails, totals.errors), (passes, len(scored) - passes, errors)
        place = f"{inside}metricsScores: {quoted(totals.metric)} has"
        if stated_counts != counts:
            raise ImportProblem(f"{place} {_counts(*stated_counts)}, but {_counts(*counts)} found in the test cases")
        finite = [metric.score for metric in scored if metric.has_score]
        mean, found_mean = _mean([score for score in totals.scores if math.isfinite(score)]), _mean(finite)
        if len(totals.scores) != len(scored) or not is_same(mean, found_mean):
            raise ImportProblem(f"{place} the mean {mean:.6g}, but that of the test cases is {found_mean:.6g}")
    costs = [metric.cost for case in cases for metric in case.metrics if metric.cost is not None]
    if run.cost is not None and not is_same(run.cost, math.fsum(costs)):
        raise ImportProblem(
            f"{inside}evaluationCost: {run.cost:.6g}, but the metrics of the test cases cost {math.fsum(costs):.6g}"
        )


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / max(1, len(scores))


def _counts(passes: int, fails: int, errors: int) -> str:
    return f"{passes:,} passes, {fails:,} failures and {errors:,} errors"


def _task(case: Case, number: int, unused: Unused) -> TaskSpec:
    """The turns of a conversation are its messages; then what it is about, if short, is in its metadata."""
    chat = chats.messages_of(case.asked)
    about = label_values({"scenario": case.scenario}, "test cases", unused, "") if chat and case.scenario else {}
    return TaskSpec(
        id=f"case-{number}",
        name=printable(" ".join(case.name.split()))[:MAX_NAME] or f"case {number}",
        input="" if chat else case.question,
        messages=chat or (),
        expected_output=case.expected,
        expected_context=_passages(case.context, "context", unused) or (),
        expected_tools=tuple(ToolUse(**call) for call in _expected_calls(case)),
        tags=tag_values(case.tags, "test cases", unused),
        metadata={**label_values(case.metadata, "test cases", unused), **about},
    )


def _expected_calls(case: Case) -> list[dict[str, Any]]:
    return [{"name": tool.name, "args": tool.arguments or {}} for tool in case.expected_tools]


def _passages(given: Any, name: str, unused: Unused) -> tuple[str, ...] | None:
    """A list of texts; anything else is noted as unused."""
    if not given:
        return None if given is None else ()
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        unused[name, "test cases"] += 1
        return None
    return tuple(storable(text, []) for text in given)


def _result(case: Case, task_id: str, unused: Unused) -> ImportedResult:
    turns = [{"role": turn.role, "content": turn.content} for turn in case.turns]
    spoken = [{"role": "user", "content": case.question}, {"role": "assistant", "content": case.answer}]
    calls = [
        {
            "name": tool.name,
            "arguments": tool.arguments if isinstance(tool.arguments, dict) else None,
            "raw": json.dumps(tool.arguments, ensure_ascii=False),
            "malformed": not isinstance(tool.arguments, dict | None),
        }
        for tool in case.tools
    ]
    return ImportedResult(
        task_id=task_id,
        answer=case.answer,
        messages=turns or spoken,
        tool_calls=calls,
        retrieved=_passages(case.retrieved, "retrievalContext", unused),
        scores=_scores(case),
        duration_ms=None if case.seconds is None else 1_000 * case.seconds,
        tokens_in=case.tokens_in,
        tokens_out=case.tokens_out,
        cost_usd=case.cost,
        judging=_judging(case.metrics),
    )


def _judging(metrics: Sequence[Metric]) -> dict[str, Spent]:
    """What metrics used, by their model. What DeepEval does not know is not in its own sum either."""
    by_model: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics:
        if metric.cost is not None or metric.tokens_in is not None:
            by_model[metric.model or WITHOUT_MODEL].append(metric)

    def total(numbers: Iterable[Any]) -> Any:
        known = [number for number in numbers if number is not None]
        return sum(known) if known else None

    return {
        model: Spent(
            total(metric.tokens_in for metric in used),
            total(metric.tokens_out for metric in used),
            total(metric.cost for metric in used),
        )
        for model, used in by_model.items()
    }


def _scores(case: Case) -> dict[str, Score]:
    names = numbered((metric.name for metric in case.metrics), "metric", PASS)
    return {PASS: _passed(case), **dict(zip(names, map(_of_metric, case.metrics), strict=True))}


def _of_metric(metric: Metric) -> Score:
    if metric.has_score:
        return Score(ScoreStatus.SCORED, metric.score, metric.reason)
    status = ScoreStatus.JUDGE_ERROR if metric.model else ScoreStatus.METRIC_ERROR
    why = "DeepEval reports neither a score nor a reason." if metric.score is None else f"The score is {metric.score}."
    return Score(status, reason=metric.error or why)


def _passed(case: Case) -> Score:
    """Whether the case passed. One that failed only because a metric did has no score."""
    deciding = [metric for metric in case.metrics if metric.flaky is not True]
    if not deciding:
        return Score(ScoreStatus.NOT_APPLICABLE, reason="The test case has no metric that decides.")
    if case.success is None:
        return Score(ScoreStatus.METRIC_ERROR, reason="DeepEval does not report whether the test case passed.")
    failed = next((metric for metric in deciding if metric.has_score and not metric.success), None)
    broken = next((metric for metric in deciding if not metric.has_score), None)
    if case.success is False and failed is None and broken is not None:
        return Score(_of_metric(broken).status, reason=f"{broken.name} failed: {_of_metric(broken).reason}")
    return Score(ScoreStatus.SCORED, float(case.success), f"{failed.name}: {failed.reason}" if failed else "")


def _unused(run: Run, cases: Sequence[Case]) -> Iterator[str]:
    if not run.settings.get("model"):
        yield "The file does not name the model: it has no hyperparameter model."
    unpriced = {metric.model for case in cases for metric in case.metrics if metric.model and metric.cost is None}
    if unpriced:
        yield f"The cost of {', '.join(sorted(unpriced))} is not known to DeepEval, and not in the cost of the judge."


def _left_out(cases: Sequence[Case], spans: Sequence[Metric]) -> Unused:
    """What is read to tell test cases apart and to check the summary, and is not stored."""
    return Counter(
        {
            ("trace", "test cases"): sum(bool(case.trace) for case in cases),
            ("metricsData", "spans of traces"): len(spans),
        }
    )
