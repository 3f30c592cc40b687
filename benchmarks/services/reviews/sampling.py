"""Draw the answers of a review queue from runs: at random, by strata, or where labels find errors.

Every draw is a function of the stored results and the seed. Scorings of the same answer are one answer.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

from django.db.models import Q

from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Label, Result, ReviewQueue, Run
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import WITHOUT_ANSWER

FILTERS = ("outcome", "reason", "difficulty", "group")
_FIELDS = ("pk", "run", "run__rescored_from", "run__model", "task__task_id", "task__content_hash", "repeat")


AnswerKey = tuple[int, str, int]
"""The run that asked, the task and the repeat, which all scorings of an answer share."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that may be drawn. ``margins``: metric → score minus the value that passes."""

    pk: int
    key: AnswerKey
    model: str
    task: str
    difficulty: str
    group: str
    margins: dict[str, float] = field(default_factory=dict)


def count_answers(runs: Sequence[Run]) -> int:
    """How many answers ``answers_of`` has of these runs without a filter, counting each scoring of an answer."""
    rows = Result.objects.filter(run__in=runs, run__texts_pruned_at=None)
    return rows.exclude(outcome__in=WITHOUT_ANSWER).count()


def answers_of(runs: Sequence[Run], filters: Mapping[str, str]) -> list[Answer]:
    """The answers of the runs that match the filters and can be read, each once, in the order of runs and tasks."""
    rows = Result.objects.filter(run__in=runs, run__texts_pruned_at=None).exclude(outcome__in=WITHOUT_ANSWER)
    names = {"outcome": "outcome", "reason": "failure", "difficulty": "difficulty", "group": "group"}
    rows = rows.filter(**{names[name]: filters[name] for name in FILTERS if filters.get(name)})
    answers: dict[AnswerKey, Answer] = {}
    for pk, run, source, model, task_id, content, repeat, difficulty, group in (
        rows.order_by("run", "position").values_list(*_FIELDS, "difficulty", "group").iterator()
    ):
        key = (source or run, task_id, repeat)
        answers.setdefault(key, Answer(pk, key, model, content, difficulty, group))
    return list(answers.values())


def draw(answers: Sequence[Answer], runs: Sequence[Run], request: Mapping[str, Any]) -> list[int]:
    """Ids of at most ``size`` results in a shuffled order. Raises ``InvalidRequest`` if no answer qualifies."""
    rng = random.Random(request["seed"])
    if request["method"] in (*_CHOOSERS, "threshold"):
        _add_margins(answers, runs)
    if request["method"] == "threshold":
        scored = [answer for answer in answers if request["metric"] in answer.margins]
        rng.shuffle(scored)
        # Equal distances stay in their random order.
        drawn = sorted(scored, key=lambda answer: abs(answer.margins[request["metric"]]))[: request["size"]]
    elif request["method"] == "stratified":
        drawn = _stratified(answers, request["by"], rng)[: request["size"]]
    else:
        choose = _CHOOSERS.get(request["method"])
        chosen = choose(answers, request["metric"]) if choose else list(answers)
        if request["method"] == "rest":
            sampled = _sampled(runs, request["metric"])
            chosen = [answer for answer in chosen if answer.key not in sampled]
        drawn = rng.sample(chosen, min(request["size"], len(chosen)))
    if not drawn:
        raise InvalidRequest({"method": [_NOTHING[request["method"]]]})
    # The order says nothing of the strata or of the distance to the threshold.
    rng.shuffle(drawn)
    return [answer.pk for answer in drawn]


def _sampled(runs: Sequence[Run], metric: str) -> set[AnswerKey]:
    """The answers with a label of a random review. Answers that have only other labels stay in the draw: without them,
    the labels of all random reviews together would be no random sample."""
    queues = [queue.pk for queue in ReviewQueue.objects.filter(metric=metric) if queue.is_random_sample]
    labels = Label.objects.filter(queue__in=queues, metric=metric, replaced_at=None, value__isnull=False)
    sources = {run.rescored_from or run.pk for run in runs}
    labels = labels.filter(Q(result__run__in=sources) | Q(result__run__rescored_from__in=sources))
    columns = ("result__run", "result__run__rescored_from", "result__task__task_id", "result__repeat")
    return {(source or run, task, repeat) for run, source, task, repeat in labels.values_list(*columns)}


def _add_margins(answers: Sequence[Answer], runs: Sequence[Run]) -> None:
    """Of the metrics that decide an outcome. Rubrics have their own threshold, in some datasets for each task."""
    by_id = {answer.pk: answer for answer in answers}
    passes_at = {
        (run.pk, name): metric.passes_at
        for run in runs
        for name in run.metrics
        if (metric := run.metric_named(name)) and metric.decides_outcome
    }
    ids = [run.pk for run in runs]
    for name in dict.fromkeys(name for _, name in passes_at):
        table = read_scores(ids, name, "result", "run", "passes_at").scored
        for pk, run, own_threshold, value in table.rows():
            if pk in by_id and (run, name) in passes_at:
                by_id[pk].margins[name] = value - (passes_at[run, name] if math.isnan(own_threshold) else own_threshold)


def _stratified(answers: Iterable[Answer], by: str, rng: random.Random) -> list[Answer]:
    """One of each stratum in turn, so that a small stratum gives all it has and the others fill the rest evenly."""
    strata: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        strata[{"model": answer.model, "class": answer.group, "difficulty": answer.difficulty}[by]].append(answer)
    for members in strata.values():
        rng.shuffle(members)
    turns = chain.from_iterable(zip_longest(*(strata[name] for name in sorted(strata))))
    return [answer for answer in turns if answer is not None]


def _where_judge_and_rule_disagree(answers: Iterable[Answer], metric: str) -> list[Answer]:
    """Answers that a judged metric passes and a rule fails, or the reverse. A judged ``metric`` is the only judge."""
    known = metric_named(metric)
    only = metric if known and known.judged else None
    chosen = []
    for answer in answers:
        verdicts: dict[bool, set[bool]] = {True: set(), False: set()}
        for name, margin in answer.margins.items():
            scorer = metric_named(name)
            if scorer is not None and not (scorer.judged and only not in (None, name)):
                verdicts[scorer.judged].add(margin >= 0)
        if any(judged != rule for judged in verdicts[True] for rule in verdicts[False]):
            chosen.append(answer)
    return chosen


def _where_models_disagree(answers: Iterable[Answer], metric: str) -> list[Answer]:
    """Answers to tasks that the answers of one model pass by the metric and those of another fail."""
    by_task: dict[str, list[tuple[Answer, bool]]] = defaultdict(list)
    for answer in answers:
        if metric in answer.margins:
            by_task[answer.task].append((answer, answer.margins[metric] >= 0))
    disputed = (
        rows
        for rows in by_task.values()
        if any(passed and not also_passed and a.model != b.model for a, passed in rows for b, also_passed in rows)
    )
    return [answer for rows in disputed for answer, _ in rows]


_CHOOSERS: dict[str, Callable[[Iterable[Answer], str], list[Answer]]] = {
    "judge_and_rule": _where_judge_and_rule_disagree,
    "models": _where_models_disagree,
}
_NOTHING = {
    "random": "No stored answer matches. Choose other runs or fewer filters.",
    "rest": "Every matching answer has a label of a random review. Choose other runs.",
    "stratified": "No stored answer matches. Choose other runs or fewer filters.",
    "judge_and_rule": "No answer is passed by a judge and failed by a rule, or the reverse. Choose another method.",
    "models": "No task is passed by one model and failed by another, by this metric. Choose another method.",
    "threshold": "No answer has a score by this metric. Choose another metric or another method.",
}
