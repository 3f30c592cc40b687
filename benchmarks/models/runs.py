"""A run: one execution of one dataset version against one model."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import models

from benchmarks.asking import asked, key_of
from benchmarks.metrics.base import Metric
from benchmarks.metrics.imported import PUSHED, deciding_names
from benchmarks.models.datasets import Dataset, DatasetVersion
from benchmarks.models.run_parts import RunKind, RunLineage, RunNumbers, RunProgress, RunRequest
from benchmarks.presentation.labels import version_label
from benchmarks.presentation.sentences import same_seed
from benchmarks.providers.model_names import is_baseline
from benchmarks.run_parameters import seeds_shown


class Run(RunRequest, RunLineage, RunProgress, RunNumbers):
    """One execution of one dataset version against one model; ``run_parts`` has what it is made of."""

    waits_until: datetime | None
    """Until when the endpoint asked the run's workers to wait. Only on runs that ``queries.runs`` reads one by one."""
    is_judging: bool = False
    """Whether all answers are there and verdicts are still to come. Set where ``queries.runs`` annotates it."""
    headline_mean: float | None
    headline_low: float | None
    headline_high: float | None
    """The score with its interval. Only on runs that ``queries.experiments`` reads with their experiments."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="runs")
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="runs")
    name = models.CharField(max_length=200, blank=True)
    tags = models.JSONField(default=list, blank=True)
    notes = models.TextField(blank=True)
    pinned = models.BooleanField(default=False, help_text="Lists show it first")
    baseline = models.BooleanField(
        "reference run",
        default=False,
        help_text="Comparisons on its dataset use it as the reference run; at most one run of a dataset",
    )
    texts_pruned_at = models.DateTimeField(
        null=True, blank=True, help_text="When the texts of its results were deleted"
    )
    texts_left = models.BooleanField(default=False, help_text="Deleting them has started and not finished")

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("status", "id"), name="runs_by_status"),
            models.Index(fields=("dataset", "model", "id"), name="runs_of_a_model"),
            models.Index(fields=("model", "id"), name="runs_by_model"),
            models.Index(fields=("status",), name="runs_without_numbers", condition=models.Q(summarized_at=None)),
        )
        constraints = (
            models.UniqueConstraint(fields=("dataset",), condition=models.Q(baseline=True), name="one_baseline"),
            models.CheckConstraint(
                condition=models.Q(errors__lte=models.F("done"), done__lte=models.F("total")),
                name="results_add_up",
            ),
        )
        permissions = (("launch_run", "Can launch, cancel and resume runs"),)

    def __str__(self) -> str:
        return f"run {self.pk}"

    def save(self, *args: Any, **options: Any) -> None:
        """Store the headline and how the run asks with its first row. Whoever changes what decides how it asks calls
        ``note_asked``."""
        if self._state.adding:
            self.kind = self._kind()
            self.headline = self.headline or self.first_deciding
            self.note_asked()
        super().save(*args, **options)

    def _kind(self) -> RunKind:
        if self.preference is not None:
            return RunKind.PREFERENCE
        if self.calibration is not None:
            return RunKind.CALIBRATION
        if self.kind == RunKind.TRIAL:
            return RunKind.TRIAL
        if self.rescored_from is not None:
            return RunKind.RESCORED
        if self.import_format:
            return RunKind.PUSHED if self.import_format == PUSHED else RunKind.IMPORTED
        return RunKind.ASKED

    def note_asked(self) -> None:
        """Set what is stored of how the run asks, without saving it."""
        self.asked = asked(self)
        self.question_key, self.answer_key = (key_of(self.asked[name]) for name in ("question", "answer"))

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **fetching: Any) -> Run:
        # Django looks for each of 74 columns in the list of those that were read: a quarter of the time of a list.
        return super().from_db(db, frozenset(field_names), values, **fetching)

    @property
    def budget_in_force(self) -> float | None:
        """The budget that its requests are reserved from: of its experiment, for all runs together, or its own."""
        return self.experiment.budget_usd if self.experiment else self.budget_usd

    @property
    def answers_cost_usd(self) -> float | None:
        """What its answers cost; ``None`` if unknown, or if another run has paid for them."""
        return self.cost_usd if self.rescored_from is None else None

    @property
    def texts_pruned(self) -> str:
        """``pruned on`` with the day on which the texts of its results were deleted; empty while they are stored."""
        return f"pruned on {self.texts_pruned_at:%Y-%m-%d}" if self.texts_pruned_at else ""

    @property
    def unasked(self) -> int:
        """How many results of a stopped run wait for it to be resumed: not asked yet, or answered and not judged."""
        return self.results.filter(outcome="cancelled").count()

    @property
    def version_label(self) -> str:
        """The version it asks about, with the canvases added to the set that it includes: ``1 + 72 canvases``."""
        return version_label(self.dataset_version.number, self.added_canvases)

    def sent_seed(self, repeat: int) -> int | None:
        """The same for people: of a run that was made elsewhere it is unknown, and some models refuse it."""
        refused = "seed" in self.adjustments.get("model", {})
        return None if self.is_imported or refused else self.seed_of(repeat)

    @property
    def seeds(self) -> str:
        """The seeds that its repeats send, for people; empty without one, and of a run that was made elsewhere."""
        seed = None if self.is_imported else self.parameters.get("seed")
        if seed is None:
            return ""
        # Baselines had other answers in each repeat also when these had one seed.
        own = self.seed_per_repeat or not self.is_baseline
        return seeds_shown(seed, self.repeats if own else 1, per_repeat=self.seed_per_repeat)

    @property
    def repeats_same_seed(self) -> bool:
        """Whether all its repeats were sent with one seed, so that they may be copies of each other."""
        one_seed = self.repeats > 1 and not self.seed_per_repeat and bool(self.seeds)
        return one_seed and not self.is_baseline and "seed" not in self.adjustments.get("model", {})

    @property
    def same_seed_sentence(self) -> str:
        """What to say where its repeats are counted; empty if each has a seed of its own."""
        return same_seed(self.parameters["seed"]) if self.repeats_same_seed else ""

    @property
    def has_seed(self) -> bool:
        """Whether its tasks come from a seed, so that others of their kind can be made."""
        return bool(self.representation) or "generator" in self.dataset_version.facets

    @property
    def is_baseline(self) -> bool:
        return is_baseline(self.model) and not self.is_imported

    @property
    def has_canvases(self) -> bool:
        """Whether results may share a canvas or a task, and so are not independent of each other."""
        return bool(self.representation) or self.is_replay

    @property
    def has_task_clusters(self) -> bool:
        """Whether tasks of a file name the cluster that they belong to."""
        return "clusters" in self.dataset_version.facets

    @property
    def has_clusters(self) -> bool:
        """Whether results share a canvas, a cluster of tasks or, with repeats, a task."""
        return self.repeats > 1 or self.has_canvases or self.has_task_clusters

    @property
    def all_metrics(self) -> list[str]:
        """The headline, and then the metrics that it does not name."""
        return list(dict.fromkeys((self.headline, *self.metrics)))

    @property
    def first_deciding(self) -> str:
        """The first metric that can decide an outcome, or the first of all if none can."""
        names = [metric.name for metric in self.deciding_metrics()] or deciding_names(tuple(self.metrics))
        return next(iter(names), "")

    def deciding_metrics(self) -> list[Metric]:
        """The metrics that can decide an outcome, in their order: of each task, the first that applies does.

        Where another tool has scored the answers, only its scores decide, not those that were added here.
        """
        known = (self.metric_named(name) for name in deciding_names(tuple(self.metrics)))
        return [metric for metric in known if metric and metric.decides_outcome]

    @property
    def model_label(self) -> str:
        """The model as lists and sentences name it, marked if the run was not made here."""
        return f"{self.model} (imported)" if self.is_imported else self.model
