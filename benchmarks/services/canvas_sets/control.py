"""Request, generate, audit and delete canvas sets. Every set is a dataset of the same name.

The command generates at once. The API, the admin and the page request a set, which a job generates.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils.text import slugify
from rest_framework import serializers

from benchmarks import jobs
from benchmarks.engine.canvas_sets import generation
from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.models import Dataset, DatasetVersion, Run, Task
from benchmarks.providers.clean_text import full_sentence
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictRequest, StrictText, validated_by
from benchmarks.services.runs.control import delete_run
from tasks_app.canvas.generator import GENERATOR_VERSION, MAX_SHAPES, canvas_rng, generate_shapes
from tasks_app.canvas.shapes import Shape
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS

MOST_CANVASES = 100_000
MOST_STEPS = 100
LARGEST_SEED = 2**63 - 1

_SHAPES = re.compile(r"(-?[0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?", re.ASCII)


class ShapesField(serializers.CharField):
    """A number of shapes, 7 or "7", or a range of them, "3-12"; read as (low, high)."""

    default_error_messages = {  # noqa: RUF012 - declared like this by the base class
        "form": "Enter a number such as 7, or a range such as 3-12.",
        "bounds": f"A canvas has 1 to {MAX_SHAPES} shapes, all different. Enter numbers in this range.",
        "order": "The range is reversed. Enter the smaller number first, for example, 3-12.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int):
            self.fail("form")
        match = _SHAPES.fullmatch(str(data)[:40].strip())
        if match is None:
            self.fail("form")
        low, high = int(match[1]), int(match[2] or match[1])
        if not (1 <= low <= MAX_SHAPES and 1 <= high <= MAX_SHAPES):
            self.fail("bounds")
        if high < low:
            self.fail("order")
        return low, high


class CanvasSetRequest(StrictRequest):
    """A request for a generated canvas set."""

    shapes = ShapesField(
        help_text="A number of shapes such as 7, or a range such as 3-12, over which the count is spread evenly"
    )
    count = serializers.IntegerField(
        min_value=1, max_value=MOST_CANVASES, help_text="Total number of canvases; an existing set is extended to it"
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=LARGEST_SEED, help_text="The same seed generates the same set"
    )
    name = StrictText(
        required=False, allow_blank=True, default="", max_length=100, help_text="Default: derived from the settings"
    )
    tracking_steps = serializers.IntegerField(
        required=False, default=DEFAULT_TRACKING_STEPS, min_value=1, max_value=MOST_STEPS,
        help_text="Changes and swaps per tracking question",
    )  # fmt: skip

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Turn the values into the fields of a ``CanvasSet``."""
        low, high = attrs.pop("shapes")
        attrs["wanted"] = count = attrs.pop("count")
        if count < (period := high - low + 1):
            message = f"{count} canvases are too few for {period} numbers of shapes. Enter at least {period}."
            raise serializers.ValidationError({"count": [message]})
        if not attrs["name"]:
            shapes = f"{low} to {high} shapes" if high > low else f"{low} shape{'s' if low > 1 else ''}"
            steps = attrs["tracking_steps"]
            attrs["name"] = f"{shapes}, seed {attrs['seed']}" + (
                "" if steps == DEFAULT_TRACKING_STEPS else f", {steps} steps"
            )
        attrs["slug"] = slugify(attrs["name"])[:100]
        if not attrs["slug"]:
            message = "The name contains no letters a-z or digits, so no identifier can be derived. Enter another name."
            raise serializers.ValidationError({"name": [message]})
        attrs |= {"shapes_low": low, "shapes_high": high}
        return attrs | {"task_classes": list(REGISTERED_TASKS), "generator_version": GENERATOR_VERSION}


def canvas_set_fields(data: Any) -> dict[str, Any]:
    """The fields of the set that a request asks for. Raises ``InvalidRequest`` naming every invalid field."""
    return validated_by(CanvasSetRequest(data=data))


