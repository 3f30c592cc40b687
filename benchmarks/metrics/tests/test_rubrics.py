"""A rubric becomes a prompt of one judge call, and its answer a score from 0 to 1."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.metrics.base import Item, Score, ScoreStatus
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.metrics.rubrics import Rubric, RubricMetric, fails_at, rubric_metric
from benchmarks.metrics.tests.factories import ScriptedJudge, item, tool_call

TONE = {"name": "tone", "criteria": ["It is polite.", "It is short."], "steps": ["Read it twice."]}


def judged(reply: Any, about: Item | None = None, **changes: Any) -> tuple[Score, ScriptedJudge]:
    judge = ScriptedJudge([reply] * 2)
    metric = RubricMetric("rubric:tone", Rubric.of({**TONE, **changes}))
    return asyncio.run(metric.judge(about or item("Thank you!"), judge)), judge


@pytest.mark.parametrize(
    ("scale", "reply", "value"),
    [
        ("0 to 1", {"reason": "r", "score": 0.4}, 0.4),
        ("0 to 1", {"reason": "r", "score": 1}, 1.0),
        ("1 to 5", {"reason": "r", "score": 1}, 0.0),
        ("1 to 5", {"reason": "r", "score": 4}, 0.75),
        ("pass or fail", {"reason": "r", "verdict": "PASS "}, 1.0),
        ("pass or fail", {"reason": "r", "verdict": "fail"}, 0.0),
    ],
)
def test_each_scale_becomes_a_score_from_0_to_1(scale: str, reply: Any, value: float) -> None:
    score, judge = judged(reply, scale=scale)
    assert (score.value, score.reason) == (value, "r")
    assert len(judge.prompts) == 1


@pytest.mark.parametrize(
    ("scale", "reply"),
    [
        ("0 to 1", {"reason": "r", "score": 7}),
        ("0 to 1", {"reason": "r", "score": -0.1}),
        ("1 to 5", {"reason": "r", "score": 4.5}),
        ("1 to 5", {"reason": "r", "score": 0}),
        ("pass or fail", {"reason": "r", "verdict": "maybe"}),
        ("pass or fail", {"score": 1}),
        ("1 to 5", "five"),
    ],
)
def test_an_answer_off_the_scale_is_asked_for_again_and_never_a_zero(scale: str, reply: Any) -> None:
    score, judge = judged(reply, scale=scale)
    assert (score.status, score.value) == (ScoreStatus.JUDGE_ERROR, None)
    assert len(judge.prompts) == 2
    assert score.usage is not None
    assert score.usage.calls == 2


def test_the_judge_reads_the_rubric_and_what_it_lists_and_nothing_else() -> None:
    about = replace(
        item("Thank you!", expected="You are welcome."),
        input="Say thanks.",
        context=["A passage."],
        tool_calls=[tool_call("send", {"to": "Ann"})],
        pictures=["data:image/png;base64,AAAA"],
    )
    reply = {"reason": "r", "score": 1}
    _, judge = judged(reply, about)
    prompt = judge.prompts[0]
    assert "1. It is polite.\n2. It is short." in prompt
    assert "1. Read it twice." in prompt
    assert "Say thanks." in prompt
    assert "Thank you!" in prompt
    assert not any(text in prompt for text in ("You are welcome.", "A passage.", "send("))
    assert judge.pictures == [()]
    _, judge = judged(reply, about, sees=["context", "expected", "tools", "picture"])
    assert all(text in judge.prompts[0] for text in ("You are welcome.", "A passage.", 'send({"to": "Ann"})'))
    assert "Say thanks." not in judge.prompts[0]
    assert judge.pictures == [("data:image/png;base64,AAAA",)]
    _, judge = judged(reply, replace(about, steps="1. tool_call send"), sees=["steps"])
    assert "1. tool_call send" in judge.prompts[0]
    assert "STEPS" in judge.prompts[0]


def test_it_applies_to_tasks_that_have_what_it_shows() -> None:
    rubric = Rubric.of({**TONE, "sees": ["context"]})
    assert not RubricMetric("rubric:tone", rubric).applies_to(item("x"))
    assert RubricMetric("rubric:tone", rubric).applies_to(replace(item("x"), context=["A passage."]))
    assert not RubricMetric("rubric:tone").applies_to(item("x")), "its text is not known"


def test_a_task_is_scored_by_its_own_rubric() -> None:
    metric = REGISTERED_METRICS["rubric"]
    assert not metric.applies_to(item("x"))
    about = replace(item("x"), rubric={"criteria": "It rhymes.", "scale": "1 to 5", "threshold": 3})
    judge = ScriptedJudge([{"reason": "r", "score": 3}])
    score = asyncio.run(metric.judge(about, judge))  # type: ignore[attr-defined]  # it is judged
    assert "It rhymes." in judge.prompts[0]
    assert (score.value, score.detail["passes_at"], score.detail["points"]) == (0.5, 0.5, "3 of 5")


def test_thresholds_and_versions() -> None:
    assert Rubric.of(TONE).passes_at == 0.7
    assert Rubric.of({**TONE, "scale": "1 to 5"}).passes_at == 0.75
    assert Rubric.of({**TONE, "scale": "pass or fail"}).passes_at == 1.0
    assert (fails_at(0.7), fails_at(0.2)) == (0.3, 0.1)
    hashes = {
        Rubric.of({**TONE, **changes}).hash
        for changes in ({}, {"criteria": "Kind."}, {"steps": []}, {"scale": "1 to 5"}, {"threshold": 0.9})
    }
    assert len(hashes) == 5
    assert Rubric.of({**TONE, "name": "other"}).hash == Rubric.of(TONE).hash


def test_by_its_name_alone_it_has_a_title_and_a_range() -> None:
    metric = metric_named("rubric:tone")
    assert metric is not None
    assert (metric.title, metric.range, metric.judged) == ("tone (rubric)", (0.0, 1.0), True)
    assert rubric_metric("correctness") is None
