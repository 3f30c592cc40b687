"""What runs inside the sandbox: a first process that watches, one with the tests, and one with the code of the answer.

The first process starts the other two, enforces the limits, and prints the report of the tests. As process 1 of its own
process namespace it cannot be killed from inside, and everything ends when it ends. The process of the answer never
holds the tests or the report: it only serves calls (``boundary``). It can end the tests but not decide them.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import io
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.sandbox.boundary import TESTS, Peer
from benchmarks.sandbox.proxies import AnswerEndedError, Proxy

POLL_S = 0.02
MAX_REPORT = 1_000_000
MAX_FAILURES = 20
KEPT_OUTPUT = 4_000
BESIDE = "beside_answer"
"""The decorator of functions and classes of the tests that run in the process of the answer."""
PR_SET_DUMPABLE = 4


class StoppedError(Exception):
    """A limit was exceeded; the message says which."""


def main() -> None:
    # The answer can send an interrupt to the other two processes, and Python would raise it there as an exception.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Not dumpable: the process of the answer has the same user, and could otherwise read or trace the other two.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    tests_end, answer_end = socket.socketpair()
    order, report, output = os.pipe(), os.pipe(), os.pipe()
    # Both start before the job is read, so that none of it is in the memory of the answer's process.
    if (answer := os.fork()) == 0:
        become([answer_end.fileno()], output[1])
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        run_answer(socket.socket(fileno=3))
    if (tests := os.fork()) == 0:
        become([tests_end.fileno(), order[0], report[1]], output[1])
        run_tests_process(socket.socket(fileno=3))
    # Without these copies, the pipes close when the processes that write to them have ended.
    for end in (tests_end.detach(), answer_end.detach(), order[0], report[1], output[1]):
        os.close(end)
    job = json.load(sys.stdin)
    watch = Watch(tests, report[0], output[0], job["limits"])
    sys.stdout.write(json.dumps(watch.finish(job, order[1], answer)))
    sys.stdout.flush()
    os._exit(0)


def become(descriptors: list[int], output: int) -> None:
    """Keep only these descriptors, as 3 and up. The standard output of process 1, for the report, is closed."""
    copies = [os.dup(number) for number in (os.open(os.devnull, os.O_RDONLY), output, output, *descriptors)]
    # Above all targets, so that no copy is overwritten before it is used.
    moved = [os.dup2(copy, 100 + place) for place, copy in enumerate(copies)]
    for place, copy in enumerate(moved):
        os.dup2(copy, place)
    os.closerange(len(moved), 1024)
    os.chdir("/tmp")


class Watch:
    """Waits for the report of the tests while enforcing the limits on everything inside."""

    def __init__(self, tests: int, report: int, output: int, limits: dict[str, Any]) -> None:
        self.tests, self.report, self.output, self.limits = tests, report, output, limits
        self.started = time.monotonic()
        self.received = b""
        self.kept = b""
        self.written = 0

    def finish(self, job: dict[str, Any], order: int, answer: int) -> dict[str, Any]:
        """Send the job to the tests; their report, or why there is none, with output and seconds."""
        try:
            with os.fdopen(order, "wb") as pipe:
                pipe.write(json.dumps(job).encode())
            report = self._wait()
        except StoppedError as stop:
            report = {"outcome": "stopped", "reason": str(stop)}
        except OSError as error:  # the answer ended the tests, or took what this process needs
            report = {"outcome": "stopped", "reason": how_it_ended(self.tests) or f"not watched: {error.strerror}"}
        if report["outcome"] == "ended":
            report["reason"] = how_it_ended(answer) or report["reason"]
        self._read_output()
        return {**report, "output": self.kept.decode("utf-8", "replace"), "seconds": round(self._seconds(), 3)}

    def _seconds(self) -> float:
        return time.monotonic() - self.started

    def _wait(self) -> dict[str, Any]:
        while True:
            ready, _, _ = select.select([self.report, self.output], [], [], POLL_S)
            if self.report in ready:
                data = os.read(self.report, 65536)
                self.received += data
                if not data or len(self.received) > MAX_REPORT:
                    break
            if self.output in ready:
                self._read_output()
            self._check_limits()
        try:
            return dict(json.loads(self.received))
        except ValueError:
            return {"outcome": "stopped", "reason": how_it_ended(self.tests) or "the tests ended without a report"}

    def _read_output(self) -> None:
        """Everything that is there to read, without waiting for more than a pipe holds."""
        while select.select([self.output], [], [], 0)[0] and (data := os.read(self.output, 65536)):
            self.written += len(data)
            self.kept = (self.kept + data)[:KEPT_OUTPUT]
            if self.written > self.limits["output_bytes"]:
                return

    def _check_limits(self) -> None:
        limits, others = self.limits, other_processes()
        for name, exceeded in (
            (f"time limit of {limits['wall_s']:g} s", self._seconds() > limits["wall_s"]),
            (f"output limit of {limits['output_bytes']:,} bytes", self.written > limits["output_bytes"]),
            # One of them is the process of the tests.
            (f"limit of {limits['processes']} processes", len(others) > limits["processes"] + 1),
            (
                # The kernel limits each process; the sum is known only here.
                f"memory limit of {limits['memory_mb']} MB",
                sum(map(resident_bytes, others)) > limits["memory_mb"] << 20,
            ),
        ):
            if exceeded:
                raise StoppedError(f"{name} exceeded")


def other_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def how_it_ended(process: int) -> str:
    """How a child of process 1 ended; empty if it is still running."""
    for _ in range(25):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
        # A process that ends closes its files a moment before it can be waited for.
        time.sleep(POLL_S)
    else:
        return ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # Most real-time signals have no name.
        name = next((known.name for known in signal.Signals if known == number), f"signal {number}")
        return "CPU time limit exceeded" if name == "SIGXCPU" else f"ended by {name}"
    return f"exited with code {os.WEXITSTATUS(status)} before the tests finished"


def resident_bytes(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def set_limits(limits: dict[str, Any]) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, limits["memory_mb"] << 20),
        # Counted for the user: the processes of the answer, the tests and process 1.
        (resource.RLIMIT_NPROC, limits["processes"] + 2),
        (resource.RLIMIT_FSIZE, limits["temporary_mb"] << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    cpu_s = limits["cpu_s"]
    # The soft limit comes a second earlier, because its SIGXCPU names the cause and the hard limit's SIGKILL does not.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


def run_answer(connection: socket.socket) -> None:
    """The process of the answer: serve calls until the tests hang up. Never returns."""
    # Not buffered: output counts even if the code ends its process at once.
    output = open(1, "wb", buffering=0, closefd=False)  # noqa: SIM115 - open as long as the process lives
    sys.stdout = io.TextIOWrapper(output, encoding="utf-8", errors="replace", write_through=True)
    sys.modules["answer"] = types.ModuleType("answer")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answer_peer(connection, sys.modules["answer"]).serve_forever()
    os._exit(0)


def answer_peer(connection: socket.socket, module: types.ModuleType) -> Peer:
    """The side of the answer, whose code is loaded into ``module``."""
    peer = Peer(connection.makefile("rwb"), strict=False)
    peer.operations |= {
        "limit": set_limits,
        "load": lambda code: run_code(code, module.__dict__),
        "define": lambda source: execute(compile(source, "tests.py", "exec", dont_inherit=True), module.__dict__),
        "global": lambda name: getattr(module, name),
    }
    return peer


def run_tests_process(connection: socket.socket) -> None:
    """The process of the tests: read the job, run the tests against the answer, write the report. Never returns."""
    with os.fdopen(4, "rb") as order, os.fdopen(5, "w") as report:
        job = json.load(order)
        json.dump(tested(job, Peer(connection.makefile("rwb"), strict=True)), report)
    sys.stdout.flush()
    os._exit(0)


def tested(job: dict[str, Any], answer: Peer) -> dict[str, Any]:
    """The report of one job."""
    try:
        set_limits(job["limits"])
        answer.request("limit", job["limits"])
        if error := answer.request("load", job["code"]):
            return {"outcome": "not_loaded", "reason": str(error)[:500]}
        checks, failures = run_tests(job["tests"], answer)
        # Tests that catch everything do not see that the answer ended its process.
        answer.request("global", "__name__")
    except AnswerEndedError as end:
        return {"outcome": "ended", "reason": str(end)}
    return {"outcome": "tested", "checks": checks, "failures": [line[:300] for line in failures[:MAX_FAILURES]]}


class Names(dict[str, Any]):
    """The global names of the tests; those they do not define are looked up in the answer.

    Built-in functions stay those of the tests: an answer that defines its own ``all`` must not decide an ``assert``.
    """

    def __init__(self, answer: Peer) -> None:
        super().__init__(__name__=TESTS, __builtins__=builtins.__dict__)
        self.answer = answer

    def __missing__(self, name: str) -> Any:
        if name.startswith("__") or hasattr(builtins, name):
            raise KeyError(name)
        try:
            value = self.answer.request("global", name)
        except AttributeError:
            raise KeyError(name) from None
        # A function or class is not asked for again; a variable can change with every call.
        if isinstance(value, (Proxy, type)):
            self[name] = value
        return as_named(name, value)


class AnswerModule(types.ModuleType):
    """What ``import answer`` gives to the tests."""

    def __init__(self, answer: Peer) -> None:
        super().__init__("answer")
        self._peer = answer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return as_named(name, self._peer.request("global", name))


def as_named(name: str, value: Any) -> Any:
    """A value that the tests know by this name. Only a capitalized name can be a class, whatever the answer says."""
    if isinstance(value, Proxy) and name[:1].isupper():
        object.__setattr__(value, "_makes", value._shape == "class")
    return value


def run_code(code: str, namespace: dict[str, Any]) -> str:
    """Run the code of the answer. Returns the error in one line, empty if there is none."""
    try:
        execute(compile(code, "answer.py", "exec", dont_inherit=True), namespace)
    except BaseException as error:
        return described(error, "answer.py")
    return ""


def run_tests(tests: str, answer: Peer) -> tuple[int, list[str]]:
    """Run the top-level statements one by one and then the ``test_*`` functions. Returns checks and failures.

    Every ``assert`` statement and every function is one check. A failed check does not stop the others. Any other
    statement that fails does, because later statements may depend on it. Raises ``AnswerEndedError``.
    """
    names = Names(answer)
    answer.passes_stop = "StopIteration" in tests
    sys.modules["answer"] = AnswerModule(answer)
    checks = 0
    failures: list[str] = []
    functions: list[str] = []
    imports: list[ast.stmt] = []
    for statement in ast.parse(tests, "tests.py").body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            imports.append(statement)
        if _runs_beside_answer(statement):
            source = ast.unparse(ast.Module([*imports, statement], []))
            problem = problem_in(partial(answer.request, "define", source))
        else:
            compiled = compile(ast.Module([statement], []), "tests.py", "exec", dont_inherit=True)
            problem = problem_in(partial(execute, compiled, names))
        is_check = isinstance(statement, ast.Assert)
        checks += is_check
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
            functions.append(statement.name)
        if problem:
            failures.append(f"line {statement.lineno}: {ast.unparse(statement)[:120]}: {problem}")
            if not is_check:
                return checks + 1, failures
    for name in functions:
        checks += 1
        if problem := problem_in(names[name]):
            failures.append(f"{name}: {problem}")
    return checks, failures


def _runs_beside_answer(statement: ast.stmt) -> bool:
    """Whether the statement has the decorator ``beside_answer``, which is removed."""
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    others = [node for node in statement.decorator_list if not (isinstance(node, ast.Name) and node.id == BESIDE)]
    is_beside = len(others) < len(statement.decorator_list)
    statement.decorator_list = others
    return is_beside


def execute(code: types.CodeType, names: dict[str, Any]) -> None:
    exec(code, names)  # noqa: S102 - this is the purpose


def problem_in(check: Callable[[], object]) -> str:
    """What a check raises, in one line; empty if it passes. Raises ``AnswerEndedError``."""
    try:
        check()
    except AnswerEndedError:
        raise
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
