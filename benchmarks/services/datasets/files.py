"""Datasets and the files they come from: taking over a directory, and deciding where both sides have changed.

``DatasetFile.sha256`` is of the content that was last taken over, or that was decided against; size and time of change
are of the file as last seen. A file whose three still agree is not read again.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from benchmarks.dataset_format import (
    DatasetSpec,
    Problem,
    content_hash,
    dataset_paths,
    display_name,
    name_problem,
    parse_dataset,
    read_content,
    slug_of,
)
from benchmarks.dataset_format.files import FileContent
from benchmarks.dataset_format.problems import printable
from benchmarks.models import Dataset, DatasetFile, DatasetVersion
from benchmarks.services.datasets.versions import Actor, import_dataset, save_edited_version, spec_of
from benchmarks.services.errors import NotPossible

__all__ = [
    "FileReport",
    "SyncReport",
    "accept_file",
    "import_dataset",
    "keep_dataset",
    "save_edited_version",
    "spec_of",
    "sync_datasets",
]

_SETTLED_NS = 2_000_000_000
"""A file changed so shortly before it was read may change again within one tick of the clock: it is read again."""

_SHOWN_BYTES = 800
"""Of a faulty line: what 200 characters can take, in any script."""

State = DatasetFile.State


class Change(StrEnum):
    """What became of one file in one synchronisation."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    VANISHED = "vanished"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: what happened, the number of its dataset's current version, and what keeps it from being used."""

    file: str
    slug: str
    change: Change
    version: int | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncReport:
    """All files of the directory, by name, and those that vanished since the last time."""

    files: tuple[FileReport, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for file in self.files for problem in file.problems)

    def __str__(self) -> str:
        counted = Counter(file.change for file in self.files)
        told = ", ".join(f"{counted[change]} {change}" for change in Change if counted[change])
        lines = [f"Datasets: {told or 'no files'}.", *map(str, self.problems)]
        lines += [f"{file.file}: {_UNDECIDED}" for file in self.files if file.change is Change.UNDECIDED]
        return "\n".join(lines)


_UNDECIDED = "the file changed while its dataset was edited here: accept the file, or keep what is here"


def sync_datasets(directory: Path, *, reread: bool = False) -> SyncReport:
    """Take over the YAML files of a directory. One bad file never hides the good ones.

    A new file becomes a dataset, a changed one a new version, a vanished one is marked, its dataset and runs stay. A
    broken file keeps its problems, its dataset the last good version. A file of a dataset that was edited here waits
    for ``accept_file`` or ``keep_dataset``. Where nothing changed this is one query and one ``stat`` a file; ``reread``
    compares contents all the same. Several processes may do this at once. Raises ``NotPossible`` for no directory.
    """
    try:
        paths = dataset_paths(directory)
    except OSError as error:
        raise NotPossible(
            f"The datasets directory {directory} cannot be read ({error.strerror}): create it, or set "
            "benchmark.datasets_dir in codeforge.yaml."
        ) from None
    stored = {file.path: file for file in DatasetFile.objects.select_related("dataset__current_version")}
    owners = _owners(paths, directory, stored)
    reports = []
    for path in paths:
        known = stored.pop(display_name(path, directory), None)
        if known is not None and not reread and _unchanged(known, path):
            reports.append(_report(known, Change.UNCHANGED))
            continue
        owner = owners[slug_of(path)]
        reports.append(_take_over(path, directory, None if owner == path else owner))
    reports += [_report(file, Change.VANISHED) for file in stored.values() if _mark_vanished(file)]
    return SyncReport(tuple(reports))


def accept_file(file: DatasetFile, directory: Path, user: Actor = None) -> DatasetVersion:
    """Let the file replace what was edited here. Raises ``NotPossible`` where the file is no dataset now."""
    with transaction.atomic():
        locked = DatasetFile.objects.select_for_update().get(pk=file.pk)
        content, spec = _readable(locked, directory)
        return _import_file(locked, slug_of(Path(locked.path)), content, spec, user)


def keep_dataset(file: DatasetFile, directory: Path) -> None:
    """Keep what was edited here; only a further change of the file asks again. Raises ``NotPossible`` as above."""
    with transaction.atomic():
        locked = DatasetFile.objects.select_for_update().get(pk=file.pk)
        content, _ = _readable(locked, directory)
        _remember(locked, content, State.GOOD)


def _readable(file: DatasetFile, directory: Path) -> tuple[FileContent, DatasetSpec]:
    content = read_content(directory / file.path, directory)
    if isinstance(content, Problem):
        raise NotPossible(str(content))
    parsed = parse_dataset(content.data, file.path)
    if parsed.spec is None:
        raise NotPossible(f"{file.path} has mistakes, first: {parsed.problems[0]}")
    return content, parsed.spec


def _owners(paths: list[Path], directory: Path, stored: dict[str, DatasetFile]) -> dict[str, Path]:
    """Slug → the file that stands for it: the one that already does, else the first by name."""
    owners: dict[str, Path] = {}
    for path in paths:
        known = stored.get(display_name(path, directory))
        if slug_of(path) not in owners or (known is not None and known.dataset_id is not None):
            owners[slug_of(path)] = path
    return owners


