"""Creating, revoking and opening share links."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import ShareLink
from benchmarks.queries.access import share_links
from benchmarks.queries.runs import run_detail
from benchmarks.queries.tables.access import page_of_link
from benchmarks.services import share_links as services
from benchmarks.services.errors import NotPossible
from frontend.views.exports import HEADERS, streamed
from frontend.views.shared import or_404, require_launch, unconfirmed
from frontend.views.shared_pages import shared_page

MOST_FIELDS = 20
GONE = "This link has expired or is not valid. Ask for a new one."


@require_POST
def share(request: HttpRequest) -> HttpResponse:
    """Create or renew the link to what the form names by ``kind`` and ``query``."""
    require_launch(request)
    kind = request.POST.get("kind", "")
    try:
        asked = dict(parse_qsl(request.POST.get("query", ""), max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Http404("The page to share is not valid. Open it again.") from None
    try:
        link = services.share(kind, asked, request.user, days=_days(request.POST.get("days")))
    except NotPossible as refusal:
        if kind != ShareLink.Kind.COMPARISON:
            raise Http404(refusal.message) from None
        messages.error(request, refusal.message)
        return HttpResponseRedirect(f"{reverse('frontend:compare')}?{urlencode({'runs': asked.get('runs', '')})}")
    done = "changed" if "days" in request.POST else "created"
    messages.success(request, f"Share link {done}.", extra_tags="passing")
    return HttpResponseRedirect(_page(link))


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a link invalid, after asking."""
    require_launch(request)
    link = or_404(lambda: share_links().get(pk=pk), "This share link has expired or was revoked.")
    page = reverse("frontend:share-links") if request.POST.get("back") == "links" else _page(link)
    question, note = f"Revoke the share link of {link}?", "It no longer opens the page."
    if confirmation := unconfirmed(request, question, "Revoke share link", page, note):
        return confirmation
    services.revoke(link, request.user)
    messages.success(request, "Share link revoked. It no longer opens the page.")
    return HttpResponseRedirect(page)


@require_safe
def shared(request: HttpRequest, key: str) -> HttpResponseBase:
    """The page behind a share link. A forged link, an expired and a revoked one get the same answer."""
    link = services.opened(key)
    if link is None:
        raise Http404(GONE)
    if link.kind == ShareLink.Kind.RUN:
        return streamed(or_404(lambda: run_detail(int(link.asked["run"])), GONE), "html", HEADERS)
    page = shared_page(link)
    if page is None:
        raise Http404(GONE)
    return HttpResponse(page, headers=HEADERS)


def _days(text: str | None) -> int:
    """0, which no link is valid for, unless it is one of the numbers that the form offers."""
    return services.USUAL_DAYS if text is None else next((days for days in services.VALID_DAYS if str(days) == text), 0)


def _page(link: ShareLink) -> str:
    """The address of what a link shows, for members."""
    name, of, query = page_of_link(link)
    return reverse(f"frontend:{name}", args=of) + (f"?{urlencode(query, doseq=True)}" if query else "")
