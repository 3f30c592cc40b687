"""The response cache, used by runs that request it: responses stored under the hash of everything that was sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson

from benchmarks.engine.addresses import address_of
from benchmarks.engine.configured import provider_named
from benchmarks.engine.execution.work_items import Answer, Question
from benchmarks.models import CachedResponse, Run
from benchmarks.providers.base import ChatReply, ChatRequest, ToolCall
from benchmarks.run_parameters import sent_parameters


def is_used_by(run: Run) -> bool:
    """Repeats measure how much a model varies, so a run with repeats never uses the cache."""
    return run.use_cache and run.repeats == 1


def with_cached(run: Run, questions: Sequence[Question]) -> list[Question]:
    """The questions with their cache keys, and with the cached response if there is one. At most two queries."""
    endpoint = _endpoint(run.model)
    keyed = [replace(question, cache_key=key_of(run, question, endpoint)) for question in questions]
    stored = CachedResponse.objects.in_bulk([question.cache_key for question in keyed if question.cache_key])
    for place, question in enumerate(keyed):
        if question.cache_key in stored:
            keyed[place] = replace(question, cached=_reply(stored[question.cache_key].reply))
    return keyed


def _reply(stored: Mapping[str, Any]) -> ChatReply:
    passages = stored.get("retrieved")
    return ChatReply(
        **{
            **stored,
            "tool_calls": tuple(ToolCall(**call) for call in stored["tool_calls"]),
            "notes": tuple(stored["notes"]),
            "steps": tuple(stored.get("steps", ())),
            "retrieved": None if passages is None else tuple(passages),
        }
    )


def key_of(run: Run, question: Question, endpoint: object) -> str:
    """SHA-256 over model, endpoint, messages, parameters, tools and repeat, and the configuration of a system."""
    sent = {
        "model": run.model,
        "endpoint": endpoint,
        "parameters": {name: run.parameters.get(name) for name in sent_parameters()} | {"seed": question.seed},
        "prompt": question.prompt.hash(),
        "repeat": question.repeat,
    }
    if question.asked is not None:  # what a system is told beside the messages
        sent["asked"] = asdict(question.asked)
    return _hash(sent)


def store_responses(answers: Sequence[Answer]) -> None:
    """Store the responses of questions with a cache key. Conversations with tools or turns are not cached: they have
    many.
    """
    fresh = [
        CachedResponse(key=answer.question.cache_key, reply=asdict(answer.reply))
        for answer in answers
        if answer.question.cache_key
        and answer.reply
        and not answer.from_cache
        and not answer.tool_calls
        and not answer.question.prompt.turns
        and not answer.question.prompt.user
    ]
    if fresh:
        CachedResponse.objects.bulk_create(fresh, ignore_conflicts=True)


class JudgeResponseCache:
    """A judge's responses. Both methods wait for the database, so call them in a thread."""

    def __init__(self, judge_model: str) -> None:
        self._judge_model = judge_model
        self._endpoint = _endpoint(judge_model)

    def find(self, request: ChatRequest) -> tuple[str, tuple[str, ...]] | None:
        """The text of the response, and the notes on it."""
        stored = CachedResponse.objects.filter(key=self._key(request)).values_list("reply", flat=True).first()
        return None if stored is None else (str(stored["text"]), tuple(stored["notes"]))

    def store(self, request: ChatRequest, reply: ChatReply, schema: Mapping[str, object] | None) -> None:
        """Store a response, unless it is no verdict: the judge is to be asked for that again."""
        if _is_verdict(reply.text, schema):
            CachedResponse.objects.get_or_create(key=self._key(request), defaults={"reply": asdict(reply)})

    def _key(self, request: ChatRequest) -> str:
        sent = {name: value for name, value in asdict(request).items() if name != "task"}  # judges are no systems
        return _hash({"judge": self._judge_model, "endpoint": self._endpoint, "request": sent})


def _is_verdict(text: str, schema: Mapping[str, object] | None) -> bool:
    try:
        verdict = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    if schema is None:
        return True
    from jsonschema import Draft202012Validator  # used for the first verdict; it would delay every start

    return Draft202012Validator(schema).is_valid(verdict)


def _endpoint(model: str) -> object:
    """Where a model is asked; of a system also how, which is all of its configuration."""
    provider = model.partition("/")[0]
    configured = provider_named(provider)
    if configured is not None and configured.is_system:
        return configured.model_dump(mode="json")
    return address_of(provider).base_url


def _hash(sent: Mapping[str, object]) -> str:
    return hashlib.sha256(orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)).hexdigest()
