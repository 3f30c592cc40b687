"""The first address of the API leads to all others."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/api/v1", "/api/v1/"])
def test_it_lists_what_there_is_and_where_it_is_described(client: Client, address: str) -> None:
    found = client.get(address).json()
    assert (found["documentation"], found["openapi"]) == ("http://testserver/api/docs", "http://testserver/api/schema")
    by_name = {each["name"]: each for each in found["resources"]}
    assert by_name["runs"] == {
        "name": "runs",
        "url": "http://testserver/api/v1/benchmarks/runs",
        "methods": ["GET", "POST"],
        "about": "Runs: start, follow, edit, cancel, resume and retry.",
    }
    assert by_name["imports/files"]["methods"] == ["POST"]
    assert all(each["about"][:1].isupper() and len(each["about"]) > 10 for each in found["resources"])


def test_every_address_that_it_lists_answers(client: Client) -> None:
    for each in client.get("/api/v1/").json()["resources"]:
        status = client.get(each["url"]).status_code
        # Some need parameters.
        assert status in ((200, 400) if "GET" in each["methods"] else (405,)), each


def test_the_resources_are_those_of_the_schema(client: Client) -> None:
    paths = client.get("/api/schema", HTTP_ACCEPT="application/json").json()["paths"]
    listed = {
        each["url"].removeprefix("http://testserver"): each for each in client.get("/api/v1/").json()["resources"]
    }
    assert listed.keys() == {path for path in paths if "{" not in path and path.count("/") > 3} - {"/api/v1"} - {
        path for path in paths if path.endswith("/plan") and path.count("/") > 4
    }
    for path, each in listed.items():
        assert {method.lower() for method in each["methods"]} == paths[path].keys() & {"get", "post"}, path
