"""The tables of reviews and of the labels of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import ReviewItem, ReviewQueue
from benchmarks.presentation.cells import Button, Cell, Group, Link, Mean, Moment, Words
from benchmarks.presentation.judges import ENOUGH
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import MISSING, n_of, number, plural, score
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.reviews import Conclusion, Disagreement, Progress, ReviewerCount, items_of, progress_of
from benchmarks.queries.tables.judges import with_bar


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A review, how far one reader is with it who may label or not, and how many labels were given of how many, of how
    many answers."""

    queue: ReviewQueue
    own: Progress
    given: int
    wanted: int
    answers: int
    may_label: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nobody has anything left to label in it."""
        return bool(self.queue.closed_at) or self.given >= self.wanted

    @property
    def status(self) -> str:
        if self.queue.closed_at:
            return "Closed"
        return "Open, blind" if self.queue.blind else "Open"


def review_rows(queues: Sequence[ReviewQueue], reader: str, now: float, *, may_label: bool = False) -> list[ReviewRow]:
    """In two queries with that of the queues; ``now`` is in seconds since 1970."""
    items = items_of(queues)
    return [
        ReviewRow(queue, progress_of(items[queue.pk], reader, now), *_given(items[queue.pk]), may_label)
        for queue in queues
    ]


def _given(items: list[ReviewItem]) -> tuple[int, int, int]:
    given = sum(item.n_labels() for item in items)
    return given, sum(item.wanted for item in items), len(items)


_LEAD = "row-link anywhere"


def _about(row: ReviewRow) -> Cell:
    link = Link(row.queue.name, "review", (row.queue.pk,), look=_LEAD)
    about = f"{metric_title(row.queue.metric)} · {number(row.given)} of {number(row.wanted)} labels"
    return [link, Group([Words(about, "soft small")], block=True)]


def _named(row: ReviewRow) -> Cell:
    twice = f", {number(row.wanted - row.answers)} of them twice" if row.wanted > row.answers else ""
    answers = plural(row.answers, "pair" if row.queue.is_of_pairs else "answer")
    about = f"{metric_title(row.queue.metric)} · {answers}{twice}"
    link = Link(row.queue.name, "review", (row.queue.pk,), look=_LEAD)
    return [link, Group([Words(about, "soft small")], block=True)]


def _left(row: ReviewRow) -> Cell:
    return MISSING if row.queue.closed_at else row.own.left


def _label(row: ReviewRow) -> Cell:
    if row.queue.closed_at or not (row.may_label and row.own.left):
        return ""
    look, name = "button primary", f"Label answers of {row.queue.name}"
    return Link(f"Label {number(row.own.left)}", "review-label", (row.queue.pk,), look=look, name=name)


REVIEWS = Table[ReviewRow](
    "Reviews, open ones first",
    [
        Column("ID", lambda row: str(row.queue.pk), "number", only="text"),
        Column("Review", _named, "name", only="page"),
        Column("Review", lambda row: row.queue.name, "name", only="text"),
        Column("Metric", lambda row: metric_title(row.queue.metric), only="text"),
        Column("Status", lambda row: row.status),
        Column("Labels", lambda row: f"{number(row.given)} of {number(row.wanted)}", "number"),
        Column("Labeled by you", lambda row: row.own.labeled, "number", "wide-only"),
        Column("Left for you", _left, "number", only="text"),
        Column("Created", lambda row: Moment(row.queue.created_at), look="nowrap"),
        Column("Label", _label, "number", hidden_head=True, only="page"),
    ],
    region=True,
    look="leads",
)


@dataclass(frozen=True, slots=True)
class DoneReview:
    """A review in which nothing is left to label; ``closable`` by whoever reads the list."""

    row: ReviewRow
    conclusion: Conclusion | None
    closable: bool

    @property
    def result(self) -> Cell:
        found = self.conclusion
        if not self.row.queue.closed_at:
            return "All labels are given. Close the review to see how far they agree with the scores."
        if found is None:
            return "Closed"
        agreed = f"People and scores agree on {n_of(found.n - len(found.disagreements), found.n)} answers."
        return f"{agreed} A decision needs {ENOUGH}." if found.n < ENOUGH else agreed


def _agreement(done: DoneReview) -> Mean | None:
    found = done.conclusion.agreement if done.conclusion else None
    return Mean(found.mean, found.low, found.high) if found else None


def _close(done: DoneReview) -> Cell:
    if done.row.queue.closed_at or not done.closable:
        return ""
    return Button("Close", f"Close review {done.row.queue.name}", "review-action", (done.row.queue.pk, "close"))


DONE_REVIEWS = Table[DoneReview](
    "Reviews in which nothing is left to label",
    [
        Column("Review", lambda done: _about(done.row), "name"),
        Column("Result", lambda done: done.result, look="finding", bare=True),
        *with_bar("Agreement", _agreement),
        Column("Created", lambda done: Moment(done.row.queue.created_at), look="soft nowrap"),
        Column("Close", _close, "number", hidden_head=True, only="page"),
    ],
    region=True,
    look="leads",
)


REVIEWERS = Table[tuple[str, ReviewerCount]](
    "Labels by reviewer",
    [
        Column("Reviewer", lambda row: row[0], "name"),
        Column("Labeled", lambda row: row[1].labeled, "number"),
        Column("Skipped", lambda row: row[1].skipped, "number"),
    ],
    region=True,
)
"""Of reviewers by the names that the reader may see."""


DISAGREEMENTS = Table[Disagreement](
    "Answers on which people and the metric disagree",
    [
        Column("Task", lambda row: Link(row.task, "result", (row.run, row.result)), "name", "anywhere"),
        Column("Model", lambda row: row.model, look="anywhere"),
        Column("People", lambda row: score(row.label), "number"),
        Column("Metric", lambda row: score(row.score), "number"),
    ],
    region=True,
    look="leads",
)
