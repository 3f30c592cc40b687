"""Add datasets, edit their content and their tasks, and copy tasks of results into them. Every save makes a version."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.analysis.gaps import gap_shown
from benchmarks.forms.dataset_files import CopyForm, DatasetFileForm, NewVersionForm, UploadForm, YamlForm
from benchmarks.forms.datasets import (
    DatasetForm,
    DuplicateForm,
    GeneratedForm,
    NewDatasetForm,
    ProblemForm,
    TaskForm,
    generator_title,
    report_of,
)
from benchmarks.forms.imports import PresetForm, TableForm
from benchmarks.generators.registry import examples
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.presentation.numbers import plural, whole_points
from benchmarks.queries import datasets as reads
from benchmarks.queries.datasets import prompt_of
from benchmarks.queries.newer_references import rescorable
from benchmarks.queries.results import count_generated, failing_runs_to_copy, results_to_copy
from benchmarks.queries.reviews import WHICH, answers_where, review_detail
from benchmarks.queries.tables.datasets import TASKS_TO_COPY
from benchmarks.services.access import may
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.versions import stored_fields
from benchmarks.services.errors import InvalidRequest, NotPossible
from frontend import params
from frontend.navigation import dataset_trail, trail
from frontend.texts import Excerpt, excerpt, turns
from frontend.views.datasets import dataset_or_404, first_tasks, version_or_404
from frontend.views.shared import or_404, require, unconfirmed

PREVIEWED = 5
"""Tasks of a file that are shown before it is saved."""
MOST_YAML, MOST_YAML_TASKS = 80_000, 500
"""Characters and tasks of a dataset that can be edited as one text."""
MOST_COPIED = 500

EXAMPLE = """\
name: Rivers
description: Where rivers end.
tasks:
  - id: nile
    name: The Nile
    input: Which sea does the Nile reach?
    expected_output: Mediterranean Sea
    difficulty: easy
