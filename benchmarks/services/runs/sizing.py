"""How large a run must be to detect a difference: tasks, canvases and repeats, and an estimate of that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from benchmarks.analysis.gaps import CANVAS_CORRELATION, DISCORDANCE
from benchmarks.analysis.score_table import read_scores
from benchmarks.engine.execution.subsets import MOST_TASKS, Outlook, outlooks, tasks_of_estimate
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, OF_BASELINES, Dataset, Run
from benchmarks.presentation.numbers import percent, plural, points, whole_points
from benchmarks.providers.clean_text import full_sentence
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.requests import StrictNumber, validated_by
from benchmarks.services.runs.estimate import RunPlan, plan_of, tasks_of
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import run_of
from benchmarks.statistics.planning import PairedDesign, SampleSize, detectable_difference, tasks_for_same, tasks_needed
from benchmarks.statistics.subset import FEWEST

CANDIDATES = 20
"""How many of the latest runs are considered as a pilot."""
FEWEST_TASKS = 20
"""Two runs that share fewer tasks say too little about the share on which they differ."""
PARTS = (0.1, 0.2, 1 / 3)
"""The shares of the tasks from which a score may be estimated instead."""
MOST_RESULTS = 20_000
"""Larger runs take longer to compare than a person waits for an estimate."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Two earlier runs, and on how many of their shared tasks the scores differ."""

    a: Run
    b: Run
    n_shared: int
    n_changed: int

    @property
    def discordance(self) -> float:
        """Above 0 even if nothing differed, because the next two runs may differ."""
        return max(self.n_changed, 1) / self.n_shared


@dataclass(frozen=True, slots=True)
class Sizing:
    """``plan`` is the estimate of a run of ``size``. ``detectable`` is the difference that the existing ``tasks`` can
    detect (``None``: none), and ``pilot`` holds the earlier runs that the discordance was taken from. ``fewer_tasks``
    is what a score estimated from each of ``PARTS`` of all tasks can show."""

    design: PairedDesign
    pilot: Pilot | None
    size: SampleSize
    plan: RunPlan
    tasks: int
    detectable: float | None
    needed: str
    assuming: str
    available: str
    fewer_tasks: Sequence[Outlook]


class SizeQuestion(serializers.Serializer[Any]):
    """What a request for a size holds in addition to the run."""

    to_see = StrictNumber(
        required=False, min_value=0.01, max_value=100, help_text="Smallest difference to detect, in points: 5"
    )
    same_within = StrictNumber(
        required=False, min_value=0.01, max_value=100, help_text="Instead: points within which two runs are the same"
    )
    power = StrictNumber(default=0.8, help_text="Power")
    discordance = StrictNumber(
        required=False,
        help_text="Share of tasks on which single repeats of both runs differ; by default that of the latest two "
        f"models on the dataset, otherwise {DISCORDANCE:g}",
    )
    correlation = StrictNumber(
        default=CANVAS_CORRELATION, min_value=0, max_value=1, help_text="Correlation of the differences within a canvas"
    )
    noise_share = StrictNumber(default=0.0, help_text="Share of the variance that comes from repeating a task")


