"""The one chooser of metrics: what applies, in groups, and for the judged ones their judge and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.engine.configured import any_retrieves
from benchmarks.metrics.base import Metric
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.models import DatasetVersion
from benchmarks.queries.judge_words import judge_words
from benchmarks.services.rubrics import rubric_metrics
from benchmarks.services.runs.checks import missing_fields


@dataclass(frozen=True, slots=True)
class MetricChoice:
    """``chosen`` is in the order in which metrics decide the outcome. ``groups`` are a title and its metrics, each with
    words on its judge; empty while the list is closed. ``suffix`` ends the names of the fields: ``metrics``,
    ``given``."""

    chosen: Sequence[str]
    groups: Sequence[tuple[str, Sequence[tuple[Metric, str]]]]
    suffix: str = ""

    @property
    def judged(self) -> list[str]:
        """The chosen ones that ask a judge."""
        return [name for name in self.chosen if (metric := metric_named(name)) is not None and metric.judged]


def fitting_metrics(version: DatasetVersion) -> list[Metric]:
    """The metrics for which the tasks of the version, or the systems under test, have what they need."""
    offered: list[Metric] = [*REGISTERED_METRICS.values(), *rubric_metrics(version)]
    retrieves = any_retrieves()
    return [metric for metric in offered if not missing_fields(metric, version, retrieves=retrieves)]


def metric_choice(
    version: DatasetVersion, preset: Sequence[str], chosen: Sequence[str], judge: str, suffix: str = ""
) -> MetricChoice:
    """What applies to the version and works here; first what is chosen and the ``preset`` metrics of the dataset."""
    offered = {metric.name: metric for metric in fitting_metrics(version)}
    first = [name for name in dict.fromkeys([*chosen, *preset]) if name in offered]
    rest = [metric for name, metric in offered.items() if name not in first and not metric.unavailable()]
    groups = [
        ("Scored by; the first one decides right or wrong", [offered[name] for name in first]),
        ("By rule", [each for each in rest if not each.judged and each.decides_outcome]),
        ("By a judge", [each for each in rest if each.judged]),
        ("Measured beside it", [each for each in rest if not each.judged and not each.decides_outcome]),
    ]
    words = _of_judge(judge, [metric for metric in offered.values() if metric.judged])
    rows = [(title, [(metric, words.get(metric.name, "")) for metric in metrics]) for title, metrics in groups]
    return MetricChoice(chosen, [(title, metrics) for title, metrics in rows if metrics], suffix)


def decide_first(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """The ticked metrics in the order in which they decide the outcome, which checkboxes cannot have: what was added to
    the given ones comes first if it decides the outcome, else last."""
    added = [name for name in names if name not in given] if any(given) else []
    deciding = [name for name in added if (metric := metric_named(name)) is None or metric.decides_outcome]
    return list(dict.fromkeys([*deciding, *(name for name in names if name not in added), *added]))


def _of_judge(judge: str, judged: Sequence[Metric]) -> Mapping[str, str]:
    known = judge_words({(judge, metric.name) for metric in judged}) if judge else {}
    named = {metric.name: known.get((judge, metric.name), "").partition(", ")[2] for metric in judged}
    return {name: words or "no judge is configured" for name, words in named.items()}
