"""What an adaptive run has to bring: a canvas set that can grow, a target, and a cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.metrics.base import Metric
from benchmarks.models import Dataset
from tasks_app.canvas.generator import GENERATOR_VERSION
from tasks_app.models import CanvasSet

ADAPTIVE = ("target_half_width", "max_canvases")


def check_adaptive(
    attrs: Mapping[str, Any], dataset: Dataset, metrics: Sequence[Metric], errors: dict[str, list[str]]
) -> None:
    """Add to ``errors`` why a run cannot add canvases by itself, where its request asks for that."""
    target, cap = (attrs.get(name) for name in ADAPTIVE)
    canvas_set = dataset.canvas_set
    if (target is None and cap is None) or canvas_set is None:
        return
    if target is None or cap is None:
        missing = ADAPTIVE[0] if target is None else ADAPTIVE[1]
        errors[missing] = ["An adaptive run needs both: how sure it should be, and the most canvases it may ask about."]
        return
    problems = []
    if canvas_set.origin != CanvasSet.Origin.GENERATED:
        problems.append(f"{dataset.slug!r} was imported and cannot grow. Choose a generated canvas set.")
    elif canvas_set.generator_version != GENERATOR_VERSION:
        problems.append(
            f"{dataset.slug!r} was drawn by generator {canvas_set.generator_version}, this is {GENERATOR_VERSION}: "
            "canvases added now would be of another kind. Draw a new set."
        )
    if metrics and metrics[0].range != (0.0, 1.0):
        problems.append(f"{metrics[0].name} is no score from 0 to 1; put a metric first that is.")
    if problems:
        errors["target_half_width"] = problems
    if attrs.get("limit"):
        errors["limit"] = ["An adaptive run chooses its tasks by itself; leave the limit out and set max_canvases."]
    strata = canvas_set.shapes_high - canvas_set.shapes_low + 1
    if cap < strata:
        errors["max_canvases"] = [f"The set has {strata} numbers of shapes; each needs a canvas at least."]
