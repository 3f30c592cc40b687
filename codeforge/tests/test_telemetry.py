"""Request ids, and what the logs of production say and keep to themselves."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest
from django.test import Client

from benchmarks.services import origin
from codeforge.logs import JsonFormatter, LineFormatter, logging_config

ENVIRONMENT = {
    "OPENAI_API_KEY": "planted-openai-key-0123456789",
    "SECRET_KEY": "planted-secret-key-0123456789",
    "DATABASE_URL": "postgresql://codeforge:planted%2Fpassword-01234@database/codeforge",
    "HOME": "/home/somebody",
    "GATEWAY": "planted-gateway-0123456789",
}
LISTED = ("GATEWAY",)
PLANTED = (
    "planted-openai-key-0123456789",
    "planted-secret-key-0123456789",
    "planted/password-01234",
    "planted-gateway-0123456789",
)


def record(message: str, *arguments: Any, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("engine", logging.INFO, __file__, 1, message, arguments, more.pop("exc_info", None))
    made.__dict__.update(more)
    return made


def line(*arguments: Any, **more: Any) -> dict[str, Any]:
    text = JsonFormatter(ENVIRONMENT, LISTED).format(record(*arguments, **more))
    assert "\n" not in text
    parsed: dict[str, Any] = json.loads(text)
    return parsed


@pytest.mark.parametrize("given", ["ab-12.C_3", "x" * 64])
def test_a_plain_request_id_of_the_caller_is_kept(client: Client, db: None, given: str) -> None:
    assert client.get("/login/", headers={"X-Request-ID": given})["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", 'a"}\n{"level":"forged', "é"])
def test_any_other_request_id_is_replaced(client: Client, db: None, given: str) -> None:
    found = client.get("/login/", headers={"X-Request-ID": given})["X-Request-ID"]
    assert found != given
    assert len(found) == 32


def test_a_request_is_logged_without_its_query(client: Client, caplog: pytest.LogCaptureFixture, db: None) -> None:
    with caplog.at_level(logging.INFO, logger="codeforge.requests"):
        client.get("/runs/?text=confidential", headers={"X-Request-ID": "mine"})
    (logged,) = [found for found in caplog.records if found.name == "codeforge.requests"]
    text = JsonFormatter({}).format(logged)
    assert json.loads(text).items() >= {"method": "GET", "path": "/runs/", "status": 200}.items()
    assert "confidential" not in text


def test_nothing_of_a_request_stays_behind_it(client: Client, db: None) -> None:
    client.get("/login/", headers={"X-Request-ID": "mine"})
    assert (origin.request_id.get(), origin.token_name.get()) == ("", "")


def test_a_line_names_its_request_run_and_result() -> None:
    token = origin.request_id.set("r-1")
    try:
        found = line("run %s: result %s came too late", 12, 345)
    finally:
        origin.request_id.reset(token)
    assert found.items() >= {"request_id": "r-1", "run": 12, "result": 345, "level": "INFO"}.items()


@pytest.mark.parametrize("secret", PLANTED)
def test_no_line_holds_a_secret_of_the_environment(secret: str) -> None:
    try:
        raise ValueError(f"refused: {secret}")
    except ValueError:
        found = line("calling with %s", secret, fields={"path": f"/{secret}"}, exc_info=sys.exc_info())
    assert "ValueError" in found["exception"]
    assert secret not in json.dumps(found)


@pytest.mark.parametrize("secret", PLANTED)
def test_no_plain_line_holds_one_either(secret: str) -> None:
    try:
        raise ValueError(f"refused: {secret}")
    except ValueError:
        logged = record("calling with %s", secret, exc_info=sys.exc_info())
    text = LineFormatter(ENVIRONMENT, LISTED).format(logged)
    assert "calling with [key hidden]" in text
    assert "ValueError" in text
    assert secret not in text


def test_a_message_over_several_lines_is_one_line_of_the_log() -> None:
    assert line("first\nsecond")["message"] == "first\nsecond"


@pytest.mark.parametrize(("as_json", "formatter"), [(True, "json"), (False, "line")])
def test_production_logs_json_and_dev_mode_plain_lines(as_json: bool, formatter: str) -> None:
    assert logging_config(as_json=as_json, level="INFO")["handlers"]["console"]["formatter"] == formatter
