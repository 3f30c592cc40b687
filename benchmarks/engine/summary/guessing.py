"""Scores above the best guess, and thresholds: the difficulty at which a model is halfway between guessing and perfect.

Guess rates are known by task class for canvas runs, and over the tasks with choices for multiple choice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from django.db.models import Count, Sum
from django.db.models.fields.json import KeyTransform

from benchmarks import summary
from benchmarks.analysis.score_table import FETCHED, LEFT_OUT, read_scores
from benchmarks.analysis.sums import Cell, Sums, added, cluster_parts
from benchmarks.engine.canvas_sets.audit import guess_score
from benchmarks.engine.summary.means import WHOLE, Mean, Means
from benchmarks.models import Run, Task
from benchmarks.presentation.labels import words
from benchmarks.presentation.numbers import plural
from benchmarks.statistics.chance import (
    GroupMean,
    Guess,
    Measured,
    Part,
    corrected_average,
    corrected_interval,
    guess_of,
)
from benchmarks.statistics.intervals import Interval, no_interval
from benchmarks.statistics.psychometric import Level, ThresholdStatus, fit_threshold
from benchmarks.statistics.psychometric import Threshold as Fit
from benchmarks.summary import Chance, Corrected, CorrectedGroup, Threshold
from tasks_app.guess_rates import rates_of
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.time_limit import TookTooLong

CANVAS_METRIC = "task_score"
CHOICE_METRIC = "multiple_choice"
SHAPES = "n_shapes"
STEPS = ("tracking_steps", "inference_steps")
"""Measures of a question's difficulty that its task class stores."""
ALL_CLASSES = ""


def guesses_of(run: Run) -> dict[str, Guess]:
    """What is scored without the canvas, for the task classes of a canvas run for which it is known.

    It is the class's own guess rate, or what the best rule without the canvas scores, if that is higher (``guess_of``).
    The rule is measured on canvases of the generator. Of imported canvases and added task classes nothing else is known
    than the set itself: the score of always giving its most frequent answer, and of the best rule in its audit.
    """
    if CANVAS_METRIC not in run.metrics:
        return {}
    shapes = _questions_by_shapes(run)
    guesses = {}
    for name in run.task_classes:
        task_class = REGISTERED_TASKS.get(name)
        own_rate = None if task_class is None else task_class.guess_score or task_class.guess_rate
        of_generator = _guess_of_generator(run, name, shapes[name])
        guesses[name] = guess_of(own_rate, _guesses_of_set(run, name) if of_generator is None else [of_generator])
    return {name: guess for name, guess in guesses.items() if guess.rate < 1}


def _questions_by_shapes(run: Run) -> dict[str, Counter[int]]:
    """By task class, the run's questions by number of shapes."""
    shapes: dict[str, Counter[int]] = defaultdict(Counter)
    for group, n_shapes, n in run.results.order_by().values_list("group", "n_shapes").annotate(n=Count("pk")):
        shapes[group][n_shapes] = n
    return shapes


def _guess_of_generator(run: Run, name: str, shapes: Mapping[int, int]) -> Measured | None:
    """The rate of a task class on canvases like those of the run; ``None`` if it was not measured for all of them."""
    canvas_set = run.dataset.canvas_set
    if canvas_set is None or canvas_set.origin != CanvasSet.Origin.GENERATED:
        return None
    rates = rates_of(canvas_set.generator_version, name, canvas_set.tracking_steps)
    if not shapes or not shapes.keys() <= rates.keys():
        return None
    return Measured.pooled(
        (Measured(rates[n_shapes].best(few_shot=run.few_shot), rates[n_shapes].n), n) for n_shapes, n in shapes.items()
    )


def _guesses_of_set(run: Run, name: str) -> Iterator[Measured]:
    """What the most frequent answer of the set scores, and the best rule that does not see the canvas."""
    canvas_set = run.dataset.canvas_set
    audit = canvas_set.audit.get("tasks", {}).get(name, {}) if canvas_set else {}
    majority, asked = audit.get("majority_score"), audit.get("asked", 0)
    if not majority:
        majority, asked = _majority_score(run, name)
    if majority is not None:
        yield Measured(majority, asked)
        rules = ("blind_score", "examples_score") if run.few_shot else ("blind_score",)
        yield Measured(max(audit.get(rule) or 0.0 for rule in rules), asked)


