"""The one way to start: models × benchmarks × variants, with what they will give before anything is spent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.engine.configured import all_providers
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Experiment, Run, Schedule
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import money, number, plural
from benchmarks.presentation.ranks import listed
from benchmarks.providers.model_names import BASELINE
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.experiments import experiment_detail
from benchmarks.queries.judge_words import JudgeRow, rows_of
from benchmarks.queries.launch import (
    LastScore,
    Trial,
    changed_variants,
    earlier_trial,
    last_scores,
    trial_of,
    trials_in_words,
    used_last,
)
from benchmarks.queries.model_status import warnings_before_run
from benchmarks.queries.schedules import dropped_models
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import account_of, may
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments.files import starter_experiment
from benchmarks.services.experiments.preview import Beside, Preview, preview
from benchmarks.services.experiments.requests import PlannedRun, validated_experiment
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.experiments.trial import MOST_RUNS, start_trial
from benchmarks.services.providers import check_if_stale, stale_providers
from benchmarks.services.runs.estimate import costs_at_most
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import request_of, start_run
from benchmarks.services.schedules import save_schedule
from frontend import params
from frontend.experiments import present_request
from frontend.launch_copies import copies
from frontend.launch_form import (
    LaunchForm,
    asking_as,
    fields_of,
    with_defaults,
    with_metric,
    with_variant,
    without_variant,
)
from frontend.launch_options import (
    MODEL_VIEWS,
    SHORT,
    SHOWN,
    VIEWS,
    KnownModels,
    View,
    benchmark_options,
    gaps_shown,
    model_groups,
    place_id,
)
from frontend.metric_choice import MetricChoice, metric_choice
from frontend.navigation import is_of_schedule, trail
from frontend.views.settings.schedules import ADD, CHANGE
from frontend.views.shared import or_404, require, require_launch, run_or_404
from frontend.views.statistics import sized

MOST_NAMED = 4
"""From so many models or benchmarks on, they are counted."""
STARTED = "start"
"""What the button sends that starts the runs."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest) -> HttpResponse:
    """The form, filled in by the fields in its address; a POST starts the run or the experiment and redirects to it.

    ``?like=12`` fills it in from run 12, ``?experiment=3`` from experiment 3, ``?starter=1`` from the starter, and
    ``?schedule=2`` from schedule 2, to which it is then saved. A time in it is saved as a schedule. A page that opens
    it as a sheet gets the short form.
    """
    require_launch(request)
    if request.method != "POST":
        known = KnownModels.read()
        form = LaunchForm(runnable_datasets(), _filled_in(request, known))
        if _is_sheet(request):
            return _page(request, form, known=known)
        return _page(request, form, known=known, costs=_costs(form, known), **planned(request, form, checks=False))
    do = request.POST.get("do", STARTED)
    form = LaunchForm(runnable_datasets(), request.POST)
    if do not in _STARTS or form.lacks_time:
        return _changed(request, do)
    try:
        address, text = _STARTS[do](request, form)
    except InvalidRequest as error:
        form.reject(error)
        return _page(request, form, status=400, refused=True)
    except NotPossible as error:
        form.add_error(None, error.message)
        return _page(request, form, status=409)
    messages.success(request, text, extra_tags="passing")
    return HttpResponseRedirect(address)


def _changed(request: HttpRequest, do: str) -> HttpResponse:
    """The page after a button that starts nothing."""
    data: QueryDict = request.POST
    trials: dict[str, Any] = {}
    if do == "variant":
        data = with_variant(data)
    elif do.startswith("drop-"):
        data = without_variant(data, do.removeprefix("drop-"))
    elif do.startswith("add "):
        data = with_metric(data, *do.removeprefix("add ").split(" ", 1))
    elif do.startswith("without "):
        data = data.copy()
        data.setlist("model", [name for name in data.getlist("model") if name != do.removeprefix("without ")])
    elif do.startswith("when "):
        data = data.copy()
        data["when"] = do.removeprefix("when ")
    elif do == "earlier" and (tried := _tried(request, data))["trial_before"]:
        trials = _beside(tried["trial_before"], tried["trial"])
        data = asking_as(tried["trial_before"].runs, data)
        messages.success(request, "The form has the earlier prompt again.", extra_tags="passing")
    elif do.startswith("show-"):
        listed, _, view = do.removeprefix("show-").partition("-")
        data = data.copy()
        data[f"{listed}_shown"] = view
    form = LaunchForm(runnable_datasets(), data)
    more = {"plan": partial(planned, request), "size": partial(sized, sent=data), "try": partial(_try, request)}
    context = more[do](form) if do in more else trials
    response = _page(request, form, opened=do.removeprefix("metrics-"), **context)
    if do.startswith("show-"):
        response["HX-Replace-Url"] = _address_of(form)
    return response


