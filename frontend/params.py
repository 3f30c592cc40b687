"""Filters read from a page's address. Nonsense in it is no filter, never an error page."""

from __future__ import annotations

import math

from django.http import QueryDict

from benchmarks.queries.datasets import TaskFilters
from benchmarks.queries.results import ORDERS, ResultFilters
from benchmarks.queries.runs import SORTS, RunFilters
from benchmarks.queries.task_analysis.pages import AnalysisFilters
from benchmarks.queries.task_grid import SHOWN, TaskGridFilters
from benchmarks.queries.task_grid import SORTS as TASK_SORTS
from benchmarks.statistics.margins import MARGIN

TEXT_LENGTH = 200
MOST_DAYS = 36_500
"""What began earlier than that has no date in some databases."""
RESULT_FILTERS = (
    "outcome",
    "reason",
    "difficulty",
    "group",
    "n_shapes",
    "label",
    "metric",
    "low",
    "high",
    "text",
    "sort",
)


def text(query: QueryDict, name: str) -> str:
    return query.get(name, "").replace("\0", "").strip()[:TEXT_LENGTH]


def whole_number(query: QueryDict, name: str) -> int | None:
    value = text(query, name)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def whole_numbers(query: QueryDict, name: str) -> list[int]:
    """The numbers in a list separated by commas."""
    return [int(part) for part in text(query, name).split(",") if part.isascii() and part.isdigit() and len(part) < 10]


def real_number(query: QueryDict, name: str) -> float | None:
    try:
        value = float(text(query, name))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def margin(query: QueryDict) -> float:
    """The score from 0 to 1 of ``?margin=`` in points, by which two runs may differ and still count as the same."""
    points = real_number(query, "margin")
    return points / 100 if points is not None and 0 < points <= 100 else MARGIN


def run_filters(query: QueryDict) -> RunFilters:
    sort, days = text(query, "sort"), whole_number(query, "days") or 0
    return RunFilters(
        dataset=text(query, "dataset"),
        model=text(query, "model"),
        status=text(query, "status"),
        name=text(query, "name"),
        tag=text(query, "tag"),
        pinned=bool(text(query, "pinned")),
        text=text(query, "text"),
        days=days if 0 < days <= MOST_DAYS else None,
        sort=sort if sort.removeprefix("-") in SORTS else "-run",
    )


def task_filters(query: QueryDict) -> TaskFilters:
    return TaskFilters(text=text(query, "text"), difficulty=text(query, "difficulty"), group=text(query, "group"))


def analysis_filters(query: QueryDict) -> AnalysisFilters:
    chosen = {name: text(query, name) for name in ("flag", "group", "text")}
    return AnalysisFilters(**chosen, folds_easy=True)


def result_filters(query: QueryDict) -> ResultFilters:
    sort = text(query, "sort")
    return ResultFilters(
        outcome=text(query, "outcome"),
        reason=text(query, "reason"),
        difficulty=text(query, "difficulty"),
        group=text(query, "group"),
        n_shapes=whole_number(query, "n_shapes"),
        label=text(query, "label"),
        metric=text(query, "metric"),
        low=real_number(query, "low"),
        high=real_number(query, "high"),
        text=text(query, "text"),
        sort=sort if sort in ORDERS else "position",
    )


def run_ids(query: QueryDict, name: str = "runs") -> list[int]:
    """The ids of ``?runs=1,2`` or of ``?runs=1&runs=2``, which is what tick boxes send; each of them once."""
    # Fewer than ten digits: larger numbers are no ids, and some databases reject them with an error.
    values = ",".join(query.getlist(name)).split(",")
    return list(dict.fromkeys(int(pk) for pk in values if pk.isascii() and pk.isdigit() and len(pk) < 10))


def task_grid_filters(query: QueryDict, shown: str = "") -> TaskGridFilters:
    """``shown`` is the filter of an address without one."""
    show, sort = text(query, "show") if "show" in query else shown, text(query, "sort")
    return TaskGridFilters(
        show=show if show in SHOWN else "",
        sort=sort if sort in TASK_SORTS else "",
        run=whole_number(query, "run"),
        baseline=whole_number(query, "baseline"),
        text=text(query, "text"),
        group=text(query, "group"),
        outcome=text(query, "outcome"),
        reason=text(query, "reason"),
    )


def kept(query: QueryDict, names: tuple[str, ...] = RESULT_FILTERS) -> str:
    """The part of the address that other pages must carry on, with its question mark; empty where there is none."""
    carried = QueryDict(mutable=True)
    for name in names:
        if value := text(query, name):
            carried[name] = value
    return f"?{carried.urlencode()}" if carried else ""
