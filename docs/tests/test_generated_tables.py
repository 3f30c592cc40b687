"""The tables that the code generates are those of the pages."""

from __future__ import annotations

import pytest
from generated_tables import TABLES, with_tables
from pages import page


@pytest.mark.parametrize("name", TABLES)
def test_generated_tables_are_up_to_date(name: str) -> None:
    assert with_tables(name) == page(name), "run python -m docs.tests.generated_tables"
