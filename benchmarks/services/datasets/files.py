"""Datasets and their files: import a directory, and decide where both file and dataset have changed.

``DatasetFile.sha256`` is the hash of the content that was last imported or decided against; size and modification time
are those of the file as last seen. A file for which all three still hold is not read again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from benchmarks.dataset_format.dumping import content_hash
from benchmarks.dataset_format.files import FileContent, dataset_paths, display_name, name_problem, read_content
from benchmarks.dataset_format.parsing import Parsed, parse_dataset
from benchmarks.dataset_format.problems import Problem, printable
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.models import Dataset, DatasetFile, DatasetVersion
from benchmarks.services.access import Caller
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import NotPossible

_SETTLED_NS = 2_000_000_000
"""A file modified this shortly before it was read may change again within one tick of the clock: it is read again."""

_broken: dict[Path, tuple[int, int]] = {}
"""Files that this process found to have errors, with their size and modification time: they are not parsed again before
they change. The next process tries again, because its validation may be another one."""

_LARGE_BYTES = 200_000
"""Files of this size or more, and those that generate tasks, are parsed by a process of their own: the parser holds the
interpreter for some 40 ms a megabyte, and the requests of a worker would wait."""
_CODE = Path(__file__).resolve().parents[3]
_PARSE = """
import pickle, sys
from benchmarks.dataset_format.parsing import parse_dataset
data, images = pickle.load(sys.stdin.buffer)
pickle.dump(parse_dataset(data, sys.argv[1], images), sys.stdout.buffer)
"""

_SHOWN_BYTES = 800
"""Of a source line: enough for 200 characters in any script."""

_CONFLICT = "The file and the dataset here have both changed. Use the file or keep the edits."

State = DatasetFile.State


class Change(StrEnum):
    """The outcome of one file in one synchronization."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    VANISHED = "vanished"
    BROKEN = "broken"
    UNDECIDED = "undecided"


_WORDS = {Change.VANISHED: "missing", Change.BROKEN: "with errors", Change.UNDECIDED: "in conflict"}
"""Changes whose value is not the word for people."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: its outcome, the number of its dataset's current version, and its problems."""

    file: str
    slug: str
    change: Change
    version: int | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncReport:
    """All files of the directory by name, then those missing since the last time."""

    files: tuple[FileReport, ...]
    waiting: int = 0
    """Files that were left for the next synchronization."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for file in self.files for problem in file.problems)

    def __str__(self) -> str:
        counts = Counter(file.change for file in self.files)
        summary = ", ".join(f"{counts[change]} {_WORDS.get(change, change)}" for change in Change if counts[change])
        if self.waiting:
            summary = f"{summary}, {self.waiting} large to follow in the background".removeprefix(", ")
        lines = [f"Datasets: {summary or 'no files'}.", *map(str, self.problems)]
        lines += [f"{file.file}: {_CONFLICT}" for file in self.files if file.change is Change.UNDECIDED]
        return "\n".join(lines)


def sync_datasets(directory: Path, *, reread: bool = False, quick: bool = False) -> SyncReport:
    """Import the YAML files of a directory. One file with errors does not affect the others.

    A new file becomes a dataset, a changed one a new version. A missing file is marked; its dataset and runs stay. A
    file with errors keeps its problems, and its dataset the last valid version. If its dataset was edited here, a
    changed file waits for ``accept_file`` or ``keep_dataset``. Without changes this takes one query and one ``stat``
    a file; ``reread`` compares contents regardless, and ``quick`` leaves changed files that take long to parse for the
    next time. Several processes may do this at once. Raises ``NotPossible`` if
    the directory cannot be read.
    """
    try:
        paths = dataset_paths(directory)
    except OSError as error:
        raise NotPossible(
            f"Cannot read the datasets directory {directory} ({error.strerror}). Create it, or set "
            "`benchmark.datasets_dir` in codeforge.yaml."
        ) from None
    stored = {file.path: file for file in DatasetFile.objects.select_related("dataset__current_version")}
    owners = _owners(paths, directory, stored)
    reports = []
    waiting = 0
    for path in paths:
        known = stored.pop(display_name(path, directory), None)
        if known is not None and not reread and _unchanged(known, path):
            reports.append(_report(known, Change.UNCHANGED))
        elif known is not None and not reread and _still_broken(known, path):
            problems = (Problem(known.path, row["line"], row["path"], row["message"]) for row in known.problems)
            reports.append(_report(known, Change.BROKEN, problems=tuple(problems)))
        else:
            owner = owners[path.stem]
            report = _sync_file(path, directory, None if owner == path else owner, quick=quick)
            reports += [report] if report else []
            waiting += report is None
    # What is left in ``stored`` has no file any more. Files known to be missing are not reported again.
    missing = [file for file in stored.values() if file.state != State.VANISHED]
    reports += [_report(file, Change.VANISHED) for file in missing]
    rows = DatasetFile.objects.filter(pk__in=[file.pk for file in missing])
    rows.filter(dataset=None).delete()  # they never gave a dataset
    rows.update(state=State.VANISHED, problems=[], checked_at=timezone.now())
    return SyncReport(tuple(reports), waiting)


def accept_file(file: DatasetFile, directory: Path, user: Caller = None) -> DatasetVersion:
    """Replace the edits by the file's content. Raises ``NotPossible`` if the file is not a valid dataset now."""
    with transaction.atomic():
        locked, content, spec = _locked_with_content(file, directory)
        return _import_file(locked, Path(locked.path).stem, content, spec, user)


