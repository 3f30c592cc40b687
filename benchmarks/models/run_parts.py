"""What a run is made of: what is asked for, where it comes from, how far it is, and its numbers.

Each part is an abstract model. All of them are columns of one table, because lists and claims read parts of several.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.asking import KEY_LENGTH
from benchmarks.metrics.base import Metric
from benchmarks.metrics.imported import tool_title
from benchmarks.metrics.registered_metrics import metric_named, parts_of
from benchmarks.metrics.rubrics import PREFIX, rubric_metric
from benchmarks.models.experiments import Experiment
from benchmarks.presentation import actions
from benchmarks.presentation.labels import RUN_STATUS
from benchmarks.providers.model_names import BASELINE
from benchmarks.run_parameters import seed_of_repeat
from benchmarks.summary import NO_NUMBERS, Breakdown, MetricNumbers, Summary, read_summary


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


class RunKind(models.TextChoices):
    """How the answers of a run came about, and what it measures."""

    ASKED = "asked", "Asked here"
    RESCORED = "rescored", "Answers of another run, scored again"
    IMPORTED = "imported", "Read from a file of another tool"
    PUSHED = "pushed", "Sent by another tool"
    CALIBRATION = "calibration", "Known answers, which measure a judge"
    PREFERENCE = "preference", "Pairs of stored answers, between which a judge or people choose"
    TRIAL = "trial", "A few tasks, asked to try what is about to start"


OF_MODELS = ~models.Q(kind__in=(RunKind.CALIBRATION, RunKind.PREFERENCE, RunKind.TRIAL))
"""Runs that measure a model. Trials do not; the others replay stored answers for a judge, in lists of their own."""
OF_BASELINES = models.Q(model__startswith=f"{BASELINE}/")
"""Runs of models with the name of a built-in one, as ``is_baseline`` reads it. Imported ones may be among them, which
SQLite finds in upper case, too; providers here have names in lower case."""
NAMED_THERE = "model_named"
"""Key in the environment of an imported run whose model has another name in its file."""
FIRST_START = "first start"
"""The tag of the runs that the first start queues by itself, so that nobody takes them for those of a person."""


class RunRequest(models.Model):
    """What is asked for, and fixed before anything is sent. ``parameters`` are sent with every request: temperature,
    max_tokens, seed, system_prompt…"""

    model = models.CharField(max_length=200)
    metrics = models.JSONField()
    judge_model = models.CharField(max_length=600, blank=True, help_text="One judge, or several separated by commas")
    judge_repeats = models.PositiveSmallIntegerField(default=1)
    judge_vote = models.CharField(max_length=8, default="mean")
    user_model = models.CharField(max_length=200, blank=True, help_text="Plays the user in simulated conversations")
    self_judged = models.BooleanField(default=False)
    parameters = models.JSONField(default=dict)
    model_params = models.JSONField(
        default=dict, blank=True, help_text="`params` of the model in codeforge.yaml when the run was started"
    )
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
    judge_settings = models.JSONField(
        default=dict, blank=True, help_text="How its judge is asked: JudgeSettings, and `params` of the judge"
    )
    rubrics = models.JSONField(
        default=dict, blank=True, help_text="Name → rubric of each metric `rubric:NAME`, as used, with its hash"
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

    class Meta:
        abstract = True

    @property
    def extra(self) -> dict[str, object]:
        """The parameters that are sent with every question as they are; those of the run replace the model's."""
        return {**self.model_params, **self.parameters.get("extra", {})}

    def seed_of(self, repeat: int) -> int | None:
        """What the n-th repeat of a task sends as its seed; ``None`` without one."""
        seed = self.parameters.get("seed")
        return seed if seed is None or not self.seed_per_repeat else seed_of_repeat(seed, repeat)

    def metric_named(self, name: str) -> Metric | None:
        """The metric as it scores this run: a rubric with its scale and threshold."""
        return rubric_metric(name, self.rubrics) or metric_named(name)

    def rubric_version(self, metric: str) -> str:
        """The first characters of the hash of each rubric that the metric scored by; empty for other metrics."""
        hashes = (str(self.rubrics.get(part.removeprefix(PREFIX), {}).get("hash", "")) for part in parts_of(metric))
        return " ".join(text[:8] for text in hashes if text)


