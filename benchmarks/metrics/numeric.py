"""The numeric metric, and reading numbers as people and models write them.

Understood: signs (also "minus 5"), thousands separators (``1,234.5``, ``1.234,5``, ``1 234``, ``1'234``, ``1_234``),
decimal commas, fractions (``3/4``, ``½``, ``\\frac{3}{4}``, ``\\frac12``, ``1 1/2``), scientific notation (``1.2e-3``,
``1.2 × 10^-3``, ``10⁶``), "1.5 million", percent "two thirds" and, where no digits are, words below a
million. Units and
currency signs are left out; times (``12:30``) and dates (``2024-09-30``) are not numbers. A comma before exactly three
digits separates thousands (``1,234`` is 1234); a point does so only if it occurs twice (``1.234.567``), beside a
comma, or in a text of a language that writes so ("1.234 Gramm für ...").
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, unparsable
from benchmarks.metrics.extraction import Extraction, How
from tasks_app.tasks import numerals
from tasks_app.tasks.reply import INTRODUCTION, read_reply, sentences, shared_words, unwrap

RELATIVE_ROUNDING = Fraction(1, 10**9)
"""Smaller differences, as a share of the expected value, are rounding in how a number is written, never an error."""
MAX_EXPECTED = 80
"""Characters. A longer text with one number in it is not a numeric answer, unless its task gives a tolerance."""
MAX_DIGITS = 400
MAX_EXPONENT = 400
MAX_SCANNED = 20_000
"""Only numbers in this many last characters of a text are read."""

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPTS = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DASHES = str.maketrans(
    {"−": "-", "–": "-", "‒": "-", "﹣": "-", "⁄": "/", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?(?:\{([^{}]{1,50})\}|(\d))\s?(?:\{([^{}]{1,50})\}|(\d))")
_MINUS = re.compile(r"(?<![\d)] )\b(?:minus|negative)\s(?=[\d.$€£¥])", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|can not|nicht|keine?|no es|n['’]est pas)|n't)\b"
    r"[^.,;:!?\n]*?(?=\b(?:but|sondern|sino|mais)\b|[,;:!?\n]|\.\D|$)",
    re.IGNORECASE,
)
_CIRCUMSTANCE = re.compile(
    r"\b(?:in|per|for|of|from|after|with|at|on|over|within|by|every|each|than) (?:the |all )?"
    r"(?:(?:original|first|last|other|remaining|initial|total) )?(?:[$€£¥] ?)?$",
    re.IGNORECASE,
)
_OR = re.compile(r"\s?or (?:[$€£¥]\s?)?", re.IGNORECASE)
_REMARK = re.compile(r"\((?!or\b)[^()]{1,200}\)")
_RESULT = re.compile(
    r"[=≈→⇒]|\bequals\b|\bis equal to\b|,? that is,|,? (?:which|that) (?:is|makes|gives|leaves|means)\b"
    r"|\b(?:comes to|adds up to|amounts to|makes|gives|yields|leaves|so|hence|thus|therefore|making|but)\b"
)
_DIFFERENCE = re.compile(
    r"(?:[$€£¥] ?)?(?<![\d.,])\d[\d.,]{0,30}(?: [^\W\d_]{1,30}){0,2} (?:more|less|fewer|higher|lower) than\b",
    re.IGNORECASE,
)
_ASKED_PERCENT = re.compile(r"%|\bper ?cent|prozent|pourcent|porcentaje|por ciento|パーセント|百分", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b(?:total(?: of|:| is)|insgesamt|en tout,?|brings us to|adds up to) *[*$€£¥]{0,3}"
    r"(-?[\d.,]{1,30})(?!\d| ?[-+*/×·x=−\\])"
    r"|(?<![\d.,])(-?\d[\d.,]{0,30})(?: [^\W\d_]{1,30})? (?:in total|in all|altogether|en total|en tout|insgesamt)\b"
    r"|(?:合計|一共|总共|共) ?(\d[\d.,]*)",
    re.IGNORECASE,
)
_ATTACHED = re.compile(r"\b([^\W\d_]{3,30}) (?:of|is|was) (?:[*$€£¥] ?){0,3}(-?\d[\d.,]{0,30}%?)(?! ?[-+*/×·x=−\\\d])")
_ASKED_TOTAL = re.compile(
    r"\b(?:total|altogether|in all|sum|combined|overall|insgesamt|en tout)\b|合計|一共|总", re.IGNORECASE
)
_CLAUSE_END = re.compile(r",(?!\d)|;|\s[-–—]\s|\b(?:and|but|while|whereas|although|und|aber|et|mais|y|pero)\b")
_NO_NUMBER = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?![\d:])|\b\d{4}-\d\d-\d\d\b|±\s?[\d.,]+")
_BOUND = re.compile(r"\b(more than|less than|fewer than|at least|at most|up to)\s(?:[$€£¥]\s?)?(?=\d)", re.IGNORECASE)
_CJK_NUMBER = re.compile(r"(?<!\w)([一二三四五六七八九十两]{1,3})(?=[个個つ人名枚本只块]|\W|$)")
_COUNT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PARTS = ("half", "third", "quarter", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DIVISORS = dict(zip(_PARTS, (2, 3, 4, *range(4, 11)), strict=True))
_BELOW_ZERO = re.compile(
    r"(?<![\d.,-])(\d[\d.,]{0,30})(?: ?°? ?C| degrees(?: Celsius)?)? below (?:zero|freezing)\b", re.IGNORECASE
)
_WORD_FRACTION = re.compile(rf"\b({'|'.join(_COUNT_WORDS)})[ -]({'|'.join(_PARTS)})s?\b", re.IGNORECASE)
_POINT_LANGUAGE = re.compile(
    r"\b(?:der|das|ist|sind|hat|und|für|mit|nach|beträgt|insgesamt|el|los|las|tiene|hay|il|che|são)\b", re.IGNORECASE
)
_POINT_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.])")
_MAX_WORDS = 10
"""Number words are read in texts of at most this many words: in a longer text, "one" is a pronoun."""
_LATEX_NOISE = re.compile(r"\\(?:[,;! ]|%|\$|text\{|mathrm\{)|\{,\}")

_DIGITS = r"(?:\d{1,3}(?:[ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,'’_]*|\.\d+)"
_MAGNITUDES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_POWER = r"(?:\s?[x×*·⋅]\s?10\s?(?:\^|\*\*)\s?[({]?(?P<power>[-+]?\d{1,6})[)}]?|[eE](?P<e>[-+]?\d{1,6})(?!\w))"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>(?<![\w)\]%])[-+]\s?(?:[$€£¥]\s?)?)?(?P<whole>\d{{1,9}}[ ](?=\d{{1,9}}\s?/\s?\d))?"
    rf"(?P<digits>{_DIGITS})"
    rf"(?:\s?/\s?(?P<over>\d{{1,50}})(?![\d.,]*\d?/)|\^[({{]?(?P<ten>[-+]?\d{{1,6}})[)}}]?|{_POWER})?"
    r"\s?(?:(?P<percent>%|percent\b|per cent\b)|(?P<magnitude>thousand|million|billion|trillion)\b)?"
)
_ELEMENT = r"[-+]?\d{1,30}(?:\.\d{1,30})?(?:/[1-9]\d{0,30})?(?![\d/])"
_LIST = re.compile(rf"(?<![\w./]){_ELEMENT}(?:\s?(?:[,;]\s?(?:and\s)?|\sand\s){_ELEMENT}){{1,50}}(?![\w%])")
_WHOLE_LIST = re.compile(
    rf"[(\[]\s?{_ELEMENT}(?:\s?[,;]\s?{_ELEMENT}){{1,50}}\s?[)\]]|{_ELEMENT}(?:[,;]\s{_ELEMENT}){{1,50}}"
)
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(?:,\d{3})+")
_THOUSANDS_POINT = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")


class Numeric(DeterministicMetric):
    """1 if the answer's number equals the expected one within the task's ``tolerance`` (absolute; 0 if not given).

    Units are not compared; ``75 %``, ``0.75`` and ``3/4`` are equal, and a percent sign may be missing on either side.
    Of several numbers in a sentence, these count, in this order: the one that is called a total or by a word of the
    question, the only percentage if one is asked for, that of the clause with most words of the question, the one after
    the last ``=`` or "so". Those that the task's input contains, those after a preposition ("180 km in 3 hours"), in an
    introduction or in parentheses are left out. An answer without a number, with two that disagree, or of a sentence
    that also has the expected one, is unparsable. The metric applies if the expected answer is one short number or a
    list of numbers, as in ``(-2, 1)``, or if the task gives a tolerance (the first number of the expected answer then
    counts).
    """

    name = "numeric"
    title = "Numeric"
    description = "The number in the answer is within the task's tolerance; units are ignored"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return bool(_expected_numbers(item))

    def score(self, item: Item) -> Score:
        expected = _expected_numbers(item)
        if not expected:
            return not_applicable("The expected answer is neither a number nor a list of numbers.")
        given = {number.written for number in numbers_in(item.input)}
        asked = item.input.lower()
        answers: dict[str, Sequence[Number]] = {}

        def find(text: str) -> set[str]:
            if any(bound.lower() not in asked for bound in _BOUND.findall(text)):
                return set()
            values = _lists_in(text) if len(expected) > 1 else [[number] for number in _answers_in(text, given, asked)]
            answers.update({_shown(value): value for value in values})
            return {_shown(value) for value in values}

        reading = read_reply(_plain(item.actual_output), find, item.input)
        extraction = Extraction(reading.text, How.DECIDING_TEXT)
        if len(reading.values) != 1:
            several = ", ".join(sorted(reading.values)[:5])
            reason = f"The answer contains {f'several numbers: {several}' if several else 'no number'}."
            return unparsable(reason, extraction, failure="Several numbers" if several else "No number found")
        (shown,) = reading.values
        answer = answers[shown]
        tolerance = Fraction(str(item.tolerance or 0))
        within = f" ± {float(tolerance):g}" if tolerance else ""
        same = len(answer) == len(expected) and all(
            _is_same(number, wanted, tolerance) for number, wanted in zip(answer, expected, strict=True)
        )
        mentioned = numbers_in(reading.text) if reading.is_open and len(expected) == 1 else []
        if not same and any(_is_same(number, expected[0], tolerance) for number in mentioned):
            reason = f"The answer mentions {_shown(expected)} and {shown}, and does not certainly give either."
            return unparsable(reason, extraction, failure="Several numbers")
        reason = f"Expected {_shown(expected)}{within}, found {shown}."
        return scored(same, reason, extraction, failure="Different number")


def _expected_numbers(item: Item) -> Sequence[Number]:
    text = _plain(item.expected_output).strip()
    if len(text) <= MAX_EXPECTED and _WHOLE_LIST.fullmatch(text):
        return _lists_in(text)[0]
    numbers = numbers_in(text)
    single = len(numbers) == 1 and len(text) <= MAX_EXPECTED
    return numbers[:1] if single or item.tolerance is not None else []


def _answers_in(text: str, given: Set[Fraction], asked: str) -> list[Number]:
    """The numbers of a text that may be its answer, by the rules of ``Numeric``; "0.75 (75%)" is one number."""
    numbers = {
        number.value: number
        for sentence in sentences(unwrap(text))
        for number in _of_asked_clause(sentence, given, asked) or _answers_in_sentence(sentence, given)
    }
    return list(numbers.values())


def _of_asked_clause(sentence: str, given: Set[Fraction], asked: str) -> list[Number]:
    """Of several numbers, the total, or those of the clause that has most words of the question; none otherwise."""
    if total := _total(sentence, given, asked):
        return total
    stated = [number for number in numbers_in(_NEGATED.sub(" ", sentence)) if number.written not in given]
    percents = {number.value: number for number in stated if number.percent}
    if len(percents) == 1 and _ASKED_PERCENT.search(asked):
        return list(percents.values())
    if len({number.value for number in _answers_in_sentence(sentence, given)}) < 2:
        return []
    clauses = [
        (clause, numbers) for clause in _CLAUSE_END.split(sentence) if (numbers := _answers_in_sentence(clause, given))
    ]
    shared = [shared_words(clause, asked) for clause, _ in clauses]
    if len(clauses) < 2 or shared.count(max(shared)) > 1:
        return []
    return clauses[shared.index(max(shared))][1]


def _total(sentence: str, given: Set[Fraction], asked: str) -> list[Number]:
    """The number that is called a total or by a word of the question ("an average of 18"), or begins and ends it, or,
    if the question asks for a total, is the sum of all others."""
    if (
        len(totals := {number.value: number for number in numbers_in(" ".join(map("".join, _TOTAL.findall(sentence))))})
        == 1
    ):
        return list(totals.values())
    numbers = {number.value: number for number in numbers_in(sentence)}
    new = [number for number in numbers_in(sentence) if number.written not in given]
    attached = {
        number.value: number
        for word, text in _ATTACHED.findall(sentence)
        if shared_words(word, asked)
        for number in numbers_in(text)
        if number.written not in given
    }
    if len(attached) == 1:
        return list(attached.values())
    if len(new) > 1 and new[0].value == new[-1].value:
        return new[-1:]
    sums = [value for value in numbers if len(numbers) > 2 and 2 * value == sum(numbers)]
    return [numbers[sums[0]]] if sums and _ASKED_TOTAL.search(asked) else []


def _answers_in_sentence(sentence: str, given: Set[Fraction]) -> list[Number]:
    outside = _DIFFERENCE.sub(" ", _REMARK.sub(" ", sentence))
    main = INTRODUCTION.sub("", outside)
    outside = main if _NUMBER.search(main) else outside
    parts = _RESULT.split(outside if _NUMBER.search(outside) else sentence)
    last = _NEGATED.sub(" ", parts[-1])
    matches = [(match, number) for match in _NUMBER.finditer(last) if (number := _read(match))]
    if not matches and len(parts) > 1:
        return _answers_in_sentence(_RESULT.sub(" ", sentence), given)
    if not matches:
        all_words = re.findall(r"[^\W\d_]+", sentence.lower())
        found = {text: number for number, text in numerals.numbers_in(all_words) if number is not None}
        short = len(all_words) <= (2 if "one" in found else _MAX_WORDS)
        return [Number(Fraction(number)) for number in found.values() if short]
    stated = [not _CIRCUMSTANCE.search(last[max(0, match.start() - 30) : match.start()]) for match, _ in matches]
    for place in range(1, len(matches)):  # "in 1930 or 1932" has two circumstances
        stated[place] &= stated[place - 1] or not _OR.fullmatch(
            last, matches[place - 1][0].end(), matches[place][0].start()
        )
    candidates = [
        number for (_, number), is_stated in zip(matches, stated, strict=True) if is_stated or not any(stated)
    ]
    new = [number for number in candidates if number.written not in given]
    if not new and len(parts) > 1:
        return _answers_in_sentence(_RESULT.sub(" ", outside), given)
    return new if new and len(parts) == 1 else candidates


def _lists_in(text: str) -> list[list[Number]]:
    return [
        [Number(Fraction(element)) for element in re.findall(_ELEMENT, match.group())] for match in _LIST.finditer(text)
    ]


def _is_same(answer: Number, expected: Number, tolerance: Fraction) -> bool:
    """Whether the values agree, or the written figures if a percent sign may be missing on one side."""
    pairs = [(answer.value, expected.value)]
    if answer.percent or expected.percent:
        pairs.append((answer.written, expected.written))
    return any(abs(a - e) <= max(tolerance, abs(e) * RELATIVE_ROUNDING) for a, e in pairs)


def _shown(numbers: Sequence[Number]) -> str:
    texts = []
    for number in numbers:
        try:
            text = f"{float(number.written):.12g}"
        except OverflowError:
            text = f"about 10^{math.floor(math.log10(abs(number.written.numerator)))}"
        texts.append(f"{text}%" if number.percent else text)
    return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: ``75 %`` is 75 with ``percent`` set."""

    written: Fraction
    percent: bool = False

    @property
    def value(self) -> Fraction:
        return self.written / 100 if self.percent else self.written


