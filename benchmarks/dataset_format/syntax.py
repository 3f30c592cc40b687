"""Explain a YAML parser's error: which line to look at, and what to write there."""

from __future__ import annotations

import re
from typing import Any

import yaml

from benchmarks.dataset_format.problems import printable

_TAB = "a tab is used for indentation: use spaces"

_ADVICE_AT_START = {
    "unexpected end of stream|unexpected document indicator": (
        "the quoted text that starts here is not closed: add the closing quote"
    ),
    r"expected ',' or '\]'": "the list that starts here with [ is not closed or a comma is missing: add ] or the comma",
    r"expected ',' or '\}'": (
        "the mapping that starts here with { is not closed or a comma is missing: add } or the comma"
    ),
    "could not find expected ':'": (
        "this line is not `key: value`: add the colon, or indent the line as text below `|`"
    ),
}
"""What matches the message of libyaml or PyYAML → the advice for the line on which the construct starts."""

_ADVICE = {
    "tab character": _TAB,
    "mapping values are not allowed": (
        "a second `: ` in one line, or a line indented more than its siblings: quote the text, or align the keys"
    ),
    r"entries are not allowed|expected '-' indicator|expected <block end>, but found '\?'": (
        "a list item is not allowed here: start every `- ` on its own line, aligned, with no key between"
    ),
    "did not find expected key|expected <block end>": (
        "this does not match the lines above: align it with the other keys, and quote text that contains quotes"
    ),
    "unknown escape|escape sequence|Unicode character escape|hexadecimal": (
        "the backslash starts an unknown escape in double quotes: double the backslash, or use single quotes"
    ),
    "undefined tag handle": "tags are not allowed: quote text that starts with !",
    "directive|incompatible YAML": (
        "a line that starts with % is a YAML directive, which a dataset does not need: remove it"
    ),
    "document start": "there is text after the end of the document (`...`): a file contains one dataset",
    "node content": "a value is missing, or starts with a character that YAML reserves: quote the text",
    "anchor|alias": "& or * starts an anchor or an alias: quote the text if you mean neither",
    "block scalar|indentation indicator|chomping|line break": (
        "text cannot follow | or > on the same line: start it on the next line, indented more than the key"
    ),
}
"""The same for the line of the error."""


def explain_syntax_error(error: Exception, text: str) -> tuple[int, str]:
    """The line, counted from 1, and what to do there. Unknown errors keep the parser's words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return 1, f"invalid YAML: {printable(str(error))}"
    complaint = error.problem or "syntax error"
    mark = error.problem_mark or error.context_mark
    advice = printable(complaint)
    if "cannot start any token" in complaint:
        advice = _explain_character(mark, text)
    elif known := _matching(_ADVICE_AT_START, complaint):
        advice, mark = known, error.context_mark or mark
    elif known := _matching(_ADVICE, complaint):
        advice = known
    return mark.line + 1 if mark else 1, f"invalid YAML: {advice}"


def _matching(advice: dict[str, str], complaint: str) -> str | None:
    return next((text for pattern, text in advice.items() if re.search(pattern, complaint)), None)


def _explain_character(mark: Any, text: str) -> str:
    lines = text.split("\n")
    char = lines[mark.line][mark.column : mark.column + 1] if mark and mark.line < len(lines) else ""
    return _TAB if char == "\t" else f"{printable(char) or 'this character'} cannot start a value: quote the text"
