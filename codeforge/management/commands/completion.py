"""``codeforge completion SHELL``: what Tab completes, from the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser, get_commands, load_command_class

from codeforge.command import SHORT

APPS = ("benchmarks", "codeforge")


class Command(BaseCommand):
    help = "Print the script with which a shell completes the command codeforge."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that reads the script")

    def handle(self, *args: Any, shell: str, **options: Any) -> None:
        import shtab

        whole = argparse.ArgumentParser("codeforge")
        commands = whole.add_subparsers()
        for name, what, parser in _commands():
            parser.description = what.split(". ")[0]
            commands.add_parser(name, help=parser.description)
            _prepare(parser, shtab.FILE)
            commands.choices[name] = parser
        self.stdout.write(shtab.complete(whole, shell))


def _commands() -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Name, description and parser of each short name and each command."""
    apps = {name: app for name, app in sorted(get_commands().items()) if app in APPS}

    def parser_of(name: str) -> argparse.ArgumentParser:
        return load_command_class(apps[name], name).create_parser("codeforge", name)

    for name, ((command, *action), what) in SHORT.items():
        yield name, what, _subparsers(parser_of(command))[action[0]] if action else parser_of(command)
    for name in apps:
        parser = parser_of(name)
        yield name, parser.description or "", parser


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    choices = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(next(choices, {}))


def _prepare(parser: argparse.ArgumentParser, files: Mapping[str, str]) -> None:
    """Complete the names of files with ``files``, and hide the options that every command has from Django."""
    of_django = {name for action in BaseCommand().create_parser("", "")._actions for name in action.option_strings}
    for action in parser._actions:
        if action.type is Path:
            action.complete = files  # type: ignore[attr-defined]  # shtab reads this attribute
        if set(action.option_strings) & (of_django - {"-h", "--help"}):
            action.help = argparse.SUPPRESS
    for below in _subparsers(parser).values():
        _prepare(below, files)
