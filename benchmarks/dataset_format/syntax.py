"""Explain a YAML parser's error: which line to look at, and what to write there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from benchmarks.dataset_format.problems import printable

_TAB = "a tab is used for indentation: use spaces"


@dataclass(frozen=True, slots=True)
class _Advice:
    """``complaint`` matches the message of libyaml or PyYAML; ``at_start`` points at the start of the construct."""

    complaint: str
    advice: str
    at_start: bool = False


_ADVICE = (
    _Advice(
        "unexpected end of stream|unexpected document indicator",
        "the quoted text that starts here is not closed: add the closing quote",
        at_start=True,
    ),
    _Advice("tab character", _TAB),
    _Advice(
        r"expected ',' or '\]'",
        "the list that starts here with [ is not closed or a comma is missing: add ] or the comma",
        at_start=True,
    ),
    _Advice(
        r"expected ',' or '\}'",
        "the mapping that starts here with { is not closed or a comma is missing: add } or the comma",
        at_start=True,
    ),
    _Advice(
        "mapping values are not allowed",
        "a second `: ` in one line, or a line indented more than its siblings: quote the text, or align the keys",
    ),
    _Advice(
        "could not find expected ':'",
        "this line is not `key: value`: add the colon, or indent the line as text below `|`",
        at_start=True,
    ),
    _Advice(
        r"entries are not allowed|expected '-' indicator|expected <block end>, but found '\?'",
        "a list item is not allowed here: start every `- ` on its own line, aligned, with no key between",
    ),
    _Advice(
        "did not find expected key|expected <block end>",
        "this does not match the lines above: align it with the other keys, and quote text that contains quotes",
    ),
    _Advice(
        "unknown escape|escape sequence|Unicode character escape|hexadecimal",
        "the backslash starts an unknown escape in double quotes: double the backslash, or use single quotes",
    ),
    _Advice("undefined tag handle", "tags are not allowed: quote text that starts with !"),
    _Advice(
        "directive|incompatible YAML",
        "a line that starts with % is a YAML directive, which a dataset does not need: remove it",
    ),
    _Advice("document start", "there is text after the end of the document (`...`): a file contains one dataset"),
    _Advice("node content", "a value is missing, or starts with a character that YAML reserves: quote the text"),
    _Advice("anchor|alias", "& or * starts an anchor or an alias: quote the text if you mean neither"),
    _Advice(
        "block scalar|indentation indicator|chomping|line break",
        "text cannot follow | or > on the same line: start it on the next line, indented more than the key",
    ),
)


def explain_syntax_error(error: Exception, text: str) -> tuple[int, str]:
    """The line, counted from 1, and what to do there. Unknown errors keep the parser's words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return 1, f"invalid YAML: {printable(str(error))}"
    complaint = error.problem or "syntax error"
    mark = error.problem_mark or error.context_mark
    if "cannot start any token" in complaint:
        return _line(mark), f"invalid YAML: {_explain_character(mark, text)}"
    for known in _ADVICE:
        if re.search(known.complaint, complaint):
            at = error.context_mark if known.at_start and error.context_mark else mark
            return _line(at), f"invalid YAML: {known.advice}"
    return _line(mark), f"invalid YAML: {printable(complaint)}"


def _line(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _explain_character(mark: Any, text: str) -> str:
    start = 0
    for _ in range(mark.line if mark else 0):
        start = text.find("\n", start) + 1
        if not start:
            break
    char = text[start + mark.column : start + mark.column + 1] if mark else ""
    return _TAB if char == "\t" else f"{printable(char) or 'this character'} cannot start a value: quote the text"
