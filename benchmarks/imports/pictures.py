"""Pictures of a table's rows: paths beside the table, URLs, ``data:`` URLs, and what the Hub and Parquet store.

URLs are fetched once, when the table is imported, from where the outbound rules permit; tasks hold the content.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.messages import data_url, media_type
from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.extras import command
from benchmarks.imports.runs import ImportProblem
from benchmarks.outbound import PUBLIC_ONLY, NotAllowed, Outbound

CONCURRENT = 8
CONNECT_S, READ_S = 10.0, 30.0
_ENDING = re.compile(r"\.(png|jpe?g|gif|webp|bmp|tiff?|svg)(?:[?#].*)?$", re.IGNORECASE)
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_KINDS = "PNG, JPEG, GIF or WebP"
PLACEHOLDER = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""Stands for a picture at a URL in a preview, which fetches nothing."""


def is_picture(value: object, *, named: bool) -> bool:
    """Whether a cell is a picture by its form; ``named``: its column is called like one, so any URL or path is."""
    if isinstance(value, list):
        return bool(value) and all(is_picture(each, named=named) for each in value)
    value = _inner(value)
    if isinstance(value, bytes | bytearray):
        return media_type(bytes(value)) is not None
    if not isinstance(value, str) or len(value) > limits.MAX_IMAGE_BYTES * 2:
        return False
    if value.startswith("data:image/"):
        return True
    if len(value) > limits.MAX_URL:
        return named and _decoded(value) is not None
    is_name = bool(_URL.fullmatch(value)) or "\n" not in value
    return is_name and bool(_ENDING.search(value) or (named and _URL.fullmatch(value)))


def names_file(value: object) -> bool:
    """Whether a picture (``is_picture``) is a path."""
    if isinstance(value, list):
        return any(map(names_file, value))
    value = _inner(value)
    is_elsewhere = isinstance(value, str) and (value.startswith("data:") or _URL.fullmatch(value) or _decoded(value))
    return isinstance(value, str) and not is_elsewhere


def _inner(value: object) -> object:
    """What an image of the Hub has: its bytes, or else where they are."""
    if not isinstance(value, Mapping):
        return value
    parts = [value.get(name) for name in ("bytes", "src", "url", "image_url", "path")]
    inner = next((part for part in parts if part), None)
    return _inner(inner) if isinstance(inner, Mapping) and inner is not value and len(inner) < 5 else inner


