"""Comparisons of runs, in numbers and in words, for pages, API and commands.

A pair of runs that somebody chooses has no stored summary: it is compared from the scores of each task once, and the
comparison is kept in the cache under the times of both runs' final numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from django.utils import timezone

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.score_table import compare_scores, edges_of, task_scores
from benchmarks.asking import values_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Run, Task
from benchmarks.presentation.comparisons import comparison_sentences, missing_sentence, same_sentence
from benchmarks.presentation.numbers import n_of, plural
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.run_parameters import Decides, RunParameter, deciding
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.margins import LEVEL, MARGIN, Edges
from benchmarks.statistics.paired import Comparison, holm
from benchmarks.statistics.spread import are_equal

FACETS = {"group": "Task class", "difficulty": "Difficulty", "n_shapes": "Number of shapes"}
"""By what the tasks of one dataset can be split."""
_FORMAT = 5
"""Goes up when ``Comparison`` changes, so that no old one is read."""
_PART_FORMAT = 4
"""The same of ``Part``."""
_EDGES_FORMAT = 1
"""The same of ``Edges``."""
_MOST_LEVELS = 30


@dataclass(frozen=True, slots=True)
class Compared:
    """Run ``b`` compared with run ``a`` on one metric, one of ``family_size`` comparisons.

    ``p_adjusted`` is Holm's p-value within the family; ``None`` if there was nothing to test. ``n_open`` are the
    comparisons of the family that are not significant, which share the level of its tests.
    """

    a: Run
    b: Run
    metric: str
    comparison: Comparison
    p_adjusted: float | None
    family_size: int
    n_open: int
    name_a: str
    name_b: str
    edges: Edges
    """One-sided bounds of 95%, over the whole family"""
    margin: float = MARGIN

    @property
    def is_same(self) -> bool:
        """Whether the runs are the same within the margin, whatever the missing scores are."""
        return self.edges.is_same(self.margin)

    @property
    def same_sentence(self) -> str:
        return same_sentence(
            self.edges, self.margin, self.name_a, self.name_b, is_clear=self.is_clear, family_size=self.family_size
        )

    @property
    def is_clear(self) -> bool:
        """Whether the difference is significant, also after the correction for the whole family."""
        level = 1 - self.comparison.confidence
        return self.p_adjusted is not None and self.p_adjusted <= level and self.comparison.is_clear

    @property
    def detectable_difference(self) -> float | None:
        """The difference that would be significant with 80% power in this family; ``None`` if none would."""
        return self.comparison.detectable(max(1, self.n_open))

    @property
    def is_drop(self) -> bool:
        """Whether ``b`` is significantly worse."""
        return self.is_clear and self.comparison.difference is not None and self.comparison.difference < 0

    @property
    def sentences(self) -> list[str]:
        """The verdict, then what it rests on."""
        return self._sentences(newer_first=False)

    @property
    def directed(self) -> list[str]:
        """The same in the direction of the difference, ``b`` minus ``a``."""
        return self._sentences(newer_first=self.is_drop)

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    @property
    def change_sentence(self) -> str:
        """The same with ``b`` as the newer run, which is the subject although it may be worse."""
        return " ".join(self._sentences(newer_first=True))

    def _sentences(self, *, newer_first: bool) -> list[str]:
        return comparison_sentences(
            self.comparison,
            self.name_a,
            self.name_b,
            p_adjusted=self.p_adjusted,
            family_size=self.family_size,
            n_open=self.n_open,
            newer_first=newer_first,
        )

    @property
    def missing_sentence(self) -> str:
        """How tasks without a score could change the difference; empty if there are none."""
        return missing_sentence(self.comparison, self.name_a, self.name_b)

    @property
    def shared_of_common(self) -> str:
        """How many tasks of both runs have a score in both: ``720 of 960 (75%)``."""
        n = self.comparison.n_shared
        return n_of_expected(n, n + self.comparison.n_missing)

    @property
    def scope_sentence(self) -> str:
        """Which tasks only one of the runs asked, and in which parameters the runs differ; empty if in neither."""
        only = ((self.comparison.n_only_a, self.name_a), (self.comparison.n_only_b, self.name_b))
        tasks = " and ".join(f"{plural(n, 'task')} only in {name}" for n, name in only if n)
        sentences = [f"Not compared: {tasks}."] if tasks else []
        if self.a.dataset_id != self.b.dataset_id:
            sentences.append(f"The runs are on different datasets, {self.a.dataset.title} and {self.b.dataset.title}.")
        if differing := differing_settings(self.a, self.b):
            sentences.append(f"The runs differ in {', '.join(differing)}.")
        return " ".join(sentences)


def differing_settings(a: Run, b: Run) -> list[str]:
    """The labels of what makes the scores of two runs unlike: what was asked, how the models answered, and who judged
    the answers. Different datasets are said apart."""
    is_same = a.dataset_id == b.dataset_id
    labels = ["dataset version"] if is_same and a.dataset_version_id != b.dataset_version_id else []
    if is_same and not labels and a.added_canvases != b.added_canvases:
        labels.append(f"dataset version ({a.version_label} or {b.version_label})")
    decisive = (Decides.QUESTION, Decides.EXTENT, Decides.ANSWER, Decides.SCORE)
    first, second = values_of(a, *decisive), values_of(b, *decisive)
    labels += [label_of(row) for row in deciding(*decisive) if first.get(row.name) != second.get(row.name)]
    if a.judge_model == b.judge_model and a.judge_settings != b.judge_settings:
        labels.append("how the judge is asked")
    shared = a.rubrics.keys() & b.rubrics.keys()
    labels += [f"the text of the rubric {name}" for name in sorted(shared) if a.rubrics[name] != b.rubrics[name]]
    return labels


def run_of_day(run: Run) -> str:
    """``Run 7 of Nov 3, 04:00``."""
    return f"Run {run.pk} of {timezone.localtime(run.created_at):%b %-d, %H:%M}"


def newer_sentence(before: Run, run: Run) -> str:
    """Which of two runs of one model on one dataset is newer, and what else changed; empty for others."""
    if before.model != run.model or before.dataset_id != run.dataset_id:
        return ""
    old, new = sorted((before, run), key=lambda each: (each.created_at, each.pk))
    older = run_of_day(old)
    return f"{run_of_day(new)} is newer than {older[0].lower()}{older[1:]}. {changes_between(old, new)}".strip()


def changes_between(before: Run, run: Run) -> str:
    """What changed from one run of a model to a later one besides its settings, and what did not: version, prompt,
    served model. Empty if nothing is the same and nothing is known to have changed."""
    same, told = [], []
    if before.version_label == run.version_label and before.dataset_version_id == run.dataset_version_id:
        same.append("version")
    else:
        told.append(f"version {before.version_label} became {run.version_label}")
    if before.question_key == run.question_key:
        same.append("prompt")
    served = [sorted(each.numbers.response_models or ()) for each in (before, run)]
    if all(served) and served[0] == served[1]:
        same.append("served model")
    elif all(served):
        told.append(f"the vendor answers as {', '.join(served[1])} instead of {', '.join(served[0])}")
    words = "; ".join(filter(None, [f"same {listed(same)}" if same else "", " and ".join(told)]))
    return f"{words[0].upper()}{words[1:]}." if words else ""


def label_of(parameter: RunParameter) -> str:
    label = parameter.setting or parameter.label
    return label[0].lower() + label[1:]


def labels(chosen: Sequence[Run]) -> dict[int, str]:
    """Run id → its model, with the run's number if several runs have the same model."""
    models = [run.model_label for run in chosen]
    names = zip(chosen, models, strict=True)
    return {run.pk: name if models.count(name) == 1 else f"{name} (run {run.pk})" for run, name in names}


