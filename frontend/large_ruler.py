"""The large ruler: a row a model, a mark a variant, and what is not significantly different: brackets join it, or it
shares a letter where models have several marks, because a bracket past the marks of others would be misread.

Places along the axis are shares of the plot, so it fills whatever width it has while its texts keep their size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.presentation.numbers import score
from benchmarks.presentation.ranks import Mark
from benchmarks.presentation.texts import cut, cut_name, visible
from frontend.label_places import CHARACTER
from frontend.plots import UNIT, Axis, percent, svg

SHAPES = {
    "●": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "◆": "M0-5l5 5-5 5-5-5z",
    "▲": "M0-5l5 9h-10z",
    "■": "M-4-4h8v8h-8z",
    "▼": "M0 5l5-9h-10z",
}
"""The sign of a variant in a legend, and its outline around the mean."""
MOST_MARKS = 40
_TOP, _HEAD, _STEP, _BELOW = 18, 22, 16, 20
"""Pixels above the first model, above the marks of each (where phones have its name), for a mark, for a baseline."""
_NAME = 24
_NEAR_END = 0.7
"""Share of the axis after which the words of a baseline stand to the left of its mark."""
_MOST_BRACKETS = 4
_NARROW = 66
"""Pixels to the right of the plot that are enough on a phone, unless words or brackets need more."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A mark: a model in a variant with its mean and interval; ``group`` has the letters of its groups, ``more`` stands
    behind the number."""

    model: str
    variant: str
    mean: float
    low: float
    high: float
    group: str = ""
    more: str = ""

    @classmethod
    def of(cls, model: str, mean: float, low: float | None, high: float | None, more: str = "") -> Self:
        """Of a score whose unknown bounds are the ends of the axis."""
        return cls(model, "", mean, 0.0 if low is None else low, 1.0 if high is None else high, more=more)


@dataclass(frozen=True, slots=True)
class LargeRuler:
    """``scored`` come best first; ``baselines`` stand on the axis only, as does what guessing scores. ``words`` writes
    a mean; without a ``label`` for screen readers it says how many there are."""

    scored: Sequence[Scored]
    baselines: Sequence[Mark] = ()
    guess: float | None = None
    axis: Axis = UNIT
    words: Callable[[float], str] = score
    label: str = ""

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(each.variant for each in self.scored))

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The sign of each variant, if there are several and a sign for each."""
        variants = self.variants
        return list(zip(SHAPES, variants, strict=False)) if 1 < len(variants) <= len(SHAPES) else []

    @property
    def has_letters(self) -> bool:
        """Whether marks have the letters of their groups, instead of brackets."""
        return len({each.model for each in self.scored}) < len(self.scored)

    @property
    def key(self) -> str:
        """What joins marks that are not significantly different; empty if no two are alike in that."""
        shown = self.scored[:MOST_MARKS]
        letters = [letter for each in shown for letter in each.group.split()]
        if len(letters) == len(set(letters)):
            return ""
        return f"{'Same letter' if self.has_letters else 'Bracket'}: not significantly different."

    @property
    def drawn(self) -> SafeString:
        shown = self.scored[:MOST_MARKS]
        if not shown:
            return SafeString("")
        places, bottom = _places(shown)
        marks = (part for each in shown for part in self._mark(each, places[id(each)]))
        # The names of phones stand on the lines of the axis, which the rims of their letters interrupt.
        parts = [*self._axis(bottom), _names(shown, places), *marks]
        end = bottom + _BELOW * len(self.baselines) + 20
        means = "1 mean with 95% interval" if len(shown) == 1 else f"{len(shown)} means with 95% intervals"
        label = self.label or f"{means}. The table below has the numbers."
        joined, right = (SafeString(""), 0) if self.has_letters else _brackets(shown, places)
        right = max(right, *(8 + round(CHARACTER * len(self._words(each))) for each in shown))
        return svg("ruler large narrow" if right <= _NARROW else "ruler large", end, label, (*parts, joined))

    def _axis(self, bottom: int) -> Iterator[SafeString]:
        end = bottom + _BELOW * len(self.baselines)
        for value, text in self.axis.ticks:
            at = self.axis.at(value)
            yield format_html('<line class="axis" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>', at, _TOP, end)
            yield format_html('<text x="{}" y="{}" text-anchor="middle">{}</text>', at, end + 15, text)
        yield format_html('<line class="axis" x1="0%" x2="100%" y1="{0}" y2="{0}"/>', end)
        if self.guess is not None:
            at = self.axis.at(self.guess)
            yield format_html('<line class="guess" x1="{0}" x2="{0}" y1="4" y2="{1}"/>', at, bottom - 6)
            yield format_html('<text x="{}" y="12" dx="5">best guess {}</text>', at, score(self.guess))
        for place, mark in enumerate(sorted(self.baselines, key=lambda mark: mark.mean)):
            at, y = self.axis.at(mark.mean), bottom + _BELOW * place
            yield format_html('<line class="other" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>', at, y, y + 12)
            words = f"{visible(mark.name)} baseline {score(mark.mean)}"
            side, dx = ("end", -6) if mark.mean > _NEAR_END else ("start", 6)
            yield format_html('<text x="{}" y="{}" dx="{}" text-anchor="{}">{}</text>', at, y + 10, dx, side, words)

    def _mark(self, each: Scored, y: int) -> Iterator[SafeString]:
        sign = self.variants.index(each.variant) if self.legend else 0
        look = " second" if sign == 1 else ""
        inner = ((each.low + each.mean) / 2, (each.mean + each.high) / 2)
        for name, low, high in (("band", each.low, each.high), ("half", *inner)):
            yield format_html(
                '<rect class="{}" x="{}" y="{}" width="{}" height="10" rx="4"/>',
                *(f"{name}{look}", self.axis.at(low), y - 5, percent(self.axis.share(high) - self.axis.share(low))),
            )
        yield format_html(
            '<svg x="{}" y="{}" overflow="visible"><path class="knob{}" d="{}"/></svg>',
            self.axis.at(each.mean),
            y,
            look,
            list(SHAPES.values())[sign],
        )
        at, words = self.axis.at(each.high), self._words(each)
        yield format_html('<text class="value" x="{}" y="{}" dx="8">{}</text>', at, y + 4, words)

    def _words(self, each: Scored) -> str:
        variant = cut(visible(each.variant), _NAME) if len(self.variants) > len(SHAPES) else ""
        letters = each.group if self.has_letters and self.key else ""
        return " ".join(filter(None, (self.words(each.mean), variant, each.more, letters)))


