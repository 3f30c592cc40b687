"""Processes that are gone or stopped, and who holds SQLite's write lock."""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.engine import processes
from benchmarks.engine.processes import WriterWatch, exists, is_stopped, writer_of

pytestmark = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux shows this")

WRITER = """
import os, signal, sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("BEGIN IMMEDIATE")
print("writing", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "some.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE numbers (number)")
        yield path
    connection.close()


@pytest.fixture
def writers() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start_writer(database: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process in the middle of a transaction that writes."""
    command = (sys.executable, "-c", WRITER, str(database), *arguments)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    while not is_stopped(process.pid):
        pass


def test_a_process_that_ended_does_not_exist_even_before_its_parent_notices(database: Path) -> None:
    process = start_writer(database)
    assert exists(process.pid)
    process.kill()
    while exists(process.pid):
        pass
    assert process.returncode is None, "nobody has waited for it"
    process.communicate()
    assert not exists(process.pid)


def test_the_writer_of_a_database_is_known_while_it_writes(
    database: Path, writers: list[subprocess.Popen[str]]
) -> None:
    assert writer_of(database) is None
    writers.append(start_writer(database))
    assert writer_of(database) == writers[0].pid
    assert writer_of(database.with_name("other.sqlite3")) is None
    writers[0].communicate("")
    assert writer_of(database) is None


def test_a_worker_stopped_while_it_writes_is_killed_after_a_while(
    database: Path, writers: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    writers.append(start_writer(database, "celery"))
    watch = WriterWatch(database)
    monkeypatch.setattr(processes, "STOPPED_SECONDS", 0.0)
    for _ in range(3):
        watch.look()
    assert writers[0].poll() is None, "a worker that runs may write for as long as it takes"
    stop(writers[0])
    watch.look()
    assert writers[0].poll() is None, "a short stop is left alone"
    watch.look()
    assert writers[0].wait(timeout=10) == -signal.SIGKILL
    assert writer_of(database) is None


def test_of_another_stopped_process_the_log_says_what_to_do(
    database: Path,
    writers: list[subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    writers.append(start_writer(database))
    stop(writers[0])
    monkeypatch.setattr(processes, "STOPPED_SECONDS", 0.0)
    watch = WriterWatch(database)
    with caplog.at_level(logging.ERROR):
        watch.look()
        watch.look()
    assert f"kill -CONT {writers[0].pid}" in caplog.text
    assert is_stopped(writers[0].pid)
