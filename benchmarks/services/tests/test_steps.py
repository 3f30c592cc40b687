"""Steps from where they come to where they are stored: files, pushes, systems; copied and deleted."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.execution import model_clients
from benchmarks.imports import inspect_log as inspect_log_file
from benchmarks.imports.inspect_steps import steps_of_events
from benchmarks.imports.reading import zipfile
from benchmarks.imports.tests.logs import inspect_log, inspect_sample, write_long_log
from benchmarks.models import Result, Run, StoredStep
from benchmarks.providers.steps import Step
from benchmarks.queries.steps import Steps, calls_beside
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import import_runs
from benchmarks.services.operations.retention import prune_texts
from benchmarks.services.pushes.closing import close_push
from benchmarks.services.pushes.receiving import add_results, open_push
from benchmarks.services.runs.control import delete_run
from benchmarks.services.runs.rescoring import start_rescoring
from codeforge.config import parse_config
from tests.support.factories import make_dataset, make_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)

LOGS = Path(__file__).parents[2] / "imports" / "tests" / "tool_logs"


def steps_of(run: Run) -> list[Step]:
    return [stored.step for stored in StoredStep.objects.filter(result__run=run).order_by("result", "position")]


def atif(**fields: Any) -> dict[str, Any]:
    look = {"tool_call_id": "c", "function_name": "find_order", "arguments": {"order_id": 1042}}
    seen = {"source_call_id": "c", "content": '{"status": "paid"}'}
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "session-1",
        "agent": {"name": "terminus", "version": "2.1", "model_name": "acme/large"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Is order 1042 paid?", "timestamp": "2026-01-31T12:00:00Z"},
            {
                **{"step_id": 2, "source": "agent", "message": "", "timestamp": "2026-01-31T12:00:02Z"},
                **{"tool_calls": [look], "observation": {"results": [seen]}},
                "metrics": {"prompt_tokens": 40, "completion_tokens": 8},
            },
            {"step_id": 3, "source": "agent", "message": "It is paid.", "timestamp": "2026-01-31T12:00:03Z"},
        ],
        "final_metrics": {"total_prompt_tokens": 90, "total_completion_tokens": 12, "total_cost_usd": 0.25},
        **fields,
    }


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_a_log_of_inspect_keeps_what_each_of_its_agents_did() -> None:
    (imported,) = import_runs(LOGS / "inspect_agents.eval")
    steps = steps_of(imported.run)
    calls = [(step.agent, step.depth, step.name, step.error) for step in steps if step.kind == "tool_call"]
    assert calls == [
        ("shop", 0, "transfer_to_researcher", ""),
        ("researcher", 1, "find_order", "Order 7 does not exist."),
        ("researcher", 1, "find_order", ""),
        ("researcher", 1, "submit", ""),
        ("shop", 0, "submit", ""),
    ]
    assert steps[0] == Step(kind="message", name="user", text="Is order 1042 paid?", at=steps[0].at)
    assert (steps[-1].kind, steps[-1].name, steps[-1].result) == ("score", "includes", "C")
    assert [step.tokens_in for step in steps if step.kind == "model_call"] == [30] * 5


def test_every_event_of_three_agents_is_a_step_of_its_agent_and_no_change_is_told_twice() -> None:
    with zipfile.ZipFile(LOGS / "inspect_delegated.eval") as log:
        samples = {name: json.loads(log.read(f"samples/{name}_epoch_1.json")) for name in ("cancel", "lost")}
    (imported,) = import_runs(LOGS / "inspect_delegated.eval")
    for name, sample in samples.items():
        result = imported.run.results.get(task__task_id=name)
        steps = [stored.step for stored in StoredStep.objects.filter(result=result).order_by("position")]
        written, read = Counter(event["event"] for event in sample["events"]), Counter(step.kind for step in steps)
        assert (read["tool_call"], read["model_call"]) == (written["tool"], written["model"]) == (8, 8)
        assert read["score"] == written["score"] == len(sample["scores"])
        assert read["error"] == written["error"] == (name == "lost")
        agents = [
            event["name"]
            for event in sample["events"]
            if (event["event"], event.get("type")) == ("span_begin", "agent")
        ]
        assert [*dict.fromkeys(step.agent for step in steps if step.agent)] == agents == ["desk", "clerk", "auditor"]
        assert {step.agent: step.depth for step in steps if step.agent} == {"desk": 0, "clerk": 1, "auditor": 2}
        states = [(step.name, step.agent, step.text or step.result) for step in steps if step.kind == "state"]
        stored = ("store", "clerk", {"add /canceled": [1042]})
        assert states[:1] == [stored], "each span around the call reports its change again"
        assert [each[0] for each in states] == ["store", "compaction"]
        assert re.fullmatch(r"trim: \d+ to \d+ tokens", states[1][2])
    scores = imported.run.scores.filter(metric=imported.run.metrics[0]).values_list("result__task__task_id", "value")
    assert list(scores) == [("cancel", 1.0)]


def test_both_formats_of_a_log_have_the_same_steps(tmp_path: Path) -> None:
    """The text that Inspect stores apart is put in, and what cannot be read is no step."""
    events = [
        {"event": "info", "source": "log", "data": "see attachment://" + "a" * 32},
        {"event": "tool", "function": "add", "arguments": {"a": 1}, "result": "3", "timestamp": "noon"},
        {"event": "unheard_of"},
        7,
        {"event": "sample_limit", "type": "token", "message": "Too many tokens."},
    ]
    log = inspect_log(inspect_sample(events=events, attachments={"a" * 32: "the whole text"}))
    (imported,) = import_runs(write(tmp_path / "log.json", log))
    steps = steps_of(imported.run)
    stored = [(step.kind, step.name, step.text, step.failed) for step in steps]
    assert stored == [("message", "log", "see the whole text", False), ("error", "token", "Too many tokens.", True)]
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
        file.writestr("header.json", json.dumps({**log, "samples": None}))
    delete_run(imported.run)
    (again,) = import_runs(tmp_path / "log.eval")
    assert steps_of(again.run) == steps


def test_memory_does_not_grow_with_the_number_of_events(tmp_path: Path) -> None:
    peaks = []
    for events in (3_000, 30_000):
        write_long_log(path := tmp_path / f"{events}.eval", events)
        tracemalloc.start()
        (imported,) = import_runs(path, slug=f"long-{events}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert StoredStep.objects.filter(result__run=imported.run).count() == events
        delete_run(imported.run)
    assert peaks[1] < 1.3 * peaks[0] + 2_000_000
    assert not StoredStep.objects.exists()


def test_a_trajectory_is_imported_as_a_run_with_its_task_and_answer(tmp_path: Path) -> None:
    (imported,) = import_runs(write(tmp_path / "trajectory.json", atif()))
    run, result = imported.run, Result.objects.select_related("task", "transcript").get(run=imported.run)
    assert (run.model, run.import_format, run.environment["agent"]) == ("acme/large", "atif", "terminus 2.1")
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (90, 12, 0.25)
    assert (result.task.input, result.transcript.actual_output) == ("Is order 1042 paid?", "It is paid.")
    assert (result.outcome, result.duration_ms) == ("answered", 3_000)
    assert [call["name"] for call in result.transcript.tool_calls] == ["find_order"]
    assert [step.kind for step in steps_of(run)] == ["message", "model_call", "tool_call", "model_call"]
    assert imported.unused == []


def test_a_trajectory_matches_the_task_of_an_inspect_log_and_its_calls_stand_beside_those_of_the_log() -> None:
    """An agent that looks up the wrong order first beside one that does not, each with two levels of sub-agents."""
    (log,) = import_runs(LOGS / "inspect_delegated.eval")
    (trajectory,) = import_runs(LOGS / "atif_delegated.json", dataset=log.run.dataset.slug)
    assert trajectory.unused == []
    ours, theirs = trajectory.run.results.get(), log.run.results.get(task__task_id="cancel")
    assert ours.task == theirs.task
    assert (trajectory.run.only_task, log.run.only_task) == ("cancel", "")
    assert ours.transcript.actual_output == "Order 1042 is canceled."
    pairs = [
        tuple(call and (call.name, call.agent, call.depth) for call in pair)
        for pair in calls_beside(Steps(ours), Steps(theirs))
    ]
    assert pairs == [
        (("transfer_to_clerk", "", 0), ("transfer_to_clerk", "desk", 0)),
        (("auditor", "clerk", 1), ("auditor", "clerk", 1)),
        (None, ("find_order", "auditor", 2)),
        (("find_order", "auditor", 2), ("find_order", "auditor", 2)),
        (("submit", "auditor", 2), ("submit", "auditor", 2)),
        (("cancel_order", "clerk", 1), ("cancel_order", "clerk", 1)),
        (("submit", "clerk", 1), ("submit", "clerk", 1)),
        (("notify", "", 0), ("submit", "desk", 0)),
    ]


def test_sub_agents_in_files_of_their_own_are_part_of_the_run(tmp_path: Path) -> None:
    document = atif()
    result = document["steps"][1]["observation"]["results"][0]
    result["subagent_trajectory_ref"] = [{"session_id": "session-2", "trajectory_path": "agents/child.json"}]
    child = atif(session_id="session-2", agent={"name": "helper", "version": "1"}, final_metrics=None)
    files = [write(tmp_path / "child.json", child), write(tmp_path / "main.json", document)]
    (imported,) = import_runs(*files)
    assert [step.depth for step in steps_of(imported.run)] == [0, 0, 0, 1, 1, 1, 1, 0]


def test_a_file_that_continues_another_after_a_summary_is_part_of_the_run(tmp_path: Path) -> None:
    first = atif(continued_trajectory_ref="trajectory.cont-1.json")
    copied = [{**step, "is_copied_context": True} for step in first["steps"]]
    said = {"step_id": 4, "source": "agent", "message": "It was paid today."}
    totals = {"total_prompt_tokens": 190, "total_completion_tokens": 20, "total_cost_usd": 0.5}
    more = atif(steps=[*copied, said], final_metrics=totals)
    alone = write(tmp_path / "trajectory.json", first)
    (imported,) = import_runs(alone)
    assert [step.text for step in steps_of(imported.run)][-1] == "It is paid."
    assert imported.unused == ["Not imported: continued_trajectory_ref of trajectories (1)."]
    delete_run(imported.run)

    (imported,) = import_runs(write(tmp_path / "trajectory.cont-1.json", more), alone)
    assert [step.text for step in steps_of(imported.run) if step.text] == [
        *("Is order 1042 paid?", "It is paid.", "It was paid today.")
    ]
    assert (imported.run.tokens_in, imported.run.tokens_out, imported.run.cost_usd) == (190, 20, 0.5)
    assert imported.run.results.get().transcript.actual_output == "It was paid today."
    assert imported.unused == []


def test_what_a_terminal_shows_after_calls_without_their_ids_is_the_result_of_the_last_one(tmp_path: Path) -> None:
    document = atif()
    turn = document["steps"][1]
    turn["tool_calls"].append({"tool_call_id": "d", "function_name": "bash", "arguments": {"keystrokes": "ls\n"}})
    del turn["observation"]["results"][0]["source_call_id"]
    (imported,) = import_runs(write(tmp_path / "trajectory.json", document))
    calls = [(step.name, step.result) for step in steps_of(imported.run) if step.kind == "tool_call"]
    assert calls == [("find_order", None), ("bash", {"status": "paid"})]
    assert "environment" not in [step.name for step in steps_of(imported.run)]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"steps": []}, "steps: no message of a user found, so there is no task"),
        ({"steps": [{"source": "robot"}]}, "steps[0]: source: 'robot' is none of system, user, agent."),
        ({"agent": {}}, "agent.name: expected a value, found nothing"),
        ({"schema_version": "ATIF-v2.0"}, "schema_version: 'ATIF-v2.0' cannot be read. Use ATIF-v1.0 to v1.8."),
    ],
)
def test_a_trajectory_that_cannot_be_read_is_refused_with_the_place(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(NotPossible) as raised:
        import_runs(write(tmp_path / "trajectory.json", atif(**fields)))
    assert problem in raised.value.message


def test_the_same_answers_by_other_steps_are_another_evaluation(tmp_path: Path) -> None:
    document = atif()
    first = import_runs(write(tmp_path / "first.json", document))[0]
    again = import_runs(write(tmp_path / "again.json", {**document, "notes": "read once more"}))[0]
    document["steps"][1]["tool_calls"][0]["arguments"] = {"order_id": 7}
    other = import_runs(write(tmp_path / "other.json", document))[0]
    assert (again.run, again.is_new) == (first.run, False)
    assert other.is_new
    assert [step.arguments for step in steps_of(other.run) if step.kind == "tool_call"] == [{"order_id": 7}]


def push(*results: dict[str, Any]) -> Run:
    pushed = open_push({"model": "acme/agent", "dataset_name": "Orders", "expected": len(results)})
    add_results(pushed.pk, {"results": list(results)})
    return close_push(pushed.pk, {})


def test_a_log_is_known_in_its_other_format_and_its_steps_are_read_only_to_store_them(
    tmp_path: Path, monkeypatch: Any
) -> None:
    log = inspect_log(inspect_sample(events=[{"event": "tool", "function": "add", "arguments": {"a": 1}}]))
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
        file.writestr("header.json", json.dumps({**log, "samples": None}))
    steps = Mock(side_effect=steps_of_events)
    monkeypatch.setattr(inspect_log_file, "steps_of_events", steps)
    (imported,) = import_runs(write(tmp_path / "log.json", log), metrics=["exact_match"])
    assert steps.call_count == 1
    (again,) = import_runs(tmp_path / "log.eval")
    assert (again.is_new, again.run) == (False, imported.run)
    # As earlier releases stored it, which did not say its steps.
    Run.objects.update(environment={**imported.run.environment, "steps_sha256": ""})
    (again,) = import_runs(tmp_path / "log.eval")
    assert (again.is_new, again.run) == (False, imported.run)


def test_pushed_results_keep_their_steps_in_either_form() -> None:
    call = {"kind": "tool_call", "name": "refund", "arguments": {"to": "card"}, "error": "refused"}
    run = push(
        {"key": "a", "input": "Refund.", "answer": "Done.", "steps": [{"kind": "reasoning", "text": "Hm."}, call]},
        {"key": "b", "input": "Is order 1042 paid?", "answer": "It is paid.", "steps": atif()},
    )
    steps = steps_of(run)
    assert [step.kind for step in steps] == [
        *("reasoning", "tool_call"),
        *("message", "model_call", "tool_call", "model_call"),
    ]
    assert steps[1].as_json() == call
    calls = [[each["name"] for each in result.transcript.tool_calls] for result in run.results.order_by("position")]
    assert calls == [["refund"], ["find_order"]]


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ("x", "Send a list of steps, or an ATIF trajectory with its schema_version."),
        ([{"kind": "message"}, {"kind": "dance"}], "[1]: The kind 'dance' does not exist."),
        ({"schema_version": "ATIF-v1.0", "steps": [{"source": "robot"}]}, "steps[0]: source: 'robot' is none of"),
        ([{"kind": "message"}] * 20_001, "At most 20,000 steps. Import longer trajectories as a file."),
    ],
)
def test_pushed_steps_that_are_none_are_refused_with_the_place(steps: Any, problem: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        push({"key": "a", "input": "Refund.", "answer": "Done.", "steps": steps})
    assert raised.value.errors["results[0].steps"][0].startswith(problem)


BOT = """
import json, sys
for line in sys.stdin:
    json.loads(line)
    step = {"kind": "tool_call", "name": "search", "arguments": {"q": "x"}, "result": "found", "duration_ms": 5}
    print(json.dumps({"answer": "A", "steps": [step, {"kind": "dance"}]}), flush=True)
