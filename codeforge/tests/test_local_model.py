"""The local model under the supervisor: installed, started and stopped on request, and never left behind."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks import local_llm
from benchmarks.models import AuditEntry
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.local_model import LocalModel, folder, local_model, start_local_model
from codeforge import local_model as supervised
from codeforge.config import parse_config
from codeforge.local_model import LocalModelProcess

pytestmark = pytest.mark.django_db
PART = "/providers/local-model/"
SERVES = (sys.executable, "-c", "import time; print('http://127.0.0.1:1/v1', flush=True); time.sleep(60)")


@pytest.fixture
def process(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalModelProcess]:
    """A supervisor's local model that is installed and serves, without a real one."""
    settings.STATE_DIR = tmp_path
    monkeypatch.setattr(local_llm, "missing", lambda: None)
    process = LocalModelProcess(folder(), 1)
    monkeypatch.setattr(process, "_serve", SERVES)
    yield process
    process.stop()


def until(process: LocalModelProcess, condition: Callable[[LocalModel | None], bool]) -> LocalModel:
    """Let the supervisor work until the condition holds of the state, and return it."""
    for _ in range(600):
        process.keep_running()
        if condition(state := local_model()):
            assert state is not None
            return state
        time.sleep(0.05)
    raise AssertionError(f"gave up waiting in {local_model()}")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_page_starts_the_model_shows_it_running_and_stops_it(client: Client, process: LocalModelProcess) -> None:
    assert "Start local model" in client.get("/").content.decode()
    client.post(PART, {"do": "start"})
    until(process, lambda state: state == LocalModel("running"))
    assert process._running is not None
    pid = process._running.pid
    html = client.get(PART).content.decode()
    assert local_llm.SMALL in html, "as the terminal says it"
    assert "<span>Running</span>" in html
    assert "hx-get" not in html, "nothing changes any more, so nothing is polled"
    client.post(PART, {"do": "stop"})
    until(process, lambda state: state == LocalModel("off"))
    assert not alive(pid)
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["local_model.start", "local_model.stop"]


def test_a_click_shows_at_once_what_happens_and_the_part_follows_it(client: Client, process: LocalModelProcess) -> None:
    by_script = {"HX-Request": "true"}
    for do, doing, done, offers in (("start", "Starting", "Running", "Stop"), ("stop", "Stopping", "Off", "Start")):
        clicked = client.post(PART, {"do": do}, headers=by_script).content.decode()  # the supervisor has not looked yet
        assert f"<span>{doing}</span>" in clicked
        assert f"{offers} local model</button>" in clicked
        address = clicked.partition('hx-get="')[2].partition('"')[0]
        assert client.get(address).status_code == 204, "nothing is replaced, read out or moved meanwhile"
        until(process, lambda state: state is not None and not state.changes)
        followed = client.get(address).content.decode()
        assert f"<span>{done}</span>" in followed
        assert "hx-get" not in followed


def test_without_scripts_the_state_stands_beside_its_button_where_the_page_opens(
    client: Client, process: LocalModelProcess
) -> None:
    def shown(do: str) -> str:
        response = client.post(PART, {"do": do})
        assert response["Location"] == "/models/#p-local"
        html = client.get("/models/").content.decode()
        assert re.search(r'<div id="messages">\s*</div>', html), "which would be out of view"
        return html.partition('id="p-local"')[2].partition("</section>")[0]

    assert "<span>Starting</span>" in shown("start")
    until(process, lambda state: state == LocalModel("running"))
    assert "<span>Running</span>" in client.get("/models/").content.decode()
    assert "<span>Stopping</span>" in shown("stop")
    until(process, lambda state: state == LocalModel("off"))
    assert "<span>Off</span>" in client.get("/models/").content.decode()


def test_what_is_missing_is_installed_first(process: LocalModelProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_llm, "missing", lambda: "not installed")
    monkeypatch.setattr(supervised, "INSTALL", (sys.executable, "-c", "import time; time.sleep(0.5)"))
    start_local_model()
    assert until(process, lambda state: state != LocalModel("off")).state == "installing"
    until(process, lambda state: state == LocalModel("running"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((sys.executable, "-c", "print('Could not install'); print(); raise SystemExit(1)"), "Could not install"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "It ended with exit code 3."),
        (("/nowhere/make",), "/nowhere/make: No such file or directory"),
    ],
)
def test_a_failure_is_told_and_can_be_retried(
    process: LocalModelProcess, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(local_llm, "missing", lambda: "not installed")
    monkeypatch.setattr(supervised, "INSTALL", command)
    start_local_model()
    assert until(process, lambda state: state is not None and state.state == "failed").detail == said
    monkeypatch.setattr(local_llm, "missing", lambda: None)
    start_local_model()
    until(process, lambda state: state == LocalModel("running"))


def test_without_a_supervisor_the_page_names_the_command(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.STATE_DIR = tmp_path
    settings.CODEFORGE = parse_config({}, environ={})
    assert local_model() is None
    with pytest.raises(NotPossible, match="Run `make local-llm` instead"):
        start_local_model()
    for response in (client.post(PART, {"do": "start"}, headers={"HX-Request": "true"}), client.get(PART)):
        assert "Run <code>make local-llm</code> in another terminal." in response.content.decode()
    assert client.post(PART, {"do": "start"})["Location"] == "/models/", "where the message is in view"
    html = client.get("/").content.decode()
    assert "make local-llm" in html
    assert "Start local model" not in html


def test_in_production_nobody_starts_it(process: LocalModelProcess, settings: Any) -> None:
    settings.DEV_MODE = False
    with pytest.raises(NotPossible):
        start_local_model()
