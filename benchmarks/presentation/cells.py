"""What a cell of a table says, beside plain text: each part knows its text, and a page draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from benchmarks.presentation import numbers
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.sentences import Progressing, silent, waits_for_turn


@dataclass(frozen=True, slots=True)
class Link:
    """``page`` is the name of an address of the dashboard, ``of`` what it takes, ``anchor`` a place on it; ``name`` is
    for screen readers, where the label says too little; ``more`` is its tooltip; ``typed`` stands in text and files in
    place of the label."""

    label: str
    page: str
    of: tuple[object, ...] = ()
    query: Mapping[str, str | int | list[str]] = field(default_factory=dict)
    look: str = ""
    name: str = ""
    more: str = ""
    typed: str = ""
    anchor: str = ""

    @property
    def text(self) -> str:
        return self.typed or self.label


@dataclass(frozen=True, slots=True)
class Words:
    """Text in a look of its own, such as ``tag``, ``soft small`` or ``field-error``; ``more`` is its tooltip."""

    text: str
    look: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Strong:
    """The number that a row is about."""

    text: str


@dataclass(frozen=True, slots=True)
class State:
    """What something is in, with the mark of a state: of a run, of a delivery, of a provider."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: how long ago it was, or exactly when it is."""

    at: datetime
    exact: bool = False

    @property
    def text(self) -> str:
        if self.exact:
            return f"{self.at.astimezone():%Y-%m-%d %H:%M %Z}"
        return numbers.ago(self.at, datetime.now(self.at.tzinfo))


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% interval, where they are known."""

    mean: float | None
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        if self.mean is None or self.low is None or self.high is None:
            return numbers.score(self.mean)
        return f"{numbers.score(self.mean)} ({numbers.interval(self.low, self.high)})"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount. ``more`` follows it."""

    usd: float | None
    more: str = ""

    @property
    def text(self) -> str:
        return numbers.money(self.usd) + self.more


@dataclass(frozen=True, slots=True)
class Bar:
    """The same mean drawn on a line from 0 to 1, with what guessing scores. It has no text."""

    mean: Mean
    guess: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """The means of several models drawn on one line from 0 to 1 of ``width`` pixels, the ``best`` of them with its
    interval, and what guessing scores. ``label`` says it to screen readers. It has no text."""

    others: Sequence[float]
    best: Mean | None
    guess: float | None
    label: str
    text: str = ""
    width: int = 220


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of ``most`` is done, drawn. It has no text."""

    done: int
    most: int
    label: str
    words: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Button:
    """Sends a form to a page of the dashboard; ``name`` says to screen readers what it concerns."""

    label: str
    name: str
    page: str
    of: tuple[object, ...]
    sent: Mapping[str, str] = field(default_factory=dict)
    look: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Submit:
    """Sends the form around the table, with ``field`` set to ``value``; ``name`` is as in ``Button``."""

    label: str
    name: str
    field: str
    value: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A checkbox that belongs to a form elsewhere on the page. ``actions`` are those that the row allows."""

    name: str
    value: object
    form: str
    label: str
    text: str = ""
    actions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Copied:
    """A text with a button that copies it."""

    text: str
    name: str
    label: str


@dataclass(frozen=True, slots=True)
class CanvasPicture:
    """A small picture of a canvas of a set, beside what names it. It has no text."""

    slug: str
    index: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Info:
    """A button that opens the meaning of a word of the glossary, after what is so here, which is its text."""

    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that stay together, in a look of their own; a ``block`` stands on a line of its own."""

    parts: Sequence[Part]
    look: str = ""
    between: str = " "
    block: bool = False

    @property
    def text(self) -> str:
        return self.between.join(filter(None, map(text_of, self.parts)))


Part = (
    Link
    | Words
    | Strong
    | State
    | Moment
    | Mean
    | Money
    | Bar
    | Strip
    | Progress
    | Button
    | Submit
    | Tick
    | Copied
    | CanvasPicture
    | Info
    | Group
    | str
    | int
    | None
)
"""A number is written as one; ``None`` as missing."""
Cell = Part | Sequence[Part]


def parts_of(cell: Cell) -> Sequence[Part]:
    return cell if isinstance(cell, Sequence) and not isinstance(cell, str) else (cell,)


def cell_text(cell: Cell) -> str:
    """A cell in words, its parts with a comma between them."""
    return ", ".join(filter(None, map(text_of, parts_of(cell))))


def text_of(part: Part) -> str:
    if part is None or isinstance(part, int):
        return numbers.number(part)
    return part if isinstance(part, str) else part.text


def tag(text: str) -> Words:
    return Words(text, "tag")


def soft(text: str) -> Words:
    return Words(text, "soft small")


def run_state(status: str, errors: int = 0) -> State:
    return State(status, run_status(status, errors))


class _Run(Progressing, Protocol):
    status: str
    errors: int


def state_of(run: _Run) -> State:
    """The status of a run; of one that gets no answers, what is said in its place."""
    return standstill(run) or run_state(run.status, run.errors)


def standstill(run: Progressing) -> State | None:
    """``No answer for 3 min`` or ``Waits for a free place at ollama``; ``None`` of a run that gets answers."""
    if words := silent(run):
        return State("silent", words)
    return State("queued", words) if (words := waits_for_turn(run)) else None


def run_link(pk: int, look: str = "") -> Link:
    return Link(f"Run {pk}", "run", (pk,), look=look)
