"""Addresses entered on the page: only where the file leaves them open, without keys that were given for another one."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.addresses import address_of
from benchmarks.engine.execution import model_clients
from benchmarks.engine.provider_keys import key_of
from benchmarks.models import AuditEntry, ProviderAddress, ProviderKey, Run, RunStatus
from benchmarks.outbound import Outbound
from benchmarks.services.access import assign_group
from benchmarks.services.errors import NotPossible
from benchmarks.services.providers import check_providers, remove_address, set_address, set_key
from codeforge.config import parse_config
from tests.loopback import serve
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db
BACKEND = "django.contrib.auth.backends.ModelBackend"
FIRST, SECOND = "http://127.0.0.1:9/v1", "http://127.0.0.1:19/v1"


@pytest.fixture(autouse=True)
def configured(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS_KEY", "from-the-environment")
    settings.CODEFORGE = parse_config(
        {
            "providers": {
                "fixed": {"base_url": FIRST},
                "ours": {"default_url": FIRST, "api_key_env": "OURS_KEY"},
                "azure": {"kind": "azure_openai", "default_url": f"{FIRST}?api-version=1"},
            }
        },
        environ={},
    )
    model_clients.forget()


def test_an_entered_address_is_used_until_it_is_removed() -> None:
    assert (address_of("ours").source, address_of("ours").base_url) == ("default", FIRST)
    before = model_clients.model_client("ours/m").provider
    set_address("ours", f" {SECOND}/ ")
    assert (address_of("ours").source, address_of("ours").base_url) == ("page", SECOND)
    after = model_clients.model_client("ours/m").provider
    assert (before.port, after.port) == (9, 19)
    remove_address("ours")
    remove_address("ours")
    assert model_clients.model_client("ours/m").provider is before
    audited = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(audited) == ["provider.set_address", "provider.remove_address"]


def test_a_key_goes_only_to_the_address_for_which_it_was_given() -> None:
    assert key_of("ours").value == "from-the-environment"
    set_address("ours", SECOND)
    assert (key_of("ours").source, key_of("ours").value) == ("missing", None)
    set_key("ours", "entered-for-the-second")
    set_address("ours", SECOND)
    assert key_of("ours").value == "entered-for-the-second", "the same address changes nothing"
    set_address("ours", "http://127.0.0.1:29/v1")
    assert key_of("ours").source == "missing"
    assert not ProviderKey.objects.exists()
    remove_address("ours")
    assert key_of("ours").value == "from-the-environment"


NO_ADDRESSES = (
    *("", "x", "ftp://x/v1", "http://", "http://[bad/v1", "http://user:pw@x/v1", "http://x:0/", "http://a b/"),
    *("http://x/\ny", "http://x/" + "v" * 2_000),
)


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_is_refused(client: Client, url: str) -> None:
    with pytest.raises(NotPossible):
        set_address("ours", url)
    page = client.post("/providers/address/", {"provider": "ours", "address": url}, follow=True)
    assert page.status_code == 200
    assert not ProviderAddress.objects.exists()


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.7", "127.0.0.1", "[::1]"])
def test_only_permitted_hosts_are_reached(settings: Any, host: str) -> None:
    settings.OUTBOUND = Outbound()
    with pytest.raises(NotPossible, match="no public address"):
        set_address("ours", f"http://{host}:9/v1")


def test_a_name_that_resolves_to_a_private_address_is_not_reached(settings: Any) -> None:
    settings.OUTBOUND = Outbound()
    with serve() as server:
        set_address("ours", server.url.replace("127.0.0.1", "localhost"))
        set_key("ours", "entered-key")
        check = check_providers(["ours"])[0]
        assert (check.error_kind, server.stats.requests) == ("connection", 0)
        assert "no public address" in check.error
        settings.OUTBOUND = Outbound.of(["localhost"], loopback=False)
        assert check_providers(["ours"])[0].error == ""


def test_a_kind_has_its_own_rules() -> None:
    with pytest.raises(NotPossible, match="api-version"):
        set_address("azure", "https://ours.example")
    set_address("azure", "https://ours.example?api-version=2")
    assert "api-version" not in address_of("azure").shown
    assert "api-version" not in str(AuditEntry.objects.values_list("detail", flat=True))


def test_the_file_wins() -> None:
    ProviderAddress.objects.create(provider="fixed", base_url=SECOND)
    assert (address_of("fixed").source, address_of("fixed").base_url) == ("file", FIRST)
    for name, said in (("fixed", "codeforge.yaml has the address of fixed"), ("nowhere", "not configured")):
        with pytest.raises(NotPossible, match=said):
            set_address(name, SECOND)


def test_an_address_does_not_change_under_a_run() -> None:
    run = make_run(make_dataset(1), model="ours/m")
    for change in (lambda: set_address("ours", SECOND), lambda: remove_address("ours")):
        with pytest.raises(NotPossible, match=f"Run {run.pk} asks ours"):
            change()
    Run.objects.update(status=RunStatus.CANCELLED)
    set_address("ours", SECOND)


def test_the_page_and_the_command_enter_addresses_and_look_there(client: Client) -> None:
    with serve() as server:
        sent = {"provider": "ours", "address": server.url}
        page = client.post("/providers/address/", sent, follow=True).content.decode()
        assert "Address of ours saved." in page
        found = client.get("/api/v1/benchmarks/providers/ours").json()
        assert (found["address"], found["address_source"]) == (server.url.rstrip("/"), "page")
        set_key("ours", "entered-key")
        page = client.post("/providers/check/", {"provider": "ours"}, follow=True).content.decode()
        assert "ours responds and lists" in page
        client.post("/providers/address/", {"provider": "ours", "do": "remove"})
    assert address_of("ours").source == "default"
    call_command("providers", "address", "ours", SECOND)
    assert address_of("ours").base_url == SECOND
    call_command("providers", "address", "ours", "--remove")
    assert address_of("ours").base_url == FIRST


def test_only_administrators_enter_addresses_and_only_where_keys_are_allowed(client: Client, settings: Any) -> None:
    settings.DEV_MODE = False
    for keys_on_page, name, status in (
        (True, "viewer", 403),
        (True, "editor", 403),
        (False, "admin", 302),
        (True, "owner", 302),
    ):
        settings.KEYS_ON_PAGE = keys_on_page
        account = User.objects.create_user(name, password="x")
        assign_group(account, "admin" if name == "owner" else name)
        client.force_login(account, backend=BACKEND)
        assert ("Change the address" in client.get("/models/").content.decode()) == (name == "owner"), name
        sent = {"provider": "ours", "address": SECOND}
        assert client.post("/providers/address/", sent).status_code == status, name
        assert ProviderAddress.objects.exists() == (name == "owner"), name
    assert ProviderAddress.objects.get().set_by == account
