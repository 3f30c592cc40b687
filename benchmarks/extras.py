"""What messages say to run: commands, and what installs optional parts."""

from __future__ import annotations

from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]


def command(words: str, *, python: str = "") -> str:
    """A command as it is typed in this installation: of an installed package ``codeforge migrate``, in a clone
    ``manage.py migrate``, after ``python`` where one runs that."""
    if (CLONE / "manage.py").exists():
        return f"{python} manage.py {words}".lstrip()
    return f"codeforge {words}"


def how_to_install(extra: str) -> str:
    """The command that installs an extra, such as ``parquet``: in a clone its pinned file, else that of the package."""
    pinned = f"requirements-{extra}.txt"
    if (CLONE / pinned).exists():
        return f"pip install --no-deps --require-hashes -r {pinned}"
    return f'pip install "codeforge-benchmarks[{extra}]"'
