"""``codeforge``, the command of an installed package: every command of ``manage.py``, and short names for the frequent
ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

SHORT = {
    "up": (("dev",), "start the dashboard and a worker on this machine"),
    "run": (("benchmark", "run"), "run a benchmark and print its scores"),
    "experiment": (("benchmark", "experiment"), "run models, prompts and datasets as one experiment"),
    "compare": (("benchmark", "compare"), "compare two runs with the paired test"),
    "import": (("benchmark", "import"), "import runs of other tools"),
}
LONG = {
    "benchmark": "list, show, plan, resume, rescore and verify runs",
    "datasets": "check, import, analyze and export datasets",
    "canvases": "generate, import and export canvas sets",
    "providers": "list, check and test providers",
    "judge": "calibrate judges, and compare them with people",
    "preference": "have a judge choose between the answers of runs",
    "review": "have people label answers",
    "tokens": "create, list and revoke API tokens",
    "groups": "show and set the roles of accounts",
    "backup": "write all data to a file",
    "restore": "read it into an empty database",
    "prune": "delete the texts of old runs",
    "schema": "print or write the JSON Schemas of the files that you edit",
    "completion": "print the script with which bash, zsh or fish completes these commands",
    "migrate": "create or update the tables of the database",
    "doctor": "say what is missing on this machine, and how to get it",
}


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return
    first, *rest = arguments
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    words = SHORT[first][0] if first in SHORT else (first,)
    execute(["codeforge", *words, *rest])


def execute(arguments: Sequence[str]) -> None:
    """Run a command. What is wrong with the configuration is said without a traceback."""
    try:
        execute_from_command_line([*arguments])
    except ImproperlyConfigured as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


def _overview() -> str:
    rows = [(name, what) for name, (_, what) in SHORT.items()] + list(LONG.items())
    lines = "\n".join(f"  {name:<12}{what}" for name, what in rows)
    return f"usage: codeforge COMMAND\n\n{lines}\n\nMore about one: codeforge COMMAND --help"