def _unchanged(known: DatasetFile, path: Path) -> bool:
    """Whether the file certainly is as it was when it was last taken over, by its ``stat`` alone."""
    if known.state != State.GOOD or known.dataset_id is None:
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    settled = known.modified_ns < known.checked_at.timestamp() * 1e9 - _SETTLED_NS
    return settled and (status.st_size, status.st_mtime_ns) == (known.size, known.modified_ns)


def _take_over(path: Path, directory: Path, rival: Path | None) -> FileReport:
    """Read one file and bring the database up to it."""
    name, slug = display_name(path, directory), slug_of(path)
    content = name_problem(path, directory, rival) or read_content(path, directory)
    if isinstance(content, Problem):
        return _store_broken(name, slug, (content,), b"")
    parsed = parse_dataset(content.data, name)
    if parsed.spec is None:
        return _store_broken(name, slug, parsed.problems, content.data)
    try:
        return _store_good(name, slug, content, parsed.spec)
    except NotPossible as refusal:
        return _store_broken(name, slug, (Problem(name, 1, "", refusal.message),), b"")


def _store_broken(name: str, slug: str, problems: tuple[Problem, ...], data: bytes) -> FileReport:
    """Keep the problems with the lines they are about; a dataset that the file once gave stays as it is."""
    lines = data.split(b"\n")
    told = [
        {"line": it.line, "path": it.path, "message": it.message, "text": _line_text(lines, it.line)} for it in problems
    ]
    with transaction.atomic():
        file = _locked_file(name)
        if (file.state, file.problems) != (State.BROKEN, told):
            file.state, file.problems, file.checked_at = State.BROKEN, told, timezone.now()
            file.save()
    return _report(file, Change.BROKEN, slug, problems)


def _line_text(lines: list[bytes], number: int) -> str:
    line = lines[number - 1] if number <= len(lines) else b""
    return printable(line[:_SHOWN_BYTES].decode("utf-8", "replace").rstrip("\r"))


def _store_good(name: str, slug: str, content: FileContent, spec: DatasetSpec) -> FileReport:
    with transaction.atomic():
        file = _locked_file(name)
        if file.dataset is not None and file.sha256 == _digest(content):
            _remember(file, content, State.GOOD)
            return _report(file, Change.UNCHANGED)
        dataset = Dataset.objects.filter(slug=slug).select_related("current_version").first()
        if dataset is not None and _must_ask(dataset, spec):
            Dataset.objects.filter(pk=dataset.pk).update(edited_here=True)
            _link(file, dataset)
            _remember(file, content, State.UNDECIDED)
            return _report(file, Change.UNDECIDED)
        change = Change.NEW if dataset is None else Change.CHANGED
        _import_file(file, slug, content, spec, None)
        return _report(file, change)


def _locked_file(name: str) -> DatasetFile:
    file, _ = (
        DatasetFile.objects.select_for_update(of=("self",))
        .select_related("dataset__current_version")
        .get_or_create(path=name, defaults={"state": State.BROKEN, "checked_at": timezone.now()})
    )
    return file


def _must_ask(dataset: Dataset, spec: DatasetSpec) -> bool:
    """Whether the file would overwrite what was made here: by an edit, or before there was such a file."""
    current = dataset.current_version
    if dataset.kind != Dataset.Kind.YAML or current is None or current.content_hash == content_hash(spec):
        return False
    return dataset.edited_here or not DatasetFile.objects.filter(dataset=dataset).exists()


def _import_file(file: DatasetFile, slug: str, content: FileContent, spec: DatasetSpec, user: Actor) -> DatasetVersion:
    version = import_dataset(spec, slug, DatasetVersion.Origin.FILE, user)
    Dataset.objects.filter(pk=version.dataset_id).update(edited_here=False)
    _link(file, version.dataset)
    _remember(file, content, State.GOOD)
    return version


def _link(file: DatasetFile, dataset: Dataset) -> None:
    """Make the file the dataset's own, in place of one of another ending that has vanished."""
    DatasetFile.objects.filter(dataset=dataset).exclude(pk=file.pk).update(dataset=None)
    file.dataset = dataset


def _remember(file: DatasetFile, content: FileContent, state: str) -> None:
    """Note the file as seen. The hash of a file that waits for a decision stays that of the last one taken over."""
    file.state, file.problems, file.checked_at = state, [], timezone.now()
    file.size, file.modified_ns = content.size, content.mtime_ns
    if state == State.GOOD:
        file.sha256 = _digest(content)
    file.save()


def _digest(content: FileContent) -> str:
    return hashlib.sha256(content.data).hexdigest()


def _mark_vanished(file: DatasetFile) -> bool:
    """Note that the file is gone; a file that never gave a dataset is forgotten. False where that is no news."""
    if file.state == State.VANISHED:
        return False
    if file.dataset_id is None:
        file.delete()
    else:
        DatasetFile.objects.filter(pk=file.pk).update(state=State.VANISHED, problems=[], checked_at=timezone.now())
    return True


def _report(file: DatasetFile, change: Change, slug: str = "", problems: tuple[Problem, ...] = ()) -> FileReport:
    dataset = file.dataset
    version = dataset.current_version.number if dataset is not None and dataset.current_version is not None else None
    known = dataset.slug if dataset is not None else slug_of(Path(file.path))
    return FileReport(file.path, printable(slug or known), change, version, problems)
