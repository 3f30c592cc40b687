"""Charts: drawings, the files made of them, the colors of both themes, and the places of names."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.summary import Expected, Level, Threshold
from frontend import charts, difficulty_charts, drawing
from frontend.chart_parts import Chart, Measure
from frontend.charts import Contender
from frontend.label_places import CHARACTER, HEIGHT, LINE, LONGEST, PHONE_WIDTH, PLACES, WIDTH, label_places, share_of
from frontend.plots import round_axis

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
HISTORY = [
    {
        **{"run": f"Run {n}", "at": f"2026-11-0{n}T03:00:00", "version": f"v{1 + n // 3}", "is_new": n == 3},
        **{"mean": 0.2 * n, "low": 0.2 * n - 0.1, "high": 0.2 * n + 0.1, "n": "40 of 40"},
    }
    for n in (1, 2, 3, 4)
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
        charts.score_over_time("history-1", "reasoning", "Exact match", HISTORY, SCORE),
    ]
    existing = [chart for chart in drawn if chart is not None]
    assert len(existing) == 10
    return existing


def text_of(svg: str) -> list[str]:
    """The texts of a drawing."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def panel_of(chart: Chart | None) -> str:
    """The only drawing of a chart."""
    assert chart is not None
    [panel] = chart.panels
    return panel


def test_every_chart_has_its_title_a_table_and_in_each_theme_a_file_with_the_colors_of_the_page() -> None:
    for chart in every_chart():
        assert chart.note, chart.name
        assert chart.rows, chart.name
        assert all(len(row) == len(chart.columns) for row in chart.rows), chart.name
        for panel in chart.panels:
            assert not re.search(r"#[0-9a-f]{3,8}|rgb|style=", panel), chart.name
        for theme in THEMES:
            svg = drawing.svg(chart, theme)
            ElementTree.fromstring(svg)  # our own drawing, of no hostile XML
            assert " ".join(re.findall(r'class="title"[^>]*>([^<]+)<', svg)) == chart.title
            assert "var(" not in svg, chart.name
            assert drawing.tokens(theme)["--ink"] in svg


def test_what_a_drawing_is_made_of_has_a_color() -> None:
    looks = set(re.findall(r"\.([a-z][\w-]*)", drawing.DRAWINGS.read_text()))
    for chart in every_chart():
        for panel in chart.panels:
            named = {name for names in re.findall(r'class="([^"]+)"', panel) for name in names.split()}
            assert named - {"large", "small", "rows", "names", "beside", "behind"} <= looks, chart.name


def test_pages_leave_the_room_around_a_drawing_that_files_do() -> None:
    css = drawing.TOKENS.with_name("app.css").read_text()
    above, right, below, left = drawing._MARGINS["plot"]
    assert f"margin: {above}px {right}px {below}px {left}px;" in css
    assert (
        f".plot.rows {{ width: calc(100% - {148 + 16}px); margin-left: {drawing._MARGINS['plot rows'][3]}px; }}" in css
    )
    assert f".plot.small {{ margin-top: {drawing._MARGINS['plot small'][0]}px; }}" in css


def test_a_level_without_an_interval_has_a_mark_alone() -> None:
    levels = {"easy": Expected(0.9, 10, 0.8, 1.0), "hard": Expected(0.2, 9), "none": Expected()}
    panel = panel_of(charts.by_level("x", "x", "x", levels, SCORE))
    assert ">0.900 n = 10</text>" in panel
    assert panel.count('class="knob"') == 2
    assert re.findall(r'class="band" x="[\d.]+%" y="\d+" width="([\d.]+)%"', panel) == ["20.00", "0.00"]


def test_of_very_many_levels_the_first_are_drawn_and_the_note_says_so() -> None:
    chart = charts.by_level("x", "x", "x", {f"level {n}": Expected(0.5, 9, 0.4, 0.6) for n in range(50)}, SCORE)
    assert panel_of(chart).count('class="knob"') == 40
    assert chart is not None
    assert chart.note.endswith("The first 40 of 50; the table has all.")
    assert len(chart.rows) == 50


