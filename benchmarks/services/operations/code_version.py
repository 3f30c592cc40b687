"""The code version of a run: the release, and the commit if the code runs from a checkout."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from benchmarks import __version__

_ROOT = Path(__file__).resolve().parents[3]


@cache
def code_version() -> str:
    """For example, ``0.1.0 (4f2a91c)``; a trailing ``+`` means that files have changed since that commit."""
    git = shutil.which("git")
    if git is None or not (_ROOT / ".git").exists():
        return __version__
    described = subprocess.run(
        [git, "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    commit = described.stdout.strip()
    return f"{__version__} ({commit})" if commit else __version__
