"""``docs/dependencies.md`` has every file of requirements; the code imports what they name, and nothing else."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions

from pages import ROOT, headings, page

PAGE = page("docs/dependencies.md")
FILES = sorted(path.name for path in ROOT.glob("requirements*.in"))
PACKAGES = ("codeforge", "frontend", "benchmarks", "tasks_app")
PART_OF = {"kombu": "celery", "multidict": "aiohttp", "yarl": "aiohttp", "referencing": "jsonschema"}
"""Packages that the API of a requirement takes or returns, so that it always brings them."""
PART_OF |= {"pydantic-core": "pydantic", "pyjwt": "mozilla-django-oidc", "requests": "mozilla-django-oidc"}
NAMED = {"django-htmx", "gunicorn", "psycopg", "whitenoise"}
"""Used without an import: in the settings, as a command, by Django."""


def required(file: str) -> list[str]:
    lines = [line.split("#")[0].strip() for line in page(file).splitlines()]
    return [re.split(r"[\[<>=!~;]", line)[0].strip() for line in lines if line and not line.startswith("-")]


def test_every_requirements_file_has_its_section() -> None:
    assert sorted(re.findall(r"^## (\S+\.in):", "\n".join(headings(PAGE)), re.MULTILINE)) == FILES


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> set[str]:
    """The distributions of all modules that the code imports, as far as they are installed."""
    modules = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "tests" not in path.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.split(".")[0])
    distributions = packages_distributions()
    foreign = modules - set(PACKAGES) - set(sys.stdlib_module_names)
    return {normal(name) for module in foreign for name in distributions.get(module, ())}


def test_what_the_code_imports_is_a_direct_requirement() -> None:
    direct = {normal(name) for file in FILES if file != "requirements-dev.in" for name in required(file)}
    brought = {name for name, by in PART_OF.items() if normal(by) in direct}
    opentelemetry = {name for name in imported() if name.startswith("opentelemetry-")}  # packages share the module
    assert not imported() - direct - brought - opentelemetry


def test_every_requirement_of_the_application_is_used() -> None:
    assert {normal(name) for name in required("requirements.in")} <= imported() | NAMED
