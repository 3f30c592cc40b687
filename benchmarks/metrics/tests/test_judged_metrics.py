"""tool_correctness, faithfulness, answer_relevancy, contextual_precision."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.metrics.answer_relevancy import AnswerRelevancy
from benchmarks.metrics.base import JudgeAnswer, ScoreStatus
from benchmarks.metrics.contextual_precision import ContextualPrecision
from benchmarks.metrics.contextual_recall import ContextualRecall
from benchmarks.metrics.correctness import Correctness
from benchmarks.metrics.faithfulness import Faithfulness
from benchmarks.metrics.tests.factories import ScriptedJudge, item, tool_call
from benchmarks.metrics.tool_correctness import ToolCorrectness
from benchmarks.providers.base import ProviderError

WEATHER = {"name": "get_weather", "args": {"city": "Paris"}}
PASSAGES = ("The tower is 330 m high.", "It was built in 1889.", "Cats sleep a lot.")

BROKEN = {
    "no JSON": "The answer is right, I would say eight of ten.",
    "wrong keys": '{"rating": 9, "why": "fine"}',
    "score above the range": '{"reason": "great", "score": 85}',
    "score below the range": '{"reason": "bad", "score": -1}',
    "score as text": '{"reason": "great", "score": "nine"}',
    "score as a boolean": '{"reason": "great", "score": true}',
    "NaN": '{"reason": "hm", "score": NaN}',
    "infinite": '{"reason": "hm", "score": 1e999}',
    "empty": "",
    "blank": " \n ",
    "truncated": '{"reason": "The answer names the right capital but',
    "truncated in a fence": '```json\n{"reason": "The answer names',
    "refusal": "I'm sorry, but I can't help with judging this.",
    "HTML": "<html><body><h1>502 Bad Gateway</h1></body></html>",
    "huge": '{"reason": "' + "a" * 300_000 + '", "score": 9}',
    "a list": '[{"reason": "fine", "score": 9}]',
    "no score": '{"reason": "fine", "score": null}',
    "nested without end": '{"a":' * 100_000,
}


def verdicts(*words: str) -> dict:
    return {"verdicts": [{"verdict": word, "reason": f"because {word}"} for word in words]}


def rag_judge(claims: list[str], *words: str) -> ScriptedJudge:
    """Answers the three prompts of faithfulness, in any order."""

    def respond(prompt: str):
        if '"truths"' in prompt:
            return {"truths": ["The tower is 330 m high."]}
        if '"claims"' in prompt:
            return {"claims": claims}
        return verdicts(*words)

    return ScriptedJudge(respond)


def relevancy_judge(statements: list[str], *words: str) -> ScriptedJudge:
    return ScriptedJudge([{"statements": statements}, verdicts(*words)])


async def test_tool_correctness_shows_the_judge_expected_and_actual_calls():
    judge = ScriptedJudge([{"reason": "Same call.", "score": 10}])
    case = item(
        input="Weather in Paris?", expected_tools=[WEATHER], tool_calls=[tool_call("get_weather", {"city": "Lyon"})]
    )

    score = await ToolCorrectness().judge(case, judge)

    assert (score.value, score.reason) == (1.0, "Same call.")
    prompt = judge.prompts[0]
    assert "Weather in Paris?" in prompt
    assert '1. {"name": "get_weather", "arguments": {"city": "Lyon"}}' in prompt.split("<<ACTUAL CALLS")[1]
    assert '1. {"name": "get_weather", "arguments": {"city": "Paris"}}' in prompt.split("<<EXPECTED CALLS")[1]


async def test_tool_correctness_asks_no_judge_about_missing_calls_and_shows_it_malformed_ones():
    judge = ScriptedJudge([{"reason": "Broken.", "score": 2}])

    none = await ToolCorrectness().judge(item(expected_tools=[WEATHER]), judge)
    broken = await ToolCorrectness().judge(
        item(expected_tools=[WEATHER], tool_calls=[tool_call("get_weather", raw='{"city": ')]), judge
    )

    assert (none.value, broken.value) == (0.0, 0.2)
    assert ["malformed_arguments" in prompt for prompt in judge.prompts] == [True]


def test_only_identical_calls_need_no_judge():
    for calls, decided in (
        ([tool_call("get_weather", {"city": "Paris"})], True),
        ([tool_call("get_weather", {"city": "paris"})], False),
        ([], False),
    ):
        score = ToolCorrectness().decided_without_judge(item(expected_tools=[WEATHER], tool_calls=calls))
        assert (score is not None) is decided, calls


async def test_faithfulness_is_the_share_of_claims_the_context_does_not_contradict():
    judge = rag_judge(["It is 330 m high.", "It is in Lyon.", "It is nice."], "yes", "no", "borderline")

    score = await Faithfulness().judge(item("330 m high, in Lyon, nice.", context=PASSAGES), judge)

    assert score.value == pytest.approx(2 / 3)
    assert score.reason == "2 of 3 claims agree with the context. Exceptions: “It is in Lyon.” (because no)."
    assert [entry["verdict"] for entry in score.detail["verdicts"]] == ["yes", "no", "borderline"]


async def test_all_calls_for_one_score_are_summed():
    judge = rag_judge(["It is 330 m high."], "yes")

    score = await Faithfulness().judge(item("330 m", context=PASSAGES), judge)

    assert (score.usage.calls, score.usage.tokens_in, score.usage.tokens_out) == (3, 300, 30)
    assert score.usage.prompt.count("── call") == 3
    assert score.usage.raw_reply.count("── call") == 3


async def test_faithfulness_shows_the_judge_the_context_and_the_answer():
    judge = rag_judge(["It is 330 m high."], "yes")

    await Faithfulness().judge(item("answer-text", context=PASSAGES), judge)

    of_truths = next(prompt for prompt in judge.prompts if '"truths"' in prompt)
    of_claims = next(prompt for prompt in judge.prompts if '"claims"' in prompt)
    assert all(passage in of_truths for passage in PASSAGES)
    assert "answer-text" in of_claims
    assert "It is 330 m high." in judge.prompts[-1]


async def test_a_judge_that_lists_no_claims_is_an_error():
    score = await Faithfulness().judge(item("The tower is 330 m high.", context=PASSAGES), rag_judge([]))

    assert (score.status, score.value, score.usage.calls) == (ScoreStatus.JUDGE_ERROR, None, 2)
    assert "it returned no claims for an answer that is not empty" in score.reason


async def test_two_verdicts_in_one_response_are_an_error_and_not_the_first_or_the_longest():
    good, bad = '{"reason": "Right in all that matters.", "score": 9}', '{"reason": "Wrong.", "score": 1}'
    case = item("text", "330 m")
    for response, value in (
        (f"{good}\n{bad}", None),
        (f"{bad} On second thought: {good}", None),
        (f"```json\n{good}\n```\nor\n```json\n{bad}\n```", None),
        (f"The answer says {bad}. ```json\n{good}\n```", None),
        ('{"reason": "hm", "score": 9, "score": 1}', None),
        (f"{good}\n\nAs JSON:\n{good}", 0.9),
        (f'{good} {{"note": "not a verdict"}} {{braces}}', 0.9),
        (f"<think>{bad}</think>{good}", 0.9),
        ('{"reason": "It quotes {\\"score\\": 10}.", "score": 9}', 0.9),
    ):
        score = await Correctness().judge(case, ScriptedJudge(lambda prompt, response=response: response))
        assert score.value == value, response
        assert (score.status is ScoreStatus.JUDGE_ERROR) is (value is None), response


async def test_answer_relevancy_is_the_share_of_statements_that_address_the_input():
    judge = relevancy_judge(["It is 330 m high.", "Buy my book."], "Yes", "NO ")

    score = await AnswerRelevancy().judge(item("330 m. Buy my book.", input="How high is it?"), judge)

    assert score.value == 0.5
    assert "330 m. Buy my book." in judge.prompts[0]
    assert "How high is it?" in judge.prompts[1]


async def test_a_relevant_answer_scores_high_and_an_irrelevant_one_low():
    good = await AnswerRelevancy().judge(item("a"), relevancy_judge(["a"], "yes"))
    bad = await AnswerRelevancy().judge(item("a"), relevancy_judge(["a"], "no"))

    assert (good.value, bad.value) == (1.0, 0.0)


async def test_contextual_precision_is_the_average_precision_of_the_passages():
    for words, value in (
        (("yes", "yes", "no"), 1.0),
        (("no", "yes", "yes"), (1 / 2 + 2 / 3) / 2),
        (("no", "no", "yes"), 1 / 3),
        (("no", "no", "no"), 0.0),
    ):
        judge = ScriptedJudge([verdicts(*words)])
        score = await ContextualPrecision().judge(item("unused", "330 m", input="How high?", context=PASSAGES), judge)
        assert score.value == pytest.approx(value), words
        assert all(text in judge.prompts[0] for text in (*PASSAGES, "330 m", "How high?"))
        assert "unused" not in judge.prompts[0]


async def test_contextual_recall_is_the_share_of_sentences_that_the_passages_support():
    for words, value in ((("yes", "yes", "no"), 2 / 3), (("yes",), 1.0), (("no", "no"), 0.0)):
        judge = ScriptedJudge([verdicts(*words)])
        score = await ContextualRecall().judge(item("unused", "330 m", input="How high?", context=PASSAGES), judge)
        assert score.value == pytest.approx(value), words
        assert all(text in judge.prompts[0] for text in (*PASSAGES, "330 m"))
        assert "unused" not in judge.prompts[0]
    score = await ContextualRecall().judge(item("x", "330 m", context=PASSAGES), ScriptedJudge([verdicts()] * 2))
    assert score.status is ScoreStatus.JUDGE_ERROR


async def test_what_a_system_retrieved_is_judged_instead_of_the_context():
    retrieved = item("330 m", "330 m", context=PASSAGES, retrieved=("A looked-up passage.",))
    judge = ScriptedJudge([verdicts("yes")])
    assert (await ContextualPrecision().judge(retrieved, judge)).value == 1.0
    assert "A looked-up passage." in judge.prompts[0]
    assert not any(text in judge.prompts[0] for text in PASSAGES)


async def test_a_system_that_retrieved_nothing_scores_0_and_costs_no_judge_call():
    for metric in (Faithfulness(), ContextualPrecision(), ContextualRecall()):
        nothing = item("330 m", "330 m", retrieved=())
        assert metric.applies_to(nothing), metric.name
        score = await metric.judge(nothing, ScriptedJudge([]))
        assert (score.value, score.reason) == (0.0, "The system retrieved nothing."), metric.name


async def test_an_empty_answer_scores_0_and_costs_no_judge_call():
    for metric in (Faithfulness(), AnswerRelevancy()):
        for empty in ("", " \n", "<think>It is 330 m high.</think>"):
            score = await metric.judge(item(empty, context=PASSAGES), ScriptedJudge([]))
            assert (score.value, score.reason, score.usage.calls) == (0.0, "The answer is empty.", 0), metric.name


async def test_verdicts_that_do_not_match_the_prompt_are_an_error():
    for metric, judge in (
        (Faithfulness(), rag_judge(["one", "two"], "yes")),
        (AnswerRelevancy(), relevancy_judge(["one"], "yes", "no")),
        (AnswerRelevancy(), relevancy_judge([])),
        (ContextualPrecision(), ScriptedJudge([verdicts("yes")])),
        (Faithfulness(), ScriptedJudge(lambda prompt: {"truths": [], "claims": ["one"], **verdicts("yes")})),
        (ContextualPrecision(), ScriptedJudge([verdicts("yes", "yes", "maybe")] * 2)),
    ):
        score = await metric.judge(item("text", "330 m", context=PASSAGES), judge)
        assert (score.status, score.value) == (ScoreStatus.JUDGE_ERROR, None), (metric.name, judge.script)


async def test_an_unusable_response_is_an_error_with_a_reason_and_never_a_zero():
    calls = [tool_call("get_weather", {"city": "Rome"})]
    case = item("text", "330 m", context=PASSAGES, expected_tools=[WEATHER], tool_calls=calls)
    for metric in (Correctness(), Faithfulness(), AnswerRelevancy(), ContextualPrecision(), ToolCorrectness()):
        for name, response in BROKEN.items():
            score = await metric.judge(case, ScriptedJudge(lambda prompt, response=response: response))
            assert (score.status, score.value) == (ScoreStatus.JUDGE_ERROR, None), (metric.name, name)
            assert "scripted/judge gave no verdict" in score.reason, (metric.name, name)
            assert len(score.reason) < 400, (metric.name, name)
            assert score.usage.calls >= 2, (metric.name, name)
            assert score.usage.raw_reply[:100_000] == score.usage.raw_reply != "", (metric.name, name)


async def test_a_call_in_flight_beside_a_failed_one_is_waited_for_and_counted():
    class HalfDeadJudge:
        model = "half/dead"

        async def ask(self, prompt, schema=None, pictures=()):
            if '"truths"' in prompt:
                raise ProviderError("server", "500 from the endpoint", retryable=True)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return JudgeAnswer(json.dumps({"claims": []}), tokens_in=100, tokens_out=10)

    score = await Faithfulness().judge(item("text", context=PASSAGES), HalfDeadJudge())

    assert score.status is ScoreStatus.JUDGE_ERROR
    assert (score.usage.calls, score.usage.tokens_in) == (2, 100)
