"""Every file in ``malformed/`` says at its top which problems it must give: ``# expect LINE | PATH | FRAGMENT``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from benchmarks.dataset_format import nodes, parse_dataset

FILES = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))
EXPECTATION = re.compile(r"# expect (?P<line>\d+) \| (?P<path>.*?) ?\| (?P<fragment>.*)")


def expectations(path: Path) -> list[tuple[int, str, str]]:
    lines = map(EXPECTATION.fullmatch, path.read_text().splitlines())
    return [(int(found["line"]), found["path"], found["fragment"]) for found in lines if found]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_malformed_file_gives_exactly_the_expected_problems_at_their_lines(path: Path) -> None:
    expected = expectations(path)
    problems = list(parse_dataset(path.read_bytes(), path.name).problems)
    assert expected, "the file names no expectation"
    for line, where, fragment in expected:
        met = [it for it in problems if (it.line, it.path) == (line, where) and fragment in it.message]
        assert met, (line, where, fragment, problems)
        problems.remove(met[0])
    assert not problems


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_without_libyaml_the_same_lines_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LOADER", yaml.SafeLoader)
    lines = [problem.line for problem in parse_dataset(path.read_bytes(), path.name).problems]
    assert lines == sorted(line for line, _, _ in expectations(path))


def test_there_are_plenty_of_malformed_files() -> None:
    assert len(FILES) >= 60
