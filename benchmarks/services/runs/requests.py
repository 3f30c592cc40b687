"""The request for a run: one validation for the API, the form, the command line and schedules."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.conf import settings
from rest_framework import serializers

from benchmarks.engine.configured import all_providers, is_system, retrieves
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.extras import how_to_install
from benchmarks.metrics.panel import MOST_JUDGES, judges_named
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Dataset
from benchmarks.prompt_template import template_problem
from benchmarks.providers import litellm_package
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.extra_parameters import TOKEN_LIMITS, problems_of
from benchmarks.providers.model_names import BASELINE, is_baseline, split_model
from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter
from benchmarks.services.requests import StrictBoolean, StrictNumber, StrictRequest, StrictText, Tags, validated_by
from benchmarks.services.rubrics import rubrics_of
from benchmarks.services.runs import checks

CANVAS_METRIC = "task_score"
SOLVER = "baseline/solver"
"""It reads canvases from the prompt, and refuses everything else, which would be averaged as zeros."""


class Judges(StrictText):
    """One name, or a list of names."""

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, list) and all(isinstance(name, str) and "," not in name for name in data):
            data = ", ".join(data)
        return super().to_internal_value(data)


class SentParameters(serializers.DictField):
    """Parameters that are sent as they are."""

    child = serializers.JSONField()

    def to_internal_value(self, data: Any) -> dict[str, object]:
        if problems := problems_of(data):
            raise serializers.ValidationError(problems)
        return dict(data)


def field_of(parameter: RunParameter) -> serializers.Field[Any, Any, Any, Any]:  # noqa: PLR0911 - one for each kind
    """The field of a request that accepts the parameter."""
    given: dict[str, Any] = {"required": parameter.required, "help_text": parameter.description}
    bounds: dict[str, Any] = {
        "min_value": parameter.least,
        "max_value": parameter.most,
        "allow_null": parameter.default is None,
    }
    if parameter.default is not None or parameter.kind is Kind.SWITCH:
        given["default"] = parameter.empty
    match parameter.kind:
        case Kind.SWITCH:
            return StrictBoolean(**given)
        case Kind.INTEGER:
            return serializers.IntegerField(**given, **bounds)
        case Kind.NUMBER:
            return StrictNumber(**given, **bounds)
        case Kind.NAMES:
            return serializers.ListField(child=StrictText(), **given)
        case Kind.PARAMETERS:
            return SentParameters(**given)
    if parameter.kind is Kind.CHOICE:
        return serializers.ChoiceField(choices=parameter.choices, allow_blank=True, **given)
    if parameter.name == "judge_model":
        return Judges(allow_blank=True, max_length=int(parameter.most or 0), **given)
    trimmed = parameter.kind is not Kind.LONG_TEXT
    length = None if parameter.most is None else int(parameter.most)
    return StrictText(allow_blank=not parameter.required, max_length=length, trim_whitespace=trimmed, **given)


class RunRequest(StrictRequest):
    """A request for a run, with a field for each of ``RUN_PARAMETERS``. ``dataset`` becomes the ``Dataset``."""

    name = StrictText(default="", allow_blank=True, max_length=200, help_text="By which people know the run")
    tags = Tags(default=list, help_text="Words for finding and filtering the run")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: field_of(parameter) for name, parameter in RUN_PARAMETERS.items()} | super().get_fields()

    def validate_dataset(self, slug: str) -> Dataset:
        ready = Dataset.objects.filter(current_version__isnull=False)
        dataset = ready.select_related("current_version").filter(slug=slug).first()
        if dataset is None:
            known = checks.listed(ready.values_list("slug", flat=True))
            raise serializers.ValidationError(f"Dataset {slug} does not exist. Choose one of: {known}.")
        return dataset

    def validate_model(self, model: str) -> str:
        return _configured(model)

    def validate_judge_model(self, model: str) -> str:
        names = judges_named(model)
        if len(names) > MOST_JUDGES or len(set(names)) < len(names):
            raise serializers.ValidationError(f"Name up to {MOST_JUDGES} judges, each once.")
        for name in names:
            if is_baseline(name):
                raise serializers.ValidationError(
                    "A baseline cannot be a judge. Choose a model of a configured provider."
                )
            _a_model(name)
        return ", ".join(names)

    def validate_user_model(self, model: str) -> str:
        if is_baseline(model):
            raise serializers.ValidationError("A baseline cannot play a user. Choose a model of a configured provider.")
        return _a_model(model) if model else ""

    def validate_prompt_template(self, template: str) -> str:
        if template and (problem := template_problem(template)):
            raise serializers.ValidationError(problem)
        return template

    def validate_metrics(self, names: list[str]) -> list[str]:
        if not names:
            raise serializers.ValidationError("Select at least one metric.")
        # Rubrics are those of the dataset, which is not known here.
        if unknown := [name for name in names if name not in REGISTERED_METRICS and not name.startswith(PREFIX)]:
            exist = "does not exist" if len(unknown) == 1 else "do not exist"
            known = checks.listed(REGISTERED_METRICS)
            raise serializers.ValidationError(f"Metric {checks.listed(unknown)} {exist}. Choose from: {known}.")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise serializers.ValidationError(f"Listed more than once: {checks.listed(twice)}. List each metric once.")
        return names

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Check the fields against each other, and fill in every parameter that is not given."""
        values = {name: parameter.empty for name, parameter in RUN_PARAMETERS.items()} | attrs
        values["concurrency"] = values["concurrency"] or settings.CODEFORGE.benchmark.default_concurrency
        errors: checks.Errors = defaultdict(list)
        dataset: Dataset = values["dataset"]
        version = dataset.current_version
        assert version is not None, "validate_dataset accepts only datasets with a version"
        if dataset.kind == Dataset.Kind.CANVAS:
            checks.check_canvas_options(values, dataset, version, errors)
            values["metrics"] = values["metrics"] or [CANVAS_METRIC]
        else:
            for name in (name for name, row in RUN_PARAMETERS.items() if row.canvas_only and values[name]):
                reason = f"⟨{name}⟩ applies only to canvas sets, and {dataset.slug} is a YAML dataset. Clear ⟨{name}⟩."
                errors[name].append(reason)
            values["metrics"] = values["metrics"] or checks.metrics_for(values["model"], version.metrics)
        if values["model"] == SOLVER and dataset.kind != Dataset.Kind.CANVAS:
            errors["model"].append(f"{SOLVER} answers only canvas questions. Choose a canvas set or another model.")
        checks.check_split(values, version, errors)
        checks.check_limit(values, version)
        checks.check_only_task(values, version, errors)
        if not values["metrics"]:
            fitting = checks.listed(preset_metrics(dataset) or REGISTERED_METRICS)
            errors["metrics"].append(f"{dataset.slug} names no metrics. Select at least one metric for it: {fitting}.")
        rubrics = rubrics_of(version)
        metrics = checks.chosen_metrics(values["metrics"], rubrics, errors)
        values["rubrics"] = checks.used_rubrics(values["metrics"], rubrics)
        checks.check_metrics(metrics, dataset, version, errors, retrieves=retrieves(values["model"]))
        checks.check_adaptive(values, dataset, metrics, errors)
        checks.check_subset(values, version, metrics, errors)
        checks.check_judge(values, metrics, errors)
        checks.check_user(values, version, errors)
        checks.check_budget(values, errors)
        if values["max_tokens"] and (limits := [name for name in TOKEN_LIMITS if name in values["extra"]]):
            errors["extra"].append(f"{limits[0]} is another name for ⟨max_tokens⟩. Remove one of the two.")
        length = settings.CODEFORGE.model(values["model"]).context_length
        if length is not None and (values["max_tokens"] or 0) >= length:
            errors["max_tokens"].append(
                f"The context window of {values['model']} is {length:,} tokens, which leaves no room for a prompt. "
                "Lower ⟨max_tokens⟩."
            )
        if errors:
            raise serializers.ValidationError(errors)
        return values


