"""Charts: pure functions from stored numbers to a ``Chart``, or ``None`` if there are too few.

Every chart carries a table of its numbers. Its drawing has no colors: ``drawings.css`` sets them by class, in the page
and in files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.texts import cut_name
from benchmarks.providers.model_names import is_baseline
from benchmarks.summary import Expected
from frontend import tradeoffs
from frontend.chart_parts import FIGURES, INTERVAL_COLUMNS, Chart, Measure, Row, figures, sentence, tooltip
from frontend.label_places import ASIDE, PHONE_WIDTH, is_near, label_places
from frontend.large_ruler import MOST_MARKS, LargeRuler, Scored
from frontend.plots import Axis, Plot, percent, round_axis, round_step

_FRONTIER = ("On the frontier", "Behind the frontier")
_AGAINST = {
    "cost": ("cost", "Cost per 1,000 results (USD)", "price"),
    "latency": ("latency", "{} (s)", "speed"),
}
"""Axis → its name, its column (of the title of latencies), and what is best at each of its values."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a leaderboard. Cost is US dollars per 1,000 results, latency the median in milliseconds.

    A line joins those of one ``model``.
    """

    label: str
    score: Expected
    cost: float | None
    latency: float | None
    model: str = ""


def by_level(name: str, title: str, level_title: str, levels: Mapping[str, Expected], measure: Measure) -> Chart | None:
    """A mean with its interval for each level that has one."""
    shown = {level: figures(row) for level, row in levels.items()}
    return _levels_chart((name, title, level_title), measure, shown)


def breakdown(key: str, words: str, levels: Mapping[str, Expected], row: Measure) -> Chart | None:
    """``by_level`` of a metric of a run, by what ``words`` say; its n is that of the metric's own scores."""
    head = f"{key}-{row.name}", f"{row.title} by {words}", sentence_case(words)
    return _levels_chart(head, row, {level: figures(each, row.name) for level, each in levels.items()})


def _levels_chart(head: tuple[str, str, str], measure: Measure, levels: Mapping[str, Row]) -> Chart | None:
    """``head`` has the name, the title and what the levels are; ``levels`` the ``figures`` of each."""
    name, title, level_title = head
    known = {level: row for level, row in levels.items() if row["mean"] is not None}
    if not known:
        return None
    note = "Mark: mean." + ("" if all(row["low"] is None for row in known.values()) else " Band: 95% interval.")
    if len(known) > MOST_MARKS:
        note += f" The first {MOST_MARKS} of {len(known)}; the table has all."
    scored = [_scored(level, row) for level, row in known.items()]
    axis = measure.axis(value for row in known.values() for value in (row["low"], row["mean"], row["high"]))
    ruler = LargeRuler(scored, axis=axis, words=measure.words, label=sentence(title, note))
    table = tuple((level, *(row[figure] for figure in FIGURES)) for level, row in known.items())
    return Chart(name, title, note, (ruler.drawn,), (level_title, *INTERVAL_COLUMNS), table)


def _scored(level: str, row: Row) -> Scored:
    """A level without an interval has a mark alone."""
    low, high = (row["mean"] if row[bound] is None else row[bound] for bound in ("low", "high"))
    return Scored(level, "", row["mean"], low, high, more=f"n = {row['n']}")


def histogram(name: str, edges: Sequence[float], counts: Sequence[int], measure: Measure) -> Chart | None:
    """How many results have which score."""
    if not sum(counts):
        return None
    rows = tuple(zip(edges, edges[1:], counts, strict=False))
    title, note = f"Distribution of {measure.title}", "Number of results per score range"
    plot = Plot(round_axis([edges[0], edges[-1]], inside=True), round_axis([0, max(counts)], whole=True))
    bars = [_bar(plot, *row) for row in rows if row[2]]
    drawn = plot.drawn(bars, sentence(title, note), height=140)
    return Chart(name, title, note, (drawn,), ("From", "To", "Results"), rows)


