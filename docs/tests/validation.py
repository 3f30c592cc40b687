"""The tables of ``docs/validation.md``, and the places where numbers are shown.

To write the page, run ``python -m docs.tests.generated_tables``. The tests beside this file find numbers without a row
and rows whose code, test, section, source or measurement does not exist.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from docs.tests.validation_rows import ESTIMATES, PLAIN, Plain, Row

ROOT = Path(__file__).resolve().parents[2]
STATISTICS = ROOT / "docs" / "statistics.md"

Cells = Iterator[tuple[str, ...]]


def estimates() -> Cells:
    """Rows of the table of estimates: what each rests on."""
    for row in ESTIMATES:
        formula = f"[{row.section}](statistics.md#{_anchor(row.section)}) {' '.join(f'[{n}]' for n in row.sources)}"
        measured = row.exact or "; ".join(map(measurement, row.measured))
        yield row.number, formula, f"`{row.code}`", f"{row.agrees_with} ({_files(row.tests)})", measured, row.limits


def plain_numbers() -> Cells:
    """Rows of the table of what is counted, added up or read."""
    for row in PLAIN:
        yield row.number, f"`{row.code}`", _files(row.tests), row.limits


def places() -> Cells:
    """Where each number is shown."""
    for row in (*ESTIMATES, *PLAIN):
        yield row.number, ", ".join(f"`{place}`" for place in row.shown.split("; ") if place) or "fields of means above"


def measurement(beginning: str) -> str:
    """What a row of the tables of "Measured" says, or a link to a paragraph that is ``**so**``.

    Raises ``ValueError`` if not exactly one begins so.
    """
    found = [line for line in _measured() if line.startswith((f"| {beginning}", beginning))]
    if len(found) != 1:
        raise ValueError(f"{len(found)} rows of docs/statistics.md begin with {beginning!r}")
    if not found[0].startswith("|"):
        return f"[{beginning.strip('*')}](statistics.md#measured)"
    name, *cells = (cell.strip() for cell in found[0].strip("|").split("|"))
    return f"{name}: {', '.join(cell for cell in cells if cell != '–')}"


def row_of(place: str) -> list[str]:
    """The numbers that claim a place: by its name, else by a pattern of an estimate, else by another pattern."""
    every = (*ESTIMATES, *PLAIN)
    named = [row.number for row in every if place in row.shown.split("; ")]
    return named or _matching(place, ESTIMATES) or _matching(place, PLAIN)


def _matching(place: str, rows: Sequence[Row | Plain]) -> list[str]:
    return [row.number for row in rows if any(fnmatchcase(place, pattern) for pattern in row.shown.split("; "))]


def shown_places() -> set[str]:
    """Every place that shows a number: in answers of the API, above columns, in the glossary, of metrics, in files."""
    from benchmarks.exports.rows import ResultRow, ScoreCell
    from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
    from benchmarks.presentation.glossary import GLOSSARY

    exported = (
        name
        for cls in (ResultRow, ScoreCell)
        for name, kind in cls.__annotations__.items()
        if kind.startswith(("int", "float"))
    )
    return {
        *_api_places(),
        *(f"head {head}" for head in (*_columns(), *_template_heads())),
        *(f"term {term}" for term in GLOSSARY),
        *(f"metric {metric}" for metric in REGISTERED_METRICS),
        *(f"export {name}" for name in exported),
    }


def _api_places() -> Iterator[str]:
    from drf_spectacular.generators import SchemaGenerator

    for name, component in SchemaGenerator().get_schema(request=None, public=True)["components"]["schemas"].items():
        if name.endswith("Request") or name.startswith("Paginated"):
            continue
        for field, value in component.get("properties", {}).items():
            if re.search(r"'(integer|number)'", str(value)):
                yield f"{name}.{field}"


def _columns() -> Iterator[str]:
    """The heads of columns of numbers, in the tables that pages and commands share."""
    for path in (ROOT / "benchmarks" / "queries").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Column"):
                continue
            given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
            is_number = any(getattr(value, "value", None) == "number" for value in given)
            is_action = any(keyword.arg == "hidden_head" for keyword in node.keywords)
            if is_number and not is_action and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def _template_heads() -> Iterator[str]:
    for path in (ROOT / "frontend" / "templates").rglob("*.html"):
        for head in re.findall(r'<th[^>]*class="[^"]*\bnum\b[^"]*"[^>]*>([^<{]+)', path.read_text(encoding="utf-8")):
            if head.strip():
                yield head.strip()


@cache
def _measured() -> list[str]:
    return part_of_statistics("Measured").splitlines()


@cache
def part_of_statistics(section: str) -> str:
    """The text of a section of ``docs/statistics.md``; empty if there is none."""
    text = STATISTICS.read_text(encoding="utf-8")
    return re.split(r"^#+ ", text.partition(f"# {section}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _anchor(section: str) -> str:
    return re.sub(r"[^\w-]", "", section.lower().replace(" ", "-"))


def _files(tests: tuple[str, ...]) -> str:
    names = dict.fromkeys(name.partition("::")[0].rpartition("/")[2] for name in tests)
    return ", ".join(f"`{name}`" for name in names)
