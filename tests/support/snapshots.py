"""Stored output that a change must not alter by accident: ``check`` compares it, ``make snapshots`` writes it anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"
_VARYING = re.compile(r"(^|_)at$|_ms$|_seconds$|per_second$|^seconds_|^code_version|^environment$")
"""Keys whose values differ from one execution to the next."""
_PORT = re.compile(r"127\.0\.0\.1:\d+")


def check(name: str, value: Any) -> None:
    """Compare a JSON value with its snapshot, apart from times and what depends on the machine."""
    path = FOLDER / f"{name}.json"
    text = json.dumps(settled(value), indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"
    if os.environ.get("CODEFORGE_WRITE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{name} has changed. If it should, run `make snapshots`, read the difference and say it in CHANGELOG.md."
    )


def settled(value: Any) -> Any:
    """The value, with the kind of what varies in place of it."""
    if isinstance(value, Mapping):
        return {
            str(key): f"({type(each).__name__})" if _VARYING.search(str(key)) and each is not None else settled(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [settled(each) for each in value]
    return _PORT.sub("127.0.0.1:0", value) if isinstance(value, str) else value