"""


@pytest.fixture
def bot(settings: Any, tmp_path: Path) -> Iterator[None]:
    (tmp_path / "bot.py").write_text(BOT)
    provider = {"kind": "command", "command": [sys.executable, "bot.py"], "folder": str(tmp_path), "processes": 1}
    settings.CODEFORGE = parse_config({"providers": {"bot": provider}}, environ={})
    model_clients.forget()
    yield
    model_clients.forget()


def test_what_a_system_says_that_it_did_is_stored_copied_and_pruned(bot: None) -> None:
    dataset = make_dataset(1)
    run = worked(make_run(dataset, model="bot", metrics=["exact_match"]))
    step = Step(kind="tool_call", name="search", arguments={"q": "x"}, result="found", duration_ms=5.0)
    assert steps_of(run) == [step]
    transcript = run.results.get().transcript
    assert transcript.tool_calls[0]["name"] == "search"
    assert "1 of 2 steps were left out. The first is step 2: The kind 'dance' does not exist." in transcript.notes[0]

    again = worked(start_rescoring(run, {"metrics": ["contains"]}))
    assert steps_of(again) == [step]

    prune_texts(timedelta(0))
    assert not StoredStep.objects.exists()


def test_the_api_and_the_command_give_every_step_with_its_texts(client: Client, capsys: Any) -> None:
    (imported,) = import_runs(LOGS / "inspect_agents.eval")
    result = imported.run.results.get()
    given = client.get(f"/api/v1/benchmarks/results/{result.pk}/steps?page_size=5&page=2").json()
    assert (given["count"], [row["position"] for row in given["results"]]) == (12, [6, 7, 8, 9, 10])
    assert given["results"][1]["arguments"] == {"order_id": 1042}
    assert given["results"][1]["result"] == {"status": "paid", "total": 89.0}
    call_command("benchmark", "steps", str(result.pk), "--from", "5", "--number", "1", "--json")
    (printed,) = json.loads(capsys.readouterr().out)
    assert (printed["name"], printed["failed"], printed["error"]) == ("find_order", True, "Order 7 does not exist.")
    assert client.get("/api/v1/benchmarks/results/999999/steps").status_code == 404