def numbers_in(text: str) -> list[Number]:
    """All numbers in the last ``MAX_SCANNED`` characters of ``text``, in order. Takes linear time."""
    return [number for match in _NUMBER.finditer(_plain(text[-MAX_SCANNED:])) if (number := _read(match))]


def _plain(text: str) -> str:
    text = _SUPERSCRIPTS.sub(lambda match: "^" + match.group().translate(_SUPERSCRIPT), text)
    text = _LATEX_NOISE.sub(lambda match: match.group()[-1] if match.group() in ("\\%", "\\$") else "", text)
    text = (
        _LATEX_FRACTION.sub(lambda match: f" {match[1] or match[2]}/{match[3] or match[4]}", text)
        .replace("\\times", "×")
        .replace("\\cdot", "·")
    )
    text = _CJK_NUMBER.sub(lambda match: f" {numerals.cjk_number(match[1])} ", text)
    text = _BELOW_ZERO.sub(r"-\1", text)
    text = _WORD_FRACTION.sub(
        lambda match: f"{_COUNT_WORDS.index(match[1].lower()) + 1}/{_DIVISORS[match[2].lower()]}", text
    )
    if _POINT_LANGUAGE.search(text):
        text = _POINT_THOUSANDS.sub(r"\1\2", text)
    text = re.sub("([0-9])([¼½¾⅐-⅞])", r"\1 \2", text)
    text = _NO_NUMBER.sub(" ", text)
    return _MINUS.sub("-", unicodedata.normalize("NFKC", text).translate(_DASHES))


