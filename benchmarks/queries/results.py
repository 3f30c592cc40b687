"""Reads of results. Lists carry only the beginnings of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Left

from benchmarks.metrics.deciding import is_deciding
from benchmarks.models import COMPLETED, TO_DO, Dataset, Outcome, Result, ResultState, Run, Score, Task
from benchmarks.queries.datasets import answers_preview
from benchmarks.queries.keyset import KeysetPage, Order, keyset_page, neighbors, window_page
from benchmarks.queries.runs import HasTag, runs

PAGE_SIZE = 20
FEW_MATCHES = 1_000
PREVIEW = 120
ANSWER_SHOWN = 800
"""Characters of an answer that stands on lines of its own."""
NEWEST = 12
NEAR = 500
_LOOKED_THROUGH, _OFFERED_TO_COPY = 60, 8
SEARCH_WINDOW = 1_000
"""The number of results that one page of a text search looks through."""

ORDERS = {
    "position": Order("position"),
    "-position": Order("position", descending=True),
    "value": Order("value", kind=float),
    "-value": Order("value", descending=True, kind=float),
    "duration": Order("duration_ms", kind=float),
    "-duration": Order("duration_ms", descending=True, kind=float),
}
NOT_CORRECT = "not_correct"
"""The filter for results with any outcome but the two that nothing is wrong with."""
_FINE = (Outcome.CORRECT, Outcome.ANSWERED)
_LISTED = (
    *(
        "run",
        "repeat",
        "position",
        "state",
        "outcome",
        "failure",
        "value",
        "error_kind",
        "difficulty",
        "group",
        "n_shapes",
    ),
    *("duration_ms", "tokens_in", "tokens_out", "cost_usd", "judge_cost_usd", "user_cost_usd", "cached", "attempts"),
    *("task__task_id", "task__name"),
)
_OF_ITS_RUN = (
    "run__model",
    "run__variant",
    "run__import_format",
    "run__metrics",
    "run__headline",
    "run__texts_pruned_at",
)
_SEARCHED = ("task__task_id", "task__name", "transcript__actual_output", "error_message")


@dataclass(frozen=True, slots=True)
class ResultFilters:
    """Empty fields do not restrict; ``low`` and ``high`` bound the score of ``metric``. ``outcome`` is one, ``pending``
    or ``NOT_CORRECT``."""

    outcome: str = ""
    reason: str = ""
    difficulty: str = ""
    group: str = ""
    n_shapes: int | None = None
    metric: str = ""
    low: float | None = None
    high: float | None = None
    label: str = ""
    text: str = ""
    sort: str = "position"

    @property
    def order(self) -> Order:
        """A text search follows the positions, because it goes through them window by window."""
        return ORDERS["position"] if self.text else ORDERS.get(self.sort, ORDERS["position"])


@dataclass(frozen=True, slots=True)
class ResultPage(KeysetPage[Result]):
    """``scores``: result id → metric → its score, without reasons."""

    scores: dict[int, dict[str, Score]] = field(default_factory=dict)


def result_page(run: Run, filters: ResultFilters, after: str | None = None, before: str | None = None) -> ResultPage:
    """One page of a run's results with their scores, in two queries. Raises ``BadCursor``."""
    rows = _listed(matching_results(run, filters))
    if filters.text:
        text = _contains(filters.text)
        page = window_page(rows, text, PAGE_SIZE, window=SEARCH_WINDOW, last=run.total, after=after)
    else:
        page = keyset_page(rows, filters.order, PAGE_SIZE, after, before)
    return ResultPage(page.rows, page.after, page.before, page.searched_to, _scores_by_result(page.rows))


def newest_results(run: Run) -> ResultPage:
    """The results of a live run that ended last, with their scores, in two queries.

    Results are asked in their order, so the newest are near the position that the run has reached; only those are read.
    """
    near = {"position__gt": run.done - NEAR, "position__lte": run.done + NEAR}
    ended = run.results.filter(finished_at__isnull=False, **near).exclude(outcome="")
    rows = list(_listed(ended).order_by("-finished_at", "-pk")[:NEWEST])
    return ResultPage(rows, None, scores=_scores_by_result(rows))


