"""The table of canvas sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from benchmarks.models import Run
from benchmarks.presentation.cells import (
    Bar,
    CanvasPicture,
    Cell,
    Group,
    Link,
    Mean,
    Moment,
    Part,
    Progress,
    Strong,
    Words,
    soft,
)
from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.numbers import number, plural, score, signed_points
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.tables import Column, Shown, Table
from benchmarks.presentation.texts import cut
from benchmarks.queries.benchmarks import Benchmark
from benchmarks.queries.tables.benchmarks import best_model, best_score, drawn_models
from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.spread import two_sided_z
from benchmarks.summary import Counted
from tasks_app.models import CanvasSet


def _name(canvas_set: CanvasSet) -> list[Part]:
    error = canvas_set.error_message
    said = [Words(cut(error, 300), "field-error")] if error else []
    return [Link(canvas_set.name, "gallery", (canvas_set.slug,)), *said]


def _canvases(canvas_set: CanvasSet) -> Cell:
    count, wanted = canvas_set.count, canvas_set.wanted
    drawn = [Progress(count, wanted, "Generated", str(count))] if canvas_set.is_growing else []
    return [*drawn, number(count) + (f" of {number(wanted)}" if wanted > count else "")]


def _shapes(canvas_set: CanvasSet) -> Cell:
    low, high = canvas_set.shapes_low, canvas_set.shapes_high
    return f"{low} to {high}" if high != low else str(low)


def tasks_of(canvas_set: CanvasSet) -> int | None:
    dataset = getattr(canvas_set, "dataset", None)  # one that is being generated has none
    return dataset.current_version.task_count if dataset and dataset.current_version else None


def _origin(canvas_set: CanvasSet) -> str:
    seed, generator = canvas_set.seed, canvas_set.generator_version
    parts = ["" if seed is None else f"seed {seed}", generator and f"generator {generator}"]
    return ", ".join([canvas_set.origin.capitalize(), *filter(None, parts)])


def _links(canvas_set: CanvasSet) -> Cell:
    dataset = getattr(canvas_set, "dataset", None)
    audit = Link("Audit", "audit", (canvas_set.slug,), look="more")
    return [audit, "·", Link("Results", "dataset", (dataset.slug,), look="more")] if dataset else audit


def canvas_set_table(scored: Mapping[int, Benchmark] = MappingProxyType({})) -> Table[CanvasSet]:
    """With the scores of models, by the id of the set, a page shows them too."""

    def of(show: Callable[[Benchmark], Cell]) -> Callable[[CanvasSet], Cell]:
        return lambda row: show(scored[row.pk]) if row.pk in scored else ""

    models = [
        Column("Model scores, 0 to 1", of(drawn_models), only="page", look="nowrap"),
        Column("Best score", of(best_score), only="page"),
        Column("Best model", of(best_model), only="page"),
    ]
    return Table(
        "Canvas sets, newest first",
        [
            Column(
                "Picture",
                lambda row: CanvasPicture(row.slug, 0) if row.count else "",
                look="of-canvas",
                hidden_head=True,
                only="page",
            ),
            Column(
                "Set",
                lambda row: [*_name(row), Group([soft(_origin(row))], "nowrap wide-only", block=True)],
                "name",
                only="page",
            ),
            Column("Set", _name, "name", only="text"),
            Column("Slug", lambda row: row.slug, only="text"),
            Column("Canvases", _canvases, "number"),
            Column("Shapes", _shapes, "number"),
            Column("Tasks", tasks_of, "number"),
            *(models if scored else []),
            Column("Origin", _origin, only="text"),
            Column("Created", lambda row: Moment(row.created_at), look="wide-only"),
            Column("Links", _links, look="nowrap beside", hidden_head=True, only="page"),
        ],
        look="scored",
    )


CANVAS_SETS = canvas_set_table()


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A task class of an audited set, with its part of the audit."""

    slug: str
    name: str
    numbers: Mapping[str, Any]


_NOT_AGREED = {"wrong": "wrong", "undetermined": "ambiguous", "duplicates": "duplicates", "unchecked": "not checked"}


def audit_rows(canvas_set: CanvasSet) -> list[AuditRow]:
    return [AuditRow(canvas_set.slug, name, numbers) for name, numbers in canvas_set.audit.get("tasks", {}).items()]


def _counted(head: str, key: str, **layout: Any) -> Column[AuditRow]:
    return Column(head, lambda row: row.numbers.get(key), "number", **layout)


def _scored(head: str, key: str, **layout: Any) -> Column[AuditRow]:
    return Column(head, lambda row: score(row.numbers.get(key)), "number", **layout)


def _solver(row: AuditRow) -> Cell:
    """Whether a second solver finds the same answers, and what is wrong with those that it does not."""
    counts = {word: row.numbers.get(key) or 0 for key, word in _NOT_AGREED.items()}
    others = [f"{number(count)} {word}" for word, count in counts.items() if count]
    agrees = row.numbers.get("agrees") or 0
    return ["Agrees with all" if agrees and not others else f"Agrees with {number(agrees)}", soft(", ".join(others))]


