from __future__ import annotations

import math
from fractions import Fraction

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, extract_text
from benchmarks.metrics.numbers import Number, numbers_in
from benchmarks.metrics.verdicts import not_applicable, passed_or_not, unparsable

RELATIVE_ROUNDING = Fraction(1, 10**9)
"""Differences below this share of the expected value are rounding in how a number is written, never a mistake."""


MAX_EXPECTED = 80
"""Characters. A longer text with one number in it is no numeric answer, unless its task gives a tolerance."""


class Numeric(DeterministicMetric):
    """1 where the answer's number is the expected one within the task's ``tolerance`` (absolute; 0 when not given).

    Of several numbers in the extracted answer the one after the last ``=`` or ``≈`` counts, then the first of an
    "Answer:" line or a box, then the last. Units are not compared; ``75 %``, ``0.75`` and ``3/4`` are the same, and a
    percent sign may be missing on either side. An answer without a number is unparsable. It applies where the expected
    output is short and holds one number, and where the task gives a tolerance (then its first number counts).
    """

    name = "numeric"
    title = "Numeric"
    description = "The answer's number is the expected one within the task's tolerance, units aside"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        return _expected_number(item) is not None

    def score(self, item: Item) -> Score:
        expected = _expected_number(item)
        if expected is None:
            return not_applicable("The expected output is not one number.")
        extraction = extract_text(item.actual_output)
        found = answered_number(extraction)
        if found is None:
            return unparsable("There is no number in the answer.", extraction)
        tolerance = Fraction(str(item.tolerance or 0))
        passed = same_number(found, expected, tolerance)
        within = f" within {float(tolerance):g}" if tolerance else ""
        reason = f"Expected {_shown(expected)}{within}, found {_shown(found)}."
        return passed_or_not(passed, reason, extraction)


def _expected_number(item: Item) -> Number | None:
    numbers = numbers_in(item.expected_output)
    single = len(numbers) == 1 and len(item.expected_output.strip()) <= MAX_EXPECTED
    return numbers[0] if numbers and (single or item.tolerance is not None) else None


def answered_number(extraction: Extraction) -> Number | None:
    text = extraction.text
    after = max(text.rfind(mark) for mark in "=≈")
    result = numbers_in(text[after + 1 :]) if after >= 0 else []
    if result:
        return result[0]
    numbers = numbers_in(text)
    if not numbers:
        return None
    return numbers[0] if extraction.how in {"answer line", "boxed"} else numbers[-1]


def same_number(found: Number, expected: Number, tolerance: Fraction) -> bool:
    """Whether the values agree, or the written figures where only one side has a percent sign."""
    pairs = [(found.value, expected.value)]
    if found.percent or expected.percent:
        pairs.append((found.written, expected.written))
    return any(abs(a - e) <= max(tolerance, abs(e) * RELATIVE_ROUNDING) for a, e in pairs)


def _shown(number: Number) -> str:
    try:
        text = f"{float(number.written):.12g}"
    except OverflowError:
        text = f"about 10^{math.floor(math.log10(abs(number.written.numerator)))}"
    return f"{text} %" if number.percent else text
