"""Import canvas files as a set, and export a set as files, both without loss."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

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

MAX_FILES = 20_000
MAX_PROBLEMS = 20
BATCH = 500
MOST_ZIPPED = 2_000
"""Canvases that a page packs; a larger set is for the command, which keeps no request waiting."""


def import_canvases(paths: Sequence[Path], name: str = "", user: Caller = None) -> CanvasSet:
    """Import canvas files, or the ``canvas_*.json`` of directories, as one set, completely or not at all.

    Answers are kept, right or wrong; the audit marks them. By default the set is named after the first directory.
    Importing the same files under the same name again returns the existing set. Raises ``InvalidRequest`` naming the
    problem of every invalid file.
    """
    files = _files(paths)
    canvases = _read(files)
    name = name or files[0].resolve().parent.name
    slug = slugify(name)[:100]
    if not slug:
        raise InvalidRequest({"name": [f"{name!r} contains no letters a-z or digits. Enter another name."]})
    hashes = [(it.key, hashlib.sha256(it.document.to_json()).hexdigest()) for it in canvases]
    content = hashlib.sha256(orjson.dumps(hashes)).hexdigest()
    with transaction.atomic():
        existing = CanvasSet.objects.select_for_update().filter(slug=slug).first()
        if existing is not None:
            if DatasetVersion.objects.filter(dataset__canvas_set=existing, content_hash=content).exists():
                return existing
            raise InvalidRequest(
                {"name": [f"Canvas set {slug} already exists with other canvases. Enter another name."]}
            )
        spec = {
            "slug": slug,
            "name": name[:200],
            "origin": CanvasSet.Origin.IMPORTED,
            "shapes_low": canvases[0].n_shapes,
            "shapes_high": canvases[-1].n_shapes,
            "task_classes": list(dict.fromkeys(task for it in canvases for task in it.document.questions)),
            "wanted": len(canvases),
        }
        canvas_set = new_set(spec, lambda canvas_set: content, user)
        for begin in range(0, len(canvases), BATCH):
            append(canvas_set, canvases[begin : begin + BATCH])
            canvas_set.refresh_from_db()
    return canvas_set


def export_canvases(canvas_set: CanvasSet, folder: Path, progress: Progress | None = None) -> int:
    """Write the files of a set to a directory, which is created if it does not exist; return their number.

    Imported files come back byte for byte. Raises ``NotPossible`` if the directory has canvas files or is not writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if taken := next(iter(sorted(folder.glob("canvas_*.json"))), None):
            raise NotPossible(f"{taken} already exists. Files are never replaced. Choose an empty directory.")
        for done, (name, content) in enumerate(_written(canvas_set), 1):
            (folder / name).write_bytes(content)
            if progress is not None and (done % BATCH == 0 or done == canvas_set.count):
                progress(done, canvas_set.count)
    except OSError as error:
        raise NotPossible(f"{error.filename or folder} is not writable: {error.strerror}.") from None
    return canvas_set.count


def zipped_canvases(canvas_set: CanvasSet) -> IO[bytes]:
    """The files of ``export_canvases`` as one archive. Meant for sets of at most ``MOST_ZIPPED``."""
    packed = TemporaryFile()  # noqa: SIM115  # whoever sends it closes it
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, content in _written(canvas_set):
            archive.writestr(name, content)
    packed.seek(0)
    return packed


def first_file(canvas_set: CanvasSet) -> tuple[str, str]:
    """The name and the text of the first file of ``export_canvases``; empty while there is none."""
    name, content = next(_written(canvas_set, 1), ("", b""))
    return name, content.decode()


def _written(canvas_set: CanvasSet, batch: int = BATCH) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files of a set."""
    for begin in range(0, canvas_set.count, batch):
        for canvas, document in stored_documents(canvas_set, begin, begin + batch):
            yield file_name(canvas.n_shapes, canvas.number), document.to_json()


def _files(paths: Sequence[Path]) -> list[Path]:
    """The given files, and the canvas files of the given directories. File names must be unique."""
    files: dict[str, Path] = {}
    for path in paths:
        matches = sorted(path.glob("canvas_*.json")) if path.is_dir() else [path]
        if not matches:
            raise InvalidRequest({"files": [f"{path} contains no canvas_*.json files."]})
        for file in matches:
            if file.name in files:
                raise InvalidRequest({"files": [f"{files[file.name]} and {file} have the same name."]})
            files[file.name] = file
    if not files:
        raise InvalidRequest({"files": ["No files given. Give canvas files, or a directory that contains some."]})
    if len(files) > MAX_FILES:
        raise InvalidRequest({"files": [f"{len(files):,} files are too many for a set. The maximum is {MAX_FILES:,}."]})
    return list(files.values())


def _read(files: Sequence[Path]) -> list[NumberedCanvas]:
    """The canvases of the files, ordered by number of shapes and number."""
    canvases, problems = [], []
    for file in files:
        try:
            canvases.append(_read_file(file))
        except CanvasError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{file}: is not readable: {error.strerror}")
    if problems:
        more = [f"and {len(problems) - MAX_PROBLEMS} more files"] if len(problems) > MAX_PROBLEMS else []
        raise InvalidRequest({"files": [*problems[:MAX_PROBLEMS], *more]})
    return sorted(canvases, key=lambda it: (it.n_shapes, it.number))


def _read_file(file: Path) -> NumberedCanvas:
    n_shapes, number = parse_file_name(file.name)
    with file.open("rb") as opened:
        # One byte too many is enough for the parser to reject a file that is too large.
        document = CanvasDocument.from_json(opened.read(MAX_BYTES + 1), file.name)
    if len(document.shapes) != n_shapes:
        raise CanvasError(f"{file.name}: canvas: has {len(document.shapes)} shapes, but the file name says {n_shapes}")
    layout = {"descriptions": list(document.descriptions), "questions": list(document.questions)}
    return NumberedCanvas(n_shapes, number, replace(document, difficulty=_steps(document)), layout)


def _steps(document: CanvasDocument) -> dict[str, dict[str, int]]:
    """Task class → {"tracking_steps": number}, for the tracking descriptions that can be parsed."""
    readers: dict[str, Callable[[str], int]] = {
        "existence_tracking": lambda text: len(read_changes(text)),
        "shuffle_tracking": lambda text: len(read_shuffle(text)[2]),
    }
    steps = {}
    for name, count in readers.items():
        # Files by others may lack a description or word it differently; such questions have no number of steps.
        with suppress(KeyError, UnreadableError):
            steps[name] = {"tracking_steps": count(document.descriptions[name])}
    return steps
