"""Rubrics on pages: chosen for a run, tried on one result, and used to rescore the run."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.models import Result, Run, Score, Transcript
from tests.loopback.replies import Asked
from tests.support.factories import JUDGE, MODEL, make_dataset, make_run
from tests.support.running import VERDICT, Endpoint, judge_prompts, model_requests, worked

pytestmark = pytest.mark.django_db(transaction=True)

TONE = {"name": "tone", "criteria": "The answer is polite.", "scale": "1 to 5"}
WRITTEN = "name: short\ncriteria: The answer is short.\nscale: pass or fail\n"


@pytest.fixture
def answered(endpoint: Endpoint) -> tuple[Any, Result]:
    """The endpoint, and a result without a judge whose dataset has a rubric."""
    reply = '{"reason": "It says <b>2</b>.", "verdict": "pass"}'

    def script(asked: Asked) -> str:
        if asked.body["model"] != "judge":
            return "2"
        return VERDICT if "capital of France" in asked.prompt else reply

    server = endpoint(script)
    run = worked(make_run(make_dataset(3, rubrics=(TONE,))))
    return server, run.results.earliest("position")


def page_of(result: Result) -> str:
    return reverse("frontend:try-rubric", args=(result.run_id, result.pk))


def test_the_form_of_a_run_offers_the_rubrics_of_its_dataset(client: Client, endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(3, rubrics=(TONE,))
    html = client.post("/runs/new/metrics/sums/").content.decode()
    assert 'value="rubric:tone"' in html
    assert "tone (rubric)" in html
    sent = {"dataset": "sums", "model": MODEL, "metrics": "rubric:tone", "do": "start"}
    client.post("/runs/new/", sent)
    assert Run.objects.get().rubrics["tone"]["criteria"] == TONE["criteria"]
    settings = client.get(f"/runs/{Run.objects.get().pk}/").content.decode()
    assert "Rubric tone" in settings


def test_a_rubric_is_tried_on_one_result_and_nothing_is_stored(client: Client, answered: tuple[Any, Result]) -> None:
    server, result = answered
    assert f'href="{page_of(result)}"' in client.get(f"/runs/{result.run_id}/results/{result.pk}/").content.decode()
    form = client.get(page_of(result))
    assert "criteria: The answer is polite." in form.context["data"]["rubric"]
    assert form.context["plan"]["cost"].startswith("$")
    page = form.content.decode()
    assert page.index("<li>The answer is polite.</li>") < page.index("<summary>Edit as YAML</summary>")
    assert "<dt>Scale</dt><dd>1 to 5, 4 or more passes</dd>" in page
    assert "<details open" not in page
    assert not judge_prompts(server)
    asked, before = model_requests(server), list(Score.objects.order_by("pk").values())
    tried = client.post(page_of(result), {"rubric": WRITTEN, "judge_model": JUDGE, "do": "try"})
    html = tried.content.decode()
    assert "Meets the threshold: 1.0" in html
    assert "<dt>Criteria</dt> <dd><ol><li>The answer is short.</li></ol></dd>" in " ".join(html.split())
    assert "<dt>Scale</dt><dd>Pass or fail</dd>" in html
    assert "<dt>Judge sees</dt><dd>Question and answer</dd>" in html
    assert "It says &lt;b&gt;2&lt;/b&gt;." in html
    (prompt,) = judge_prompts(server)
    assert "The answer is short." in prompt
    assert "polite" not in prompt
    assert list(Score.objects.order_by("pk").values()) == before
    assert model_requests(server) == asked


def test_an_answer_as_expected_stands_once_beside_the_rubric(client: Client, answered: tuple[Any, Result]) -> None:
    _, result = answered
    assert result.transcript.actual_output == result.task.expected_output == "2"
    html = client.get(page_of(result)).content.decode()
    assert '<h2>Expected and answer <span class="tag">Identical</span></h2>' in html
    assert "<h2>Answer</h2>" not in html
    Transcript.objects.filter(result=result).update(actual_output="3")
    html = client.get(page_of(result)).content.decode()
    assert html.index("<h2>Answer</h2>") < html.index("<h2>Expected answer</h2>")


def test_the_run_is_rescored_with_the_rubric_that_was_tried(client: Client, answered: tuple[Any, Result]) -> None:
    server, result = answered
    asked = model_requests(server)
    shown = client.post(f"/runs/{result.run_id}/rescore/", {"rubric": WRITTEN, "judge_model": JUDGE, "do": "show"})
    assert "The answer is short." in shown.content.decode()
    client.post(f"/runs/{result.run_id}/rescore/", {"rubric": WRITTEN, "judge_model": JUDGE, "do": "start"})
    again = worked(Run.objects.get(rescored_from=result.run_id))
    assert again.metrics == ["rubric:short"]
    assert again.summary["metrics"]["rubric:short"]["mean"] == 1.0
    assert model_requests(server) == asked
    chosen = client.get(f"/runs/{result.run_id}/rescore/?metric=rubric:tone")
    assert chosen.context["metrics"].chosen == ["rubric:tone"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: short\ncriterion: x\n", "Line 2: criterion: unknown key"),
        ("name: short\n", "criteria: is missing"),
        ("criteria: x\n", "name: is missing"),
        ("", "This field may not be blank"),
        ("[", "Line 2: invalid YAML"),
        ("- a\n- b\n", "must be a mapping"),
        ("5", "must be a mapping"),
        ("name: short\ncriteria: x\nsees: [context]\n", "lacks a passage"),
        ("name: short\ncriteria: x\nsees: [picture]\n", "not known to accept them"),
        ("&a [*a, *a]", "Line 1"),
    ],
)
def test_a_mistake_in_a_rubric_is_shown_and_nothing_is_sent(
    client: Client, answered: tuple[Any, Result], text: str, problem: str
) -> None:
    server, result = answered
    refused = client.post(page_of(result), {"rubric": text, "judge_model": JUDGE, "do": "try"})
    assert refused.status_code == 400
    assert problem in " ".join(text for _, text in refused.context["problems"]), refused.context["problems"]
    assert not judge_prompts(server)
    rescored = client.post(f"/runs/{result.run_id}/rescore/", {"rubric": text, "judge_model": JUDGE, "do": "start"})
    assert rescored.status_code == 400


def test_a_judge_that_fails_gives_a_reason_and_no_score(client: Client, answered: tuple[Any, Result]) -> None:
    server, result = answered
    server.script = lambda asked: "no json"
    tried = client.post(page_of(result), {"rubric": WRITTEN, "judge_model": JUDGE, "do": "try"})
    assert tried.status_code == 200
    assert tried.context["verdict"]["title"] == "No verdict"
    assert tried.context["verdict"]["calls"] == 2


def test_a_result_without_an_answer_cannot_be_tried(client: Client, answered: tuple[Any, Result]) -> None:
    _, result = answered
    Result.objects.filter(pk=result.pk).update(outcome="provider_error")
    refused = client.post(page_of(result), {"rubric": WRITTEN, "judge_model": JUDGE, "do": "try"})
    assert refused.status_code == 409


def test_a_trial_has_one_judge(client: Client, answered: tuple[Any, Result]) -> None:
    server, result = answered
    Run.objects.filter(pk=result.run_id).update(judge_model=f"{JUDGE}, loop/second")
    assert client.get(page_of(result)).context["data"]["judge_model"] == JUDGE
    refused = client.post(page_of(result), {"rubric": WRITTEN, "judge_model": f"{JUDGE}, loop/second", "do": "try"})
    assert refused.context["problems"] == [("Judge", "Name one judge: a trial is one verdict.")]
    assert not judge_prompts(server)
