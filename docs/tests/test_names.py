"""What the documents name is there: targets of make, commands, files and folders."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

import pytest
from django.core.management import get_commands
from pages import DOCS, ROOT, blocks, page

PAGES = sorted(str(path.relative_to(ROOT)) for folder in (ROOT, DOCS, DOCS / "how-to") for path in folder.glob("*.md"))


def code_of(text: str) -> str:
    """Everything that is set as code."""
    return "\n".join([*re.findall(r"`([^`\n]+)`", text), *(block.text for block in blocks(text))])


@pytest.mark.parametrize("name", PAGES)
def test_targets_and_commands_that_a_page_names_are_there(name: str) -> None:
    code = code_of(page(name))
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z][a-z-]*)", code)) <= targets
    made_on_the_way = {"versions"} if name.endswith("own-page.md") else set()
    assert set(re.findall(r"manage\.py ([a-z_]+)", code)) <= set(get_commands()) | made_on_the_way


@pytest.mark.parametrize("name", PAGES)
def test_files_that_a_page_names_are_there(name: str) -> None:
    text = re.sub(r"```.*?```", "", page(name), flags=re.DOTALL)
    parts = "benchmarks|tests|codeforge|frontend|tasks_app|datasets|docs|requirements|\\.ci"
    named = re.findall(rf"`((?:{parts})[\w./-]*(?:/|\.(?:py|md|yaml|json|in|txt|html)))`", text)
    made_on_the_way = {"datasets/harbour-desk.yaml", "datasets/sule.yaml"} | {
        path for path in named if re.search("acme_bench|brevity|letters|opening|plain_text|/versions.py", path)
    }
    assert [path for path in named if path not in made_on_the_way and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_imports_is_there(name: str) -> None:
    code = "\n".join(block.text for block in blocks(page(name), "python"))
    for module, names in re.findall(r"^from ([\w.]+) import (\([^)]+\)|[\w, ]+)$", code, re.MULTILINE):
        if (ROOT / module.split(".")[0]).is_dir() and find_spec(module):
            for given in re.findall(r"(\w+)(?: as \w+)?", names):
                there = hasattr(importlib.import_module(module), given) or find_spec(f"{module}.{given}")
                assert there, f"{module} has no {given}"


def test_the_map_of_the_readme_is_that_of_the_project() -> None:
    tree = next(block.text for block in blocks(page("README.md")) if "manage.py" in block.text)
    folder = ""
    for line in tree.splitlines():
        names = re.match(r"(\s*)((?:[\w.-]+/? )+) ", line)
        assert names, line
        if not names[1]:
            folder = ""
        for entry in names[2].split():
            assert (ROOT / folder / entry).exists(), entry
        if not names[1]:
            folder = names[2].split()[0] if names[2].strip().endswith("/") else ""
