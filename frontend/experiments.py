"""Experiments as pages show them: the form of a launch, the rows of the matrix, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from benchmarks.models import LIVE, Dataset, Run, RunStatus
from benchmarks.presentation.numbers import plural
from benchmarks.queries.experiments import Progress
from benchmarks.run_parameters import RUN_PARAMETERS, given_shown
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.requests import COMMON, PROMPTING, SAMPLING
from frontend.forms import AnyChoice, ParametersForm, RequestForm, parameter_field

MOST_VARIANTS = 20
FOREMOST = ("budget_usd", "max_tokens")
"""Parameters that are not folded: a budget requires both."""
_IN_VARIANT = re.compile(r"variants\[(\d+)\]\.(?:parameters\.)?(\w+): (.*)", re.DOTALL)
_LINES = forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"})


class VariantForm(RequestForm):
    """One way of asking."""

    name = forms.CharField(label="Variant", required=False, help_text="For example, step by step")

    def __init__(self, place: int, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        given = {**(initial or {}), **(initial or {}).get("parameters", {})}
        super().__init__(data, initial=given, prefix=f"variant-{place}")
        self.fields |= {name: parameter_field(RUN_PARAMETERS[name]) for name in (*PROMPTING, *SAMPLING)}

    def request_data(self) -> dict[str, Any]:
        given = super().request_data()
        parameters = {name: given.pop(name) for name in SAMPLING if name in given}
        return {**given, **({"parameters": parameters} if parameters else {})}


class ExperimentForm(ParametersForm):
    """An experiment. Each of its ``variants`` is a form of its own; ``do=variant`` asks for one more."""

    name = forms.CharField(label="Name", required=False)
    description = forms.CharField(label="Description", required=False, widget=forms.Textarea(attrs={"rows": 2}))
    tags = forms.CharField(label="Tags", required=False, help_text="Separated by commas")
    datasets = AnyChoice(label="Datasets", required=False)
    models = forms.CharField(label="Models", required=False, help_text="One per line, provider/model", widget=_LINES)
    heading = "{group} of all runs"

    def __init__(self, datasets: list[Dataset], data: Any = None, initial: Any = None) -> None:
        given = dict(initial or {})
        given |= {"models": "\n".join(given.get("models", ())), "tags": ", ".join(given.get("tags", ()))}
        super().__init__(COMMON, datasets, data, given)
        self.folded = [row for row in self.folded if row.name not in FOREMOST]
        self.fields["budget_usd"].help_text = "Of all runs together; they pause before they exceed it"
        self.fields["metrics"].help_text = "Used where they apply"
        self.variants = self._variant_forms(data, given.get("variants", ()))

    def _variant_forms(self, data: Any, initial: Sequence[Mapping[str, Any]]) -> list[VariantForm]:
        if data is None:
            return [VariantForm(place, initial=variant) for place, variant in enumerate(initial)]
        sent = [place for place in range(MOST_VARIANTS) if f"variant-{place}-name" in data]
        count = min(len(sent) + (data.get("do") == "variant"), MOST_VARIANTS)
        return [VariantForm(place, data) for place in range(count)]

    def request_data(self) -> dict[str, Any]:
        """The request as the API would receive it. A variant that is left empty is none."""
        data = super().request_data()
        for name, separator in (("models", "\n"), ("tags", ",")):
            data[name] = [part.strip() for part in data.get(name, "").split(separator) if part.strip()]
        data.setdefault("datasets", [])
        variants = [form.request_data() for form in self.variants]
        if any(variants):
            data["variants"] = [variant for variant in variants if variant]
        return data

    def reject(self, error: InvalidRequest) -> None:
        """Attach the errors to the fields, those of a variant to its own."""
        errors = error.labeled(self.labels)
        try:
            filled = [form for form in self.variants if form.request_data()]
        except InvalidRequest:  # extra parameters that cannot be read are the error
            filled = []
        rest = []
        for message in errors.pop("variants", []):
            match = _IN_VARIANT.match(message)
            form = filled[int(match[1])] if match and int(match[1]) < len(filled) else None
            if match and form is not None and match[2] in form.fields:
                form.full_clean()
                form.add_error(match[2], match[3])
            else:
                rest.append(message)
        super().reject(InvalidRequest({**errors, **({"variants": rest} if rest else {})}))


def ways_of_asking(request: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each variant of a launched experiment sets, and then what holds for all its runs: heading, and labels with
    values."""
    variants = [
        (variant["name"], given_shown({**variant, **variant.get("parameters", {})}))
        for variant in request.get("variants", ())
    ]
    common = given_shown({name: request.get(name) for name in COMMON})
    return [*variants, *([("All runs", common)] if common else [])]


def offered(runs: Sequence[Run], progress: Progress, has_budget: bool) -> dict[str, str]:
    """Action → label of what can be done with the runs together."""
    statuses = set(progress.runs_by_status)
    stopped = {RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED}
    going = LIVE | {RunStatus.PAUSED}
    errors = sum(run.errors for run in runs if run.status not in going)
    possible = {
        "pause": ("Pause", bool(statuses & LIVE)),
        "resume": ("Resume", bool(statuses & stopped)),
        "cancel": ("Cancel", bool(statuses & going)),
        "retry": (f"Retry {plural(errors, 'error')}", bool(errors)),
        "budget": ("Raise budget", has_budget),
        "delete": ("Delete experiment", not statuses & going),
    }
    return {name: label for name, (label, is_possible) in possible.items() if is_possible}
