"""Logs that the newest tools wrote themselves, with scripted models, and the numbers that the tools report for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client

from benchmarks.analysis.comparisons import compared_runs
from benchmarks.analysis.rankings import places
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.imports import reading
from benchmarks.imports.registered_importers import IMPORTERS
from benchmarks.models import Outcome, Run, RunStatus
from benchmarks.queries.leaderboard import whole_runs
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import import_runs
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint, worked

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


ALL = (
    "agents",
    "choices",
    "epochs",
    "failed",
    "graded",
    "interrupted",
    "measurements",
    "prompts",
    "targets",
    "tools",
    "turns",
)


@pytest.mark.parametrize("name", ALL)
def test_counts_means_tokens_and_cost_are_those_of_inspect(name: str) -> None:
    run = take(name)
    head = header(name)
    usage = head["stats"]["model_usage"]
    own = usage.pop(run.model)
    assert run.total == head["results"]["total_samples"]
    assert run.total - run.errors == head["results"]["completed_samples"]
    assert (run.tokens_in, run.tokens_out) == (own["input_tokens"], own["output_tokens"])
    assert run.cost_usd == pytest.approx(own["total_cost"])
    assert sum(each["total_cost"] for each in usage.values()) == pytest.approx(run.judge_cost_usd or 0)
    assert sum(each["output_tokens"] for each in usage.values()) == run.judge_tokens_out
    means = {metric[8:]: entry["mean"] for metric, entry in run.summary["metrics"].items() if "inspect" in metric}
    assert means == pytest.approx(reported(name))


def test_tokens_and_cost_of_failed_attempts_count_and_each_attempt_is_told() -> None:
    run = take("retried")
    usage = header("retried")["stats"]["model_usage"][run.model]
    assert (run.tokens_in, run.tokens_out) == (usage["input_tokens"], usage["output_tokens"]) == (280, 70)
    assert run.cost_usd == pytest.approx(usage["total_cost"])
    rows = {row.task.task_id: row for row in run.results.select_related("task", "transcript")}
    assert {name: row.attempts for name, row in rows.items()} == {"eu/fr": 1, "as/jp": 1, "eu/de": 2, "sa/pe": 3}
    # Of a failed attempt the log keeps the last of two requests; the run has both.
    assert (rows["eu/fr"].tokens_in, rows["eu/de"].tokens_in) == (40, 60)
    assert rows["eu/de"].transcript.notes == ["Attempt 1 failed: RuntimeError('Connection lost')"]
    assert rows["sa/pe"].outcome == Outcome.PROVIDER_ERROR


@pytest.mark.parametrize(
    ("name", "tokens", "samples"), [("targets", 39, 40), ("targets", 41, 40), ("retried", 219, 220)]
)
def test_tokens_that_contradict_the_samples_are_refused(name: str, tokens: int, samples: int, tmp_path: Path) -> None:
    head = header(name)
    head["stats"]["model_usage"]["mockllm/m"]["input_tokens"] = tokens
    message = f'stats.model_usage: {tokens} input tokens of "mockllm/m", but those of the samples are {samples}'
    with pytest.raises(NotPossible, match=message):
        import_runs(rewritten(name, tmp_path, head))


def test_providers_that_differ_in_temperature_are_variants_of_one_model() -> None:
    runs = [each.run for each in import_runs(LOGS / "promptfoo_sampled_results.json")]
    assert [(run.model, run.variant, run.parameters["temperature"], run.total) for run in runs] == [
        ("openai:chat:gpt-4o", "temperature 0", 0, 3),
        ("openai:chat:gpt-4o", "temperature 1", 1, 3),
    ]
    assert [run.summary["metrics"]["promptfoo:pass"]["mean"] for run in runs] == [1.0, 0.5]
    assert len({run.experiment_id for run in runs}) == 1
    assert runs[0].experiment is not None
    assert len({run.answer_key for run in runs}) == 2, "they are rows of one table that say so"
    assert {run.dataset_version_id for run in runs} == {runs[0].dataset_version_id}


def test_tokens_that_contradict_the_summary_of_promptfoo_are_refused(tmp_path: Path) -> None:
    document = json.loads((LOGS / "promptfoo_sampled_results.json").read_text())
    document["results"]["stats"]["tokenUsage"]["completion"] = 13
    (tmp_path / "results.json").write_text(json.dumps(document))
    with pytest.raises(NotPossible, match=r"tokenUsage.completion: 13, but 12 tokens of the results"):
        import_runs(tmp_path / "results.json")


def test_what_a_scorer_did_not_say_is_an_error_of_the_scorer_and_counts_against_coverage() -> None:
    run = take("unscored")
    by_name = {entry["name"]: entry for entry in header("unscored")["results"]["scores"]}
    graded = run.summary["metrics"]["inspect:model_graded_qa"]
    assert (graded["n"], graded["n_judge_error"]) == (1, by_name["model_graded_qa"]["unscored_samples"])
    assert (graded["mean"], graded["n_expected"], graded["coverage"]) == (1.0, 4, 0.25)
    numbers = {name: run.summary["metrics"][f"inspect:{name}"] for name in ("hesitant/clear", "hesitant/polite")}
    assert [(each["n"], each["n_metric_error"]) for each in numbers.values()] == [(3, 1), (2, 2)]
    assert [each["mean"] for each in numbers.values()] == [1.0, by_name["polite"]["metrics"]["mean"]["value"]]
    assert run.summary["metrics"]["inspect:selective"]["n_metric_error"] == 1, "it declined to score"
    assert "inspect:hesitant" not in run.metrics


def test_what_we_add_to_an_import_does_not_decide_where_its_grader_was_silent() -> None:
    run = take("unscored")
    assert (run.status, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 3)
    assert run.summary["outcomes"] == {Outcome.CORRECT: 1, Outcome.JUDGE_ERROR: 3}
    assert run.summary["metrics"]["exact_match"]["n"] == 4
    bonn = run.results.get(task__task_id="eu/de")
    assert (bonn.state, bonn.error_kind, bonn.value) == ("error", "judge", None)
    assert bonn.error_message == "Unscored in Inspect (grader failed). Grade not found in model output: I cannot tell."


def test_an_import_says_which_metrics_failed_for_how_many_answers() -> None:
    (imported,) = import_runs(LOGS / "inspect_unscored.eval")
    assert imported.unused[:2] == [
        "No score of inspect:model_graded_qa for 3 of 4 answers, which are errors of the metric here.",
        "No score of inspect:selective for 1 of 4 answers, which is an error of the metric here.",
    ]


def test_a_run_whose_grader_was_silent_has_no_rank() -> None:
    version = take("unscored").dataset_version
    (place,) = places(whole_runs(version)[0], "inspect:model_graded_qa")
    assert (place.rank, place.reason) == (
        None,
        "Only 1 of 4 results have a score, and a rank requires 95%: 3 judge errors.",
    )


def test_an_assertion_that_promptfoo_rejects_is_no_error_of_the_provider() -> None:
    (imported,) = import_runs(LOGS / "promptfoo_rejected.json")
    run = imported.run
    assert run.summary["outcomes"] == {Outcome.CORRECT: 1, Outcome.METRIC_ERROR: 3, Outcome.PROVIDER_ERROR: 1}
    assert run.summary["metrics"]["promptfoo:pass"]["coverage"] == 0.2
    lost = run.results.get(task__task_id="test-3")
    assert lost.error_message == "promptfoo rejected an assertion: Unknown assertion type: no-such-assertion"
    assert not lost.scores.filter(metric="exact_match").exists(), "promptfoo did not keep the answer"


def test_tool_calls_of_all_turns_are_kept() -> None:
    run = take("tools")
    first = run.results.order_by("position")[0]
    assert [(call["name"], call["arguments"]) for call in first.transcript.tool_calls] == [("add", {"a": 1, "b": 2})]
    assert (first.transcript.actual_output, first.outcome) == ("3", Outcome.CORRECT)


def test_the_log_of_a_perfect_agent_has_a_perfect_score_by_our_metric() -> None:
    tasks = [
        make_task(
            number,
            input=f"Add {number} and 2 with the tool.",
            expected_output=str(number + 2),
            expected_tools=[ToolUse(name="add", args={"a": number, "b": 2})],
        )
        for number in (1, 2)
    ]
    make_dataset(tasks, slug="agent")
    (imported,) = import_runs(LOGS / "inspect_tools.eval", dataset="agent", metrics=["tool_calls", "exact_match"])
    for metric in ("tool_calls", "exact_match", "inspect:match", "inspect:used_tool"):
        assert imported.run.summary["metrics"][metric]["mean"] == 1.0, metric


def test_what_a_test_case_retrieved_and_should_have_called_is_kept_and_scored() -> None:
    metrics = ["retrieval_recall", "retrieval_precision", "tool_calls"]
    (imported,) = import_runs(LOGS / "deepeval.json", metrics=metrics)
    first, second = imported.run.results.select_related("task", "transcript").order_by("position")[:2]

    assert first.transcript.retrieved == ["Paris is the capital of France.", "Lyon is large."]
    assert first.task.value_of("expected_context") == ["Paris is the capital of France."]
    assert {score.metric: score.value for score in first.scores.filter(metric__startswith="retrieval")} == {
        "retrieval_recall": 1.0,
        "retrieval_precision": 0.5,
    }
    assert second.task.expected_tools == [{"name": "look_up", "args": {"country": "Australia"}}]
    assert second.scores.get(metric="tool_calls").value == 1.0
    assert second.transcript.retrieved is None
    assert not any("ontext" in sentence for sentence in imported.unused)


def test_samples_whose_ids_have_slashes_are_all_read() -> None:
    run = take("failed")
    assert sorted(run.results.values_list("task__task_id", flat=True)) == ["as/jp", "eu/de", "eu/fr", "sa/pe"]


def test_each_of_several_targets_is_accepted() -> None:
    (imported,) = import_runs(LOGS / "inspect_targets.eval", metrics=["exact_match", "contains"])
    vowels = imported.run.results.get(task__task_id="2").task
    assert (vowels.expected_output, vowels.other_answers) == ("a", ["e", "i", "o", "u"])
    assert imported.run.summary["metrics"]["contains"]["mean"] == 0.5, "the first answer is a sentence with one target"


def test_turns_and_images_are_sent_as_the_log_has_them(endpoint: Endpoint) -> None:
    imported = take("turns")
    with reading.Archive.of(LOGS / "inspect_turns.eval") as archive:
        picture_sample, talk_sample = (archive.json(f"samples/{name}_epoch_1.json") for name in ("image", "turns"))
    stored_as = picture_sample["input"][0]["content"][1]["image"].removeprefix("attachment://")
    image = picture_sample["attachments"][stored_as]
    assert image.startswith("data:image/png;base64,iVBOR")
    server = endpoint(lambda asked: "Red")
    worked(make_run(imported.dataset, metrics=["exact_match"], budget_usd=5, max_tokens=50))
    picture, talk = sorted((body["messages"] for body in server.stats.bodies), key=len)
    assert talk == [{"role": message["role"], "content": message["content"]} for message in talk_sample["input"]]
    assert picture[0]["content"] == [
        {"type": "text", "text": "Which color is this?"},
        {"type": "image_url", "image_url": {"url": image}},
    ]
    labels = {task.task_id: task.metadata for task in imported.dataset_version.tasks.all()}
    assert labels == {"image": {"kind": "vision", "hops": 1}, "turns": {"kind": "memory"}}


def sent_by_inspect(name: str, samples: Iterable[str]) -> list[list[dict[str, str]]]:
    """What Inspect sent for each sample, from its log: the messages before the answer."""
    with reading.Archive.of(LOGS / f"inspect_{name}.eval") as archive:
        each = [archive.json(f"samples/{sample}_epoch_1.json")["messages"][:-1] for sample in samples]
    return [[{"role": said["role"], "content": said["content"]} for said in messages] for messages in each]


@pytest.mark.parametrize(("name", "samples"), [("prompts", ("eu/fr", "eu/de")), ("choices", ("1", "2"))])
def test_what_solvers_made_of_the_inputs_is_sent_again(name: str, samples: tuple[str, ...], endpoint: Endpoint) -> None:
    imported = take(name)
    server = endpoint(lambda asked: "Paris")
    asked = {key: text for key, text in imported.parameters.items() if key in ("system_prompt", "prompt_template")}
    worked(make_run(imported.dataset, metrics=["exact_match"], **asked))
    sent = [body["messages"] for body in server.stats.bodies]
    assert sorted(sent, key=str) == sorted(sent_by_inspect(name, samples), key=str)


def test_numbers_by_other_reducers_are_compared_with_the_epochs_and_said(tmp_path: Path) -> None:
    (imported,) = import_runs(LOGS / "inspect_epochs.eval")
    assert imported.unused[-2] == (
        "Epochs are repeats, whose mean counts here. The log also reports: "
        'accuracy of "match" by mode is 0, accuracy of "match" by at_least_2 is 0, '
        'accuracy of "match" by pass_at_2 is 0.666667.'
    )
    for place, name, found in ((1, "mode", 0), (2, "at_least_2", 0), (3, "pass_at_2", 0.666667)):
        head = header("epochs")
        head["results"]["scores"][place]["metrics"]["accuracy"]["value"] = 0.25
        message = f'accuracy of "match" by {name} is 0.25, but the mean of its samples is {found}'
        with pytest.raises(NotPossible, match=message):
            import_runs(rewritten("epochs", tmp_path, head))
    head = header("epochs")
    head["results"]["scores"][1]["scored_samples"] = 3
    with pytest.raises(NotPossible, match='scored_samples of "match" is 3, but 2 samples with a score found'):
        import_runs(rewritten("epochs", tmp_path, head))


TABLE = (
    # log, version of the tool, runs, results, those that it lacks too, scored, mean of the first metric, tokens in
    # and out, cost in dollars
    ("inspect_choices.eval", "0.3.285", 1, 2, 2, 1 / 2, 40, 18, 0.000224),
    ("inspect_epochs.eval", "0.3.285", 1, 6, 6, 1 / 3, 120, 32, 0.000496),
    ("inspect_failed.eval", "0.3.285", 1, 4, 3, 2 / 3, 60, 13, 0.000224),
    ("inspect_graded.eval", "0.3.285", 1, 4, 4, 1 / 2, 80, 18, 0.000304),
    ("inspect_interrupted.eval", "0.3.285", 1, 4, 2, 1 / 2, 40, 9, 0.000152),
    ("inspect_measurements.eval", "0.3.285", 1, 4, 4, 1 / 16, 80, 4, 0.000192),
    ("inspect_prompts.eval", "0.3.285", 1, 2, 2, 1 / 2, 40, 9, 0.000152),
    ("inspect_retried.eval", "0.3.285", 1, 4, 3, 1 / 3, 280, 70, 0.00112),
    ("inspect_targets.json", "0.3.285", 1, 2, 2, 1 / 2, 40, 8, 0.000144),
    ("inspect_targets.eval", "0.3.285", 1, 2, 2, 1 / 2, 40, 8, 0.000144),
    ("inspect_tools.eval", "0.3.285", 1, 2, 2, 1.0, 100, 22, 0.000376),
    ("inspect_turns.eval", "0.3.285", 1, 2, 2, 1 / 2, 40, 7, 0.000136),
    ("promptfoo_graded.json", "0.121.20", 1, 3, 3, 1 / 3, 30, 6, 0.0015),
    ("promptfoo_chats.json", "0.121.20", 1, 2, 2, 1 / 2, 20, 4, 0.001),
    ("promptfoo_sampled_results.json", "0.121.20", 2, 6, 4, 3 / 4, 48, 12, 0.004),
    ("promptfoo_capitals_results.yaml", "0.121.20", 6, 24, 22, 6 / 22, 104, 46, 0.0055),
    ("promptfoo_capitals_results.jsonl", "", 6, 24, 22, 6 / 22, 104, 46, 0.0055),
    ("acme__tiny/samples_sums_*.jsonl", "0.4.13", 1, 4, 4, 1 / 4, None, None, None),
    ("acme__tiny/samples_capitals_*.jsonl", "0.4.13", 1, 5, 5, 3 / 5, None, None, None),
    ("acme__chat/samples_words_*.jsonl", "0.4.13", 1, 2, 2, 1.0, None, None, None),
    ("acme__turns/samples_words_*.jsonl", "0.4.13", 1, 3, 3, 2 / 3, None, None, None),
    ("deepeval.json", "", 1, 4, 4, 1 / 4, 80, 14, 0.01),
)
"""Theirs and ours: the test compares both with it.

