"""Pages of judges: their calibrations in every state, asking for one, and what a run says of its judge."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from benchmarks.metrics.judge_calibration import WORDINGS
from benchmarks.models import AuditEntry, JudgeCalibration
from benchmarks.services.judges import CalibrationRequest
from frontend import drawing
from frontend.calibration_charts import calibration_charts
from frontend.calibrations import findings
from frontend.tests.calibrations import Status, make_calibration
from frontend.tests.test_hostile import HOSTILE, without_fields
from frontend.tests.test_pages import page
from frontend.tests.test_query_growth import queries
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db

REQUEST = {"judge_model": "openai/gpt-4o", "canvas_set": "canvases-7", "questions": "12", "repeats": "1"}
OPTIONS = {"judge_model": "judge"}


def url(calibration: JudgeCalibration) -> str:
    return f"/judges/{calibration.pk}/"


def text(html: str) -> str:
    """What a reader reads, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_with_no_canvas_set_the_page_leads_to_where_one_is_drawn(client: Client) -> None:
    html = page(client, "/judges/")
    assert "No judge was examined yet." in html
    assert 'href="/canvases/">Draw a canvas set' in html
    assert 'action="/judges/new/"' not in html


def test_with_a_canvas_set_the_page_has_a_form_with_the_defaults_of_the_request(client: Client) -> None:
    make_canvas_set()
    html = page(client, "/judges/")
    fields: Any = CalibrationRequest().fields
    for name in ("questions", "repeats", "concurrency", "seed"):
        assert re.search(rf'name="{name}" value="{fields[name].default}"', html), name
    assert "up to 1,000 requests to the judge" in html


def test_the_list_shows_a_calibration_in_each_state(client: Client) -> None:
    for status in Status.values:
        make_calibration(status=status)
    html = page(client, "/judges/")
    for status in Status.values:
        assert f"is-{status}" in html
    assert 'hx-trigger="every 3s"' in html


def test_a_list_in_which_nothing_moves_is_not_polled(client: Client) -> None:
    make_calibration()
    make_calibration(status=Status.FAILED)
    assert "hx-get" not in page(client, "/judges/")


def test_a_completed_calibration_shows_all_that_was_found(client: Client) -> None:
    calibration = make_calibration(mistakes=0.2)
    found = findings(calibration.numbers)
    assert found is not None
    assert found.kappa.value is not None
    html = page(client, url(calibration))
    for share in (*found.shares, *found.by_wording):
        assert share.title in html
        assert f"{share.mean:.3f}" in html
        assert f"{share.low:.3f} to {share.high:.3f}" in html
    read = text(html)
    assert f"{found.kappa.value:.3f} {found.kappa.low:.3f} to {found.kappa.high:.3f}" in read
    for row in found.verdicts:
        assert f"{row.truth} {' '.join(str(answers) for _, answers in row.counts)} {row.total}" in read
    assert f"{found.spread.deviation:.3f}" in read
    assert "$0.25" in read
    assert f"{found.errors} without a verdict" in read
    assert html.count("data-chart") == 2


def test_the_answer_comes_before_the_charts_and_those_before_the_tables(client: Client) -> None:
    calibration = make_calibration()
    html = page(client, url(calibration))
    sentence = f"Of {calibration.numbers['n_answers']} answers"
    places = [html.index(mark) for mark in ("Cohen's κ", sentence, "data-chart", "confusion-title", "<summary>Every")]
    assert places == sorted(places)


def test_wordings_keep_their_order_whatever_the_database_makes_of_it() -> None:
    numbers = make_calibration().numbers
    mixed = numbers | {"by_wording": dict(sorted(numbers["by_wording"].items()))}
    found = findings(mixed)
    assert found is not None
    assert [share.title for share in found.by_wording] == list(WORDINGS)


def test_the_numbers_of_the_confusion_table_add_up_to_the_answers() -> None:
    found = findings(make_calibration().numbers)
    assert found is not None
    assert sum(row.total for row in found.verdicts) == found.n_answers
    assert found.false_accepts.mean == found.verdicts[1].counts[0][1] / found.verdicts[1].total


def test_a_judge_of_which_kappa_is_not_defined_says_why(client: Client) -> None:
    calibration = make_calibration()
    calibration.numbers["kappa"] |= {"kappa": None, "low": None, "high": None, "note": "all verdicts are the same"}
    calibration.save()
    html = page(client, url(calibration))
    assert "not defined" in html
    assert "all verdicts are the same" in html
    assert "not defined" in page(client, "/judges/")


