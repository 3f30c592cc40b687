"""The tables of the datasets' README are written by the registries."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dataset_format import field_table
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_table
from benchmarks.readme_tables import main, with_tables

PAGE = "# A\n<!-- metrics:begin -->\nold\n<!-- metrics:end -->\nb\n<!-- fields:begin --><!-- fields:end -->\nend\n"


def test_what_stands_between_the_markers_is_replaced_and_nothing_else() -> None:
    made = with_tables(PAGE)
    assert made.startswith(f"# A\n<!-- metrics:begin -->\n{metric_table()}\n<!-- metrics:end -->\nb\n")
    assert made.endswith(f"<!-- fields:begin -->\n{field_table().strip()}\n<!-- fields:end -->\nend\n")
    assert with_tables(made) == made


@pytest.mark.parametrize("lost", ["<!-- metrics:begin -->", "<!-- metrics:end -->", "<!-- fields:end -->"])
def test_a_page_that_lacks_a_marker_is_refused_and_left_alone(tmp_path: Path, lost: str) -> None:
    page = tmp_path / "README.md"
    page.write_text(PAGE.replace(lost, ""))
    with pytest.raises(ValueError, match="lacks the markers"):
        with_tables(page.read_text())
    assert main([], page) == 2
    assert page.read_text() == PAGE.replace(lost, "")


def test_the_command_writes_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "README.md"
    page.write_text(PAGE)
    assert main(["--check"], page) == 1
    assert "out of date" in capsys.readouterr().err
    assert page.read_text() == PAGE
    assert main([], page) == 0
    assert all(f"| `{name}` |" in page.read_text() for name in REGISTERED_METRICS)
    assert main(["--check"], page) == 0
    assert main([], tmp_path / "none.md") == 2
