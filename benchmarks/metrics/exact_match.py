from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.metrics.base import DeterministicMetric, Item, Score, from_difference, scored, shortened, unparsable
from benchmarks.metrics.contains import contains_words
from benchmarks.metrics.extraction import How, extract_text, reference_texts, same_spacing, unspaced, whole_answer
from tasks_app.tasks.reply import (
    EMPHASIS,
    INTRODUCTION,
    QUESTION,
    deciding_body,
    is_uncertain,
    layers,
    marked_answers,
    sentences,
    takes_back,
)

MAX_SPACING = 2_000
"""An answer that is longer than twice the expected text by more characters than these is not compared further."""
MAX_BARE = 3
"""Words of a line that may be an answer by itself. A longer one beside an answer is a remark."""

_ASKS_FOR_LINE = re.compile(r"[`'\"“]Answer:")
_ANNOUNCED = frozenset({How.ANSWER_LINE, How.ANSWER_SENTENCE, How.BOXED, How.FENCED_BLOCK})
_CASE_MATTERS = re.compile(
    r"\b(?:(?:upper|lower|letter|title|camel|snake)[ -]?case|case[- ]sensitive|capital letters?|capitali[sz]\w+)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|cannot|without|nicht|kein\w*|pas|jamais|nunca)\b|n['’]t\b|不|没|ない", re.IGNORECASE
)
_BEFORE_ANSWER = re.compile(
    r"(?:\b(?:is|are|was|were|be|called|named|it['’]s|that['’]s|by|in|on|at|to|as|ist|war|heißt|est|était|es|fue|era)"
    r"(?: (?:an?|the))?|[:=—–][*_]{0,2}|[是为為は]|,? hence|,? thus|,? so)\s*[*_`\"“「『]{0,3}$",
    re.IGNORECASE,
)
_AFTER_ANSWER = re.compile(
    r"[*_`\"”]{0,3}\s+(?:is|are|was|were|has|had|comes?|stands?|did|does|wrote|[a-z]+ed|[a-z]{3,}s)\b"
)
_NO_THEN = re.compile(r"^no[,:]\s", re.IGNORECASE)
_CONTRAST = re.compile(r",? but |;\s|, so ", re.IGNORECASE)
_EXPLANATION = re.compile(
    r",? (?:because|since|which|who)\b| ?[(（–—]|, (?:where|when|as|an?|the|with) "
    r"| (?:by|in|according to|based on) the |, (?:and|while|whereas) (?=\w+ \w+ \w+)"
)
_DECORATION = re.compile("(?<=[^\\W\\d_]{2})!$|[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]")
_COMPARES = re.compile(r"\b(?:more|most|less|least|first|second|third|last|\w{3,}(?:er|est))\b", re.IGNORECASE)
_LABELED = re.compile(r"(?m)^\W{0,6}(?:[^\W\d][\w-]* ){0,3}[^\W\d][\w-]*[*_]{0,2}[:：][*_]{0,2}[ \t]*(\S.*)$")


