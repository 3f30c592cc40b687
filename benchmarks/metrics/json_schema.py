from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored
from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.json_match import leaves
from benchmarks.metrics.patterns import UnusableSchemaError
from benchmarks.providers.clean_text import full_sentence


class JsonSchema(DeterministicMetric):
    """1 if the answer's JSON matches the task's ``schema`` (draft 2020-12 unless ``$schema`` says otherwise).

    An answer that is not JSON does not match.
    """

    name = "json_schema"
    title = "JSON Schema"
    description = "The answer's JSON validates against the task's schema"
    needs = frozenset({"schema"})

    def score(self, item: Item) -> Score:
        from benchmarks.metrics.schema_violations import schema_violation  # loads jsonschema, which takes its time

        extraction = extract_json(item.actual_output)
        try:
            value = parse_json(extraction.text)
            leaves(value)
        except ValueError as error:
            reason = f"The answer cannot be checked, because it is not valid JSON: {full_sentence(error)}"
            return scored(False, reason, extraction, failure="Not valid JSON")
        try:
            violation = schema_violation(value, item.schema or {})
        except UnusableSchemaError as error:
            return metric_error(f"The task's schema is not usable: {full_sentence(error)}", extraction)
        reason = f"{violation or 'The answer matches the schema'}."
        return scored(violation is None, reason, extraction, failure="Violates the schema")
