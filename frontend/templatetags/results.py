"""Rows of tables of results. A page has up to 600 results, which would take a template 20 ms and more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe

from benchmarks.models import Outcome, Result, Run, Score
from benchmarks.presentation import labels, numbers, texts
from benchmarks.queries.results import ANSWER_SHOWN
from benchmarks.queries.task_grid import TaskCell, TaskPage
from frontend.result_rows import ResultRow
from frontend.templatetags.show import badge, diff_marks, state_badge
from frontend.texts import difference
from frontend.view_models import AnswerMarks, MetricRow

register = template.Library()

SHORT_ANSWER = 40
"""Characters"""

_PREVIEWED = (
    ' data-row hx-get="{}" hx-trigger="focus{}" hx-target="#preview" hx-select="#answer"'
    ' hx-swap="innerHTML ignoreTitle:true"'
)
_BOX = (
    '<td class="tick"><input type="checkbox" name="result" value="{}" form="copy-results" aria-label="Select {}"></td>'
)
_ROW = (
    '<tr>{box}<th scope="row"><a class="cut" href="{link}"{previewed}>{name}</a>{about}</th>'
    '<td class="outcome">{outcome}{reason}</td>{scores}{texts}<td class="num wide-only">{time}</td></tr>'
)
_TEXT = '<td data-label="{}"><span class="cut" dir="auto">{}</span>{}</td>'
_ERROR = '<td colspan="2" class="line"><span class="cut soft" dir="auto">{}</span></td>'
_SMALL = ' <small class="cut soft" dir="auto">{}</small>'


@cache
def _result_address() -> str:
    """The address of a result with places for the run and the result: reversing 600 of them takes 10 ms."""
    run, result = 10**16, 10**17
    return reverse("frontend:result", args=(run, result)).replace(str(result), "{1}").replace(str(run), "{0}")


@register.simple_tag
def answer_cells(cells: Sequence[TaskCell], columns: Sequence[tuple[Run, str]]) -> SafeString:
    """What each run answered to a task: the outcome, how the answer begins, and a score between 0 and 1."""
    html, of_result = [], _result_address()
    for cell, (_, name) in zip(cells, columns, strict=True):
        result, score = cell
        label = _label(name)
        if result is None:
            html.append(f'<td class="run"{label}>–</td>')
            continue
        # A page has 600 of them, and ``format_html`` takes three times as long: only the answer needs escaping.
        kind = " not-right" if result.outcome and not cell.is_right else ""
        answer = escape(texts.visible(result.answer or result.error or ""))
        written = "" if score in (None, 0, 1) else f' <span class="soft">{numbers.score(score)}</span>'
        link = of_result.format(result.run_id, result.pk)
        html.append(
            f'<td class="run{kind}"{label}><a class="answer-mark plain-link" href="{link}">'
            f'{badge(result.outcome, result.state)} <span class="cut" dir="auto">{answer}</span>{written}</a></td>'
        )
    return mark_safe("".join(html))


@register.simple_tag
def agreement(cells: Sequence[TaskCell]) -> SafeString:
    """A square for each run, filled where it is right."""
    return mark_safe("".join('<i class="on"></i>' if cell.is_right else "<i></i>" for cell in cells))


@register.simple_tag
def right_in(cells: Sequence[TaskCell], columns: Sequence[tuple[Run, str]], tasks: TaskPage) -> str:
    """The runs that are right, or those that are not if these are fewer and ``tasks`` are all, because fewer tasks
    show the answers that are not right; empty if all runs are alike."""
    right, others = list[str](), list[str]()
    for cell, (_, name) in zip(cells, columns, strict=True):
        (right if cell.is_right else others).append(texts.visible(name))
    if not right or not others:
        return ""
    names_others = len(others) < len(right) and tasks.count == tasks.total
    return f"Not right: {', '.join(others)}" if names_others else f"Right: {', '.join(right)}"


@register.simple_tag
def answer_marks(marks: AnswerMarks, task: int) -> SafeString:
    """A mark for each model, filled where it is right on the task."""
    outcomes = marks.of(task)
    if not outcomes:
        return mark_safe("–")
    drawn = "".join(f'<i class="is-{outcome}"></i>' for outcome in outcomes)
    said = numbers.n_of(outcomes.count(Outcome.CORRECT), len(outcomes))
    return mark_safe(
        f'<span class="pattern" role="img" aria-label="{said} correct">{drawn}</span>' if outcomes else "–"
    )


@register.simple_tag
def result_rows(
    run: Run,
    rows: Sequence[ResultRow],
    metrics: Sequence[MetricRow],
    *,
    kept: str = "",
    preview: bool | str = False,
    may_copy: bool | str = False,
    told: str = "",
) -> SafeString:
    """A row for each result of a run, with its score on each of the ``metrics``, and its reason unless that is ``told``
    above the rows.

    ``kept`` is the query of the links. With ``preview``, a row that has the focus shows its result beside the table;
    with ``may_copy`` as well, it can be selected.
    """
    html, of_result, query = [], _result_address(), escape(kept)
    labels_of_scores = [_label(metric.title) for metric in metrics]
    told_once = _equal_scores(rows)
    for place, row in enumerate(rows):
        result, name = row.result, _text(row.name)
        link = of_result.format(run.pk, result.pk) + query
        reason, lost = _reason(result), _is_lost(result)
        html.append(
            _ROW.format(
                box=_BOX.format(result.pk, name) if preview and may_copy else "",
                link=link,
                previewed=_PREVIEWED.format(link, "" if place else ", load") if preview else "",
                name=name,
                about=_small(_about(result)),
                outcome=state_badge("partial", "Disputed") if row.disputed else badge(result.outcome, result.state),
                reason=_small(result.failure if lost else reason) if reason != told else "",
                scores="".join(map(_score, row.scores, labels_of_scores, told_once)),
                texts=_ERROR.format(_text(_lost(result, reason == told))) if lost else _texts(run, row),
                time=numbers.milliseconds(result.duration_ms)
                + (' <span class="soft small">cached response</span>' if result.cached else ""),
            )
        )
    return mark_safe("\n".join(html))


@register.simple_tag
def shared_reason(rows: Sequence[ResultRow]) -> tuple[str, str]:
    """The reason that several results share, and which of a page these are: all, or those without an answer; empty
    otherwise."""
    lost = [row for row in rows if _is_lost(row.result)]
    for some, of in ((rows, ""), (lost, " without an answer")):
        reasons = {_reason(row.result) for row in some}
        if len(some) > 1 and len(reasons) == 1 and any(reasons):
            return reasons.pop(), f"these {numbers.number(len(some))}{of}"
    return "", ""


@register.simple_tag
def same_metric(results: Sequence[Result]) -> str:
    """The main metric of all of the results' runs; empty if they differ."""
    metrics = {result.run.headline for result in results}
    return metrics.pop() if len(metrics) == 1 else ""


