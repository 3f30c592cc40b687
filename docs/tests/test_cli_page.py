"""The examples and exit codes of ``docs/cli.md`` are those of the commands, and ``--help`` explains every option."""

from __future__ import annotations

import argparse
import shlex
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from consoles import commands
from django.core.management import BaseCommand, CommandError, CommandParser, call_command, load_command_class
from pages import ROOT, page, section, table_rows

from benchmarks.engine.execution import sweeper
from benchmarks.management import following

PAGE = page("docs/cli.md")
APPS = ("benchmarks", "codeforge")
COMMANDS = {
    path.stem: app
    for app in APPS
    for path in sorted((ROOT / app / "management/commands").glob("*.py"))
    if path.stem != "__init__"
}
OF_DJANGO = {name for action in CommandParser()._actions for name in action.option_strings} | {
    name for action in BaseCommand().create_parser("manage.py", "any")._actions for name in action.option_strings
}


def parsers_of(command: str) -> dict[str, argparse.ArgumentParser]:
    """Action → parser; the command's own name → its parser if it has no actions."""
    parser = load_command_class(COMMANDS[command], command).create_parser("manage.py", command)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {command: parser}


def options_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Long name of each option → its help."""
    own = [action for action in parser._actions if set(action.option_strings) - OF_DJANGO]
    return {
        next(name for name in action.option_strings if name.startswith("--")): action.help or ""
        for action in own
        if action.option_strings
    }


def test_help_explains_every_option() -> None:
    for command in COMMANDS:
        for name, parser in parsers_of(command).items():
            assert [option for option, text in options_of(parser).items() if not text] == [], f"{command} {name}"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["benchmark", "run", "nothing", "--model", "baseline/empty", "--metrics", "contains"], 2),
        (["benchmark", "show", "7"], 2),
        (["datasets", "check", "{folder}/broken.yaml"], 1),
        (["datasets", "check", "{folder}/missing.yaml"], 2),
        (["datasets", "export", "nothing"], 2),
        (["canvases", "generate", "--shapes", "99", "--count", "1"], 2),
        (["canvases", "audit", "nothing"], 2),
        (["judge", "calibrate", "--canvas-set", "nothing"], 2),
        (["judge", "show", "7"], 2),
    ],
)
def test_a_refusal_has_the_exit_code_that_the_page_tells(tmp_path: Path, arguments: list[str], code: int) -> None:
    (tmp_path / "broken.yaml").write_text("name: Broken\n")
    assert exit_code([argument.format(folder=tmp_path) for argument in arguments]) == code
    assert str(code) in [number for number, _ in table_rows(section(PAGE, "# Command line")) if number.isdigit()]


def exit_code(arguments: list[str]) -> Any:
    try:
        call_command(*arguments)
    except CommandError as error:
        return error.returncode
    except SystemExit as exit_:
        return exit_.code
    return 0


@pytest.mark.django_db(transaction=True)
def test_the_examples_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """In this process, with the datasets of the examples, and without the time that a worker is given to take a run
    up."""
    monkeypatch.chdir(tmp_path)
    settings.DATASETS_DIR = tmp_path / "datasets"
    settings.DATASETS_DIR.mkdir()
    for name in ("reasoning", "reasoning-large"):
        shutil.copy(ROOT / f"datasets/{name}.yaml", settings.DATASETS_DIR)
    monkeypatch.setattr(following, "WAIT_FOR_WORKER_SECONDS", 0.0)
    monkeypatch.setattr(sweeper, "ENQUEUE_AGAIN_AFTER", timedelta(0))
    call_command("datasets", "sync")
    examples = commands(PAGE)
    assert len(examples) > 5
    for example in examples:
        python, manage, *arguments = shlex.split(example.line)
        assert (python, manage) == ("python", "manage.py")
        assert exit_code(arguments) == example.code, example.line
    assert (tmp_path / "reasoning-copy.yaml").is_file()
    assert list((tmp_path / "exported").iterdir())
