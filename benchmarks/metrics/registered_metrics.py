"""The registry of metrics, in the order in which pages show them. A new metric is a file, a line here and a test; a
package adds one with an entry point (``benchmarks.plugins``).

The first metric of a run that applies to a task decides its outcome: a metric that reads or compares more comes before
one that does so less.
"""

from __future__ import annotations

from benchmarks.metrics.answer_relevancy import AnswerRelevancy
from benchmarks.metrics.base import Metric
from benchmarks.metrics.code_tests import CodeTests
from benchmarks.metrics.constraints import Constraints
from benchmarks.metrics.contains import Contains
from benchmarks.metrics.contextual_precision import ContextualPrecision
from benchmarks.metrics.contextual_recall import ContextualRecall
from benchmarks.metrics.conversations import Turns
from benchmarks.metrics.correctness import Correctness
from benchmarks.metrics.deciding import PREFIX, SEPARATOR, DecidingMetric, is_deciding
from benchmarks.metrics.exact_match import ExactMatch
from benchmarks.metrics.faithfulness import Faithfulness
from benchmarks.metrics.final_state import FinalState
from benchmarks.metrics.imported import imported_metric
from benchmarks.metrics.json_match import JsonMatch
from benchmarks.metrics.json_schema import JsonSchema
from benchmarks.metrics.json_valid import JsonValid
from benchmarks.metrics.latency import Latency
from benchmarks.metrics.length import Length
from benchmarks.metrics.levenshtein import Levenshtein
from benchmarks.metrics.multiple_choice import MultipleChoice
from benchmarks.metrics.numeric import Numeric
from benchmarks.metrics.preference import Preference
from benchmarks.metrics.regex import Regex
from benchmarks.metrics.retrieval import RetrievalPrecision, RetrievalRecall
from benchmarks.metrics.rouge_l import RougeL
from benchmarks.metrics.rubrics import TaskRubric, rubric_metric
from benchmarks.metrics.safe_refusal import SafeRefusal
from benchmarks.metrics.semantic_similarity import SemanticSimilarity
from benchmarks.metrics.task_score import TaskScore
from benchmarks.metrics.token_f1 import TokenF1
from benchmarks.metrics.tool_calls import ToolCalls, ToolCallsAnyOrder
from benchmarks.metrics.tool_correctness import ToolCorrectness
from benchmarks.metrics.trajectories import CallsBeforeWrong, NeededCalls, RecoveredErrors, UnrepeatedCalls
from benchmarks.metrics.translation import Bleu, ChrF
from benchmarks.plugins import Plugins
from benchmarks.sandbox.sandbox import Sandbox

_METRICS: tuple[Metric, ...] = (
    Correctness(),
    ToolCorrectness(),
    Faithfulness(),
    AnswerRelevancy(),
    ContextualPrecision(),
    ContextualRecall(),
    TaskRubric(),
    TaskScore(),
    Turns(),
    SafeRefusal(),
    Numeric(),
    MultipleChoice(),
    ExactMatch(),
    Contains(),
    Regex(),
    Constraints(),
    JsonMatch(),
    JsonSchema(),
    JsonValid(),
    FinalState(),
    ToolCalls(),
    ToolCallsAnyOrder(),
    NeededCalls(),
    UnrepeatedCalls(),
    RecoveredErrors(),
    CallsBeforeWrong(),
    CodeTests(),
    RetrievalRecall(),
    RetrievalPrecision(),
    TokenF1(),
    RougeL(),
    ChrF(),
    Bleu(),
    Levenshtein(),
    SemanticSimilarity(),
    Latency(),
    Length(),
)

REGISTERED_METRICS: Plugins[Metric] = Plugins(
    "metrics", "metric", Metric, {metric.name: metric for metric in _METRICS}, make=lambda metric: metric()
)


def metric_named(name: str) -> Metric | None:
    """The metric of a run: a registered one, that of preference runs, a rubric without its text, one of another tool,
    or what several metrics make together; ``None`` if the name no longer exists.
    """
    if name == Preference.name:
        return Preference()
    if is_deciding(name):
        return DecidingMetric(name, [metric for part in parts_of(name) if (metric := metric_named(part))])
    return REGISTERED_METRICS.get(name) or rubric_metric(name) or imported_metric(name)


def parts_of(name: str) -> list[str]:
    """The metrics that decide tasks under this name: those of a ``DecidingMetric``, or the metric itself."""
    if not is_deciding(name):
        return [name]
    parts: list[str] = []
    for piece in name.removeprefix(PREFIX).split(SEPARATOR):
        # The name that another tool gave a scorer may contain the separator.
        if parts and metric_named(piece) is None:
            parts[-1] += SEPARATOR + piece
        else:
            parts.append(piece)
    return parts


def is_score(name: str) -> bool:
    """Whether the metric exists and scores from 0 to 1."""
    metric = metric_named(name)
    return metric is not None and metric.range == (0.0, 1.0)


def metrics_with(sandbox: Sandbox | None) -> dict[str, Metric]:
    """The registry as a worker uses it: ``code_tests`` is turned on if there is a sandbox."""
    return {**REGISTERED_METRICS, CodeTests.name: CodeTests(sandbox)}


def metric_table() -> str:
    """The metrics of this file as a Markdown table."""
    rows = ["| metric | description | needs |", "|---|---|---|"]
    for metric in _METRICS:
        needs = ", ".join(f"`{name}`" for name in sorted(metric.needs)) or "–"
        rows.append(f"| `{metric.name}` | {metric.description} | {needs} |")
    return "\n".join(rows)
