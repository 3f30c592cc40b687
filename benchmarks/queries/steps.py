"""Reads of the steps of a result: page by page, by search, and one beside those of another result.

A result without stored steps has those of its messages, so that a run's own loop with tools is read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from django.db.models import Count, Q, QuerySet

from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.scoring import with_stored_answer
from benchmarks.metrics.base import FIRST_WRONG_STEP
from benchmarks.metrics.final_state import MAX_CALLS
from benchmarks.metrics.task_parts import ExpectedCall, ExpectedRow
from benchmarks.metrics.trajectories import first_wrong_call
from benchmarks.metrics.worlds import Change, state_after
from benchmarks.models import Result, StoredStep, Task
from benchmarks.models.steps import steps_of_messages
from benchmarks.providers.base import ToolCall
from benchmarks.providers.steps import MODEL_CALL, TOOL_CALL

PAGE_SIZE = 100
SEARCH_WINDOW = 20_000
"""Steps that one page of a search looks through."""
BESIDE = 300
"""Calls of each result that are shown beside each other."""
SEARCHED = ("name", "agent", "begins", "returns")


@dataclass(frozen=True, slots=True)
class StepFilters:
    """Empty fields do not restrict. ``first`` is the position at which the page begins."""

    first: int = 1
    failed: bool = False
    calls: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class StepPage:
    """``following`` is where the next page begins, ``searched_to`` where a search stopped looking."""

    rows: Sequence[StoredStep]
    following: int | None
    searched_to: int | None = None


@dataclass(frozen=True, slots=True)
class StepCounts:
    total: int = 0
    calls: int = 0
    failed: int = 0
    agents: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """The step at which an answer went wrong, and the call that was expected there, if one was.

    ``failed`` if no reference and no judge says so, but the step failed.
    """

    position: int
    expected: str = ""
    failed: bool = False
    metric: str = ""
    """By which a judge names the step; empty if none does."""


def has_steps(result: Result) -> bool:
    """Whether steps of the result are stored beside its messages."""
    return StoredStep.objects.filter(result=result).exists()


class Steps:
    """The steps of one result. Rows come without their texts, which ``step`` reads."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._stored = StoredStep.objects.filter(result=result)
        self._told = None if self._stored.exists() else steps_of_messages(result)

    @property
    def rows(self) -> QuerySet[StoredStep] | list[StoredStep]:
        """All steps in order, with their texts."""
        return self._stored.order_by("position") if self._told is None else self._told

    def counts(self) -> StepCounts:
        if self._told is not None:
            calls = sum(row.kind == TOOL_CALL for row in self._told)
            return StepCounts(len(self._told), calls, sum(row.failed for row in self._told))
        return StepCounts(
            **self._stored.aggregate(
                total=Count("pk"),
                calls=Count("pk", filter=Q(kind=TOOL_CALL)),
                failed=Count("pk", filter=Q(failed=True)),
                # The first agent of a trajectory has no name, nor has what happened before an agent began.
                agents=Count("agent", distinct=True, filter=Q(kind__in=(TOOL_CALL, MODEL_CALL))),
            )
        )

    def page(self, filters: StepFilters) -> StepPage:
        if self._told is not None:
            found = [row for row in self._told if row.position >= filters.first and _matches(row, filters)]
            return _page(found[: PAGE_SIZE + 1])
        rows = _restricted(self._stored.filter(position__gte=filters.first), filters).order_by("position")
        if not filters.text:
            return _page(list(rows.defer("body")[: PAGE_SIZE + 1]))
        return self._search(rows, filters)

    def _search(self, rows: QuerySet[StoredStep], filters: StepFilters) -> StepPage:
        """The matching steps in the next window: by their columns, and of long ones by all that they say."""
        end = filters.first + SEARCH_WINDOW
        window = rows.filter(position__lt=end)
        text = Q(*(Q(**{f"{name}__icontains": filters.text}) for name in SEARCHED), _connector=Q.OR)
        found = dict.fromkeys(window.filter(text).values_list("position", flat=True)[: PAGE_SIZE + 1])
        for row in window.filter(is_cut=True).exclude(text).only("position", "body").iterator(chunk_size=500):
            if len(found) > PAGE_SIZE and row.position > max(found):
                break
            if _says(row, filters.text):
                found[row.position] = None
        matching = self._stored.filter(position__in=sorted(found)[: PAGE_SIZE + 1]).order_by("position").defer("body")
        page = _page(list(matching))
        if page.following is not None:
            return page
        is_all = not self._stored.filter(position__gte=end).exists()
        return StepPage(page.rows, None if is_all else end, None if is_all else end - 1)

    def step(self, position: int) -> StoredStep:
        """One step with its texts. Raises ``StoredStep.DoesNotExist``."""
        if self._told is None:
            return self._stored.get(position=position)
        if not 0 < position <= len(self._told):
            raise StoredStep.DoesNotExist
        return self._told[position - 1]

    def _has(self, position: int) -> bool:
        if self._told is None:
            return self._stored.filter(position=position).exists()
        return position <= len(self._told)

    def next_failed(self, after: int) -> int | None:
        if self._told is not None:
            return next((row.position for row in self._told if row.failed and row.position > after), None)
        failed = self._stored.filter(failed=True, position__gt=after)
        return failed.order_by("position").values_list("position", flat=True).first()

    def calls(self, most: int = BESIDE) -> list[StoredStep]:
        """The first tool calls, with their texts."""
        if self._told is not None:
            return [row for row in self._told if row.kind == TOOL_CALL][:most]
        return list(self._stored.filter(kind=TOOL_CALL).order_by("position")[:most])

    def fault(self, task: Task, written: Callable[[ExpectedCall], str]) -> Fault | None:
        """By the calls that the task expects; else by the judge of a rubric that sees the steps; else, without expected
        calls, the first step that failed. ``None`` if there is none of these."""
        calls = self.calls()
        given = [(call.name, call.whole.get("arguments")) for call in calls]
        made = [ToolCall("", name, each if isinstance(each, dict) else None, "") for name, each in given]
        if wrong := first_wrong_call(task.expected_tools, made):
            expected = "" if wrong.expected is None else written(wrong.expected)
            return Fault(calls[wrong.place].position, expected)
        for score in self.result.scores.filter(detail__has_key=FIRST_WRONG_STEP).order_by("pk"):
            position = score.detail[FIRST_WRONG_STEP]
            if position and self._has(position):
                return Fault(position, metric=score.metric)
        first = self.next_failed(0)
        return None if first is None or task.expected_tools else Fault(first, failed=True)


