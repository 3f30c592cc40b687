"""From a request to a queued run: one validation for the API, the form, the command line and schedules."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import django
from django.conf import settings
from django.db import transaction
from rest_framework import serializers

from benchmarks import jobs
from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.dispatch import leases_wanted
from benchmarks.engine.execution.prompts import SENT_PARAMETERS
from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.metrics.base import Metric
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, Run
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.registered_providers import split_model
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.operations.code_version import code_version
from tasks_app.canvas.generator import GENERATOR_VERSION
from tasks_app.loader import REPRESENTATIONS, supports
from tasks_app.models import CanvasSet

ADAPTIVE = ("target_half_width", "max_canvases")


def check_adaptive(
    attrs: Mapping[str, Any], dataset: Dataset, metrics: Sequence[Metric], errors: dict[str, list[str]]
) -> None:
    """Add to ``errors`` why a run cannot add canvases by itself, where its request asks for that."""
    target, cap = (attrs.get(name) for name in ADAPTIVE)
    canvas_set = dataset.canvas_set
    if (target is None and cap is None) or canvas_set is None:
        return
    if target is None or cap is None:
        missing = ADAPTIVE[0] if target is None else ADAPTIVE[1]
        errors[missing] = ["An adaptive run needs both: how sure it should be, and the most canvases it may ask about."]
        return
    problems = []
    if canvas_set.origin != CanvasSet.Origin.GENERATED:
        problems.append(f"{dataset.slug!r} was imported and cannot grow. Choose a generated canvas set.")
    elif canvas_set.generator_version != GENERATOR_VERSION:
        problems.append(
            f"{dataset.slug!r} was drawn by generator {canvas_set.generator_version}, this is {GENERATOR_VERSION}: "
            "canvases added now would be of another kind. Draw a new set."
        )
    if metrics and metrics[0].range != (0.0, 1.0):
        problems.append(f"{metrics[0].name} is no score from 0 to 1; put a metric first that is.")
    if problems:
        errors["target_half_width"] = problems
    if attrs.get("limit"):
        errors["limit"] = ["An adaptive run chooses its tasks by itself; leave the limit out and set max_canvases."]
    strata = canvas_set.shapes_high - canvas_set.shapes_low + 1
    if cap < strata:
        errors["max_canvases"] = [f"The set has {strata} numbers of shapes; each needs a canvas at least."]


CANVAS_METRIC = "task_score"
ALWAYS_THERE = frozenset({"input", "actual_output", "duration_ms", "tokens_out", "tool_calls"})
"""What every answered task has; the rest of what metrics need, a dataset has or has not."""
CANVAS_ONLY = ("tasks", "representation", "few_shot", *ADAPTIVE)


class StrictBoolean(serializers.BooleanField):
    """True or false; the strings a form sends are understood, other numbers and words are not."""

    TRUE_VALUES = {True, "true", "True", "on", "1"}  # noqa: RUF012 - declared like this by the base class
    FALSE_VALUES = {False, "false", "False", "off", "0", ""}  # noqa: RUF012 - as above


class StrictText(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictNumber(serializers.FloatField):
    """A number; true and false are none."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class RunRequest(serializers.Serializer[Any]):
    """A request for a run. ``dataset`` becomes the ``Dataset``; everything else stays what it was."""

    dataset = StrictText(help_text="Slug of a dataset, for example basic-coding")
    model = StrictText(max_length=200, help_text="provider/model, for example openai/gpt-4o or baseline/reference")
    metrics = serializers.ListField(
        child=StrictText(), required=False, help_text="Names of metrics; the first decides the outcome"
    )
    judge_model = StrictText(
        required=False, allow_blank=True, max_length=200, help_text="provider/model that scores judged metrics"
    )
    allow_self_judging = StrictBoolean(required=False, default=False)
    skip_judge_when_identical = StrictBoolean(required=False, default=False)
    repeats = serializers.IntegerField(required=False, default=1, min_value=1, max_value=100)
    concurrency = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=1024, help_text="Most requests in flight"
    )
    limit = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=10_000_000, help_text="Only the first so many tasks"
    )
    budget_usd = StrictNumber(required=False, allow_null=True, min_value=0)
    use_cache = StrictBoolean(required=False, default=False)
    temperature = StrictNumber(required=False, allow_null=True, min_value=0, max_value=2)
    top_p = StrictNumber(required=False, allow_null=True, min_value=0, max_value=1)
    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    seed = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=2**31 - 1)
    system_prompt = StrictText(required=False, allow_blank=True, max_length=100_000, trim_whitespace=False)
    max_tool_steps = serializers.IntegerField(required=False, default=5, min_value=1, max_value=50)
    tasks = serializers.ListField(child=StrictText(), required=False, help_text="Task classes of a canvas set")
    representation = serializers.ChoiceField(choices=sorted(REPRESENTATIONS), required=False, allow_blank=True)
    few_shot = StrictBoolean(required=False, default=False)
    target_half_width = StrictNumber(
        required=False,
        allow_null=True,
        min_value=0.005,
        max_value=0.45,
        help_text="Add canvases until every number of shapes is known this well: 0.05 is 5 points to either side",
    )
    max_canvases = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=100_000, help_text="The most to ask about then"
    )

    def to_internal_value(self, data: Any) -> Any:
        """Check each field by itself, and name those that do not exist together with those that are wrong."""
        known = ", ".join(self.fields)
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        errors: dict[str, Any] = {str(name): [f"Unknown field. Known: {known}."] for name in unknown}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**errors, **cast("dict[str, Any]", error.detail)}) from None
        if errors:
            raise serializers.ValidationError(errors)
        return values

    def validate_dataset(self, slug: str) -> Dataset:
        ready = Dataset.objects.filter(current_version__isnull=False)
        dataset = ready.select_related("current_version").filter(slug=slug).first()
        if dataset is None:
            raise serializers.ValidationError(
                f"Unknown dataset {slug!r}. Choose one of: {_listed(ready.values_list('slug', flat=True))}."
            )
        return dataset

    def validate_model(self, model: str) -> str:
        return _reachable(model)

    def validate_judge_model(self, model: str) -> str:
        if not model:
            return model
        if model.startswith("baseline/"):
            raise serializers.ValidationError("A baseline cannot judge. Name a model of a configured provider.")
        return _reachable(model)

    def validate_metrics(self, names: list[str]) -> list[str]:
        if not names:
            raise serializers.ValidationError(f"Choose at least one of: {_listed(REGISTERED_METRICS)}.")
        if unknown := [name for name in names if name not in REGISTERED_METRICS]:
            raise serializers.ValidationError(
                f"Unknown metric {_listed(map(repr, unknown))}. Choose from: {_listed(REGISTERED_METRICS)}."
            )
        if len(set(names)) < len(names):
            twice = {name for name in names if names.count(name) > 1}
            raise serializers.ValidationError(f"Named more than once: {_listed(sorted(twice))}.")
        return names

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        errors: dict[str, list[str]] = {}
        dataset: Dataset = attrs["dataset"]
        if dataset.kind == Dataset.Kind.CANVAS:
            _check_canvas_choice(attrs, dataset, errors)
        else:
            for name in CANVAS_ONLY:
                if attrs.get(name):
                    errors[name] = [f"Only canvas sets have this; {dataset.slug!r} is a YAML dataset."]
        if not attrs.get("metrics"):
            if dataset.kind == Dataset.Kind.CANVAS:
                attrs["metrics"] = [CANVAS_METRIC]
            else:
                errors["metrics"] = [f"This field is required. Choose from: {_listed(REGISTERED_METRICS)}."]
        usable = usable_metrics()
        metrics = [usable[name] for name in attrs.get("metrics", ())]
        _check_metrics_can_be_taken(metrics, errors)
        _check_metrics_apply(metrics, dataset, errors)
        check_adaptive(attrs, dataset, metrics, errors)
        _check_judge(attrs, metrics, errors)
        _check_budget(attrs, errors)
        _check_context_length(attrs, errors)
        if errors:
            raise serializers.ValidationError(errors)
        return attrs


