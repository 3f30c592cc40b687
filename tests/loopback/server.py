"""What the loopback endpoint decides and counts; ``endpoint.py`` speaks HTTP for it, ``hosting.py`` runs it."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked, Reply, Script, completion, scripted

_FAULT_MARKER = re.compile(r"\[\[fault:(\w+)(?:\*(\d+))?\]\]")
_KEY_MARKER = re.compile(r"\[\[key:([^\]]+)\]\]")


@dataclass
class Stats:
    """Requests that the server received. A question's key is its ``[[key:…]]`` marker, or else the prompt itself.

    In a conversation with tools the key has the step, so each step counts as a question of its own.
    """

    requests: int = 0
    answered: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    first_at: float | None = None
    last_at: float | None = None
    times_asked: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bodies: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=1000))
    """The bodies of the latest requests."""
    headers: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=1000))
    """Their headers, with names in lower case."""

    @property
    def window_s(self) -> float:
        """Seconds from the first request to the last answer."""
        return 0.0 if self.first_at is None or self.last_at is None else self.last_at - self.first_at

    @property
    def asked_again(self) -> dict[str, int]:
        """The questions asked more than once, and how often."""
        return {key: times for key, times in self.times_asked.items() if times > 1}

    def as_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "most_in_flight": self.most_in_flight,
            "window_s": self.window_s,
            "questions": len(self.times_asked),
            "asked_again": self.asked_again,
            "faults": dict(self.faults),
        }

    def begin(self) -> None:
        now = time.monotonic()
        self.first_at = now if self.first_at is None else self.first_at
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def end(self, answered: bool) -> None:
        self.in_flight -= 1
        self.answered += answered
        self.last_at = time.monotonic()


class LoopbackServer:
    """Decides what each request gets. ``url`` is the base URL to give a client, ending in ``/v1``."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        delay_ms: float = 0.0,
        fault_rate: float = 0.0,
        faults: Sequence[str] = ("server_500",),
        seed: int = 0,
        models: Sequence[str] = (),
        models_fault: str = "",
        api_key: str | None = None,
        retry_after_s: float = 1.0,
        drip_ms: float = 20.0,
        token_ms: float = 0.0,
    ) -> None:
        """``fault_rate`` is the chance of one of ``faults`` per attempt, fixed by ``seed``, question and attempt alone.

        With ``models`` any other model is a 404, with ``api_key`` any other key a 401. ``models_fault`` is what happens
        to whoever asks for the list of models.
        """
        for name in faults:
            fault_named(name)
        self.script = script
        self.delay_ms = delay_ms
        self.fault_rate = fault_rate
        self.faults = tuple(faults)
        self.seed = seed
        self.models = tuple(models)
        self.models_fault = models_fault
        self.api_key = api_key
        self.retry_after_s = retry_after_s
        self.drip_ms = drip_ms
        self.token_ms = token_ms
        self.stats = Stats()
        self.url = ""
        self.http: web.Server | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def drop_connections(self) -> None:
        """Close every connection at once, whatever waits on it. Called from any thread but the server's own."""
        assert self.http is not None, "the server listens"
        assert self.loop is not None, "the server listens"
        # For aiohttp a timeout of 0 means none, and it would wait for connections that clients keep alive.
        asyncio.run_coroutine_threadsafe(self.http.shutdown(timeout=0.01), self.loop).result(timeout=10)

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[bytes, Fault | None]:
        """The ordinary reply's bytes, and the fault that spoils them, if any."""
        self.stats.headers.append(headers)
        self.stats.bodies.append(body)
        if self.api_key is not None and headers.get("authorization") != f"Bearer {self.api_key}":
            return b"{}", self._counted("unauthorized_401")
        if self.models and body.get("model") not in self.models:
            return b"{}", self._counted("not_found_404")
        asked = self._asked(body)
        reply = scripted(self.script, asked)
        fault = self._fault_for(asked)
        if isinstance(reply, Fault):
            fault, reply = reply, Reply("an ordinary answer")
        document = completion(reply, str(body.get("model")), self.stats.requests, asked.prompt)
        try:
            return orjson.dumps(document), fault
        except orjson.JSONEncodeError:  # lone surrogates, which only the standard library writes
            return json.dumps(document).encode(), fault

    def _asked(self, body: dict[str, Any]) -> Asked:
        prompt = _prompt_of(body)
        marked = _KEY_MARKER.search(prompt)
        steps = sum(message.get("role") == "tool" for message in body["messages"])
        key = (marked[1] if marked else prompt) + (f" #{steps}" if steps else "")
        self.stats.times_asked[key] += 1
        return Asked(prompt, body, self.stats.times_asked[key])

    def _fault_for(self, asked: Asked) -> Fault | None:
        marked = _FAULT_MARKER.search(asked.prompt)
        if marked:
            return self._counted(marked[1]) if marked[2] is None or asked.attempt <= int(marked[2]) else None
        if not self.fault_rate:
            return None
        chance = random.Random(f"{self.seed} {asked.attempt} {asked.prompt}")
        return self._counted(chance.choice(self.faults)) if chance.random() < self.fault_rate else None

    def _counted(self, name: str) -> Fault:
        self.stats.faults[name] += 1
        return fault_named(name)


def fault_named(name: str) -> Fault:
    """The fault of that name, or a ``ValueError`` that lists the names there are."""
    try:
        return FAULTS[name]
    except KeyError:
        raise ValueError(f"no fault is named {name!r}; there are {', '.join(FAULTS)}") from None


def _prompt_of(body: Mapping[str, Any]) -> str:
    """The text of the last message of the user; the text parts joined where it has parts."""
    for message in reversed(body["messages"]):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            return "\n".join(part.get("text", "") for part in content or ())
    return ""
