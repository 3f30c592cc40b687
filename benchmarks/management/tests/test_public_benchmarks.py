"""``manage.py datasets import preset:…`` and ``hf:…`` against a mirror of the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.exports import parquet_file
from benchmarks.imports.presets import REGISTERED_PRESETS
from benchmarks.imports.tests.preset_rows import EXAMPLES, file_of
from benchmarks.management.tests.test_datasets import run
from benchmarks.models import Dataset
from tests.support.hub_mirror import Mirror, mirror_of_the_hub

FETCHED = [name for name, preset in REGISTERED_PRESETS.items() if preset.repository]


@pytest.fixture
def mirror(tmp_path: Path, settings: Any) -> Iterator[Mirror]:
    settings.DATASETS_DIR, settings.STATE_DIR = tmp_path / "datasets", tmp_path / "state"
    settings.DATASETS_DIR.mkdir()
    with mirror_of_the_hub() as mirror:
        settings.HUB_ENDPOINT, settings.HUB_TOKEN = mirror.url, ""
        yield mirror


def publish(mirror: Mirror, name: str) -> None:
    files = mirror.files.setdefault(REGISTERED_PRESETS[name].repository, {})
    files |= {path: file_of(path, rows) for path, rows in EXAMPLES[name].files.items()}


def written(settings: Any, slug: str) -> DatasetSpec:
    spec = parse_dataset((settings.DATASETS_DIR / f"{slug}.yaml").read_bytes(), slug).spec
    assert spec is not None
    return spec


@pytest.mark.parametrize("name", FETCHED)
def test_a_preset_is_fetched_and_written(mirror: Mirror, settings: Any, name: str) -> None:
    if REGISTERED_PRESETS[name].needs_parquet:
        pytest.importorskip("pyarrow")
    publish(mirror, name)
    code, output = run("import", f"preset:{name}")
    assert code == 0, output
    assert f"{name}.yaml with" in output
    assert "License: " in output
    spec = written(settings, name)
    assert spec.name == REGISTERED_PRESETS[name].title
    assert spec.metrics == REGISTERED_PRESETS[name].metrics
    assert all(f"/{REGISTERED_PRESETS[name].revision}" in path for path, _ in mirror.requests)


@pytest.mark.django_db
def test_an_imported_benchmark_becomes_a_dataset_also_without_the_hub(mirror: Mirror, settings: Any) -> None:
    publish(mirror, "math-500")
    assert run("import", "hf:HuggingFaceH4/MATH-500", "--slug", "math")[0] == 0
    settings.HUB_ENDPOINT = "http://127.0.0.1:1"
    code, output = run("import", "preset:math-500", "--json", "--limit", "1", "--name", "Mine")
    assert code == 0
    found = json.loads(output)
    assert (found["tasks"], found["available"], found["left_out"], found["slug"]) == (1, 1, {}, "math-500")
    assert run("sync") == (0, "Datasets: 2 new.\n")
    dataset = Dataset.objects.get(slug="math-500")
    assert dataset.name == "Mine"
    assert dataset.current_version is not None
    assert dataset.current_version.metrics == ["exact_match"]


def test_repository_config_split_revision_and_seed_choose_what_is_imported(mirror: Mirror, settings: Any) -> None:
    pytest.importorskip("pyarrow")
    for name in ("gsm8k", "arc-easy", "arc-challenge", "bbh"):
        publish(mirror, name)
    revision = "b" * 40
    assert run("import", f"hf:openai/gsm8k:main/train@{revision}", "--shots", "0", "--slug", "a")[0] == 0
    assert len(written(settings, "a").tasks) == 10
    assert mirror.requests[0][0].endswith(revision)
    assert run("import", "hf:openai/gsm8k:socratic", "--slug", "b")[0] == 0
    assert written(settings, "b").metrics == (), "another config than the preset's is a table"
    assert run("import", "hf:SaylorTwift/bbh:navigate", "--slug", "c")[0] == 0
    assert [task.id for task in written(settings, "c").tasks] == ["navigate-1"]
    code, message = run("import", "hf:allenai/ai2_arc")
    assert (code, message) == (
        2,
        "allenai/ai2_arc holds several benchmarks. Choose from: preset:arc-easy, preset:arc-challenge.",
    )
    assert run("import", "hf:allenai/ai2_arc:ARC-Easy", "--slug", "d")[0] == 0


def test_a_table_of_the_hub_is_imported_by_its_columns(mirror: Mirror, settings: Any) -> None:
    rows = b"".join(b'{"question": "What is %d?", "answer": "%d"}\n' % (number, number) for number in range(20))
    mirror.files["own/set"] = {"test-0.jsonl": rows, "test-1.jsonl": rows}
    code, output = run("import", "hf:own/set", "--limit", "5", "--seed", "3", "--json")
    assert code == 0, output
    found = json.loads(output)
    assert (found["slug"], found["tasks"]) == ("own-set", 5)
    assert [(each["column"], each["field"]) for each in found["columns"]] == [
        ("question", "input"),
        ("answer", "expected"),
    ]
    spec = written(settings, "own-set")
    assert spec.description.endswith("License: mit.")
    ids = [int(task.id.removeprefix("row-")) for task in spec.tasks]
    assert ids == sorted(ids)
    assert max(ids) > 5, "a sample, not the first rows"
    assert "already exists" in run("import", "hf:own/set")[1]


REFUSED: list[tuple[list[str], str]] = [
    (["preset:nothing"], "There is no preset nothing. Choose from: arc-challenge, "),
    (["hf:nothing"], '"hf:nothing" is not a dataset of the hub: use hf:OWNER/NAME'),
    (["preset:math-500", "--split", "train"], "MATH-500 has no split train, only test."),
    (["preset:math-500", "--limit", "0"], "--limit: enter a number of at least 1."),
    (["preset:math-500", "--shots", "3"], "MATH-500: math-500 has no examples: leave their number out."),
    (["preset:math-500", "--input", "problem"], "preset:math-500 knows its columns"),
    (["hf:own/set", "--shots", "3"], "--shots applies to presets"),
    (["x.csv", "--split", "test"], "--split and --shots apply to public benchmarks, not to files."),
    (["preset:gpqa-diamond"], "GPQA Diamond: "),
    (["hf:own/missing"], "the dataset does not exist, or it is private"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refusals_say_what_to_do(mirror: Mirror, settings: Any, arguments: list[str], message: str) -> None:
    publish(mirror, "math-500")
    code, output = run("import", *arguments)
    assert code == 2
    assert message in output
    assert not list(settings.DATASETS_DIR.iterdir())


def test_without_pyarrow_parquet_presets_say_what_to_install(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: False)
    code, output = run("import", "preset:gsm8k")
    assert code == 2
    assert "requirements-parquet.txt" in output
    assert not mirror.requests


def test_presets_are_listed_with_split_license_and_difference() -> None:
    code, output = run("presets")
    assert code == 0
    assert [line.split()[0] for line in output.splitlines()[1:]] == list(REGISTERED_PRESETS)
    rows = json.loads(run("presets", "--json")[1])
    assert all(row["license"] and row["difference"] for row in rows)
