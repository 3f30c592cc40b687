"""Systems under test that are entered on the page or by a command: only of the kind `http`, with sealed headers.

A header or a part of the URL that was entered once is never shown again, and goes only to the address for which it was
entered.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from pydantic import ValidationError
from rest_framework import serializers

from benchmarks.engine.addresses import Address
from benchmarks.engine.configured import all_providers, opened, sealed_parts
from benchmarks.engine.execution.model_clients import spec_of
from benchmarks.engine.sealing import sealing_allowed
from benchmarks.models import LIVE, EnteredSystem, ModelTest, ProviderCheck, Run
from benchmarks.providers.base import Timeouts
from benchmarks.providers.model_names import BASELINE
from benchmarks.providers.systems.options import OF_REPLY
from benchmarks.providers.systems.templates import names_in
from benchmarks.providers.systems.trial import TRIAL_SECONDS, Trial, try_once
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictRequest, StrictText, validated_by

METHODS = ("POST", "PUT", "PATCH", "GET")
MOST_SYSTEMS = 200
MOST_HEADERS = 30
LARGEST_BODY = 100_000
"""Characters of a body's JSON."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,4000}")
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|^sig", re.IGNORECASE)
_OF_THE_TASK = ("input", "messages", "metadata", "context")
_TIMEOUTS = Timeouts(connect=5.0, first_byte=TRIAL_SECONDS, whole=TRIAL_SECONDS)


class SystemRequest(StrictRequest):
    """How a system under test behind a route is asked, and where in its reply things stand (JMESPath)."""

    url = StrictText(max_length=2_000, help_text="With its path; a template such as https://host/ask?user={id}")
    method = serializers.ChoiceField(choices=METHODS, default="POST")
    headers = serializers.DictField(
        child=StrictText(allow_blank=True, max_length=4_000),
        default=dict,
        help_text="Never shown again. An empty value keeps the stored one",
    )
    body = serializers.JSONField(default=None, help_text='Template of the JSON body, such as {"question": "{input}"}')
    answer = StrictText(default="", allow_blank=True, max_length=500, help_text="Empty: the whole reply is the answer")
    retrieved = StrictText(default="", allow_blank=True, max_length=500, help_text="A list of texts")
    tool_calls = StrictText(default="", allow_blank=True, max_length=500, help_text="A list of {name, arguments}")
    steps = StrictText(default="", allow_blank=True, max_length=500, help_text="What the system did, a list of steps")
    tokens_in = StrictText(default="", allow_blank=True, max_length=500)
    tokens_out = StrictText(default="", allow_blank=True, max_length=500)
    cost_usd = StrictText(default="", allow_blank=True, max_length=500)
    error = StrictText(default="", allow_blank=True, max_length=500)


class NewSystemRequest(SystemRequest):
    name = StrictText(max_length=60, help_text="For example, support-bot. Runs show this name")


class SystemTrialRequest(SystemRequest):
    question = StrictText(max_length=LARGEST_BODY, help_text="What the task asks")
    system = StrictText(
        default="", allow_blank=True, max_length=60, help_text="An entered system, whose stored headers can be kept"
    )


def save_system(name: str, data: Any, user: Caller = None, *, replacing: bool = False) -> None:
    """Store a new system, or how a stored one is asked from now on. Raises ``InvalidRequest``, and ``NotPossible`` for
    a name that is taken, and while a run asks the system that is replaced."""
    _require_allowed()
    row = entered_system(name) if replacing else EnteredSystem(name=_new_name(name))
    if replacing:
        _require_idle(name)
    _fill(row, validated_by(SystemRequest(data=data)))
    row.set_by = account_of(user)
    try:
        with transaction.atomic():
            row.save()
            _forget_looks(name)
            action = "system.change" if replacing else "system.add"
            record(user, action, f"system {name}", address=row.base_url)
    except IntegrityError:
        raise NotPossible(f"System {name} exists. Choose another name, or change that one.") from None


def delete_system(name: str, user: Caller = None) -> None:
    """Delete a system with its headers. Its runs stay, and can be rescored, but not continued. Raises ``NotPossible``
    while a run asks it."""
    row = entered_system(name)
    _require_idle(name)
    with transaction.atomic():
        row.delete()
        _forget_looks(name)
        record(user, "system.delete", f"system {name}")


def try_system(data: Any, question: str, name: str = "") -> Trial:
    """Send one task to a system that may not be stored yet; ``name`` is that of a stored one whose headers are kept.

    Raises ``InvalidRequest`` and ``NotPossible``; then nothing is sent. What the system answers is in the trial.
    """
    _require_allowed()
    row = entered_system(name) if name else EnteredSystem(name="system")
    configured = _fill(row, validated_by(SystemRequest(data=data)))
    address = Address("page", configured.base_url)
    spec = spec_of(row.name, configured.model_copy(update={"timeouts": _TIMEOUTS}), None, address)
    return try_once(spec, question)


def entered_system(name: str) -> EnteredSystem:
    """Raises ``NotPossible`` if no system of that name was entered."""
    row = EnteredSystem.objects.filter(name=name).first() if sealing_allowed() else None
    if row is None:
        raise NotPossible(f"No system {name[:60]} was entered here. Those of codeforge.yaml are changed there.")
    return row


def values_of(row: EnteredSystem) -> dict[str, Any]:
    """The request that would store the system again: with the names of its headers, and without their values."""
    configured = opened(row)
    places = {place: getattr(configured, place) or "" for place in OF_REPLY}
    shown = {"url": row.base_url + configured.path, "method": configured.method, "body": configured.body}
    return {**shown, "headers": dict.fromkeys(configured.headers, ""), **places}


