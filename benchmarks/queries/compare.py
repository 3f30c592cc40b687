"""Any runs read as one: which are compared, and where two of them differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from django.db.models import Case, When

from benchmarks.asking import differing
from benchmarks.models import COMPLETED, OF_MODELS, Run, Task
from benchmarks.presentation.numbers import n_of
from benchmarks.queries.matrix import FACETS
from benchmarks.queries.runs import full_runs, runs
from benchmarks.queries.statistics import kept_for, task_scores
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, deciding
from benchmarks.statistics.paired import Comparison, compare, holm

_FORMAT = 1
"""Goes up when ``Part`` changes, so that no old one is read."""
_MOST_LEVELS = 30
_OFFERED = 60
_OFFERED_BESIDE = 24
"""Fewer beside runs that are compared already, because the page then has much else to show."""
_EXTENT = tuple(row.field for row in deciding(Decides.EXTENT))
_ALIKE = ("question_key", *_EXTENT)
"""Columns of runs that ask the same tasks in the same form."""
_SHOWN = (
    *("model", "import_format", "variant", "representation", "few_shot", "added_canvases"),
    *(*_ALIKE, "asked", "answer_key"),
    *("dataset__slug", "dataset_version__number"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Run ``b`` compared with run ``a`` on the tasks of one level of a facet.

    ``p_adjusted`` is Holm's among the levels of the facet; ``None`` if there was nothing to test.
    """

    facet: str
    level: str
    comparison: Comparison
    p_adjusted: float | None

    @property
    def title(self) -> str:
        return FACETS[self.facet]

    @property
    def shared_of_common(self) -> str:
        """How many of the tasks of both runs have a score in both."""
        return n_of(self.comparison.n_shared, self.comparison.n_shared + self.comparison.n_missing)

    @property
    def is_clear(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted <= 1 - self.comparison.confidence


def runs_to_offer(chosen: Sequence[Run]) -> list[Run]:
    """The latest completed runs, those on the dataset of the baseline, and among them those that are like it, first."""
    completed = runs().filter(status__in=COMPLETED).only(*_SHOWN)
    if not chosen:
        return list(completed.order_by("-id")[:_OFFERED])
    first = chosen[0]
    elsewhere = Case(When(dataset=first.dataset_id, then=0), default=1)
    return sorted(
        completed.order_by(elsewhere, "-id")[:_OFFERED_BESIDE],
        key=lambda run: (
            run.dataset_id != first.dataset_id,
            run.dataset_version_id != first.dataset_version_id,
            any(getattr(run, name) != getattr(first, name) for name in _ALIKE),
            run.answer_key != first.answer_key,
        ),
    )


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


def breakdown(a: Run, b: Run, metric: str) -> list[Part]:
    """The comparison for each level of each facet of the shared tasks that has several, in the order of ``FACETS``."""
    return kept_for(f"breakdown:{_FORMAT}:{metric}", [a, b], lambda: _breakdown(a, b, metric))


def _breakdown(a: Run, b: Run, metric: str) -> list[Part]:
    (first, clusters), (second, _) = task_scores(a, metric), task_scores(b, metric)
    tasks = Task.objects.filter(version=a.dataset_version_id).order_by("position")
    rows = [row for row in tasks.values_list("content_hash", *FACETS) if row[0] in first and row[0] in second]
    parts: list[Part] = []
    for place, facet in enumerate(FACETS, 1):
        levels: dict[object, list[Hashable]] = {}
        for row in rows:
            if row[place] not in ("", None):
                levels.setdefault(row[place], []).append(row[0])
        if not 2 <= len(levels) <= _MOST_LEVELS:
            continue
        compared = [
            (level, compare({task: first[task] for task in known}, {task: second[task] for task in known}, clusters))
            for level, known in levels.items()
        ]
        p_values = [comparison.p_value for _, comparison in compared if comparison.p_value is not None]
        adjusted = iter(holm(p_values))
        parts += [
            Part(facet, str(level), comparison, None if comparison.p_value is None else next(adjusted))
            for level, comparison in compared
        ]
    return parts
