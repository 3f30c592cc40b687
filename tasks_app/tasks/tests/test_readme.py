"""Follows the task classes' README to the letter, in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TASKS = Path(__file__).parents[1]

GENERATE = """
import json
from tasks_app.loader import build_canvas, build_prompt, supports
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
found = {"questions": [], "not_applicable": [], "prompt": "", "verdicts": [], "image": supports("new", "image")}
for index in range(40):
    document = build_canvas(8, 11, index, 40)
    if document.questions["new"]:
        found["questions"].append(document.questions["new"])
        prompt = build_prompt(document, "new", "coordinates", few_shot=True)
        found["prompt"] = prompt.text
        found["verdicts"].append(REGISTERED_TASKS["new"].verdict(prompt.expected, f"Answer: {prompt.expected}").value)
    else:
        found["not_applicable"].append(document.not_applicable["new"])
print(json.dumps(found))
"""


def follow_readme(folder: Path) -> None:
    """Copy the package and do what the README's first section says."""
    shutil.copytree(TASKS.parent, folder / "tasks_app", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    code, import_line, registry_line = re.findall(r"```python\n(.*?)```", (TASKS / "README.md").read_text(), re.DOTALL)[
        :3
    ]
    copy = folder / "tasks_app" / "tasks"
    (copy / "new_task.py").write_text(code)
    registry = (copy / "registered_tasks.py").read_text()
    registry = registry.replace("from tasks_app.tasks.shuffle", f"{import_line}from tasks_app.tasks.shuffle")
    (copy / "registered_tasks.py").write_text(re.sub(r"\}\n\Z", f"{registry_line}}}\n", registry))


def test_a_class_added_as_the_readme_says_asks_and_is_scored(tmp_path: Path) -> None:
    follow_readme(tmp_path)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", GENERATE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert all(len({text for text, _ in questions}) == 3 for questions in found["questions"])
    assert len(found["questions"]) > 20
    assert set(found["not_applicable"]) == {"needs a highest circle, a highest square and a highest triangle"}
    assert found["prompt"].count("Which color has the highest ") == 3
    assert set(found["verdicts"]) == {1.0}
    assert found["image"]
