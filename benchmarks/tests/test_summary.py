"""A summary is read as what it is, by whichever version it was stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import codec
from benchmarks.models import Run
from benchmarks.summary import NO_NUMBERS, Breakdown, Expected, Summary, Threshold, Times, read_summary
from tests.support.differences import lost

SNAPSHOTS = Path(__file__).parents[2] / "tests" / "snapshots"
GOLDEN = sorted(SNAPSHOTS.glob("runs/*/summary.json"))
FIRST_RELEASE = sorted(SNAPSHOTS.glob("stored_by_0.1.0/*.json"))
"""Runs, a calibration and a preference run as version 0.1.0 stored them; never made anew."""
TIMES = {"n": 2, "mean": 1.5, "p50": 1.5, "p95": 1.95, "max": 2.0}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_what_is_read_is_stored_as_it_was(path: Path) -> None:
    # A snapshot has the kind of what varies in place of it.
    stored = json.loads(path.read_text(encoding="utf-8").replace('"(dict)"', "{}"))
    assert read_summary(stored["summary"]).stored() == stored["summary"]
    assert Breakdown.read(stored["breakdown"]).stored() == stored["breakdown"]


@pytest.mark.parametrize("path", FIRST_RELEASE, ids=lambda path: path.stem)
def test_what_the_first_release_stored_is_read_without_loss(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    read = {
        "summary": read_summary(stored["summary"]).stored(),
        "breakdown": Breakdown.read(stored["breakdown"]).stored(),
    }
    assert list(lost(stored, read)) == []


def test_a_summary_of_an_earlier_version_has_defaults_for_what_it_lacks() -> None:
    stored = {
        "metrics": {"exact_match": {"mean": 0.5, "n": 4, "low": 0.1, "high": 0.9, "removed": 1}},
        "thresholds": [{"measure": "n_shapes", "group": "", "guess": 0.5, "status": "flat"}],
    }
    numbers = read_summary(stored)
    assert (numbers.metrics["exact_match"].mean, numbers.metrics["exact_match"].n_expected) == (0.5, None)
    assert numbers.thresholds == (Threshold("n_shapes", "", 0.5, "flat"),)
    assert (numbers.outcomes, numbers.failures, numbers.chance, numbers.subset) == ({}, (), None, None)


@pytest.mark.parametrize(("mean", "n", "expected", "wrong", "right"), [(0.333333333333, 3, 4, 0.25, 0.5)])
def test_missing_scores_leave_shares_that_meet_their_threshold_exactly(
    mean: float, n: int, expected: int, wrong: float, right: float
) -> None:
    numbers = Expected(mean=mean, n=n, n_expected=expected)
    assert (numbers.if_missing_wrong, numbers.if_missing_right) == (wrong, right)


def test_before_the_first_summary_there_is_nothing_and_nothing_fails() -> None:
    run = Run()
    assert run.numbers == Summary()
    assert run.numbers_of("exact_match") is NO_NUMBERS
    assert run.parts.at("difficulty", "easy", "exact_match").mean is None
    assert run.n_doubtful == 0


def test_a_run_whose_numbers_change_is_read_anew() -> None:
    run = Run(summary={"metrics": {"exact_match": {"mean": 0.5}}})
    assert run.numbers is run.numbers
    assert run.numbers_of("exact_match").mean == 0.5
    run.summary = {"metrics": {"exact_match": {"mean": 0.75}}}
    assert run.numbers_of("exact_match").mean == 0.75


def test_what_was_not_measured_is_stored_as_an_empty_object_and_what_is_not_known_yet_not_at_all() -> None:
    stored = Summary(latency_ms=Times(2, 1.5, 1.5, 1.95, 2.0), thresholds=[]).stored()
    assert (stored["latency_ms"], stored["first_token_ms"], stored["thresholds"]) == (TIMES, {}, [])
    assert "chance" not in stored
    assert [name for name, _ in read_summary(stored).times] == ["latency_ms"]


def test_a_field_that_is_not_one_is_missing() -> None:
    with pytest.raises(AttributeError, match="metric"):
        read_summary({}).metric  # type: ignore[attr-defined]  # noqa: B018
    assert codec.read(Times, {**TIMES, "unknown": 1}) == Times(**TIMES)  # type: ignore[arg-type]
