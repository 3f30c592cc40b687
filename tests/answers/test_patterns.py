"""No reply makes a reader hang: what is read is bounded (`reply.py`), and no pattern takes exponential time on it."""

from __future__ import annotations

import re
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from benchmarks.metrics import contains, exact_match, extraction, multiple_choice, numeric
from tasks_app.tasks import answers, reply

MODULES = (contains, exact_match, extraction, multiple_choice, numeric, answers, reply)


def test_no_pattern_repeats_a_repetition_without_a_limit() -> None:
    """Such patterns take exponential time: `(a+)+`. What a repeated group begins with may end the one before it."""
    for module in MODULES:
        for name, pattern in vars(module).items():
            if isinstance(pattern, re.Pattern):
                assert not nested_repetition(_parser.parse(pattern.pattern, pattern.flags), False), (module, name)


def nested_repetition(tree: Any, repeated: bool) -> bool:
    for operator, argument in tree:
        if operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            _, most, inner = argument
            unlimited = most is _constants.MAXREPEAT
            body = inner[0][1][-1] if inner[0][0] is _constants.SUBPATTERN else inner
            separated = len(body) > 1 and body[0][0] is _constants.LITERAL
            if (unlimited and repeated) or nested_repetition(inner, unlimited and not separated):
                return True
        parts = {
            _constants.SUBPATTERN: lambda argument: [argument[-1]],
            _constants.BRANCH: lambda argument: argument[1],
            _constants.ASSERT: lambda argument: [argument[1]],
            _constants.ASSERT_NOT: lambda argument: [argument[1]],
        }.get(operator, lambda argument: [])(argument)
        if any(nested_repetition(part, repeated) for part in parts):
            return True
    return False


def test_a_nested_repetition_is_noticed() -> None:
    for pattern, nested in (
        ("(a+)+", True),
        ("(a|b*)*c", True),
        ("(,a+)*", False),
        ("(a+){1,5}", False),
        ("a+b+", False),
    ):
        assert nested_repetition(_parser.parse(pattern), False) is nested, pattern