def _bar(plot: Plot, low: float, high: float, count: int) -> SafeString:
    left, top = plot.spot(low, count)
    width, height = percent(plot.x.share(high) - plot.x.share(low)), percent(plot.y.share(count))
    middle = plot.x.at((low + high) / 2)
    return format_html(
        '<rect class="bar" x="{}" y="{}" width="{}" height="{}"/>'
        '<text class="name" x="{}" y="{}" dy="-5" text-anchor="middle">{}</text>',
        *(left, top, width, height, middle, top, f"{count:,}"),
    )


_MANY = 40
"""Runs after which dots and lines are thin, so that one does not cover the next."""
_ENOUGH = 4
"""Runs from which on a chart over time has its full height."""
_NAME_ROOM = 0.06
"""Share of the width that the name of a version takes."""


def score_over_time(name: str, title: str, note: str, points: Sequence[Row], measure: Measure) -> Chart:
    """The mean and interval of each run, the oldest first, each as far from the next: runs of one hour would cover each
    other between runs of other weeks.

    ``points`` have ``FIGURES``, ``at`` (ISO 8601), ``run``, ``version``, and ``is_new`` where the version changed.
    """
    y = measure.axis(point[figure] for point in points for figure in ("low", "mean", "high"))
    plot = Plot(_dates([datetime.fromisoformat(point["at"]) for point in points]), y)
    spots = [(place, point["mean"]) for place, point in enumerate(points)]
    many = len(points) > _MANY
    newer = [(place, point["version"]) for place, point in enumerate(points) if point["is_new"]]
    parts = [*plot.joined("front", spots), *(plot.line("joined", (at, y.low), (at, y.high)) for at, _ in newer)]
    for place, point in enumerate(points):
        if point["low"] is not None:
            parts.append(plot.line("span best", (place, point["low"]), (place, point["high"])))
        shown = tooltip(point, measure, point["run"], point["at"][:16].replace("T", " "), point["version"])
        parts.append(plot.dot(place, point["mean"], shown, radius=2 if many else 4.5))
    parts += _version_names(plot.x, newer)
    parts.append(plot.words(*spots[-1], measure.words(points[-1]["mean"])))
    table = tuple(
        (point["run"], point["at"][:16].replace("T", " "), point["version"], *(point[name] for name in FIGURES))
        for point in points
    )
    height = 160 if len(points) >= _ENOUGH else 96
    drawn = plot.drawn(parts, sentence(title, note), height=height, look="plot many" if many else "plot")
    return Chart(name, title, note, (drawn,), ("Run", "Time", "Version", *INTERVAL_COLUMNS), table)


def _version_names(x: Axis, newer: Iterable[tuple[float, str]]) -> Iterator[SafeString]:
    """The names of versions where they begin, above the dots; those that would cover the one before are left out."""
    named = -1.0
    for place, name in newer:
        if x.share(place) - named >= _NAME_ROOM:
            named = x.share(place)
            yield format_html('<text class="name" x="{}" y="0%" dx="4" dy="10">{}</text>', x.at(place), name)


def _dates(times: Sequence[datetime]) -> Axis:
    """A place for each time, the oldest first, at most six with their date: of one day the hour, of years the year."""
    last, days = len(times) - 1, (max(times) - min(times)).days
    form = "%H:%M" if times[0].date() == times[-1].date() else "%b %-d" if days < 300 else "%b %Y"
    shown = sorted({round(last * step / 5) for step in range(6)}) if last > 5 else range(last + 1)
    room = 0.07 * last  # for half of the first and of the last date
    return Axis(-room, last + room, [(place, f"{times[place]:{form}}") for place in shown])


def ranking(contenders: Sequence[Contender], measure: Measure) -> Chart | None:
    """One line a model, best first, with its interval drawn."""
    levels = {row.label: row.score for row in contenders}
    return by_level("ranking", f"{measure.title} by model", "Model", levels, measure)


