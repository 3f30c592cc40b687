from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.json_values import leaves
from benchmarks.metrics.schema_checking import UnusableSchemaError, schema_violation
from benchmarks.metrics.verdicts import metric_error, passed_or_not


class JsonSchema(DeterministicMetric):
    """1 where the answer's JSON fits the task's ``schema`` (draft 2020-12 unless ``$schema`` says otherwise).

    An answer that is no JSON does not fit.
    """

    name = "json_schema"
    title = "JSON Schema"
    description = "The answer's JSON fits the task's schema"
    needs = frozenset({"schema"})

    def score(self, item: Item) -> Score:
        extraction = extract_json(item.actual_output)
        try:
            value = parse_json(extraction.text)
            leaves(value)
        except ValueError as error:
            return passed_or_not(False, f"The answer is no JSON that can be checked: {error}.", extraction)
        try:
            violation = schema_violation(value, item.schema or {})
        except UnusableSchemaError as error:
            return metric_error(f"The task's schema cannot be used: {error}.", extraction)
        if violation is None:
            return passed_or_not(True, "The answer fits the schema.", extraction)
        return passed_or_not(False, f"{violation}.", extraction)
