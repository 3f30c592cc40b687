"""Turn an HTTP status and body without an answer into a ``ProviderError``: what happened, and what to do about it.

``refusals.yaml`` lists how endpoints say which parameters they refuse.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from benchmarks.providers.base import ErrorKind, ProviderError
from benchmarks.providers.clean_text import shortened, storable, without_secrets
from benchmarks.providers.rate_limit_headers import duration, retry_after, seconds_until_allowed
from benchmarks.providers.reading import parse_json


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a status or an error code means for the engine and for the reader."""

    kind: ErrorKind
    retryable: bool = False
    systemic: bool = False
    advice: str = ""

    def error(self, message: str, status: int | None, headers: Mapping[str, str]) -> ProviderError:
        """The error with this meaning: the message, and then the advice."""
        return ProviderError(
            self.kind,
            ". ".join(part.rstrip(".: ") for part in (message, self.advice) if part),
            status=status,
            retry_after=retry_after(headers),
            retryable=self.retryable,
            systemic=self.systemic,
        )


_CHECK_KEY = "Check the provider's API key and its permissions"
_CHECK_ADDRESS = "Check the model's name and the provider's base_url"
_NOT_FOLLOWED = "Redirects are not followed, because they would send the key to another host"
_SERVER = Verdict("server", retryable=True)
_REDIRECT = Verdict("redirect", systemic=True, advice=f"{_NOT_FOLLOWED}. Set base_url to the final address")
_REFUSED_REQUEST = Verdict("bad_request")

_BY_STATUS: Mapping[int, Verdict] = {
    401: Verdict("authentication", systemic=True, advice=_CHECK_KEY),
    402: Verdict("authentication", systemic=True, advice="Add credit to the account, or use another key"),
    403: Verdict("authentication", systemic=True, advice=_CHECK_KEY),
    404: Verdict("not_found", systemic=True, advice=_CHECK_ADDRESS),
    405: Verdict("not_found", systemic=True, advice=_CHECK_ADDRESS),
    408: Verdict("timeout", retryable=True),
    409: Verdict("server", retryable=True),
    413: Verdict("too_large", advice="Shorten the prompt"),
    429: Verdict("rate_limited", retryable=True),
}

_MOST_READ = 64 * 1024
"""Read of an error's body. The message is shortened to far less, so this cut cannot leave half a key visible."""
_ERROR_STATUS = re.compile("[45][0-9][0-9]")

_BY_CODE: Mapping[str, Verdict] = {
    "insufficient_quota": Verdict(
        "rate_limited", systemic=True, advice="The quota is exhausted. Raise the quota; waiting does not help"
    ),
    **dict.fromkeys(
        ("context_length_exceeded", "exceed_context_size_error"),  # OpenAI, llama.cpp
        Verdict("too_large", advice="Shorten the prompt or lower max_tokens"),
    ),
    "model_not_found": Verdict("not_found", systemic=True, advice=_CHECK_ADDRESS),
}
"""Codes in the body that say more than the status."""
_ADVICE_OF_SYSTEM: Mapping[str, str] = {
    _CHECK_KEY: "Check the key in the system's headers",
    _CHECK_ADDRESS: "Check the system's URL",
    _REDIRECT.advice: f"{_NOT_FOLLOWED}. Set the system's URL to the final address",
}
"""Advice → what it is for a system under test, which has a URL and headers, and neither a model nor a provider."""

_PARAMETER_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("max_tokens", "temperature", "top_p", "seed"), "Do not set {name}"),
    "response_format": "The model does not support this response_format. Remove it",
    "tools": "The model does not support tools. Choose another model, or a dataset without tools",
    "stream": "Change `stream` of the provider in codeforge.yaml",
    "system_role": "The model takes no system prompt, or wants user and assistant to alternate. Change the messages",
    "enable_thinking": "Set `stream: true` for the provider, or the extra parameter enable_thinking to false",
}
_OTHER_ADVICE = "Remove {name} from the extra parameters of the run, or from `params` of the model in codeforge.yaml"


