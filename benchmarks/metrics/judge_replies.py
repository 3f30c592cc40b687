"""Reading what a judge replied: strictly, so that nonsense is an error with a reason and never a score.

Thinking blocks and a fence around the JSON are put up with, as is letter case in a verdict; a missing key, a number
written as text, a score outside its range, NaN or a reply cut short are not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.verdicts import shortened

Reply = TypeVar("Reply", bound=BaseModel)

MAX_REPLY = 200_000
"""Characters. A judge that writes more than this has not followed its instructions."""
SCORE_RANGE = (0.0, 10.0)
"""What G-Eval asks a judge for, before it is divided by ten."""


class JudgeReplyError(Exception):
    """A judge's reply that holds no usable verdict; the message says what is wrong with it."""


def read_reply(text: str, schema: type[Reply]) -> Reply:
    """The reply as ``schema``. Raises ``JudgeReplyError`` for anything else."""
    if not text.strip():
        raise JudgeReplyError("the judge's reply is empty")
    if len(text) > MAX_REPLY:
        raise JudgeReplyError(f"the judge's reply has {len(text):,} characters; at most {MAX_REPLY:,} are read")
    try:
        data = parse_json(extract_json(text).text)
    except ValueError:
        raise JudgeReplyError(f"the judge's reply holds no valid JSON: “{shortened(text.strip())}”") from None
    if not isinstance(data, dict):
        raise JudgeReplyError(f"the judge's reply is a JSON {type(data).__name__}, not an object")
    try:
        reply = schema.model_validate_json(json.dumps(_with_plain_verdicts(data)), strict=True)
    except ValidationError as error:
        raise JudgeReplyError(f"the judge's reply does not fit: {_first_problem(error)}") from None
    _check_score(getattr(reply, "score", None))
    return reply


def reply_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of ``schema`` in the strict form endpoints ask for: every key required and no other allowed."""
    strict: dict[str, Any] = _strict(schema.model_json_schema())
    return strict


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(child) for child in node]
    if not isinstance(node, Mapping):
        return node
    strict = {key: _strict(child) for key, child in node.items() if key != "default"}
    if isinstance(strict.get("properties"), dict):
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def _with_plain_verdicts(data: dict[str, Any]) -> dict[str, Any]:
    """``"Yes "`` is a yes: the letter case of a verdict carries no meaning."""
    verdicts = data.get("verdicts")
    if not isinstance(verdicts, list):
        return data
    return {**data, "verdicts": [_with_plain_verdict(verdict) for verdict in verdicts]}


def _with_plain_verdict(entry: Any) -> Any:
    if isinstance(entry, dict) and isinstance(entry.get("verdict"), str):
        return {**entry, "verdict": entry["verdict"].strip().lower()}
    return entry


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]


def _check_score(score: float | None) -> None:
    low, high = SCORE_RANGE
    if score is not None and not (math.isfinite(score) and low <= score <= high):
        raise JudgeReplyError(f"the judge's score {score:g} is outside {low:g} to {high:g}")
