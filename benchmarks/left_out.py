"""Have the installed packages not ask for what ``requirements-excluded.txt`` leaves out; ``make run`` calls it.

Otherwise pip reports each of these as an error whenever somebody installs a package of their own, and hides real ones.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.extras import CLONE

_NEEDS = re.compile(r"Requires-Dist: *([A-Za-z0-9._-]+)")


def excluded() -> frozenset[str]:
    lines = (CLONE / "requirements-excluded.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def drop_requirements(names: Collection[str], path: list[str]) -> list[str]:
    """Remove these requirements from the metadata of the packages on the path; returns the packages that had some."""
    changed = []
    for package in distributions(path=path):
        found = [file for file in package.files or () if file.name == "METADATA" and ".dist-info" in file.parts[0]]
        for place in (Path(str(package.locate_file(file))) for file in found):
            lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if _needed(line) not in names]
            if kept != lines:
                place.unlink()  # an installer may have linked the file to its cache
                place.write_text("".join(kept), encoding="utf-8")
                changed.append(package.name)
    return changed


def _needed(line: str) -> str:
    """The package that a line of metadata requires, with its name normalized; empty for other lines."""
    match = _NEEDS.match(line)
    return re.sub("[-_.]+", "-", match[1]).lower() if match else ""


if __name__ == "__main__":
    drop_requirements(excluded(), sys.path)
