"""The figures of ``tests.structure`` say what they claim."""

from __future__ import annotations

from pathlib import Path

from tests.structure import arrows_up, folders, imports, in_circles, modules, places


def project(root: Path, **files: str) -> Path:
    for name, text in files.items():
        file = root / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_an_import_from_a_lower_room_is_an_arrow_up(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        benchmarks__services__runs="from benchmarks.models import runs",
        benchmarks__models__runs="def late():\n    from benchmarks.services import runs",
        tasks_app__loader="import frontend.urls",
        frontend__urls="",
    )
    assert set(arrows_up(imports(modules(root)))) == {
        ("benchmarks.models.runs", "benchmarks.services.runs"),
        ("tasks_app.loader", "frontend.urls"),
    }


def test_files_that_import_each_other_by_way_of_a_third_are_a_circle(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        benchmarks__one="from benchmarks import two",
        benchmarks__two="import benchmarks.three",
        benchmarks__three="from benchmarks.one import name",
        benchmarks__outside="from benchmarks import one",
    )
    assert in_circles(imports(modules(root))) == {"benchmarks.one", "benchmarks.two", "benchmarks.three"}


def test_folders_whose_files_import_each_other_are_a_knot(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        benchmarks__engine__one="from benchmarks.models.two import x",
        benchmarks__models__other="from benchmarks.engine.third import y",
        benchmarks__models__two="",
        benchmarks__engine__third="",
    )
    graph = imports(modules(root))
    assert in_circles(graph) == set()
    assert in_circles(folders(graph)) == {"benchmarks.engine", "benchmarks.models"}


def test_tests_and_migrations_are_left_out(tmp_path: Path) -> None:
    root = project(tmp_path, benchmarks__tests__test_a="", benchmarks__migrations__0001="", benchmarks__a="")
    assert set(modules(root)) == {"benchmarks.a"}


def test_places_are_read_from_a_page() -> None:
    assert places("Text.\n\nPlaces: `a/b.py`, `c.py`.\n") == ["a/b.py", "c.py"]
    assert places("A page without them.") == []
