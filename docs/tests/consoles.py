"""Running the ``console`` blocks of a page: lines that begin with ``$`` are commands, the others what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pages import ROOT, blocks

PARTS = ("codeforge", "frontend", "benchmarks", "tasks_app", "datasets", "docs", "tests", "manage.py", "codeforge.yaml")


class Command(NamedTuple):
    """One command of a page, the exit code it has to end with and the lines that it has to print, in order."""

    line: str
    code: int
    printed: list[str]


def commands(text: str) -> list[Command]:
    """Of all ``console`` blocks. ``# exits with 1`` behind a command is the exit code, otherwise it is 0."""
    found: list[Command] = []
    for block in blocks(text, "console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                code = re.search(r"# exits with (\d+)$", line)
                found.append(Command(line.removeprefix("$ "), int(code[1]) if code else 0, []))
            elif line.strip():
                found[-1].printed.append(line)
    return found


def run(command: Command, folder: Path, environment: Mapping[str, str]) -> str:
    """Run it in a shell; fail where its exit code or its lines are not those of the page. Returns what it printed."""
    done = subprocess.run(
        command.line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == command.code, f"{command.line}\n{done.stdout}\n{done.stderr}"
    printed = iter(done.stdout.splitlines())
    for line in command.printed:
        pattern = ".*".join(re.escape(part) for part in line.split("…"))
        assert any(re.fullmatch(pattern, got) for got in printed), (
            f"{command.line}\nprinted no {line!r}:\n{done.stdout}"
        )
    return done.stdout


def environment(state: Path, **more: str) -> dict[str, str]:
    """That of somebody who follows the page: the virtual environment active, dev mode, nothing else configured."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "LC_ALL") if name in os.environ}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "APP_ENV": "development",
        "CODEFORGE_STATE_DIR": str(state),
        "CODEFORGE_ENV_FILE": os.devnull,
        **more,
    }


def copy_of_project(folder: Path) -> Path:
    """The project's code in a folder of its own, for pages that add files to it. It lacks the datasets that take long
    to make, which no page runs."""
    slow = ("*-large.yaml", "long-context-*.yaml", "instruction-following.yaml")
    left_out = shutil.ignore_patterns("__pycache__", *slow)
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder
