from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.sandbox.python_source import parse_python

SOURCE = "\n".join(f"assert f({n}, [{n}, {n + 1}]) == {{'a': ({n},)}}" for n in range(300))


def test_threads_can_parse_at_the_same_time() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads alternate inside the parser, where CPython 3.11 miscounts without the lock
    try:
        with ThreadPoolExecutor(8) as threads:
            trees = list(threads.map(parse_python, [SOURCE] * 64))
    finally:
        sys.setswitchinterval(interval)
    assert {len(tree.body) for tree in trees} == {300}


def test_source_that_is_not_python_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse_python("def f(:")
