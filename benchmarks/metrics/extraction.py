"""Extraction of the answer from a model's output.

Every function starts from ``answer_body``: thinking blocks and invisible characters removed, line ends unified. Then

- ``extract_text`` returns the first of: the text after the last "Answer:" or in the last ``\\boxed{}``, the text after
  "the answer is", the fenced block of an answer that is nothing else, the final line of several, the whole answer;
- ``extract_json`` returns the last fenced block that contains JSON, the whole answer, or the longest JSON inside it: an
  object anywhere or a list at the start of a line (``[1]`` in a sentence is a reference, ``[]`` in code an expression);
- ``extract_code`` returns the longest fenced block marked as Python, the longest unmarked one, or the whole answer.

A reference is read as an answer is (``reference_texts``), without a mark in front of it and without the stop at its
end, but keeps everything else that it is written with: ``"a"`` and ``a`` are two references.

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

from tasks_app.tasks.reply import (
    answer_body,
    deciding_body,
    layers,
    marked_answers,
    without_invisible,
    without_stop,
)

MAX_JSON_ATTEMPTS = 20
"""How many places of an answer are tried as the start of a JSON value. Each attempt is linear."""

_REJECTED = re.compile(
    r"\b(?:not|never|instead of|rather than)(?: \w+){0,2}\W{0,3}$|n't(?: \w+){0,2}\W{0,3}$", re.IGNORECASE
)
_BESIDE_PUNCTUATION = re.compile(r" ?([^\w\s]) ?")
_EMBEDDED_START = re.compile(r"\{|(?m:^)\[|(?<=`)\[")
_BEFORE_MARK = frozenset({"the", "my", "final", "correct"})
_PYTHON_NAMES = frozenset({"python", "py", "python3"})


class How(StrEnum):
    """The rule that found the answer. The values are shown to readers, the members are what code compares."""

    ANSWER_LINE = "answer line"
    ANSWER_SENTENCE = "answer sentence"
    BOXED = "boxed"
    FENCED_BLOCK = "fenced block"
    FINAL_LINE = "final line"
    WHOLE_ANSWER = "whole answer"
    EMBEDDED_JSON = "embedded JSON"
    DECIDING_TEXT = "deciding text"


_HOW = {
    "line": How.ANSWER_LINE,
    "heading": How.ANSWER_LINE,
    "box": How.BOXED,
    "sentence": How.ANSWER_SENTENCE,
}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The compared part of an answer, the rule that found it, and the part as it is ``written``, with what is around
    it: emphasis, quotes, a stop."""

    text: str
    how: How
    written: str = ""

    @property
    def layers(self) -> list[str]:
        """What may be compared: the text as it is written, with less and less around it."""
        return layers(self.written or self.text)


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """One fenced code block; ``language`` is lower case, and empty if none is given."""

    language: str
    text: str


def whole_answer(output: str) -> Extraction:
    return Extraction(answer_body(output), How.WHOLE_ANSWER)


def extract_text(output: str) -> Extraction:
    """The short answer of a text. The module docstring lists the rules in order."""
    body = deciding_body(output)
    groups = marked_answers(body)
    strict = [group for group in groups if group[-1].kind != "sentence"]
    for group in (strict or groups)[:1]:
        if len({unspaced(answer.text) for answer in group}) == 1:
            return Extraction(group[-1].text, _HOW[group[-1].kind], group[-1].written)
        return Extraction(body, How.WHOLE_ANSWER)
    blocks = fenced_blocks(body)
    if len(blocks) == 1 and body.startswith(("```", "~~~")) and body.endswith(("```", "~~~")):
        return Extraction(blocks[0].text.strip(), How.FENCED_BLOCK)
    if "\n" not in body:
        written = body.lstrip("# →⇒")
        return Extraction(layers(written)[-1], How.WHOLE_ANSWER, written)
    final_line = next((line.strip() for line in reversed(body.split("\n")) if line.strip(" \t`~-=*_")), body)
    written = final_line.lstrip("# →⇒")
    return Extraction(layers(written)[-1], How.FINAL_LINE, written)


def reference_texts(reference: str) -> list[str]:
    """The expected text without invisible characters, as answers are read, and without what says nothing: typographic
    quotes around it, "Answer:" before it, its stop.

    The first is the one to show: the text without "Answer:".
    """
    body = without_invisible(reference).strip()
    if body.isascii() and body.isalnum():
        return [body]  # most references: nothing is around them
    plain = _without_mark(body)
    quoted = plain[1:-1] if plain[:1] + plain[-1:] in ("“”", "„“", "«»") else plain
    return list(dict.fromkeys([plain, body, quoted, without_stop(plain), without_stop(body), without_stop(quoted)]))


def _without_mark(reference: str) -> str:
    """The reference without a mark in front of it; unchanged if anything else is beside the marked answer."""
    groups = marked_answers(reference)
    if [len(group) for group in groups] != [1]:
        return reference
    (answer,) = groups[0]
    before, after = reference[: answer.start].lower(), reference[answer.end :]
    is_alone = not re.search(r"\w", after) and set(re.findall(r"\w+", before)) <= _BEFORE_MARK
    return answer.written if is_alone else reference


def extract_json(output: str) -> Extraction:
    """The JSON text of an answer. It need not be valid; an answer without any JSON is returned whole."""
    body = answer_body(output)
    for block in reversed(fenced_blocks(body)):
        if block.language in {"json", "json5", "jsonc"} or block.text.lstrip().startswith(("{", "[")):
            return Extraction(block.text.strip(), How.FENCED_BLOCK)
    if body.startswith(("{", "[", '"')) and is_json(body):
        return Extraction(body, How.WHOLE_ANSWER)
    for group in marked_answers(body)[:1]:
        if group[-1].kind in {"line", "heading"} and group[-1].text.startswith(("{", "[")) and is_json(group[-1].text):
            return Extraction(group[-1].text, How.ANSWER_LINE)
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


def same_spacing(text: str) -> str:
    """``text`` in NFC with each run of white space replaced by one space, for comparing."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def unspaced(text: str) -> str:
    """``same_spacing`` without spaces beside punctuation: "(-2, 1)" and "(-2,1)" are equal."""
    text = same_spacing(text)
    return text if text.isalnum() else _BESIDE_PUNCTUATION.sub(r"\1", text)


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
        if not _REJECTED.search(body[max(0, start.start() - 40) : start.start()]):
            longest = max(longest, body[start.start() : end], key=len)
        position = end
    return longest


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
