"""How this worker process reaches models: one provider object and one gate for each, made on first use and shared.

A ``Slot`` sends requests with retries until it is told to send no more.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

from benchmarks.engine.addresses import Address, address_of
from benchmarks.engine.configured import provider_named
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.provider_keys import key_of
from benchmarks.models import ProviderCheck
from benchmarks.providers.adjustments import Adjustments, plain
from benchmarks.providers.base import ChatReply, ChatRequest, Limits, Provider, ProviderSpec, RetryPolicy
from benchmarks.providers.gate import Gate
from benchmarks.providers.model_families import traits_of
from benchmarks.providers.model_names import BASELINE, split_model
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.retrying import Attempt, GaveUp, complete_with_retries

if TYPE_CHECKING:
    from benchmarks.providers.gates import Gates
    from benchmarks.providers.systems.options import SystemOptions

IMAGE_CHARACTERS = 6_000
"""What an image counts as against a limit of tokens: 1,500 tokens, about what vendors count for a large one."""
CLOSING_SECONDS = 2.0
_providers: list[Provider] = []


@dataclass(frozen=True, slots=True)
class Model:
    """A model as slots reach it: its provider, its name there, the limits that all its users share, and what requests
    of one run go without."""

    provider: Provider
    name: str
    gate: Gate
    adjustments: Adjustments
    policy: RetryPolicy = field(default_factory=RetryPolicy)


def model_client(name: str) -> Model:
    """The model named ``provider/model``. Raises ``ValueError`` if its provider is not configured."""
    provider, model = split_model(name)
    configured = provider_named(provider)
    policy = configured.retries if configured else RetryPolicy(max_attempts=1)
    revision = configured.model_dump_json() if configured and configured.entered else ""
    client = _provider(provider, key_of(provider).value, address_of(provider), revision)
    adjustments = Adjustments(name, traits_of(name, settings.CODEFORGE.model_families), client.streams)
    return Model(client, model, _gates().of(provider, model, limits_of(name)), adjustments, policy)


def limits_of(name: str) -> Limits:
    """The model's own limits, and its provider's where it has none."""
    config = settings.CODEFORGE
    configured = provider_named(split_model(name)[0])
    own = config.model(name).limits.model_dump(exclude_none=True)
    return (configured.limits if configured else Limits()).model_copy(update=own)


def context_length_of(model: str) -> int | None:
    """Tokens of prompt and answer, as configured, or else as the endpoint lists the model; ``None`` if unknown."""
    provider, _, name = model.partition("/")
    listings = ProviderCheck.objects.filter(provider=provider).values_list("listed", flat=True)
    there = {each["name"]: each["context_length"] for listing in listings for each in listing}
    return settings.CODEFORGE.model(model).context_length or there.get(name)


@cache
def _provider(name: str, api_key: str | None, address: Address, revision: str) -> Provider:
    """One for each key, address and text of an entered system: what changes on the page is used from the next lease
    on."""
    _providers.append(make_provider(provider_spec(name, api_key, address)))
    return _providers[-1]


def provider_spec(name: str, api_key: str | None, address: Address) -> ProviderSpec:
    """What is configured for a provider, with its key and address. Raises ``ValueError`` if nothing is."""
    if name == BASELINE:
        return ProviderSpec(name=name, kind=BASELINE)
    configured = provider_named(name)
    if configured is None:
        raise ValueError(f"Provider {name!r} is not configured. Add it to codeforge.yaml.")
    return spec_of(name, configured, api_key, address)


def spec_of(name: str, configured: Any, api_key: str | None, address: Address) -> ProviderSpec:
    """Likewise of a configuration that may not be stored. Raises ``ValueError`` if a header's variable is not set."""
    options: dict[str, Any] = {each.name: getattr(configured, each.name, None) for each in fields(ProviderSpec)}
    outbound = settings.OUTBOUND if address.source == "page" else None
    given: dict[str, Any] = {"name": name, "api_key": api_key, "base_url": address.base_url, "outbound": outbound}
    given |= {"headers": configured.headers_with(os.environ), "system": _in_project(configured.system)}
    return ProviderSpec(**options | given)


def _in_project(options: SystemOptions | None) -> SystemOptions | None:
    """The options with their folder as an absolute path."""
    if options is None:
        return None
    return options.model_copy(update={"folder": str((settings.BASE_DIR / (options.folder or "")).resolve())})


@cache
def _gates() -> Gates:
    from benchmarks.providers.gates import Gates  # a tenth of the start of every process that needs none

    return Gates(settings.REDIS_URL or None)


