"""Supervise the processes of a development installation: start them, restart one that dies or freezes, stop them
together.

Each has its own process group, so Ctrl-C reaches only the supervisor, and stopping also reaches grandchildren. On
Linux, the kernel stops a child when the supervisor itself is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.engine.processes import STOPPED_SECONDS, is_stopped

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15.0
QUICK_DEATH_SECONDS = 5.0
QUICK_DEATHS_ALLOWED = 3


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    arguments: tuple[str, ...]
    """After the Python interpreter."""


class Optional(Protocol):
    """A process that runs only while it is wanted."""

    def keep_running(self) -> None: ...
    def stop(self) -> None: ...


def supervise(processes: Sequence[Process], optional: Sequence[Optional] = ()) -> None:
    """Run the processes until SIGINT or SIGTERM. Raises ``SystemExit`` if one keeps exiting."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    supervised = [_Supervised(process) for process in processes]
    try:
        while not stop.wait(0.2):
            for process in supervised:
                process.keep_running()
            for each in optional:
                each.keep_running()
    finally:
        for each in optional:
            each.stop()
        _stop_all(supervised)


class _Supervised:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.quick_deaths = 0
        self._start()

    def _start(self) -> None:
        self.started = self.last_seen_running = time.monotonic()
        self.running = subprocess.Popen(
            [sys.executable, *self.process.arguments],
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the supervisor has no other threads
        )

    def keep_running(self) -> None:
        code = self.running.poll()
        if code is None:
            self._kill_if_stopped()
            return
        quick = time.monotonic() - self.started < QUICK_DEATH_SECONDS
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        if self.quick_deaths >= QUICK_DEATHS_ALLOWED:
            raise SystemExit(f"{self.process.name} keeps exiting (exit code {code}). For the cause, see its output.")
        print(f"{self.process.name} exited with code {code}. Restarting it.", file=sys.stderr, flush=True)
        self._start()

    def _kill_if_stopped(self) -> None:
        """A stopped process keeps SQLite's write lock and what it works on, and nobody could continue it from here."""
        if not is_stopped(self.running.pid):
            self.last_seen_running = time.monotonic()
        elif time.monotonic() - self.last_seen_running > STOPPED_SECONDS:
            print(f"{self.process.name} has been stopped by a signal. Killing it.", file=sys.stderr, flush=True)
            self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.running.pid, number)
        except ProcessLookupError:
            return


def _stop_all(supervised: Sequence[_Supervised]) -> None:
    for process in supervised:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for process in supervised:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.running.wait(max(deadline - time.monotonic(), 0.1))
        process.signal(signal.SIGKILL)  # to the group: grandchildren may outlive their parent


def die_with_parent() -> None:
    """For ``preexec_fn``: on Linux, end with the supervisor."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
