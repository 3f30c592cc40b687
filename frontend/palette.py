"""The palette: what the search finds, the commands, the pages and the help, as one list of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from benchmarks.models import Run, Task
from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.presentation.numbers import n_of, number, plural
from benchmarks.queries.experiments import findings, progress
from benchmarks.queries.runs import words_of
from benchmarks.queries.search import Matches, newest, search
from benchmarks.services.access import may_launch
from frontend.context_processors import THEMES
from frontend.documents import DOCUMENTS
from frontend.navigation import places
from frontend.ruler import ruler
from frontend.view_models import RunRow, run_finding, run_row

STARTABLE = 2
"""Of the benchmarks and of the models that match, how many a run is offered on."""
HELP = 3
NO_RULER = SafeString("")


@dataclass(frozen=True, slots=True)
class Row:
    """Something to open or to do. ``finding`` says what is known of it.

    It ``heads`` those of its kind. ``before``, ``match`` and ``after`` are its title, with what was searched for, or
    one word of it, in ``match``. A command with a ``theme`` posts it to ``url``.
    """

    kind: str
    before: str
    match: str
    after: str
    url: str
    finding: str = ""
    theme: str | None = None
    ruler: SafeString = NO_RULER
    heads: bool = True


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    title: str
    url: str
    finding: str = ""
    theme: str | None = None
    ruler: SafeString = NO_RULER

    def row(self, words: str, *, heads: bool) -> Row:
        title, wanted = self.title.lower(), [words.lower(), *_wanted(words)]
        marked = next((each for each in wanted if each in title), "")
        at = title.find(marked) if marked else len(title)
        end = at + len(marked)
        parts = self.title[:at], self.title[at:end], self.title[end:]
        return Row(self.kind, *parts, self.url, self.finding, self.theme, self.ruler, heads)


def rows(request: HttpRequest, words: str) -> list[Row]:
    """What matches the words, by kind, those first that begin with them; without words the commands, and the newest
    datasets and runs."""
    if not words:
        return _rows([*_commands(request), *_found(newest())], "")
    named = [*_commands(request), *_themes(), *_pages(request)]
    matches = search(words)
    lower = words.lower()
    found = [
        *_found(matches, words),
        *(_starts(matches) if may_launch(request.user) else ()),
        *(entry for entry in named if not _lacking(entry.title, words)),
        *[entry for entry in _help() if not _lacking(entry.title, words)][:HELP],
    ]
    found.sort(key=lambda entry: not entry.title.lower().startswith(lower))
    kinds = list(dict.fromkeys(entry.kind for entry in found))
    return _rows(sorted(found, key=lambda entry: kinds.index(entry.kind)), words)


def _rows(entries: Sequence[_Entry], words: str) -> list[Row]:
    before = [None, *(entry.kind for entry in entries)]
    return [entry.row(words, heads=entry.kind != kind) for entry, kind in zip(entries, before, strict=False)]


def _found(matches: Matches, words: str = "") -> Iterator[_Entry]:
    for dataset in matches.datasets:
        version = dataset.current_version
        size = plural(version.task_count, "task") if version else "No valid version"
        yield _Entry("Benchmark", dataset.title, reverse("frontend:dataset", args=(dataset.slug,)), size)
    for canvas_set in matches.canvas_sets:
        url = reverse("frontend:gallery", args=(canvas_set.slug,))
        yield _Entry("Canvas set", canvas_set.name, url, plural(canvas_set.count, "canvas"))
    for model, n_runs in matches.models:
        yield _Entry("Model", model, reverse("frontend:model", args=(model,)), plural(n_runs, "run"))
    found = findings(matches.experiments)
    for experiment in matches.experiments:
        state = progress(list(experiment.runs.all()))
        said = " ".join(found[experiment.pk]) or f"{state.state.text}, {n_of(state.ended, state.runs)} runs ended"
        yield _Entry("Experiment", experiment.name, reverse("frontend:experiment", args=(experiment.pk,)), said)
    for run in matches.runs:
        model = f"{run.model} ({run.variant})" if run.variant else run.model
        name = f"Run {run.pk}: {run.name or f'{model} on {run.dataset.title}'}"
        row = run_row(run)
        yield _Entry("Run", name, reverse("frontend:run", args=(run.pk,)), _of_run(run, row), ruler=_drawn(row))
    if matches.n_runs > len(matches.runs) > 0 and words:
        url = f"{reverse('frontend:runs')}?{urlencode({'text': words})}"
        yield _Entry("Run", f"All {number(matches.n_runs)} runs", url)
    for task, correct, answers in sorted(matches.tasks, key=lambda each: bool(_lacking(_task_title(each[0]), words))):
        dataset = task.version.dataset
        url = reverse("frontend:task", args=(dataset.slug, task.pk))
        said = f"{n_of(correct, answers)} answers correct" if answers else "Not asked yet"
        title = _task_title(task)
        yield _Entry("Task", title, url, f"{_quoted(task.input, title, words)}{said}")
    for review in matches.reviews:
        yield _Entry("Review", review.name, reverse("frontend:review", args=(review.pk,)))


def _wanted(words: str) -> list[str]:
    return [word.lower() for word in words_of(words)]


def _lacking(title: str, words: str) -> list[str]:
    """The words that the title does not have."""
    return [word for word in _wanted(words) if word not in title.lower()]


def _task_title(task: Task) -> str:
    return f"{task.name or task.task_id}, {task.version.dataset.title}"


def _quoted(question: str, title: str, words: str) -> str:
    """The part of a question that matches, where the title does not."""
    lacking = _lacking(title, words)
    for each in (words, *lacking) if lacking else ():
        if found := re.search(rf"\b\w*{re.escape(each)}\w*(?:\s+\w+)?", question, re.IGNORECASE):
            return f"“…{found[0]}…” · "
    return ""


def _of_run(run: Run, row: RunRow) -> str:
    """What is known of a run; a score with its metric and n, because runs of other metrics stand below it."""
    found, headline = run_finding(run), row.headline
    is_score = not (run.is_live or row.provisional or headline.mean is None)
    return f"{headline.title} {found}, {headline.n_of}" if is_score else found


def _drawn(row: RunRow) -> SafeString:
    headline = row.headline
    shown = headline.bounded and not row.provisional
    return ruler(headline.mean, headline.low, headline.high) if shown else NO_RULER


def _starts(matches: Matches) -> Iterator[_Entry]:
    """New runs on the benchmarks and of the models that match."""
    launch = reverse("frontend:launch")
    for dataset in matches.datasets[:STARTABLE]:
        url = f"{launch}?{urlencode({'dataset': dataset.slug})}"
        yield _Entry("Action", f"New run on {dataset.title}", url, "Then choose models")
    for canvas_set in matches.canvas_sets[:STARTABLE]:
        url = f"{launch}?{urlencode({'dataset': canvas_set.slug})}"
        yield _Entry("Action", f"New run on {canvas_set.name}", url, "Then choose models")
    for model, _ in matches.models[:STARTABLE]:
        url = f"{launch}?{urlencode({'model': model})}"
        yield _Entry("Action", f"New run with {model}", url, "Then choose benchmarks")


def _commands(request: HttpRequest) -> Iterator[_Entry]:
    if may_launch(request.user):
        yield _Entry("Action", "New run", reverse("frontend:launch"))
    yield _Entry("Action", "Compare runs", reverse("frontend:compare"))
    yield _Entry("Action", "Keyboard shortcuts", f"{reverse('frontend:help')}#keys")


def _themes() -> Iterator[_Entry]:
    for theme in (*THEMES, ""):
        yield _Entry("Action", f"Theme: {theme or 'system'}", reverse("frontend:theme"), theme=theme)


def _pages(request: HttpRequest) -> Iterator[_Entry]:
    for place in places(request):
        yield _Entry("Page", place.title, place.url)
    yield _Entry("Page", "Help", reverse("frontend:help"))


def _help() -> Iterator[_Entry]:
    for key, entry in GLOSSARY.items():
        yield _Entry("Help", entry.title, f"{reverse('frontend:help')}#{key}", "Glossary")
    for documents in DOCUMENTS.values():
        for name, document in documents.items():
            yield _Entry("Help", document.title, reverse("frontend:document", args=(name,)), document.about)
