"""Strict reading of a judge's response: nonsense is an error with a reason and never a score.

Thinking blocks, a code fence around the JSON and the letter case of a verdict are tolerated. A missing key, a number
written as text, a score out of range, NaN and a truncated response are errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from benchmarks.metrics.base import shortened
from benchmarks.metrics.extraction import extract_json, parse_json

Response = TypeVar("Response", bound=BaseModel)

MAX_RESPONSE = 200_000
"""Characters. A judge that writes more than this has not followed its instructions."""
SCORE_RANGE = (0.0, 10.0)
"""The range that G-Eval requests from a judge, before the score is divided by ten."""


class JudgeResponseError(Exception):
    """A response without a usable verdict; the message says what is wrong with it."""


def read_response(text: str, schema: type[Response]) -> Response:
    """The response as ``schema``. Raises ``JudgeResponseError`` for anything else."""
    # The judge reads these messages when it is asked again, so changing one changes prompts and their hashes.
    if not text.strip():
        raise JudgeResponseError("the judge's reply is empty")
    if len(text) > MAX_RESPONSE:
        raise JudgeResponseError(f"the judge's reply has {len(text):,} characters; at most {MAX_RESPONSE:,} are read")
    try:
        data = parse_json(extract_json(text).text)
    except ValueError:
        raise JudgeResponseError(f"the judge's reply holds no valid JSON: “{shortened(text.strip())}”") from None
    if not isinstance(data, dict):
        raise JudgeResponseError(f"the judge's reply is a JSON {type(data).__name__}, not an object")
    if isinstance(verdicts := data.get("verdicts"), list):
        data["verdicts"] = [_plain_verdict(entry) for entry in verdicts]
    try:
        response = schema.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise JudgeResponseError(f"the judge's reply does not fit: {_first_problem(error)}") from None
    score = getattr(response, "score", None)
    low, high = SCORE_RANGE
    if score is not None and not (math.isfinite(score) and low <= score <= high):
        raise JudgeResponseError(f"the judge's score {score:g} is outside {low:g} to {high:g}")
    return response


def response_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of ``schema`` in the strict form endpoints require: all keys required, no others allowed."""
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


def _plain_verdict(entry: Any) -> Any:
    """``"Yes "`` is a yes: the letter case of a verdict carries no meaning."""
    if isinstance(entry, dict) and isinstance(entry.get("verdict"), str):
        return {**entry, "verdict": entry["verdict"].strip().lower()}
    return entry


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]
