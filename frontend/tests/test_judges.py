"""Pages of judges: calibrations in every status, the form for a new one, and what a run shows about its judge."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmarks.metrics.judge_calibration import PHRASINGS
from benchmarks.models import COMPLETED, LIVE, AuditEntry, Run, RunStatus
from benchmarks.presentation.numbers import percent
from benchmarks.services.judges import CalibrationRequest
from frontend.judges import calibration_row
from frontend.tests.calibrations import make_calibration
from frontend.tests.test_hostile import HOSTILE, without_fields
from frontend.tests.test_pages import page
from frontend.tests.test_query_growth import queries
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db

REQUEST = {"judge_model": "openai/gpt-4o", "canvas_set": "canvases-7", "questions": "12", "repeats": "1"}
OPTIONS = {"judge_model": "judge"}


def url(calibration: Run) -> str:
    return f"/judges/{calibration.pk}/"


def text(html: str) -> str:
    """What a reader reads, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def form_link(html: str) -> str:
    """The link that fills the form for a new calibration."""
    link = re.search(r'href="(/judges/\?[^"]*)#new-title"', html)
    assert link is not None
    return link[1].replace("&amp;", "&")


def agreement(calibration: Run) -> dict[str, Any]:
    numbers: dict[str, Any] = calibration.summary["agreement"]
    return numbers


def test_without_a_canvas_set_the_page_leads_to_generating_one(client: Client) -> None:
    html = page(client, "/judges/")
    assert "No calibrations yet." in html
    assert 'href="/canvases/?new=1#new-title">Generate a canvas set' in html
    assert 'action="/judges/new/"' not in html


def test_the_form_has_the_defaults_of_the_request(client: Client) -> None:
    make_canvas_set()
    html = page(client, "/judges/")
    fields: Any = CalibrationRequest().fields
    for name in ("questions", "repeats", "concurrency", "seed"):
        assert re.search(rf'name="{name}" value="{fields[name].default}"', html), name
    assert "repeats: up to 1,000 requests" in text(html)


def test_the_list_shows_every_status_and_is_polled_only_while_something_is_live(client: Client) -> None:
    ended = [status for status in RunStatus if status not in LIVE]
    for status in ended:
        make_calibration(status=status, questions=12)
    assert "every 3s" not in page(client, "/judges/")
    for status in LIVE:
        make_calibration(status=status, questions=12)
    html = page(client, "/judges/")
    assert 'hx-trigger="every 3s"' in html
    for status in RunStatus:
        assert f"is-{status.value}" in html, status


def test_a_completed_calibration_shows_all_its_numbers(client: Client) -> None:
    calibration = make_calibration(mistakes=0.2)
    row, numbers = calibration_row(calibration), agreement(calibration)
    html = page(client, url(calibration))
    shown = text(html)
    for share in (*row.shares, *row.by_phrasing.rows):
        assert share.title in html
        assert f"{share.mean:.3f} {share.low:.3f} to {share.high:.3f}" in shown, share.title
    assert "{kappa:.3f} {low:.3f} to {high:.3f}".format(**numbers["kappa"]) in shown
    for truth, counts, total in row.verdicts:
        cells = " ".join(f"{answers} {meaning}" for _, answers, meaning in counts)
        assert f"{truth.capitalize()} {cells} {total}" in shown
    assert f"{numbers['spread']['deviation']:.3f}" in shown
    assert f"{numbers['calls']} requests · $0.25" in shown
    assert f'href="/runs/{calibration.pk}/#results"' in html
    accuracy = numbers["accuracy"]
    sentence = f"not checked by people: right on {percent(accuracy['mean'])} of {accuracy['n']} known answers"
    places = [html.index(mark) for mark in (sentence, "confusion-title", "Cohen's κ", "<summary>Par")]
    assert places == sorted(places), "the answer comes first, then tables"
    assert "Wrong answers accepted minus correct answers rejected" in html


def test_phrasings_keep_their_order_whatever_the_database_makes_of_it() -> None:
    calibration = make_calibration()
    numbers = agreement(calibration)
    numbers["by_phrasing"] = dict(sorted(numbers["by_phrasing"].items()))
    assert [share.title for share in calibration_row(calibration).by_phrasing.rows] == list(PHRASINGS)


def test_the_confusion_table_adds_up_to_the_answers() -> None:
    row = calibration_row(make_calibration())
    (_, _, correct), (_, wrong_counts, wrong) = row.verdicts
    assert correct + wrong == row.found.n_answers
    assert row.found.false_accepts.mean == wrong_counts[0][1] / wrong


