"""Which runs may be compared."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Case, When

from benchmarks.asking import differing
from benchmarks.models import COMPLETED, OF_MODELS, Run
from benchmarks.queries.runs import HeadlineNumber, full_runs, runs
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, deciding

_OFFERED = 60
_OFFERED_BESIDE = 24
"""Fewer beside runs that are compared already, because the page then has much else to show."""
_EXTENT = tuple(row.field for row in deciding(Decides.EXTENT))
_ALIKE = ("question_key", *_EXTENT)
"""Columns of runs that ask the same tasks in the same form."""
_SHOWN = (
    *(
        "created_at",
        "headline",
        "model",
        "import_format",
        "variant",
        "representation",
        "few_shot",
        "added_canvases",
        "limit",
        "split",
    ),
    *(*_ALIKE, "asked", "answer_key"),
    *("dataset__slug", "dataset__name", "dataset_version__number"),
)
_NUMBERS = {
    "score": HeadlineNumber(),
    "low": HeadlineNumber("low"),
    "high": HeadlineNumber("high"),
    "n": HeadlineNumber("n"),
    "n_expected": HeadlineNumber("n_expected"),
}


def runs_to_offer(chosen: Sequence[Run], *, beside: bool = False) -> list[Run]:
    """The chosen runs, then the latest completed ones: first those on the dataset of the reference run, and of these
    the ones like it. Each has its ``score`` with what it rests on. Fewer ``beside`` a comparison."""
    completed = runs().filter(status__in=COMPLETED).only(*_SHOWN).annotate(**_NUMBERS)
    most = _OFFERED_BESIDE if beside else _OFFERED
    if not chosen:
        return list(completed.order_by("-id")[:most])
    first = chosen[0]
    elsewhere = Case(When(dataset=first.dataset_id, then=0), default=1)
    ids = [run.pk for run in chosen]
    of_chosen = runs().filter(pk__in=ids).only(*_SHOWN).annotate(**_NUMBERS)
    others = completed.exclude(pk__in=ids).order_by(elsewhere, "-id")[:most]
    return sorted(
        [*of_chosen, *others],
        key=lambda run: (
            run.pk not in ids,
            run.dataset_id != first.dataset_id,
            run.dataset_version_id != first.dataset_version_id,
            alike(run) != alike(first),
            run.answer_key != first.answer_key,
        ),
    )


def runs_left_out(offered: Sequence[Run]) -> int:
    """How many completed runs are not among the offered ones."""
    return runs().filter(status__in=COMPLETED).exclude(pk__in=[run.pk for run in offered]).count()


def alike(run: Run) -> tuple[object, ...]:
    """What runs that ask the same tasks in the same form have in common."""
    return (run.dataset_id, run.dataset_version_id, *(getattr(run, name) for name in _ALIKE))


def asked_differently(run: Run, first: Run) -> str:
    """The labels of what an offered run asks, and how its model answers, in another way than the first that is
    compared; empty if in none."""
    values = [
        {
            **each.asked.get("question", {}),
            **each.asked.get("answer", {}),
            **{name: getattr(each, name) for name in _EXTENT},
        }
        for each in (run, first)
    ]
    return ", ".join(RUN_PARAMETERS[name].label.lower() for name in differing(values))


def runs_to_compare(ids: Sequence[int]) -> list[Run]:
    """The existing ones of these runs, in the order of ``ids``, at most ``MOST_RUNS``."""
    by_id = full_runs().filter(OF_MODELS).in_bulk(ids[:MOST_RUNS])
    return [by_id[pk] for pk in dict.fromkeys(ids) if pk in by_id]
