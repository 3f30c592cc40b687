"""Every number that is shown has a row in ``docs/validation.md``, and every row rests on things that exist."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from functools import cache
from pydoc import locate

import pytest

from docs.tests.validation import ROOT, measurement, part_of_statistics, row_of, shown_places
from docs.tests.validation_rows import ESTIMATES, PLAIN, Plain, Row


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / "benchmarks" / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_number_that_is_shown_has_one_row() -> None:
    claimed = {place: row_of(place) for place in shown_places()}
    assert {place: rows for place, rows in claimed.items() if len(rows) != 1} == {}


def test_every_place_of_a_row_shows_a_number() -> None:
    shown = shown_places()
    patterns = [pattern for row in (*ESTIMATES, *PLAIN) for pattern in row.shown.split("; ") if pattern]
    assert [pattern for pattern in patterns if not any(fnmatchcase(place, pattern) for place in shown)] == []


@pytest.mark.parametrize("row", [*ESTIMATES, *PLAIN], ids=lambda row: row.number)
def test_code_and_tests_of_a_row_exist(row: Row | Plain) -> None:
    assert locate(row.code.replace(":", ".")) is not None
    for name in row.tests:
        path, _, test = name.partition("::")
        assert not test or test in names_in(path), name
        assert names_in(path), path


@pytest.mark.parametrize("row", ESTIMATES, ids=lambda row: row.number)
def test_an_estimate_has_a_section_sources_and_a_measurement(row: Row) -> None:
    assert part_of_statistics(row.section)
    listed = part_of_statistics("Sources")
    for source in row.sources:
        assert f" {source} " in f" {listed.replace(chr(10), ' ')}"
    assert bool(row.exact) != bool(row.measured)
    for beginning in row.measured:
        assert measurement(beginning)


def test_a_new_number_is_noticed() -> None:
    assert row_of("Mean.kurtosis") == []
    assert row_of("head Kurtosis") == []
    with pytest.raises(ValueError, match="0 rows"):
        measurement("the kurtosis of")
