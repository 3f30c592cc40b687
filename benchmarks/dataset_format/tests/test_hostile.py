"""Files made to be expensive: each gives one clear problem, after few parser events and with little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
import yaml

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import VALID

MEGABYTE = 1_000_000


def only_problem(data: bytes) -> tuple[int, str]:
    parsed = parse_dataset(data, "hostile.yaml")
    (problem,) = parsed.problems
    return problem.line, problem.message


def count_events(monkeypatch: pytest.MonkeyPatch) -> list[yaml.Event]:
    taken: list[yaml.Event] = []
    parse = yaml.parse

    def counting(text: str, Loader: type[yaml.SafeLoader]) -> Iterator[yaml.Event]:  # noqa: N803
        for event in parse(text, Loader=Loader):
            taken.append(event)
            yield event

    monkeypatch.setattr(yaml, "parse", counting)
    return taken


def alias_bomb(levels: int = 20, width: int = 10) -> bytes:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines).encode()


def test_an_alias_bomb_is_given_up_where_it_crosses_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    line, message = only_problem(alias_bomb())
    assert line == 6
    assert "counting what aliases repeat" in message
    assert len(taken) < 120


def test_a_bomb_of_merge_keys_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    keys = ", ".join(f"k{key}: 1" for key in range(100))
    lines = [f"a0: &a0 {{{keys}}}"]
    lines += [
        f"a{level}: &a{level} {{x{level}: {{<<: *a{level - 1}}}, <<: [*a{level - 1}, *a{level - 1}]}}"
        for level in range(1, 30)
    ]
    assert "counting what aliases repeat" in only_problem("\n".join(lines).encode())[1]
    assert len(taken) < 700


def test_a_long_text_repeated_by_aliases_counts_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    text = f"a: &a {'x' * MEGABYTE}\nb: [{', '.join(['*a'] * 50_000)}]"
    assert only_problem(text.encode())[0] == 2
    assert len(taken) < 20


def test_deep_nesting_is_given_up_at_the_depth_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    for opening in ("[", "{a: ", "- ", "? ", "[{a: "):
        taken.clear()
        line, message = only_problem((opening * (9 * MEGABYTE // len(opening))).encode())
        assert line == 1, opening
        assert message.startswith(f"lists and mappings are nested more than {limits.MAX_DEPTH} levels deep"), opening
        assert len(taken) < 4 * limits.MAX_DEPTH, opening


def test_nesting_that_aliases_add_up_is_given_up_at_the_depth_allowed() -> None:
    lines = [f"a{level}: &a{level} {'[' * 40}{f'*a{level - 1}' if level else ''}{']' * 40}" for level in range(100)]
    line, message = only_problem("\n".join(lines).encode())
    assert (line, message) == (2, "lists and mappings are nested more than 50 levels deep: flatten them")


def test_nesting_up_to_the_depth_allowed_is_read() -> None:
    inside = limits.MAX_DEPTH - 6
    deep = VALID + f"    tool_results: {{f: {'[' * inside}{']' * inside}}}\n    expected_tools: [{{name: f}}]\n"
    assert parse_dataset(deep.encode(), "deep.yaml").problems == ()


def test_a_file_of_ten_megabytes_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    data = VALID.encode().ljust(limits.MAX_BYTES, b"#")
    assert only_problem(data) == (
        1,
        "the file has 10,000,000 bytes; the limit is 10,000,000: split the dataset",
    )
    assert taken == []


def test_a_file_one_byte_smaller_is_read() -> None:
    data = (VALID + "#").encode().ljust(limits.MAX_BYTES - 1, b"x")
    assert parse_dataset(data, "large.yaml").spec is not None


NOT_TEXT = (
    (b"", 1, "the file is empty"),
    (b"# only a comment\n", 1, "the file is empty"),
    (b"---\n...\n", 2, "has no value"),
    (b"name: x\n\x00", 2, "binary (byte 9 is NUL)"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", 3, "binary"),
    ("name: x".encode("utf-16"), 1, "UTF-16"),
    (b"name: x\nother: caf\xe9\n", 2, "byte 19 is not UTF-8"),
    (b"\xed\xa0\x80", 1, "byte 1 is not UTF-8"),
    (b"\xff\xff", 1, "not UTF-8"),
    (b"name: x\n\nother: \x1b[31m\n", 3, "U+001B"),
    ("name: x\nother: \ufffe\n".encode(), 2, "U+FFFE"),
    (b"name: \x7f\n", 1, "U+007F"),
)
"""Bytes, the line of their only problem, and a part of its message."""


def test_bytes_that_are_not_text_are_reported_with_their_line() -> None:
    for data, line, fragment in NOT_TEXT:
        reported_line, message = only_problem(data)
        assert reported_line == line, data
        assert fragment in message, data


def test_a_file_of_endless_errors_lists_a_bounded_number() -> None:
    for data in (VALID + "  - {}\n" * 40_000, VALID + f"    context: [{'1, ' * 9_000}]\n"):
        assert len(parse_dataset(data.encode(), "bad.yaml").problems) == limits.MAX_PROBLEMS


def test_a_file_of_endless_yaml_errors_lists_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = count_events(monkeypatch)
    problems = parse_dataset(b"- yes\n" * 100_000, "bad.yaml").problems
    assert len(problems) == limits.MAX_PROBLEMS + 1
    assert "the rest is not listed" in problems[-1].message
    assert len(taken) < limits.MAX_PROBLEMS + 10


def test_messages_stay_short_whatever_they_quote() -> None:
    long = "x" * MEGABYTE
    data = VALID.replace("id: t1", f'"{long}": 1\n    difficulty: {long}\n    id: t1').replace(
        "1 + 1?", f"&{long[:900]} x: {long}"
    )
    for problem in parse_dataset(data.encode(), "long.yaml").problems:
        assert len(str(problem)) < 500


def test_absurd_python_is_refused_and_harms_nothing() -> None:
    for source in (
        "-" * 50_000 + "1",
        "not " * 20_000 + "1",
        "a" + ".b" * 40_000,
        "(" * 90_000,
        "f" + "()" * 40_000,
        "if 1:\n" + " if 1:\n" * 9,
    ):
        data = VALID + "    tests: |\n" + "".join(f"      {line}\n" for line in source.splitlines())
        assert "is not valid Python" in only_problem(data.encode())[1], source[:20]


def test_absurd_patterns_are_refused_and_harm_nothing() -> None:
    for pattern in ("((a{100}){100}){100}", "x" * 3_000):
        assert only_problem((VALID + f"    pattern: '{pattern}'\n").encode())[0] == 8, pattern[:20]


def test_a_schema_too_large_to_check_is_refused() -> None:
    properties = ", ".join(f"p{number}: {{}}" for number in range(limits.MAX_SCHEMA_NODES))
    data = VALID + f"    schema: {{properties: {{{properties}}}}}\n"
    assert "too large for a schema" in only_problem(data.encode())[1]


def test_memory_stays_within_a_few_times_the_size_of_the_largest_file() -> None:
    hostile = {
        "aliases": alias_bomb(),
        "nesting": b"[" * 9 * MEGABYTE,
        "long text": b"a: &a " + b"x" * MEGABYTE + b"\nb: [" + b"*a, " * 100_000 + b"]",
        "lists": b"- - - - " * MEGABYTE,
        "not UTF-8": b"\xff" * 9 * MEGABYTE,
        "quotes": b"'" * 9 * MEGABYTE,
        "one word": b"a" * 9 * MEGABYTE,
        "lines": b"\r" * 9 * MEGABYTE + b"@",
    }
    for name, data in hostile.items():
        tracemalloc.start()
        try:
            parsed = parse_dataset(data, "hostile.yaml")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert parsed.problems, name
        assert peak < 6 * limits.MAX_BYTES, name
