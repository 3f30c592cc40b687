"""Tables as libraries write them: every column, and pictures from the table to the model."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.management import call_command

from benchmarks.exports import parquet_file
from benchmarks.imports.pictures import Pictures
from benchmarks.imports.table_tasks import TableReport, TableRequest
from benchmarks.models import Dataset
from benchmarks.outbound import Outbound
from benchmarks.services.datasets.tables import read_table
from tests.support.factories import make_run
from tests.support.running import Endpoint, worked

TABLES = Path(__file__).parents[2] / "imports" / "tests" / "tables"
ALWAYS = {
    **{"id": "Identifier", "question": "Input", "answer": "Reference answer", "subject": "Metadata"},
    **{"level": "Difficulty", "split": "Split", "tags": "Tag", "page": "Metadata"},
    "note": "Not used: texts of more than 100 characters",
}
LISTS = {"embedding": "Not used: lists or objects"}
PICTURE = {"image": "Picture"}
COLUMNS = {
    "datasets_images.parquet": {**ALWAYS, **LISTS, **PICTURE},
    "pandas_images.parquet": {
        **ALWAYS,
        **LISTS,
        **PICTURE,
        "__index_level_0__": "Not used: it is the index of a data frame",
    },
    "pyarrow_bytes.parquet": {**ALWAYS, **LISTS, **PICTURE},
    "datasets.jsonl": {**ALWAYS, **LISTS},
    "csv_module.csv": {**ALWAYS, "embedding": "Metadata"},
    "pandas.csv": {**ALWAYS, "embedding": "Metadata", "": "Not used: it has no name"},
    "fine_tuning.jsonl": {"messages": "Conversation"},
}
"""File → column → what becomes of it."""


def read(path: Path, pictures: Pictures | None = None) -> TableReport:
    if path.suffix == ".parquet" and not parquet_file.has_parquet():
        pytest.skip(parquet_file.MISSING)
    return read_table(path, path.name, TableRequest("T", "D", pictures=pictures or Pictures()))


def test_every_table_is_tested() -> None:
    assert {path.name for path in TABLES.iterdir() if path.suffix not in (".py", ".md", "")} == {*COLUMNS}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_becomes_what_it_is(name: str) -> None:
    report = read(TABLES / name)
    assert {column.name: column.becomes for column in report.columns.all} == COLUMNS[name]
    assert report.spec is not None
    tasks = report.spec.tasks
    assert [task.expected_output for task in tasks] == ["red", "blue"]
    assert {task.question for task in tasks} == {"Which color is this?"} or "image" in COLUMNS[name]
    if name == "fine_tuning.jsonl":
        return
    assert [(task.id, task.tags, task.difficulty, task.split) for task in tasks] == [
        (f"color-{number}", ("vision", color), "easy", "test") for number, color in enumerate(("red", "blue"), 1)
    ]
    of_csv = name.endswith(".csv")
    assert tasks[1].metadata == (
        {"subject": "colors", "page": "2", "embedding": "[0.5, 0.25]"} if of_csv else {"subject": "colors", "page": 2}
    )
    if "image" in COLUMNS[name]:
        urls = [task.messages[0]["content"][1]["image"] for task in tasks]
        assert all(url.startswith("data:image/png;base64,iVBOR") for url in urls)
        assert urls[0] != urls[1]


@pytest.mark.django_db(transaction=True)
def test_pictures_of_a_table_arrive_at_the_model(endpoint: Endpoint, tmp_path: Path, settings: Any) -> None:
    settings.DATASETS_DIR = tmp_path / "datasets"
    settings.DATASETS_DIR.mkdir()
    path = TABLES / "datasets_images.parquet"
    wanted = [task.messages[0]["content"][1]["image"] for task in (read(path).spec or pytest.fail("no tasks")).tasks]
    options = ("--slug", "colors", "--name", "Colors", "--description", "Two colors")
    call_command("datasets", "import", str(path), *options, stdout=io.StringIO())
    call_command("datasets", "sync", stdout=io.StringIO())
    server = endpoint(lambda asked: "red")
    run = worked(make_run(Dataset.objects.get(slug="colors"), metrics=["exact_match"]))
    sent = [body["messages"][0]["content"] for body in server.stats.bodies]
    assert {parts[0]["text"] for parts in sent} == {"Which color is this?"}
    assert sorted(parts[1]["image_url"]["url"] for parts in sent) == sorted(wanted)
    assert run.summary["metrics"]["exact_match"]["mean"] == 0.5


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    """A site with a picture, and what was requested of it."""
    picture = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    )
    asked: list[str] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(picture)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.django_db(transaction=True)
def test_a_picture_at_a_url_is_fetched_at_the_import_and_never_later(
    site: tuple[str, list[str]], endpoint: Endpoint, tmp_path: Path, settings: Any
) -> None:
    address, asked = site
    (table := tmp_path / "t.csv").write_text(f"question,image,answer\nWhat?,{address}/a.png,dot\n")
    refused = read(table)
    assert "The host has no public address" in str(refused.problems[0])
    assert asked == []
    settings.OUTBOUND = Outbound.of([], loopback=True)
    settings.DATASETS_DIR = tmp_path / "datasets"
    settings.DATASETS_DIR.mkdir()
    options = ("--slug", "dots", "--name", "Dots", "--description", "A dot")
    call_command("datasets", "import", str(table), *options, stdout=io.StringIO())
    assert asked == ["/a.png"]
    call_command("datasets", "sync", stdout=io.StringIO())
    server = endpoint(lambda question: "dot")
    worked(make_run(Dataset.objects.get(slug="dots"), metrics=["exact_match"]))
    (content,) = (body["messages"][0]["content"] for body in server.stats.bodies)
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert asked == ["/a.png"], "neither a sync nor a run fetches it again"
