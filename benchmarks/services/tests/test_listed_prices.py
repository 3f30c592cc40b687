"""Prices that others list: of an endpoint's list of models, and of an installed LiteLLM. Their source is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from benchmarks.engine.execution.budget import price_of
from benchmarks.models import ProviderCheck
from benchmarks.providers.reading import read_models
from benchmarks.services.providers import set_price
from codeforge.config import parse_config
from tests.support.litellm import installed_litellm

pytestmark = pytest.mark.django_db
GATEWAY = "http://127.0.0.1:9/api/v1"
TABLE = {
    "gpt-9": {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 2.5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
    },
    "bedrock-model": {
        "litellm_provider": "bedrock_converse",
        "mode": "chat",
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 2e-06,
    },
    "picture-model": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_token": 1e-06},
    "no-price": {"litellm_provider": "openai", "mode": "chat"},
    "broken": 7,
}


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    providers = {
        "gateway": {"base_url": GATEWAY},
        "openai": {"base_url": "https://api.openai.com/v1"},
        "local": {"base_url": "http://127.0.0.1:9/v1"},
        "bedrock": {"kind": "litellm"},
        "mygate": {"kind": "litellm"},
    }
    settings.CODEFORGE = parse_config({"providers": providers}, environ={})


@pytest.fixture
def litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed_litellm(tmp_path, monkeypatch, TABLE):
        yield


def check(pricing: Any, address: str = GATEWAY) -> None:
    listed = read_models(orjson.dumps({"data": [{"id": "vendor/m", "pricing": pricing}]}))
    ProviderCheck.objects.create(
        provider="gateway",
        address=address,
        checked_at=timezone.now(),
        listed_at=timezone.now(),
        listed=[asdict(model) for model in listed],
    )


def usd(model: str) -> tuple[float | None, ...]:
    price = price_of(model)
    each = (price.per_token_in, price.per_token_out, price.per_cached_token)
    return tuple(None if value is None else round(value * 1e6, 6) for value in each)


def test_the_price_in_an_endpoints_list_counts_until_one_is_entered(client: Client, capsys: Any) -> None:
    check({"prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0.00000125", "request": "0"})
    assert usd("gateway/vendor/m") == (2.5, 10.0, 1.25)
    (model,) = client.get("/api/v1/benchmarks/providers/gateway").json()["models"]
    assert (model["input_per_million"], model["price_source"], model["price_listed_by"]) == (2.5, "endpoint", "gateway")
    assert model["price_listed_at"]
    assert "gateway, " in client.get("/models/").content.decode()
    call_command("providers", "show", "gateway")
    assert f"gateway, {timezone.localtime():%Y-%m-%d}" in capsys.readouterr().out
    set_price("gateway/vendor/m", 1.0, 2.0)
    assert usd("gateway/vendor/m") == (1.0, 2.0, None)


@pytest.mark.parametrize(
    "pricing",
    [
        None,
        "free",
        {},
        {"prompt": "0.1"},
        {"prompt": "-1", "completion": "-1"},
        {"prompt": "0.1", "completion": "0.1", "request": "0.01"},
        {"prompt": "nan", "completion": "1e400"},
        {"prompt": True, "completion": [1]},
    ],
)
def test_what_is_no_price_by_token_stays_unknown(pricing: Any) -> None:
    check(pricing)
    assert usd("gateway/vendor/m") == (None, None, None)


def test_a_list_from_another_address_has_no_price() -> None:
    check({"prompt": "0.1", "completion": "0.1"}, address="http://127.0.0.1:8/v1")
    assert usd("gateway/vendor/m") == (None, None, None)


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-9", (2.5, 10.0, 1.25)),
        ("bedrock/bedrock-model", (1.0, 2.0, None)),
        ("mygate/bedrock/bedrock-model", (1.0, 2.0, None)),
        ("mygate/openai/bedrock-model", (None, None, None)),
        ("local/gpt-9", (None, None, None)),
        ("openai/picture-model", (None, None, None)),
        ("openai/no-price", (None, None, None)),
        ("openai/broken", (None, None, None)),
        ("openai/unheard-of", (None, None, None)),
    ],
)
def test_litellms_table_has_the_prices_of_vendors(model: str, expected: tuple[float | None, ...]) -> None:
    assert usd(model) == expected


@pytest.mark.usefixtures("litellm")
def test_the_version_of_litellm_is_shown_beside_its_price(client: Client) -> None:
    set_price("openai/gpt-8", 1.0, 1.0)
    ProviderCheck.objects.create(
        provider="openai",
        address="https://api.openai.com/v1",
        checked_at=timezone.now(),
        listed_at=timezone.now(),
        listed=[{"name": "gpt-9", "context_length": None}],  # as stored before lists had prices
    )
    models = {each["name"]: each for each in client.get("/api/v1/benchmarks/providers/openai").json()["models"]}
    assert (models["openai/gpt-9"]["price_source"], models["openai/gpt-9"]["price_listed_by"]) == (
        "litellm",
        "LiteLLM 9.9",
    )
    assert models["openai/gpt-8"]["price_source"] == "page"
    assert "LiteLLM 9.9" in client.get("/models/").content.decode()
