"""What tests can do with an answer across the boundary, and what an answer cannot do to its tests.

Most run both sides in threads of this process, which needs no sandbox. The tricks run in the real one.
"""

from __future__ import annotations

import socket
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.sandbox import harness
from benchmarks.sandbox.boundary import Peer
from benchmarks.sandbox.harness import described, run_tests
from benchmarks.sandbox.sandbox import Limits, Sandbox

HERE = Path(__file__).parent
STYLES: dict[str, dict[str, str]] = yaml.safe_load((HERE / "styles.yaml").read_text("utf-8"))
TRICKS: dict[str, str] = yaml.safe_load((HERE / "tricks.yaml").read_text("utf-8"))
WITH_TESTS: dict[str, dict[str, str]] = yaml.safe_load((HERE / "tricks_with_tests.yaml").read_text("utf-8"))
REFUSAL = Sandbox().refusal()


def results_of(code: str, tests: str) -> tuple[int, list[str]]:
    """Checks and failures of tests against code, without a sandbox."""
    tests_end, answer_end = socket.socketpair()
    answer = harness.answer_peer(answer_end, types.ModuleType("answer"))
    server = threading.Thread(target=answer.serve_forever)
    server.start()
    try:
        peer = Peer(tests_end.makefile("rwb"), strict=True)
        error = peer.request("load", code)
        return (0, [error]) if error else run_tests(tests, peer)
    finally:
        tests_end.shutdown(socket.SHUT_RDWR)
        server.join()
        sys.modules.pop("answer", None)


@pytest.mark.parametrize("style", STYLES)
def test_honest_code_passes_tests_of_every_style(style):
    tests = STYLES[style]["tests"]

    checks, failures = results_of(STYLES[style]["answer"], tests)

    assert failures == []
    assert checks == f"\n{tests}".count("\nassert")


def test_every_assert_and_every_function_is_one_check():
    for tests, checks, starts in (
        ("assert x == 1", 1, []),
        ("assert x == 1\nassert x == 2\nassert x == 3", 3, ["line 2: assert x == 2", "line 3: assert x == 3"]),
        ("y = x + 1\nassert y == 2", 1, []),
        ("y = missing\nassert y == 2", 1, ["line 1: y = missing"]),
        ("def test_a():\n    assert x == 1\ndef test_b():\n    assert x == 2", 2, ["test_b"]),
        ("def helper():\n    return x\nassert helper() == 1", 1, []),
        ("assert missing", 1, ["line 1: assert missing: NameError"]),
        ("def test_leaves():\n    raise SystemExit(0)", 1, ["test_leaves: SystemExit"]),
        ("@beside_answer\ndef f(:\n    pass", 1, ["SyntaxError"]),
    ):
        if "(:" in tests:
            with pytest.raises(SyntaxError):
                results_of("x = 1", tests)
            continue
        counted, failures = results_of("x = 1", tests)
        assert (counted, len(failures)) == (checks, len(starts)), tests
        assert all(failure.startswith(start) for failure, start in zip(failures, starts, strict=True)), tests


def test_an_error_is_described_in_one_line():
    for code, expected in (
        ("x = 1", ""),
        ("x = (", "SyntaxError"),
        ("x = 1\nraise ValueError('no')", "ValueError: no (answer.py line 2)"),
        ("raise SystemExit", "SystemExit (answer.py line 1)"),
        ("class E(Exception):\n    def __str__(self):\n        raise E\nraise E", "E: (message not available)"),
    ):
        error = harness.run_code(code, {})
        assert error.startswith(expected), code
        assert bool(error) is bool(expected), code


def test_an_object_that_stands_for_a_plain_value_is_named():
    _, failures = results_of(
        "class Odd: pass\ndef f(): return Odd()", "assert f() == 3\nassert f() > 3\nassert 3 in f()"
    )

    assert len(failures) == 3


ADD = """
assert add(2, 3) == 5
assert add(-1, 1) == 0
assert abs(add(0.1, 0.2) - 0.3) < 1e-9
assert add(5, 6) > 10 and add(5, 6) < 12
assert all([add(1, 1) == 2, isinstance(add(1, 1), int)])

def test_large():
    assert add(10**20, 1) == 10**20 + 1
"""
HONEST_ADD = "def add(a, b):\n    return a + b\n"


@pytest.mark.skipif(bool(REFUSAL), reason=f"the sandbox cannot run: {REFUSAL}")
def test_no_trick_passes_the_tests_and_the_honest_answer_does():
    sandbox = Sandbox(Limits(wall_s=3, cpu_s=3))
    assert sandbox.run(HONEST_ADD, ADD.replace("0.1, 0.2", "0, 0.3")).passed
    assert len(TRICKS) >= 30

    passed = [name for name, code in TRICKS.items() if sandbox.run(_with_add(code), ADD).passed]

    assert passed == []


@pytest.mark.skipif(bool(REFUSAL), reason=f"the sandbox cannot run: {REFUSAL}")
def test_no_trick_passes_tests_with_a_tolerance_or_that_catch_everything():
    sandbox = Sandbox(Limits(wall_s=3, cpu_s=3))

    passed = [name for name, case in WITH_TESTS.items() if sandbox.run(case["answer"], case["tests"]).passed]

    assert passed == []


def _with_add(code: str) -> str:
    """A trick with an ``add`` that is wrong, unless it defines its own."""
    return code if "def add" in code or "add =" in code else f"def add(a, b):\n    return None\n{code}"


def test_what_the_tests_pass_to_the_answer_gives_no_way_into_them():
    code = """
NAMES = ["__globals__", "__code__", "__closure__", "__self__", "__func__", "__class__", "__dict__", "__init__"]
NAMES += ["gi_frame", "gi_code", "f_globals", "cr_frame", "modules"]

def reached(thing):
    reached = []
    for name in NAMES:
        for request in (("getattr", name), ("method", name, (), {}), ("setattr", name, 1), ("delattr", name)):
            try:
                thing._peer.request(request[0], thing, *request[1:])
            except AttributeError:
                continue
            reached.append((request[0], name))
    return reached
"""
    tests = """
import sys

class Adder:
    def add(self, x):
        return x + 1

def numbers():
    yield 1

for thing in (lambda x: x, Adder, Adder().add, numbers(), iter([1]), sys, print, {}.items()):
    assert reached(thing) == [], (thing, reached(thing))
# Of an instance of a class of the tests, public attributes can be set.
assert all(not name.startswith("_") for _, name in reached(Adder()))
"""

    assert results_of(code, tests)[1] == []


def test_described_survives_any_exception():
    class Odd(Exception):
        def __str__(self) -> Any:
            raise KeyError

    assert described(Odd(), "x.py") == "Odd: (message not available)"
