"""Drawing canvas sets: canvases are made in batches and stored until a set has as many as are wanted."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import timedelta

import orjson
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.engine.canvas_sets.audit import audit_set
from benchmarks.engine.canvas_sets.rows import Placed, append
from tasks_app.loader import build_canvas
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

logger = logging.getLogger(__name__)

BATCH = 1000
"""Canvases a transaction: a batch holds the database's writer for less than a second."""

IDLE_AFTER = timedelta(seconds=30)
"""A set with something to do that nobody has worked on for so long has lost its job."""

Tell = Callable[[CanvasSet], None]


class DrawingFailed(Exception):
    """A task class failed on a canvas; the message names both."""


def content_hash(canvas_set: CanvasSet) -> str:
    """SHA-256 over all that a generated set's canvases depend on. Its count is not part of it: the set grows."""
    spec = {
        "kind": "canvas",
        "seed": canvas_set.seed,
        "shapes": [canvas_set.shapes_low, canvas_set.shapes_high],
        "tracking_steps": canvas_set.tracking_steps,
        "task_classes": canvas_set.task_classes,
        "generator_version": canvas_set.generator_version,
    }
    return hashlib.sha256(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)).hexdigest()


def place_of(canvas_set: CanvasSet, index: int) -> tuple[int, int]:
    """The number of shapes at a place of a generated set, and its number among those: the numbers take turns.

    So a set over several numbers of shapes holds evenly many of each, however far it grows.
    """
    turns = canvas_set.shapes_high - canvas_set.shapes_low + 1
    return canvas_set.shapes_low + index % turns, index // turns


def draw(canvas_set: CanvasSet, index: int) -> Placed:
    """Draw the canvas at a place of a set and ask everything about it. Raises ``DrawingFailed``."""
    n_shapes, number = place_of(canvas_set, index)
    try:
        document = build_canvas(
            n_shapes,
            canvas_set.seed or 0,
            number,
            place_of(canvas_set, canvas_set.wanted - 1)[1] + 1,
            tracking_steps=canvas_set.tracking_steps,
            tasks={name: REGISTERED_TASKS[name] for name in canvas_set.task_classes},
        )
    except Exception as error:  # a task class that someone added may raise anything
        raise DrawingFailed(f"canvas_{n_shapes}_{number}: {type(error).__name__}: {error}") from error
    return Placed(n_shapes, number, document)


def grow(set_id: int, tell: Tell | None = None, stopping: Callable[[], bool] = lambda: False) -> None:
    """Draw until a set has what is wanted, or ``stopping`` says so; ``tell`` hears of every batch.

    Several processes may do this to one set: a batch that another has stored meanwhile is dropped. Raises
    ``DrawingFailed``; what was stored before stays.
    """
    while not stopping():
        canvas_set = CanvasSet.objects.filter(pk=set_id, origin=CanvasSet.Origin.GENERATED).first()
        if canvas_set is None or not canvas_set.is_growing:
            return
        end = min(canvas_set.count + BATCH, canvas_set.wanted)
        stored = append(canvas_set, [draw(canvas_set, index) for index in range(canvas_set.count, end)])
        if tell is not None and stored:
            canvas_set.count = end
            tell(canvas_set)


def work_on(set_id: int, stopping: Callable[[], bool] = lambda: False) -> None:
    """Draw what a set lacks and audit what is new. Where that fails the set keeps the reason and is left alone."""
    try:
        grow(set_id, stopping=stopping)
        if not stopping():
            audit_set(set_id, only_new=True)
    except Exception as error:
        logger.exception("canvas set %s could not be drawn or audited", set_id)
        CanvasSet.objects.filter(pk=set_id).update(error_message=f"{type(error).__name__}: {error}")
        raise


def idle_sets() -> list[int]:
    """Sets that have canvases to draw or to audit, and nobody at it for a while."""
    to_draw = Q(origin=CanvasSet.Origin.GENERATED, count__lt=F("wanted"))
    due = CanvasSet.objects.filter(to_draw | Q(audited__lt=F("count")), error_message="")
    return list(due.filter(worked_at__lt=timezone.now() - IDLE_AFTER).order_by("pk").values_list("pk", flat=True))