@register.simple_tag
def fit_cells(results: Sequence[Result]) -> bool:
    """Whether every answer is a short line, which has room beside the score of its result."""
    answers = [result.actual_preview or "" for result in results]
    return all(len(answer) <= SHORT_ANSWER and "\n" not in answer for answer in answers)


@register.simple_tag
def answer_lines(result: Result, expected: str) -> SafeString:
    """How an answer begins, with its lines. In a wrong one of several lines, what was not expected is marked."""
    answer = result.actual_preview or ""
    if not answer and result.run.texts_pruned:
        return format_html('<span class="soft">{}</span>', result.run.texts_pruned)
    if "\n" not in answer:
        return conditional_escape(texts.visible(answer))
    if answer.strip() == expected.strip():
        return SafeString('<span class="soft">Equal to the expected answer</span>')
    marked = difference(expected, answer) if result.outcome == Outcome.WRONG and len(answer) < ANSWER_SHOWN else None
    return diff_marks(marked.right) if marked else conditional_escape(texts.visible(answer))


@lru_cache(1_000)  # a page has hundreds of a few
def _label(name: str) -> str:
    return f' data-label="{_text(name)}"'


def _text(untrusted: str) -> str:
    return escape(texts.visible(untrusted))


def _small(text: str) -> str:
    return _SMALL.format(_text(text)) if text else ""


def _is_lost(result: Result) -> bool:
    """Whether an error is all that there is to show: no answer, so nothing to hold against what was expected."""
    return bool(result.error_preview and not result.actual_preview)


def _lost(result: Result, is_told: bool) -> str:
    return "No answer" if is_told else result.error_preview or ""


def _texts(run: Run, row: ResultRow) -> str:
    """What was expected and answered: of JSON the first field that differs, of other texts the beginnings."""
    if row.differs:
        (path, expected, answer), others = row.differs.telling, row.differs.n_differing - 1
        more = f"and {numbers.number(others)} more" if others else ""
        both = (expected, path), (answer, more)
    else:
        both = (row.result.expected_preview or "", ""), (row.result.actual_preview or run.texts_pruned, "")
    return "".join(
        _TEXT.format(head, _text(text or "–"), _small(small))
        for head, (text, small) in zip(("Expected", "Answer"), both, strict=True)
    )


def _about(result: Result) -> str:
    """What the name of a result does not say: ``12 shapes, repeat 2``, ``Easy``."""
    kind = labels.sentence_case(result.group or result.difficulty)
    parts = [f"{result.n_shapes} shapes" if result.n_shapes else kind]
    parts += [f"repeat {result.repeat}"] if result.repeat > 1 else []
    return ", ".join(parts)


def _reason(result: Result) -> str:
    """Why a result failed, and how the error begins: ``Rate limit: Too many requests``."""
    failure, error = labels.sentence_case(result.failure), result.error_preview or ""
    return f"{failure}: {error}" if failure and error else failure + error


def _equal_scores(rows: Sequence[ResultRow]) -> list[bool]:
    """Of each metric whether all rows have the same score, which then takes no room on phones."""
    columns = zip(*(row.scores for row in rows), strict=True)
    return [len(rows) > 1 and len({score and (score.status, score.value) for score in each}) == 1 for each in columns]


def _score(score: Score | None, label: str, is_equal: bool) -> str:
    look = "num wide-only" if is_equal else "num"
    if score is not None and score.status == "scored":
        return f'<td class="{look}"{label}>{numbers.score(score.value)}</td>'
    status = labels.words(score.status) if score else "–"
    return f'<td class="{look}"{label}><span class="soft small">{escape(status)}</span></td>'
