"""Comparing JSON values field by field, with bounded work for any value."""

from __future__ import annotations

import unicodedata
from typing import Any

MAX_FIELDS = 20_000
MAX_DEPTH = 100

Leaf = tuple[str, Any]


def leaves(value: Any) -> dict[str, Leaf]:
    """Every field of a JSON value: its path (``items[0].price``) and its typed content.

    ``1`` and ``1.0`` are the same, ``1`` and ``true`` are not; text is compared in NFC. An empty object or list
    is a field of its own. Raises ``ValueError`` beyond ``MAX_FIELDS`` fields or ``MAX_DEPTH``.
    """
    found: dict[str, Leaf] = {}
    pending: list[tuple[str, Any, int]] = [("", value, 0)]
    while pending:
        path, node, depth = pending.pop()
        if depth > MAX_DEPTH or len(found) + len(pending) > MAX_FIELDS:
            raise ValueError(f"more than {MAX_FIELDS:,} fields or {MAX_DEPTH} levels")
        if isinstance(node, dict) and node:
            pending.extend((f"{path}.{key}" if path else str(key), child, depth + 1) for key, child in node.items())
        elif isinstance(node, list) and node:
            pending.extend((f"{path}[{index}]", child, depth + 1) for index, child in enumerate(node))
        else:
            found[path] = _leaf(node)
    return found


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal as ``leaves`` compares them; values too large to compare are not."""
    try:
        return leaves(one) == leaves(other)
    except ValueError:
        return False


def _leaf(node: Any) -> Leaf:
    match node:
        case bool():
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
