"""``manage.py benchmark experiment``: files with mistakes at their lines, estimates, runs and their matrix."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from benchmarks.models import Experiment
from tests.support.commands import run_command
from tests.support.factories import JUDGE, MODEL, make_dataset
from tests.support.running import Endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("impatient")]

FILE = f"""
name: Prompts
datasets: [sums]
models: [{MODEL}, {JUDGE}]
metrics: [exact_match]
variants:
  - name: plain
  - name: stepwise
    prompt_template: |
      {{input}}
      Think.
    parameters: {{temperature: 0.5}}
"""
MALFORMED = {
    "": "prompts.yaml:1: the file is empty: enter a mapping with name, datasets and models",
    "- a": "prompts.yaml:1:",
    "name: [": "invalid YAML",
    FILE.replace("{input}", "{question}"): "prompts.yaml:9: variants[1].prompt_template: “{question}” is not",
    FILE.replace(JUDGE, "nowhere/x"): "prompts.yaml:4: models[1]: Provider nowhere is not configured",
    FILE.replace("[sums]", "[none]"): "prompts.yaml:3: datasets[0]: Dataset none does not exist",
    FILE.replace("temperature: 0.5", "temperature: hot"): "prompts.yaml:12: variants[1].parameters.temperature",
    FILE + "speed: 3\n": "prompts.yaml:13: speed: Unknown field",
    FILE + "budget_usd: 1\n": "prompts.yaml:13: budget_usd: A budget requires max_tokens",
}


run = partial(run_command, "benchmark", "experiment")


def written(folder: Path, text: str) -> Path:
    path = folder / "prompts.yaml"
    path.write_text(text)
    return path


def test_a_file_is_run_and_its_matrix_printed(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(lambda asked: "2" if asked.body["model"] == "model" else "no")
    make_dataset(6)
    code, text = run("run", written(tmp_path, FILE))
    assert code == 0
    assert "Completed, 4 of 4 runs ended, 24 of 24 results, 0 errors" in text
    assert "model and model (stepwise) tie at 0.167; 6 tasks " in text
    assert "2 others are not significantly behind." in text
    rows = [line for line in text.splitlines() if MODEL in line]
    assert "1–4   loop/model  plain, default parameters " in rows[0]
    assert "1–4   loop/model  stepwise, temperature 0.5, prompt template “{input} Think.” " in rows[1]
    pk = Experiment.objects.get().pk
    assert run("show", pk) == (0, text)
    shown = json.loads(run("show", pk, "--json")[1])
    assert [cell["mean"] for cell in shown["matrix"]] == pytest.approx([1 / 6, 1 / 6, 0, 0])


def test_a_file_is_estimated_without_a_start(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(lambda asked: "2")
    make_dataset(100)
    code, text = run("plan", written(tmp_path, FILE))
    assert code == 0
    assert "4 runs, 400 requests" in text
    assert "detectable difference on sums: " in text
    assert not Experiment.objects.exists()


def test_detached_runs_are_left_to_workers(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    code, text = run("run", written(tmp_path, FILE), "--detach")
    assert (code, "Queued, 0 of 4 runs ended" in text, "No ranking yet" in text) == (0, True, True)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_mistake_is_reported_with_its_line(endpoint: Endpoint, tmp_path: Path, text: str) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    code, refusal = run("run", written(tmp_path, text))
    assert code == 2
    assert MALFORMED[text] in refusal
    assert not Experiment.objects.exists()


def test_every_mistake_stands_on_a_line_of_its_own(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    text = FILE.replace("[sums]", "[none]").replace(JUDGE, "nowhere/x")
    head, *mistakes = run("plan", written(tmp_path, text))[1].split("\n")
    assert head == "Request refused:"
    assert [mistake.split()[1] for mistake in mistakes] == ["prompts.yaml:3:", "prompts.yaml:4:"], mistakes


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert run("show", 99)[0] == run("export", 99, "--output", tmp_path / "a.csv")[0] == 2
    assert run("run", tmp_path / "none.yaml")[0] == 2
