"""The pages that add and change a system under test. They work without scripts: each click in the request or the reply
sends the form, which comes back filled in."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.models import Run
from benchmarks.presentation.numbers import plural
from benchmarks.providers.systems.pointing import parts_of
from benchmarks.providers.systems.trial import Trial
from benchmarks.services.access import KEYS_REFUSAL, may_set_keys
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.systems import delete_system, entered_system, save_system, try_system, values_of
from frontend import system_form as forms
from frontend.views.shared import unconfirmed


@sensitive_post_parameters("curl", "headers", "url")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    _require_rights(request)
    return _set_up(request, "", {"method": "POST", "question": forms.SAMPLE})


@sensitive_post_parameters("curl", "headers", "url")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    _require_rights(request)
    try:
        row = entered_system(name)
    except NotPossible as refusal:
        raise Http404(refusal.message) from None
    return _set_up(request, name, {"name": name, "question": forms.SAMPLE, **forms.stored(values_of(row))})


@require_POST
def delete(request: HttpRequest, name: str) -> HttpResponse:
    _require_rights(request)
    page = reverse("frontend:models")
    runs = Run.objects.filter(model=name).count() + Run.objects.filter(model__startswith=f"{name}/").count()
    note = f"{plural(runs, 'run')} asked it. They stay, and cannot be continued." if runs else ""
    if confirmation := unconfirmed(request, f"Delete system {name}?", "Delete system", page, note):
        return confirmation
    try:
        delete_system(name, request.user)
        messages.success(request, f"System {name} deleted.")
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(page)


def _set_up(request: HttpRequest, name: str, fields: dict[str, Any]) -> HttpResponse:
    """The form, filled in by what was done to it; after saving, the page of models."""
    if request.method != "POST":
        return _page(request, name, fields)
    fields = {each: request.POST.get(each, "") for each in forms.SystemForm.base_fields}
    fields |= {"name": name} if name else {}
    trial, errors = None, {}
    try:
        if request.POST.get("do") == "save":
            saved = fields["name"].strip()
            save_system(saved, forms.request_of(fields), request.user, replacing=bool(name))
            messages.success(request, f"System {saved} saved.")
            return HttpResponseRedirect(f"{reverse('frontend:models')}#p-{saved}")
        if request.POST.get("do") == "try":
            trial = try_system(forms.request_of(fields), fields["question"], name)
            fields["reply"] = forms.carried(trial.documents)
        else:
            fields = _filled_in(request, fields)
    except InvalidRequest as refusal:
        errors = refusal.labeled({"body": "the body"})
    except NotPossible as refusal:
        errors = {"name": [refusal.message]}
    return _page(request, name, fields, trial, errors)


def _filled_in(request: HttpRequest, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields after a curl command was pasted, or a part of the request or the reply was clicked."""
    if "ask" in request.POST:
        return forms.with_question_at(fields, request.POST["ask"])
    if "place" in request.POST:
        return forms.with_place_at(fields, request.POST.get("part", "answer"), request.POST["place"])
    try:
        return fields | forms.pasted(request.POST.get("curl", ""))
    except ValueError as error:
        raise InvalidRequest({"curl": [str(error)]}) from None


def _page(
    request: HttpRequest,
    name: str,
    fields: dict[str, Any],
    trial: Trial | None = None,
    errors: dict[str, list[str]] | None = None,
) -> HttpResponse:
    form, errors = forms.SystemForm(fields), dict(errors or {})
    curl_errors = errors.pop("curl", [])
    form.is_valid()
    for field, texts in errors.items():
        form.add_error(field if field in form.fields else None, texts)
    documents = forms.shown_documents(fields)
    context = {
        "name": name,
        "form": form,
        "curl": request.POST.get("curl", "") if curl_errors else "",
        "curl_errors": curl_errors,
        "errors": bool(errors),
        "trial": trial,
        "waits": not (name or trial or documents),
        "body_parts": forms.body_parts(fields),
        "reply_parts": [parts_of(document) for document in documents],
        "found": forms.found_in(fields, documents) if documents else [],
        "parts": forms.PLACES,
        "part": request.POST.get("part", "answer"),
        "crumbs": [("Models", reverse("frontend:models")), (name or "Add a system", None)],
    }
    return render(request, "frontend/providers/system.html", context)


def _require_rights(request: HttpRequest) -> None:
    if not may_set_keys(request.user):
        raise PermissionDenied(KEYS_REFUSAL)
