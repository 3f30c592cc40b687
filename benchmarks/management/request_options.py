"""Command line options for everything that may be asked of a run, made from the one definition of a request.

Values go to the service as they were typed, so that mistakes are told in the same words as by the API and the form.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from benchmarks.services.runs.start import RunRequest

POSITIONAL = "dataset"
_METAVARS: Mapping[type[Any], str] = {serializers.IntegerField: "N", serializers.FloatField: "X"}


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """One positional argument for the dataset, and one option for every other field of a request."""
    group = parser.add_argument_group("the run")
    for name, field in _fields().items():
        if name == POSITIONAL:
            parser.add_argument(name, help=str(field.help_text))
        else:
            group.add_argument(option_of(name), dest=name, default=None, **_how(field))


def option_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def request_data(options: Mapping[str, Any]) -> dict[str, Any]:
    """The request that the options make: what was not given is left out, so that the service's defaults hold."""
    given = {name: options[name] for name in _fields() if options.get(name) is not None}
    return {name: _split(value) if isinstance(value, list) else value for name, value in given.items()}


def _fields() -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    return {str(name): field for name, field in RunRequest().fields.items()}


def _how(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    text = str(field.help_text or "").replace("%", "%%")
    if isinstance(field, serializers.BooleanField):
        return {"action": argparse.BooleanOptionalAction, "help": text or None}
    if isinstance(field, serializers.ListField):
        return {"nargs": "+", "metavar": "NAME", "help": text}
    if isinstance(field, serializers.ChoiceField):
        return {"metavar": "NAME", "help": text or f"one of {', '.join(map(str, field.choices))}"}
    return {"metavar": _METAVARS.get(type(field), "TEXT"), "help": text or None}


def _split(values: list[str]) -> list[str]:
    """``--metrics a b`` and ``--metrics a,b`` are the same."""
    return [name for value in values for name in value.split(",") if name]
