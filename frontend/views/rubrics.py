"""Try a rubric on one result."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.rubrics import DEFAULT_SCALE, DEFAULT_THRESHOLDS, SCALES, SIGHTS, Rubric
from benchmarks.models import Result
from benchmarks.presentation.numbers import money, money_range
from benchmarks.presentation.ranks import listed
from benchmarks.queries.results import result_detail
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.rubrics import rubrics_of, text_of_rubric
from benchmarks.services.runs.rubric_trial import Trial, TrialPlan, plan_trial
from benchmarks.services.runs.rubric_trial import try_rubric as send_trial
from frontend import params
from frontend.texts import excerpt
from frontend.views.shared import or_404, require_launch

EXAMPLE = """\
name: clear
criteria:
  - The answer says everything that was asked for.
  - It says nothing else.
scale: 1 to 5
sees: [input]
"""
"""The rubric that the page begins with if there is none to choose from."""
_SEEN = {"input": "question", "expected": "expected answer"}
"""What a rubric shows the judge, where the page has another word for it."""
_LABELS = {"rubric": "Rubric", "judge_model": "Judge"}
PARTS = {
    "name": "The metric is rubric:NAME",
    "criteria": "What the answer must meet, a line each",
    "steps": "How the judge proceeds, a line each; optional",
    "scale": f"{', '.join(SCALES)}; {DEFAULT_SCALE} by default",
    "sees": f"What the judge sees beside the answer: {listed(SIGHTS)}",
    "threshold": "The lowest score that passes; "
    + " or ".join(f"{value:g} on {scale}" for scale, value in DEFAULT_THRESHOLDS.items())
    + " by default",
}
"""Key of a rubric as YAML → what it says."""


@require_http_methods(["GET", "HEAD", "POST"])
def try_rubric(request: HttpRequest, run_pk: int, pk: int) -> HttpResponse:
    """A form with a rubric, what one verdict would cost, and the verdict; ``?rubric=NAME`` begins with that one."""
    require_launch(request)
    result = or_404(lambda: result_detail(run_pk, pk), f"Result {pk} does not exist in run {run_pk}.")
    known = rubrics_of(result.run.dataset_version) | result.run.rubrics
    chosen = params.text(request.GET, "rubric")
    if chosen not in known:
        chosen = next(iter(known), "")
    data = {
        "rubric": text_of_rubric(known[chosen]) if chosen else EXAMPLE,
        "judge_model": next(iter(judges_named(result.run.judge_model)), settings.CODEFORGE.judge.model or ""),
    }
    outcome: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        data = {name: request.POST.get(name, "") for name in data}
    try:
        if request.method == "POST" and request.POST.get("do") == "try":
            trial = send_trial(result, data, request.user)
            outcome = {"trial": trial, "verdict": _verdict(trial), "plan": _plan(trial.plan)}
        else:
            outcome = {"plan": _plan(plan_trial(result, data))}
    except InvalidRequest as error:
        problems = [(_LABELS.get(name, name), text) for name, texts in error.labeled(_LABELS).items() for text in texts]
        outcome, status = {"problems": problems}, 400 if request.method == "POST" else 200
    except NotPossible as error:
        outcome, status = {"problems": [("", error.message)]}, 409 if request.method == "POST" else 200
    context = {
        "result": result,
        "run": result.run,
        "data": data,
        "known": list(known),
        "chosen": chosen,
        "parts": PARTS,
        **outcome,
    }
    context["judges"] = sorted(settings.CODEFORGE.models)
    return render(request, "frontend/runs/rubric.html", context | _page_of(result), status=status)


def _page_of(result: Result) -> dict[str, Any]:
    run_pk, task = result.run_id, result.task
    return {
        "task": task,
        "answer": excerpt(result.transcript.actual_output) if getattr(result, "transcript", None) else None,
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {run_pk}", reverse("frontend:run", args=(run_pk,))),
            (task.task_id, reverse("frontend:result", args=(run_pk, result.pk))),
            ("Try a rubric", None),
        ],
    }


def _plan(plan: TrialPlan) -> dict[str, Any]:
    """The judge, the rubric with its scale and what the judge sees, and the cost of one request to it in words."""
    rubric = Rubric.of(plan.rubric)
    threshold = DEFAULT_THRESHOLDS.get(rubric.scale) if rubric.threshold is None else rubric.threshold
    return {
        "judge": plan.judge,
        "cost": money_range(plan.cost_low, plan.cost_high),
        "rubric": rubric,
        "scale": rubric.scale.capitalize() + (f", {threshold:g} or more passes" if threshold is not None else ""),
        "sees": listed([*(_SEEN.get(sight, sight) for sight in rubric.sees), "answer"]).capitalize(),
    }


def _verdict(trial: Trial) -> dict[str, Any]:
    score = trial.score
    usage = score.usage
    return {
        "title": "No verdict"
        if trial.passes is None
        else "Meets the threshold"
        if trial.passes
        else "Below the threshold",
        "value": score.detail.get("points") or score.value,
        "score": score.value,
        "reason": excerpt(score.reason, 4_000),
        "cost": "unknown" if trial.cost is None else money(trial.cost),
        "calls": trial.calls,
        "version": str(score.detail.get("rubric", ""))[:8],
        "prompt": excerpt(usage.prompt if usage else "", 8_000),
        "reply": excerpt(usage.raw_reply if usage else "", 4_000),
    }