def _decoded(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if media_type(data) else None


@dataclass(slots=True)
class Pictures:
    """Where the pictures of a table come from. Without a ``folder``, paths name nothing; with ``preview``, nothing is
    fetched. All requests together take at most ``total_s`` seconds."""

    folder: Path | None = None
    preview: bool = False
    total_s: float = 300.0
    outbound: Outbound = PUBLIC_ONLY
    _fetched: dict[str, bytes | str] = field(default_factory=dict)
    """URL → its content, or why there is none."""

    def fetch(self, values: Sequence[object]) -> None:
        """Fetch the pictures that these cells name, each once."""
        urls = dict.fromkeys(url for value in values for url in _urls(value))
        if len(urls) > limits.MAX_IMAGES:
            raise ImportProblem(f"{len(urls):,} pictures at URLs; the limit of a dataset is {limits.MAX_IMAGES}")
        if urls and not self.preview:
            asyncio.run(self._fetch_all(list(urls)))

    def of(self, value: object, column: str) -> list[str]:
        """The ``data:`` URLs of a cell. Raises ``ImportProblem``."""
        if isinstance(value, list):
            return [url for each in value for url in self.of(each, column)]
        value = _inner(value)
        if value in (None, "", b""):
            return []
        try:
            return [self._one(value)]
        except ImportProblem as problem:
            raise ImportProblem(f"column {quoted(column)}: {problem}") from None

    def _one(self, value: object) -> str:
        if isinstance(value, bytes | bytearray):
            return _embedded(bytes(value), "the bytes")
        if not isinstance(value, str):
            raise ImportProblem("expected a picture: a path, a URL, a data: URL or bytes")
        if value.startswith("data:"):
            return value  # the dataset's check reads it
        if _URL.fullmatch(value):
            return self._at(value)
        if (data := _decoded(value)) is not None:
            return _embedded(data, "the bytes")
        return self._file(value)

    def _at(self, url: str) -> str:
        if self.preview:
            return PLACEHOLDER
        content = self._fetched.get(url, "was not fetched")
        if isinstance(content, str):
            raise ImportProblem(f"{quoted(url)} {content}")
        return _embedded(content, quoted(url))

    def _file(self, name: str) -> str:
        if self.folder is None:
            raise ImportProblem(
                f"{quoted(name)} is a path, and the table came without files. Import it from its folder with: "
                f"{command('datasets import')}. Or leave the column out"
            )
        root = self.folder.resolve()
        try:
            path = (root / name).resolve()
            if not path.is_relative_to(root):
                raise ImportProblem(f"{quoted(name)} is outside the folder of the table: move the file into it")
            if path.stat().st_size > limits.MAX_IMAGE_BYTES:
                raise ImportProblem(_too_large(quoted(name)))
            return _embedded(path.read_bytes(), quoted(name))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no valid path"
            raise ImportProblem(f"{quoted(name)} cannot be read ({reason}), from the folder of the table") from None

    async def _fetch_all(self, urls: Sequence[str]) -> None:
        import aiohttp  # takes a tenth of the start of a process, and most tables have no pictures

        # A proxy is asked to resolve the names, and decides itself what may be reached through it.
        outbound = self.outbound.and_to(*getproxies().values())
        timeout = aiohttp.ClientTimeout(total=self.total_s, connect=CONNECT_S, sock_read=READ_S)
        queue = iter(urls)
        deadline = asyncio.get_running_loop().time() + self.total_s

        async def work(session: Any) -> None:
            for url in queue:
                left = deadline - asyncio.get_running_loop().time()
                self._fetched[url] = await _get(session, url) if left > 0 else "was not fetched in time"

        async with aiohttp.ClientSession(
            timeout=timeout, trust_env=True, connector=outbound.connector(limit=CONCURRENT)
        ) as session:
            await asyncio.gather(*(work(session) for _ in range(CONCURRENT)))


async def _get(session: Any, url: str) -> bytes | str:
    """The content, or why there is none."""
    import aiohttp

    try:
        return await _body(session, url)
    except TimeoutError:
        return "did not respond in time"
    except (aiohttp.ClientError, ValueError, NotAllowed) as error:
        cause = getattr(error, "os_error", error)
        if isinstance(cause, NotAllowed):
            return f"is not fetched. {cause}"
        return f"cannot be reached ({printable(getattr(cause, 'strerror', None) or type(error).__name__)})"


async def _body(session: Any, url: str) -> bytes | str:
    """As above. Raises what the request raises."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        return "has a password in it: leave it out"
    async with session.get(url, headers={"User-Agent": "codeforge-benchmarks"}, max_redirects=5) as response:
        if response.status != 200:
            return f"responded with HTTP status {response.status}"
        body = bytearray()
        async for chunk in response.content.iter_chunked(1 << 16):
            body += chunk
            if len(body) > limits.MAX_IMAGE_BYTES:
                return f"has more than {limits.MAX_IMAGE_BYTES:,} bytes: make it smaller"
        return bytes(body)


def _urls(value: object) -> list[str]:
    if isinstance(value, list):
        return [url for each in value for url in _urls(each)]
    value = _inner(value)
    return [value] if isinstance(value, str) and _URL.fullmatch(value) else []


def _embedded(data: bytes, what: str) -> str:
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise ImportProblem(_too_large(what))
    url = data_url(data)
    if url is None:
        raise ImportProblem(f"{what} is not a picture in {_KINDS}: convert it")
    return url


def _too_large(what: str) -> str:
    return f"{what} has more than {limits.MAX_IMAGE_BYTES:,} bytes: make it smaller"
