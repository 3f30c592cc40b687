"""Request ids: every request has one, in its response, its log lines, the audit log and its span."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from benchmarks.services import origin
from benchmarks.tracing import span, within

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""A caller's ``X-Request-ID`` that is accepted. Anything else could forge or flood log lines."""

requests = logging.getLogger("codeforge.requests")


class RequestIdMiddleware:
    """Gives every request an id, the caller's if it is valid, and logs how the request ended."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        current = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        identity, token = origin.request_id.set(current), origin.token_name.set("")
        began = time.perf_counter()
        try:
            response = self._traced(request, current)
            response.headers["X-Request-ID"] = current
            _log(request, response, time.perf_counter() - began)
            return response
        finally:
            origin.request_id.reset(identity)
            origin.token_name.reset(token)

    def _traced(self, request: HttpRequest, request_id: str) -> HttpResponse:
        """The response, in a span that is named by the route, because a path can contain the key of a shared link."""
        about = {"http__request__method": request.method or "", "codeforge__request_id": request_id}
        with within(request.headers), span("request", "SERVER", **about) as current:
            response = self.get_response(request)
            route = request.resolver_match.route if request.resolver_match else None
            current.set(http__route=route, http__response__status_code=response.status_code)
            if response.status_code >= 500:
                current.failed(str(response.status_code))
            return response


def _log(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """Logs the path without its query, which can contain what a reader searched for."""
    if not requests.isEnabledFor(logging.INFO):
        return  # reading the account takes two queries
    user = getattr(request, "user", None)
    fields = {
        "method": request.method,
        "path": request.path,
        "status": response.status_code,
        "ms": round(1000 * seconds, 1),
        "account": getattr(user, "pk", None),
    }
    requests.info("%s %s %s", request.method, request.path, response.status_code, extra={"fields": fields})