def error_for_reply(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = (), *, of_system: bool = False
) -> ProviderError:
    """The error that a response with this status means, with ``secrets`` masked if the endpoint quotes them.

    A system under test may say what went wrong in any form, so the beginning of its body is shown.
    """
    error = error_object(body)
    code, their_message = _code_of(error), _message_of(error, body, secrets)
    if 300 <= status < 400 and "Location" in headers:
        their_message = f"the answer is a redirect to “{_without_query(headers['Location'], secrets)}”"
    elif of_system and not their_message and body.strip():
        their_message = f"“{_one_line(body.decode('utf-8', 'replace'), secrets)}”"
    wait = retry_after(headers)
    phrase = http.client.responses.get(status, "(unknown status)")
    message = f"{status} {phrase}" + (f": {their_message}" if their_message else "")
    text = body[:_MOST_READ].decode("utf-8", "replace")
    refused = () if code in _BY_CODE else refused_parameters(status, error, text)
    verdict = refusal_of(refused) if refused else _verdict(status, code)
    if of_system:
        verdict = replace(verdict, advice=_ADVICE_OF_SYSTEM.get(verdict.advice, verdict.advice))
    problem = verdict.error(message, status, headers)
    return replace(problem, refused=refused, retry_after=_retry_delay(error) if wait is None else wait)


def refusal_of(parameters: Sequence[str]) -> Verdict:
    """What it means that a model refuses parameters: every request of a run has them, so the error is systemic."""
    advice = [_PARAMETER_ADVICE.get(name, _OTHER_ADVICE).format(name=shortened(name, 40)) for name in parameters]
    return Verdict("bad_request", systemic=True, advice=". ".join(advice))


def verdict_for_status(status: int) -> Verdict:
    """What a status alone means; every 4xx that is not in the table is a fault of the request."""
    if status >= 500:
        return _SERVER
    if status < 400:
        return _REDIRECT
    return _BY_STATUS.get(status, _REFUSED_REQUEST)


def error_in_good_reply(headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = ()) -> ProviderError | None:
    """The error that some proxies wrap into status 200, by the status in its ``code``; ``None`` without one."""
    try:
        document = parse_json(body)
    except ValueError:
        return None
    if not isinstance(document, dict) or not document.get("error"):
        return None
    error = error_object(body)
    # Groq has the status of an error in a stream beside its code.
    code = _ERROR_STATUS.fullmatch(str(error.get("status_code", error.get("code"))))
    status = int(code[0]) if code else 500
    return error_for_reply(status, headers, body, secrets)


def error_object(body: bytes) -> Mapping[str, object]:
    """The ``error`` object of a body in OpenAI's form; empty if there is none."""
    try:
        document = parse_json(body)
    except ValueError:
        return {}
    if isinstance(document, list) and len(document) == 1:  # Gemini
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else None
    if isinstance(error, str):
        return {**document, "message": error}
    return error if isinstance(error, dict) else {}


def filter_message(error: Mapping[str, object], secrets: Iterable[str] = ()) -> str | None:
    """The message of a content filter that refused the prompt with an error status; ``None`` for other errors."""
    metadata = error.get("metadata")
    flagged = isinstance(metadata, dict) and "flagged_input" in metadata
    if error.get("code") == "content_filter" or flagged:
        return _message_of(error, b"", secrets) or "A content filter refused the prompt."
    return None


def failed_generation(error: Mapping[str, object]) -> str | None:
    """What the model wrote, if the endpoint refuses to return it: Groq, for tool calls and JSON that do not fit their
    schema. ``None`` for other errors."""
    text = error.get("failed_generation")
    if error.get("code") in ("tool_use_failed", "json_validate_failed") and isinstance(text, str):
        return storable(text, [])
    return None


