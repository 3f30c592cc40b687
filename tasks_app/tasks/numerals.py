"""Numbers in digits and in words, 0 to 99."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {word: value for value, word in enumerate(_UNITS)} | {word: 10 * i for i, word in enumerate(_TENS, start=2)}
_CJK_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2}


def cjk_number(text: str) -> int:
    """A number of Chinese and Japanese digits, 0 to 99: "二十七" is 27."""
    tens, ten, units = text.partition("十")
    value = _CJK_DIGITS.get(units[-1:], 0)
    return value + 10 * _CJK_DIGITS.get(tens[-1:], 1) if ten else _CJK_DIGITS.get(text[-1:], 0)


def numbers_in(tokens: Sequence[str]) -> Iterator[tuple[Decimal | None, str]]:
    """Yield (number, text) for each word; the number is None for other words. "twenty four" is one number, 24."""
    position = 0
    while position < len(tokens):
        word = tokens[position]
        position += 1
        if word in _TENS and position < len(tokens) and tokens[position] in _UNITS[1:10]:
            yield Decimal(_VALUES[word] + _VALUES[tokens[position]]), f"{word} {tokens[position]}"
            position += 1
        elif word in _VALUES:
            yield Decimal(_VALUES[word]), word
        elif word.lstrip("-")[:1].isdigit():
            yield _in_digits(word), word
        else:
            yield None, word


def _in_digits(word: str) -> Decimal:
    """Return a number without redundant zeros, so that "2.0" and "02" are 2."""
    number = Decimal(word.replace(",", ""))
    return number.quantize(Decimal(1)) if number == number.to_integral_value() and abs(number) < 10**15 else number
