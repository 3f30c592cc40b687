"""Find the answer in a model's reply. Replies are hostile input: every step takes linear time."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_MARKER = re.compile(r"\banswer\b(?:[ \t]+is)?[ \t]*:|\\boxed[ \t]*(?=\{)", re.IGNORECASE)
_MARKUP = str.maketrans({"*": None, "`": None, "_": " ", "#": None, "$": None, "{": " ", "}": " "})
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-"})
_SENTENCE_END = re.compile(r"[.!?;]+(?:\s+|$)|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|-?\d+(?:,\d{3})*(?:\.\d+)?")

ABSTENTION = re.compile(
    r"\bnot enough information\b|\binsufficient information\b|\b(?:can ?not|can't|could not|couldn't) (?:be )?"
    r"(?:determined?|tell|say|answer(?:ed)?|know)\b|\b(?:do not|don't) know\b|\bunknown\b|\bundetermined\b|"
    r"\bimpossible to (?:tell|say|determine|know)\b|\b(?:i am|i'm) not (?:sure|certain)\b|\bno idea\b"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in lower case without markup. `marked`: `answer` followed "Answer:"."""

    answer: str
    marked: bool

    @property
    def sentences(self) -> list[str]:
        return [sentence for part in _SENTENCE_END.split(self.answer) if (sentence := part.strip())]

    @property
    def abstains(self) -> bool:
        """Whether the answer is that there is not enough information."""
        return ABSTENTION.search(self.answer) is not None


def read_reply(text: str) -> Reply:
    """Return the final answer in a reply: the line after the last "Answer:" with one, otherwise all of it.

    Reasoning up to `</think>` is excluded; reasoning that never ends leaves nothing.
    """
    if "</think>" in text:
        text = text.rpartition("</think>")[2]
    elif text.lstrip().startswith("<think>"):
        text = ""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    for start in reversed([match.end() for match in _MARKER.finditer(text.replace("*", " ").replace("_", " "))]):
        line = next((clean for part in text[start:].split("\n") if (clean := _clean(part))), "")
        if line:
            return Reply(line, marked=True)
    return Reply(_clean(text), marked=False)


def _clean(text: str) -> str:
    """Lower case, no markup; empty if only punctuation is left."""
    cleaned = text.translate(_MARKUP).strip().lower()
    return cleaned if any(character.isalnum() for character in cleaned) else ""


def words(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case and without punctuation; "above-left" is two words."""
    return _WORD.findall(text.lower())
