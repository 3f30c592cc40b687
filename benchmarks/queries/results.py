"""Reads of results. Lists carry the beginnings of the texts only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left

from benchmarks.models import Result, ResultState, Run, Score, Task
from benchmarks.queries.keyset import Order, keyset_page, neighbours, window_page

PAGE_SIZE = 50
FEW_MATCHES = 1_000
PREVIEW = 120
SEARCH_WINDOW = 4_000
"""A text search looks through so many results at a time, and says how far it came."""

ORDERS = {
    "position": Order("position"),
    "-position": Order("position", descending=True),
    "value": Order("value", kind=float),
    "-value": Order("value", descending=True, kind=float),
    "duration": Order("duration_ms", kind=float),
    "-duration": Order("duration_ms", descending=True, kind=float),
}


@dataclass(frozen=True, slots=True)
class ResultFilters:
    """What a reader asked to see. Empty fields do not restrict; ``low`` and ``high`` bound the score of ``metric``."""

    outcome: str = ""
    difficulty: str = ""
    group: str = ""
    n_shapes: int | None = None
    metric: str = ""
    low: float | None = None
    high: float | None = None
    text: str = ""
    sort: str = "position"

    @property
    def order(self) -> Order:
        """A text search follows the positions, because it goes through them window by window."""
        return ORDERS["position"] if self.text else ORDERS.get(self.sort, ORDERS["position"])


@dataclass(frozen=True, slots=True)
class ResultPage:
    rows: list[Result]
    after: str | None = None
    before: str | None = None
    searched_to: int | None = None
    """The last position that a text search looked at; ``None`` where nothing was searched for."""
    scores: dict[int, dict[str, Score]] = field(default_factory=dict)
    """Result id → metric → its score, without reasons."""


def result_page(run: Run, filters: ResultFilters, after: str | None = None, before: str | None = None) -> ResultPage:
    """One page of a run's results with their scores, in two queries. Raises ``BadCursor``."""
    rows = _previewed(matching_results(run, filters))
    if filters.text:
        found = window_page(rows, _text(filters.text), PAGE_SIZE, window=SEARCH_WINDOW, last=run.total, after=after)
        return ResultPage(found.rows, found.after, searched_to=found.searched_to, scores=_scores(found.rows))
    page = keyset_page(rows, filters.order, PAGE_SIZE, after, before)
    return ResultPage(page.rows, page.after, page.before, scores=_scores(page.rows))


def matching_results(run: Run, filters: ResultFilters) -> QuerySet[Result]:
    """The results of a run that pass the filters, but for its text."""
    rows = Result.objects.filter(run=run)
    if filters.outcome == "pending":
        rows = rows.filter(
            state__in=(ResultState.PENDING, ResultState.CLAIMED, ResultState.ANSWERED, ResultState.JUDGING)
        )
    elif filters.outcome:
        rows = rows.filter(outcome=filters.outcome)
    if filters.difficulty:
        rows = rows.filter(difficulty=filters.difficulty)
    if filters.group:
        rows = rows.filter(group=filters.group)
    if filters.n_shapes is not None:
        rows = rows.filter(n_shapes=filters.n_shapes)
    if filters.low is not None or filters.high is not None:
        rows = rows.filter(_score_between(run, filters))
    return rows


def result_detail(run_id: int, result_id: int) -> Result:
    """One result with its run, task and transcript. Raises ``Result.DoesNotExist``."""
    return Result.objects.select_related("run__dataset", "run__dataset_version", "task", "transcript").get(
        pk=result_id, run_id=run_id
    )


def scores_of(result: Result) -> list[Score]:
    """The scores of a result in the order of the run's metrics, those of other metrics last."""
    order = {name: place for place, name in enumerate(result.run.metrics)}
    return sorted(Score.objects.filter(result=result), key=lambda score: order.get(score.metric, len(order)))


def result_neighbors(result: Result, filters: ResultFilters) -> tuple[int | None, int | None]:
    """Ids of the results before and after this one inside the filter."""
    rows = matching_results(result.run, filters)
    if filters.text:
        at = result.position
        rows = rows.filter(_text(filters.text), position__range=(at - SEARCH_WINDOW, at + SEARCH_WINDOW))
    return neighbours(rows, filters.order, result)


def same_task_elsewhere(task: Task, but: Result | None = None, limit: int = 12) -> list[Result]:
    """The latest results of tasks that ask and expect exactly the same, in any run."""
    rows = Result.objects.filter(task__content_hash=task.content_hash).exclude(outcome="")
    if but is not None:
        rows = rows.exclude(pk=but.pk)
    return list(_previewed(rows).select_related("task", "run").order_by("-pk")[:limit])


def _previewed(rows: QuerySet[Result]) -> QuerySet[Result]:
    return (
        rows.select_related("task", "run")
        .only(
            *(
                "run",
                "repeat",
                "position",
                "state",
                "outcome",
                "value",
                "error_kind",
                "difficulty",
                "group",
                "n_shapes",
            ),
            *("duration_ms", "tokens_in", "tokens_out", "cost_usd", "judge_cost_usd", "cached", "attempts"),
            *("task__task_id", "task__name", "run__model", "run__import_format", "run__metrics"),
            "run__texts_pruned_at",
        )
        .annotate(
            expected_preview=Left("task__expected_output", PREVIEW),
            actual_preview=Left("transcript__actual_output", PREVIEW),
            error_preview=Left("error_message", PREVIEW),
        )
    )


def _text(text: str) -> Q:
    return (
        Q(task__task_id__icontains=text)
        | Q(task__name__icontains=text)
        | Q(transcript__actual_output__icontains=text)
        | Q(error_message__icontains=text)
    )


def _score_between(run: Run, filters: ResultFilters) -> Q:
    """By the score: a few matches are fetched by its index, many are met soon when reading in the list's own order.

    Left to itself a database takes the one way where the other is a hundred times quicker.
    """
    low = -math.inf if filters.low is None else filters.low
    high = math.inf if filters.high is None else filters.high
    metric = filters.metric or run.metrics[0]
    scored = Score.objects.filter(_between("value", low, high), metric=metric)
    # In the order of the index, or a database that expects many matches would look for the first in another one.
    found = list(scored.filter(run=run).order_by("value").values_list("result", flat=True)[: FEW_MATCHES + 1])
    if len(found) <= FEW_MATCHES:
        return Q(pk__in=found)
    return _between("value", low, high) if metric == run.metrics[0] else Q(Exists(scored.filter(result=OuterRef("pk"))))


def _between(name: str, low: float, high: float) -> Q:
    bounds = Q(**{f"{name}__isnull": False})
    if low > -math.inf:
        bounds &= Q(**{f"{name}__gte": low})
    if high < math.inf:
        bounds &= Q(**{f"{name}__lte": high})
    return bounds


def _scores(rows: list[Result]) -> dict[int, dict[str, Score]]:
    found: dict[int, dict[str, Score]] = {}
    for score in Score.objects.filter(result__in=[row.pk for row in rows]).only(
        "result_id", "metric", "status", "value"
    ):
        found.setdefault(score.result_id, {})[score.metric] = score
    return found
