"""Canvas sets: asking for one, drawing, auditing and deleting it. Every set is a dataset of the same name.

The command draws at once; the API, the admin and the form ask, and a job draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction

from benchmarks import jobs
from benchmarks.engine.canvas_sets import generation
from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.models import Dataset, DatasetVersion, Run, Task
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.canvas_sets.request import CanvasSpec, canvas_spec
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.control import delete_run
from tasks_app.models import Canvas, CanvasSet, Question


def request_canvas_set(data: Any, user: Caller = None) -> CanvasSet:
    """Make a set, or let the one of the same name grow, and have a job draw it once this is committed.

    Asking for no more than a set has, or will have, changes nothing. Raises ``InvalidRequest`` naming every bad field.
    """
    with transaction.atomic():
        canvas_set = _wanted_set(canvas_spec(data), user)
        _enqueue(canvas_set)
    return canvas_set


def generate_canvas_set(data: Any, user: Caller = None, progress: Progress | None = None) -> CanvasSet:
    """As ``request_canvas_set``, but draw now. Where that is broken off, the set wants no more than it got.

    Raises ``NotPossible`` where a task class fails on a canvas.
    """
    with transaction.atomic():
        canvas_set = _wanted_set(canvas_spec(data), user)
    try:
        generation.grow(canvas_set.pk, progress)
    except generation.GenerationFailed as failure:
        _stop_growing(canvas_set)
        raise NotPossible(f"{failure}. What was drawn before it is kept; mend the task class and try again.") from None
    except KeyboardInterrupt:
        _stop_growing(canvas_set)
        raise
    canvas_set.refresh_from_db()
    return canvas_set


def resume_generation(canvas_set: CanvasSet) -> None:
    """Have a set drawn on that stopped with an error."""
    with transaction.atomic():
        CanvasSet.objects.filter(pk=canvas_set.pk).update(error_message="")
        _enqueue(canvas_set)


def request_audit(canvas_set: CanvasSet) -> None:
    """Have a job audit a set anew."""
    with transaction.atomic():
        CanvasSet.objects.filter(pk=canvas_set.pk).update(audited=0, error_message="")
        _enqueue(canvas_set)


def audit_canvas_set(
    canvas_set: CanvasSet, progress: Progress | None = None, *, only_new: bool = False
) -> dict[str, Any]:
    """Audit a set and store the findings with it; ``only_new`` leaves what was audited before as it is."""
    return generation.audit_set(canvas_set.pk, progress, only_new=only_new)


def canvas_set_of(slug: str) -> CanvasSet:
    """Raises ``NotPossible``, naming the sets there are."""
    found = CanvasSet.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(CanvasSet.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        raise NotPossible(f"There is no canvas set {slug}. Known: {known}.")
    return found


def why_not_deletable(canvas_set: CanvasSet) -> str:
    """Why a set has to stay, and what to do about it; empty where it can go."""
    if used := Run.objects.filter(dataset__canvas_set=canvas_set).count():
        return f"{canvas_set.slug} has {used} run{'s' if used > 1 else ''}. Delete them first."
    if canvas_set.is_growing:
        return f"{canvas_set.slug} is being drawn. Delete it when it has its {canvas_set.wanted} canvases."
    return ""


def delete_canvas_set(canvas_set: CanvasSet, user: Caller = None) -> None:
    """Delete a set with its dataset. Raises ``NotPossible`` where runs have used it, or a job is drawing it."""
    with transaction.atomic():
        locked = CanvasSet.objects.select_for_update().get(pk=canvas_set.pk)
        if reason := why_not_deletable(locked):
            raise NotPossible(reason)
        record(user, "canvas_set.delete", f"canvas set {locked.slug}")
        for calibration in Run.objects.filter(dataset__known_answers_of=locked):
            delete_run(calibration, user)
        Dataset.objects.filter(canvas_set=locked).update(current_version=None)
        Task.objects.filter(version__dataset__canvas_set=locked).delete()
        Question.objects.filter(canvas__canvas_set=locked).delete()
        Canvas.objects.filter(canvas_set=locked).delete()
        locked.delete()


def new_set(spec: dict[str, Any], content_hash: Callable[[CanvasSet], str], user: Caller) -> CanvasSet:
    """Store an empty set with its dataset and version, which a run can use once it has tasks.

    ``spec`` are fields of the set. Call this in a transaction. Raises ``InvalidRequest`` where the name is taken.
    """
    slug, name = spec["slug"], spec["name"]
    if Dataset.objects.filter(slug=slug).exists():
        raise InvalidRequest({"name": [f"There is a dataset {slug} already. Choose another name."]})
    canvas_set = CanvasSet.objects.create(**spec)
    record(user, "canvas_set.create", f"canvas set {slug}", wanted=canvas_set.wanted)
    dataset = Dataset.objects.create(
        slug=slug, name=name, description=_described(canvas_set), kind=Dataset.Kind.CANVAS, canvas_set=canvas_set
    )
    generated = canvas_set.origin == CanvasSet.Origin.GENERATED
    DatasetVersion.objects.create(
        dataset=dataset,
        number=1,
        content_hash=content_hash(canvas_set),
        origin=DatasetVersion.Origin.GENERATED if generated else DatasetVersion.Origin.UPLOAD,
        name=name,
        description=dataset.description,
        created_by=account_of(user),
    )
    return canvas_set


def _wanted_set(spec: CanvasSpec, user: Caller) -> CanvasSet:
    """The set of this name, wanting at least as many canvases as asked for. Call this in a transaction."""
    canvas_set = CanvasSet.objects.select_for_update().filter(slug=spec.slug).first()
    if canvas_set is None:
        fields = {**spec.fixed, "slug": spec.slug, "name": spec.name, "wanted": spec.count}
        return new_set(fields, generation.content_hash, user)
    if differences := spec.differences(canvas_set):
        told = "; ".join(differences)
        raise InvalidRequest({"name": [f"There is a canvas set {spec.slug} of another kind: {told}. Choose a name."]})
    canvas_set.wanted = max(canvas_set.wanted, spec.count)
    canvas_set.error_message = ""
    canvas_set.save(update_fields=["wanted", "error_message"])
    record(user, "canvas_set.grow", f"canvas set {spec.slug}", wanted=canvas_set.wanted)
    return canvas_set


def _stop_growing(canvas_set: CanvasSet) -> None:
    with transaction.atomic():
        locked = CanvasSet.objects.select_for_update().get(pk=canvas_set.pk)
        CanvasSet.objects.filter(pk=locked.pk).update(wanted=locked.count)


def _enqueue(canvas_set: CanvasSet) -> None:
    transaction.on_commit(lambda: jobs.generate_canvases.delay(canvas_set.pk))


def _described(canvas_set: CanvasSet) -> str:
    if canvas_set.origin == CanvasSet.Origin.IMPORTED:
        return "Imported canvas files: shapes, descriptions and questions with their answers, as they were."
    return f"Generated canvases: questions about shapes, with seed {canvas_set.seed}."
