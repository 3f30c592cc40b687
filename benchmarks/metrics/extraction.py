"""The one step that finds the answer inside what a model wrote. All deterministic metrics read answers through it.

Every function first takes ``answer_body``: thinking blocks out, invisible characters out, line ends made one. Then

- ``extract_text`` takes the first that is there: the last "Answer:" line, the last ``\\boxed{}``, the only fenced block
  of an answer that is nothing else, the final line of several, the whole answer;
- ``extract_json`` takes the last fenced block that holds JSON, the whole answer, or the longest JSON inside it: an
  object anywhere or a list at the start of a line (``[1]`` in a sentence is a reference, ``[]`` in code an expression);
- ``extract_code`` takes the longest fenced block marked as Python, the longest unmarked one, or the whole answer.

What was taken, and how, is recorded with the score (``Score.extracted``, ``Score.detail["extraction"]``), so that a
wrong extraction is seen and is not mistaken for a wrong answer. All of it takes time linear in the length of the text,
whatever the text is.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

How = Literal["answer line", "boxed", "fenced block", "final line", "whole answer", "embedded JSON"]

MAX_JSON_ATTEMPTS = 20
"""How many places of an answer are tried as the start of a JSON value; each try is linear."""

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


@dataclass(frozen=True, slots=True)
class Extraction:
    """The compared part of an answer, and which rule found it."""

    text: str
    how: How


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """One fenced code block; ``language`` is lower case and empty where none is given."""

    language: str
    text: str


def answer_body(output: str) -> str:
    """The answer without thinking blocks, control characters and bidirectional marks, in NFC, stripped."""
    text = _LINE_END.sub("\n", without_thinking(output))
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).strip()


def without_thinking(output: str) -> str:
    """Drop ``<think>`` blocks. An unclosed one reaches to the end; a close without an open drops all before it."""
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


def extract_text(output: str) -> Extraction:
    """The short answer of a text; see the head of this module for the order of the rules."""
    body = answer_body(output)
    marked = _after_answer_mark(body)
    if marked is not None:
        return Extraction(marked, "answer line")
    boxed = _last_boxed(body)
    if boxed is not None:
        return Extraction(boxed, "boxed")
    blocks = fenced_blocks(body)
    if len(blocks) == 1 and body.startswith(("```", "~~~")) and body.endswith(("```", "~~~")):
        return Extraction(blocks[0].text.strip(), "fenced block")
    if "\n" not in body:
        return Extraction(_final_answer_of(body), "whole answer")
    return Extraction(_final_answer_of(_final_line(body)), "final line")


def extract_json(output: str) -> Extraction:
    """The JSON text of an answer. It need not be valid: an answer without any JSON comes back whole."""
    body = answer_body(output)
    for block in reversed(fenced_blocks(body)):
        if block.language in {"json", "json5", "jsonc"} or block.text.lstrip().startswith(("{", "[")):
            return Extraction(block.text.strip(), "fenced block")
    if body.startswith(("{", "[", '"')) and _is_json(body):
        return Extraction(body, "whole answer")
    embedded = _longest_json(body)
    return Extraction(body, "whole answer") if embedded is None else Extraction(embedded, "embedded JSON")


def extract_code(output: str) -> Extraction:
    """The Python code of an answer."""
    body = answer_body(output)
    blocks = fenced_blocks(body)
    for languages in (_PYTHON_NAMES, frozenset({""})):
        matching = [block.text for block in blocks if block.language in languages]
        if matching:
            return Extraction(max(matching, key=len), "fenced block")
    return Extraction(body, "whole answer")


def parse_json(text: str) -> Any:
    """Parse strict JSON: no NaN or Infinity. Raises ``ValueError`` for anything else, however deep or long."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def unwrap(text: str) -> str:
    """Take off surrounding white space, emphasis, quotes and mathematics marks."""
    text = text.strip()
    for opening, closing in _WRAPPERS:
        if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            inner = text[len(opening) : -len(closing)]
            if opening not in inner and closing not in inner:
                text = inner.strip()
    return text


def same_spacing(text: str) -> str:
    """``text`` in NFC with each run of white space made one space, for comparing."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fenced_blocks(body: str) -> list[FencedBlock]:
    """All fenced code blocks in order. A block that is never closed reaches to the end of the text."""
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
    """What follows the last "Answer:" on its line, or on the next line that is not blank."""
    end = -1
    for mark in _ANSWER_MARK.finditer(body):
        end = mark.end()
    if end < 0:
        return None
    rest = body[end:].lstrip(" \t*_`").lstrip("\n")
    line = rest.split("\n", 1)[0] if rest else ""
    found = _without_boxed(unwrap(line.strip().rstrip("*_`")))
    return _without_full_stop(found) or None


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


def _without_boxed(text: str) -> str:
    boxed = _last_boxed(text)
    return text if boxed is None else boxed


def _without_latex_text(text: str) -> str:
    for command in ("\\text{", "\\mathrm{", "\\textbf{"):
        if text.startswith(command) and text.endswith("}"):
            return text[len(command) : -1].strip()
    return text


def _final_line(body: str) -> str:
    for line in reversed(body.split("\n")):
        if line.strip(" \t`~-=*_"):
            return line.strip()
    return body


def _final_answer_of(line: str) -> str:
    """A line's answer: what follows "the answer is" where that is said, otherwise the line without its emphasis."""
    end = -1
    for mark in _ANSWER_SENTENCE.finditer(line):
        end = mark.end()
    if end >= 0 and line[end:].strip():
        return _without_full_stop(unwrap(line[end:].strip()))
    return unwrap(line)


def _without_full_stop(text: str) -> str:
    """``Paris.`` is ``Paris``; ``U.S.`` and ``...`` keep their dots."""
    if text.endswith(".") and "." not in text[:-1]:
        return unwrap(text[:-1])
    return text


def _longest_json(body: str) -> str | None:
    """The longest JSON value inside ``body``, looking at a bounded number of starts."""
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
    return longest or None


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
