"""``manage.py benchmark …`` as a terminal and a pipeline see it: what is printed, what is written, the exit code."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.management import running
from benchmarks.management.commands.benchmark import Command
from benchmarks.models import Dataset, Result, Run, RunStatus, Score, Task
from benchmarks.presentation.numbers import interval, score
from benchmarks.queries.contamination import contamination_check
from benchmarks.services.runs.requests import RunRequest
from tests.loopback.replies import Asked
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.commands import run_command
from tests.support.factories import JUDGE, MODEL, make_dataset, make_run, make_task
from tests.support.page_factories import make_scored_run
from tests.support.running import VERDICT, Endpoint, is_trial

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("impatient")]
SUMS = ("sums", "--model", MODEL, "--metrics", "exact_match")


run = partial(run_command, "benchmark")


def adds(asked: Asked) -> str:
    """Right for all sums but the first."""
    number = int(asked.prompt.removeprefix("What is ").split(" ")[0])
    return str(2 * number) if number > 1 else "11"


def always_right(asked: Asked) -> str:
    return str(2 * int(asked.prompt.removeprefix("What is ").split(" ")[0]))


def test_a_run_is_started_worked_on_here_and_printed(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset(4)
    code, output = run("run", *SUMS, "contains")
    made = Run.objects.get()
    assert code == 0
    assert made.status == RunStatus.COMPLETED
    table = [line.split() for line in output.splitlines() if line.startswith(("exact_match", "contains"))]
    assert [row[:2] for row in table] == [["exact_match", "75%"], ["contains", "75%"]]
    assert "Outcomes: 3 correct, 1 wrong" in output
    assert f"/runs/{made.pk}/" in output


def test_every_field_of_a_request_is_an_option() -> None:
    parser = Command().create_parser("manage.py", "benchmark")
    actions = next(action for action in parser._actions if action.dest == "action")
    for name in ("run", "plan"):
        options = {action.dest for action in actions.choices[name]._actions}
        assert set(RunRequest().fields) <= options


def test_options_reach_the_run(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset(4)
    options = ("--limit", 2, "--repeats", 2, "--seed", 5, "--temperature", 0.5, "--use-cache", "--system-prompt", "Hm")
    assert run("run", *SUMS, *options, "--detach")[0] == 0
    made = Run.objects.get()
    assert (made.limit, made.repeats, made.use_cache) == (2, 2, True)
    expected = {"seed": 5, "temperature": 0.5, "system_prompt": "Hm", "max_tool_steps": 5}
    assert made.parameters == expected


def test_extra_parameters_are_options_with_json_or_a_word(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset(1)
    given = ("--param", "reasoning_effort=low", "--param", 'stop=["END"]', "--param", "top_k=40")
    assert run("run", *SUMS, *given, "--detach")[0] == 0
    assert Run.objects.get().parameters["extra"] == {"reasoning_effort": "low", "stop": ["END"], "top_k": 40}
    for wrong, says in (
        ("top_k", "is not NAME=VALUE"),
        ("stop=[END", "neither JSON nor"),
        ("n=2", "repeats of the run"),
    ):
        code, output = run("run", *SUMS, "--param", wrong, "--detach")
        assert code == 2
        assert "--param" in output
        assert says in output


def test_metrics_may_be_divided_by_commas_or_spaces(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset(1)
    code, output = run("run", "sums", "--model", MODEL, "--metrics", "exact_match,contains", "length", "--detach")
    assert code == 0, output
    assert Run.objects.get().metrics == ["exact_match", "contains", "length"]


def test_a_detached_run_is_queued_and_left_to_the_workers(endpoint: Endpoint) -> None:
    server = endpoint(adds)
    make_dataset(1)
    code, output = run("run", *SUMS, "--detach")
    assert code == 0
    assert Run.objects.get().status == RunStatus.QUEUED
    assert server.stats.requests == 0
    assert "show" in output


def test_a_refused_request_names_every_bad_option_and_makes_no_run(endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(1)
    code, output = run("run", "nothing", "--model", "gpt", "--metrics", "wrong", "--repeats", "many")
    assert code == 2
    for field in (
        "  dataset: Dataset nothing does not exist",
        "  --model: ",
        "  --metrics: Metric wrong does not exist",
        "  --repeats: A valid integer",
    ):
        assert field in output
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("demand", "problem"),
    [
        ("exact_match", "use metric=number"),
        ("exact_match=80", "use metric=number"),
        ("exact_match=nan", "use metric=number"),
        ("correctness=0.5", "is not a metric of the run"),
        ("latency=0.5", "has no upper bound"),
    ],
)
def test_a_demand_that_makes_no_sense_is_refused_before_anything_is_asked(
    endpoint: Endpoint, demand: str, problem: str
) -> None:
    server = endpoint()
    make_dataset(1)
    code, output = run("run", *SUMS, "latency", "--fail-under", demand)
    assert code == 2
    assert problem in output
    assert (Run.objects.count(), server.stats.requests) == (0, 0)


@pytest.mark.parametrize(("least", "expected"), [("0.75", 0), ("0.76", 1), ("0", 0), ("1", 1)])
def test_the_exit_code_says_whether_a_threshold_was_met(endpoint: Endpoint, least: str, expected: int) -> None:
    endpoint(adds)
    make_dataset(4)
    code, output = run("run", *SUMS, "--fail-under", f"exact_match={least}")
    assert code == expected
    assert ("failed: exact_match" in output) == bool(expected)


def test_a_metric_without_any_score_misses_its_threshold(endpoint: Endpoint) -> None:
    endpoint(lambda asked: VERDICT if is_trial(asked) else "no verdict" if asked.body["model"] == "judge" else "2")
    make_dataset(2)
    request = ("sums", "--model", MODEL, "--metrics", "correctness", "--judge-model", JUDGE)
    code, output = run("run", *request, "--allow-errors", 2, "--fail-under", "correctness=0")
    assert code == 1
    assert "correctness has no scored results" in output
    assert "2 judge error" in output


def test_a_run_with_errors_exits_with_3_unless_they_are_allowed(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset([make_task(1), make_task(2, input="[[fault:bad_request_400]] What is 2 + 2?")])
    assert run("run", *SUMS, "--fail-under", "exact_match=0")[0] == 3
    assert run("run", *SUMS, "--fail-under", "exact_match=0", "--allow-errors", 1)[0] == 0


def test_a_failed_run_exits_with_3_and_says_why(endpoint: Endpoint) -> None:
    endpoint(adds, api_key="right")
    make_dataset(50)
    code, output = run("run", *SUMS, "--concurrency", 4)
    assert code == 3
    assert "401" in output


def test_a_regression_for_real_exits_with_1_and_noise_does_not(endpoint: Endpoint) -> None:
    endpoint(always_right)
    dataset = make_dataset(30)
    good = make_run(dataset)
    work_on_run_once(good.pk)
    endpoint(lambda asked: "wrong" if int(always_right(asked)) % 3 == 0 else always_right(asked))
    code, output = run("run", *SUMS, "--compare-to", good.pk, "--fail-on-regression")
    assert Run.objects.latest("pk").results.filter(outcome="wrong").count() == 10
    assert code == 1
    assert f" points below run {good.pk} (" in output
    told = json.loads(run("show", Run.objects.latest("pk").pk, "--compare-to", good.pk, "--json")[1])
    assert [(one["regression"], one["n_changed"], one["n_shared"]) for one in told["comparisons"]] == [(True, 10, 30)]
    endpoint(adds)
    code, output = run("run", *SUMS, "--compare-to", good.pk, "--fail-on-regression")
    assert code == 0
    assert "No significant difference between run" in output


def test_an_improvement_is_no_regression(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "wrong")
    bad = make_run(make_dataset(30))
    work_on_run_once(bad.pk)
    endpoint(always_right)
    code, output = run("run", *SUMS, "--compare-to", bad.pk, "--fail-on-regression")
    assert code == 0
    assert f"is 100.0 points above run {bad.pk} (" in output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--compare-to", 999), "Run 999 does not exist"),
        (("--fail-on-regression",), "--compare-to RUN"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused_at_once(
    endpoint: Endpoint, arguments: tuple[object, ...], problem: str
) -> None:
    endpoint()
    make_dataset(1)
    code, output = run("run", *SUMS, *arguments)
    assert code == 2
    assert problem in output
    assert not Run.objects.exists()


def test_a_live_run_cannot_be_compared_with(endpoint: Endpoint) -> None:
    endpoint()
    live = make_run()
    code, output = run("run", *SUMS, "--compare-to", live.pk)
    assert code == 2
    assert "has ended" in output


def test_json_has_the_numbers_of_the_run_and_its_demands(endpoint: Endpoint) -> None:
    endpoint(adds)
    make_dataset(4)
    code, output = run("run", *SUMS, "--fail-under", "exact_match=0.9", "--json")
    told = json.loads(output)
    made = Run.objects.get()
    assert code == 1
    assert told["id"] == made.pk
    assert told["summary"]["exact_match"]["mean"] == 0.75
    assert told["cost_usd"] == made.cost_usd
    assert [gate["met"] for gate in told["gates"]] == [True, False]


def test_the_junit_report_has_a_case_for_each_result_and_each_demand(endpoint: Endpoint, tmp_path: Path) -> None:
    def answer(asked: Asked) -> str:
        return "\x07 ]]> <b> \x00\ud83d" if "What is 1 " in asked.prompt else always_right(asked)

    endpoint(answer)
    broken = make_task(3, input="[[fault:bad_request_400]] What is 3 + 3?")
    make_dataset([make_task(1, name='A "name" <with> signs'), make_task(2), broken])
    path = tmp_path / "report.xml"
    code, _ = run("run", *SUMS, "--junit", path, "--fail-under", "exact_match=0.9")
    assert code == 3
    results, demands = ElementTree.parse(path).getroot().findall("testsuite")
    assert {name: results.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    cases = results.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [["failure"], [], ["error"]]
    assert cases[0].get("name") == 'A "name" <with> signs'
    assert "]]> <b>" in (cases[0][0].text or "")
    assert [len(case) for case in demands.findall("testcase")] == [1, 1]


def test_results_of_a_cancelled_run_are_skipped_in_the_junit_report(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(adds, api_key="right")
    failed = make_run(make_dataset(60), concurrency=2)
    work_on_run_once(failed.pk)
    path = tmp_path / "report.xml"
    assert run("show", failed.pk, "--junit", path)[0] == 3
    suite = ElementTree.parse(path).getroot().findall("testsuite")[0]
    skipped = suite.findall("testcase/skipped")
    assert len(skipped) == int(suite.get("skipped") or 0) > 0


def test_the_markdown_summary_is_appended_and_has_table_and_demands(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(adds)
    make_dataset(4)
    path = tmp_path / "summary.md"
    path.write_text("# Before\n")
    run("run", *SUMS, "--markdown", path, "--fail-under", "exact_match=0.9")
    text = path.read_text()
    assert text.startswith("# Before\n")
    assert "| exact\\_match | 75% |" in text
    assert "| exact_match at least 90% | **no** |" in text


def test_a_report_that_cannot_be_written_is_told(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(adds)
    make_dataset(1)
    code, output = run("run", *SUMS, "--junit", tmp_path / "no" / "such" / "folder.xml")
    assert code == 2
    assert "Cannot write" in output


def test_a_price_that_is_not_known_is_shown_as_unknown(endpoint: Endpoint, settings: Any) -> None:
    endpoint(adds)
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": {}})
    make_dataset(1)
    assert "Cost: model unknown" in run("run", *SUMS)[1]


def test_an_interrupted_run_is_left_to_the_workers_and_exits_with_130(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(adds)
    make_dataset(1)

    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "follow", interrupt)
    errors = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("benchmark", "run", *SUMS, stdout=StringIO(), stderr=errors, no_color=True)
    made = Run.objects.get()
    assert stopped.value.code == 130
    assert made.status == RunStatus.QUEUED
    assert f"benchmark cancel {made.pk}" in errors.getvalue()


def test_runs_are_listed_newest_first_and_filtered(endpoint: Endpoint) -> None:
    endpoint(adds)
    dataset = make_dataset(1)
    first, second = make_run(dataset), make_run(dataset, model="baseline/reference")
    lines = run("list")[1].splitlines()
    assert [line.split("  ")[0] for line in lines] == ["run", f"Run {second.pk}", f"Run {first.pk}"]
    assert len(run("list", "--model", MODEL)[1].splitlines()) == 2
    assert run("list", "--status", "sleeping")[0] == 2


def test_a_run_is_cancelled_resumed_and_shown(endpoint: Endpoint) -> None:
    endpoint(adds)
    made = make_run()
    assert run("cancel", made.pk)[0] == 0
    assert run("cancel", made.pk)[0] == 2
    assert run("show", made.pk)[0] == 3
    assert run("resume", made.pk)[0] == 0
    code, output = run("show", made.pk, "--follow")
    assert code == 0
    assert "3 of 3 done" in output


def test_only_what_failed_is_tried_again(endpoint: Endpoint) -> None:
    server = endpoint(adds)
    failing = [make_task(1), make_task(2, input="[[fault:bad_request_400]] What is 2 + 2?")]
    made = make_run(make_dataset(failing))
    work_on_run_once(made.pk)
    asked = server.stats.requests
    assert "1 result to do" in run("retry-failed", made.pk)[1]
    run("show", made.pk, "--follow")
    assert server.stats.requests == asked + 1


def test_a_run_that_is_not_there_is_told() -> None:
    assert run("show", 4711) == (2, "Run 4711 does not exist. To list runs: manage.py benchmark list")


def test_a_plan_tells_requests_tokens_cost_and_duration(endpoint: Endpoint) -> None:
    server = endpoint()
    make_dataset(4)
    code, output = run("plan", *SUMS, "--repeats", 3, "--max-tokens", 10)
    assert code == 0
    rows = {line.split("  ")[0]: line for line in output.splitlines()}
    assert rows["requests"].split()[-1] == "12"
    assert "$" in rows["cost"]
    assert "s to" in rows["duration"]
    assert (Run.objects.count(), server.stats.requests) == (0, 0)


def test_a_plan_of_an_unknown_price_has_an_unknown_cost(endpoint: Endpoint, settings: Any) -> None:
    endpoint()
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": {}})
    make_dataset(4)
    assert "unknown; no price for loop/model" in run("plan", *SUMS)[1]


def test_a_plan_shows_the_known_part_of_a_cost(endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(4)
    judged = ["sums", "--model", MODEL, "--metrics", "correctness", "--judge-model", "loop/unpriced"]
    code, output = run("plan", *judged)
    assert code == 0, output
    assert "at least $" in output
    assert "; no price for loop/unpriced" in output
    plan = json.loads(run("plan", *judged, "--json")[1])
    assert (plan["cost_high"], plan["unpriced"]) == (None, ["loop/unpriced"])
    assert 0 < plan["known_low"] <= plan["known_high"]


def test_a_plan_says_how_many_tasks_show_a_difference(endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(4)
    told = json.loads(run("plan", *SUMS, "--to-see", 5, "--power", 0.9, "--json")[1])
    smaller = json.loads(run("plan", *SUMS, "--to-see", 10, "--power", 0.9, "--json")[1])
    assert told["plan"]["requests"] == told["tasks"]
    assert told["tasks"] > 3.5 * smaller["tasks"], "half the difference needs about four times the tasks"
    assert "To detect a difference of 5.0 points with 90% power" in run("plan", *SUMS, "--to-see", 5, "--power", 0.9)[1]
    assert run("plan", *SUMS, "--to-see", 80)[0] == 2


def test_verify_says_that_prompts_hold_or_where_they_differ(endpoint: Endpoint) -> None:
    endpoint(adds)
    made = make_run()
    work_on_run_once(made.pk)
    code, output = run("verify", made.pk)
    assert code == 0
    assert "3 of 3 prompts match what was sent" in output
    Task.objects.filter(version=made.dataset_version, task_id="task-2").update(input="What is 2 * 2?")
    code, output = run("verify", made.pk)
    assert code == 1
    assert "2 of 3 prompts" in output
    assert "task-2 (position 2)" in output
    told = json.loads(run("verify", made.pk, "--json")[1])
    assert (told["holds"], told["differing"]) == (False, 1)


def test_a_run_is_checked_for_contamination_and_shown_with_the_difference() -> None:
    published = canvas_run(make_canvas_set("4-6", 30), "baseline/solver")
    code, output = run("check-contamination", published.pk)
    fresh = published.fresh_runs.get()
    assert code == 0
    assert f"Run {fresh.pk} queued" in output
    work_on_run_once(fresh.pk)
    assert contamination_check(published).sentence in run("show", published.pk)[1]
    assert run("check-contamination", published.pk) == (
        2,
        f"Run {fresh.pk} already checks this run. To check again, delete run {fresh.pk}.",
    )


def test_a_run_is_shown_with_what_its_scores_mean() -> None:
    shown = canvas_run(make_canvas_set("3-5", 12), "baseline/random", repeats=2)
    code, output = run("show", shown.pk)
    assert code == 0
    average = shown.summary["chance"]["task_score"]["average"]
    assert f"{score(average['mean'])} ({interval(average['low'], average['high'])})" in output
    lines = {line.split("  ")[0]: line for line in output.splitlines()}
    reliability = shown.summary["reliability"]["task_score"]
    assert score(reliability["pass_at"]["2"]["mean"]) in lines["At least 1 of 2 repeats correct (pass@2)"]
    assert score(reliability["flipped"]["mean"]) in lines["Tasks with differing repeats"]
    assert "50% threshold" in output
    told = json.loads(run("show", shown.pk, "--json")[1])
    assert told["statistics"]["chance"] == shown.summary["chance"]


def test_runs_are_compared_in_words_and_numbers(endpoint: Endpoint) -> None:
    endpoint(adds)
    dataset = make_dataset(12)
    right = make_scored_run(dataset, [1.0] * 12, model="a/right")
    wrong = make_scored_run(dataset, [0.0] * 10 + [1.0, None], model="b/wrong")
    other = make_scored_run(dataset, [1.0] * 12, model="c/right")
    code, output = run("compare", right.pk, wrong.pk, other.pk)
    assert code == 0
    assert "exact_match: a/right is better than b/wrong by 90.9 points" in output
    assert "exact_match: a/right and c/right tie at 1.000 on 12 of 12 shared tasks (" in output
    assert "1 more shared task has no score" in output
    found = json.loads(run("compare", right.pk, wrong.pk, other.pk, "--json")[1])["comparisons"]
    assert [(one["a"], one["b"], one["family_size"]) for one in found] == [
        (right.pk, wrong.pk, 3),
        (right.pk, other.pk, 3),
        (wrong.pk, other.pk, 3),
    ]
    assert found[0]["worst_case"] < found[0]["difference"] < found[0]["best_case"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((1,), "2 to 12"), ((1, 1), "2 to 12"), ((1, 999), "999"), ((1, 2, "--metric", "rouge_l"), "exact_match")],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[object, ...], words: str) -> None:
    dataset = make_dataset(2)
    made = {1: make_scored_run(dataset, [1.0, 0.0]).pk, 2: make_scored_run(dataset, [1.0, 1.0]).pk}
    code, output = run("compare", *(made.get(one, one) for one in arguments))
    assert code == 2
    assert words in output


def test_a_gate_passes_fails_or_says_what_would_decide_it(endpoint: Endpoint) -> None:
    endpoint(always_right)
    dataset = make_dataset(30)
    good, same = make_run(dataset), make_run(dataset)
    for each in (good, same):
        work_on_run_once(each.pk)
    endpoint(lambda asked: "wrong")
    bad = make_run(dataset)
    work_on_run_once(bad.pk)
    code, output = run("gate", same.pk, "--against", good.pk, "--margin", 20)
    assert (code, "passed: exact_match not worse by 20.0 points" in output) == (0, True)
    code, output = run("gate", bad.pk, "--against", good.pk, "--margin", 20, "--nightly")
    assert (code, "Worse by more than 20.0 points" in output) == (1, True)
    code, output = run("gate", same.pk, "--against", good.pk)
    assert (code, "more tasks needed" in output) == (4, True)
    assert run("gate", same.pk, "--against", good.pk, "--margin", 0)[0] == 2
    assert run("gate", same.pk, "--against", 999)[0] == 2


def test_a_run_with_repeats_is_held_against_itself(endpoint: Endpoint, client: Client) -> None:
    asked: Counter[str] = Counter()

    def flips(request: Asked) -> str:
        asked[request.prompt] += 1
        return always_right(request) if "1 + 1" in request.prompt or asked[request.prompt] % 2 else "wrong"

    endpoint(flips)
    repeated = make_run(make_dataset(3), repeats=3, concurrency=1)
    work_on_run_once(repeated.pk)
    code, output = run("gate", repeated.pk, "--self-check", "--margin", 5)
    assert (code, "of 3 tasks differently" in output) == (0, True)
    assert "10 repeats: an unchanged system passes with" in output
    told = json.loads(run("gate", repeated.pk, "--self-check", "--json")[1])
    assert (told["n_tasks"], told["repeats"], told["flip_rate"] > 0) == (3, 3, True)
    address = f"/api/v1/benchmarks/runs/{repeated.pk}/self-check"
    assert client.get(address).json() == told
    assert client.get(f"{address}?margin=5&nightly=true").json()["margin"] == 0.05
    assert "margin" in client.get(f"{address}?margin=0").json()
    assert (client.get(f"{address}?nightly=often").status_code, told["margin"]) == (400, 0.02)
    once = make_run(Dataset.objects.get())
    assert client.get(f"/api/v1/benchmarks/runs/{once.pk}/self-check").status_code == 409
    code, output = run("gate", once.pk, "--self-check")
    assert (code, "5 repeats" in output) == (2, True)


def test_a_model_is_run_against_itself(endpoint: Endpoint) -> None:
    endpoint(always_right)
    make_dataset(3)
    code, output = run("run", "sums", "--model", MODEL, "--metrics", "exact_match", "--self-check")
    assert (code, Run.objects.get().repeats) == (0, 5)
    assert "10 repeats: an unchanged system passes with 100%" in output
    code, output = run("run", "sums", "--model", MODEL, "--metrics", "exact_match", "--self-check", "--repeats", 2)
    assert (code, Run.objects.latest("pk").repeats) == (0, 2)


def test_a_task_that_must_stay_right_fails_by_most_of_its_repeats_only(endpoint: Endpoint) -> None:
    endpoint(always_right)
    steady = make_run(make_dataset(3), repeats=3)
    work_on_run_once(steady.pk)
    outcomes = {"task-1": ["wrong"], "task-2": ["wrong", "wrong"], "task-3": ["wrong", "judge_error"]}
    for task_id, given in outcomes.items():
        for result, outcome in zip(steady.results.filter(task__task_id=task_id), given, strict=False):
            Result.objects.filter(pk=result.pk).update(outcome=outcome)

    assert run("gate", steady.pk, "--keep-right", "task-1")[0] == 0, "one flip of three"
    code, output = run("gate", steady.pk, "--keep-right", "task-1", "--keep-right", "task-2")
    assert (code, "failed: task-2 stays right (right in 1 of 3 repeats)" in output) == (1, True)
    assert run("gate", steady.pk, "--keep-right", "task-3")[0] == 4, "the missing verdict prevents it"
    assert run("gate", steady.pk, "--keep-right", "nowhere")[0] == 2
    assert run("gate", steady.pk)[0] == 2
    once = make_run(Dataset.objects.get())
    work_on_run_once(once.pk)
    once.results.filter(task__task_id="task-1").update(outcome="wrong")
    assert run("gate", once.pk, "--keep-right", "task-1")[0] == 4, "one repeat may have flipped"


def test_an_answer_that_loses_its_verdict_passes_no_gate(endpoint: Endpoint) -> None:
    endpoint(always_right)
    dataset = make_dataset(30)
    good, attacker = make_run(dataset), make_run(dataset)
    for each in (good, attacker):
        work_on_run_once(each.pk)
    hidden = attacker.results.order_by("position")[:10].values_list("pk", flat=True)
    Score.objects.filter(result__in=list(hidden)).update(value=None, status=Score.Status.METRIC_ERROR)
    code, output = run("gate", attacker.pk, "--against", good.pk, "--margin", 20)
    assert (code, "the missing scores prevent it" in output) == (4, True)


def test_a_margin_without_an_earlier_run_is_refused(endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(1)
    assert run("run", *SUMS, "--margin", 2)[0] == 2
    assert not Run.objects.exists()
