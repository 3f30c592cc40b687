"""Runs inside the sandbox as its first process: starts a child for the untrusted code, watches it, reports on it.

Not imported by the project: its text is handed to an isolated interpreter that has the standard library alone. It reads
one JSON object from standard input and writes one to standard output, which the child does not have. Being process 1
of its own process namespace, it cannot be killed from inside, and everything ends with it.

The verdict is the child's, given in a set order: it gets the code, says that it has run; gets the tests, says that they
have run; only then gets a random token, and its verdict counts only together with that token. Code that prints, exits,
raises or writes into every file it finds therefore proves nothing. Before the token is sent, no thread and no process
but the child's own may be left, so that none can take the token first. What remains possible is code that reaches into
the frames of the harness in its own process and changes the list of failures there: in one process that cannot be
ruled out.
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
    """The child closed its pipe, or wrote what is no frame."""


class StoppedError(Exception):
    """A limit was reached; the text says which."""


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no process inside may read or trace this one
    to_child, from_child, output = os.pipe(), os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        become_child(to_child[0], from_child[1], output[1])
    for used_by_child in (to_child[0], from_child[1], output[1]):
        os.close(used_by_child)
    job = json.load(sys.stdin)
    watch = Watch(child, from_child[0], output[0], job["limits"])
    report = run_job(job, to_child[1], watch)
    report |= {"output": watch.kept.decode("utf-8", "replace"), "seconds": round(time.monotonic() - watch.started, 3)}
    sys.stdout.write(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)


def run_job(job: dict[str, Any], to_child: int, watch: Watch) -> dict[str, Any]:
    token = os.urandom(16).hex()
    try:
        send(to_child, {"limits": job["limits"], "code": job["code"]})
        loaded = watch.receive()
        if loaded.get("error"):
            return {"outcome": "not_loaded", "reason": str(loaded["error"])[:500]}
        send(to_child, {"tests": job["tests"]})
        watch.receive()
        company = watch.company_of_child()
        if company:
            return {"outcome": "interference", "reason": company}
        send(to_child, {"token": token})
        verdict = watch.receive()
        if verdict.get("token") != token:
            return {"outcome": "interference", "reason": "the verdict did not come from the tests"}
        failures = [str(failure)[:300] for failure in verdict["failures"][:MAX_FAILURES]]
        return {"outcome": "tested", "checks": int(verdict["checks"]), "failures": failures}
    except StoppedError as stop:
        return {"outcome": "stopped", "reason": str(stop)}
    except (EndedError, BrokenPipeError):
        return {"outcome": "ended", "reason": how_it_ended(watch.child)}


class Watch:
    """Waits for the child's frames while holding it, and all it starts, to the limits."""

    def __init__(self, child: int, frames: int, output: int, limits: dict[str, float]) -> None:
        self.child, self.frames, self.output, self.limits = child, frames, output, limits
        self.started = time.monotonic()
        self.kept = b""
        self.written = 0
        self.pending = b""
        self.open_pipes = [frames, output]

    def receive(self) -> dict[str, Any]:
        """The child's next frame. Raises ``EndedError`` and ``StoppedError``."""
        while True:
            frame = self.next_frame()
            if frame is not None:
                return frame
            if self.frames not in self.open_pipes:
                raise EndedError
            self.check_limits()
            ready, _, _ = select.select(self.open_pipes, [], [], POLL_S)
            for pipe in ready:
                self.read(pipe)

    def next_frame(self) -> dict[str, Any] | None:
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
        if time.monotonic() - self.started > self.limits["wall_s"]:
            raise StoppedError(f"it took longer than {self.limits['wall_s']:g} s")
        if self.written > self.limits["output_bytes"]:
            raise StoppedError(f"it wrote more than {self.limits['output_bytes']:,} bytes")
        others = self.others()
        if len(others) > self.limits["processes"]:
            raise StoppedError(f"it started more than {self.limits['processes']} processes")
        if sum(map(resident_bytes, others)) > self.limits["memory_bytes"]:
            raise StoppedError(f"it took more than {self.limits['memory_bytes'] // (1 << 20):g} MB of memory")

    def others(self) -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]

    def company_of_child(self) -> str:
        """What runs beside the child's one thread, or nothing."""
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
        if self.others() != [self.child]:
            return "processes were left running after the tests"
        if len(os.listdir(f"/proc/{self.child}/task")) != 1:
            return "threads were left running after the tests"
        return ""


def how_it_ended(child: int) -> str:
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "it took more processor time than allowed" if name == "SIGXCPU" else f"it was ended by {name}"
    return f"it left with code {os.WEXITSTATUS(status)} before its tests were done"


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
    """Run the code and the tests in this process, and leave it. Never returns."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(commands, 3)
    os.dup2(frames, 4)
    os.closerange(5, 1024)
    orders = os.fdopen(3, "rb")
    run_child(orders.readline, lambda frame: send(4, frame))
    os._exit(0)


def run_child(next_order: Callable[[], bytes], answer: Callable[[dict[str, Any]], None]) -> None:
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
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
    sys.setprofile(None)
    token = json.loads(next_order())["token"]
    answer({"token": token, "checks": checks, "failures": failures})


def set_limits(limits: dict[str, Any]) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, int(limits["memory_bytes"])),
        (resource.RLIMIT_NPROC, int(limits["processes"]) + 1),
        (resource.RLIMIT_FSIZE, int(limits["file_bytes"])),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    cpu_s = int(limits["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))  # a second apart: SIGXCPU first, which names the cause


def run_code(code: str, namespace: dict[str, Any]) -> str:
    """Run the answer's code; what went wrong, or nothing."""
    try:
        exec(compile(code, "answer.py", "exec", dont_inherit=True), namespace)  # noqa: S102 - running it is the purpose
    except BaseException as error:
        return described(error, "answer.py")
    return ""


def run_tests(tests: str, namespace: dict[str, Any]) -> tuple[int, list[str]]:
    """Run top-level statements one by one and then the ``test_*`` functions.

    Every ``assert`` statement and every function is one check. A failed check does not stop the others; any other
    statement that fails does, because those after it may need it.
    """
    checks, failures = 0, list[str]()
    functions = list[str]()
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
        exec(code, namespace)  # noqa: S102 - running it is the purpose
    except BaseException as error:
        return described(error, "tests.py")
    return ""


def described(error: BaseException, file: str) -> str:
    """The error in one line, with the line of ``file`` it came from."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be shown)"
    where = f" ({file} line {line})" if line else ""
    return f"{type(error).__name__}: {text[:200]}{where}" if text else f"{type(error).__name__}{where}"


if __name__ == "__main__":
    main()
