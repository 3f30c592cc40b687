"""Parse Python source in a process with several threads."""

from __future__ import annotations

import ast
import threading

_PARSING = threading.Lock()


def parse_python(source: str) -> ast.Module:
    """The syntax tree of ``source``. Raises what ``ast.parse`` raises for source that is not Python.

    One thread at a time: CPython 3.11 counts the depth of its tree constructor for the whole process, so that two
    threads that parse at once can fail with ``SystemError: AST constructor recursion depth mismatch``.
    """
    with _PARSING:
        return ast.parse(source)


def has_checks(tests: ast.Module) -> bool:
    """Whether tests check anything: an ``assert`` at the top level or a function named ``test_…``."""
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.FunctionDef) and node.name.startswith("test"))
        for node in tests.body
    )
