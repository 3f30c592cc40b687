"""The parts of the harness that need no sandbox: running code and tests, and describing errors."""

from __future__ import annotations

import json

from benchmarks.sandbox.harness import run_child, run_code, run_tests


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
    ):
        counted, failures = run_tests(tests, {"x": 1})
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
        error = run_code(code, {})
        assert error.startswith(expected), code
        assert bool(error) is bool(expected), code


def test_the_child_answers_with_the_token_only_after_the_tests(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.sandbox.harness.set_limits", lambda limits: None)
    monkeypatch.setattr("os.chdir", lambda path: None)
    frames: list[dict] = []
    orders = iter([{"limits": {}, "code": "x = 1"}, {"tests": "assert x == 1"}, {"token": "secret"}])

    def next_order():
        order = next(orders)
        if "token" in order:
            assert frames[-1] == {"done": True}
        return json.dumps(order).encode()

    run_child(next_order, frames.append)

    assert frames == [{"error": ""}, {"done": True}, {"token": "secret", "checks": 1, "failures": []}]
