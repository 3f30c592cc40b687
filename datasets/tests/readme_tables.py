"""The generated tables of ``datasets/README.md``. To update them, run ``python -m datasets.tests.readme_tables``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.dataset_format.documents import field_table
from benchmarks.metrics.registered_metrics import metric_table

README = Path(__file__).resolve().parents[1] / "README.md"
TABLES = {"metrics": metric_table, "fields": field_table}
"""Name in the markers ``<!-- name:begin -->`` and ``<!-- name:end -->`` → the table between them."""


def with_tables(page: str) -> str:
    """The page with current tables. Raises ``ValueError`` if a marker is missing."""
    for name, table in TABLES.items():
        before, begin, rest = page.partition(f"<!-- {name}:begin -->")
        _, end, after = rest.partition(f"<!-- {name}:end -->")
        if not end:
            raise ValueError(f"{README} lacks the markers of the table {name}")
        page = f"{before}{begin}\n{table().strip()}\n{end}{after}"
    return page


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
