"""Canvases as stored: a set, its canvases, and one question of each task class for each canvas."""

from __future__ import annotations

from django.db import models


class CanvasSet(models.Model):
    """Canvases generated with one seed and generator version over a range of numbers of shapes, or imported from files.

    A generated set is append-only: canvas i of n shapes depends only on the seed, n and i. The seed, the shapes, the
    tracking steps and the task classes never change.
    """

    class Origin(models.TextChoices):
        GENERATED = "generated"
        IMPORTED = "imported"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.GENERATED)
    seed = models.BigIntegerField(null=True, blank=True)
    generator_version = models.CharField(max_length=20, blank=True)
    shapes_low = models.PositiveSmallIntegerField()
    shapes_high = models.PositiveSmallIntegerField()
    tracking_steps = models.PositiveSmallIntegerField(default=3)
    task_classes = models.JSONField(default=list, help_text="Task classes of every canvas, in order")
    count = models.PositiveIntegerField(default=0)
    wanted = models.PositiveIntegerField(default=0, help_text="Total number of canvases requested")
    initial_count = models.PositiveIntegerField(
        default=0, help_text="Canvases requested when it was created; versions count those beyond as added"
    )
    error_message = models.TextField(blank=True, help_text="Why generating stopped before all canvases existed")
    audited = models.PositiveIntegerField(default=0, help_text="Number of canvases in its audit")
    not_applicable = models.JSONField(default=dict, help_text="Task class → number of canvases without a question")
    audit = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return self.name

    @property
    def is_growing(self) -> bool:
        return self.count < self.wanted and not self.error_message


class Canvas(models.Model):
    # No index of its own: those below begin with it, and rows come by the hundred thousand.
    canvas_set = models.ForeignKey(CanvasSet, on_delete=models.CASCADE, related_name="canvases", db_index=False)
    index = models.PositiveIntegerField(help_text="Its place in the set")
    n_shapes = models.PositiveSmallIntegerField()
    number = models.PositiveIntegerField(
        default=0, help_text="Its number among the canvases with as many shapes, as in its file's name"
    )
    shapes = models.JSONField(help_text="List of {shape, color, size, center}")
    descriptions = models.JSONField(help_text="Description name → text")
    layout = models.JSONField(
        default=dict, blank=True, help_text="Names of descriptions and questions as ordered in the imported file"
    )

    class Meta:
        ordering = ("canvas_set", "index")
        verbose_name_plural = "canvases"
        constraints = (models.UniqueConstraint(fields=("canvas_set", "index"), name="one_canvas_per_place_in_its_set"),)
        indexes = (models.Index(fields=("canvas_set", "n_shapes", "index"), name="canvas_by_shapes"),)

    def __str__(self) -> str:
        return f"Canvas {self.index}"

    @property
    def key(self) -> str:
        """Its name in files, and the part before / in the IDs of its tasks."""
        return f"canvas_{self.n_shapes}_{self.number}"


class Question(models.Model):
    """The evaluation question of one task class for one canvas, with its few-shot examples."""

    class Audit(models.TextChoices):
        AGREES = "agrees"
        WRONG = "wrong"
        UNDETERMINED = "undetermined"

    DOUBTS = (Audit.WRONG, Audit.UNDETERMINED)
    """Verdicts of an audit on an answer that may be wrong."""

    # As above, the constraint's index begins with it.
    canvas = models.ForeignKey(Canvas, on_delete=models.CASCADE, related_name="questions", db_index=False)
    task_name = models.CharField(max_length=64)
    question = models.TextField()
    answer = models.TextField()
    answer_is_number = models.BooleanField(default=False, help_text="Whether the canvas file has it as a number")
    examples = models.JSONField(default=list, help_text="List of [question, answer]")
    difficulty = models.JSONField(default=dict, help_text="Measure → number, for example tracking steps")
    audit = models.CharField(max_length=12, choices=Audit.choices, blank=True)
    audit_note = models.TextField(blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("canvas", "task_name"), name="one_question_per_task_class_and_canvas"),
        )

    def __str__(self) -> str:
        return f"{self.task_name} of {self.canvas_id}"