def forget() -> None:
    """Close connections. Providers and gates are made anew on their next use, from the configuration at that time."""
    for provider in _providers:
        ENGINE_LOOP.submit(provider.close()).result(CLOSING_SECONDS)
    if _providers:
        ENGINE_LOOP.submit(_gates().close()).result(CLOSING_SECONDS)
    _providers.clear()
    _provider.cache_clear()
    _gates.cache_clear()


atexit.register(forget)


class Slot:
    """One place in a request pool; it works on one unit at a time.

    ``started`` says whether anything was sent for the current unit; ``in_flight`` are requests that were sent and may
    still be answered. Once ``closed``, nothing is sent any more: no first attempt that waited at the gate, no retry,
    no further step of a conversation. Whoever tries is cancelled, as if its slot had been.

    A slot with ``most_requests`` sends no more than that. If the one before the last is refused, the last is plain:
    without anything that the model may refuse, because there is none left to find out one by one.

    ``may_send`` is awaited before each request, retries included.
    """

    def __init__(
        self, most_requests: int | None = None, *, may_send: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.may_send = may_send
        self.closed = False
        self.started = False
        self.requests_left = math.inf if most_requests is None else most_requests
        self.sent_plain = False
        self.in_flight: set[_Request] = set()

    async def send(self, model: Model, request: ChatRequest) -> tuple[ChatReply, list[Attempt]]:
        """Send with retries, without what the model refuses; the reply has notes about that.

        Raises ``GaveUp``, or ``CancelledError`` if the slot is closed.
        """
        adjustments, attempts = model.adjustments, list[Attempt]()
        is_first = await adjustments.wait_for_first(request)
        try:
            while True:
                adapted = adjustments.adapted(request)
                if attempts and self.requests_left == 1:
                    adapted, self.sent_plain = plain(adapted), True
                try:
                    reply, made = await self._send(model, adapted)
                except GaveUp as gave_up:
                    attempts += gave_up.attempts
                    if not adjustments.learn(gave_up.error, adapted) or self.requests_left < 1:
                        raise GaveUp(gave_up.error, attempts) from gave_up.error
                else:
                    notes = adjustments.notes_on(request)
                    return replace(reply, notes=(*reply.notes, *notes)) if notes else reply, [*attempts, *made]
        finally:
            if is_first:
                adjustments.first_replied()

    async def _send(self, model: Model, request: ChatRequest) -> tuple[ChatReply, list[Attempt]]:
        sent = _Request(model.provider, self)
        policy = model.policy
        if self.requests_left < policy.max_attempts:
            policy = policy.model_copy(update={"max_attempts": int(self.requests_left)})
        try:
            return await complete_with_retries(
                sent, request, policy, model.gate, tokens=likely_tokens(request), sleep=sent.wait_to_retry
            )
        finally:
            self.in_flight.discard(sent)


class _Request(Provider):
    """Wraps the provider under the retries, so that its slot knows what is in flight."""

    def __init__(self, provider: Provider, slot: Slot) -> None:
        self.name, self.host, self.port = provider.name, provider.host, provider.port
        self._provider = provider
        self._slot = slot

    async def complete(self, request: ChatRequest) -> ChatReply:
        if self._slot.may_send is not None:
            await self._slot.may_send()
        self._cancel_if_closed()
        self._slot.started = True
        self._slot.requests_left -= 1
        self._slot.in_flight.add(self)
        return await self._provider.complete(request)

    async def wait_to_retry(self, seconds: float) -> None:
        self._slot.in_flight.discard(self)
        self._cancel_if_closed()
        await asyncio.sleep(seconds)

    def _cancel_if_closed(self) -> None:
        if self._slot.closed:
            raise asyncio.CancelledError("the slot is closed")


def likely_tokens(request: ChatRequest) -> int:
    """What a request counts against a limit of tokens per minute: the prompt at four characters a token, and the
    longest answer allowed, as endpoints count it when they admit a request."""
    contents = [message.get("content") or "" for message in request.messages]
    texts = [text for content in contents for text in ([content] if isinstance(content, str) else _texts(content))]
    return sum(map(len, texts)) // 4 + (request.max_tokens or 0)


def _texts(parts: Sequence[Mapping[str, object]]) -> list[str]:
    """The texts of a message's parts; an image counts as ``IMAGE_CHARACTERS``."""
    return [" " * IMAGE_CHARACTERS if part["type"] == "image_url" else str(part.get("text", "")) for part in parts]
