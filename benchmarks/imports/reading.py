"""Read files that other tools wrote, JSON and ZIP files of JSON, within bounds.

Pydantic models validate them, and errors name the place of the first error.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from benchmarks.dataset_format.fields import Tag
from benchmarks.dataset_format.json_fields import Metadata
from benchmarks.dataset_format.limits import MAX_BYTES, MAX_DEPTH, MAX_LABEL, MAX_LABELS
from benchmarks.dataset_format.nodes import LOADER
from benchmarks.dataset_format.problems import Invalid, printable, quoted
from benchmarks.imports.runs import ImportProblem
from benchmarks.metrics.imported import imported_name
from benchmarks.providers.clean_text import storable, storable_json

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # the backport of Python 3.14's module, for Zstandard, with which Inspect compresses its logs
    from backports import zstd
    from backports.zstd import zipfile as zipfile  # noqa: PLC0414  # other modules use it

MAX_JSON_BYTES = 256 * 2**20
"""Of one JSON document, which is held in memory as a whole."""
MAX_CONTAINERS = 1_000_000
"""Objects and lists of one JSON document; a result of the tools has 15 to 40."""
MAX_ZIP_BYTES = 4 * 2**30
"""Of all members of an archive, decompressed."""
MAX_MEMBERS = 200_000
LARGEST_INTEGER = 2**31 - 1
MAX_REPEATS = 2**15 - 1


def json_of(data: bytes, where: str) -> Any:
    """The document, including ``NaN`` and ``Infinity``, which some tools write. Raises ``ImportProblem``.

    An object or list takes many times as much memory as in the file, so their number is bounded too.
    """
    if containers_in(data) > MAX_CONTAINERS:
        raise ImportProblem(f"{where}: more than {MAX_CONTAINERS:,} objects and lists. Split the file.")
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise ImportProblem(f"{where}, line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ImportProblem(f"{where}: invalid UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ImportProblem(f"{where}: JSON that cannot be read: {printable(str(error))}") from None


def containers_in(data: bytes | bytearray) -> int:
    """How many objects and lists the document has at most: brackets inside texts count as well."""
    return data.count(b"{") + data.count(b"[")


def json_file(path: Path, where: str, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """The document in a file. Raises ``ImportProblem``, also if the file is too large, and ``OSError``."""
    limit = min(max_bytes, MAX_JSON_BYTES)
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB")
    return json_of(data, where)


def yaml_file(path: Path, where: str) -> Any:
    """The document in a YAML file, as JSON has it. Raises ``ImportProblem``, and ``OSError``."""
    with path.open("rb") as file:
        return yaml_of(file.read(MAX_BYTES + 1), where)


def yaml_of(data: bytes, where: str) -> Any:
    """The document, as JSON has it. Raises ``ImportProblem``, also if it is too large.

    YAML is read slowly, so less of it is read than of JSON, and aliases count each time.
    """
    if len(data) > MAX_BYTES:
        raise ImportProblem(f"{where}: YAML exceeds the limit of {MAX_BYTES // 1_000_000} MB. Write JSON instead.")
    try:
        # Composing nested nodes is recursive in C, without a limit.
        depth = 0
        for event in yaml.parse(data, Loader=LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise ImportProblem(f"{where}: more than {MAX_DEPTH} levels of lists and mappings")
        value = yaml.load(data, Loader=LOADER)  # noqa: S506  # a SafeLoader
        if _expanded(value, {}) > MAX_CONTAINERS:
            raise ImportProblem(f"{where}: more than {MAX_CONTAINERS:,} values. Split the file.")
        return json.loads(json.dumps(value))
    except yaml.YAMLError as error:
        raise ImportProblem(f"{where}: invalid YAML: {printable(str(error))}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ImportProblem(f"{where}: YAML that cannot be read: {printable(str(error))}") from None


def _expanded(value: Any, known: dict[int, int]) -> int:
    """The number of values, in aliases each time. Raises ``ValueError`` if a value contains itself."""
    if not isinstance(value, dict | list):
        return 1 + (len(value) // 100 if isinstance(value, str) else 0)
    if id(value) not in known:
        known[id(value)] = -1
        items = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_expanded(item, known) for item in items)
    elif known[id(value)] < 0:
        raise ValueError("an alias of what contains it")
    return known[id(value)]


_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(EOFError, RuntimeError, ValueError, OSError),
)
_STEP = 4096
"""Bytes read at once. Their decompressed form may be held in memory whole, however little was requested."""


class Archive:
    """A ZIP file of JSON documents. Bytes are counted as they are decompressed, because the sizes in a file may lie."""

    def __init__(self, file: zipfile.ZipFile, max_bytes: int) -> None:
        self._file = file
        self._left = max_bytes
        self._containers_left = max(MAX_CONTAINERS, max_bytes // 128)
        self.names = file.namelist()
        if len(self.names) > MAX_MEMBERS:
            raise ImportProblem(f"{len(self.names):,} members; the limit is {MAX_MEMBERS:,}")

    @classmethod
    @contextmanager
    def of(cls, path: Path, max_bytes: int = MAX_ZIP_BYTES) -> Iterator[Archive]:
        """Open an archive. Raises ``ImportProblem``, and ``OSError`` if the file cannot be opened."""
        with path.open("rb") as raw:
            try:
                file = zipfile.ZipFile(raw)
            except _UNREADABLE as error:
                raise ImportProblem(f"invalid ZIP file: {printable(str(error))}") from None
            with file:
                yield cls(file, max_bytes)

    def json(self, name: str) -> Any:
        """The document in a member. Raises ``ImportProblem``."""
        where = printable(name)
        limit = min(self._left, MAX_JSON_BYTES)
        data = bytearray()
        try:
            with self._file.open(name) as member:
                # One byte more than allowed shows that the member is too large.
                while len(data) <= limit and (more := member.read(min(_STEP, limit + 1 - len(data)))):
                    data += more
        except NotImplementedError:
            raise ImportProblem(
                f"{where}: unsupported compression. Convert the log with: inspect log convert --to json"
            ) from None
        except (KeyError, *_UNREADABLE) as error:
            raise ImportProblem(f"{where}: cannot be read: {printable(str(error))}") from None
        if len(data) > limit:
            raise ImportProblem(f"{where}: exceeds the limit of {limit // 2**20} MB when decompressed")
        self._left -= len(data)
        self._containers_left -= containers_in(data)
        if self._containers_left < 0:
            raise ImportProblem(f"{where}: the archive has too many objects and lists. Split the log.")
        return json_of(bytes(data), where)


class Part(BaseModel):
    """Base of the models of foreign files. Unknown keys are counted (``read``); a null is the same as a missing key.

    A field made by ``at`` is nested, for example, ``output.choices[0].text``. Of the alternatives in
    ``cost|response.cost`` the first that exists counts.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    called: ClassVar[str] = "the file"
    """What the model describes, in the plural, to say what was not used of it."""
    without_loss: ClassVar[frozenset[str]] = frozenset()
    """Paths of keys that nobody misses: technical ids, and what other keys say as well."""

    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        if info.context is not None:
            info.context.update((path, cls.called) for path in _unread(value, _tree_of(cls), cls.without_loss))
        flat: dict[str, Any] = {}
        for name, paths in _paths_of(cls):
            for steps in paths:
                item = _follow(value, steps)
                if item is not None:
                    flat[name] = item
                    break
        return flat


