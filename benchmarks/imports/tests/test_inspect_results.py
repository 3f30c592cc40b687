"""Numbers of logs that were reduced from epochs, against numbers that Inspect's own reducers gave for the values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.tests.logs import inspect_log, inspect_sample, read_runs, write_json

EPOCHS: dict[str, list[Any]] = {"a": ["C", "I", "N", "C", "I"], "b": ["I", "C", "C", "C", "I"], "c": ["I", "N", "I"]}
PARTIAL: dict[str, list[Any]] = {"a": [0.25, 0.75, 0.5, 1], "b": [0.75, 0.75, 0]}
INSPECT = (
    # values, reducer, accuracy of inspect_ai 0.3.285, samples that it scored
    (EPOCHS, None, 1 / 3, 3),
    (EPOCHS, "mean", 1 / 3, 3),
    (EPOCHS, "median", 1 / 3, 3),
    (EPOCHS, "mode", 2 / 3, 3),
    (EPOCHS, "max", 2 / 3, 3),
    (EPOCHS, "at_least_1", 2 / 3, 3),
    (EPOCHS, "at_least_2", 2 / 3, 3),
    (EPOCHS, "pass_at_1", 1 / 3, 3),
    (EPOCHS, "pass_at_2", 1.6 / 3, 3),
    (EPOCHS, "pass_at_4", 1.0, 2),
    (EPOCHS, "pass_k_2", 0.4 / 3, 3),
    (PARTIAL, "mean", 0.5625, 2),
    (PARTIAL, "median", 0.6875, 2),
    (PARTIAL, "mode", 0.5, 2),
    (PARTIAL, "max", 0.875, 2),
)
"""The first sample has as many C as I, so that its mode is C, the first of both; the last has fewer than 4 epochs."""


def log_of(epochs: dict[str, list[Any]], reducer: str | None, stated: float, **fields: Any) -> dict[str, Any]:
    """A log whose results state an accuracy over the samples, after the reducer."""
    samples = [
        inspect_sample(1, value, epoch, id=sample)
        for sample, values in epochs.items()
        for epoch, value in enumerate(values, 1)
    ]
    entry = {"name": "match", "scorer": "match", "reducer": reducer, "metrics": {"accuracy": {"value": stated}}}
    log = inspect_log(*samples, results={"scores": [{**entry, **fields}]})
    log["eval"]["scorers"] = [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}]
    return log


def unused(folder: Path, *log: Any, **fields: Any) -> list[str]:
    (run,) = read_runs(write_json(folder / "log.json", log_of(*log, **fields)))
    return [sentence for sentence in run.unused if not sentence.startswith("Not imported")]


def test_means_are_compared_by_the_reducer_of_the_log(tmp_path: Path) -> None:
    for epochs, reducer, stated, scored in INSPECT:
        said = unused(tmp_path, epochs, reducer, stated, scored_samples=scored)
        shown = f'Epochs are repeats, whose mean counts here. The log also reports: accuracy of "match" by {reducer}'
        assert said == ([f"{shown} is {stated:.6g}."] if reducer not in (None, "mean") else []), (epochs, reducer)
        for wrong in (stated + 0.01, stated - 0.01):
            with pytest.raises(ImportProblem, match="but the mean of its samples is"):
                unused(tmp_path, epochs, reducer, wrong)
        with pytest.raises(ImportProblem, match=f"scored_samples of .* is {scored + 4}, but {scored} sample"):
            unused(tmp_path, epochs, reducer, stated, scored_samples=scored + 4)


def test_without_a_reducer_the_mean_may_be_of_samples_or_of_epochs(tmp_path: Path) -> None:
    assert unused(tmp_path, EPOCHS, None, 5 / 13, scored_samples=13) == []
    with pytest.raises(ImportProblem, match=r"accuracy of \"match\" is 0.5, but the mean of its samples is 0.333333"):
        unused(tmp_path, EPOCHS, None, 0.5)


def test_a_reducer_that_only_the_evaluation_knows_is_said_not_to_be_checked(tmp_path: Path) -> None:
    for epochs, reducer in (
        (EPOCHS, "best_of_mine"),
        (EPOCHS, "at_least_x"),
        (EPOCHS, "at_least_" + "9" * 9),
        (PARTIAL, "at_least_2"),
        (PARTIAL, "pass_at_2"),
    ):
        assert unused(tmp_path, epochs, reducer, 0.9) == [
            "Not checked, because only its evaluation knows how epochs are reduced: "
            f'accuracy of "match" by {reducer} is 0.9.'
        ]


def test_metrics_of_other_packages_and_with_parameters_may_count_otherwise(tmp_path: Path) -> None:
    for metric in ({"value": 0.9, "params": {"to_float": "mine"}}, {"value": 0.9, "group": "grouped"}, {"value": "?"}):
        assert unused(tmp_path, EPOCHS, "mode", 0, metrics={"accuracy": metric}) == [], metric
    log = log_of(EPOCHS, "mode", 0.9)
    log["eval"]["scorers"][0]["metrics"] = [{"name": "mine/accuracy"}]
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert len(run.results) == 13
