"""A package with entry points, as pip installs it, in a folder of its own on the path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


def install_package(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    code: Mapping[str, str],
    points: Mapping[str, Mapping[str, str]],
) -> None:
    """``code`` are the modules by name, ``points`` the entry points by group, without the groups' common prefix.

    Modules keep their names for the whole process, so each test that imports one names it as no other does.
    """
    for module, text in code.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    sections = (
        "\n".join((f"[codeforge_benchmarks.{group}]", *(f"{point} = {value}" for point, value in each.items())))
        for group, each in points.items()
    )
    (info / "entry_points.txt").write_text("\n\n".join(sections))
    monkeypatch.syspath_prepend(folder)
