"""Datasets, their immutable versions, the tasks of a version, and the files that datasets come from."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from benchmarks.presentation.labels import FILE_STATE, VERSION_ORIGIN, dataset_title, version_label
from tasks_app.models import CanvasSet, Question

HIDDEN_KINDS = ("calibration", "preference")
"""Kinds of datasets that hold stored answers for judges, which no list shows."""

EXAMPLE_SET = "example-canvases"
"""Slug of the canvas set that the first start generates."""


class Dataset(models.Model):
    """A named, versioned set of tasks. ``current_version`` has the tasks; runs keep the version they used."""

    class Kind(models.TextChoices):
        YAML = "yaml"
        CANVAS = "canvas"
        CALIBRATION = "calibration"
        PREFERENCE = "preference"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=11, choices=Kind.choices, default=Kind.YAML)
    canvas_set = models.OneToOneField(
        CanvasSet, null=True, blank=True, on_delete=models.CASCADE, related_name="dataset"
    )
    known_answers_of = models.OneToOneField(
        CanvasSet,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="known_answers",
        help_text="For judge calibration: the canvas set whose questions the stored answers belong to",
    )
    current_version = models.ForeignKey(
        "DatasetVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    edited_here = models.BooleanField(default=False, help_text="Edited here since the file was last imported")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug

    @property
    def title(self) -> str:
        """What people read where the dataset is named: its name on one line, cut if it is long. The slug stands where
        it is typed or copied, and in place of a name without a readable character."""
        return dataset_title(self.name, self.slug)


class DatasetVersion(models.Model):
    """One immutable content of a dataset. A canvas version may grow, but what it has never changes."""

    class Origin(models.TextChoices):
        FILE = "file", VERSION_ORIGIN["file"]
        ADMIN = "admin", VERSION_ORIGIN["admin"]
        UPLOAD = "upload", VERSION_ORIGIN["upload"]
        GENERATED = "generated", VERSION_ORIGIN["generated"]
        IMPORTED = "imported", VERSION_ORIGIN["imported"]

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    origin = models.CharField(max_length=9, choices=Origin.choices)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    metrics = models.JSONField(default=list, blank=True, help_text="Metrics of runs that name none, in order")
    tools = models.JSONField(default=list, blank=True)
    tool_results = models.JSONField(default=dict, blank=True)
    world = models.JSONField(null=True, blank=True, help_text="Tables and rules by which tools answer in every task")
    rubrics = models.JSONField(default=list, blank=True, help_text="Rubrics by which a judge may score answers")
    task_count = models.PositiveIntegerField(default=0)
    added_canvases = models.PositiveIntegerField(
        default=0, help_text="Canvases by which a canvas set was enlarged since it was created"
    )
    facets = models.JSONField(
        default=dict,
        help_text="Tasks by difficulty, task class, split, label, needed field and simulated user; weights, clusters",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ("dataset", "-number")
        constraints = (
            models.UniqueConstraint(fields=("dataset", "number"), name="versions_are_numbered_once"),
            models.UniqueConstraint(fields=("dataset", "content_hash"), name="one_version_per_content"),
        )

    def __str__(self) -> str:
        return f"{self.name}, version {self.label}"

    @property
    def label(self) -> str:
        """Its number, with the canvases that were added to it: ``1 + 72 canvases``."""
        return version_label(self.number, self.added_canvases)


class Task(models.Model):
    """One thing that a model is asked, with its reference answer."""

    ASKED: ClassVar[tuple[str, ...]] = ("input", "messages", "context", "tools", "tool_results")
    """What the model reads. If it is equal, a stored answer is one to this task, too."""
    REFERENCES: ClassVar[tuple[str, ...]] = (
        *("expected_output", "other_answers", "expected_tools", "final_state", "tests", "schema", "pattern"),
        *("constraints", "must_refuse", "tolerance", "rubric"),
    )
    """What an answer is held against."""

    class Difficulty(models.TextChoices):
        EASY = "easy"
        MEDIUM = "medium"
        HARD = "hard"

    version = models.ForeignKey(DatasetVersion, on_delete=models.CASCADE, related_name="tasks")
    position = models.PositiveIntegerField()
    task_id = models.CharField(max_length=200)
    name = models.CharField(max_length=300)
    input = models.TextField(help_text="What is asked, as text; of messages, the whole conversation")
    messages = models.JSONField(null=True, blank=True, help_text="List of {role, content}, sent in place of the input")
    turns = models.JSONField(null=True, blank=True, help_text="What the user says turn by turn, after the messages")
    user = models.JSONField(null=True, blank=True, help_text="Goal, persona and most turns of a simulated user")
    expected_output = models.TextField(blank=True)
    other_answers = models.JSONField(null=True, blank=True, help_text="Texts accepted besides the expected output")
    difficulty = models.CharField(max_length=6, choices=Difficulty.choices, default=Difficulty.MEDIUM)
    split = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="Part of the dataset, such as test"
    )
    weight = models.FloatField(default=1.0, db_default=1.0, help_text="How much it counts in the weighted mean")
    tags = models.JSONField(null=True, blank=True)
    metadata = models.JSONField(null=True, blank=True)
    labels = models.JSONField(null=True, blank=True, help_text="Tags, split and metadata as a list of `key: value`")
    expected_tools = models.JSONField(default=list, blank=True)
    context = models.JSONField(default=list, blank=True)
    tools = models.JSONField(null=True, blank=True)
    tool_results = models.JSONField(default=dict, blank=True)
    world = models.JSONField(null=True, blank=True, help_text="Tables and rules in place of the version's")
    final_state = models.JSONField(null=True, blank=True, help_text="What must hold in the world at the end")
    tests = models.TextField(null=True, blank=True)
    schema = models.JSONField(null=True, blank=True)
    choices = models.JSONField(default=list, blank=True)
    pattern = models.TextField(null=True, blank=True)
    constraints = models.JSONField(null=True, blank=True)
    must_refuse = models.BooleanField(null=True, blank=True, help_text="Whether the model must refuse, or must not")
    tolerance = models.FloatField(null=True, blank=True)
    rubric = models.JSONField(null=True, blank=True, help_text="The name of a rubric of the version, or a rubric")
    other_fields = models.JSONField(
        null=True, blank=True, help_text="Keys of the dataset format that have no column: name → value"
    )
    content_hash = models.CharField(max_length=64, help_text="Equal for tasks that ask and expect exactly the same")
    # The default is also the database's: rows of canvas tasks are written without the columns that they do not need.
    is_doubtful = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether somebody marked its reference as doubtful, so that its scores do not count",
    )
    group = models.CharField(max_length=64, blank=True, help_text="The canvas task class")
    n_shapes = models.PositiveSmallIntegerField(null=True, blank=True)
    cluster = models.CharField(
        max_length=32,
        blank=True,
        help_text="Shared by the tasks of one canvas, text or template, which are one cluster",
    )
    question = models.ForeignKey(Question, null=True, blank=True, on_delete=models.CASCADE, related_name="tasks")
    known_answer = models.JSONField(
        null=True,
        blank=True,
        help_text="Answers for a judge: {question, phrasing, correct, text} of a calibration, "
        "{task, first, second, text, other} of a preference run",
    )

    class Meta:
        ordering = ("version", "position")
        constraints = (models.UniqueConstraint(fields=("version", "task_id"), name="task_ids_are_unique_in_a_version"),)
        indexes = (
            models.Index(fields=("version", "position"), name="tasks_in_order"),
            models.Index(fields=("content_hash",), name="tasks_of_equal_content"),
            models.Index(fields=("version",), name="doubtful_tasks", condition=Q(is_doubtful=True)),
        )

    def __str__(self) -> str:
        return self.task_id

    def value_of(self, key: str) -> Any:
        """The stored value of a key of the dataset format other than ``id``; ``None`` if the task has none."""
        return getattr(self, key) if hasattr(Task, key) else (self.other_fields or {}).get(key)


class DatasetFile(models.Model):
    """A YAML file in the datasets directory, as last seen. A file with errors keeps its problems here."""

    class State(models.TextChoices):
        GOOD = "good", FILE_STATE["good"]
        BROKEN = "broken", FILE_STATE["broken"]
        VANISHED = "vanished", FILE_STATE["vanished"]
        UNDECIDED = "undecided", FILE_STATE["undecided"]

    path = models.CharField(max_length=500, unique=True, help_text="Relative to the datasets directory")
    dataset = models.OneToOneField(Dataset, null=True, blank=True, on_delete=models.SET_NULL, related_name="file")
    state = models.CharField(max_length=9, choices=State.choices)
    size = models.PositiveBigIntegerField(default=0)
    modified_ns = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    problems = models.JSONField(default=list, help_text="List of {line, path, message, text}")
    checked_at = models.DateTimeField()

    class Meta:
        ordering = ("path",)

    def __str__(self) -> str:
        return self.path
