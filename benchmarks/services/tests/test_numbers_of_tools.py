"""Every mean, n, coverage, token sum and outcome of every imported log equals what its tool reports in the file.

The reports are read here without the importers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.imports import reading
from benchmarks.models import Run
from benchmarks.services.imports import import_runs

pytestmark = pytest.mark.django_db(transaction=True)
LOGS = Path(__file__).parents[2] / "imports" / "tests" / "tool_logs"


@dataclass(frozen=True)
class Told:
    """What a tool reports of its runs together. ``means`` are metric → mean and n; ``ends`` how results ended."""

    means: dict[str, tuple[float, int]]
    total: int
    tokens: tuple[int, int] | None
    ends: dict[str, int]


def of_inspect(path: Path) -> Told:
    if path.suffix == ".eval":
        with reading.Archive.of(path) as archive:
            head: Any = archive.json("header.json")
    else:
        head = json.loads(path.read_text())
    results, epochs = head["results"], head["eval"]["config"].get("epochs") or 1
    means = {}
    for entry in results["scores"]:
        mean = entry["metrics"].get("accuracy") or entry["metrics"].get("mean")
        name = entry["name"] if entry["name"] == entry["scorer"] else f"{entry['scorer']}/{entry['name']}"
        if mean and entry.get("reducer") in (None, "mean"):
            means[name] = (mean["value"], entry["scored_samples"] * epochs)
    usage = head["stats"]["model_usage"][head["eval"]["model"]]
    tokens = usage["input_tokens"], usage["output_tokens"]
    total = results["total_samples"]
    return Told(means, total, tokens, {"error": total - results["completed_samples"]})


def of_promptfoo(path: Path) -> Told:
    text = path.read_text()
    results = (json.loads(text) if path.suffix == ".json" else yaml.safe_load(text))["results"]
    stats, ends = results["stats"], Counter[str]()
    for column in results["prompts"]:
        for key, end in (("testPassCount", "correct"), ("testFailCount", "wrong"), ("testErrorCount", "error")):
            ends[end] += column["metrics"][key]
    graded = ends["correct"] + ends["wrong"]
    usage = stats["tokenUsage"]
    means = {"pass": (ends["correct"] / graded, graded)}
    return Told(means, graded + ends["error"], (usage["prompt"], usage["completion"]), ends)


def of_harness(path: Path) -> Told:
    (report,) = path.parent.glob("results_*.json")
    stated = json.loads(report.read_text())
    task = path.name.split("_")[1]
    n = stated["n-samples"][task]["effective"]
    averaged = {each["metric"] for each in stated["configs"][task]["metric_list"] if each["aggregation"] == "mean"}
    means = {
        name.removesuffix(",none"): (value, n)
        for name, value in stated["results"][task].items()
        if name.partition(",")[0] in averaged
    }
    correct = round(next(iter(means.values()))[0] * n)
    return Told(means, n, None, {"correct": correct, "wrong": n - correct})


def of_deepeval(path: Path) -> Told:
    stated = json.loads(path.read_text())["testRunData"]
    means = {}
    for totals in stated["metricsScores"]:
        means[totals["metric"]] = (sum(totals["scores"]) / len(totals["scores"]), totals["passes"] + totals["fails"])
    cases = stated["testCases"]
    tokens = sum(case["inputTokenCount"] for case in cases), sum(case["outputTokenCount"] for case in cases)
    # A case with a metric that failed ends here as an error of the metric; each of these is a failed one in DeepEval.
    broken = [case for case in cases if any(metric.get("error") for metric in case["metricsData"])]
    ends = {"correct": stated["testPassed"], "wrong": stated["testFailed"] - len(broken), "metric_error": len(broken)}
    return Told(means, len(cases), tokens, ends)


CASES = [
    *((of_inspect, path.name) for path in sorted(LOGS.glob("inspect_*.eval"))),
    (of_inspect, "inspect_targets.json"),
    *((of_promptfoo, name) for name in ("promptfoo_graded.json", "promptfoo_chats.json")),
    *((of_promptfoo, f"promptfoo_{name}") for name in ("sampled_results.json", "capitals_results.yaml")),
    *((of_harness, str(path.relative_to(LOGS))) for path in sorted(LOGS.glob("acme__*/samples_*.jsonl"))),
    (of_deepeval, "deepeval.json"),
]
ERRORS = ("provider_error", "cancelled")


def ends_of(runs: Sequence[Run], names: Sequence[str]) -> dict[str, int]:
    ends: Counter[str] = Counter()
    for run in runs:
        for outcome, count in run.summary["outcomes"].items():
            ends["error" if outcome in ERRORS else outcome] += count
    return {name: ends[name] for name in names}


@pytest.mark.parametrize(("reader", "name"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_numbers_of_a_log_are_those_of_its_tool(reader: Any, name: str) -> None:
    path = LOGS / name
    told: Told = reader(path)
    beside = path.parent.glob("results_*.json") if reader is of_harness else ()
    runs = [each.run for each in import_runs(path, *beside)]
    assert sum(run.total for run in runs) == told.total
    assert told.means
    for metric, (mean, n) in told.means.items():
        rows = [
            row
            for run in runs
            for key, row in run.summary["metrics"].items()
            if key in (f"{run.import_format}:{metric}", f"{run.import_format}#{metric}")
        ]
        assert sum(row["n"] for row in rows) == n, metric
        assert sum((row["mean"] or 0) * row["n"] for row in rows) / n == pytest.approx(mean), metric
        assert sum(row["n"] for row in rows) / sum(row["n_expected"] for row in rows) == pytest.approx(n / told.total)
        for row in rows:
            assert row["coverage"] == pytest.approx(row["n"] / row["n_expected"]), metric
    if told.tokens is not None:
        assert (sum(run.tokens_in or 0 for run in runs), sum(run.tokens_out or 0 for run in runs)) == told.tokens
    assert ends_of(runs, [*told.ends]) == dict(told.ends)
