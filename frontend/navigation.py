"""The seven entries of the navigation, the pages within each, and the tabs from one of its lists to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from benchmarks.models import Dataset, Experiment
from benchmarks.presentation.numbers import number
from benchmarks.queries.reviews import answers_to_label
from benchmarks.queries.runs import count_running
from benchmarks.services.access import may, may_read
from frontend import params


@dataclass(frozen=True, slots=True)
class Place:
    """A page that navigation and search name, and the permissions to open it."""

    title: str
    route: str
    description: str = ""
    permissions: tuple[str, ...] = ()
    search_title: str = ""
    """Its title where its entry has the same."""

    @property
    def url(self) -> str:
        return reverse(f"frontend:{self.route}")


@dataclass(frozen=True, slots=True)
class Tab:
    """A link of the navigation or of a row of tabs. ``count`` is what is behind it, in words or as a number."""

    title: str
    url: str
    current: bool
    count: int | str | None = None
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the navigation.

    ``icon`` is the path of a drawing of 16 × 16, ``places`` are its tabs, of which the first is its own page, and
    ``below`` the first parts of the addresses of its pages. ``others`` are pages that only search names.
    """

    title: str
    icon: str
    places: tuple[Place, ...]
    below: tuple[str, ...]
    others: tuple[Place, ...] = ()


SETTINGS = (
    Place(
        "Schedules", "schedules", "Runs that start repeatedly and report score drops.", ("benchmarks.view_schedule",)
    ),
    Place("API tokens", "tokens", "Keys with which programs use the API."),
    Place(
        "Webhooks",
        "webhooks",
        "Where events of runs are sent, and what arrived.",
        ("benchmarks.view_webhookdelivery",),
    ),
    Place(
        "Share links",
        "share-links",
        "Pages that anyone with the link can read.",
        ("benchmarks.launch_run",),
    ),
    Place(
        "Import runs",
        "import-runs",
        "Runs of other tools.",
        ("benchmarks.launch_run", "benchmarks.add_dataset"),
    ),
    Place("Members", "members", "Who has an account, and what they may do.", ("auth.view_user",)),
    Place("Workers", "workers", "Processes that execute runs, and how much work waits."),
)
"""The pages of the settings."""

ENTRIES = (
    Entry("Overview", "M2 8.5 8 3l6 5.5M4 7.5V13h8V7.5", (Place("Overview", "overview"),), ()),
    Entry(
        "Benchmarks",
        "M3 3h10v3H3zM3 8h10v5H3z",
        (Place("All", "benchmarks"), Place("Datasets", "datasets"), Place("Canvas sets", "canvases")),
        ("benchmarks", "datasets", "canvases"),
    ),
    Entry(
        "Runs",
        "M4 3l9 5-9 5z",
        (
            Place("All", "runs"),
            Place("Experiments", "experiments"),
            Place("Runs", "single-runs", search_title="Single runs"),
            Place("Imported", "imported-runs", "Runs of other tools."),
            Place("Scheduled", "scheduled-runs", "Runs that schedules started."),
        ),
        ("runs", "experiments", "compare", "results"),
        (Place("Compare", "compare"),),
    ),
    Entry(
        "Leaderboard",
        "M3 13V8M8 13V3M13 13V6",
        (Place("One benchmark", "leaderboard"), Place("Several benchmarks", "overall-leaderboard")),
        ("leaderboard",),
    ),
    Entry(
        "Review",
        "M3 3h10v8H7l-3 2.5V11H3z",
        (Place("Reviews", "reviews"), Place("Judges", "judges"), Place("Preferences", "preferences")),
        ("reviews", "judges", "preferences"),
    ),
    Entry(
        "Models",
        "M8 2.5l5 2.8v5.4l-5 2.8-5-2.8V5.3zM3 5.3l5 2.8 5-2.8M8 8.1v5.4",
        (Place("Models", "models"),),
        ("models",),
    ),
    Entry(
        "Settings",
        "M3 5h6M12 5h1M3 11h1M7 11h6M10.5 3.5v3M5.5 9.5v3",
        (Place("All", "settings"), *SETTINGS),
        ("settings", "workers"),
    ),
)
"""The entries of the navigation, in order."""


def entries(request: HttpRequest) -> list[Tab]:
    """The entries as the navigation shows them: settings for members only; to readers what runs and waits, in two
    queries."""
    here, counts = _entry_of(request), dict[str, str | None]()
    if may_read(getattr(request, "user", None)):
        running, waiting = count_running(), answers_to_label()
        counts["Runs"] = f"{number(running)} running" if running else None
        counts["Review"] = number(waiting) if waiting else None
    return [
        Tab(entry.title, entry.places[0].url, entry is here, counts.get(entry.title), entry.icon)
        for entry in ENTRIES
        if entry is not ENTRIES[-1] or _is_member(request)
    ]