def _fill(row: EnteredSystem, values: dict[str, Any]) -> Any:
    """Set what a row stores. Returns its configuration; raises ``InvalidRequest``."""
    base_url, path, query = _url_parts(values["url"], row)
    headers = _headers(values["headers"], row, base_url)
    places = {place: values[place] or None for place in OF_REPLY}
    options = {"path": path, "method": values["method"], "body": values["body"], **places}
    row.base_url, row.options = base_url, {name: value for name, value in options.items() if value is not None}
    row.sealed = sealed_parts(row.name, headers, query)
    try:
        configured = opened(row)
    except ValidationError as error:
        raise InvalidRequest(_by_field(error)) from None
    _check_body(values)
    if refusal := settings.OUTBOUND.refusal(base_url):
        raise InvalidRequest({"url": [refusal]})
    return configured


def _url_parts(url: str, row: EnteredSystem) -> tuple[str, str, str]:
    """The address, the path as a template, and the secret part of the query, which no template has."""
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - raises
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest({"url": [f"“{url[:60]}” is not an HTTP(S) URL. Use one such as https://host/ask."]})
    if parts.username or parts.password:
        raise InvalidRequest({"url": ["The URL has a password. Send it in the header Authorization instead."]})
    if "{" in parts.netloc:
        raise InvalidRequest({"url": ["The host cannot be a template. Use names such as {input} after it."]})
    base_url = f"{parts.scheme}://{parts.netloc}"
    pairs = [pair for pair in parts.query.split("&") if pair]
    secret = [pair for pair in pairs if _SECRET_NAME.search(pair.partition("=")[0]) and "{" not in pair]
    rest = [pair for pair in pairs if pair not in secret]
    path = parts.path.strip() if parts.path != "/" else ""
    if not secret and row.pk and row.base_url == base_url:
        kept = urlsplit(opened(row).base_url).query
    else:
        kept = urlencode(parse_qsl("&".join(secret), keep_blank_values=True))
    return base_url, path + (f"?{'&'.join(rest)}" if rest else ""), kept


def _headers(given: dict[str, str], row: EnteredSystem, base_url: str) -> dict[str, str]:
    if len(given) > MOST_HEADERS:
        raise InvalidRequest({"headers": [f"There are over {MOST_HEADERS} headers. Remove some."]})
    stored = opened(row).headers if row.pk else {}
    headers = {}
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InvalidRequest({"headers": [f"“{name[:40]}” cannot be sent. Headers are ASCII on one line."]})
        if value == "" and row.pk and base_url != row.base_url:
            raise InvalidRequest({"headers": [f"{name} was entered for {row.base_url}. Enter its value again."]})
        if not (value or stored.get(name)):
            raise InvalidRequest({"headers": [f"{name} has no value. Enter it, or remove the header."]})
        headers[name] = value or stored[name]
    return headers


def _check_body(values: dict[str, Any]) -> None:
    """A body is stored readable, and one without a part of the task asks the same for all tasks."""
    body, url = values["body"], values["url"]
    if len(str(body)) > LARGEST_BODY:
        raise InvalidRequest({"body": [f"The body has over {LARGEST_BODY:,} characters. Shorten it."]})
    if isinstance(body, dict) and (name := next((key for key in body if _is_secret(key, body[key])), None)):
        raise InvalidRequest({"body": [f"⟨body⟩ has a secret at {name[:40]}, and is readable. Send it as a header."]})
    names = {each.partition(".")[0] for each in names_in(body) | names_in(url)}
    if not names & set(_OF_THE_TASK):
        raise InvalidRequest({"body": ["No part of ⟨body⟩ is the question. Put {input} where it belongs."]})


def _is_secret(name: str, value: Any) -> bool:
    return isinstance(value, str) and len(value) > 7 and "{" not in value and bool(_SECRET_NAME.search(name))


def _by_field(error: ValidationError) -> dict[str, list[str]]:
    fields = {*SystemRequest().fields}
    found: dict[str, list[str]] = {}
    for problem in error.errors():
        place = str(problem["loc"][0]) if problem["loc"] else "body"
        message = problem["msg"].removeprefix("Value error, ")
        found.setdefault(place if place in fields else "url", []).append(message)
    return found


def _new_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidRequest({"name": ["Use up to 60 of the characters a-z, 0-9, - and _, such as support-bot."]})
    if name == BASELINE or name in all_providers():
        raise InvalidRequest({"name": [f"{name} is the name of a provider. Choose another one."]})
    if EnteredSystem.objects.count() >= MOST_SYSTEMS:
        raise NotPossible(f"There are {MOST_SYSTEMS} systems. Delete one that is no longer used.")
    return name


def _require_allowed() -> None:
    if not sealing_allowed():
        raise NotPossible("Systems cannot be entered here. Set CODEFORGE_KEYS_ON_PAGE=1, or use codeforge.yaml.")


def _require_idle(name: str) -> None:
    asks = Q(model=name) | Q(model__startswith=f"{name}/")
    if (run := Run.objects.filter(asks, status__in=LIVE).values_list("pk", flat=True).first()) is not None:
        raise NotPossible(f"Run {run} asks {name}. Wait until it ends, or cancel it.")


def _forget_looks(name: str) -> None:
    """What was seen of another system, or of this one as it was, says nothing about it now."""
    ProviderCheck.objects.filter(provider=name).delete()
    ModelTest.objects.filter(provider=name).delete()
