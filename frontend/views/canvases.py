"""Canvas sets, their galleries, one canvas with every answer to it, and the audit of a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_safe

from benchmarks.analysis.matrices import short_names
from benchmarks.models import COMPLETED, Outcome, Result, Run
from benchmarks.presentation import sentences
from benchmarks.presentation.labels import prompt_variant, sentence_case, words
from benchmarks.presentation.numbers import n_of, plural, score
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.texts import visible
from benchmarks.queries import canvas_sets as reads
from benchmarks.queries.benchmarks import benchmarks_of
from benchmarks.queries.live import live_state
from benchmarks.queries.shapes import ShapesEnds, ends_of_shapes
from benchmarks.queries.tables.canvas_sets import (
    AUDIT,
    BY_CLASS,
    BY_SHAPES,
    FAULTS,
    LevelRow,
    answer_tables,
    audit_rows,
    audit_said,
    blind_table,
    canvas_set_table,
    class_rows,
    gain_without_canvas,
    shape_rows,
)
from benchmarks.services.access import EDIT_REFUSAL, may_edit, may_launch
from benchmarks.services.canvas_sets.control import previewed_canvases, request_canvas_set
from benchmarks.services.errors import InvalidRequest
from frontend import params
from frontend.chips import Chip, Choice, chips, choice
from frontend.drawing import canvas_style
from frontend.forms import CanvasSetForm
from frontend.navigation import dataset_tabs, trail
from frontend.views.shared import STYLED_SVG, or_404, paged
from tasks_app.canvas import picture as canvas_picture
from tasks_app.canvas.shapes import Shape, distinct_names
from tasks_app.loader import STORED_DESCRIPTIONS
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS

_DAY = 24 * 3600
RUNS_OFFERED = 30
DEFAULTS = {"shapes": "3-8", "count": "96", "tracking_steps": str(DEFAULT_TRACKING_STEPS)}
PREVIEWED = 6
"""Canvases that the form draws."""
SORTS = (("", "Hardest first"), ("index", "In order"))
NO_RUN = "none"


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question with its own text, if its class adds one, and each run with its model's short name and its result, if
    it has one."""

    question: Question
    story: str
    cells: Sequence[tuple[Run, str, Result | None]]


@dataclass(frozen=True, slots=True)
class Card:
    """A canvas of a gallery with the outcomes of the answers of a run to its questions."""

    canvas: Canvas
    outcomes: Sequence[str]

    @property
    def right(self) -> int:
        return sum(outcome == Outcome.CORRECT for outcome in self.outcomes)


@require_safe
def set_list(request: HttpRequest) -> HttpResponse:
    """The sets, and the form of a new one if there is none or the query asks for it: ``?new=1``, or the fields in the
    link that adds canvases to a set."""
    given = {name: request.GET[name] for name in CanvasSetForm.base_fields if name in request.GET}
    # The seed of no set yet, so that the form as it is generates a new one.
    defaults = {**DEFAULTS, "seed": str(reads.canvas_sets().count() + 1)}
    return _list(request, CanvasSetForm(initial=given or defaults), is_asked_for=bool(given) or "new" in request.GET)


@require_http_methods(["GET", "HEAD", "POST"])
def new_set(request: HttpRequest) -> HttpResponse:
    """Leads to the form, which the list of sets has; a POST requests a set, which a job generates."""
    if not may_edit(request.user):
        raise PermissionDenied(EDIT_REFUSAL)
    if request.method != "POST":
        return HttpResponseRedirect(f"{reverse('frontend:canvases')}?new=1#new-title")
    form = CanvasSetForm(request.POST)
    try:
        canvas_set = request_canvas_set(form.request_data(), request.user)
    except InvalidRequest as error:
        form.reject(error)
        return _list(request, form, status=400)
    messages.success(request, f"Generating {canvas_set.name}.", extra_tags="passing")
    return HttpResponseRedirect(reverse("frontend:gallery", args=(canvas_set.slug,)))


