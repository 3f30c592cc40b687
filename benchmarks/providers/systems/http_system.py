"""A system under test behind an HTTP route: JSON in, and JSON, text or server-sent events out."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jmespath.exceptions import JMESPathError
from yarl import URL

from benchmarks.providers.base import (
    ChatReply,
    ChatRequest,
    ListedModel,
    Provider,
    ProviderSpec,
    Times,
)
from benchmarks.providers.clean_text import shortened, storable, without_keys
from benchmarks.providers.http_errors import error_for_reply
from benchmarks.providers.http_provider import HTTPProvider
from benchmarks.providers.reading import bad_response, parse_json
from benchmarks.providers.streaming import Assembler
from benchmarks.providers.systems.options import OF_REPLY, SystemOptions, compiled
from benchmarks.providers.systems.replies import system_reply
from benchmarks.providers.systems.tasks import task_values, unsent_parameters
from benchmarks.providers.systems.templates import filled, filled_path, names_in

if TYPE_CHECKING:
    import aiohttp

_EVENTS = "text/event-stream"
_KEYS_SHOWN = 8


class HttpSystem(HTTPProvider):
    path = ""
    is_system = True
    setting = "the system's URL"

    def __init__(self, spec: ProviderSpec) -> None:
        """Raises ``ValueError`` as ``HTTPProvider`` does."""
        super().__init__(spec)
        self._options = spec.system or SystemOptions()
        self.method = self._options.method
        self.streams = True  # whatever comes as events is read as such
        self._names = names_in(self._options.body) | names_in(self._options.path)

    async def complete(self, request: ChatRequest) -> ChatReply:
        reply = await super().complete(request)
        notes = unsent_parameters(request, self._names)
        return replace(reply, notes=(*reply.notes, *notes)) if notes else reply

    async def list_models(self) -> list[ListedModel]:
        return await Provider.list_models(self)  # which says that this kind has no list

    def request_url(self, request: ChatRequest) -> URL:
        base = str(self._base.with_query(None)).rstrip("/")
        path = filled_path(self._options.path, task_values(request)).lstrip("/")
        url = URL(f"{base}/{path}" if path else base, encoded=True)
        return url.update_query(self._base.query) if self._base.query else url

    def body(self, request: ChatRequest) -> Any:
        return filled(self._options.body, task_values(request))

    def assembler(self) -> Assembler:
        return _Events(self._options)

    def _encoded(self, request: ChatRequest) -> bytes | io.BytesIO:
        return b"" if self._options.body is None else self._as_bytes(self.body(request))

    def _read(self, raw: bytes, response: aiohttp.ClientResponse, times: Times) -> ChatReply:
        if not 200 <= response.status < 300:
            raise error_for_reply(response.status, response.headers, raw, self._secrets, of_system=True)
        if response.content_type == _EVENTS:
            given = parse_json(raw)
            if self._options.answer is None:
                raise bad_response("comes as server-sent events. Set `answer` to where each has its piece of the text")
            if "answer" not in given:
                raise bad_response(f"has no event with a text at `{self._options.answer}`")
        else:
            given = self._given(raw)
        return without_keys(system_reply(given, **times), self._keys)

    def _given(self, raw: bytes) -> Mapping[str, Any]:
        """The values that the reply has at the configured places."""
        if self._options.answer is None:
            return {"answer": _whole(raw)}
        try:
            document = parse_json(raw, with_nan=True)
        except ValueError:
            start = shortened(storable(raw[:2_000].decode("utf-8", "replace"), []), 80)
            raise bad_response(f"is not valid JSON: “{start}”") from None
        given = values_at(self._options, document)
        if given.get("answer") is None and not given.get("error"):
            raise bad_response(f"has nothing at `{self._options.answer}`. {_outline(document)}")
        return given


def values_at(options: SystemOptions, document: Any) -> dict[str, Any]:
    """What a decoded reply has at the configured places. Raises ``ProviderError`` if one cannot be looked up."""
    paths = {name: path for name in OF_REPLY if (path := getattr(options, name)) is not None}
    try:
        return {name: compiled(path).search(document) for name, path in paths.items()}
    except (JMESPathError, RecursionError) as error:
        raise bad_response(f"cannot be searched: {shortened(storable(str(error), []), 200)}") from None


class _Events(Assembler):
    """Joins the answer's pieces of all events; of everything else the last counts."""

    complete = True
    """The end of the stream is the end of the reply: events have no sign of it in common."""

    def __init__(self, options: SystemOptions) -> None:
        self._options = options
        self._pieces: list[str] = []
        self._others: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> bool:
        given = values_at(self._options, event)
        piece = given.pop("answer", None)
        self._others.update((name, value) for name, value in given.items() if value is not None)
        if not isinstance(piece, str) or not piece:
            return False
        self._pieces.append(piece)
        return True

    def document(self) -> Any:
        return ({"answer": "".join(self._pieces)} if self._pieces else {}) | self._others


def _whole(raw: bytes) -> str:
    """The text of a reply; of a JSON text, without its quotation marks."""
    text = raw.decode("utf-8", "surrogateescape")
    if text.lstrip().startswith('"'):
        try:
            decoded = parse_json(text)
        except ValueError:
            return text
        return decoded if isinstance(decoded, str) else text
    return text


def _outline(document: Any) -> str:
    """What a reply has instead, for whoever looks for the right place."""
    if isinstance(document, dict):
        names = [shortened(storable(str(name), []), 40) for name in document]
        more = ", …" if len(names) > _KEYS_SHOWN else ""
        return f"It has the keys {', '.join(names[:_KEYS_SHOWN])}{more}." if names else "It is an empty object."
    return f"It is a JSON {type(document).__name__}, not an object."
