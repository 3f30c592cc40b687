"""Building blocks of the models in ``spec``: pydantic types whose errors say what to write instead.

Content in another language is parsed but never run: Python only to a syntax tree, a pattern only compiled.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SkipValidation,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import REPORTED, Fault, Invalid, did_you_mean, printable
from benchmarks.dataset_format.scalars import unstorable
from benchmarks.metrics.patterns import pattern_problem
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.sandbox.python_source import has_checks, parse_python

TOOL_NAME = r"^[A-Za-z0-9_-]{1,64}$"
RUBRIC_NAME = rf"[A-Za-z0-9_-]{{1,{limits.MAX_RUBRIC_NAME}}}"
NOT_IN_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "nothing"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "text"),
    (Mapping, "a mapping"),
    ((list, tuple), "a list"),
)


@dataclass(frozen=True, slots=True)
class Expects:
    """Annotation: accept only values of these types, and call them ``label`` in messages and in the JSON Schema."""

    label: str
    types: tuple[type, ...]
    most: int = limits.MAX_ITEMS
    """Entries that a list or a mapping may have."""

    def check(self, value: Any) -> Any:
        """Return the value, a list as a tuple. Raises if it is missing, of another type or too long."""
        if value is REPORTED:
            raise Invalid(Fault((), "is reported already", reported=True))
        if value is None:
            raise Invalid(Fault((), f"has no value: enter {self.label}", quotable=str in self.types))
        # In Python True is an int; in a dataset it is never a number.
        if not isinstance(value, self.types) or (isinstance(value, bool) and bool not in self.types):
            hint = ": begin each item with `- `" if list in self.types and str not in self.types else ""
            raise Invalid(Fault((), f"must be {self.label}, not {describe(value)}{hint}", quotable=str in self.types))
        if isinstance(value, list | tuple | Mapping) and len(value) > self.most:
            raise Invalid(Fault((), f"has {len(value):,} entries; the limit is {self.most:,}: remove some"))
        return tuple(value) if isinstance(value, list) else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {**handler(schema), "title": self.label}


@dataclass(frozen=True, slots=True)
class SchemaNow:
    """Annotation: a JSON Schema that is made when it is asked for, because packages may add to what it lists."""

    make: Callable[[], dict[str, object]]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return self.make()


def text(label: str = "text") -> Expects:
    """Expect text."""
    return Expects(label, (str,))


def list_of(label: str, most: int = limits.MAX_ITEMS) -> Expects:
    """Expect a list; it is kept as a tuple."""
    return Expects(label, (list, tuple), most)


def mapping(label: str, *records: type) -> Expects:
    """Expect a mapping, or one of the records that are made of such mappings."""
    return Expects(label, (dict, *records))


def describe(value: object) -> str:
    """Name a value's type in the words of a YAML author."""
    return next((name for types, name in _TYPE_NAMES if isinstance(value, types)), f"a {type(value).__name__}")


def _storable(text: str) -> str:
    if message := unstorable(text):
        raise Invalid(Fault((), message))
    return text


def _one_line(text: str) -> str:
    if NOT_IN_ONE_LINE.search(text) or text != text.strip():
        raise Invalid(Fault((), "must be one line without spaces around it"))
    return text


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf


def _metric(name: str) -> str:
    if name.startswith(PREFIX):
        _rubric_name(name.removeprefix(PREFIX))
    elif name not in REGISTERED_METRICS:
        hint = did_you_mean(name, REGISTERED_METRICS) or f": choose from {', '.join(REGISTERED_METRICS)}"
        raise Invalid(Fault((), f"is not a metric{hint}"))
    return name


def _named(what: str, pattern: str, expected: str) -> Callable[[str], str]:
    """Accepts the name of ``what`` by its pattern, which ``expected`` describes."""

    def checked(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise Invalid(Fault((), f"is not a {what}'s name: use {expected}"))
        return name

    return checked


_rubric_name = _named("rubric", RUBRIC_NAME, f"1 to {limits.MAX_RUBRIC_NAME} letters, digits, _ or -")


def _python(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not errors
            tree = parse_python(text)
    except SyntaxError as error:
        line = error.lineno or 1
        message = f"is not valid Python: {printable(error.msg)} in line {line} of the code"
        raise Invalid(Fault((), message, inner_line=line)) from None
    except (RecursionError, MemoryError, ValueError):  # what the parser raises for absurdly nested code
        raise Invalid(Fault((), "is not valid Python: it is nested too deeply to be parsed")) from None
    if not has_checks(tree):
        raise Invalid(Fault((), "checks nothing: add an assert at the top level or a function named test_…"))
    return text


def _regex(text: str) -> str:
    if problem := pattern_problem(text):
        hint = "patterns use RE2 syntax, without look-around and back-references"
        raise Invalid(Fault((), f"is not a valid regular expression ({printable(problem)}): {hint}"))
    return text


def _answers(value: str | tuple[Any, ...]) -> str | tuple[str, ...]:
    """Check a text or several accepted ones. A list of one text is that text, so both have the same hash."""
    if isinstance(value, str):
        return _storable(value)
    faults = []
    for index, answer in enumerate(value):
        if answer is REPORTED:
            faults.append(Fault((index,), "is reported already", reported=True))
        elif not isinstance(answer, str):
            faults.append(Fault((index,), f"must be text, not {describe(answer)}", quotable=True))
        elif message := unstorable(answer):
            faults.append(Fault((index,), message))
        elif not answer.strip():
            faults.append(Fault((index,), "is empty: enter an accepted answer or remove the entry"))
    if not value:
        faults.append(Fault((), 'is an empty list: enter the accepted answers, or `""` for none'))
    if faults:
        raise Invalid(*faults)
    return value[0] if len(value) == 1 else value


_ONE_OR_MORE_TEXTS = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string"},
            {
                "type": "array",
                "items": {"type": "string", "pattern": r"\S"},
                "minItems": 1,
                "maxItems": limits.MAX_ANSWERS,
                "uniqueItems": True,
            },
        ]
    }
)
AnyText = Annotated[str, AfterValidator(_storable), text()]


