from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, not_applicable, scored, shortened
from benchmarks.metrics.contains import contains_words, occurrences
from benchmarks.metrics.extraction import extract_json, is_json, same_spacing, whole_answer
from benchmarks.metrics.languages import INSTALL, is_installed, language_of

MAX_CHARACTERS = 1_000_000
_BULLET = re.compile(r"^[ \t]{0,20}(?:[-+•]|\*(?!\*))[ \t]+\S", re.MULTILINE)
_HIGHLIGHT = re.compile(r"(?<!\*)\*{1,2}(?=[^\s*])[^*\n]{0,500}[^\s*]\*{1,2}(?!\*)|(?<!\*)\*[^\s*]\*(?!\*)")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]{1,200}\]")
_TITLE = re.compile(r"<<[^<>\n]{1,500}>>")
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’)\]]|$)|[。！？]")
_SECTION = r"^[ \t]{{0,20}}[#*_>]{{0,6}}[ \t]{{0,20}}{}[ \t]?\d"
_BLANK_LINE = re.compile(r"\n[ \t]*\n")

_COUNTS: dict[str, Callable[[str], int]] = {
    "words": lambda text: sum(any(map(str.isalnum, word)) for word in text.split()),
    "characters": len,
    "sentences": lambda text: max(len(_SENTENCE_END.findall(text)), 1 if text else 0),
    "paragraphs": lambda text: sum(bool(part.strip()) for part in _BLANK_LINE.split(text)),
    "bullets": lambda text: len(_BULLET.findall(text)),
    "highlights": lambda text: len(_HIGHLIGHT.findall(text)),
    "placeholders": lambda text: len(_PLACEHOLDER.findall(text)),
    "capital_words": lambda text: sum(word.isupper() for word in text.split()),
}
"""Constraint → how many of these a text has. A word has a letter or a digit: a dash or the mark of a list is none."""
_CHECKS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "no_commas": ("contains a comma", lambda text: not re.search("[,，、]", text)),
    "json": ("is not JSON", lambda text: is_json(extract_json(text).text)),
    "quoted": ("is not in double quotes", lambda text: len(text) > 1 and text[0] in '"“„' and text[-1] in '"”“'),
    "title": ("has no <<title>>", lambda text: bool(_TITLE.search(text))),
}
"""Constraint that is true → what is wrong with a text that does not follow it, and whether it does."""


class Constraints(DeterministicMetric):
    """The share of the task's ``constraints`` that the answer follows; correct only if it follows all.

    The kinds are those of IFEval (Zhou et al. 2023). Thinking blocks are not read.
    """

    name = "constraints"
    title = "Constraints"
    description = "Share of the task's constraints on length, form and words that the answer follows"
    needs = frozenset({"constraints"})

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        if "language" in item.constraints and not is_installed():
            return metric_error(f"The language was not checked: py3langid is not installed; run `{INSTALL}`.", answer)
        text = answer.text[:MAX_CHARACTERS]
        checks = checked(item.constraints, text)
        if not checks:
            return not_applicable("The task has no constraints.")
        broken = [problem for _, problem in checks if problem]
        reason = f"{len(checks) - len(broken)} of {len(checks)} constraints followed."
        if broken:
            reason += f" The answer {'; '.join(broken)}."
        failed = [name for name, problem in checks if problem]
        failure = f"Not followed: {failed[0].replace('_', ' ')}" if failed else ""
        return scored((len(checks) - len(broken)) / len(checks), reason, answer, failure)


def checked(constraints: Mapping[str, object], text: str) -> list[tuple[str, str]]:
    """Each constraint with what is wrong with the text, empty if it follows. Each entry of a list counts as one, but
    those of ``include_one`` together."""
    return [(name, problem) for name, given in constraints.items() for problem in _problems(name, given, text)]


def _problems(name: str, given: Any, text: str) -> list[str]:
    if name in _COUNTS:
        return [_count_problem(name.replace("_", " "), _COUNTS[name](text), given)]
    if name in _CHECKS:
        problem, follows = _CHECKS[name]
        return ["" if follows(text) else problem] if given else []
    return _OTHERS[name](given, text)


def _case_problems(given: str, text: str) -> list[str]:
    other = str.islower if given == "upper" else str.isupper
    return [f"is not all in {given} case" if any(map(other, text)) or not text else ""]


