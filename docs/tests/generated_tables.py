"""The generated tables of the documents. To update them, run ``python -m docs.tests.generated_tables``."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parents[2]


def command_table() -> str:
    """Every command, or each of its actions, with its help."""
    return _table(("command", "purpose"), ((f"`{command}`", text) for command, text in _commands()))


def requirement_table(file: Path) -> str:
    """The requirements of a file, each with the comment above it, which is its reason."""
    groups: list[tuple[str, list[str]]] = []
    for line in file.read_text(encoding="utf-8").partition("\n\n")[2].splitlines():
        if line.startswith("#"):
            groups.append((line.removeprefix("#").strip(), []))
        else:
            groups[-1][1].append(f"`{re.split(r'[^A-Za-z0-9._-]', line)[0]}`")
    return _table(("requirement", "why"), ((", ".join(names), why) for why, names in groups))


def preset_table() -> str:
    """Every preset of a public benchmark."""
    from benchmarks.imports.presets import REGISTERED_PRESETS

    head = ("preset", "split", "tasks", "examples", "metrics", "license", "differs from lm-evaluation-harness")
    return _table(
        head,
        (
            (
                f"`{name}`",
                preset.split if preset.repository else "–",
                f"{preset.limit:,} of {preset.size:,}" if preset.limit else f"{preset.size:,}",
                str(preset.shots or "–"),
                ", ".join(f"`{metric}`" for metric in preset.metrics),
                preset.license,
                preset.difference,
            )
            for name, preset in REGISTERED_PRESETS.items()
        ),
    )


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "docs/cli.md": {"commands": command_table},
    "docs/how-to/public-benchmarks.md": {"presets": preset_table},
    "docs/dependencies.md": {
        path.name: partial(requirement_table, path) for path in sorted(ROOT.glob("requirements*.in"))
    },
}
"""Page → name in its markers ``<!-- name:begin -->`` and ``<!-- name:end -->`` → the table between them."""


def with_tables(page: str) -> str:
    """The text of a page with its current tables. Raises ``ValueError`` if a marker is missing."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, table in TABLES[page].items():
        before, begin, rest = text.partition(f"<!-- {name}:begin -->\n")
        _, end, after = rest.partition(f"<!-- {name}:end -->")
        if not end:
            raise ValueError(f"{page} lacks the markers of the table {name}")
        text = f"{before}{begin}{table()}\n{end}{after}"
    return text


def _commands() -> Iterator[tuple[str, str]]:
    from django.core.management import load_command_class

    for app in ("benchmarks", "codeforge"):
        for path in sorted((ROOT / app / "management/commands").glob("[a-z]*.py")):
            command = load_command_class(app, path.stem)
            actions = [
                (f"{path.stem} {choice.dest}", choice.help or "")
                for action in command.create_parser("manage.py", path.stem)._actions
                if isinstance(action, argparse._SubParsersAction)
                for choice in action._choices_actions
            ]
            yield from actions or [(path.stem, command.help)]


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["|".join(("", *(f" {cell} " for cell in row), "")) for row in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))


if __name__ == "__main__":
    os.environ.setdefault("APP_ENV", "development")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    django.setup()
    for page in TABLES:
        (ROOT / page).write_text(with_tables(page), encoding="utf-8")