def test_an_undefined_kappa_is_explained(client: Client) -> None:
    calibration = make_calibration()
    agreement(calibration)["kappa"] |= {"kappa": None, "low": None, "high": None, "note": "all verdicts are the same"}
    calibration.save()
    html = page(client, url(calibration))
    assert "undefined" in html
    assert "all verdicts are the same" in html
    assert "undefined" in page(client, "/judges/")


def test_what_is_unknown_is_called_unknown(client: Client) -> None:
    unknown = {"judge_tokens_in": None, "judge_tokens_out": None, "judge_cost_usd": None}
    shown = text(page(client, url(make_calibration(repeats=1, **unknown))))
    assert "Calibrate with at least 2 repeats." in shown
    assert "tokens unknown: not reported for every response" in shown
    assert re.search(r"requests? · unknown", shown)


def test_a_calibration_without_numbers_shows_its_status_and_no_chart(client: Client) -> None:
    for status, sentence in (
        (RunStatus.QUEUED, "Waiting for a worker."),
        (RunStatus.FAILED, "HTTP 401: the key is refused."),
    ):
        calibration = make_calibration(status=status, error_message="HTTP 401: the key is refused.")
        html = page(client, url(calibration))
        assert sentence in html, status
        assert "Cohen" not in html, status
        assert "Calibrate again" in html, status


def test_a_running_calibration_polls_until_its_last_poll_fetches_the_rest(client: Client) -> None:
    calibration = make_calibration(status=RunStatus.RUNNING, done=0)
    live = page(client, url(calibration))
    assert f'hx-get="{url(calibration)}progress/"' in live
    assert 'hx-trigger="calibration-ended from:body"' in live
    assert "data-without-scripts" in live
    going = client.get(f"{url(calibration)}progress/")
    assert "HX-Trigger" not in going.headers
    total = 2 * calibration.dataset_version.task_count
    assert f"0 of {total}" in text(going.content.decode()), "known before the run is prepared"
    Run.objects.update(status=RunStatus.FAILED)
    ended = client.get(f"{url(calibration)}progress/")
    assert ended.headers["HX-Trigger"] == "calibration-ended"
    assert b"hx-get" not in ended.content


def test_the_verdict_names_a_direction_only_if_one_mistake_is_significantly_more_frequent() -> None:
    measured = calibration_row(make_calibration())
    for difference, low, high, p_value, leaning in (
        (0.3, 0.1, 0.5, 0.01, "lenient"),
        (-0.3, -0.5, -0.1, 0.01, "strict"),
        (0.3, 0.1, 0.5, 0.06, ""),
        (0.1, -0.1, 0.3, 0.2, ""),
        (None, None, None, None, ""),
    ):
        found = {"difference": difference, "low": low, "high": high, "p_value": p_value}
        leniency = replace(measured.found.leniency, **found)
        row = replace(measured, numbers=replace(measured.found, leniency=leniency))
        finding = f"is {leaning}." if leaning else "makes"
        assert finding in row.verdict[0], found


def test_a_judge_that_leans_one_way_has_a_remedy(client: Client) -> None:
    calibration, remedy = make_calibration(), "Use another judge, or let labels by people correct its scores."
    assert remedy not in text(page(client, url(calibration)))
    agreement(calibration)["leniency"] |= {"difference": 0.3, "low": 0.1, "high": 0.5, "p_value": 0.01}
    calibration.save()
    assert f"{remedy} Over all checks" in text(page(client, url(calibration)))


def test_a_calibration_that_does_not_exist_is_a_404_page(client: Client) -> None:
    for address in ("/judges/99/", "/judges/99/progress/"):
        page(client, address, 404)
    page(client, f"/judges/{make_scored_run().pk}/", 404)


def test_a_submitted_form_queues_the_calibration_it_describes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-no-request")
    make_canvas_set((3, 4, 5, 6))
    response = client.post("/judges/new/", REQUEST | {"seed": "7"})
    made = Run.objects.get()
    assert response.headers["Location"] == url(made)
    assert (made.judge_model, made.repeats, made.status) == ("openai/gpt-4o", 1, RunStatus.QUEUED)
    assert made.calibration == {"questions": 12, "seed": 7, "phrasings": list(PHRASINGS)}
    assert AuditEntry.objects.latest("pk").action == "calibration.start"


