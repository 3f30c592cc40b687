"""Errors that no view has answered: JSON for programs, under ``/api/``, and pages for people."""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import csrf, defaults

from benchmarks.providers.clean_text import full_sentence
from codeforge.busy import busy_answer

API = "/api/"
UNEXPECTED = "An unexpected error occurred. For details, find the X-Request-ID of this response in the web server log."
NOT_UNDERSTOOD = "The request is not valid. Check the host name, and the length and encoding of what was sent."


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, NOT_UNDERSTOOD, lambda: defaults.bad_request(request, exception))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) if isinstance(exception, PermissionDenied) else ""
    detail = reason or "You do not have permission to do this."
    return _answer(request, 403, detail, lambda: defaults.permission_denied(request, exception))


def without_csrf_token(request: HttpRequest, reason: str = "") -> HttpResponse:
    detail = f"{full_sentence(reason)} Use a token, or send the CSRF token of your session."
    return _answer(request, 403, detail, lambda: csrf.csrf_failure(request, reason))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) if type(exception) is Http404 else ""
    detail = reason or "This address does not exist. For all addresses, see /api/docs."
    return _answer(request, 404, detail, lambda: defaults.page_not_found(request, exception))


def server_error(request: HttpRequest) -> HttpResponse:
    if busy := busy_answer(request, sys.exc_info()[1]):
        return busy
    return _answer(request, 500, UNEXPECTED, lambda: defaults.server_error(request))


def _answer(request: HttpRequest, status: int, detail: str, page: Callable[[], HttpResponse]) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"detail": detail}, status=status)
    return page()
