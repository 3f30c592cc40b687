"""Takes a ``curl`` command apart, as people write it and as browsers copy it (the form for bash). Runs nothing.

What a system under test cannot be asked with is refused with what to do instead: files, forms, variables of the shell.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

LONGEST_COMMAND = 200_000
_VALUE_OF = {
    "-X": "method",
    "--request": "method",
    "-H": "header",
    "--header": "header",
    "-d": "data",
    "--data": "data",
    "--data-ascii": "data",
    "--data-binary": "data",
    "--data-raw": "raw",
    "--json": "json",
    "-u": "user",
    "--user": "user",
    "--url": "url",
    "-A": "agent",
    "--user-agent": "agent",
    "-b": "cookie",
    "--cookie": "cookie",
    "--oauth2-bearer": "bearer",
}
_IGNORED = frozenset(
    {"-s", "--silent", "-S", "--show-error", "-i", "--include", "-v", "--verbose", "-L", "--location", "-N"}
    | {"--no-buffer", "-f", "--fail", "--fail-with-body", "--compressed", "-#", "--progress-bar", "--http1.1"}
    | {"--http2", "--no-progress-meter", "-4", "-6", "-g", "--globoff"}
)
_IGNORED_WITH_VALUE = frozenset(
    {"-o", "--output", "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "-w", "--write-out"}
    | {"-e", "--referer", "--max-redirs"}
)
_REFUSED = {
    "-F": "A form is no JSON. Paste a request whose body is JSON.",
    "--form": "A form is no JSON. Paste a request whose body is JSON.",
    "--data-urlencode": "A form is no JSON. Paste a request whose body is JSON.",
    "-k": "Certificates are always checked. Remove -k.",
    "--insecure": "Certificates are always checked. Remove --insecure.",
    "-x": "The server's own proxy is used. Remove -x.",
    "--proxy": "The server's own proxy is used. Remove --proxy.",
}
_NOT_SENT = re.compile(
    r"host|content-length|content-type|accept-encoding|connection|origin|referer|dnt|priority|sec-.*"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "0": "\0"}
_CODED = re.compile(r"u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|x([0-9a-fA-F]{1,2})")


@dataclass(slots=True)
class CurlRequest:
    """``body`` is the decoded JSON, ``None`` without one."""

    url: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


def curl_request(command: str) -> CurlRequest:
    """The request that a command would send. Raises ``ValueError`` with what to do instead."""
    if len(command) > LONGEST_COMMAND:
        raise ValueError(f"The command has over {LONGEST_COMMAND:,} characters. Shorten its body.")
    if not re.match(r"curl(\.exe)?(\s|$)", command.strip()):
        raise ValueError("This is not a curl command. Paste one that begins with curl.")
    words = list(_words(command.strip()))
    given = list(_options(words[1:]))
    urls = [value for name, value in given if name == "url"]
    if len(urls) != 1:
        raise ValueError(f"The command has {len(urls) or 'no'} URL{'s' * (len(urls) > 1)}. Paste one with one URL.")
    url = urls[0] if "://" in urls[0] else f"http://{urls[0]}"
    data = [value for name, value in given if name in ("data", "raw", "json")]
    methods = [value.upper() for name, value in given if name == "method"]
    method = methods[-1] if methods else ("POST" if data else "GET")
    return CurlRequest(_without_user(url), method, _headers(given, url), _json("&".join(data)) if data else None)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """The options with their values, those that say nothing about the request left out."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            yield "url", word
            continue
        options, attached = _split(word)
        for option in options:
            if option in _REFUSED:
                raise ValueError(_REFUSED[option])
            if option in _IGNORED:
                continue
            if option not in _VALUE_OF and option not in _IGNORED_WITH_VALUE:
                raise ValueError(f"{option[:40]} cannot be taken over. Remove it from the command.")
            value = attached or next(rest, None)
            if value is None:
                raise ValueError(f"{option} has no value. Copy the whole command.")
            name = _VALUE_OF.get(option)
            if name in ("data", "json", "header", "cookie") and value.startswith("@"):
                raise ValueError(
                    f"{option} reads the file {value[1:60]}, which is not here. Paste its content instead."
                )
            if name:
                yield name, value


def _split(word: str) -> tuple[list[str], str]:
    """``-sSXPOST`` is ``-s``, ``-S`` and ``-X`` with its value."""
    if word.startswith("--"):
        return [word], ""
    options = []
    for place, letter in enumerate(word[1:], 1):
        options.append(f"-{letter}")
        if f"-{letter}" not in _IGNORED:
            return options, word[place + 1 :]
    return options, ""