def test_the_form_gives_the_errors_of_the_command(client: Client) -> None:
    make_canvas_set()
    for name, value in (
        ("judge_model", "gpt-4o"),
        ("judge_model", "nowhere/gpt-4o"),
        ("judge_model", "baseline/reference"),
        ("canvas_set", "none"),
        ("metric", "faithfulness"),
        ("metric", "nonsense"),
        ("questions", "many"),
        ("questions", "1"),
        ("repeats", "0"),
        ("concurrency", "999"),
        ("seed", "-1"),
    ):
        request = REQUEST | {name: value}
        response = client.post("/judges/new/", request)
        assert response.status_code == 400, (name, value)
        assert "Calibration not started." in text(response.content.decode())
        errors = response.context["form"].errors
        assert list(errors) == [name], (name, value)
        options = [f"--{OPTIONS.get(field, field).replace('_', '-')}={given}" for field, given in request.items()]
        with pytest.raises(CommandError) as refused:
            call_command("judge", "calibrate", *options, stderr=StringIO())
        for error in map(str, errors[name]):
            assert error in str(refused.value), (name, value)
            assert error in text(response.content.decode()).replace("&#x27;", "'"), (name, value)
    assert not Run.objects.exists()


def test_a_rejected_form_keeps_what_was_entered(client: Client) -> None:
    make_canvas_set()
    html = client.post("/judges/new/", REQUEST | {"judge_model": "typo", "questions": "34"}).content.decode()
    assert 'value="typo"' in html
    assert 'value="34"' in html


def test_calibrate_again_fills_the_form_with_the_same_request(client: Client) -> None:
    calibration = make_calibration(judge_model="loop/a+b judge", questions=17, repeats=3, seed=8)
    html = page(client, form_link(page(client, url(calibration))))
    for name, value in (("judge_model", "loop/a+b judge"), ("questions", 17), ("repeats", 3), ("seed", 8)):
        assert re.search(rf'name="{name}" value="{re.escape(str(value))}"', html), name


def test_a_hostile_address_fills_the_form_with_text(client: Client) -> None:
    make_canvas_set()
    html = page(client, "/judges/?page=999&judge_model=%22%3E%3Cscript%3E&seed=%00x&canvas_set=none")
    assert "<script>" not in html


def test_a_run_shows_the_latest_calibration_of_its_judge_for_the_metric(client: Client) -> None:
    run = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    make_calibration(mistakes=0.5)
    latest = make_calibration(mistakes=0.1)
    make_calibration(judge_model="loop/other")
    make_calibration(status=RunStatus.FAILED)
    html = page(client, f"/runs/{run.pk}/")
    assert re.findall(r'href="(/judges/\d+/)"', html) == [url(latest)]
    right = percent(agreement(latest)["accuracy"]["mean"])
    assert f"not checked by people: right on {right} of" in text(html)


def test_a_run_whose_judge_is_not_calibrated_links_to_the_filled_form(client: Client) -> None:
    canvas_set = make_canvas_set()
    run = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    html = page(client, f"/runs/{run.pk}/")
    assert "not checked by people." in text(html)
    form = page(client, form_link(html))
    assert 'name="judge_model" value="loop/judge"' in form
    assert canvas_set.slug in form


def test_a_metric_that_judges_cannot_be_calibrated_for_has_no_link_to_it(client: Client) -> None:
    run = make_scored_run(metrics=["faithfulness", "correctness", "exact_match"], judge_model="loop/judge")
    make_calibration()
    section = text(page(client, f"/runs/{run.pk}/").split('id="judge-title"')[1].split("</section>")[0])
    assert "Calibrate judge" not in section
    assert section.count("Latest calibration") == 1


def test_a_run_without_a_judge_has_no_section_about_judges(client: Client) -> None:
    assert "judge-title" not in page(client, f"/runs/{make_scored_run().pk}/")


def test_a_self_judged_run_is_marked(client: Client) -> None:
    itself = make_scored_run(metrics=["correctness"], model="loop/model", judge_model="loop/model", self_judged=True)
    other = make_scored_run(itself.dataset, metrics=["correctness"], model="loop/model", judge_model="loop/judge")
    html = page(client, f"/runs/{itself.pk}/")
    marks = ('<span class="tag">Self-judged</span>', "This run is self-judged")
    assert all(mark in html for mark in marks)
    assert not any(mark in page(client, f"/runs/{other.pk}/") for mark in marks)


def test_hostile_words_of_a_judge_are_inert(client: Client) -> None:
    failed = make_calibration(judge_model=HOSTILE[:150], status=RunStatus.FAILED, error_message=HOSTILE)
    done = make_calibration(judge_model=HOSTILE[:150])
    numbers = agreement(done)
    numbers["kappa"]["note"] = numbers["accuracy"]["note"] = HOSTILE
    numbers["by_phrasing"] = {HOSTILE: numbers["accuracy"]}
    done.save()
    run = make_scored_run(metrics=["correctness"], judge_model=HOSTILE[:150])
    for address in ("/judges/", url(failed), f"{url(failed)}progress/", url(done), f"/runs/{run.pk}/"):
        html = client.get(address).content.decode()
        for dangerous in ("<script>alert", "<img src=x", "<a href='javascript:"):
            assert dangerous not in html, address
        assert not re.search("[\u202e\x1b]", without_fields(html)), address


