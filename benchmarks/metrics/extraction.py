"""Extraction of the answer from a model's output. All deterministic metrics read answers through this module.

Every function starts from ``answer_body``: thinking blocks and invisible characters removed, line ends unified. Then

- ``extract_text`` returns the first of: the last "Answer:" line, the last ``\\boxed{}``, the fenced block of an answer
  that is nothing else, the final line of several, the whole answer;
- ``extract_json`` returns the last fenced block that contains JSON, the whole answer, or the longest JSON inside it: an
  object anywhere or a list at the start of a line (``[1]`` in a sentence is a reference, ``[]`` in code an expression);
- ``extract_code`` returns the longest fenced block marked as Python, the longest unmarked one, or the whole answer.

The extracted text and the rule are stored with the score (``Score.extracted``, ``Score.detail["extraction"]``), so that
a wrong extraction is not mistaken for a wrong answer. Everything takes time linear in the length of the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_JSON_ATTEMPTS = 20
"""How many places of an answer are tried as the start of a JSON value. Each attempt is linear."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
)
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_THINKING_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_ANSWER_MARK = re.compile(r"\banswer(?: is)?[ \t*_`]{0,8}[:：=]", re.IGNORECASE)
_ANSWER_SENTENCE = re.compile(r"\banswer is[ \t]", re.IGNORECASE)
_WRAPPERS = (("**", "**"), ("__", "__"), ("`", "`"), ("*", "*"), ('"', '"'), ("“", "”"), ("$", "$"), ("\\(", "\\)"))
_EMBEDDED_START = re.compile(r"\{|(?m:^)\[")
_PYTHON_NAMES = frozenset({"python", "py", "python3"})


class How(StrEnum):
    """The rule that found the answer. The values are shown to readers, the members are what code compares."""

    ANSWER_LINE = "answer line"
    BOXED = "boxed"
    FENCED_BLOCK = "fenced block"
    FINAL_LINE = "final line"
    WHOLE_ANSWER = "whole answer"
    EMBEDDED_JSON = "embedded JSON"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The compared part of an answer, and the rule that found it."""

    text: str
    how: How


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """One fenced code block; ``language`` is lower case, and empty if none is given."""

    language: str
    text: str


def answer_body(output: str) -> str:
    """The answer without thinking blocks, control characters and bidirectional marks, in NFC, stripped."""
    text = _LINE_END.sub("\n", without_thinking(output))
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).strip()


def without_thinking(output: str) -> str:
    """Drop ``<think>`` blocks. An unclosed one extends to the end; a closing tag without an opening one drops
    everything before it."""
    kept: list[str] = []
    position = depth = 0
    for tag in _THINKING_TAG.finditer(output):
        if not tag.group(1):
            if depth == 0:
                kept.append(output[position : tag.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
        else:
            depth -= 1
        position = tag.end()
    if depth == 0:
        kept.append(output[position:])
    return "".join(kept)


def whole_answer(output: str) -> Extraction:
    return Extraction(answer_body(output), How.WHOLE_ANSWER)


def extract_text(output: str) -> Extraction:
    """The short answer of a text. The module docstring lists the rules in order."""
    body = answer_body(output)
    marked = _after_answer_mark(body)
    if marked is not None:
        return Extraction(marked, How.ANSWER_LINE)
    boxed = _last_boxed(body)
    if boxed is not None:
        return Extraction(boxed, How.BOXED)
    blocks = fenced_blocks(body)
    if len(blocks) == 1 and body.startswith(("```", "~~~")) and body.endswith(("```", "~~~")):
        return Extraction(blocks[0].text.strip(), How.FENCED_BLOCK)
    if "\n" not in body:
        return Extraction(_answer_of_line(body), How.WHOLE_ANSWER)
    final_line = next((line.strip() for line in reversed(body.split("\n")) if line.strip(" \t`~-=*_")), body)
    return Extraction(_answer_of_line(final_line), How.FINAL_LINE)


def extract_json(output: str) -> Extraction:
    """The JSON text of an answer. It need not be valid; an answer without any JSON is returned whole."""
    body = answer_body(output)
    for block in reversed(fenced_blocks(body)):
        if block.language in {"json", "json5", "jsonc"} or block.text.lstrip().startswith(("{", "[")):
            return Extraction(block.text.strip(), How.FENCED_BLOCK)
    if body.startswith(("{", "[", '"')) and is_json(body):
        return Extraction(body, How.WHOLE_ANSWER)
    embedded = _longest_json(body)
    return Extraction(embedded, How.EMBEDDED_JSON) if embedded else Extraction(body, How.WHOLE_ANSWER)


def extract_code(output: str) -> Extraction:
    """The Python code of an answer."""
    body = answer_body(output)
    blocks = fenced_blocks(body)
    for languages in (_PYTHON_NAMES, frozenset({""})):
        matching = [block.text for block in blocks if block.language in languages]
        if matching:
            return Extraction(max(matching, key=len), How.FENCED_BLOCK)
    return Extraction(body, How.WHOLE_ANSWER)


def parse_json(text: str) -> Any:
    """Parse strict JSON: no NaN or Infinity. Raises ``ValueError`` for anything else, however deep or long."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_json(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def unwrap(text: str) -> str:
    """Remove surrounding white space, emphasis, quotes and math delimiters."""
    text = text.strip()
    for opening, closing in _WRAPPERS:
        if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            inner = text[len(opening) : -len(closing)]
            if opening not in inner and closing not in inner:
                text = inner.strip()
    return text


