"""Runs score by rubrics: the run stores the text as it was used, and another text is another version."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.analysis.comparisons import differing_settings
from benchmarks.analysis.rankings import differences_in_full, places
from benchmarks.engine.execution import model_clients
from benchmarks.models import Outcome, Run, RunStatus
from benchmarks.queries.ranked_tables import table_of
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.rescoring import start_rescoring
from benchmarks.services.runs.start import start_run
from codeforge.config import ConfigError, parse_config
from tests.support.factories import JUDGE, MODEL, make_dataset, make_run, make_task
from tests.support.running import Endpoint, Script, judge_prompts, model_requests, worked

pytestmark = pytest.mark.django_db(transaction=True)

TONE = {"name": "tone", "criteria": "The answer is polite.", "scale": "1 to 5"}


def scoring(reply: str) -> Script:
    return lambda asked: reply if asked.body["model"] == "judge" else "2"


def test_a_rubric_of_the_dataset_scores_every_task_and_is_stored_with_the_run(endpoint: Endpoint) -> None:
    server = endpoint(scoring('{"reason": "Kind.", "score": 4}'))
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"]))
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["rubric:tone"]["mean"] == 0.75
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.CORRECT}
    assert {name: rubric["criteria"] for name, rubric in run.rubrics.items()} == {"tone": "The answer is polite."}
    assert len(run.rubrics["tone"]["hash"]) == 64
    assert len(judge_prompts(server)) == 3
    assert all("The answer is polite." in prompt for prompt in judge_prompts(server))
    assert run.scores.filter(detail__points="4 of 5").count() == 3


def test_each_task_has_its_own_rubric_and_threshold(endpoint: Endpoint) -> None:
    server = endpoint(scoring('{"reason": "Fair.", "score": 3}'))
    tasks = [
        make_task(1, rubric="tone"),
        make_task(2, rubric={"criteria": "It rhymes.", "scale": "1 to 5", "threshold": 3}),
        make_task(3),
    ]
    run = worked(make_run(make_dataset(tasks, rubrics=(TONE,)), metrics=["rubric"]))
    outcomes = list(run.results.order_by("position").values_list("outcome", flat=True))
    assert outcomes == [Outcome.PARTIAL, Outcome.CORRECT, Outcome.ANSWERED]
    assert ["polite" in prompt for prompt in sorted(judge_prompts(server))].count(True) == 1
    assert run.summary["metrics"]["rubric"]["n"] == 2


def test_a_changed_text_is_another_version_which_a_table_says(endpoint: Endpoint, settings: Any) -> None:
    endpoint(scoring('{"reason": "Kind.", "score": 0.8}'))
    dataset = make_dataset(3)
    runs = []
    for text, model in (("Polite.", MODEL), ("Polite and short.", MODEL), ("Polite and short.", "loop/other")):
        settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"rubrics": [{"name": "tone", "criteria": text}]})
        runs.append(worked(make_run(dataset, metrics=["rubric:tone"], model=model)))
    first, second, other = runs
    assert first.rubrics["tone"]["hash"] != second.rubrics["tone"]["hash"] == other.rubrics["tone"]["hash"]
    assert differing_settings(first, second) == ["the text of the rubric tone"]
    assert {place.run.pk for place in places(runs[::-1], "rubric:tone")} == {first.pk, second.pk, other.pk}
    shown = [place.run for place in table_of(second).places]
    assert {run.pk for run in shown} == {first.pk, second.pk, other.pk}
    assert all("rubric" in words for words in differences_in_full(shown, "rubric:tone"))


def test_stored_answers_are_scored_by_a_rubric_that_a_later_version_has(endpoint: Endpoint) -> None:
    server = endpoint(scoring('{"reason": "Kind.", "score": 5}'))
    source = worked(make_run(make_dataset(3)))
    make_dataset(3, rubrics=(TONE,))
    sent = model_requests(server)
    with pytest.raises(InvalidRequest, match="No such rubric: rubric:tone"):
        start_rescoring(source, {"metrics": ["rubric:tone"], "judge_model": JUDGE})
    again = start_rescoring(source, {"metrics": ["rubric:tone"], "judge_model": JUDGE, "version": 2})
    assert worked(again).summary["metrics"]["rubric:tone"]["mean"] == 1.0
    assert again.rubrics["tone"]["criteria"] == "The answer is polite."
    assert model_requests(server) == sent


def test_a_rubric_that_does_not_exist_or_shows_what_no_task_has_is_an_error(endpoint: Endpoint) -> None:
    endpoint()
    dataset = make_dataset(3, rubrics=({"name": "cited", "criteria": "It cites.", "sees": ["context"]},))
    for metric, message in (("rubric:tune", "No such rubric: rubric:tune"), ("rubric:cited", "no task has context")):
        with pytest.raises(InvalidRequest, match=message):
            start_run({"dataset": dataset.slug, "model": MODEL, "metrics": [metric], "judge_model": JUDGE})
    with pytest.raises(InvalidRequest, match="no task has rubric"):
        make_run(dataset, metrics=["rubric"])


def test_the_judge_sees_the_images_of_the_task_if_it_can(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(scoring('{"reason": "Seen.", "verdict": "pass"}'))
    image = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()
    task = make_task(1, input="", messages=({"role": "user", "content": [{"text": "What is it?"}, {"image": image}]},))
    rubric = {"name": "seen", "criteria": "It fits.", "scale": "pass or fail", "sees": ["input", "picture"]}
    dataset = make_dataset([task], rubrics=(rubric,))
    with pytest.raises(InvalidRequest, match="not known to accept them"):
        make_run(dataset, metrics=["rubric:seen"])
    able = settings.CODEFORGE.model(JUDGE).model_copy(update={"sees_pictures": True})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": {**settings.CODEFORGE.models, JUDGE: able}})
    run = worked(make_run(dataset, metrics=["rubric:seen"]))
    assert run.status == RunStatus.COMPLETED
    (sent,) = [body for body in server.stats.bodies if body["model"] == "judge"]
    assert [part["type"] for part in sent["messages"][0]["content"]] == ["image_url", "text"]
    assert sent["messages"][0]["content"][0]["image_url"]["url"] == image


AGENT = """
import json, sys
for line in sys.stdin:
    steps = [{"kind": "tool_call", "name": "look_up", "arguments": {"n": 7}, "error": "no such number"}]
    print(json.dumps({"answer": "2", "steps": steps}), flush=True)