def size_run(data: Any) -> Sizing:
    """Size a run so that it detects a true difference of ``to_see`` points to another run, or shows that it is the
    same as another run ``same_within`` points if it is.

    ``data`` holds the request for the run and the fields of ``SizeQuestion``. Without ``discordance``, earlier runs on
    the dataset or a default give it; ``assuming`` says which. Raises ``InvalidRequest`` as ``start_run`` does, and for
    an impossible difference, power or share.
    """
    run = dict(data) if isinstance(data, Mapping) else {}
    question = validated_by(SizeQuestion(data={name: run.pop(name) for name in SizeQuestion().fields if name in run}))
    asked = [name for name in ("to_see", "same_within") if name in question]
    if len(asked) != 1:
        raise InvalidRequest({"to_see": ["Set either to_see or same_within."]})
    difference, discordance, is_same = question[asked[0]] / 100, question.get("discordance"), asked == ["same_within"]
    request = validated(run)
    named = list(tasks_of(request).values_list("cluster", flat=True))
    n_tasks = len(named)
    clusters = len(set(named) - {""}) + named.count("")
    pilot = latest_pilot(request["dataset"], request["model"], request["metrics"][0]) if discordance is None else None
    if pilot is not None:
        # A run cannot gain more tasks than change, so the discordance is at least the difference.
        expected = pilot.discordance if is_same else max(pilot.discordance, difference)
    else:
        expected = DISCORDANCE if discordance is None else discordance
    try:
        design = PairedDesign(
            discordance=expected,
            noise_share=question["noise_share"],
            repeats=request["repeats"],
            tasks_per_cluster=n_tasks / clusters if clusters else 1.0,
            cluster_correlation=question["correlation"] if clusters < n_tasks else 0.0,
            power=question["power"],
        )
        size = tasks_for_same(difference, design) if is_same else tasks_needed(difference, design)
    except ValueError as error:
        raise InvalidRequest({asked[0]: [full_sentence(error)]}) from None
    detectable = detectable_difference(n_tasks, design)
    plan = plan_of({**request, "max_canvases": None})
    return Sizing(
        design,
        pilot,
        size,
        plan.times(size.tasks / n_tasks) if n_tasks else plan,
        n_tasks,
        detectable,
        _needed(difference, design, size, is_same=is_same),
        _assumption(design, pilot, is_default=pilot is None and discordance is None),
        f"With the {plural(n_tasks, 'task')} of this request, "
        + (
            "no difference is detectable with this power."
            if detectable is None
            else f"differences of {whole_points(detectable)} points or more are detectable."
        ),
        _fewer_tasks(request),
    )


def _fewer_tasks(request: Mapping[str, Any]) -> list[Outlook]:
    """Empty if the score has no estimate, or the parts are too small."""
    run = run_of({**request, "limit": None, "subset": None})
    n_tasks = tasks_of_estimate(run).count()
    sizes = [size for part in PARTS if (size := round(n_tasks * part)) >= FEWEST]
    return outlooks(run, sizes) if is_score(request["metrics"][0]) and n_tasks <= MOST_TASKS and sizes else []


def latest_pilot(dataset: Dataset, model: str, metric: str) -> Pilot | None:
    """The latest run of the model (or of any) and the latest of another model, with one repeat each.

    ``None`` if the dataset has no two such runs, or they are too small or too large.
    """
    earlier = Run.objects.filter(
        dataset=dataset, status__in=COMPLETED, repeats=1, total__range=(FEWEST_TASKS, MOST_RESULTS)
    ).exclude(OF_BASELINES)
    candidates = [run for run in earlier.order_by("-pk")[:CANDIDATES] if metric in run.metrics]
    if not candidates:
        return None
    first = next((run for run in candidates if run.model == model), candidates[0])
    second = next((run for run in candidates if run.model != first.model), None)
    if second is None:
        return None
    a, b = sorted((first, second), key=lambda run: run.pk)
    scores_a, scores_b = _scores(a, metric), _scores(b, metric)
    shared = scores_a.keys() & scores_b.keys()
    changed = sum(scores_a[task] != scores_b[task] for task in shared)
    return Pilot(a, b, len(shared), changed) if len(shared) >= FEWEST_TASKS else None


def _scores(run: Run, metric: str) -> dict[str, float]:
    """Content hash of each scored task → its score."""
    return dict(read_scores(run, metric, "content").scored.rows())


def _needed(difference: float, design: PairedDesign, size: SampleSize, *, is_same: bool) -> str:
    tasks = plural(size.tasks, "task")
    if design.tasks_per_cluster > 1:
        tasks += f" in {plural(size.clusters, 'cluster')}"
    goal = f"show that two equal runs are the same within {points(difference)} points"
    if not is_same:
        goal = f"detect a difference of {points(difference)} points"
    return f"To {goal} with {100 * design.power:g}% power, you need {tasks} with {plural(size.repeats, 'repeat')}."


def _assumption(design: PairedDesign, pilot: Pilot | None, *, is_default: bool) -> str:
    """What the size is based on."""
    words = f"Assumption: single repeats of two runs differ on {percent(design.discordance)} of the tasks"
    if pilot is not None:
        words += (
            f", as {pilot.a.model} (run {pilot.a.pk}) and {pilot.b.model} (run {pilot.b.pk}) do "
            f"({pilot.n_changed} of {plural(pilot.n_shared, 'shared task')})"
        )
    elif is_default:
        words += " by default, because no two models have run on this dataset"
    if design.tasks_per_cluster > 1:
        words += f"; {design.tasks_per_cluster:.3g} tasks in a cluster, correlation {design.cluster_correlation:g}"
    return f"{words}."
