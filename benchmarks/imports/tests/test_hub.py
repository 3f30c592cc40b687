"""The client of the hub, against a mirror on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.imports import hub as hub_module
from benchmarks.imports.hub import Hub, HubAddress, Repository, hub_address, table_files
from benchmarks.imports.runs import ImportProblem
from benchmarks.outbound import REFUSED
from tests.support.hub_mirror import HEAD, Mirror, mirror_of_the_hub

COMMIT = "a" * 40
KEY = "hf_secret_of_a_test"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with mirror_of_the_hub() as mirror:
        mirror.files["own/set"] = {"test.jsonl": b'{"a": 1}\n', "data/train-0.csv": b"a\n1\n", "README.md": b"x"}
        yield mirror


@pytest.fixture
def hub(mirror: Mirror, tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub", mirror.url, total_s=5.0)


def fetch(hub: Hub, revision: str = COMMIT, path: str = "test.jsonl") -> bytes:
    (file,) = hub.files(hub.repository("own/set", revision), [path])
    return file.read_bytes()


def test_a_pinned_file_is_fetched_once_and_then_read_without_a_connection(hub: Hub, mirror: Mirror) -> None:
    assert fetch(hub) == fetch(hub) == b'{"a": 1}\n'
    assert [path for path, _ in mirror.requests] == [
        f"/api/datasets/own/set/revision/{COMMIT}",
        f"/datasets/own/set/resolve/{COMMIT}/test.jsonl",
    ]
    assert fetch(replace(hub, endpoint="http://127.0.0.1:1")) == b'{"a": 1}\n'


def test_a_branch_is_asked_for_each_time_and_its_files_are_those_of_its_commit(hub: Hub, mirror: Mirror) -> None:
    mirror.revisions["next"] = COMMIT
    assert hub.repository("own/set").commit == HEAD
    assert hub.repository("own/set", "next").commit == COMMIT
    assert fetch(hub, "next") == fetch(hub, "next")
    assert sum("resolve" in path for path, _ in mirror.requests) == 1
    assert hub.repository("own/set").license == "mit"


def test_a_redirect_leads_to_permitted_addresses_only(hub: Hub, mirror: Mirror) -> None:
    mirror.storage = "http://10.0.0.1:1"
    with pytest.raises(ImportProblem, match=REFUSED):
        fetch(hub)


def test_the_token_goes_to_the_hub_alone(hub: Hub, mirror: Mirror, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    mirror.gated["own/set"] = KEY
    with pytest.raises(ImportProblem, match=r"access is restricted\. It needs a token: accept .*/own/set,"):
        fetch(hub)
    with pytest.raises(ImportProblem, match="HF_TOKEN has no access") as refusal:
        fetch(replace(hub, token=KEY + "x"))
    assert KEY not in str(refusal.value)
    with mirror_of_the_hub() as storage:
        storage.files = mirror.files
        mirror.storage = storage.url.replace("127.0.0.1", "localhost")
        known = replace(hub, token=KEY)
        assert fetch(known) == b'{"a": 1}\n'
        assert [authorization for _, authorization in storage.requests] == [""]
    assert mirror.requests[-1][1] == f"Bearer {KEY}"
    assert KEY not in repr(known)
    assert KEY not in caplog.text
    assert not any(KEY.encode() in file.read_bytes() for file in hub.directory.rglob("*") if file.is_file())


REFUSALS: list[tuple[dict[str, Any], tuple[str, str], str]] = [
    ({"status": 429}, (COMMIT, "test.jsonl"), "too many requests. Try again in a few minutes, or set HF_TOKEN"),
    ({"status": 503}, (COMMIT, "test.jsonl"), "the hub failed with HTTP status 503. Try again later"),
    ({}, ("v9", "test.jsonl"), "this revision does not exist. Leave @REVISION out"),
    ({}, (COMMIT, "gone.jsonl"), '"gone.jsonl" does not exist'),
    ({"damaged": True}, (COMMIT, "test.jsonl"), '"test.jsonl" arrived damaged (its SHA-256 differs): import it again'),
    ({"files": {}}, (COMMIT, "test.jsonl"), "the dataset does not exist, or it is private. Check owner and name"),
]


@pytest.mark.parametrize(("state", "asked", "message"), REFUSALS)
def test_refusals_say_where_what_and_what_instead(
    hub: Hub, mirror: Mirror, state: dict[str, Any], asked: tuple[str, str], message: str
) -> None:
    for name, value in state.items():
        setattr(mirror, name, value)
    with pytest.raises(ImportProblem) as refusal:
        fetch(hub, *asked)
    assert message in str(refusal.value)
    assert "own/set" in str(refusal.value)
    assert not list(hub.directory.rglob("*.jsonl")), "nothing half-fetched stays"


def test_without_a_connection_the_message_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem) as refusal:
        Hub(tmp_path, "http://127.0.0.1:1", KEY).repository("own/set", COMMIT)
    message = str(refusal.value)
    assert message.startswith(f"http://127.0.0.1:1: own/set@{COMMIT[:12]}: cannot be reached (Connect")
    assert "set HF_ENDPOINT to a mirror, or download the file elsewhere and import it as a table" in message
    assert KEY not in message
    for endpoint in ("ftp://x", "http://user:pass@host", ""):
        with pytest.raises(ImportProblem, match="HF_ENDPOINT is not an HTTP") as refused:
            Hub(tmp_path, endpoint).repository("own/set", COMMIT)
        assert "pass@" not in str(refused.value)


def test_a_hub_that_does_not_answer_ends_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = Hub(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}", total_s=0.2)
        with pytest.raises(ImportProblem, match="no complete response in time"):
            hub.repository("own/set", COMMIT)


def test_sizes_and_numbers_of_files_are_bounded(hub: Hub, mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MAX_FILE", 5)
    with pytest.raises(ImportProblem, match=r'"test.jsonl" exceeds the limit of 0 MB'):
        fetch(hub)
    repository = hub.repository("own/set", COMMIT)
    with pytest.raises(ImportProblem, match="has 65 files for this split; the limit is 64"):
        hub.files(repository, ["x"] * 65)


def test_paths_that_leave_the_folder_are_not_files(hub: Hub, mirror: Mirror) -> None:
    hostile = ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\\b", "a\x00b", "", "a//b", "./a", "x" * 501]
    mirror.siblings = hostile
    assert not set(hostile) & set(hub.repository("own/set", COMMIT).files)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"sha": "x", "siblings": []}', b'{"siblings": 1, "sha": "' + b"a" * 40 + b'"}', b"[" * 10**5],
)
def test_a_description_of_another_form_is_refused(
    hub: Hub, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(Mirror, "_description", lambda *arguments: body)
    with pytest.raises(ImportProblem, match="own/set: the hub's description has no commit or no files: check HF_ENDP"):
        hub.repository("own/set")
    assert not list(hub.directory.rglob("*"))


ADDRESSES: list[tuple[str, HubAddress | None]] = [
    ("hf:openai/gsm8k", HubAddress("openai/gsm8k")),
    ("hf:cais/mmlu:all/dev@main", HubAddress("cais/mmlu", "all", "dev", "main")),
    ("hf:a/b/test", HubAddress("a/b", "", "test")),
    ("hf:a/b:c", HubAddress("a/b", "c")),
    ("hf:a/b@refs/convert/parquet", HubAddress("a/b", revision="refs/convert/parquet")),
    ("hf:gsm8k", None),
    ("hf:a/../b", None),
    ("hf:a/b@../../x", None),
    ("hf:a/b@", None),
    ("hf:a/b:c d", None),
    ("hf:-a/b", None),
    ("hf:a/b/c/d", None),
    ("hf:a/b@x?y", None),
    ("hf:ä/b", None),
]


@pytest.mark.parametrize(("text", "address"), ADDRESSES)
def test_addresses(text: str, address: HubAddress | None) -> None:
    if address is not None:
        assert hub_address(text) == address
        return
    with pytest.raises(ImportProblem, match="use hf:OWNER/NAME"):
        hub_address(text)


CARD = {"default": {"train": ("data/train-*",), "test": ("data/test-*", "more.csv")}, "extra": {"test": ("x/*",)}}
FILES = ("data/test-0.parquet", "data/test-1.parquet", "data/train-0.parquet", "more.csv", "x/a.jsonl", "x/a.parquet")


@pytest.mark.parametrize(
    ("configs", "files", "asked", "found"),
    [
        (CARD, FILES, ("", ""), ("default", "test", ["more.csv"])),
        (CARD, FILES[:3], ("", ""), ("default", "test", ["data/test-0.parquet", "data/test-1.parquet"])),
        (CARD, FILES, ("extra", ""), ("extra", "test", ["x/a.jsonl"])),
        (CARD, FILES, ("", "train"), ("default", "train", ["data/train-0.parquet"])),
        ({}, FILES, ("", ""), ("default", "test", ["data/test-0.parquet", "data/test-1.parquet"])),
        ({}, FILES, ("x", ""), ("x", "train", ["x/a.jsonl"])),
        ({}, ("rows.jsonl",), ("", ""), ("default", "train", ["rows.jsonl"])),
        ({}, ("b/test.csv", "c/test.csv"), ("", ""), 'several configs: add one of "b", "c" as :CONFIG'),
        ({}, ("b/test.csv",), ("d", ""), 'no config "d": use one of "b"'),
        ({}, ("b/test.csv",), ("b", "dev"), 'no split "dev": use one of "test"'),
        ({}, ("model.bin", "README.md"), ("", ""), 'only files such as "model.bin", "README.md"'),
        (CARD, (), ("", ""), 'no table for "test" of "default"'),
    ],
)
def test_the_files_of_a_split(configs: Any, files: tuple[str, ...], asked: tuple[str, str], found: Any) -> None:
    repository = Repository("own/set", COMMIT, "", files, {}, configs)
    if isinstance(found, str):
        with pytest.raises(ImportProblem) as refusal:
            table_files(repository, *asked)
        assert found in str(refusal.value)
    else:
        assert table_files(repository, *asked) == found


def test_the_card_gives_configs_splits_and_license(hub: Hub, mirror: Mirror) -> None:
    data_files = [{"split": "test", "path": ["a*", "b*"]}, {"split": "train", "path": "c*"}, {"path": 1}, 7]
    mirror.cards["own/set"] = {
        "license": ["mit", "cc-by-4.0"],
        "configs": [
            {"config_name": "x", "data_files": data_files},
            {"config_name": "y", "data_files": "d.csv"},
            {"config_name": 5},
            "z",
        ],
    }
    repository = hub.repository("own/set")
    assert repository.license == "mit, cc-by-4.0"
    assert repository.configs == {"x": {"test": ("a*", "b*"), "train": ("c*",)}, "y": {"train": ("d.csv",)}}
