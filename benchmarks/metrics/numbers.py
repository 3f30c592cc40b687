"""Reading numbers as people and models write them.

Understood: signs, thousands separators (``1,234.5``, ``1.234,5``, ``1 234``, ``1'234``, ``1_234``), decimal commas,
fractions (``3/4``, ``½``, ``\\frac{3}{4}``, ``1 1/2``), scientific notation (``1.2e-3``, ``1.2 × 10^-3``, ``10⁶``),
percent, and units or currency signs around them, which are left out. A comma before exactly three digits separates
thousands (``1,234`` is 1234); a point there does so only where it stands twice (``1.234.567``) or beside a comma.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 400
MAX_EXPONENT = 400
MAX_SCANNED = 20_000
"""Characters at the end of a text in which numbers are looked for."""

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


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: ``75 %`` is 75 with ``percent``."""

    written: Fraction
    percent: bool = False

    @property
    def value(self) -> Fraction:
        return self.written / 100 if self.percent else self.written


def numbers_in(text: str) -> list[Number]:
    """All numbers in the last ``MAX_SCANNED`` characters of ``text``, in order. Takes linear time."""
    text = _plain(text[-MAX_SCANNED:])
    found = (_read(match) for match in _NUMBER.finditer(text))
    return [number for number in found if number is not None]


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
    if match["ten"]:
        value = Fraction(1) if value == 10 else Fraction(0)
        exponent = int(match["ten"]) if value else None
    else:
        exponent = int(match["power"] or match["e"] or 0)
    if exponent is None or abs(exponent) > MAX_EXPONENT:
        return None
    value *= Fraction(10) ** exponent
    negative = (match["sign"] or "").startswith("-")
    return Number(-value if negative else value, percent=bool(match["percent"]))


def _decimal(digits: str) -> Fraction | None:
    """A run of digits and separators as a number, or ``None`` where it is none (``1.2.3``) or is too long."""
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
