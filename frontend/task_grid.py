"""Tasks against runs as a page shows them, with one of the tasks opened below its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, QueryDict

from benchmarks.analysis.matrices import short_names
from benchmarks.models import Outcome, Result, Run
from benchmarks.presentation.labels import OUTCOME, metric_title, sentence_case
from benchmarks.presentation.numbers import n_of, number, plural
from benchmarks.presentation.numbers import score as written
from benchmarks.queries import task_grid as reads
from benchmarks.queries.canvas_sets import canvas_of_task, doubt_about
from benchmarks.queries.matrix import metrics_of
from benchmarks.services.access import may_edit
from benchmarks.statistics.task_analysis import RIGHT
from frontend import params
from frontend.chips import Chip, chips, without
from frontend.texts import DIFF_LENGTH, Excerpt, Segment, difference, excerpt

Column = tuple[Run, str]
"""A run and its name."""
ANSWER_LENGTH = 3_000
REASON_LENGTH = 600
LONGEST_SHORT_ANSWER = 40
_CHIPS = {
    "metric": "Metric",
    "run": "Chosen run",
    "baseline": "Reference run",
    "sort": "",
    "group": "",
    "outcome": "",
    "reason": "Reason",
}
"""Filter of tasks → what its chip says before the value."""
MOST_CELLS = 240
"""Answers on a page, which keeps it below 120 kB: 20 tasks of twelve runs."""


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row with the query that opens it, or closes it if it is open."""

    row: reads.TaskRow
    toggle: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A choice of tasks: its title, how many tasks it has, its address, and whether it is the one in force.

    The address of one that ``is_removable`` is that without it: another one is in force by itself.
    """

    title: str
    count: int
    url: str
    is_chosen: bool
    is_removable: bool


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """An answer with all runs that gave it and were scored alike, each with its name and result. ``marks`` show how it
    differs from that of the reference run; ``is_unlike`` that they would be marks all over."""

    of: Sequence[tuple[Run, str, Result | None]]
    score: str
    is_right: bool
    text: Excerpt | None
    marks: Sequence[Segment] | None
    is_unlike: bool
    reason: Excerpt | None


def grid_context(
    request: HttpRequest,
    columns: Sequence[Column],
    metric: str,
    *,
    show: str = "",
    most: int = reads.PAGE_SIZE,
    dataset: str = "",
) -> dict[str, Any]:
    """What the grid shows of runs: those of ``?runs=`` if it names some, else the first ones.

    ``show`` is the filter without ``?show=``, ``most`` the number of tasks on a page, ``dataset`` the title of theirs
    where the page names it nowhere else.
    """
    wanted = set(params.run_ids(request.GET))
    shown = [column for column in columns if column[0].pk in wanted][: reads.MOST_RUNS] or columns[: reads.MOST_RUNS]
    runs, names = [run for run, _ in shown], [(run.pk, name) for run, name in shown]
    filters = params.task_grid_filters(request.GET, show)
    chosen, baseline = reads.chosen_runs(runs, filters) if runs else (None, None)
    pk = params.whole_number(request.GET, "open")
    opened = None if pk is None else reads.open_task(runs, metric, pk)
    at = params.whole_number(request.GET, "page") or 1
    size = min(most, MOST_CELLS // max(len(runs), 1))
    page = reads.task_page(runs, metric, filters, at, size=size, containing=pk)
    closed = _query(request.GET, show=filters.show or None, open=None)
    rows = []
    for row in page.rows:
        is_open = opened is not None and row.task.pk == opened.task.pk
        toggle = closed if is_open else f"{closed}{'' if closed == '?' else '&'}open={row.task.pk}"
        rows.append(GridRow(row, toggle, is_open))
    marked = params.text(request.GET, "diff") != "0"
    return {
        "columns": shown,
        "all_columns": columns,
        "baseline": baseline,
        "tasks": page,
        "said": answers_said(page, [name for _, name in shown], dataset) if runs else [],
        "rows": rows,
        "outcomes": [name for name in Outcome.values if name in _outcomes(page)],
        "opened": _opened(opened, dict(names), baseline, marked) if opened and baseline else None,
        "may_edit": may_edit(request.user),
        "toggle_marks": _query(request.GET, diff="0" if marked else None),
        "filters": filters,
        "shows": _shows(request.GET, page, filters, shown, show) if runs else [],
        "chips": _chips(request.GET, columns, shown),
        "groups": reads.groups_of(runs),
        "searched": reads.MOST_SEARCHED,
        "names": names,
        "chosen": chosen,
        "usual": reads.chosen_runs(runs, reads.TaskGridFilters()) if runs else (None, None),
        "sorts": list(reads.SORTS.items()),
        "previous": page.number - 1,
        "next": page.number + 1,
    }


def answers_said(page: reads.TaskPage, names: Sequence[str], dataset: str = "") -> list[str]:
    """What all tasks show of the runs: a headline, and what explains it."""
    right, wrong, total = page.all_right, page.all_wrong, page.total
    on = f"{dataset}: " if dataset else ""
    if len(names) == 1:
        return [f"{on}{names[0]} is right on {n_of(right, total)} tasks."]
    if len(names) == 2:
        (a, b), (only_a, only_b) = names, page.alone
        said = [f"{on}{a} alone is right on {n_of(only_a, total)} tasks, {b} alone on {number(only_b)}."]
        said.append(f"Both are right on {number(right)}, neither on {number(wrong)}.")
    else:
        every = f"right in all {plural(len(names), 'run')}"
        head = f"{n_of(right, total)} tasks are {every}" if right else f"{'no' if on else 'No'} task is {every}"
        said = [f"{on}{head}, and {number(wrong) if wrong else 'none'} {'are' if wrong > 1 else 'is'} wrong in all."]
        alone = [f"{name} {number(n)}" for name, n in zip(names, page.alone, strict=True) if n]
        if alone:
            said.append(f"Right in one run alone: {', '.join(alone)}.")
    if page.disagree != total - right - wrong:
        said.append(f"Scores, partial ones included, differ on {number(page.disagree)}.")
    return said


def _shows(
    given: QueryDict, page: reads.TaskPage, filters: reads.TaskGridFilters, columns: Sequence[Column], usual: str
) -> list[Shown]:
    """Each of ``SHOWN`` that has tasks of its own or is in force, in the names of the runs, which are short. ``usual``
    is in force where the address names none, so removing another one leads to it."""
    short = short_names([name for _, name in columns])
    names = {run: short[name] for run, name in columns}
    own, base = (names[run] for run in reads.chosen_runs([*names], filters))
    titles = {
        **reads.SHOWN,
        "only": f"Only {own} right",
        "only_wrong": f"Only {base} right" if len(names) == 2 else f"Only {own} wrong",
        "lost": f"Right in {base}, wrong in {own}",
        "worse": f"{own} worse than {base}",
    }
    found = []
    for show, title in titles.items():
        is_chosen = show == filters.show
        is_all = bool(show) and page.counts[show] == page.total
        is_removed_to = show == usual and not is_chosen
        if is_chosen or (page.counts[show] and show not in page.alike and not is_all and not is_removed_to):
            is_removable = is_chosen and show != usual
            url = _query(given, show=None if is_removable else show, page=None, open=None)
            found.append(Shown(title, page.counts[show], url, is_chosen, is_removable))
    return found


def _chips(query: QueryDict, columns: Sequence[Column], shown: Sequence[Column]) -> list[Chip]:
    """What the address chooses, and how many runs it chooses of an experiment."""
    runs, names = [run for run, _ in columns], {str(run.pk): name for run, name in columns}
    several = len(metrics := metrics_of(runs)) > 1
    labels = {name: label for name, label in _CHIPS.items() if name != "metric" or several}
    titles = {
        "metric": {name: metric_title(name) for name in metrics},
        "run": names,
        "baseline": names,
        "sort": reads.SORTS,
        "group": {name: sentence_case(name) for name in reads.groups_of(runs)},
        "outcome": OUTCOME,
    }
    found = chips(query, labels, titles)
    if "runs" in query and len(shown) < len(columns):
        found.insert(0, Chip(f"{len(shown)} of {len(columns)} runs", without(query, "runs")))
    return found


def _outcomes(page: reads.TaskPage) -> set[str]:
    return {cell.result.outcome for row in page.rows for cell in row.cells if cell.result}


def _query(given: QueryDict, **changes: str | None) -> str:
    query = given.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = value
    return f"?{query.urlencode()}"


def _opened(opened: reads.OpenTask, names: dict[int, str], baseline: Run, marked: bool) -> dict[str, Any]:
    texts = {answer.run.pk: _text(answer) for answer in opened.answers}
    alike: dict[Hashable, list[reads.Answer]] = {}
    for answer in opened.answers:
        alike.setdefault(_shown_of(answer, texts[answer.run.pk]), []).append(answer)
    answers = _counted(opened.answers)
    return {
        "task": opened.task,
        "input": excerpt(opened.task.input),
        "expected": excerpt(opened.task.expected_output, ANSWER_LENGTH),
        "answers": answers if len(answers) < len(alike) else [],
        "cards": [_card(same, names, texts, baseline, marked) for same in alike.values()],
        "canvas": canvas_of_task(opened.task),
        "doubt": doubt_about(opened.task),
        "marked": marked,
        "baseline_name": names[baseline.pk],
    }


def _text(answer: reads.Answer) -> str | None:
    """The text of the answer; ``None`` if there is none, or none any more."""
    transcript = getattr(answer.result, "transcript", None)
    return None if transcript is None or answer.run.texts_pruned else str(transcript.actual_output)


def _counted(answers: Sequence[reads.Answer]) -> list[tuple[str, int]]:
    """Short answers, as the metric reads them, and how many runs gave each, the most frequent first."""
    texts = [answer.score.extracted or "" if answer.score else "" for answer in answers]
    return Counter(text for text in texts if text and len(text) <= LONGEST_SHORT_ANSWER).most_common(6)


def _shown_of(answer: reads.Answer, text: str | None) -> Hashable:
    """What a card shows of an answer; those that are alike in it are one card."""
    result, score = answer.result, answer.score
    ended = (result.outcome, result.state, result.error_message) if result else None
    return text, ended, (score.value, score.reason) if score else None, answer.run.texts_pruned


def _card(
    same: Sequence[reads.Answer], names: dict[int, str], texts: dict[int, str | None], baseline: Run, marked: bool
) -> AnswerCard:
    answer = same[0]
    text, other = texts[answer.run.pk], texts[baseline.pk]
    compared, is_unlike = None, False
    if marked and text and other and all(each.run.pk != baseline.pk for each in same):
        compared = difference(other[:DIFF_LENGTH], text[:ANSWER_LENGTH])
        is_unlike = compared is None
    score = answer.score
    return AnswerCard(
        of=[(each.run, names[each.run.pk], each.result) for each in same],
        score=written(score.value) if score and score.value is not None else "",
        is_right=score is not None and score.value is not None and score.value >= RIGHT,
        text=None if text is None else excerpt(text, ANSWER_LENGTH),
        marks=compared.right if compared else None,
        is_unlike=is_unlike,
        reason=excerpt(score.reason, REASON_LENGTH) if score and score.reason else None,
    )