"""
SEEN = {"name": "seen", "criteria": "It asks once.", "sees": ["steps"]}


def test_the_judge_sees_what_a_system_did_of_fresh_and_of_stored_answers(
    endpoint: Endpoint, settings: Any, tmp_path: Path
) -> None:
    server = endpoint(scoring('{"reason": "Once.", "score": 1}'))
    (tmp_path / "agent.py").write_text(AGENT)
    agent = {"kind": "command", "command": [sys.executable, "agent.py"], "folder": str(tmp_path), "processes": 1}
    loop = settings.CODEFORGE.providers["loop"].model_dump(exclude_unset=True)
    settings.CODEFORGE = parse_config({"providers": {"agent": agent, "loop": loop}}, {})
    model_clients.forget()
    run = worked(make_run(make_dataset(1, rubrics=(SEEN,)), model="agent", metrics=["rubric:seen"], judge_model=JUDGE))
    assert run.summary["metrics"]["rubric:seen"]["mean"] == 1
    again = worked(start_rescoring(run, {"metrics": ["rubric:seen"], "judge_model": JUDGE}))
    assert again.summary["metrics"]["rubric:seen"]["mean"] == 1
    fresh, stored = (prompt for prompt in judge_prompts(server) if "asks once" in prompt)
    line = '1. tool_call look_up: {"n": 7}; failed: no such number'
    assert line in fresh
    assert line in stored
    assert '"first_wrong_step" (the number of the first of the STEPS' in fresh
    model_clients.forget()


@pytest.mark.parametrize(("said", "stored"), [("1", 1), ("null", 0)])
def test_the_judge_names_the_first_wrong_step(
    endpoint: Endpoint, settings: Any, tmp_path: Path, said: str, stored: int
) -> None:
    reply = f'{{"reason": "Twice.", "first_wrong_step": {said}, "score": 0.5}}'
    endpoint(scoring(reply))
    (tmp_path / "agent.py").write_text(AGENT)
    agent = {"kind": "command", "command": [sys.executable, "agent.py"], "folder": str(tmp_path), "processes": 1}
    loop = settings.CODEFORGE.providers["loop"].model_dump(exclude_unset=True)
    settings.CODEFORGE = parse_config({"providers": {"agent": agent, "loop": loop}}, {})
    model_clients.forget()
    request = {"model": "agent", "metrics": ["rubric:seen", "recovered_errors"], "judge_model": JUDGE}
    run = worked(make_run(make_dataset(1, rubrics=(SEEN,)), judge_repeats=2, **request))
    assert run.scores.get(metric="rubric:seen").detail["first_wrong_step"] == stored
    recovered = run.scores.get(metric="recovered_errors")
    assert (recovered.value, recovered.reason) == (0.0, "Recovered from 0 of 1 failed steps.")
    again = worked(start_rescoring(run, {"metrics": ["recovered_errors"]}))
    assert again.scores.get(metric="recovered_errors").value == 0.0
    model_clients.forget()


def test_the_plan_counts_the_judge(endpoint: Endpoint) -> None:
    endpoint()
    dataset = make_dataset(3, rubrics=(TONE,))
    plan = plan_run({"dataset": dataset.slug, "model": MODEL, "metrics": ["rubric:tone"], "judge_model": JUDGE})
    assert plan.judge_requests == 3


def test_a_budget_covers_rubrics_and_bounds_them(endpoint: Endpoint) -> None:
    endpoint(scoring('{"reason": "Kind.", "score": 5}'))
    request = {"metrics": ["rubric:tone"], "max_tokens": 10, "budget_usd": 5.0}
    run: Run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    assert (run.status, run.reserved_usd) == (RunStatus.COMPLETED, pytest.approx(0.0))


def test_rubrics_of_the_configuration_are_checked_as_those_of_datasets() -> None:
    assert parse_config({"rubrics": [{"name": "tone", "criteria": "Kind."}]}, {}).rubrics[0]["name"] == "tone"
    with pytest.raises(ConfigError, match=r"rubrics: \[0\].criteria is missing"):
        parse_config({"rubrics": [{"name": "tone"}]}, {})
