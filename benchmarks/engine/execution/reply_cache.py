"""The response cache, off unless a run asks for it: replies kept under the hash of everything that was sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from django.conf import settings
from jsonschema import Draft202012Validator

from benchmarks.engine.execution.prompts import SENT_PARAMETERS
from benchmarks.engine.execution.work_items import Question
from benchmarks.models import CachedResponse, Run
from benchmarks.providers.base import ChatReply, ChatRequest, ToolCall


def with_cached(run: Run, questions: Sequence[Question]) -> list[Question]:
    """The questions with their keys, and with the reply where one is kept."""
    keyed = [replace(question, cache_key=key_of(run, question)) for question in questions]
    kept = CachedResponse.objects.in_bulk([question.cache_key for question in keyed if question.cache_key])
    return [
        replace(question, cached=reply_from(kept[question.cache_key].reply), reserved_usd=0.0)
        if question.cache_key in kept
        else question
        for question in keyed
    ]


def key_of(run: Run, question: Question) -> str:
    """SHA-256 over model, endpoint, messages, parameters, tools and repeat."""
    sent = {
        "model": run.model,
        "endpoint": _endpoint(run.model),
        "parameters": {name: run.parameters.get(name) for name in SENT_PARAMETERS},
        "prompt": question.prompt.hash(),
        "repeat": question.repeat,
    }
    return _key(sent)


def reply_from(kept: Mapping[str, Any]) -> ChatReply:
    calls = tuple(ToolCall(**call) for call in kept["tool_calls"])
    return ChatReply(**{**kept, "tool_calls": calls, "notes": tuple(kept["notes"])})


class JudgeResponseCache:
    """A judge's replies, kept under everything that was sent to it; one that is no verdict is not kept."""

    def __init__(self, judge_model: str) -> None:
        self._judge_model = judge_model
        self._endpoint = _endpoint(judge_model)

    def find(self, request: ChatRequest) -> str | None:
        kept = CachedResponse.objects.filter(key=self._key(request)).values_list("reply", flat=True).first()
        return None if kept is None else str(kept["text"])

    def keep(self, request: ChatRequest, reply: ChatReply) -> None:
        if _is_verdict(reply.text, request.response_format):
            CachedResponse.objects.get_or_create(key=self._key(request), defaults={"reply": asdict(reply)})

    def _key(self, request: ChatRequest) -> str:
        sent = {"judge": self._judge_model, "endpoint": self._endpoint, "request": asdict(request)}
        return _key(sent)


def _is_verdict(text: str, form: Mapping[str, Any] | None) -> bool:
    try:
        verdict = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return form is None or Draft202012Validator(form["json_schema"]["schema"]).is_valid(verdict)


def _endpoint(model: str) -> str | None:
    configured = settings.CODEFORGE.providers.get(model.partition("/")[0])
    return configured.base_url if configured else None


def _key(sent: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)).hexdigest()
