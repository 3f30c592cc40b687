"""The readers of answers on the corpus; `make bench-answer-readers` prints the same counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.answers.corpus import LABELED, UNSEEN, Row, corpus, labeled, labeled_reading, reading

MISREAD = {
    ("small_model", "existence"): (0, 1),
    ("small_model", "count"): (1, 0),
    ("small_model", "transitivity"): (0, 2),
    ("small_model", "existence_tracking"): (0, 2),
    ("small_model", "shuffle_tracking"): (2, 0),
    ("small_model", "exact_match"): (0, 1),
    ("small_model", "numeric"): (4, 1),
    ("small_model", "multiple_choice"): (2, 0),
    ("adversarial", "existence"): (3, 3),
    ("adversarial", "count"): (0, 7),
    ("adversarial", "coordinate"): (1, 1),
    ("adversarial", "shuffle_tracking"): (0, 1),
    ("adversarial", "phrase"): (1, 0),
    ("adversarial", "contains"): (1, 0),
    ("adversarial", "numeric"): (0, 4),
    ("adversarial", "multiple_choice"): (0, 2),
    ("development", "existence"): (1, 2),
    ("development", "count"): (0, 1),
    ("development", "numeric"): (1, 0),
}
"""The most false positives and false negatives. Record lower numbers here, and their sums in docs/statistics.md."""


def test_no_plain_reply_is_misread() -> None:
    assert [row for row in corpus() if row.part == "plain" and reading(row) != "right"] == []


def test_no_more_replies_are_misread_than_recorded() -> None:
    counts = Counter((row.part, row.reader, reading(row)) for row in corpus())
    for part, reader in {(row.part, row.reader) for row in corpus()}:
        false_positives, false_negatives = MISREAD.get((part, reader), (0, 0))
        assert counts[part, reader, "false positive"] <= false_positives, (part, reader)
        assert counts[part, reader, "false negative"] <= false_negatives, (part, reader)


@pytest.mark.parametrize(("part", "most"), [("formerly_unseen", (1, 0, 1)), (UNSEEN, (1, 4, 8))])
def test_no_more_labeled_replies_are_scored_wrongly_than_recorded(part: str, most: tuple[int, int, int]) -> None:
    counts = Counter(map(labeled_reading, labeled(part)))
    outcomes = ("wrongly right", "wrongly wrong", "unreadable")
    assert all(counts[outcome] <= limit for outcome, limit in zip(outcomes, most, strict=True)), counts


def test_500_labeled_replies_are_of_both_kinds() -> None:
    rows = [row for part in LABELED for row in labeled(part)]
    assert len(rows) >= 500
    assert 0.5 < sum(row.right for row in rows) / len(rows) < 0.7


def test_a_wrong_label_is_noticed() -> None:
    for reader, label, other in (("count", "3", "4"), ("existence", "Yes", "No"), ("numeric", "3", "4")):
        row = Row("plain", reader, label, f"Answer: {label}")
        assert reading(row) == "right"
        assert reading(replace(row, label=other)) == "false positive"
        assert reading(replace(row, label="none")) == "false positive"
        assert reading(replace(row, reply="Hm.")) == "false negative"


def test_at_least_500_replies_are_labeled_one_by_one() -> None:
    assert len({row for row in corpus() if not row.from_template}) >= 500
