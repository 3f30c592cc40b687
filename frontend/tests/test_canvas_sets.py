"""Asking for a canvas set from its form."""

from __future__ import annotations

import pytest
from django.test import Client

from tasks_app.models import CanvasSet

pytestmark = pytest.mark.django_db


def test_a_sent_form_asks_for_the_set_and_leads_to_it(client: Client) -> None:
    response = client.post("/canvases/new/", {"shapes": "3-4", "count": "6", "seed": "5"})
    made = CanvasSet.objects.get()
    assert response.headers["Location"] == f"/canvases/{made.slug}/"
    assert (made.shapes_low, made.shapes_high, made.wanted, made.seed) == (3, 4, 6, 5)


@pytest.mark.parametrize(
    ("wrong", "field"), [({"shapes": "25"}, "shapes"), ({"shapes": "9-3"}, "shapes"), ({"count": "0"}, "count")]
)
def test_what_is_wrong_stands_at_its_field(client: Client, wrong: dict[str, str], field: str) -> None:
    response = client.post("/canvases/new/", {"shapes": "3", "count": "6", **wrong})
    assert response.status_code == 400
    assert list(response.context["form"].errors) == [field]
    assert not CanvasSet.objects.exists()


def test_a_set_being_drawn_shows_how_far_it_is(client: Client) -> None:
    CanvasSet.objects.create(slug="s", name="S", shapes_low=3, shapes_high=3, count=2, wanted=10)
    assert "2 of 10 canvases" in client.get("/canvases/s/").content.decode()
    assert "<progress" in client.get("/canvases/").content.decode()
