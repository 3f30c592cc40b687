"""What is sent: the request that opens a run, its results, and the request that closes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rest_framework import serializers

from benchmarks.dataset_format.spec import DIFFICULTIES
from benchmarks.imports.assembly import metric_name
from benchmarks.imports.parts import LARGEST_INTEGER
from benchmarks.imports.runs import MAX_REPEATS
from benchmarks.metrics.imported import MAX_NAME, PUSHED
from benchmarks.providers.atif import is_trajectory, trajectory_steps
from benchmarks.providers.clean_text import storable
from benchmarks.providers.steps import MOST_STEPS, Step, StepProblem, step_of
from benchmarks.providers.systems.replies import MOST_CALLS, MOST_PASSAGES
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import MAX_ERROR, MAX_MODEL_NAME, OUR_METRICS, chosen_metrics
from benchmarks.services.requests import StrictNumber, StrictRequest, StrictText, Tags, validated_by
from benchmarks.services.runs.requests import field_of

NO_SCORE = "The tool sent no score."
MAX_BATCH = 1_000
MAX_RESULTS = 20_000
MAX_PASSAGE = 100_000
PARAMETERS = ("temperature", "top_p", "max_tokens", "seed", "system_prompt", "extra")


def metric_of(request: Mapping[str, Any], name: str) -> str:
    """The name here of a score that the request names."""
    return metric_name(PUSHED, name, measurement=name in request["measurements"])


def metrics_of(request: Mapping[str, Any]) -> list[str]:
    return [metric_of(request, name) for name in (*request["metrics"], *request["measurements"])]


class StorableText(StrictText):
    """Text of a model or a tool, in which characters that a database cannot hold are replaced visibly."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, default="", **given)

    def to_internal_value(self, data: Any) -> str:
        return storable(super().to_internal_value(data), [])


