"""``docs/dependencies.md`` gives a reason for every direct requirement, and for nothing else."""

from __future__ import annotations

import re

import pytest
from pages import ROOT, headings, page, section, table_rows

PAGE = page("docs/dependencies.md")
FILES = sorted(path.name for path in ROOT.glob("requirements*.in"))


def required(file: str) -> list[str]:
    lines = [line.split("#")[0].strip() for line in page(file).splitlines()]
    return [re.split(r"[\[<>=!~;]", line)[0].strip() for line in lines if line and not line.startswith("-")]


def test_every_requirements_file_has_its_section() -> None:
    assert sorted(re.findall(r"^## (\S+\.in):", "\n".join(headings(PAGE)), re.MULTILINE)) == FILES


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_has_a_reason(file: str) -> None:
    heading = next(heading for heading in headings(PAGE) if heading.startswith(f"## {file}:"))
    rows = table_rows(section(PAGE, heading))
    assert [name.strip(" `") for names, _ in rows for name in names.split(",")] == required(file)
    assert all(reason for _, reason in rows)