def _address_of(form: LaunchForm) -> str:
    """The address that shows the form as it is."""
    return "?".join(filter(None, (reverse("frontend:launch"), form.state())))


@require_safe
def new_experiment(request: HttpRequest) -> HttpResponse:
    """Where experiments were started before."""
    sent = request.GET.copy()
    if "like" in sent:
        sent.setlist("experiment", sent.pop("like"))
    return HttpResponseRedirect("?".join(filter(None, (reverse("frontend:launch"), sent.urlencode()))))


@require_POST
def plan(request: HttpRequest) -> HttpResponse:
    """What the runs in the form will give. The address of the page follows the form, so a reload shows it again."""
    require_launch(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    costs = {place_id("cost", name): cost for name, cost in _costs(form, KnownModels.read()).items()}
    scores = {
        place_id("score", name): (last.text, last.words, reverse("frontend:run", args=(last.run,)))
        for name, last in _scores(form).items()
    }
    of_models = {"costs": json.dumps(costs), "scores": json.dumps(scores)}
    context = {"form": form, "as_last": _as_last(request, form), **of_models, **planned(request, form)}
    context["scored_by"] = [
        (slug, _titles(form, slug), form.metric_errors.get(slug, ())) for slug in form.chosen if slug in form.by_slug
    ]
    beside = _not_comparable(context.get("preview"))
    context["beside"] = [(slug, beside.get(slug)) for slug in form.chosen if slug in form.by_slug]
    context["shows"] = _shows(form, context.get("preview")).items()
    response = render(request, "frontend/launch/planned.html", context)
    if "sheet" not in request.POST:
        response["HX-Replace-Url"] = _address_of(form)
    return response


@require_POST
def metrics(request: HttpRequest, slug: str) -> HttpResponse:
    """The metrics that apply to a benchmark, to choose from."""
    require_launch(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    if slug not in form.by_slug:
        raise Http404(f"Dataset {slug} does not exist.")
    return render(
        request, "frontend/launch/metrics.html", {"dataset": form.by_slug[slug], "metrics": _choice(form, slug)}
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def trial(request: HttpRequest) -> HttpResponse:
    """Ask a few tasks as the form would; ``?trial=1,2`` shows the answers of these runs so far, ``&trial_before=3,4``
    beside what came out of an earlier trial."""
    require_launch(request)
    if request.method != "POST":
        return render(request, "frontend/launch/trial.html", _tried(request, request.GET))
    return render(request, "frontend/launch/trial.html", _try(request, LaunchForm(runnable_datasets(), request.POST)))


def _try(request: HttpRequest, form: LaunchForm) -> dict[str, Any]:
    try:
        runs = start_trial(_runs(form), request.user)
    except InvalidRequest as error:
        return _tried(request, form.sent) | {"trial_errors": form.problems(error)}
    return _tried(request, form.sent, runs)


def _tried(request: HttpRequest, sent: QueryDict, started: Sequence[Run] = ()) -> dict[str, Any]:
    """The trial that has just started or else the one that is sent, and the one that it is compared with."""
    last, before = (params.whole_numbers(sent, name)[:MOST_RUNS] for name in ("trial", "trial_before"))
    trial = trial_of([run.pk for run in started] or last)
    account = account_of(request.user)
    found = (earlier_trial(trial, pks, account) for pks in ((last, before) if started else (before,)))
    earlier = next(filter(None, found), None)
    return _beside(trial, earlier)


def _beside(trial: Trial, earlier: Trial | None) -> dict[str, Any]:
    """A trial and an earlier one that it is compared with, variant by variant."""
    changed = changed_variants(earlier, trial) if earlier else []
    return {
        "trial": trial,
        "trial_before": earlier,
        "trial_changes": [(before.runs[0], *trials_in_words(before, now)) for before, now in changed],
        "trial_goes_on": trial.is_live or (earlier is not None and earlier.is_live),
    }


def planned(request: HttpRequest, form: LaunchForm, *, checks: bool = True) -> dict[str, Any]:
    """What the runs will give and what is known against their models, or why there is no plan; ``checks`` their
    providers first, if that is long ago. Without, a page has to ask again if there is something to check: that may take
    long."""
    if not form.models or not form.chosen:
        form.reject_values()
        form.reject_timing()
        return {"warnings": warnings_before_run(form.models), "asks_plan": False}
    asked, context = form.models, dict[str, Any]()
    try:
        runs = _runs(form)
    except InvalidRequest as error:
        # Those of models stand above their list, where they can be fixed.
        named = ((label, "" if label == form.labels["model"] else text) for label, text in form.problems(error))
        context["plan_errors"] = list(dict.fromkeys(named))
        known = {BASELINE, *all_providers()}
        context["without_provider"] = [name for name in form.models if name.partition("/")[0] not in known]
        form.reject(error)
    else:
        context["preview"] = preview(runs)
        site = request.build_absolute_uri("/").rstrip("/")
        context["copies"] = copies(form.request_data(), site, is_run=form.is_run)
        if judge := context["preview"].plan.judge_requests and _judge(form):
            asked.append(judge)
            context["judged"] = rows_of((judge, metric) for metric in form.judged)
        context["cautions"] = _cautions(context["preview"], context.get("judged", ()))
    form.reject_timing()
    if checks:
        check_if_stale(asked)
    return context | {"warnings": warnings_before_run(asked), "asks_plan": bool(stale_providers(asked))}


def _costs(form: LaunchForm, known: KnownModels) -> dict[str, str]:
    """Each listed model → what the chosen benchmarks cost with it, empty if that is unknown."""
    models = [option.name for option in known.options(form.models)]
    try:
        asked = [validated(form.request_of(slug, models[0])) for slug in form.chosen]
    except (IndexError, InvalidRequest):
        asked = []
    costs = costs_at_most(models, asked) if asked else {}
    return {name: f"up to {money(costs[name])}" if costs.get(name) else "" for name in models}


def _scores(form: LaunchForm) -> dict[str, LastScore]:
    """Model → its last score on the chosen benchmark; none if several are chosen, whose scores say different things."""
    (dataset,) = chosen if len(chosen := [form.by_slug.get(slug) for slug in form.chosen]) == 1 else (None,)
    return last_scores(dataset) if dataset else {}


def _runs(form: LaunchForm) -> list[PlannedRun]:
    """What would be started. Raises ``InvalidRequest`` as starting would."""
    request = form.request_data()
    return [PlannedRun("", validated(request))] if form.is_run else validated_experiment(request)[1]


def _shows(form: LaunchForm, planned: Preview | None) -> dict[str, str]:
    """The gap that each benchmark would show in these runs, as the plan says it of those that are chosen."""
    limit = params.whole_number(form.sent, "limit")
    of_plan = (planned.pairs, planned.gaps) if planned else (1, ())
    return gaps_shown(form.by_slug.values(), limit, *of_plan)


def _not_comparable(planned: Preview | None) -> dict[str, Beside]:
    """Benchmark → its stored runs, if the planned ones cannot be compared with any of them."""
    return {each.dataset.slug: each for each in (planned.beside if planned else ()) if not each.comparable}


def _cautions(planned: Preview, judged: Sequence[JudgeRow]) -> list[tuple[str, str]]:
    """What the page warns of elsewhere, each with its title and its place."""
    of_benchmarks = [
        (f"{each.dataset.title} is not comparable", f"beside-{slug}") for slug, each in _not_comparable(planned).items()
    ]
    of_judge = [(f"the judge is {row.standing.word}", "judged") for row in judged if row.standing.caution]
    return [*of_benchmarks, *of_judge[:1]]


def _titles(form: LaunchForm, slug: str) -> list[str]:
    return [metric_title(name).removeprefix(PREFIX) for name in form.metrics_of(slug)]


def _judge(form: LaunchForm) -> str:
    return form.sent.get("judge_model", "") or settings.CODEFORGE.judge.model or ""


def _start(request: HttpRequest, form: LaunchForm) -> tuple[str, str]:
    """Start the run or the experiment, or save the schedule; return the address of its page and what to say there."""
    if form.is_schedule:
        return _save(request, form)
    if form.sent.get("margin", "").strip():
        raise InvalidRequest({"when": ["Enter a time: only runs of a schedule have a tolerated loss."]})
    if form.is_run:
        run = start_run(form.request_data(), request.user, parent=_parent(form.sent))
        return reverse("frontend:run", args=(run.pk,)), f"Run {run.pk} queued."
    experiment = start_experiment(form.request_data(), request.user)
    text = f"Experiment {experiment.pk} started: {form.n_runs} runs queued."
    return reverse("frontend:experiment", args=(experiment.pk,)), text


def _save(request: HttpRequest, form: LaunchForm) -> tuple[str, str]:
    """Save the run as a schedule, or to the one that is edited."""
    stored = _schedule(request, form.sent)
    if stored is None:
        require(request, *ADD)
    enabled = stored is None or stored.enabled
    saved = save_schedule(**form.schedule_data(), enabled=enabled, schedule=stored, user=request.user)
    return reverse("frontend:schedule", args=(saved.pk,)), f"{saved.name} saved."


_STARTS = {STARTED: _start, "schedule": _save}
"""What the buttons send that leave the page."""


def _filled_in(request: HttpRequest, known: KnownModels) -> QueryDict:
    """The fields in the address, over those of the run or experiment that it names."""
    sent: dict[str, list[str]] = dict(request.GET.lists())
    given: dict[str, Any] = {}
    if (like := params.whole_number(request.GET, "like")) is not None:
        given = {**request_of(run_or_404(like))}
        sent["parent"] = [str(like)]
        if params.text(request.GET, "only_task"):
            given |= dict.fromkeys((*ADAPTIVE, "limit", "subset"))
    elif (pk := params.whole_number(request.GET, "experiment")) is not None:
        stored = or_404(lambda: experiment_detail(pk), f"Experiment {pk} does not exist.")
        given = present_request(stored)
    elif params.text(request.GET, "starter"):
        given = starter_experiment() or {}
    elif [*sent] == ["schedule"] and (schedule := _schedule(request, request.GET)):
        margin = {} if schedule.margin is None else {"margin": f"{100 * schedule.margin:g}"}
        given = {**schedule.request, "name": schedule.name, "when": schedule.when, **margin}
    elif [*sent] in (["dataset"], ["model"]):
        models, slugs = used_last(account_of(request.user))
        chosen = {"model": [*known.preselected(models)], "dataset": slugs}
        sent = chosen | {"as_last": ["models" if "dataset" in sent else "benchmarks"]} | sent
    elif not sent and len(runnable := runnable_datasets()) == 1:
        sent["dataset"] = [runnable[0].slug]
    for name in ("like", "experiment", "starter"):
        sent.pop(name, None)
    return with_defaults({**(fields_of(given) if given else {}), **sent})


def _as_last(request: HttpRequest, form: LaunchForm) -> tuple[str, str]:
    """Which part of the form began as in the person's latest run, and what still holds of that, in words."""
    part = form.sent.get("as_last", "")
    if not part:
        return "", ""
    models, slugs = used_last(account_of(request.user))
    chosen, last = (set(form.models), set(models)) if part == "models" else (set(form.chosen), set(slugs))
    if not chosen or not chosen <= last:
        return part, ""
    return part, ", as last time" if chosen == last else f", of {number(len(last))} last time"


def _parent(sent: QueryDict) -> Run | None:
    """The run that this one repeats."""
    pk = params.whole_number(sent, "parent") or params.whole_number(sent, "like")
    return None if pk is None else run_or_404(pk)


def _source(request: HttpRequest) -> Experiment | None:
    """The experiment whose settings an opened form has."""
    pk = params.whole_number(request.GET, "experiment") if request.method == "GET" else None
    return None if pk is None else Experiment.objects.filter(pk=pk).first()


def _schedule(request: HttpRequest, sent: QueryDict) -> Schedule | None:
    """The stored schedule that the form edits, for whoever may change it."""
    pk = params.whole_number(sent, "schedule")
    if pk is None:
        return None
    require(request, *CHANGE)
    return or_404(lambda: Schedule.objects.get(pk=pk), f"Schedule {pk} does not exist.")


def _choice(form: LaunchForm, slug: str, *, is_open: bool = True) -> MetricChoice:
    """The metrics of a benchmark, to choose from or as they are chosen."""
    dataset, chosen = form.by_slug[slug], form.metrics_of(slug)
    assert dataset.current_version is not None, "a dataset that can be run"
    if not is_open:
        return MetricChoice(chosen, (), f"-{slug}")
    return metric_choice(dataset.current_version, preset_metrics(dataset), chosen, _judge(form), f"-{slug}")


def _metrics(form: LaunchForm, slug: str, opened: str) -> MetricChoice | None:
    is_open = slug == opened or slug in form.metric_errors
    # Metrics that an experiment or an address names for all benchmarks become those of each; the form has no others.
    is_chosen = form.has_own_metrics(slug) or (slug in form.chosen and any(form.sent.getlist("metrics")))
    return _choice(form, slug, is_open=is_open) if is_open or is_chosen else None


def _page(
    request: HttpRequest,
    form: LaunchForm,
    *,
    status: int = 200,
    opened: str = "",
    known: KnownModels | None = None,
    costs: Mapping[str, str] | None = None,
    **context: object,
) -> HttpResponse:
    schedule, parent, source = _schedule(request, form.sent), _parent(form.sent), _source(request)
    known = known or KnownModels.read()
    scores = _scores(form)
    models = [
        replace(option, cost=(costs or {}).get(option.name, ""), score=scores.get(option.name))
        for option in known.options(form.models)
    ]
    models_shown, benchmarks_shown = (form.sent.get(f"{each}_shown", "") for each in ("models", "benchmarks"))
    plan = context.get("preview")
    known_plan = plan if isinstance(plan, Preview) else None
    beside = _not_comparable(known_plan)
    offered = benchmark_options(form.by_slug.values(), form.chosen, _shows(form, known_plan))
    if shows_all := benchmarks_shown == View.ALL:
        offered.sort(key=lambda option: option.dataset.title.casefold())
    benchmarks = [
        {
            "option": option,
            "scored_by": _titles(form, slug) if slug in form.chosen else "",
            "metrics": _metrics(form, slug, opened),
            "errors": form.metric_errors.get(slug, ()),
            "beside": beside.get(slug),
        }
        for option in offered
        for slug in [option.dataset.slug]
    ]
    is_sheet = _is_sheet(request)
    is_empty = not (form.models or form.chosen or is_sheet)
    title = f"Edit {schedule.name}" if schedule else "New schedule" if form.is_schedule else "New run"
    fewest = SHORT if is_sheet else SHOWN
    n_shown = len(benchmarks) if shows_all else max(fewest, len(form.chosen))
    context = (
        {"asks_plan": bool(form.models)}
        | ({} if "trial" in context else _tried(request, form.sent))
        | context
        | {
            "form": form,
            "is_sheet": is_sheet,
            "as_last": _as_last(request, form),
            "parent": parent,
            "source": source,
            "models": models,
            "model_groups": model_groups(models, models_shown, max(fewest, len(form.models))),
            "model_views": MODEL_VIEWS.items(),
            "models_shown": models_shown,
            "benchmark_views": VIEWS.items(),
            "benchmarks_shown": benchmarks_shown,
            "benchmarks": (benchmarks[:n_shown], benchmarks[n_shown:]),
            "again": _again(request, form, known) if is_empty else None,
            "may_schedule": may(request.user, *ADD),
            "schedule": schedule,
            "is_settled": bool(schedule or parent or source),
            "title": title,
            "crumbs": _crumbs(schedule, title, is_schedule=is_of_schedule(request)),
        }
    )
    template = "sheet" if is_sheet else "launch"
    return render(request, f"frontend/launch/{template}.html", context, status=status)


def _is_sheet(request: HttpRequest) -> bool:
    return request.headers.get("HX-Target") == "sheet"


def _again(request: HttpRequest, form: LaunchForm, known: KnownModels) -> dict[str, str] | None:
    """Models to begin with and the benchmarks that the person ran last, in words and as an address."""
    used, slugs = used_last(account_of(request.user))
    if not used or not slugs:
        return None
    unproven = {option.name for option in known.options(used) if not option.has_run}
    models = known.preselected(used, {*dropped_models(), *unproven})
    titles = [form.by_slug[slug].title for slug in slugs]
    chosen = {"model": models, "dataset": slugs}
    return {
        "models": listed(models) if len(models) < MOST_NAMED else plural(len(models), "model"),
        "benchmarks": listed(titles) if len(titles) < MOST_NAMED else plural(len(titles), "benchmark"),
        "url": "&".join([f"{reverse('frontend:launch')}?{form.state()}", urlencode(chosen, doseq=True)]),
    }


def _crumbs(schedule: Schedule | None, title: str, *, is_schedule: bool) -> list[tuple[str, str | None]]:
    if schedule is None:
        return trail("schedules" if is_schedule else "runs", (title, None))
    own = schedule.name, reverse("frontend:schedule", args=(schedule.pk,))
    return trail("schedules", own, ("Edit", None))
