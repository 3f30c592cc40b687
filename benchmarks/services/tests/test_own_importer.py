"""A package adds an importer: its runs are imported by every way, under its name, and one that fails stops nothing."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from benchmarks.imports.tests.logs import inspect_log, read_runs, write_json
from benchmarks.models import Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import import_runs
from tests.support.packages import install_package

CODE = """
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.imports.base import Importer
from benchmarks.imports.runs import ImportedResult, ImportedRun
from benchmarks.metrics.base import scored


class AcmeImporter(Importer):
    name = "acme"
    title = "Acme Eval"
    files = "reports (.json or .acme)"

    def detect(self, files):
        return [[file] for file in files if {"acme", "cases"} <= file.outline.keys()]

    def read(self, log):
        (file,) = log
        cases = file.document()["cases"]
        return [
            ImportedRun(
                model=file.document()["acme"],
                name="deliveries",
                tasks=[TaskSpec(id=c["id"], name=c["id"], input=c["q"], expected_output=c["ref"]) for c in cases],
                results=[ImportedResult(task_id=c["id"], answer=c["a"], scores=scores_of(c)) for c in cases],
                metrics=["right"],
            )
        ]


def scores_of(case):
    return {name: scored(value) for name, value in case["scores"].items()}


class Greedy(AcmeImporter):
    name = "greedy"

    def detect(self, files):
        raise LookupError(files)
"""
REPORT = {
    "acme": "vendor/model",
    "cases": [
        {"id": "1", "q": "One?", "ref": "1", "a": "1", "scores": {"right": 1, "words": 7}},
        {"id": "2", "q": "Two?", "ref": "2", "a": "3", "scores": {"right": 0}},
    ],
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (folder := tmp_path / "site").mkdir()
    points = {"acme": "acme_importer:AcmeImporter", "greedy": "acme_importer:Greedy", "inspect": "acme_importer:Greedy"}
    install_package(monkeypatch, folder, "acme-eval", {"acme_importer": CODE}, {"importers": points})
    yield
    sys.modules.pop("acme_importer", None)


@pytest.mark.usefixtures("package")
def test_runs_are_read_in_the_common_form(tmp_path: Path) -> None:
    (run,) = read_runs(write_json(tmp_path / "report.json", REPORT))
    assert (run.format, run.model, run.metrics) == ("acme", "vendor/model", ["acme:right", "acme#words"])
    second = run.results[1].scores
    assert (second["acme:right"].value, second["acme#words"].reason) == (0, "The tool gave no score.")


@pytest.mark.usefixtures("package")
@pytest.mark.django_db(transaction=True)
def test_page_command_and_api_know_it(tmp_path: Path, admin_client: Client) -> None:
    page = admin_client.get("/settings/imports/").content.decode()
    assert '<option value="acme">Acme Eval</option>' in page
    assert "<dt>Acme Eval</dt>" in page
    assert "Reports (.json or .acme)" in page
    assert ",.acme" in page
    path = write_json(tmp_path / "report.json", REPORT)
    call_command("benchmark", "import", str(path), stdout=(out := io.StringIO()))
    assert " imported: vendor/model on acme-deliveries, 2 results" in out.getvalue()
    run = Run.objects.get()
    assert run.import_tool == "Acme Eval"
    assert "right (Acme Eval)" in admin_client.get(f"/runs/{run.pk}/").content.decode()
    upload = SimpleUploadedFile("report.json", path.read_bytes())
    again = admin_client.post("/api/v1/benchmarks/imports/files", {"file": upload, "format": "acme"}).json()
    assert [(each["run"], each["is_new"]) for each in again] == [(run.pk, False)]


@pytest.mark.usefixtures("package")
@pytest.mark.django_db
def test_an_importer_that_fails_is_named_and_stops_no_other(tmp_path: Path) -> None:
    assert import_runs(write_json(tmp_path / "log.json", inspect_log()))[0].run.import_format == "inspect"
    spoilt: Any = {"acme": "m", "cases": [{}]}
    with pytest.raises(NotPossible, match=r"spoilt\.json: the importer acme failed: KeyError: 'id'\."):
        import_runs(write_json(tmp_path / "spoilt.json", spoilt))


@pytest.mark.django_db
def test_a_run_outlives_the_package_that_imported_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as installed:
        (folder := tmp_path / "site").mkdir()
        point = {"acme": "acme_importer:AcmeImporter"}
        install_package(installed, folder, "acme-eval", {"acme_importer": CODE}, {"importers": point})
        run = import_runs(write_json(tmp_path / "report.json", REPORT))[0].run
    sys.modules.pop("acme_importer", None)
    assert (run.import_tool, [metric.name for metric in run.deciding_metrics()]) == ("acme", ["acme:right"])
    assert json.dumps(run.summary["metrics"]["acme:right"]["mean"]) == "0.5"
