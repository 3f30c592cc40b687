from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics.extraction import extract_code, extract_json, extract_text, fenced_blocks
from tasks_app.tasks.reply import answer_body, without_thinking

MEGABYTE = 1_000_000
EXTRACTIONS = (extract_text, extract_json, extract_code)


def test_thinking_is_not_part_of_the_answer():
    for output, body in (
        ("<think>hm</think>Paris", "Paris"),
        ("<THINKING>hm</THINKING>\nParis", "Paris"),
        ("a<think>b<think>c</think>d</think>e", "ae"),
        ("reasoned without an opening tag</think>Paris", "Paris"),
        ("<think>cut off", ""),
        ("Paris<think>second thoughts", "Paris"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("", ""),
    ):
        assert without_thinking(output).strip() == body, output


def test_invisible_characters_and_line_ends_become_plain():
    assert answer_body("\u202ePa\x00r\u200bis\u2069\r\nFrance\u2028Europe ") == "Paris\nFrance\nEurope"


def test_composed_and_combined_letters_are_equal():
    assert answer_body("cafe\u0301") == "caf\u00e9"


def test_the_short_answer_comes_from_the_first_rule_that_applies():
    for output, text, how in (
        ("Let me see.\nAnswer: 42", "42", "answer line"),
        ("Answer: 41\nNo, wait.\n**Final Answer:** 42.\nDone", "42", "answer line"),
        ("**Answer**: `yes`", "yes", "answer line"),
        ("Answer:\n\n  42 apples\nThanks", "42 apples", "answer line"),
        ("The answer is: \\boxed{\\text{Paris}}", "Paris", "boxed"),
        ("Answer: U.S.", "U.S.", "answer line"),
        ("答え\nAnswer：42", "42", "answer line"),
        ("so \\boxed{1} at first, and then \\boxed{\\frac{1}{2}} hence", "\\frac{1}{2}", "boxed"),
        ("\\boxed{1} or \\boxed{2}", "\\boxed{1} or \\boxed{2}", "whole answer"),
        ("Answer: Paris\nAnswer: Lyon", "Answer: Paris\nAnswer: Lyon", "whole answer"),
        ("```\nprint(1)\n```", "print(1)", "fenced block"),
        ("First line.\nParis", "Paris", "final line"),
        ("First line.\n**Paris**\n---\n", "Paris", "final line"),
        ("I thought.\nThe answer is 42.", "42", "answer sentence"),
        ("Paris", "Paris", "whole answer"),
        ("  “Paris” ", "Paris", "whole answer"),
        ("The answer is Paris.", "Paris", "answer sentence"),
        ('He said "Answer: Lyon".\nParis', "Paris", "final line"),
        ("", "", "whole answer"),
        ("<think>Answer: 1</think>2", "2", "whole answer"),
        ("Answer:", "Answer:", "whole answer"),
        ("\\boxed{never closed", "\\boxed{never closed", "whole answer"),
    ):
        extraction = extract_text(output)
        assert (extraction.text, extraction.how) == (text, how), output


def test_json_comes_from_a_fence_or_from_the_text():
    for output, text, how in (
        ('{"a": 1}', '{"a": 1}', "whole answer"),
        ('Sure:\n```json\n{"a": 1}\n```\nBye', '{"a": 1}', "fenced block"),
        ("```\n[1]\n```\nor rather\n```json\n[2]\n```", "[2]", "fenced block"),
        ('```python\nx = 1\n```\n{"a": 1}', '{"a": 1}', "embedded JSON"),
        ('As said in [1], the result is {"a": {"b": 2}} indeed', '{"a": {"b": 2}}', "embedded JSON"),
        ("The list:\n[1, 2]\nas asked", "[1, 2]", "embedded JSON"),
        ("As said in [1].", "As said in [1].", "whole answer"),
        ("no JSON here", "no JSON here", "whole answer"),
        ('{"a": NaN}', '{"a": NaN}', "whole answer"),
        ('```json\n{"a": 1, "cut', '{"a": 1, "cut', "fenced block"),
    ):
        extraction = extract_json(output)
        assert (extraction.text, extraction.how) == (text, how), output


def test_code_is_the_longest_python_block():
    for output, text in (
        ("def f(): pass", "def f(): pass"),
        ("```python\ndef f():\n    return 1\n```\nUse it:\n```python\nf()\n```", "def f():\n    return 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("```bash\npip install x\n```\n~~~py\nx = 1\n~~~", "x = 1"),
        ("```python\nx = 1", "x = 1"),
    ):
        assert extract_code(output).text == text, output


def test_a_fence_inside_another_kind_of_fence_is_text():
    blocks = fenced_blocks("~~~md\n```python\nx\n```\n~~~")

    assert [(block.language, block.text) for block in blocks] == [("md", "```python\nx\n```")]


HOSTILE = {
    "one long line": "a" * 5 * MEGABYTE,
    "open braces": "{" * MEGABYTE,
    "open brackets": "[" * MEGABYTE,
    "boxed opens": "\\boxed{" * (MEGABYTE // 7),
    "think opens": "<think>" * (MEGABYTE // 7),
    "think closes": "</think>" * (MEGABYTE // 8),
    "answers": "answer" * (MEGABYTE // 6),
    "answer and spaces": ("answer" + " " * 1000) * (MEGABYTE // 1006),
    "answer marks": "answer:" * (MEGABYTE // 7),
    "stars": "*" * MEGABYTE,
    "fences": "```\n" * (MEGABYTE // 4),
    "ticks": "`" * MEGABYTE,
    "newlines": "\n" * MEGABYTE,
    "NULs": "\x00" * MEGABYTE,
    "bidi marks": "\u202e" * (MEGABYTE // 3),
    "quotes": '"' * MEGABYTE,
    "less-than signs": "<" * MEGABYTE,
    "objects": '{"a":1}' * (MEGABYTE // 7),
}


def test_megabytes_of_anything_take_seconds_at_most():
    for name, output in HOSTILE.items():
        for extract in EXTRACTIONS:
            started = time.process_time()
            extract(output)
            assert time.process_time() - started < 5, (name, extract)


@given(st.text())
def test_no_text_makes_extraction_raise(output):
    for extract in EXTRACTIONS:
        assert isinstance(extract(output).text, str)