def common_metrics(chosen: Sequence[Run]) -> list[str]:
    """Metrics of all chosen runs that score from 0 to 1, in the order of the first run, its headline first."""
    if not chosen:
        return []
    common = set.intersection(*({*run.all_metrics} for run in chosen))
    return [name for name in chosen[0].all_metrics if name in common and is_score(name)]


def compared_runs(
    chosen: Sequence[Run],
    names: Mapping[int, str] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    with_first: bool = False,
    margin: float = MARGIN,
) -> list[Compared]:
    """Every pair of runs, or every run ``with_first``, on every common metric or one of ``metrics``, the earlier one as
    ``a``: one family.

    Runs are compared on the tasks of identical content that they share. Pairs come in the order of ``chosen``, the
    metrics of a pair in that of the first run. ``names`` are what sentences call the runs, by default their labels.
    ``margin`` is the difference, from 0 to 1, within which they count as the same.
    """
    scores = cache(task_scores)  # each run's rows are read once for all its pairs

    def comparison(a: Run, b: Run, metric: str) -> Comparison:
        def compute() -> Comparison:
            return compare_scores(scores(a, metric), scores(b, metric))

        return kept_for(f"comparison:{_FORMAT}:{metric}", [a, b], compute)

    def bounds(a: Run, b: Run, metric: str, level: float) -> Edges:
        def compute() -> Edges:
            return edges_of(scores(a, metric), scores(b, metric), level)

        return kept_for(f"edges:{_EDGES_FORMAT}:{level:.6g}:{metric}", [a, b], compute)

    metrics = [name for name in common_metrics(chosen) if metrics is None or name in metrics]
    both = [(chosen[0], run) for run in chosen[1:]] if with_first else list(combinations(chosen, 2))
    pairs = [(a, b, metric, comparison(a, b, metric)) for a, b in both for metric in metrics]
    family_size = sum(numbers.p_decisive is not None for *_, numbers in pairs)
    names = labels(chosen) if names is None else names
    return as_one_family(
        [
            Compared(
                a,
                b,
                metric,
                _with_own_intervals(numbers, a, b, metric),
                p_adjusted=None,
                family_size=family_size,
                n_open=0,
                name_a=names[a.pk],
                name_b=names[b.pk],
                edges=bounds(a, b, metric, LEVEL / max(family_size, 1)),
                margin=margin,
            )
            for a, b, metric, numbers in pairs
        ]
    )


