"""The states, modules and rooms in ``docs/architecture.md`` are those of the code."""

from __future__ import annotations

import re

from pages import ROOT, blocks, page, section

from benchmarks.engine.execution.lifecycle import ALLOWED

PAGE = page("docs/architecture.md")


def test_the_diagram_has_every_transition_of_a_run_and_no_other() -> None:
    diagram = blocks(section(PAGE, "## States"))[0].text
    drawn = {
        (origin, status)
        for origins, statuses in re.findall(r"^([a-z_, ]+) → ([a-z_]+(?:, [a-z_]+)*)", diagram, re.MULTILINE)
        for origin in origins.split(", ")
        for status in statuses.split(", ")
    }
    assert drawn == {(str(origin), str(status)) for status, origins in ALLOWED.items() for origin in origins}


def test_the_reading_order_names_every_module_and_the_rooms_name_modules_that_exist() -> None:
    reading_order = re.search(r"^`engine/execution/` in reading order: (.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert reading_order
    modules = {path.stem for path in (ROOT / "benchmarks/engine/execution").glob("[a-z]*.py")}
    assert set(re.findall(r"`([a-z_]+)`", reading_order[1])) == modules
    rooms = re.findall(r"^(?:ways in|pure|[a-z]*) +((?:[a-z_]+ )*[a-z_]+)(?:   |$)", blocks(PAGE)[0].text, re.MULTILINE)
    named = [name for room in rooms for name in room.split()]
    assert len(named) > 20
    places = (ROOT / "benchmarks", ROOT / "benchmarks/engine")
    assert [name for name in named if not any([*place.glob(name), *place.glob(f"{name}.py")] for place in places)] == []