def _best_rule(row: AuditRow) -> tuple[float, str] | None:
    """The score of the best rule that does not see the canvas, if it beats the most frequent answer."""
    numbers = row.numbers
    kinds = ("blind", "examples")
    found = [
        (reached, numbers[f"{kind}_rule"]) for kind in kinds if (reached := numbers.get(f"{kind}_score")) is not None
    ]
    return max((rule for rule in found if rule[0] > (numbers.get("majority_score") or 0.0)), default=None)


def gain_without_canvas(row: AuditRow) -> float:
    """What the best rule that does not see the canvas scores above the most frequent answer; 0 if none does."""
    best = _best_rule(row)
    return best[0] - (row.numbers.get("majority_score") or 0.0) if best else 0.0


def _gain(row: AuditRow) -> Cell:
    """With what to do where it is more than chance: where the most frequent answer scores below the rule's interval."""
    best, gain = _best_rule(row), gain_without_canvas(row)
    if best is None:
        return Words("–", "soft")
    low, _ = score_bounds(best[0], two_sided_z(0.95) ** 2 / row.numbers["asked"])
    advice = Group([soft(f"A score must beat {score(best[0])}")], block=True)
    return [Words(f"{signed_points(gain)} points", "nowrap"), *([advice] if low > best[0] - gain else [])]


def _without_canvas(row: AuditRow) -> Cell:
    if row.numbers.get("blind_score") is None:
        return Words("Not measured", "soft")
    best = _best_rule(row)
    if best is None:
        return Words("None beats the most frequent answer", "soft")
    return [score(best[0]), Group([soft(_capitalized(best[1]))], block=True)]


def _class(row: AuditRow) -> Cell:
    """The class, and of what its scores are: how many questions, with how many answers."""
    numbers = row.numbers
    said = [plural(numbers.get("asked") or 0, "question")]
    if left_out := numbers.get("not_applicable"):
        said.append(f"({number(left_out)} not applicable)")
    if (distinct := numbers.get("distinct_answers")) is not None:
        said[-1] += ","
        said.append(plural(distinct, "distinct answer"))
    link = Link(sentence_case(row.name), "gallery", (row.slug,), {"task": row.name})
    return [link, Group([Words(part, "nowrap") for part in said], "small soft", block=True)]


AUDIT = Table[AuditRow](
    "Audit by task class",
    [
        Column("Task class", _class, "name", only="page"),
        Column("Task class", lambda row: sentence_case(row.name), "name", only="text"),
        _counted("Questions", "asked", only="text"),
        _counted("Not applicable", "not_applicable", only="text"),
        _counted("Duplicates", "duplicates", only="text"),
        _counted("Distinct answers", "distinct_answers", only="text"),
        Column("Second solver", _solver, only="page", given="disagrees"),
        _scored("Majority guess", "majority_score", look="wide-only"),
        _scored("Random guess", "random_score", look="wide-only"),
        Column("Best guess without the canvas", _without_canvas, look="line", only="page", info="without_canvas"),
        Column("Above most frequent answer", _gain, look="line", only="page"),
        _counted("Solver agrees", "agrees", only="text"),
        _counted("Wrong", "wrong", only="text"),
        _counted("Ambiguous", "undetermined", only="text"),
        _counted("Not checked", "unchecked", only="text"),
        _scored("Without the canvas", "blind_score", only="text"),
        _scored("By the examples", "examples_score", only="text"),
    ],
    look="leads",
)
"""The page has a table of its own for what each rule reaches."""
FAULTS = Table[Mapping[str, Any]](
    "Errors in the imported files",
    [
        Column("Fault", lambda fault: sentence_case(fault["fault"]), "name"),
        Column("Severity", lambda fault: str(fault["verdict"]).capitalize()),
        Column("Meaning", lambda fault: str(fault["meaning"]), look="wide-text"),
        Column("Count", lambda fault: fault["count"], "number"),
    ],
    region=True,
)


@dataclass(frozen=True, slots=True)
class AuditSaid:
    """What an audit found: about the reference answers, and what is gained without the canvas, or ""."""

    references: str
    guesses: str
    needs_caution: bool


def audit_said(rows: Sequence[AuditRow]) -> AuditSaid:
    asked = sum(row.numbers.get("asked") or 0 for row in rows)
    agrees = sum(row.numbers.get("agrees") or 0 for row in rows)
    if agrees == asked:
        references = f"A second solver confirms all {number(asked)} expected answers."
    else:
        references = f"A second solver confirms {number(agrees)} of {number(asked)} expected answers."
    return AuditSaid(references, _said_of_guesses(rows), agrees < asked)


