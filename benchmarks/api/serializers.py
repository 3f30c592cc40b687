"""What the API returns. What it accepts for a run is ``benchmarks.services.runs.requests.RunRequest``."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks.dataset_format.spec import TASK_KEYS
from benchmarks.models import Dataset, Result, Run, Score, Task
from benchmarks.presentation.sentences import headline_numbers
from benchmarks.run_parameters import RUN_PARAMETERS

STORED = tuple(name for name, row in RUN_PARAMETERS.items() if row.field and name != "allow_self_judging")
"""The parameters that are fields of a run; the others are in its ``parameters``."""


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    version = serializers.IntegerField(source="current_version.number", allow_null=True, default=None)
    added_canvases = serializers.IntegerField(
        source="current_version.added_canvases",
        allow_null=True,
        default=None,
        help_text="Canvases by which a canvas set was enlarged since it was created",
    )
    tasks = serializers.IntegerField(source="current_version.task_count", allow_null=True, default=None)

    class Meta:
        model = Dataset
        fields: tuple[str, ...] = (
            *("slug", "name", "description", "kind", "version", "added_canvases", "tasks", "created_at", "updated_at"),
        )


class VersionSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    content_hash = serializers.CharField()
    origin = serializers.CharField()
    task_count = serializers.IntegerField()
    added_canvases = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class AcceptedField(serializers.ListField):
    """Texts that are accepted besides the expected output; empty if there are none."""

    child = serializers.CharField()

    def __init__(self, **options: Any) -> None:
        super().__init__(read_only=True, **options)

    def get_attribute(self, instance: Any) -> Any:
        return super().get_attribute(instance) or []


class LabelsField(AcceptedField):
    """Tags, split and metadata of a task, such as `tags: math` and `source: gsm8k`."""


class TaskSerializer(serializers.ModelSerializer[Task]):
    """A task with the keys of the dataset format; tags and metadata are in ``labels``."""

    id = serializers.CharField(source="task_id")
    other_answers = AcceptedField()
    labels = LabelsField()

    class Meta:
        model = Task
        fields = (
            *(key for key in TASK_KEYS if key not in ("tags", "metadata") and hasattr(Task, key)),
            *("other_answers", "labels", "group", "n_shapes", "content_hash"),
        )

    def get_fields(self) -> dict[str, Any]:
        beside = (key for key in TASK_KEYS if not hasattr(Task, key))
        others = {key: serializers.JSONField(source=f"other_fields.{key}", default=None) for key in beside}
        return {**super().get_fields(), **others}


class DatasetDetailSerializer(DatasetSerializer):
    versions = VersionSerializer(many=True)

    class Meta(DatasetSerializer.Meta):
        fields = (*DatasetSerializer.Meta.fields, "versions")


class ProgressSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    errors = serializers.IntegerField()  # type: ignore[assignment]  # a field of that name shadows the attribute


class ReadableSerializer(serializers.Serializer[Any]):
    """The mean over readable answers, and their share of all scored answers."""

    mean = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)


class WeightedSerializer(serializers.Serializer[Any]):
    """The mean in which a task counts by its weight, with its 95% interval."""

    mean = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    n_effective = serializers.FloatField(
        help_text="Number of tasks of equal weight that would give an equally narrow interval"
    )


class MeanSerializer(serializers.Serializer[Any]):
    """A strict mean with its 95% interval: an unparsable, cut off or refused answer counts as 0. Means are ``null`` if
    nothing is scored, and the others before the first summary."""

    mean = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    n_expected = serializers.IntegerField(allow_null=True, help_text="Results that the metric applies to")
    n_not_applicable = serializers.IntegerField(
        allow_null=True, help_text="Results whose task lacks what the metric needs; they are in no mean of it"
    )
    coverage = serializers.FloatField(allow_null=True, help_text="n / n_expected")
    readable = ReadableSerializer(allow_null=True)
    weighted = WeightedSerializer(required=False, help_text="Only if the weights of the tasks differ")


class TimesSerializer(serializers.Serializer[Any]):
    """Quantiles of answered requests; empty if nothing was measured."""

    n = serializers.IntegerField(required=False)
    mean = serializers.FloatField(required=False)
    p50 = serializers.FloatField(required=False)
    p95 = serializers.FloatField(required=False)
    max = serializers.FloatField(required=False)


class FailureSerializer(serializers.Serializer[Any]):
    outcome = serializers.CharField()
    reason = serializers.CharField(help_text="In a few words, or the kind of error; empty if unknown")
    n = serializers.IntegerField(help_text="Number of results")
    where = serializers.DictField(
        child=serializers.IntegerField(), help_text="Task class, or difficulty, → number of results"
    )
    examples = serializers.ListField(child=serializers.IntegerField(), help_text="Ids of up to three results")


class RunSerializer(serializers.ModelSerializer[Run]):
    dataset = serializers.CharField(source="dataset.slug")
    dataset_version = serializers.IntegerField(source="dataset_version.number")
    tags = serializers.ListField(child=serializers.CharField())
    tasks = serializers.ListField(child=serializers.CharField(), source="task_classes")
    progress = serializers.SerializerMethodField()
    summary = serializers.SerializerMethodField()
    outcomes = serializers.SerializerMethodField()
    error_kinds = serializers.SerializerMethodField(help_text="Number of results that ended in an error, by kind")
    failures = FailureSerializer(many=True, source="summary.failures", default=list, read_only=True)
    latency_ms = TimesSerializer(source="summary.latency_ms", default=dict, read_only=True)
    first_token_ms = TimesSerializer(source="summary.first_token_ms", default=dict, read_only=True)
    tokens_per_second = TimesSerializer(source="summary.tokens_per_second", default=dict, read_only=True)
    reasoning_tokens = serializers.IntegerField(
        source="summary.tokens.reasoning", default=None, allow_null=True, read_only=True, help_text="Part of tokens_out"
    )
    cached_tokens = serializers.IntegerField(
        source="summary.tokens.cached", default=None, allow_null=True, read_only=True, help_text="Part of tokens_in"
    )
    headline = serializers.CharField(
        read_only=True,
        help_text="Key of ``summary`` with the score of the run: the metric that decides every task, or ``task:`` and "
        "those that do together, of each task the first that applies",
    )
    waits_until = serializers.DateTimeField(
        default=None, allow_null=True, read_only=True, help_text="Until when the endpoint asked the workers to wait"
    )
    url = serializers.SerializerMethodField()
    seed_per_repeat = serializers.BooleanField(
        read_only=True,
        help_text="Whether repeat r sends seed + r − 1; runs until 0.1.0 sent one seed with every repeat",
    )
    adjustments = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField()),
        read_only=True,
        help_text="Parameters that requests omit because the model or the judge refuses them: name → sentence",
    )

    class Meta:
        model = Run
        fields = (
            *("id", "url", "dataset_version", "added_canvases", "import_format", "status", "error_message"),
            *("name", "tags", "notes", "pinned", "baseline"),
            *STORED,
            *(
                "self_judged",
                "parameters",
                "seed_per_repeat",
                "model_params",
                "judge_settings",
                "rubrics",
                "judge_trial",
                "adjustments",
                "fresh_of",
                "rescored_from",
            ),
            *("progress", "waits_until", "headline", "summary", "outcomes", "error_kinds", "failures"),
            *("cost_usd", "judge_cost_usd", "tokens_in", "tokens_out", "reasoning_tokens", "cached_tokens"),
            *("user_tokens_in", "user_tokens_out", "user_cost_usd"),
            *("judge_tokens_in", "judge_tokens_out", "latency_ms", "first_token_ms", "tokens_per_second"),
            *("code_version", "created_at", "started_at", "completed_at", "duration_seconds", "texts_pruned_at"),
        )

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, run: Run) -> dict[str, int]:
        return {"total": run.total, "done": run.done, "errors": run.errors}

    @extend_schema_field(serializers.DictField(child=MeanSerializer()))
    def get_summary(self, run: Run) -> dict[str, dict[str, Any]]:
        return headline_numbers(run.summary, run.all_metrics)

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_outcomes(self, run: Run) -> dict[str, int]:
        return dict(run.summary.get("outcomes", {}))

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_error_kinds(self, run: Run) -> dict[str, int]:
        return dict(run.summary.get("error_kinds", {}))

    @extend_schema_field(serializers.URLField())
    def get_url(self, run: Run) -> str:
        path = f"/runs/{run.pk}"
        request = self.context.get("request")
        return request.build_absolute_uri(path) if request else path


class ToolCallSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    arguments = serializers.DictField(allow_null=True)
    raw = serializers.CharField()
    malformed = serializers.BooleanField()


class ResultSerializer(serializers.ModelSerializer[Result]):
    task_id = serializers.CharField(source="task.task_id")
    task_name = serializers.CharField(source="task.name")
    input = serializers.CharField(source="task.input")
    expected_output = serializers.CharField(source="task.expected_output")
    other_answers = AcceptedField(source="task.other_answers")
    labels = LabelsField(source="task.labels")
    actual_output = serializers.SerializerMethodField()
    tool_calls = serializers.SerializerMethodField()
    score = serializers.FloatField(
        source="value", allow_null=True, help_text="By the metric that decides the outcome; none if no metric applies"
    )
    scores = serializers.SerializerMethodField()
    errors = serializers.SerializerMethodField()  # type: ignore[assignment]  # a field shadows the attribute
    seed = serializers.SerializerMethodField(help_text="What this repeat sends as its seed")
    notes = serializers.SerializerMethodField()
    judge_notes = serializers.SerializerMethodField()

    class Meta:
        model = Result
        fields = (
            *("id", "task_id", "task_name", "repeat", "seed", "difficulty", "group", "n_shapes", "state", "input"),
            *("labels", "expected_output", "other_answers", "actual_output", "outcome", "failure", "score"),
            *("scores", "errors"),
            *("error_kind", "error_message"),
            *("tool_calls", "duration_ms", "first_token_ms", "tokens_per_second"),
            *("tokens_in", "tokens_out", "reasoning_tokens", "cached_tokens"),
            *(
                "cost_usd",
                "judge_cost_usd",
                "user_cost_usd",
                "cached",
                "attempts",
                "finish_reason",
                "response_model",
                "finished_at",
                "notes",
                "judge_notes",
            ),
        )

    def get_actual_output(self, result: Result) -> str | None:
        """``null`` if there is none, or if it was pruned (see ``texts_pruned_at`` of the run)."""
        if result.run.texts_pruned_at:
            return None
        return result.transcript.actual_output if hasattr(result, "transcript") else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_seed(self, result: Result) -> int | None:
        return result.run.sent_seed(result.repeat)

    @extend_schema_field(ToolCallSerializer(many=True))
    def get_tool_calls(self, result: Result) -> list[dict[str, Any]]:
        return list(result.transcript.tool_calls) if hasattr(result, "transcript") else []

    @extend_schema_field(serializers.DictField(child=serializers.FloatField(allow_null=True)))
    def get_scores(self, result: Result) -> dict[str, float | None]:
        return {score.metric: score.value for score in result.scores.all()}

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_errors(self, result: Result) -> dict[str, str]:
        """Metric → why it has no value, or why the answer scores 0 without being read. The error of a failed request
        is in ``error_message`` instead."""
        unscored = [score for score in result.scores.all() if score.status != Score.Status.SCORED]
        return {score.metric: score.reason or f"(reason {result.run.texts_pruned})" for score in unscored}

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notes(self, result: Result) -> list[str]:
        """What a reader of the answer must know, such as parameters that were not sent."""
        return list(result.transcript.notes) if hasattr(result, "transcript") else []

    @extend_schema_field(serializers.DictField(child=serializers.ListField(child=serializers.CharField())))
    def get_judge_notes(self, result: Result) -> dict[str, list[str]]:
        """Metric → what a reader of the judge's verdict must know, such as parameters that were not sent."""
        notes = {score.metric: (score.judge or {}).get("notes") for score in result.scores.all()}
        return {metric: list(sentences) for metric, sentences in notes.items() if sentences}


