"""Preference runs: their list, the form for a new one, one of them with live progress, and the judged pairs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.models import RunKind
from benchmarks.presentation.preferences import FEWEST_PAIRS
from benchmarks.queries import preferences as reads
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.live import stamp_of_judging, stamp_of_run
from benchmarks.queries.preferences import IDENTICAL
from benchmarks.queries.reviews import open_blind_reviews, reviews_of_pairs
from benchmarks.queries.tables.judges import PROPOSED_PAIRS, preferences_shown
from benchmarks.services.access import may_launch, may_see_reviewers
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.preferences import plan_preference, start_preference
from frontend import params
from frontend.navigation import trail
from frontend.preferences import (
    PreferenceForm,
    PreferenceRow,
    counts_of_verdicts,
    decided_pairs,
    pair_rows,
    pairs_in_words,
    people_row,
    pooled_row,
    preference_row,
    verdicts_of_pairs,
)
from frontend.views.live import live_read
from frontend.views.shared import act_on_judging, or_404, require_launch

PAGE_SIZE, FEW, SUGGESTED = 50, 5, 3
PAIRS, SHOWN = 10, 5
"""Pairs of a page of them, and those on the page of the preference run."""


@live_read(lambda: stamp_of_judging(RunKind.PREFERENCE), within_page=True)
def preference_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(reads.preferences(), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "preferences": preferences_shown(list(page.object_list)),
        "live": any(run.is_live for run in page.object_list),
        "may_launch": may_launch(request.user),
    }
    # Beside few, there is room for what to compare next; a list that reads itself again does not need it.
    if context["may_launch"] and 0 < page.paginator.count <= FEW and "HX-Request" not in request.headers:
        context["proposed"] = PROPOSED_PAIRS.of(reads.proposed_pairs()[:SUGGESTED])
    return render(request, "frontend/preferences/list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new_preference(request: HttpRequest) -> HttpResponse:
    """The form for the runs of ``?runs=1,2``, with judge and criteria of the preference run ``?more=3``.

    A POST estimates or starts the run and redirects to its page.
    """
    require_launch(request)
    sent = request.POST if request.method == "POST" else request.GET
    runs, experiment = params.run_ids(sent), params.whole_number(sent, "experiment")
    if request.method != "POST":
        more = reads.preferences().filter(pk=params.whole_number(request.GET, "more") or 0).first()
        return _form_page(request, PreferenceForm(runs, experiment, more=more))
    form = PreferenceForm(runs, experiment, request.POST)
    try:
        if request.POST.get("do") == "plan":
            plan = plan_preference(form.request_data())
            is_vain = not form.experiment and plan.judge_requests < 2 * FEWEST_PAIRS
            better = reads.most_different_pair(runs_to_compare(form.runs), FEWEST_PAIRS) if is_vain else None
            return _form_page(request, form, plan=plan, is_vain=is_vain, better=better)
        run = start_preference(form.request_data(), request.user)
    except InvalidRequest as error:
        if request.POST.get("do") == "plan":
            return _form_page(request, form, plan_errors=form.problems(error))
        form.reject(error)
        return _form_page(request, form, status=400)
    messages.success(request, f"Preference run {run.pk} queued.", extra_tags="passing")
    return HttpResponseRedirect(reverse("frontend:preference", args=(run.pk,)))


@live_read(stamp_of_run, within_page=True)
def preference(request: HttpRequest, pk: int) -> HttpResponse:
    row, with_open = _row(pk), may_see_reviewers(request.user)
    read = reads.pairs_of_answers(row.run, (), with_open) if row.numbers else []
    counts, shows_pairs = counts_of_verdicts(read), with_open or not open_blind_reviews(pk).exists()
    decided = decided_pairs(row, counts)
    differing = [pair for pair in read if pair.verdict != IDENTICAL] if decided and shows_pairs else []
    context = {
        "row": row,
        "finding": pairs_in_words(row, counts),
        "decided": decided,
        "identical": counts[IDENTICAL],
        "pairs": pair_rows(row, differing[:SHOWN], with_open) if differing else [],
        "pooled": pooled_row(row.run),
        "people": people_row(row.run, with_open),
        "reviews": reviews_of_pairs(pk),
        "with_open": with_open,
        "shows_pairs": shows_pairs,
        "may_launch": may_launch(request.user),
        "crumbs": trail("preferences", (f"Preference run {pk}", None)),
    }
    return render(request, "frontend/preferences/detail.html", context)


@never_cache
@require_safe
def pairs(request: HttpRequest, pk: int) -> HttpResponse:
    """The pairs of answers, of all candidates or of ``?a=`` and ``?b=``, their numbers; only those of ``?verdict=``."""
    row, with_open = _row(pk), may_see_reviewers(request.user)
    if not with_open and (review := open_blind_reviews(pk).first()):
        raise PermissionDenied(
            f"Review {review.pk} of these pairs is open and blind. The models are shown when it is closed."
        )
    chosen = [number for name in ("a", "b") if (number := params.whole_number(request.GET, name)) is not None]
    numbers = chosen if len(chosen) == 2 and max(chosen) < len(row.candidates) else []
    compared = [row.candidates[number]["run"] for number in numbers]
    read = reads.pairs_of_answers(row.run, compared, with_open)
    counts = counts_of_verdicts(read)
    verdicts, verdict = verdicts_of_pairs(row, compared, counts), params.text(request.GET, "verdict")
    verdict = verdict if verdict in dict(verdicts) else ""
    selected = [pair for pair in read if (pair.verdict == verdict if verdict else pair.verdict != IDENTICAL)]
    page = Paginator(selected, PAIRS).get_page(request.GET.get("page"))
    context = {
        "row": row,
        "page": page,
        "pairs": pair_rows(row, list(page.object_list), with_open) if selected else [],
        "numbers": numbers,
        "verdicts": verdicts,
        "verdict": verdict,
        "any": "All that differ" if any(pair.verdict == IDENTICAL for pair in read) else "Any",
        "identical": 0 if verdict else sum(pair.verdict == IDENTICAL for pair in read),
        "compared": [row.names[number] for number in numbers],
        "crumbs": trail(
            "preferences", (f"Preference run {pk}", reverse("frontend:preference", args=(pk,))), ("Pairs", None)
        ),
    }
    return render(request, "frontend/preferences/pairs.html", context)


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Cancel, resume or delete a preference run."""
    require_launch(request)
    return act_on_judging(request, _row(pk), action)


def _row(pk: int) -> PreferenceRow:
    return preference_row(or_404(lambda: reads.preference_detail(pk), f"Preference run {pk} does not exist."))


def _form_page(request: HttpRequest, form: PreferenceForm, status: int = 200, **context: Any) -> HttpResponse:
    crumbs = trail("preferences", ("New preference", None))
    context |= {"form": form, "chosen": runs_to_compare(form.runs), "crumbs": crumbs}
    if not form.runs:
        context["proposed"] = PROPOSED_PAIRS.of(reads.proposed_pairs())
    return render(request, "frontend/preferences/new.html", context, status=status)