def keep_dataset(file: DatasetFile, directory: Path) -> None:
    """Keep the edits until the file changes again. Raises ``NotPossible`` if the file is not a valid dataset now."""
    with transaction.atomic():
        locked, content, _ = _locked_with_content(file, directory)
        _remember(locked, content, State.GOOD)


def generate_version(slug: str, seed: int, directory: Path, user: Caller = None) -> DatasetVersion:
    """Make the tasks of a generated dataset from another seed, as its next version; its file stays as it is.

    Raises ``NotPossible`` if the dataset has no file with a generator, or the seed is not allowed.
    """
    file = DatasetFile.objects.filter(dataset__slug=slug).first()
    content = read_content(directory / file.path, directory) if file is not None else None
    if isinstance(content, Problem):
        raise NotPossible(str(content))
    parsed = parse_dataset(content.data, slug, content.images, seed) if content is not None else None
    if parsed is not None and parsed.spec is None:
        raise NotPossible(str(parsed.problems[0]))
    if parsed is None or parsed.spec is None or parsed.spec.generator is None:
        raise NotPossible(f"{slug} has no file with a generator, so it has no seed. Choose a generated dataset.")
    return import_dataset(parsed.spec, slug, DatasetVersion.Origin.GENERATED, user)


def _locked_with_content(file: DatasetFile, directory: Path) -> tuple[DatasetFile, FileContent, DatasetSpec]:
    locked = DatasetFile.objects.select_for_update().get(pk=file.pk)
    content = read_content(directory / locked.path, directory)
    if isinstance(content, Problem):
        raise NotPossible(str(content))
    parsed = parse_dataset(content.data, locked.path, content.images)
    if parsed.spec is None:
        raise NotPossible(f"{locked.path} has errors. First error: {parsed.problems[0]}")
    return locked, content, parsed.spec


def _owners(paths: Sequence[Path], directory: Path, stored: Mapping[str, DatasetFile]) -> dict[str, Path]:
    """Slug → the file that defines it: the one that already does, otherwise the first by name."""
    owners: dict[str, Path] = {}
    for path in paths:
        known = stored.get(display_name(path, directory))
        if path.stem not in owners or (known is not None and known.dataset_id is not None):
            owners[path.stem] = path
    return owners


def _unchanged(known: DatasetFile, path: Path) -> bool:
    """Whether ``stat`` alone proves that the file is as it was when it was last imported."""
    if known.state != State.GOOD or known.dataset_id is None:
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    settled = known.modified_ns < known.checked_at.timestamp() * 1e9 - _SETTLED_NS
    return settled and (status.st_size, status.st_mtime_ns) == (known.size, known.modified_ns)