def _said_of_guesses(rows: Sequence[AuditRow]) -> str:
    """Where a rule without the canvas gains most over the most frequent answer; empty if no rule was measured."""
    if all(row.numbers.get("blind_score") is None for row in rows):
        return ""
    row = max(rows, key=gain_without_canvas)
    if (best := _best_rule(row)) is None:
        return "No rule that does not see the canvas beats always giving the most frequent answer."
    reached, _ = best
    return (
        f"On {sentence_case(row.name)}, a rule that does not see the canvas scores {score(reached)}: "
        "a model must score more there to show that it reads the canvas."
    )


def blind_table(shapes: Sequence[int]) -> Table[Mapping[str, Any]]:
    """What is reached without the canvas, with a column for each number of shapes; of rows of ``blind_scores``."""

    def examples(row: Mapping[str, Any]) -> Cell:
        rule = row["examples_rule"]
        return [score(row["examples_score"]), *([soft(_capitalized(rule))] if rule else [])]

    def at(place: int) -> Callable[[Mapping[str, Any]], Cell]:
        return lambda row: score(row["by_shapes"][place])

    return Table(
        "Score without the canvas by task class and number of shapes",
        [
            Column("Task class", lambda row: sentence_case(row["name"]), "name"),
            Column("Rule", lambda row: _capitalized(row["rule"])),
            Column("Questions", lambda row: row["asked"], "number"),
            Column("Majority guess", lambda row: score(row["majority"]), "number"),
            Column("Rule, all", lambda row: Strong(score(row["score"])), "number"),
            Column("By the examples", examples),
            *(Column(plural(n, "shape"), at(place), "number") for place, n in enumerate(shapes)),
        ],
        region=True,
    )


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def answer_tables(canvas_set: CanvasSet) -> list[Shown[tuple[AuditRow, str, int]]]:
    """For each task class, how often each of its most frequent answers is right."""
    tables = []
    for row in audit_rows(canvas_set):
        answers, distinct = row.numbers["answers"], row.numbers["distinct_answers"]
        most = f"{len(answers)} most frequent of {number(distinct)} answers"
        title = f"{sentence_case(row.name)}: {most if distinct > len(answers) else 'all answers'}"
        if answers:
            tables.append(ANSWERS.of([(row, answer, count) for answer, count in answers], title=title))
    return tables


def _answer(row: tuple[AuditRow, str, int]) -> Cell:
    audited, answer, _ = row
    return Link(cut(answer, 80), "gallery", (audited.slug,), {"task": audited.name, "answer": answer})


ANSWERS = Table[tuple[AuditRow, str, int]](
    "Answers",
    [Column("Answer", _answer, "name"), Column("Questions", lambda row: row[2], "number")],
    captioned=True,
)


@dataclass(frozen=True, slots=True)
class LevelRow:
    """The score of a run on one task class or number of shapes of a set, with what guessing scores there; ``filters``
    show its canvases."""

    slug: str
    name: str
    filters: Mapping[str, str | int]
    of: Counted
    n_of: str
    guess: float | None = None

    @property
    def score(self) -> Mean:
        return Mean(self.of.mean, self.of.low, self.of.high)


def class_rows(slug: str, run: Run) -> list[LevelRow]:
    """By the headline of the run, the best class first."""
    chance = (run.numbers.chance or {}).get(run.headline)
    guesses = {group.group: group.guess for group in chance.groups} if chance else {}
    found = [
        LevelRow(slug, sentence_case(name), {"run": run.pk, "task": name}, of, n_of, guesses.get(name))
        for name, of, n_of in _levels(run, "group")
    ]
    return sorted(found, key=lambda row: -(row.score.mean or 0.0))


def shape_rows(slug: str, run: Run) -> list[LevelRow]:
    """By the headline of the run, the fewest shapes first."""
    levels = sorted(_levels(run, "n_shapes"), key=lambda level: int(level[0]))
    return [
        LevelRow(slug, plural(int(n), "shape"), {"run": run.pk, "n_shapes": int(n)}, of, n_of) for n, of, n_of in levels
    ]


def _levels(run: Run, facet: str) -> Iterator[tuple[str, Counted, str]]:
    """Each level of the facet with its score by the headline of the run, and of how many results that is."""
    for name, metrics in run.parts.facets.get(facet, {}).items():
        if of := metrics.get(run.headline):
            yield name, of, n_of_mean(run.headline, of)


def _by_level(title: str, head: str) -> Table[LevelRow]:
    return Table(
        title,
        [
            Column(head, lambda row: Link(row.name, "gallery", (row.slug,), row.filters), "name"),
            Column("Interval, 0 to 1", lambda row: Bar(row.score, row.guess)),
            Column("Score", lambda row: [score(row.score.mean), soft(row.n_of)], "number"),
        ],
    )


BY_CLASS = _by_level("By class", "Class")
BY_SHAPES = _by_level("By number of shapes", "Shapes")
