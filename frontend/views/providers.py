"""The page of models and their providers: state, tests, keys, addresses, prices."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.presentation.numbers import duration, n_of, number, plural
from benchmarks.presentation.providers import CAPABILITY, PROVIDER_STATUS, summary
from benchmarks.providers.model_test import REQUESTS
from benchmarks.queries.live import live_state
from benchmarks.queries.models import ModelUse, baselines_used, models_used
from benchmarks.queries.providers import ProviderRow, provider_row, provider_rows
from benchmarks.queries.tables.models import MODELS_USED
from benchmarks.services import providers as services
from benchmarks.services.access import KEYS_REFUSAL, may_launch, may_set_keys
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.operations.local_model import PROVIDER, local_model, start_local_model, stop_local_model
from frontend.chips import toggles
from frontend.params import real_number, text
from frontend.views.shared import require_launch, unconfirmed

ONLY = "only"
MOST_NAMED = 4
"""Models that are not ready, before the rest is counted."""
FILTERS: dict[str, Callable[[ModelUse], bool]] = {
    "ready": lambda use: use.status.level == "ok",
    "changed": lambda use: len(use.served) > 1,
    "unpriced": lambda use: use.known is None or use.known.price_source == "unknown",
}
FILTER_TITLES = {"ready": "Ready", "changed": "Served model changed", "unpriced": "No price"}


@never_cache
@require_safe
def provider_list(request: HttpRequest) -> HttpResponse:
    rows = provider_rows()
    found = text(request.GET, "text").casefold()
    only = [name for name in request.GET.getlist(ONLY) if name in FILTERS]
    by_status: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_status[row.known_status].append(row.name)
    testable = _testable(rows)
    all_used = models_used(rows)
    used = [use for use in all_used if found in use.name.casefold() and all(FILTERS[name](use) for name in only)]
    shown = [row for row in rows if any(found in name.casefold() for name in _names(row))]
    context = {
        "live_state": live_state(),
        "text": text(request.GET, "text"),
        "toggles": toggles(request.GET, ONLY, FILTER_TITLES),
        "only": only,
        "any_used": bool(all_used),
        "headline": _headline(all_used),
        "used": MODELS_USED.where(may_launch=may_launch(request.user), tested=any(map(_is_tested, used))).of(used)
        if used
        else None,
        "baselines": [] if found or only else baselines_used(),
        "connected": sorted((row for row in shown if not row.lacks_key), key=lambda row: row.status != "ready"),
        "without_key": [row for row in shown if row.lacks_key],
        "testable": testable,
        "summary": summary(by_status),
        "capabilities": CAPABILITY,
        "may_launch": may_launch(request.user),
        "may_set_keys": may_set_keys(request.user),
        "local_model": local_model() if may_set_keys(request.user) else None,
        "local_provider": PROVIDER,
    }
    return render(request, "frontend/providers/list.html", context)


def _headline(used: Sequence[ModelUse]) -> tuple[str, str]:
    """How many of the models that have run are ready, and what is known against the others, as sentences."""
    if not used:
        return "", ""
    ready = sum(use.status.level == "ok" for use in used)
    verb = "is" if ready == 1 else "are"
    others = [(use.name, use.status.words) for use in used if use.status.level in ("bad", "caution")]
    words = ", ".join(f"{name} ({said[:1].lower()}{said[1:]})" for name, said in others[:MOST_NAMED])
    more = f" and {number(len(others) - MOST_NAMED)} more" if len(others) > MOST_NAMED else ""
    return (
        f"{n_of(ready, len(used))} models that have run {verb} ready.",
        f"Not ready: {words}{more}." if others else "",
    )


def _is_tested(use: ModelUse) -> bool:
    return use.known is not None and use.known.test is not None and not use.known.test.error


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """Check one provider, or all."""
    require_launch(request)
    name = text(request.POST, "provider")
    try:
        checks = services.check_providers([name] if name else None)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    else:
        if name:
            _report_status(request, name)
        else:
            messages.success(request, f"{plural(len(checks), 'provider')} checked.")
    return _back_to(name)


@require_POST
def test(request: HttpRequest) -> HttpResponse:
    """Test one model, or all that are configured and whose provider has its key."""
    require_launch(request)
    model, everything = text(request.POST, "model"), request.POST.get("do") == "all"
    models = _testable(provider_rows()) if everything else [model]
    question = f"Send up to {plural(REQUESTS, 'short request')} to each of {plural(len(models), 'configured model')}?"
    if everything and (confirmation := unconfirmed(request, question, "Send tests", reverse("frontend:models"))):
        return confirmation
    try:
        done = services.run_tests(models, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return _back_to("")
    for each in done:
        if each.error:
            messages.error(request, f"Test of {each.model} failed. {each.error}")
        elif not everything:
            messages.success(request, f"{model} answered in {duration((each.duration_ms or 0) / 1000)}.")
    if everything:
        answered = sum(not each.error for each in done)
        messages.success(request, f"{plural(len(done), 'model')} tested, {answered} answered.")
    return _back_to("" if everything else done[0].provider)


@sensitive_post_parameters("key")
@require_POST
def key(request: HttpRequest) -> HttpResponse:
    """Store the key of a provider and check it, or remove it."""
    if not may_set_keys(request.user):
        raise PermissionDenied(KEYS_REFUSAL)
    name, removing = text(request.POST, "provider"), request.POST.get("do") == "remove"
    question, page = f"Remove the stored key of {name}?", reverse("frontend:models")
    if removing and (confirmation := unconfirmed(request, question, "Remove key", page)):
        return confirmation
    try:
        if removing:
            services.remove_key(name, request.user)
            messages.success(request, f"Key of {name} removed.")
        else:
            services.set_key(name, request.POST.get("key", ""), request.user)
            services.check_providers([name])
            messages.success(request, f"Key of {name} saved.")
            _report_status(request, name)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    return _back_to(name)


@require_POST
def address(request: HttpRequest) -> HttpResponse:
    """Store the address of a provider and check it, or return to that of codeforge.yaml."""
    if not may_set_keys(request.user):
        raise PermissionDenied(KEYS_REFUSAL)
    name = text(request.POST, "provider")
    try:
        if request.POST.get("do") == "remove":
            services.remove_address(name, request.user)
            messages.success(request, f"{name} is at its default address again.")
        else:
            services.set_address(name, request.POST.get("address", ""), request.user)
            messages.success(request, f"Address of {name} saved.")
        services.check_providers([name])
        _report_status(request, name)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    return _back_to(name if provider_row(name) else "")


@require_POST
def price(request: HttpRequest) -> HttpResponse:
    """Store the price of a model, or remove the one that was entered."""
    if not may_set_keys(request.user):
        raise PermissionDenied(KEYS_REFUSAL)
    model = request.POST.get("model", "")
    try:
        if request.POST.get("do") == "remove":
            services.remove_price(model, request.user)
            messages.success(request, f"Price of {model} removed.")
        else:
            given = (_usd(request, "input"), _usd(request, "output"), _usd(request, "cached"))
            services.set_price(model, *given, request.user)
            messages.success(request, f"Price of {model} saved. Runs that start from now on count it.")
    except InvalidRequest as refusal:
        messages.error(request, next(iter(refusal.errors.values()))[0])
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    provider = model.partition("/")[0]
    return _back_to(provider if provider_row(provider) else "")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def local(request: HttpRequest) -> HttpResponse:
    """The state of the local model, as a part of other pages; 204 if it is the one ``seen``. A POST starts or stops it:
    scripts get the part, which says what happens now, others the page, where that stands."""
    if not may_set_keys(request.user):
        raise PermissionDenied(KEYS_REFUSAL)
    by_script = "HX-Request" in request.headers
    if request.method == "POST":
        try:
            (stop_local_model if request.POST.get("do") == "stop" else start_local_model)(request.user)
        except NotPossible as refusal:
            if not by_script:
                messages.error(request, refusal.message)
                return _back_to("")
        if not by_script:
            return _back_to(PROVIDER)
    model = local_model()
    if model and model.state == text(request.GET, "seen"):
        return HttpResponse(status=204)
    return render(request, "frontend/providers/local_model.html", {"local_model": model})


def _usd(request: HttpRequest, name: str) -> float | None:
    """A price as it was typed: ``None`` if nothing was, and no number, which is refused, if it is none."""
    if not text(request.POST, name):
        return None
    typed = real_number(request.POST, name)
    return math.nan if typed is None else typed


def _names(row: ProviderRow) -> list[str]:
    """What a search finds a provider by: its name and those of its models."""
    return [row.name, *(model.name for model in (*row.models, *row.others))]


def _testable(rows: Iterable[ProviderRow]) -> list[str]:
    return [model.name for row in rows if not row.lacks_key for model in row.models if model.configured]


def _report_status(request: HttpRequest, name: str) -> None:
    row = provider_row(name)
    if row is not None and row.problem:
        messages.error(request, f"{name}: {row.problem}")
    elif row is not None:
        messages.success(request, _status_sentence(row))


def _status_sentence(row: ProviderRow) -> str:
    if row.status != "ready":
        return f"{row.name}: {row.error or PROVIDER_STATUS[row.status]}"
    n_models = sum(model.listed for model in (*row.models, *row.others))
    return f"{row.name} responds and lists {plural(n_models, 'model')}."


def _back_to(name: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("frontend:models") + (f"#p-{name}" if name else ""))
