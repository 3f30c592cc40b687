"""Accounts and their roles, and the page on which a person sets a password by a link."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.forms.access import MemberForm
from benchmarks.presentation.labels import ROLE
from benchmarks.queries.access import (
    active_tokens,
    answers_labeled_by,
    done_by,
    members,
    role_of,
    runs_started_by,
    share_links,
)
from benchmarks.queries.tables.access import ACTIVITY, MEMBERS, MemberRow
from benchmarks.services.access import account_of, may, may_launch
from benchmarks.services.errors import NotPossible
from benchmarks.services.members import password_key, set_active, why_not_changeable
from frontend.views.lists import Button, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require, unconfirmed

VIEW, ADD, CHANGE = "auth.view_user", "auth.add_user", "auth.change_user"
VIEW_AUDIT = "benchmarks.view_auditentry"
NOT_IN_FORCE = "In development mode, roles are not in force: everybody may do everything."
LATEST = 8
"""Actions of an account that its page shows."""


_ROLES = [
    *((name.capitalize(), may_do) for name, may_do in ROLE.items()),
    ("Superuser", "May do everything; made on the admin site"),
]


@never_cache
@require_safe
def member_list(request: HttpRequest) -> HttpResponse:
    require(request, VIEW)
    page, own = page_of(request, members()), account_of(request.user)
    rows = [MemberRow(account, account == own) for account in page]
    return listed(
        request,
        "Members",
        MEMBERS.of(rows),
        lead=f"People with an account. {NOT_IN_FORCE if settings.DEV_MODE else 'The role says what they may do.'}",
        empty="No members yet.",
        page=page,
        crumbs=crumbs(("Members", None)),
        add=Button("New member", "new-member") if may(request.user, ADD) else None,
        after="frontend/settings/only_member.html",
        reference=("What each role may do", "frontend/settings/roles.html"),
        reference_open=page.paginator.count == 1,
        roles=_ROLES,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_member(request: HttpRequest) -> HttpResponse:
    """The form; a POST adds the account and shows once the link with which the person sets a password."""
    require(request, ADD)
    form = MemberForm(request.POST if request.method == "POST" else None)
    if account := form.save(request.user):
        return _link_page(request, account)
    context = {
        "form": form,
        "not_in_force": NOT_IN_FORCE if settings.DEV_MODE else "",
        "days": _days(),
        "crumbs": crumbs(("Members", reverse("frontend:members")), ("New member", None)),
    }
    return render(request, "frontend/settings/member_form.html", context, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def member(request: HttpRequest, pk: int) -> HttpResponse:
    """An account; a POST changes its role."""
    require(request, VIEW if request.method != "POST" else CHANGE)
    account = get_object_or_404(members(), pk=pk)
    form = MemberForm(request.POST if request.method == "POST" else None, account=account)
    if form.save(request.user):
        messages.success(request, f"{account.username} saved as {form.cleaned_data['role']}.")
        return HttpResponseRedirect(request.path)
    is_own = account == request.user
    refusal = "" if is_own else why_not_changeable(account, request.user)
    may_change = may(request.user, CHANGE) and not refusal
    activity = ACTIVITY.of(done_by(account)[:LATEST] if may(request.user, VIEW_AUDIT) else ())
    context = {
        "account": account,
        "role": role_of(account),
        "not_in_force": NOT_IN_FORCE if settings.DEV_MODE else "",
        "form": form,
        "may_change": may_change,
        "may_change_role": may_change and not is_own and not account.is_superuser,
        "refusal": refusal,
        "is_own": is_own,
        "n_tokens": active_tokens(account).count(),
        "roles": _ROLES,
        "activity": activity,
        "sees_tokens": is_own or may(request.user, "benchmarks.view_apitoken"),
        "sees_links": may_launch(request.user),
        "own_rights": _rights(account),
        "n_runs": runs_started_by(account),
        "n_labeled": answers_labeled_by(account),
        "n_links": share_links().filter(created_by=account).count(),
        "crumbs": crumbs(("Members", reverse("frontend:members")), (account.username, None)),
    }
    return render(request, "frontend/settings/member.html", context, status=400 if form.errors else 200)


@never_cache
@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Deactivate or activate an account, or show once a link with which the person sets a password."""
    require(request, CHANGE)
    account = get_object_or_404(User, pk=pk)
    page = reverse("frontend:member", args=(pk,))
    try:
        match action:
            case "password":
                return _link_page(request, account)
            case "activate":
                set_active(account, True, request.user)
                messages.success(request, f"{account.username} activated.")
            case "deactivate":
                note = "The account can no longer log in. Its tokens and schedules stop. Its runs are kept."
                question = f"Deactivate {account.username}?"
                if confirmation := unconfirmed(request, question, "Deactivate member", page, note):
                    return confirmation
                set_active(account, False, request.user)
                messages.success(request, f"{account.username} deactivated.")
            case _:
                raise Http404(f"{action} is not an action for members.")
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(page)


def _rights(account: User) -> list[str]:
    """What an account may do: what its role and those before it say."""
    if account.is_superuser:
        return ["Everything, on the pages and on the admin site"]
    names = [*ROLE]
    place = names.index(role) if (role := role_of(account)) else 0
    return [ROLE[name].removeprefix("Also ").capitalize() for name in names[: place + 1]]


def _days() -> int:
    """For how long a link sets a password."""
    return settings.PASSWORD_RESET_TIMEOUT // 86_400


def _link_page(request: HttpRequest, account: User) -> HttpResponse:
    path = reverse("frontend:set-password", args=password_key(account, request.user))
    context = {
        "account": account,
        "link": request.build_absolute_uri(path),
        "days": _days(),
        "crumbs": crumbs(("Members", reverse("frontend:members")), (account.username, None)),
    }
    return render(request, "frontend/settings/password_link.html", context)


@method_decorator(require_http_methods(["GET", "HEAD", "POST"]), name="dispatch")
class SetPassword(PasswordResetConfirmView):
    """The page behind a link: it sets the password once, without a login."""

    template_name = "registration/set_password.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Password set. Log in with it.")
        return super().form_valid(form)
