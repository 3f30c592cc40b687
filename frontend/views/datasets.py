"""Datasets, their tasks, and what changed between two versions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple

from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.analysis.task_analysis import TaskAnalysis
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.messages import images_of
from benchmarks.dataset_format.spec import TASK_KEYS, TaskSpec, as_mapping
from benchmarks.extras import command
from benchmarks.metrics.code_tests import CodeTests
from benchmarks.models import ERRORS, Dataset, DatasetVersion, Outcome, Result, Run, ScoreDrop, Task
from benchmarks.presentation.labels import metric_title, sentence_case, task_key
from benchmarks.presentation.numbers import n_of, plural
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.texts import visible
from benchmarks.queries import datasets as reads
from benchmarks.queries.benchmarks import benchmarks_of
from benchmarks.queries.history import History, histories, latest_runs
from benchmarks.queries.leaderboard import completed_runs, read_guesses, standings, whole_runs
from benchmarks.queries.live import live_state
from benchmarks.queries.results import same_task_elsewhere
from benchmarks.queries.runs import RunFilters, moved_by, run_list, runs_to_rescore
from benchmarks.queries.schedules import open_score_drops
from benchmarks.queries.tables.comparisons import MovedRow, moved_table
from benchmarks.queries.tables.datasets import PROBLEMS, SCORED_DATASETS, VERSIONS, version_rows
from benchmarks.queries.tables.run_list import runs_table
from benchmarks.queries.task_analysis.analysis import task_analysis_if_ready
from benchmarks.services.access import may, may_launch
from benchmarks.services.canvas_sets.files import MOST_ZIPPED, first_file, zipped_canvases
from benchmarks.services.datasets.versions import spec_of
from frontend import params
from frontend.chips import Chip, chips
from frontend.history import history_charts, of_two_runs
from frontend.inbox import drop_notices
from frontend.large_ruler import LargeRuler, Scored
from frontend.navigation import dataset_tabs, dataset_trail
from frontend.texts import Difference, Segment, difference, excerpt
from frontend.view_models import AnswerMarks, answer_marks, metric_row
from frontend.views.canvases import more_url
from frontend.views.shared import chart_response, or_404, paged, placed

_BRIEF = 60
"""Characters of values that stand in one line."""


class Part(NamedTuple):
    """A field with its texts in two versions, and their marked difference."""

    title: str
    left: str
    right: str
    difference: Difference | None

    @property
    def marked(self) -> Sequence[Segment] | None:
        """Both texts in one; ``None`` of two long ones that share too little for that."""
        if self.difference:
            return self.difference.both
        if self.is_brief or not (self.left and self.right):
            return [(kind, text) for kind, text in (("removed", self.left), ("added", self.right)) if text]
        return None

    @property
    def is_brief(self) -> bool:
        return not any(len(text) > _BRIEF or "\n" in text for text in (self.left, self.right))


HEAD = {
    "name": "Name",
    "description": "Description",
    "metrics": "Metrics",
    "tools": "Tools of every task",
    "tool_results": "Tool results",
    "world": "World of every task",
    "rubrics": "Rubrics",
}
"""Fields of a version besides its tasks, with their titles."""
_COMPARED = tuple(key for key in (*TASK_KEYS, "other_answers") if key not in ("id", "messages"))
"""Keys of a task, of which the input has the text of messages."""
_SHOWN = TaskSpec.describing | {"input", "expected_output", "other_answers", "context"}
_OTHERS = tuple(key for key in _COMPARED if key not in _SHOWN)
"""Those that the page of a task does not show in a way of its own."""
_TASK_QUERY = {"text", "difficulty", "group", "after", "before"}
PAGE_SIZE = 50
RUNS_SHOWN = 5
SAMPLED = 5
PREVIEWED = 1
"""Tasks of a dataset in the preview of its file."""
FILE_SHOWN = 20_000
"""Characters of a canvas file."""
VERSIONS_COMPARED = 5
"""The newest versions of which the list says what they changed."""
NEWEST_SHOWN, MOST_INLINE = 3, 1_000
"""Tasks each that the newest version added, removed and changed, on the list of versions; and tasks of versions that
are compared each time for that."""
MOST_NAMED = 3
"""Models whose answers to a task are not correct."""
MOVED_SHOWN = 20
PROBLEMS_SHOWN = 50
CHANGES_SHOWN = 40
MOST_STATED = 10_000
"""Tasks of a version whose analysis is read for one statement."""


@require_safe
def dataset_list(request: HttpRequest) -> HttpResponse:
    written = reads.dataset_list().filter(kind=Dataset.Kind.YAML).order_by("name", "slug")
    page = Paginator(written, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = benchmarks_of(reads.with_last_runs(page))
    table = SCORED_DATASETS.where(may_launch=may_launch(request.user))
    context = {
        "live_state": live_state(),
        "page": page,
        "datasets": table.of(rows, sortable=page.paginator.num_pages == 1),
        "has_marks": any(row.has_marks for row in rows),
        "files": [
            (file, PROBLEMS.of(file.problems[:PROBLEMS_SHOWN], title=f"Errors in {file.path}"))
            for file in reads.files_needing_attention()
        ],
        "may": _permissions(request),
    }
    return render(request, "frontend/datasets/list.html", context)


@require_safe
def dataset(request: HttpRequest, slug: str) -> HttpResponse:
    """The tab of results. Addresses of 0.1.0 that filter tasks lead to the tab of tasks."""
    if _TASK_QUERY & request.GET.keys():
        url = reverse("frontend:dataset-tasks", args=(dataset_or_404(slug).slug,))
        return HttpResponseRedirect(f"{url}?{request.GET.urlencode()}")
    context = dataset_page(request, dataset_or_404(slug))
    standing, over_time = _standing(context["version"]), _histories(context["dataset"])
    drops = _drops(standing["latest"]) if standing else []
    context |= {
        "runs": runs_table(run_list(RunFilters(dataset=slug))[:RUNS_SHOWN], "Latest runs", ["dataset"], told=drops),
        "standing": standing,
        "drops": drop_notices(drops),
        "charts": placed(history_charts(over_time, by_dataset=False), "dataset-chart", slug),
        "two_runs": of_two_runs(over_time, by_dataset=False, told=drops),
        "analysis": _analysis(context["version"]),
        "sample": sample_of(context["version"]),
    }
    return render(request, "frontend/datasets/results.html", context)


@require_safe
def tasks(request: HttpRequest, slug: str) -> HttpResponse:
    """The tasks of a version."""
    context, filters = dataset_page(request, dataset_or_404(slug)), params.task_filters(request.GET)
    version = context["version"]
    if version:
        page = paged(request, lambda after, before: reads.task_page(version, filters, after, before))
        context |= {"filters": filters, "page": page, "marks": _marks(version, page.rows), "chips": _chips(request.GET)}
        if filters == reads.TaskFilters() and (page.after or page.before):
            context["numbered"] = page.rows[0].position, page.rows[-1].position
    return render(request, "frontend/datasets/tasks.html", context)


@require_safe
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """All versions, with what can be done with each."""
    context = dataset_page(request, dataset_or_404(slug))
    stored, is_written = reads.versions_of(context["dataset"]), context["is_written"]
    table = VERSIONS.where(is_written=is_written, may_restore=is_written and context["may"]["change_dataset"])
    context |= {
        "versions": table.of(
            version_rows(
                context["dataset"],
                stored,
                reads.runs_by_version(context["dataset"]),
                {new.pk: _done_by(old, new) for new, old in pairwise(stored[: VERSIONS_COMPARED + 1])},
            )
        ),
        "numbers": [each.number for each in stored],
    }
    if is_written and len(stored) > 1 and max(each.task_count for each in stored[:2]) <= MOST_INLINE:
        context |= _between(stored[1], stored[0], NEWEST_SHOWN) | {"suffix": f" in version {stored[0].number}"}
    return render(request, "frontend/datasets/versions.html", context)


@require_safe
def files(request: HttpRequest, slug: str) -> HttpResponse:
    """The file that the dataset comes from, and its files to download."""
    context = dataset_page(request, dataset_or_404(slug))
    version, canvas_set = context["version"], context["dataset"].canvas_set
    if canvas_set is not None:
        name, text = first_file(canvas_set)
        context["first_file"] = name, excerpt(text, FILE_SHOWN)
        context["may_zip"] = canvas_set.count <= MOST_ZIPPED
        context["export_command"] = command(f"canvases export {canvas_set.slug} exported", python="python")
    if version and context["is_written"]:
        context["metrics"] = [metric_title(name) for name in version.metrics]
        context["begins"] = excerpt(first_tasks(version, PREVIEWED)).text
        context["n_more"] = max(0, version.task_count - PREVIEWED)
    return render(request, "frontend/datasets/files.html", context)


def dataset_page(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    """What every tab of a dataset shows, of its current version unless ``?version=`` names another."""
    number = params.whole_number(request.GET, "version")
    return {
        "live_state": live_state(),
        "dataset": dataset,
        "version": version_or_404(dataset, number) if number else dataset.current_version,
        "may_launch": may_launch(request.user),
        "has_leaderboard": completed_runs().filter(dataset=dataset).exists(),
        "may": _permissions(request),
        "is_written": dataset.kind == Dataset.Kind.YAML,
        "more_url": more_url(request, dataset.canvas_set) if dataset.canvas_set else "",
        "crumbs": dataset_trail(dataset),
        "tabs": dataset_tabs(request, dataset),
    }


@require_safe
def chart(request: HttpRequest, slug: str, name: str, form: str) -> HttpResponse:
    return chart_response(request, history_charts(_histories(dataset_or_404(slug)), by_dataset=False), name, form)


def _chips(query: QueryDict) -> list[Chip]:
    """The filters of tasks in force; their values are named by themselves."""
    titles = {name: {value: sentence_case(value) for value in query.getlist(name)} for name in ("difficulty", "group")}
    return chips(query, {"version": "Version", "difficulty": "", "group": ""}, titles)


def first_tasks(version: DatasetVersion, count: int) -> str:
    """As YAML, without what stands above the tasks in the file."""
    return dedent(dump_dataset(spec_of(version, count)).partition("\ntasks:\n")[2])


def sample_of(version: DatasetVersion | None) -> Callable[[], Sequence[Task]]:
    """Reads the first tasks, which a page without results shows."""
    return lambda: list(reads.task_list(version)[:SAMPLED]) if version else []


def _marks(version: DatasetVersion, tasks: Sequence[Task]) -> AnswerMarks | None:
    analysis = _analysis(version)
    return answer_marks(analysis, (task.pk for task in tasks)) if analysis and analysis.models else None


def _analysis(version: DatasetVersion | None) -> TaskAnalysis | None:
    if version is None or version.task_count > MOST_STATED:
        return None
    return task_analysis_if_ready(version)


def _standing(version: DatasetVersion | None) -> dict[str, Any] | None:
    """All models on one ruler: the setting of most of the latest runs, and how it was scored."""
    found = standings(whole_runs(version)[0]) if version else []
    if not found:
        return None
    standing = found[0]
    read_guesses([place.run for place in standing.places])
    ranked = [place for place in standing.places if place.numbers.mean is not None and not place.run.is_baseline]
    scored = [
        Scored.of(place.run.model_label, mean, place.numbers.low, place.numbers.high)
        for place in ranked
        if (mean := place.numbers.mean) is not None and 0 <= mean <= 1
    ]
    if not scored:
        return None
    guess = ranked[0].run.guess_of(standing.metric)
    said = ", ".join(filter(None, [metric_row(standing.metric).title, standing.setting]))
    latest = [place.run.pk for place in standing.places]
    return {"ruler": LargeRuler(scored, standing.marks, guess), "said": said, "latest": latest}


def _drops(latest: Sequence[int]) -> list[ScoreDrop]:
    """Those of the latest runs: a score that has recovered since is no news."""
    return list(open_score_drops().filter(scheduled_run__run__in=latest))


def _histories(dataset: Dataset) -> list[History]:
    return histories(latest_runs(dataset=dataset))


@require_safe
def download(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    """A version as YAML, or its tasks as JSON Lines; the current one unless ``?version=`` names another. Of a canvas
    set its canvases as ZIP. With ``?show=1`` the browser shows the text."""
    dataset = dataset_or_404(slug)
    if form == "zip" and dataset.canvas_set is not None and dataset.canvas_set.count <= MOST_ZIPPED:
        return FileResponse(zipped_canvases(dataset.canvas_set), as_attachment=True, filename=f"{slug}.zip")
    number = params.whole_number(request.GET, "version")
    version = version_or_404(dataset, number) if number else dataset.current_version
    if dataset.kind != Dataset.Kind.YAML or version is None or form not in ("yaml", "jsonl"):
        raise Http404(f"{slug} cannot be downloaded as {form}.")
    spec = spec_of(version)
    if form == "yaml":
        content, content_type = dump_dataset(spec), "application/yaml"
    else:
        lines = (json.dumps(as_mapping(task), ensure_ascii=False) for task in spec.tasks)
        content, content_type = "\n".join([*lines, ""]), "application/jsonl"
    if "show" in request.GET:
        return HttpResponse(content, content_type="text/plain; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{slug}-version-{version.number}.{form}"'}
    return HttpResponse(content, content_type=f"{content_type}; charset=utf-8", headers=headers)


@require_safe
def task(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    dataset = dataset_or_404(slug)
    task = or_404(lambda: reads.task_detail(dataset, pk), f"Task {pk} does not exist in {slug}.")
    elsewhere = same_task_elsewhere(task)
    context = {
        "dataset": dataset,
        "task": task,
        "images": images_of(task.messages),
        "parts": [(task_key(key), text) for key in _OTHERS if (text := _as_text(task.value_of(key)))],
        "elsewhere": elsewhere,
        "said": _said_of_answers(elsewhere),
        "untested": _untested(task, elsewhere),
        "may_launch": may_launch(request.user),
        "version_before": dataset.versions.filter(number__lt=task.version.number).order_by("number").last(),
        "is_current": dataset.kind == Dataset.Kind.YAML and task.version_id == dataset.current_version_id,
        "may": _permissions(request),
        "crumbs": dataset_trail(dataset, (task.task_id, None)),
    }
    return render(request, "frontend/datasets/task.html", context)


def _said_of_answers(results: Sequence[Result]) -> str:
    """How many of a task's latest answers are correct, by which models not, and how many have no score."""
    if not results:
        return ""
    scored = [result for result in results if result.outcome not in ERRORS]
    right = [each for each in scored if each.outcome == Outcome.CORRECT]
    others = list(dict.fromkeys(each.run.model for each in scored if each not in right))
    unscored = len(results) - len(scored)
    named = f", not {'that' if len(others) == 1 else 'those'} of {visible(listed(others))}"
    is_named = right and 0 < len(others) <= MOST_NAMED and not {each.run.model for each in right} & {*others}
    said = f"{n_of(len(right), len(scored))} latest answers are correct{named if is_named else ''}." if scored else ""
    return f"{said} {plural(unscored, 'more answer')} without a score.".strip() if unscored else said


