"""Several judges of one metric, and repeats of a judge: one score, with every verdict, cost and their agreement."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.execution.budget import WorstCase, mean_price
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.scoring import metrics_of
from benchmarks.models import Outcome, RunStatus
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.control import retry_failed
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.rescoring import start_rescoring
from benchmarks.services.runs.start import request_of
from codeforge.config import ModelConfig
from tests.loopback.faults import Fault
from tests.loopback.replies import Asked
from tests.support.factories import JUDGE, MODEL, make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, model_requests, worked

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = "loop/second"
TONE = {"name": "tone", "criteria": ["It is polite.", "It is short."]}


@pytest.fixture
def panel(endpoint: Endpoint, settings: Any) -> Any:
    """Two judges with prices; the first gives 0.9, the second 0.5."""

    def script(asked: Asked) -> str:
        scores = {"judge": 0.9, "second": 0.5}
        if asked.body["model"] not in scores:
            return "2"
        return f'{{"reason": "{asked.body["model"]}", "score": {scores[asked.body["model"]]}}}'

    server = endpoint(script)
    prices = {SECOND: ModelConfig(input_per_million=10.0, output_per_million=30.0)}
    models = {**settings.CODEFORGE.models, **prices}
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": models})
    return server


def test_two_judges_give_the_mean_and_each_verdict_is_kept(panel: Any) -> None:
    run = make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=[JUDGE, SECOND])
    assert run.judge_model == f"{JUDGE}, {SECOND}"
    worked(run)
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["rubric:tone"]["mean"] == pytest.approx(0.7)
    score = run.scores.first()
    assert [(row["judge"], row["value"], row["reason"]) for row in score.detail["verdicts_of"]] == [
        (JUDGE, 0.9, "judge"),
        (SECOND, 0.5, "second"),
    ]
    assert score.judge["calls"] == 2
    assert f"── {SECOND}, repeat 1 ──" in score.judge["prompt"]
    assert request_of(run)["judge_model"] == run.judge_model


def test_the_cost_counts_each_judge_at_its_own_price(panel: Any) -> None:
    runs = [
        worked(make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=judges))
        for judges in (JUDGE, SECOND, [JUDGE, SECOND])
    ]
    first, second, both = (run.judge_cost_usd or 0.0 for run in runs)
    assert both == pytest.approx(first + second)
    assert sum(runs[2].results.values_list("judge_cost_usd", flat=True)) == pytest.approx(both)


def test_the_majority_decides(panel: Any) -> None:
    request = {"metrics": ["rubric:tone"], "judge_model": f"{JUDGE},{SECOND}", "judge_vote": "majority"}
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    assert set(run.results.values_list("value", "outcome")) == {(0.5, Outcome.PARTIAL)}, "a tie"
    run = worked(make_run(make_dataset(3, rubrics=({**TONE, "threshold": 0.4},)), **request))
    assert set(run.results.values_list("value", "outcome")) == {(1.0, Outcome.CORRECT)}


def test_every_second_repeat_reads_the_criteria_in_reverse(panel: Any) -> None:
    dataset = make_dataset([make_task(1)], rubrics=(TONE,))
    run = worked(make_run(dataset, metrics=["rubric:tone"], judge_repeats=3))
    prompts = [body["messages"][0]["content"] for body in panel.stats.bodies if body["model"] == "judge"]
    assert ["1. It is polite." in prompt for prompt in prompts] == [True, False, True]
    assert [row["reordered"] for row in run.scores.get().detail["verdicts_of"]] == [False, True, False]


def test_a_judge_that_fails_leaves_no_score_and_retrying_asks_no_model(panel: Any) -> None:
    script_before = panel.script
    panel.script = lambda asked: Fault("down", 400) if asked.body["model"] == "second" else script_before(asked)
    request = {"metrics": ["rubric:tone"], "judge_model": [JUDGE, SECOND]}
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.JUDGE_ERROR}
    assert run.judge_cost_usd
    asked = model_requests(panel)
    panel.script = script_before
    assert retry_failed(run) == 3
    assert worked(run).summary["metrics"]["rubric:tone"]["mean"] == pytest.approx(0.7)
    assert model_requests(panel) == asked


def test_estimates_and_budgets_count_all_verdicts(panel: Any) -> None:
    dataset = make_dataset(3, rubrics=(TONE,))
    request = {"dataset": dataset.slug, "model": MODEL, "metrics": ["rubric:tone"], "max_tokens": 10}
    alone = plan_run({**request, "judge_model": SECOND})
    together = plan_run({**request, "judge_model": [JUDGE, SECOND], "judge_repeats": 2})
    assert (alone.judge_requests, together.judge_requests) == (3, 12)
    assert mean_price(f"{JUDGE}, {SECOND}").per_token_in == pytest.approx((mean_price(JUDGE).per_token_in + 1e-5) / 2)
    del request["dataset"]
    one, four = (
        make_run(dataset, **request, budget_usd=50.0, **more)
        for more in ({"judge_model": SECOND}, {"judge_model": [JUDGE, SECOND], "judge_repeats": 2})
    )
    worst = [WorstCase(run).trial() for run in (one, four)]
    assert worst[0] < worst[1]
    run = worked(four)
    assert (run.status, run.reserved_usd) == (RunStatus.COMPLETED, pytest.approx(0.0))


@pytest.mark.parametrize(
    ("judges", "problem"),
    [
        ([JUDGE, JUDGE], "each once"),
        ([f"loop/{n}" for n in range(6)], "up to 5"),
        ([JUDGE, "baseline/random"], "cannot be a judge"),
        ([JUDGE, "nobody/x"], "not configured"),
        ([JUDGE, MODEL], "its own answers"),
        ([JUDGE, 5], "Not a valid string"),
        ({"a": 1}, "Not a valid string"),
        (["a,b"], "Not a valid string"),
    ],
)
def test_judges_that_cannot_be_used_are_errors(panel: Any, judges: Any, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=judges)


def test_every_judge_is_tried_before_the_first_question(panel: Any) -> None:
    script = panel.script
    panel.script = lambda asked: "no json" if asked.body["model"] == "second" else script(asked)
    request = {"metrics": ["rubric:tone"], "judge_model": [JUDGE, SECOND], "judge_tried": False}
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    assert run.status == RunStatus.FAILED
    assert "loop/second" in run.error_message
    assert model_requests(panel) == 0


def test_the_page_of_a_run_shows_the_agreement_and_that_of_a_result_each_verdict(panel: Any, client: Client) -> None:
    request = {"metrics": ["rubric:tone"], "judge_model": [JUDGE, SECOND], "judge_repeats": 2}
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    numbers = run.summary["panels"]["rubric:tone"]
    assert (numbers["n_answers"], numbers["same"]["mean"], numbers["order"]["mean"]) == (3, 0.0, 0.0)
    assert [(judge["judge"], judge["mean"]) for judge in numbers["judges"]] == [(JUDGE, 0.9), (SECOND, 0.5)]
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Agreement of verdicts: tone (rubric)" in html
    result = client.get(f"/runs/{run.pk}/results/{run.results.earliest('position').pk}/").content.decode()
    assert result.count("reverse order") == 2
    assert "Verdicts for tone (rubric)" in result


def with_second(settings: Any, model: str = SECOND) -> None:
    judge = settings.CODEFORGE.judge.model_copy(update={"second_model": model})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"judge": judge})


def breaks(server: Any, broken: str) -> None:
    """From now on a judge writes no JSON, except when it is tried."""
    script = server.script

    def breaking(asked: Asked) -> str:
        if "capital of France" in asked.prompt:
            return VERDICT
        return "no json" if asked.body["model"] == broken else script(asked)

    server.script = breaking


def test_the_second_judge_scores_what_the_judge_left_unread_and_the_score_says_so(panel: Any, settings: Any) -> None:
    with_second(settings)
    breaks(panel, "judge")
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=JUDGE))
    assert run.status == RunStatus.COMPLETED
    assert set(run.scores.values_list("value", flat=True)) == {0.5}
    score = run.scores.first()
    assert (score.detail["judge"], score.detail["instead_of"]) == (SECOND, JUDGE)
    assert score.reason == f"second {SECOND} judged in place of {JUDGE}, whose replies could not be read."
    assert score.judge["calls"] == 3, "the judge twice, then the second"
    assert "no json" in score.judge["raw_reply"], "what the judge wrote is kept"
    models = [body["model"] for body in panel.stats.bodies if body["model"] in ("judge", "second")]
    assert (models.count("judge"), models.count("second")) == (6, 3)


def test_each_judge_is_paid_at_its_own_price_when_the_second_takes_over(panel: Any, settings: Any) -> None:
    with_second(settings)
    request = {"metrics": ["rubric:tone"], "judge_model": JUDGE, "max_tokens": 10, "budget_usd": 50.0}
    own = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    assert own.judge_settings["second"] == {"model": SECOND, "params": {}}
    assert not any(body["model"] == "second" for body in panel.stats.bodies), "a judge that can be read needs none"
    breaks(panel, "judge")
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), **request))
    rows = run.scores.first().judge["by_model"]
    assert [row[0] for row in rows] == [JUDGE, SECOND]
    assert run.judge_cost_usd is not None
    assert run.judge_cost_usd > 3 * 30e-6
    item = PromptBuilder(run).item(run.dataset_version.tasks.first())
    with_it = WorstCase(run).judging(item, metrics_of(run))
    run.judge_settings.pop("second")
    assert with_it > WorstCase(run).judging(item, metrics_of(run)), "the budget reserves its cost"


def test_the_next_judge_of_the_panel_takes_the_seat_of_one_that_cannot_be_read(panel: Any) -> None:
    breaks(panel, "judge")
    run = worked(make_run(make_dataset(3, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=[JUDGE, SECOND]))
    score = run.scores.first()
    rows = [(row["judge"], row.get("instead_of"), row["value"]) for row in score.detail["verdicts_of"]]
    assert rows == [(SECOND, JUDGE, 0.5), (SECOND, None, 0.5)]
    assert f"{SECOND} judged in place of {JUDGE}" in score.reason
    assert not run.summary.get("panels"), "a verdict in another's place shows no agreement"


def test_what_no_judge_could_be_read_on_lists_what_each_wrote(panel: Any, settings: Any) -> None:
    with_second(settings)
    panel.script = lambda asked: f"{asked.body['model']} declines" if asked.body["model"] != "model" else "2"
    run = worked(make_run(make_dataset(1, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=JUDGE))
    reason = run.results.get().error_message
    assert run.results.get().outcome == Outcome.JUDGE_ERROR
    assert "“judge declines”" in reason
    assert "“second declines”" in reason


def test_a_judge_that_is_unreachable_leaves_the_seat_to_a_retry(panel: Any, settings: Any) -> None:
    with_second(settings)
    script = panel.script
    panel.script = lambda asked: Fault("unreachable", 400) if asked.body["model"] == "judge" else script(asked)
    run = worked(make_run(make_dataset(1, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=JUDGE))
    assert run.results.get().outcome == Outcome.JUDGE_ERROR
    assert not any(body["model"] == "second" for body in panel.stats.bodies)


@pytest.mark.parametrize(
    ("second", "request_", "expected"),
    [
        (JUDGE, {}, None),
        (MODEL, {}, None),
        (MODEL, {"allow_self_judging": True}, MODEL),
        (SECOND, {}, SECOND),
        (SECOND, {"judge_model": [JUDGE, SECOND]}, None),
    ],
)
def test_the_second_judge_is_neither_on_the_panel_nor_the_model_under_test(
    panel: Any, settings: Any, second: str, request_: Any, expected: str | None
) -> None:
    with_second(settings, second)
    run = make_run(make_dataset(1, rubrics=(TONE,)), **{"metrics": ["rubric:tone"], "judge_model": JUDGE, **request_})
    assert run.judge_settings.get("second", {}).get("model") == expected


def test_a_budget_names_a_second_judge_without_a_price(panel: Any, settings: Any) -> None:
    with_second(settings, "loop/unpriced")
    with pytest.raises(InvalidRequest, match="loop/unpriced"):
        make_run(
            make_dataset(1, rubrics=(TONE,)),
            metrics=["rubric:tone"],
            judge_model=JUDGE,
            max_tokens=10,
            budget_usd=1.0,
        )


def test_a_rescoring_uses_the_second_judge_that_is_configured_by_then(panel: Any, settings: Any) -> None:
    run = worked(make_run(make_dataset(1, rubrics=(TONE,)), metrics=["rubric:tone"], judge_model=JUDGE))
    with_second(settings)
    breaks(panel, "judge")
    again = worked(start_rescoring(run, {"metrics": ["rubric:tone"], "judge_model": JUDGE}))
    assert again.scores.get().detail["judge"] == SECOND
