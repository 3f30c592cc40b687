"""Turning a YAML parser's complaint into a line to look at and advice on what to write there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from benchmarks.dataset_format.problems import printable

_TAB = "a tab stands where YAML wants spaces: indent with spaces"


@dataclass(frozen=True, slots=True)
class _Advice:
    """``complaint`` matches what libyaml or PyYAML says; ``at_start`` points at where the construct began."""

    complaint: str
    advice: str
    at_start: bool = False


_UNCLOSED = "the quoted text that begins here is never closed: add the closing quote"

_ADVICE = (
    _Advice("unexpected end of stream|unexpected document indicator", _UNCLOSED, at_start=True),
    _Advice("tab character", _TAB),
    _Advice(
        r"expected ',' or '\]'",
        "the list that begins here with [ is not closed or lacks a comma: add ] or the comma",
        at_start=True,
    ),
    _Advice(
        r"expected ',' or '\}'",
        "the mapping that begins here with { is not closed or lacks a comma: add } or the comma",
        at_start=True,
    ),
    _Advice(
        "mapping values are not allowed",
        "a second `: ` in one line, or a line indented more than its siblings: quote the text, or align the keys",
    ),
    _Advice(
        "could not find expected ':'",
        "this line is no `key: value`: add the colon, or indent it as text below `|`",
        at_start=True,
    ),
    _Advice(
        r"entries are not allowed|expected '-' indicator|expected <block end>, but found '\?'",
        "a list item does not fit here: begin every `- ` on its own line, aligned, with no key between",
    ),
    _Advice(
        "did not find expected key|expected <block end>",
        "this does not fit the lines above: align it with the other keys, and quote text that itself holds quotes",
    ),
    _Advice(
        "unknown escape|escape sequence|Unicode character escape|hexadecimal",
        "a backslash in double quotes begins an escape, and this one is unknown: double it, or use single quotes",
    ),
    _Advice("undefined tag handle", "tags are not allowed: quote text that begins with !"),
    _Advice(
        "directive|incompatible YAML",
        "a line that begins with % is a directive of YAML, which a dataset does not need: remove it",
    ),
    _Advice("document start", "there is text after the end of the document (`...`): a file holds one dataset"),
    _Advice("node content", "a value is missing, or begins with a sign that YAML reserves: quote the text"),
    _Advice("anchor|alias", "a & or * begins an anchor or an alias: quote the text if neither is meant"),
    _Advice(
        "block scalar|indentation indicator|chomping|line break",
        "text cannot follow | or > in the same line: begin it on the next line, indented more than the key",
    ),
)

_CANNOT_START = re.compile(r"cannot start any token")


def explain_syntax_error(error: Exception, text: str) -> tuple[int, str]:
    """The line, counted from 1, and what to do. What is unknown is passed on in the parser's words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return 1, f"no YAML: {printable(str(error))}"
    complaint = error.problem or "syntax error"
    mark = error.problem_mark or error.context_mark
    if _CANNOT_START.search(complaint):
        return _line(mark), _explain_character(mark, text)
    for known in _ADVICE:
        if re.search(known.complaint, complaint):
            at = error.context_mark if known.at_start and error.context_mark else mark
            return _line(at), f"no YAML: {known.advice}"
    return _line(mark), f"no YAML: {printable(complaint)}"


def _line(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _explain_character(mark: Any, text: str) -> str:
    line = _line_text(text, mark.line) if mark else ""
    char = line[mark.column : mark.column + 1] if mark else ""
    if char == "\t":
        return f"no YAML: {_TAB}"
    return f"no YAML: {printable(char) or 'this character'} cannot begin a value: quote the text"


def _line_text(text: str, number: int) -> str:
    start = 0
    for _ in range(number):
        end = text.find("\n", start)
        if end < 0:
            return ""
        start = end + 1
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]
