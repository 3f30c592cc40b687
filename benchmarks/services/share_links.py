"""Signed links that show a page to people without an account, until they expire or are revoked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from urllib.parse import urlencode

from django.core import signing
from django.db import transaction
from django.utils import timezone

from benchmarks.models import COMPLETED, OF_MODELS, Dataset, Experiment, Run, ShareLink
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import NotPossible

VALID_DAYS, USUAL_DAYS = (1, 7, 30, 90), 7
"""How long links may be valid."""
FIELDS: dict[str, tuple[str, ...]] = {
    ShareLink.Kind.RUN: ("run",),
    ShareLink.Kind.EXPERIMENT: ("experiment", "metric", "dataset", "columns", "variants", "margin"),
    ShareLink.Kind.COMPARISON: ("runs", "metric", "dataset", "columns", "margin"),
    ShareLink.Kind.LEADERBOARD: ("dataset", "version", "metric", "setting", "choose", "rank"),
    ShareLink.Kind.OVERALL: ("datasets",),
}
"""Kind of link → what a link of it may say, the subject first."""
MOST_RUNS = 12
"""Of a shared comparison: as many as its page compares."""
MOST_DATASETS = 12
"""Of a shared leaderboard: as many as its page ranks over."""
MOST_CHARACTERS = 200
"""Of one value, as in the addresses of pages. Lists of runs have a limit of their own."""
_SALT = "share link"
_SALT_OF_RUNS = "shared run"


def share(kind: str, asked: Mapping[str, str], user: Caller = None, *, days: int = USUAL_DAYS) -> ShareLink:
    """Share what is ``asked`` for so many days from now on. A valid link to the same is renewed: it has the same
    address.

    Raises ``NotPossible`` if there is no such page, or if ``days`` are not among ``VALID_DAYS``.
    """
    if days not in VALID_DAYS:
        raise NotPossible(f"A share link is valid for {', '.join(map(str, VALID_DAYS))} days. Choose one of these.")
    query, now = query_of(kind, asked), timezone.now()
    with transaction.atomic():
        link = ShareLink.valid().select_for_update().filter(kind=kind, query=query).first()
        link = link or ShareLink(kind=kind, query=query, created_at=now)
        link.created_by, link.expires_at = account_of(user), now + timedelta(days=days)
        link.save()
        record(user, f"{kind}.share", str(link), link=link.pk, days=days)
    return link


def query_of(kind: str, asked: Mapping[str, str]) -> str:
    """What a link of this kind stores: the known fields in a fixed order. Raises ``NotPossible``."""
    if kind not in FIELDS:
        raise NotPossible(f"Pages of the kind {kind[:40]} cannot be shared. Choose one of: {', '.join(FIELDS)}.")
    given = {name: asked.get(name, "").replace("\0", "").strip() for name in FIELDS[kind]}
    subject = FIELDS[kind][0]
    given[subject] = _SUBJECTS[kind](given[subject])
    long = [name for name, value in given.items() if name != subject and len(value) > MOST_CHARACTERS]
    if long:
        raise NotPossible(f"{long[0].capitalize()} has more than {MOST_CHARACTERS} characters. Choose one of the page.")
    return urlencode({name: value for name, value in given.items() if value})


def link_key(link: ShareLink) -> str:
    """The key in the address of a link."""
    return signing.Signer(salt=_SALT).sign_object({"link": link.pk})


def revoke(link: ShareLink, user: Caller = None) -> None:
    """End a link, and every other valid one to the same."""
    with transaction.atomic():
        ended = ShareLink.valid().filter(kind=link.kind, query=link.query).order_by()
        if ended.update(revoked_at=timezone.now()):
            record(user, f"{link.kind}.unshare", str(link), link=link.pk)


def opened(key: str) -> ShareLink | None:
    """The link with this key; ``None`` if it is forged, has expired or was revoked."""
    try:
        return ShareLink.valid().filter(pk=signing.Signer(salt=_SALT).unsign_object(key)["link"]).first()
    except signing.BadSignature:
        return _opened_before(key)


def _opened_before(key: str) -> ShareLink | None:
    """The link of a key from the time when only runs had links: its run and when it was signed."""
    try:
        signed = signing.loads(key, salt=_SALT_OF_RUNS, max_age=timedelta(days=7))
    except signing.BadSignature:
        return None
    links = ShareLink.valid().filter(kind=ShareLink.Kind.RUN, query=urlencode({"run": signed["run"]}))
    return next((link for link in links if link.created_at.timestamp() <= signed["since"]), None)


def _number(text: str) -> int:
    """The id that a text is; 0, which nothing has, if it is none."""
    # Fewer than ten digits: larger numbers are no ids, and some databases reject them with an error.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _existing(model: type[Run] | type[Experiment], text: str) -> str:
    pk = _number(text)
    if not model.objects.filter(pk=pk).exists():
        raise NotPossible(f"{model.__name__} {pk or text[:20]} does not exist.")
    return str(pk)


def _runs(text: str) -> str:
    ids = list(dict.fromkeys(map(_number, text.split(","))))
    if len(ids) > MOST_RUNS:
        raise NotPossible(
            f"A shared comparison has at most {MOST_RUNS} runs, and this one has {len(ids)}. Remove some."
        )
    if len(ids) < 2 or Run.objects.filter(OF_MODELS, pk__in=ids).count() < len(ids):
        raise NotPossible("A comparison requires two or more existing runs. Choose the runs again.")
    return ",".join(map(str, ids))


def _dataset(text: str) -> str:
    if not Dataset.objects.filter(slug=text, runs__status__in=COMPLETED).exists():
        raise NotPossible(
            f"There are no completed runs on {text[:80] or 'an unnamed dataset'}. Choose another dataset."
        )
    return text


def _datasets(text: str) -> str:
    slugs = sorted(set(text.split(",")))
    if len(slugs) > MOST_DATASETS:
        raise NotPossible(f"A leaderboard is over at most {MOST_DATASETS} datasets. Remove some.")
    return ",".join(map(_dataset, slugs))


_SUBJECTS: dict[str, Callable[[str], str]] = {
    ShareLink.Kind.RUN: partial(_existing, Run),
    ShareLink.Kind.EXPERIMENT: partial(_existing, Experiment),
    ShareLink.Kind.COMPARISON: _runs,
    ShareLink.Kind.LEADERBOARD: _dataset,
    ShareLink.Kind.OVERALL: _datasets,
}
"""Kind of link → what checks its subject and writes it in one form."""