def _majority_score(run: Run, name: str) -> tuple[float | None, int]:
    """The score of always giving the most frequent answer, computed as the audit of the set will compute it, and the
    number of questions."""
    answers = Task.objects.filter(version=run.dataset_version_id, group=name).order_by()
    counts = dict(answers.values_list("expected_output").annotate(n=Count("pk")))
    if not counts:
        return None, 0
    majority = min(counts, key=lambda answer: (-counts[answer], answer))
    try:
        return guess_score(name, counts, [majority]), sum(counts.values())
    except TookTooLong:  # as the scores of the run say
        return None, sum(counts.values())


def _choice_guess_rate(run: Run) -> float | None:
    """The mean of accepted answers / choices over the scored results of the metric; ``None`` without any."""
    scored = Counter(read_scores(run, CHOICE_METRIC, "task").scored["task"].tolist())
    shares: Counter[tuple[int, int]] = Counter()
    tasks = run.dataset_version.tasks.order_by().values_list("pk", "choices", "other_answers")
    for task, options, others in tasks.iterator(FETCHED):
        if options and task in scored:
            shares[1 + len(others or ()), len(options)] += scored[task]
    total = shares.total()
    return sum(n * min(1, right / size) for (right, size), n in shares.items()) / total if total else None


def chance_numbers(
    run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, Guess]
) -> dict[str, Chance]:
    """Metric → its scores above the best guess; empty if no guess rate is known."""
    numbers = {}
    if guesses:
        numbers[CANVAS_METRIC] = _by_task_class(run, cells, means, guesses)
    if CHOICE_METRIC in run.metrics and (rate := _choice_guess_rate(run)) is not None and rate < 1:
        raw = means[CHOICE_METRIC, WHOLE, ()]
        groups = _groups({"": (rate, raw, corrected_interval(raw.interval, rate))})
        numbers[CHOICE_METRIC] = Chance(groups, groups[0].corrected)
    return numbers


def _by_task_class(run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, Guess]) -> Chance:
    groups = {
        name: (guess.rate, raw, corrected_interval(raw.interval, guess.rate, guess.error))
        for name, guess in guesses.items()
        if (raw := means.get((CANVAS_METRIC, ("group",), (name,)))) is not None and raw.interval.mean is not None
    }
    left_out = [name for name in run.task_classes if name not in groups]
    if lacking := _asked_classes(cells) - groups.keys():
        average = no_interval(f"needs a score above the best guess for {', '.join(map(words, sorted(lacking)))}")
    elif len(groups) == 1:
        average = next(iter(groups.values()))[2]
    else:
        sums = added(cells, lambda cell: cell.group if cell.metric == CANVAS_METRIC else None)
        group_means = {
            name: GroupMean(sums[name].n, sums[name].mean, guesses[name].rate, guesses[name].error) for name in groups
        }
        average = corrected_average(group_means, _parts(run, group_means))
    expected = sum(sums.expected for cell, sums in cells.items() if cell.metric == CANVAS_METRIC)
    parts = [(rate, raw) for rate, raw, _ in groups.values()]
    return Chance(_groups(groups), _corrected(average, parts, expected), left_out)


def _asked_classes(cells: Mapping[Cell, Sums]) -> set[str]:
    """The task classes of which the run has questions: an average needs a score of each."""
    return {cell.group for cell, sums in cells.items() if cell.metric == CANVAS_METRIC and sums.expected}


def _parts(run: Run, groups: Mapping[str, GroupMean]) -> Iterator[list[Part]]:
    for cluster in cluster_parts(run, CANVAS_METRIC):
        parts = [(part.group, part.n, part.total, part.squares) for part in cluster if part.group in groups]
        if parts:
            yield parts


def _groups(groups: Mapping[str, tuple[float, Mean, Interval]]) -> list[CorrectedGroup]:
    return [
        CorrectedGroup(name, rate, raw.counted, _corrected(corrected, [(rate, raw)], raw.sums.expected))
        for name, (rate, raw, corrected) in groups.items()
    ]


