"""The ruler of an experiment: where its marks and brackets stand, and what stands on the axis only."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from benchmarks.presentation.ranks import Mark
from frontend.large_ruler import MOST_MARKS, LargeRuler, Scored


def mark(model: str, mean: float, group: str = "A", variant: str = "") -> Scored:
    return Scored(model, variant, mean, mean - 0.1, mean + 0.1, group)


def drawn(*scored: Scored, **of: object) -> str:
    html = LargeRuler(scored, **of).drawn  # type: ignore[arg-type]
    ElementTree.fromstring(html)
    return html


def teeth(html: str) -> list[list[str]]:
    """The heights that each bracket joins."""
    paths = re.findall(r'class="bracket" d="([^"]+)"', html)
    return [re.findall(r"M\d+ (\d+)H", path) for path in paths]


def test_a_mark_has_its_interval_the_inner_half_of_it_and_its_number() -> None:
    html = drawn(mark("x", 0.5))
    assert '<rect class="band" x="40.00%" y="35" width="20.00%" height="10" rx="4"/>' in html
    assert '<rect class="half" x="45.00%" y="35" width="10.00%" height="10" rx="4"/>' in html
    assert '<svg x="50.00%" y="40" overflow="visible"><path class="knob"' in html
    assert '<text class="value" x="60.00%" y="44" dx="8">0.500</text>' in html
    assert 'role="img" aria-label="1 mean with 95% interval' in html


def test_the_variants_of_a_model_stand_together_and_have_signs_of_their_own() -> None:
    ruler = LargeRuler([mark("x", 0.8, variant="a"), mark("y", 0.6, variant="a"), mark("x", 0.4, variant="b")])
    assert ruler.legend == [("●", "a"), ("◆", "b")]
    assert re.findall(r'class="name beside"[^>]*>(\w)<', ruler.drawn) == ["x", "y"]
    assert re.findall(r'class="value" x="[\d.]+%" y="(\d+)"', ruler.drawn) == ["44", "98", "60"]
    assert re.findall(r'class="name beside" x="-12" y="(\d+)"', ruler.drawn) == ["44", "98"], "at the first mark"
    assert ruler.drawn.count('class="knob second"') == 1, "the second variant has a color of its own"
    assert LargeRuler([mark("x", 0.8)]).legend == []


def test_variants_without_a_sign_are_named_beside_their_numbers() -> None:
    ruler = LargeRuler([mark("x", 0.1 * place, f"{place}", f"v{place}") for place in range(1, 8)])
    assert ruler.legend == []
    assert ">0.100 v1</text>" in ruler.drawn


def test_brackets_join_the_marks_of_a_group_and_stand_side_by_side_where_they_overlap() -> None:
    html = drawn(mark("x", 0.9, "A"), mark("y", 0.8, "A B"), mark("z", 0.7, "B"), mark("w", 0.1, "C"))
    assert teeth(html) == [["40", "78"], ["78", "116"]]
    assert re.findall(r'd="M\d+ \d+H(\d+)', html) == ["54", "66"]


def test_marks_of_several_variants_have_letters_because_brackets_would_pass_other_rows() -> None:
    several = [mark("x", 0.9, "A", "a"), mark("y", 0.8, "A", "a"), mark("x", 0.1, "B", "b")]
    ruler = LargeRuler(several)
    assert ruler.key == "Same letter: not significantly different."
    assert ">0.900 A</text>" in ruler.drawn
    assert 'class="bracket"' not in ruler.drawn


def test_the_key_speaks_of_brackets_only_where_one_is_drawn() -> None:
    assert LargeRuler([mark("x", 0.9, "A"), mark("y", 0.8, "A")]).key == "Bracket: not significantly different."
    assert LargeRuler([mark("x", 0.9, "A"), mark("y", 0.2, "B")]).key == ""


def test_guessing_is_a_line_and_baselines_are_on_the_axis_only() -> None:
    html = drawn(mark("x", 0.5), baselines=[Mark("majority", 0.3)], guess=0.2)
    assert '<line class="guess" x1="20.00%"' in html
    assert ">majority baseline 0.300</text>" in html
    assert html.count('class="knob"') == 1
    near_end = drawn(mark("x", 0.5), baselines=[Mark("copy", 0.9)])
    assert 'text-anchor="end">copy baseline 0.900</text>' in near_end


def test_names_are_escaped_and_long_ones_cut() -> None:
    html = drawn(mark("<b>" + "x" * 40, 0.5))
    assert "&lt;b&gt;xxx" in html
    assert "x" * 24 not in html


def test_two_runs_of_a_model_with_a_long_name_are_told_apart() -> None:
    text = drawn(*(mark(f"openai/gpt-4o-mini-2024-07-18 (run {run})", 0.5) for run in (12, 13)))
    assert "openai/gpt-4o-… (run 12)" in text
    assert "openai/gpt-4o-… (run 13)" in text


def test_there_is_nothing_to_draw_without_a_score_and_not_more_than_fits() -> None:
    assert LargeRuler([]).drawn == ""
    assert drawn(*(mark(str(place), 0.5) for place in range(60))).count('class="knob"') == MOST_MARKS


def test_a_phone_spares_the_room_that_neither_words_nor_brackets_need() -> None:
    apart, joined = mark("x", 0.9), [mark(letter, 0.5, letter) for letter in "BCD"]
    joined = [mark("y", 0.6, "B C D"), *joined]
    assert 'class="ruler large narrow"' in drawn(apart, *joined[:2])
    assert 'class="ruler large"' in drawn(apart, *joined), "three brackets beside each other"
    assert 'class="ruler large"' in drawn(Scored("x", "", 0.5, 0.4, 0.6, more="n = 340"))
