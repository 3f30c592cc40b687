"""What keeps others out: a policy that keeps hostile text inert, no writing for a foreign page, no endless requests."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
OWN_SITES = frozenset({"", "same-origin", "none"})

# The admin and the API docs style with inline attributes; scripts are never allowed inline anywhere.
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WITH_INLINE_STYLES = STRICT.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
INLINE_STYLE_PATHS = ("/api/docs", "/admin/")


class ContentSecurityPolicyMiddleware:
    """Adds the Content-Security-Policy to every response that does not carry one already."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        policy = WITH_INLINE_STYLES if request.path.startswith(INLINE_STYLE_PATHS) else STRICT
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


class BodySizeMiddleware:
    """Refuses a request by the size it declares, before anything reads it into memory or onto the disk.

    A server passes on no more than a request declares; one that declares nothing has no body for Django.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        declared = request.headers.get("Content-Length", "")
        size = int(declared[:18]) if declared.isascii() and declared.isdigit() else 0
        with_files = request.content_type == "multipart/form-data"
        most = settings.MOST_UPLOADED_BYTES if with_files else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if size > most:
            told = f"The request has {size / 2**20:,.0f} MB, and at most {most // 2**20} MB are taken."
            return JsonResponse({"detail": told}, status=413)
        return self.get_response(request)


class ForeignOriginMiddleware:
    """Refuses to write for a page of another origin.

    In dev mode nobody logs in, so no token of a session stands between a foreign page and an address that spends money.
    Browsers say where a request comes from; programs such as curl say nothing and are let through.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in SAFE_METHODS and _is_foreign(request):
            return JsonResponse({"detail": "Another site's page may not write here."}, status=403)
        return self.get_response(request)


def _is_foreign(request: HttpRequest) -> bool:
    origin = request.headers.get("Origin", "")
    if origin:
        return urlsplit(origin).netloc != request.get_host() and origin not in settings.CSRF_TRUSTED_ORIGINS
    return request.headers.get("Sec-Fetch-Site", "") not in OWN_SITES