def results_in_flight(run: Run) -> int:
    """How many results of a live run have requests that wait for a response."""
    return run.results.filter(state__in=(ResultState.CLAIMED, ResultState.JUDGING)).count()


def _scores_by_result(rows: Sequence[Result]) -> dict[int, dict[str, Score]]:
    scores: dict[int, dict[str, Score]] = {}
    stored = Score.objects.filter(result__in=[row.pk for row in rows])
    for score in stored.only("result_id", "metric", "status", "value"):
        scores.setdefault(score.result_id, {})[score.metric] = score
    return scores


def matching_results(run: Run, filters: ResultFilters) -> QuerySet[Result]:
    """The results of a run that match the filters, except for the text."""
    rows = run.results.all()  # they all share this instance of the run
    if filters.outcome == "pending":
        rows = rows.filter(state__in=TO_DO)
    elif filters.outcome == NOT_CORRECT:
        rows = rows.filter(_not_correct(run))
    elif filters.outcome:
        rows = rows.filter(outcome=filters.outcome)
    if filters.reason:
        rows = rows.filter(failed_for(filters.reason))
    exact = {"difficulty": filters.difficulty, "group": filters.group, "n_shapes": filters.n_shapes}
    rows = rows.filter(**{name: value for name, value in exact.items() if value not in ("", None)})
    if filters.label:
        rows = rows.filter(HasTag("task__labels", Value(filters.label)))
    if filters.low is not None or filters.high is not None:
        rows = rows.filter(_score_between(run, filters))
    return rows


def failed_for(reason: str) -> Q:
    """Results that the summary of a run counts for this reason of a failure."""
    return Q(failure=reason) | Q(failure="", error_kind=reason)


def examples_of(run: Run) -> dict[int, Result]:
    """The first results that the summary of the run names as examples of its failures, by their id."""
    ids = {pk for group in run.numbers.failures for pk in group.examples[:1]}
    return {result.pk: result for result in _listed(run.results.filter(pk__in=ids))} if ids else {}


def result_detail(run_id: int, result_id: int) -> Result:
    """One result with its run, task and transcript. Raises ``Result.DoesNotExist``."""
    related = ("run__dataset", "run__dataset_version", "task", "transcript")
    return Result.objects.select_related(*related).get(pk=result_id, run_id=run_id)


def result_of_any_run(result_id: int) -> Result:
    """One result with its run, task and transcript. Raises ``Result.DoesNotExist``."""
    return Result.objects.select_related("run", "task", "transcript").get(pk=result_id)


def scores_of(result: Result) -> list[Score]:
    """The scores of a result in the order of the run's metrics, those of other metrics last."""
    order = {name: place for place, name in enumerate(result.run.metrics)}
    return sorted(Score.objects.filter(result=result), key=lambda score: order.get(score.metric, len(order)))


def result_neighbors(result: Result, filters: ResultFilters) -> tuple[int | None, int | None]:
    """Ids of the matching results before and after this one."""
    rows = matching_results(result.run, filters)
    if filters.text:
        at = result.position
        rows = rows.filter(_contains(filters.text), position__range=(at - SEARCH_WINDOW, at + SEARCH_WINDOW))
    return neighbors(rows, filters.order, result)


def same_task_elsewhere(task: Task, but: Result | None = None, limit: int = 12) -> list[Result]:
    """The latest results, in any run, of tasks with identical input and expected answer."""
    rows = Result.objects.filter(task__content_hash=task.content_hash).exclude(outcome="")
    if but is not None:
        rows = rows.exclude(pk=but.pk)
    listed = _listed(rows, *_OF_ITS_RUN, answer=ANSWER_SHOWN)
    return list(listed.select_related("task", "run").order_by("-run_id", "-pk")[:limit])


def compared_texts(keys: Sequence[int], length: int) -> dict[int, tuple[str, str]]:
    """How the expected answer and the answer begin, by the id of the result, where one answer alone is accepted."""
    rows = Result.objects.filter(pk__in=keys, task__other_answers__isnull=True)
    texts = Left("task__expected_output", length), Left("transcript__actual_output", length)
    return {pk: (expected, actual) for pk, expected, actual in rows.values_list("pk", *texts)}


