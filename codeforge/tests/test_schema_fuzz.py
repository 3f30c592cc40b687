"""Requests made from the OpenAPI schema, sensible ones and others, by each role.

They are the same in every run; ``CODEFORGE_FUZZ`` multiplies their number.
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from benchmarks.models import Dataset, Run
from benchmarks.services.access import assign_group
from codeforge.tests.fuzzing.writes import undone
from tests.support.factories import make_dataset, make_run

EXAMPLES = round(8 * float(os.environ.get("CODEFORGE_FUZZ", "1")))
"""Of each operation and mode."""


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


@pytest.fixture
def clients(settings: Any, db: None) -> dict[str, Client]:
    """A client for each role, as in production, with a dataset to run."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    make_dataset()
    clients = {"nobody": Client(raise_request_exception=False)}
    for role in ("viewer", "admin"):
        account = User.objects.create_user(role)
        assign_group(account, role)
        clients[role] = Client(raise_request_exception=False)
        clients[role].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return clients


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_every_answer_is_one_that_the_schema_has_and_nothing_is_written_for_who_may_not(
    clients: dict[str, Client], mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 50
    faults = {operation.label: faults_of(operation, mode, clients) for operation in operations}
    assert not any(faults.values()), "\n".join(f"{label}: {fault}" for label, fault in faults.items() if fault)


def faults_of(operation: Any, mode: GenerationMode, clients: dict[str, Client]) -> str:
    """The first fault that requests to the operation found, in its shortest form; empty if there is none."""
    dataset = Dataset.objects.get()
    documented = operation.definition.raw["responses"]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if not Run.objects.exists():
            make_run(dataset, model="baseline/reference")
        for role, client in clients.items():
            with undone() as written:
                response = send(client, case)
            asked = (role, case.method, response.request["PATH_INFO"], case.query, case.body)
            assert str(response.status_code) in documented, (response.status_code, *asked)
            assert b"Traceback (most" not in getattr(response, "content", b""), asked
            if role != "admin":
                assert not written, (asked, written)

    try:
        ask()
    except Unsatisfiable:
        return ""  # Nothing can be wrong in a request without parameters.
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
