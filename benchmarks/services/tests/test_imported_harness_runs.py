"""Files that lm-evaluation-harness and DeepEval wrote themselves, and the numbers that these report for them."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from benchmarks.imports.registered_importers import logs_in
from benchmarks.models import Dataset, Outcome, Result, Run, RunStatus
from benchmarks.queries.resources.base import Reader, json_of
from benchmarks.queries.resources.runs import RunResource
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import Imported, import_runs
from benchmarks.services.runs import control
from benchmarks.services.runs.exports import export_pieces
from tests.support.factories import make_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)

LOGS = Path(__file__).parents[2] / "imports" / "tests" / "tool_logs"
DEEPEVAL = LOGS / "deepeval.json"
HARNESS = {"sums": "acme__tiny", "capitals": "acme__tiny", "words": "acme__chat"}
"""Task → folder of its files."""
MEANS = {
    "sums": {"exact_match,strict-match", "exact_match,flexible-extract", "exact_match,majority"},
    "capitals": {"acc,none", "acc_norm,none"},
    "words": {"exact_match,none"},
}


def files(task: str) -> tuple[Path, Path]:
    """The samples and the results of a task."""
    folder = LOGS / HARNESS[task]
    (samples,), (results,) = folder.glob(f"samples_{task}_*.jsonl"), folder.glob("results_*.json")
    return samples, results


def take(task: str) -> Run:
    run = imported(task).run
    run.refresh_from_db()
    return run


def imported(task: str) -> Imported:
    samples, results = files(task)
    return import_runs(samples, results)[0]


@pytest.mark.parametrize("task", HARNESS)
def test_counts_and_means_are_those_of_the_results_file(task: str) -> None:
    run = take(task)
    stated = json.loads(files(task)[1].read_text())
    assert (run.model, run.dataset.slug, run.import_tool) == (
        stated["model_name"],
        f"lm-eval-{task}",
        "lm-evaluation-harness",
    )
    assert (run.total, run.errors) == (stated["n-samples"][task]["effective"], 0)
    means = {name[8:]: each["mean"] for name, each in run.summary["metrics"].items() if name.startswith("lm-eval")}
    reported = {
        name.removesuffix(",none"): mean for name, mean in stated["results"][task].items() if name in MEANS[task]
    }
    assert means == pytest.approx(reported)
    assert len(means) == len(MEANS[task])
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (None, None, None), "not in the files"
    duration = (run.completed_at - run.started_at).total_seconds()  # type: ignore[operator]
    assert duration == pytest.approx(float(stated["total_evaluation_time_seconds"]), abs=1e-5)


def test_each_filter_is_a_metric_with_what_it_extracted() -> None:
    run = take("sums")
    assert run.metrics[0] == "lm-eval:exact_match,strict-match"
    assert run.parameters == {"temperature": 0.5}
    second = run.results.get(task__task_id="1")
    assert (second.task.input, second.task.expected_output) == ("Question: What is 700 + 534?\nAnswer:", "1,234")
    assert second.transcript.actual_output == "The sum is 1,234"
    extracted = {score.metric: (score.value, score.extracted) for score in second.scores.all()}
    assert extracted["lm-eval:exact_match,strict-match"] == (0.0, "[invalid]")
    assert extracted["lm-eval:exact_match,flexible-extract"] == (1.0, "1,234")
    assert [message["content"] for message in second.transcript.messages][1:] == [
        "The sum is 1,234",
        "#### 1,234",
        "So 1234.\n#### 1234",
    ]
    assert imported("sums").unused[0].startswith("Each document has 3 answers")


def test_the_answer_to_a_multiple_choice_document_is_the_most_likely_choice() -> None:
    run = take("capitals")
    assert run.metrics[:2] == ["lm-eval:acc", "lm-eval:acc_norm"]
    answers = {result.task.task_id: result for result in run.results.select_related("task", "transcript")}
    assert [answers[str(n)].transcript.actual_output for n in range(5)] == [
        "Paris",
        "Sydney",
        "Lima",
        "Tokyo",
        "Mombasa",
    ]
    for result in answers.values():
        assert len(result.task.choices) == 3
        for score in result.scores.filter(metric__startswith="lm-eval"):
            assert (score.extracted == result.task.expected_output) == bool(score.value), (result.task.input, score)
    assert run.summary["metrics"]["exact_match"]["mean"] == run.summary["metrics"]["lm-eval:acc"]["mean"]
    assert imported("capitals").unused[0] == (
        "Metrics without a number for each sample are numbers of the run: brier_score."
    )


def test_measures_of_a_corpus_and_means_of_groups_are_numbers_of_the_run() -> None:
    paths = sorted((LOGS / "acme__group").iterdir())
    stated = json.loads(paths[0].read_text())["results"]
    taken = {each.run.dataset.slug.removeprefix("lm-eval-"): each for each in import_runs(*paths)}
    of_group = {"lm-eval:places/acc": stated["places"]["acc,none"]}
    assert {name: each.run.reported for name, each in taken.items()} == {
        "capitals": {"lm-eval:brier_score": stated["capitals"]["brier_score,none"], **of_group},
        "planets": of_group,
        "greetings": {f"lm-eval:{name}": stated["greetings"][f"{name},none"] for name in ("bleu", "chrf")},
    }
    run = taken["greetings"].run
    row = json_of(RunResource.of(run, Reader("", "", sees_reviewers=False)))
    assert row["reported"] == run.reported
    lines = b"".join(export_pieces(run, "scores.csv")).decode().splitlines()
    bleu = f"lm-eval:bleu,reported,,{run.reported['lm-eval:bleu']},,,,,,,"
    assert f"{run.pk},acme/group,lm-eval-greetings,1,,{bleu}" in lines
    page = " ".join(Client().get(f"/runs/{run.pk}/").content.decode().split())
    assert "reports for the whole run: bleu (lm-evaluation-harness) 40.610, chrf" in page
    notes = [sentence for each in taken.values() for sentence in each.unused if sentence.startswith("Not imported")]
    assert len(notes) == 1


def test_a_chat_is_its_question_with_its_system_prompt_and_all_accepted_answers() -> None:
    run = take("words")
    assert run.parameters == {"system_prompt": "One word.", "temperature": 0.25, "max_tokens": 30}
    task = run.results.get(task__task_id="1").task
    assert task.input == "Which word is the opposite of cold?"
    assert (task.expected_output, task.other_answers) == ("hot", ["warm"])
    assert run.summary["metrics"]["lm-eval:exact_match"]["mean"] == 1.0
    assert (run.status, run.error_message) == (
        RunStatus.COMPLETED_WITH_ERRORS,
        "The log has 2 of 3 samples, as requested.",
    )


def test_examples_as_turns_are_messages_which_are_sent_as_the_harness_sent_them(endpoint: Endpoint) -> None:
    (samples,), (results,) = (LOGS.glob(f"acme__turns/{name}_*") for name in ("samples", "results"))
    run = import_runs(samples, results)[0].run
    server = endpoint(lambda asked: "hot")
    worked(make_run(run.dataset, metrics=["exact_match"], system_prompt=run.parameters["system_prompt"]))
    lines = [json.loads(line)["arguments"]["gen_args_0"]["arg_0"][0] for line in samples.read_text().splitlines()]
    asked = [[{key: said[key] for key in ("role", "content")} for said in json.loads(line)] for line in lines]
    sent = [body["messages"] for body in server.stats.bodies]
    assert [len(messages) for messages in sent] == [4, 4, 4]
    assert sorted(sent, key=str) == sorted(asked, key=str)


def test_answers_without_scores_and_log_likelihoods_of_a_perplexity_are_not_scores(tmp_path: Path) -> None:
    samples, results = files("words")
    lines, head = [json.loads(line) for line in samples.read_text().splitlines()], json.loads(results.read_text())
    bypassed = [{**line, "metrics": ["bypass"], "bypass": 0} for line in lines]
    for line in lines:
        line |= {"metrics": ["perplexity", "exact_match"], "perplexity": -2.5}
    head["results"]["words"] |= {"bypass,none": 999, "perplexity,none": 12.2}
    (summary := tmp_path / results.name).write_text(json.dumps(head))
    (path := tmp_path / samples.name).write_text("\n".join(map(json.dumps, bypassed)))
    (unscored,) = import_runs(path, summary)
    assert unscored.unused[0] == "The answers have no scores, as requested (--predict_only)."
    assert {result.outcome for result in unscored.run.results.all()} <= {Outcome.CORRECT, Outcome.WRONG}
    assert not [name for name in unscored.run.metrics if name.startswith("lm-eval")]
    path.write_text("\n".join(map(json.dumps, lines)))
    (scored,) = import_runs(path, summary)
    assert [name for name in scored.run.metrics if name.startswith("lm-eval")] == ["lm-eval:exact_match"]
    assert "Metrics without a number for each sample are numbers of the run: perplexity." in scored.unused
    assert scored.run.reported == {"lm-eval:perplexity": 12.2, "lm-eval:bypass": 999}


def test_samples_alone_are_imported_and_say_what_was_not_checked() -> None:
    samples, results = files("sums")
    (alone,) = import_runs(samples)
    assert (alone.run.model, alone.run.dataset.slug) == ("unknown", "lm-eval-sums")
    assert alone.unused[0] == (
        "Without the results file (results_*.json), counts and means are not checked, and the model is not named."
    )
    (named,) = import_runs(files("capitals")[0], model=" acme/tiny ")
    assert named.run.model == "acme/tiny"
    alone.run.delete()
    (both,) = import_runs(samples, results)
    (alone,) = import_runs(samples)
    assert (both.is_new, alone.is_new, alone.run.model) == (True, False, "acme/tiny")


@pytest.mark.parametrize("task", ["sums", "capitals"])
def test_samples_take_their_identity_from_a_results_file_that_comes_later(task: str) -> None:
    def stored() -> dict[str, Any]:
        (row,) = Run.objects.values()
        facts = {name: text for name, text in row["environment"].items() if name != "sha256"}
        del row["summary"]["failures"]  # has the ids of results
        changing = ("id", "created_at", "import_key", "summarized_at", "environment")
        results = [*Result.objects.order_by("position").values_list("task__task_id", "outcome", "value")]
        return {**{name: row[name] for name in row if name not in changing}, "facts": facts, "results": results}

    samples, results = files(task)
    import_runs(samples, results)
    at_once = stored()
    Run.objects.all().delete()
    (alone,) = import_runs(samples)
    (both,) = import_runs(samples, results)
    assert (both.run.pk, both.is_new) == (alone.run.pk, False)
    assert both.unused[0] == f"Run {alone.run.pk} named no model. It is one of acme/tiny now."
    assert stored() == at_once
    for again in (import_runs(samples), import_runs(samples, results)):
        assert [(each.run.pk, each.is_new, each.run.model) for each in again] == [(alone.run.pk, False, "acme/tiny")]
        assert "named no model" not in str(again)
    assert Run.objects.count() == 1


def test_a_run_without_a_model_is_named_later_with_its_rescorings() -> None:
    path = files("capitals")[0]
    (alone,) = import_runs(path)
    run = alone.run
    again = {
        "dataset": run.dataset,
        "dataset_version": run.dataset_version,
        "model": "unknown",
        "metrics": ["contains"],
    }
    Run.objects.create(rescored_from=run.pk, **again)
    (named,) = import_runs(path, model="acme/tiny")
    assert (named.is_new, *Run.objects.values_list("model", flat=True)) == (False, "acme/tiny", "acme/tiny")
    Run.objects.update(model="unknown")
    with pytest.raises(NotPossible, match="has 201 characters; the limit is 200"):
        import_runs(path, model="a" * 201)


def test_a_results_file_by_which_scores_are_of_another_kind_does_not_name_the_run(tmp_path: Path) -> None:
    samples, results = files("sums")
    (alone,) = import_runs(samples)
    summary = json.loads(results.read_text())
    summary["higher_is_better"] = {"sums": dict.fromkeys(summary["higher_is_better"]["sums"], False)}
    changed = tmp_path / results.name
    changed.write_text(json.dumps(summary))
    (both,) = import_runs(samples, changed)
    assert (both.run.pk, both.run.model) == (alone.run.pk, "unknown")
    assert both.unused[0] == f"Run {alone.run.pk} names no model. To import it as acme/tiny, delete it first."


def test_results_without_samples_are_refused_with_what_to_import() -> None:
    with pytest.raises(NotPossible, match=r"samples_\*\.jsonl, with --log_samples\. Import these files"):
        import_runs(files("sums")[1])


def without_a_line(samples: list[str], results: Any) -> None:
    samples.pop()


def without_a_document(samples: list[str], results: Any) -> None:
    samples[:] = [line for line in samples if '"doc_id": 3' not in line]


def with_another_mean(samples: list[str], results: Any) -> None:
    results["results"]["sums"]["exact_match,strict-match"] = 0.5


def with_another_answer(samples: list[str], results: Any) -> None:
    samples[0] = samples[0].replace('"prompt_hash": "0', '"prompt_hash": "1')


def with_another_task(samples: list[str], results: Any) -> None:
    results["results"] = {"other": results["results"]["sums"]}
    results["task_hashes"] = {}


def with_a_broken_line(samples: list[str], results: Any) -> None:
    samples[4] = "{"


def with_a_line_twice(samples: list[str], results: Any) -> None:
    samples.append(samples[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_a_document, r"n-samples\.sums\.effective: 4, but 3 samples found"),
        (without_a_line, r'"exact_match,majority" is 0.75, but the mean of the samples is 1'),
        (with_another_mean, r'results\.sums: "exact_match,strict-match" is 0.5, but the mean of the samples is 0.25'),
        (with_another_answer, r"line 5: document \"0\" has different prompts in its filters"),
        (with_another_task, r'the results file has no task "sums"'),
        (with_a_broken_line, r"line 5: column 2: invalid JSON"),
        (with_a_line_twice, r'line 13: document "0" occurs twice with filter "strict-match"'),
    ],
)
def test_samples_that_contradict_their_results_are_refused(
    tmp_path: Path, change: Callable[[list[str], Any], None], message: str
) -> None:
    samples, results = files("sums")
    lines, head = samples.read_text().splitlines(), json.loads(results.read_text())
    change(lines, head)
    changed = tmp_path / samples.name
    changed.write_text("\n".join(lines))
    (tmp_path / results.name).write_text(json.dumps(head))
    with pytest.raises(NotPossible, match=message):
        import_runs(changed, tmp_path / results.name)
    assert not Run.objects.exists()


def test_samples_of_another_evaluation_are_refused(tmp_path: Path) -> None:
    samples, results = files("words")
    changed = tmp_path / samples.name
    changed.write_text(samples.read_text().replace('"target_hash": "2', '"target_hash": "3'))
    with pytest.raises(NotPossible, match=r"task_hashes\.words: .* they are of another evaluation or not complete"):
        import_runs(changed, results)


def test_results_belong_to_samples_of_the_same_date_or_are_the_only_ones(tmp_path: Path) -> None:
    first, second = "2026-01-31T12-00-00.123", "2026-02-01T12-00-00.5"
    for names, expected in (
        (["a.eval", "results.json"], {0: None, 1: None}),
        (["results_x.json", "samples_a.jsonl", "samples_b.jsonl"], {1: 0, 2: 0}),
        ([f"samples_a_{first}.jsonl", f"results_{first}.json", f"results_{second}.json"], {0: 1, 2: None}),
        ([f"samples_a_{first}.jsonl", f"mine_{first}.json", "promptfoo.json"], {0: 1, 2: None}),
        ([f"samples_a_{first}.jsonl", f"samples_a_{second}.jsonl", f"results_{second}.json"], {0: 2, 1: 2}),
        (["samples_a.jsonl", "promptfoo.json"], {0: None, 1: None}),
        ([], {}),
    ):
        for name in names:
            (tmp_path / name).write_text('{"doc_id": 0, "resps": []}' if name.endswith(".jsonl") else "{}")
        logs = logs_in([(tmp_path / name, name) for name in names])
        found = {names.index(log.name): [names.index(file.name) for file in log.files[1:]] for log in logs}
        assert found == {main: [] if beside is None else [beside] for main, beside in expected.items()}, names


def test_the_command_imports_a_folder_of_the_harness() -> None:
    out = io.StringIO()
    call_command("benchmark", "import", str(LOGS / "acme__tiny"), stdout=out)
    assert sorted(Run.objects.values_list("dataset__slug", flat=True)) == ["lm-eval-capitals", "lm-eval-sums"]
    assert out.getvalue().count(" imported: acme/tiny on lm-eval-") == 2
    assert "Metrics without a number for each sample are numbers of the run: brier_score." in out.getvalue()
    assert out.getvalue().count("Not imported:") == 1


def test_the_page_imports_files_together_or_none(admin_client: Client) -> None:
    def sent(*paths: Path, **fields: str) -> Any:
        uploads = [SimpleUploadedFile(path.name, path.read_bytes()) for path in paths]
        return admin_client.post("/settings/imports/", {"file": uploads, **fields}).content.decode()

    samples, results = files("sums")
    capitals, _ = files("capitals")
    html = sent(samples, results, capitals, do="preview")
    assert html.count('<span class="tag">New dataset</span>') == 2
    assert "numbers of the run: brier_score." in html
    assert html.count("Not imported:") == 1
    assert not Run.objects.exists()
    html = sent(samples, results, capitals, files("words")[1])
    assert "Nothing was imported" in html
    assert not Run.objects.exists()
    assert not Dataset.objects.exists()
    sent(samples, results, capitals)
    assert Run.objects.filter(model="acme/tiny").count() == 2
    sent(files("words")[0], model="acme/other")
    assert Run.objects.filter(model="acme/other").count() == 1


def test_the_test_run_of_deepeval_has_its_own_counts_means_tokens_and_cost() -> None:
    (taken,) = import_runs(DEEPEVAL)
    run, stated = taken.run, json.loads(DEEPEVAL.read_text())["testRunData"]
    cases = stated["testCases"]
    assert (run.model, run.dataset.slug, run.import_tool) == ("acme/tiny", "deepeval-capitals", "DeepEval")
    assert (run.total, run.repeats, run.dataset_version.task_count) == (len(cases), 2, 3)
    means = {name[9:]: (each["mean"], each["n"]) for name, each in run.summary["metrics"].items() if "deepeval" in name}
    passed = means.pop("pass")
    assert passed == (stated["testPassed"] / len(cases), len(cases))
    for totals in stated["metricsScores"]:
        scores = totals["scores"]
        assert means.pop(totals["metric"]) == (pytest.approx(sum(scores) / len(scores)), len(scores)), totals
    assert means == {}
    assert (run.tokens_in, run.tokens_out) == (
        sum(case["inputTokenCount"] for case in cases),
        sum(case["outputTokenCount"] for case in cases),
    )
    assert run.cost_usd == pytest.approx(sum(case["tokenCost"] for case in cases))
    assert run.judge_cost_usd == pytest.approx(stated["evaluationCost"])
    assert run.parameters == {"temperature": 0.5}
    assert taken.unused[-1] == (
        "Not imported: threshold of metrics (16), verboseLogs of metrics (4), output of tool calls (1)."
    )


def test_what_of_the_files_of_the_harness_is_not_used_is_said_by_key(tmp_path: Path) -> None:
    assert imported("words").unused == [
        "Not imported: config.model_args of the results file, config.batch_size of the results file, "
        "config.numpy_seed of the results file, config.torch_seed of the results file, "
        "config.fewshot_seed of the results file, dataset_kwargs of the task's configuration, "
        "metadata of the task's configuration, ignore_case of the task's metrics."
    ]
    samples, _ = files("words")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        line["doc"] |= {"level": "easy", "source": {"page": 7}, "note": "x" * 500}
        line |= {"trace": ["step"], "exact_match": {"value": 1}}
    changed = tmp_path / samples.name
    changed.write_text("\n".join(map(json.dumps, lines)))
    (taken,) = import_runs(changed)
    assert taken.run.dataset_version.tasks.all()[0].metadata == {"level": "easy"}
    assert taken.unused[1:] == [
        "Metrics without a number for each sample, not imported: exact_match.",
        "Not imported: trace of samples (2), doc.source of documents (2), doc.note of documents (2).",
    ]


def test_what_of_a_test_run_of_deepeval_is_not_used_is_said_by_key(tmp_path: Path) -> None:
    document = json.loads(DEEPEVAL.read_text())
    document["testRunData"]["testCases"][0] |= {
        "metadata": {"hops": 2, "path": ["a"]},
        "tags": ["europe", "x" * 500, "europe"],
        "retrievalContext": ["Paris."],
        "trace": {"llmSpans": [{"uuid": "1", "metricsData": []}]},
    }
    document["testRunData"] |= {"datasetId": "7", "prompts": [{"alias": "short"}]}
    document["next\x1b"] = 1
    (taken,) = import_runs(written(tmp_path, document))
    france = taken.run.dataset_version.tasks.all()[0]
    assert (france.tags, france.metadata) == (["europe"], {"hops": 2})
    assert taken.unused[-1] == (
        "Not imported: threshold of metrics (16), verboseLogs of metrics (4), "
        "next\\u001b of the file, prompts of the test run, datasetId of the test run, "
        "output of tool calls (1), tags of test cases (1), "
        "metadata.path of test cases (1), trace of test cases (1)."
    )


def test_a_metric_of_deepeval_that_failed_has_no_score() -> None:
    (taken,) = import_runs(DEEPEVAL)
    peru = taken.run.results.get(task__task_id="case-3")
    broken = peru.scores.get(metric="deepeval:Uptime")
    assert (broken.value, broken.status, broken.reason) == (None, "metric_error", "the metric's service is down")
    assert (peru.outcome, peru.value) == (Outcome.METRIC_ERROR, 0.0), "another metric failed the case"
    called = taken.run.results.get(task__task_id="case-2")
    assert [call["name"] for call in called.transcript.tool_calls] == ["look_up"]


def test_a_score_of_deepeval_that_is_not_a_number_is_an_error_of_the_metric(tmp_path: Path) -> None:
    document = json.loads(DEEPEVAL.read_text())
    document["testRunData"]["testCases"][0]["metricsData"][3]["score"] = math.nan
    document["testRunData"]["metricsScores"][3]["scores"][0] = math.nan
    (taken,) = import_runs(written(tmp_path, document))
    uptime = taken.run.summary["metrics"]["deepeval:Uptime"]
    assert (uptime["n"], uptime["n_expected"], uptime["n_metric_error"]) == (2, 4, 2)


def test_a_metric_that_a_case_of_deepeval_does_not_have_is_not_applicable(tmp_path: Path) -> None:
    document = json.loads(DEEPEVAL.read_text())
    del document["testRunData"]["testCases"][2]["metricsData"][3]
    document["testRunData"]["metricsScores"][3] |= {"errors": 0}
    (taken,) = import_runs(written(tmp_path, document))
    uptime = taken.run.summary["metrics"]["deepeval:Uptime"]
    assert (uptime["n"], uptime["n_expected"], uptime["n_not_applicable"]) == (3, 3, 1)


def test_a_number_that_the_harness_did_not_give_is_an_error_of_the_metric(tmp_path: Path) -> None:
    samples, _ = files("words")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for value in (math.nan, None, "absent"):
        lines[0]["exact_match"] = value
        if value == "absent":
            del lines[0]["exact_match"]
            lines[0]["metrics"] = []
        changed = tmp_path / f"{value}_{samples.name}"
        changed.write_text("\n".join(map(json.dumps, lines)))
        (taken,) = import_runs(changed)
        number = taken.run.summary["metrics"]["lm-eval:exact_match"]
        assert (number["n"], number["n_expected"], number["n_metric_error"]) == (1, 2, 1), value
        assert taken.run.summary["outcomes"] == {Outcome.CORRECT: 1, Outcome.METRIC_ERROR: 1}, value


def test_a_metric_of_the_harness_that_failed_for_all_documents_is_not_replaced_by_ours(tmp_path: Path) -> None:
    samples, _ = files("words")
    lines = [json.loads(line) | {"exact_match": math.nan} for line in samples.read_text().splitlines()]
    changed = tmp_path / samples.name
    changed.write_text("\n".join(map(json.dumps, lines)))
    (taken,) = import_runs(changed)
    assert taken.run.metrics == ["lm-eval:exact_match", "exact_match"]
    assert taken.run.summary["outcomes"] == {Outcome.METRIC_ERROR: 2}


def test_a_case_that_failed_only_because_a_metric_did_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    document = json.loads(DEEPEVAL.read_text())
    peru = document["testRunData"]["testCases"][2]
    peru["metricsData"][2] |= {"success": True, "score": 0.9}
    document["testRunData"]["metricsScores"][2] |= {"scores": [0.9, 0.3, 0.9, 0.9], "passes": 3, "fails": 1}
    (taken,) = import_runs(written(tmp_path, document))
    result = taken.run.results.get(task__task_id="case-3")
    assert result.outcome == Outcome.METRIC_ERROR
    assert taken.unused[0] == ("No score of deepeval:pass for 1 of 4 answers, which is an error of the metric here.")


def written(folder: Path, document: Any) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("testPassed",), 2, r"testRunData\.testPassed: 2, but 1 test cases found"),
        (("testFailed",), 0, r"testRunData\.testFailed: 0, but 3 test cases found"),
        (
            ("metricsScores", 3, "errors"),
            0,
            r'"Uptime" has 3 passes, 0 failures and 0 errors, but 3 passes, 0 failures',
        ),
        (
            ("metricsScores", 2, "scores"),
            [0.9, 0.3, 0.3, 1],
            r"has the mean 0\.625, but that of the test cases is 0\.6",
        ),
        (("evaluationCost",), 0.5, r"evaluationCost: 0\.5, but the metrics of the test cases cost 0\.006"),
        (("testCases", 1, "metricsData", 0, "score"), "high", r'score: expected a number, found "high"'),
        (("testCases", 1, "input"), " ", r"case 2: expected input or turns, found nothing"),
        (("testCases",), [], r"testCases: none found\. A run that was uploaded leaves only a link here"),
    ],
)
def test_a_test_run_that_contradicts_itself_is_refused_with_both_numbers(
    tmp_path: Path, place: tuple[Any, ...], value: Any, message: str
) -> None:
    document = json.loads(DEEPEVAL.read_text())
    inner = document["testRunData"]
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(NotPossible, match=message):
        import_runs(written(tmp_path, document))


def turns_of(*lines: str) -> list[dict[str, str]]:
    return [dict(zip(("role", "content"), line.split(": ", 1), strict=True)) for line in lines]


def test_a_file_of_the_results_folder_and_a_conversation_are_imported(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi", "order": 0}, {"role": "assistant", "content": "Hello", "order": 1}]
    metric = {"name": "Politeness", "success": True, "score": 1.0, "evaluationModel": "judge", "evaluationCost": 0.5}
    case = {"name": "greeting", "scenario": "A greeting", "turns": turns, "success": True, "metricsData": [metric]}
    document = {"testCases": [], "conversationalTestCases": [case], "testPassed": 1, "testFailed": 0}
    (taken,) = import_runs(written(tmp_path, document), model="acme/tiny")
    run = taken.run
    result = run.results.get()
    assert (run.model, run.dataset.slug, run.judge_model) == ("acme/tiny", "deepeval-run", "judge")
    assert (result.task.messages, result.task.metadata) == (turns_of("user: Hi"), {"scenario": "A greeting"})
    assert result.transcript.actual_output == "Hello"
    assert (result.outcome, run.judge_cost_usd) == (Outcome.CORRECT, 0.5)


@pytest.mark.parametrize("file", ["sums", "capitals", "words", "deepeval"])
def test_every_page_shows_the_run(file: str, admin_client: Client) -> None:
    run = import_runs(DEEPEVAL)[0].run if file == "deepeval" else take(file)
    for address in (
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/results/{run.results.all()[0].pk}/",
        f"/leaderboard/?dataset={run.dataset.slug}&metric=exact_match",
        f"/api/v1/benchmarks/runs/{run.pk}",
    ):
        assert admin_client.get(address).status_code == 200, address
    with pytest.raises(NotPossible, match=r"imported from (an lm-evaluation-harness|a DeepEval) file"):
        control.retry_failed(run)


def test_files_with_anything_in_any_place_are_imported_completely_or_not_at_all(tmp_path: Path) -> None:
    values = (None, [[]], {"a": []}, 10**40)
    for source in (files("sums")[0], files("capitals")[0]):
        lines = source.read_text().splitlines()
        for key in json.loads(lines[0]):
            for value in values:
                path = tmp_path / source.name
                path.write_text("\n".join([json.dumps({**json.loads(lines[0]), key: value}), *lines[1:]]))
                try_import(path)
    document = json.loads(DEEPEVAL.read_text())
    case = document["testRunData"]["testCases"][1]
    for holder in (document["testRunData"], case, case["metricsData"][0]):
        for key, kept in list(holder.items()):
            for value in values:
                holder[key] = value
                try_import(written(tmp_path, document))
            holder[key] = kept


def try_import(path: Path) -> None:
    before = Run.objects.count()
    try:
        run = import_runs(path)[0].run
    except NotPossible:
        assert Run.objects.count() == before
        return
    assert run.results.count() == run.total
    run.delete()


def test_a_test_run_is_named_after_what_was_tested_and_not_after_the_file(tmp_path: Path) -> None:
    document = json.loads(DEEPEVAL.read_text())
    inner = document["testRunData"]
    cases: list[tuple[str, dict[str, str], str]] = [
        (".latest_test_run.json", {"identifier": "capitals", "testFile": "test_cities.py"}, "deepeval-capitals"),
        (".latest_test_run.json", {"testFile": "tests/test_cities.py"}, "deepeval-test_cities"),
        (".latest_test_run.json", {}, "deepeval-test-run"),
        ("test_run_20261126_101112.json", {}, "deepeval-test-run"),
        ("cities.json", {}, "deepeval-cities"),
    ]
    for name, given, slug in cases:
        document["testRunData"] = {**inner, "identifier": None, **given}
        (path := tmp_path / name).write_text(json.dumps(document))
        (taken,) = import_runs(path)
        assert taken.run.dataset.slug == slug
        taken.run.delete()
