"""Canvas files: taking them over as a set, and writing a set back, both ways without loss."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
from django.db import transaction
from django.utils.text import slugify

from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.engine.canvas_sets.rows import NumberedCanvas, append, stored_documents
from benchmarks.models import DatasetVersion
from benchmarks.services.access import Caller
from benchmarks.services.canvas_sets.control import new_set
from benchmarks.services.errors import InvalidRequest, NotPossible
from tasks_app.canvas.original import MAX_BYTES, file_name, parse_file_name
from tasks_app.canvas.shapes import CanvasError
from tasks_app.canvas.wording import UnreadableError, read_changes, read_shuffle
from tasks_app.loader import CanvasDocument
from tasks_app.models import CanvasSet

MOST_FILES = 20_000
MOST_TOLD = 20
BATCH = 500


def import_canvases(paths: Sequence[Path], name: str = "", user: Caller = None) -> CanvasSet:
    """Take over canvas files, or the ``canvas_*.json`` of directories, as one set; all of them or none.

    Answers stay what they are, right or wrong: the audit marks them. The set's name is by default that of the first
    folder. The same files under the same name again are the set there is. Raises ``InvalidRequest`` telling what is
    wrong, file by file.
    """
    files = _files(paths)
    placed = _read(files)
    name = name or files[0].resolve().parent.name
    slug = slugify(name)[:100]
    if not slug:
        raise InvalidRequest({"name": [f"{name!r} makes no address: give a name with letters a to z or digits."]})
    content = _content_hash(placed)
    with transaction.atomic():
        known = CanvasSet.objects.select_for_update().filter(slug=slug).first()
        if known is not None:
            if DatasetVersion.objects.filter(dataset__canvas_set=known, content_hash=content).exists():
                return known
            raise InvalidRequest({"name": [f"There is a canvas set {slug} with other canvases. Give another name."]})
        canvas_set = new_set(_spec(placed, slug, name), lambda made: content, user)
        for begin in range(0, len(placed), BATCH):
            append(canvas_set, placed[begin : begin + BATCH])
            canvas_set.refresh_from_db()
    return canvas_set


def export_canvases(canvas_set: CanvasSet, folder: Path, progress: Progress | None = None) -> int:
    """Write a set's files into a folder, which is made if need be; return how many.

    Imported files come out with the bytes they had. Raises ``NotPossible`` before it would replace any file, and where
    the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if taken := next(iter(sorted(folder.glob("canvas_*.json"))), None):
            raise NotPossible(f"{taken} is there already, and no file is replaced. Name an empty folder.")
        for begin in range(0, canvas_set.count, BATCH):
            stored = stored_documents(canvas_set, begin, begin + BATCH)
            for canvas, document in stored:
                (folder / file_name(canvas.n_shapes, canvas.number)).write_bytes(document.to_json())
            if progress is not None:
                progress(begin + len(stored), canvas_set.count)
    except OSError as error:
        raise NotPossible(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
    return canvas_set.count


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files named, and the canvas files of the folders named, each name once."""
    files: dict[str, Path] = {}
    for path in paths:
        found = sorted(path.glob("canvas_*.json")) if path.is_dir() else [path]
        if not found:
            raise InvalidRequest({"files": [f"{path} holds no canvas_*.json."]})
        for file in found:
            if file.name in files:
                raise InvalidRequest({"files": [f"{files[file.name]} and {file} have the same name."]})
            files[file.name] = file
    if not files:
        raise InvalidRequest({"files": ["Name canvas files, or a folder that holds some."]})
    if len(files) > MOST_FILES:
        raise InvalidRequest({"files": [f"{len(files):,} files are too many for a set; take {MOST_FILES:,} at most."]})
    return list(files.values())


def _read(files: Sequence[Path]) -> list[NumberedCanvas]:
    """The canvases by number of shapes and number."""
    placed, problems = [], []
    for file in files:
        try:
            placed.append(_placed(file))
        except CanvasError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
    if problems:
        more = [f"and {len(problems) - MOST_TOLD} more files"] if len(problems) > MOST_TOLD else []
        raise InvalidRequest({"files": [*problems[:MOST_TOLD], *more]})
    return sorted(placed, key=lambda it: (it.n_shapes, it.number))


def _placed(file: Path) -> NumberedCanvas:
    n_shapes, number = parse_file_name(file.name)
    with file.open("rb") as opened:
        document = CanvasDocument.from_json(opened.read(MAX_BYTES + 1), file.name)
    if len(document.shapes) != n_shapes:
        raise CanvasError(f"{file.name}: canvas: holds {len(document.shapes)} shapes, but the name says {n_shapes}")
    layout = {"descriptions": list(document.descriptions), "questions": list(document.questions)}
    return NumberedCanvas(n_shapes, number, replace(document, difficulty=_steps(document)), layout)


_STEP_READERS: dict[str, Callable[[str], int]] = {
    "existence_tracking": lambda text: len(read_changes(text)),
    "shuffle_tracking": lambda text: len(read_shuffle(text)[2]),
}


def _steps(document: CanvasDocument) -> dict[str, dict[str, int]]:
    """The tracking steps that the descriptions tell, by task class, where they can be read."""

    def measured() -> Iterator[tuple[str, dict[str, int]]]:
        for name, count in _STEP_READERS.items():
            try:
                yield name, {"tracking_steps": count(document.descriptions[name])}
            except (KeyError, UnreadableError):
                continue

    return dict(measured())


def _content_hash(placed: Sequence[NumberedCanvas]) -> str:
    """SHA-256 over the files' names and contents."""
    files = [(it.key, hashlib.sha256(it.document.to_json()).hexdigest()) for it in placed]
    return hashlib.sha256(orjson.dumps(files)).hexdigest()


def _spec(placed: Sequence[NumberedCanvas], slug: str, name: str) -> dict[str, object]:
    return {
        "slug": slug,
        "name": name[:200],
        "origin": CanvasSet.Origin.IMPORTED,
        "shapes_low": placed[0].n_shapes,
        "shapes_high": placed[-1].n_shapes,
        "task_classes": list(dict.fromkeys(task for it in placed for task in it.document.questions)),
        "wanted": len(placed),
    }
