"""What an experiment is asked for: datasets × models × variants, validated run by run as single runs are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rest_framework import serializers

from benchmarks.dataset_format.problems import Fault, Path, format_path
from benchmarks.engine.configured import any_retrieves
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Dataset
from benchmarks.run_parameters import ADAPTIVE, RUN_PARAMETERS, Group
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.requests import StrictRequest, StrictText, Tags
from benchmarks.services.rubrics import rubric_metrics
from benchmarks.services.runs.checks import metrics_for, missing_fields
from benchmarks.services.runs.requests import CANVAS_METRIC, field_of, validated
from benchmarks.statistics.crossed import FEWEST

MOST_RUNS = 200
COMMON = tuple(name for name in RUN_PARAMETERS if name not in ("dataset", "model", *ADAPTIVE))
"""Parameters that an experiment gives to all its runs."""
PROMPTING = ("system_prompt", "prompt_template", "few_shot", "representation")
"""Parameters that a variant gives by name."""
SAMPLING = tuple(
    name for name, parameter in RUN_PARAMETERS.items() if parameter.group is Group.PROMPT and name not in PROMPTING
)
"""Parameters that a variant gives in ``parameters``."""


class SamplingField(serializers.DictField):
    """Parameters of ``SAMPLING``, which the runs validate."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        given = super().to_internal_value(data)
        if unknown := [name for name in given if name not in SAMPLING]:
            raise serializers.ValidationError(f"Unknown: {', '.join(unknown)}. Choose from: {', '.join(SAMPLING)}.")
        return dict(given)

    def members(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: _without_default(name) for name in SAMPLING}


class VariantRequest(StrictRequest):
    """One way of asking. What it does not give is taken from the experiment."""

    name = StrictText(max_length=100)
    parameters = SamplingField(required=False, help_text=f"Any of: {', '.join(SAMPLING)}")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return super().get_fields() | {name: _without_default(name) for name in PROMPTING}


def _without_default(name: str) -> serializers.Field[Any, Any, Any, Any]:
    field = field_of(RUN_PARAMETERS[name])
    field.default, field.required = serializers.empty, False
    return field


