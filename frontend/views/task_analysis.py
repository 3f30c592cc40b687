"""What the runs say of the tasks of a dataset, and what can be done with flagged ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.analysis.matrices import short_names
from benchmarks.analysis.task_analysis import FLAGS
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.presentation.labels import metric_title, sentence_case
from benchmarks.presentation.numbers import MISSING, number, plural
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.texts import visible
from benchmarks.queries.datasets import FEW_MORE, versions_of
from benchmarks.queries.task_analysis.analysis import task_analysis, task_analysis_if_ready
from benchmarks.queries.task_analysis.pages import DOUBTFUL, MOST_COLUMNS, AnalyzedTask, analysis_page, doubtful_tasks
from benchmarks.services.access import EDIT_REFUSAL, may_edit
from benchmarks.services.datasets.editing import remove_tasks
from benchmarks.services.datasets.versions import mark_doubtful
from benchmarks.services.errors import InvalidRequest, NotPossible
from frontend import params
from frontend.chips import chips
from frontend.matrix import TINTS
from frontend.views.datasets import dataset_or_404, dataset_page, sample_of, version_or_404

MOST_SELECTED = 1_000


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in words: cells with the score in percent and its tint for each model, and its flags with their labels."""

    task: Any
    shares: SafeString
    discrimination: str
    bar: SafeString
    flags: Sequence[tuple[str, str, str]]
    duplicate_of: Any

    def says_more_than(self, flag: str) -> bool:
        """Whether the row has a mark besides the flag that all rows have by the filter."""
        return bool(self.duplicate_of or self.task.is_doubtful or any(kind != flag for kind, _, _ in self.flags))


@never_cache
@require_safe
def analysis(request: HttpRequest, slug: str) -> HttpResponse:
    dataset = dataset_or_404(slug)
    shared = dataset_page(request, dataset)
    version = shared["version"]
    if version is None:
        raise Http404(f"{slug} has no valid version to analyze.")
    computed = task_analysis_if_ready(version, params.text(request.GET, "metric"))
    if computed is None:
        return render(request, "frontend/datasets/analysis_pending.html", shared)
    filters = params.analysis_filters(request.GET)
    number_of_page = params.whole_number(request.GET, "page") or 1
    page = analysis_page(version, computed, filters, number_of_page, few=FEW_MORE)
    n_doubtful = doubtful_tasks(version)
    chosen = len(computed.flags.get(filters.flag, ()))
    short = short_names([model.name for model in computed.models[:MOST_COLUMNS]])
    is_binary = all(share in (0.0, 1.0, None) for row in page.rows for share in row.shares)
    rows = [_shown(row, list(short.values()), is_binary) for row in page.rows]
    is_same = bool(filters.flag) and is_binary and len(rows) > 1 and len({tuple(row.shares) for row in page.rows}) == 1
    metrics = [(name, metric_title(name)) for name in computed.metrics]
    groups = version.facets.get("group") or version.facets.get("difficulty", {})
    context = shared | {
        "sample": sample_of(version),
        "versions": [each.number for each in versions_of(dataset)],
        "analysis": computed,
        "metrics": metrics,
        "columns": list(short.items()),
        "n_hidden": max(0, len(computed.models) - MOST_COLUMNS),
        "page": page,
        "rows": rows,
        "is_binary": is_binary,
        "has_scores": not is_same and any(share is not None for row in page.rows for share in row.shares),
        "same_shares": _all_solve(short, page.rows[0].shares) if is_same else "",
        "has_flags": any(row.says_more_than(filters.flag) for row in rows),
        "has_discrimination": any(row.discrimination != MISSING for row in rows),
        "previous": page.number - 1,
        "next": page.number + 1,
        "filters": filters,
        "kinds": [
            *computed.to_do,
            *(
                [(DOUBTFUL, "Marked as doubtful", n_doubtful, "Not scored, unless a run includes them.")]
                * bool(n_doubtful)
            ),
        ],
        "chips": chips(
            request.GET,
            {"flag": "", "version": "Version", "metric": "Metric", "group": ""},
            {
                "flag": {**FLAGS, DOUBTFUL: "Marked as doubtful"},
                "metric": dict(metrics),
                "group": {name: sentence_case(name) for name in groups},
            },
        ),
        "groups": groups,
        "n_doubtful": n_doubtful,
        "whole_flag": chosen if chosen and not (filters.group or filters.text) else 0,
        "may_edit": may_edit(request.user),
        "may_remove": dataset.kind == Dataset.Kind.YAML and version.pk == dataset.current_version_id,
    }
    return render(request, "frontend/datasets/analysis.html", context)


