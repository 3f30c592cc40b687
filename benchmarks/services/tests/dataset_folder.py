"""Contents of dataset files, and what is stored of a folder with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.tests.examples import VALID
from benchmarks.models import Dataset, DatasetFile
from benchmarks.services.datasets.files import sync_datasets

FIRST, SECOND, THIRD, EDIT = (VALID.replace("Demo", name) for name in ("First", "Second", "Third", "Edited here"))
BROKEN = VALID.replace("id: t1", "id: 001")


def spec(text: str) -> DatasetSpec:
    parsed = parse_dataset(text.encode(), "text.yaml").spec
    assert parsed is not None
    return parsed


def changes(folder: Path, **options: Any) -> dict[str, str]:
    return {report.file: report.change for report in sync_datasets(folder, **options).files}


def current(slug: str = "demo") -> tuple[int, str]:
    dataset = Dataset.objects.select_related("current_version").get(slug=slug)
    assert dataset.current_version is not None
    assert dataset.name == dataset.current_version.name
    return dataset.current_version.number, dataset.name


def stored_file(name: str = "demo.yaml") -> DatasetFile:
    return DatasetFile.objects.get(path=name)