def previewed_canvases(data: Any, most: int) -> tuple[str, list[tuple[Shape, ...]]]:
    """The name of the set that a request asks for, and the shapes of its first canvases. Raises ``InvalidRequest``."""
    canvas_set = CanvasSet(**canvas_set_fields(data))
    places = [generation.place_of(canvas_set, index) for index in range(min(most, canvas_set.wanted))]
    seed = canvas_set.seed or 0
    return canvas_set.name, [generate_shapes(n, canvas_rng(seed, n, number, "shapes")) for n, number in places]


def request_canvas_set(data: Any, user: Caller = None) -> CanvasSet:
    """Create a set, or extend the set of the same name, and enqueue a job that generates it.

    A set never wants fewer canvases than before. Raises ``InvalidRequest`` naming every invalid field.
    """
    with transaction.atomic():
        canvas_set = _wanted_set(canvas_set_fields(data), user)
        _enqueue(canvas_set)
    return canvas_set


def generate_canvas_set(data: Any, user: Caller = None, progress: Progress | None = None) -> CanvasSet:
    """As ``request_canvas_set``, but generate now. If that fails or is interrupted, the set keeps what it has.

    Raises ``NotPossible`` if a task class fails on a canvas.
    """
    with transaction.atomic():
        canvas_set = _wanted_set(canvas_set_fields(data), user)
    try:
        generation.grow(canvas_set.pk, progress)
    # In both cases the set wants only what it has. Otherwise the sweep would enqueue what the user has stopped.
    except generation.GenerationFailed as failure:
        _stop_growing(canvas_set, str(failure))
        raise NotPossible(
            f"{full_sentence(failure)} Canvases generated before the error are kept. Fix the task class and try again."
        ) from None
    except KeyboardInterrupt:
        _stop_growing(canvas_set)
        raise
    canvas_set.refresh_from_db()
    return canvas_set


def resume_generation(canvas_set: CanvasSet) -> None:
    """Clear the error of a set and enqueue a job that continues it."""
    with transaction.atomic():
        CanvasSet.objects.filter(pk=canvas_set.pk).update(error_message="")
        _enqueue(canvas_set)


def request_audit(canvas_set: CanvasSet) -> None:
    """Enqueue a job that audits all of a set again."""
    with transaction.atomic():
        CanvasSet.objects.filter(pk=canvas_set.pk).update(audited=0, error_message="")
        _enqueue(canvas_set)