Lines of promptfoo have no version and no totals, so they are added; lm-evaluation-harness reports no tokens and costs;
DeepEval states its version nowhere, and tokens and costs of each test case.
"""


def numbers_of_inspect(name: str) -> tuple[Any, ...]:
    of_archive = name.endswith(".eval")
    head = header(name[8:-5]) if of_archive else json.loads((LOGS / name).read_text())
    usage = head["stats"]["model_usage"][head["eval"]["model"]]
    scored = head["results"]["completed_samples"]
    total = head["results"]["scores"][0]["metrics"]
    mean = (total.get("accuracy") or total["mean"])["value"]
    return scored, mean, usage["input_tokens"], usage["output_tokens"], usage["total_cost"]


def numbers_of_promptfoo(name: str) -> tuple[Any, ...]:
    text = (LOGS / name).read_text()
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in text.splitlines()]
        scored = [row for row in rows if row["failureReason"] != 2]
        usage = [row["tokenUsage"] for row in scored]
        passes, cost = sum(row["success"] for row in scored), sum(row["cost"] for row in rows)
        tokens = sum(each["prompt"] for each in usage), sum(each["completion"] for each in usage)
        return len(scored), passes / len(scored), *tokens, cost
    results = (json.loads(text) if name.endswith(".json") else yaml.safe_load(text))["results"]
    stats, usage = results["stats"], results["stats"]["tokenUsage"]
    scored = stats["successes"] + stats["failures"]
    cost = sum(prompt["metrics"]["cost"] for prompt in results["prompts"])
    return scored, stats["successes"] / scored, usage["prompt"], usage["completion"], cost


def numbers_of_harness(name: str) -> tuple[Any, ...]:
    (path,) = LOGS.joinpath(name).parent.glob("results_*.json")
    stated = json.loads(path.read_text())
    task = name.split("_")[3]
    filters = [each["name"] for each in stated["configs"][task].get("filter_list", [])] or ["none"]
    first = stated["configs"][task]["metric_list"][0]["metric"]
    return stated["n-samples"][task]["effective"], stated["results"][task][f"{first},{filters[0]}"], None, None, None


def numbers_of_deepeval(name: str) -> tuple[Any, ...]:
    stated = json.loads((LOGS / name).read_text())["testRunData"]
    scored = stated["testPassed"] + stated["testFailed"]
    sums = [
        sum(case[key] for case in stated["testCases"]) for key in ("inputTokenCount", "outputTokenCount", "tokenCost")
    ]
    return scored, stated["testPassed"] / scored, *sums


READERS = {
    "inspect": numbers_of_inspect,
    "promptfoo": numbers_of_promptfoo,
    "acme": numbers_of_harness,
    "deepeval": numbers_of_deepeval,
}
PREFIXES = {
    "inspect": "inspect_",
    "promptfoo": "promptfoo_",
    "lm-eval": "acme__",
    "deepeval": "deepeval",
    "atif": "atif_",
}
"""Importer → how the names of its logs begin."""
VERSIONS = ("inspect_ai", "promptfoo", "lm_eval")


def total(numbers: Iterable[Any]) -> Any:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_the_table_of_logs(row: tuple[Any, ...]) -> None:
    name, version, count, results, *numbers = row
    read = READERS[re.split(r"[_.]", name)[0]]
    assert read(name) == pytest.approx(tuple(numbers))
    (path,) = LOGS.glob(name)
    others = path.parent.glob("results_*.json") if read is numbers_of_harness else ()
    runs = [imported.run for imported in import_runs(path, *others)]
    assert (len(runs), sum(run.total for run in runs)) == (count, results)
    assert {next(filter(None, map(run.environment.get, VERSIONS)), "") for run in runs} == {version}
    first = [run.summary["metrics"][run.metrics[0]] for run in runs]
    scored = sum(metric["n"] for metric in first)
    mean = sum(metric["mean"] * metric["n"] for metric in first) / scored
    spent = [total(getattr(run, field) for run in runs) for field in ("tokens_in", "tokens_out", "cost_usd")]
    assert (scored, mean, *spent) == pytest.approx(tuple(numbers))


def test_the_document_names_every_tool_with_the_tested_version() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "import.md").read_text()
    for importer in IMPORTERS.values():
        assert f"| [{importer.title}](" in page
        versions = {version for name, version, *_ in TABLE if name.startswith(PREFIXES[importer.name])} - {""}
        assert all(f"{importer.title} {version}" in page for version in versions), importer.title


def test_yaml_and_json_lines_of_one_evaluation_give_the_same_runs_whose_prompts_share_all_tasks() -> None:
    of_yaml, of_lines = (
        sorted(
            (each.run for each in import_runs(LOGS / f"promptfoo_capitals_results.{form}")),
            key=lambda run: (run.model, run.variant),
        )
        for form in ("yaml", "jsonl")
    )
    names = [(model, variant) for model in ("echo", "fails", "knows") for variant in ("plain", "with a reason")]
    for runs in (of_yaml, of_lines):
        assert [(run.model, run.variant) for run in runs] == names
        for plain, reasoned in zip(runs[::2], runs[1::2], strict=True):
            (compared,) = compared_runs([plain, reasoned], metrics=["promptfoo:pass"])
            failed = plain.model == "fails"
            assert compared.comparison.n_shared == (3 if failed else 4), "without the request that failed"
            assert {plain.errors, reasoned.errors} == {int(failed)}
    tasks = [
        list(runs[0].dataset_version.tasks.order_by("position").values_list("input", "expected_output", "metadata"))
        for runs in (of_yaml, of_lines)
    ]
    assert tasks[0] == tasks[1]
    assert tasks[0][1] == ("country: Peru\ncontinent: America", "Lima", {"hops": 1})
    assert [run.parameters for run in of_yaml] == [run.parameters for run in of_lines]
    assert {run.dataset_version_id for run in of_yaml} == {of_yaml[0].dataset_version_id}


def test_a_chat_of_promptfoo_is_sent_as_promptfoo_sent_it_and_its_sums_of_scores_are_those_of_the_file(
    endpoint: Endpoint,
) -> None:
    path = LOGS / "promptfoo_chats.json"
    (imported,), document = import_runs(path), json.loads(path.read_text())
    stated = document["results"]["prompts"][0]["metrics"]
    means = {name: row["mean"] * row["n"] for name, row in imported.run.summary["metrics"].items()}
    assert (means["promptfoo#score"], means["promptfoo#profit"]) == (stated["score"], stated["namedScores"]["profit"])
    server = endpoint(lambda asked: "Lima")
    worked(make_run(imported.run.dataset, metrics=["exact_match"]))
    asked = [json.loads(row["prompt"]["raw"]) for row in document["results"]["results"]]
    assert sorted((body["messages"] for body in server.stats.bodies), key=str) == sorted(asked, key=str)


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


def test_the_tags_of_the_evaluation_are_those_of_the_run(tmp_path: Path) -> None:
    for place in ("log", "eval"):
        head = header("targets")
        head["eval"]["eval_id"] = f"evaluation {place}"
        (head if place == "log" else head["eval"])["tags"] = ["nightly", place]
        (imported,) = import_runs(rewritten("targets", tmp_path, head))
        assert imported.run.tags == ["nightly", place]


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
    lacking = run.results.get(task__task_id="sa/pe")
    assert (lacking.outcome, lacking.error_kind) == (Outcome.CANCELLED, "cancelled")
    match = run.summary["metrics"]["inspect:match"]
    assert (match["n"], match["n_expected"], match["mean"]) == (2, 4, 0.5)
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
    with pytest.raises(
        NotPossible, match=r'accuracy of "match" by mean is 0.5, but the mean of its samples is 0.333333'
    ):
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


@pytest.mark.parametrize(
    "names",
    [
        ("inspect_targets.eval", "inspect_targets.json"),
        ("promptfoo_sampled_results.json", "promptfoo_sampled_results.jsonl"),
        ("promptfoo_capitals_results.yaml", "promptfoo_capitals_results.jsonl"),
    ],
)
def test_one_evaluation_in_two_formats_is_imported_once(names: tuple[str, str]) -> None:
    for first, second in (names, names[::-1]):
        runs = {each.run.pk for each in import_runs(LOGS / first)}
        again = import_runs(LOGS / second)
        assert {each.run.pk for each in again} == runs == {*Run.objects.values_list("pk", flat=True)}
        assert not any(each.is_new for each in again)
        Run.objects.all().delete()


@pytest.mark.parametrize(
    ("name", "asked", "otherwise"),
    [
        ("inspect_targets.json", "Name a", "Say a"),
        ("promptfoo_sampled_results.json", "What is", "How much is"),
        ("acme__tiny/samples_sums_2026-11-23T10-37-09.627376.jsonl", "What is", "How much is"),
        ("deepeval.json", "What is", "Which is"),
    ],
)
def test_other_questions_with_the_same_answers_are_another_run(
    name: str, asked: str, otherwise: str, tmp_path: Path
) -> None:
    text = (LOGS / name).read_text()
    if name.startswith("inspect"):  # whose id of the evaluation would tell them apart
        document = json.loads(text)
        document["eval"].pop("eval_id")
        text = json.dumps(document)
    assert asked in text
    files = [tmp_path / folder / Path(name).name for folder in ("first", "second")]
    for file, content in zip(files, (text, text.replace(asked, otherwise)), strict=True):
        file.parent.mkdir()
        file.write_text(content)
    first, second = ({each.run.pk for each in import_runs(file)} for file in files)
    assert first.isdisjoint(second)


def test_another_evaluation_with_the_same_answers_is_another_run(tmp_path: Path) -> None:
    import_runs(LOGS / "inspect_targets.eval")
    head = header("targets")
    head["eval"]["eval_id"] = "another"
    (other,) = import_runs(rewritten("targets", tmp_path, head))
    assert other.is_new
    changed = header("targets")
    changed["eval"]["model"] = "mockllm/other"
    changed["stats"]["model_usage"] = {}
    (of_other_model,) = import_runs(rewritten("targets", tmp_path, changed))
    assert of_other_model.is_new
