"""What several views need: rows or 404, pages of lists, permission to start runs, charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from benchmarks.models import Dataset, Run
from benchmarks.presentation.numbers import plural
from benchmarks.queries.keyset import BadCursor
from benchmarks.queries.preferences import count_choices
from benchmarks.queries.runs import run_detail
from benchmarks.services.access import LAUNCH_REFUSAL, Caller, may, may_launch
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, resume_judging
from frontend import drawing
from frontend.chart_parts import Chart
from frontend.view_models import JudgingRow

Row = TypeVar("Row")
STYLED_SVG = "default-src 'none'; style-src 'unsafe-inline'"
"""The policy of an SVG, which is a document where it is opened on its own: it may style itself and do nothing else."""
JUDGING_ACTIONS: dict[str, tuple[Callable[[Run, Caller], object], str]] = {
    "cancel": (cancel_run, "canceled. Its verdicts are kept."),
    "resume": (resume_judging, "resumed with its existing verdicts."),
    "delete": (delete_run, "deleted."),
}
"""Name in the URL → what it does to a calibration or preference run, and the message that confirms it."""


@dataclass(frozen=True, slots=True)
class PlacedChart:
    """A chart with the addresses at which the server draws it."""

    chart: Chart
    svg: str
    png: str


def or_404(read: Callable[[], Row], missing: str) -> Row:
    """What ``read`` returns; where the row does not exist, a page that says ``missing``."""
    try:
        return read()
    except ObjectDoesNotExist:
        raise Http404(missing) from None


def run_or_404(pk: int, read: Callable[[int], Run] = run_detail) -> Run:
    return or_404(lambda: read(pk), f"Run {pk} does not exist.")


def paged(request: HttpRequest, read: Callable[[str | None, str | None], Row]) -> Row:
    """The page that ``read(after, before)`` returns; the first one if the address holds an invalid cursor."""
    try:
        return read(request.GET.get("after"), request.GET.get("before"))
    except BadCursor:
        return read(None, None)


def require_launch(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)


def require(request: HttpRequest, *permissions: str) -> None:
    """Raise ``PermissionDenied`` unless the user has all these permissions, such as ``benchmarks.add_schedule``."""
    if not may(request.user, *permissions):
        names = " and ".join(f"“{name.partition('.')[2].replace('_', ' ')}”" for name in permissions)
        raise PermissionDenied(f"You do not have access to this page. Ask an administrator for the permission {names}.")


def may_copy(request: HttpRequest, run: Run) -> bool:
    """Whether the user may copy tasks of the run to a dataset. Generated tasks cannot be copied."""
    return run.dataset.kind == Dataset.Kind.YAML and may(request.user, "benchmarks.add_task")


def unconfirmed(
    request: HttpRequest, question: str, button: str, back: str, note: str = "", *, loses: bool = True
) -> HttpResponse | None:
    """The page that asks ``question`` before a POST takes effect, or ``None`` if the POST comes from that page.

    Its form sends the same fields again; ``button`` is a verb with its object, ``back`` the address to return to.
    ``loses`` says whether the POST takes something away.
    """
    if request.POST.get("confirmed") == "yes":
        return None
    sent = [(name, value) for name, values in request.POST.lists() for value in values if name != "csrfmiddlewaretoken"]
    context = {"question": question, "button": button, "back": back, "note": note, "loses": loses, "sent": sent}
    return render(request, "frontend/components/confirm.html", context)


def act_on_judging(request: HttpRequest, row: JudgingRow, action: str) -> HttpResponse:
    """Cancel, resume or delete a calibration or preference run, and redirect to where its status is shown."""
    if action not in JUDGING_ACTIONS:
        raise Http404(f"{action} is not an action of this page. Choose one of: {', '.join(JUDGING_ACTIONS)}.")
    perform, done = JUDGING_ACTIONS[action]
    list_page, own_page, _ = row.routes
    page, noun = reverse(own_page, args=(row.run.pk,)), row.noun.lower()
    verdicts, choices = plural(row.run.done, "verdict"), count_choices(row.run)
    lost = f", its {verdicts} and {plural(choices, 'choice')} of people" if choices else f" and its {verdicts}"
    question = f"Delete {noun} {row.run.pk}{lost}?"
    if action == "delete" and (confirmation := unconfirmed(request, question, f"Delete {noun}", page)):
        return confirmation
    try:
        perform(row.run, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(page)
    messages.success(request, f"{row.noun} {row.run.pk} {done}")
    return HttpResponseRedirect(reverse(list_page) if action == "delete" else page)


def placed(charts: Iterable[Chart | None], route: str, *key: object, query: str = "") -> list[PlacedChart]:
    """The charts that exist. ``route`` takes ``key``, the chart's name and the format."""

    def address(chart: Chart, form: str) -> str:
        return reverse(f"frontend:{route}", args=(*key, chart.name, form)) + (f"?{query}" if query else "")

    return [PlacedChart(chart, address(chart, "svg"), address(chart, "png")) for chart in charts if chart]


def chart_response(request: HttpRequest, charts: Iterable[Chart | None], name: str, form: str) -> HttpResponse:
    """The chart of that name as SVG or PNG, in the theme of ``?theme=``."""
    chart = next((chart for chart in charts if chart and chart.name == name), None)
    if chart is None or form not in ("svg", "png"):
        raise Http404("This chart does not exist.")
    colors: drawing.Theme = "dark" if request.GET.get("theme") == "dark" else "light"
    # Drawn from the stored summary on each request; the address has no version that would allow caching.
    if form == "png":
        return HttpResponse(drawing.png(chart, colors), content_type="image/png")
    policy = {"Content-Security-Policy": STYLED_SVG}
    return HttpResponse(drawing.svg(chart, colors), content_type="image/svg+xml", headers=policy)
