"""Which parameters an endpoint refuses, by the body of its error; ``refusals.yaml`` lists how endpoints say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("refusals.yaml")
_CODES = frozenset({"unsupported_parameter", "unsupported_value"})
_STATUSES = frozenset({400, 422})
_LONGEST_NAME = 60
_MOST_NAMES = 20


def refused_parameters(status: int | None, error: Mapping[str, Any], text: str) -> tuple[str, ...]:
    """The parameters that the model refuses, in our spelling; none if the error is about something else.

    ``error`` is the error object of the body, ``text`` the body or the message of a library. Both are hostile.
    """
    if status not in _STATUSES:
        return ()
    param = error.get("param")
    named = [param] if error.get("code") in _CODES and isinstance(param, str) and param else []
    patterns, _ = _known()
    for pattern, parameter in patterns:
        matches = islice(pattern.finditer(text), _MOST_NAMES)
        named += [parameter or match["name"] for match in matches]
    return tuple(dict.fromkeys(map(_our_name, named)))


def _our_name(name: str) -> str:
    """``presencePenalty`` as ``presence_penalty``, ``response_format.type`` as ``response_format``."""
    spelled = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:_LONGEST_NAME]).lower()
    return _known()[1].get(spelled, spelled)


@cache
def _known() -> tuple[list[tuple[re.Pattern[str], str]], Mapping[str, str]]:
    """The patterns with the parameter that each is about (empty: in the group ``name``), and the aliases."""
    document = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    patterns = [(re.compile(row["says"]), row.get("parameter", "")) for row in document["patterns"]]
    return patterns, document["aliases"]