class CountSerializer(serializers.Serializer[Any]):
    results = serializers.IntegerField(help_text="Number of results that are sent or judged again")


class DoubtfulSerializer(serializers.Serializer[Any]):
    include = serializers.BooleanField(help_text="Whether tasks with a doubtful reference count")


class BudgetSerializer(serializers.Serializer[Any]):
    budget_usd = serializers.FloatField(min_value=0)


class OutlookSerializer(serializers.Serializer[Any]):
    """What a score estimated from a part of the tasks can show."""

    n = serializers.IntegerField(help_text="Tasks that are drawn")
    n_tasks = serializers.IntegerField()
    n_models = serializers.IntegerField(help_text="Models whose results the draw rests on")
    saved = serializers.FloatField(help_text="Share of the requests of a full run")
    half_width = serializers.FloatField(help_text="Expected half width of the 95% interval")
    sentence = serializers.CharField()


class PlanTotalsSerializer(serializers.Serializer[Any]):
    """What requests take; a cost is ``null`` if a price is unknown."""

    requests = serializers.IntegerField()
    judge_requests = serializers.IntegerField()
    cost_low = serializers.FloatField(allow_null=True)
    cost_high = serializers.FloatField(allow_null=True)
    seconds_low = serializers.FloatField()
    seconds_high = serializers.FloatField()


class PlanSerializer(PlanTotalsSerializer):
    """The estimate of a run."""

    tokens_in_low = serializers.IntegerField()
    tokens_in_high = serializers.IntegerField()
    tokens_out_low = serializers.IntegerField()
    tokens_out_high = serializers.IntegerField()
    subset = OutlookSerializer(allow_null=True, help_text="Of a run with ``subset``")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Prompts that may exceed the context window of the model"
    )


class NeedsField(serializers.ListField):
    """Fields of a task, in the same order in every process."""

    child = serializers.CharField()

    def to_representation(self, data: Any) -> list[Any]:
        return super().to_representation(sorted(data))


class MetricSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    judged = serializers.BooleanField()
    needs = NeedsField(help_text="Fields of a task without which the metric does not apply")
    unit = serializers.CharField()
    higher_is_better = serializers.BooleanField()