@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """The first canvases that the settings of the form would generate, or why they generate none."""
    return render(request, "frontend/canvases/preview.html", {"preview": _preview(CanvasSetForm(request.GET))})


@require_safe
def gallery(request: HttpRequest, slug: str) -> HttpResponse:
    canvas_set = _set(slug)
    of_set = reads.runs_on(canvas_set)
    runs = list(of_set[:RUNS_OFFERED])
    usual = _usual_run(runs)
    run = _run_shown(request, runs, of_set, usual)
    sortable = run is not None and canvas_set.count <= reads.MOST_SORTED
    filters = reads.GalleryFilters(
        n_shapes=params.whole_number(request.GET, "n_shapes"),
        task=params.text(request.GET, "task"),
        answer=params.text(request.GET, "answer"),
        run=run.pk if run else None,
        outcome=params.text(request.GET, "outcome"),
        hardest=sortable and request.GET.get("sort") != "index",
    )
    page = paged(request, lambda after, before: reads.gallery_page(canvas_set, filters, after, before))
    outcomes = reads.outcomes_on(run.pk, filters.task, page.rows) if run else {}
    by_class, by_shapes = (class_rows(slug, run), shape_rows(slug, run)) if run else ([], [])
    ends = ends_of_shapes(run, run.headline) if run else None
    trend, left_out = _trend(ends) if ends else ("", "")
    context = {
        "filters": filters,
        "choices": _choices(request.GET, canvas_set, runs, run, sorts=SORTS if sortable else ()),
        "chips": chips(request.GET, {"answer": "Expected"}, {}),
        "page": page,
        "widened": [] if page.rows else _widened(request.GET, canvas_set, filters),
        "cards": [Card(canvas, outcomes.get(canvas.pk, ())) for canvas in page.rows],
        "run": run,
        "classes": BY_CLASS.of(by_class) if run else None,
        "shapes": BY_SHAPES.of(by_shapes) if len(by_shapes) > 1 else None,
        "said": _said_of_run(run, by_class, trend) if run else "",
        "left_out": left_out,
        "answers": reads.answers_of(canvas_set, filters.task) if filters.task else [],
        **_head(request, canvas_set),
    }
    return render(request, "frontend/canvases/gallery.html", context)


@require_safe
def canvas(request: HttpRequest, slug: str, index: int) -> HttpResponse:
    canvas = _canvas(slug, index)
    questions = reads.questions_of(canvas)
    variants = reads.variants_of(questions)
    names = [prompt_variant(*variant) for variant in variants]
    chosen = params.text(request.GET, "variant")
    at = names.index(chosen) if chosen in names else 0
    runs, answers = reads.answers_to(questions, variants[at]) if variants else ([], {})
    short = short_names([run.model for run in runs])
    rows = [
        QuestionRow(
            question,
            canvas.descriptions.get(question.task_name, ""),
            [(run, short[run.model], answers.get(question.pk, {}).get(run.pk)) for run in runs],
        )
        for question in questions
    ]
    found = {cell.outcome for row in rows for *_, cell in row.cells if cell}
    before, after = reads.canvas_neighbors(canvas)
    shapes = _shapes(canvas)
    context = {
        "canvas": canvas,
        "set": canvas.canvas_set,
        # Drawn by our own code from the shapes' numbers and known words; it escapes all other texts.
        "picture": mark_safe(canvas_picture.svg(shapes, str(canvas))),
        "shapes": list(zip(distinct_names(shapes), shapes, strict=True)),
        # Those of task classes stand with their questions.
        "descriptions": sorted(
            (name, text) for name, text in canvas.descriptions.items() if name in STORED_DESCRIPTIONS
        ),
        "runs": [(run, short[run.model], right) for run, right in zip(runs, _right(rows), strict=True)] if rows else [],
        "rows": rows,
        "said": _said_of_answers(rows),
        "audited": _audited(questions),
        "doubts": Question.DOUBTS,
        "any_examples": any(question.examples for question in questions),
        "outcomes": [outcome for outcome in Outcome.values if outcome in found],
        "any_unfinished": "" in found,
        "variants": names,
        "variant": names[at] if names else "",
        "previous": None if before is None else reverse("frontend:canvas", args=(slug, before)),
        "following": None if after is None else reverse("frontend:canvas", args=(slug, after)),
        "crumbs": trail(
            "canvases", (canvas.canvas_set.name, reverse("frontend:gallery", args=(slug,))), (f"Canvas {index}", None)
        ),
    }
    return render(request, "frontend/canvases/canvas.html", context)


