"""``manage.py doctor``: what is missing on this machine, and how to get it. Exit code 1 if something required is."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from benchmarks.engine.execution.scoring import usable_metrics
from benchmarks.presentation.numbers import size
from benchmarks.queries.providers import provider_rows
from benchmarks.services.operations.code_version import code_version
from codeforge.health import checks

LEAST_FREE_BYTES = 500_000_000
OPTIONAL = {
    "xllamacpp": ("Local model", "start it on the first page, or run `make local-llm`"),
    "pyarrow": ("Parquet", "pip install pyarrow"),
    "litellm": ("LiteLLM (Bedrock, Vertex)", "pip install litellm"),
    "opentelemetry.sdk": ("OpenTelemetry", "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"),
}
"""Module → what it is for, and how to get it."""


class Command(BaseCommand):
    help = "Say what is missing on this machine, and how to get it. Exit code 1 if something required is missing."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"CodeForge Benchmarks {code_version()}, Python {platform.python_version()}")
        self.stdout.write(f"State: {settings.STATE_DIR}\nDatasets: {settings.DATASETS_DIR}\n")
        ready = [self._say(name.capitalize(), "" if state == "ok" else state) for name, state in checks().items()]
        free = shutil.disk_usage(settings.STATE_DIR).free
        short = free < LEAST_FREE_BYTES
        ready.append(self._say(f"Disk, {size(free)} free", "free some space in the state folder" if short else ""))
        self._say("Sandbox for code of models", usable_metrics()["code_tests"].unavailable() or "", required=False)
        for row in provider_rows() if all(ready) else ():
            how = "set its key in the environment, or enter it on the page Providers" if row.lacks_key else ""
            self._say(f"Provider {row.name}", how, required=False)
        for module, (title, how) in OPTIONAL.items():
            self._say(title, "" if _installed(module) else how, required=False)
        if not all(ready):
            sys.exit(1)

    def _say(self, title: str, problem: str, required: bool = True) -> bool:
        """One line; whether there is no problem."""
        if not problem:
            self.stdout.write(f"  {self.style.SUCCESS('ok')}        {title}")
        elif required:
            self.stdout.write(f"  {self.style.ERROR('missing')}   {title}: {problem}")
        else:
            self.stdout.write(f"  optional  {title}: {problem}")
        return not problem


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
