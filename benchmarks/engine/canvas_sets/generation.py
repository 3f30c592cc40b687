"""Generate canvas sets: canvases are stored in batches until a set has all the canvases wanted, then audited.

Whoever generates or audits a set holds the lease on it, so no two processes work on one set at once. After a crash
the batches stored so far remain, and the sweep enqueues the set again.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import orjson
from django.db.models import F, Q

from benchmarks.engine import lease as leases
from benchmarks.engine.canvas_sets import audit
from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.engine.canvas_sets.rows import NumberedCanvas, append
from benchmarks.models import Lease
from tasks_app.loader import build_canvas
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

logger = logging.getLogger(__name__)

BATCH = 1000
"""Canvases per transaction: the lock on the database lasts less than a second."""
WAIT_SECONDS = 0.2
"""How often to check whether another process has released a set."""


class GenerationFailed(Exception):
    """A task class failed on a canvas. The message names the canvas and the error."""


def content_hash(canvas_set: CanvasSet) -> str:
    """SHA-256 over all that the canvases of a generated set depend on. Without their count, because the set grows."""
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
    """The number of shapes of the canvas at an index, and the canvas's number among those with as many shapes.

    The numbers of shapes alternate, so a set has evenly many canvases of each, however far it grows.
    """
    period = canvas_set.shapes_high - canvas_set.shapes_low + 1
    return canvas_set.shapes_low + index % period, index // period


def generate_canvas(canvas_set: CanvasSet, index: int) -> NumberedCanvas:
    """Generate the canvas at an index of a set, with all its questions. Raises ``GenerationFailed``."""
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
    except Exception as error:  # a task class added by a user may raise anything
        raise GenerationFailed(f"canvas_{n_shapes}_{number}: {type(error).__name__}: {error}") from error
    return NumberedCanvas(n_shapes, number, document)


def grow(set_id: int, progress: Progress | None = None) -> None:
    """Generate until a set has all the canvases wanted; first wait for another process that works on it.

    ``progress`` is called after every batch. Raises ``GenerationFailed``, also if the set stopped with an error before.
    Canvases stored before the error remain.
    """
    # Repeated because the lease can be lost, and because the other process may have left the set incomplete.
    while canvas_set := CanvasSet.objects.filter(_INCOMPLETE, pk=set_id).first():
        if canvas_set.error_message:
            raise GenerationFailed(canvas_set.error_message)
        with _leased(set_id) as lease:
            _generate(set_id, partial(leases.heartbeat, lease), progress)


def audit_set(set_id: int, progress: Progress | None = None, *, only_new: bool = False) -> dict[str, Any]:
    """Audit a set, store and return its audit; first wait for another process that works on it.

    ``only_new`` keeps the audits of the questions of a generated set that were audited before.
    """
    while True:
        with _leased(set_id) as lease:
            stored = audit.store_audit(set_id, partial(leases.heartbeat, lease), progress, only_new=only_new)
        if stored is not None:
            return stored


def work_on(set_id: int, stopping: Callable[[], bool] = lambda: False) -> None:
    """Generate the canvases that a set lacks, then audit the new ones, unless another process works on the set.

    On an error the set stores it, and the sweep no longer enqueues the set.
    """
    with leases.exclusive(_subject(set_id)) as lease:
        if lease is None:
            return

        def may_continue() -> bool:
            return not stopping() and leases.heartbeat(lease)

        try:
            _generate(set_id, may_continue)
            audit.store_audit(set_id, may_continue, only_new=True)
        except Exception as error:
            logger.exception("canvas set %s could not be generated or audited", set_id)
            message = str(error) if isinstance(error, GenerationFailed) else f"{type(error).__name__}: {error}"
            CanvasSet.objects.filter(pk=set_id).update(error_message=message)
            raise


_INCOMPLETE = Q(origin=CanvasSet.Origin.GENERATED, count__lt=F("wanted"))


def sets_without_worker() -> list[int]:
    """Sets that lack canvases or an audit, have no error, and have no lease. Expired leases are released before."""
    due = CanvasSet.objects.filter(_INCOMPLETE | Q(audited__lt=F("count")), error_message="").order_by("pk")
    subjects = {_subject(set_id): set_id for set_id in due.values_list("pk", flat=True)}
    held = set(Lease.objects.filter(run=None, subject__in=subjects).values_list("subject", flat=True))
    return [set_id for subject, set_id in subjects.items() if subject not in held]


def _subject(set_id: int) -> str:
    return f"canvas set {set_id}"


@contextmanager
def _leased(set_id: int) -> Iterator[Lease]:
    """Hold the lease on a set for the block, as soon as nobody else does."""
    while True:
        with leases.exclusive(_subject(set_id)) as lease:
            if lease is not None:
                yield lease
                return
        time.sleep(WAIT_SECONDS)


def _generate(set_id: int, may_continue: Callable[[], bool], progress: Progress | None = None) -> None:
    # The set is read again for every batch: a request may have raised the number wanted, or Ctrl-C lowered it.
    while may_continue():
        canvas_set = CanvasSet.objects.filter(_INCOMPLETE, pk=set_id, error_message="").first()
        if canvas_set is None:
            return
        end = min(canvas_set.count + BATCH, canvas_set.wanted)
        canvases = [generate_canvas(canvas_set, index) for index in range(canvas_set.count, end)]
        # If the lease was lost meanwhile, another process may have stored these canvases. Then nothing is appended.
        if append(canvas_set, canvases) and progress is not None:
            progress(end, canvas_set.wanted)