def test_what_is_free_stands_beside_a_logarithmic_axis() -> None:
    free = Contender("c/free", level(0.5, 0.4, 0.6, 100), cost=0.0, latency=100.0)
    chart = charts.quality_against("cost", [*CONTENDERS, free], SCORE)
    assert chart is not None
    assert [row[1] for row in chart.rows] == [12.0, 0.3, 5.0, 0.0]
    assert text_of(panel_of(chart))[3:8] == ["Free", "$0.50", "$1", "$2", "$5"]


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
        (charts.ranking(CONTENDERS, SCORE), "0.700 n = 100 of 100"),
        (charts.quality_against("cost", CONTENDERS, SCORE), "a/small 0.700"),
        (charts.deltas([("b", -0.1, -0.2, 0.0, 50)], "a", SCORE), "−10.0 n = 50"),
        (difficulty_charts.surface_lines(CELLS, SCORE), "0.650"),
        (difficulty_charts.surface_heat_map(CELLS, SCORE), "0.75"),
        (charts.histogram("spread", [0, 0.5, 1], [3, 44], SCORE), "44"),
        (charts.score_over_time("history-1", "x", "Exact match", HISTORY, SCORE), "0.800"),
    ):
        assert chart is not None
        assert words in text_of(drawing.svg(chart)), chart.name


def test_differences_stand_around_zero() -> None:
    panel = panel_of(charts.deltas([("b", -0.1, -0.2, 0.0, 50), ("c", 0.1, 0.05, 0.15, 50)], "a", SCORE))
    assert [text for text in text_of(panel) if text in {"−20", "−10", "0", "10", "20"}] == [
        "−20",
        "−10",
        "0",
        "10",
        "20",
    ]
    assert re.findall(r'<svg x="([\d.]+)%" y="\d+" overflow="visible"><path class="knob"', panel) == ["25.00", "75.00"]


def test_a_score_over_time_names_versions_and_dates() -> None:
    panel = panel_of(charts.score_over_time("history-1", "x", "Exact match", HISTORY, SCORE))
    assert "v2" in text_of(panel)
    assert "v1" not in text_of(panel)
    assert [text for text in text_of(panel) if text.startswith("Nov")] == ["Nov 1", "Nov 2", "Nov 3", "Nov 4"]
    assert "<title>Run 3, 2026-11-03 03:00, v2: 0.600 (0.500 to 0.700), n = 40 of 40</title>" in panel


def test_runs_are_evenly_spaced_whenever_they_ran() -> None:
    points = [HISTORY[0] | {"at": at} for at in ("2026-09-01T03:00:00", "2026-11-01T03:00:00", "2026-11-01T03:00:09")]
    panel = panel_of(charts.score_over_time("history-1", "x", "Exact match", points, SCORE))
    assert re.findall(r'<circle class="best" cx="([\d.]+)%"', panel) == ["6.14", "50.00", "93.86"]
    assert text_of(panel)[3:6] == ["Sep 1", "Nov 1", "Nov 1"]


@pytest.mark.parametrize(
    ("hours", "n", "ticks"),
    [
        (1, 1, ["00:00"]),
        (1, 3, ["00:00", "01:00", "02:00"]),
        (24, 200, ["May 1", "Jun 10", "Jul 20", "Aug 28", "Oct 7", "Nov 16"]),
        (240, 50, ["May 2026", "Aug 2026", "Nov 2026", "Feb 2027", "May 2027", "Sep 2027"]),
    ],
)
def test_at_most_six_runs_have_their_date(hours: int, n: int, ticks: list[str]) -> None:
    first = datetime(2026, 5, 1)
    points = [HISTORY[0] | {"at": (first + place * timedelta(hours=hours)).isoformat()} for place in range(n)]
    shown = text_of(panel_of(charts.score_over_time("history-1", "x", "Exact match", points, SCORE)))
    assert shown[3:-1] == ticks


def test_the_names_of_versions_do_not_cover_each_other() -> None:
    points = [HISTORY[0] | {"version": f"v{place}", "is_new": place > 0} for place in range(100)]
    panel = panel_of(charts.score_over_time("history-1", "x", "Exact match", points, SCORE))
    assert panel.count('class="joined"') == 99
    assert [text for text in text_of(panel) if text.startswith("v")] == [f"v{n}" for n in range(1, 100, 7)]


