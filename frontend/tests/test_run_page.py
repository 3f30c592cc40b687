"""What the page of a run offers: its exports and share link at the top, what got worse, a way to fix a task."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.test import Client

from benchmarks.models import RunStatus
from frontend.tests.test_pages import page
from frontend.view_models import MetricRow, beside
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_a_share_link_is_copied_and_revoked_where_it_was_created(client: Client) -> None:
    run = make_scored_run()
    address = f"/runs/{run.pk}/"
    assert 'id="share-link"' not in page(client, address)
    assert client.post("/share/", {"kind": "run", "query": f"run={run.pk}"}).headers["Location"] == address
    html = " ".join(page(client, address).split())
    assert html.index('id="share-link"') < html.index('id="status"')
    assert "Shows scores, failures and answers to anyone with the link." in html
    assert "Revoke share link" in html


def test_a_run_leads_to_what_got_worse_since_the_run_before(client: Client) -> None:
    dataset = make_dataset(2)
    before, run = make_scored_run(dataset, (1.0, 1.0)), make_scored_run(dataset, (1.0, 0.0))
    lost = f"?runs={before.pk},{run.pk}&amp;show=lost&amp;run={run.pk}&amp;baseline={before.pk}"
    assert lost in page(client, f"/runs/{run.pk}/")
    assert "Was right, now wrong" not in page(client, f"/runs/{before.pk}/")


def test_a_page_of_a_run_has_20_results(client: Client) -> None:
    run = make_scored_run(make_dataset(30), [0.0] * 30)
    assert page(client, f"/runs/{run.pk}/").count("data-row") == 20


def test_a_result_leads_to_the_form_of_its_task(client: Client) -> None:
    run = make_scored_run()
    result = run.results.order_by("pk")[0]
    html = page(client, f"/runs/{run.pk}/results/{result.pk}/")
    assert f'href="/datasets/{run.dataset.slug}/tasks/{result.task_id}/edit/"' in html


def test_a_card_of_a_phone_names_each_score(client: Client) -> None:
    run = make_scored_run()
    assert '<td class="num" data-label="Exact match">' in page(client, f"/runs/{run.pk}/")
    tasks = page(client, f"/compare/tasks/?runs={run.pk},{make_scored_run(run.dataset).pk}")
    assert 'class="run" data-label="' in tasks
    assert 'data-label="Expected"' in tasks


def test_a_phone_leaves_out_a_score_that_all_rows_share(client: Client) -> None:
    run = make_scored_run(make_dataset(3), [0.0] * 3)
    assert '<td class="num wide-only" data-label="Exact match">' in page(client, f"/runs/{run.pk}/")


def test_a_failed_run_says_cause_and_count_once(client: Client) -> None:
    run = make_scored_run(values=(None, None), status=RunStatus.FAILED, error_message="401: wrong key.")
    run.results.update(error_kind="authentication")
    html = " ".join(page(client, f"/runs/{run.pk}/").split())
    said = re.sub("<[^>]+>", "", html[html.index("The API key was refused.") :])
    assert " ".join(said.split()).startswith(
        "The API key was refused. Check the key of loop, then resume the run. 2 of 2 results failed after "
    )
    assert "What failed" not in html
    assert 'class="verdict"' not in html, "there is nothing to say of it"
    assert "<details> <summary>2 results without an answer</summary>" in html
    opened = " ".join(page(client, f"/runs/{run.pk}/?outcome=").split())
    assert "<details open> <summary>2 results without an answer</summary>" in opened


def test_a_run_with_errors_says_first_what_the_most_of_them_are(client: Client) -> None:
    run = make_scored_run(values=(1.0, None, None), status=RunStatus.COMPLETED_WITH_ERRORS)
    html = " ".join(page(client, f"/runs/{run.pk}/").split())
    assert 0 < html.index("2 × Timeout") < html.index("95% interval")
    assert html.index("if the 2 without an answer are wrong") < html.index('class="notes"'), "beside the score"


def test_a_single_failure_is_listed_once(client: Client) -> None:
    html = page(client, f"/runs/{make_scored_run(values=(1.0, 0.0)).pk}/")
    assert "Not correct 1" in html
    assert "What failed" not in html
    assert "What failed" in page(client, f"/runs/{make_scored_run(values=(0.0, 0.0)).pk}/")


def test_metrics_of_a_run_do_not_repeat_the_notes_of_the_headline() -> None:
    headline = MetricRow("a", "A", "", True, sample="8 of 8", note="small sample: 8 results; all scores are equal")
    other = beside(replace(headline, name="b", note="small sample: 8 results; approximate"), headline)
    assert (other.sample, other.note) == ("", "approximate")
    assert beside(replace(headline, sample="7 of 8"), headline).sample == "7 of 8"


def test_the_inbox_names_a_model_once_and_says_why_its_run_stopped(client: Client) -> None:
    message = "The model loop/m failed. loop: 401 wrong key."
    run = make_scored_run(values=(None, None), model="loop/m", status=RunStatus.FAILED, error_message=message)
    run.results.update(error_kind="authentication")
    notice = page(client, "/").partition('class="inbox"')[2].partition("</li>")[0]
    assert "stopped: the API key was refused" in notice
    assert f"Run {run.pk}. loop: 401 wrong key." in notice
    assert notice.count("loop/m") == 1


def test_filters_that_together_select_nothing_are_offered_for_removal(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, None))
    html = client.get(f"/runs/{run.pk}/?outcome=refused&low=1").content.decode()
    assert "No results match" in html
    assert html.index('id="status"') < html.index('id="results"'), "one order of the page, with filters too"
    head = html.partition('<details class="folded">')[2].partition("</details>")[0]
    assert 'class="verdict"' in head, "who filters sees the results first"
    assert "Reason</th>" in head
    assert "Exact match, 2 of 3 scored" in " ".join(head.partition("</summary>")[0].split())
    assert '<details class="folded">' not in client.get(f"/runs/{run.pk}/").content.decode()
    html = client.get(f"/runs/{run.pk}/?outcome=provider_error&low=2&sort=-duration").content.decode()
    said = html.partition("No results match")[2].partition("</div>")[0]
    assert said.startswith(" “Score at least: 2”."), "the other filter selects a result"
    assert "A result with a provider error has no score." in said
    assert re.findall("Remove “(.+?)” (.+?)</a>", said) == [("Score at least: 2", "(1 result)")]
    html = client.get(f"/runs/{run.pk}/?outcome=wrong&low=1&sort=-duration").content.decode()
    assert "No results match all 2 filters." in html
    assert "Remove “Wrong” (1 result)" in html
    assert "Remove “Score at least: 1” (1 result)" in html


def test_of_json_that_is_not_right_the_first_field_that_differs_is_listed(client: Client) -> None:
    tasks = make_dataset(2)
    tasks.current_version.tasks.update(expected_output='{"a": 1, "b": "x", "c": 3}')
    run = make_scored_run(tasks, values=(0.5, 0.0), answer='Here: {"b": "<y>", "c": 4}')
    html = page(client, f"/runs/{run.pk}/")
    row = html[html.index('id="results"') :].split("<tr>")[2]
    said = " ".join(re.sub("<[^>]+>", " ", row.partition("</th>")[2]).split())
    assert "&quot;x&quot; b &quot;&lt;y&gt;&quot; and 2 more" in said
    assert "b &quot;&lt;y&gt;&quot;" in html.partition("What failed")[2].partition("</section>")[0], "nor as an example"
