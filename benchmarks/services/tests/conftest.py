"""A folder of dataset files whose times of change are under the test's control."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Write a file with a time of change of its own, an hour ago and later with every call."""
    moments = iter(range(10_000))

    def written(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(text)
        moment = time.time_ns() - 3_600_000_000_000 + next(moments) * 1_000_000_000
        os.utime(path, ns=(moment, moment))
        return path

    return written
