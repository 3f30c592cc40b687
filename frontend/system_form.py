"""The form in which a system is set up: what a pasted curl fills in, and what clicking in request and reply does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from jmespath.exceptions import JMESPathError

from benchmarks.providers.clean_text import shortened
from benchmarks.providers.systems.curl import LONGEST_COMMAND, curl_request
from benchmarks.providers.systems.options import OF_REPLY, compiled
from benchmarks.providers.systems.pointing import Part, escaped, parts_of, path_for, replaced, steps_of
from benchmarks.providers.systems.templates import names_in
from benchmarks.providers.systems.trial import MOST_SHOWN
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.systems import METHODS

QUESTION = "{input}"
SAMPLE = "How high is the lighthouse?"
PLACES = {
    "answer": "Answer",
    "retrieved": "Retrieved passages",
    "tool_calls": "Tool calls",
    "steps": "Steps",
    "tokens_in": "Tokens in",
    "tokens_out": "Tokens out",
    "cost_usd": "Cost in USD",
    "error": "Error",
}


class SystemForm(forms.Form):
    """Every field is a text as it was typed; ``request_of`` reads them, and the service checks what they say."""

    name = forms.CharField(required=False, label="Name", help_text="For example, bot. Runs show this name")
    url = forms.CharField(
        required=False,
        label="URL",
        widget=forms.TextInput(attrs={"placeholder": "https://bot.example.com/ask"}),
        help_text="With its path, which may name {id} or {input}",
    )
    method = forms.ChoiceField(required=False, label="Method", choices=[(each, each) for each in METHODS])
    headers = forms.CharField(
        required=False,
        label="Headers",
        widget=forms.Textarea(
            attrs={
                "rows": 2,
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": "Authorization: Bearer …",
            }
        ),
        help_text="One a line, NAME: VALUE. Stored encrypted and never shown again",
    )
    body = forms.CharField(
        required=False,
        label="JSON body",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "placeholder": '{"question": "{input}"}'}),
        help_text="{input} stands for the question of a task",
    )
    question = forms.CharField(required=False, label="Question to send", initial=SAMPLE)
    answer = forms.CharField(required=False, label="Answer", help_text="Empty: the whole reply")
    retrieved = forms.CharField(required=False, label="Retrieved passages")
    tool_calls = forms.CharField(required=False, label="Tool calls")
    steps = forms.CharField(required=False, label="Steps")
    tokens_in = forms.CharField(required=False, label="Tokens in")
    tokens_out = forms.CharField(required=False, label="Tokens out")
    cost_usd = forms.CharField(required=False, label="Cost in USD")
    error = forms.CharField(required=False, label="Error")
    reply = forms.CharField(required=False, widget=forms.HiddenInput)
    needed = frozenset({"name", "url"})
    """Fields that the page marks as required."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a place has in the shown reply."""

    label: str
    path: str
    text: str


def pasted(command: str) -> dict[str, str]:
    """The fields that a curl command fills in. Raises ``ValueError``."""
    request = curl_request(command[: LONGEST_COMMAND + 1])
    lines = (f"{name}: {value}" for name, value in request.headers.items())
    body = "" if request.body is None else as_text(escaped(request.body))
    return {"url": escaped(request.url), "method": request.method, "headers": "\n".join(lines), "body": body}


def stored(values: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a stored system: its headers without their values."""
    body = "" if values["body"] is None else as_text(values["body"])
    headers = "\n".join(f"{name}: {value}" for name, value in values["headers"].items())
    return {**values, "body": body, "headers": headers}


def request_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """What the form sends to the service. Raises ``InvalidRequest`` for a body or headers that cannot be read."""
    places = {place: fields.get(place, "").strip() for place in OF_REPLY}
    given = {"url": fields.get("url", "").strip(), "method": fields.get("method") or "POST", **places}
    return given | {"headers": _headers(fields.get("headers", "")), "body": body_of(fields)}


def body_of(fields: Mapping[str, str]) -> Any:
    """The decoded body, ``None`` without one. Raises ``InvalidRequest``."""
    if not fields.get("body", "").strip():
        return None
    try:
        return json.loads(fields["body"])
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        what = f"This is not JSON{where}. Put texts and {QUESTION} in quotation marks."
        raise InvalidRequest({"body": [what]}) from None


def with_question_at(fields: Mapping[str, str], pointer: str) -> dict[str, str]:
    """The fields with ``{input}`` at a part of the body. Raises ``InvalidRequest``."""
    body = body_of(fields)
    try:
        steps = steps_of(pointer)
        asked = next((part.value for part in parts_of(body) if part.steps == steps), None)
        given = {"question": asked} if isinstance(asked, str) and asked else {}
        return {**fields, **given, "body": as_text(replaced(body, steps, QUESTION))}
    except ValueError as error:
        raise InvalidRequest({"body": [str(error)]}) from None


def with_place_at(fields: Mapping[str, str], place: str, pointer: str) -> dict[str, str]:
    """The fields with the expression for a part of the reply. Raises ``InvalidRequest``."""
    try:
        return {**fields, place: path_for(place, steps_of(pointer))} if place in PLACES else dict(fields)
    except ValueError as error:
        raise InvalidRequest({"answer": [str(error)]}) from None


def body_parts(fields: Mapping[str, str]) -> list[Part]:
    """The values of the body that can be the question, as long as none is."""
    try:
        body = body_of(fields)
        asks = names_in(body) | names_in(fields.get("url", ""))
    except (InvalidRequest, RecursionError):
        return []
    return [] if "input" in asks else [part for part in parts_of(body) if part.text and body is not None]


def shown_documents(fields: Mapping[str, str]) -> list[Any]:
    """The reply that the page shows, as it came back with the form."""
    try:
        documents = json.loads(fields.get("reply") or "[]")
    except (ValueError, RecursionError):
        return []
    return documents if isinstance(documents, list) else []


def carried(documents: list[Any]) -> str:
    """The reply as the form sends it back: the events that fit; nothing of a document that is too large."""
    kept: list[str] = []
    for document in documents:
        text = json.dumps(document)
        if sum(map(len, kept)) + len(text) > MOST_SHOWN:
            break
        kept.append(text)
    return f"[{', '.join(kept)}]"


def found_in(fields: Mapping[str, str], documents: list[Any]) -> list[Found]:
    """What each place that is set has in the first document that has something there."""
    return [
        Found(label, path, next((text for each in documents if (text := _found(path, each))), "Nothing"))
        for place, label in PLACES.items()
        if (path := fields.get(place, "").strip())
    ]


def as_text(body: Any) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)


def _found(path: str, document: Any) -> str:
    try:
        value = compiled(path).search(document)
    except (ValueError, JMESPathError, RecursionError) as error:
        return shortened(str(error), 200)
    if value is None:
        return ""
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 300)


def _headers(text: str) -> dict[str, str]:
    headers = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if line.strip() and not colon:
            raise InvalidRequest({"headers": [f"“{line[:40]}” is not a header. Write it as NAME: VALUE."]})
        if line.strip():
            headers[name.strip()] = value.strip()
    return headers
