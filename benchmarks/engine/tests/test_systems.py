"""Runs of systems under test: programs named alone, what they retrieved, their cost, and what they cannot be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.engine.execution import model_clients
from benchmarks.models import Dataset, DatasetVersion, Outcome, RunStatus, StoredStep
from benchmarks.presentation.sentences import unknown_cost_of_answers
from benchmarks.queries.tables.runs import cost as costs
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.runs.exports import export_pieces
from benchmarks.services.runs.rescoring import start_rescoring
from benchmarks.services.runs.start import start_run
from benchmarks.summary import PartOfCost
from codeforge.config import ConfigError, parse_config
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)
BOT = """
import json, sys
KNOWN = {"tower": "The tower is 330 m high.", "bridge": "The bridge is 100 m long."}
for line in sys.stdin:
    task = json.loads(line)
    found = [text for name, text in KNOWN.items() if name in task["input"]]
    said = {"answer": found[0] if found else "I do not know.", "retrieved": found, "cost_usd": 0.01}
    if "silent" in task["input"]:
        del said["retrieved"]
    if "for free" in task["input"].lower():
        del said["cost_usd"]
    if task["metadata"].get("tool"):
        said["tool_calls"] = [{"name": "search", "arguments": {"q": task["input"]}}]
    print(json.dumps({**said, "model": "bot-7"}), flush=True)
"""
TASKS = """\
name: Sights
description: How large they are
metrics: [retrieval_recall, retrieval_precision, contains, tool_calls]
tasks:
  - {id: tower, name: Tower, input: How high is the tower?, expected_output: "330", metadata: {tool: "yes"},
     expected_context: [The tower is 330 m high.], expected_tools: [{name: search, args: {q: How high is the tower?}}]}
  - {id: both, name: Both, input: The tower or the bridge?, expected_output: tower,
     expected_context: [the  TOWER is 330 m high., The moon is far.]}
  - {id: moon, name: Moon, input: How far is the moon?, expected_output: far, expected_context: [The moon is far.]}
  - {id: silent, name: Silent, input: silent tower, expected_output: "330",
     expected_context: [The tower is 330 m high.]}
