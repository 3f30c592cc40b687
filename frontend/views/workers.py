"""The workers: which are there, what each of them does, and what waits for them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries import operations as reads


@require_safe
@never_cache
def workers(request: HttpRequest) -> HttpResponse:
    context = {"found": reads.installation(), "workers": reads.workers()}
    return render(request, "frontend/workers/list.html", context)