class ExactMatch(DeterministicMetric):
    """1 if the answer is the expected text.

    The answer is the whole reply, what it announces ("Answer: Paris", ``\\boxed{}``, JSON, "City: Paris"), its only
    emphasized words, a first or last line or sentence that is nothing else ("Paris", "Paris (France)"), or what a
    sentence gives in the place of an answer ("The capital of France is Paris."). White space, letter case, emphasis,
    quotes and the stop around it do not matter; all other punctuation does, also quotes in the expected text, and
    letter case if the task is about it ("in upper case"). Unicode is normalized to NFC. To compare strictly, use
    ``regex`` with ``^`` and ``$``. If the task asks for a line `Answer: …`, nothing else takes its place: what a reply
    copies from the task may contain the answer.

    0 if the reply does not mention the expected text, or announces something else. Any other reply is unparsable: it
    mentions the text, but does not certainly give it as its answer.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer equals the expected text; differences in whitespace and letter case are ignored"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        references = reference_texts(item.expected_output)
        match_case = bool(_CASE_MATTERS.search(item.input))
        expected = {_comparable(text, match_case) for text in references}
        whole = whole_answer(item.actual_output)
        comparable = 2 * len(item.expected_output) + MAX_SPACING

        def equal(*texts: str) -> bool:
            return not expected.isdisjoint(_comparable(text, match_case) for text in texts if text)

        if len(whole.text) <= comparable and equal(whole.text):
            return scored(True, "The answer matches the expected text.", whole)
        extraction = extract_text(item.actual_output)
        written = [same_spacing(text[:comparable]) for text in extraction.layers]
        explained = (text for layer in written for text in layers(_EXPLANATION.split(layer, maxsplit=1)[0]))
        if equal(*dict.fromkeys([*written, *explained])):
            return scored(True, f"The {extraction.how} matches the expected text.", extraction)
        announced = extraction.how in _ANNOUNCED
        body = extraction.text if announced else deciding_body(item.actual_output)
        body = body if len(body) <= comparable else f"{body[: MAX_SPACING // 2]}\n{body[-MAX_SPACING // 2 :]}"
        body = body if announced else QUESTION.sub(" ", body)
        possible = _may_contain(body, expected)
        if possible and not (
            (not announced and marked_answers(whole.text))
            or (_ASKS_FOR_LINE.search(item.input) and (not announced or len(sentences(body)) > 1))
        ):
            parts = _parts_alone(body, item.input, references)
            if any(equal(*layers(part), part.strip("*_ ")) for part in parts) or any(
                _says(sentence, references, item.input, match_case) for sentence in _deciding_sentences(body)
            ):
                return scored(True, "The answer gives the expected text.", extraction)
        answer = same_spacing(extraction.text[:comparable])
        if not answer:
            return scored(False, "The answer is empty.", extraction)
        only_case = " Only the case differs." if answer.casefold() in {text.casefold() for text in expected} else ""
        if only_case or not (possible and any(_mentions(body, wanted) for wanted in references)):
            wanted, found = from_difference(same_spacing(references[0]), answer)
            reason = f"Expected “{wanted}”, found “{found}”.{only_case}"
            return scored(False, reason, extraction, failure="Only the case differs" if only_case else "Different text")
        shown = shortened(same_spacing(references[0]))
        reason = f"The answer mentions “{shown}”, but does not certainly give it as its answer."
        return unparsable(reason, extraction, failure="Mentioned, not certainly given")


def _comparable(text: str, match_case: bool) -> str:
    text = unspaced(text)
    if match_case:
        return text
    is_plain = text.isascii() and text.isalnum()
    return (text if is_plain else _DECORATION.sub("", text)).casefold()


def _may_contain(body: str, expected: Iterable[str]) -> bool:
    """Whether any part of the body can be an expected text. This settles most wrong answers without reading them: of
    plain text, comparisons change nothing but white space, letter case and what is around it."""
    if not body.isascii() or "\\" in body:
        return True
    squeezed = _squeezed(body)
    return any(_squeezed(text) in squeezed for text in expected)


def _squeezed(text: str) -> str:
    return "".join(text.casefold().split())


def _mentions(text: str, wanted: str) -> bool:
    return contains_words(same_spacing(text), same_spacing(wanted))


def _parts_alone(body: str, question: str, references: Sequence[str]) -> Iterator[str]:
    """The parts of a reply that are an answer by themselves, if the rest of it is remarks that do not take it back."""
    parts = sentences(body)
    if "\n" not in body:
        yield re.sub(r"^[-*•+]\s+", "", body)
    if len(parts) > 1 and not any(map(takes_back, parts[1:])) and not _is_bare(parts[-1]):
        yield parts[0]
    if parts and _NO_THEN.match(parts[-1]):
        yield _NO_THEN.sub("", parts[-1])
    if len(values := [value for value in _LABELED.findall(body) if _is_bare(value)]) == 1:
        yield values[0]
    emphasized = {text: sentence for sentence in parts for text in EMPHASIS.findall(sentence)}
    asked = any(_mentions(question, wanted) for wanted in references)
    if len(emphasized) == 1 and not asked:
        ((text, sentence),) = emphasized.items()
        if not (_NEGATION.search(_clause_of(text, sentence)) or is_uncertain(sentence) or any(map(takes_back, parts))):
            yield text


def _clause_of(text: str, sentence: str) -> str:
    """What of a sentence stands before the text, and after it in the same clause."""
    before, _, after = sentence.partition(text)
    return f"{before}|{re.split('[,;:]', after, maxsplit=1)[0]}"


def _is_bare(text: str) -> bool:
    return len(text.split()) <= MAX_BARE


def _deciding_sentences(body: str) -> Iterator[str]:
    """The last sentence, and the first one if no other takes it back."""
    parts = sentences(body)
    yield from parts[-1:]
    if len(parts) > 1 and not any(map(takes_back, parts[1:])) and not _is_bare(parts[-1]):
        yield parts[0]


def _says(sentence: str, references: Sequence[str], question: str, match_case: bool) -> bool:
    """Whether a sentence gives the expected text in the place of an answer.

    The place is the beginning, before a verb, or the end, after a copula. If the question names the text, or what it
    asks is named otherwise, words beside the question's make it open: "Ann is older than Maria" does not say "Maria",
    and "Oslo is the capital of Sweden" not the one of Norway.
    """
    text = same_spacing(INTRODUCTION.sub("", _CONTRAST.split(sentence)[-1]))
    if is_uncertain(text):
        return False
    for wanted in filter(None, map(same_spacing, references)):
        place = text.find(wanted) if match_case else text.lower().find(wanted.lower())
        if place < 0 or not _mentions(text, wanted):
            continue
        before, after = _NO_THEN.sub("", text[:place]), text[place + len(wanted) :]
        after = _EXPLANATION.split(after, maxsplit=1)[0]
        if _mentions(after, wanted) or _NEGATION.search(f"{before} | {after}"):
            continue
        asked = set(_stems(question)) - _SAYS_NOTHING
        is_named = _mentions(question, wanted)
        said = set(_stems(before) + _stems(after))
        new = said - asked - _SAYS_NOTHING
        if not _stems(after) and _BEFORE_ANSWER.search(before):
            subject = set(_stems(re.split(r"[,:]\s", before)[-1])) - asked - _SAYS_NOTHING
            if not is_named or not new or (len(subject) == 1 and not _COMPARES.search(question)):
                return True
        follows = _AFTER_ANSWER.match(after) or after[:1] == "," or set(_stems(after)[:1]) & asked or not _stems(after)
        opens = not set(_stems(before)) - _SAYS_NOTHING - (set() if is_named else asked)
        if (
            opens
            and follows
            and said
            and (said & asked or not new)
            and len(new) <= (0 if is_named else len(said & asked) // 2)
        ):
            return True
    return False


def _stems(text: str) -> list[str]:
    return [
        re.sub(r"['’]s$|(?<=\w{3})(?:ing|ed|es|s)$", "", re.sub(r"ie[sd]$", "y", word))
        for word in re.findall(r"[^\W_]+(?:['’]\w+)?", text.lower())
    ]


_SAYS_NOTHING = frozenset(
    _stems(
        "a an the should is are was were be it its it's that that's this these so thus hence therefore which what who "
        "where when would must i i'd think believe say answer correct final called named of in on at by for to as and "
        "do does did"
    )
)
