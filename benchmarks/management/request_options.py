"""Command-line options for the parameters of a run, from the one list of parameters.

Values go to the service as typed, so errors have the same words as in the API and the form.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter

POSITIONAL = "dataset"
_METAVARS = {Kind.INTEGER: "N", Kind.NUMBER: "X", Kind.CHOICE: "NAME"}


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add a positional argument for the dataset, and an option for every other parameter."""
    group = parser.add_argument_group("run parameters")
    for name, parameter in RUN_PARAMETERS.items():
        if name == POSITIONAL:
            parser.add_argument(name, help=parameter.description)
        else:
            group.add_argument(parameter.option, dest=name, default=None, **_how(parameter))


def _how(parameter: RunParameter) -> dict[str, Any]:
    text = parameter.description.replace("%", "%%")
    if parameter.kind is Kind.SWITCH:
        return {"action": argparse.BooleanOptionalAction, "help": text}
    if parameter.kind is Kind.NAMES:
        return {"nargs": "+", "metavar": "NAME", "help": text}
    choices = f"; one of {', '.join(parameter.choices)}" if parameter.choices else ""
    return {"metavar": _METAVARS.get(parameter.kind, "TEXT"), "help": f"{text}{choices}"}


def request_data(options: Mapping[str, Any]) -> dict[str, Any]:
    """The request that the options make. Omitted options are omitted from it, so the defaults of the service apply."""
    given = {name: options[name] for name in RUN_PARAMETERS if options.get(name) is not None}
    return {name: _split(value) if isinstance(value, list) else value for name, value in given.items()}


def _split(values: list[str]) -> list[str]:
    """``--metrics a b`` and ``--metrics a,b`` mean the same."""
    return [name for value in values for name in value.split(",") if name]
