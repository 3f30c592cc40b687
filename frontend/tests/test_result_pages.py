"""Pages of runs and of one result: what they say, live and ended."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db.models import F
from django.test import Client

from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.models import (
    Result,
    ResultState,
    Run,
    RunStatus,
    Score,
    Transcript,
)
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.page_factories import make_scored_run, random_values

pytestmark = pytest.mark.django_db


def test_a_run_says_what_its_requests_went_without(client: Client) -> None:
    noted = {"judge": {"json_schema": "The response format was not sent."}, "model": {"seed": "seed was not sent."}}
    trial = {"value": 0.2, "reason": "because", "calls": 1}
    run = make_scored_run(adjustments=noted, judge_model="loop/judge", judge_trial=trial)
    run.summary["response_models"] = {"gpt-4o-2024-11-20": 1200, "gpt-4o-2024-08-06": 3}
    run.save()
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert "several models: gpt-4o-2024-11-20 (1,200), gpt-4o-2024-08-06 (3)." in html
    assert html.index("Model: seed was not sent.") < html.index("Judge: The response format was not sent.")
    assert "in its trial it gave a correct answer 0.200" in html


def test_the_charts_of_a_run_show_one_metric_and_link_to_the_others(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, 0.5), metrics=["exact_match", "contains"])
    assert "Distribution of Exact match" in (first := page(client, f"/runs/{run.pk}/"))
    assert "Distribution of Contains" not in first
    assert 'href="?charts=contains#charts"' in first
    assert "Distribution of Contains" in page(client, f"/runs/{run.pk}/?charts=contains")
    assert "Distribution of Exact match" in page(client, f"/runs/{run.pk}/?charts=nonsense")


def test_a_live_run_polls_and_an_ended_one_does_not(client: Client) -> None:
    live = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    ended = make_scored_run(live.dataset)
    assert f'hx-get="/runs/{live.pk}/status/"' in page(client, f"/runs/{live.pk}/")
    assert f'hx-get="/runs/{ended.pk}/status/"' not in page(client, f"/runs/{ended.pk}/")


def test_progress_says_judging_once_all_answers_are_there(client: Client) -> None:
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None, is_prepared=True)
    Run.objects.update(total=F("done") + 1)
    first = run.results.order_by("position").first()
    assert first is not None
    for state, judges in ((ResultState.CLAIMED, False), (ResultState.JUDGING, True)):
        run.results.filter(pk=first.pk).update(state=state)
        assert ("Judging: all answered" in page(client, f"/runs/{run.pk}/")) == judges
        assert client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()["progress"]["judging"] is judges
    Run.objects.update(status=RunStatus.COMPLETED)
    assert "Judging" not in page(client, f"/runs/{run.pk}/")


def test_the_last_poll_tells_the_page_that_the_run_has_ended(client: Client) -> None:
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    going = client.get(f"/runs/{run.pk}/status/")
    Run.objects.update(status=RunStatus.COMPLETED)
    ended = client.get(f"/runs/{run.pk}/status/")
    assert "HX-Trigger" not in going.headers
    assert b"hx-get" in going.content
    assert ended.headers["HX-Trigger"] == "run-ended"
    assert b"hx-get" not in ended.content


def test_a_run_shows_mean_interval_n_cost_and_every_parameter(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, None), parameters={"temperature": 0.3, "system_prompt": "Be brief."})
    html = page(client, f"/runs/{run.pk}/")
    summary = run.summary["metrics"]["exact_match"]
    for shown in (
        "0.500",
        f"{summary['low']:.3f}",
        f"{summary['high']:.3f}",
        "2 of 3 (66.7%)",
        "$0.25",
        "Temperature",
        "Be brief.",
    ):
        assert shown in html


def test_a_queued_run_has_a_page_before_it_has_any_number(client: Client) -> None:
    run = make_run(make_dataset(3), model="baseline/reference")
    html = page(client, f"/runs/{run.pk}/")
    assert "queued" in html
    assert "unknown" not in html.lower(), "nothing was sent, so nothing was paid"
    assert "No results yet." in html


def test_a_verdict_says_what_the_judge_went_without(client: Client) -> None:
    run = make_scored_run(judge_model="loop/judge")
    score = Score.objects.filter(run=run).earliest("pk")
    score.judge = {"calls": 1, "notes": ["temperature was not sent, because loop/judge refuses it."]}
    score.save()
    text = page(client, f"/runs/{run.pk}/results/{score.result_id}/")
    assert "Judge: temperature was not sent, because loop/judge refuses it." in text


def test_an_unknown_cost_is_called_unknown_even_if_only_that_of_the_judge_is(client: Client) -> None:
    judged = make_scored_run(cost_usd=0.25, judge_model="loop/judge", judge_cost_usd=None)
    assert "$0.25 + judge unknown" in page(client, "/runs/")
    assert "no price is configured for loop/judge" in page(client, f"/runs/{judged.pk}/")
    run = make_scored_run(make_dataset(3, slug="unpriced"), cost_usd=None)
    assert "unknown" in page(client, f"/runs/{run.pk}/")


def test_a_failed_run_says_what_failed_and_offers_to_resume(client: Client) -> None:
    run = make_scored_run(status=RunStatus.FAILED, error_message="No such model. Check its name.")
    html = page(client, f"/runs/{run.pk}/")
    assert "No such model. Check its name." in html
    assert f'action="/runs/{run.pk}/do/resume/"' in html


def test_what_must_change_first_is_offered_before_resuming(client: Client) -> None:
    failed = make_scored_run(values=(None, None), status=RunStatus.FAILED, error_message="401: wrong key.")
    failed.results.update(error_kind="authentication")
    budget = {"budget_usd": 0.5, "error_message": "The budget does not cover the next request."}
    paused = make_scored_run(failed.dataset, (1.0,), status=RunStatus.PAUSED, completed_at=None, **budget)
    Run.objects.filter(pk=paused.pk).update(total=2)
    inbox = page(client, "/").partition("Board</h2>")[0]
    assert '<a class="button" href="/models/#p-loop">Check key</a>' in inbox
    assert f'<a class="button" href="/runs/{paused.pk}/#budget_usd">Raise budget</a>' in inbox
    assert 'action="/runs/' not in inbox, "resuming would stop again"
    html = page(client, f"/runs/{failed.pk}/")
    assert html.count('<a class="button primary" href="/models/#p-loop">Check key</a>') == 1
    assert "2 results without an answer</summary>" in html, "the message above says why"
    html = page(client, f"/runs/{paused.pk}/")
    assert "Spent $0.25 of $0.50. The rest, 1 result, needs about $0.25 more." in html
    assert "Spent so far, plus twice what the rest needs" in html
    assert '<button type="submit" class="primary">Raise budget and resume</button>' in html
    assert 'value="0.75"' in html, "what is spent, and twice of what the rest needs"
    assert "do/resume" not in html
    assert budget["error_message"] not in html, "the box says it"


def test_a_run_says_what_failed_and_leads_to_the_results_of_each_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0, 0.0, 1.0, None), answer="five")
    results = list(run.results.order_by("position"))
    Result.objects.filter(pk=results[0].pk).update(failure="Another <number>")
    refresh_summary(run.pk)
    html = page(client, f"/runs/{run.pk}/")
    failed = html[html.index("What failed") : html.index('id="results"')]
    for shown in ("Another &lt;number&gt;", "Timeout", "25%", f"/runs/{run.pk}/results/{results[0].pk}/", "“five”"):
        assert shown in failed, shown
    address = re.search(r'href="([^"]*reason=Another[^"]*)#results"', failed)
    assert address is not None
    listed = page(client, unescape(address[1]))
    rows = listed[listed.index('id="results"') :]
    assert [pk.pk for pk in results if f"/results/{pk.pk}/" in rows] == [results[0].pk]
    Result.objects.filter(outcome="wrong").update(failure="Another <number>")
    alike = page(client, f"/runs/{run.pk}/?outcome=wrong").partition('id="results"')[2]
    assert "Reason for these 2: Another &lt;number&gt;" in alike
    assert alike.count("Another") == 1, "a reason that rows share is said once"
    partly = RunStatus.COMPLETED_WITH_ERRORS
    lost = make_scored_run(make_dataset(3, slug="lost"), values=(0.0, None, None), answer="five", status=partly)
    errors = lost.results.exclude(outcome="wrong")
    errors.update(error_message="Too late", failure="Timeout")
    Transcript.objects.filter(result__in=errors).update(actual_output="")
    refresh_summary(lost.pk)
    mixed = " ".join(page(client, f"/runs/{lost.pk}/?outcome=").split())
    assert "2 × Timeout: Too late. " in mixed
    assert mixed.count("Too late") == 1, "a cause that the head says is not said again"
    assert mixed.count("No answer</span>") == 2
    alone = page(client, f"/runs/{lost.pk}/?outcome=provider_error")
    assert "Reason for these 2: Timeout: Too late" in alone, "there the head is folded"


def test_a_run_is_read_from_the_verdict_to_its_parameters(client: Client) -> None:
    values = [1.0] * 20 + [0.0] * 9 + [None]
    dataset = make_dataset([make_task(n, difficulty="easy" if n < 20 else "hard") for n in range(1, 31)])
    make_scored_run(dataset, [1.0] * 30, model="a/other")
    run = make_scored_run(dataset, values, status=RunStatus.COMPLETED_WITH_ERRORS)
    html = " ".join(page(client, f"/runs/{run.pk}/").split())
    order = (
        *('class="verdict"', "95% interval", "a/other", "What failed", "10 of 30 results are not correct"),
        *("Weak spots</h2>", "Difficulty: hard has the lowest score", 'id="results"', "Time, tokens and cost"),
        "<summary>Parameters",
    )
    places = [html.index(part) for part in order]
    assert places == sorted(places)


def test_a_run_without_a_weak_spot_says_so_and_draws_no_chart(client: Client) -> None:
    dataset = make_dataset([make_task(n, difficulty="easy" if n % 2 else "hard") for n in range(1, 9)])
    html = page(client, f"/runs/{make_scored_run(dataset, [1.0, 1.0, 0.0, 0.0] * 2).pk}/")
    assert "No group is weaker than the others" in html
    assert html.index('id="results"') < html.index('id="charts"'), "folded, below what there is to see"
    assert 'class="chart"' not in html


def test_the_list_of_results_begins_with_those_not_correct(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, 0.5, None))
    first, *failed = run.results.order_by("position")

    def listed(query: str) -> list[str]:
        html = page(client, f"/runs/{run.pk}/{query}")
        results = html[html.index('id="results"') :]
        return re.findall(r'<a class="cut" href="(/runs/[^"]*/results/[^"]*)"', results)

    assert listed("") == [f"/runs/{run.pk}/results/{each.pk}/?outcome=not_correct" for each in failed]
    assert listed("?outcome=") == [f"/runs/{run.pk}/results/{each.pk}/" for each in (first, *failed)]
    assert listed("?text=task-1") == [f"/runs/{run.pk}/results/{first.pk}/?text=task-1"]
    following = f'rel="next" href="/runs/{run.pk}/results/{failed[1].pk}/?outcome=not_correct"'
    assert following in page(client, listed("")[0])


def test_progress_and_outcomes_of_a_live_run_are_of_one_moment(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    Run.objects.filter(pk=run.pk).update(
        total=5, done=4
    )  # two more than its numbers, which are written every few seconds
    html = client.get(f"/runs/{run.pk}/status/").content.decode()
    assert "<span>2 of 5 results</span>" in html
    assert re.search(r"No answer yet\s*<b>3</b>", html)


def test_a_live_run_shows_what_came_last_what_is_provisional_and_what_is_not_asked(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    Run.objects.filter(pk=run.pk).update(total=5)
    for url in (f"/runs/{run.pk}/", f"/runs/{run.pk}/status/"):
        html = page(client, url) if url.endswith(f"{run.pk}/") else client.get(url).content.decode()
        newest = html[html.index("Newest results") :]
        assert "Task 1" in newest, url
        assert "Task 2" in newest, url
        assert "What failed so far" in html, url
        assert "The score is final when the run completes." in html, url
        assert re.search(r"No answer yet\s*<b>3</b>", html), url
        assert re.search(r'<progress[^>]+class="visually-hidden"', html), "the bar of outcomes shows it"
    html = page(client, f"/runs/{run.pk}/")
    assert f'action="/runs/{run.pk}/do/pause/"' in html
    assert 'id="results"' not in html
    assert 'id="results"' in page(client, f"/runs/{run.pk}/?outcome=")


def test_errors_stand_in_the_place_of_texts_of_which_there_are_none(client: Client) -> None:
    run = make_scored_run(values=(0.0, None), answer="five")
    html = page(client, f"/runs/{run.pk}/")
    rows = [row.partition("</th>")[2].split("</td>") for row in html[html.index('id="results"') :].split("<tr>")[2:]]
    cells = [[" ".join(re.sub("<[^>]+>", "", row[place]).split()) for place in (0, 2, 3)] for row in rows]
    assert cells == [["Wrong", "2", "five"], ["Provider error", "No first byte within 120 s. five", "200 ms"]]


def test_titles_name_the_run_and_the_result(client: Client) -> None:
    run = make_scored_run(values=(0.0,), name="Nightly <1>")
    titles = {
        f"/runs/{run.pk}/": f"Nightly &lt;1&gt;, run {run.pk} – CodeForge Benchmarks",
        f"/runs/{run.pk}/results/{run.results.get().pk}/": f"Task 1, run {run.pk} – CodeForge Benchmarks",
        f"/runs/{run.pk}/surface/": f"Difficulty surface: loop/model, run {run.pk} – CodeForge Benchmarks",
    }
    assert {url: page(client, url).partition("<title>")[2].partition("</title>")[0] for url in titles} == titles


def test_a_result_begins_with_its_outcome_and_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five")
    run.results.update(failure="Another number")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    order = (
        'class="ruling is-wrong"',
        "Another number",
        "Question</h2>",
        "Expected</h3>",
        "Messages",
    )
    places = [html.index(part) for part in order]
    assert places == sorted(places)
    assert 'data-copy="answer-text"' in html


def test_a_result_shows_prompt_answer_score_and_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    for shown in ("What is 1 + 1?", "five", "Prompt hash", "All messages as JSON"):
        assert shown in html, shown
    assert re.search(r"Exact match\s+<strong>0.000", html)


def test_a_failed_result_shows_its_error_and_attempts(client: Client) -> None:
    run = make_scored_run(values=(None,))
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    assert "No first byte within 120 s." in html
    assert "The endpoint took too long. Retry, or raise the timeout. The result has no score" in html
    assert f'action="/runs/{run.pk}/do/retry/"' in html
    assert html.index("Sent</h2>") < html.index("Question"), "what was refused stands below the refusal"
    assert html.count("Sent</h2>") == 1
    assert "Messages" not in html
    assert "Answer</h3>" not in html, "there is none"
    assert "Attempts (1)" in html
    attempts = html[html.index("Attempts (1)") :]
    assert all(part in attempts for part in ("40\u00a0ms", "2\u00a0min", "Timeout"))
    assert '<button type="submit" class="primary">Retry 1 error of run' in html
    run.results.update(error_kind="bad_request")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    assert "Check what was sent before you retry." in html
    assert '<button type="submit">Retry 1 error of run' in html, "the same request would fail alike"


def test_requests_of_which_several_were_answered_are_not_called_attempts(client: Client) -> None:
    run = make_scored_run(values=(1.0,), answer="2")
    result = run.results.get()
    sent = {"number": 1, "waited_ms": 0.0, "duration_ms": 1.0, "error_kind": "", "status": 200, "message": ""}
    Transcript.objects.filter(result=result).update(attempts=[{**sent, "error_kind": "timeout"}, sent])
    assert "Attempts (2)" in page(client, f"/runs/{run.pk}/results/{result.pk}/")
    Transcript.objects.filter(result=result).update(attempts=[sent, sent])
    html = page(client, f"/runs/{run.pk}/results/{result.pk}/")
    assert "Requests (2)" in html
    assert "Attempt" not in html


def test_a_reason_that_the_verdict_says_is_not_said_again(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five", metrics=["exact_match", "contains"], variant="plain")
    run.results.get().scores.update(reason="The number differs.")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    assert html.count("The number differs.") == 2, "once a metric"
    assert "Scores and reasons" not in html
    assert "· plain" in html


def test_a_result_not_sent_yet_has_a_page(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    waiting = run.results.first()
    assert waiting is not None
    waiting.transcript.delete()
    waiting.scores.all().delete()
    type(waiting).objects.filter(pk=waiting.pk).update(outcome="", value=None, state="pending")
    assert "Nothing sent yet." in page(client, f"/runs/{run.pk}/results/{waiting.pk}/")


def test_previous_and_next_stay_inside_the_filter(client: Client) -> None:
    run = make_scored_run(values=(0.0, 1.0, 0.0, 1.0, 0.0))
    wrong = list(run.results.filter(outcome="wrong").order_by("position"))
    html = page(client, f"/runs/{run.pk}/results/{wrong[1].pk}/?outcome=wrong")
    assert f'rel="prev" href="/runs/{run.pk}/results/{wrong[0].pk}/?outcome=wrong"' in html
    assert f'rel="next" href="/runs/{run.pk}/results/{wrong[2].pk}/?outcome=wrong"' in html


def test_the_same_task_in_other_runs_is_listed(client: Client) -> None:
    first = make_scored_run(values=(1.0,), model="a/one")
    second = make_scored_run(first.dataset, (0.0,), model="a/two")
    html = page(client, f"/runs/{first.pk}/results/{first.results.get().pk}/")
    assert f"/runs/{second.pk}/results/{second.results.get().pk}/" in html


def test_a_chart_of_a_run_is_drawn_by_its_address(client: Client) -> None:
    run = make_scored_run(values=random_values(8))
    for form in ("svg", "png"):
        response = client.get(f"/runs/{run.pk}/charts/spread-exact_match.{form}")
        assert response.status_code == 200, form
        assert response.headers["Content-Type"].startswith("image/"), form
