"""The keys that say what an answer must be: constraints, rubrics, and the turns of a scripted conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, GetPydanticSchema, PlainSerializer, TypeAdapter, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import RUBRIC_NAME as RUBRIC_NAME_PATTERN
from benchmarks.dataset_format.fields import (
    Answers,
    Criteria,
    Expects,
    Goal,
    Letter,
    Number,
    Regex,
    RubricName,
    Steps,
    Text,
    list_of,
    mapping,
    text,
)
from benchmarks.dataset_format.json_fields import JsonSchema
from benchmarks.dataset_format.problems import Fault, Invalid
from benchmarks.dataset_format.records import Count, Record, Switch, Texts, kept
from benchmarks.metrics.conversations import DEFAULT_TURNS
from benchmarks.metrics.languages import LANGUAGES
from benchmarks.metrics.rubrics import DEFAULT_SCALE, DEFAULT_SIGHT, ENDS, SCALES, SIGHTS, Scale, Sight
from benchmarks.metrics.task_parts import RubricValues


def _checked_bounds(bounds: Any) -> Any:
    if bounds is not None and bounds.min is None and bounds.max is None:
        empty = "is empty" if isinstance(bounds, Bounds) else "has no bounds"
        raise Invalid(Fault((), f"{empty}: enter min, max or both"))
    if bounds is not None and None not in (bounds.min, bounds.max) and bounds.min > bounds.max:
        raise Invalid(Fault((), f"has the min {bounds.min:,} above the max {bounds.max:,}: exchange them"))
    return bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds(Record):
    """How many there may be, both ends included."""

    min: Count | None = None
    """Minimum"""
    max: Count | None = None
    """Maximum"""


Range = Annotated[Bounds | None, AfterValidator(_checked_bounds), mapping("a mapping with min, max or both", Bounds)]
Keywords = Annotated[tuple[Text, ...], list_of("a list of texts", limits.MAX_KEYWORDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence(Record):
    """How often a text occurs."""

    synonyms: ClassVar = {"text": ("word", "keyword")}

    text: Text
    """The text, as whole words, in any case"""
    min: Count | None = None
    """Minimum"""
    max: Count | None = None
    """Maximum"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterCount(Record):
    """How often a letter occurs."""

    synonyms: ClassVar = {"letter": ("character", "text")}

    letter: Letter
    """One character, counted in either case"""
    min: Count | None = None
    """Minimum"""
    max: Count | None = None
    """Maximum"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections(Record):
    """How many numbered sections there are."""

    synonyms: ClassVar = {"heading": ("title", "name", "marker")}

    heading: Text
    """What the line begins with before the number, such as `Section`"""
    min: Count | None = None
    """Minimum"""
    max: Count | None = None
    """Maximum"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Record):
    """How many parts there are between dividers, none of them empty."""

    synonyms: ClassVar = {"divider": ("separator", "delimiter"), "differ": ("different", "distinct")}

    divider: Text
    """What separates the parts"""
    min: Count | None = None
    """Minimum"""
    max: Count | None = None
    """Maximum"""
    differ: Switch = False
    """Whether no two may be equal"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NthParagraph(Record):
    """How one of the paragraphs begins."""

    synonyms: ClassVar = {"number": ("n", "paragraph"), "starts_with": ("word", "first_word")}

    number: Annotated[int, Field(ge=1), Expects("a whole number of at least 1", (int,))]
    """Which paragraph, counted from 1"""
    starts_with: Text
    """Its first words, in any case"""


_CHECKED = AfterValidator(_checked_bounds)
_OCCURRENCE = Annotated[Occurrence, _CHECKED, mapping("a mapping with text and min, max or both", Occurrence)]
_LETTER = Annotated[LetterCount, _CHECKED, mapping("a mapping with letter and min, max or both", LetterCount)]
_SECTIONS = Annotated[Sections | None, _CHECKED, mapping("a mapping with heading and min, max or both", Sections)]
_PARTS = Annotated[Parts | None, _CHECKED, mapping("a mapping with divider and min, max or both", Parts)]
COUNTED = {"occurrences": Occurrence, "letters": LetterCount, "sections": Sections, "parts": Parts}
"""Constraints on how often something occurs that say what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSet(Record):
    """What an answer must follow, whatever it says."""

    synonyms: ClassVar = {"include": ("keywords",), "exclude": ("forbidden_words", "forbid"), "case": ("letter_case",)}

    words: Range = None
    """Words, separated by spaces"""
    characters: Range = None
    """Characters"""
    sentences: Range = None
    """Sentences, by their final `.`, `!` or `?`"""
    paragraphs: Range = None
    """Paragraphs, separated by blank lines"""
    bullets: Range = None
    """Lines that begin with `-`, `*` or `+`"""
    highlights: Range = None
    """Parts between asterisks, as in `*this*`"""
    placeholders: Range = None
    """Parts in square brackets, as in `[name]`"""
    capital_words: Range = None
    """Words in capitals"""
    include: Keywords = ()
    """Texts that occur as whole words, in any case"""
    exclude: Keywords = ()
    """Texts that must not occur"""
    include_one: Keywords = ()
    """Texts of which at least one occurs, as whole words, in any case"""
    occurrences: Annotated[tuple[_OCCURRENCE, ...], list_of("a list of {text, min, max}", limits.MAX_KEYWORDS)] = ()
    """How often texts occur, as in `[{text: sea, min: 3}]`"""
    letters: Annotated[tuple[_LETTER, ...], list_of("a list of {letter, min, max}", limits.MAX_KEYWORDS)] = ()
    """How often letters occur, as in `[{letter: q, max: 2}]`"""
    sections: _SECTIONS = None
    """Lines that begin with a heading and a number: `{heading: Section, min: 3}`"""
    parts: _PARTS = None
    """Parts between dividers: `{divider: "***", min: 2, max: 2, differ: true}`"""
    nth_paragraph: Annotated[NthParagraph | None, mapping("a mapping with number and starts_with", NthParagraph)] = None
    """How one paragraph begins: `{number: 2, starts_with: However}`"""
    starts_with: Annotated[Text | None, text()] = None
    """How it begins, in any case"""
    ends_with: Annotated[Text | None, text()] = None
    """How it ends, in any case"""
    case: Annotated[Literal["upper", "lower"] | None, text("upper or lower")] = None
    """Case of all its letters"""
    language: Annotated[Literal[LANGUAGES] | None, text("a code of a language, such as de")] = None  # type: ignore[valid-type]  # LANGUAGES is a tuple of texts
    """Code of its language, as in `de`; scored where py3langid, which is optional, is installed"""
    no_commas: Switch = False
    """Whether commas are forbidden"""
    json: Switch = False
    """Whether it must be JSON"""
    quoted: Switch = False
    """Whether it must be in double quotes"""
    title: Switch = False
    """Whether it needs a title, as in `<<title>>`"""