class RunLineage(models.Model):
    """Where a run comes from, and with which code and prompts it was made."""

    kind = models.CharField(max_length=11, choices=RunKind.choices, default=RunKind.ASKED, editable=False)
    experiment = models.ForeignKey(Experiment, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs")
    variant = models.CharField(max_length=100, blank=True, help_text="Its name within the experiment")
    parent = models.ForeignKey(
        "benchmarks.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns"
    )
    fresh_of = models.ForeignKey(
        "benchmarks.Run",
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
    reported = models.JSONField(
        default=dict, blank=True, help_text="Numbers of the whole run that its tool reports and no single results give"
    )
    code_version = models.CharField(max_length=60, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    environment = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    @property
    def named_there(self) -> str:
        """The model's name in the file that the run was imported from, if it is another one; else empty."""
        return str(self.environment.get(NAMED_THERE, ""))

    @property
    def is_calibration(self) -> bool:
        """Whether the run measures its judge: it replays answers with known truth, and asks no model."""
        return self.kind == RunKind.CALIBRATION

    @property
    def is_preference(self) -> bool:
        """Whether its judge chooses between stored answers of other runs."""
        return self.kind == RunKind.PREFERENCE

    @property
    def is_replay(self) -> bool:
        """Whether it replays answers that were stored for its judge, and asks no model."""
        return self.is_calibration or self.is_preference

    @property
    def is_imported(self) -> bool:
        """Whether another tool made the run, so that nothing of it can be sent again from here."""
        return bool(self.import_format)

    @property
    def import_tool(self) -> str:
        """The name of the tool that made the run; empty for a run made here."""
        return tool_title(self.import_format) if self.import_format else ""


class RunProgress(models.Model):
    """How far a run is, and what it has used.

    Counters (``total`` to ``judge_cost_usd``) change with the results, in the same transactions. A cost is ``None`` if
    the price is unknown, and tokens if a reply came without their count, never 0.
    """

    status = models.CharField(max_length=21, choices=RunStatus.choices, default=RunStatus.QUEUED)
    error_message = models.TextField(blank=True)
    is_prepared = models.BooleanField(
        default=False, help_text="All of its results exist and it was set running; otherwise resuming prepares it"
    )
    judge_trial = models.JSONField(
        null=True, blank=True, help_text="The judge on one known pair: {value, reason, calls}; none if it was not tried"
    )
    adjustments = models.JSONField(
        default=dict, blank=True, help_text="What requests go without: {model, judge: {name: sentence}}"
    )
    adaptive = models.JSONField(default=dict, blank=True, help_text="Number of shapes → canvases used so far")
    added_canvases = models.PositiveIntegerField(
        default=0, help_text="How many of its canvases were added to the set after the set was created"
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
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.FloatField(default=0.0, help_text="Time in preparation and running, up to active_since")
    active_since = models.DateTimeField(null=True, blank=True, help_text="Only while it is preparing or running")
    progressed_at = models.DateTimeField(null=True, blank=True, help_text="When an answer or verdict was last stored")

    class Meta:
        abstract = True

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
    def silent_seconds(self) -> float | None:
        """Time since it last stored an answer or verdict, or went on; ``None`` unless it is running."""
        if self.status != RunStatus.RUNNING or self.active_since is None:
            return None
        since = max(self.active_since, self.progressed_at or self.active_since)
        return (timezone.now() - since).total_seconds()


class RunNumbers(models.Model):
    """A run's numbers, computed from its rows while it is live and when it ends."""

    headline = models.TextField(
        blank=True, help_text="The metric of its score: the one that decides every task, or what several make together"
    )
    summary = models.JSONField(default=dict, blank=True)
    breakdown = models.JSONField(default=dict, blank=True)
    summarized_at = models.DateTimeField(null=True, blank=True)
    _numbers: tuple[object, Summary] | None = None
    _parts: tuple[object, Breakdown] | None = None
    """What was read, with what it was read from."""

    class Meta:
        abstract = True

    @property
    def numbers(self) -> Summary:
        """``summary``, read once."""
        if self._numbers is None or self._numbers[0] is not self.summary:
            self._numbers = (self.summary, read_summary(self.summary))
        return self._numbers[1]

    @property
    def parts(self) -> Breakdown:
        """``breakdown``, read once."""
        if self._parts is None or self._parts[0] is not self.breakdown:
            self._parts = (self.breakdown, Breakdown.read(self.breakdown))
        return self._parts[1]

    def guess_of(self, metric: str) -> float | None:
        """What guessing scores by this metric, where it is known."""
        chance = (self.numbers.chance or {}).get(metric)
        return chance.guess if chance else None

    def numbers_of(self, metric: str) -> MetricNumbers:
        """Without a score if the metric is not in the summary."""
        return self.numbers.metrics.get(metric, NO_NUMBERS)

    @property
    def n_doubtful(self) -> int:
        """How many results are left out because of a doubtful reference, by the latest summary."""
        return max((metric.n_doubtful for metric in self.numbers.metrics.values()), default=0)