_MOST_ON_PHONES = 20
"""Characters of a name in a plot there."""
_MARGIN = 1.15
"""By which the axis of costs or latencies reaches beyond the marks."""


def quality_against(
    by: str,
    contenders: Sequence[Contender],
    measure: Measure,
    latency: str = "Median latency",
    guess: float | None = None,
) -> Chart | None:
    """Quality versus ``cost`` or ``latency`` of at least two contenders, with the efficient frontier.

    What is free stands in a strip of its own beside a logarithmic axis. Neither baselines nor what scores no more than
    a ``guess``, or 0, are models to choose from.
    """
    contenders = [row for row in contenders if not is_baseline(row.model or row.label)]
    _, column, _ = _AGAINST[by]
    points = _points(by, contenders, measure)
    if len(points) < 2:
        return None
    best = frontier([(point["x"], point["mean"]) for point in points], floor(measure, guess))
    x, free = _expenses(by, [point["x"] for point in points])
    for index, point in enumerate(points):
        point |= {"frontier": _FRONTIER[index not in best], "at": point["x"] or free or 0.0}
    y = _levels(points)
    spots = [(x.share(point["at"]), y.share(point["mean"])) for point in points]
    spans = [(y.share(point["low"]), y.share(point["high"])) for point in points]
    joins = tradeoffs.joins(points)
    places = label_places([point["words"] for point in points], spots, best, spans, joins=joins)
    narrow = label_places([point["short"] for point in points], spots, best, spans, width=PHONE_WIDTH, joins=joins)
    # Without room for all names beside their points, these are numbered, and the names stand below.
    is_crowded = not all(is_near(place, ASIDE) for place in places)
    key = tuple(point["label"] for point in points) if is_crowded or not all(map(is_near, narrow)) else ()
    if key:
        numbers = [str(place) for place in range(1, len(points) + 1)]
        narrow = label_places(numbers, spots, best, spans, width=PHONE_WIDTH, joins=joins)
        points = [point | {"short": shown} for point, shown in zip(points, numbers, strict=True)]
    points = [
        point | {"place": here, "narrow": there} for point, here, there in zip(points, places, narrow, strict=True)
    ]
    unknown = [row.label for row in contenders if _expense(row, by) is None]
    column = column.format(latency)
    # Ticks have the unit of the column.
    of = column.rpartition(" (")[0]
    title, note = f"{measure.title} versus {of[0].lower()}{of[1:]}", _note(by, points, unknown)
    return Chart(
        f"quality-against-{by}",
        title,
        note,
        (tradeoffs.drawn(points, best, x, y, sentence(title, note), is_crowded=is_crowded),),
        ("Model", column, *INTERVAL_COLUMNS, "Efficient frontier"),
        tuple(tuple(point[figure] for figure in ("label", "x", *FIGURES, "frontier")) for point in points),
        key=key,
        is_crowded=is_crowded,
    )


def floor(measure: Measure, guess: float | None) -> float:
    """What a score must exceed to be worth a price."""
    return max(0.0, guess or 0.0) if measure.bounded else -math.inf


def _points(by: str, contenders: Sequence[Contender], measure: Measure) -> list[Row]:
    """The contenders whose expense is known."""
    return [
        {
            "label": row.label,
            "words": f"{row.label} {measure.words(row.score.mean or 0.0)}",
            "short": cut_name(row.label.rpartition("/")[2], _MOST_ON_PHONES),
            "model": row.model or row.label,
            "x": expense,
            **figures(row.score),
        }
        for row in contenders
        if (expense := _expense(row, by)) is not None
    ]


