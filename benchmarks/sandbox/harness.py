"""The first process inside the sandbox: start a child for the untrusted code, enforce limits, report the verdict.

The project does not import this file. Its text is passed to an isolated interpreter that has only the standard
library. It reads one JSON object from standard input and writes one to standard output, which the child does not have.
As process 1 of its own process namespace it cannot be killed from inside, and everything ends when it ends.

The child gives the verdict in a fixed order: it receives the code and reports that it ran; receives the tests and
reports that they ran; only then receives a random token. A verdict counts only together with the token, so code that
prints, exits, raises or writes into every open file proves nothing. Before the token is sent, the child must be alone:
no other thread or process may remain that could read the token first. Code that reaches into the frames of the harness
in its own process and changes the list of failures cannot be ruled out within one process.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
import types
from collections.abc import Callable
from typing import Any

POLL_S = 0.02
MAX_FRAME = 1_000_000
MAX_FAILURES = 20
KEPT_OUTPUT = 4_000
PR_SET_DUMPABLE = 4


class EndedError(Exception):
    """The child closed its pipe or wrote an invalid frame."""


class StoppedError(Exception):
    """A limit was exceeded; the message says which."""


def main() -> None:
    # Not dumpable: no process inside can read the memory of this one, which will hold the token, or trace it.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    to_child, from_child, output = os.pipe(), os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        become_child(to_child[0], from_child[1], output[1])
    # Without these copies, the pipes close when the child and all its descendants have ended.
    for child_end in (to_child[0], from_child[1], output[1]):
        os.close(child_end)
    job = json.load(sys.stdin)
    watch = Watch(child, from_child[0], output[0], job["limits"])
    report = run_job(job, to_child[1], watch)
    report |= {"output": watch.kept.decode("utf-8", "replace"), "seconds": round(time.monotonic() - watch.started, 3)}
    sys.stdout.write(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)


def run_job(job: dict[str, Any], to_child: int, watch: Watch) -> dict[str, Any]:
    """Exchange frames with the child in the order above, and return its verdict or why there is none."""
    token = os.urandom(16).hex()
    try:
        send(to_child, {"limits": job["limits"], "code": job["code"]})
        loaded = watch.receive()
        if loaded.get("error"):
            return {"outcome": "not_loaded", "reason": str(loaded["error"])[:500]}
        send(to_child, {"tests": job["tests"]})
        watch.receive()
        # The token must not be sent earlier: whatever runs beside the child could read it and forge a verdict.
        if remaining := watch.remaining_beside_child():
            return {"outcome": "interference", "reason": f"{remaining} still running after the tests"}
        send(to_child, {"token": token})
        verdict = watch.receive()
        if verdict.get("token") != token:
            return {"outcome": "interference", "reason": "the verdict does not come from the tests"}
        failures = [str(failure)[:300] for failure in verdict["failures"][:MAX_FAILURES]]
        return {"outcome": "tested", "checks": int(verdict["checks"]), "failures": failures}
    except StoppedError as stop:
        return {"outcome": "stopped", "reason": str(stop)}
    except (EndedError, BrokenPipeError):
        return {"outcome": "ended", "reason": how_it_ended(watch.child)}


class Watch:
    """Receives the child's frames while enforcing the limits on it and on everything it starts."""

    def __init__(self, child: int, frames: int, output: int, limits: dict[str, Any]) -> None:
        self.child, self.frames, self.output, self.limits = child, frames, output, limits
        self.started = time.monotonic()
        self.kept = b""
        self.written = 0
        self.pending = b""
        self.open_pipes = [frames, output]

    def receive(self) -> dict[str, Any]:
        """The child's next frame. Raises ``EndedError`` and ``StoppedError``."""
        while True:
            if (frame := self.next_frame()) is not None:
                return frame
            if self.frames not in self.open_pipes:
                raise EndedError
            self.check_limits()
            ready, _, _ = select.select(self.open_pipes, [], [], POLL_S)
            for pipe in ready:
                self.read(pipe)

    def next_frame(self) -> dict[str, Any] | None:
        """A frame that is complete already, or ``None``. Raises ``EndedError`` for anything that is not a frame."""
        line, newline, rest = self.pending.partition(b"\n")
        if not newline:
            if len(self.pending) > MAX_FRAME:
                raise EndedError
            return None
        self.pending = rest
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            raise EndedError from None
        if not isinstance(frame, dict):
            raise EndedError
        return frame

    def read(self, pipe: int) -> None:
        data = os.read(pipe, 65536)
        if not data:
            self.open_pipes.remove(pipe)
        elif pipe == self.frames:
            self.pending += data
        else:
            self.written += len(data)
            self.kept = (self.kept + data)[:KEPT_OUTPUT]

    def check_limits(self) -> None:
        limits, others = self.limits, other_processes()
        for name, exceeded in (
            (f"time limit of {limits['wall_s']:g} s", time.monotonic() - self.started > limits["wall_s"]),
            (f"output limit of {limits['output_bytes']:,} bytes", self.written > limits["output_bytes"]),
            (f"limit of {limits['processes']} processes", len(others) > limits["processes"]),
            (
                # The kernel limits each process; the sum is known only here.
                f"memory limit of {limits['memory_mb']} MB",
                sum(map(resident_bytes, others)) > limits["memory_mb"] << 20,
            ),
        ):
            if exceeded:
                raise StoppedError(f"{name} exceeded")

    def remaining_beside_child(self) -> str:
        """``processes`` or ``threads`` if any run beside the single thread of the child; empty otherwise."""
        # Orphans of the child become children of process 1. Ended ones still occupy /proc until they are reaped.
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
        if other_processes() != [self.child]:
            return "processes"
        return "threads" if len(os.listdir(f"/proc/{self.child}/task")) != 1 else ""


