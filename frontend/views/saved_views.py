"""Saving and deleting views of the list of runs."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchmarks.models import SavedView
from benchmarks.services import saved_views as services
from benchmarks.services.errors import NotPossible
from frontend.views.shared import or_404, unconfirmed


def address_of(view: SavedView) -> str:
    return f"{reverse(f'frontend:{view.tab}')}?{view.query}"


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the filters of the form under its name, and show the list by them."""
    _require(request)
    sent = {name: request.POST.get(name, "") for name in ("name", "tab", "query")}
    try:
        view = services.save_view(**sent, user=request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        known = sent["tab"] if sent["tab"] in SavedView.Tab.values else SavedView.Tab.ALL
        return HttpResponseRedirect(f"{reverse(f'frontend:{known}')}?{services.list_query(sent['query'])}")
    messages.success(request, f"View {view.name} saved.", extra_tags="passing")
    return HttpResponseRedirect(address_of(view))


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a view of the user, after asking."""
    _require(request)
    view = or_404(lambda: services.saved_views(request.user).get(pk=pk), "This view does not exist.")
    question, note = f"Delete view {view.name}?", "The runs stay."
    if confirmation := unconfirmed(request, question, "Delete view", address_of(view), note):
        return confirmation
    view.delete()
    messages.success(request, f"View {view.name} deleted.", extra_tags="passing")
    return HttpResponseRedirect(address_of(view))


def _require(request: HttpRequest) -> None:
    if not services.may_save_views(request.user):
        raise PermissionDenied("Views are saved for accounts. Log in to save one.")
