"""The structure of the project in figures: ``python -m tests.structure [--before REVISION]``.

Places are the files that an extension touches, as its how-to lists them and the how-to's test finds them. Arrows up are
imports from a lower room to a higher one. Circles are files, knots folders, that import each other, also by way of
others. Tests, migrations and generated tables are left out. Figures to look at: none of them is a limit.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOP = ("codeforge", "frontend", "benchmarks", "tasks_app")
"""Each imports only what stands after it."""
ROOMS = (
    {"api", "admin", "management", "worker"},
    {"forms"},
    {"services", "queries"},
    {"jobs"},
    {"engine"},
    {"analysis"},
    {"models"},
    {"imports", "exports", "presentation"},
    {"dataset_format", "summary"},
    {"metrics"},
    {"statistics", "providers", "generators", "sandbox", "codec"},
)
"""Those of ``benchmarks``, from above; a room imports from its own line and below. Other files of it are left out."""
EXTENSIONS = {
    "metric": "own-metric",
    "provider": "own-provider",
    "option of providers": "own-provider",
    "parameter of the question": "own-parameter",
    "importer": "own-importer",
    "key of a task": "own-task-field",
    "page with a table": "own-page",
}
"""What can be added → its how-to. A page that has several names their places in this order."""
_LEFT_OUT = re.compile(r"(^|/)(tests|migrations)/|(^|/)(conftest|test_\w+)\.py$")
_UNTYPED = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
_PLACES = re.compile(r"^Places: (.+)\.$", re.MULTILINE)
_GENERATED = re.compile(r"<!-- ([\w.-]+):begin -->.*?<!-- \1:end -->", re.DOTALL)

Graph = Mapping[str, Set[str]]


def places(how_to: str, nth: int = 0) -> list[str]:
    """The files that the page says its ``nth`` extension touches; none if it does not say."""
    found = _PLACES.findall(how_to)[nth : nth + 1]
    return [name for listed in found for name in re.findall(r"`([\w/.]+)`", listed)]


def modules(root: Path) -> dict[str, Path]:
    """Name → file of every module of the application."""
    files = (path for top in TOP for path in sorted((root / top).rglob("*.py")))
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
        if not _LEFT_OUT.search(str(path.relative_to(root)))
    }


def imports(of: Mapping[str, Path]) -> Graph:
    """Module → modules that it imports, also inside functions."""
    return {name: {each for each in _imported(path, of) if each != name} for name, path in of.items()}


def _imported(path: Path, of: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in of)
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in of else node.module for name in named if name in of or node.module in of)


def arrows_up(graph: Graph) -> list[tuple[str, str]]:
    return [(low, high) for low, names in graph.items() for high in names if _is_up(low, high)]


def _is_up(low: str, high: str) -> bool:
    first, second = low.split("."), high.split(".")
    if first[0] != second[0]:
        return TOP.index(first[0]) > TOP.index(second[0])
    if first[0] != "benchmarks" or len(first) < 2 or len(second) < 2:
        return False
    below, above = _rank(first[1]), _rank(second[1])
    return below is not None and above is not None and below > above


def _rank(room: str) -> int | None:
    """The line of a room of ``benchmarks``, from above."""
    return next((rank for rank, line in enumerate(ROOMS) if room in line), None)


def in_circles(graph: Graph) -> set[str]:
    """The nodes of circles, and those between two: what is left when ends and beginnings are taken away repeatedly."""
    left = {node: set(to) for node, to in graph.items()}
    while True:
        reached = set().union(*left.values())
        ends = {node for node, to in left.items() if not to or node not in reached}
        if not ends:
            return set(left)
        left = {node: to - ends for node, to in left.items() if node not in ends}


def folders(graph: Graph) -> Graph:
    """The imports between folders: of two modules, the first folders in which their names differ."""
    found: dict[str, set[str]] = {}
    for low, names in graph.items():
        for high in names:
            first, second = low.split("."), high.split(".")
            same = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
            if same is not None and same + 1 < len(first) and same + 1 < len(second):
                source, target = ".".join(first[: same + 1]), ".".join(second[: same + 1])
                found.setdefault(source, set()).add(target)
                found.setdefault(target, set())
    return found


def words(root: Path) -> int:
    """Words of the documents, without tables that commands write."""
    pages = (path for path in root.rglob("*.md") if not {".venv", "site", "node_modules"} & set(path.parts))
    return sum(len(_GENERATED.sub("", path.read_text(encoding="utf-8")).split()) for path in pages)


def figures(root: Path) -> dict[str, str]:
    """Name → figure of the project in this folder."""
    of = modules(root)
    graph = imports(of)
    texts = {name: path.read_text(encoding="utf-8") for name, path in of.items()}
    own = {name: text for name, text in texts.items() if name.startswith("benchmarks")}
    nth = Counter[str]()
    rows = {}
    for what, page in EXTENSIONS.items():
        rows[f"places: {what}"] = _places_on(root / f"docs/how-to/{page}.md", nth[page])
        nth[page] += 1
    return rows | {
        "arrows up": str(len(arrows_up(graph))),
        "files in circles": str(len(in_circles(graph))),
        "folders in knots": str(len(in_circles(folders(graph)))),
        "dict[str, Any], Mapping[str, Any] in benchmarks": str(sum(len(_UNTYPED.findall(t)) for t in own.values())),
        "files in benchmarks": str(len(own)),
        "lines in benchmarks": str(sum(text.count("\n") for text in own.values())),
        "files under 60 lines in benchmarks": str(sum(text.count("\n") < 60 for text in own.values())),
        "tables typed in templates": str(sum(page.read_text().count("<table") for page in _templates(root))),
        "words of documents": str(words(root)),
    }


def _templates(root: Path) -> Iterator[Path]:
    return root.glob("*/templates/**/*.html")


def _places_on(page: Path, nth: int) -> str:
    listed = places(page.read_text(encoding="utf-8"), nth) if page.exists() else []
    return str(len(listed)) if listed else "–"


def _before(revision: str) -> dict[str, str]:
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return figures(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the structure of the project in figures.")
    parser.add_argument("--before", metavar="REVISION", help="a revision whose figures stand beside")
    before = parser.parse_args().before
    now, then = figures(ROOT), _before(before) if before else {}
    for name, figure in now.items():
        sys.stdout.write(f"{name:<50}{then.get(name, ''):>9}{figure:>9}\n")


if __name__ == "__main__":
    main()
