"""The published canvas files, which are not part of the project: CODEFORGE_ORIGINAL_CANVASES names their folder."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from tasks_app.canvas.original import OriginalCanvas, parse_original

FOLDER = os.environ.get("CODEFORGE_ORIGINAL_CANVASES", "")

needs_original_files = pytest.mark.skipif(not FOLDER, reason="CODEFORGE_ORIGINAL_CANVASES is not set")


@cache
def original_files() -> tuple[Path, ...]:
    return tuple(sorted(Path(FOLDER).glob("canvas_*.json")))


@cache
def original_documents() -> tuple[OriginalCanvas, ...]:
    return tuple(parse_original(path.read_bytes(), path.name) for path in original_files())