def _corrected(interval: Interval, parts: Sequence[tuple[float, Mean]], expected: int) -> Corrected:
    """The plain average of the parts, each with its guess rate, with how far their missing scores could move it."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return Corrected.of(interval, n_expected=expected)
    down = up = 0.0
    for rate, raw in parts:
        scale, mean, missing = (1 - rate) * len(parts), raw.interval.mean or 0.0, 1 - (raw.coverage or 0.0)
        down += missing * mean / scale
        up += missing * (1 - mean) / scale
    return Corrected.of(
        interval,
        n_expected=expected,
        if_missing_wrong=interval.mean - down,
        low_missing=interval.low - down,
        high_missing=min(1.0, interval.high + up),
    )


@dataclass(frozen=True, slots=True)
class Series:
    """Scores by one measure of difficulty: of one task class, or of all together under ``ALL_CLASSES``."""

    measure: str
    group: str
    guess: float
    levels: Sequence[Level]
    expected: Mapping[float, int]
    """Difficulty → the results that should have a score, also where none has one."""


ByShapes = Mapping[tuple[str, int], Sums]
"""Sums by task class and number of shapes."""


def threshold_numbers(run: Run, cells: Mapping[Cell, Sums], guesses: Mapping[str, float]) -> list[Threshold]:
    """The fitted threshold of every series with at least two difficulties, the one over all task classes first."""
    if not guesses:
        return []
    sums = added(cells, lambda cell: (cell.group, cell.n_shapes) if cell.metric == CANVAS_METRIC else None)
    scored = {key: cell for key, cell in sums.items() if cell.n and key[0] in guesses and key[1] is not None}
    if not scored:
        return []
    effects = _design_effects(run, scored)
    all_series = [
        *_over_all_classes(_asked_classes(cells), sums, scored, guesses, effects[ALL_CLASSES]),
        *_over_shapes(sums, scored, guesses, effects),
        *_over_steps(run, guesses, effects),
    ]
    return [_fitted(series) for series in all_series if len(series.levels) > 1]


def _over_all_classes(
    classes: Set[str], expected: ByShapes, scored: ByShapes, guesses: Mapping[str, float], effect: float
) -> Iterator[Series]:
    """The plain average over all task classes of the run, at each number of shapes where all of them have scores.

    Leaving out a class where it does not apply would change the mix of questions along the curve.
    """
    if len(classes) < 2 or not classes <= guesses.keys():
        return
    levels = []
    for n_shapes in sorted({n_shapes for _, n_shapes in scored}):
        sums = [scored[name, n_shapes] for name in classes if (name, n_shapes) in scored]
        if len(sums) < len(classes):
            continue
        n = sum(cell.n for cell in sums)
        mean = sum(cell.mean for cell in sums) / len(sums)
        # Variance of the plain average of unequal groups, relative to that of a mean of n values.
        unevenness = n * sum(1 / cell.n for cell in sums) / len(sums) ** 2
        levels.append(Level(n_shapes, min(mean * n, n), n, effect * unevenness))
    guess = sum(guesses[name] for name in classes) / len(classes)
    everywhere = {n_shapes for _, n_shapes in expected if all((name, n_shapes) in expected for name in classes)}
    shown = {key: sums for key, sums in expected.items() if key[1] in everywhere}
    yield Series(SHAPES, ALL_CLASSES, guess, levels, _expected_by_shapes(shown, classes))


def _over_shapes(
    expected: ByShapes, scored: ByShapes, guesses: Mapping[str, float], effects: Mapping[str, float]
) -> Iterator[Series]:
    for name, guess in guesses.items():
        levels = [
            Level(n_shapes, scored[group, n_shapes].total, scored[group, n_shapes].n, effects.get(name, 1.0))
            for group, n_shapes in sorted(scored)
            if group == name
        ]
        yield Series(SHAPES, name, guess, levels, _expected_by_shapes(expected, {name}))


def _expected_by_shapes(by_shapes: ByShapes, classes: Set[str]) -> dict[float, int]:
    expected: dict[float, int] = defaultdict(int)
    for (group, n_shapes), sums in by_shapes.items():
        if group in classes and n_shapes is not None:
            expected[n_shapes] += sums.expected
    return expected


def _over_steps(run: Run, guesses: Mapping[str, float], effects: Mapping[str, float]) -> Iterator[Series]:
    for measure in STEPS:
        expected = _expected_by_steps(run, measure, guesses)
        rows = (
            run.scores.filter(metric=CANVAS_METRIC, value__isnull=False, result__group__in=list(guesses))
            .order_by()
            .values_list("result__group")
            .annotate(
                steps=KeyTransform(measure, "result__task__question__difficulty"), n=Count("pk"), total=Sum("value")
            )
        )
        levels: dict[str, list[Level]] = defaultdict(list)
        for group, steps, n, total in rows:
            if steps is not None:
                levels[group].append(Level(float(steps), total, n, effects.get(group, 1.0)))
        for group, of_group in sorted(levels.items()):
            ordered = sorted(of_group, key=lambda level: level.difficulty)
            yield Series(measure, group, guesses[group], ordered, expected[group])


def _expected_by_steps(run: Run, measure: str, groups: Collection[str]) -> dict[str, dict[float, int]]:
    """By task class and steps, the results that the metric applies to and whose reference is not in doubt."""
    left_out = run.scores.filter(metric=CANVAS_METRIC, status__in=LEFT_OUT)
    rows = (
        run.results.filter(group__in=list(groups))
        .exclude(pk__in=left_out.values("result"))
        .order_by()
        .values_list("group")
        .annotate(steps=KeyTransform(measure, "task__question__difficulty"), n=Count("pk"))
    )
    expected: dict[str, dict[float, int]] = defaultdict(dict)
    for group, steps, n in rows:
        if steps is not None:
            expected[group][float(steps)] = n
    return expected


def _design_effects(run: Run, scored: ByShapes) -> dict[str, float]:
    """By task class, the factor of shared canvases and of repeats on the variance of a mean; at least 1.

    It is the sum of the squared sums of each cluster's deviations over the sum of the squared deviations. Deviations
    are taken from the mean of their own cell, so that difficulty does not look like dependence. Over all task classes
    it is at least what the classes' own factors come to, so repeats count in full if the classes balance each other.
    """
    clustered: dict[str, float] = defaultdict(float)
    for cluster in cluster_parts(run, CANVAS_METRIC):
        whole = 0.0
        for part in cluster:
            if part.n_shapes is None or (cell := scored.get((part.group, part.n_shapes))) is None:
                continue
            deviation = part.total - part.n * cell.mean
            clustered[part.group] += deviation**2
            whole += deviation
        clustered[ALL_CLASSES] += whole**2
    independent: dict[str, float] = defaultdict(float)
    for (group, _), sums in scored.items():
        deviations = max(0.0, sums.squares - sums.total**2 / sums.n)
        independent[group] += deviations
        independent[ALL_CLASSES] += deviations
    apart = sum(max(clustered[group], total) for group, total in independent.items() if group != ALL_CLASSES)
    clustered[ALL_CLASSES] = max(clustered[ALL_CLASSES], apart)
    return {name: max(1.0, clustered[name] / total) if total > 0 else 1.0 for name, total in independent.items()}


def _missing_note(series: Series, fit: Fit) -> str:
    """What the results without a score could change: the fit is made again with all of them wrong, and all right."""
    scored = {level.difficulty: level for level in series.levels}
    missing = {at: n - (scored[at].n if at in scored else 0) for at, n in series.expected.items()}
    total = sum(missing.values())
    if fit.status in (ThresholdStatus.TOO_FEW, ThresholdStatus.FLAT) or total <= 0:
        return ""
    effect = max(level.design_effect for level in series.levels)
    wrong = [scored.get(at, Level(at, 0.0, 0, effect)) for at in sorted(series.expected)]
    wrong = [replace(level, n=series.expected[level.difficulty]) for level in wrong]
    right = [replace(level, right=level.right + missing[level.difficulty]) for level in wrong]
    low, high = (fit_threshold(levels, series.guess) for levels in (wrong, right))
    if low.threshold is not None and high.threshold is not None:
        return f"{low.threshold:.1f} to {high.threshold:.1f} whatever {plural(total, 'missing score')} would be"
    if (low.status, low.note) == (high.status, high.note) == (fit.status, fit.note):
        return ""
    return f"{plural(total, 'missing score')} could change this"


def _fitted(series: Series) -> Threshold:
    fit = fit_threshold(series.levels, series.guess)
    return Threshold(
        measure=series.measure,
        group=series.group,
        guess=series.guess,
        status=fit.status.value,
        threshold=fit.threshold,
        low=fit.low,
        high=fit.high,
        slope=fit.slope,
        lapse=fit.lapse,
        n=fit.n,
        note="; ".join(filter(None, (fit.note, _missing_note(series, fit)))),
        n_expected=sum(series.expected.values()),
        levels=[
            summary.Level(level.difficulty, level.right / level.n, level.n, series.expected[level.difficulty])
            for level in series.levels
        ],
    )