@require_safe
def picture(request: HttpRequest, slug: str, index: int) -> HttpResponse:
    """The picture in the theme of ``?theme=``; without one, in that of the reader's system. With ``?small=1`` its
    shapes can be told apart in a list."""
    canvas = _canvas(slug, index)
    style = canvas_style(request.GET.get("theme", ""), small="small" in request.GET)
    drawn = canvas_picture.svg(_shapes(canvas), str(canvas), style)
    headers = {"Cache-Control": f"private, max-age={_DAY}", "Content-Security-Policy": STYLED_SVG}
    return HttpResponse(drawn, content_type="image/svg+xml", headers=headers)


@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    canvas_set = _set(slug)
    shapes, blind = reads.blind_scores(canvas_set)
    rows = audit_rows(canvas_set)
    said = audit_said(rows)
    context = {
        "audit": canvas_set.audit,
        "said": said,
        "classes": AUDIT.where(disagrees=said.needs_caution).of(sorted(rows, key=gain_without_canvas, reverse=True)),
        "blind": blind_table(shapes).of(blind),
        "faults": FAULTS.of(canvas_set.audit.get("faults", ())),
        "answers": answer_tables(canvas_set),
    }
    context |= _head(request, canvas_set)
    return render(request, "frontend/canvases/audit.html", context)


def _right(rows: Sequence[QuestionRow]) -> list[str]:
    """How many of its ended answers each run has right."""
    columns = zip(*(row.cells for row in rows), strict=True)
    ended = [[cell.outcome for *_, cell in column if cell and cell.outcome] for column in columns]
    return [n_of(outcomes.count(Outcome.CORRECT), len(outcomes)) for outcomes in ended]


def _said_of_answers(rows: Sequence[QuestionRow]) -> str:
    """How many questions all models have right, and which fewest, by the runs of models that have ended."""
    right = {}
    n_models = 0
    for row in rows:
        ended = [cell for run, _, cell in row.cells if run.status in COMPLETED and not run.is_baseline]
        n_models = len(ended)
        right[row.question] = sum(cell is not None and cell.outcome == Outcome.CORRECT for cell in ended)
    if not n_models:
        return ""
    solved, fewest = sum(count == n_models for count in right.values()), min(right.values())
    models = "the model" if n_models == 1 else f"all {n_models} models"
    said = f"{n_of(solved, len(rows))} questions are answered correctly by {models}"
    if fewest == n_models:
        return f"{said}."
    hardest = listed([sentence_case(question.task_name) for question, count in right.items() if count == fewest])
    return f"{said}; hardest: {hardest}, by {n_of(fewest, n_models) if fewest else 'none'}."


def _audited(questions: Sequence[Question]) -> str:
    """What the second solver says of the expected answers, if it has checked all of them."""
    if not all(question.audit for question in questions):
        return ""
    confirmed = sum(question.audit not in Question.DOUBTS for question in questions)
    answers = f"all {len(questions)}" if confirmed == len(questions) else n_of(confirmed, len(questions))
    return f"A second solver confirms {answers} expected answers."


