"""Requesting a canvas set with its form, and enlarging one."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.core.management import call_command
from django.test import Client

from tasks_app.models import CanvasSet
from tests.support.canvas_sets import canvas_run, make_canvas_set

pytestmark = pytest.mark.django_db


def test_a_sent_form_requests_the_set_and_redirects_to_it(client: Client) -> None:
    response = client.post("/canvases/new/", {"shapes": "3-4", "count": "6", "seed": "5"})
    canvas_set = CanvasSet.objects.get()
    assert response.headers["Location"] == f"/canvases/{canvas_set.slug}/"
    assert (canvas_set.shapes_low, canvas_set.shapes_high, canvas_set.wanted, canvas_set.seed) == (3, 4, 6, 5)


def test_a_link_on_the_page_of_a_set_opens_the_form_with_its_settings(client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    link = re.search(r'href="([^"]+)">Add canvases', client.get(f"/canvases/{canvas_set.slug}/").content.decode())
    assert link is not None
    form = client.get(unescape(link[1])).context["form"]
    assert {name: str(form[name].value()) for name in form.fields} == {
        **{"shapes": "7-7", "count": "2", "seed": "11", "tracking_steps": "3"},
        "name": "7 shapes, seed 11",
    }
    client.post("/canvases/new/", {**{name: form[name].value() for name in form.fields}, "count": "5"})
    assert CanvasSet.objects.get().wanted == 5


def test_an_invalid_value_is_reported_at_its_field(client: Client) -> None:
    for invalid, field in (({"shapes": "25"}, "shapes"), ({"shapes": "9-3"}, "shapes"), ({"count": "0"}, "count")):
        response = client.post("/canvases/new/", {"shapes": "3", "count": "6", **invalid})
        assert response.status_code == 400, invalid
        assert list(response.context["form"].errors) == [field]
        assert not CanvasSet.objects.exists()


def test_a_set_being_generated_shows_its_progress(client: Client) -> None:
    CanvasSet.objects.create(slug="s", name="S", shapes_low=3, shapes_high=3, count=2, wanted=10)
    assert "2 of 10 canvases" in client.get("/canvases/s/").content.decode()
    listed = client.get("/canvases/").content.decode()
    assert "<progress" in listed
    assert 'src="/canvases/s/0.svg?small=1" alt=""' in listed
    client.cookies["theme"] = "dark"
    assert 'src="/canvases/s/0.svg?small=1&amp;theme=dark"' in client.get("/canvases/").content.decode()


def test_the_first_file_of_a_set_marks_its_keys(client: Client) -> None:
    html = client.get(f"/datasets/{make_canvas_set('3', 1).dataset.slug}/files/").content.decode()
    assert '\n    <b>"canvas"</b>: [' in html.replace("&quot;", '"')
    assert re.search(r"</b>: \[-?\d+, -?\d+\]\n", html), "a center is one line"


@pytest.mark.django_db(transaction=True)
def test_every_place_that_shows_a_version_shows_the_canvases_that_were_added(
    admin_client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    make_canvas_set("4-6", 3)
    after = canvas_run(make_canvas_set("4-6", 9))
    slug = after.dataset.slug
    last = f"/runs/{after.pk}"
    for url in (
        *("/", "/runs/", f"{last}/", f"{last}/export.html", f"/datasets/{slug}/"),
        *(f"/datasets/{slug}/tasks/{after.results.latest('pk').task_id}/", f"/leaderboard/?dataset={slug}"),
        *("/compare/", "/admin/benchmarks/run/"),
    ):
        response = admin_client.get(url)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        assert "1 + 6 canvases" in content.decode(), url
    for url in (f"/api/v1/benchmarks/runs/{after.pk}", f"/api/v1/benchmarks/datasets/{slug}"):
        assert admin_client.get(url).json()["added_canvases"] == 6, url
    call_command("benchmark", "show", str(after.pk))
    assert "version 1 + 6 canvases" in capsys.readouterr().out