def test_one_repeat_has_no_spread_and_says_how_to_get_one(client: Client) -> None:
    assert "Ask for 2 repeats or more." in page(client, url(make_calibration(repeats=1)))


def test_a_calibration_whose_price_is_unknown_says_so(client: Client) -> None:
    assert "<dt>Cost</dt><dd>unknown</dd>" in page(client, url(make_calibration(cost_usd=None)))


def test_a_queued_calibration_has_a_page_before_it_has_any_number(client: Client) -> None:
    html = page(client, url(make_calibration(status=Status.QUEUED)))
    assert "It waits for a worker." in html
    assert "data-chart" not in html


def test_a_failed_calibration_says_what_failed_and_shows_no_number(client: Client) -> None:
    html = page(client, url(make_calibration(status=Status.FAILED, error_message="HTTP 401: the key is refused.")))
    assert "HTTP 401: the key is refused." in html
    assert "Examine again like this" in html
    assert "Cohen" not in html


def test_a_running_calibration_polls_until_its_last_poll_fetches_the_rest(client: Client) -> None:
    calibration = make_calibration(status=Status.RUNNING, done=10)
    live = page(client, url(calibration))
    assert f'hx-get="{url(calibration)}progress/"' in live
    assert 'hx-trigger="calibration-ended from:body"' in live
    assert "data-without-scripts" in live
    going = client.get(f"{url(calibration)}progress/")
    assert "HX-Trigger" not in going.headers
    assert f"10 of {calibration.total}" in text(going.content.decode())
    JudgeCalibration.objects.update(status=Status.FAILED)
    ended = client.get(f"{url(calibration)}progress/")
    assert ended.headers["HX-Trigger"] == "calibration-ended"
    assert b"hx-get" not in ended.content


@pytest.mark.parametrize("form", ["svg", "png"])
@pytest.mark.parametrize("name", ["verdicts", "phrasings"])
def test_a_chart_is_drawn_by_its_address(client: Client, name: str, form: str) -> None:
    response = client.get(f"{url(make_calibration())}charts/{name}.{form}")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("image/")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_the_charts_is_a_token_of_the_page(theme: drawing.Theme) -> None:
    for chart in calibration_charts(findings(make_calibration().numbers)):
        assert not re.search(r'"#[0-9a-f]{3,8}"|"rgb\(', json.dumps(chart.spec["layer"]))
        assert "var(--" not in json.dumps(drawing.resolved(chart.spec, theme))


@pytest.mark.parametrize("address", ["/judges/99/", "/judges/99/progress/", "/judges/99/charts/verdicts.svg"])
def test_what_is_not_there_is_said_on_a_page(client: Client, address: str) -> None:
    page(client, address, 404)


def test_a_calibration_without_numbers_has_no_chart_to_draw(client: Client) -> None:
    calibration = make_calibration(status=Status.QUEUED)
    assert client.get(f"{url(calibration)}charts/verdicts.svg").status_code == 404


def test_a_sent_form_queues_the_calibration_it_describes(client: Client) -> None:
    make_canvas_set((3, 4, 5, 6))
    response = client.post("/judges/new/", REQUEST | {"seed": "7"})
    made = JudgeCalibration.objects.get()
    assert response.headers["Location"] == url(made)
    assert (made.judge_model, made.questions, made.repeats, made.seed, made.status) == (
        *("openai/gpt-4o", 12, 1, 7),
        Status.QUEUED,
    )
    assert AuditEntry.objects.latest("pk").action == "calibration.start"


