from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.json_values import leaves
from benchmarks.metrics.verdicts import not_applicable, scored, unparsable

MAX_NAMED = 5
"""Differing fields that the reason names."""


class JsonMatch(DeterministicMetric):
    """The share of fields that agree between the answer's JSON and the expected JSON.

    Fields are the leaves of both values together, so that a missing and an invented field both cost. List entries are
    compared by position, numbers by value, text letter for letter.
    """

    name = "json_match"
    title = "JSON match"
    description = "Share of fields that agree between the answer's JSON and the expected JSON"
    needs = frozenset({"expected_output"})

    def applies_to(self, item: Item) -> bool:
        try:
            parse_json(item.expected_output)
        except ValueError:
            return False
        return True

    def score(self, item: Item) -> Score:
        try:
            expected = leaves(parse_json(item.expected_output))
        except ValueError as error:
            return not_applicable(f"The expected output is no JSON to compare with: {error}.")
        extraction = extract_json(item.actual_output)
        try:
            found = leaves(parse_json(extraction.text))
        except ValueError as error:
            return unparsable(f"The answer holds no JSON to compare: {error}.", extraction)
        fields = expected.keys() | found.keys()
        differing = sorted(field for field in fields if expected.get(field) != found.get(field))
        agreeing = len(fields) - len(differing)
        reason = f"{agreeing} of {len(fields)} fields agree."
        if differing:
            names = ", ".join(field or "the value itself" for field in differing[:MAX_NAMED])
            more = f" and {len(differing) - MAX_NAMED} more" if len(differing) > MAX_NAMED else ""
            reason += f" Not: {names}{more}."
        return scored(agreeing / len(fields), reason, extraction)
