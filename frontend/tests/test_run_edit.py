"""A run's name, tags, notes and marks on its page, in the list, in the API and from the command line."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.html import strip_tags

from benchmarks.models import Run
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/benchmarks/runs"


def heading(html: str) -> str:
    """The words of the page's heading."""
    return " ".join(strip_tags(html.partition("<h1>")[2].partition("</h1>")[0]).split())


def test_a_run_is_labeled_on_its_page(client: Client) -> None:
    run = make_scored_run(model="loop/model")
    assert heading(page(client, f"/runs/{run.pk}/")) == "loop/model on Sums"
    sent = {"name": "Baseline of May", "tags": " nightly, gpu ,", "notes": "Kept.", "pinned": "on", "baseline": "on"}
    assert client.post(f"/runs/{run.pk}/edit/", sent).headers["Location"] == f"/runs/{run.pk}/"
    html = page(client, f"/runs/{run.pk}/")
    assert heading(html) == "Baseline of May"
    for text in ("Kept.", "nightly", "gpu", "Pinned", "Reference run", 'value="nightly, gpu"'):
        assert text in html, text
    client.post(f"/runs/{run.pk}/edit/", {"name": ""})
    run.refresh_from_db()
    assert (run.name, run.tags, run.notes, run.pinned, run.baseline) == ("", [], "", False, False)


def test_a_run_is_named_and_tagged_on_the_launch_form(client: Client) -> None:
    make_dataset(2, slug="sums")
    sent = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], "name": "Monday"}
    refused = client.post("/runs/new/", {**sent, "tags": "x" * 50})
    assert "tags" in refused.context["form"].errors
    assert 'value="Monday"' in refused.content.decode()
    client.post("/runs/new/", {**sent, "tags": "nightly, gpu"})
    run = Run.objects.get()
    assert (run.name, run.tags) == ("Monday", ["nightly", "gpu"])


def test_a_label_that_is_refused_changes_nothing_and_says_why(client: Client) -> None:
    run = make_scored_run(name="Before")
    client.post(f"/runs/{run.pk}/edit/", {"name": "After", "tags": "x" * 50})
    run.refresh_from_db()
    assert run.name == "Before"
    assert "no more than 40 characters" in page(client, f"/runs/{run.pk}/")


def test_the_list_sorts_by_its_heads_and_keeps_the_filters(client: Client) -> None:
    dataset = make_dataset(2)
    make_scored_run(dataset, (1.0, 1.0), name="good", tags=["a"])
    make_scored_run(dataset, (0.0, 1.0), name="poor", tags=["a"])
    make_scored_run(dataset, (0.0, 0.0), name="other")
    assert client.get("/runs/?tag=a&sort=score").headers["Location"] == "/runs/single/?tag=a&sort=score"
    html = page(client, "/runs/single/?tag=a&sort=score")
    assert html.index("poor") < html.index("good")
    assert "other" not in html.split("<tbody>")[1]
    assert 'aria-sort="ascending"><a class="plain-link" href="?tag=a&amp;sort=-score">' in html
    assert 'href="?tag=a&amp;sort=model"' in html
    assert "sort=model" not in page(client, "/")


def test_the_api_labels_and_finds_runs(client: Client) -> None:
    dataset = make_dataset(2)
    run, other = make_scored_run(dataset), make_scored_run(dataset, name="other", tags=["b"])
    data = {"name": "first", "tags": ["a", "b"], "notes": "n", "pinned": True, "baseline": True}
    answer = client.patch(f"{RUNS}/{run.pk}", json.dumps(data), content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert {name: answer.json()[name] for name in data} == data
    refused = client.patch(f"{RUNS}/{run.pk}", json.dumps({"tags": [1]}), content_type="application/json")
    assert (refused.status_code, list(refused.json())) == (400, ["tags"])

    def found(query: str) -> list[int]:
        return [row["id"] for row in client.get(f"{RUNS}?{query}").json()["results"]]

    assert found("tag=b") == [other.pk, run.pk]
    assert found("tag=a") == found("baseline=true") == found("pinned=true") == found("name=FIR") == [run.pk]
    assert found("ordering=name") == [run.pk, other.pk]
    started = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], "name": "n", "tags": ["t"]}
    created = client.post(RUNS, json.dumps(started), content_type="application/json").json()
    assert (created["name"], created["tags"]) == ("n", ["t"])


def test_the_command_line_edits_and_finds_runs() -> None:
    make_dataset(2, slug="sums")

    def run(*arguments: str) -> str:
        output = StringIO()
        call_command("benchmark", *arguments, stdout=output)
        return output.getvalue()

    request = ("sums", "--model", "baseline/reference", "--metrics", "exact_match", "--detach")
    run("run", *request, "--name", "Monday", "--tag", "nightly", "--tag", "gpu")
    run("run", *request)
    first, second = Run.objects.order_by("pk")
    assert (first.name, first.tags) == ("Monday", ["nightly", "gpu"])
    run("edit", str(second.pk), "--name", "Tuesday", "--tag", "cpu", "--notes", "Slow.", "--pin")
    second.refresh_from_db()
    assert (second.name, second.tags, second.notes, second.pinned) == ("Tuesday", ["cpu"], "Slow.", True)
    run("edit", str(second.pk), "--no-pin", "--tag", "")
    second.refresh_from_db()
    assert (second.name, second.tags, second.pinned) == ("Tuesday", [], False)
    assert "Monday" in (listed := run("list", "--tag", "gpu"))
    assert "Tuesday" not in listed
    assert "Tuesday" in run("list", "--name", "tues")