def other_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def how_it_ended(child: int) -> str:
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "CPU time limit exceeded" if name == "SIGXCPU" else f"ended by {name}"
    return f"exited with code {os.WEXITSTATUS(status)} before the tests finished"


def resident_bytes(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def send(pipe: int, frame: dict[str, Any]) -> None:
    data = json.dumps(frame).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


def become_child(commands: int, frames: int, output: int) -> None:
    """Run the code and the tests in this process, then exit. Never returns."""
    # Only these descriptors remain. The harness's own standard output, which carries the report, is not among them.
    for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), output, output, commands, frames)):
        os.dup2(source, number)
    os.closerange(5, 1024)
    orders = os.fdopen(3, "rb")
    run_child(orders.readline, lambda frame: send(4, frame))
    os._exit(0)


def run_child(next_order: Callable[[], bytes], answer: Callable[[dict[str, Any]], None]) -> None:
    """The child's side of the exchange: code, tests, token."""
    first = json.loads(next_order())
    set_limits(first["limits"])
    module = types.ModuleType("answer")
    sys.modules["answer"] = module
    os.chdir("/tmp")
    error = run_code(first["code"], module.__dict__)
    answer({"error": error})
    if error:
        return
    checks, failures = run_tests(json.loads(next_order())["tests"], module.__dict__)
    answer({"done": True})
    # From here on the token is in this process. Timers and trace functions of the code could still run in its thread.
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
    sys.setprofile(None)
    token = json.loads(next_order())["token"]
    answer({"token": token, "checks": checks, "failures": failures})


def set_limits(limits: dict[str, Any]) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, limits["memory_mb"] << 20),
        (resource.RLIMIT_NPROC, limits["processes"] + 1),
        (resource.RLIMIT_FSIZE, limits["temporary_mb"] << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    cpu_s = limits["cpu_s"]
    # The soft limit comes a second earlier, because its SIGXCPU names the cause and the hard limit's SIGKILL does not.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


def run_code(code: str, namespace: dict[str, Any]) -> str:
    """Run the code of the answer. Returns the error in one line, empty if there is none."""
    try:
        exec(compile(code, "answer.py", "exec", dont_inherit=True), namespace)  # noqa: S102 - this is the purpose
    except BaseException as error:
        return described(error, "answer.py")
    return ""


def run_tests(tests: str, namespace: dict[str, Any]) -> tuple[int, list[str]]:
    """Run the top-level statements one by one and then the ``test_*`` functions. Returns checks and failures.

    Every ``assert`` statement and every function is one check. A failed check does not stop the others. Any other
    statement that fails does, because later statements may depend on it.
    """
    checks = 0
    failures: list[str] = []
    functions: list[str] = []
    for statement in ast.parse(tests, "tests.py").body:
        is_check = isinstance(statement, ast.Assert)
        checks += is_check
        problem = problem_in(compile(ast.Module([statement], []), "tests.py", "exec", dont_inherit=True), namespace)
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
            functions.append(statement.name)
        if problem:
            failures.append(f"line {statement.lineno}: {ast.unparse(statement)[:120]}: {problem}")
            if not is_check:
                return checks + 1, failures
    for name in functions:
        checks += 1
        problem = problem_in(compile(f"{name}()", "tests.py", "exec", dont_inherit=True), namespace)
        if problem:
            failures.append(f"{name}: {problem}")
    return checks, failures


def problem_in(code: types.CodeType, namespace: dict[str, Any]) -> str:
    try:
        exec(code, namespace)  # noqa: S102 - this is the purpose
    except BaseException as error:
        return described(error, "tests.py")
    return ""


def described(error: BaseException, file: str) -> str:
    """The error in one line, with the line of ``file`` that raised it."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error)
    except BaseException:
        text = "(message not available)"
    where = f" ({file} line {line})" if line else ""
    return f"{type(error).__name__}: {text[:200]}{where}" if text else f"{type(error).__name__}{where}"


if __name__ == "__main__":
    main()
