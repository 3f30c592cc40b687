"""Readers of answers, by kind of answer. Every rule is a table in the tests.

All of them read whole words, prefer what follows "Answer:", and score "not enough information" 0. A reply with no
answer, or with several that disagree, is unparsable, which is not the same as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from tasks_app.tasks.numerals import numbers_in
from tasks_app.tasks.reply import Reply, read_reply, words
from tasks_app.tasks.verdict import Verdict

_YES = frozenset({"yes", "yeah", "yep", "true"})
_NO = frozenset({"no", "nope", "false"})
_DENIAL = re.compile(r"\bthere(?: is|'s| are) (?:not|no)\b|\b(?:isn't|aren't|is not|are not)\b")

_DIRECTION_WORDS = {
    "above": "above", "over": "above", "top": "above", "upper": "above", "up": "above", "higher": "above",
    "below": "below", "under": "below", "beneath": "below", "underneath": "below", "bottom": "below", "lower": "below",
    "down": "below", "left": "left", "leftward": "left", "right": "right", "rightward": "right",
}  # fmt: skip
_NOT_A_DIRECTION = re.compile(r"\b(?:that's|that is|you're|you are|all|is) right\b(?=\W*(?:$|[.!,]))|\bright answer\b")

_SIZES = frozenset({"small", "large"})
_COLORS = frozenset({"red", "blue", "yellow", "green"})
_SHAPES = {"circle": "circle", "square": "square", "triangle": "triangle"}


def judge_phrase(expected: str, actual: str) -> Verdict:
    """1 if the reply's answer contains the expected one, word by word; number words count as numbers."""
    reply = read_reply(actual)
    wanted = _phrase(expected)
    given = _phrase(reply.answer)
    if not given.strip():
        return Verdict.unparsable("The answer is empty.")
    if wanted in given:
        return Verdict.of(1.0, reply.answer, f"Contains {expected!r}.")
    return Verdict.of(0.0, reply.answer, f"Does not contain {expected!r}.")


def judge_yes_no(expected: str, actual: str) -> Verdict:
    """1 if the reply says Yes or No, whichever is expected."""
    return _judge_single(expected.lower(), read_reply(actual), _yes_no, "yes or no")


def judge_count(expected: str, actual: str) -> Verdict:
    """1 if the reply's number, in digits or words, is the expected one; "none" and "no circles" are 0."""
    return _judge_single(expected, read_reply(actual), _counts, "a number")


def judge_shape(expected: str, actual: str) -> Verdict:
    """1 if the reply names the expected shape by size, color and shape, in any order of the first two."""
    return _judge_single(expected.lower(), read_reply(actual), _shape_names, "a shape")


def judge_directions(expected: str, actual: str) -> Verdict:
    """Each expected direction is an equal share of 1; a wrong one subtracts ½; the score is at least 0."""
    reply = read_reply(actual)
    if reply.abstains:
        return _abstained(reply)
    wanted = _directions(expected.lower())
    given = _directions(reply.answer)
    if not reply.marked and len(given) > 2:
        given = next((last for sentence in reversed(reply.sentences) if (last := _directions(sentence))), given)
    if not given:
        return Verdict.unparsable("The answer does not contain a direction.")
    hits, misses = wanted & given, given - wanted
    value = max(0.0, len(hits) / len(wanted) - len(misses) / 2)
    extracted = " ".join(direction for direction in ("above", "below", "left", "right") if direction in given)
    return Verdict.of(value, extracted, f"{len(hits)} of {len(wanted)} directions correct, {len(misses)} wrong.")


def _judge_single(expected: str, reply: Reply, find: Callable[[str], Set[str]], what: str) -> Verdict:
    """Judge a reply that should contain exactly one answer. `find` returns the different answers in a text."""
    if reply.abstains:
        return _abstained(reply)
    answers = _settle(reply, find)
    if len(answers) != 1:
        reason = f"The answer contains more than one of: {what}." if answers else f"The answer does not contain {what}."
        return Verdict.unparsable(reason, ", ".join(sorted(answers)) or None)
    (answer,) = answers
    value = float(answer == expected)
    return Verdict.of(value, answer, f"Found {answer!r}." if value else f"Found {answer!r}, expected {expected!r}.")


def _settle(reply: Reply, find: Callable[[str], Set[str]]) -> Set[str]:
    """Return the answers in the reply; if they disagree, those of its first word or of its last sentence.

    "2 (one red, one blue)" begins with its answer, and reasoning ends with it. If beginning and end disagree too, or
    the text after "Answer:" contains others beyond its beginning, all are returned.
    """
    everywhere = find(reply.answer)
    if len(everywhere) <= 1:
        return everywhere
    opening = find(re.split(r"[\s,.;:()]", reply.answer, maxsplit=1)[0])
    if reply.marked:
        return opening if len(opening) == 1 and not _is_hedged(reply.answer) else everywhere
    last = next((answers for sentence in reversed(reply.sentences) if (answers := find(sentence))), everywhere)
    if len(opening) == 1 and not _is_hedged(reply.sentences[0]):
        return opening if len(last) != 1 or last == opening else everywhere
    return last if len(last) == 1 else everywhere


def _is_hedged(answer: str) -> bool:
    """Whether an answer begins with alternatives: "yes or no", "2 / 3"."""
    return re.match(r"\S+\s*(?:/|\bor\b|\band\b)", answer) is not None


def _abstained(reply: Reply) -> Verdict:
    return Verdict.of(0.0, "not enough information", "The answer says that there is not enough information.")


def _phrase(text: str) -> str:
    """Return words with numbers in digits, spaces around each, so that containment means whole words."""
    parts: list[str] = []
    for number, text_part in numbers_in(words(text)):
        parts.append(text_part if number is None else str(number))
    return f" {' '.join(parts)} "


def _yes_no(text: str) -> Set[str]:
    tokens = set(words(text))
    answers = {"yes"} if tokens & _YES else set()
    if _DENIAL.search(text) and not answers:
        return {"no"}
    return answers | ({"no"} if tokens & _NO else set())


def _counts(text: str) -> Set[str]:
    tokens = words(text)
    numbers = {str(number) for number, _ in numbers_in(tokens) if number is not None}
    if not numbers and {"no", "none", "nothing", "nil"} & set(tokens):
        return {"0"}
    return numbers


def _directions(text: str) -> set[str]:
    return {_DIRECTION_WORDS[word] for word in words(_NOT_A_DIRECTION.sub(" ", text)) if word in _DIRECTION_WORDS}


def _shape_names(text: str) -> Set[str]:
    """Return the named shapes: each shape word with the size and color right before it, if any."""
    names, attributes = set(), list[str]()
    for word in words(text):
        noun = _SHAPES.get(word.removesuffix("s"))
        if noun:
            sizes = [part for part in attributes if part in _SIZES]
            colors = [part for part in attributes if part in _COLORS]
            names.add(" ".join([*sizes[-1:], *colors[-1:], noun]))
            attributes = []
        elif word in _SIZES or word in _COLORS:
            attributes.append(word)
        else:
            attributes = []
    return names