def _expenses(by: str, expenses: Sequence[float]) -> tuple[Axis, float | None]:
    """The axis of costs or latencies; if it is logarithmic, also where on it stands what is free."""
    paid = [expense for expense in expenses if expense > 0]
    lowest, highest = min(paid, default=0.0), max(paid, default=0.0)
    # A linear axis would press all cheap models against its left end if one costs far more.
    if not (lowest > 0 and highest > 20 * lowest):
        high = highest * _MARGIN or 1.0
        step = round_step(high, 5)
        ticks = [step * place for place in range(math.floor(high / step + 1e-9) + 1)]
        return Axis(0.0, high, [(tick, _tick(by, tick)) for tick in ticks]), None
    free = lowest / 5 if len(paid) < len(expenses) else None
    # Over more than two powers of ten, the steps between them would write over each other.
    steps = (1, 2, 5) if highest < 100 * lowest else (1,)
    ticks = [power * step for power in _powers(lowest, highest) for step in steps]
    written = [(tick, _tick(by, tick)) for tick in ticks if lowest * 0.9 <= tick <= highest * 1.1]
    first = lowest if free is None else free
    written = written if free is None else [(free, "Free"), *written]
    return Axis(first / _MARGIN, highest * _MARGIN, written, log=True), free


def _note(by: str, points: Sequence[Row], unknown: Sequence[str]) -> str:
    words, _, each = _AGAINST[by]
    notes = [f"Line: best score at each {each}."]
    if len({point["model"] for point in points}) < len(points):
        notes.append("Dashed: variants of one model.")
    if not all(point["place"] for point in points):
        notes.append("Names that would overlap appear only in the table.")
    if unknown:
        notes.append(f"Not drawn, {words} unknown: {', '.join(unknown)}.")
    return " ".join(notes)


def _levels(points: Sequence[Row]) -> Axis:
    """The axis of the scores, from 0 to 1 or as far as they reach."""
    bottom, top = min(0.0, *(point["mean"] for point in points)), max(1.0, *(point["mean"] for point in points))
    return Axis(bottom, top, [(at, f"{at:,.3g}") for at in (bottom, (bottom + top) / 2, top)])


def _tick(by: str, value: float) -> str:
    if by == "cost":
        whole, dot, cents = f"{value:,.6g}".partition(".")
        return f"${whole}{dot}{cents.ljust(2, '0') if dot else ''}"
    return f"{1000 * value:,.6g} ms" if value < 1 else f"{value:,.6g} s"


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten around a range."""
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def deltas(rows: Sequence[tuple[str, float, float, float, int]], against: str, measure: Measure) -> Chart | None:
    """Differences ``(label, mean, low, high, n)`` from the run ``against`` on shared tasks, in points, around a line
    at zero."""
    if not rows:
        return None
    in_points = [(label, 100 * mean, 100 * low, 100 * high, n) for label, mean, low, high, n in rows]
    title = f"{measure.title}: difference from {against} on shared tasks, in points"
    note = f"Right of zero: better than {against}. Mark: mean difference. Band: 95% interval."
    # Symmetric around zero, so that both directions look alike; never so narrow that noise fills the chart.
    bound = max(5.0, *(abs(bound) for row in in_points for bound in row[2:4]))
    ruler = LargeRuler(
        [Scored(label, "", mean, low, high, more=f"n = {n:,}") for label, mean, low, high, n in in_points],
        axis=round_axis([-bound, bound]),
        words=_signed,
        label=sentence(title, note),
    )
    columns = ("Run", "Difference", "Low", "High", "Shared tasks")
    return Chart("deltas", title, note, (ruler.drawn,), columns, tuple(in_points))


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def frontier(points: Sequence[tuple[float, float]], floor: float = -math.inf) -> list[int]:
    """Indexes of the points ``(cost, quality)`` above the ``floor``, cheapest first, that no other beats in both."""
    best, indexes = floor, []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if points[index][1] > best:
            best = points[index][1]
            indexes.append(index)
    return indexes


def _expense(row: Contender, by: str) -> float | None:
    """The cost, or the latency in seconds."""
    if by == "cost":
        return row.cost
    return None if row.latency is None else row.latency / 1000
