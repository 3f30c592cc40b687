"""The rubrics that runs can use: those of a dataset version, and those of ``codeforge.yaml``."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from benchmarks.dataset_format.dumping import dump_values
from benchmarks.dataset_format.parsing import located, read_yaml
from benchmarks.dataset_format.problems import Problem
from benchmarks.dataset_format.validation import rubrics_of_values
from benchmarks.metrics.rubrics import RubricMetric, rubric_metric
from benchmarks.metrics.task_parts import RubricValues
from benchmarks.models import DatasetVersion
from benchmarks.services.errors import InvalidRequest

Rubrics = dict[str, RubricValues]
"""Name → mapping, as files hold it."""


def rubrics_of(version: DatasetVersion | None) -> Rubrics:
    """The configured rubrics and those of the version, which replace configured ones of the same name."""
    configured: Rubrics = {rubric["name"]: rubric for rubric in settings.CODEFORGE.rubrics}
    return configured | ({rubric["name"]: rubric for rubric in version.rubrics} if version else {})


def rubric_of_text(text: str) -> RubricValues:
    """One rubric from YAML. Raises ``InvalidRequest`` for ``rubric`` with every mistake at its line."""
    problems: list[Problem] = []
    root = read_yaml(text.encode("utf-8", "replace"), "rubric", problems, "name and criteria")
    if root is not None:
        rubrics, faults = rubrics_of_values([root.value])
        located_faults = [
            located(replace(fault, path=fault.path[1:]), root, "rubric") for fault in faults if not fault.reported
        ]
        problems += located_faults
        if not problems:
            return rubrics[0]
    raise InvalidRequest(
        {"rubric": [f"Line {each.line}: {f'{each.path}: ' if each.path else ''}{each.message}." for each in problems]}
    )


def text_of_rubric(rubric: RubricValues) -> str:
    """The rubric as YAML, without the hash that a run stores with it."""
    return dump_values({name: value for name, value in rubric.items() if name != "hash"})


def rubric_metrics(version: DatasetVersion | None) -> list[RubricMetric]:
    """The metric of each rubric that a run on the version can use."""
    rubrics = rubrics_of(version)
    return [metric for name in rubrics if (metric := rubric_metric(f"rubric:{name}", rubrics))]