RANGES = tuple(each.name for each in fields(ConstraintSet) if str(each.type) == "Range")


def _checked_constraints(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate a ``ConstraintSet``, but keep the mapping without switches that are off, which metrics read."""
    validate(value)
    return {name: given for name, given in value.items() if given not in (False, [], ())}


Constraints = Annotated[
    Mapping[str, object],
    GetPydanticSchema(
        lambda source, handler: handler(
            Annotated[ConstraintSet, WrapValidator(_checked_constraints), PlainSerializer(dict)]
        )
    ),
    mapping("a mapping of constraints"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricSpec(Record):
    """Criteria by which a judge scores answers."""

    synonyms: ClassVar = {
        "name": ("id", "title"),
        "criteria": ("criterion", "rubric", "text"),
        "steps": ("evaluation_steps",),
        "scale": ("range",),
        "sees": ("shows", "inputs", "context"),
        "threshold": ("passes_at", "pass_at"),
    }

    name: RubricName | None = None
    """Its name; the metric is `rubric:NAME`. Required in `rubrics`"""
    criteria: Criteria
    """What a good answer does, as one text or one text for each criterion"""
    steps: Steps = ()
    """Steps that the judge follows"""
    scale: Annotated[Scale, text(", ".join(SCALES))] = DEFAULT_SCALE  # type: ignore[assignment]  # one of them
    """Scale on which the judge answers; stored as a score from 0 to 1"""
    sees: Annotated[
        tuple[Annotated[Sight, text("one of " + ", ".join(SIGHTS))], ...],
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
        list_of("a list of " + ", ".join(SIGHTS), len(SIGHTS)),
    ] = DEFAULT_SIGHT  # type: ignore[assignment]  # one of them
    """What the judge sees besides the answer; tasks without a passage or a reference that it lists are left out"""
    threshold: Annotated[Number | None, Expects("a number", (int, float))] = None
    """Lowest score of a correct answer, on the scale; 0.7, or 4 of 5, by default"""


def _checked_rubric(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate a ``RubricSpec``, and return its mapping without defaults, which is stored and read."""
    rubric: RubricSpec = validate(value)
    sees = list(rubric.sees)
    if len(set(sees)) < len(sees):
        raise Invalid(Fault(("sees",), "lists one of them twice: remove it"))
    if rubric.threshold is not None:
        if rubric.scale not in ENDS:
            raise Invalid(Fault(("threshold",), "does not go together with pass or fail: remove it"))
        low, high = ENDS[rubric.scale]
        if not low < rubric.threshold <= high:
            message = f"must be above {low:g} and at most {high:g}: the scale is {rubric.scale}"
            raise Invalid(Fault(("threshold",), message))
    given = {each.name: (getattr(rubric, each.name), each.default) for each in fields(RubricSpec)}
    return {
        name: list(kept) if isinstance(kept, tuple) else kept
        for name, (kept, default) in given.items()
        if kept != default
    }


def _checked_own_rubric(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """The name of a rubric, or a rubric."""
    return RUBRIC_NAME.validate_python(value) if isinstance(value, str) else _checked_rubric(value, validate)


RUBRIC_NAME: TypeAdapter[str] = TypeAdapter(RubricName)
_KEPT_RUBRIC = Annotated[RubricSpec, WrapValidator(_checked_rubric), PlainSerializer(dict)]
_OWN_RUBRIC = Annotated[
    RubricSpec,
    WrapValidator(_checked_own_rubric),
    PlainSerializer(lambda value: value if isinstance(value, str) else dict(value)),
]
RubricMapping = Annotated[
    RubricValues,
    GetPydanticSchema(lambda source, handler: handler(_KEPT_RUBRIC)),
    mapping("a mapping with name and criteria"),
]
Rubrics = Annotated[tuple[RubricMapping, ...], list_of("a list of rubrics", limits.MAX_RUBRICS)]
OwnRubric = Annotated[
    str | RubricValues,
    GetPydanticSchema(
        lambda source, handler: handler(_OWN_RUBRIC),
        lambda schema, handler: {"anyOf": [{"type": "string", "pattern": f"^{RUBRIC_NAME_PATTERN}$"}, handler(schema)]},
    ),
    Expects("the name of a rubric, or a mapping with criteria", (str, dict)),
]


Choices = Annotated[Texts, Field(min_length=2, json_schema_extra={"uniqueItems": True})]
Tolerance = Annotated[Number | None, Expects("a number of at least 0", (int, float))]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpec(Record):
    """One turn of a scripted conversation: what the user says, and what is expected of the answer to it."""

    synonyms: ClassVar = {
        "user": ("input", "content", "text", "message", "question", "prompt"),
        "expected_output": ("answer", "output", "expected", "reference", "target"),
        "choices": ("options",),
        "pattern": ("regex",),
        "schema": ("json_schema",),
    }

    user: Text
    """What the user says, exactly as it is sent"""
    expected_output: Answers = ""
    """The reference answer to this turn, or a list of accepted ones"""
    choices: Choices = ()
    """The answers to choose from in this turn"""
    pattern: Annotated[Regex | None, text("a regular expression")] = None
    """Regular expression (RE2 syntax) that the answer to this turn must match"""
    constraints: Constraints = field(default_factory=dict)
    """What the answer to this turn must follow"""
    tolerance: Tolerance = None
    """How far the answer to this turn may be off"""
    schema: Annotated[JsonSchema | None, mapping("a JSON Schema")] = None
    """JSON Schema that the answer to this turn must satisfy"""


TURN_EXPECTATIONS = tuple(each.name for each in fields(TurnSpec) if each.name != "user")
"""Keys of a turn that say what is expected of the answer. A task has them too, for its last answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSpec(Record):
    """A simulated user: a model says what the user says after the first message, until the goal is reached."""

    synonyms: ClassVar = {
        "goal": ("objective", "task", "intent"),
        "persona": ("character", "profile", "role"),
        "max_turns": ("turns", "limit", "max_steps"),
    }

    goal: Goal
    """What the user wants to achieve, and all that the user knows"""
    persona: Annotated[Goal | None, text()] = None
    """Who the user is and how the user writes"""
    max_turns: Annotated[int, Field(ge=2, le=limits.MAX_TURNS), Expects("a whole number of at least 2", (int,))] = (
        DEFAULT_TURNS
    )
    """Maximum number of the user's messages, including the first"""


UserMapping = Annotated[
    Mapping[str, object],
    GetPydanticSchema(lambda source, handler: handler(kept(UserSpec))),
    mapping("a mapping with goal, persona and max_turns"),
]
