"""How a run asks: equal asking has equal keys, also in runs of earlier versions, whatever is written out."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from benchmarks.asking import LONGEST, difference, phrase
from benchmarks.models import Run
from benchmarks.services.runs.control import include_doubtful
from benchmarks.services.runs.rescoring import start_rescoring
from benchmarks.services.runs.start import start_run
from codeforge.config import ModelConfig
from tests.support.factories import MODEL, config_for, make_dataset, make_run, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def keys(run: Run) -> tuple[str, str]:
    return run.question_key, run.answer_key


def stored(**fields: Any) -> Run:
    return make_scored_run(make_dataset(2), (1.0, 0.0), **fields)


def test_a_default_that_is_written_out_is_like_one_that_is_not_given() -> None:
    plain = stored()
    for parameters in (
        {"max_tool_steps": 5},
        {"prompt_template": "{input}"},
        {"extra": {}},
        {"system_prompt": ""},
        {"temperature": None},
    ):
        assert keys(stored(parameters=parameters)) == keys(plain), parameters
    assert keys(stored(parameters={"temperature": 1})) == keys(stored(parameters={"temperature": 1.0}))
    assert plain.asked == {"question": {}, "answer": {}, "score": {}}


def test_what_cannot_apply_is_left_out() -> None:
    assert keys(stored(parameters={"max_tool_steps": 9})) == keys(stored())
    with_tools = make_dataset([make_task(1, tools=(TOOL,))], slug="tools")
    nine = make_scored_run(with_tools, (1.0,), parameters={"max_tool_steps": 9})
    assert nine.asked["answer"] == {"max_tool_steps": 9}
    baseline = stored(model="baseline/random", parameters={"temperature": 0, "extra": {"top_k": 5}, "seed": 3})
    assert baseline.asked["answer"] == {"seed": 3}
    assert stored(judge_repeats=3).asked["score"] == {}
    assert "tasks" not in make_scored_run(make_canvas_set().dataset, [1.0] * 3).asked["question"]


def test_parameters_of_the_model_in_the_configuration_are_part_of_the_answer() -> None:
    configured = stored(model_params={"reasoning_effort": "high"})
    assert configured.asked["answer"] == {"extra": {"reasoning_effort": "high"}}
    assert keys(configured) == keys(stored(parameters={"extra": {"reasoning_effort": "high"}}))
    assert keys(configured) != keys(stored())


def test_of_a_long_text_the_beginning_and_the_hash_are_stored() -> None:
    long, other = "a" * 500, "a" * 499 + "b"
    first, second = (stored(parameters={"system_prompt": text}) for text in (long, other))
    assert len(first.asked["question"]["system_prompt"]) < LONGEST + 30
    assert first.question_key != second.question_key


def test_every_way_to_a_run_stores_how_it_asks(settings: Any) -> None:
    settings.CODEFORGE = config_for("http://127.0.0.1:9")
    settings.CODEFORGE.models[MODEL] = ModelConfig(params={"top_k": 5})
    started = make_run(make_dataset(2), system_prompt="Think.", temperature=0)
    assert started.asked["question"] == {"system_prompt": "Think."}
    assert started.asked["answer"] == {"temperature": 0, "extra": {"top_k": 5}}
    settings.CODEFORGE.models[MODEL] = ModelConfig()
    again = start_run({"dataset": "sums", "model": MODEL, "metrics": ["exact_match"], "system_prompt": "Think."})
    assert (again.question_key == started.question_key, again.answer_key == started.answer_key) == (True, False)
    scored = stored(parameters={"temperature": 0.5})
    rescored = start_rescoring(scored, {"metrics": ["contains"]})
    assert keys(rescored) == keys(scored)


def test_a_run_that_includes_doubtful_references_asks_another_question() -> None:
    canvas_set = make_canvas_set()
    run = make_scored_run(canvas_set.dataset, [1.0] * 3)
    before = run.question_key
    run.summary["metrics"]["exact_match"]["n_doubtful"] = 1
    run.save()
    include_doubtful(run, include=True)
    run.refresh_from_db()
    assert run.question_key != before
    assert run.asked["question"]["include_doubtful"] is True
    include_doubtful(run, include=False)
    run.refresh_from_db()
    assert run.question_key == before


def test_runs_of_earlier_versions_get_the_same_keys() -> None:
    with_tools = make_dataset([make_task(1, tools=(TOOL,))], slug="tools")
    runs = [
        stored(),
        stored(parameters={"temperature": 0.0, "extra": {"top_k": 5}, "system_prompt": "x" * 200}),
        make_scored_run(with_tools, (1.0,), parameters={"max_tool_steps": 9}),
        make_scored_run(make_canvas_set().dataset, [1.0] * 3, few_shot=True, task_classes=["count"]),
        stored(judge_model="loop/judge", judge_repeats=2, import_format="inspect"),
    ]
    wanted = [(run.asked, *keys(run)) for run in runs]
    Run.objects.update(asked={}, question_key="", answer_key="")
    migration = import_module("benchmarks.migrations.0004_how_runs_ask")
    migration.fill_in(apps, SimpleNamespace(connection=connection))
    found = Run.objects.in_bulk()
    assert [(found[run.pk].asked, *keys(found[run.pk])) for run in runs] == wanted


def test_differences_are_named_in_words() -> None:
    values = [{"temperature": 0, "extra": {"reasoning_effort": "high"}}, {"temperature": 0}, {}]
    assert [difference(each, values) for each in values] == [
        "temperature 0, reasoning_effort high",
        "temperature 0",
        "default parameters",
    ]
    assert difference({"temperature": 0}, [{"temperature": 0}] * 2) == ""
    assert phrase("system_prompt", "Think\nhard.") == "system prompt “Think hard.”"
    assert phrase("system_prompt", None) == "no system prompt"
    assert phrase("split", "test") == "split test"