"""
EXAMPLE_TABLE = """\
question,answer
Where does the Rhine end?,North Sea
Where does the Don end?,Sea of Azov
"""
_EXAMPLES = {"file": EXAMPLE, "table": EXAMPLE_TABLE}
SIZES = (50, 100, 300, 1000)
"""Numbers of tasks of which the forms say what they can show."""
_NEW: dict[str, tuple[str, str, type[ProblemForm]]] = {
    "file": ("Upload YAML", "Upload dataset", UploadForm),
    "table": ("Import table", "Import table", TableForm),
    "public": ("Public benchmark", "", PresetForm),
    "generated": ("Generate", "Generate dataset", GeneratedForm),
    "empty": ("Start with one task", "Add dataset", NewDatasetForm),
}
"""Way to add a dataset → its title, the label of its button (none: the form has its own), its form."""
_EDIT: dict[str, tuple[str, str, type[DatasetForm | NewVersionForm]]] = {
    "head": ("Edit", "Save", DatasetForm),
    "yaml": ("Edit as YAML", "Save", YamlForm),
    "file": ("Upload version", "Upload version", NewVersionForm),
}
"""Way to edit a dataset → its title, the label of its button, its form."""


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, way: str) -> HttpResponse:
    require(request, "benchmarks.add_dataset")
    if way not in _NEW:
        raise Http404(
            "Upload a YAML file, import a table or a public benchmark, generate tasks, or start with one task."
        )
    _, button, form_class = _NEW[way]
    form = form_class(*_submitted(request))
    if isinstance(form, PresetForm):
        form.words = params.text(request.GET, "q")
    if not _previews(request) and (version := form.save(request.user)):
        done = f"Dataset {version.dataset.title} created with {plural(version.task_count, 'task')}."
        messages.success(request, done)
        return HttpResponseRedirect(_page_of(version.dataset))
    made = examples() if way == "generated" else {}
    context = {
        "form": form,
        "preview": _file_preview(form),
        "button": button,
        "ways": [(each, title) for each, (title, _, _) in _NEW.items()],
        "way": way,
        "example": _EXAMPLES.get(way, ""),
        "sizes": [(n, whole_points(gap)) for n in SIZES if (gap := gap_shown(n)) is not None] if way != "empty" else (),
        "made": [(name, generator_title(name), text) for name, text in made.items()],
        "crumbs": trail("datasets", ("Add dataset", None)),
    }
    return render(request, "frontend/datasets/new.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str, way: str) -> HttpResponse:
    require(request, "benchmarks.change_dataset")
    dataset, version = _editable(slug)
    if way == "duplicate":
        return _duplicate(request, dataset)
    if way not in _EDIT:
        raise Http404("Edit the description, the YAML, upload a version, or duplicate the dataset.")
    title, button, form_class = _EDIT[way]
    many = way == "yaml" and version.task_count > MOST_YAML_TASKS  # writing them all as YAML would take seconds
    form = None if many else form_class(*_submitted(request), version=version)
    if form and not _previews(request) and (saved := form.save(request.user)):
        messages.success(request, report_of(saved, form.cleaned_data["base"], "Dataset saved"))
        return HttpResponseRedirect(_page_of(dataset))
    if form and way == "yaml" and not form.is_bound and len(form["file"].value()) > MOST_YAML:
        form = None
    context = {
        "dataset": dataset,
        "form": form,
        "preview": _file_preview(form) if form else None,
        "way": way,
        "example": excerpt(first_tasks(version, 1)).text if way == "file" else "",
        "title": title,
        "button": button,
        "crumbs": dataset_trail(dataset, (title, None)),
    }
    return render(request, "frontend/datasets/edit.html", context)


def _duplicate(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    require(request, "benchmarks.add_dataset")
    form = DuplicateForm(*_submitted(request), dataset=dataset)
    if version := form.save(request.user):
        messages.success(request, f"Dataset {version.dataset.title} created as a copy of {dataset.title}.")
        return HttpResponseRedirect(_page_of(version.dataset))
    context = {
        "dataset": dataset,
        "form": form,
        "title": "Duplicate",
        "button": "Duplicate dataset",
        "crumbs": dataset_trail(dataset, ("Duplicate", None)),
    }
    return render(request, "frontend/datasets/edit.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def task(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    """The form of a new task, or of a stored one. A changed reference leads to the runs whose answers it judges."""
    require(request, "benchmarks.change_task" if pk else "benchmarks.add_task")
    dataset, version = _editable(slug)
    stored = _task_or_404(dataset, pk) if pk else None
    # A form that was opened before the current version was saved names its own; the service refuses it.
    if stored and stored.version_id != version.pk and request.method != "POST":
        return _to_current(request, stored, version)
    form = TaskForm(*_submitted(request), version=version, stored=stored)
    if not _previews(request) and (saved := form.save(request.user)):
        task_id = form.cleaned_data["id"]
        done = f"Task {task_id} {'changed' if stored else 'added'}"
        messages.success(request, report_of(saved, form.cleaned_data["base"], done))
        if stored and rescorable(version, saved):
            return HttpResponseRedirect(reverse("frontend:changes", args=(slug, version.number, saved.number)))
        return HttpResponseRedirect(reverse("frontend:task", args=(slug, saved.tasks.get(task_id=task_id).pk)))
    title = stored.name or stored.task_id if stored else "Add task"
    context = {
        "dataset": dataset,
        "task": stored,
        "form": form,
        "title": f"Edit {title}" if stored else title,
        "prompt": _prompt(form, stored),
        "crumbs": dataset_trail(dataset, (title, None)),
    }
    return render(request, "frontend/datasets/edit_task.html", context)


@require_POST
def delete_task(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    require(request, "benchmarks.delete_task")
    dataset, version = _editable(slug)
    stored = _task_or_404(dataset, pk)
    back = reverse("frontend:task", args=(slug, pk))
    question = f"Delete task {stored.task_id} of {dataset.title}?"
    note = "This creates a version without it. Earlier versions and their results keep the task."
    if confirmation := unconfirmed(request, question, "Delete task", back, note):
        return confirmation
    try:
        saved = editing.remove_tasks(dataset, stored.version_id, {stored.task_id}, request.user)
    except (InvalidRequest, NotPossible) as refusal:
        messages.error(request, _reason(refusal))
        return HttpResponseRedirect(back)
    messages.success(request, report_of(saved, version.pk, f"Task {stored.task_id} deleted"))
    return HttpResponseRedirect(_page_of(dataset))


@require_POST
def act(request: HttpRequest, slug: str, action: str) -> HttpResponse:
    """Delete the dataset, or restore one of its versions."""
    if action not in ("delete", "restore"):
        raise Http404(f"{action} is not an action for datasets.")
    require(request, "benchmarks.delete_dataset" if action == "delete" else "benchmarks.change_dataset")
    dataset, back = dataset_or_404(slug), reverse("frontend:dataset", args=(slug,))
    try:
        if action == "restore":
            version = version_or_404(dataset, params.whole_number(request.POST, "version") or 0)
            base = params.whole_number(request.POST, "base")
            restored = editing.restore_version(version, base, request.user)
            messages.success(request, report_of(restored, base, f"Version {version.number} restored"))
            return HttpResponseRedirect(back)
        if reason := editing.why_not_deletable(dataset):
            raise NotPossible(reason)
        note = f"This deletes {editing.lost_by_deletion(dataset)} To keep a copy, download the YAML first."
        if confirmation := unconfirmed(request, f"Delete dataset {dataset.title}?", "Delete dataset", back, note):
            return confirmation
        editing.delete_dataset(dataset, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(back)
    messages.success(request, f"Dataset {dataset.title} deleted.")
    return HttpResponseRedirect(reverse("frontend:datasets"))


@require_http_methods(["GET", "HEAD", "POST"])
def copy_results(request: HttpRequest) -> HttpResponse:
    """Copy the tasks of ``?result=1&result=2`` into a dataset, where the next run asks them again.

    ``?review=3&which=flagged`` copies those of the answers that people flagged in a review.
    """
    require(request, "benchmarks.add_task")
    keys = list(dict.fromkeys(request.POST.getlist("result") or request.GET.getlist("result") or _reviewed(request)))
    numbers = [int(key) for key in keys[:MOST_COPIED] if key.isascii() and key.isdigit() and len(key) < 19]
    results = results_to_copy(numbers)
    form = CopyForm(*_submitted(request), results=results, may_create=may(request.user, "benchmarks.add_dataset"))
    base = {slug: dataset.current_version_id for slug, dataset in form.datasets.items()}
    if results and (version := form.save(request.user)):
        slug = version.dataset.slug
        done = f"{plural(len({result.task.content_hash for result in results}), 'task')} copied"
        messages.success(request, report_of(version, base.get(slug), done))
        return HttpResponseRedirect(_page_of(version.dataset))
    context = {
        "form": form,
        "results": results,
        "tasks": TASKS_TO_COPY.of(results),
        "n_left_out": (n_left_out := count_generated(numbers)),
        "n_missing": len(numbers) - len(results) - n_left_out,
        "runs": () if results else failing_runs_to_copy(),
        "crumbs": trail("runs", ("Copy tasks", None)),
    }
    return render(request, "frontend/datasets/copy_results.html", context)


def _reviewed(request: HttpRequest) -> list[str]:
    """The results of a review that ``which`` names."""
    pk, which = params.whole_number(request.GET, "review"), params.text(request.GET, "which")
    if pk is None or which not in WHICH:
        return []
    queue = or_404(lambda: review_detail(pk), f"Review {pk} does not exist.")
    return [str(key) for key in answers_where(queue, which)]


def _submitted(request: HttpRequest) -> tuple[Any, Any]:
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


def _previews(request: HttpRequest) -> bool:
    """Whether the form is only to be checked."""
    return request.POST.get("do") == "preview"


def _page_of(dataset: Dataset) -> str:
    return reverse("frontend:dataset", args=(dataset.slug,))


def _editable(slug: str) -> tuple[Dataset, DatasetVersion]:
    """A dataset that people write, with the version that an edit starts from."""
    dataset = dataset_or_404(slug)
    if dataset.kind != Dataset.Kind.YAML or dataset.current_version is None:
        raise Http404(f"{slug} cannot be edited, because its tasks are generated.")
    return dataset, dataset.current_version


def _task_or_404(dataset: Dataset, pk: int) -> Task:
    return or_404(lambda: reads.task_detail(dataset, pk), f"Task {pk} does not exist in {dataset.slug}.")


def _to_current(request: HttpRequest, stored: Task, version: DatasetVersion) -> HttpResponse:
    """To the form of the same task in the current version, or to the old task if that has none."""
    slug, current = version.dataset.slug, version.tasks.filter(task_id=stored.task_id).first()
    if current is None:
        messages.error(request, f"Version {version.number}, the current one, has no task {stored.task_id}.")
        return HttpResponseRedirect(reverse("frontend:task", args=(slug, stored.pk)))
    return HttpResponseRedirect(reverse("frontend:edit-task", args=(slug, current.pk)))


def _file_preview(form: ProblemForm) -> list[tuple[str, Excerpt, Excerpt]] | None:
    """Id, input and expected answer of the first tasks of a file that has been read; ``None`` if it has no tasks."""
    if not isinstance(form, DatasetFileForm) or not form.is_valid() or form.spec is None:
        return None
    return [
        (task.id, excerpt(task.question, 300), excerpt(" / ".join(task.accepted_answers), 300))
        for task in form.spec.tasks[:PREVIEWED]
    ]


def _prompt(form: TaskForm, stored: Task | None) -> dict[str, Any] | None:
    """What a run sends for the task as it stands in the form; ``None`` while it is empty or has errors."""
    if form.is_bound and form.is_valid() and form.task is not None:
        prompt = prompt_of(Task(version=form.version, **stored_fields(form.task)), {})
    elif stored is not None and not form.is_bound:
        prompt = prompt_of(stored, {})
    else:
        return None
    return {"turns": turns((*prompt.messages, *prompt.turns)), "tools": prompt.tools, "hash": prompt.hash()}


def _reason(refusal: InvalidRequest | NotPossible) -> str:
    if isinstance(refusal, NotPossible):
        return refusal.message
    return " ".join(f"{path}: {text}" for path, texts in refusal.errors.items() for text in texts)
