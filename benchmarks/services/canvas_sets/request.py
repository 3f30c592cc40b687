"""What may be asked of a canvas set: one definition for the API, the forms and the command, with the same errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.text import slugify
from rest_framework import serializers

from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.start import StrictText
from tasks_app.canvas.generator import GENERATOR_VERSION, MAX_SHAPES
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS

MOST_CANVASES = 100_000
MOST_STEPS = 100
LARGEST_SEED = 2**63 - 1

_SHAPES = re.compile(r"(-?[0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?", re.ASCII)


class ShapesField(serializers.CharField):
    """A number of shapes, 7 or "7", or a range of them, "3-12"; read as (low, high)."""

    default_error_messages = {  # noqa: RUF012 - declared like this by the base class
        "form": "Write a number of shapes such as 7, or a range such as 3-12.",
        "bounds": f"A canvas has 1 to {MAX_SHAPES} shapes: there are {MAX_SHAPES} kinds, and none is repeated.",
        "order": "The range ends before it begins: write the smaller number first, as in 3-12.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int):
            self.fail("form")
        match = _SHAPES.fullmatch(str(data)[:40].strip())
        if match is None:
            self.fail("form")
        low, high = int(match[1]), int(match[2] or match[1])
        if not (1 <= low <= MAX_SHAPES and 1 <= high <= MAX_SHAPES):
            self.fail("bounds")
        if high < low:
            self.fail("order")
        return low, high


class CanvasSetRequest(serializers.Serializer[Any]):
    """A request for a generated set. ``shapes`` becomes (low, high); everything else stays what it was."""

    shapes = ShapesField(help_text="A number of shapes, 7, or a range over which the count is spread evenly, 3-12")
    count = serializers.IntegerField(
        min_value=1, max_value=MOST_CANVASES, help_text="How many canvases; more than the set has makes it grow"
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=LARGEST_SEED, help_text="The same seed draws the same set"
    )
    name = StrictText(required=False, allow_blank=True, default="", max_length=100, help_text="By default made up")
    tracking_steps = serializers.IntegerField(
        required=False, default=DEFAULT_TRACKING_STEPS, min_value=1, max_value=MOST_STEPS,
        help_text="Changes and swaps that the tracking questions tell",
    )  # fmt: skip

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(data) - set(self.fields))):
            known = ", ".join(self.fields)
            raise serializers.ValidationError({name: [f"Unknown field. Known: {known}."] for name in unknown})
        return super().to_internal_value(data)

    def validate_name(self, name: str) -> str:
        if name and not slugify(name):
            raise serializers.ValidationError("Use letters a to z or digits: the set's address is made of them.")
        return name


@dataclass(frozen=True, slots=True)
class CanvasSpec:
    """A checked request: everything a set's canvases depend on, how many there should be, and what it is called."""

    name: str
    slug: str
    count: int
    seed: int
    shapes_low: int
    shapes_high: int
    tracking_steps: int
    task_classes: tuple[str, ...]
    generator_version: str

    @property
    def fixed(self) -> dict[str, Any]:
        """The fields of a ``CanvasSet`` that never change."""
        return {
            "seed": self.seed,
            "shapes_low": self.shapes_low,
            "shapes_high": self.shapes_high,
            "tracking_steps": self.tracking_steps,
            "task_classes": list(self.task_classes),
            "generator_version": self.generator_version,
        }

    def differences(self, canvas_set: CanvasSet) -> list[str]:
        """Where a stored set is not what is asked for: "seed 12 instead of 11"."""
        if canvas_set.origin != CanvasSet.Origin.GENERATED:
            return ["it was imported"]
        told = []
        for name, wanted in self.fixed.items():
            stored = getattr(canvas_set, name)
            if stored != wanted:
                told.append(f"{name.replace('_', ' ')} {_listed(stored)} instead of {_listed(wanted)}")
        return told


def canvas_spec(data: Any) -> CanvasSpec:
    """Check a request. Raises ``InvalidRequest`` naming every bad field."""
    request = CanvasSetRequest(data=data)
    if not request.is_valid():
        raise InvalidRequest({name: [str(text) for text in texts] for name, texts in request.errors.items()})
    asked = request.validated_data
    low, high = asked["shapes"]
    if asked["count"] < high - low + 1:
        raise InvalidRequest({"count": [f"{asked['count']} canvases cannot be spread over {high - low + 1} numbers."]})
    name = asked["name"] or _made_up(low, high, asked["seed"], asked["tracking_steps"])
    return CanvasSpec(
        name=name,
        slug=slugify(name)[:100],
        count=asked["count"],
        seed=asked["seed"],
        shapes_low=low,
        shapes_high=high,
        tracking_steps=asked["tracking_steps"],
        task_classes=tuple(REGISTERED_TASKS),
        generator_version=GENERATOR_VERSION,
    )


def _made_up(low: int, high: int, seed: int, tracking_steps: int) -> str:
    shapes = f"{low} to {high} shapes" if high > low else f"{low} shape{'s' if low > 1 else ''}"
    steps = "" if tracking_steps == DEFAULT_TRACKING_STEPS else f", {tracking_steps} steps"
    return f"{shapes}, seed {seed}{steps}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
