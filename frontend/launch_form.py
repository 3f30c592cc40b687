"""The form of the launch page: models × benchmarks × variants. One of each is a run, more are an experiment.

Its state is what an address or a browser sends, so an address with the same names shows the same form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils import timezone

from benchmarks.analysis.matrices import PLAIN
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Dataset, DatasetVersion, Run
from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.timetables import in_words
from benchmarks.providers.extra_parameters import typed
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.requests import PROMPTING, SAMPLING
from benchmarks.services.runs.requests import CANVAS_METRIC, validated
from benchmarks.services.runs.sizing import SizeQuestion
from benchmarks.services.schedules import next_times, timing_errors
from benchmarks.statistics.crossed import FEWEST
from frontend.forms import AnyChoice, Fold, RequestForm, changed_in_words, fold_of, parameter_field
from frontend.metric_choice import decide_first, fitting_metrics
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

MOST_VARIANTS = 20
TIMES = (
    *(("Every day", "03:00"), ("Weekdays", "0 3 * * 1-5")),
    *(("Mondays", "0 3 * * 1"), ("Every hour", "0 * * * *")),
)
LONGEST_STATE = 3_500
"""Characters of a form's state in an address; web servers accept a little more."""
_IN_VARIANT = re.compile(r"variants\[(\d+)\]\.(?:parameters\.)?(\w+): (.*)", re.DOTALL)
_OF_DATASET = re.compile(r'metrics_by_dataset(?:\.|\[")([^"\]:]+)(?:"\])?: (.*)', re.DOTALL)
_IN_LIST = re.compile(r"\w+\[\d+\]: (.*)", re.DOTALL)
_SEPARATORS = re.compile(r"[\s,]+")
_OF_FORM = {"datasets": "dataset", "models": "model"}
"""Field of an experiment → the field of the form that stands for it."""
_CHOSEN = ("model", "more_models", "dataset", "metrics", "when", "margin")
_BESIDE = ("csrfmiddlewaretoken", "do", "like", "sheet", "as_last", *SizeQuestion().fields)
"""What is sent with the form and not part of its state."""
_TASKS = [name for name, row in RUN_PARAMETERS.items() if row.selects and not row.canvas_only]
_JUDGE = ("judge_model", "judge_repeats", "judge_vote", "allow_self_judging", "skip_judge_when_identical")
_PROMPT = ("prompt_template", "system_prompt")
_ASKING = (*PROMPTING, *SAMPLING, "extra-name", "extra-value")
"""The fields that decide how is asked; of further parameters, their names and values."""


class VariantForm(RequestForm):
    """One way of asking."""

    name = forms.CharField(label="Name", required=False)

    def __init__(self, place: int, data: QueryDict) -> None:
        super().__init__(data, prefix=f"variant-{place}")
        self.place = place
        self.fields |= {name: parameter_field(RUN_PARAMETERS[name]) for name in (*PROMPTING, *SAMPLING)}

    def request_data(self) -> dict[str, Any]:
        given = super().request_data()
        parameters = {name: given.pop(name) for name in SAMPLING if name in given}
        return {**given, **({"parameters": parameters} if parameters else {})}

    @property
    def prompt(self) -> list[forms.BoundField]:
        return [self[name] for name in _PROMPT]

    @property
    def is_open(self) -> bool:
        """Whether it is shown with its fields: one that is still like the first, or has errors."""
        return bool(self.errors) or not (self.asks or self["name"].value() == PLAIN)

    @property
    def asks(self) -> str:
        """What is not at its default; empty for the plain one."""
        return changed_in_words(self[name] for name in (*PROMPTING, *SAMPLING))

    @property
    def fold(self) -> Fold:
        return fold_of(self, "Parameters", [name for name in (*PROMPTING, *SAMPLING) if name not in _PROMPT])