class RunParameters(StrictRequest):
    """How the model was asked."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: field_of(RUN_PARAMETERS[name]) for name in PARAMETERS}


def _metric_names(**given: Any) -> serializers.ListField:
    return serializers.ListField(child=StrictText(max_length=MAX_NAME), max_length=20, default=list, **given)


class PushRequest(StrictRequest):
    """A run that will receive results, on a dataset or with tasks of its own."""

    model = StrictText(max_length=MAX_MODEL_NAME, help_text="For example, gpt-4o")
    provider = StrictText(
        default="", allow_blank=True, max_length=100, help_text="Put before the model, for example, openai"
    )
    dataset = StrictText(required=False, max_length=100, help_text="Slug of the dataset whose tasks were asked")
    dataset_name = StrictText(
        required=False, max_length=190, help_text="Instead of dataset: name of a new dataset; results bring their tasks"
    )
    tool = StrictText(default="", allow_blank=True, max_length=100, help_text="What made the run, with its version")
    metrics = _metric_names(help_text="Scores from 0 to 1 that results have; the first decides the outcome")
    measurements = _metric_names(help_text="Numbers of any size that results have; they decide no outcome")
    own_metrics = serializers.ListField(
        child=StrictText(), default=list(OUR_METRICS), help_text="Metrics of this dashboard that score the answers too"
    )
    parameters = serializers.DictField(default=dict, help_text=f"How the model was asked: {', '.join(PARAMETERS)}")
    expected = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_RESULTS, help_text="Number of results"
    )
    name = StrictText(default="", allow_blank=True, max_length=200, help_text="By which people know the run")
    tags = Tags(default=list, help_text="Words for finding and filtering the run")

    def validate_own_metrics(self, names: list[str]) -> list[str]:
        try:
            return [metric.name for metric in chosen_metrics(list(dict.fromkeys(names)))]
        except NotPossible as refusal:
            raise serializers.ValidationError(refusal.message) from None

    def validate_parameters(self, given: dict[str, object]) -> dict[str, object]:
        try:
            values = validated_by(RunParameters(data=given))
        except InvalidRequest as problem:
            messages = [f"{name}: {' '.join(parts)}" for name, parts in problem.errors.items()]
            raise serializers.ValidationError(messages) from None
        return {name: value for name, value in values.items() if value not in NOT_GIVEN}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        model = f"{attrs.pop('provider')}/{attrs['model']}".removeprefix("/")
        if len(model) > MAX_MODEL_NAME:
            raise serializers.ValidationError({"model": f"At most {MAX_MODEL_NAME} characters, with its provider."})
        if ("dataset" in attrs) == ("dataset_name" in attrs):
            raise serializers.ValidationError({"dataset": "Set either ⟨dataset⟩ or ⟨dataset_name⟩."})
        given = [*attrs["metrics"], *attrs["measurements"]]
        if len({*given}) < len(given) or len({*metrics_of(attrs)}) < len(given):
            raise serializers.ValidationError({"metrics": "Name each score once in ⟨metrics⟩ or ⟨measurements⟩."})
        return {**attrs, "model": model}


class ToolCallRequest(StrictRequest):
    name = StrictText(max_length=200)
    arguments = serializers.DictField(default=dict)


class ResultRequest(StrictRequest):
    """One task asked once: its answer with scores, or the error instead of one."""

    key = StrictText(max_length=200, help_text="Identifies the result within its run, when a batch is repeated")
    task_id = StrictText(required=False, max_length=200, help_text="By default made of the input")
    name = serializers.JSONField(required=False)
    input = serializers.JSONField(required=False, help_text="What the model was asked")
    messages = serializers.JSONField(required=False, help_text="A conversation in place of input, as in dataset files")
    expected_output = serializers.JSONField(required=False, help_text="The expected answer, or a list of accepted ones")
    difficulty = serializers.JSONField(required=False, help_text=f"One of {', '.join(DIFFICULTIES)}")
    split = serializers.JSONField(required=False)
    tags = serializers.JSONField(required=False)
    metadata = serializers.JSONField(required=False)
    context = serializers.JSONField(  # type: ignore[assignment]  # declared fields are taken out of the class
        required=False, help_text="Passages that the task gives, as in dataset files"
    )
    expected_context = serializers.JSONField(required=False, help_text="Passages that should be looked up")
    expected_tools = serializers.JSONField(required=False, help_text="Tool calls that should be made")
    repeat = serializers.IntegerField(default=1, min_value=1, max_value=MAX_REPEATS)
    answer = StorableText()
    reasoning = StorableText()
    retrieved = serializers.ListField(
        child=StorableText(max_length=MAX_PASSAGE),
        required=False,
        max_length=MOST_PASSAGES,
        help_text="Passages that were looked up for the answer, best first",
    )
    tool_calls = serializers.ListField(
        child=ToolCallRequest(), required=False, max_length=MOST_CALLS, help_text="Calls that were made, in order"
    )
    steps = serializers.JSONField(
        required=False, help_text="What an agent did: a list of steps with a kind, or an ATIF trajectory"
    )
    scores = serializers.DictField(
        default=dict,
        help_text="Name → a number, or {value, reason}. {value: null, reason} if the metric failed, as for a score "
        "that is left out; {not_applicable: true, reason} if the task lacks what it needs",
    )
    error = StorableText(max_length=MAX_ERROR, help_text="Why there is no answer; such a result has no scores")
    finish_reason = StorableText(max_length=40)
    duration_ms = StrictNumber(required=False, min_value=0, max_value=1e15)
    cost_usd = StrictNumber(required=False, min_value=0, max_value=1e15)
    tokens_in = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_INTEGER)
    tokens_out = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_INTEGER)
    reasoning_tokens = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_INTEGER)
    cached_tokens = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_INTEGER)

    def validate_steps(self, given: Any) -> list[dict[str, Any]]:
        try:
            steps = [*trajectory_steps(given)] if is_trajectory(given) else [*_steps_in(given)]
        except StepProblem as problem:
            raise serializers.ValidationError(str(problem)) from None
        if len(steps) > MOST_STEPS:
            raise serializers.ValidationError(f"At most {MOST_STEPS:,} steps. Import longer trajectories as a file.")
        return [step.as_json() for step in steps]


def _steps_in(given: Any) -> Iterator[Step]:
    if not isinstance(given, list):
        raise StepProblem("Send a list of steps, or an ATIF trajectory with its schema_version.")
    for place, each in enumerate(given):
        try:
            yield step_of(each)
        except StepProblem as problem:
            raise StepProblem(f"[{place}]: {problem}") from None


class BatchRequest(StrictRequest):
    results = serializers.ListField(child=serializers.JSONField(), min_length=1, max_length=MAX_BATCH)


class CloseRequest(StrictRequest):
    """What the run must have to be closed."""

    count = serializers.IntegerField(required=False, min_value=1, help_text="Number of results")
    means = serializers.DictField(
        child=StrictNumber(), default=dict, help_text="Name of a metric → its mean, which must be the one computed here"
    )
