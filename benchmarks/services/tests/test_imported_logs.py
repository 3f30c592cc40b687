"""Logs that the newest Inspect wrote itself, with scripted models, and the numbers that Inspect reports for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks.imports import reading
from benchmarks.models import Outcome, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import import_runs

pytestmark = pytest.mark.django_db(transaction=True)

LOGS = Path(__file__).parents[2] / "imports" / "tests" / "tool_logs"


def take(name: str) -> Run:
    (imported,) = import_runs(LOGS / f"inspect_{name}.eval")
    imported.run.refresh_from_db()
    return imported.run


def header(name: str) -> dict[str, Any]:
    with reading.Archive.of(LOGS / f"inspect_{name}.eval") as archive:
        document: dict[str, Any] = archive.json("header.json")
        return document


def reported(name: str) -> dict[str, Any]:
    """Each scorer's mean as the log's own results have it, by the name of its metric here."""
    means = {}
    for entry in header(name)["results"]["scores"]:
        if entry.get("reducer") in (None, "mean"):
            total = entry["metrics"].get("accuracy") or entry["metrics"]["mean"]
            scorer = entry["name"] if entry["name"] == entry["scorer"] else f"{entry['scorer']}/{entry['name']}"
            means[scorer] = total["value"]
    return means


ALL = ("choices", "epochs", "failed", "graded", "interrupted", "measurements", "targets", "tools")


@pytest.mark.parametrize("name", ALL)
def test_counts_means_tokens_and_cost_are_those_of_inspect(name: str) -> None:
    run = take(name)
    head = header(name)
    usage = head["stats"]["model_usage"]
    own = usage.pop(run.model)
    assert run.total == head["results"]["total_samples"] - (name == "interrupted")
    assert run.total - run.errors == head["results"]["completed_samples"]
    assert (run.tokens_in, run.tokens_out) == (own["input_tokens"], own["output_tokens"])
    assert run.cost_usd == pytest.approx(own["total_cost"])
    assert sum(each["total_cost"] for each in usage.values()) == pytest.approx(run.judge_cost_usd or 0)
    assert sum(each["output_tokens"] for each in usage.values()) == run.judge_tokens_out
    means = {metric[8:]: entry["mean"] for metric, entry in run.summary["metrics"].items() if "inspect" in metric}
    assert means == pytest.approx(reported(name))


def test_tool_calls_of_all_turns_are_kept() -> None:
    run = take("tools")
    first = run.results.order_by("position")[0]
    assert [(call["name"], call["arguments"]) for call in first.transcript.tool_calls] == [("add", {"a": 1, "b": 2})]
    assert (first.transcript.actual_output, first.outcome) == ("3", Outcome.CORRECT)


def test_samples_whose_ids_have_slashes_are_all_read() -> None:
    run = take("failed")
    assert sorted(run.results.values_list("task__task_id", flat=True)) == ["as/jp", "eu/de", "eu/fr", "sa/pe"]


def test_each_of_several_targets_is_accepted() -> None:
    (imported,) = import_runs(LOGS / "inspect_targets.eval", metrics=["exact_match", "regex"])
    assert imported.run.summary["metrics"]["regex"]["mean"] == 0.0, "the answer is a sentence"
    vowels = imported.run.results.get(task__task_id="2").task
    assert (vowels.expected_output, vowels.pattern) == ("", r"(?i)^\s*(?:a|e|i|o|u)[\s.]*$")
    assert imported.run.summary["metrics"]["exact_match"]["n"] == 0


def test_values_below_0_and_above_1_are_measurements() -> None:
    run = take("measurements")
    assert run.metrics[0] == "inspect#profit"
    interval = run.summary["metrics"]["inspect#profit"]
    assert (interval["mean"], interval["n"]) == (0.0625, 4)
    assert interval["low"] < -1 < 1 < interval["high"]


def test_the_headline_of_the_log_decides_the_outcome(tmp_path: Path) -> None:
    run = take("graded")
    assert run.metrics[:3] == ["inspect:model_graded_qa", "inspect:style/clear", "inspect:style/polite"]
    changed = header("graded")
    changed["results"]["headline"] |= {"scorer": "style", "score": "polite"}
    other = rewritten("graded", tmp_path, changed)
    (imported,) = import_runs(other)
    assert imported.run.metrics[0] == "inspect:style/polite"


def test_what_the_judge_used_is_part_of_the_cost() -> None:
    run = take("graded")
    assert run.judge_model == "mockllm/judge"
    assert (run.judge_tokens_in, run.judge_tokens_out) == (80, 32)
    assert run.cost_usd == pytest.approx(0.000304)
    assert run.judge_cost_usd == pytest.approx(0.000416)
    assert sum(row.judge_cost_usd for row in run.results.all()) == pytest.approx(run.judge_cost_usd)


def test_a_sample_that_the_end_of_the_evaluation_interrupted_is_cancelled() -> None:
    run = take("interrupted")
    stopped = run.results.get(task__task_id="as/jp")
    assert (stopped.outcome, stopped.error_kind) == (Outcome.CANCELLED, "cancelled")
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    assert run.error_message == "Status in Inspect: cancelled. The log has 3 of 4 samples."
    assert take("failed").results.get(task__task_id="as/jp").outcome == Outcome.PROVIDER_ERROR


def test_the_time_is_the_working_time_of_the_sample() -> None:
    with reading.Archive.of(LOGS / "inspect_tools.eval") as archive:
        sample = archive.json("samples/1_epoch_1.json")
    first = take("tools").results.get(task__task_id="1")
    assert first.duration_ms == pytest.approx(1_000 * sample["working_time"])
    assert sample["working_time"] > sample["output"]["time"]


def rewritten(name: str, folder: Path, head: dict[str, Any], without: str = "") -> Path:
    """The log with another header, and without one of its samples."""
    path = folder / f"{name}.eval"
    with reading.zipfile.ZipFile(LOGS / f"inspect_{name}.eval") as old, reading.zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            if member.startswith("samples/") and member != without:
                new.writestr(member, old.read(member))
        new.writestr("header.json", json.dumps(head))
    return path


def test_a_log_that_does_not_match_its_own_results_is_refused_with_both_numbers(tmp_path: Path) -> None:
    head = header("epochs")
    missing = rewritten("epochs", tmp_path, head, without="samples/eu/fr_epoch_2.json")
    with pytest.raises(NotPossible, match=r"results\.completed_samples: 6, but 5 samples without an error found"):
        import_runs(missing)
    head["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.5
    with pytest.raises(NotPossible, match=r'accuracy of "match" is 0.5, but the mean of its samples is 0.333333'):
        import_runs(rewritten("epochs", tmp_path, head))
    assert not Run.objects.exists()
    # A metric of another package may count otherwise, whatever its name.
    head["eval"]["scorers"][0]["metrics"] = [{"name": "mine/accuracy", "options": {}}]
    assert import_runs(rewritten("epochs", tmp_path, head))


@pytest.mark.parametrize("file", ["inspect_measurements.eval", "inspect_graded.eval", "promptfoo_graded.json"])
def test_pages_and_api_show_measurements_below_0_and_judges_without_a_price(file: str, admin_client: Client) -> None:
    (imported,) = import_runs(LOGS / file)
    run = imported.run
    for address in (
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/results/{run.results.all()[0].pk}/",
        f"/leaderboard/?dataset={run.dataset.slug}&metric=exact_match",
        f"/api/v1/benchmarks/runs/{run.pk}",
    ):
        assert admin_client.get(address).status_code == 200, address