class LaunchForm(RequestForm):
    """``request_data`` is the request for a run if ``is_run``, else that for an experiment."""

    model = AnyChoice(label="Models", required=False)
    more_models = forms.CharField(label="Other models", required=False)
    dataset = AnyChoice(label="Benchmarks", required=False)
    metrics = AnyChoice(label="Metrics", required=False)
    name = forms.CharField(label="Name", required=False)
    description = forms.CharField(label="Description", required=False, widget=forms.Textarea({"rows": 2}))
    tags = forms.CharField(label="Tags", required=False, help_text="Separated by commas")
    when = forms.CharField(label="Schedule", required=False)
    margin = forms.CharField(
        label="Tolerated loss (points)",
        required=False,
        help_text="Empty: each significant drop is reported, on the overview and to webhooks",
    )
    average_variants = forms.BooleanField(label="Rank models by their means over the variants", required=False)

    def __init__(self, datasets: Sequence[Dataset], data: QueryDict) -> None:
        super().__init__(data)
        self.sent = data
        self.by_slug = {dataset.slug: dataset for dataset in datasets}
        names = [name for name in RUN_PARAMETERS if name not in _CHOSEN]
        self.fields |= {name: parameter_field(RUN_PARAMETERS[name]) for name in names}
        self._choose("tasks", [(name, sentence_case(name)) for name in REGISTERED_TASKS])
        self.fields["judge_model"].widget.attrs["placeholder"] = settings.CODEFORGE.judge.model or ""
        self.fields["budget_usd"].label = "Stop at"
        self.fields["when"].help_text = f"Time of day or cron expression, {self.time_zone}"
        if self.is_schedule:
            self.fields["name"].widget.attrs["placeholder"] = "Model on benchmark"
        self.variants = [VariantForm(place, data) for place in _variants(data)]
        self.metric_errors: dict[str, list[str]] = {}
        if self.lacks_time:
            self.fields["when"].widget.attrs["autofocus"] = True

    @property
    def models(self) -> list[str]:
        """Those that are ticked, then those that are typed."""
        written = _SEPARATORS.split(self.sent.get("more_models", ""))
        return list(dict.fromkeys(name for name in (*self.sent.getlist("model"), *written) if name.strip()))

    @property
    def chosen(self) -> list[str]:
        """The slugs of the chosen benchmarks."""
        return list(dict.fromkeys(filter(None, self.sent.getlist("dataset"))))

    @property
    def is_run(self) -> bool:
        return max(len(self.models), len(self.chosen), len(self._asking())) <= 1

    @property
    def is_schedule(self) -> bool:
        """Whether the button saves a schedule: a time is given, or a stored one is edited."""
        return any(self.sent.get(name, "").strip() for name in ("when", "schedule"))

    @property
    def n_runs(self) -> int:
        return len(self.models) * len(self.chosen) * max(1, len(self._asking()))

    def _asking(self) -> list[VariantForm]:
        """The variants of which something is filled in."""
        prefixes = [(form, form.add_prefix("")) for form in self.variants]
        return [
            form
            for form, prefix in prefixes
            if any(any(values) for name, values in self.sent.lists() if name.startswith(prefix))
        ]

    @property
    def can_average(self) -> bool:
        """Whether there are enough variants to average over, or it was asked for."""
        return len(self.variants) >= FEWEST or "average_variants" in self.sent

    def request_data(self) -> dict[str, Any]:
        return self._request(self.is_run)

    def first_run(self) -> dict[str, Any]:
        """The request for the first run, of however many."""
        return self._request(is_run=True)

    def request_of(self, slug: str, model: str) -> dict[str, Any]:
        """The request for a run of the model on one of the chosen benchmarks, otherwise like the first run."""
        return {**self.first_run(), "model": model, "dataset": slug, "metrics": self.metrics_of(slug)}

    def schedule_data(self) -> dict[str, Any]:
        """The arguments of ``save_schedule``. Raises ``InvalidRequest`` for more than one run."""
        if not self.is_run:
            raise InvalidRequest({"when": ["A schedule starts one run. Choose one model, benchmark and variant."]})
        request = self.request_data()
        name = request.pop("name", "") or f"{request.get('model', '')} on {self._called(request.get('dataset', ''))}"
        own = {field: self.sent.get(field, "") for field in ("when", "margin")}
        return {"name": name, "request": request, **own}

    def _request(self, is_run: bool) -> dict[str, Any]:
        given = {name: value for name, value in super().request_data().items() if name not in _CHOSEN}
        tags = [tag.strip() for tag in given.pop("tags", "").split(",") if tag.strip()]
        given |= {"tags": tags} if tags else {}
        variants = [form.request_data() for form in self._asking()]
        metrics = {slug: self.metrics_of(slug) for slug in self.chosen}
        return (self._run if is_run else self._experiment)(given, variants, metrics)

    def _run(
        self, given: dict[str, Any], variants: Sequence[Mapping[str, Any]], metrics: Mapping[str, list[str]]
    ) -> dict[str, Any]:
        own = dict(variants[0]) if variants else {}
        own |= own.pop("parameters", {})
        own.pop("name", None)
        for name in ("description", "average_variants"):
            given.pop(name, None)
        for name in self.models[:1]:
            own["model"] = name
        for slug, names in [*metrics.items()][:1]:
            own |= {"dataset": slug, **({"metrics": names} if names or self.has_own_metrics(slug) else {})}
        return given | own

    def _experiment(
        self, given: dict[str, Any], variants: Sequence[Mapping[str, Any]], metrics: Mapping[str, list[str]]
    ) -> dict[str, Any]:
        models, slugs = self.models, self.chosen
        on = self._called(slugs[0]) if len(slugs) == 1 else plural(len(slugs), "benchmark")
        name = f"{models[0] if len(models) == 1 else plural(len(models), 'model')} on {on}"
        known = {slug: names for slug, names in metrics.items() if names}
        request = {"name": name, "datasets": slugs, "models": models, **given}
        request |= {"metrics_by_dataset": known} if known else {}
        return request | ({"variants": list(variants)} if variants else {})

    def _called(self, slug: str) -> str:
        return self.by_slug[slug].title if slug in self.by_slug else slug

    # The metrics of each benchmark: its own, unless somebody opened their list.

    def has_own_metrics(self, slug: str) -> bool:
        """Whether somebody chose the metrics of the benchmark."""
        return f"given-{slug}" in self.sent

    def metrics_of(self, slug: str) -> list[str]:
        """In the order in which they decide the outcome: what somebody added, then what the benchmark is scored by."""
        dataset = self.by_slug.get(slug)
        if self.has_own_metrics(slug):
            return decide_first(self.sent.getlist(f"metrics-{slug}"), self.sent.get(f"given-{slug}", "").split(","))
        if dataset is None:
            return []
        if named := self.sent.getlist("metrics"):
            offered = {metric.name for metric in fitting_metrics(_version(dataset))}
            applying = [name for name in named if name in offered]
            # As an experiment adds it, whose metrics are those of all its datasets.
            if dataset.kind == Dataset.Kind.CANVAS and CANVAS_METRIC not in named:
                applying.insert(0, CANVAS_METRIC)
            return applying or named
        return preset_metrics(dataset)

    @property
    def judged(self) -> list[str]:
        """The chosen metrics that ask a judge."""
        names = dict.fromkeys(name for slug in self.chosen for name in self.metrics_of(slug))
        return [name for name in names if (metric := metric_named(name)) is not None and metric.judged]

    # What is folded away.

    @property
    def prompt_fold(self) -> Fold:
        return fold_of(self, "All variants" if self.variants else "Prompt", _PROMPT, otherwise="{input}")

    @property
    def task_folds(self) -> Iterator[Fold]:
        """Which tasks, and who judges."""
        yield fold_of(self, "Tasks", _TASKS, otherwise="All")
        judge = fold_of(self, "Judge", _JUDGE, otherwise=settings.CODEFORGE.judge.model or "None")
        yield replace(judge, changed=judge.changed.removeprefix("Judge "))

    @cached_property
    def more_folds(self) -> list[Fold]:
        canvas = [name for name, row in RUN_PARAMETERS.items() if row.canvas_only]
        placed = {*_CHOSEN, *_TASKS, *canvas, *_JUDGE, *_PROMPT, "budget_usd"}
        names = {"Parameters": [name for name in RUN_PARAMETERS if name not in placed]}
        if any(dataset.kind == Dataset.Kind.CANVAS for dataset in self.by_slug.values()):
            names["Canvas sets"] = canvas
        names["Name and tags"] = ["tags", "description"] if self.asks_when else ["name", "tags", "description"]
        folds = [fold_of(self, title, of_title, otherwise="") for title, of_title in names.items()]
        return folds if self.asks_when else [*folds, self.when_fold]

    @property
    def more_changed(self) -> str:
        return ", ".join(fold.changed for fold in self.more_folds if fold.changed)

    @property
    def changed(self) -> str:
        """The settings of all runs that are not at their defaults, wherever they are folded away."""
        return changed_in_words(self[name] for name in RUN_PARAMETERS if name not in (*_CHOSEN, "budget_usd"))

    @property
    def is_more_open(self) -> bool:
        return any(fold.is_open for fold in self.more_folds)

    @property
    def when_fold(self) -> Fold:
        return fold_of(self, "When", ["name", "when"] if self.asks_when else ["when", "margin"], otherwise="")

    @property
    def drops_fold(self) -> Fold:
        return fold_of(self, "Score drops", ["margin"], otherwise="Each significant drop is reported")

    @property
    def asks_when(self) -> bool:
        """Whether the form begins with the time: it makes a schedule, or lacks a time for one, or a valid one."""
        return self.is_schedule or self.lacks_time or bool(self["when"].errors)

    @property
    def lacks_time(self) -> bool:
        """Whether it is to be saved as a schedule, and only a time is missing."""
        return self.sent.get("do") == "schedule" and self.is_run and not self.is_schedule

    @property
    def presets(self) -> Sequence[tuple[str, str]]:
        return TIMES

    @property
    def time_zone(self) -> str:
        return timezone.get_default_timezone_name()

    @property
    def due(self) -> tuple[str, list[datetime]] | None:
        """The time in words, and when the next runs would start; ``None`` if it cannot be read."""
        when = " ".join(self.sent.get("when", "").split())
        try:
            return in_words(when), next_times(when, 3)
        except ValueError:
            return None

    @property
    def benchmark_errors(self) -> list[str]:
        return [str(error) for name in ("dataset", "metrics") for error in self[name].errors]

    # Errors, and the state.

    @property
    def shown(self) -> list[forms.BoundField]:
        """The fields of the page that say themselves what is wrong with them."""
        if "sheet" in self.sent:
            return [self["budget_usd"]]
        folds = [self.prompt_fold, *self.task_folds, *self.more_folds, self.when_fold, self.drops_fold]
        fields = [self["budget_usd"], *[self["average_variants"]] * self.can_average]
        for variant in self.variants:
            fields += [variant["name"], *variant.prompt]
            folds.append(variant.fold)
        fields += [field for fold in folds for _, field in fold.fields]
        return [*{field.auto_id: field for field in fields}.values()]

    def reject(self, error: InvalidRequest) -> None:
        errors = {_OF_FORM.get(name, name): [*texts] for name, texts in error.unlabeled.items()}
        self._reject_metrics(errors)
        self._reject_variants(errors)
        super().reject(InvalidRequest({name: _plain(texts) for name, texts in errors.items() if texts}))

    def reject_values(self) -> None:
        """Mark the fields whose values are wrong whatever model and benchmark they are for."""
        super().reject(InvalidRequest(_wrong_values(self)))
        for variant in self.variants:
            variant.reject(InvalidRequest(_wrong_values(variant)))

    def reject_timing(self) -> None:
        """Mark what is wrong with the time of a schedule and the loss that it tolerates, as far as they are given."""
        when, margin = (" ".join(self.sent.get(name, "").split()) for name in ("when", "margin"))
        for name, texts in timing_errors(when or TIMES[0][1], margin).items():
            self.add_error(name, texts)

    def problems(self, error: InvalidRequest) -> list[tuple[str, str]]:
        errors = {_OF_FORM.get(name, name): _plain(texts) for name, texts in error.unlabeled.items()}
        return super().problems(InvalidRequest(errors))

    @property
    def labels(self) -> dict[str, str]:
        return {**super().labels, "metrics_by_dataset": "Metrics", "variants": "Variants"}

    def _reject_metrics(self, errors: dict[str, list[str]]) -> None:
        for text in errors.pop("metrics_by_dataset", []):
            match = _OF_DATASET.match(text)
            self.metric_errors.setdefault(match[1] if match else self.chosen[0], []).append(match[2] if match else text)
        for slug in self.chosen if "metrics" in errors else ():
            if len(self.chosen) == 1 or not self.metrics_of(slug):
                self.metric_errors.setdefault(slug, []).extend(errors["metrics"])
        if self.metric_errors:
            errors.setdefault("metrics", ["Change the metrics of the marked benchmarks."])

    def _reject_variants(self, errors: dict[str, list[str]]) -> None:
        asking, rest = self._asking(), []
        for message in errors.pop("variants", []):
            match = _IN_VARIANT.match(message)
            form = asking[int(match[1])] if match and int(match[1]) < len(asking) else None
            if match and form is not None and match[2] in form.fields:
                form.full_clean()
                form.add_error(match[2], match[3])
            else:
                rest.append(message)
        errors["variants"] = rest

    def state(self) -> str:
        """The query that shows this form again. Texts that no address can hold are left out."""
        kept = QueryDict(mutable=True)
        for name, values in self.sent.lists():
            if name not in _BESIDE and not self._says_nothing(name, values):
                kept.setlist(name, values)
        if len(kept.urlencode()) > LONGEST_STATE:
            for name in [name for name, values in kept.lists() if sum(map(len, values)) > LONGEST_STATE // 10]:
                del kept[name]
        return kept.urlencode()

    def _says_nothing(self, name: str, values: Sequence[str]) -> bool:
        kind, dash, slug = name.partition("-")
        if dash and kind in ("metrics", "given"):
            dataset = self.by_slug.get(slug)
            return slug not in self.chosen or dataset is None or self.metrics_of(slug) == preset_metrics(dataset)
        if dash and kind == "variant" and name.endswith("-name") and "-extra-" not in name:
            return False  # it says that there is a variant
        default = RUN_PARAMETERS[name].default if name in RUN_PARAMETERS else None
        return not any(values) or [*values] == [str(default)]


def with_defaults(sent: Mapping[str, list[str]]) -> QueryDict:
    """The fields of a form, with the default of each parameter that is not among them."""
    data = QueryDict(mutable=True)
    for name, parameter in RUN_PARAMETERS.items():
        if parameter.default is not None:
            data[name] = str(parameter.default)
    for name, values in sent.items():
        data.setlist(name, values)
    return data


def fields_of(request: Mapping[str, Any]) -> dict[str, list[str]]:
    """The fields of a form that makes this request for a run or an experiment."""
    fields = _fields(request, "")
    for name in ("dataset", "model"):
        fields[name] = [*map(str, request.get(f"{name}s") or [request.get(name, "")])]
    fields.pop("datasets", None)
    fields.pop("models", None)
    for slug, names in request.get("metrics_by_dataset", {}).items():
        fields |= {f"metrics-{slug}": names, f"given-{slug}": [",".join(names)]}
    if "dataset" in request and "metrics" in request:
        slug, names = request["dataset"], fields.pop("metrics")
        fields |= {f"metrics-{slug}": names, f"given-{slug}": [",".join(names)]}
    for place, variant in enumerate(request.get("variants", ())):
        fields |= _fields({**variant, **variant.get("parameters", {})}, f"variant-{place}-")
    return fields


def _fields(values: Mapping[str, Any], prefix: str) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, value in values.items():
        if name == "extra":
            pairs = typed(value or {})
            fields |= {f"{prefix}extra-name": [key for key, _ in pairs], f"{prefix}extra-value": [v for _, v in pairs]}
        elif name == "tags":
            fields[prefix + name] = [", ".join(value or ())]
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            fields[prefix + name] = value
        elif not isinstance(value, list | dict) and value not in NOT_GIVEN and value is not False:
            fields[prefix + name] = ["on" if value is True else str(value)]
    return fields


def asking_as(runs: Sequence[Run], data: QueryDict) -> QueryDict:
    """``data`` with the prompt and parameters of the runs, which the variants of their names take over. Those of runs
    without a variant are for the whole form, and for its lone variant."""
    changed, places = data.copy(), [(str(data[f"variant-{n}-name"]), f"variant-{n}-") for n in _variants(data)]
    of_variants = {run.variant: _asked_by(run) for run in reversed(runs)}
    if (whole := of_variants.pop("", None)) is not None:
        for _, prefix in places if len(places) == 1 else []:
            _set(changed, prefix, {})
        _set(changed, "", whole)
        return changed
    # A variant has what the form gives to all, unless it says otherwise; to say "nothing" it has no way.
    common = {name: data.getlist(name) for name in _ASKING}
    for name, prefix in places:
        own = {each: data.getlist(prefix + each) for each in _ASKING}
        kept = {each: own[each] if any(own[each]) else common[each] for each in _ASKING}
        _set(changed, prefix, of_variants.get(name, kept))
    _set(changed, "", {})
    return changed


def _asked_by(run: Run) -> dict[str, list[str]]:
    """The fields of a form that asks as the run does."""
    rows = [RUN_PARAMETERS[name] for name in (*PROMPTING, *SAMPLING)]
    return _fields({row.name: row.value_of(run) for row in rows if run.has_canvases or not row.canvas_only}, "")


def _set(data: QueryDict, prefix: str, fields: Mapping[str, list[str]]) -> None:
    """Give the form or the variant with this prefix these fields, and no others that decide how is asked."""
    for name in _ASKING:
        data.pop(prefix + name, None)
    for name, values in fields.items():
        data.setlist(prefix + name, values)


def with_variant(data: QueryDict) -> QueryDict:
    """One more variant; the first time two, of which the first asks as the form does."""
    more = data.copy()
    places = _variants(data)
    free = [place for place in range(MOST_VARIANTS) if place not in places]
    added = free[:1] if places else free[:2]
    for place in added:
        more[f"variant-{place}-name"] = PLAIN if place == 0 and not places else f"variant {place + 1}"
    return more


def with_metric(data: QueryDict, slug: str, metric: str = "") -> QueryDict:
    """``data`` with the metric after those by which the benchmark is scored."""
    more, names = data.copy(), LaunchForm(runnable_datasets(), data).metrics_of(slug)
    more.setlist(f"metrics-{slug}", [*names, metric])
    more[f"given-{slug}"] = ",".join([*names, metric])
    return more


def without_variant(data: QueryDict, place: str) -> QueryDict:
    """``data`` without the fields of the variant."""
    fewer = data.copy()
    for name in [name for name in data if name.startswith(f"variant-{place}-")]:
        del fewer[name]
    return fewer


def _wrong_values(form: RequestForm) -> dict[str, list[str]]:
    """Run parameter → what is wrong with the value that a form has for it, taken alone."""
    try:
        sent = RequestForm.request_data(form).items()
        validated({name: value for name, value in sent if name in RUN_PARAMETERS and name not in _CHOSEN})
    except InvalidRequest as error:
        texts = {name.removeprefix(form.add_prefix("")): texts for name, texts in error.unlabeled.items()}
        return {name: _plain(of_field) for name, of_field in texts.items() if name not in _CHOSEN}
    return {}


def _variants(data: QueryDict) -> list[int]:
    """The places of the variants that are sent."""
    return [place for place in range(MOST_VARIANTS) if f"variant-{place}-name" in data]


def _version(dataset: Dataset) -> DatasetVersion:
    assert dataset.current_version is not None, "a dataset that can be run"
    return dataset.current_version


def _plain(texts: Sequence[str]) -> list[str]:
    """Messages without the place in a list, where the field shows it."""
    return list(dict.fromkeys(match[1] if (match := _IN_LIST.fullmatch(text)) else text for text in texts))