def _still_broken(known: DatasetFile, path: Path) -> bool:
    """Whether ``stat`` alone proves that the file still has the errors that this process found in it."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return known.state == State.BROKEN and _broken.get(path) == (status.st_size, status.st_mtime_ns)


def _sync_file(path: Path, directory: Path, rival: Path | None, *, quick: bool) -> FileReport | None:
    """Read one file and update the database; ``None`` if that would not be ``quick``, or this process is ending."""
    name, slug = display_name(path, directory), path.stem
    content = name_problem(path, directory, rival) or read_content(path, directory)
    if isinstance(content, Problem):
        return _store_problems(name, slug, (content,), b"")
    if quick and _takes_long(content):
        return None
    parsed = _parsed(content, name)
    if parsed is None:
        return None
    if parsed.spec is None:
        if content.mtime_ns < time.time_ns() - _SETTLED_NS:
            _broken[path] = (content.size, content.mtime_ns)
        return _store_problems(name, slug, parsed.problems, content.data)
    try:
        return _store_content(name, slug, content, parsed.spec)
    except NotPossible as refusal:
        return _store_problems(name, slug, (Problem(name, 1, "", refusal.message),), b"")


def _takes_long(content: FileContent) -> bool:
    size = len(content.data) + sum(map(len, content.images.values()))
    return size >= _LARGE_BYTES or b"generator" in content.data


def _parsed(content: FileContent, name: str) -> Parsed | None:
    if not _takes_long(content):
        return parse_dataset(content.data, name, content.images)
    command = [sys.executable, "-c", _PARSE, name]
    done = subprocess.run(
        command, input=pickle.dumps((content.data, content.images)), stdout=subprocess.PIPE, cwd=_CODE, check=False
    )
    if done.returncode == -signal.SIGTERM:  # Ctrl-C during `make run`, which stops the whole group of processes
        return None
    done.check_returncode()
    parsed: Parsed = pickle.loads(done.stdout)
    return parsed


def _store_problems(name: str, slug: str, problems: tuple[Problem, ...], data: bytes) -> FileReport:
    """Keep the problems with their source lines. The file's dataset stays as it is."""
    lines = data.split(b"\n")
    rows = []
    for problem in problems:
        source = lines[problem.line - 1] if problem.line <= len(lines) else b""
        text = printable(source[:_SHOWN_BYTES].decode("utf-8", "replace").rstrip("\r"))
        rows.append({"line": problem.line, "path": problem.path, "message": problem.message, "text": text})
    with transaction.atomic():
        file = _locked_file(name)
        if (file.state, file.problems) != (State.BROKEN, rows):
            file.state, file.problems, file.checked_at = State.BROKEN, rows, timezone.now()
            file.save()
    return _report(file, Change.BROKEN, slug, problems)


def _store_content(name: str, slug: str, content: FileContent, spec: DatasetSpec) -> FileReport:
    with transaction.atomic():
        # The lock makes other processes wait; they then see the same hash and do nothing.
        file = _locked_file(name)
        if file.dataset is not None and file.sha256 == content.sha256:
            _remember(file, content, State.GOOD)
            return _report(file, Change.UNCHANGED)
        dataset = Dataset.objects.filter(slug=slug).select_related("current_version").first()
        if dataset is not None and _conflicts(dataset, spec):
            Dataset.objects.filter(pk=dataset.pk).update(edited_here=True)
            _link(file, dataset)
            _remember(file, content, State.UNDECIDED)
            return _report(file, Change.UNDECIDED)
        _import_file(file, slug, content, spec, None)
        return _report(file, Change.NEW if dataset is None else Change.CHANGED)


def _locked_file(name: str) -> DatasetFile:
    file, _ = (
        DatasetFile.objects.select_for_update(of=("self",))
        .select_related("dataset__current_version")
        .get_or_create(path=name, defaults={"state": State.BROKEN, "checked_at": timezone.now()})
    )
    return file


def _conflicts(dataset: Dataset, spec: DatasetSpec) -> bool:
    """Whether the file would overwrite an edit made here, or a dataset that never had a file."""
    current = dataset.current_version
    if dataset.kind != Dataset.Kind.YAML or current is None or current.content_hash == content_hash(spec):
        return False
    return dataset.edited_here or not DatasetFile.objects.filter(dataset=dataset).exists()


def _import_file(file: DatasetFile, slug: str, content: FileContent, spec: DatasetSpec, user: Caller) -> DatasetVersion:
    version = import_dataset(spec, slug, DatasetVersion.Origin.FILE, user)
    Dataset.objects.filter(pk=version.dataset_id).update(edited_here=False)
    _link(file, version.dataset)
    _remember(file, content, State.GOOD)
    return version


def _link(file: DatasetFile, dataset: Dataset) -> None:
    """Make this the dataset's file, in place of a missing one with the other extension."""
    DatasetFile.objects.filter(dataset=dataset).exclude(pk=file.pk).update(dataset=None)
    file.dataset = dataset


def _remember(file: DatasetFile, content: FileContent, state: str) -> None:
    """Store the file as seen. While it waits for a decision, its hash stays that of the last imported content."""
    file.state, file.problems, file.checked_at = state, [], timezone.now()
    file.size, file.modified_ns = content.size, content.mtime_ns
    if state == State.GOOD:
        file.sha256 = content.sha256
    file.save()


def _report(file: DatasetFile, change: Change, slug: str = "", problems: tuple[Problem, ...] = ()) -> FileReport:
    dataset = file.dataset
    version = dataset.current_version.number if dataset is not None and dataset.current_version is not None else None
    known = dataset.slug if dataset is not None else Path(file.path).stem
    return FileReport(file.path, printable(slug or known), change, version, problems)