def _headers(given: list[tuple[str, str]], url: str) -> dict[str, str]:
    headers = {}
    for name, value in given:
        if name == "header":
            title, colon, content = value.partition(":")
            if not colon:
                raise ValueError(f"“{value[:40]}” is not a header. Write it as NAME: VALUE.")
            if title.strip().lower() == "content-type" and "json" not in content.lower():
                raise ValueError(f"The body is {content.strip()[:60]}. Paste a request whose body is JSON.")
            if content.strip() and not _NOT_SENT.fullmatch(title.strip().lower()):
                headers[title.strip()] = content.strip()
        elif name == "user":
            headers["Authorization"] = _basic(value)
        elif name in ("agent", "cookie", "bearer"):
            title, start = {"agent": ("User-Agent", ""), "cookie": ("Cookie", "")}.get(
                name, ("Authorization", "Bearer ")
            )
            headers[title] = start + value
    parts = urlsplit(url)
    if parts.username or parts.password:
        headers.setdefault("Authorization", _basic(f"{parts.username or ''}:{parts.password or ''}"))
    return headers


def _basic(user: str) -> str:
    return f"Basic {base64.b64encode(user.encode()).decode()}"


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ValueError(f"The body “{text[:40]}” is not JSON. Paste a request whose body is JSON.") from None


def _words(text: str) -> Iterator[str]:
    """The words as bash splits them. Raises ``ValueError`` for what only a shell can resolve."""
    if re.match(r'curl(\.exe)? .*\^(\n|")', text, re.DOTALL):
        raise ValueError("This is the form for Windows. Copy the request as cURL (bash).")
    word: str | None = None
    place = 0
    while place < len(text):
        sign = text[place]
        if sign in " \t\r\n":
            if word is not None:
                yield word
            word, place = None, place + 1
        elif text.startswith(("\\\n", "\\\r\n"), place):
            place = text.index("\n", place) + 1
        else:
            piece, place = _piece(text, place)
            word = (word or "") + piece
    if word is not None:
        yield word


def _piece(text: str, place: int) -> tuple[str, int]:
    """One sign or one quoted text, and where it ends."""
    if text[place] == "'":
        return _until_quote(text, place)
    if text.startswith("$'", place):
        return _ansi(text, place + 2)
    if text[place] == '"':
        return _double(text, place + 1)
    if text[place] == "\\":
        return text[place + 1 : place + 2], place + 2
    if text[place] in "|;<>&`":
        raise ValueError(f"“{text[place : place + 20]}” is for the shell. Paste the curl command alone.")
    _refuse_variable(text, place)
    return text[place], place + 1


def _until_quote(text: str, place: int) -> tuple[str, int]:
    end = text.find("'", place + 1)
    if end < 0:
        raise ValueError("A quotation mark is not closed. Copy the whole command.")
    return text[place + 1 : end], end + 1


def _double(text: str, place: int) -> tuple[str, int]:
    found: list[str] = []
    while place < len(text):
        sign = text[place]
        if sign == '"':
            return "".join(found), place + 1
        if sign == "\\" and text[place + 1 : place + 2] in ("\\", '"', "$", "`", "\n"):
            found.append(text[place + 1].replace("\n", ""))
            place += 2
            continue
        _refuse_variable(text, place)
        found.append(sign)
        place += 1
    raise ValueError("A quotation mark is not closed. Copy the whole command.")


def _ansi(text: str, place: int) -> tuple[str, int]:
    r"""The rest of ``$'…'``, in which browsers write line breaks as ``\n`` and other signs as ``\u0021``."""
    found: list[str] = []
    while place < len(text):
        if text[place] == "'":
            # Surrogates in pairs are one sign.
            joined = "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return joined, place + 1
        if text[place] != "\\":
            found.append(text[place])
            place += 1
        elif coded := _CODED.match(text, place + 1):
            number = int(next(filter(None, coded.groups())), 16)
            found.append(chr(number) if number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}")
            place = coded.end()
        else:
            sign = text[place + 1 : place + 2]
            found.append(_ESCAPES.get(sign, f"\\{sign}"))
            place += 2
    raise ValueError("A quotation mark is not closed. Copy the whole command.")


def _refuse_variable(text: str, place: int) -> None:
    if text[place] == "`" or re.match(r"\$[A-Za-z_{(]", text[place : place + 2]):
        shown = text[place : place + 30].split('"', maxsplit=1)[0].split(maxsplit=1)[0]
        raise ValueError(f"{shown} is for the shell, which knows its value. Paste the value instead.")
