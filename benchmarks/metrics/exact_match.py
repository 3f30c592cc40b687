from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened
from benchmarks.metrics.extraction import How, extract_text, reference_texts, same_spacing, unspaced, whole_answer
from tasks_app.tasks.reply import layers, marked_answers, sentences, unwrap

MAX_SPACING = 2_000
"""An answer that is longer than twice the expected text by more characters than these is not compared further."""

_SAYS_NOTHING = frozenset(
    "a an the is are was were be it its it's that that's this these so thus hence therefore which what who where when"  # noqa: SIM905
    " would must i think believe answer correct final called named of in on at by for to and do does did s".split()
)
_NEGATION = re.compile(r"\b(?:not|no|never|nor|neither|cannot)\b|n['’]t\b", re.IGNORECASE)
_BEFORE_ANSWER = re.compile(
    r"(?:\b(?:is|are|was|were|be|called|named|it['’]s|that['’]s|by|in|on|at|to)(?: an?| the)?|[:=—–][*_]{0,2})"
    r"\s*[*_`\"“]{0,3}$",
    re.IGNORECASE,
)
_AFTER_ANSWER = re.compile(r"[*_`\"”]{0,3}\s+(?:is|are|was|were|has|had|comes?|stands?|did|does|[a-z]+ed|[a-z]{3,}s)\b")
_IT_IS = re.compile(
    r"[-*•]\s|no, |answer:|(?:no, )?(?:i (?:think|believe) (?:that )?)?(?:it|that)(?: is|['’]s| would be)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:actually|wait|sorry|correction|instead|rather|however|but|although|or|maybe|perhaps|hmm|oops)\b",
    re.IGNORECASE,
)
_NO_THEN = re.compile(r"^no[,:]\s", re.IGNORECASE)
_CONTRAST = re.compile(r",? but |;\s|, so ", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_EXPLANATION = re.compile(r",? (?:because|since) | \(")


class ExactMatch(DeterministicMetric):
    """1 if the whole answer, or the short answer extracted from it, equals the expected text.

    White space, "Answer:" before either text, a full stop at the end, emphasis and quotes around the answer and an
    explanation after it ("Paris (France)", "Paris. It is ...") do not matter, nor does a last sentence that says the
    expected text in the words of the task ("The capital of France is Paris."); letter case and all other punctuation
    do, also quotes in the expected text. Unicode is normalized to NFC.
    """

    name = "exact_match"
    title = "Exact match"
    description = "The answer equals the expected text; differences in whitespace are ignored"
    needs = frozenset({"expected_output"})

    def score(self, item: Item) -> Score:
        references = reference_texts(item.expected_output)
        expected = {unspaced(text) for text in references}
        whole = whole_answer(item.actual_output)
        comparable = 2 * len(item.expected_output) + MAX_SPACING
        if len(whole.text) <= comparable and unspaced(whole.text) in expected:
            return scored(True, "The answer matches the expected text.", whole)
        extraction = extract_text(item.actual_output)
        written = [same_spacing(text[:comparable]) for text in extraction.layers]
        explained = [text for layer in written for text in layers(_EXPLANATION.split(layer, maxsplit=1)[0])]
        first = _first_sentence(extraction.text[:comparable])
        if not expected.isdisjoint(map(unspaced, [*written, *explained, *layers(first)])):
            return scored(True, f"The {extraction.how} matches the expected text.", extraction)
        if unspaced(_emphasized(whole.text[-MAX_SPACING:])) in expected - {""}:
            return scored(True, "The emphasized words of the sentence are the expected text.", extraction)
        marked = extraction.how is How.WHOLE_ANSWER and marked_answers(whole.text)  # that contradict each other
        if not marked and _says(extraction.written or extraction.text, references, item.input):
            return scored(True, "The sentence says the expected text in the words of the task.", extraction)
        answer = same_spacing(extraction.text[:comparable])
        if not answer:
            return scored(False, "The answer is empty.", extraction)
        folded = {text.casefold() for text in expected}
        only_case = " Only the case differs." if unspaced(answer).casefold() in folded else ""
        reason = f"Expected “{shortened(same_spacing(references[0]))}”, found “{shortened(answer)}”.{only_case}"
        return scored(False, reason, extraction, failure="Only the case differs" if only_case else "Different text")


def _emphasized(text: str) -> str:
    """The only emphasized words of a text, if they end the only sentence, after a copula: "Its city is **Canberra**."""
    found = _EMPHASIS.findall(text)
    before, _, after = text.partition(f"**{found[0]}**") if len(found) == 1 else ("", "", "none")
    is_answer = len(sentences(text)) == 1 and not re.search(r"\w", after) and not _NEGATION.search(before)
    return found[0] if is_answer and _BEFORE_ANSWER.search(before) else ""


def _first_sentence(text: str) -> str:
    """The sentence before remarks: "Maria. Let me know if ...". Empty if a later one may take it back."""
    parts = sentences(text)
    later = " ".join(parts[1:])
    return parts[0] if later and not (_CORRECTION.search(later) or _NEGATION.search(later)) else ""


def _says(text: str, references: Iterable[str], question: str) -> bool:
    """Whether the last sentence is the expected text in its place as an answer, with no other words than the task's.

    The place is the beginning, before a verb, or after a copula: "Ann is older than Maria" does not say "Maria". A
    negation is in no such sentence.
    """
    parts = sentences(text[-MAX_SPACING:])
    if not parts:
        return False
    sentence = _CONTRAST.split(parts[-1])[-1]
    sentence = _EXPLANATION.split(unwrap(sentence), maxsplit=1)[0]
    asked = set(_stems(question)) - _SAYS_NOTHING
    for wanted in filter(None, references):
        before, found, after = sentence.partition(wanted)
        if not found or before[-1:].isalnum() or after[:1].isalnum() or wanted in after:
            continue
        if _NEGATION.search(_NO_THEN.sub("", before)) or _NEGATION.search(after):
            continue
        first = not re.search(r"\w", before) or set(_stems(_NO_THEN.sub("", before))) <= _SAYS_NOTHING
        follows = bool(_AFTER_ANSWER.match(after)) or after[:1] == "," or not re.search(r"\w", after)
        ends = bool(_BEFORE_ANSWER.search(before.rstrip() + (" " if before[-1:].isspace() else "")))
        rest = f"{_NO_THEN.sub('', before)} {after}"
        said = set(_stems(rest))
        if ((first and follows) or ends) and said <= asked | _SAYS_NOTHING and (said & asked or _IT_IS.match(before)):
            return True
    return False


def _stems(text: str) -> list[str]:
    return [
        re.sub(r"['’]s$|(?<=\w{3})(?:ing|ed|es|s)$", "", word)
        for word in re.findall(r"[^\W_]+(?:['’]\w+)?", text.lower())
    ]
