"""What the pages that edit datasets share: who may edit what, and the report of a saved version."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest

from benchmarks.admin.base import ModelAdmin
from benchmarks.models import Dataset, DatasetVersion


def is_written(dataset: Dataset) -> bool:
    """Whether people write the dataset. Canvas datasets are generated and cannot be edited."""
    return dataset.kind == Dataset.Kind.YAML


def current_version(dataset: Dataset) -> DatasetVersion:
    """The version that an edit starts from. Raises ``Http404`` if there is none."""
    if dataset.current_version is None:
        raise Http404(f"{dataset.slug} has no content yet.")
    return dataset.current_version


def report_version(
    model_admin: ModelAdmin, request: HttpRequest, base: int | None, version: DatasetVersion, done: str
) -> None:
    """Say which version the edit of version ``base`` led to, and log it in the history of the dataset."""
    dataset = version.dataset
    if version.pk == base:
        messages.info(request, f"No changes: {dataset.slug} keeps version {version.number}.")
        return
    if dataset.versions.filter(number__gt=version.number).exists():
        outcome = f"version {version.number} of {dataset.slug}, which has this content, is current again"
    else:
        outcome = f"{dataset.slug} now has version {version.number}"
    messages.success(request, f"{done}: {outcome}.")
    model_admin.log_change(request, dataset, f"{done} (version {version.number}).")
