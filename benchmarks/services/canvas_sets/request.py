"""Validate requests for canvas sets: one definition, with the same errors, for the API, the forms and the command."""

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
        "form": "Enter a number such as 7, or a range such as 3-12.",
        "bounds": f"A canvas has 1 to {MAX_SHAPES} shapes, all different. Enter numbers in this range.",
        "order": "The range is reversed. Enter the smaller number first, for example, 3-12.",
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
    """A request for a generated set. ``shapes`` becomes (low, high)."""

    shapes = ShapesField(
        help_text="A number of shapes such as 7, or a range such as 3-12, over which the count is spread evenly"
    )
    count = serializers.IntegerField(
        min_value=1, max_value=MOST_CANVASES, help_text="Total number of canvases; an existing set is extended to it"
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=LARGEST_SEED, help_text="The same seed generates the same set"
    )
    name = StrictText(
        required=False, allow_blank=True, default="", max_length=100, help_text="Default: derived from the settings"
    )
    tracking_steps = serializers.IntegerField(
        required=False, default=DEFAULT_TRACKING_STEPS, min_value=1, max_value=MOST_STEPS,
        help_text="Changes and swaps per tracking question",
    )  # fmt: skip

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(data) - set(self.fields))):
            known = ", ".join(self.fields)
            raise serializers.ValidationError({name: [f"Unknown field. Allowed fields: {known}."] for name in unknown})
        return super().to_internal_value(data)

    def validate_name(self, name: str) -> str:
        if name and not slugify(name):
            raise serializers.ValidationError(
                "The name contains no letters a-z or digits, so no identifier can be derived. Enter another name."
            )
        return name


@dataclass(frozen=True, slots=True)
class CanvasSpec:
    """A valid request: everything that the canvases of a set depend on, their number, and the name of the set."""

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
        """How a stored set differs from the request: "seed 12 instead of 11"."""
        if canvas_set.origin != CanvasSet.Origin.GENERATED:
            return ["it was imported"]
        differences = []
        for name, wanted in self.fixed.items():
            stored = getattr(canvas_set, name)
            if stored != wanted:
                differences.append(f"{name.replace('_', ' ')} {_listed(stored)} instead of {_listed(wanted)}")
        return differences


def canvas_spec(data: Any) -> CanvasSpec:
    """Validate a request. Raises ``InvalidRequest`` naming every invalid field."""
    request = CanvasSetRequest(data=data)
    if not request.is_valid():
        raise InvalidRequest({name: [str(text) for text in texts] for name, texts in request.errors.items()})
    values = request.validated_data
    low, high = values["shapes"]
    period = high - low + 1
    if values["count"] < period:
        raise InvalidRequest(
            {
                "count": [
                    f"{values['count']} canvases are too few for {period} numbers of shapes. Enter at least {period}."
                ]
            }
        )
    name = values["name"] or _default_name(low, high, values["seed"], values["tracking_steps"])
    return CanvasSpec(
        name=name,
        slug=slugify(name)[:100],
        count=values["count"],
        seed=values["seed"],
        shapes_low=low,
        shapes_high=high,
        tracking_steps=values["tracking_steps"],
        task_classes=tuple(REGISTERED_TASKS),
        generator_version=GENERATOR_VERSION,
    )


def _default_name(low: int, high: int, seed: int, tracking_steps: int) -> str:
    shapes = f"{low} to {high} shapes" if high > low else f"{low} shape{'s' if low > 1 else ''}"
    steps = "" if tracking_steps == DEFAULT_TRACKING_STEPS else f", {tracking_steps} steps"
    return f"{shapes}, seed {seed}{steps}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
