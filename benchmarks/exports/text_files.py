"""CSV for spreadsheets (RFC 4180, UTF-8 with a byte order mark, without formulas) and JSON Lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain

import orjson

from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow, score_column, unscored_column
from benchmarks.summary import SURFACE, Breakdown, MetricNumbers, Summary

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BYTE_ORDER_MARK = "\ufeff"
RUN_COLUMNS = ("run", "model", "dataset", "dataset_version", "variant")
SCORE_COLUMNS = ("metric", "part", "level", "value", "low", "high", "n", "n_expected", "n_clusters", "method", "note")


def csv_pieces(rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The lines of the file, the head first. Each metric has a column for its value and one for why it has none.

    Tool calls are left out. JSON Lines has them.
    """
    scores = [name for metric in metrics for name in (score_column(metric), unscored_column(metric))]
    yield BYTE_ORDER_MARK + csv_line([*PLAIN_FIELDS, *scores])
    for row in rows:
        cells: list[object] = [getattr(row, name) for name in PLAIN_FIELDS]
        for metric in metrics:
            score = row.scores.get(metric)
            cells += (score.value, score.unscored) if score else ("", "")
        yield csv_line(cells)


def csv_line(cells: Iterable[object]) -> str:
    """One line. Numbers keep their minus sign: only text can be a formula. ``None`` is an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(value) for value in cells])
    return buffer.getvalue()


def defused(text: str) -> str:
    """The text, with an apostrophe before anything that a spreadsheet would execute, also after leading spaces."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS) else text


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return defused(value)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def jsonl_pieces(rows: Iterable[ResultRow]) -> Iterator[bytes]:
    """One JSON object per line: the columns of the other files, and ``scores`` with status and reason. Line breaks
    inside texts are escaped."""
    for row in rows:
        columns = {score_column(metric): score.value for metric, score in row.scores.items()}
        yield orjson.dumps(asdict(row) | columns, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def scores_pieces(
    run: Sequence[object],
    summary: Summary,
    breakdown: Breakdown,
    metrics: Sequence[str],
    reported: Mapping[str, float],
) -> Iterator[str]:
    """Every number in the summary and breakdown of a run, with its 95% bounds and n, and those that its tool reports;
    the head first. ``run`` has the values of ``RUN_COLUMNS``.

    ``value`` is a mean, a threshold in units of its difficulty, or a quantile of a time. ``part`` names the part of the
    run, ``level`` the level within it.
    """
    of_tool = (_number(name, "reported", "", None, mean=value) for name, value in reported.items())
    yield BYTE_ORDER_MARK + csv_line([*RUN_COLUMNS, *SCORE_COLUMNS])
    for row in chain(_number_rows(summary, breakdown, metrics), _time_rows(summary), of_tool):
        yield csv_line([*run, *row])


def _number_rows(summary: Summary, breakdown: Breakdown, metrics: Sequence[str]) -> Iterator[list[object]]:
    for name in metrics:
        if name in summary.metrics:
            yield from _mean_rows(name, summary.metrics[name])
    for facet, levels in breakdown.facets.items():
        for level, by_metric in levels.items():
            yield from (_number(metric, facet, level, numbers) for metric, numbers in by_metric.items())
    yield from (_number(cell.metric, SURFACE, f"{cell.group}/{cell.n_shapes}", cell) for cell in breakdown.surface)
    for outcome, rate in (summary.fault_rates or {}).items():
        yield _number("", "share of answers", outcome, rate)
    for metric, chance in (summary.chance or {}).items():
        for group in chance.groups:
            yield _number(metric, "above guessing", group.group, group.corrected)
        yield _number(metric, "above guessing", "average", chance.average)
    for threshold in summary.thresholds or ():
        yield _number("", f"threshold in {threshold.measure}", threshold.group, threshold, mean=threshold.threshold)
    for metric, repeats in (summary.reliability or {}).items():
        for k, share in repeats.pass_at.items():
            yield _number(metric, f"pass@{k}", "", share)
            yield _number(metric, f"pass^{k}", "", repeats.pass_hat[k])
        yield _number(metric, "tasks with differing repeats", "", repeats.flipped)
        yield _number(metric, "agreement between two repeats", "", repeats.agreement)
    if adaptive := summary.adaptive:
        for stratum in adaptive.strata:
            yield _number(metrics[0], "confidence sequence by n_shapes", str(stratum.n_shapes), stratum)
        yield _number(metrics[0], "confidence sequence", "", adaptive.overall)


def _mean_rows(name: str, numbers: MetricNumbers) -> Iterator[list[object]]:
    """The strict mean of a metric, the one over readable answers, and the weighted one."""
    yield _number(name, "run", "", numbers)
    yield _number(name, "readable answers only", "", numbers.readable, n_expected=numbers.n)
    if numbers.weighted:
        yield _number(name, "weighted by task", "", numbers.weighted, n_expected=numbers.n_expected)


def _time_rows(summary: Summary) -> Iterator[list[object]]:
    """Median and 95th percentile of each time that was measured."""
    for part, times in summary.times:
        for level, value in (("median", times.p50), ("95th percentile", times.p95)):
            yield _number("", part, level, times, mean=value)


def _number(metric: str, part: str, level: str, numbers: object, **given: float | None) -> list[object]:
    """``given`` are columns that ``numbers`` has under another name, or not at all."""
    columns = ("mean", *SCORE_COLUMNS[4:])
    return [metric, part, level, *(given[name] if name in given else getattr(numbers, name, None) for name in columns)]