def test_the_ticks_of_a_logarithmic_axis_have_units_and_room() -> None:
    fast = Contender("c/fast", level(0.5, 0.4, 0.6, 100), cost=0.011, latency=9.0)
    slow = Contender("c/slow", level(0.6, 0.5, 0.7, 100), cost=12.0, latency=12_000.0)
    for by, ticks in (("cost", ["$0.01", "$0.10", "$1", "$10"]), ("latency", ["10 ms", "100 ms", "1 s", "10 s"])):
        chart = charts.quality_against(by, [fast, slow], SCORE)
        assert chart is not None
        texts = text_of(panel_of(chart))
        assert [text for text in texts if re.fullmatch(r"\$[\d.,]+|[\d.,]+ m?s", text)] == ticks


def test_groups_are_small_plots_on_common_axes() -> None:
    chart = difficulty_charts.surface_lines(CELLS, SCORE)
    assert chart is not None
    assert [text_of(panel)[6:7] for panel in chart.panels] == [["count"], ["existence"]]
    ticks = [text_of(panel)[:6] for panel in chart.panels]
    assert ticks == [["0", "0.5", "1", "3", "4", "5"]] * 2
    svg = drawing.svg(chart)
    assert re.findall(r'<svg x="(\d+)" y="(\d+)"', svg) == [("56", "84"), ("312", "84")]


def test_each_chart_has_a_sentence_for_screen_readers() -> None:
    for chart in every_chart():
        labels = [re.search(r'role="(img|group)" aria-label="([^"]+)"', panel) for panel in chart.panels]
        for label in labels:
            assert label is not None
            assert "The table below has the" in label.group(2)
        if 'class="plot small"' not in chart.panels[0]:
            assert labels[0] is not None
            assert unescape(labels[0].group(2)).startswith(f"{chart.title}. "), chart.name


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


def test_words_at_the_ends_of_a_line_stand_on_the_side_that_the_line_does_not_take() -> None:
    falling = [{**CELLS[0], "n_shapes": n, "mean": mean} for n, mean in ((3, 0.8), (4, 0.4))]
    chart = difficulty_charts.surface_lines(falling, SCORE)
    assert chart is not None
    placed = dict(re.findall(r'<text class="name"[^>]*dy="(-?\d+)"[^>]*>([^<]+)<', chart.panels[0]))
    assert placed == {"-9": "0.800", "17": "0.400"}


def test_each_cell_of_the_surface_links_to_its_results() -> None:
    chart = difficulty_charts.surface_heat_map(CELLS, SCORE)
    assert chart is not None
    assert re.findall(r'<a href="([^"]+)"', panel_of(chart)) == [cell["url"] for cell in CELLS]
    assert 'aria-label="count, 3 shapes: 0.750 (0.350 to 0.950), n = 20"' in panel_of(chart)
    assert [url for _, url in chart.linked_rows] == [cell["url"] for cell in CELLS]


def test_a_measurement_without_bounds_has_no_axis_from_0_to_1() -> None:
    latency = Measure("latency", "Latency", "ms", bounded=False)
    chart = charts.by_level("x", "x", "x", {"easy": Expected(420.0, 3)}, latency)
    assert chart is not None
    assert "interval" not in chart.note
    assert text_of(panel_of(chart))[-1].startswith("420 ms n = ")
    assert text_of(panel_of(chart))[:4] == ["200", "400", "600", "800"]


def test_hostile_labels_stay_text_and_never_end_the_process() -> None:
    script = "</text><script>alert(1)</script>"
    codes = (0x00, 0x08, 0x0B, 0x1B, 0x85, 0x202E, 0x2028, 0xFFFE, 0xFFFF, 0x1FFFF)
    for label in (script, *(f"a{chr(code)}b" for code in codes)):
        chart = charts.ranking([Contender(label, level(0.5, 0.4, 0.6, 3), None, None)], SCORE)
        assert chart is not None
        svg = drawing.svg(chart)
        assert "<script" not in svg
        assert ElementTree.fromstring(svg).tag.endswith("svg"), ascii(label)  # our own drawing, of no hostile XML
        assert "<script" not in panel_of(chart)
        assert drawing.png(chart, "dark").startswith(b"\x89PNG"), ascii(label)


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


