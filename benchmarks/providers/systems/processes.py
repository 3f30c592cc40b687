"""Long-lived processes that answer tasks: a JSON line for each on stdin, a JSON line for each on stdout.

A process that exits, floods its output or writes something else is killed with its children, and its tasks fail; the
next task starts another. What it writes to stderr is read and its last lines are kept for the error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchmarks.providers.base import ProviderError
from benchmarks.providers.clean_text import shortened, storable
from benchmarks.providers.reading import parse_json

MOST_BYTES = 16 * 2**20
"""The longest line of a reply."""
CANNOT_WORK = 78
"""Exit code of a program that will answer no task, such as one that lacks a package; ``EX_CONFIG`` of sysexits.h."""
_STDERR_BYTES = 4_000
_ENDING_SECONDS = 1.0
_STDERR_SHOWN = 400
_OURS = ("CODEFORGE_", "DJANGO_", "CELERY_", "OIDC_", "POSTGRES_", "REDIS_", "DATABASE_URL", "SECRET_KEY")


@dataclass(frozen=True, slots=True)
class Program:
    """``parallel`` tasks at the same time need replies that repeat the task's ``request``. Without ``reuse``, a process
    answers one task and gets the end of its input after it."""

    arguments: Sequence[str]
    folder: str | None = None
    parallel: int = 1
    reuse: bool = True

    def environment(self) -> dict[str, str]:
        """That of the worker without our own settings, which hold the database's password."""
        return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


class Processes:
    """Up to ``most`` processes of a program. Belongs to one event loop, and ends with ``close``."""

    def __init__(self, program: Program, most: int) -> None:
        self._program = program
        self._places = asyncio.Semaphore(most * program.parallel)
        self._most = most
        self._running: list[_Process] = []
        self._starting = asyncio.Lock()

    async def answer(self, task: Mapping[str, Any], seconds: float) -> tuple[Any, float]:
        """The decoded line that answers a task, and how many milliseconds it took once a process had it.

        Raises ``ProviderError``. Canceling kills the process, unless it answers other tasks at the same time.
        """
        async with self._places:
            process = await self._free()
            began = time.perf_counter()
            try:
                async with asyncio.timeout(seconds):
                    reply = await process.ask(task)
            except TimeoutError:
                process.retire()
                message = f"No answer within {seconds:g} s{process.last_words()}"
                raise ProviderError("timeout", message, retryable=True) from None
            except BaseException:
                process.retire()
                raise
            if not self._program.reuse:
                process.retire()
            return reply, (time.perf_counter() - began) * 1000

    async def close(self) -> None:
        """Kill every process."""
        running, self._running = self._running, []
        for process in running:
            process.kill()
        await asyncio.gather(*(process.ended() for process in running), return_exceptions=True)

    async def _free(self) -> _Process:
        """A process that can take another task. The semaphore has made sure that one is free or may be started."""
        async with self._starting:
            self._running = [process for process in self._running if not process.gone]
            usable = [process for process in self._running if process.usable]
            free = [process for process in usable if process.in_flight < self._program.parallel]
            # Another process rather than a second task in one, as long as there may be more.
            chosen = min(free, key=lambda process: process.in_flight, default=None)
            if chosen is None or (chosen.in_flight and len(usable) < self._most):
                chosen = await _Process.started(self._program)
                self._running.append(chosen)
            chosen.in_flight += 1
            return chosen


