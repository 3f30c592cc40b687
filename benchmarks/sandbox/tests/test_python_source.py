from __future__ import annotations

import ast
import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.sandbox.python_source import parse_python

SOURCE = "\n".join(f"assert f({n}, [{n}, {n + 1}]) == {{'a': ({n},)}}" for n in range(300))


class Cycle:
    """Garbage whose finalizer lets other threads run in the middle of whatever triggered its collection."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0.002)


def parse_while_garbage_is_collected(_: int) -> ast.Module:
    gc.disable()
    for _ in range(3):
        Cycle()
    gc.enable()
    return parse_python(SOURCE)


def test_threads_can_parse_at_the_same_time() -> None:
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(parse_while_garbage_is_collected, range(40)))
    assert {len(tree.body) for tree in trees} == {300}


def test_source_that_is_not_python_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse_python("def f(:")