def _a_model(name: str) -> str:
    """The name of a model that can judge or play a user, which a system under test cannot."""
    if is_system(name):
        raise serializers.ValidationError(f"{name} is a system under test. Choose a model of a configured provider.")
    return _configured(name)


def _configured(name: str) -> str:
    """The name, if it is that of a baseline, of a model of a configured provider, or of a system under test."""
    providers = all_providers()
    known = f"Configured providers: {checks.listed(['baseline', *sorted(providers)])}."
    try:
        provider, model = split_model(name)
    except ValueError as error:
        raise serializers.ValidationError(f"{error} {known}") from None
    if provider == BASELINE:
        if model not in BASELINE_MODELS:
            baselines = checks.listed(BASELINE_MODELS)
            raise serializers.ValidationError(f"Baseline {model} does not exist. Choose one of: {baselines}.")
    elif provider not in providers:
        how = "" if model else " Use provider/model, or the name of a system."
        raise serializers.ValidationError(f"Provider {provider} is not configured.{how} {known}")
    elif not model and not providers[provider].is_system:
        raise serializers.ValidationError(f"{provider} has several models. Use {provider}/MODEL.")
    elif providers[provider].kind == "litellm":
        _check_litellm(provider, model, providers[provider].base_url)
    return name


def _check_litellm(provider: str, model: str, base_url: str | None) -> None:
    if not litellm_package.is_installed():
        raise serializers.ValidationError(
            f"Provider {provider} requires LiteLLM, which is not installed. Run `{how_to_install('litellm')}`."
        )
    try:
        litellm_package.litellm_name(provider, model, base_url)
    except ValueError as error:
        raise serializers.ValidationError(str(error)) from None


def validated(data: Any) -> dict[str, Any]:
    """The value of every run parameter. Raises ``InvalidRequest`` naming every invalid field and the valid choices."""
    return validated_by(RunRequest(data=data))
