"""Keeping a few processes of ours running together: started together, restarted when one dies, stopped together.

Each runs in a process group of its own, so that Ctrl-C reaches only the supervisor and stopping reaches grandchildren.
On Linux a child is also told by the kernel to stop when the supervisor itself is killed.
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

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15.0
QUICK_DEATH_SECONDS = 5.0
QUICK_DEATHS_ALLOWED = 3


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    arguments: tuple[str, ...]
    """After the Python interpreter."""


def supervise(processes: Sequence[Process]) -> None:
    """Run the processes until SIGINT or SIGTERM. Raises ``SystemExit`` where one cannot be kept running."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    watched = [_Watched(process) for process in processes]
    try:
        while not stop.wait(0.2):
            for one in watched:
                one.keep_running()
    finally:
        _stop_all(watched)


class _Watched:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.quick_deaths = 0
        self._start()

    def _start(self) -> None:
        self.started = time.monotonic()
        self.running = subprocess.Popen(
            [sys.executable, *self.process.arguments],
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - the supervisor has no other threads
        )

    def keep_running(self) -> None:
        code = self.running.poll()
        if code is None:
            return
        quick = time.monotonic() - self.started < QUICK_DEATH_SECONDS
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        if self.quick_deaths >= QUICK_DEATHS_ALLOWED:
            raise SystemExit(f"{self.process.name} cannot be kept running (exit code {code}); its output says why.")
        print(f"{self.process.name} ended with exit code {code}; starting it again.", file=sys.stderr, flush=True)
        self._start()

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.running.pid, number)
        except ProcessLookupError:
            return


def _stop_all(watched: Sequence[_Watched]) -> None:
    for one in watched:
        one.signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for one in watched:
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.running.wait(max(deadline - time.monotonic(), 0.1))
        one.signal(signal.SIGKILL)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