def at(path: str, default: Any = None) -> Any:
    """A field of a ``Part`` that is nested, or has another name in the file."""
    return Field(default, validation_alias=path)


Steps = tuple[str | int, ...]


@cache
def _paths_of(model: type[Part]) -> list[tuple[str, list[Steps]]]:
    names = [str(field.validation_alias or name) for name, field in model.model_fields.items()]
    return [
        (name, [tuple(int(s) if s.isdecimal() else s for s in re.findall(r"[\w-]+", path)) for path in name.split("|")])
        for name in names
    ]


def _follow(value: Any, steps: Steps) -> Any:
    """The value at the path; ``None`` if it is missing. Raises where the path leads through neither object nor list."""
    for depth, step in enumerate(steps):
        if value is None:
            return None
        if isinstance(step, int) and isinstance(value, list):
            value = value[step] if step < len(value) else None
        elif isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        else:
            wanted = expected("a list" if isinstance(step, int) else "an object")
            error = InitErrorDetails(type=wanted, loc=steps[:depth], input=value)
            raise ValidationError.from_exception_data("part", [error])
    return value


@cache
def _tree_of(model: type[Part]) -> dict[Any, Any]:
    """The paths of all fields as nested mappings; an empty one is a field, which is read wholly."""
    tree: dict[Any, Any] = {}
    # Longer paths first, so that a field at the beginning of another's path counts as read wholly.
    for steps in sorted((steps for _, paths in _paths_of(model) for steps in paths), key=len, reverse=True):
        branch = tree
        for step in steps[:-1]:
            branch = branch.setdefault(step, {})
        branch[steps[-1]] = {}
    return tree


