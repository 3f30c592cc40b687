"""Runs and their states."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.asking import KEY_LENGTH, asked, key_of
from benchmarks.metrics.base import Metric
from benchmarks.metrics.imported import deciding_names, tool_title
from benchmarks.metrics.registered_metrics import metric_named, parts_of
from benchmarks.metrics.rubrics import PREFIX, rubric_metric
from benchmarks.models.datasets import Dataset, DatasetVersion
from benchmarks.models.experiments import Experiment
from benchmarks.presentation import actions
from benchmarks.presentation.labels import RUN_STATUS, version_label
from benchmarks.presentation.sentences import same_seed
from benchmarks.run_parameters import seed_of_repeat, seeds_shown


class RunStatus(models.TextChoices):
    QUEUED = "queued", RUN_STATUS["queued"]
    PREPARING = "preparing", RUN_STATUS["preparing"]
    RUNNING = "running", RUN_STATUS["running"]
    PAUSED = "paused", RUN_STATUS["paused"]
    COMPLETED = "completed", RUN_STATUS["completed"]
    COMPLETED_WITH_ERRORS = "completed_with_errors", RUN_STATUS["completed_with_errors"]
    FAILED = "failed", RUN_STATUS["failed"]
    CANCELLED = "cancelled", RUN_STATUS["cancelled"]


TERMINAL = frozenset(RunStatus(status) for status in actions.TERMINAL)
COMPLETED = frozenset(RunStatus(status) for status in actions.COMPLETED)
LIVE = frozenset(RunStatus(status) for status in actions.LIVE)
STOPPED = frozenset({RunStatus.FAILED, RunStatus.CANCELLED})
ACTIVE = frozenset({RunStatus.PREPARING, RunStatus.RUNNING})


OF_MODELS = models.Q(calibration__isnull=True, preference__isnull=True)
"""Runs that ask a model; the others replay stored answers for a judge, and have lists of their own."""


class Run(models.Model):
    """One execution of one dataset version against one model.

    Counters (``total`` to ``judge_cost_usd``) change with the results, in the same transactions; ``summary`` and
    ``breakdown`` are computed from the rows while the run is live and when it ends. A cost is ``None`` if the price is
    unknown, and tokens if a reply came without their count, never 0. ``parameters`` are sent with every request:
    temperature, max_tokens, seed, system_prompt….
    """

    waits_until: datetime | None
    """Until when the endpoint asked the run's workers to wait. Only on runs that ``queries.runs`` reads one by one."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="runs")
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="runs")
    model = models.CharField(max_length=200)
    experiment = models.ForeignKey(Experiment, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs")
    variant = models.CharField(max_length=100, blank=True, help_text="Its name within the experiment")
    name = models.CharField(max_length=200, blank=True)
    tags = models.JSONField(default=list, blank=True)
    notes = models.TextField(blank=True)
    pinned = models.BooleanField(default=False, help_text="Lists show it first")
    baseline = models.BooleanField(
        default=False, help_text="Comparisons on its dataset use it as the baseline; at most one run of a dataset"
    )
    metrics = models.JSONField()
    headline = models.TextField(
        blank=True, help_text="The metric of its score: the one that decides every task, or what several make together"
    )
    judge_model = models.CharField(max_length=600, blank=True, help_text="One judge, or several separated by commas")
    judge_repeats = models.PositiveSmallIntegerField(default=1)
    judge_vote = models.CharField(max_length=8, default="mean")
    user_model = models.CharField(max_length=200, blank=True, help_text="Plays the user in simulated conversations")
    self_judged = models.BooleanField(default=False)
    parameters = models.JSONField(default=dict)
    repeats = models.PositiveSmallIntegerField(default=1)
    seed_per_repeat = models.BooleanField(
        default=True,
        editable=False,
        help_text="Whether repeat r sends its seed plus r − 1; if not, as until 0.1.0, every repeat sends the seed",
    )
    concurrency = models.PositiveSmallIntegerField(default=32)
    use_cache = models.BooleanField(default=False)
    skip_judge_when_identical = models.BooleanField(default=False)
    budget_usd = models.FloatField(null=True, blank=True)
    task_classes = models.JSONField(default=list, blank=True)
    representation = models.CharField(max_length=20, blank=True)
    few_shot = models.BooleanField(default=False)
    include_doubtful = models.BooleanField(
        default=False, help_text="Whether scores count whose reference the audit finds wrong or undetermined"
    )
    limit = models.PositiveIntegerField(null=True, blank=True, help_text="Run only the first N tasks")
    split = models.CharField(max_length=40, blank=True, help_text="Run only the tasks of this split")
    only_task = models.CharField(
        max_length=200, blank=True, help_text="Run only the task with this id; the limit is 1 then"
    )
    subset = models.PositiveIntegerField(
        null=True, blank=True, help_text="Run only N drawn tasks, and estimate the score on all tasks"
    )
    subset_design = models.JSONField(
        default=dict, blank=True, help_text="Tasks, predictions and strata of the draw, fixed before anything is sent"
    )
    target_half_width = models.FloatField(
        null=True, blank=True, help_text="An adaptive run adds canvases until every interval is this narrow"
    )
    max_canvases = models.PositiveIntegerField(
        null=True, blank=True, help_text="The most canvases that an adaptive run may use"
    )
    adaptive = models.JSONField(default=dict, blank=True, help_text="Number of shapes → canvases used so far")
    added_canvases = models.PositiveIntegerField(
        default=0, help_text="How many of its canvases were added to the set after the set was created"
    )

    model_params = models.JSONField(
        default=dict, blank=True, help_text="`params` of the model in codeforge.yaml when the run was started"
    )
    asked = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="How it asks, as `asking.asked` says: {question, answer, score: {name: value}}, without defaults",
    )
    question_key = models.CharField(
        max_length=KEY_LENGTH, blank=True, editable=False, help_text="Hash of what its parameters make the model read"
    )
    answer_key = models.CharField(
        max_length=KEY_LENGTH, blank=True, editable=False, help_text="Hash of what says how the model answers"
    )
    judge_settings = models.JSONField(
        default=dict, blank=True, help_text="How its judge is asked: JudgeSettings, and `params` of the judge"
    )
    rubrics = models.JSONField(
        default=dict, blank=True, help_text="Name → rubric of each metric `rubric:NAME`, as used, with its hash"
    )
    judge_trial = models.JSONField(
        null=True, blank=True, help_text="The judge on one known pair: {value, reason, calls}; none if it was not tried"
    )
    adjustments = models.JSONField(
        default=dict, blank=True, help_text="What requests go without: {model, judge: {name: sentence}}"
    )
    calibration = models.JSONField(
        null=True, blank=True, help_text="Only for judge calibrations: {questions, seed, phrasings} as requested"
    )
    preference = models.JSONField(
        null=True,
        blank=True,
        help_text="Only for preference runs: {dataset, version, experiment, candidates, criteria, tasks, "
        "pairs_per_task, only_new, seed}; candidates are the compared runs as {run, model, variant}",
    )

    status = models.CharField(max_length=21, choices=RunStatus.choices, default=RunStatus.QUEUED)
    error_message = models.TextField(blank=True)
    is_prepared = models.BooleanField(
        default=False, help_text="All of its results exist and it was set running; otherwise resuming prepares it"
    )
    total = models.PositiveIntegerField(default=0, help_text="Its results; changes in one transaction with them")
    done = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveBigIntegerField(default=0, null=True)
    tokens_out = models.PositiveBigIntegerField(default=0, null=True)
    cost_usd = models.FloatField(null=True, blank=True)
    judge_tokens_in = models.PositiveBigIntegerField(default=0, null=True)
    judge_tokens_out = models.PositiveBigIntegerField(default=0, null=True)
    judge_cost_usd = models.FloatField(null=True, blank=True)
    user_tokens_in = models.PositiveBigIntegerField(default=0, null=True)
    user_tokens_out = models.PositiveBigIntegerField(default=0, null=True)
    user_cost_usd = models.FloatField(
        null=True, blank=True, default=0.0, help_text="Of the simulated user; part of cost_usd"
    )
    reserved_usd = models.FloatField(default=0.0)

    summary = models.JSONField(default=dict, blank=True)
    breakdown = models.JSONField(default=dict, blank=True)
    summarized_at = models.DateTimeField(null=True, blank=True)

    texts_pruned_at = models.DateTimeField(
        null=True, blank=True, help_text="When the texts of its results were deleted"
    )
    texts_left = models.BooleanField(default=False, help_text="Deleting them has started and not finished")

    code_version = models.CharField(max_length=60, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    environment = models.JSONField(default=dict, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns")
    fresh_of = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="fresh_runs",
        help_text="The run on a published set that this one on a fresh set is compared with",
    )
    rescored_from = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        db_index=True,
        help_text="The run whose answers this one scores; its model is not asked. A number, because that run may go",
    )
    import_format = models.CharField(
        max_length=20, blank=True, help_text="The tool that made the run if it was imported; api if it was pushed"
    )
    import_key = models.CharField(
        max_length=64, null=True, blank=True, unique=True, help_text="SHA-256 of the file and of the part of it"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.FloatField(default=0.0, help_text="Time in preparation and running, up to active_since")
    shared_since = models.DateTimeField(null=True, blank=True, help_text="Share links made since then are valid")
    shared_until = models.DateTimeField(null=True, blank=True, help_text="End of the last share link")
    active_since = models.DateTimeField(null=True, blank=True, help_text="Only while it is preparing or running")

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
            self.headline = self.headline or self.first_deciding
            self.note_asked()
        super().save(*args, **options)

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
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def duration_seconds(self) -> float | None:
        """Time in preparation and running so far, without pauses and the time before a retry; ``None`` before that."""
        if self.started_at is None:
            return None
        since = self.active_since
        return self.active_seconds + ((timezone.now() - since).total_seconds() if since else 0.0)

    @property
    def texts_pruned(self) -> str:
        """``pruned on`` with the day on which the texts of its results were deleted; empty while they are stored."""
        return f"pruned on {self.texts_pruned_at:%Y-%m-%d}" if self.texts_pruned_at else ""

    @property
    def n_doubtful(self) -> int:
        """How many results are left out because of a doubtful reference, by the latest summary."""
        metrics = self.summary.get("metrics", {}).values()
        return max((metric.get("n_doubtful", 0) for metric in metrics), default=0)

    @property
    def unasked(self) -> int:
        """How many results of a stopped run wait for it to be resumed: not asked yet, or answered and not judged."""
        return self.results.filter(outcome="cancelled").count()

    @property
    def version_label(self) -> str:
        """The version it asks about, with the canvases added to the set that it includes: ``1 + 72 canvases``."""
        return version_label(self.dataset_version.number, self.added_canvases)

    @property
    def extra(self) -> dict[str, Any]:
        """The parameters that are sent with every question as they are; those of the run replace the model's."""
        return {**self.model_params, **self.parameters.get("extra", {})}

    def seed_of(self, repeat: int) -> int | None:
        """What the n-th repeat of a task sends as its seed; ``None`` without one."""
        seed = self.parameters.get("seed")
        return seed if seed is None or not self.seed_per_repeat else seed_of_repeat(seed, repeat)

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
        return self.model.startswith("baseline/") and not self.is_imported

    @property
    def is_calibration(self) -> bool:
        """Whether the run measures its judge: it replays answers with known truth, and asks no model."""
        return self.calibration is not None

    @property
    def is_preference(self) -> bool:
        """Whether its judge chooses between stored answers of other runs."""
        return self.preference is not None

    @property
    def is_replay(self) -> bool:
        """Whether it replays answers that were stored for its judge, and asks no model."""
        return self.is_calibration or self.is_preference

    @property
    def has_canvases(self) -> bool:
        """Whether results may share a canvas or a task, and so are not independent of each other."""
        return bool(self.representation) or self.is_replay

    @property
    def is_imported(self) -> bool:
        """Whether another tool made the run, so that nothing of it can be sent again from here."""
        return bool(self.import_format)

    @property
    def import_tool(self) -> str:
        """The name of the tool that made the run; empty for a run made here."""
        return tool_title(self.import_format) if self.import_format else ""

    @property
    def all_metrics(self) -> list[str]:
        """The headline, and then the metrics that it does not name."""
        return list(dict.fromkeys((self.headline, *self.metrics)))

    @property
    def first_deciding(self) -> str:
        """The first metric that can decide an outcome, or the first of all if none can."""
        names = [metric.name for metric in self.deciding_metrics()] or deciding_names(self.metrics)
        return next(iter(names), "")

    def deciding_metrics(self) -> list[Metric]:
        """The metrics that can decide an outcome, in their order: of each task, the first that applies does.

        Where another tool has scored the answers, only its scores decide, not those that were added here.
        """
        known = (self.metric_named(name) for name in deciding_names(self.metrics))
        return [metric for metric in known if metric and metric.decides_outcome]

    def metric_named(self, name: str) -> Metric | None:
        """The metric as it scores this run: a rubric with its scale and threshold."""
        return rubric_metric(name, self.rubrics) or metric_named(name)

    def rubric_version(self, metric: str) -> str:
        """The first characters of the hash of each rubric that the metric scored by; empty for other metrics."""
        hashes = (str(self.rubrics.get(part.removeprefix(PREFIX), {}).get("hash", "")) for part in parts_of(metric))
        return " ".join(text[:8] for text in hashes if text)

    @property
    def model_label(self) -> str:
        """The model as lists and sentences name it, marked if the run was not made here."""
        return f"{self.model} (imported)" if self.is_imported else self.model
