"""How a run asks: its parameters that decide scores, in a form in which equal asking is equal.

A run stores this when it is saved first (``Run.asked``, ``question_key``, ``answer_key``), and tables, pairs, histories
and differences are derived from it. What a parameter decides is said in ``RUN_PARAMETERS``. Only stored columns are
read, so the migration that fills in older runs calls the same functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.providers.model_names import is_baseline
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS, Decides, Kind, RunParameter, deciding

STORED = (Decides.QUESTION, Decides.ANSWER, Decides.SCORE)
KEY_LENGTH = 32
LONGEST = 80
"""Of a longer text, the beginning is stored, and its hash."""
_SHOWN = 40
_DEFAULTS = "default parameters"

Asked = Mapping[str, Mapping[str, object]]
"""``question``, ``answer`` or ``score`` → name → value of each parameter that decides it, as ``asked`` returns it."""


def asked(run: Any) -> dict[str, dict[str, object]]:
    """What the run stores of how it asks, by what it decides.

    Left out are values that are the default, and parameters that cannot apply to the run.
    """
    return {decides.value: values_of(run, decides) for decides in STORED}


def values_of(run: Any, *decides: Decides) -> dict[str, object]:
    """Name → value of each parameter that decides one of these, as ``asked`` has them."""
    values = {parameter.name: _value(parameter, run) for parameter in deciding(*decides)}
    return {name: value for name, value in values.items() if value not in NOT_GIVEN and value is not False}


def key_of(values: Mapping[str, object]) -> str:
    """A hash that equal values have in common."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:KEY_LENGTH]


def difference(own: Mapping[str, object], others: Iterable[Mapping[str, object]]) -> str:
    """What distinguishes these values from ``others``, which include them, in words: ``temperature 0, top_k 5``.

    Empty if all are alike. Values without any of what others have are ``default parameters``.
    """
    flat, all_flat = _flat(own), [_flat(each) for each in others]
    names = differing(all_flat)
    given = [phrase(name, flat[name]) for name in names if name in flat]
    return ", ".join(given) or (_DEFAULTS if names else "")


def differing(values: Sequence[Mapping[str, object]]) -> list[str]:
    """The names of values that are not the same in all, in the order of ``RUN_PARAMETERS``, others after them."""
    names = dict.fromkeys([*RUN_PARAMETERS, *(name for each in values for name in each)])
    return [name for name in names if any(each.get(name) != values[0].get(name) for each in values)]


def phrase(name: str, value: Any) -> str:
    """One value in words; without a value, that there is none."""
    parameter, words = RUN_PARAMETERS.get(name), name.replace("_", " ")
    if value in NOT_GIVEN:
        return (parameter and parameter.absent) or f"no {words}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else " ".join(str(value).split())
    if parameter is None:
        return f"{name} {shown}"
    if parameter.kind is Kind.LONG_TEXT:
        return f"{words} “{shown[:_SHOWN]}”"
    return (parameter.phrase or f"{parameter.label[0].lower()}{parameter.label[1:]} {{}}").replace("{}", shown)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with each of the extra parameters as one of them. Their names are others than those of parameters."""
    return {**{name: value for name, value in values.items() if name != "extra"}, **values.get("extra", {})}


def _value(parameter: RunParameter, run: Any) -> Any:
    """The value in a form in which equal values are equal; none where it is the default or cannot apply."""
    if not _applies(parameter, run):
        return None
    value = getattr(run, parameter.field, parameter.empty) if parameter.field else parameter.value_of(run)
    if parameter.name == "extra":
        value = {**run.model_params, **value}
    if value in (parameter.empty, parameter.same):
        return None
    if parameter.name == "seed" and _repeats_one_seed(run):
        return f"{value} in every repeat"
    if parameter.name == "tasks" and set(value) >= set(run.dataset_version.facets.get("group", ())):
        return None
    return _canonical(sorted(value) if parameter.kind is Kind.NAMES else value)


def _applies(parameter: RunParameter, run: Any) -> bool:
    if parameter.canvas_only and not run.representation:
        return False
    if parameter.decides is Decides.SCORE:
        return bool(run.judge_model)
    if parameter.decides is not Decides.ANSWER:
        return True
    if is_baseline(run.model) and not run.import_format:
        return parameter.name == "seed" and run.model == "baseline/random"
    return parameter.name != "max_tool_steps" or _is_given(parameter, run)


def _is_given(steps: RunParameter, run: Any) -> bool:
    """Whether the most tool steps are not the default, and some task of the run's version has tools without a world,
    in which the task says how many there are."""
    if steps.value_of(run) == steps.empty or run.representation:
        return False
    version = run.dataset_version
    if version.world:
        return False
    if version.tools:
        return True
    rows = version.tasks.values_list("tools", "expected_tools", "world")
    return any((tools or expected) and not world for tools, expected, world in rows.iterator(chunk_size=1_000))


def _repeats_one_seed(run: Any) -> bool:
    # The migration that fills in older runs reads them before they have the column. They sent one seed.
    made_here = not run.import_format and not is_baseline(run.model)
    return made_here and run.repeats > 1 and not getattr(run, "seed_per_repeat", False)


def _canonical(value: Any) -> Any:
    """A whole number without its kind, and of a long text its beginning and its hash."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({hashlib.sha256(value.encode()).hexdigest()[:16]})"
    if isinstance(value, Mapping):
        return {str(name): _canonical(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return value
