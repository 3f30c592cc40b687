"""The supervisor of ``make run`` keeps its processes running."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codeforge import supervisor
from codeforge.supervisor import Process


@pytest.mark.parametrize("copy", [None, lambda: time.sleep(60)], ids=["interpreter", "copy"])
def test_a_stopped_process_is_killed_and_started_again(
    copy: Callable[[], object] | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "STOPPED_SECONDS", 0.2)
    child = supervisor._Supervised(Process("worker", ("-c", "import time; time.sleep(60)"), copy))
    first = child.running
    try:
        child.keep_running()
        os.kill(first.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 10
        while child.running is first and time.monotonic() < deadline:
            child.keep_running()
        assert first.returncode == -signal.SIGKILL
        assert child.running is not first
        assert child.running.poll() is None
    finally:
        child.signal(signal.SIGKILL)
        child.running.wait()
    assert "worker has been stopped by a signal. Killing it." in capsys.readouterr().err


@pytest.mark.parametrize("copies", [True, False])
def test_what_is_prepared_meanwhile_has_ended_after_the_body(
    copies: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(supervisor, "COPIES", copies and supervisor.COPIES)
    with supervisor.meanwhile((tmp_path / "prepared").touch):
        pass
    assert (tmp_path / "prepared").exists()


@pytest.mark.skipif(not supervisor.COPIES, reason="without copies, the error ends this process itself")
def test_preparations_that_fail_end_the_start(capfd: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise ValueError("the disk is full")

    with pytest.raises(SystemExit) as end, supervisor.meanwhile(refuse):
        pass
    assert end.value.code == 1
    assert "the disk is full" in capfd.readouterr().err


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> supervisor.Sources:
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "registered.py").write_text("A = 1\n")
    return supervisor.Sources(tmp_path / "classes", "classes.registered")


def test_a_source_file_that_was_added_is_noticed_once(sources: supervisor.Sources) -> None:
    assert not sources.changed()
    (sources.folder / "new_task.py").write_text("B = 2\n")
    assert sources.changed()
    assert not sources.changed()


def test_a_source_file_that_cannot_be_imported_restarts_nothing(
    sources: supervisor.Sources, capsys: pytest.CaptureFixture[str]
) -> None:
    (sources.folder / "registered.py").write_text("from classes.absent import C\n")
    assert not sources.changed()
    said = capsys.readouterr().err
    assert "No module named 'classes.absent'" in said
    assert "The earlier version stays in use." in said
    (sources.folder / "absent.py").write_text("C = 3\n")
    assert sources.changed()


def test_a_process_started_anew_is_no_copy() -> None:
    child = supervisor._Supervised(Process("worker", ("-c", "import time; time.sleep(60)"), lambda: time.sleep(60)))
    try:
        child.signal(signal.SIGKILL)
        child.running.wait()
        child.start_anew()
        assert not isinstance(child.running, supervisor._Copy)
        assert child.running.poll() is None
    finally:
        child.signal(signal.SIGKILL)
        child.running.wait()


ONCE = "import socket; there, _ = socket.socket(fileno={}).accept(); there.sendall(b'here'); there.recv(1)"
"""Answers one connection."""


def test_connections_wait_while_a_process_that_inherits_a_socket_restarts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        inherited = listener.fileno()
        child = supervisor._Supervised(Process("web", ("-c", ONCE.format(inherited)), sockets=(inherited,)))
        try:
            child.signal(signal.SIGKILL)
            child.running.wait()
            with socket.create_connection(listener.getsockname(), timeout=30) as connection:
                child.start_anew()
                assert connection.recv(4) == b"here"
        finally:
            child.signal(signal.SIGKILL)
            child.running.wait()
