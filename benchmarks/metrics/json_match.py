from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, unparsable
from benchmarks.metrics.extraction import extract_json, is_json, parse_json

MAX_NAMED = 5
"""Differing fields that the reason names."""
MAX_FIELDS = 20_000
MAX_DEPTH = 100

Leaf = tuple[str, Any]
Path = tuple[str | int, ...]
"""Keys and list positions: a key with a dot in it is not a path of two keys."""


class JsonMatch(DeterministicMetric):
    """The share of fields that are equal in the answer's JSON and the expected JSON.

    Fields are the leaves of both values together, so that a missing and an invented field both cost. List entries are
    compared by position, numbers by value, text character by character.
    """

    name = "json_match"
    title = "JSON match"
    description = "Share of fields that are equal in the answer's JSON and the expected JSON"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return is_json(item.expected_output)

    def score(self, item: Item) -> Score:
        try:
            expected = leaves(parse_json(item.expected_output))
        except ValueError:
            return not_applicable("The expected answer is not JSON.")
        extraction = extract_json(item.actual_output)
        try:
            answer = leaves(parse_json(extraction.text))
        except ValueError as error:
            return unparsable(f"The answer contains no JSON to compare: {error}.", extraction, failure="No JSON found")
        fields = expected.keys() | answer.keys()
        different = [shown_path(path) for path in differing(expected, answer)]
        equal = len(fields) - len(different)
        reason = f"{equal} of {len(fields)} fields are equal."
        if different:
            names = ", ".join(different[:MAX_NAMED])
            more = f" and {len(different) - MAX_NAMED} more" if len(different) > MAX_NAMED else ""
            reason += f" Different: {names}{more}."
        return scored(equal / len(fields), reason, extraction, failure="Fields differ" if equal else "No field matches")


def leaves(value: Any) -> dict[Path, Leaf]:
    """Every field of a JSON value: its path (``("items", 0, "price")``) and its typed content.

    ``1`` and ``1.0`` are equal, ``1`` and ``true`` are not; text is compared in NFC. An empty object or list is a field
    of its own. Raises ``ValueError`` beyond ``MAX_FIELDS`` fields or ``MAX_DEPTH`` levels.
    """
    fields: dict[Path, Leaf] = {}
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, node = pending.pop()
        if len(path) > MAX_DEPTH or len(fields) + len(pending) > MAX_FIELDS:
            raise ValueError(f"exceeds {MAX_FIELDS:,} fields or {MAX_DEPTH} levels")
        if isinstance(node, dict) and node:
            pending.extend(((*path, key), child) for key, child in node.items())
        elif isinstance(node, list) and node:
            pending.extend(((*path, index), child) for index, child in enumerate(node))
        else:
            fields[path] = _leaf(node)
    return fields


def differing(first: Mapping[Path, Leaf], second: Mapping[Path, Leaf]) -> list[Path]:
    """The fields that are not equal in two values, or are in one alone, in the order of ``shown_path``."""
    return sorted(
        (path for path in first.keys() | second.keys() if first.get(path) != second.get(path)), key=shown_path
    )


def same_json(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal as ``leaves`` compares them; values too large to compare are not."""
    try:
        return leaves(first) == leaves(second)
    except ValueError:
        return False


def shown_path(path: Path) -> str:
    """``items[0].price``; a key with punctuation is quoted, ``["a.b"]``."""
    parts = [
        f".{step}" if isinstance(step, str) and step.replace("_", "").isalnum() else f"[{json.dumps(step)}]"
        for step in path
    ]
    return "".join(parts).removeprefix(".") or "the value itself"


def _leaf(node: Any) -> Leaf:
    match node:
        case bool():  # before int, of which bool is a subclass
            return ("boolean", node)
        case int() | float():
            return ("number", node)
        case str():
            return ("text", unicodedata.normalize("NFC", node))
        case dict():
            return ("object", None)
        case list():
            return ("list", None)
        case _:
            return ("null", None)