def _criteria(value: Any) -> Any:
    faults = []
    for index, criterion in enumerate((value,) if isinstance(value, str) else value):
        path = () if isinstance(value, str) else (index,)
        if not isinstance(criterion, str):
            faults.append(Fault(path, f"must be text, not {describe(criterion)}", reported=criterion is REPORTED))
        elif not criterion.strip():
            faults.append(Fault(path, "is empty: enter what the judge looks for"))
        elif len(criterion) > limits.MAX_CRITERION:
            message = f"has {len(criterion):,} characters; the limit is {limits.MAX_CRITERION:,}: shorten it"
            faults.append(Fault(path, message))
        elif problem := unstorable(criterion):
            faults.append(Fault(path, problem))
    if not value:
        faults.append(Fault((), "is empty: enter at least one"))
    if faults:
        raise Invalid(*faults)
    return value


_CRITERION = {"type": "string", "pattern": r"\S", "maxLength": limits.MAX_CRITERION}
_CRITERIA = {"type": "array", "items": _CRITERION, "minItems": 1, "maxItems": limits.MAX_CRITERIA}
Criteria = Annotated[
    str | tuple[str, ...],
    SkipValidation(),
    AfterValidator(_criteria),
    WithJsonSchema({"anyOf": [_CRITERION, _CRITERIA]}),
    Expects("text, or a list of texts", (str, list, tuple), limits.MAX_CRITERIA),
]
Steps = Annotated[
    tuple[str, ...],
    SkipValidation(),
    AfterValidator(_criteria),
    WithJsonSchema(_CRITERIA),
    list_of("a list of texts", limits.MAX_CRITERIA),
]
Answers = Annotated[
    str | tuple[str, ...],
    SkipValidation(),
    AfterValidator(_answers),
    _ONE_OR_MORE_TEXTS,
    Expects('text (`""` for none), or a list of accepted texts', (str, list, tuple), limits.MAX_ANSWERS),
]
Text = Annotated[str, Field(pattern=r"\S"), AfterValidator(_storable), text()]
Name = Annotated[
    str,
    Field(pattern=r"\S", max_length=limits.MAX_NAME),
    AfterValidator(_storable),
    AfterValidator(_one_line),
    text("text in one line"),
]
Goal = Annotated[str, Field(pattern=r"\S", max_length=limits.MAX_GOAL), AfterValidator(_storable), text()]
Letter = Annotated[str, Field(pattern=r"\S", max_length=1), AfterValidator(_storable), text("one character")]
TAGS = "tags"
"""The key of the labels that are tags."""
SPLIT = "split"
"""The key of the label that is the split."""
Tag = Annotated[
    str,
    Field(pattern=r"\S", max_length=limits.MAX_LABEL),
    AfterValidator(_storable),
    AfterValidator(_one_line),
    text("text in one line"),
]
SPLIT_NAME = rf"[A-Za-z0-9_-]{{1,{limits.MAX_SPLIT}}}"
SplitName = Annotated[
    str,
    AfterValidator(_named("split", SPLIT_NAME, f"1 to {limits.MAX_SPLIT} letters, digits, _ or -")),
    WithJsonSchema({"type": "string", "pattern": f"^{SPLIT_NAME}$"}),
    text("a split's name"),
]
# Not digits alone: a task without a cluster is one of its own, which is named by a number.
CLUSTER_NAME = rf"(?=.*[^0-9])[A-Za-z0-9._-]{{1,{limits.MAX_CLUSTER}}}"
ClusterName = Annotated[
    str,
    AfterValidator(
        _named("cluster", CLUSTER_NAME, f"1 to {limits.MAX_CLUSTER} letters, digits, . _ or -, not digits alone")
    ),
    WithJsonSchema({"type": "string", "pattern": f"^{CLUSTER_NAME}$"}),
    text("a cluster's name"),
]
ToolName = Annotated[str, Field(pattern=TOOL_NAME), text("a tool's name")]
MetricName = Annotated[
    str,
    AfterValidator(_metric),
    text("a metric's name"),
    SchemaNow(
        lambda: {"anyOf": [{"enum": [*REGISTERED_METRICS]}, {"type": "string", "pattern": f"^{PREFIX}{RUBRIC_NAME}$"}]}
    ),
]
RubricName = Annotated[
    str, AfterValidator(_rubric_name), text("a rubric's name"), WithJsonSchema({"pattern": f"^{RUBRIC_NAME}$"})
]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_as_float)]
Weight = Annotated[
    float,
    Field(ge=limits.MIN_WEIGHT, le=limits.MAX_WEIGHT, allow_inf_nan=False),
    BeforeValidator(_as_float),
    Expects("a number above 0", (int, float)),
]
PythonSource = Annotated[
    str, Field(pattern=r"\S", max_length=limits.MAX_TESTS), AfterValidator(_storable), AfterValidator(_python)
]
Regex = Annotated[
    str, Field(pattern=r"\S", max_length=limits.MAX_PATTERN), AfterValidator(_storable), AfterValidator(_regex)
]
