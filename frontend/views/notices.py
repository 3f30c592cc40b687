"""Notices of scores that dropped in scheduled runs: the overview shows them, and who launches runs dismisses them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchmarks.models import ScoreDrop
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.schedules.control import dismiss_notice


@require_POST
def dismiss(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a notice off the overview."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    notice = get_object_or_404(ScoreDrop.objects.select_related("turn"), pk=pk)
    dismiss_notice(notice, request.user)
    messages.success(request, f"The notice about {notice.metric} of run {notice.turn.run_id} is dismissed.")
    return HttpResponseRedirect(reverse("frontend:overview"))
