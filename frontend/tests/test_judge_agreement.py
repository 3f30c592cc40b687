"""The page of a judge's agreement with people."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from benchmarks.models import Label, Score
from frontend.tests.calibrations import make_calibration
from frontend.tests.test_pages import page
from frontend.tests.test_query_growth import queries
from tests.support.factories import make_dataset
from tests.support.labeled_runs import JUDGE, METRIC, label_answers, make_judged_run, make_review

pytestmark = pytest.mark.django_db

ADDRESS = f"/judges/agreement/?judge={JUDGE}&metric={METRIC}"


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_page_begins_with_what_to_do_and_joins_labels_with_known_answers(client: Client) -> None:
    run, truth = make_judged_run()
    label_answers(run, truth, make_review(run))
    calibration = make_calibration()
    html = page(client, ADDRESS)
    shown = text(html)
    places = [
        shown.index(part)
        for part in (
            "Usable after correction: this judge is lenient.",
            "more labels would lower that to",
            "Share of answers on which the judge agrees",
            "Direction of errors",
            "Disagreements",
            "Judge alone",
            "Against known answers",
        )
    ]
    assert places == sorted(places)
    assert "By model" not in shown, "all labeled answers are of one"
    assert "reliable for differences above" in shown
    assert f'href="/judges/{calibration.pk}/"' in html
    assert f'href="/runs/{run.pk}/results/' in html
    assert 'href="/judges/agreement/?judge=loop/judge' in page(client, "/judges/").replace("%2F", "/")


def test_the_advice_leads_to_a_review_of_what_to_label_next(client: Client) -> None:
    run, truth = make_judged_run()
    label_answers(run, truth, make_review(run))
    link = re.search(r'href="([^"]+)">\s*Label 40 more</a>', page(client, ADDRESS))
    assert link
    form = page(client, link[1].replace("&amp;", "&"))
    for chosen in (
        '<option value="rest" selected>',
        '<option value="correctness" selected>',
        f'name="runs" value="{run.pk}" checked',
        'name="size" value="40"',
    ):
        assert chosen in re.sub(r" (id|aria-describedby)=\"[^\"]*\"", "", form), chosen


def test_too_few_labels_say_how_many_are_missing(client: Client) -> None:
    run, truth = make_judged_run(60)
    label_answers(run, truth, make_review(run), n=12)
    shown = text(page(client, ADDRESS))
    assert "of 12 answers. Label 28 more: a decision needs 40 labels." in shown
    assert "A corrected mean" not in shown
    assert "Calibrate judge" in shown
    listed = text(page(client, "/judges/"))
    assert "Not reliable yet" in listed
    assert "12 of 40 needed" in listed


def test_a_judge_has_one_verdict_in_the_same_words_on_every_page(client: Client) -> None:
    run, truth = make_judged_run(8)
    label_answers(run, truth, make_review(run), n=8)
    calibration = make_calibration()
    said = re.search(
        r"not reliable yet: agrees with people on \d of 8 answers, right on .*? known answers",
        text(page(client, f"/runs/{run.pk}/")),
    )
    assert said
    assert said[0] in text(page(client, f"/judges/{calibration.pk}/"))
    assert text(page(client, f"/runs/{run.pk}/")).count(said[0][1:]) == 1, "the headline says it once for the page"
    assert "All of its answers are labeled" in text(page(client, ADDRESS))
    assert "more</a>" not in page(client, ADDRESS)
    assert "Share of answers on which the judge agrees" in text(page(client, ADDRESS))
    assert re.search(
        r"8 of 40 needed all answers labeled 0[.]\d{3} .* right on \d+ of \d+", text(page(client, "/judges/"))
    )


def test_labels_of_an_open_review_are_on_no_page_of_the_judge(client: Client) -> None:
    run, truth = make_judged_run(60)
    label_answers(run, truth, make_review(run, closed_at=None), n=50)
    assert "No labels count yet" in text(page(client, ADDRESS))
    assert "1 open review not counted until closed." in text(page(client, ADDRESS))
    assert "Finish the open review" in text(page(client, "/judges/"))
    for address in (ADDRESS, "/judges/", f"/runs/{run.pk}/"):
        assert "agrees with people on" not in text(page(client, address))


def test_the_page_says_how_often_judge_and_people_name_the_same_step(client: Client) -> None:
    run, truth = make_judged_run(40)
    label_answers(run, truth, make_review(run), n=40)
    assert "First wrong step" not in text(page(client, ADDRESS))
    Score.objects.filter(run=run).update(detail={"first_wrong_step": 3})
    Label.objects.update(first_wrong_step=3)
    Label.objects.filter(pk__in=Label.objects.values("pk")[:10]).update(first_wrong_step=4)
    shown = text(page(client, ADDRESS))
    assert "First wrong step" in shown
    assert "Same step 0.750" in shown
    assert "At most one step away 1.000" in shown


def test_without_labels_there_is_no_such_page(client: Client) -> None:
    make_judged_run(30)
    for address in (ADDRESS, "/judges/agreement/", f"{ADDRESS}&run=99", "/judges/agreement/more-labels.svg"):
        assert client.get(address).status_code == 404, address
    assert "Not checked by people" in page(client, "/judges/")


def test_the_chart_of_more_labels_is_drawn_and_starts_at_what_is_there(client: Client) -> None:
    run, truth = make_judged_run()
    label_answers(run, truth, make_review(run))
    drawn = client.get(f"/judges/agreement/more-labels.svg?judge={JUDGE}&metric={METRIC}")
    assert drawn.status_code == 200
    assert "now: ±" in drawn.content.decode()
    label_answers(run, truth, make_review(run), n=200, author="all")
    assert client.get(f"/judges/agreement/more-labels.svg?judge={JUDGE}&metric={METRIC}").status_code == 404


def test_the_page_of_a_run_says_where_its_corrected_mean_is(client: Client) -> None:
    run, truth = make_judged_run()
    assert "Corrected by" not in page(client, f"/runs/{run.pk}/")
    label_answers(run, truth, make_review(run))
    html = page(client, f"/runs/{run.pk}/")
    assert "Corrected by 80 labels" in text(html)
    assert f"&amp;run={run.pk}" in html


def test_more_answers_cost_no_more_queries(client: Client) -> None:
    run, truth = make_judged_run(60)
    queue = make_review(run)
    label_answers(run, truth, queue, n=25)
    few = queries(client, ADDRESS)
    label_answers(run, truth, queue, n=60, author="jonas")
    assert queries(client, ADDRESS) == few


def test_more_reviews_cost_the_list_of_judges_no_more_queries(client: Client) -> None:
    run, truth = make_judged_run(30)
    label_answers(run, truth, make_review(run), n=20)
    few = queries(client, "/judges/")
    for author in ("jonas", "kim"):
        label_answers(run, truth, make_review(run), n=20, author=author)
    assert queries(client, "/judges/") == few


def test_two_runs_are_chosen_and_told_apart_and_the_own_family_is_named(client: Client) -> None:
    judge, dataset, runs = "openai/gpt-4.1", make_dataset(120), []
    for number, (model, rate) in enumerate((("openai/gpt-4o", 0.9), ("loop/near", 0.8), ("loop/worst", 0.3))):
        run, truth = make_judged_run(120, dataset, model=model, rate=rate, seed=number, judge_model=judge, lenient=0.2)
        label_answers(run, truth, make_review(run), n=60)
        runs.append(run)
    address = f"/judges/agreement/?judge={judge}&metric={METRIC}"
    shown = text(page(client, address))
    assert shown.count("Enough labels: different") == 1
    assert "No sign that it favors OpenAI models." in shown
    html = page(client, f"{address}&first={runs[2].pk}&second={runs[0].pk}")
    assert text(html).count("Enough labels: different") == 1
    assert f'<option value="{runs[2].pk}" selected>' in html
    assert "Choose two runs on the same dataset version" in page(client, f"{address}&first={runs[0].pk}&second=999999")
