"""What is the same for the runs of all tools: repeats, metrics and their names, scores that are missing, counts."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.imports.parts import shown
from benchmarks.imports.runs import MAX_REPEATS, ImportedResult, ImportedRun, ImportProblem, Unused
from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.metrics.imported import imported_name
from benchmarks.providers.clean_text import storable

MOST_UNUSED = 30


def assembled(tool: str, runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    """The runs of a file of the importer ``tool`` in the form in which they are stored.

    A scorer with a number outside 0 to 1 in any of them is a measurement in all. Raises ``ImportProblem`` if results
    and tasks do not fit together.
    """
    outside = {name for run in runs for name in _outside(run.results)}
    return [_assembled(tool, run, outside.union(run.measurements)) for run in runs]


def _assembled(tool: str, run: ImportedRun, measured: Collection[str]) -> ImportedRun:
    found = dict.fromkeys(name for result in run.results for name in result.scores)
    names = {name: metric_name(tool, name, measurement=name in measured) for name in (*run.metrics, *found)}
    lacking_all = dict.fromkeys((names[name] for name in found), run.missing)
    # One copy of each result, because a file may have half a million.
    results = [
        replace(result, repeat=repeat, scores=_all_scores(result, names, lacking_all))
        for result, repeat in _repeated(run)
    ]
    return replace(
        run,
        format=tool,
        metrics=list(dict.fromkeys(names.values())),
        results=results,
        reported={metric_name(tool, name): value for name, value in run.reported.items()},
    )


def _all_scores(result: ImportedResult, names: Mapping[str, str], missing: Mapping[str, Score]) -> dict[str, Score]:
    given = {names[name]: score for name, score in result.scores.items()}
    return given if result.error is not None or result.cancelled else {**missing, **given}


def _outside(results: Iterable[ImportedResult]) -> Iterator[str]:
    for result in results:
        for name, score in result.scores.items():
            if score.value is not None and not 0 <= score.value <= 1:
                yield name


def _repeated(run: ImportedRun) -> Iterator[tuple[ImportedResult, int]]:
    """The results, each with its repeat."""
    used: dict[str, set[int]] = {task.id: set() for task in run.tasks}
    for result in run.results:
        if result.task_id not in used:
            raise ImportProblem(f"a result is of task {quoted(result.task_id)}, which is none of the tasks")
        repeats = used[result.task_id]
        repeat = result.repeat or len(repeats) + 1
        if repeat in repeats:
            raise ImportProblem(f"task {quoted(result.task_id)}: repeat {repeat} occurs twice")
        if repeat > MAX_REPEATS:
            raise ImportProblem(f"task {quoted(result.task_id)}: more than {MAX_REPEATS:,} repeats")
        repeats.add(repeat)
        yield result, repeat


def with_all_scores(
    results: Sequence[ImportedResult], missing: Score, metrics: Iterable[str] = ()
) -> list[ImportedResult]:
    """The results, in which every answer has a score by each metric that any has, and by those of ``metrics``:
    ``missing`` where the tool gave none."""
    names = dict.fromkeys([*metrics, *(name for result in results for name in result.scores)])
    return [
        result
        if result.error is not None or result.cancelled
        else replace(result, scores={**dict.fromkeys(names, missing), **result.scores})
        for result in results
    ]


def metric_name(tool: str, name: str, *, measurement: bool = False) -> str:
    """The name here of another tool's metric, with control characters escaped."""
    return imported_name(tool, printable(re.sub(r"\s+", " ", storable(name, [])).strip() or "score"), measurement)


def unread_sentence(unread: Unused) -> list[str]:
    """What of the files no field reads, as a sentence; none if all was read."""
    unread = +unread
    named = [
        f"{printable(path)[:100]} of {part}" + ("" if part.startswith("the ") else f" ({count:,})")
        for (path, part), count in unread.most_common(MOST_UNUSED)
    ]
    more = [f"{len(unread) - MOST_UNUSED:,} more"] if len(unread) > MOST_UNUSED else []
    return [f"Not imported: {', '.join(named + more)}."] if named else []


def score_of(value: Any, tool: str, reason: str = "", extracted: str | None = None) -> Score:
    """The score with a number that the tool gave; an error of the scorer if it gave none."""
    if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return Score(ScoreStatus.SCORED, float(value), reason, extracted)
    why = f"{tool} gave no number, but {shown(value)}. {reason}".strip()
    return Score(ScoreStatus.METRIC_ERROR, None, why, extracted)


def numbered(names: Iterable[str], noun: str, *taken: str) -> Iterator[str]:
    """A name for each scorer of one answer: equal names are numbered; ``noun`` follows one that is taken, or stands for
    one that is empty."""
    used: Counter[str] = Counter()
    for given in names:
        name = given.strip()
        name = f"{name or noun} {noun}" if name in ("", *taken) else name
        used[name] += 1
        yield name if used[name] == 1 else f"{name} {used[name]}"


def lacking(present: int, wanted: int | None, is_chosen: bool) -> str:
    """How many samples a log lacks, as a sentence; empty if it has all."""
    if wanted is None or present >= wanted:
        return ""
    return f"The log has {present:,} of {wanted:,} samples{', as requested' if is_chosen else ''}."


def check_count(where: str, stated: int | None, found: int, what: str) -> None:
    """Compare a number that a file states of itself with that of its parts. Raises ``ImportProblem`` with both."""
    if stated not in (None, found):
        raise ImportProblem(f"{where}: {stated:,}, but {found:,} {what}")


def is_same(first: float, second: float) -> bool:
    """Whether two computations of one number agree."""
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
