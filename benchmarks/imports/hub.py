"""Files of datasets on the Hugging Face Hub, or on a mirror that serves the same paths.

Files are stored below a directory by repository and commit, so a pinned revision is fetched once and then read without
a connection. The token goes to the hub only: not to the hosts it redirects to, not into messages, not to disk.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.tables import EXTENSIONS
from benchmarks.outbound import PUBLIC_ONLY, NotAllowed, Outbound

MAX_INFO = 20_000_000
"""Bytes of the description of a repository; one of 50,000 files has some 10 MB."""
MAX_FILE = 128_000_000
"""Bytes of one file."""
MAX_FILES = 64
"""Files of one import."""
CONNECT_S, READ_S = 10.0, 30.0

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9](?:[\w.-]|/(?=[\w])){0,199}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PART = re.compile(r"[\w.-]{1,100}", re.ASCII)
_ADDRESS = re.compile(
    r"hf:(?P<repository>[^:/@]+/[^:/@]+)(?::(?P<config>[^:/@]+))?(?:/(?P<split>[^:/@]+))?(?:@(?P<revision>.+))?"
)
_FORM = "hf:OWNER/NAME, hf:OWNER/NAME:CONFIG/SPLIT or hf:OWNER/NAME@REVISION"


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A dataset on the hub; empty parts are the usual ones."""

    repository: str
    config: str = ""
    split: str = ""
    revision: str = ""