def validated(data: Any) -> dict[str, Any]:
    """The request's values, checked. Raises ``InvalidRequest`` naming every bad field and the valid choices."""
    request = RunRequest(data=data)
    if not request.is_valid():
        raise InvalidRequest(
            {name: [str(message) for message in _flat(messages)] for name, messages in request.errors.items()}
        )
    return dict(request.validated_data)


def _flat(messages: Any) -> Iterable[Any]:
    if isinstance(messages, Mapping):
        for place, inner in messages.items():
            yield from (f"Item {int(place) + 1}: {message}" for message in _flat(inner))
    elif isinstance(messages, (list, tuple)):
        for message in messages:
            yield from _flat(message)
    else:
        yield messages


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "(none)"


def _reachable(name: str) -> str:
    config = settings.CODEFORGE
    providers = ["baseline", *sorted(config.providers)]
    try:
        provider, model = split_model(name)
    except ValueError as error:
        raise serializers.ValidationError(f"{error} Configured providers: {_listed(providers)}.") from None
    if provider == "baseline":
        if model not in BASELINE_MODELS:
            raise serializers.ValidationError(f"Unknown baseline {model!r}. Choose one of: {_listed(BASELINE_MODELS)}.")
    elif provider not in config.providers:
        raise serializers.ValidationError(f"Unknown provider {provider!r}. Configured providers: {_listed(providers)}.")
    elif config.providers[provider].kind == "litellm" and importlib.util.find_spec("litellm") is None:
        raise serializers.ValidationError(
            f"Provider {provider!r} is reached through LiteLLM, which is not installed: "
            "pip install -r requirements-litellm.txt"
        )
    return name