def canvas_set_of(slug: str) -> CanvasSet:
    """The set with this slug. Raises ``NotPossible``, listing the sets that exist."""
    canvas_set = CanvasSet.objects.filter(slug=slug).first()
    if canvas_set is None:
        slugs = ", ".join(CanvasSet.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        raise NotPossible(f"Canvas set {slug} does not exist. Existing sets: {slugs}.")
    return canvas_set


def why_not_deletable(canvas_set: CanvasSet) -> str:
    """Why a set cannot be deleted, and what to do about it; empty if it can."""
    if runs := Run.objects.filter(dataset__canvas_set=canvas_set).count():
        return f"{canvas_set.slug} has {runs} run{'s. Delete the runs' if runs > 1 else '. Delete the run'} first."
    if canvas_set.is_growing:
        return f"{canvas_set.slug} is being generated. Delete it when all {canvas_set.wanted} canvases exist."
    return ""


def delete_canvas_set(canvas_set: CanvasSet, user: Caller = None) -> None:
    """Delete a set with its dataset. Raises ``NotPossible`` if runs use it or it is being generated."""
    with transaction.atomic():
        locked = CanvasSet.objects.select_for_update().get(pk=canvas_set.pk)
        if reason := why_not_deletable(locked):
            raise NotPossible(reason)
        record(user, "canvas_set.delete", f"canvas set {locked.slug}")
        for calibration in Run.objects.filter(dataset__known_answers_of=locked):
            delete_run(calibration, user)
        # Children first, each with one statement: cascading would load hundreds of thousands of rows.
        Dataset.objects.filter(canvas_set=locked).update(current_version=None)
        Task.objects.filter(version__dataset__canvas_set=locked).delete()
        Question.objects.filter(canvas__canvas_set=locked).delete()
        Canvas.objects.filter(canvas_set=locked).delete()
        locked.delete()


def new_set(spec: dict[str, Any], content_hash: Callable[[CanvasSet], str], user: Caller) -> CanvasSet:
    """Store an empty set with its dataset and a version, which runs can use once it has tasks.

    ``spec`` has the fields of the set. Call this in a transaction. Raises ``InvalidRequest`` if the name is taken.
    """
    slug, name = spec["slug"], spec["name"]
    if Dataset.objects.filter(slug=slug).exists():
        raise InvalidRequest({"name": [f"Dataset {slug} already exists. Enter another name."]})
    canvas_set = CanvasSet.objects.create(**spec, initial_count=spec["wanted"])
    record(user, "canvas_set.create", f"canvas set {slug}", wanted=canvas_set.wanted)
    if canvas_set.origin == CanvasSet.Origin.GENERATED:
        origin = DatasetVersion.Origin.GENERATED
        description = f"Questions about shapes on canvases generated with seed {canvas_set.seed}."
    else:
        origin = DatasetVersion.Origin.UPLOAD
        description = "Imported canvas files, with their shapes, descriptions, questions and answers unchanged."
    texts = {"name": name, "description": description}
    dataset = Dataset.objects.create(slug=slug, kind=Dataset.Kind.CANVAS, canvas_set=canvas_set, **texts)
    digest, account = content_hash(canvas_set), account_of(user)
    dataset.versions.create(number=1, content_hash=digest, origin=origin, created_by=account, **texts)
    return canvas_set


def _wanted_set(fields: dict[str, Any], user: Caller) -> CanvasSet:
    """Create or extend the set of this name, without its canvases. Call this in a transaction."""
    slug = fields["slug"]
    canvas_set = CanvasSet.objects.select_for_update().filter(slug=slug).first()
    if canvas_set is None:
        return new_set(fields, generation.content_hash, user)
    if differences := _differences(canvas_set, fields):
        problem = f"Canvas set {slug} already exists with other settings: {'; '.join(differences)}."
        raise InvalidRequest({"name": [f"{problem} Enter another name."]})
    canvas_set.wanted = max(canvas_set.wanted, fields["wanted"])
    canvas_set.error_message = ""
    canvas_set.save(update_fields=["wanted", "error_message"])
    record(user, "canvas_set.grow", f"canvas set {slug}", wanted=canvas_set.wanted)
    return canvas_set


def _differences(canvas_set: CanvasSet, fields: dict[str, Any]) -> list[str]:
    """How the stored set differs from the requested one: "seed 12 instead of 11"."""
    if canvas_set.origin != CanvasSet.Origin.GENERATED:
        return ["it was imported"]

    def shown(value: Any) -> str:
        return ", ".join(value) if isinstance(value, list) else str(value)

    return [
        f"{name.replace('_', ' ')} {shown(getattr(canvas_set, name))} instead of {shown(value)}"
        for name, value in fields.items()
        if name not in ("name", "slug", "wanted") and getattr(canvas_set, name) != value
    ]


def _stop_growing(canvas_set: CanvasSet, error: str = "") -> None:
    with transaction.atomic():
        locked = CanvasSet.objects.select_for_update().get(pk=canvas_set.pk)
        # The lock waits for a batch that another process is storing, so the number wanted includes it.
        CanvasSet.objects.filter(pk=locked.pk).update(wanted=locked.count, error_message=error)


def _enqueue(canvas_set: CanvasSet) -> None:
    transaction.on_commit(lambda: jobs.generate_canvases.delay(canvas_set.pk))
