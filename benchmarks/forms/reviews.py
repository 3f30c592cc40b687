"""The forms of review queues: draw one, and import labels into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet

from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.fields import UploadField
from benchmarks.metrics.preference import Preference
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.models import OF_MODELS, Experiment, Outcome, ReviewQueue, Run
from benchmarks.presentation.judges import ENOUGH
from benchmarks.presentation.labels import SAMPLING, STRATUM, metric_title
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.texts import visible
from benchmarks.queries.compare import runs_to_offer
from benchmarks.queries.preferences import preferences
from benchmarks.queries.reviews import deciding_metrics
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.reviews.files import MAX_BYTES, ImportedLabels, import_labels
from benchmarks.services.reviews.queues import MAX_RUNS, create_review
from benchmarks.services.reviews.sampling import count_answers

OFFERED = 60
"""Latest experiments and preference runs to choose from."""


class ReviewForm(ProblemForm):
    """A new review queue. ``initial`` may name runs, an experiment, whose runs are filled in, or a preference run."""

    name = forms.CharField(label="Title", max_length=200, widget=forms.TextInput({"autocomplete": "off"}))
    metric = forms.ChoiceField()
    runs = forms.TypedMultipleChoiceField(required=False, coerce=int, widget=forms.CheckboxSelectMultiple)
    experiment = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, help_text="All of its runs, in place of the runs above"
    )
    preference = forms.TypedChoiceField(
        label="Preference run",
        required=False,
        coerce=int,
        empty_value=None,
        help_text="Its pairs of answers, in place of runs; for preference only",
    )
    method = forms.ChoiceField(label="Sampling", choices=list(SAMPLING.items()))
    by = forms.ChoiceField(label="Groups", choices=list(STRATUM.items()), help_text="For equal numbers from each group")
    size = forms.IntegerField(label="Answers to label", initial=100)
    overlap = forms.IntegerField(label="Labeled twice", initial=20, help_text="To measure agreement between people")
    seed = forms.IntegerField(initial=0, help_text="The same seed draws the same answers")
    outcome = forms.ChoiceField(required=False)
    difficulty = forms.CharField(required=False, max_length=6)
    group = forms.CharField(label="Task class", required=False, max_length=64)
    blind = forms.BooleanField(
        required=False, initial=True, help_text="Hide model, judge, scores and other labels while the review is open"
    )
    description = forms.CharField(
        label="Instructions", required=False, max_length=2_000, widget=forms.Textarea({"rows": 3})
    )

    needed = frozenset({"name"})
    folds_empty = True
    fieldsets: Any = (
        (None, {"fields": ("name", "metric")}),
        ("Answers", {"fields": ("size", "overlap", "blind")}),
        ("Sampling", {"fields": ("method", "by", "seed")}),
        ("Instructions", {"fields": ("description",)}),
        ("Other sources and filters", {"fields": ("experiment", "preference", "outcome", "difficulty", "group")}),
    )

    def __init__(self, data: Any = None, *, initial: Any = None) -> None:
        if experiment := (initial or {}).get("experiment"):
            members = Run.objects.filter(experiment=experiment).order_by("pk").values_list("pk", flat=True)
            initial = {**initial, "runs": list(members[:MAX_RUNS]), "experiment": None}
        super().__init__(data, initial=initial)
        runs = Run.objects.filter(OF_MODELS).select_related("dataset", "dataset_version").defer("summary")
        chosen = list(runs.filter(pk__in=self._chosen("runs")).order_by("pk"))
        scored = Counter(name for run in chosen for name in deciding_metrics(run))
        deciding = {name: metric.title for name, metric in REGISTERED_METRICS.items() if metric.decides_outcome}
        deciding[Preference.name] = "Preference between two answers"
        # A rubric or the scorer of another tool is known only by the runs that use it.
        deciding |= {name: metric_title(name) for name in scored if name not in deciding}
        name = str((data or initial or {}).get("metric", ""))[:64]
        metric = metric_named(name)
        if metric and metric.decides_outcome:
            deciding[name] = metric.title
        elif name not in deciding:
            name = max(scored, key=lambda each: scored[each], default=next(iter(deciding)))
        self.initial = {**self.initial, "metric": name}
        self.unscored = "" if not chosen or name in (*scored, Preference.name) else deciding[name]
        self._offer("metric", list(deciding.items()))
        self._offer("outcome", [("", "Any"), *Outcome.choices])
        backend = "django.contrib.auth.backends.ModelBackend"
        if User.objects.with_perm("benchmarks.label_result", backend=backend).count() < 2:
            self.fields["overlap"].initial = 0
        self.available = count_answers(chosen) if chosen else None
        self._propose_size()
        if chosen:
            named = f"run {chosen[0].pk}" if len(chosen) == 1 else f"{len(chosen)} runs"
            self.initial = {"name": f"Review of {named}", **self.initial}
        latest = [run for run in runs_to_offer(chosen) if run not in chosen]
        self.more_runs = _more_runs(chosen, latest, name) if 0 < (self.available or 0) < ENOUGH else []
        self._offer("runs", [(run.pk, _run_title(run)) for run in (*chosen, *latest)])
        latest_of: dict[str, QuerySet[Any]] = {
            "experiment": Experiment.objects.order_by("-pk"),
            "preference": preferences(),
        }
        for name, rows in latest_of.items():
            offered = {row.pk: _title(row) for row in (*rows.filter(pk__in=self._chosen(name)), *rows[:OFFERED])}
            self._offer(name, [("", "None"), *offered.items()])

    def is_in_use(self, field: forms.BoundField) -> bool:
        """The proposed seed is nothing that somebody entered."""
        return super().is_in_use(field) and not (field.name == "seed" and str(field.value()) == "0")

    def _propose_size(self) -> None:
        """No more than the chosen runs have, nor is more labeled twice."""
        if self.available is None:
            return
        given = str(self.initial.get("size", ""))
        size = min(int(given) if given.isdigit() else self.fields["size"].initial, self.available)
        self.initial = {**self.initial, "size": size, "overlap": min(self.fields["overlap"].initial, size)}
        self.fields["size"].help_text = f"Of {plural(self.available, 'answer')} of the chosen runs"

    def _chosen(self, name: str) -> list[int]:
        """The ids that were sent or are filled in."""
        value = self[name].value()
        values = map(str, value if isinstance(value, list) else [value])
        return [int(text) for text in values if text.isascii() and text.isdigit() and len(text) < 10]

    def _offer(self, name: str, choices: list[tuple[Any, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # a field of choices

    def store(self, user: Any) -> ReviewQueue:
        return create_review(self.cleaned_data, user)


def _more_runs(chosen: Sequence[Run], latest: Sequence[Run], metric: str) -> list[int]:
    """The latest other runs with scores by the same metric and judge that bring the answers to ``ENOUGH``; empty if
    they do not."""
    scored = Run.objects.filter(pk__in=[run.pk for run in latest], judge_model=chosen[0].judge_model)
    alike = {pk for pk, metrics in scored.values_list("pk", "metrics") if metric in metrics}
    runs = list(chosen)
    for run in latest:
        if run.pk in alike:
            runs.append(run)
            if count_answers(runs) >= ENOUGH:
                return [each.pk for each in runs[len(chosen) :]]
    return []


def _run_title(run: Run) -> str:
    model = " · ".join(filter(None, (run.model_label, run.variant)))
    return visible(f"Run {run.pk}: {model} on {run.dataset.title} v{run.version_label}")


def _title(row: Experiment | Run) -> str:
    """Of an experiment, or of a preference run."""
    return visible(f"{row.pk}: {row.name if isinstance(row, Experiment) else (row.preference or {})['dataset']}")


class ImportLabelsForm(forms.Form):
    """A file of labels for the answers of a review."""

    file = UploadField(
        "Labels",
        (".jsonl", ".csv"),
        "JSON Lines or CSV, as exported",
        limit=MAX_BYTES,
        too_large=f"The file exceeds {MAX_BYTES // 2**20} MB. Split it.",
    )

    def save(self, queue: ReviewQueue, user: Any) -> ImportedLabels | None:
        """What was imported; ``None`` if the file is refused, with errors in the form."""
        if not self.is_valid():
            return None
        upload = self.cleaned_data["file"]
        try:
            return import_labels(upload.read(), upload.name or "", queue, user)
        except InvalidRequest as refusal:
            for messages in refusal.errors.values():
                for message in messages:
                    self.add_error("file", message)
            return None
