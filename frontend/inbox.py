"""The inbox of the overview: one notice for each event that needs somebody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings
from django.urls import reverse

from benchmarks.analysis.comparisons import newer_sentence, run_of_day
from benchmarks.engine.webhooks.delivery import UNSIGNED_FOR
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import DatasetFile, Run, RunStatus, ScoreDrop
from benchmarks.presentation.actions import allowed_actions
from benchmarks.presentation.numbers import interval, n_of, plural, points, score, signed_points
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import silent
from benchmarks.providers.clean_text import full_sentence
from benchmarks.queries.datasets import files_needing_attention
from benchmarks.queries.reviews import answers_to_label
from benchmarks.queries.runs import Blocked, blocked, troubled_runs
from benchmarks.queries.schedules import MOST_SHOWN, open_score_drops
from benchmarks.queries.webhooks import FailingWebhook, WebhookRow, failing_webhooks
from frontend.view_models import spent

TROUBLED = 5
ROUNDED = 0.0005
"""Differences of scores below this are not seen."""
HUNG_SECONDS = 120.0
"""From so many seconds without an answer on, a run that is silent needs somebody."""
# Only printed: entered in each place, a line that also set the variable would give each a secret of its own.
NEW_SECRET = 'echo "whsec_$(openssl rand -base64 32)"'
FOR_SECRET = "Make one secret for all places and the receiver:"


@dataclass(frozen=True, slots=True)
class Notice:
    """An event. ``state`` and ``kind`` make its mark; ``link`` and ``post`` are a label and an address: what to look at
    and what to do. ``more`` opens on demand. ``dismiss`` is an address, if it can be dismissed."""

    state: str
    kind: str
    title: str
    url: str
    detail: str = ""
    at: datetime | None = None
    link: tuple[str, str] | None = None
    post: tuple[str, str] | None = None
    dismiss: str = ""
    more: str = ""
    copy: str = ""
    """A command to copy; ``copy_for`` says what it does."""
    copy_for: str = ""


def inbox(live: Sequence[Run], *, with_webhooks: bool = False) -> list[Notice]:
    """Score drops, those of the ``live`` runs that hang, troubled runs, webhooks that deliver nothing, files with
    errors, answers to label."""
    drops = drop_notices(list(open_score_drops()[:MOST_SHOWN]))
    hung = hung_notices(run for run in live if (run.silent_seconds or 0.0) >= HUNG_SECONDS)
    runs = [_run(run) for run in troubled_runs(TROUBLED)]
    webhooks = [_webhook(each) for each in failing_webhooks()] if with_webhooks else []
    return [*drops, *hung, *runs, *webhooks, *map(_file, files_needing_attention()), *_labels()]


def drop_notices(drops: Sequence[ScoreDrop]) -> list[Notice]:
    """One notice for each run of ``open_score_drops``, however many of its metrics dropped."""
    return [_drop(*of_run) for of_run in _by_run(drops)]


def _by_run(drops: Sequence[ScoreDrop]) -> list[list[ScoreDrop]]:
    """The drops of each scheduled run, that of its headline first."""
    of_run: dict[int, list[ScoreDrop]] = {}
    for drop in drops:
        of_run.setdefault(drop.scheduled_run_id, []).insert(0, drop)  # the latest come first
    return [*of_run.values()]


def _drop(drop: ScoreDrop, *others: ScoreDrop) -> Notice:
    run, before = drop.scheduled_run.run, drop.compared_with
    what = "95% interval" if drop.p_adjusted is not None else "bounds of the gate"
    bounds = f"{plural(drop.n_shared, 'shared task')}, {what} {interval(-drop.high, -drop.low, points)} points."
    facts = [f"“{_title(other.metric)}” score {signed_points(other.difference)} points." for other in others]
    facts.append(newer_sentence(before, run) if before else f"{run_of_day(run)}.")
    facts.append(f"Schedule “{drop.scheduled_run.schedule.name}”.")
    page = reverse("frontend:run", args=(run.pk,))
    compare = f"{reverse('frontend:compare')}?runs={before.pk},{run.pk}" if before else page
    return Notice(
        state="failed",
        kind="Score drop",
        title=f"{run.model} lost {points(-drop.difference)} points on {run.dataset.title} ({_title(drop.metric)})",
        url=page,
        detail=f"{_before_and_after(drop)}{bounds}",
        more=" ".join(facts),
        at=drop.created_at,
        link=("Compare", compare),
        dismiss=reverse("frontend:dismiss-score-drop", args=(drop.pk,)),
    )


def _before_and_after(drop: ScoreDrop) -> str:
    """``From 0.900 in run 7 to 0.700 in run 9, ``; empty where the scores of the runs, which may have tasks that they
    do not share, are not what was compared."""
    run, before = drop.scheduled_run.run, drop.compared_with
    if before is None:
        return ""
    old, new = before.numbers_of(drop.metric).mean, run.numbers_of(drop.metric).mean
    if old is None or new is None or abs(new - old - drop.difference) >= ROUNDED:
        return ""
    return f"From {score(old)} in run {before.pk} to {score(new)} in run {run.pk}, "


def hung_notices(live: Iterable[Run]) -> list[Notice]:
    """One notice for each run that waits for an answer longer than its requests usually take."""
    return [_hung(run) for run in live if silent(run)]


def _hung(run: Run) -> Notice:
    page, pause = reverse("frontend:run", args=(run.pk,)), allowed_actions(run, ("pause",)).get("pause")
    words = silent(run)
    return Notice(
        state="silent",
        kind="Run",
        title=f"{run.model} on {run.dataset.title}: {words[:1].lower()}{words[1:]}",
        url=page,
        detail=f"Its worker waits for the endpoint. Run {run.pk} has {n_of(run.done, run.total)} results.",
        link=("Check provider", provider_page(run.model.partition("/")[0])),
        post=(pause, reverse("frontend:run-action", args=(run.pk, "pause"))) if pause else None,
    )


def _run(run: Run) -> Notice:
    stop, page = blocked(run), reverse("frontend:run", args=(run.pk,))
    said, detail = _trouble(run, stop)
    actions = [] if stop else [*allowed_actions(run, ("resume", "retry")).items()][:1]
    link = None
    if stop:
        link = ("Raise budget", f"{page}#budget_usd") if stop.by_budget else ("Check key", provider_page(stop.provider))
    return Notice(
        state=run.status,
        kind="Run",
        title=f"{run.model} on {run.dataset.title} {said}",
        url=page,
        detail=f"Run {run.pk}. {detail}",
        at=run.completed_at or run.created_at,
        link=link,
        post=next(((label, reverse("frontend:run-action", args=(run.pk, name))) for name, label in actions), None),
    )


def _trouble(run: Run, stop: Blocked | None) -> tuple[str, str]:
    """What happened to a run, as the end of a sentence that begins with its model, and what is known besides."""
    done = n_of(run.done, run.total)
    message = run.error_message.removeprefix(f"The model {run.model} failed. ")[:200]
    if run.status == RunStatus.PAUSED:
        at = f"is paused after {done} results"
        return (f"{at}: the budget is too low", spent(run).said) if stop else (at, message or "Resume it to continue.")
    if run.status != RunStatus.FAILED:
        failed = f"has {plural(run.errors, 'error')} in {plural(run.total, 'result')}"
        return failed, message or "Errors have no score."
    if stop:
        return "stopped: the API key was refused", message
    return (f"stopped after {done} results" if run.done > run.errors else "stopped before its first answer"), message


def provider_page(name: str) -> str:
    """Where the key of a provider is checked and entered."""
    return f"{reverse('frontend:models')}#p-{name}"


def _webhook(webhook: FailingWebhook) -> Notice:
    page = reverse("frontend:webhook", args=(webhook.name,))
    failed = f"{plural(webhook.failed, 'event')} not delivered since the last success."
    return Notice(
        state="failed",
        kind="Webhook",
        title=f"Webhook “{webhook.name}” delivers nothing",
        url=page,
        detail=f"{failed} {webhook.problem or 'Check that its receiver answers.'}",
        at=webhook.at,
        link=("Show webhook", page),
    )


def webhook_problems(rows: Sequence[WebhookRow], *, named: bool = True) -> list[Notice]:
    """Those of the webhooks that cannot sign or whose deliveries all fail; on the page of one it is not ``named``."""
    failing = {each.name: each for each in failing_webhooks()}
    sign = ("How to sign webhooks", reverse("frontend:document", args=("how-to/webhooks",)))
    unsigned: dict[str, list[str]] = {}
    for row in rows:
        if row.problem:
            unsigned.setdefault(row.problem, []).append(row.name)
    found = []
    for problem, names in unsigned.items():
        quoted = listed([f"“{name}”" for name in names])
        noun = "Webhook" if len(names) == 1 else "Webhooks"
        who = f"{noun} {quoted}" if named else "This webhook"
        notice = Notice("failed", "Webhook", f"{who} cannot deliver", "", problem, link=sign)
        if names[0] in settings.CODEFORGE.webhooks:
            then = "Then pending deliveries are sent" + ("." if named else ", and you can send a test.")
            wait = f"They wait up to {UNSIGNED_FOR.days} days; no attempt is counted."
            notice = replace(notice, detail=f"{problem} {then} {wait}", copy=NEW_SECRET, copy_for=FOR_SECRET)
        found.append(notice)
    for row in rows:
        if row.name in failing and not row.problem:
            notice = _webhook(failing[row.name])
            found.append(notice if named else replace(notice, title="Nothing is delivered", url="", link=None))
    return found


def _file(file: DatasetFile) -> Notice:
    problem = file.problems[0] if file.problems else None
    facts = [f"Line {problem['line']}: {full_sentence(problem['message'][:200])}"] if problem else []
    if file.state == "broken" and file.dataset_id:
        facts.append("The dataset keeps its last valid version until you fix the file.")
    elif file.state == "broken":
        facts.append("The file is imported when it is valid.")
    page = f"{reverse('frontend:datasets')}#files"
    state = file.get_state_display()
    title = f"{file.path}: {state[:1].lower()}{state[1:]}"
    detail = " ".join(facts)
    return Notice("completed_with_errors", "File", title, page, detail, file.checked_at, link=("Show file", page))


def _labels() -> Iterator[Notice]:
    if waiting := answers_to_label():
        page = reverse("frontend:reviews")
        title = f"{plural(waiting, 'answer')} {'waits' if waiting == 1 else 'wait'} for a label"
        yield Notice("queued", "Review", title, page, link=("Label", page))


def _title(name: str) -> str:
    metric = metric_named(name)
    return metric.title if metric else name