@require_POST
def act_on_tasks(request: HttpRequest, slug: str, action: str) -> HttpResponse:
    """Do one of ``_TASK_ACTIONS`` with the selected tasks, or with all that have a flag, and report the outcome."""
    if not may_edit(request.user):
        raise PermissionDenied(EDIT_REFUSAL)
    dataset = dataset_or_404(slug)
    version = version_or_404(dataset, params.whole_number(request.POST, "version") or 0)
    if action not in _TASK_ACTIONS:
        raise Http404(f"{action} is not an action for tasks.")
    back = f"{reverse('frontend:task-analysis', args=(slug,))}?version={version.number}"
    try:
        messages.success(request, _TASK_ACTIONS[action](version, _chosen_tasks(request, version), request))
        if action == "remove":
            back = reverse("frontend:dataset", args=(slug,))
    except NotPossible as error:
        messages.error(request, error.message)
    except InvalidRequest as error:
        messages.error(request, " ".join(text for texts in error.errors.values() for text in texts))
    following = request.POST.get("next", "")
    # Only paths of this site: an address of another host would make this an open redirect.
    is_ours = url_has_allowed_host_and_scheme(following, allowed_hosts=None)
    return HttpResponseRedirect(following if is_ours else back)


def _chosen_tasks(request: HttpRequest, version: DatasetVersion) -> list[str]:
    """The ids of the selected tasks; with ``all`` those of all tasks with ``flag``, if they are still as many."""
    expected = params.whole_number(request.POST, "all")
    if expected is None:
        return [key.replace("\0", "") for key in request.POST.getlist("task")[:MOST_SELECTED]]
    computed = task_analysis(version, params.text(request.POST, "metric"))
    places = computed.flags.get(params.text(request.POST, "flag"), ())
    if len(places) != expected:
        raise NotPossible("The analysis has changed since you opened the page. Check the flags and try again.")
    chosen = [int(computed.tasks[place]) for place in places]
    return list(version.tasks.filter(pk__in=chosen).values_list("task_id", flat=True))


def _remove(version: DatasetVersion, task_ids: list[str], request: HttpRequest) -> str:
    if not task_ids:
        raise NotPossible("Select at least one task.")
    new = remove_tasks(version.dataset, version.pk, task_ids, request.user)
    return f"Version {new.number} created without {plural(len(task_ids), 'task')}."


def _mark(version: DatasetVersion, task_ids: list[str], request: HttpRequest) -> str:
    count = mark_doubtful(version, task_ids, request.user)
    return f"{plural(count, 'expected answer')} marked as doubtful. A worker updates the numbers of the runs."


def _unmark(version: DatasetVersion, task_ids: list[str], request: HttpRequest) -> str:
    count = mark_doubtful(version, task_ids, request.user, doubtful=False)
    return f"{plural(count, 'expected answer')} no longer marked as doubtful. A worker updates the numbers of the runs."


_TASK_ACTIONS: dict[str, Callable[[DatasetVersion, list[str], HttpRequest], str]] = {
    "remove": _remove,
    "mark-doubtful": _mark,
    "unmark-doubtful": _unmark,
}


def _all_solve(short: Mapping[str, str], shares: Sequence[float | None]) -> str:
    """Which models solve every task shown, and which none, where the tasks do not differ."""
    solving = [name for name, share in zip(short.values(), shares, strict=False) if share == 1]
    failing = [name for name, share in zip(short.values(), shares, strict=False) if share == 0]
    said = [f"✓ {listed(solving)}" if solving else "", f"✕ {listed(failing)}" if failing else ""]
    return ", ".join(filter(None, said))


def _shown(row: AnalyzedTask, models: Sequence[str], is_binary: bool) -> TaskRow:
    value = row.discrimination

    def words(share: float) -> str:
        return ("✓" if share else "✕") if is_binary else f"{100 * share:.0f}"

    def tint(share: float) -> str | int:
        return ("right" if share else "wrong") if is_binary else 1 + sum(share >= bound for bound in TINTS)

    return TaskRow(
        task=row.task,
        shares=format_html_join(
            "",
            '<td class="num matrix-score tint-{}" data-label="{}">{}</td>',
            (
                (0, visible(model), MISSING) if share is None else (tint(share), visible(model), words(share))
                for model, share in zip(models, row.shares, strict=False)
            ),
        ),
        discrimination=number(value, 2),
        bar=SafeString("") if value is None else _bar(value),
        flags=[(kind, FLAGS[kind], detail) for kind, detail in row.flags],
        duplicate_of=row.duplicate_of,
    )


def _bar(value: float) -> SafeString:
    """A correlation as a bar from the middle, which is 0."""
    return format_html(
        '<svg class="correlation{}" viewBox="0 0 64 12" width="64" height="12" aria-hidden="true">'
        '<rect x="{}" y="3" width="{}" height="6"/><line x1="32" x2="32" y1="0" y2="12"/></svg>',
        " negative" if value < 0 else "",
        f"{32 + 32 * min(value, 0):.1f}",
        f"{32 * abs(value):.1f}",
    )
