"""What ``requirements-slim.txt`` leaves out is not missed: DeepEval's metrics send the same prompts and score the same.

The installation is made of links to the packages that the file pins, so that nothing else can be imported.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from benchmarks.left_out import drop_requirements, excluded

ROOT = Path(__file__).parents[3]
JUDGED = {"correctness": 1, "faithfulness": 3, "answer_relevancy": 2, "contextual_precision": 1}
"""Metric → requests to the judge for one answer."""
SCRIPT = """
import asyncio, json, sys, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="deepeval")  # its asyncio on Python 3.14
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.tests.factories import ScriptedJudge, item

VERDICTS = {"verdicts": [{"verdict": "yes", "reason": "it does"}, {"verdict": "no", "reason": "it does not"}]}

def respond(prompt):
    for key in ("truths", "claims"):
        if f'"{key}"' in prompt:
            return {key: ["The tower is 330 m high.", "The moon is square."]}
    if "statements" in prompt and '"verdicts"' not in prompt:
        return {"statements": ["It is 330 m high.", "Cats sleep."]}
    return VERDICTS if '"verdicts"' in prompt else {"score": 7, "reason": "Close."}

case = item("It is 330 m high. Cats sleep.", "330 m", context=["The tower is 330 m high.", "Cats sleep a lot."])

async def main():
    found = {}
    for name in sys.argv[1:]:
        judge = ScriptedJudge(respond)
        score = await REGISTERED_METRICS[name].judge(case, judge)
        found[name] = [score.value, score.reason, judge.prompts, judge.schemas]
    return found

print(json.dumps(asyncio.run(main())))
"""


def pinned(file: str) -> dict[str, str]:
    """Package → version, of those that this platform gets."""
    text = (ROOT / file).read_text().replace("\\\n", " ")
    lines = (Requirement(re.split(r" --hash| #", line)[0]) for line in text.splitlines() if re.match("[a-z0-9]", line))
    return {line.name: str(line.specifier) for line in lines if line.marker is None or line.marker.evaluate()}


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slim")
    for name in pinned("requirements-slim.txt"):
        found = distribution(name)
        for part in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / part).exists():
                (folder / part).symlink_to(Path(str(found.locate_file(part))))
    return folder


def run(*arguments: str, slim: Path | None = None) -> str:
    """What Python prints, with the packages of the folder only, or with all that are installed."""
    path = [str(ROOT)] if slim is None else [str(ROOT), str(slim)]
    done = subprocess.run(
        [sys.executable, *(() if slim is None else ("-S",)), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "failed to import" not in done.stderr, "DeepEval warns of a package that is left out"
    return done.stdout


def test_judged_metrics_score_as_with_everything_that_deepeval_requires(slim: Path) -> None:
    bare, full = (json.loads(run("-c", SCRIPT, *JUDGED, slim=folder)) for folder in (slim, None))
    assert bare == full
    assert {name: len(prompts) for name, (_, _, prompts, _) in bare.items()} == JUDGED
    assert {name: value for name, (value, *_) in bare.items()} == {
        **{"correctness": 0.7, "faithfulness": 0.5},
        **{"answer_relevancy": 0.5, "contextual_precision": 1.0},
    }


def test_the_application_starts_without_the_packages_left_out(slim: Path) -> None:
    assert "no issues" in run("manage.py", "check", slim=slim)
    excluded = set((ROOT / "requirements-excluded.txt").read_text().splitlines()[1:])
    importable = "import importlib.metadata as m; print(*(d.name.lower() for d in m.distributions()))"
    found = set(run("-c", importable, slim=slim).split())
    assert "deepeval" in found
    assert found & excluded == set()


def test_pip_does_not_miss_what_is_left_out(tmp_path: Path) -> None:
    about = tmp_path / "judge-1.0.dist-info"
    about.mkdir()
    (about / "RECORD").write_text("judge-1.0.dist-info/METADATA,,\n")
    head = "Metadata-Version: 2.1\nName: judge\nVersion: 1.0\n"
    needs = "Requires-Dist: Opentelemetry_API (>=1.24.0,<2.0.0)\nRequires-Dist: pydantic (>=2)\n"
    (about / "METADATA").write_text(f"{head}{needs}\nRequires grpcio.\n")
    assert drop_requirements(excluded(), [str(tmp_path)]) == ["judge"]
    assert (about / "METADATA").read_text() == f"{head}Requires-Dist: pydantic (>=2)\n\nRequires grpcio.\n"
    assert drop_requirements(excluded(), [str(tmp_path)]) == []


def test_both_files_pin_the_same_versions() -> None:
    every, slim = pinned("requirements.txt"), pinned("requirements-slim.txt")
    excluded = (ROOT / "requirements-excluded.txt").read_text().splitlines()[1:]
    assert slim == {name: version for name, version in every.items() if name not in excluded}


def test_nothing_that_we_require_ourselves_is_left_out() -> None:
    excluded = set((ROOT / "requirements-excluded.txt").read_text().splitlines()[1:])
    for name in pinned("requirements.in"):
        needs: list[Any] = [Requirement(line) for line in distribution(name).requires or ()]
        needs = [need.name.lower() for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
        if name.lower() != "deepeval":
            assert not excluded & set(needs), name
