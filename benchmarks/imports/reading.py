"""Reading files and values that others wrote: bounded, and with the place of every mistake."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.imports.runs import ImportProblem
from benchmarks.metrics.imported import imported_name
from benchmarks.providers.clean_text import storable, storable_json

MOST_JSON_BYTES = 256 * 2**20
"""Of one JSON document, which is held in memory whole."""
LARGEST_INTEGER = 2**31 - 1
MOST_REPEATS = 2**15 - 1


def json_of(data: bytes, where: str) -> Any:
    """The document, ``NaN`` and ``Infinity`` included, which some tools write. Raises ``ImportProblem``."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise ImportProblem(f"{where}, line {error.lineno}, column {error.colno}: no JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ImportProblem(f"{where}: no UTF-8 text at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise ImportProblem(f"{where}: no JSON that can be read: {printable(str(error))}") from None


def json_file(path: Path, where: str, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """The document in a file. Raises ``ImportProblem`` also for one that is too large, and ``OSError``."""
    most = min(most_bytes, MOST_JSON_BYTES)
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ImportProblem(f"{where}: larger than {most // 2**20} MB, the most that is read")
    return json_of(data, where)


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ImportProblem(f"{where}: {_seen(value)}, where an object is wanted")
    return value


def optional_mapping(value: Any, where: str) -> Mapping[str, Any]:
    return {} if value is None else mapping(value, where)


def sequence(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ImportProblem(f"{where}: {_seen(value)}, where a list is wanted")
    return value


def optional_sequence(value: Any, where: str) -> Sequence[Any]:
    return () if value is None else sequence(value, where)


def text(value: Any, where: str) -> str:
    """Text as it can be stored."""
    if not isinstance(value, str):
        raise ImportProblem(f"{where}: {_seen(value)}, where text is wanted")
    return storable(value, [])


def optional_text(value: Any, where: str) -> str:
    return "" if value is None else text(value, where)


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), [])


def plain_json(value: Any, where: str) -> Any:
    """A JSON value as every database can hold it."""
    try:
        return storable_json(value, [])
    except (ValueError, RecursionError) as error:
        raise ImportProblem(f"{where}: {printable(str(error))}") from None


def amount(value: Any, where: str) -> float | None:
    """A number of at least 0, or ``None`` where there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ImportProblem(f"{where}: {_seen(value)}, where a number is wanted")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0:
        raise ImportProblem(f"{where}: {_seen(value)}, where a number of at least 0 is wanted")
    return number


def count(value: Any, where: str, most: int = LARGEST_INTEGER) -> int | None:
    number = amount(value, where)
    if number is None:
        return None
    if number != int(number) or number > most:
        raise ImportProblem(f"{where}: {_seen(value)}, where a whole number up to {most:,} is wanted")
    return int(number)


def moment(value: Any, where: str) -> datetime | None:
    """A time in ISO 8601; one without a zone is in UTC."""
    if value in (None, ""):
        return None
    try:
        found = datetime.fromisoformat(text(value, where))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ImportProblem(
            f"{where}: {_seen(value)}, where a time such as 2026-01-31T12:00:00+00:00 is wanted"
        ) from None


def metric_name(form: str, name: str, *, measurement: bool = False) -> str:
    """The name of a metric of another tool; control characters in it are escaped."""
    return imported_name(form, printable(re.sub(r"\s+", " ", storable(name, [])).strip() or "score"), measurement)


def _seen(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case dict():
            return "an object"
        case list():
            return "a list"
    return printable(
        repr(value) if isinstance(value, float) else "a huge number" if abs(value) > 10**30 else str(value)
    )