@pytest.mark.parametrize("width", [WIDTH, PHONE_WIDTH])
def test_of_two_close_dots_each_name_begins_beside_its_own(width: float) -> None:
    points = [(0.3, 0.962), (0.3, 0.923), (0.9, 0.4)]
    keys = label_places(["scripted/large", "scripted/medium", "scripted/small"], points, steps=[1, 0], width=width)
    spots = [(x * width, (1 - y) * HEIGHT) for x, y in points]
    for index, key in enumerate(keys):
        assert key is not None
        place = PLACES[key]
        begins = spots[index][0] + place.dx, spots[index][1] + place.dy
        assert min(range(3), key=lambda other: math.dist(begins, spots[other])) == index


def test_a_name_does_not_cross_the_interval_of_another_point() -> None:
    points, spans = [(0.2, 0.5), (0.26, 0.2)], [(0.45, 0.55), (0.1, 0.9)]
    assert label_places(["a/model", "b"], points)[0] == "right, above"
    assert label_places(["a/model", "b"], points, spans=spans)[0] == "left, above"


def test_neither_a_name_nor_its_line_crosses_another_line_where_there_is_room() -> None:
    points, spans = [(0.87, 0.43), (0.5, 0.0), (0.57, 0.0), (0.75, 0.0)], [(0.3, 0.55), *[(0.0, 0.2)] * 3]
    labels = ["small 0.430", *["step by step of it 0.000"] * 3]
    places = label_places(labels, points, spans=spans, joins=[(3, 0)])
    boxes = [box(labels[index], points[index], name) for index, name in enumerate(places) if name is not None]
    assert len(boxes) == len(labels)
    for index, name in enumerate(places):
        assert name is not None
        x, y, place = points[index][0] * WIDTH, (1 - points[index][1]) * HEIGHT, PLACES[name]
        along = [(x + place.dx * share / 20, y + place.dy * share / 20) for share in range(20)]
        for other, (left, top, right, bottom) in enumerate(boxes):
            assert other == index or not any(left < at < right and top < up < bottom for at, up in along)


def test_in_a_crowd_every_name_has_a_place_until_the_plot_is_full() -> None:
    crowd = [(0.5 + index / 100, 0.8) for index in range(15)]
    assert None not in label_places(["a/model of some length"] * 15, crowd)
    assert None in label_places(["a/model of some length"] * 60, [(0.5, 0.5)] * 60)


def test_a_name_far_from_its_dot_is_joined_to_it_by_a_line() -> None:
    crowd = [Contender(f"a/model-{index}", level(0.8, 0.7, 0.9, 9), 1 + index / 50, 100.0) for index in range(12)]
    chart = charts.quality_against("cost", crowd, SCORE)
    assert chart is not None
    assert "only in the table" not in chart.note
    assert 'class="leader"' in panel_of(chart)


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
        axis = round_axis([low, high], most=most, whole=True, inside=True)
        assert [value for value, _ in axis.ticks] == ticks
        assert (axis.low, axis.high) == (low, high)
    panel = panel_of(charts.histogram("spread", [0, 0.5, 1], [1, 0], SCORE))
    assert text_of(panel)[:2] == ["0", "1"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.0, 117.0], ["0", "50", "100", "150"]),
        ([-13.0, 13.0], ["−20", "−10", "0", "10", "20"]),
        ([0.3, 0.61], ["0.3", "0.4", "0.5", "0.6", "0.7"]),
        ([420.0], ["200", "400", "600", "800"]),
        ([0.0], ["−0.5", "0", "0.5"]),
        ([1_234_567.0, 9_876_543.0], ["0", "5,000,000", "10,000,000"]),
    ],
)
def test_an_axis_has_room_for_its_values_and_round_ticks(values: list[float], ticks: list[str]) -> None:
    axis = round_axis(values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert [text for _, text in axis.ticks] == ticks


@given(st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=5), st.integers(2, 8))
def test_any_axis_has_few_ticks_in_order(values: list[float], most: int) -> None:
    axis = round_axis(values, most=most)
    assert 2 <= len(axis.ticks) <= most + 3
    places = [value for value, _ in axis.ticks]
    assert places == sorted(set(places))