def _read(match: re.Match[str]) -> Number | None:
    value = _decimal(match["digits"])
    if value is None:
        return None
    if match["over"]:
        if int(match["over"]) == 0:
            return None
        value /= int(match["over"])
    if match["whole"]:
        value += int(match["whole"])
    if match["ten"]:  # ``10^6`` is a million; powers of any other base are not read
        if value != 10:
            return None
        value = Fraction(1)
    exponent = int(match["ten"] or match["power"] or match["e"] or 0) + _MAGNITUDES.get(match["magnitude"], 0)
    if abs(exponent) > MAX_EXPONENT:
        return None
    value *= Fraction(10) ** exponent
    negative = (match["sign"] or "").startswith("-")
    return Number(-value if negative else value, percent=bool(match["percent"]))


def _decimal(digits: str) -> Fraction | None:
    """A run of digits and separators as a number; ``None`` if it is not one (``1.2.3``) or is too long."""
    plain = re.sub(r"[ '’_]", "", digits.rstrip(".,'’_"))
    if len(plain) > MAX_DIGITS:
        return None
    if "," in plain and "." in plain:
        decimal_mark = max(",.", key=plain.rfind)
        thousands = "." if decimal_mark == "," else ","
        plain = plain.replace(thousands, "").replace(",", ".")
    elif _THOUSANDS_COMMA.fullmatch(plain) and not plain.startswith("0"):
        plain = plain.replace(",", "")
    elif _THOUSANDS_POINT.fullmatch(plain):
        plain = plain.replace(".", "")
    else:
        plain = plain.replace(",", ".")
    try:
        return Fraction(plain)
    except ValueError:
        return None
