from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.files import dataset_paths, name_problem, read_dataset_file
from benchmarks.dataset_format.tests.examples import VALID


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "datasets"
    directory.mkdir()
    return directory


def message(path: Path, root: Path) -> str:
    parsed = read_dataset_file(path, root)
    (problem,) = parsed.problems
    assert (problem.file, problem.line) == (path.name, 1)
    return problem.message


def test_a_file_is_read_and_named_relative_to_its_directory(root: Path) -> None:
    (root / "demo.yaml").write_text(VALID.replace("name: Demo", "name: 1"))
    assert str(read_dataset_file(root / "demo.yaml", root).problems[0]).startswith("demo.yaml:1: name: must be text")


def test_a_file_with_an_extension_in_capitals_is_found(root: Path) -> None:
    names = ["UPPER.YAML", "mixed.Yml", "plain.yaml"]
    for name in (*names, "notes.txt"):
        (root / name).write_text(VALID)
    assert [path.name for path in dataset_paths(root)] == names
    assert name_problem(root / "UPPER.YAML", root) is None


def test_a_link_inside_the_directory_is_followed(root: Path) -> None:
    (root / "demo.yaml").write_text(VALID)
    (root / "link.yaml").symlink_to("demo.yaml")
    assert read_dataset_file(root / "link.yaml", root).spec is not None


def test_a_directory_that_is_itself_a_link_is_read(root: Path, tmp_path: Path) -> None:
    (root / "demo.yaml").write_text(VALID)
    (tmp_path / "alias").symlink_to(root)
    assert read_dataset_file(tmp_path / "alias" / "demo.yaml", tmp_path / "alias").spec is not None


def test_a_link_out_of_the_directory_is_refused(root: Path) -> None:
    (root.parent / "outside.yaml").write_text(VALID)
    (root / "up").symlink_to("..")
    for target in ("../outside.yaml", "/etc/passwd", "up/outside.yaml"):
        link = root / "link.yaml"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert "points outside the datasets directory" in message(link, root), target


def test_a_link_to_itself_is_refused(root: Path) -> None:
    (root / "loop.yaml").symlink_to("loop.yaml")
    assert message(root / "loop.yaml", root)


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe.yaml")
    assert "not a regular file" in message(root / "pipe.yaml", root)


def test_a_directory_with_the_name_of_a_dataset_is_refused(root: Path) -> None:
    (root / "folder.yaml").mkdir()
    assert "not a regular file" in message(root / "folder.yaml", root)


def test_a_file_too_large_is_refused_before_it_is_read(root: Path) -> None:
    with (root / "large.yaml").open("wb") as stream:
        stream.truncate(1_000 * limits.MAX_BYTES)  # sparse: reading it would take ten gigabytes
    assert "10,000,000,000 bytes" in message(root / "large.yaml", root)


def test_a_missing_file_and_a_dangling_link_are_reported(root: Path) -> None:
    (root / "dangling.yaml").symlink_to("gone.yaml")
    assert "cannot be read" in message(root / "dangling.yaml", root)
    assert "No such file" in message(root / "gone.yaml", root)


def test_an_unreadable_file_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    (root / "secret.yaml").write_text(VALID)
    monkeypatch.setattr(os, "open", refuse)  # the superuser, who may run this test, reads every real file
    assert "Permission denied" in message(root / "secret.yaml", root)


def test_the_files_of_a_directory_are_listed_by_name_without_hidden_and_other_ones(root: Path) -> None:
    for name in ("b.yml", "a.yaml", ".hidden.yaml", "README.md", "dataset.schema.json", "a.yaml~"):
        (root / name).touch()
    assert [path.name for path in dataset_paths(root)] == ["a.yaml", "b.yml"]
    assert [path.stem for path in dataset_paths(root)] == ["a", "b"]


def test_a_file_name_that_is_not_an_identifier_is_reported(root: Path) -> None:
    for name in ("basic coding.yaml", "ünicode.yaml", "a.b.yaml", "_a.yaml", "x" * 101 + ".yaml", "\udcff.yaml"):
        problem = name_problem(root / name, root)
        assert problem is not None, ascii(name)
        assert "letters, digits" in problem.message
        assert str(problem).isprintable(), ascii(name)


def test_two_files_of_one_slug_are_reported(root: Path) -> None:
    problem = name_problem(root / "a.yml", root, rival=root / "a.yaml")
    assert problem is not None
    assert str(problem) == "a.yml:1: a.yaml already defines the dataset a: rename or remove one of the files"
    assert name_problem(root / "a.yml", root) is None