def hub_address(text: str) -> HubAddress:
    """Read ``hf:OWNER/NAME[:CONFIG][/SPLIT][@REVISION]``. Raises ``ImportProblem``."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ImportProblem(f"{quoted(text)} is not a dataset of the hub: use {_FORM}")
    parts = {name: value or "" for name, value in match.groupdict().items()}
    for name, rule in (("repository", _REPOSITORY), ("config", _PART), ("split", _PART), ("revision", _REVISION)):
        if parts[name] and (not rule.fullmatch(parts[name]) or ".." in parts[name]):
            raise ImportProblem(f"{quoted(parts[name])} is not a valid {name}: use {_FORM}")
    return HubAddress(**parts)


@dataclass(frozen=True, slots=True)
class Repository:
    """What the hub says of a dataset at one commit. ``sha256`` has the files that the hub gives one for."""

    name: str
    commit: str
    license: str
    files: tuple[str, ...]
    sha256: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Config → split → patterns of files, as its card declares them."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Where files come from (``endpoint``, a URL), and where they are stored.

    The requests of one call take at most ``total_s`` seconds. Redirects are followed to where ``outbound`` permits.
    """

    directory: Path
    endpoint: str
    token: str = field(default="", repr=False)
    total_s: float = 300.0
    outbound: Outbound = PUBLIC_ONLY

    def repository(self, name: str, revision: str = "main") -> Repository:
        """The repository at a branch, tag or commit. Raises ``ImportProblem``."""
        if _COMMIT.fullmatch(revision) and (stored := self._stored(self._place(name, revision) / ".repository.json")):
            return _repository(name, stored)
        url = f"{self._base()}/api/datasets/{name}/revision/{quote(revision, safe='')}?blobs=true"
        data = self._run(self._fetch(url, MAX_INFO, self.total_s), name, revision)
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        repository = _repository(name, document)
        if repository.commit == revision:
            _write(self._place(name, revision) / ".repository.json", data)
        return repository

    def files(self, repository: Repository, paths: list[str]) -> list[Path]:
        """The files of a repository on this machine, fetched if they are not there. Raises ``ImportProblem``."""
        if len(paths) > MAX_FILES:
            raise ImportProblem(f"{repository.name} has {len(paths)} files for this split; the limit is {MAX_FILES}")
        root = self._place(repository.name, repository.commit)
        targets = [root / path for path in paths]
        missing = [(path, target) for path, target in zip(paths, targets, strict=True) if not target.is_file()]
        if missing:
            urls = {
                path: f"{self._base()}/datasets/{repository.name}/resolve/{repository.commit}/{quote(path)}"
                for path, _ in missing
            }
            contents = self._run(self._fetch_all(urls), repository.name, repository.commit, [*urls])
            for path, target in missing:
                expected = repository.sha256.get(path)
                if expected and hashlib.sha256(contents[path]).hexdigest() != expected:
                    raise ImportProblem(
                        f"{repository.name}: {quoted(path)} arrived damaged (its SHA-256 differs): import it again"
                    )
                _write(target, contents[path])
        return targets

    def _base(self) -> str:
        parts = urlsplit(self.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise ImportProblem("HF_ENDPOINT is not an HTTP(S) URL without a password: set it to one, or leave it out")
        return self.endpoint.rstrip("/")

    def _headers(self) -> dict[str, str]:
        return {
            "User-Agent": "codeforge-benchmarks",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }

    def _place(self, name: str, commit: str) -> Path:
        return self.directory / name.replace("/", "--") / commit

    def _stored(self, path: Path) -> Any:
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None

    def _run(self, request: Any, name: str, revision: str, files: list[str] | None = None) -> Any:
        """The result of a request, with a message that says what to do in place of its errors."""
        import aiohttp  # takes a tenth of the start of a process, and most fetch nothing

        where = f"{self._base()}: {name}@{revision[:12]}" + (f": {files[0]}" if files and len(files) == 1 else "")
        instead = (
            "Check the connection, set HF_ENDPOINT to a mirror, or download the file elsewhere and import it as a table"
        )
        try:
            return asyncio.run(request)
        except _Refused as refusal:
            raise ImportProblem(f"{where}: {self._refusal(refusal, name)}") from None
        except TimeoutError:
            raise ImportProblem(f"{where}: no complete response in time. {instead}") from None
        except aiohttp.ClientError as error:
            cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
            if isinstance(cause, NotAllowed):
                raise ImportProblem(f"{where}: {cause}") from None
            reason = cause.strerror if cause else None
            raise ImportProblem(
                f"{where}: cannot be reached ({printable(reason or type(error).__name__)}). {instead}"
            ) from None

    async def _fetch_all(self, urls: Mapping[str, str]) -> dict[str, bytes]:
        """The bodies by path, one after the other."""
        deadline = asyncio.get_running_loop().time() + self.total_s
        contents = {}
        for path, url in urls.items():
            left = deadline - asyncio.get_running_loop().time()
            contents[path] = await self._fetch(url, MAX_FILE, max(left, 0.001), path)
        return contents

    async def _fetch(self, url: str, limit: int, total_s: float, path: str = "it") -> bytes:
        """The body. Raises ``_Refused`` for a status that is no success, and for more than ``limit`` bytes."""
        import aiohttp

        # A proxy is asked to resolve the names, and decides itself what may be reached through it.
        outbound = self.outbound.and_to(self.endpoint, *getproxies().values())
        timeout = aiohttp.ClientTimeout(total=total_s, connect=CONNECT_S, sock_read=READ_S)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True, connector=outbound.connector()) as session,
            session.get(url, headers=self._headers(), max_redirects=5) as response,
        ):
            if response.status != 200:
                raise _Refused(response.status, response.headers.get("X-Error-Code", "")[:40], quoted(path))
            body = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                body += chunk
                if len(body) > limit:
                    raise _Refused(413, "", quoted(path), limit)
            return bytes(body)

    def _refusal(self, refusal: _Refused, name: str) -> str:
        token = "The token in HF_TOKEN has no access" if self.token else "It needs a token"
        page = f"{self._base()}/datasets/{name}"
        denied = f"access is restricted. {token}: accept the terms at {page}, and set HF_TOKEN to a token of yours"
        missing = "the dataset does not exist, or it is private. Check owner and name; private ones need HF_TOKEN"
        by_code = {
            "RevisionNotFound": "this revision does not exist. Leave @REVISION out, or use a branch, tag or commit",
            "EntryNotFound": f"{refusal.path} does not exist",
            "RepoNotFound": missing,
        }
        by_status = {
            401: denied,
            403: denied,
            404: missing,
            413: f"{refusal.path} exceeds the limit of {refusal.limit / 1e6:,.0f} MB. Choose another split or config",
            429: "too many requests. Try again in a few minutes, or set HF_TOKEN",
        }
        other = f"the hub failed with HTTP status {refusal.status}. Try again later"
        return by_code.get(refusal.code) or by_status.get(refusal.status, other)


class _Refused(Exception):
    def __init__(self, status: int, code: str, path: str, limit: int = 0) -> None:
        super().__init__(status)
        self.status, self.code, self.path, self.limit = status, code, path, limit


def _repository(name: str, document: Any) -> Repository:
    """Read the hub's description. What is not of the documented form is left out, except the commit and the files."""
    siblings = document.get("siblings") if isinstance(document, dict) else None
    commit = document.get("sha") if isinstance(document, dict) else None
    if not isinstance(siblings, list) or not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise ImportProblem(f"{name}: the hub's description has no commit or no files: check HF_ENDPOINT")
    listed = [each for each in siblings if isinstance(each, dict) and _is_plain(each.get("rfilename"))]
    sums = {each["rfilename"]: each["lfs"].get("sha256") for each in listed if isinstance(each.get("lfs"), dict)}
    card = document.get("cardData")
    card = card if isinstance(card, dict) else {}
    licenses = card.get("license")
    return Repository(
        name=name,
        commit=commit,
        license=printable(", ".join(map(str, licenses)) if isinstance(licenses, list) else str(licenses or ""))[:100],
        files=tuple(sorted(each["rfilename"] for each in listed)),
        sha256={path: value for path, value in sums.items() if isinstance(value, str)},
        configs=_configs(card.get("configs")),
    )


