"""Requests made from the OpenAPI schema, sensible ones and others: none is answered with a server error."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode

from benchmarks.models import Run
from tests.support.factories import make_dataset, make_run

SCHEMA = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
EXAMPLES = 8


def send(client: Client, case: Any) -> Any:
    """As the framework's own client would, but in this process; a run that the case names is one that there is."""
    path = case.formatted_path
    if "{id}" in case.path:
        path = case.path.replace("{id}", str(Run.objects.values_list("pk", flat=True).first()))
        path = path.format(**{name: value for name, value in (case.path_parameters or {}).items() if name != "id"})
    query = urlencode({name: value for name, value in (case.query or {}).items() if value is not None}, doseq=True)
    headers = {name: str(value) for name, value in (case.headers or {}).items()}
    return client.generic(
        case.method, path, _encoded(case.body), "application/json", headers=headers, QUERY_STRING=query
    )


def _encoded(body: Any) -> bytes:
    """What is no JSON at all is sent as it is."""
    if isinstance(body, schemathesis.core.NotSet):
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.mark.django_db
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_no_request_is_answered_with_a_server_error(operation: Any, mode: GenerationMode) -> None:
    dataset = make_dataset()
    client = Client(raise_request_exception=False)

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if not Run.objects.exists():
            make_run(dataset, model="baseline/reference")
        response = send(client, case)
        assert response.status_code < 500, (case.method, response.request["PATH_INFO"], case.query, case.body)

    ask()
