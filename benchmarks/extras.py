"""Optional parts of the installation: what their errors say to run."""

from __future__ import annotations

from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]


def how_to_install(extra: str) -> str:
    """The command that installs an extra, such as ``parquet``: in a clone its pinned file, else that of the package."""
    pinned = f"requirements-{extra}.txt"
    if (CLONE / pinned).exists():
        return f"pip install --no-deps --require-hashes -r {pinned}"
    return f'pip install "codeforge-benchmarks[{extra}]"'