"""


@pytest.fixture
def bot(settings: Any, tmp_path: Path) -> Any:
    (tmp_path / "bot.py").write_text(BOT)
    provider = {"kind": "command", "command": [sys.executable, "bot.py"], "folder": str(tmp_path), "processes": 1}
    settings.CODEFORGE = parse_config({"providers": {"bot": provider, "loop": {"base_url": "http://x"}}}, environ={})
    model_clients.forget()
    yield
    model_clients.forget()


def sights(text: str = TASKS) -> Dataset:
    parsed = parse_dataset(text.encode(), "sights.yaml")
    assert parsed.spec is not None, parsed.problems
    return import_dataset(parsed.spec, "sights", DatasetVersion.Origin.UPLOAD).dataset


def scores(run: Any) -> dict[str, dict[str, float]]:
    return {
        result.task.task_id: {score.metric: score.value for score in result.scores.all()}
        for result in run.results.prefetch_related("scores", "task")
    }


METRICS = ["contains", "retrieval_recall", "retrieval_precision", "tool_calls"]


def test_a_system_is_named_alone_and_scored_on_what_it_retrieved(bot: Any) -> None:
    run = worked(make_run(sights(), model="bot", metrics=METRICS))

    assert (run.status, run.model, run.cost_usd) == (RunStatus.COMPLETED, "bot", pytest.approx(0.04))
    got = scores(run)
    assert got["tower"] == {"contains": 1.0, "retrieval_recall": 1.0, "retrieval_precision": 1.0, "tool_calls": 1.0}
    assert (got["both"]["retrieval_recall"], got["both"]["retrieval_precision"]) == (0.5, 0.5)
    assert (got["moon"]["retrieval_recall"], got["moon"]["retrieval_precision"]) == (0.0, 0.0)
    result = run.results.get(task__task_id="both")
    assert result.transcript.retrieved == ["The tower is 330 m high.", "The bridge is 100 m long."]
    assert (result.response_model, result.attempts) == ("bot-7", 1)


def test_of_costs_that_a_system_leaves_out_the_known_part_and_the_reason_are_stated(bot: Any) -> None:
    some, none = (
        worked(make_run(sights(text), model="bot", metrics=["contains"]))
        for text in (TASKS.replace("How far", "For free how far"), TASKS.replace("input: ", "input: for free "))
    )

    for run, known, cost, reason in (
        (some, PartOfCost(pytest.approx(0.03), 1, 4, by_system=True), "$0.03 + 1 answer unknown", "1 of 4 answers"),
        (none, PartOfCost(None, 4, 4, by_system=True), "unknown", "4 of 4 answers"),
    ):
        assert (run.cost_usd, run.numbers.part_of_cost) == (None, known)
        assert costs(run).text == cost
        assert unknown_cost_of_answers(run) == f"the system reports no cost for {reason}"


def test_a_system_that_says_nothing_of_what_it_retrieved_gains_nothing(bot: Any) -> None:
    got = scores(worked(make_run(sights(), model="bot", metrics=METRICS)))

    assert (got["silent"]["contains"], got["silent"]["retrieval_recall"]) == (1.0, 0.0)


def test_stored_answers_are_scored_again_with_what_was_retrieved(bot: Any) -> None:
    run = worked(make_run(sights(), model="bot", metrics=["contains"]))
    again = worked(start_rescoring(run, {"metrics": ["retrieval_recall"]}))

    assert scores(again)["both"] == {"retrieval_recall": 0.5}


def test_retrieved_passages_are_exported(bot: Any) -> None:
    run = worked(make_run(sights(), model="bot", metrics=["contains"]))

    assert "The bridge is 100 m long." in b"".join(export_pieces(run, "jsonl")).decode()


def test_a_model_retrieves_nothing(bot: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        make_run(sights(), model="loop/x", metrics=["retrieval_recall"])

    assert "there are none here" in str(refused.value.errors["metrics"])


def test_models_beside_a_system_go_without_the_metrics_of_retrieval(bot: Any) -> None:
    sights()
    request = {"name": "Both", "datasets": ["sights"], "models": ["bot", "baseline/reference"], "metrics": METRICS}
    runs = start_experiment(request).runs.order_by("pk")

    assert [run.metrics for run in runs] == [METRICS, ["contains", "tool_calls"]]
    assert start_run({"dataset": "sights", "model": "baseline/empty"}).metrics == ["contains", "tool_calls"]


@pytest.mark.parametrize(
    ("field", "model", "said"),
    [
        ("judge_model", "bot", "bot is a system under test. Choose a model"),
        ("user_model", "bot/x", "bot/x is a system under test"),
        ("model", "loop", "loop has several models. Use loop/MODEL."),
        ("model", "bott", "Provider bott is not configured"),
        ("model", "bot/", "is not a valid model name"),
    ],
)
def test_a_system_is_no_judge_and_a_provider_no_model(bot: Any, field: str, model: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        make_run(sights(), **{"model": "bot", "metrics": ["contains"], field: model})

    assert said in str(refused.value.errors[field])


def test_a_program_that_fails_ends_the_run_with_its_last_words(bot: Any, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("import sys\nprint('no index', file=sys.stderr)\nsys.exit(78)")
    run = worked(make_run(sights(), model="bot", metrics=["contains"]))

    assert run.status == RunStatus.FAILED
    assert "no index" in run.error_message
    assert set(run.results.values_list("outcome", flat=True)) <= {Outcome.PROVIDER_ERROR, Outcome.CANCELLED}


AGENT = """
import asyncio
TOOLS = {"look_up": lambda state: {"status": "paid"}}

async def plan(state):
    state["steps"].append({"kind": "model_call", "text": "I look it up."})
    if "crash" in state["question"]:
        raise RuntimeError("no such node")
    return "act"

async def act(state):
    await asyncio.sleep(60 if "hang" in state["question"] else 0.3)
    call = {"kind": "tool_call", "name": "look_up", "arguments": {"order": 7}, "result": TOOLS["look_up"](state)}
    state["steps"].append(call)
    return "say"

async def say(state):
    state["answer"] = "x" * 2_000_000 if "flood" in state["question"] else "It is paid."
    return None