def _list(request: HttpRequest, form: CanvasSetForm, *, is_asked_for: bool = False, status: int = 200) -> HttpResponse:
    sets = list(reads.canvas_sets().defer("audit"))
    scored = {
        row.dataset.canvas_set_id: row
        for row in benchmarks_of([each.dataset for each in sets if hasattr(each, "dataset")])
        if row.standing
    }
    context = {
        "live_state": live_state(),
        "sets": canvas_set_table(scored).of(sets),
        "has_marks": any(row.has_marks for row in scored.values()),
        "form": form,
        "preview": _preview(form),
        "is_form_open": not sets or is_asked_for or form.is_bound,
        "may_edit": may_edit(request.user),
    }
    return render(request, "frontend/canvases/list.html", context, status=status)


def _preview(form: CanvasSetForm) -> dict[str, Any]:
    """Name and pictures of the set that the form asks for, or the problems with its values."""
    given = form.data if form.is_bound else {name: form[name].value() for name in form.fields}
    try:
        name, drawn = previewed_canvases({key: given[key] for key in form.fields if given.get(key)}, PREVIEWED)
    except InvalidRequest as error:
        return {"problems": form.problems(error)}
    # Drawn by our own code from numbers and known words.
    pictures = [mark_safe(canvas_picture.svg(shapes, f"Canvas {index}")) for index, shapes in enumerate(drawn)]
    return {"name": name, "pictures": pictures}


def _choices(
    query: QueryDict, canvas_set: CanvasSet, runs: Sequence[Run], run: Run | None, sorts: Iterable[tuple[str, str]]
) -> list[Choice]:
    """What the gallery can show; ``sorts`` are its orders, if the answers of a run can make one."""
    offered = [*runs, *([run] if run and run not in runs else [])]
    named = {NO_RUN: "No run", **{str(each.pk): _run_words(each) for each in offered}}
    shapes = {str(n): plural(n, "shape") for n in range(canvas_set.shapes_low, canvas_set.shapes_high + 1)}
    classes = {name: sentence_case(name) for name in canvas_set.task_classes}
    choices = [
        choice(query, "run", "Run", named.items(), str(run.pk) if run else NO_RUN),
        _one_or_all(query, "n_shapes", "Shapes", {"": "All numbers of shapes", **shapes}),
        _one_or_all(query, "task", "Class", {"": "All classes", **classes}),
    ]
    if run:
        choices.append(_one_or_all(query, "outcome", "Outcome", {"": "All outcomes", **dict(Outcome.choices)}))
    if titles := dict(sorts):
        choices.append(_one_or_all(query, "sort", "Order", titles))
    return choices


def _widened(query: QueryDict, canvas_set: CanvasSet, filters: reads.GalleryFilters) -> list[Chip]:
    """The filters each of which alone leaves canvases once it is removed."""
    titles = {
        "n_shapes": {str(filters.n_shapes): plural(filters.n_shapes or 0, "shape")},
        "task": {filters.task: sentence_case(filters.task)},
        "outcome": dict(Outcome.choices),
    }
    cleared = {
        "n_shapes": replace(filters, n_shapes=None),
        "task": replace(filters, task=""),
        "answer": replace(filters, answer=""),
        "outcome": replace(filters, outcome=""),
    }
    labels = {"n_shapes": "", "task": "", "answer": "Expected", "outcome": ""}
    return [
        chip
        for name, label in labels.items()
        for chip in chips(query, {name: label}, titles)
        if reads.gallery_page(canvas_set, cleared[name], None, None).rows
    ]


def _one_or_all(query: QueryDict, name: str, label: str, titles: Mapping[str, str]) -> Choice:
    return choice(query, name, label, titles.items(), params.text(query, name))


def _run_words(run: Run) -> str:
    return f"{run.model}, {prompt_variant(run.representation, run.few_shot)}, run {run.pk}"


def _run_shown(request: HttpRequest, runs: Sequence[Run], of_set: QuerySet[Run], usual: Run | None) -> Run | None:
    """The run whose answers the gallery shows: the one of ``?run=``, which may be none, or the usual one."""
    if not params.text(request.GET, "run"):
        return usual
    chosen = params.whole_number(request.GET, "run") or 0
    return next((run for run in runs if run.pk == chosen), None) or of_set.filter(pk=chosen).first()