def _retry_delay(error: Mapping[str, object]) -> float | None:
    """Seconds to wait by the error itself: ``google.rpc.RetryInfo`` (``34.4s``) of Gemini, which has no header for it,
    or the headers that OpenRouter quotes."""
    details, metadata = error.get("details"), error.get("metadata")
    given = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    waits = [duration(str(each.get("retryDelay"))) for each in given]
    quoted = metadata.get("headers") if isinstance(metadata, dict) else None
    if isinstance(quoted, dict):
        waits.append(seconds_until_allowed({str(name).lower(): str(value) for name, value in quoted.items()}))
    return next((wait for wait in waits if wait is not None), None)


def _verdict(status: int, code: str) -> Verdict:
    return _BY_CODE[code] if code in _BY_CODE else verdict_for_status(status)


def _code_of(error: Mapping[str, object]) -> str:
    """Code or type, whichever is known: OpenAI puts ``insufficient_quota`` into either."""
    names = [value for key in ("code", "type") if isinstance(value := error.get(key), str)]
    return next((name for name in names if name in _BY_CODE), names[0] if names else "")


def _message_of(error: Mapping[str, object], body: bytes, secrets: Iterable[str]) -> str:
    """The endpoint's message on one line. Masked before it is shortened, because half a key is not recognized."""
    message = error.get("message") or error.get("detail")
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(message, str) and isinstance(raw, str) and raw:  # OpenRouter: "Provider returned error"
        inner = _message_of(error_object(raw.encode("utf-8", "replace")), raw.encode("utf-8", "replace"), secrets)
        message = f"{message}: {inner}"
    if isinstance(message, dict | list):
        message = _validation_message(message)
    if message is None and not error and not body.lstrip().startswith(b"<"):
        message = body[:_MOST_READ].decode("utf-8", "replace")
    if not isinstance(message, str):
        return ""
    return _one_line(message, secrets)


def _one_line(text: str, secrets: Iterable[str]) -> str:
    return shortened(without_secrets(storable(text[:_MOST_READ], []), secrets))


def _without_query(address: str, secrets: Iterable[str]) -> str:
    """An address that an endpoint names; what follows ``?`` may be a signature."""
    return _one_line(address.partition("?")[0], secrets)


def _validation_message(message: Any) -> str:
    """One line from the errors of a validator (FastAPI's and Mistral's 422): ``body.seed: Extra inputs are …; …``."""
    mistakes = message.get("detail") if isinstance(message, dict) else message
    lines = []
    for mistake in mistakes[:5] if isinstance(mistakes, list) else ():
        if isinstance(mistake, dict) and isinstance(mistake.get("msg"), str):
            place = mistake.get("loc")
            path = ".".join(str(part) for part in place[:10]) if isinstance(place, list) else ""
            lines.append(f"{path}: {mistake['msg']}" if path else mistake["msg"])
    return "; ".join(lines) or json.dumps(message)


_FILE = Path(__file__).with_name("refusals.yaml")
_CODES = frozenset({"unsupported_parameter", "unsupported_value"})
_STATUSES = frozenset({400, 422})
_TEMPLATE_STATUS = 500
"""With which llama.cpp, SGLang and others report that a chat template refuses the messages."""
_LONGEST_NAME = 60
_MOST_NAMES = 20


def refused_parameters(status: int | None, error: Mapping[str, object], text: str) -> tuple[str, ...]:
    """The parameters that the model refuses, in our spelling; none if the error is about something else.

    ``error`` is the error object of the body, ``text`` the body or the message of a library. Both are hostile.
    """
    if status not in _STATUSES and status != _TEMPLATE_STATUS:
        return ()
    param = error.get("param")
    named = [param] if error.get("code") in _CODES and isinstance(param, str) and param else []
    patterns, _ = _known()
    for pattern, parameter in patterns:
        if status in _STATUSES or parameter == "system_role":
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
