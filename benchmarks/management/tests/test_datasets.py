"""``manage.py datasets …`` as a terminal sees it: what is printed and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset_format.documents import schema_text
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import FULL, VALID
from benchmarks.models import Dataset
from tests.support.commands import run_command
from tests.support.factories import make_dataset

BROKEN = VALID.replace("id: t1", "id: 001")

Write = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATASETS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Write:
    def written(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(text)
        return path

    return written


run = partial(run_command, "datasets")


def test_check_reports_valid_files_without_a_database(write: Write) -> None:
    write("a.yaml", VALID)
    write("b.yml", FULL)
    assert run("check") == (0, "2 of 2 files valid (3 tasks), 0 errors\n")


GENERATED = "name: Puzzles\ndescription: Made.\ngenerator: {name: reasoning, seed: 1, tasks: 6}\n"


@pytest.mark.django_db
def test_generate_makes_a_version_from_another_seed_and_the_file_stays_in_use(write: Write) -> None:
    path = write("puzzles.yaml", GENERATED)
    write("a.yaml", VALID)
    run("sync")
    assert run("generate", "puzzles", "--seed", "7") == (0, "Version 2 of puzzles has 6 tasks from seed 7.\n")
    assert run("generate", "puzzles", "--seed", "7")[1] == "Version 2 of puzzles has 6 tasks from seed 7.\n", "no third"
    dataset = Dataset.objects.get(slug="puzzles")
    assert dataset.description == "Made. Generated from seed 7."
    first, second = ({task.content_hash for task in each.tasks.all()} for each in dataset.versions.order_by("number"))
    assert len(first) == len(second) == 6
    assert not first & second
    run("sync", "--reread")
    assert Dataset.objects.get(slug="puzzles").current_version.number == 2, "the file did not change"
    path.write_text(GENERATED.replace("seed: 1", "seed: 3"))
    run("sync", "--reread")
    assert Dataset.objects.get(slug="puzzles").current_version.number == 3
    assert json.loads(run("generate", "puzzles", "--seed", "7", "--json")[1])["version"] == 2
    assert run("generate", "puzzles", "--seed", "-1") == (2, "puzzles:3: generator.seed: is -1: it must be at least 0")
    for slug in ("a", "unknown"):
        code, text = run("generate", slug)
        assert (code, text) == (
            2,
            f"{slug} has no file with a generator, so it has no seed. Choose a generated dataset.",
        )


def test_check_reports_every_error_of_every_file_and_fails(write: Write) -> None:
    write("a.yaml", BROKEN)
    write("b.yaml", VALID)
    write("c.yaml", BROKEN.replace("First", "''"))
    code, output = run("check")
    places = [line.rpartition(": ")[0].split(": ")[0] for line in output.splitlines()[:-1]]
    assert code == 1
    assert places == ["a.yaml:4", "c.yaml:4", "c.yaml:5"]
    assert output.splitlines()[-1] == "1 of 3 files valid (1 task), 3 errors"


def test_check_takes_files_and_directories(write: Write, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.yaml").write_text(BROKEN)
    code, output = run("check", write("a.yaml", VALID), other)
    assert code == 1
    assert output.startswith("x.yaml:4: tasks[0].id:")
    assert output.endswith("1 of 2 files valid (1 task), 1 error\n")


def test_check_reports_invalid_and_duplicate_names_of_files(write: Write) -> None:
    write("a.yaml", VALID)
    write("a.yml", VALID)
    write("b c.yaml", VALID)
    code, output = run("check")
    assert code == 1
    assert "a.yml:1: a.yaml already defines the dataset a" in output
    assert "b c.yaml:1: the file name without" in output


def test_check_prints_json(write: Write) -> None:
    write("a.yaml", BROKEN)
    write("b.yaml", VALID)
    code, output = run("check", "--json")
    first, second = json.loads(output)
    assert code == 1
    assert (first["file"], first["slug"], first["problems"][0]["line"]) == ("a.yaml", "a", 4)
    assert second == {"file": "b.yaml", "slug": "b", "tasks": 1, "problems": []}


def test_check_of_a_path_that_does_not_exist_is_refused(folder: Path) -> None:
    assert run("check", folder / "nowhere.yaml") == (2, f"{folder / 'nowhere.yaml'} does not exist.")


@pytest.mark.django_db
def test_sync_imports_files_and_reports_the_result(write: Write) -> None:
    write("a.yaml", VALID)
    assert run("sync") == (0, "Datasets: 1 new.\n")
    write("b.yaml", BROKEN)
    code, output = run("sync")
    assert code == 1
    assert output.startswith("Datasets: 1 unchanged, 1 with errors.\nb.yaml:4: tasks[0].id: some YAML readers")


@pytest.mark.django_db
def test_sync_prints_json(write: Write) -> None:
    write("a.yaml", VALID)
    code, output = run("sync", "--json", "--reread")
    assert code == 0
    assert json.loads(output) == [{"file": "a.yaml", "slug": "a", "change": "new", "version": 1, "problems": []}]


@pytest.mark.django_db
def test_sync_without_a_directory_is_refused(settings: Any, tmp_path: Path) -> None:
    settings.DATASETS_DIR = tmp_path / "nowhere"
    code, message = run("sync")
    assert code == 2
    assert "Create it, or set `benchmark.datasets_dir`" in message


@pytest.mark.django_db
def test_list_shows_every_dataset_with_its_file(write: Write) -> None:
    write("a.yaml", FULL)
    run("sync")
    make_dataset(slug="sums")
    Dataset.objects.create(slug="empty", name="Nothing yet", kind=Dataset.Kind.CANVAS)
    code, output = run("list")
    assert code == 0
    assert output.splitlines() == [
        "dataset             kind        version  tasks  runs  latest run  status  queued  file",
        "a, Everything       YAML              1      2     0  No run yet                  a.yaml",
        "empty, Nothing yet  Canvas set        –      –     0  No run yet",
        "sums, Sums          YAML              1      3     0  No run yet",
    ]
    rows = json.loads(run("list", "--json")[1])
    assert [(row["slug"], row["version"], row["tasks"], row["file"]) for row in rows] == [
        ("a", 1, 2, {"path": "a.yaml", "state": "good"}),
        ("empty", None, None, None),
        ("sums", 1, 3, None),
    ]


@pytest.mark.django_db
def test_an_empty_list_says_what_to_do(folder: Path) -> None:
    assert "Add a YAML file" in run("list")[1]


@pytest.mark.django_db
def test_an_export_loads_to_the_same_content(write: Write, folder: Path) -> None:
    write("a.yaml", FULL)
    run("sync")
    code, output = run("export", "a")
    assert code == 0
    assert parse_dataset(output.encode(), "export").spec == parse_dataset(FULL.encode(), "a.yaml").spec
    assert run("export", "a", "-o", folder / "copy.yaml") == (0, f"Wrote {folder / 'copy.yaml'}\n")
    assert (folder / "copy.yaml").read_text() == output


@pytest.mark.django_db
def test_an_earlier_version_can_be_exported(write: Write) -> None:
    for name in ("First", "Second"):
        write("a.yaml", VALID.replace("Demo", name))
        run("sync", "--reread")
    assert "\nname: First\n" in run("export", "a", "--number", "1")[1]
    assert "\nname: Second\n" in run("export", "a")[1]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "Dataset nothing does not exist. Choose from: sums."),
        (["sums", "--number", "7"], "sums has no version 7. Choose from: 1."),
        (["canvases"], "canvases is a canvas dataset. Its tasks are generated, so it has no YAML."),
        (["sums", "-o", "/nowhere/sums.yaml"], "Cannot write /nowhere/sums.yaml: No such file or directory"),
    ],
)
def test_an_export_that_is_not_possible_says_why(arguments: list[str], message: str) -> None:
    make_dataset(slug="sums")
    Dataset.objects.create(slug="canvases", name="Canvases", kind=Dataset.Kind.CANVAS)
    assert run("export", *arguments) == (2, message)


def test_the_schema_is_written_and_checked(folder: Path) -> None:
    path = folder / "dataset.schema.json"
    assert run("schema", "--check") == (1, f"{path} is out of date. Run: datasets schema\n")
    assert run("schema") == (0, f"Wrote {path}\n")
    assert path.read_text() == schema_text()
    assert run("schema", "--check") == (0, f"{path} is up to date\n")


@pytest.mark.parametrize("arguments", [[], ["guess"], ["export"], ["sync", "--fast"]])
def test_a_wrong_call_is_refused(arguments: list[str]) -> None:
    code, message = run(*arguments)
    assert code != 0
    assert "Error" in message or "invalid" in message
