"""Experiment files: the request of an experiment in YAML, with every mistake at its line; and the starter, a few tasks
of a shipped dataset of each kind, for a first look at a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.dataset_format.files import display_name, read_content
from benchmarks.dataset_format.parsing import located, read_yaml
from benchmarks.dataset_format.problems import Problem
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.models import Dataset
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.requests import checked_experiment


def read_experiment_file(path: Path, models: Sequence[str] = ()) -> dict[str, object]:
    """The request in a file, checked as ``start_experiment`` checks it; with these models in place of the file's.

    Raises ``InvalidRequest`` with all problems of the file, each with its line.
    """
    content = read_content(path, path.parent)
    problems: list[Problem] = []
    root = None
    if isinstance(content, Problem):
        problems.append(content)
    else:
        file = display_name(path, path.parent)
        root = read_yaml(content.data, file, problems, "name, datasets and models")
    if root is not None and not problems:
        if models and isinstance(root.value, dict):
            root.value["models"] = list(models)
        faults = checked_experiment(root.value)[2]
        problems = [located(fault, root, display_name(path, path.parent)) for fault in faults]
    if problems or root is None:
        # A field is marked for the dashboard, which has labels; a file has the names themselves.
        texts = (str(problem) for problem in sorted(problems, key=lambda problem: problem.line))
        raise InvalidRequest({"file": [text.replace("⟨", "").replace("⟩", "") for text in texts]})
    assert isinstance(root.value, dict), "anything else is a fault"
    return root.value


STARTER = "starter"
"""Its name on the command line, in place of a file."""
STARTER_FILE = Path(__file__).with_name("starter.yaml")


def starter_experiment(models: Sequence[str] = ()) -> dict[str, Any] | None:
    """The request of the shipped file, with these models in place of the file's.

    Datasets that are not stored, or whose metrics do not work on this machine, are left out, and the description names
    them. If none is left, the request is about the first dataset that can be scored; ``None`` if there is none.
    """
    request: dict[str, Any] = yaml.safe_load(STARTER_FILE.read_text(encoding="utf-8"))
    stored = Dataset.objects.filter(current_version__isnull=False).select_related("current_version")
    ordered = stored.order_by("kind", "slug")
    metrics = {dataset.slug: names for dataset in ordered if (names := preset_metrics(dataset))}
    request["models"] = list(models) or request["models"]
    if left_out := [slug for slug in request["datasets"] if slug not in metrics]:
        request["description"] += (
            f" Not included, because they are not imported or cannot be scored here: {', '.join(left_out)}."
        )
    if datasets := [slug for slug in request["datasets"] if slug in metrics]:
        return request | {"datasets": datasets}
    if not metrics:
        return None
    first = next(iter(metrics))
    return request | {"datasets": [first], "metrics": metrics[first]}
