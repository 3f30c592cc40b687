"""Charts: specs, drawing, the colors of both themes, and the places of names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.summary import Expected, Level, Threshold
from frontend import charts, difficulty_charts, drawing
from frontend.chart_parts import Chart, Measure, whole_numbers
from frontend.charts import Contender
from frontend.label_places import CHARACTER, HEIGHT, LINE, LONGEST, PLACES, WIDTH, label_places, share_of

SCORE = Measure("exact_match", "Exact match")
THEMES: tuple[drawing.Theme, ...] = ("light", "dark")
POINTS = st.tuples(st.integers(0, 8), st.integers(0, 8))
SPOTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60)), min_size=1, max_size=20)
CELLS = [
    {
        **{"group": group, "n_shapes": n, "mean": 0.9 - n / 20, "low": 0.5 - n / 20, "high": 0.95, "n": 20},
        "url": f"/runs/1/?n_shapes={n}",
    }
    for group in ("count", "existence")
    for n in (3, 4, 5)
]


def level(mean: float, low: float, high: float, n: int) -> Expected:
    return Expected(mean, n, low, high, n_expected=n)


CONTENDERS = [
    Contender("a/large", level(0.9, 0.85, 0.93, 100), cost=12.0, latency=900.0),
    Contender("a/small", level(0.7, 0.62, 0.77, 100), cost=0.3, latency=200.0),
    Contender("b/dear", level(0.65, 0.58, 0.72, 100), cost=5.0, latency=None),
]
LEVELS = [Level(n, 0.5, 3, 4) for n in (3, 4, 5)]
CURVE = Threshold("n_shapes", "count", 0.0, "fitted", 4.0, slope=1.0, lapse=0.0, levels=LEVELS)

TEXT = ("--ink", "--ink-soft", "--accent", "--wrong")
MARKS = (
    *("--correct", "--wrong", "--unparsable", "--truncated", "--refused", "--provider-error", "--judge-error"),
    "--metric-error",
    *("--series-1", "--series-2"),
)


def every_chart() -> list[Chart]:
    levels = {"easy": Expected(0.9, 10, 0.8, 1.0), "hard": Expected(0.2, 9, 0, 0.4)}
    drawn = [
        charts.by_level("difficulty", "By difficulty", "Difficulty", levels, SCORE),
        charts.histogram("spread", [0, 0.5, 1], [3, 4], SCORE),
        difficulty_charts.surface_heat_map(CELLS, SCORE),
        difficulty_charts.surface_lines(CELLS, SCORE),
        charts.ranking(CONTENDERS, SCORE),
        charts.quality_against("cost", CONTENDERS, SCORE),
        charts.quality_against("latency", CONTENDERS, SCORE),
        charts.deltas([("b", -0.1, -0.2, 0.0, 50), ("c", 0.05, -0.01, 0.11, 48)], "a", SCORE),
        *difficulty_charts.threshold_charts([CURVE]),
    ]
    existing = [chart for chart in drawn if chart is not None]
    assert len(existing) == 9
    return existing


def test_every_chart_is_drawn_with_its_title_a_table_and_colors_of_the_page() -> None:
    for chart in every_chart():
        svg = drawing.svg(chart)
        assert svg.startswith("<svg"), chart.name
        assert chart.title in re.sub(r"<[^>]+>", "", svg)
        assert chart.note, chart.name
        assert chart.rows, chart.name
        assert all(len(row) == len(chart.columns) for row in chart.rows), chart.name
        written = {key: value for key, value in chart.spec.items() if key != "data"}
        assert not re.search(r'"#[0-9a-f]{3,8}"|"rgb\(', json.dumps(written)), chart.name
        for theme in THEMES:
            assert "var(--" not in json.dumps(drawing.resolved(chart.spec, theme)), chart.name


def test_levels_of_a_score_are_drawn_on_the_ruler_and_others_by_the_browser() -> None:
    levels = {"easy": Expected(0.9, 10, 0.8, 1.0), "hard": Expected(0.2, 9), "none": Expected()}
    chart = charts.by_level("x", "x", "x", levels, SCORE)
    assert chart is not None
    assert ">0.900 (n = 10)</text>" in str(chart.drawn)
    assert str(chart.drawn).count('class="knob"') == 2
    latency = charts.by_level("x", "x", "x", levels, Measure("latency", "Latency", "ms", bounded=False))
    assert latency is not None
    assert latency.drawn is None


def test_what_is_free_stands_beside_a_logarithmic_axis() -> None:
    free = Contender("c/free", level(0.5, 0.4, 0.6, 100), cost=0.0, latency=100.0)
    chart = charts.quality_against("cost", [*CONTENDERS, free], SCORE)
    assert chart is not None
    x = chart.spec["layer"][3]["encoding"]["x"]
    assert x["scale"]["type"] == "log"
    assert x["axis"]["values"][0] == pytest.approx(0.06)
    assert [row[1] for row in chart.rows] == [12.0, 0.3, 5.0, 0.0]
    assert "Free" in str(drawing.svg(chart, "light"))


def test_what_has_no_known_cost_is_named_below_the_chart() -> None:
    unknown = Contender("c/unknown", level(0.5, 0.4, 0.6, 100), cost=None, latency=100.0)
    chart = charts.quality_against("cost", [*CONTENDERS, unknown], SCORE)
    assert chart is not None
    assert chart.note.endswith("Not drawn, cost unknown: c/unknown.")


def test_baselines_are_not_part_of_a_frontier() -> None:
    blind = Contender("baseline/blind", level(1.0, 0.9, 1.0, 100), cost=0.0, latency=1.0)
    for by in ("cost", "latency"):
        assert charts.quality_against(by, [CONTENDERS[0], blind], SCORE) is None
        chart = charts.quality_against(by, [*CONTENDERS[:2], blind], SCORE)
        assert chart is not None
        assert [row[0] for row in chart.rows] == ["a/large", "a/small"]


def test_values_and_n_stand_beside_the_marks() -> None:
    for chart, words in (
        (charts.ranking(CONTENDERS, SCORE), "0.700 (n = 100 of 100)"),
        (charts.quality_against("cost", CONTENDERS, SCORE), "a/small 0.700"),
        (charts.deltas([("b", -0.1, -0.2, 0.0, 50)], "a", SCORE), "-10.0 (n = 50)"),
        (difficulty_charts.surface_lines(CELLS, SCORE), "0.650"),
        (charts.histogram("spread", [0, 0.5, 1], [3, 44], SCORE), "44"),
    ):
        assert chart is not None
        assert f">{words}<" in drawing.svg(chart).replace("\u2212", "-"), chart.name


def test_the_ticks_of_a_logarithmic_axis_have_units_and_room() -> None:
    fast = Contender("c/fast", level(0.5, 0.4, 0.6, 100), cost=0.011, latency=9.0)
    slow = Contender("c/slow", level(0.6, 0.5, 0.7, 100), cost=12.0, latency=12_000.0)
    for by, ticks in (("cost", ["$0.01", "$0.1", "$1", "$10"]), ("latency", ["10 ms", "100 ms", "1 s", "10 s"])):
        chart = charts.quality_against(by, [fast, slow], SCORE)
        assert chart is not None
        texts = re.findall(r"<text[^>]*>([^<]+)</text>", drawing.svg(chart))
        assert [text for text in texts if re.fullmatch(r"\$[\d.,]+|[\d.,]+ m?s", text)] == ticks


def test_groups_are_small_plots_on_common_axes() -> None:
    chart = difficulty_charts.surface_lines(CELLS, SCORE)
    assert chart is not None
    assert chart.spec["facet"]["field"] == "group"
    assert "scale" not in chart.spec["resolve"]
    assert chart.spec["facet"]["sort"] == ["count", "existence"]
    assert "undefined" not in drawing.svg(chart)
    assert "color" not in json.dumps([part["encoding"] for part in chart.spec["spec"]["layer"]])


def test_each_chart_has_a_sentence_for_screen_readers() -> None:
    for chart in every_chart():
        description = chart.drawing["description"]
        assert description.startswith(f"{chart.title}. "), chart.name
        assert description.endswith(". The table below has the same numbers."), chart.name


@given(st.lists(POINTS, min_size=1, max_size=12))
def test_the_frontier_is_what_no_other_point_beats(points: list[tuple[int, int]]) -> None:
    on_it = {points[place] for place in charts.frontier(points)}
    beaten = {
        (cost, quality)
        for cost, quality in points
        if any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in points)
    }
    assert on_it == set(points) - beaten


def test_a_model_of_unknown_price_is_left_out_of_the_cost_chart() -> None:
    unknown = Contender("c/unpriced", level(0.99, 0.9, 1.0, 100), cost=None, latency=100.0)
    chart = charts.quality_against("cost", [*CONTENDERS, unknown], SCORE)
    assert chart is not None
    assert "c/unpriced" not in {row[0] for row in chart.rows}


def test_there_is_no_chart_without_numbers() -> None:
    assert charts.by_level("x", "x", "x", {"easy": Expected()}, SCORE) is None
    assert charts.histogram("x", [0, 1], [0], SCORE) is None
    assert difficulty_charts.surface_heat_map([], SCORE) is None
    assert charts.quality_against("cost", CONTENDERS[:1], SCORE) is None
    assert charts.deltas([], "a", SCORE) is None
    assert difficulty_charts.threshold_charts([replace(CURVE, status="flat")]) == []


def test_each_cell_of_the_surface_links_to_its_results() -> None:
    chart = difficulty_charts.surface_heat_map(CELLS, SCORE)
    assert chart is not None
    assert [row["url"] for row in chart.spec["data"]["values"]] == [cell["url"] for cell in CELLS]
    assert [url for _, url in chart.linked_rows] == [cell["url"] for cell in CELLS]


def test_a_measurement_without_bounds_has_no_axis_from_0_to_1() -> None:
    latency = Measure("latency", "Latency", "ms", bounded=False)
    chart = charts.by_level("x", "x", "x", {"easy": Expected(420.0, 3)}, latency)
    assert chart is not None
    assert "domain" not in json.dumps(chart.spec["layer"])
    assert "interval" not in chart.note


def test_hostile_labels_stay_text_and_never_end_the_process() -> None:
    script = "</text><script>alert(1)</script>"
    codes = (0x00, 0x08, 0x0B, 0x1B, 0x85, 0x202E, 0x2028, 0xFFFE, 0xFFFF, 0x1FFFF)
    for label in (script, *(f"a{chr(code)}b" for code in codes)):
        chart = charts.ranking([Contender(label, level(0.5, 0.4, 0.6, 3), None, None)], SCORE)
        assert chart is not None
        svg = drawing.svg(chart)
        assert "<script" not in svg
        assert ElementTree.fromstring(svg).tag.endswith("svg"), ascii(label)  # our own drawing, of no hostile XML
        assert drawing.png(chart, "dark").startswith(b"\x89PNG"), ascii(label)


def test_the_chart_script_is_built_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    monkeypatch.setattr(drawing, "_built_bundle", lambda: built.append("") or "draw();")
    assert drawing.bundle(tmp_path) == drawing.bundle(tmp_path)
    assert len(built) == 1


def luminance(color: str) -> float:
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast as WCAG 2.1 measures it."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_and_marks_have_enough_contrast_in_both_themes() -> None:
    pairs = [(name, ground, 4.5) for name in TEXT for ground in ("--paper", "--surface")]
    pairs += [(name, ground, 3) for name in MARKS for ground in ("--paper", "--surface")]
    for theme in THEMES:
        colors = drawing.tokens(theme)
        for name, ground, least in (*pairs, ("--accent-ink", "--accent", 4.5)):
            assert contrast(colors[name], colors[ground]) >= least, (theme, name, ground)


def box(label: str, point: tuple[float, float], name: str) -> tuple[float, float, float, float]:
    place = PLACES[name]
    width = min(LONGEST, CHARACTER * len(label))
    left = point[0] * WIDTH + place.dx - (width if place.align == "right" else 0)
    middle = (1 - point[1]) * HEIGHT + place.dy
    return left, middle - LINE / 2, left + width, middle + LINE / 2


@given(SPOTS)
def test_placed_names_are_apart_and_inside_the_plot(spots: list[tuple[float, float, int]]) -> None:
    labels, points = ["n" * length for *_, length in spots], [(x, y) for x, y, _ in spots]
    places = label_places(labels, points, steps=sorted(range(len(points)), key=lambda index: points[index]))
    boxes = [box(labels[index], points[index], name) for index, name in enumerate(places) if name is not None]
    assert all(left >= 0 and right <= WIDTH for left, _, right, _ in boxes)
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_single_name_is_beside_its_point_and_turns_where_the_plot_ends() -> None:
    assert label_places(["a/model"], [(0.2, 0.5)]) == ["right, above"]
    assert label_places(["a/model"], [(0.99, 0.5)]) == ["left, above"]
    assert label_places(["a/model"], [(0.2, 1.0)]) == ["right, below"]


def test_a_line_is_avoided_where_there_is_room_elsewhere() -> None:
    places = label_places(["a/first", "a/second"], [(0.1, 0.4), (0.2, 0.5)], steps=[0, 1])
    assert places != ["right, above", "right, above"]
    assert None not in places


def test_in_a_crowd_every_name_has_a_place_until_the_plot_is_full() -> None:
    crowd = [(0.5 + index / 100, 0.8) for index in range(15)]
    assert None not in label_places(["a/model of some length"] * 15, crowd)
    assert None in label_places(["a/model of some length"] * 60, [(0.5, 0.5)] * 60)


def test_a_name_far_from_its_dot_is_joined_to_it_by_a_line() -> None:
    crowd = [Contender(f"a/model-{index}", level(0.8, 0.7, 0.9, 9), 1 + index / 50, 100.0) for index in range(12)]
    chart = charts.quality_against("cost", crowd, SCORE)
    assert chart is not None
    assert "only in the table" not in chart.note
    assert any("x2Offset" in part["mark"] for part in chart.spec["layer"])


def test_a_value_has_its_position_on_a_linear_and_a_logarithmic_axis() -> None:
    assert share_of(2.0, 0.0, 8.0) == pytest.approx(0.25)
    assert share_of(10.0, 1.0, 100.0, log=True) == pytest.approx(0.5)
    assert share_of(3.0, 3.0, 3.0) == pytest.approx(0.5)


def test_axes_of_counts_have_whole_numbers_only() -> None:
    for low, high, most, ticks in (
        (0, 1, 5, [0, 1]),
        (3, 4, 10, [3, 4]),
        (0, 9, 5, [0, 2, 4, 6, 8]),
        (3, 12, 10, list(range(3, 13))),
        (0, 1_200, 5, [0, 500, 1_000]),
        (7, 7, 10, [7]),
    ):
        assert whole_numbers(low, high, most) == {"values": ticks, "format": ",d"}
    counts = charts.histogram("spread", [0, 0.5, 1], [1, 0], SCORE)
    assert counts is not None
    assert counts.spec["encoding"]["y"]["axis"]["values"] == [0, 1]