@pytest.mark.parametrize(
    "wrong",
    [
        {"judge_model": "gpt-4o"},
        {"judge_model": "nowhere/gpt-4o"},
        {"judge_model": "baseline/reference"},
        {"canvas_set": "none"},
        {"metric": "faithfulness"},
        {"metric": "nonsense"},
        {"questions": "many"},
        {"questions": "1"},
        {"repeats": "0"},
        {"concurrency": "999"},
        {"seed": "-1"},
    ],
)
def test_the_form_gives_the_errors_of_the_command(client: Client, wrong: dict[str, str]) -> None:
    make_canvas_set()
    asked = REQUEST | wrong
    response = client.post("/judges/new/", asked)
    assert response.status_code == 400
    shown = {name: [str(error) for error in errors] for name, errors in response.context["form"].errors.items()}
    assert set(shown) == set(wrong)
    options = [f"--{OPTIONS.get(name, name).replace('_', '-')}={value}" for name, value in asked.items()]
    with pytest.raises(CommandError) as refused:
        call_command("judge", "calibrate", *options, stderr=StringIO())
    for errors in shown.values():
        for error in errors:
            assert error in str(refused.value)
            assert error in text(response.content.decode()).replace("&#x27;", "'")
    assert not JudgeCalibration.objects.exists()


def test_what_was_typed_is_kept_when_the_form_comes_back(client: Client) -> None:
    make_canvas_set()
    html = client.post("/judges/new/", REQUEST | {"judge_model": "typo", "questions": "34"}).content.decode()
    assert 'value="typo"' in html
    assert 'value="34"' in html


def test_examine_again_fills_the_form_as_the_first_was_asked_for(client: Client) -> None:
    calibration = make_calibration(judge_model="loop/a+b judge", questions=17, repeats=3, seed=8)
    found = re.search(r'href="(/judges/\?[^"]*)#new-title"', page(client, url(calibration)))
    assert found is not None
    html = page(client, found[1].replace("&amp;", "&"))
    for name, value in (("judge_model", "loop/a+b judge"), ("questions", 17), ("repeats", 3), ("seed", 8)):
        assert re.search(rf'name="{name}" value="{re.escape(str(value))}"', html), name


def test_a_made_up_address_fills_the_form_with_text_and_is_no_error(client: Client) -> None:
    make_canvas_set()
    html = page(client, "/judges/?page=999&judge_model=%22%3E%3Cscript%3E&seed=%00x&canvas_set=none")
    assert "<script>" not in html


def test_in_production_strangers_read_and_start_nothing(client: Client, settings: Any) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    calibration = make_calibration()
    assert 'action="/judges/new/"' not in page(client, "/judges/")
    assert "Examine again" not in page(client, url(calibration))
    assert client.post("/judges/new/", REQUEST).status_code == 403
    assert JudgeCalibration.objects.count() == 1


def test_a_run_leads_to_the_latest_calibration_of_its_judge_for_the_metric(client: Client) -> None:
    run = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    make_calibration(mistakes=0.5)
    latest = make_calibration(mistakes=0.1)
    make_calibration(judge_model="loop/other")
    make_calibration(status=Status.FAILED)
    html = page(client, f"/runs/{run.pk}/")
    assert re.findall(r'href="(/judges/\d+/)"', html) == [url(latest)]
    assert f"κ {latest.numbers['kappa']['kappa']:.3f}" in text(html)


def test_a_run_whose_judge_was_never_examined_says_how_to_do_it(client: Client) -> None:
    canvas_set = make_canvas_set()
    run = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    html = page(client, f"/runs/{run.pk}/")
    assert "loop/judge was never examined" in html
    found = re.search(r'href="(/judges/\?[^"]*)#new-title"', html)
    assert found is not None
    form = page(client, found[1].replace("&amp;", "&"))
    assert 'name="judge_model" value="loop/judge"' in form
    assert canvas_set.slug in form


def test_a_metric_that_no_judge_can_be_examined_for_says_so(client: Client) -> None:
    run = make_scored_run(metrics=["faithfulness", "correctness", "exact_match"], judge_model="loop/judge")
    make_calibration()
    read = text(page(client, f"/runs/{run.pk}/").split('id="judge-title"')[1].split("</section>")[0])
    assert read.count("Not known: canvas questions have no data") == 1
    assert "latest calibration of loop/judge" in read


def test_a_run_without_a_judge_says_nothing_of_one(client: Client) -> None:
    assert "judge-title" not in page(client, f"/runs/{make_scored_run().pk}/")


def test_a_run_judged_by_itself_is_marked(client: Client) -> None:
    itself = make_scored_run(metrics=["correctness"], model="loop/model", judge_model="loop/model", self_judged=True)
    other = make_scored_run(itself.dataset, metrics=["correctness"], model="loop/model", judge_model="loop/judge")
    html = page(client, f"/runs/{itself.pk}/")
    assert '<span class="tag">Self-judged</span>' in html
    assert "This run is judged by itself" in html
    assert "judged by itself" not in page(client, f"/runs/{other.pk}/")


