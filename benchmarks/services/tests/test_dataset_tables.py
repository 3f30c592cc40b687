"""The command that writes YAML files from tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.files import read_dataset_file
from benchmarks.models import Dataset


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATASETS_DIR = tmp_path / "datasets"
    settings.DATASETS_DIR.mkdir()
    return tmp_path


def write(folder: Path, rows: list[dict[str, Any]], name: str = "Harbour rules.jsonl") -> str:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def take(*arguments: str) -> str:
    out = io.StringIO()
    call_command("datasets", "import", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_a_table_becomes_a_file_that_can_be_imported(folder: Path) -> None:
    output = take(write(folder, [{"question": "Tide?", "answer": "low"}, {"question": "Wind?", "answer": "west"}]))
    assert output.splitlines()[0] == "Columns: input: question; expected: answer; id: the line number"
    assert "harbour-rules.yaml with 2 tasks." in output
    call_command("datasets", "sync", stdout=io.StringIO())
    dataset = Dataset.objects.get()
    assert dataset.current_version is not None
    assert (dataset.slug, dataset.current_version.task_count) == ("harbour-rules", 2)


def test_a_table_with_errors_writes_no_file(folder: Path) -> None:
    path = write(folder, [{"question": ""}, {"question": "Wind?"}, {"question": 1, "id": "x"}])
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("datasets", "import", path, stdout=out)
    assert ended.value.code == 1
    assert "Harbour rules.jsonl:1: input: is empty" in out.getvalue()
    assert not list((folder / "datasets").iterdir())


def test_an_existing_file_is_replaced_only_on_request(folder: Path) -> None:
    path = write(folder, [{"question": "Tide?"}])
    take(path, "--slug", "rules")
    with pytest.raises(CommandError, match=r"already exists.*--replace") as refused:
        take(path, "--slug", "rules")
    assert refused.value.returncode == 2
    take(path, "--slug", "rules", "--replace", "--name", "Rules")
    parsed = read_dataset_file(folder / "datasets/rules.yaml", folder / "datasets")
    assert parsed.spec is not None
    assert parsed.spec.name == "Rules"


def test_invalid_options_are_refused(folder: Path) -> None:
    for arguments, message in (
        (["--slug", "../x"], "--slug: use 1 to 100 letters"),
        (["--limit", "0"], "--limit: enter a number of at least 1"),
        (["--input", "nothing"], 'column "nothing" for input does not exist'),
    ):
        with pytest.raises(CommandError, match=message):
            take(write(folder, [{"question": "Tide?"}]), *arguments)
        assert not list((folder / "datasets").iterdir())


def test_a_dataset_that_would_be_too_large_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 1_000)
    with pytest.raises(CommandError, match="Import fewer rows with --limit"):
        take(write(folder, [{"question": "Tide? " * 50} for _ in range(10)]))


def test_errors_are_printed_as_json(folder: Path) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("datasets", "import", write(folder, [{"question": ""}]), "--json", stdout=out)
    assert json.loads(out.getvalue())["problems"][0]["line"] == 1
