"""The diagram of a run's status in ``docs/architecture.md`` is that of ``lifecycle``."""

from __future__ import annotations

import re

from pages import blocks, page, section

from benchmarks.engine.execution.lifecycle import ALLOWED


def test_the_diagram_has_every_transition_of_a_run_and_no_other() -> None:
    diagram = blocks(section(page("docs/architecture.md"), "## States"))[0].text
    drawn = {
        (origin, status)
        for origins, statuses in re.findall(r"^([a-z_, ]+) → ([a-z_]+(?:, [a-z_]+)*)", diagram, re.MULTILINE)
        for origin in origins.split(", ")
        for status in statuses.split(", ")
    }
    assert drawn == {(str(origin), str(status)) for status, origins in ALLOWED.items() for origin in origins}
