"""A table says the same on a terminal and in Markdown: the columns that it declares."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchmarks.presentation.cells import (
    Bar,
    Group,
    Link,
    Mean,
    Moment,
    Progress,
    Strip,
    cell_text,
    soft,
    tag,
)
from benchmarks.presentation.tables import Column, Table

Row = tuple[str, int | None]
FRUITS = Table[Row](
    "Fruits",
    [
        Column("Fruit", lambda row: Link(row[0], "fruit", (row[0],)), "name"),
        Column("Count", lambda row: row[1], "number"),
        Column("Remove", lambda row: "x", only="page"),
        Column("Peel", lambda row: "thick", only="text", given="peeled"),
    ],
)


def test_text_has_aligned_columns_below_heads_in_small_letters() -> None:
    assert FRUITS.text([("apple", 1234), ("fig", None)]).splitlines() == [
        "fruit  count  peel",
        "apple  1,234  thick",
        "fig        –  thick",
    ]


def test_a_column_with_a_condition_is_shown_only_if_it_holds() -> None:
    assert FRUITS.where(peeled=True).text([("fig", 1)]).splitlines()[0] == "fruit  count  peel"
    assert FRUITS.where(peeled=False).text([("fig", 1)]).splitlines()[0] == "fruit  count"
    assert [column.head for column in FRUITS.of([]).columns_of("page")] == ["Fruit", "Count", "Remove"]


def test_markdown_leaves_no_sign_to_readers_of_markdown_or_html() -> None:
    assert FRUITS.markdown([("a|b <i>_", 1)]).splitlines() == [
        "| Fruit | Count | Peel |",
        "|---|---:|---|",
        "| a\\|b &lt;i>\\_ | 1 | thick |",
    ]


def test_control_characters_of_a_cell_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in FRUITS.text([("\x1b[31mred", 1)])


def test_the_parts_of_a_cell_are_one_text_and_what_is_only_drawn_is_left_out() -> None:
    mean = Mean(0.5, 0.25, 0.75)
    drawn = [
        Progress(1, 2, "Progress", "50%"),
        Bar(mean),
        Strip([0.5], mean, None, "Models"),
    ]
    assert cell_text([*drawn, mean, soft("n of N"), tag("Pinned")]) == "0.500 (0.250 to 0.750), n of N, Pinned"
    assert cell_text(Group(["a", "b"], between=" · ")) == "a · b"
    assert cell_text(Mean(None)) == "–"


def test_a_moment_says_how_long_ago_it_was_or_exactly_when_it_is() -> None:
    now = datetime.now(UTC)
    assert cell_text(Moment(now - timedelta(hours=2))) == "2 hours ago"
    assert str(now.astimezone().year) in cell_text(Moment(now, exact=True))
