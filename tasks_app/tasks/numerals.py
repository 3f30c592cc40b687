"""Numbers in digits and in words: below a million in English, to twelve in German, French and Spanish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_OTHER_LANGUAGES = {
    "zéro cero keine keinen kein aucun aucune ningún ninguna ninguno": 0, "zwei deux dos": 2, "drei trois tres": 3,
    "vier quatre cuatro": 4, "fünf cinq cinco": 5, "sechs seis": 6, "sieben sept siete": 7, "acht huit ocho": 8,
    "neun neuf nueve": 9, "zehn dix diez": 10, "onze": 11, "zwölf douze doce": 12,
}  # fmt: skip
_VALUES = (
    {word: value for value, word in enumerate(_UNITS)}
    | {word: 10 * i for i, word in enumerate(_TENS, start=2)}
    | {word: value for words, value in _OTHER_LANGUAGES.items() for word in words.split()}
)
_SCALES = {"hundred": 100, "thousand": 1000}
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
        if word in _VALUES:
            value, end = _in_words(tokens, position)
            yield Decimal(value), " ".join(tokens[position:end])
            position = end
            continue
        position += 1
        yield (_in_digits(word) if word.lstrip("-")[:1].isdigit() else None), word


def _in_words(tokens: Sequence[str], position: int) -> tuple[int, int]:
    """The number that begins at a word, and where the next word begins: "two hundred and forty three" is 243."""
    total = value = 0
    room = 1_000  # what is added has to be smaller: "two three" are two numbers
    while position < len(tokens):
        word = tokens[position]
        follows = tokens[position + 1] if word == "and" and position + 1 < len(tokens) else ""
        if follows in _VALUES and room >= 100:
            position += 1
        elif word in _SCALES and value and value < _SCALES[word]:
            value, room = value * _SCALES[word], 100 if word == "hundred" else 1_000
            if word == "thousand":
                total, value = total + value, 0
            position += 1
        elif word in _VALUES and _VALUES[word] < room:
            value += _VALUES[word]
            room = 10 if word in _TENS else 0
            position += 1
        else:
            break
    return total + value, position


def _in_digits(word: str) -> Decimal:
    """Return a number without redundant zeros, so that "2.0" and "02" are 2."""
    number = Decimal(word.replace(",", ""))
    return number.quantize(Decimal(1)) if number == number.to_integral_value() and abs(number) < 10**15 else number