def _unread(value: Any, tree: dict[Any, Any], without_loss: frozenset[str], path: str = "") -> Iterator[str]:
    """The paths that have a value and that no field reads."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        inner = f"{path}[]" if isinstance(key, int) else f"{path}.{key}".removeprefix(".")
        if inner in without_loss or item in (None, False, "", [], {}):
            continue
        if key not in tree:
            yield inner
        elif tree[key]:
            yield from _unread(item, tree[key], without_loss, inner)


Unused = Counter[tuple[str, str]]
"""How often which path of which part of a file had a value that was not used."""
MOST_UNUSED = 30
_LABELS: TypeAdapter[Mapping[str, Any]] = TypeAdapter(Metadata)
_TAG: TypeAdapter[str] = TypeAdapter(Tag)


def label_values(metadata: Mapping[str, Any], part: str, unused: Unused, path: str = "metadata") -> dict[str, Any]:
    """What of the metadata a task can have: short texts, numbers and booleans. The rest is counted in ``unused``."""
    labels: dict[str, Any] = {}
    for key, value in metadata.items():
        try:
            if len(labels) < MAX_LABELS:
                labels |= _LABELS.validate_python({key: value})
                continue
        except (Invalid, ValidationError):
            pass
        if value not in (None, "", [], {}):
            unused[f"{path}.{key}".removeprefix("."), part] += 1
    return labels


def tag_values(tags: Any, part: str, unused: Unused, longest: int = MAX_LABEL) -> tuple[str, ...]:
    """Short texts in one line, as tasks and runs have them as tags. The rest is counted in ``unused``."""
    known: dict[str, None] = {}
    for tag in tags if isinstance(tags, list) else [tags] if tags else []:
        try:
            if len(known) < MAX_LABELS and len(tag) <= longest:
                known[_TAG.validate_python(tag)] = None
                continue
        except (Invalid, ValidationError, TypeError):
            pass
        unused["tags", part] += 1
    return tuple(known)


def unused_sentences(unused: Unused) -> list[str]:
    """What was not used, with counts, for ``ImportedRun.unused``."""
    named = [
        f"{printable(path)[:100]} of {part}" + ("" if part.startswith("the ") else f" ({count:,})")
        for (path, part), count in unused.most_common(MOST_UNUSED)
    ]
    more = [f"{len(unused) - MOST_UNUSED:,} more"] if len(unused) > MOST_UNUSED else []
    return [f"Not imported: {', '.join(named + more)}."] if named else []


Model = TypeVar("Model", bound=Part)


def read(model: type[Model], value: Any, where: str, unused: Unused | None = None) -> Model:
    """The value as a model; counts in ``unused`` what no field of it reads.

    Raises ``ImportProblem`` with the place of the first error, below ``where``.
    """
    try:
        return model.model_validate(value, context=unused)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = where
        for step in error["loc"]:
            name = str(step).partition("|")[0]
            place += (
                f"[{step}]" if isinstance(step, int) else f".{name}" if _NAME.fullmatch(name) else f"[{quoted(name)}]"
            )
        wanted = error["msg"] if error["type"] == "expected" else _WANTED.get(error["type"], error["type"])
        given = None if error["type"] == "missing" else error["input"]
        raise ImportProblem(f"{place.removeprefix('.')}: expected {wanted}, found {shown(given)}") from None


_NAME = re.compile(r"[\w.\[\]-]{1,100}")
_WANTED = {"model_type": "an object", "dict_type": "an object", "tuple_type": "a list", "missing": "a value"}
"""Pydantic's error type → what is expected."""


def expected(what: str) -> PydanticCustomError:
    """The error of a validator whose value is not ``what``."""
    return PydanticCustomError("expected", "{what}", {"what": what})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise expected("text")
    return storable(value, [])


def _number(what: str, most: float, *, whole: bool = False) -> BeforeValidator:
    def check(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= most or (whole and value % 1):
            raise expected(what)
        return int(value) if whole else float(value)

    return BeforeValidator(check)


def _moment(value: Any) -> datetime | None:
    if value == "":
        return None
    try:
        moment = datetime.fromisoformat(_text(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise expected("a time such as 2026-01-31T12:00:00+00:00") from None


Text = Annotated[str, BeforeValidator(_text)]
"""Text as every database can hold it."""
Amount = Annotated[float, _number("a number of at least 0", sys.float_info.max)]
Count = Annotated[int, _number(f"a whole number up to {LARGEST_INTEGER:,}", LARGEST_INTEGER, whole=True)]
Repeat = Annotated[int, _number(f"a whole number up to {MAX_REPEATS:,}", MAX_REPEATS, whole=True)]
Moment = Annotated[datetime | None, BeforeValidator(_moment)]
"""A time in ISO 8601, in UTC unless it names another zone; empty text is no time."""


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), [])


def plain_json(value: Any) -> Any:
    """Validator: a JSON value as every database can hold it."""
    try:
        return storable_json(value, [])
    except (ValueError, RecursionError):
        raise expected("a JSON value of moderate depth") from None


def metric_name(form: str, name: str, *, measurement: bool = False) -> str:
    """The name here of another tool's metric, with control characters escaped."""
    return imported_name(form, printable(re.sub(r"\s+", " ", storable(name, [])).strip() or "score"), measurement)


def shown(value: Any) -> str:
    """A foreign value for a message."""
    match value:
        case str():
            return quoted(value)
        case int() if abs(value) > 10**30:  # Python refuses to write long integers in decimal
            return "a huge number"
        case bool() | int() | float():
            return printable(json.dumps(value))
    return "nothing" if value is None else "a list" if isinstance(value, list | tuple) else "an object"