def as_one_family(pairs: Sequence[Compared]) -> list[Compared]:
    """The same comparisons, corrected together by Holm's method."""
    p_values = [pair.comparison.p_decisive for pair in pairs if pair.comparison.p_decisive is not None]
    adjusted = holm(p_values)
    n_open, each = sum(p > LEVEL for p in adjusted), iter(adjusted)
    return [
        replace(
            pair,
            p_adjusted=None if pair.comparison.p_decisive is None else next(each),
            family_size=len(p_values),
            n_open=n_open,
        )
        for pair in pairs
    ]


def _with_own_intervals(comparison: Comparison, a: Run, b: Run, metric: str) -> Comparison:
    """A run of which everything is shared keeps the interval that its own page shows."""
    if comparison.n_missing:
        return comparison
    own_a = comparison.interval_a if comparison.n_only_a else _own_interval(comparison.interval_a, a, metric)
    own_b = comparison.interval_b if comparison.n_only_b else _own_interval(comparison.interval_b, b, metric)
    return replace(comparison, interval_a=own_a, interval_b=own_b)


def _own_interval(found: Interval | None, run: Run, metric: str) -> Interval | None:
    own = run.numbers_of(metric)
    if found is None or found.mean is None or own.mean is None or own.low is None or own.high is None:
        return found
    if not are_equal(found.mean, own.mean):  # Answers that came since, or repeats of which some have no score
        return found
    if are_equal(found.low or 0.0, own.low) and are_equal(found.high or 0.0, own.high):
        return found  # what is stored has fewer digits
    return Interval(own.mean, own.low, own.high, found.n, own.n_clusters, own.method, own.note)


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


def breakdown(a: Run, b: Run, metric: str) -> list[Part]:
    """The comparison for each level of each facet of the shared tasks that has several, in the order of ``FACETS``."""
    return kept_for(f"breakdown:{_PART_FORMAT}:{metric}", [a, b], lambda: _breakdown(a, b, metric))


def _breakdown(a: Run, b: Run, metric: str) -> list[Part]:
    first, second = task_scores(a, metric), task_scores(b, metric)
    tasks = Task.objects.filter(version=a.dataset_version_id).order_by("position")
    rows = [
        row for row in tasks.values_list("content_hash", *FACETS) if row[0] in first.scores and row[0] in second.scores
    ]
    parts: list[Part] = []
    for place, facet in enumerate(FACETS, 1):
        levels: dict[object, list[Hashable]] = {}
        for row in rows:
            if row[place] not in ("", None):
                levels.setdefault(row[place], []).append(row[0])
        if not 2 <= len(levels) <= _MOST_LEVELS:
            continue
        by_level = [(level, compare_scores(first, second, known)) for level, known in levels.items()]
        p_values = [comparison.p_decisive for _, comparison in by_level if comparison.p_decisive is not None]
        adjusted = iter(holm(p_values))
        parts += [
            Part(facet, str(level), comparison, None if comparison.p_decisive is None else next(adjusted))
            for level, comparison in by_level
        ]
    return parts
