"""Review queues: draw answers for people to label, label them one by one by keyboard, export and import labels."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.dataset_format.messages import images_of
from benchmarks.forms.reviews import ImportLabelsForm, ReviewForm
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Label, Result, ReviewItem, ReviewQueue
from benchmarks.models.reviews import rubric_of_label
from benchmarks.presentation.judges import ENOUGH
from benchmarks.presentation.labels import LABEL_FLAG, SAMPLING, STRATUM, metric_title
from benchmarks.presentation.numbers import n_of, plural, points
from benchmarks.queries import reviews as reads
from benchmarks.queries.canvas_sets import canvas_of_task
from benchmarks.queries.judge_agreement import review_alpha
from benchmarks.queries.results import scores_of
from benchmarks.queries.steps import Steps, has_steps
from benchmarks.queries.tables.reviews import DISAGREEMENTS, DONE_REVIEWS, REVIEWERS, REVIEWS, DoneReview, review_rows
from benchmarks.services.access import EDIT_REFUSAL, Caller, may, may_label, may_launch, may_see_reviewers
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import reviewer_name
from benchmarks.services.reviews import queues as services
from benchmarks.services.reviews.files import CONTENT_TYPES, export_labels
from benchmarks.statistics.intervals import mean_interval
from frontend import params
from frontend.preferences import preferences_beside
from frontend.reviews import label_form, label_row, review_pair, unlabeled_words
from frontend.steps import ReviewSteps, review_steps
from frontend.texts import excerpt, passages_of
from frontend.views.result_labels import refused_label, require_label, submitted_label
from frontend.views.shared import or_404, require_launch, unconfirmed

PAGE_SIZE = 50
DISAGREEMENTS_SHOWN = 50

ACTIONS: dict[str, tuple[Callable[[ReviewQueue, Caller], None], str]] = {
    "close": (services.close_review, "Review {} closed."),
    "reopen": (services.reopen_review, "Review {} reopened."),
    "delete": (services.delete_review, "Review {} deleted."),
}
"""Action → what performs it, and what the page says afterwards."""


@never_cache
@require_safe
def review_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(reads.reviews(), PAGE_SIZE).get_page(request.GET.get("page"))
    reader, labels = reviewer_name(request.user), may_label(request.user)
    rows = review_rows(list(page.object_list), reader, time.time(), may_label=labels)
    conclusions, closes = reads.conclusions_of(page.object_list), may_launch(request.user)
    done = [DoneReview(row, conclusions.get(row.queue.pk), closes) for row in rows if row.is_done]
    context = {
        "page": page,
        "reviews": REVIEWS.of(row for row in rows if not row.is_done),
        "done": DONE_REVIEWS.of(done),
        "may_launch": closes,
    }
    return render(request, "frontend/reviews/list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form of a review, with the runs of ``?runs=1,2`` or of ``?experiment=3``, or with ``?preference=4``;
    ``?method=rest&size=40`` as a judge's page advises it."""
    require_launch(request)
    initial: dict[str, object] = {"runs": params.run_ids(request.GET), "metric": params.text(request.GET, "metric")}
    initial |= {name: params.whole_number(request.GET, name) for name in ("experiment", "preference")}
    initial |= {name: value for name in ("method", "size") if (value := params.text(request.GET, name))}
    form = ReviewForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and (queue := form.save(request.user)):
        drawn = plural(queue.items.count(), "pair" if queue.is_of_pairs else "answer")
        messages.success(request, f"Review {queue.name} created with {drawn}.")
        return HttpResponseRedirect(_page_of(queue))
    context = {
        "form": form,
        "precision": [(n, points(_widest(n))) for n in _sizes(form.available)],
        "widest": points(_widest(form.available or 0)),
        "enough": ENOUGH,
        "crumbs": [("Review", reverse("frontend:reviews")), ("New review", None)],
    }
    return render(request, "frontend/reviews/new.html", context, status=400 if form.errors else 200)


def _sizes(available: int | None) -> list[int]:
    """Numbers of labels that can be given, of all that are ``available``."""
    if available is None or available > 200:
        return [ENOUGH, 100, 200]
    return [n for n in (ENOUGH, 100) if n < available] + ([available] if available > 1 else [])


