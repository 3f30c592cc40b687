"""Every file in ``malformed/`` lists the problems it must give at its top: ``# expect LINE | PATH | FRAGMENT``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from benchmarks.dataset_format import nodes
from benchmarks.dataset_format.parsing import parse_dataset

FILES = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))
EXPECTATION = re.compile(r"# expect (?P<line>\d+) \| (?P<path>.*?) ?\| (?P<fragment>.*)")


def expectations(path: Path) -> list[tuple[int, str, str]]:
    lines = map(EXPECTATION.fullmatch, path.read_text().splitlines())
    return [(int(match["line"]), match["path"], match["fragment"]) for match in lines if match]


def test_every_malformed_file_gives_exactly_the_expected_problems_at_their_lines() -> None:
    assert len(FILES) >= 120
    for path in FILES:
        problems = list(parse_dataset(path.read_bytes(), path.name).problems)
        expected = expectations(path)
        assert expected, path.name
        for line, where, fragment in expected:
            met = [it for it in problems if (it.line, it.path) == (line, where) and fragment in it.message]
            assert met, (path.name, line, where, fragment, problems)
            problems.remove(met[0])
        assert not problems, path.name


def test_the_lines_are_the_same_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LOADER", yaml.SafeLoader)
    for path in FILES:
        lines = [problem.line for problem in parse_dataset(path.read_bytes(), path.name).problems]
        assert lines == sorted(line for line, _, _ in expectations(path)), path.name
