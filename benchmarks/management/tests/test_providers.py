"""``manage.py providers …`` as a terminal sees it: what is printed and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.loopback import FAULTS, LoopbackServer

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, int]:
    out, code = StringIO(), 0
    try:
        call_command("providers", *arguments, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return out.getvalue(), code


def test_providers_are_listed_checked_and_tested(endpoint: Callable[..., LoopbackServer]) -> None:
    endpoint(lambda asked: FAULTS["refused_parameter_400"] if "temperature" in asked.body else None)
    assert "Not checked" in run("list")[0]
    text, code = run("check", "loop")
    assert code == 0
    assert "loop/loopback" in text
    text, code = run("test", "loop/model")
    assert code == 0
    assert "loop/model answered in" in text
    assert "Temperature  Refused" in text


def test_problems_are_printed_and_end_with_1(endpoint: Callable[..., LoopbackServer]) -> None:
    endpoint(models=("model",))
    text, code = run("check")
    assert code == 1
    assert "openai: OPENAI_API_KEY is not set." in text
    text, code = run("test", "loop/gone")
    assert code == 1
    assert "loop/gone did not answer." in text
    with pytest.raises(CommandError, match="nowhere is not configured") as refused:
        run("check", "nowhere")
    assert refused.value.returncode == 2


def test_json_is_all_that_is_printed(endpoint: Callable[..., LoopbackServer]) -> None:
    endpoint()
    checked = json.loads(run("check", "loop", "--json")[0])
    assert (checked[0]["status"], checked[0]["models"][-1]["name"]) == ("ready", "loop/loopback")
    assert json.loads(run("test", "loop/model", "--json")[0])["test"]["error_kind"] == ""
    assert {row["name"] for row in json.loads(run("list", "--json")[0])} == {"loop", "openai"}
