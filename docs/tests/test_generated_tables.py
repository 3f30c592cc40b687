"""The tables that the code generates are those of the pages."""

from __future__ import annotations

import pytest
from generated_tables import TABLES, with_table
from pages import page


@pytest.mark.parametrize("name", TABLES)
def test_a_generated_table_is_up_to_date(name: str) -> None:
    assert with_table(name) == page(name), "run python -m docs.tests.generated_tables"