def _page(rows: Sequence[StoredStep]) -> StepPage:
    return StepPage(rows[:PAGE_SIZE], rows[PAGE_SIZE].position if len(rows) > PAGE_SIZE else None)


def _restricted(rows: QuerySet[StoredStep], filters: StepFilters) -> QuerySet[StoredStep]:
    rows = rows.filter(failed=True) if filters.failed else rows
    return rows.filter(kind=TOOL_CALL) if filters.calls else rows


def _matches(row: StoredStep, filters: StepFilters) -> bool:
    is_kind = (not filters.failed or row.failed) and (not filters.calls or row.kind == TOOL_CALL)
    named = filters.text.lower() in f"{row.name} {row.agent}".lower()
    return is_kind and (not filters.text or named or _says(row, filters.text))


def _says(row: StoredStep, text: str) -> bool:
    return text.lower() in " ".join(_texts(row.whole)).lower()


def _texts(value: object) -> Iterator[str]:
    """All texts, keys and numbers of a JSON value."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


@dataclass(frozen=True, slots=True)
class WorldState:
    """What the calls changed in a task's world, and whether each row holds that the task expects at the end."""

    changes: Sequence[Change]
    expected: Sequence[tuple[ExpectedRow, bool]]


def world_state(result: Result) -> WorldState | None:
    """``None`` if the task has no world."""
    item = with_stored_answer(PromptBuilder(result.run).item(result.task), result)
    if item.world is None:
        return None
    end = state_after(item.world, item.tool_calls[:MAX_CALLS])
    return WorldState(end.changes(), [(each, end.holds(each)) for each in item.final_state.get("rows", ())])


def calls_beside(left: Steps, right: Steps) -> list[tuple[StoredStep | None, StoredStep | None]]:
    """The first calls of two results, those of the same tool side by side, in order."""
    ours, theirs = left.calls(), right.calls()
    names = SequenceMatcher(None, [call.name for call in ours], [call.name for call in theirs], autojunk=False)
    return [pair for _, a, b, c, d in names.get_opcodes() for pair in zip_longest(ours[a:b], theirs[c:d])]
