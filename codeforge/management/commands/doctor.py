"""``manage.py doctor``: what is missing on this machine, and how to get it. Exit code 1 if something required is."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management import CommandParser

from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.extras import command, how_to_install
from benchmarks.management.actions import JSON, ServiceCommand
from benchmarks.plugins import installed_plugins
from benchmarks.presentation.numbers import size
from benchmarks.queries.providers import provider_rows
from benchmarks.services.operations.code_version import code_version
from codeforge.health import checks

LEAST_FREE_BYTES = 500_000_000
OPTIONAL = {
    "xllamacpp": ("Local model", "start it on the first page, or run `make local-llm`"),
    "pyarrow": ("Parquet", how_to_install("parquet")),
    "litellm": ("LiteLLM (Bedrock, Vertex)", how_to_install("litellm")),
    "wordllama": ("Semantic similarity, languages", how_to_install("text")),
    "opentelemetry.sdk": ("OpenTelemetry", how_to_install("opentelemetry")),
}
"""Module → what it is for, and how to get it."""


class Command(ServiceCommand):
    help = "Say what is missing on this machine, and how to get it. Exit code 1 if something required is missing."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(*JSON[0], **JSON[1])

    def handle(self, *args: Any, as_json: bool, **options: Any) -> None:
        rows = list(_rows())
        head = {
            "version": code_version(),
            "python": platform.python_version(),
            "state": str(settings.STATE_DIR),
            "datasets": str(settings.DATASETS_DIR),
        }
        if as_json:
            self.print_json({**head, "checks": [row._asdict() for row in rows]})
        else:
            self.stdout.write(f"CodeForge Benchmarks {head['version']}, Python {head['python']}")
            self.stdout.write(f"State: {head['state']}\nDatasets: {head['datasets']}\n")
            for row in rows:
                styles = {"ok": self.style.SUCCESS, "missing": self.style.ERROR, "broken": self.style.ERROR}
                shown = styles.get(row.state, str)(row.state)
                pad = " " * (len("not checked") - len(row.state))
                self.stdout.write(f"  {shown}{pad}  {row.title}" + (f": {row.problem}" if row.problem else ""))
        if any(row.state == "missing" for row in rows):
            sys.exit(1)


class Row(NamedTuple):
    """``state``: ok, missing (required), optional (not there, and not required), broken (not used) or not checked;
    ``problem``: what to do."""

    title: str
    state: str
    problem: str


def _rows() -> Iterator[Row]:
    def row(title: str, problem: str, lacking: str = "optional") -> Row:
        return Row(title, lacking if problem else "ok", problem)

    required = [row(name.capitalize(), "" if state == "ok" else state, "missing") for name, state in checks().items()]
    free = shutil.disk_usage(settings.STATE_DIR).free
    little = "free some space in the state folder" if free < LEAST_FREE_BYTES else ""
    required.append(row(f"Disk, {size(free)} free", little, "missing"))
    yield from required
    yield row("Sandbox for code of models", usable_metrics()["code_tests"].unavailable() or "")
    for provider in provider_rows() if all(each.state == "ok" for each in required) else ():
        how = provider.problem or f"to see whether it answers: {command(f'providers check {provider.name}')}"
        state = {"ready": "ok", "unchecked": "not checked"}.get(provider.status, "optional")
        yield Row(f"Provider {provider.name}", state, "" if state == "ok" else how)
    for module, (title, how) in OPTIONAL.items():
        yield row(title, "" if _installed(module) else how)
    for plugin in installed_plugins():
        title = f"{plugin.what.capitalize()} {plugin.name} of the package {plugin.package}"
        yield row(title, plugin.problem and f"it {plugin.problem}", "broken")


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
