"""Forms of what may be asked for: the fields of the API, checked by the same services, which word the errors.

A form itself checks nothing. It knows how a field looks and what it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from rest_framework.fields import empty

from benchmarks.metrics.base import Metric
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.queries.runs import models_used
from benchmarks.services.judges import CalibrationRequest, examinable_metrics
from benchmarks.services.runs.start import ALWAYS_THERE
from tasks_app.loader import REPRESENTATIONS
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

LISTS = ("metrics", "tasks")
SWITCHES = ("use_cache", "few_shot", "skip_judge_when_identical", "allow_self_judging")

_WHOLE = forms.NumberInput(attrs={"inputmode": "numeric", "step": "1"})
_REAL = forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"})


class AnyChoice(forms.MultipleChoiceField):
    """Boxes to tick; what was ticked is for the service to judge."""

    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        return None


def _text(label: str, help_text: str = "", widget: forms.Widget | None = None, **attrs: str) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget or forms.TextInput(attrs=attrs)
    )


def _switch(label: str, help_text: str = "") -> forms.BooleanField:
    return forms.BooleanField(label=label, help_text=help_text, required=False)


class RequestForm(forms.Form):
    """``request_data`` is what goes to the service. ``reject`` puts its errors at the fields."""

    def request_data(self) -> dict[str, Any]:
        """The request as the API would get it: what was left empty is left out."""
        return {name: value for name in self.fields if (value := self._sent(name)) not in ("", [], False)}

    def reject(self, errors: Mapping[str, list[str]]) -> None:
        self.full_clean()
        for name, texts in errors.items():
            self.add_error(name if name in self.fields else None, [forms.ValidationError(text) for text in texts])

    def _sent(self, name: str) -> Any:
        return self.data.get(name, "")

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        if isinstance(field, AnyChoice):
            field.choices = choices
        elif isinstance(field.widget, forms.Select):
            field.widget.choices = choices


class CanvasSetForm(RequestForm):
    """A generated canvas set."""

    shapes = _text("Shapes", "One number, 7, or a range, 3-12", placeholder="3-12")
    count = _text("Canvases", "All together", widget=_WHOLE)
    seed = _text("Seed", "The same seed draws the same set", widget=_WHOLE)
    tracking_steps = _text("Tracking steps", "Changes and swaps that tracking questions tell", widget=_WHOLE)
    name = _text("Name", "Made up if left empty")


class LaunchForm(RequestForm):
    """A run."""

    dataset = _text("Dataset", widget=forms.Select())
    model = _text("Model", "provider/model", list="models", autocomplete="off", spellcheck="false")
    metrics = AnyChoice(label="Metrics", required=False)
    judge_model = _text("Judge model", "For judged metrics", list="models", autocomplete="off", spellcheck="false")
    repeats = _text("Repeats of each task", widget=_WHOLE)
    concurrency = _text("Requests in flight", "At most", widget=_WHOLE)
    limit = _text("Task limit", "Only the first so many", widget=_WHOLE)
    budget_usd = _text("Budget in US dollars", "The run pauses there", widget=_REAL)
    temperature = _text("Temperature", widget=_REAL)
    top_p = _text("Top p", widget=_REAL)
    max_tokens = _text("Most tokens per answer", widget=_WHOLE)
    seed = _text("Seed", widget=_WHOLE)
    max_tool_steps = _text("Most tool steps", widget=_WHOLE)
    system_prompt = _text("System prompt", widget=forms.Textarea(attrs={"rows": 3}))
    use_cache = _switch("Use kept replies", "Ask nothing that was asked before in the same words")
    skip_judge_when_identical = _switch("Skip the judge where the answer is the reference")
    allow_self_judging = _switch("The judge may be the model itself")
    tasks = AnyChoice(label="Task classes", required=False, help_text="None ticked: all")
    representation = _text("Representation", widget=forms.Select())
    few_shot = _switch("Show two examples first", "Few-shot instead of zero-shot")
    target_half_width = _text(
        "Add canvases until this sure", "0.05: every number of shapes within 5 points to either side", widget=_REAL
    )
    max_canvases = _text("But at most so many canvases", "Empty: ask about the canvases there are", widget=_WHOLE)

    def __init__(self, datasets: list[Dataset], data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={"repeats": 1, "max_tool_steps": 5, **(initial or {})})
        self._datasets = {dataset.slug: dataset for dataset in datasets}
        self._choose("dataset", [(dataset.slug, f"{dataset.slug} ({dataset.kind})") for dataset in datasets])
        self._choose("representation", [("", "full"), *((name, name) for name in REPRESENTATIONS if name != "full")])
        self._choose("metrics", [(name, metric.title) for name, metric in REGISTERED_METRICS.items()])
        self._choose("tasks", [(name, name) for name in REGISTERED_TASKS])
        self.known_models = sorted({*known_baselines(), *settings.CODEFORGE.models, *models_used(external=False)})

    def missing_for(self, metric: Metric) -> list[str]:
        """What the metric needs and no task of the chosen dataset has, such as a schema; empty where it applies."""
        slug = self["dataset"].value() or next(iter(self._datasets), "")
        version = self._datasets[slug].current_version if slug in self._datasets else None
        if version is None:
            return []
        fields = version.facets.get("fields", {})
        return sorted(name for name in metric.needs - ALWAYS_THERE if not fields.get(name))

    def _sent(self, name: str) -> Any:
        if name in LISTS:
            return self.data.getlist(name)  # type: ignore[attr-defined]  # bound to a QueryDict
        return name in self.data if name in SWITCHES else super()._sent(name)


def known_baselines() -> list[str]:
    return [f"baseline/{name}" for name in BASELINE_MODELS]


class CalibrationForm(RequestForm):
    """A judge's examination. Defaults and hints are those of the request that the service checks."""

    judge_model = _text("Judge", list="judges", autocomplete="off", spellcheck="false")
    canvas_set = _text("Canvas set", widget=forms.Select())
    metric = _text("Metric", widget=forms.Select())
    questions = _text("Questions", widget=_WHOLE)
    repeats = _text("Repeats", widget=_WHOLE)
    concurrency = _text("Requests in flight", widget=_WHOLE)
    seed = _text("Seed", widget=_WHOLE)

    def __init__(
        self, canvas_sets: list[CanvasSet], data: Any = None, initial: Mapping[str, Any] | None = None
    ) -> None:
        asked = CalibrationRequest().fields
        defaults = {str(name): field.default for name, field in asked.items() if field.default is not empty}
        judge = settings.CODEFORGE.benchmark.judge_model
        super().__init__(data, initial={"judge_model": judge or "", **defaults, **(initial or {})})
        for name, field in self.fields.items():
            field.help_text = str(asked[name].help_text)
        self._choose("canvas_set", [(found.slug, found.slug) for found in canvas_sets])
        self._choose("metric", [(name, REGISTERED_METRICS[name].title) for name in examinable_metrics()])
        self.has_canvas_sets = bool(canvas_sets)
        self.known_judges = sorted({*settings.CODEFORGE.models, *([judge] if judge else [])})
