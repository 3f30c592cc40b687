"""What the requests of one run to one model go without, because the model refuses it.

Some of it is known by the model's name (``model_families``), the rest is learned from refusals. Either way it holds for
every later request of the run, and a note says so. Only what leaves every word of the question goes: sampling
parameters, the seed, the structured form of a judge's reply, the endpoint's name for a limit, the role of the system
prompt, and whether the reply is streamed. Whatever else is refused is an error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.providers.base import ChatRequest, Message, ProviderError, text_of
from benchmarks.providers.clean_text import full_sentence
from benchmarks.providers.model_families import ModelTraits

logger = logging.getLogger(__name__)

SAMPLING = ("temperature", "top_p", "seed")
WEAKER_FORM: Mapping[str, Mapping[str, object] | None] = {"json_schema": {"type": "json_object"}, "json_object": None}
"""Type of a response format → what is requested instead of it."""
_OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_SYSTEM_ROLE = "system_role"
_SYSTEM_ROLES = ("system", "developer")
_UNSTREAMED, _STREAMED = "unstreamed", "streamed"
"""Names of notes: the model refuses replies that are not streamed, or that are."""
FIRST_REPLY_SECONDS = 2.0
"""How long requests wait for the first one to find out what the model refuses. Refusals come quickly."""


@dataclass(eq=False)
class Adjustments:
    """``notes`` is what requests go without → a sentence about it. Use on one event loop."""

    model: str
    """As ``provider/model``."""
    traits: ModelTraits = field(default_factory=ModelTraits)
    streams: bool = False
    """Whether its provider asks for streamed replies."""
    notes: dict[str, str] = field(default_factory=dict)
    _tried: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _trying: bool = field(default=False, init=False)

    def adapted(self, request: ChatRequest) -> ChatRequest:
        """The request as the model takes it, as far as that is known."""
        if not (self.notes or self.traits.never_sent or self.traits.names):
            return request  # the usual case: no copy for each of thousands of requests
        for name, family in self.traits.never_sent.items():
            if name in _omissible(request) and name not in self.notes:
                self._leave_out(name, f"models of the family {family} refuse it")
        names = dict(self.traits.names)
        if "max_tokens" in self.notes:
            names["max_tokens"] = _OTHER_LIMIT[names.get("max_tokens", "max_tokens")]
        form = request.response_format
        while form is not None and form["type"] in self.notes:
            form = WEAKER_FORM[form["type"]]
        unsent: dict[str, Any] = {name: None for name in SAMPLING if name in self.notes}
        stream = True if _UNSTREAMED in self.notes else False if _STREAMED in self.notes else request.stream
        messages = _merged(request.messages) if _SYSTEM_ROLE in self.notes else request.messages
        return replace(request, **unsent, response_format=form, names=names, stream=stream, messages=messages)

    def notes_on(self, request: ChatRequest) -> tuple[str, ...]:
        """The sentences about what ``adapted`` changes in this request."""
        if not self.notes:
            return ()
        concerned = {*_omissible(request), *(WEAKER_FORM if request.response_format else ()), _UNSTREAMED, _STREAMED}
        if _has_system(request):
            concerned.add(_SYSTEM_ROLE)
        if request.max_tokens is not None:
            concerned.add("max_tokens")
        return tuple(note for name, note in self.notes.items() if name in concerned)

    def learn(self, error: ProviderError, sent: ChatRequest) -> bool:
        """Whether the request that ended in this error can be sent again without what the model refuses.

        ``sent`` is what ``adapted`` returned for it. Other requests may have been refused at the same time.
        """
        form = sent.response_format["type"] if sent.response_format is not None else None
        names = [form if name == "response_format" and form else name for name in error.refused]
        limit = sent.names.get("max_tokens", "max_tokens") if sent.max_tokens is not None else None
        changeable = {limit, "stream", *_omissible(sent), *([_SYSTEM_ROLE] if _has_system(sent) else [])}
        if not names or not changeable.issuperset(names):
            return False
        for name in names:
            if name == limit:
                if not self._rename_limit(name):
                    return False
            elif name == "stream":
                if not self._switch_streaming(self.streams if sent.stream is None else sent.stream):
                    return False
            elif name == _SYSTEM_ROLE:
                self.notes[name] = (
                    f"The system prompt was sent in the first user message, because {self.model} refuses it."
                )
            elif name not in self.notes:
                logger.info("%s refuses %s: %s", self.model, name, error.message)
                self._leave_out(name, f"{self.model} refuses it")
        return True

    async def wait_for_first(self, request: ChatRequest) -> bool:
        """Let the first request with anything that may be refused go ahead of the others, so that not all of them are
        refused. They wait until it has a reply, but never long.

        Whether this is the first, whose sender must call ``first_replied``.
        """
        if self._tried.is_set() or not _omissible(self.adapted(request)):
            return False
        if not self._trying:
            self._trying = True
            return True
        try:
            await asyncio.wait_for(self._tried.wait(), FIRST_REPLY_SECONDS)
        except TimeoutError:
            self._tried.set()
        return False

    def first_replied(self) -> None:
        """The request that went ahead has its reply, or has failed."""
        self._tried.set()

    def leave_out_all(self, request: ChatRequest) -> None:
        """Leave out everything that requests like this one may go without, because not all of it could be named."""
        while names := _omissible(self.adapted(request)):
            for name in names:
                self._leave_out(name, f"{self.model} refuses it, or another parameter that was not sent either")

    def _leave_out(self, name: str, why: str) -> None:
        what = f"The response format {name}" if name in WEAKER_FORM else name
        self.notes[name] = f"{what} was not sent, because {full_sentence(why)}"

    def _switch_streaming(self, streamed: bool) -> bool:
        """Whether the other way is left after a model refused to stream, or not to."""
        refused, other = (_STREAMED, _UNSTREAMED) if streamed else (_UNSTREAMED, _STREAMED)
        if other in self.notes:
            return False
        what = "Responses were not streamed" if streamed else "Responses were streamed"
        self.notes[refused] = f"{what}, because {self.model} refuses the opposite."
        return True

    def _rename_limit(self, used: str) -> bool:
        """Whether the endpoint has another name for the limit of tokens, which the refused request did not use."""
        if used not in _OTHER_LIMIT:
            return False
        if "max_tokens" not in self.notes:
            other = _OTHER_LIMIT[used]
            self.notes["max_tokens"] = f"max_tokens was sent as {other}, because {self.model} refuses {used}."
        # If another request found out first, this one was sent under the first name; if not, both names are refused.
        return used == self.traits.names.get("max_tokens", "max_tokens")


def plain(request: ChatRequest) -> ChatRequest:
    """The request without anything that it may go without."""
    unsent: dict[str, Any] = dict.fromkeys(SAMPLING)
    return replace(request, **unsent, response_format=None)


def _has_system(request: ChatRequest) -> bool:
    return any(message["role"] in _SYSTEM_ROLES for message in request.messages)


def _merged(messages: Sequence[Message]) -> list[Message]:
    """The messages with the system's text at the beginning of the first one of the user, or as one if there is none."""
    system = "\n\n".join(text_of(message) for message in messages if message["role"] in _SYSTEM_ROLES)
    others = [message for message in messages if message["role"] not in _SYSTEM_ROLES]
    if not system:
        return others
    first = next((at for at, message in enumerate(others) if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *others]
    content = others[first]["content"]
    parts = [{"type": "text", "text": system}, *content] if not isinstance(content, str) else f"{system}\n\n{content}"
    others[first] = {**others[first], "content": parts}
    return others


def _omissible(request: ChatRequest) -> list[str]:
    """What the request has and may go without: sampling parameters, and the type of its response format."""
    form = request.response_format
    typed = [form["type"]] if form is not None and form["type"] in WEAKER_FORM else []
    return [*(name for name in SAMPLING if getattr(request, name) is not None), *typed]