def test_hostile_words_of_a_judge_are_inert(client: Client) -> None:
    failed = make_calibration(judge_model=HOSTILE[:150], status=Status.FAILED, error_message=HOSTILE)
    done = make_calibration(judge_model=HOSTILE[:150])
    done.numbers["kappa"]["note"] = done.numbers["accuracy"]["note"] = HOSTILE
    done.numbers["by_wording"] = {HOSTILE: done.numbers["accuracy"]}
    done.save()
    run = make_scored_run(metrics=["correctness"], judge_model=HOSTILE[:150])
    for address in ("/judges/", url(failed), f"{url(failed)}progress/", url(done), f"/runs/{run.pk}/"):
        html = client.get(address).content.decode()
        for dangerous in ("<script>alert", "<img src=x", "<a href='javascript:"):
            assert dangerous not in html, address
        assert not re.search("[\u202e\x1b]", without_fields(html)), address
    assert b"<script" not in client.get(f"{url(done)}charts/phrasings.svg").content


def test_five_megabytes_of_a_judge_make_no_page_heavy(client: Client) -> None:
    calibration = make_calibration(status=Status.FAILED, error_message="x" * 5_000_000)
    page(client, url(calibration))
    page(client, "/judges/")


def test_lists_of_calibrations_cost_the_same_queries_however_many(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    counts = []
    for _ in range(2):
        for place in range(5):
            make_calibration(canvas_set, judge_model=f"loop/judge-{place}", repeats=1)
        counts.append(queries(client, "/judges/"))
    assert counts[0] == counts[1] <= 3


def test_a_calibration_costs_one_query_and_so_does_its_progress(client: Client) -> None:
    calibration = make_calibration()
    assert queries(client, url(calibration)) == queries(client, f"{url(calibration)}progress/") == 1


def test_a_run_asks_once_for_the_calibrations_of_its_judge(client: Client) -> None:
    judged = make_scored_run(metrics=["correctness"], judge_model="loop/judge")
    without = make_scored_run(judged.dataset, metrics=["correctness"])
    make_calibration()
    make_calibration()
    assert queries(client, f"/runs/{judged.pk}/") <= queries(client, f"/runs/{without.pk}/") + 1


def do(client: Client, calibration: JudgeCalibration, action: str) -> str:
    """Press a button on the calibration's page; returns what the next page says."""
    assert f'action="{url(calibration)}do/{action}/"' in page(client, url(calibration))
    return text(client.post(f"{url(calibration)}do/{action}/", follow=True).content.decode())


def test_a_live_calibration_is_cancelled_then_resumed_on_its_page(client: Client) -> None:
    calibration = make_calibration(status=Status.RUNNING)
    assert "do/delete/" not in page(client, url(calibration))
    assert "is cancelled; its verdicts are kept" in do(client, calibration, "cancel")
    assert "goes on with the verdicts it has" in do(client, calibration, "resume")
    assert JudgeCalibration.objects.get().status == Status.QUEUED
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["calibration.cancel", "calibration.resume"]


def test_an_ended_calibration_is_deleted_on_its_page(client: Client) -> None:
    calibration = make_calibration()
    html = page(client, url(calibration))
    assert "do/cancel/" not in html
    assert "do/resume/" not in html
    assert f"Calibration {calibration.pk} is deleted." in do(client, calibration, "delete")
    assert not JudgeCalibration.objects.exists()


def test_what_cannot_be_done_is_said_on_the_page(client: Client) -> None:
    calibration = make_calibration()
    said = text(client.post(f"{url(calibration)}do/cancel/", follow=True).content.decode())
    assert f"Calibration {calibration.pk} is completed; only a live one can be cancelled." in said
    assert client.post(f"{url(calibration)}do/explode/").status_code == 404
    assert client.post("/judges/99/do/cancel/").status_code == 404


def test_in_production_strangers_have_no_buttons(client: Client, settings: Any) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    calibration = make_calibration(status=Status.RUNNING)
    assert "/do/" not in page(client, url(calibration))
    for action in ("cancel", "resume", "delete"):
        assert client.post(f"{url(calibration)}do/{action}/").status_code == 403
    assert JudgeCalibration.objects.get().status == Status.RUNNING