@dataclass(eq=False)
class _Process:
    program: Program
    child: asyncio.subprocess.Process
    in_flight: int = 0
    usable: bool = True
    """Whether it takes further tasks."""
    gone: bool = False
    """Whether it was killed or has ended."""
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _number: int = 0
    _stderr: deque[bytes] = field(default_factory=deque)
    _readers: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    async def started(cls, program: Program) -> _Process:
        """Raises ``ProviderError`` (systemic) if the program cannot be started."""
        pipe = asyncio.subprocess.PIPE
        try:
            child = await asyncio.create_subprocess_exec(
                *program.arguments,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=program.folder,
                env=program.environment(),
                limit=MOST_BYTES,
                start_new_session=True,  # a group of its own, which is killed as a whole
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            where = f" in {program.folder}" if program.folder else ""
            message = f"Cannot start {shortened(program.arguments[0], 100)}{where}: {reason}. Check the configuration."
            raise ProviderError("connection", message, systemic=True) from None
        process = cls(program, child)
        process._readers = [asyncio.create_task(process._read_answers()), asyncio.create_task(process._read_stderr())]
        return process

    async def ask(self, task: Mapping[str, Any]) -> Any:
        """The decoded reply. Raises ``ProviderError`` if the process ends or says something else."""
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        assert self.child.stdin is not None, "it was started with pipes"
        try:
            # It has ended, of which uvloop says ``RuntimeError``: the reader says why.
            with contextlib.suppress(ConnectionError, RuntimeError):
                self.child.stdin.write(orjson.dumps({"request": number, **task}) + b"\n")
                await self.child.stdin.drain()
                if not self.program.reuse:
                    self.child.stdin.write_eof()
            return await answer
        finally:
            self._waiting.pop(number, None)
            self.in_flight -= 1
            if not self.usable and not self.in_flight:
                self.kill()

    def retire(self) -> None:
        """Give it no further task; it is killed once it answers none."""
        self.usable = False
        if not self.in_flight:
            self.kill()

    def kill(self, reason: str = "The process was stopped", *, systemic: bool = False) -> None:
        """Kill it and its children; the tasks that it still has fail for this reason."""
        was_gone, self.usable, self.gone = self.gone, False, True
        for answer in self._waiting.values():
            if not answer.done():
                message = f"{reason}{self.last_words()}"
                error = ProviderError("bad_response", message, retryable=not systemic, systemic=systemic)
                answer.set_exception(error)
        if not was_gone:  # later its id may be another's
            self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)

    async def ended(self) -> None:
        await self.child.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def last_words(self) -> str:
        """The last lines of stderr as a part of a sentence, which begins with a full stop."""
        text = storable(b"".join(self._stderr).decode("utf-8", "replace"), []).strip()
        kept = text[-_STDERR_SHOWN:]
        return f". Its last lines on stderr: {shortened(kept, _STDERR_SHOWN)}" if kept else "."

    async def _read_answers(self) -> None:
        assert self.child.stdout is not None, "it was started with pipes"
        try:
            while line := await self.child.stdout.readline():
                if not line.strip():
                    continue
                if problem := self._deliver(line):
                    return self.kill(problem)
        except ValueError:  # from readline, at the limit
            return self.kill(f"It wrote more than {MOST_BYTES / 2**20:g} MiB without the end of a line")
        self.usable = False
        code = await self._exit_code()
        self.kill(f"The program ended {_ending(code)} before it answered", systemic=code == CANNOT_WORK)

    def _deliver(self, line: bytes) -> str | None:
        """Hand an answer to its task; returns what is wrong with it."""
        try:
            reply = parse_json(line)
        except ValueError:
            start = shortened(storable(line[:1_000].decode("utf-8", "replace"), []), 100)
            return f"It wrote a line that is not JSON: “{start}”. Write anything but answers to stderr"
        number = reply.get("request") if isinstance(reply, dict) else None
        if number is None and self.program.parallel == 1 and len(self._waiting) == 1:
            number = next(iter(self._waiting))
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            if self.program.parallel > 1 and number is None:
                return "With `parallel`, a reply has to repeat the `request` of its task"
            return "It wrote a line that answers no task"
        answer.set_result(reply)
        return None

    async def _exit_code(self) -> int:
        """Its exit code once stdout is closed; it is killed if it does not end then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await asyncio.shield(self._readers[1])  # all of stderr
                return await self.child.wait()
        self._kill_group()
        return await self.child.wait()

    async def _read_stderr(self) -> None:
        assert self.child.stderr is not None, "it was started with pipes"
        kept = 0
        while chunk := await self.child.stderr.read(_STDERR_BYTES):
            self._stderr.append(chunk)
            kept += len(chunk)
            while kept - len(self._stderr[0]) >= _STDERR_BYTES:
                kept -= len(self._stderr.popleft())


def _ending(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"by the signal {signal.Signals(-code).name}"
    return f"by the signal {-code}"