def _untested(task: Task, results: Sequence[Result]) -> Run | None:
    """The latest run whose score of the task says nothing of its tests: none of these results has run them."""
    if not results or not task.value_of("tests") or any(CodeTests.name in each.run.all_metrics for each in results):
        return None
    return next((each.run for each in results if each.outcome not in ERRORS), None)


@require_safe
def choose_changes(request: HttpRequest, slug: str) -> HttpResponse:
    """The address of the changes between the two versions of a form."""
    dataset = dataset_or_404(slug)
    old, new = (params.whole_number(request.GET, name) for name in ("old", "new"))
    if old is None or new is None:
        return HttpResponseRedirect(reverse("frontend:dataset-versions", args=(dataset.slug,)))
    return HttpResponseRedirect(reverse("frontend:changes", args=(dataset.slug, old, new)))


@require_safe
def changes(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    dataset = dataset_or_404(slug)
    versions = version_or_404(dataset, old), version_or_404(dataset, new)
    between = _between(*versions, CHANGES_SHOWN)
    changes = between["changes"]
    moved = moved_by(*versions, MOVED_SHOWN) if old < new and changes.changed and not changes.added else []
    launches = may_launch(request.user)
    context = {
        "live_state": live_state(),
        "dataset": dataset,
        **between,
        "said": _said_of_changes(old, new, changes, [title for title, *_ in between["head"]]),
        "said_of_tasks": _said_of_fields([[title for title, *_ in parts] for _, parts in between["changed"]]),
        "versions": [each.number for each in reads.versions_of(dataset)],
        "moved": moved_table(old, new).of(MovedRow(*pair, new, launches) for pair in moved),
        "is_open": bool(moved and runs_to_rescore(*versions, 1)),
        "most_moved": MOVED_SHOWN,
        "may_launch": launches,
        "crumbs": dataset_trail(dataset, (f"Version {old} to {new}", None)),
    }
    return render(request, "frontend/datasets/changes.html", context)


def _between(old: DatasetVersion, new: DatasetVersion, limit: int) -> dict[str, Any]:
    """What differs between two versions, of at most ``limit`` tasks each, as ``changed_parts.html`` takes it."""
    changes = reads.version_changes(old, new, limit)
    fields = {task_key(key): key for key in _COMPARED}
    return {
        "old": old.number,
        "new": new.number,
        "changes": changes,
        "head": _head_changes(old, new),
        "changed": [
            (
                after,
                _parts({title: [task.value_of(key) for task in (before, after)] for title, key in fields.items()}),
            )
            for before, after in changes.changed
        ],
    }


def _head_changes(old: DatasetVersion, new: DatasetVersion) -> list[Part]:
    return _parts({title: [getattr(each, name) for each in (old, new)] for name, title in HEAD.items()})


def _done_by(old: DatasetVersion, new: DatasetVersion) -> str:
    """What a version did to the one before it; empty for large ones, which take too long to compare.

    Versions do not change, so two of them are compared once a day.
    """
    if max(old.task_count, new.task_count) > MOST_STATED:
        return ""
    name = f"version_changes:{old.content_hash}:{new.content_hash}"
    done: str | None = cache.get(name)
    if done is None:
        head = [title for title, *_ in _head_changes(old, new)]
        done = listed(_changes_made(reads.version_changes(old, new, 0), head))
        cache.set(name, done, CACHE_SECONDS)
    return f"{done[:1].upper()}{done[1:]}" if done else "Same content"


def _said_of_changes(old: int, new: int, changes: reads.VersionChanges, head: Sequence[str]) -> str:
    """What version ``new`` does to ``old``, in one sentence; ``head`` are titles of what changed besides tasks."""
    done = _changes_made(changes, head)
    return f"Version {new} {listed(done)}." if done else f"Versions {old} and {new} have the same content."


def _changes_made(changes: reads.VersionChanges, head: Sequence[str]) -> list[str]:
    counts = (("adds", changes.n_added), ("removes", changes.n_removed), ("changes", changes.n_changed))
    done = [f"{verb} {plural(count, 'task')}" for verb, count in counts if count]
    if changes.reordered:
        done.append("reorders the tasks")
    if head:
        done.append(f"edits the dataset's {listed([title.lower() for title in head])}")
    return done


def _said_of_fields(tasks: Sequence[Sequence[str]]) -> str:
    """Which fields changed in how many tasks, the most frequent first; of the titles of each task's changed fields."""
    counts = Counter(title for titles in tasks for title in titles).most_common()
    if len(tasks) == 1:
        return listed([title.lower() for title, _ in counts])
    return ", ".join(f"{title.lower()} of {plural(count, 'task')}" for title, count in counts)


def _permissions(request: HttpRequest) -> dict[str, bool]:
    """What the user may do with datasets and tasks, by the name of the permission."""
    names = (f"{verb}_{noun}" for verb in ("add", "change", "delete") for noun in ("dataset", "task"))
    return {name: may(request.user, f"benchmarks.{name}") for name in names}


def dataset_or_404(slug: str) -> Dataset:
    return or_404(lambda: reads.dataset_detail(slug), f"Dataset {slug} does not exist.")


def version_or_404(dataset: Dataset, number: int) -> DatasetVersion:
    missing = f"Version {number} of {dataset.slug} does not exist."
    return or_404(lambda: reads.version_of(dataset, number), missing)


def _parts(pairs: Mapping[str, Sequence[Any]]) -> list[Part]:
    """The values by title that differ between two tasks or versions."""
    texts = ((title, *map(_as_text, values)) for title, values in pairs.items())
    return [Part(title, left, right, difference(left, right)) for title, left, right in texts if left != right]


def _as_text(value: object) -> str:
    """A field's value for reading; empty if the field is not set."""
    if value in (None, [], {}):
        return ""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list) and all(isinstance(each, str) and "\n" not in each for each in value):
        return "\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
