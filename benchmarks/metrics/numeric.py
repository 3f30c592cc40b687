"""The numeric metric, and reading numbers as people and models write them.

Understood: signs, thousands separators (``1,234.5``, ``1.234,5``, ``1 234``, ``1'234``, ``1_234``), decimal commas,
fractions (``3/4``, ``½``, ``\\frac{3}{4}``, ``1 1/2``), scientific notation (``1.2e-3``, ``1.2 × 10^-3``, ``10⁶``) and
percent. Units and currency signs are left out. A comma before exactly three digits separates thousands (``1,234`` is
1234); a point does so only if it occurs twice (``1.234.567``) or beside a comma.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, unparsable
from benchmarks.metrics.extraction import Extraction, How, extract_text

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
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]{1,50})\}\{([^{}]{1,50})\}")
_LATEX_NOISE = re.compile(r"\\(?:[,;! ]|%|\$|text\{|mathrm\{)|\{,\}")

_DIGITS = r"(?:\d{1,3}(?:[ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,'’_]*|\.\d+)"
_POWER = r"(?:\s?[x×*·⋅]\s?10\s?(?:\^|\*\*)\s?[({]?(?P<power>[-+]?\d{1,6})[)}]?|[eE](?P<e>[-+]?\d{1,6})(?!\w))"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>(?<![\w)\]%])[-+]\s?(?:[$€£¥]\s?)?)?(?P<whole>\d{{1,9}}[ ](?=\d{{1,9}}\s?/\s?\d))?"
    rf"(?P<digits>{_DIGITS})"
    rf"(?:\s?/\s?(?P<over>\d{{1,50}})(?![\d.,]*\d?/)|\^[({{]?(?P<ten>[-+]?\d{{1,6}})[)}}]?|{_POWER})?"
    r"\s?(?P<percent>%|percent\b|per cent\b)?"
)
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(?:,\d{3})+")
_THOUSANDS_POINT = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")


class Numeric(DeterministicMetric):
    """1 if the answer's number equals the expected one within the task's ``tolerance`` (absolute; 0 if not given).

    Of several numbers in the extracted answer the one after the last ``=`` or ``≈`` counts, then the first of an
    "Answer:" line or a box, then the last. Units are not compared; ``75 %``, ``0.75`` and ``3/4`` are equal, and a
    percent sign may be missing on either side. An answer without a number is unparsable. The metric applies if the
    expected answer is short and contains one number, or if the task gives a tolerance (its first number then counts).
    """

    name = "numeric"
    title = "Numeric"
    description = "The number in the answer is within the task's tolerance; units are ignored"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return _expected_number(item) is not None

    def score(self, item: Item) -> Score:
        expected = _expected_number(item)
        if expected is None:
            return not_applicable("The expected answer is not a single number.")
        extraction = extract_text(item.actual_output)
        answer = _answered_number(extraction)
        if answer is None:
            return unparsable("The answer contains no number.", extraction)
        tolerance = Fraction(str(item.tolerance or 0))
        within = f" ± {float(tolerance):g}" if tolerance else ""
        reason = f"Expected {_shown(expected)}{within}, found {_shown(answer)}."
        return scored(_is_same(answer, expected, tolerance), reason, extraction)


def _expected_number(item: Item) -> Number | None:
    numbers = numbers_in(item.expected_output)
    single = len(numbers) == 1 and len(item.expected_output.strip()) <= MAX_EXPECTED
    return numbers[0] if numbers and (single or item.tolerance is not None) else None


def _answered_number(extraction: Extraction) -> Number | None:
    text = extraction.text
    after = max(text.rfind(mark) for mark in "=≈")
    if after >= 0 and (result := numbers_in(text[after + 1 :])):
        return result[0]
    numbers = numbers_in(text)
    if not numbers:
        return None
    return numbers[0] if extraction.how in {How.ANSWER_LINE, How.BOXED} else numbers[-1]


def _is_same(answer: Number, expected: Number, tolerance: Fraction) -> bool:
    """Whether the values agree, or the written figures if a percent sign may be missing on one side."""
    pairs = [(answer.value, expected.value)]
    if answer.percent or expected.percent:
        pairs.append((answer.written, expected.written))
    return any(abs(a - e) <= max(tolerance, abs(e) * RELATIVE_ROUNDING) for a, e in pairs)


def _shown(number: Number) -> str:
    try:
        text = f"{float(number.written):.12g}"
    except OverflowError:
        text = f"about 10^{math.floor(math.log10(abs(number.written.numerator)))}"
    return f"{text}%" if number.percent else text


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
    text = _plain(text[-MAX_SCANNED:])
    return [number for match in _NUMBER.finditer(text) if (number := _read(match)) is not None]


def _plain(text: str) -> str:
    text = _SUPERSCRIPTS.sub(lambda match: "^" + match.group().translate(_SUPERSCRIPT), text)
    text = _LATEX_NOISE.sub(lambda match: match.group()[-1] if match.group() in ("\\%", "\\$") else "", text)
    text = _LATEX_FRACTION.sub(r"\1/\2", text).replace("\\times", "×").replace("\\cdot", "·")
    text = re.sub("([0-9])([¼½¾⅐-⅞])", r"\1 \2", text)
    return unicodedata.normalize("NFKC", text).translate(_DASHES)


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
    exponent = int(match["ten"] or match["power"] or match["e"] or 0)
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