def results_to_copy(keys: Sequence[int]) -> list[Result]:
    """Those of the results whose tasks people wrote, with their tasks, in the order of the keys."""
    rows = Result.objects.filter(pk__in=keys, run__dataset__kind=Dataset.Kind.YAML)
    order = {key: place for place, key in enumerate(keys)}
    return sorted(rows.select_related("task__version", "run__dataset"), key=lambda result: order[result.pk])


def count_generated(keys: Sequence[int]) -> int:
    """How many of the results are of tasks that nobody wrote, which cannot be copied."""
    return Result.objects.filter(pk__in=keys).exclude(run__dataset__kind=Dataset.Kind.YAML).count()


def failing_runs_to_copy() -> list[tuple[Run, int]]:
    """The latest run of each model on tasks that people wrote, by dataset, with how many of its results are not
    correct."""
    latest: dict[tuple[int, str], Run] = {}
    for run in runs().filter(dataset__kind=Dataset.Kind.YAML, status__in=COMPLETED).order_by("-id")[:_LOOKED_THROUGH]:
        latest.setdefault((run.dataset_id, run.model), run)
    counted = [(run, run.total - sum(run.numbers.outcomes.get(each, 0) for each in _FINE)) for run in latest.values()]
    return sorted(((run, n) for run, n in counted if n), key=lambda each: each[0].dataset.title)[:_OFFERED_TO_COPY]


def _listed(rows: QuerySet[Result], *others: str, answer: int = PREVIEW) -> QuerySet[Result]:
    """The rows as lists show them, with their tasks, the ``others`` of their columns and ``answer`` characters of each
    answer."""
    previews: dict[str, object] = {
        "expected_preview": answers_preview(PREVIEW, "task__"),
        "actual_preview": Left("transcript__actual_output", answer),
        "error_preview": Left("error_message", PREVIEW),
    }
    return rows.select_related("task").only(*_LISTED, *others).annotate(**previews)


def _contains(text: str) -> Q:
    return Q(*(Q(**{f"{name}__icontains": text}) for name in _SEARCHED), _connector=Q.OR)


def _not_correct(run: Run) -> Q:
    """The results whose outcome is neither correct nor ungraded: a few by their ids, as in ``_score_between``."""
    wrong = Q(outcome__in=[outcome for outcome in Outcome if outcome not in _FINE])
    ids = list(Result.objects.filter(wrong, run=run).order_by().values_list("pk", flat=True)[: FEW_MATCHES + 1])
    return Q(pk__in=ids) if len(ids) <= FEW_MATCHES else ~Q(outcome__in=["", *_FINE])


def _score_between(run: Run, filters: ResultFilters) -> Q:
    """Results by their score: a few matches by their ids, many by a condition on each row.

    Few matches are fetched through the index of scores. Many are met soon when reading in the list's own order. A
    database that has to choose takes the one where the other is a hundred times faster.
    """
    bounds = {"value__gte": filters.low, "value__lte": filters.high}
    between = Q(value__isnull=False, **{name: value for name, value in bounds.items() if value is not None})
    metric = filters.metric or run.headline
    if is_deciding(metric):
        return between
    scored = Score.objects.filter(between, metric=metric)
    # In the order of the index: expecting many matches, a database would look for the first ones in another order.
    ids = list(scored.filter(run=run).order_by("value").values_list("result", flat=True)[: FEW_MATCHES + 1])
    if len(ids) <= FEW_MATCHES:
        return Q(pk__in=ids)
    # The result row itself holds the score of the run's headline.
    return between if metric == run.headline else Q(Exists(scored.filter(result=OuterRef("pk"))))


def full_results(run_id: int) -> QuerySet[Result]:
    """All results of a run in their order, with task, answer and scores, for the API. Raises ``Run.DoesNotExist``."""
    run = Run.objects.only("id", "total").get(pk=run_id)
    results = Result.objects.filter(run=run).order_by("position")
    return results.select_related("task", "transcript", "run").prefetch_related("scores")
