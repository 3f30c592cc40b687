"""How the parts of a declared table are drawn on a page."""

from __future__ import annotations

from django.template import Context, Template
from django.test import RequestFactory

from benchmarks.presentation.cells import Bar, Button, Cell, Group, Link, Mean, Progress, Tick, run_state, soft
from benchmarks.presentation.tables import Column, Table


def drawn(cell: Cell, **of: object) -> str:
    """The table with one cell, on one line."""
    shown = Table[object]("Things <b>", [Column("Thing", lambda _: cell, **of)]).of([None], region=True)  # type: ignore[arg-type]
    context = {"shown": shown, "csrf_token": "secret", "sort": "-thing", "request": RequestFactory().get("/?page=2")}
    return " ".join(Template("{% load tables %}{% table shown %}").render(Context(context)).split())


def test_the_caption_names_the_table_and_the_region_that_scrolls() -> None:
    html = drawn("x")
    assert '<div class="scroll" tabindex="0" role="region" aria-label="Things &lt;b&gt;">' in html
    assert '<caption class="visually-hidden">Things &lt;b&gt;</caption>' in html


def test_texts_are_escaped_and_their_invisible_characters_written_out() -> None:
    assert "<td>&lt;i&gt; ⟨RLO⟩</td>" in drawn("<i> \u202e")
    assert '<span class="soft small">&lt;i&gt;</span>' in drawn(soft("<i>"))


def test_numbers_stand_to_the_right_and_names_are_heads_of_their_rows() -> None:
    assert '<th scope="col" class="num">Thing</th>' in drawn(1234, kind="number")
    assert '<td class="num nowrap">1,234</td>' in drawn(1234, kind="number", look="nowrap")
    assert '<th scope="row">x</th>' in drawn("x", kind="name")
    assert '<th scope="col" class="wide-only">' in drawn("x", look="nowrap wide-only")


def test_a_head_sorts_explains_itself_or_is_for_screen_readers_only() -> None:
    assert 'aria-sort="descending"><a class="plain-link" href="?sort=thing">Thing</a>' in drawn("x", sort="thing")
    assert 'aria-label="95% interval: what it means"' in drawn("x", info="interval")
    assert '<th scope="col"><span class="visually-hidden">Thing</span></th>' in drawn("x", hidden_head=True)


def test_parts_of_a_cell_are_drawn_one_after_the_other() -> None:
    link = Link("Run 1", "runs", query={"dataset": "a&b"}, look="nowrap")
    assert '<td><a class="nowrap" href="/runs/?dataset=a%26b">Run 1</a> <span>x</span></td>' in drawn(
        [link, Group(["x"])]
    )
    assert '0.500 <span class="interval" title="95% interval">0.250 to 0.750</span>' in drawn(Mean(0.5, 0.25, 0.75))
    assert '<svg class="ruler"' in drawn(Bar(Mean(0.5, 0.25, 0.75)))
    assert '<span class="mark is-failed">' in drawn(run_state("failed"))
    assert '<progress class="cell-progress" max="2" value="1" aria-label="Done">50%</progress>' in drawn(
        Progress(1, 2, "Done", "50%")
    )
    assert '<input type="checkbox" name="runs" value="7" form="compare" aria-label="Run 7" data-actions="">' in drawn(
        Tick("runs", 7, "compare", "Run 7")
    )


def test_rows_that_are_wider_than_a_phone_become_cards_with_labels_where_a_value_needs_one() -> None:
    def columns(number: int, look: str = "") -> str:
        cells: list[Cell] = ["Paris", "Run 7", "–", run_state("failed")]
        heads = ["City", "Run", "Judge", "Status"]
        table = Table[object](
            "Things",
            [Column(head, lambda _, cell=cell: cell, look=look) for head, cell in zip(heads, cells, strict=True)][
                :number
            ],
        )
        shown = {"shown": table.of([None])}
        return Template("{% load tables %}{% table shown %}").render(Context(shown))

    html = columns(4)
    assert '<table class="cards">' in html
    assert (
        '<td data-label="City">Paris</td><td>Run 7</td><td class="wide-only" data-label="Judge">–</td><td><span' in html
    )
    assert "cards" not in columns(3)
    assert "cards" not in columns(4, look="wide-only")


def test_a_value_with_a_unit_needs_no_label_in_a_card() -> None:
    heads = ["Model", "Cost", "Rate", "Time"]
    columns = [Column[object](head, lambda _: "7", unit="per 1,000" if head == "Cost" else None) for head in heads]
    shown = {"shown": Table[object]("Things", columns).of([None])}
    html = Template("{% load tables %}{% table shown %}").render(Context(shown))
    assert '<td data-unit="per 1,000">7</td><td data-label="Rate">7</td>' in html


def test_a_button_is_a_form_with_the_token_of_the_page() -> None:
    html = drawn(Button("Revoke", "Revoke token a", "revoke-token", (3,), {"back": "links"}, look="danger"))
    assert '<form method="post" action="/settings/tokens/3/revoke/">' in html
    assert '<input type="hidden" name="csrfmiddlewaretoken" value="secret">' in html
    assert '<button type="submit" class="danger" aria-label="Revoke token a">Revoke</button>' in html