NODES = {"plan": plan, "act": act, "say": say}

async def answer(task):
    state, node = {"question": task["input"], "steps": []}, "plan"
    while node:
        node = await NODES[node](state)
    return {"answer": state["answer"], "steps": state["steps"]}
"""
SHELL = """
while IFS= read -r line; do
  case "$line" in
    *crash*) echo "it went wrong" >&2; exit 3 ;;
    *hang*) sleep 60 ;;
    *flood*) head -c 3000000 /dev/zero | tr '\\0' x >&2; printf '"It is paid."\\n' ;;
    *) printf '"It is paid."\\n' ;;
  esac
done
"""


@pytest.mark.parametrize("kind", ["python", "command"])
def test_32_tasks_at_once_of_an_agent_or_a_shell_program_end_each_on_its_own(
    settings: Any, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agent.sh").write_text(SHELL)
    agent = {"function": "agent:answer", "processes": 1, "parallel": 32}
    program = {"command": ["sh", "agent.sh"], "processes": 32}
    options = {"folder": str(tmp_path), "timeouts": {"whole": 5.0}, "retries": {"max_attempts": 1}}
    bot = {"kind": kind, **(agent if kind == "python" else program), **options}
    settings.CODEFORGE = parse_config({"providers": {"bot": bot}}, environ={})
    model_clients.forget()
    inputs = ["crash", "flood", "hang", *(f"Is order {number} paid?" for number in range(29))]
    run = worked(
        make_run(
            make_dataset([make_task(n, input=text) for n, text in enumerate(inputs)]),
            model="bot",
            metrics=["length"],
            concurrency=32,
        )
    )
    model_clients.forget()
    ended = {result.task.input: result for result in run.results.select_related("task", "transcript")}
    errors = {text: result.error_message for text, result in ended.items() if result.outcome == "provider_error"}
    assert ended["flood"].outcome == Outcome.ANSWERED
    if kind == "command":
        assert sorted(errors) == ["crash", "hang"]
        assert "it went wrong" in errors["crash"]
    else:
        assert "no such node" in errors["crash"]
        assert [step.kind for step in StoredStep.objects.filter(result=ended[inputs[-1]])] == [
            "model_call",
            "tool_call",
        ]
    assert "No answer within 5 s" in errors["hang"]
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ({"kind": "http", "base_url": "http://x"}, "Set `body` to what the system takes"),
        ({"kind": "http", "body": {"q": "{input}"}}, "`base_url` is missing"),
        ({"kind": "http", "base_url": "http://x", "body": {"q": "{question}"}}, "is not a placeholder"),
        ({"kind": "http", "base_url": "http://x", "body": "{input}", "answer": "a..b"}, "is not a JMESPath expression"),
        ({"kind": "http", "base_url": "http://x", "body": "{input}", "method": "GET"}, "A GET has no `body`"),
        ({"kind": "command"}, "Set `command` to the program"),
        ({"kind": "command", "command": ["x"], "body": "{input}"}, "`body` applies to the kind http, not to command"),
        ({"kind": "command", "command": ["x"], "base_url": "http://x"}, "do not apply to the kind command"),
        ({"kind": "python", "function": "no colon"}, "function: "),
        ({"kind": "python", "function": "a:b", "reuse": False}, "`reuse` applies to the kind command"),
        ({"kind": "openai_compatible", "base_url": "http://x", "answer": "a"}, "applies to the kind http"),
    ],
)
def test_a_fault_of_a_system_is_named(provider: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config({"providers": {"bot": provider}}, environ={})

    assert said in str(refused.value)


def test_a_header_takes_its_secret_from_the_environment() -> None:
    headers = {"X-Key": "${BOT_KEY}", "X-Team": "blue"}
    provider = {"kind": "http", "base_url": "http://x", "body": "{input}", "headers": headers}
    config = parse_config({"providers": {"bot": provider}}, environ={})

    assert config.providers["bot"].headers_with({"BOT_KEY": "s3"}) == {"X-Key": "s3", "X-Team": "blue"}
    assert "BOT_KEY" in config.secret_variables
    with pytest.raises(ValueError, match="BOT_KEY, which a header names, is not set"):
        config.providers["bot"].headers_with({})
