from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored
from benchmarks.metrics.extraction import How, extract_json, parse_json


class JsonValid(DeterministicMetric):
    """1 if the answer is strict JSON (no NaN, no trailing comma), bare or in a code fence, but not in a sentence."""

    name = "json_valid"
    title = "Valid JSON"
    description = "The answer is a single valid JSON value, bare or in a code fence"

    def score(self, item: Item) -> Score:
        extraction = extract_json(item.actual_output)
        if extraction.how is How.EMBEDDED_JSON:
            return scored(
                False, "The answer contains JSON inside other text.", extraction, failure="JSON inside other text"
            )
        try:
            parse_json(extraction.text)
        except ValueError as error:
            return scored(False, f"The answer is not valid JSON: {error}.", extraction, failure="Not valid JSON")
        return scored(True, "The answer is valid JSON.", extraction)
