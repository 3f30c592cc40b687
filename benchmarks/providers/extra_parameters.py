"""Parameters that are sent as they are given: ``extra`` of a run and ``params`` of a model in codeforge.yaml.

Names that are set elsewhere are refused here with that place, because a request may have only one value for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

MOST_PARAMETERS = 50
LONGEST_VALUE = 20_000
"""Characters of all parameters together, as JSON."""

SET_ELSEWHERE: Mapping[str, str] = {
    "model": "Set the model of the run",
    "messages": "The messages are built from the task and the system prompt",
    "stream": "Streaming is an option of the provider in codeforge.yaml",
    "stream_options": "Streaming is an option of the provider in codeforge.yaml",
    "n": "Set the repeats of the run",
    "tools": "Tools come from the dataset",
    "temperature": "Set the temperature of the run, or `judge.temperature` in codeforge.yaml",
    "top_p": "Set top p of the run",
    "max_tokens": "Set the max output tokens of the run, or `judge.max_tokens` in codeforge.yaml",
    "seed": "Set the seed of the run",
}
"""Name → where its value comes from."""
TOKEN_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict")
"""Names of endpoints for ``max_tokens``. They are refused only beside it."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,99}")
_WORD = re.compile(r"(?!(?:NaN|Infinity)$)[A-Za-z][A-Za-z0-9_.:/\-]*")


def problems_of(parameters: Any) -> list[str]:
    """What is wrong with parameters, each with what to do; empty if they can be sent."""
    if not isinstance(parameters, Mapping):
        return ['Send an object of names and values, such as {"reasoning_effort": "low"}.']
    if len(parameters) > MOST_PARAMETERS:
        return [f"{len(parameters)} parameters are too many. Send at most {MOST_PARAMETERS}."]
    problems = []
    for name, value in parameters.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            shown = repr(str(name)[:40])
            problems.append(f"{shown} is not a name. Use letters, digits, and the characters _ . -")
        elif name in SET_ELSEWHERE:
            problems.append(f"{name} cannot be set here. {SET_ELSEWHERE[name]}.")
        elif not _is_json(value):
            problems.append(
                f"The value of {name} is not JSON. Use text, numbers, true, false, null, lists and objects."
            )
    if not problems and len(json.dumps(parameters)) > LONGEST_VALUE:
        problems.append(f"The parameters have more than {LONGEST_VALUE:,} characters as JSON. Shorten them.")
    return problems


def parsed_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Parameters from names and values as people type them. Values are JSON; a plain word is text.

    Raises ``ValueError`` with a sentence for people if a name comes twice or a value is neither.
    """
    parameters: dict[str, Any] = {}
    for name, text in ((name.strip(), text.strip()) for name, text in pairs):
        if name in parameters:
            raise ValueError(f"{name} is given twice. Give each parameter once.")
        try:
            parameters[name] = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            if not _WORD.fullmatch(text):
                raise ValueError(
                    f"The value of {name or 'a parameter without a name'} is neither JSON nor a plain word: "
                    f"{text[:60]!r}. Put text with spaces in double quotes."
                ) from None
            parameters[name] = text
    return parameters


def pair_of(text: str) -> tuple[str, str]:
    """``name=value`` as a pair. Raises ``ValueError`` without an equals sign."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{text[:60]!r} is not NAME=VALUE. Use, for example, reasoning_effort=low.")
    return name, value


def typed(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The pairs that ``parsed_pairs`` reads as these parameters."""
    return [
        (name, value if isinstance(value, str) and _is_plain(value) else json.dumps(value, ensure_ascii=False))
        for name, value in parameters.items()
    ]


def shown(parameters: Mapping[str, Any]) -> str:
    """All parameters on one line."""
    return ", ".join(f"{name}={value}" for name, value in typed(parameters))


def _is_plain(text: str) -> bool:
    return bool(_WORD.fullmatch(text)) and text not in ("true", "false", "null")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _is_json(value: Any) -> bool:
    """Whether the value can be sent and stored: JSON without NaN, NUL characters and lone surrogates."""
    try:
        return "\\u0000" not in json.dumps(value, allow_nan=False) and bool(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return False
