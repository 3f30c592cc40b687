"""Saving an edit from a form: refusals at the form, success told to the reader and kept in the dataset's history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest
from django.utils.html import format_html

from benchmarks.admin.base import ModelAdmin, change_url
from benchmarks.admin.forms import EditForm, ProblemForm
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.services.datasets.editing import EditedMeanwhile
from benchmarks.services.errors import InvalidRequest, NotPossible


def posted(request: HttpRequest) -> Any:
    """What was sent to a form, an empty sending included; ``None`` where the page was only asked for."""
    return request.POST if request.method == "POST" else None


def uploaded(request: HttpRequest) -> Any:
    """The files that were sent to a form, as ``posted`` has its values."""
    return request.FILES if request.method == "POST" else None


def saved_version(
    form: ProblemForm, save: Callable[[], DatasetVersion], fields: dict[str, str] | None = None
) -> DatasetVersion | None:
    """Save, or put what speaks against it at the form's fields. ``fields`` renames paths to fields."""
    try:
        return save()
    except EditedMeanwhile as refusal:
        _refuse_stale(form, refusal)
    except InvalidRequest as refusal:
        form.add_problems(refusal.errors, fields)
    except NotPossible as refusal:
        form.add_error(None, refusal.message)
    return None


def _refuse_stale(form: ProblemForm, refusal: EditedMeanwhile) -> None:
    """Keep the edit on the page, say what happened, and let a second press of the button put it on top."""
    if isinstance(form, EditForm):
        form.begin_anew_on(refusal.current)
    said = format_html(
        "{} Nothing was saved, and what you entered is kept below. Look at "
        '<a href="{}" target="_blank" rel="noopener">what version {} changed</a>; saving again puts yours on top.',
        refusal.message,
        change_url(refusal.current),
        refusal.current.number,
    )
    form.add_error(None, said)


def tell_version(
    model_admin: ModelAdmin, request: HttpRequest, base: int | None, version: DatasetVersion, said: str
) -> None:
    """Say which version an edit begun on ``base`` has led to, and keep it in the dataset's history."""
    dataset = version.dataset
    if version.pk == base:
        messages.info(request, f"Nothing was changed: version {version.number} of {dataset.slug} stays as it is.")
        return
    if dataset.versions.filter(number__gt=version.number).exists():
        outcome = f"version {version.number} of {dataset.slug}, which had this content, is current again"
    else:
        outcome = f"{dataset.slug} now has version {version.number}"
    messages.success(request, f"{said}: {outcome}.")
    model_admin.log_change(request, dataset, f"{said} (version {version.number}).")


def current_version(dataset: Dataset) -> DatasetVersion:
    """The version that an edit begins on. Raises ``Http404`` where the dataset has none."""
    if dataset.current_version is None:
        raise Http404(f"{dataset.slug} has no content yet")
    return dataset.current_version
