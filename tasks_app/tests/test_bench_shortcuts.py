import random
import re

import pytest

from tasks_app.loader import build_canvas, build_prompt
from tests.benches import bench_shortcuts


def test_the_bench_prints_two_tables_of_shortcuts_and_two_of_a_reader_that_forgets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_shortcuts, "SHAPES", (3, 7))
    monkeypatch.setattr(bench_shortcuts, "STEPS", (3, 12))
    bench_shortcuts.main(["--canvases", "30"])
    shortcuts, by_examples, by_shapes, by_steps = capsys.readouterr().out.split("\n\n")[:4]
    assert "| transitivity | – |" in shortcuts
    assert len(re.findall(r"0\.\d{3} / [01]\.\d{3}", shortcuts)) == 11
    assert len(re.findall(r" 0\.\d{3} ", by_examples)) == 11
    assert len(by_shapes.splitlines()) == 8
    assert len(by_steps.splitlines()) == 4


def test_a_reader_that_remembers_everything_is_right_and_one_that_remembers_little_is_not() -> None:
    right = dict.fromkeys((1000, 6), 0)
    for index in range(60):
        prompt = build_prompt(build_canvas(12, 11, index, 60), "coordinate", "coordinates")
        for memory in right:
            answer = bench_shortcuts.forgetful_answer(prompt.text, random.Random(index), memory)
            right[memory] += answer == prompt.expected
    assert right[1000] == 60
    assert right[6] < 30
