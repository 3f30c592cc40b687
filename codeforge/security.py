"""Security middleware: a content security policy, a limit on request bodies, no writes for pages of other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
OWN_SITES = frozenset({"", "same-origin", "none"})

# The admin and the API docs use inline style attributes. Inline scripts are never allowed.
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WITH_INLINE_STYLES = STRICT.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
INLINE_STYLE_PATHS = ("/api/docs", "/admin/")


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Adds the Content-Security-Policy to every response without one."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        policy = WITH_INLINE_STYLES if request.path.startswith(INLINE_STYLE_PATHS) else STRICT
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


class BodySizeMiddleware(MiddlewareMixin):
    """Rejects a request by its declared size, before anything reads it into memory or writes it to disk.

    A server passes on no more than a request declares; without a declared size, Django sees no body.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        declared = request.headers.get("Content-Length", "")
        size = int(declared[:18]) if declared.isascii() and declared.isdigit() else 0
        with_files = request.content_type == "multipart/form-data"
        limit = settings.MAX_UPLOAD_BYTES if with_files else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if size > limit:
            detail = f"The request has {size / 2**20:,.0f} MB. The limit is {limit // 2**20} MB."
            return JsonResponse({"detail": detail}, status=413)
        return None


class ForeignOriginMiddleware(MiddlewareMixin):
    """Rejects writes by pages of another origin.

    In development mode there is no login, so no session token protects a URL that spends money from such a page.
    Browsers send the origin of a request; programs such as curl do not, and are let through.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if request.method not in SAFE_METHODS and _is_foreign(request):
            return JsonResponse({"detail": "Requests from other sites cannot change data."}, status=403)
        return None


def _is_foreign(request: HttpRequest) -> bool:
    origin = request.headers.get("Origin", "")
    if origin:
        return urlsplit(origin).netloc != request.get_host() and origin not in settings.CSRF_TRUSTED_ORIGINS
    return request.headers.get("Sec-Fetch-Site", "") not in OWN_SITES