def _usual_run(runs: Sequence[Run]) -> Run | None:
    """The best completed one of a model that is no baseline, on all tasks, prompted as most models are."""
    completed = [run for run in runs if run.status in COMPLETED]
    asked = {run: (run.variant, run.representation, run.few_shot) for run in completed}
    models = Counter(way for way, _ in {(asked[run], run.model) for run in completed})
    means = {run: run.numbers_of(run.headline).mean or 0.0 for run in completed}
    completed.sort(key=lambda run: (run.limit is not None, -models[asked[run]], -means[run]))
    return next((run for run in completed if not run.is_baseline), next(iter(completed), None))


def _said_of_run(run: Run, by_class: Sequence[LevelRow], trend: str) -> str:
    """How the run whose answers the gallery shows scored, on which classes best and worst, and its ``trend``."""
    numbers = run.numbers_of(run.headline)
    if numbers.mean is None:
        return ""
    counted = sentences.n_of_mean(run.headline, numbers)
    said = f"{visible(run.model)} scores {score(numbers.mean)} on this set, n = {counted}"
    if len(by_class) < 2:
        return f"{said}.{trend}"
    best, worst = by_class[0], by_class[-1]
    if best.score.low is None or worst.score.high is None or best.score.low <= worst.score.high:
        return f"{said}.{trend}" if trend else f"{said}; no class stands out."
    return f"{said}: best on {best.name.lower()}, worst on {worst.name.lower()}.{trend}"


def _trend(ends: ShapesEnds) -> tuple[str, str]:
    """How the score changes from the fewest shapes to the most, and the classes that are left out of it."""
    if not ends.change:
        return "", ""
    left_out = listed([*map(words, ends.missing)])
    score_of = f"Without {left_out}, the score" if left_out else "The score"
    few, many = f"{score(ends.first.mean)} with {ends.few}", f"{score(ends.last.mean)} with {ends.many} shapes"
    return f" {score_of} {ends.change} from {few} to {many}.", left_out


def _tabs(request: HttpRequest, canvas_set: CanvasSet) -> dict[str, object]:
    """Those of its dataset, which a set that is being generated does not have yet."""
    dataset = getattr(canvas_set, "dataset", None)
    return {"tabs": dataset_tabs(request, dataset)} if dataset else {}


def _head(request: HttpRequest, canvas_set: CanvasSet) -> dict[str, Any]:
    """What the gallery and the audit show of the set."""
    return {
        "live_state": live_state(),
        "set": canvas_set,
        "may_launch": may_launch(request.user),
        "more_url": more_url(request, canvas_set),
        "crumbs": trail("canvases", (canvas_set.name, None)),
        **_tabs(request, canvas_set),
    }


def more_url(request: HttpRequest, canvas_set: CanvasSet) -> str:
    """The form with the settings of the set, in which only the number of canvases has to be raised; empty if nobody
    can, or the user may not."""
    if canvas_set.origin != CanvasSet.Origin.GENERATED or not may_edit(request.user):
        return ""
    shapes = f"{canvas_set.shapes_low}-{canvas_set.shapes_high}"
    settings: dict[str, str | int] = {"name": canvas_set.name, "seed": canvas_set.seed or 0}
    settings |= {"shapes": shapes, "count": canvas_set.wanted, "tracking_steps": canvas_set.tracking_steps}
    return f"{reverse('frontend:canvases')}?{urlencode(settings)}#new-title"


def _shapes(canvas: Canvas) -> list[Shape]:
    return [Shape(row["shape"], row["color"], row["size"], tuple(row["center"])) for row in canvas.shapes]


def _set(slug: str) -> CanvasSet:
    return or_404(lambda: reads.canvas_sets().get(slug=slug), f"Canvas set {slug} does not exist.")


def _canvas(slug: str, index: int) -> Canvas:
    return or_404(lambda: reads.canvas_detail(slug, index), f"Canvas {index} does not exist in {slug}.")
