from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.verdicts import passed_or_not


class JsonValid(DeterministicMetric):
    """1 where the answer is strict JSON (no NaN, no trailing comma), bare or in a fence, but not in a sentence."""

    name = "json_valid"
    title = "Valid JSON"
    description = "The answer is one valid JSON value, bare or in a fence"

    def score(self, item: Item) -> Score:
        extraction = extract_json(item.actual_output)
        if extraction.how == "embedded JSON":
            return passed_or_not(False, "The answer holds JSON inside other text.", extraction)
        try:
            parse_json(extraction.text)
        except ValueError as error:
            return passed_or_not(False, f"The answer is no valid JSON: {error}.", extraction)
        return passed_or_not(True, "The answer is valid JSON.", extraction)
