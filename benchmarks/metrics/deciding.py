"""The score of each task by the metric that decides it, where no single metric applies to all tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.metrics.base import Metric

PREFIX = "task:"
SEPARATOR = ","


class DecidingMetric(Metric):
    """Of each task the score of the first of ``parts`` that applies. Its name holds them: ``task:numeric,exact_match``.

    It is computed from stored scores only, and of a run only if these are the metrics that decided its outcomes.
    """

    def __init__(self, name: str, parts: Sequence[Metric]) -> None:
        self.name = name  # type: ignore[misc]  # a class variable of the registered metrics
        self.title = f"Task score ({', '.join(part.title for part in parts)})"  # type: ignore[misc]  # as above
        self.description = "Each task by the first of these metrics that applies to it"  # type: ignore[misc]  # as above
        self.judged = any(part.judged for part in parts)  # type: ignore[misc]  # as above


def deciding_name(parts: Iterable[str]) -> str:
    """The name of the metric that these metrics make together, in their order."""
    return PREFIX + SEPARATOR.join(parts)


def is_deciding(name: str) -> bool:
    return name.startswith(PREFIX)
