"""One task sent to a system that is being set up: what was sent, what came back, and what the places in it have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from benchmarks.providers.base import AskedTask, ChatReply, ChatRequest, ProviderError, ProviderSpec, Times
from benchmarks.providers.clean_text import shortened, storable, without_secrets
from benchmarks.providers.reading import parse_json
from benchmarks.providers.streaming import Assembler
from benchmarks.providers.systems.http_system import HttpSystem

if TYPE_CHECKING:
    import aiohttp

MOST_BYTES = 2 * 2**20
MOST_SHOWN = 100_000
"""Characters of a reply."""
MOST_EVENTS = 50
TRIAL_SECONDS = 20.0


@dataclass(slots=True)
class Trial:
    """``documents`` are the reply's JSON, or that of each event, the first ``MOST_EVENTS``; ``text`` what is no JSON.
    ``reply`` is what a run would read from it; without one, ``error`` says why."""

    method: str
    url: str
    body: str
    status: int | None = None
    text: str = ""
    documents: list[Any] = field(default_factory=list)
    is_stream: bool = False
    reply: ChatReply | None = None
    error: str = ""


def try_once(spec: ProviderSpec, question: str) -> Trial:
    """Send one task to the system and wait at most ``TRIAL_SECONDS``. Raises ``ValueError`` as the system does."""
    return asyncio.run(_try(_Watched(spec), question))


async def _try(system: _Watched, question: str) -> Trial:
    asked = AskedTask(id="try", input=question, conversation_id=uuid4().hex)
    request = ChatRequest(model="", messages=[{"role": "user", "content": question}], task=asked)
    trial = system.trial = Trial(system.method, system.shown_url(request), system.sent(request))
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            trial.reply = await system.complete(request)
    except ProviderError as error:
        trial.error = error.message.removeprefix(f"{system.name}: ")
    except TimeoutError:
        trial.error = f"No complete response within {TRIAL_SECONDS:g} s."
    finally:
        await system.close()
    return trial


class _Watched(HttpSystem):
    max_body_bytes = MOST_BYTES
    trial: Trial

    def sent(self, request: ChatRequest) -> str:
        """The body, indented; empty without one."""
        if self._options.body is None:
            return ""
        return orjson.dumps(self.body(request), option=orjson.OPT_INDENT_2).decode()

    def shown_url(self, request: ChatRequest) -> str:
        """The URL without the part of its query that may hold a secret."""
        return str(self.request_url(request).without_query_params(*self._base.query))

    def assembler(self) -> Assembler:
        self.trial.is_stream = True
        return _Recording(super().assembler(), self)

    def recorded(self, document: Any) -> Any:
        """The document as a page may show it: without the secrets that the system quotes."""
        if isinstance(document, str):
            return without_secrets(storable(document, []), self._keys)
        if isinstance(document, dict):
            return {self.recorded(str(name)): self.recorded(member) for name, member in document.items()}
        return [self.recorded(member) for member in document] if isinstance(document, list) else document

    def _read(self, raw: bytes, response: aiohttp.ClientResponse, times: Times) -> ChatReply:
        self.trial.status = response.status
        if not self.trial.is_stream:
            try:
                self.trial.documents = [self.recorded(parse_json(raw))]
            except (ValueError, RecursionError):
                text = storable(raw.decode("utf-8", "replace"), [])
                self.trial.text = shortened(without_secrets(text, self._keys), MOST_SHOWN)
        return super()._read(raw, response, times)


class _Recording(Assembler):
    complete = True

    def __init__(self, inner: Assembler, system: _Watched) -> None:
        self._inner, self._system = inner, system

    def add(self, event: Mapping[str, Any]) -> bool:
        if len(self._system.trial.documents) < MOST_EVENTS:
            self._system.trial.documents.append(self._system.recorded(event))
        return self._inner.add(event)

    def document(self) -> Any:
        return self._inner.document()
