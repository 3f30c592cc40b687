"""Supervise the processes of a development installation: start them, restart one that dies or freezes, stop them
together.

Each has its own process group, so Ctrl-C reaches only the supervisor, and stopping also reaches grandchildren. On
Linux, the kernel stops a child when the supervisor itself is killed, and a process that can run as a copy of the
supervisor does: it need not import again what takes most of its start. Elsewhere system libraries forbid that.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from django.db import connections

from benchmarks.engine.processes import STOPPED_SECONDS, is_stopped

COPIES = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15.0
QUICK_DEATH_SECONDS = 5.0
QUICK_DEATHS_ALLOWED = 3
LOOK_SECONDS = 1.0
"""How often to look for changed source files."""


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    arguments: tuple[str, ...]
    """After the Python interpreter."""
    copy: Callable[[], object] | None = None
    """What does the same in a copy of this process."""
    sockets: tuple[int, ...] = ()
    """File descriptors that it inherits. What listens here before it does accepts connections while it restarts."""


class Optional(Protocol):
    """A process that runs only while it is wanted."""

    def keep_running(self) -> None: ...
    def stop(self) -> None: ...


class Sources:
    """The Python files of a folder, which people edit while the processes run."""

    def __init__(self, folder: Path, module: str) -> None:
        """``module`` is what the processes import of the folder."""
        self.folder = folder
        self.module = module
        self._known = self._state()
        self._due = 0.0

    def changed(self) -> bool:
        """Whether a file has changed since the last call, and the module can still be imported; if not, say why."""
        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + LOOK_SECONDS
        if (state := self._state()) == self._known:
            return False
        self._known = state
        tried = subprocess.run(
            [sys.executable, "-c", f"import {self.module}"], capture_output=True, text=True, check=False
        )
        if tried.returncode:
            reason = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
            what = f"{self.folder.name}/ changed and cannot be loaded: {reason}. The earlier version stays in use."
            print(what, file=sys.stderr, flush=True)
        return not tried.returncode

    def _state(self) -> dict[Path, int]:
        state = {}
        for path in self.folder.rglob("*.py"):
            with contextlib.suppress(OSError):  # an editor may replace it at this moment
                state[path] = path.stat().st_mtime_ns
        return state


def supervise(processes: Sequence[Process], optional: Sequence[Optional] = (), sources: Sources | None = None) -> None:
    """Run the processes until SIGINT or SIGTERM, and restart them when a source file changes. Raises ``SystemExit`` if
    one keeps exiting."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    supervised = [_Supervised(process) for process in processes]
    try:
        while not stop.wait(0.2):
            if sources is not None and sources.changed():
                print(f"{sources.folder.name}/ changed. Restarting.", file=sys.stderr, flush=True)
                _stop_all(supervised)
                for process in supervised:
                    process.start_anew()
            for process in supervised:
                process.keep_running()
            for each in optional:
                each.keep_running()
    finally:
        for each in optional:
            each.stop()
        _stop_all(supervised)


@contextlib.contextmanager
def meanwhile(function: Callable[[], object]) -> Iterator[None]:
    """Run the function in a copy of this process while the body runs. Both have ended when the context does. Raises
    ``SystemExit`` if the function failed, which has said why. Without copies, it runs before the body.
    """
    if not COPIES:
        function()
        yield
        return
    copy = _Copy(function)
    yield
    if code := copy.wait(None):
        raise SystemExit(code)


class _Supervised:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.quick_deaths = 0
        self.may_copy = COPIES
        self._start()

    def start_anew(self) -> None:
        """Start with the source files as they are now, which a copy of the supervisor does not have."""
        self.may_copy = False
        self._start()

    def _start(self) -> None:
        self.started = self.last_seen_running = time.monotonic()
        if self.process.copy is not None and self.may_copy:
            self.running: _Copy | subprocess.Popen[bytes] = _Copy(self.process.copy)
            return
        self.running = subprocess.Popen(
            [sys.executable, *self.process.arguments],
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the supervisor has no other threads
            pass_fds=self.process.sockets,
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


class _Copy:
    """A copy of this process in which a function runs; has what ``_Supervised`` needs of ``Popen``."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.returncode: int | None = None
        connections.close_all()  # a connection belongs to one process
        sys.stdout.flush()  # what waits here would be printed by both
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run_and_exit(function, (reader, writer))
        os.close(writer)
        os.read(reader, 1)  # ends once the copy has its process group, or has ended
        os.close(reader)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = STOP_SECONDS) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a copy of this process", timeout or 0)
            time.sleep(0.01)
        return code


def _run_and_exit(function: Callable[[], object], pipe: tuple[int, int]) -> NoReturn:
    """Never returns to the supervisor's code, whose end would stop the other processes."""
    code = 1
    try:
        os.setsid()
        die_with_parent()
        for end_of_pipe in pipe:
            os.close(end_of_pipe)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        function()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)


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
