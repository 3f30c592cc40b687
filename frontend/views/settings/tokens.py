"""API tokens: the list, the form for a new one, whose text is shown once, and revoking."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.forms.access import SCOPES, TokenForm
from benchmarks.models import ApiToken
from benchmarks.queries.access import api_tokens
from benchmarks.queries.tables.access import TOKENS, TokenRow
from benchmarks.services.access import account_of, create_token, may, revoke_token
from frontend import params
from frontend.views.lists import Button, Example, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require, unconfirmed

VIEW_ALL, ADD, CHANGE = "benchmarks.view_apitoken", "benchmarks.add_apitoken", "benchmarks.change_apitoken"

_USES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CI job", "Starts a run for each change and fails when its score drops", ("read", "launch")),
    ("Notebook", "Reads runs and results as tables", ("read",)),
    ("Labeling tool", "Stores what people say of answers", ("label",)),
)
"""What tokens are for, with the scopes that each needs."""


@never_cache
@require_safe
def token_list(request: HttpRequest) -> HttpResponse:
    """The user's own tokens; of all accounts for those who may view them."""
    account, views_all = account_of(request.user), may(request.user, VIEW_ALL)
    if account is None and not views_all:
        raise PermissionDenied("Log in to see your API tokens.")
    page = page_of(request, api_tokens(None if views_all else account))
    may_add, revokes_all, now = account is not None or may(request.user, ADD), may(request.user, CHANGE), timezone.now()
    rows = [TokenRow(token, now, not token.revoked_at and (revokes_all or token.account == account)) for token in page]
    title = "Tokens of all accounts" if views_all else TOKENS.title
    return listed(
        request,
        "API tokens",
        TOKENS.where(views_all=views_all, may_add=may_add).of(rows, title=title),
        lead=format_html(
            'With a token, a program uses the <a href="{}">API</a> with at most the permissions of its account.',
            reverse("docs"),
        ),
        empty="No tokens yet",
        examples=[_example(*use, may_add) for use in _USES],
        page=page,
        crumbs=crumbs(("API tokens", None)),
        add=Button("New token", "new-token") if may_add else None,
        reference=("How to use a token", "frontend/settings/token_example.html"),
        site=_site(request),
        scopes=SCOPES,
    )


def _example(name: str, text: str, scopes: Sequence[str], may_add: bool) -> Example:
    url = f"{reverse('frontend:new-token')}?{urlencode({'name': name, 'scopes': scopes}, doseq=True)}"
    noun = "Scopes" if len(scopes) > 1 else "Scope"
    return Example(name, f"{text}. {noun}: {' and '.join(scopes)}", url if may_add else "")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_token(request: HttpRequest) -> HttpResponse:
    """The form of a token of the user's own, for administrators of any account, with the name and the scopes that the
    address gives. The page that answers a POST is the only one that shows the token.
    """
    account, chooses = account_of(request.user), may(request.user, ADD)
    if account is None:
        require(request, ADD)
    sent = request.POST if request.method == "POST" else None
    initial: dict[str, object] = {"account": account, "name": params.text(request.GET, "name")}
    if scopes := request.GET.getlist("scopes"):
        initial["scopes"] = scopes
    form = TokenForm(sent, initial=initial, by=request.user, owner=None if chooses else account)
    context = {
        "form": form,
        "chooses": chooses,
        "site": _site(request),
        "crumbs": crumbs(("API tokens", reverse("frontend:tokens")), ("New token", None)),
    }
    if form.is_valid():
        token, text = create_token(**form.cleaned_data, by=request.user)
        return render(request, "frontend/settings/token_created.html", context | {"token": token, "text": text})
    return render(request, "frontend/settings/token_form.html", context, status=400 if form.errors else 200)


def _site(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    account = account_of(request.user)
    if account is None:
        require(request, CHANGE)
    token, page = get_object_or_404(ApiToken.objects.select_related("account"), pk=pk), reverse("frontend:tokens")
    if token.account != account:
        require(request, CHANGE)
    question, note = f"Revoke token {token.name} of {token.account}?", "Programs that use it lose access at once."
    if confirmation := unconfirmed(request, question, "Revoke token", page, note):
        return confirmation
    revoke_token(token, by=request.user)
    messages.success(request, f"Token {token.name} revoked.")
    return HttpResponseRedirect(page)
