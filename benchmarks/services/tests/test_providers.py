"""Checks and tests of providers: what is stored of them, and which status follows from it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from benchmarks.models import AuditEntry, ModelTest, ProviderCheck, Run, RunStatus
from benchmarks.queries.model_status import warnings_before_run
from benchmarks.queries.providers import ProviderRow, provider_row, provider_rows, suggested_models
from benchmarks.services import providers as services
from benchmarks.services.errors import NotPossible
from benchmarks.services.providers import check_if_stale, check_providers, run_tests
from codeforge.config import parse_config
from tests.loopback import LoopbackServer
from tests.loopback.hosting import serve
from tests.support.factories import make_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db
KEY = "sk-planted-0123456789abcdef"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def configured(settings: Any) -> Iterator[Callable[..., LoopbackServer]]:
    """Configure the providers live, at a server with these options, refusing, dead and keyless."""
    with serve(api_key="another key") as refusing:

        def start(server: LoopbackServer) -> LoopbackServer:
            settings.CODEFORGE = parse_config(
                {
                    "providers": {
                        "live": {"base_url": server.url},
                        "refusing": {"base_url": refusing.url, "api_key_env": "REFUSED_KEY"},
                        "dead": {"base_url": f"http://127.0.0.1:{closed_port()}/v1"},
                        "keyless": {"base_url": server.url, "api_key_env": "NO_SUCH_KEY"},
                    },
                    "models": {"live/large": {"input_per_million": 1.0, "context_length": 8000}},
                },
                environ={},
            )
            return server

        yield start


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSED_KEY", KEY)


def row(name: str) -> ProviderRow:
    found = provider_row(name)
    assert found is not None
    return found


def test_a_check_tells_live_dead_keyless_and_refusing_apart(configured: Any) -> None:
    with serve(models=("large", "small")) as server:
        configured(server)
        assert {each.status for each in provider_rows() if each.name not in ("keyless", "openai")} == {"unchecked"}
        check_providers()
        statuses = {each.name: each.status for each in provider_rows()}
        assert server.stats.requests == 0, "a check sends nothing that costs tokens"
    assert statuses == {
        **{"live": "ready", "refusing": "refusing", "dead": "no_connection", "keyless": "no_key"},
        "openai": "no_key",
    }
    assert "NO_SUCH_KEY is not set" in row("keyless").problem
    assert row("dead").problem.startswith("Cannot connect to http://127.0.0.1:")
    assert "401 Unauthorized" in row("refusing").problem
    assert [each.name for each in provider_rows()][-1] == "live", "problems come first"


def test_an_error_that_echoes_the_key_is_stored_without_it(configured: Any) -> None:
    with serve() as server:
        configured(server)
        check_providers()
        with pytest.raises(NotPossible, match="is not configured"):
            check_providers(["nowhere"])
        run_tests(["refusing/model"])
    stored = [
        *ProviderCheck.objects.values_list("error", flat=True),
        *ModelTest.objects.values_list("error", flat=True),
    ]
    assert any("[key hidden]" in text for text in stored)
    assert not any(KEY[5:15] in text for text in stored)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("html_instead_of_json", "failing"),
        ("truncated_json", "failing"),
        ("oversized_body", "failing"),
        ("gzip_bomb", "failing"),
        ("deep_json", "failing"),
        ("redirect", "failing"),
        ("server_500", "failing"),
        ("reset_mid_body", "no_connection"),
        ("hang", "no_connection"),
        ("forbidden_403", "refusing"),
        ("rate_limited", "refusing"),
    ],
)
def test_a_hostile_list_of_models_harms_nothing(
    configured: Any, monkeypatch: pytest.MonkeyPatch, fault: str, status: str
) -> None:
    if fault == "hang":
        monkeypatch.setattr(services, "TEST_SECONDS", 0.5)
    with serve(models_fault=fault) as server:
        configured(server)
        check_providers(["live"])
    found = row("live")
    assert found.status == status
    assert found.problem
    assert found.others == ()


def test_models_are_configured_listed_and_tested(configured: Any) -> None:
    with serve(models=("large", "small")) as server:
        configured(server)
        check_providers(["live"])
        (test,) = run_tests(["live/small"])
    assert test.error_kind == ""
    assert test.duration_ms is not None
    found = row("live")
    large, small = found.models
    assert (large.name, large.configured, large.listed, large.context_length) == ("live/large", True, True, 8000)
    assert (large.input_per_million, large.output_per_million) == (1.0, None)
    assert (small.name, small.configured, small.listed) == ("live/small", False, True)
    assert dict(zip(test.capabilities, small.supports, strict=True))["temperature"] == ("yes", "")
    assert AuditEntry.objects.get(action="provider.test").subject == "model live/small"
    assert set(suggested_models(provider_rows())) == {"live/large", "live/small"}


def test_a_model_is_tested_with_its_own_name_of_the_limit(configured: Any) -> None:
    with serve() as server:
        configured(server)
        run_tests(["live/gpt-5"])
        assert all("max_tokens" not in body and body["max_completion_tokens"] for body in server.stats.bodies)


def test_a_model_that_fails_does_not_make_its_endpoint_fail(configured: Any) -> None:
    with serve(models=("large",)) as server:
        configured(server)
        run_tests(["live/gone"])
    assert row("live").status == "ready"
    assert "404" in str(row("live").models[-1].test and row("live").models[-1].test.error)


def test_what_was_seen_at_another_address_says_nothing(configured: Any) -> None:
    with serve() as first, serve() as second:
        configured(first)
        check_providers(["live"])
        run_tests(["live/large"])
        configured(second)
    found = row("live")
    assert (found.status, found.others, found.models[0].test) == ("unchecked", (), None)


def test_a_provider_without_a_key_or_a_name_cannot_be_tested(configured: Any) -> None:
    with serve() as server:
        configured(server)
        for model, reason in (
            ("keyless/model", "NO_SUCH_KEY is not set"),
            ("nowhere/model", "is not configured"),
            ("model", "is not a valid model name"),
            (f"live/{'x' * 300}", "not the name of a model"),
            ("live/a\nb", "not the name of a model"),
        ):
            with pytest.raises(NotPossible, match=reason):
                run_tests([model])
        assert server.stats.requests == 0


def test_a_run_is_warned_of_what_is_known_against_its_models(configured: Any) -> None:
    with serve(models=("large",)) as server:
        configured(server)
        check_if_stale(["live/large", "dead/model", "keyless/model", "baseline/random"])
        warned = {
            model: warnings_before_run([model])
            for model in ("live/large", "live/typo", "dead/model", "keyless/model", "baseline/random")
        }
    assert warned["baseline/random"] == []
    assert warned["live/large"] == [
        "The price of live/large is unknown. To see costs, set `output_per_million` of `models.live/large` in "
        "codeforge.yaml."
    ]
    assert warned["live/typo"][0] == "live does not list typo. Check the name of the model."
    answered = make_run(model="baseline/reference")
    Run.objects.filter(pk=answered.pk).update(model="live/typo", total=1, done=1)
    assert not any("does not list" in text for text in warnings_before_run(["live/typo"])), "an answer proves it exists"
    assert warned["dead/model"][0].startswith("dead: Cannot connect")
    assert warned["dead/model"][0].endswith("(checked just now)")
    assert warned["keyless/model"][0].startswith("keyless: NO_SUCH_KEY is not set.")


def test_a_fresh_check_is_not_repeated(configured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve() as server:
        configured(server)
        check_if_stale(["live/large"])
    first = ProviderCheck.objects.get(provider="live")
    check_if_stale(["live/large"])  # the server is gone, which a second check would notice
    assert ProviderCheck.objects.get(provider="live").checked_at == first.checked_at


@pytest.mark.django_db(transaction=True)
def test_the_last_answers_and_errors_come_from_runs(endpoint: Callable[..., LoopbackServer]) -> None:
    endpoint()
    good = worked(make_run())
    endpoint(fault_rate=1, faults=("unauthorized_401",))
    bad = worked(make_run(good.dataset))
    found = row("loop")
    assert bad.status == RunStatus.FAILED
    assert found.last_answer is not None
    assert found.last_errors is not None
    assert (found.last_answer.run, found.last_errors.run) == (good.pk, bad.pk)
    assert found.last_errors.message == bad.error_message


def test_the_number_of_queries_does_not_grow_with_providers_and_tests(
    configured: Any, django_assert_max_num_queries: Callable[[int], CaptureQueriesContext]
) -> None:
    with serve() as server:
        configured(server)
        for number in range(8):
            run_tests([f"live/model-{number}"])
    with django_assert_max_num_queries(8):
        provider_rows()