def _of_models(shown: Sequence[Scored]) -> dict[str, list[Scored]]:
    """The marks of each model, the best model first."""
    members: dict[str, list[Scored]] = {}
    for each in shown:
        members.setdefault(each.model, []).append(each)
    return members


def _places(shown: Sequence[Scored]) -> tuple[dict[int, int], int]:
    """The height at which each mark stands, by its identity, and the one below all."""
    places, y = dict[int, int](), _TOP
    for members in _of_models(shown).values():
        y += _HEAD
        for each in members:
            places[id(each)] = y
            y += _STEP
    return places, y


def _names(shown: Sequence[Scored], places: dict[int, int]) -> SafeString:
    """The models to the left of their first marks, and again above them, for phones."""
    rows = []
    for model, members in _of_models(shown).items():
        first, name = places[id(members[0])], cut_name(visible(model), _NAME)
        rows += [("beside", -12, first + 4, "end", name), ("above", 0, first - 13, "start", name)]
    return format_html_join("", '<text class="name {}" x="{}" y="{}" text-anchor="{}">{}</text>', rows)


def _brackets(shown: Sequence[Scored], places: dict[int, int]) -> tuple[SafeString, int]:
    """A bracket with a tooth at each mark of a group, and how many pixels they reach to the right of the plot; those
    that overlap stand side by side."""
    groups: dict[str, list[int]] = {}
    for each in shown:
        for letter in each.group.split():
            groups.setdefault(letter, []).append(places[id(each)])
    columns: list[int] = []
    paths, farthest = [], 0
    for heights in sorted(sorted(heights) for heights in groups.values() if len(heights) > 1):
        column = next((at for at, end in enumerate(columns) if end < heights[0]), len(columns))
        columns[column : column + 1] = [heights[-1]]
        if column < _MOST_BRACKETS:
            right = 54 + 12 * column
            farthest = max(farthest, right)
            teeth = "".join(f"M{right - 6} {y}H{right}" for y in heights)
            paths.append((f"{teeth}M{right} {heights[0]}V{heights[-1]}",))
    joined = format_html_join("", '<path class="bracket" d="{}"/>', paths)
    return format_html('<svg x="100%" y="0" overflow="visible">{}</svg>', joined), farthest