def test_five_megabytes_of_a_judge_make_no_page_heavy(client: Client) -> None:
    calibration = make_calibration(status=RunStatus.FAILED, error_message="x" * 5_000_000)
    page(client, url(calibration))
    page(client, "/judges/")


def test_the_number_of_queries_does_not_grow_with_the_list(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    counts = []
    for _ in range(2):
        for place in range(3):
            make_calibration(canvas_set, judge_model=f"loop/judge-{place}", repeats=1)
        counts.append(queries(client, "/judges/"))
    assert counts[0] == counts[1] <= 10


def test_a_calibration_costs_one_query_and_so_does_its_progress(client: Client) -> None:
    calibration = make_calibration()
    assert queries(client, url(calibration)) == 1 + 3 + 2, "itself, its judge, and the counts of the navigation"
    live = make_calibration(status=RunStatus.RUNNING, done=0)
    assert queries(client, f"{url(live)}progress/") == 1 + 2, "itself, and what its ETag is made of"


def test_a_run_queries_the_calibrations_of_its_judge_once(client: Client) -> None:
    judged = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    without = make_scored_run(judged.dataset, metrics=["correctness"])
    make_calibration()
    make_calibration()
    assert queries(client, f"/runs/{judged.pk}/") <= queries(client, f"/runs/{without.pk}/") + 1


def do(client: Client, calibration: Run, action: str, **sent: str) -> str:
    """Press a button on the calibration's page; returns what the next page says."""
    assert f'action="{url(calibration)}do/{action}/"' in page(client, url(calibration))
    return text(client.post(f"{url(calibration)}do/{action}/", sent, follow=True).content.decode())


def test_a_live_calibration_is_canceled_then_resumed_on_its_page(client: Client) -> None:
    calibration = make_calibration(status=RunStatus.RUNNING, is_prepared=True, total=10)
    assert "do/delete/" not in page(client, url(calibration))
    assert f"Calibration {calibration.pk} canceled. Its verdicts are kept." in do(client, calibration, "cancel")
    assert f"Calibration {calibration.pk} resumed with its existing verdicts." in do(client, calibration, "resume")
    assert Run.objects.get().status == RunStatus.RUNNING


def test_an_ended_calibration_is_deleted_on_its_page(client: Client) -> None:
    calibration = make_calibration()
    html = page(client, url(calibration))
    assert "do/cancel/" not in html
    assert "do/resume/" not in html
    assert f"Calibration {calibration.pk} deleted." in do(client, calibration, "delete", confirmed="yes")
    assert not Run.objects.exists()


def test_actions_that_are_not_possible_are_explained_on_the_page(client: Client) -> None:
    calibration = make_calibration()
    shown = text(client.post(f"{url(calibration)}do/cancel/", follow=True).content.decode())
    assert f"Run {calibration.pk} is completed" in shown.replace("Completed", "completed")
    assert client.post(f"{url(calibration)}do/explode/").status_code == 404
    assert client.post("/judges/99/do/cancel/").status_code == 404


def test_visitors_without_permission_can_read_and_change_nothing(client: Client, settings: Any) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    calibration = make_calibration(status=RunStatus.RUNNING)
    assert 'action="/judges/new/"' not in page(client, "/judges/")
    html = page(client, url(calibration))
    assert "Calibrate again" not in html
    assert "/do/" not in html
    assert client.post("/judges/new/", REQUEST).status_code == 403
    for action in ("cancel", "resume", "delete"):
        assert client.post(f"{url(calibration)}do/{action}/").status_code == 403, action
    assert Run.objects.get().status == RunStatus.RUNNING


def test_a_calibration_is_not_listed_among_runs_or_datasets(client: Client) -> None:
    calibration = make_calibration()
    assert calibration.status in COMPLETED
    for address in ("/", "/runs/", "/datasets/", "/leaderboard/", "/runs/new/", f"/compare/?runs={calibration.pk}"):
        html = page(client, address)
        for name in ("known-answers", "_calibration-", f"/runs/{calibration.pk}/"):
            assert name not in html, address
    html = page(client, f"/runs/{calibration.pk}/")
    assert "known-answers" in html, "its verdicts are on the page of the run"
    assert "Run again" not in html


def test_a_calibration_that_stands_still_says_so_in_the_list_and_on_its_page(client: Client) -> None:
    run = make_calibration(status="running")
    began = timezone.now() - timedelta(minutes=9)
    Run.objects.filter(pk=run.pk).update(active_since=began, progressed_at=timezone.now() - timedelta(minutes=3))
    for path in ("/judges/", f"/judges/{run.pk}/"):
        html = " ".join(page(client, path).split())
        assert "No verdict for 3 min" in html, path
        assert ">Running</span>" not in html, path