def _is_plain(path: object) -> bool:
    """Whether a path stays inside the directory of its commit."""
    if not isinstance(path, str) or not 0 < len(path) <= 500 or "\\" in path or not path.isprintable():
        return False
    return not path.startswith("/") and not {"", ".", ".."} & set(path.split("/"))


def _configs(value: object) -> dict[str, dict[str, tuple[str, ...]]]:
    """``configs`` of a card: ``data_files`` is a pattern, a list of patterns, or a list of splits with patterns."""
    configs: dict[str, dict[str, tuple[str, ...]]] = {}
    for config in value if isinstance(value, list) else []:
        if not isinstance(config, dict) or not isinstance(config.get("config_name"), str):
            continue
        files = config.get("data_files")
        splits = configs.setdefault(config["config_name"], {})
        for entry in files if isinstance(files, list) else [files]:
            split, path = (entry.get("split"), entry.get("path")) if isinstance(entry, dict) else ("train", entry)
            patterns = [each for each in (path if isinstance(path, list) else [path]) if isinstance(each, str)]
            if isinstance(split, str) and patterns:
                splits[split] = (*splits.get(split, ()), *patterns)
    return {name: splits for name, splits in configs.items() if splits}


def matching(repository: Repository, pattern: str) -> list[str]:
    """The files that a pattern such as ``data/test-*.parquet`` matches, in order."""
    return [path for path in repository.files if fnmatchcase(path, pattern.replace("**/", "*"))]


def table_files(repository: Repository, config: str, split: str) -> tuple[str, str, list[str]]:
    """Config, split and files with its rows: as the card declares them, or else by the names of files and folders.

    Without a ``config``, the default one or the only one; without a ``split``, test before validation before train.
    Of the same split in several formats, text comes before Parquet. Raises ``ImportProblem`` with the choices.
    """
    configs = repository.configs or _configs_by_name(repository)
    if not configs:
        raise ImportProblem(
            f"{repository.name} has no tables ({', '.join(EXTENSIONS)}), only files such as "
            f"{', '.join(map(quoted, repository.files[:3])) or 'none'}: convert them to one of these formats"
        )
    if not config:
        usual = [name for name in ("default", "main", "all") if name in configs]
        if not usual and len(configs) > 1:
            raise ImportProblem(f"{repository.name} has several configs: add one of {_listed(configs)} as :CONFIG")
        config = usual[0] if usual else next(iter(configs))
    if config not in configs:
        raise ImportProblem(f"{repository.name} has no config {quoted(config)}: use one of {_listed(configs)}")
    splits = configs[config]
    split = split or next((name for name in ("test", "validation", "dev", "train") if name in splits), min(splits))
    if split not in splits:
        raise ImportProblem(f"{repository.name} has no split {quoted(split)}: use one of {_listed(splits)}")
    paths = dict.fromkeys(path for pattern in splits[split] for path in matching(repository, pattern))
    for extension in EXTENSIONS:
        if of_format := [path for path in paths if path.lower().endswith(extension)]:
            return config, split, of_format
    raise ImportProblem(f"{repository.name}: no table for {quoted(split)} of {quoted(config)}")


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(map(quoted, sorted(names)[:30])) + (", …" if len(names) > 30 else "")


def _configs_by_name(repository: Repository) -> dict[str, dict[str, tuple[str, ...]]]:
    configs: dict[str, dict[str, tuple[str, ...]]] = {}
    for path in repository.files:
        pure = PurePosixPath(path)
        if pure.suffix.lower() not in EXTENSIONS:
            continue
        words = re.split(r"[/_.-]", path.lower())
        split = next((name for name in ("test", "validation", "dev", "train") if name in words), "train")
        folder = pure.parts[0] if len(pure.parts) > 1 and pure.parts[0] not in ("data", split) else "default"
        splits = configs.setdefault(folder, {})
        splits[split] = (*splits.get(split, ()), path)
    return configs


def _write(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing. Raises ``ImportProblem``."""
    unfinished = path.with_name(f".{secrets.token_hex(8)}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ImportProblem(f"cannot write {path}: {error.strerror}") from None
