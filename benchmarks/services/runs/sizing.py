"""How large a run has to be to show a difference: tasks, canvases and repeats, and what asking them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.estimate import Pilot, RunPlan, latest_pilot, plan_run, tasks_asked
from benchmarks.services.runs.start import ADAPTIVE, StrictNumber, validated
from benchmarks.statistics.planning import PairedDesign, SampleSize, detectable_difference, tasks_needed
from benchmarks.statistics.sentences import count, percent, plan_sentence, points

DISCORDANCE = 0.3
"""The share of tasks on which two runs differ, where no earlier runs have told a better number."""
CANVAS_CORRELATION = 0.1
"""How far the differences of questions about one canvas go together, where nothing better is known."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """``plan`` is what a run of ``size`` would take, ``detectable`` the difference that the tasks there are can show
    (``None``: none), ``pilot`` the earlier runs that the discordance was taken from."""

    design: PairedDesign
    pilot: Pilot | None
    size: SampleSize
    plan: RunPlan
    tasks: int
    detectable: float | None
    needed: str
    assuming: str
    available: str


class SizeQuestion(serializers.Serializer[Any]):
    """What may be asked about the size of a run, beside the run itself."""

    to_see = StrictNumber(
        min_value=0.01, max_value=100, help_text="The difference to another run that should be seen, in points: 5"
    )
    power = StrictNumber(required=False, help_text="The chance of seeing it, by default 0.8")
    discordance = StrictNumber(
        required=False,
        help_text="Share of tasks on which single tries of both differ, by default that of the latest two models run "
        f"on the dataset, or {DISCORDANCE:g}",
    )
    correlation = StrictNumber(
        required=False,
        min_value=0,
        max_value=1,
        help_text=f"Of the differences on one canvas, by default {CANVAS_CORRELATION:g}",
    )
    noise_share = StrictNumber(
        required=False, help_text="Share of the variance that comes from asking again, by default 0"
    )


def size_as_asked(data: Any) -> Sizing:
    """``size_for`` of one request that holds both the run and the question. Raises ``InvalidRequest``."""
    given = dict(data) if isinstance(data, Mapping) else {}
    question = SizeQuestion(data={name: given.pop(name) for name in SizeQuestion().fields if name in given})
    if not question.is_valid():
        raise InvalidRequest({name: [str(text) for text in texts] for name, texts in question.errors.items()})
    asked = dict(question.validated_data)
    return size_for(given, asked.pop("to_see") / 100, **asked)


def size_for(
    data: Any,
    difference: float,
    *,
    power: float = 0.8,
    discordance: float | None = None,
    correlation: float = CANVAS_CORRELATION,
    noise_share: float = 0.0,
) -> Sizing:
    """Size a run like the requested one so that a true ``difference`` (0.05 for 5 points) to another run is seen.

    Without a ``discordance`` it is taken from earlier runs on the dataset, or assumed; ``assuming`` says which.
    Raises ``InvalidRequest`` as ``start_run`` does, and for a difference, power or share that cannot be.
    """
    request = validated(data)
    asked = tasks_asked(request)
    named = list(asked.values_list("cluster", flat=True))
    n_tasks = len(named)
    clusters = len(set(named)) if all(named) else n_tasks
    pilot = latest_pilot(request["dataset"], request["model"], request["metrics"][0]) if discordance is None else None
    # A run cannot gain more tasks than change, so runs that hardly differed allow for the difference itself at least.
    expected = discordance if pilot is None else max(pilot.discordance, difference)
    try:
        design = PairedDesign(
            discordance=DISCORDANCE if expected is None else expected,
            noise_share=noise_share,
            repeats=request["repeats"],
            tasks_per_cluster=n_tasks / clusters if clusters else 1.0,
            cluster_correlation=correlation if clusters < n_tasks else 0.0,
            power=power,
        )
        size = tasks_needed(difference, design)
    except ValueError as error:
        raise InvalidRequest({"to_see": [f"{error}."]}) from None
    detectable = detectable_difference(n_tasks, design)
    plan = plan_run({name: value for name, value in data.items() if name not in ADAPTIVE})
    plan = plan.times(size.tasks / n_tasks) if n_tasks else plan
    return Sizing(
        design,
        pilot,
        size,
        plan,
        n_tasks,
        detectable,
        plan_sentence(difference, design, size),
        _assumptions(design, pilot, was_told=discordance is not None),
        _available(n_tasks, detectable),
    )


def _available(n_tasks: int, detectable: float | None) -> str:
    tasks = f"The {count(n_tasks, 'task')} of this request"
    if detectable is None:
        return f"{tasks} cannot show any difference with that power"
    return f"{tasks} can show one of {points(detectable)} points"


def _assumptions(design: PairedDesign, pilot: Pilot | None, *, was_told: bool) -> str:
    """What the size rests on, in words."""
    words = f"assuming that single tries differ on {percent(design.discordance)} of the tasks"
    if pilot is not None:
        models = f"{pilot.a.model} (run {pilot.a.pk}) and {pilot.b.model} (run {pilot.b.pk})"
        words += f" – {models} differed on {pilot.n_changed} of {count(pilot.n_shared, 'shared task')}"
    elif not was_told:
        words += " – no two models have been run on this dataset to tell"
    if design.tasks_per_cluster > 1:
        words += (
            f", with {design.tasks_per_cluster:.3g} questions to a canvas whose differences correlate by "
            f"{design.cluster_correlation:g}"
        )
    return words
