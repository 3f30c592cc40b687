"""Keys entered on the page: used by workers, shown and stored in clear nowhere."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from benchmarks.engine.addresses import address_of
from benchmarks.engine.execution import model_clients
from benchmarks.engine.provider_keys import key_of, keys_of
from benchmarks.models import AuditEntry, ProviderKey, RunStatus
from benchmarks.queries.providers import provider_row
from benchmarks.services.access import assign_group
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.operations.backups import write_backup
from benchmarks.services.providers import remove_key, set_key
from codeforge.config import parse_config
from codeforge.logs import LineFormatter
from tests.loopback import LoopbackServer
from tests.support.factories import make_dataset, make_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "planted-on-the-page-51c0de77ab"
OTHER = "planted-as-second-99ffe0a1b2c3"


@pytest.fixture
def server(endpoint: Callable[..., LoopbackServer], settings: Any) -> LoopbackServer:
    """The provider ``loop``, which accepts only ``KEY``, from a variable that is not set."""
    server = endpoint(api_key=KEY)
    settings.CODEFORGE = parse_config(
        {"providers": {"loop": {"base_url": server.url, "api_key_env": "LOOP_KEY"}, "free": {"base_url": server.url}}},
        environ={},
    )
    model_clients.forget()
    return server


def page(client: Client, sent: dict[str, str] | None = None) -> str:
    response = client.get("/models/") if sent is None else client.post("/providers/key/", sent, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def database_text() -> str:
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    return str(rows)


def test_a_key_entered_on_the_page_is_used_by_the_next_run(client: Client, server: LoopbackServer) -> None:
    dataset = make_dataset()
    with pytest.raises(InvalidRequest, match="loop has no key"):
        make_run(dataset)
    assert "Key of loop saved." in page(client, {"provider": "loop", "key": OTHER})
    assert worked(make_run(dataset)).status == RunStatus.FAILED
    html = page(client, {"provider": "loop", "key": f" {KEY}\n"})
    assert "loop responds and lists" in html
    assert worked(make_run(dataset)).status == RunStatus.COMPLETED, "the worker was not restarted"


def test_a_stored_key_is_in_clear_nowhere(client: Client, server: LoopbackServer, tmp_path: Path) -> None:
    html = page(client, {"provider": "loop", "key": KEY})
    run = worked(make_run())
    assert ProviderKey.objects.get().sealed
    write_backup(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        backup = "\n".join(archive.read(name).decode() for name in archive.namelist())
    record = logging.LogRecord("x", logging.INFO, "", 0, f"sent {KEY} to the endpoint", None, None)
    places = {
        "the answer to the form": html,
        "the page": page(client),
        "the API": client.get("/api/v1/benchmarks/providers/loop").content.decode(),
        "the export": b"".join(client.get(f"/runs/{run.pk}/export.jsonl").streaming_content).decode(),  # type: ignore[attr-defined]
        "the database": database_text(),
        "the backup": backup,
        "a log line": LineFormatter({}).format(record),
        "repr": f"{key_of('loop')!r} {model_clients.provider_spec('loop', KEY, address_of('loop'))!r}",
    }
    assert {place for place, text in places.items() if KEY[8:20] in text} == set()
    assert "provider_key" in places["the backup"] or "providerkey" in places["the backup"]


def test_the_environment_wins(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    set_key("loop", KEY)
    assert key_of("loop").source == "stored"
    monkeypatch.setenv("LOOP_KEY", "from-the-environment")
    assert (key_of("loop").source, key_of("loop").value) == ("environment", "from-the-environment")
    assert provider_row("loop").key_can_be_entered is False  # type: ignore[union-attr]


def test_a_changed_secret_key_is_told(client: Client, server: LoopbackServer, settings: Any) -> None:
    set_key("loop", KEY)
    settings.SECRET_KEY = "another secret key of this installation"
    assert (key_of("loop").source, key_of("loop").value) == ("unreadable", None)
    assert "because SECRET_KEY has changed. Enter the key again" in page(client)
    with pytest.raises(InvalidRequest, match="SECRET_KEY has changed"):
        make_run()
    set_key("loop", KEY)
    assert key_of("loop").value == KEY


def test_a_key_opens_for_its_own_provider_only(server: LoopbackServer) -> None:
    set_key("loop", KEY)
    ProviderKey.objects.update(provider="openai")
    assert keys_of(["openai", "loop"])["openai"].source == "unreadable"


def test_who_entered_and_removed_a_key_is_in_the_audit_log(client: Client, server: LoopbackServer) -> None:
    ada = User.objects.create_superuser("ada", password="x")
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    page(client, {"provider": "loop", "key": KEY})
    assert "Key of loop removed." in page(client, {"provider": "loop", "do": "remove", "confirmed": "yes"})
    assert key_of("loop").source == "missing"
    remove_key("loop", ada)
    entries = AuditEntry.objects.filter(subject="provider loop").order_by("pk")
    assert [(entry.action, entry.account_name) for entry in entries] == [
        ("provider.set_key", "ada"),
        ("provider.remove_key", "ada"),
    ]


def test_what_is_no_key_is_refused_without_quoting_it(server: LoopbackServer) -> None:
    for provider, key in (
        *(("loop", wrong) for wrong in ("", "two words here", "line\r\nX-Header: 1", "schlüssel-mit-ü", "x" * 501)),
        ("free", KEY),
        ("nowhere", KEY),
    ):
        with pytest.raises(NotPossible) as refused:
            set_key(provider, key)
        assert not key or key not in refused.value.message, provider
    assert not ProviderKey.objects.exists()


def test_an_endpoint_of_ones_own_may_have_a_short_key_and_a_vendor_not(settings: Any) -> None:
    own, vendor = "http://127.0.0.1:9/v1", "https://api.openai.com/v1"
    addresses = {name: {"base_url": url, "api_key_env": "LOOP_KEY"} for name, url in (("own", own), ("vendor", vendor))}
    settings.CODEFORGE = parse_config({"providers": addresses}, environ={})
    set_key("own", "abc")
    assert key_of("own").value == "abc"
    with pytest.raises(NotPossible, match="not an API key"):
        set_key("vendor", "abc")


def test_production_stores_and_reads_keys_only_where_the_operator_allows_it(
    client: Client, server: LoopbackServer, settings: Any
) -> None:
    set_key("loop", KEY)
    settings.DEV_MODE = False
    for name in ("editor", "admin"):
        assign_group(User.objects.create_user(name, password="x"), name)
    client.force_login(User.objects.get(username="admin"), backend="django.contrib.auth.backends.ModelBackend")
    assert key_of("loop").source == "missing"
    assert "CODEFORGE_KEYS_ON_PAGE=1" in page(client, {"provider": "loop", "key": OTHER})
    settings.KEYS_ON_PAGE = True
    assert key_of("loop").value == KEY
    assert 'type="password"' in page(client)
    client.force_login(User.objects.get(username="editor"), backend="django.contrib.auth.backends.ModelBackend")
    assert 'type="password"' not in page(client)
    assert client.post("/providers/key/", {"provider": "loop", "key": OTHER}).status_code == 403
    assert key_of("loop").value == KEY
