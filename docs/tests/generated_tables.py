"""The generated tables of the documents. To update them, run ``python -m docs.tests.generated_tables``."""

from __future__ import annotations

import argparse
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import django
from pydantic import BaseModel

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


def key_table() -> str:
    """Every key of ``codeforge.yaml`` with its type, its default and the docstring below its field."""
    from codeforge.config import Config

    return _table(("key", "value", "default", "meaning"), _keys(Config))


def decision_table() -> str:
    """What parameters decide, as the docstring of ``Decides`` says, and which do."""
    from benchmarks.run_parameters import RUN_PARAMETERS, Decides

    meanings = re.findall(r"- ``(\w+)``: (.*?)\. (.*?)\.(?=\n- |\n\n)", inspect.getdoc(Decides) or "", re.DOTALL)
    rows = (
        (name.lower(), _one_line(what), _names(name.lower(), RUN_PARAMETERS.values()), _one_line(then))
        for name, what, then in meanings
    )
    return _table(("decides", "that is", "parameters", "and with that"), rows)


def journey_table() -> str:
    """What the journeys that people make most may take."""
    from frontend.tests.browser.journeys_walked import MOST

    head = ("journey", "clicks", "texts typed")
    return _table(head, ((title, str(clicks), str(fields)) for title, (clicks, fields) in MOST.items()))


def validation_tables() -> dict[str, Callable[[], str]]:
    """The tables of the numbers that are shown."""
    from docs.tests.validation import estimates, places, plain_numbers

    estimated = ("number", "formula and source", "implementation", "agrees with", "measured", "limits")
    return {
        "estimates": lambda: _table(estimated, estimates()),
        "plain": lambda: _table(("number", "implementation", "tests", "limits"), plain_numbers()),
        "places": lambda: _table(("number", "shown as"), places()),
    }


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "docs/architecture.md": {"decides": decision_table},
    "docs/cli.md": {"commands": command_table},
    "docs/configuration.md": {"keys": key_table},
    "docs/how-to/public-benchmarks.md": {"presets": preset_table},
    "docs/performance.md": {"journeys": journey_table},
    "docs/validation.md": validation_tables(),
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


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("``ANSWER``", "answer")


def _names(decides: str, parameters: Iterable[Any]) -> str:
    return ", ".join(f"`{parameter.name}`" for parameter in parameters if parameter.decides.value == decides)


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


PLACEHOLDERS = {"models": "<provider/model>"}
"""Mapping → what stands for its names; otherwise ``<name>``."""


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, ...]]:
    from codeforge.config_schema import attribute_docs, is_model

    docs = attribute_docs(model)
    for name, field in model.model_fields.items():
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if is_model(part)]
        if inner:
            entry = "" if is_model(field.annotation) else f"{PLACEHOLDERS.get(name, '<name>')}."
            yield from _keys(inner[0], f"{prefix}{name}.{entry}")
        else:
            default = "required" if field.is_required() else field.get_default(call_default_factory=True)
            shown = "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
            code = shown if shown in ("none", "required") else f"`{shown}`"
            yield f"`{prefix}{name}`", _kind(field.annotation, field.metadata), code, docs[name]


def _kind(annotation: Any, metadata: list[Any]) -> str:
    """What a value is, in words."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is Annotated:
        return _kind(parts[0], [*metadata, *parts[1:]])
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if get_origin(annotation) in (list, dict):
        word = "list" if get_origin(annotation) is list else "mapping"
        return word if Any in parts else f"{word} of {' to '.join(_kind(part, []) for part in parts)}"
    if parts:
        return _kind(parts[0], metadata)
    limits = {type(limit).__name__: limit for each in metadata for limit in getattr(each, "metadata", None) or [each]}
    low = limits["Ge"].ge if "Ge" in limits else None
    high = limits["Le"].le if "Le" in limits else None
    names = {str: "text", bool: "true or false", int: "whole number", float: "number"}
    if low is not None:
        return f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
    return f"up to {high:,}" if high is not None else names.get(annotation, "text")


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["|".join(("", *(f" {cell} " for cell in row), "")) for row in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))


if __name__ == "__main__":
    os.environ.setdefault("APP_ENV", "development")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    django.setup()
    for page in TABLES:
        (ROOT / page).write_text(with_tables(page), encoding="utf-8")