def _language_problems(given: str, text: str) -> list[str]:
    language = language_of(text)
    if language is None:
        return [f"has too little text to tell whether its language is {given}"]
    return ["" if language == given else f"is in the language {language}, not {given}"]


def _included(given: Sequence[str], text: str) -> list[str]:
    return ["" if _has(text, words) else f"does not contain “{shortened(words)}”" for words in given]


def _excluded(given: Sequence[str], text: str) -> list[str]:
    return [f"contains “{shortened(words)}”" if _has(text, words) else "" for words in given]


def _one_included(given: Sequence[str], text: str) -> list[str]:
    if any(_has(text, words) for words in given):
        return [""]
    return [f"contains none of {len(given)} texts, such as “{shortened(given[0])}”"]


def _has(text: str, words: str) -> bool:
    return contains_words(same_spacing(text), same_spacing(words))


def _occurrence_problems(given: Sequence[Mapping[str, Any]], text: str) -> list[str]:
    return [
        _count_problem(
            f"times “{shortened(each['text'])}”", sum(occurrences(same_spacing(text), same_spacing(each["text"]))), each
        )
        for each in given
    ]


def _letter_problems(given: Sequence[Mapping[str, Any]], text: str) -> list[str]:
    folded = text.casefold()
    return [
        _count_problem(f"times the letter “{each['letter']}”", folded.count(each["letter"].casefold()), each)
        for each in given
    ]


def _section_problems(given: Mapping[str, Any], text: str) -> list[str]:
    pattern = _SECTION.format(re.escape(given["heading"]))
    return [_count_problem("sections", len(re.findall(pattern, text, re.MULTILINE | re.IGNORECASE)), given)]


def _start_problems(given: str, text: str) -> list[str]:
    follows = text.strip().casefold().startswith(given.strip().casefold())
    return ["" if follows else f"does not start with “{shortened(given)}”"]


def _end_problems(given: str, text: str) -> list[str]:
    follows = text.strip().casefold().endswith(given.strip().casefold())
    return ["" if follows else f"does not end with “{shortened(given)}”"]


def _part_problems(wanted: Mapping[str, Any], text: str) -> list[str]:
    """What is wrong with the parts between dividers. One divider before the first or after the last part is allowed."""
    parts = [" ".join(part.split()) for part in text.split(wanted["divider"])]
    parts = parts[not parts[0] : len(parts) - (len(parts) > 1 and not parts[-1])]
    if not all(parts):
        return [f"has an empty part between “{shortened(wanted['divider'])}”"]
    if wanted.get("differ") and len({part.casefold() for part in parts}) < len(parts):
        return ["has two equal parts"]
    return [_count_problem("parts", len(parts), wanted)]


def _paragraph_problems(wanted: Mapping[str, Any], text: str) -> list[str]:
    paragraphs = [part for part in _BLANK_LINE.split(text) if part.strip()]
    number = wanted["number"]
    if len(paragraphs) < number:
        return [f"has {len(paragraphs):,} paragraphs, not paragraph {number:,}"]
    words = same_spacing(wanted["starts_with"]).casefold()
    begin = same_spacing(paragraphs[number - 1]).casefold().lstrip("\"'“‘*_#> ")
    if begin.startswith(words) and not (words[-1].isalnum() and begin[len(words) : len(words) + 1].isalnum()):
        return [""]
    return [f"does not start paragraph {number:,} with “{shortened(wanted['starts_with'])}”"]


def _count_problem(name: str, count: int, bounds: Mapping[str, int]) -> str:
    low, high = bounds.get("min", 0), bounds.get("max")
    if count >= low and (high is None or count <= high):
        return ""
    wanted = f"at least {low:,}" if high is None else f"at most {high:,}" if not low else f"{low:,} to {high:,}"
    return f"has {count:,} {name}, not {wanted}"


_OTHERS: dict[str, Callable[[Any, str], list[str]]] = {
    "case": _case_problems,
    "language": _language_problems,
    "include": _included,
    "exclude": _excluded,
    "include_one": _one_included,
    "occurrences": _occurrence_problems,
    "letters": _letter_problems,
    "sections": _section_problems,
    "parts": _part_problems,
    "nth_paragraph": _paragraph_problems,
    "starts_with": _start_problems,
    "ends_with": _end_problems,
}
"""Constraint → what is wrong with a text, for each of its entries."""
