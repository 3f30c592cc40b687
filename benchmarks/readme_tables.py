"""``python -m benchmarks.readme_tables``: write the generated tables of ``datasets/README.md`` anew.

Metrics come from their registry, fields from the dataset format. ``--check`` changes nothing and exits with 1 where a
table is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.dataset_format import field_table
from benchmarks.metrics.registered_metrics import metric_table

README = Path(__file__).resolve().parents[1] / "datasets" / "README.md"
TABLES = {"metrics": metric_table, "fields": field_table}
"""Name in the markers ``<!-- name:begin -->`` and ``<!-- name:end -->`` → what stands between them."""


def with_tables(page: str) -> str:
    """``page`` with every table made new. Raises ``ValueError`` where a marker is missing."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found_begin or not found_end:
            raise ValueError(f"the page lacks the markers {begin} and {end}")
        page = f"{before}{begin}\n{table().strip()}\n{end}{after}"
    return page


def main(arguments: Sequence[str] = (), readme: Path = README) -> int:
    """The exit code: 1 where ``--check`` finds an old table, 2 where the page lacks a marker or cannot be read."""
    try:
        page = readme.read_text(encoding="utf-8")
        new = with_tables(page)
    except (OSError, ValueError) as problem:
        print(f"{readme}: {problem}", file=sys.stderr)
        return 2
    if page == new:
        print(f"{readme} is up to date")
        return 0
    if "--check" in arguments:
        print(f"{readme} is out of date: run python -m benchmarks.readme_tables", file=sys.stderr)
        return 1
    readme.write_text(new, encoding="utf-8")
    print(f"Wrote {readme}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
