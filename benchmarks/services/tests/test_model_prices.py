"""Prices entered on the page: counted by runs, replaced by codeforge.yaml, set by administrators only."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.execution.budget import price_of
from benchmarks.models import AuditEntry, ModelPrice
from benchmarks.services.access import assign_group
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.providers import remove_price, set_price
from codeforge.config import parse_config

pytestmark = pytest.mark.django_db
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    settings.CODEFORGE = parse_config(
        {
            "providers": {"loop": {"base_url": "http://127.0.0.1:9/v1"}},
            "models": {"loop/in-file": {"input_per_million": 4.0}, "loop/m": {"context_length": 8000}},
        },
        environ={},
    )


def test_a_price_that_was_entered_counts_until_it_is_removed() -> None:
    assert not price_of("loop/m").known
    set_price("loop/m", 2.0, 8.0, 0.5)
    assert price_of("loop/m").cost(1_000_000, 1_000_000, 500_000) == pytest.approx(2.0 + 8.0 - 0.75)
    set_price("loop/m", 0.0, 0.0)
    assert price_of("loop/m").cost(None, None) == 0.0
    remove_price("loop/m")
    remove_price("loop/m")
    assert not price_of("loop/m").known
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "model.set_price",
        "model.set_price",
        "model.remove_price",
    ]


def test_the_file_wins_whole(client: Client) -> None:
    with pytest.raises(NotPossible, match=r"codeforge\.yaml has the price of loop/in-file"):
        set_price("loop/in-file", 1.0, 1.0)
    ModelPrice.objects.create(model="loop/in-file", input_per_million=1.0, output_per_million=1.0)
    assert price_of("loop/in-file").per_token_in == pytest.approx(4e-6)
    assert price_of("loop/in-file").per_token_out is None, "not made of two halves"
    html = client.get("/models/").content.decode()
    assert '<option value="loop/m">' in html
    assert '<option value="loop/in-file">' not in html


@pytest.mark.parametrize("usd", [-0.01, math.nan, math.inf, 1e9, None])
def test_what_is_no_price_is_refused(usd: float | None) -> None:
    for prices in ((usd, 1.0), (1.0, usd)):
        with pytest.raises(InvalidRequest, match="from 0 to 1,000,000"):
            set_price("loop/m", *prices)
    assert not ModelPrice.objects.exists()


@pytest.mark.parametrize("model", ["", "loop", "loop/a\x00b", "loop/" + "m" * 300, "nowhere/m", "baseline/random"])
def test_only_models_of_configured_providers_have_a_price(client: Client, model: str) -> None:
    with pytest.raises(NotPossible):
        set_price(model, 1.0, 1.0)
    for do in ("set", "remove"):
        sent = {"model": model, "input": "1", "output": "1", "do": do}
        assert client.post("/providers/price/", sent, follow=True).status_code == 200
    assert not ModelPrice.objects.exists()


def test_the_page_and_the_command_enter_prices(client: Client) -> None:
    page = client.post("/providers/price/", {"model": "loop/m", "input": "2.5", "output": "10"}, follow=True)
    assert "Price of loop/m saved." in page.content.decode()
    models = client.get("/api/v1/benchmarks/providers/loop").json()["models"]
    found = {each["name"]: (each["input_per_million"], each["price_source"]) for each in models}
    assert found == {"loop/in-file": (4.0, "file"), "loop/m": (2.5, "page")}
    call_command("providers", "price", "loop/new", "--input", "1", "--output", "2")
    assert price_of("loop/new").known
    call_command("providers", "price", "loop/new", "--remove")
    assert not price_of("loop/new").known
    page = client.post(
        "/providers/price/", {"model": "loop/m", "input": "1", "output": "1", "cached": "x"}, follow=True
    )
    assert "Enter US dollars per million tokens" in page.content.decode()


def test_only_administrators_enter_prices(client: Client, settings: Any) -> None:
    settings.DEV_MODE = False
    for name, status in (("viewer", 403), ("editor", 403), ("admin", 302)):
        account = User.objects.create_user(name, password="x")
        assign_group(account, name)
        client.force_login(account, backend=BACKEND)
        assert ("Enter a price" in client.get("/models/").content.decode()) == (status == 302), name
        sent = {"model": "loop/m", "input": "1", "output": "1"}
        assert client.post("/providers/price/", sent).status_code == status, name
        assert ModelPrice.objects.exists() == (status == 302), name
    assert ModelPrice.objects.get().set_by == account
