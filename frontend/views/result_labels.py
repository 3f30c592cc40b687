"""Labels on the page of a result."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchmarks.models import Result
from benchmarks.presentation.labels import LABEL_FLAG, metric_title
from benchmarks.queries import reviews as reads
from benchmarks.queries.results import result_detail
from benchmarks.services.access import LABEL_REFUSAL, may_label, may_see_reviewers
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import WITHOUT_ANSWER, label_result, reviewer_name, withdraw_label
from frontend.reviews import contradiction, label_form, shown_labels
from frontend.views.shared import or_404

FIELDS = {
    "metric": "Metric",
    "value": "Label",
    "reason": "Note",
    "first_wrong_step": "First wrong step",
    "flags": "Flags",
}
"""Field of a label → what it is called on pages."""


@require_POST
def label(request: HttpRequest, run_pk: int, pk: int) -> HttpResponse:
    """Store or withdraw the label of the person who looks at a result, and return to the result."""
    require_label(request)
    result = or_404(lambda: result_detail(run_pk, pk), f"Result {pk} does not exist in run {run_pk}.")
    metric = request.POST.get("metric", "")
    try:
        if request.POST.get("do") == "withdraw":
            gone = withdraw_label(result, metric, request.user)
            done = "Label withdrawn." if gone else "You have no label to withdraw."
        else:
            label_result(result, submitted_label(request), request.user)
            done = "Label saved."
        messages.success(request, done, extra_tags="passing")
    except InvalidRequest as refusal:
        messages.error(request, refused_label(refusal))
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    page = reverse("frontend:result", args=(run_pk, pk))
    return HttpResponseRedirect(f"{page}?label_by={metric}#label" if metric in result.run.metrics else f"{page}#label")


def require_label(request: HttpRequest) -> None:
    if not may_label(request.user):
        raise PermissionDenied(LABEL_REFUSAL)


def submitted_label(request: HttpRequest) -> dict[str, Any]:
    """The fields of a label form as the service takes them."""
    return {
        "metric": request.POST.get("metric", ""),
        "value": request.POST.get("value") or None,
        "reason": request.POST.get("reason", ""),
        "first_wrong_step": request.POST.get("first_wrong_step") or None,
        "flags": request.POST.getlist("flags"),
    }


def refused_label(refusal: InvalidRequest) -> str:
    problems = (f"{FIELDS.get(name, name)}: {' '.join(texts)}" for name, texts in refusal.labeled(FIELDS).items())
    return f"Label not saved. {' '.join(problems)}"


def labels_on_page(request: HttpRequest, result: Result, n_steps: int) -> dict[str, Any]:
    """What the page of a result shows of labels: the reader's form, if there may be one, and what others say."""
    labels = reads.labels_of_answer(result, reviewer_name(request.user), may_see_reviewers(request.user))
    metrics = reads.labelable_metrics(result.run)
    chosen = request.GET.get("label_by", "")
    metric = chosen if chosen in metrics else metrics[0]
    may = may_label(request.user) and result.outcome not in WITHOUT_ANSWER and not result.run.texts_pruned
    return {
        "form": label_form(metric, result, labels.mine(metric), n_steps) if may else None,
        "metric": metric_title(metric),
        "other_metrics": [(name, metric_title(name)) for name in metrics if name != metric],
        "labels": shown_labels(labels, result),
        "contradiction": contradiction(labels, result),
        "n_hidden": labels.n_hidden,
        "flag_titles": LABEL_FLAG,
    }
