from __future__ import annotations

import time
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.numeric import Numeric, numbers_in
from benchmarks.metrics.tests.factories import item

WRITTEN = (
    ("42", 42),
    ("-42", -42),
    ("−42", -42),
    ("+42", 42),
    ("3.14", "3.14"),
    (".5", "0.5"),
    ("3,14", "3.14"),
    ("1,234", 1234),
    ("1,234,567.89", "1234567.89"),
    ("1.234.567,89", "1234567.89"),
    ("1.234", "1.234"),
    ("1 234 567", 1234567),
    ("1\u202f234", 1234),
    ("1'234'567", 1234567),
    ("1_000_000", 1000000),
    ("0,250", "0.25"),
    ("3/4", "3/4"),
    ("1 1/2", "3/2"),
    ("½", "1/2"),
    ("1½", "3/2"),
    ("\\frac{3}{4}", "3/4"),
    ("-\\frac{3}{4}", "-3/4"),
    ("1.2e-3", "0.0012"),
    ("1E6", 1000000),
    ("1.2 × 10^-3", "0.0012"),
    ("1.2·10⁻³", "0.0012"),
    ("6.02 x 10^{23}", 602 * 10**21),
    ("2 \\times 10^3", 2000),
    ("10⁶", 1000000),
    ("75%", "0.75"),
    ("75 percent", "0.75"),
    ("75\\%", "0.75"),
    ("$1,234.50", "1234.5"),
    ("-$5", -5),
    ("5€", 5),
    ("42 km/h", 42),
    ("42kg", 42),
    ("1,2,3", None),
    ("1.2.3", None),
    ("1/0", None),
    ("1e999999", None),
    ("9" * 5000, None),
    ("x2", None),
    ("minus 5", -5),
    ("7 minus 5", [7, 5]),
    ("1.5 million", 1500000),
    ("\\frac12", "1/2"),
    ("12:30", None),
    ("2024-09-30", None),
    ("none", None),
    ("", None),
)


def test_a_written_number_is_read():
    for text, value in WRITTEN:
        numbers = [number.value for number in numbers_in(text)]
        values = value if isinstance(value, list) else [] if value is None else [value]
        assert numbers == [Fraction(each) for each in values], text


@given(st.integers(-(10**12), 10**12))
def test_thousands_separators_change_nothing(number):
    assert [found.value for found in numbers_in(f"{number:,}")] == [number]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_every_float_python_prints_is_read_back(number):
    assert [float(found.value) for found in numbers_in(repr(number))] == [number]


def test_numeric():
    for actual, expected, tolerance, value in (
        ("Answer: 42 km", "42", None, 1),
        ("3 + 4 = 7", "7", None, 1),
        ("Answer: 3 + 4 = 7 apples of 10", "7", None, 1),
        ("He has 3 left, so 3 * 5 is\n15 dollars.", "$15", None, 1),
        ("The total is 1,234.50", "1234.5", None, 1),
        ("0.75", "75%", None, 1),
        ("75", "75%", None, 1),
        ("3/4", "0.75", None, 1),
        ("0.333", "1/3", None, 0),
        ("0.333", "1/3", 0.001, 1),
        ("9.9", "10", 0.1, 1),
        ("9.89", "10", 0.1, 0),
        ("3.14159265358979", "3.141592653589793", None, 1),
        ("\\boxed{12} since 3 × 4", "12", None, 1),
        ("7", "8", None, 0),
        ("-7", "7", None, 0),
    ):
        score = Numeric().score(item(actual, expected, tolerance=tolerance))
        assert score.value == value, (actual, expected)


def test_an_answer_without_a_number_is_unparsable_and_scores_zero():
    for actual in ("", "I do not know.", "many"):
        assert Numeric().score(item(actual, "7")).status is ScoreStatus.UNPARSABLE, actual


def test_numeric_applies_if_one_number_is_expected():
    long = "return 7" + " " * 3 + "# as the text above says, which is why there is no need for a second look"
    for expected, tolerance, applies in (
        ("7", None, True),
        ("about 7 km", None, True),
        ("Paris", None, False),
        ("12:21", None, False),
        ("2024-09-30", None, False),
        ("(-2, 1)", None, True),
        ("16, 42, 126", None, True),
        ("top 3, north 6", None, False),
        ("7 of 10", 0.5, True),
        (long, None, False),
    ):
        case = item("7", expected, tolerance=tolerance)
        assert Numeric().applies_to(case) is applies, expected
        assert (Numeric().score(case).status is ScoreStatus.NOT_APPLICABLE) is not applies, expected


def test_a_list_of_numbers_is_compared_number_by_number():
    for actual, expected, tolerance, value in (
        ("Answer: (-2,1)", "(-2, 1)", None, 1),
        ("The robot stands at (-2.0, 1).", "(-2, 1)", None, 1),
        ("16, 42 and 126", "16, 42, 126", None, 1),
        ("(1, -2)", "(-2, 1)", None, 0),
        ("(-2, 1, 0)", "(-2, 1)", None, 0),
        ("(-2.1, 1)", "(-2, 1)", 0.1, 1),
        ("(-2.2, 1)", "(-2, 1)", 0.1, 0),
        ("(-4/2, 1)", "(-2, 1)", None, 1),
        ("(-2/0, 1)", "(-2, 1)", None, None),
        (f"(-2, {'1' * 5000})", "(-2, 1)", None, None),
        ("-2", "(-2, 1)", None, None),
        ("(0, 0), or rather (-2, 1)", "(-2, 1)", None, None),
    ):
        score = Numeric().score(item(actual, expected, tolerance=tolerance))
        assert (None if score.status is ScoreStatus.UNPARSABLE else score.value) == value, actual


def test_numbers_of_the_question_and_circumstances_are_not_the_answer():
    question = "A train goes 60 km in one hour. How far does it go in 3 hours?"
    for actual, value in (
        ("It goes 180 km in 3 hours.", 1),
        ("In 3 hours, a train that goes 60 km/h goes 180 km.", 1),
        ("It goes 180 km or 190 km.", None),
        ("9.9 = 9.9, so 180", 1),
    ):
        score = Numeric().score(item(actual, "180", input=question))
        assert (None if score.status is ScoreStatus.UNPARSABLE else score.value) == value, actual


def test_millions_of_digits_take_seconds_at_most():
    for unit in ("1 234", "1,", "9", "1 1/", "-", "½"):
        started = time.process_time()
        Numeric().score(item(unit * 10**6, "7"))
        assert time.process_time() - started < 10, unit