def _widest(n: int) -> float:
    """Half the width of the interval of ``n`` labels of which half agree, the widest one."""
    return mean_interval([0.0, 1.0] * (n // 2)).half_width or 0.0


@never_cache
@require_safe
def review(request: HttpRequest, pk: int) -> HttpResponse:
    queue = _queue(pk)
    return _detail(request, queue, ImportLabelsForm())


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def label(request: HttpRequest, pk: int) -> HttpResponse:
    """One answer to label. A GET changes nothing; labeling starts, goes on and goes back by POST."""
    require_label(request)
    queue, reviewer = _queue(pk), reviewer_name(request.user)
    if request.method == "POST":
        return _labeled(request, queue)
    item = reads.claimed_item(queue, reviewer) if queue.closed_at is None else None
    if item is None:
        return HttpResponseRedirect(_page_of(queue))
    own = reads.own_label(item.result, queue.metric, reviewer)
    return _label_page(request, queue, item, own)


def _labeled(request: HttpRequest, queue: ReviewQueue) -> HttpResponse:
    """Perform what a button of the page says, and go to the answer that comes next."""
    # The buttons of a pair are its values.
    do = request.POST.get("do") or ("save" if "value" in request.POST else "start")
    item = params.whole_number(request.POST, "item") or 0
    try:
        if do == "save":
            following = services.save_and_next(queue, item, submitted_label(request), request.user)
        elif do == "skip":
            following = services.skip_and_next(queue, item, request.user)
        elif do == "undo":
            following = services.undo(queue, request.user)
        else:
            following = services.start_labeling(queue, request.user)
    except InvalidRequest as refusal:
        messages.error(request, refused_label(refusal))
        if shown := reads.claimed_item(queue, reviewer_name(request.user)):
            return _label_page(request, queue, shown, _unsaved(request), status=400)
        return HttpResponseRedirect(_page_of(queue))
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(reverse("frontend:review-label", args=(queue.pk,)))
    if following is None:
        what = "pair" if queue.is_of_pairs else "answer"
        messages.success(request, f"You have labeled every {what} that is left for you.")
        return HttpResponseRedirect(_page_of(queue))
    return HttpResponseRedirect(reverse("frontend:review-label", args=(queue.pk,)))


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Close, reopen or delete a review."""
    require_launch(request)
    if action not in ACTIONS:
        raise Http404(f"{action} is not an action for reviews.")
    perform, done = ACTIONS[action]
    queue = _queue(pk)
    question = f"Delete review {queue.name}?"
    note = f"Its {plural(queue.labels.count(), 'label')} are kept with their answers."
    if action == "delete" and (confirmation := unconfirmed(request, question, "Delete review", _page_of(queue), note)):
        return confirmation
    perform(queue, request.user)
    messages.success(request, done.format(queue.name))
    return HttpResponseRedirect(reverse("frontend:reviews") if action == "delete" else _page_of(queue))


@require_safe
def export(request: HttpRequest, pk: int, form: str) -> StreamingHttpResponse:
    if form not in CONTENT_TYPES:
        raise Http404(f"The export format {form} is not available. Choose one of: {', '.join(CONTENT_TYPES)}.")
    queue = _queue(pk)
    headers = {"Content-Disposition": f'attachment; filename="labels-{pk}.{form}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(
        export_labels(queue, form, request.user), content_type=CONTENT_TYPES[form], headers=headers
    )


@require_POST
def import_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Store the labels of a file."""
    if not may_see_reviewers(request.user):
        raise PermissionDenied(EDIT_REFUSAL)
    queue = _queue(pk)
    form = ImportLabelsForm(request.POST, request.FILES)
    if imported := form.save(queue, request.user):
        done = f"{imported.new} new, {imported.corrected} corrected, {imported.unchanged} unchanged."
        messages.success(request, f"Labels imported: {done}")
        return HttpResponseRedirect(_page_of(queue))
    return _detail(request, queue, form, status=400)


def _detail(request: HttpRequest, queue: ReviewQueue, form: ImportLabelsForm, status: int = 200) -> HttpResponse:
    reader, with_names = reviewer_name(request.user), may_see_reviewers(request.user)
    counts = reads.review_counts(queue)
    conclusion = reads.conclusion_of(queue)
    hidden = queue.blind and queue.closed_at is None
    items, now = list(queue.items.all()), time.time()
    reviewers = [
        (each.name if with_names or each.name == reader else f"Reviewer {number}", each)
        for number, each in enumerate(counts.reviewers, 1)
    ]
    context = {
        "queue": queue,
        "metric": metric_title(queue.metric),
        "counts": counts,
        "alpha": review_alpha(queue),
        "same": counts.twice - counts.disagreeing,
        "progress": reads.progress_of(items, reader, now),
        "unlabeled": unlabeled_words(reads.unlabeled_by_others(items, reader, now)),
        "reviewers": REVIEWERS.of(reviewers),
        "conclusion": conclusion,
        "unscored": queue.closed_at and not conclusion and reads.is_unscored(queue),
        "agreed": conclusion and n_of(conclusion.n - len(conclusion.disagreements), conclusion.n),
        "enough": ENOUGH,
        "preferences": preferences_beside(queue),
        "shown": DISAGREEMENTS_SHOWN,
        "disagreements": DISAGREEMENTS.of(conclusion.disagreements[:DISAGREEMENTS_SHOWN]) if conclusion else None,
        "sampling": SAMPLING.get(queue.sampling["method"], ""),
        "stratum": STRATUM.get(queue.sampling.get("by", ""), ""),
        "noun": "pair" if queue.is_of_pairs else "answer",
        "sources_hidden": hidden,
        "may_label": may_label(request.user),
        "may_manage": may_launch(request.user),
        "may_import": with_names,
        "may_copy": may(request.user, "benchmarks.add_task"),
        "form": form,
        "crumbs": [("Review", reverse("frontend:reviews")), (queue.name, None)],
    }
    return render(request, "frontend/reviews/detail.html", context, status=status)


def _unsaved(request: HttpRequest) -> Label:
    """What the refused form said, to be shown in it again."""
    value, flags = params.real_number(request.POST, "value"), request.POST.getlist("flags")
    step = params.whole_number(request.POST, "first_wrong_step")
    return Label(value=value, flags=flags, reason=request.POST.get("reason", ""), first_wrong_step=step)


def _label_page(
    request: HttpRequest, queue: ReviewQueue, item: ReviewItem, own: Label | None, status: int = 200
) -> HttpResponse:
    result, reviewer = item.result, reviewer_name(request.user)
    task, transcript, metric = result.task, result.transcript, metric_named(queue.metric)
    rubric = rubric_of_label(queue.metric, result)
    steps = _steps_of(result)
    counts = reads.review_counts(queue)
    context = {
        "queue": queue,
        "item": item,
        "task": task,
        "pair": review_pair(item, _steps_of_pair(request, item)) if queue.is_of_pairs else None,
        "metric": metric_title(queue.metric),
        # What a judge does is no help to people.
        "description": metric.description if metric and not metric.judged else "",
        "criteria": rubric.criteria if rubric else (),
        "answer": excerpt(transcript.actual_output),
        "steps": _shown_steps(request, steps, queue.blind),
        "passages": passages_of(task.context, transcript.retrieved),
        "images": images_of(task.messages),
        "canvas": canvas_of_task(task),
        "scores": [] if queue.blind else scores_of(result),
        "form": label_form(queue.metric, result, own, steps.counts().total if steps else 0),
        "progress": reads.progress_of(list(queue.items.all()), reviewer, time.time()),
        "last": [
            (number, answer, label_row(each, each.result))
            for number, answer, each in reads.last_labels(queue, reviewer)
        ],
        "flag_titles": LABEL_FLAG,
        "counts": counts,
        "same": counts.twice - counts.disagreeing,
        "crumbs": [("Review", reverse("frontend:reviews")), (queue.name, _page_of(queue))],
    }
    template = "choose" if queue.is_of_pairs else "label"
    return render(request, f"frontend/reviews/{template}.html", context, status=status)


def _steps_of(result: Result) -> Steps | None:
    """Those of an agent; ``None`` for a plain answer."""
    transcript = getattr(result, "transcript", None)
    return Steps(result) if (transcript and transcript.tool_calls) or has_steps(result) else None


def _steps_of_pair(request: HttpRequest, item: ReviewItem) -> list[ReviewSteps | None]:
    answers = reads.answers_of_pair(item.result.task)
    return [
        _shown_steps(request, _steps_of(answer) if answer else None, item.queue.blind, side)
        for answer, side in zip(answers, ("left_", "right_"), strict=True)
    ]


def _shown_steps(request: HttpRequest, steps: Steps | None, blind: bool, side: str = "") -> ReviewSteps | None:
    if steps is None:
        return None
    first = params.whole_number(request.GET, f"{side}from") or 1
    return review_steps(steps, blind, first, params.whole_number(request.GET, f"{side}step"), side)


def _queue(pk: int) -> ReviewQueue:
    return or_404(lambda: reads.review_detail(pk), f"Review {pk} does not exist.")


def _page_of(queue: ReviewQueue) -> str:
    return reverse("frontend:review", args=(queue.pk,))
