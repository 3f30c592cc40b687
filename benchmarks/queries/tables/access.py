"""The tables of API tokens, members and share links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.text import capfirst

from benchmarks.models import ApiToken, AuditEntry, ShareLink
from benchmarks.presentation.cells import Button, Cell, Copied, Link, Moment, soft, tag
from benchmarks.presentation.numbers import MISSING
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.access import role_of


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token at a moment; ``revocable`` by whoever reads the list."""

    token: ApiToken
    now: datetime
    revocable: bool = False

    @property
    def status(self) -> Cell:
        token = self.token
        if token.revoked_at:
            return ["Revoked", Moment(token.revoked_at)]
        if token.expires_at and token.expires_at <= self.now:
            return "Expired"
        return "Active" if token.account.is_active else "Account inactive"


def _moment(at: datetime | None, *, exact: bool = False) -> Cell:
    return Moment(at, exact) if at else "Never"


def _revoke_token(row: TokenRow) -> Cell:
    if not row.revocable:
        return ""
    return Button("Revoke", f"Revoke token {row.token.name}", "revoke-token", (row.token.pk,), look="danger")


TOKENS = Table[TokenRow](
    "Your tokens",
    [
        Column("Token", lambda row: row.token.name, "name", "anywhere"),
        Column("Account", lambda row: row.token.account.get_username(), look="anywhere", given="views_all"),
        Column("Begins with", lambda row: f"{row.token.beginning}…", look="mono nowrap"),
        Column("Scopes", lambda row: ", ".join(row.token.scopes), look="nowrap"),
        Column("Created", lambda row: Moment(row.token.created_at), look="nowrap"),
        Column("Last used", lambda row: _moment(row.token.last_used_at), look="nowrap"),
        Column("Expires", lambda row: _moment(row.token.expires_at, exact=True), look="nowrap"),
        Column("Status", lambda row: row.status, look="nowrap"),
        Column("Revoke", _revoke_token, "number", hidden_head=True, only="page", given="may_add"),
    ],
    region=True,
)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """An account, and whether it belongs to whoever reads the list."""

    account: User
    is_own: bool = False


def _username(row: MemberRow) -> Cell:
    name = Link(row.account.get_username(), "member", (row.account.pk,))
    return [name, tag("You")] if row.is_own else name


def _role(row: MemberRow) -> Cell:
    account = row.account
    role = role_of(account).capitalize()
    if account.is_superuser:
        return [*([role] if role else []), tag("Superuser"), soft("may do everything")]
    return role or "No role: may read only"


MEMBERS = Table[MemberRow](
    "Members",
    [
        Column("Username", _username, "name"),
        Column("Role", _role, look="beside", bare=True),
        Column("Status", lambda row: "Active" if row.account.is_active else "Inactive", unit=""),
        Column("Last login", lambda row: _moment(row.account.last_login), look="nowrap"),
        Column("Added", lambda row: Moment(row.account.date_joined), look="nowrap"),
    ],
    look="brief",
)


def _action(entry: AuditEntry) -> str:
    """``Include doubtful`` of ``run.include_doubtful``."""
    return entry.action.partition(".")[2].replace("_", " ").capitalize()


ACTIVITY = Table[AuditEntry](
    "Latest actions",
    [
        Column("On", lambda entry: capfirst(entry.subject), "name", "anywhere"),
        Column("Action", _action),
        Column("When", lambda entry: Moment(entry.at), look="nowrap"),
    ],
    region=True,
)


@dataclass(frozen=True, slots=True)
class SharedRow:
    link: ShareLink
    address: str


def _shared(row: SharedRow) -> Cell:
    page, of, query = page_of_link(row.link)
    return Link(capfirst(str(row.link)), page, of, query)


def _author(row: SharedRow) -> Cell:
    return row.link.created_by.get_username() if row.link.created_by else MISSING


def _revoke_link(row: SharedRow) -> Cell:
    name = f"Revoke share link of {row.link}"
    return Button("Revoke", name, "revoke-link", (row.link.pk,), {"back": "links"}, look="danger")


SHARE_LINKS = Table[SharedRow](
    "Share links, latest first",
    [
        Column("Page", _shared, "name", "anywhere"),
        Column("Created by", _author, look="anywhere"),
        Column("Expires", lambda row: Moment(row.link.expires_at, exact=True), look="nowrap"),
        Column("Link", lambda row: Copied(row.address, f"link-{row.link.pk}", f"Link to {row.link}")),
        Column("Revoke", _revoke_link, "number", hidden_head=True, only="page"),
    ],
)


def page_of_link(link: ShareLink) -> tuple[str, tuple[object, ...], Mapping[str, str | list[str]]]:
    """The page that a link shows, for members: its name in the dashboard, what its address takes, and its query."""
    query = link.asked
    match link.kind:
        case ShareLink.Kind.COMPARISON:
            return "compare", (), query
        case ShareLink.Kind.LEADERBOARD:
            return "leaderboard", (), query
        case ShareLink.Kind.OVERALL:
            return "overall-leaderboard", (), {"dataset": query["datasets"].split(",")}
        case kind:
            return kind, (int(query.pop(kind)),), query
