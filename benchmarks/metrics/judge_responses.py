"""Strict reading of a judge's response: nonsense is an error with a reason and never a score.

Thinking blocks, a code fence around the JSON and the letter case of a verdict are tolerated. A missing key, a number
written as text, a score out of range, NaN, a truncated response and two different verdicts are errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from benchmarks.metrics.base import shortened
from benchmarks.metrics.extraction import extract_json, parse_json
from tasks_app.tasks.reply import answer_body

Response = TypeVar("Response", bound=BaseModel)

MAX_RESPONSE = 200_000
"""Characters. A judge that writes more than this has not followed its instructions."""
MAX_OBJECTS = 200
"""Places of a response that are tried as the start of a JSON object."""
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
    try:
        response = _validated(data, schema)
    except ValidationError as error:
        raise JudgeResponseError(f"the judge's reply does not fit: {_first_problem(error)}") from None
    if any(other != response for other in _responses_in(text, schema)):
        raise JudgeResponseError("the judge's reply holds two different verdicts")
    score = getattr(response, "score", None)
    low, high = SCORE_RANGE
    if score is not None and not (math.isfinite(score) and low <= score <= high):
        raise JudgeResponseError(f"the judge's score {score:g} is outside {low:g} to {high:g}")
    return response


def response_schema(schema: type[BaseModel]) -> dict[str, object]:
    """The JSON Schema of ``schema`` in the strict form endpoints require: all keys required, no others allowed."""
    strict: dict[str, object] = _strict(schema.model_json_schema())
    return strict


def _validated(data: Mapping[str, object], schema: type[Response]) -> Response:
    if isinstance(verdicts := data.get("verdicts"), list):
        data = {**data, "verdicts": [_plain_verdict(entry) for entry in verdicts]}
    return schema.model_validate_json(json.dumps(data), strict=True)


def _responses_in(text: str, schema: type[Response]) -> Iterator[Response]:
    """Every JSON object anywhere in the text that fits ``schema``. Raises ``JudgeResponseError`` for a repeated key."""
    body, position = answer_body(text), 0
    for _ in range(MAX_OBJECTS):
        start = body.find("{", position)
        if start < 0:
            return
        try:
            data, position = _DECODER.raw_decode(body, start)
            yield _validated(data, schema)
        except ValidationError:
            continue
        except (ValueError, RecursionError):
            position = start + 1
    raise JudgeResponseError(f"the judge's reply holds more than {MAX_OBJECTS} braces")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise JudgeResponseError("the judge's reply gives one key twice")
    return data


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats)


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