def _check_canvas_choice(attrs: dict[str, Any], dataset: Dataset, errors: dict[str, list[str]]) -> None:
    version = dataset.current_version
    assert version is not None, "validate_dataset takes only datasets that have one"
    classes = sorted(version.facets.get("group", {}))
    chosen = attrs.get("tasks") or classes
    if unknown := [name for name in chosen if name not in classes]:
        errors["tasks"] = [f"Not in {dataset.slug!r}: {_listed(unknown)}. Choose from: {_listed(classes)}."]
        return
    attrs["tasks"] = chosen
    representation = attrs.get("representation") or "full"
    attrs["representation"] = representation
    if bad := [name for name in chosen if not supports(name, representation)]:
        errors["representation"] = [f"{representation!r} cannot carry the task classes {_listed(bad)}."]
    elif representation == "image" and not settings.CODEFORGE.model(attrs["model"]).sees_pictures:
        errors["representation"] = [
            f"{attrs['model']} is not known to see pictures. "
            f"Where it does, set models.{attrs['model']}.sees_pictures in codeforge.yaml."
        ]


def _check_metrics_can_be_taken(metrics: list[Metric], errors: dict[str, list[str]]) -> None:
    for metric in metrics:
        if reason := metric.unavailable():
            errors.setdefault("metrics", []).append(f"{metric.name} cannot be taken: {reason}.")


def _check_metrics_apply(metrics: list[Metric], dataset: Dataset, errors: dict[str, list[str]]) -> None:
    version = dataset.current_version
    assert version is not None, "validate_dataset takes only datasets that have one"
    fields = version.facets.get("fields", {})
    for metric in metrics:
        if missing := sorted(name for name in metric.needs - ALWAYS_THERE if not fields.get(name)):
            errors.setdefault("metrics", []).append(
                f"{metric.name} applies to no task of {dataset.slug!r}: none has {_listed(missing)}."
            )


def _check_judge(attrs: dict[str, Any], metrics: list[Metric], errors: dict[str, list[str]]) -> None:
    judged = [metric.name for metric in metrics if metric.judged]
    if not judged:
        attrs["judge_model"] = ""
        return
    judge = attrs.get("judge_model") or settings.CODEFORGE.benchmark.judge_model or ""
    attrs["judge_model"] = judge
    if not judge:
        errors["judge_model"] = [
            f"{_listed(judged)} needs a judge model. Set benchmark.judge_model in codeforge.yaml, "
            "CODEFORGE_JUDGE_MODEL in the environment, or judge_model in the request."
        ]
    elif judge == attrs["model"] and not attrs.get("allow_self_judging"):
        errors["judge_model"] = [
            f"{judge} would judge its own answers. Choose another judge_model, or say allow_self_judging: true."
        ]