def tabs(request: HttpRequest, counts: Mapping[str, int] | None = None) -> list[Tab]:
    """The tabs of the list that the request asks for; none on other pages, and none where there is one list only.

    ``counts`` says how many rows a list has, by its route.
    """
    here = _entry_of(request)
    places = [place for place in here.places if may(request.user, *place.permissions)] if here else []
    known = counts or {}
    shown = [Tab(each.title, each.url, each.url == request.path, known.get(each.route)) for each in places]
    return shown if len(shown) > 1 and any(tab.current for tab in shown) else []


def trail(route: str, *steps: tuple[str, str | None]) -> list[tuple[str, str | None]]:
    """The breadcrumbs of a page below the list ``route``: the entry that the navigation marks, its tab unless that is
    its own page, and the ``steps``."""
    entry = next(each for each in ENTRIES if any(place.route == route for place in (*each.places, *each.others)))
    own, place = entry.places[0], next(each for each in (*entry.places, *entry.others) if each.route == route)
    return [(entry.title, own.url), *([] if place is own else [(place.title, place.url)]), *steps]


_OF_SETS = ("gallery", "audit")
"""Tabs that have no versions."""


def dataset_tabs(request: HttpRequest, dataset: Dataset) -> list[Tab]:
    """The tabs of the pages of a dataset, and of the canvas set that it was made from. A version that the address names
    stays the chosen one."""
    of_set = zip(("Canvases", "Audit"), _OF_SETS, strict=True) if dataset.canvas_set else ()
    named = [
        ("Results", "dataset", dataset.slug),
        ("Tasks", "dataset-tasks", dataset.slug),
        *((title, route, dataset.canvas_set.slug) for title, route in of_set if dataset.canvas_set),
        ("Analysis", "task-analysis", dataset.slug),
        ("Versions", "dataset-versions", dataset.slug),
        ("Files", "dataset-files", dataset.slug),
    ]
    chosen = params.kept(request.GET, ("version",))
    tabs = []
    for title, route, slug in named:
        url = reverse(f"frontend:{route}", args=(slug,))
        tabs.append(Tab(title, url + (chosen if route not in _OF_SETS else ""), url == request.path))
    return tabs


def dataset_trail(dataset: Dataset, *steps: tuple[str, str | None]) -> list[tuple[str, str | None]]:
    """The breadcrumbs of a page of a dataset; without ``steps`` of one of its tabs."""
    url = reverse("frontend:dataset", args=(dataset.slug,)) if steps else None
    return trail("canvases" if dataset.kind == Dataset.Kind.CANVAS else "datasets", (dataset.title, url), *steps)


def experiment_tabs(experiment: Experiment, current: str, query: str) -> list[Tab]:
    """The tabs of an experiment, of which ``current`` is a route; those with filters carry the ``query`` on."""
    named = (
        ("Results", "experiment"),
        ("Answers", "experiment-answers"),
        ("Failures", "experiment-failures"),
        ("Cost", "experiment-cost"),
        ("Setup", "experiment-setup"),
    )
    return [
        Tab(title, reverse(f"frontend:{route}", args=(experiment.pk,)) + (query if place < 2 else ""), route == current)
        for place, (title, route) in enumerate(named)
    ]


def places(request: HttpRequest) -> Iterator[Place]:
    """Every page that has a name and that the user may open, under a title that says it alone."""
    for entry in ENTRIES:
        for place in (*entry.places, *entry.others):
            if may(request.user, *place.permissions):
                title = entry.title if place is entry.places[0] else place.search_title or place.title
                yield Place(title, place.route)


def is_of_schedule(request: HttpRequest) -> bool:
    """Whether the launch page makes or edits a schedule, whose pages are within the settings."""
    sent = request.POST or request.GET
    return request.path == reverse("frontend:launch") and bool(sent.get("schedule") or sent.get("when"))


def _entry_of(request: HttpRequest) -> Entry | None:
    """The entry within which the page is."""
    if is_of_schedule(request):
        return ENTRIES[-1]
    first = request.path.strip("/").split("/", 1)[0]
    if not first:
        return ENTRIES[0]
    return next((entry for entry in ENTRIES if first in entry.below), None)


def _is_member(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return settings.DEV_MODE or (user is not None and user.is_authenticated)
