"""Forms of requests. Their fields are those of the API; the services check them and word the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from rest_framework.fields import empty

from benchmarks.forms.fields import one_line_end
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Run
from benchmarks.presentation.texts import visible
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.extra_parameters import parsed_pairs, typed
from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.judges import CalibrationRequest, calibratable_metrics
from benchmarks.services.rubrics import rubric_of_text
from benchmarks.services.runs.rescoring import PARAMETERS
from frontend.metric_choice import decide_first
from tasks_app.models import CanvasSet

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

    shapes = _text("Shapes", "A number such as 7, or a range")
    count = _text("Canvases", "Each asks about six questions", widget=_whole())
    seed = _text("Seed", "The same seed generates the same set", widget=_whole())
    tracking_steps = _text("Tracking steps", "Changes and swaps in a tracking question", widget=_whole())
    name = _text("Name", "Empty: from the settings")


@dataclass(frozen=True, slots=True)
class Fold:
    """Fields that are folded away, with what is not the default in words. Each field has the kind of its parameter."""

    title: str
    changed: str
    fields: Sequence[tuple[str, forms.BoundField]]
    is_open: bool


def fold_of(
    form: RequestForm, title: str, names: Sequence[str], otherwise: str = "defaults", *, is_open: bool = False
) -> Fold:
    fields = [form[name] for name in names]
    is_open |= any(field.errors for field in fields)
    kinds = {name: RUN_PARAMETERS[name].kind.name.lower() if name in RUN_PARAMETERS else "" for name in names}
    return Fold(title, changed_in_words(fields) or otherwise, [(kinds[field.name], field) for field in fields], is_open)


def changed_in_words(fields: Iterable[forms.BoundField]) -> str:
    """The fields that are not at their defaults."""
    return ", ".join(_changed(field) for field in fields if _is_changed(field))


def _is_changed(field: forms.BoundField) -> bool:
    value, parameter = field.value(), RUN_PARAMETERS.get(field.name)
    if isinstance(field.field, AnyChoice) and {*(value or ())} == {widget.data["value"] for widget in field}:
        return False  # all of them is what none selected means
    return value not in (None, "", [], False) and (parameter is None or str(value) != str(parameter.default))


def _changed(field: forms.BoundField) -> str:
    """A field that is not at its default, with its value if that is short: ``Temperature 0.2``, ``System prompt``."""
    value = str(field.value())
    return f"{field.label} {value}" if len(value) <= LONGEST_SHOWN and value != "True" else str(field.label)


class RescoringForm(RequestForm):
    """Other metrics, judge or references for the stored answers of a run."""

    version = forms.ChoiceField(label="Expected answers", required=False, help_text="Version of the dataset")
    rubric = forms.CharField(
        label="New rubric",
        required=False,
        help_text="As YAML; its metric is added to those selected",
        widget=forms.Textarea({"rows": 8, "spellcheck": "false", "class": "code", "placeholder": " "}),
    )
    name = forms.CharField(label="Name", required=False, help_text="Optional; lists show it beside the model")

    def __init__(self, run: Run, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        given = {"concurrency": run.concurrency, "version": run.dataset_version.number, **(initial or {})}
        super().__init__(data, initial={name: RUN_PARAMETERS[name].default for name in PARAMETERS} | given)
        self.fields |= {name: parameter_field(RUN_PARAMETERS[name]) for name in PARAMETERS}
        self.fields["judge_model"].widget.attrs["placeholder"] = settings.CODEFORGE.judge.model or ""
        numbers = list(run.dataset.versions.order_by("-number").values_list("number", flat=True))
        self._choose("version", [(str(number), f"Version {number}") for number in numbers])
        self.has_versions = len(numbers) > 1

    @property
    def metrics(self) -> list[str]:
        """The selected metrics in the order in which they decide the outcome."""
        if isinstance(self.data, QueryDict) and self.is_bound:
            return decide_first(self.data.getlist("metrics"), self.data.get("given", "").split(","))
        return [*(self.initial.get("metrics") or ())]

    @property
    def judge(self) -> str:
        return str(self["judge_model"].value() or settings.CODEFORGE.judge.model or "")

    @property
    def known_models(self) -> list[str]:
        """Names to choose a judge from."""
        return sorted({*settings.CODEFORGE.models, *filter(None, [settings.CODEFORGE.judge.model])})

    @property
    def judging_fold(self) -> Fold:
        return fold_of(self, "Judging", [name for name in PARAMETERS if name not in ("metrics", "judge_model")])

    def request_data(self) -> dict[str, Any]:
        """Raises ``InvalidRequest`` for a rubric that cannot be read."""
        data = super().request_data()
        data |= {"metrics": self.metrics} if self.metrics else {}
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


_CALIBRATION_HINTS = {"judge_model": "As provider/model", "canvas_set": "", "metric": ""}
"""In place of what the API says of a field."""


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
            field.help_text = _CALIBRATION_HINTS.get(name, str(request[name].help_text))
        self._choose("canvas_set", [(canvas_set.slug, visible(canvas_set.name)) for canvas_set in canvas_sets])
        self._choose("metric", [(name, REGISTERED_METRICS[name].title) for name in calibratable_metrics()])
        self.has_canvas_sets = bool(canvas_sets)
        self.known_judges = sorted({*settings.CODEFORGE.models, *([judge] if judge else [])})