def _check_budget(attrs: dict[str, Any], errors: dict[str, list[str]]) -> None:
    if attrs.get("budget_usd") is None:
        return
    problems = [
        f"The price of {model} is not known, so a budget cannot be held. Set models.{model} in codeforge.yaml."
        for model in (attrs["model"], attrs.get("judge_model"))
        if model and not price_of(model).known
    ]
    if attrs.get("max_tokens") is None:
        problems.append("A budget needs max_tokens, so that the most a request can cost is known.")
    if problems:
        errors["budget_usd"] = problems


def _check_context_length(attrs: dict[str, Any], errors: dict[str, list[str]]) -> None:
    length = settings.CODEFORGE.model(attrs["model"]).context_length
    if length is not None and (attrs.get("max_tokens") or 0) >= length:
        errors["max_tokens"] = [f"{attrs['model']} takes {length:,} tokens in all, which leaves no room for a prompt."]


def start_run(data: Any, user: Caller = None, *, parent: Run | None = None, fresh_of: Run | None = None) -> Run:
    """Queue a run and call workers once it is committed. Raises ``InvalidRequest`` naming every bad field."""
    request = validated(data)
    dataset = request["dataset"]
    parameters = {name: request[name] for name in SENT_PARAMETERS if request.get(name) is not None}
    if request.get("system_prompt"):
        parameters["system_prompt"] = request["system_prompt"]
    parameters["max_tool_steps"] = request["max_tool_steps"]
    with transaction.atomic():
        run = Run.objects.create(
            dataset=dataset,
            dataset_version=dataset.current_version,
            model=request["model"],
            metrics=request["metrics"],
            judge_model=request["judge_model"],
            self_judged=request["judge_model"] == request["model"],
            parameters=parameters,
            repeats=request["repeats"],
            concurrency=request.get("concurrency") or settings.CODEFORGE.benchmark.default_concurrency,
            use_cache=request["use_cache"],
            skip_judge_when_identical=request["skip_judge_when_identical"],
            budget_usd=request.get("budget_usd"),
            task_classes=request.get("tasks") or [],
            representation=request.get("representation") or "",
            few_shot=request["few_shot"],
            limit=request.get("limit"),
            target_half_width=request.get("target_half_width"),
            max_canvases=request.get("max_canvases"),
            code_version=code_version(),
            environment={"python": platform.python_version(), "django": django.get_version()},
            parent=parent,
            fresh_of=fresh_of,
            created_by=account_of(user),
        )
        record(user, "run.start", f"run {run.pk}", dataset=dataset.slug, model=run.model)
        enqueue_run(run)
    return run


def request_of(run: Run) -> dict[str, Any]:
    """The request that would start a run like this one again."""
    asked = {
        "dataset": run.dataset.slug,
        "model": run.model,
        "metrics": run.metrics,
        "judge_model": run.judge_model,
        "allow_self_judging": run.self_judged,
        "skip_judge_when_identical": run.skip_judge_when_identical,
        "repeats": run.repeats,
        "concurrency": run.concurrency,
        "limit": run.limit,
        "target_half_width": run.target_half_width,
        "max_canvases": run.max_canvases,
        "budget_usd": run.budget_usd,
        "use_cache": run.use_cache,
        "tasks": run.task_classes,
        "representation": run.representation,
        "few_shot": run.few_shot,
        **run.parameters,
    }
    return {name: value for name, value in asked.items() if value is not None and value not in ("", [])}


def enqueue_run(run: Run) -> None:
    """Enqueue one job for each lease that the run wants, once the transaction is committed.

    If the broker is unavailable, this is only logged: the run is stored, and a worker's sweep finds it.
    """
    for _ in range(leases_wanted(run)):
        transaction.on_commit(lambda: jobs.work_on_run.delay(run.pk), robust=True)
