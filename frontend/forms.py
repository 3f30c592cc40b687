"""Forms of requests. Their fields are those of the API; the services check them and word the errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from rest_framework.fields import empty

from benchmarks.forms.fields import one_line_end
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Dataset, Run
from benchmarks.presentation.labels import sentence_case
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.extra_parameters import parsed_pairs, typed
from benchmarks.queries.providers import provider_rows, suggested_models
from benchmarks.queries.runs import models_used
from benchmarks.run_parameters import RUN_PARAMETERS, Group, Kind, RunParameter
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.judges import CalibrationRequest, calibratable_metrics
from benchmarks.services.rubrics import rubric_metrics, rubric_of_text
from benchmarks.services.runs.checks import missing_fields
from benchmarks.services.runs.rescoring import PARAMETERS
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

LONGEST_SHOWN = 20
"""Characters of a value that the heading of its folded group shows."""


class AnyChoice(forms.MultipleChoiceField):
    """Checkboxes. The service validates the selection."""

    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        return None


def _whole() -> forms.NumberInput:
    return forms.NumberInput(attrs={"inputmode": "numeric", "step": "1"})


def _text(label: str, help_text: str = "", widget: forms.Widget | None = None, **attrs: str) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget or forms.TextInput(attrs=attrs)
    )


class PairsInput(forms.Widget):
    """Names and values in rows of two inputs, with empty rows for more."""

    template_name = "frontend/components/pairs.html"
    empty_rows = 3

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        pairs = typed(value) if isinstance(value, dict) else value or []
        rows = [*pairs, *[("", "")] * self.empty_rows]
        return {**super().get_context(name, value, attrs), "rows": rows}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[tuple[str, str]]:
        """The rows that are not empty, as typed."""
        rows = zip(data.getlist(f"{name}-name"), data.getlist(f"{name}-value"), strict=False)
        return [(key, value) for key, value in rows if key.strip() or value.strip()]


class PairsField(forms.Field):
    """Parameters of a request. The service validates them."""

    widget = PairsInput


class RequestForm(forms.Form):
    """``request_data`` is what the service receives. ``reject`` attaches its errors to the fields."""

    def request_data(self) -> dict[str, Any]:
        """The request as the API would receive it, without empty fields."""
        return {name: value for name in self.fields if (value := self._sent(name)) not in ("", [], {}, False)}

    def reject(self, error: InvalidRequest) -> None:
        self.full_clean()
        for name, texts in error.labeled(self.labels).items():
            self.add_error(name if name in self.fields else None, [forms.ValidationError(text) for text in texts])

    def problems(self, error: InvalidRequest) -> list[tuple[str, str]]:
        """Label and message of every error."""
        labels = self.labels
        return [(labels.get(name, name), text) for name, texts in error.labeled(labels).items() for text in texts]

    @property
    def labels(self) -> dict[str, str]:
        return {name: str(field.label) for name, field in self.fields.items()}

    def _sent(self, name: str) -> Any:
        field, key = self.fields[name], self.add_prefix(name)
        if isinstance(field, AnyChoice):
            return self.data.getlist(key)  # type: ignore[attr-defined]  # bound to a QueryDict
        if isinstance(field, PairsField):
            try:
                return parsed_pairs(PairsInput().value_from_datadict(self.data, self.files, key))
            except ValueError as error:
                raise InvalidRequest({key: [str(error)]}) from None
        if isinstance(field, forms.BooleanField):
            return key in self.data
        # A prompt from a form is the same text as one from a file or the API.
        return one_line_end(self.data.get(key, ""))

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        if isinstance(field, AnyChoice):
            field.choices = choices
        elif isinstance(field.widget, forms.Select):
            field.widget.choices = choices


class CanvasSetForm(RequestForm):
    """A generated canvas set."""

    shapes = _text("Shapes", "A number such as 7, or a range such as 3-12", placeholder="3-12")
    count = _text("Canvases", "Total number", widget=_whole())
    seed = _text("Seed", "The same seed generates the same set", widget=_whole())
    tracking_steps = _text("Tracking steps", "Number of changes and swaps in a tracking question", widget=_whole())
    name = _text("Name", "Empty: a name is generated")


class ParametersForm(RequestForm):
    """A form with fields of ``RUN_PARAMETERS`` for runs on any of ``datasets``; ``folded`` are its less needed ones."""

    def __init__(self, names: Collection[str], datasets: Sequence[Dataset], data: Any, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.fields |= {name: parameter_field(RUN_PARAMETERS[name]) for name in names}
        self.folded = [RUN_PARAMETERS[name] for name in names]
        marks = {Dataset.Kind.CANVAS.value: " (canvas set)"}
        choices = [(dataset.slug, dataset.slug + marks.get(dataset.kind, "")) for dataset in datasets]
        for name in {"dataset", "datasets"} & set(self.fields):
            self._choose(name, choices)
        versions = [dataset.current_version for dataset in datasets]
        rubrics = {metric.name: metric for version in versions for metric in rubric_metrics(version)}
        offered = {name: metric.title for name, metric in (REGISTERED_METRICS | rubrics).items()}
        first = {name: offered[name] for name in self.chosen_metrics if name in offered}
        self._choose("metrics", [*(first | offered).items()])
        if "tasks" in self.fields:
            self._choose("tasks", [(name, sentence_case(name)) for name in REGISTERED_TASKS])

    @property
    def metrics_given(self) -> list[str]:
        """The metrics that were selected when the form was first shown; it sends them along."""
        if isinstance(self.data, QueryDict):
            return self.data.getlist("metrics_given")
        return [*(self.initial.get("metrics") or ())]

    @property
    def chosen_metrics(self) -> list[str]:
        """The selected metrics in the order in which they decide the outcome, which checkboxes cannot have: those that
        somebody added, then those that were there, then added ones that decide nothing."""
        names = [*(self["metrics"].value() or ())]
        added = [name for name in names if name not in self.metrics_given] if self.metrics_given else []
        deciding = [name for name in added if (metric := metric_named(name)) is None or metric.decides_outcome]
        return list(dict.fromkeys([*deciding, *(name for name in names if name not in added), *added]))

    def request_data(self) -> dict[str, Any]:
        data = super().request_data()
        return data | ({"metrics": self.chosen_metrics} if "metrics" in data else {})

    @property
    def known_models(self) -> list[str]:
        """Names to choose from: baselines and models asked before, configured ones, and what endpoints list."""
        names = sorted({*known_baselines(), *settings.CODEFORGE.models, *models_used(external=False)})
        return list(dict.fromkeys([*names, *suggested_models(provider_rows())]))

    def groups(self) -> Iterator[tuple[str, str, list[tuple[str, forms.BoundField]]]]:
        """Heading, what is not the default in words, and kind with field of each parameter, for every folded group."""
        for group in (Group.CANVAS, Group.LIMITS, Group.PROMPT):
            fields = [(row.kind.name.lower(), self[row.name]) for row in self.folded if row.group is group]
            if fields:
                yield group.value, changed_in_words([field for _, field in fields]), fields


def changed_in_words(fields: Iterable[forms.BoundField]) -> str:
    """The fields that are not at their defaults."""
    return ", ".join(_changed(field) for field in fields if _is_changed(field))


def _is_changed(field: forms.BoundField) -> bool:
    value, parameter = field.value(), RUN_PARAMETERS.get(field.name)
    return value not in (None, "", [], False) and (parameter is None or str(value) != str(parameter.default))


def _changed(field: forms.BoundField) -> str:
    """A field that is not at its default, with its value if that is short: ``Temperature 0.2``, ``System prompt``."""
    value = str(field.value())
    return f"{field.label} {value}" if len(value) <= LONGEST_SHOWN and value != "True" else str(field.label)


class RescoringForm(ParametersForm):
    """Other metrics, judge or references for the stored answers of a run."""

    version = forms.ChoiceField(label="References", required=False, help_text="Version of the dataset")
    rubric = forms.CharField(
        label="New rubric",
        required=False,
        help_text="As YAML; its metric is added to those selected",
        widget=forms.Textarea({"rows": 8, "spellcheck": "false", "class": "code"}),
    )
    name = forms.CharField(label="Name", required=False)

    def __init__(self, run: Run, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        given = {"concurrency": run.concurrency, "version": run.dataset_version.number, **(initial or {})}
        super().__init__(PARAMETERS, [], data, given)
        numbers = run.dataset.versions.order_by("-number").values_list("number", flat=True)
        self._choose("version", [(str(number), f"Version {number}") for number in numbers])
        version = run.dataset_version
        offered = {metric.name: metric for metric in (*REGISTERED_METRICS.values(), *rubric_metrics(version))}
        names = dict.fromkeys([*(name for name in self.chosen_metrics if name in offered), *offered])
        fitting = [offered[name] for name in names if not missing_fields(offered[name], version)]
        self.metric_choice = {"selected": set(self.chosen_metrics), "fitting": fitting}

    def request_data(self) -> dict[str, Any]:
        """Raises ``InvalidRequest`` for a rubric that cannot be read."""
        data = super().request_data()
        if text := data.pop("rubric", ""):
            rubric = rubric_of_text(text)
            name = PREFIX + rubric["name"]
            data |= {"rubrics": [rubric], "metrics": [*data.get("metrics", ()), name]}
            data["metrics"] = list(dict.fromkeys(data["metrics"]))
        return data


def parameter_field(parameter: RunParameter) -> forms.Field:
    """The field of a form for a parameter of a run."""
    if parameter.kind is Kind.SWITCH:
        return forms.BooleanField(label=parameter.label, help_text=parameter.hint, required=False)
    if parameter.kind is Kind.NAMES:
        return AnyChoice(label=parameter.label, help_text=parameter.hint, required=False)
    if parameter.kind is Kind.PARAMETERS:
        return PairsField(label=parameter.label, help_text=parameter.hint, required=False)
    suggested = {"list": "models"} if parameter.name.endswith("model") else {}
    widgets: dict[Kind, forms.Widget] = {
        Kind.INTEGER: _whole(),
        Kind.NUMBER: forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"}),
        Kind.LONG_TEXT: forms.Textarea(attrs={"rows": 3}),
        Kind.CHOICE: forms.Select(choices=[("", "Default"), *((name, name) for name in parameter.choices)]),
        Kind.TEXT: forms.TextInput({"autocomplete": "off", "spellcheck": "false", **suggested}),
    }
    widget = forms.Select() if parameter.name == "dataset" else widgets[parameter.kind]
    return _text(parameter.label, parameter.hint, widget=widget)


def known_baselines() -> list[str]:
    return [f"baseline/{name}" for name in BASELINE_MODELS]


class CalibrationForm(RequestForm):
    """A calibration of a judge. Defaults and hints are those of the request that the service checks."""

    judge_model = _text("Judge", list="judges", autocomplete="off", spellcheck="false")
    canvas_set = _text("Canvas set", widget=forms.Select())
    metric = _text("Metric", widget=forms.Select())
    questions = _text("Max questions", widget=_whole())
    repeats = _text("Repeats per answer", widget=_whole())
    concurrency = _text("Max concurrent requests", widget=_whole())
    seed = _text("Seed", widget=_whole())

    def __init__(
        self, canvas_sets: list[CanvasSet], data: Any = None, initial: Mapping[str, Any] | None = None
    ) -> None:
        request = CalibrationRequest().fields
        defaults = {str(name): field.default for name, field in request.items() if field.default is not empty}
        judge = settings.CODEFORGE.judge.model
        super().__init__(data, initial={"judge_model": judge or "", **defaults, **(initial or {})})
        for name, field in self.fields.items():
            field.help_text = str(request[name].help_text)
        self._choose("canvas_set", [(canvas_set.slug, canvas_set.slug) for canvas_set in canvas_sets])
        self._choose("metric", [(name, REGISTERED_METRICS[name].title) for name in calibratable_metrics()])
        self.has_canvas_sets = bool(canvas_sets)
        self.known_judges = sorted({*settings.CODEFORGE.models, *([judge] if judge else [])})