def same_spacing(text: str) -> str:
    """``text`` in NFC with each run of white space replaced by one space, for comparing."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fenced_blocks(body: str) -> list[FencedBlock]:
    """All fenced code blocks in order. A block that is never closed extends to the end of the text."""
    blocks: list[FencedBlock] = []
    fence, language, lines = "", "", list[str]()
    for line in body.split("\n"):
        mark = line.lstrip(" ")[:3]
        if not fence and mark in {"```", "~~~"}:
            fence, lines = mark, []
            language = line.strip(" `~").split(" ")[0].lower()
        elif fence and mark == fence and not line.strip(" `~"):
            blocks.append(FencedBlock(language, "\n".join(lines)))
            fence = ""
        elif fence:
            lines.append(line)
    if fence and lines:
        blocks.append(FencedBlock(language, "\n".join(lines)))
    return blocks


def _after_answer_mark(body: str) -> str | None:
    """The text after the last "Answer:" on its line, or on the next line that is not blank."""
    end = -1
    for mark in _ANSWER_MARK.finditer(body):
        end = mark.end()
    if end < 0:
        return None
    rest = body[end:].lstrip(" \t*_`").lstrip("\n")
    text = unwrap(rest.split("\n", 1)[0].strip().rstrip("*_`"))
    boxed = _last_boxed(text)
    return _without_full_stop(text if boxed is None else boxed) or None


def _last_boxed(body: str) -> str | None:
    start = body.rfind("\\boxed{")
    if start < 0:
        return None
    opened = start + len("\\boxed{")
    depth = 1
    for brace in re.finditer(r"[{}]", body[opened:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return _without_latex_text(body[opened : opened + brace.start()].strip())
    return None


def _without_latex_text(text: str) -> str:
    for command in ("\\text{", "\\mathrm{", "\\textbf{"):
        if text.startswith(command) and text.endswith("}"):
            return text[len(command) : -1].strip()
    return text


def _answer_of_line(line: str) -> str:
    """The text after "the answer is" if the line has it, otherwise the line without its emphasis."""
    end = -1
    for mark in _ANSWER_SENTENCE.finditer(line):
        end = mark.end()
    if end >= 0 and line[end:].strip():
        return _without_full_stop(unwrap(line[end:].strip()))
    return unwrap(line)


def _without_full_stop(text: str) -> str:
    """``Paris.`` becomes ``Paris``; ``U.S.`` and ``...`` keep their dots."""
    if text.endswith(".") and "." not in text[:-1]:
        return unwrap(text[:-1])
    return text


def _longest_json(body: str) -> str:
    """The longest JSON value inside ``body``, empty if there is none, from a bounded number of starts."""
    decoder = json.JSONDecoder(parse_constant=_reject_constant)
    longest, position = "", 0
    for _ in range(MAX_JSON_ATTEMPTS):
        start = _EMBEDDED_START.search(body, position)
        if start is None:
            break
        try:
            _, end = decoder.raw_decode(body, start.start())
        except (ValueError, RecursionError):
            position = start.end()
            continue
        longest = max(longest, body[start.start() : end], key=len)
        position = end
    return longest


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