class ExperimentRequest(StrictRequest):
    """A request for an experiment; beside its own fields, parameters that hold for all runs."""

    name = StrictText(max_length=200)
    description = StrictText(required=False, allow_blank=True, max_length=10_000)
    tags = Tags(required=False)
    datasets = serializers.ListField(child=StrictText(), allow_empty=False, help_text="Slugs of datasets")
    models = serializers.ListField(child=StrictText(), allow_empty=False, help_text="provider/model of each model")
    variants = VariantRequest(many=True, required=False, help_text="Prompt variants; by default one")
    average_variants = serializers.BooleanField(
        required=False, help_text="Rank the models by their means over the variants, which are taken as a sample"
    )
    metrics_by_dataset = serializers.DictField(
        child=serializers.ListField(child=StrictText(), allow_empty=False),
        required=False,
        help_text="Slug of a dataset → its metrics, in place of `metrics`",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return super().get_fields() | {name: _without_default(name) for name in COMMON}

    def validate_datasets(self, names: list[str]) -> list[str]:
        return _distinct(names)

    def validate_models(self, names: list[str]) -> list[str]:
        return _distinct(names)

    def validate_metrics_by_dataset(self, metrics: dict[str, list[str]]) -> dict[str, list[str]]:
        chosen = self.initial_data.get("datasets") or ()
        if unknown := [slug for slug in metrics if slug not in chosen]:
            raise serializers.ValidationError(f"Not among the datasets: {', '.join(unknown)}. Remove them.")
        return metrics

    def validate_variants(self, variants: list[dict[str, Any]]) -> list[dict[str, Any]]:
        _distinct([variant["name"] for variant in variants])
        return variants

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        n_variants = len(attrs.get("variants", ()))
        if attrs.get("average_variants") and n_variants < FEWEST:
            message = f"{n_variants} variants say too little about others like them. Give at least {FEWEST}."
            raise serializers.ValidationError({"average_variants": [message]})
        runs = len(attrs["datasets"]) * len(attrs["models"]) * max(1, n_variants)
        if runs > MOST_RUNS:
            raise serializers.ValidationError(
                {"models": [f"This makes {runs:,} runs, and the limit is {MOST_RUNS}. Start several experiments."]}
            )
        return attrs


def _distinct(names: list[str]) -> list[str]:
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise serializers.ValidationError(f"Listed more than once: {', '.join(repeated)}. List each once.")
    return names


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that the experiment starts: ``request`` as ``run_of`` takes it, ``variant`` empty without variants."""

    variant: str
    request: dict[str, Any]


def validated_experiment(data: Any) -> tuple[dict[str, Any], list[PlannedRun]]:
    """The fields of an experiment and its runs. Raises ``InvalidRequest`` with all errors at their fields."""
    values, planned, faults = checked_experiment(data)
    if faults:
        errors: dict[str, list[str]] = {}
        for fault in faults:
            below = f"{format_path(fault.path)}: " if len(fault.path) > 1 else ""
            errors.setdefault(str(fault.path[0]), []).append(below + fault.message)
        raise InvalidRequest(errors)
    return values, planned


def checked_experiment(data: Any) -> tuple[dict[str, Any], list[PlannedRun], list[Fault]]:
    """The fields and the runs of an experiment, dataset by dataset, or its faults with their places."""
    request = ExperimentRequest(data=data)
    if not request.is_valid():
        return {}, [], list(_faults(request.errors, ()))
    values: dict[str, Any] = request.validated_data
    planned, faults = planned_runs(values, values["models"])
    return values, planned, faults


def _faults(errors: Any, path: Path) -> Iterator[Fault]:
    """The faults in the nested errors of a serializer."""
    if isinstance(errors, Mapping):
        for step, inner in errors.items():
            yield from _faults(inner, (*path, int(step) if str(step).isdecimal() else str(step)))
    elif isinstance(errors, list) and all(isinstance(inner, Mapping) for inner in errors):
        for place, inner in enumerate(errors):
            yield from _faults(inner, (*path, place))
    else:
        yield Fault(path, " ".join(map(str, errors)))


def planned_runs(experiment: Mapping[str, Any], models: Sequence[str]) -> tuple[list[PlannedRun], list[Fault]]:
    """The runs of ``models`` in a valid experiment, dataset by dataset, or the faults of all of them."""
    kinds = dict(Dataset.objects.filter(slug__in=experiment["datasets"]).values_list("slug", "kind"))
    common = {name: experiment[name] for name in COMMON if name in experiment and name != "metrics"}
    variants = experiment.get("variants") or [{"name": ""}]
    planned: list[PlannedRun] = []
    faults: dict[Fault, None] = {}  # without repetitions, in order
    for (n, slug), (place, variant), model in product(enumerate(experiment["datasets"]), enumerate(variants), models):
        own = {name: variant[name] for name in PROMPTING if name in variant} | variant.get("parameters", {})
        given = _applying(common | own, kinds.get(slug), kinds.values())
        given |= {"dataset": slug, "model": model}
        if slug in (by_dataset := experiment.get("metrics_by_dataset", {})):
            given["metrics"] = metrics_for(model, by_dataset[slug])
        elif experiment.get("metrics"):  # otherwise those that each dataset names
            given["metrics"] = metrics_for(model, _metrics_for(slug, experiment["metrics"]))
        places: dict[str, Path] = {"dataset": ("datasets", n), "model": ("models", experiment["models"].index(model))}
        if slug in by_dataset or "metrics" not in given:
            places["metrics"] = ("metrics_by_dataset", slug)
        places |= {name: ("variants", place, name) for name in own if name in PROMPTING}
        places |= {name: ("variants", place, "parameters", name) for name in own if name in SAMPLING}
        try:
            planned.append(PlannedRun(variant["name"], validated(given)))
        except InvalidRequest as error:
            for field, messages in error.unlabeled.items():
                faults |= {Fault(places.get(field, (field,)), message): None for message in messages}
    if not faults:
        faults = dict.fromkeys([*_unused_metrics(experiment, planned), *_twins(planned)])
    return planned, list(faults)


def _applying(given: dict[str, Any], kind: str | None, kinds: Any) -> dict[str, Any]:
    """Canvas options apply to the canvas sets among the datasets; without any they are errors of the runs."""
    if kind != Dataset.Kind.YAML or Dataset.Kind.CANVAS not in kinds:
        return given
    return {name: value for name, value in given.items() if not RUN_PARAMETERS[name].canvas_only}


def _metrics_for(slug: str, names: Sequence[str]) -> list[str]:
    """Those of the metrics that apply to the dataset; all of them, for the error, if none does."""
    dataset = Dataset.objects.select_related("current_version").filter(slug=slug).first()
    if dataset is None or dataset.current_version is None:
        return list(names)
    version = dataset.current_version
    offered = REGISTERED_METRICS | {metric.name: metric for metric in rubric_metrics(version)}
    known = [name for name in names if name in REGISTERED_METRICS or name.startswith(PREFIX)]
    retrieves = any_retrieves()
    applying = [
        name for name in known if name in offered and not missing_fields(offered[name], version, retrieves=retrieves)
    ]
    if dataset.kind == Dataset.Kind.CANVAS and CANVAS_METRIC not in applying:
        applying.insert(0, CANVAS_METRIC)
    return applying if len(known) == len(names) and applying else list(names)


def _unused_metrics(experiment: Mapping[str, Any], planned: Sequence[PlannedRun]) -> Iterator[Fault]:
    used = {name for run in planned for name in run.request["metrics"]}
    for place, name in enumerate(experiment.get("metrics", ())):
        if name not in used:
            yield Fault(("metrics", place), f"No dataset has what {name} needs. Choose another metric.")


def _twins(planned: Sequence[PlannedRun]) -> Iterator[Fault]:
    """Variants that send the same: their runs would cost twice and could only differ by chance."""
    for place, run in enumerate(planned):
        twin = next((other for other in planned[:place] if other.request == run.request), None)
        if twin is not None:
            slug = run.request["dataset"].slug
            message = f"{twin.variant} and {run.variant} prompt {slug} in the same way. Change or remove one of them."
            yield Fault(("variants",), message)
            return
