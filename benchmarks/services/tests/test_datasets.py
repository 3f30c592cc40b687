"""A directory of YAML files and the datasets it becomes."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from benchmarks.dataset_format.tests.examples import FULL, VALID
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Run
from benchmarks.services.datasets import files as service
from benchmarks.services.datasets.files import Change, sync_datasets
from benchmarks.services.datasets.versions import import_dataset, save_edited_version, spec_of
from benchmarks.services.errors import NotPossible
from benchmarks.services.tests.dataset_folder import BROKEN, FIRST, SECOND, changes, current, spec, stored_file

pytestmark = pytest.mark.django_db


def test_a_new_file_becomes_a_dataset_named_by_the_file(folder: Path, write: Any) -> None:
    write("demo.yaml", FULL)
    assert changes(folder) == {"demo.yaml": "new"}
    dataset = Dataset.objects.get(slug="demo")
    version = dataset.current_version
    assert version is not None
    assert (dataset.kind, dataset.name, dataset.file.state) == ("yaml", "Everything", "good")
    assert (version.number, version.origin, version.task_count) == (1, "file", 2)
    assert version.facets["difficulty"] == {"medium": 1, "hard": 1}
    hints = (
        "expected_output",
        "expected_tools",
        "context",
        "tests",
        "schema",
        "choices",
        "pattern",
        "constraints",
        "tolerance",
        "tools",
        "tool_results",
    )
    assert version.facets["fields"] == dict.fromkeys(hints, 1) | {"expected_output": 2}


def test_a_stored_version_gives_back_the_content_of_its_file(folder: Path, write: Any) -> None:
    write("demo.yaml", FULL)
    sync_datasets(folder)
    assert spec_of(Dataset.objects.get(slug="demo").current_version) == spec(FULL)


def test_a_version_counts_the_labels_that_tell_its_tasks_apart(folder: Path, write: Any) -> None:
    rows = [("math", 1, "x"), ("math", 2, "x"), ("code", 2, "x")]
    text = "name: D\ndescription: D\ntasks:\n" + "".join(
        f"  - {{id: t{n}, name: T, input: Q, expected_output: '', tags: [all, {tag}], "
        f"metadata: {{hops: {hops}, source: {source}, n: {n}, easy: true}}}}\n"
        for n, (tag, hops, source) in enumerate(rows)
    )
    write("demo.yaml", text)
    sync_datasets(folder)
    version = Dataset.objects.get(slug="demo").current_version
    assert version is not None
    assert version.facets["labels"] == {
        "tags": {"math": 2, "code": 1},
        "hops": {"1": 1, "2": 2},
        "n": {"0": 1, "1": 1, "2": 1},
    }
    assert version.tasks.get(task_id="t0").labels == [
        *("tags: all", "tags: math", "hops: 1", "source: x", "n: 0", "easy: true")
    ]
    assert spec_of(version) == spec(text)


def test_a_large_file_is_parsed_by_another_process(folder: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "parse_dataset", lambda *_: pytest.fail("it was parsed in this process"))
    padding = "# padding\n" * (service._LARGE_BYTES // 10)
    write("demo.yaml", FULL + padding)
    write("other.yaml", BROKEN + padding)
    assert changes(folder) == {"demo.yaml": "new", "other.yaml": "broken"}
    assert spec_of(Dataset.objects.get(slug="demo").current_version) == spec(FULL)
    (problem,) = stored_file("other.yaml").problems
    assert (problem["line"], problem["text"].strip()) == (4, "- id: 001")


def test_a_large_file_that_was_read_when_its_worker_ended_is_read_next_time(
    folder: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("large.yaml", FULL + "# padding\n" * (service._LARGE_BYTES // 10))
    with monkeypatch.context() as patched:
        patched.setattr(service, "_PARSE", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
        assert changes(folder) == {}
    assert changes(folder) == {"large.yaml": "new"}


def test_a_quick_synchronization_leaves_a_large_file_to_the_next_one(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    write("large.yaml", FULL + "# padding\n" * (service._LARGE_BYTES // 10))
    report = sync_datasets(folder, quick=True)
    assert str(report) == "Datasets: 1 new, 1 large to follow in the background."
    assert changes(folder) == {"demo.yaml": "unchanged", "large.yaml": "new"}


def test_an_unchanged_file_does_nothing(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    before = (list(DatasetVersion.objects.values()), list(Dataset.objects.values()), list(DatasetFile.objects.values()))
    assert changes(folder) == {"demo.yaml": "unchanged"}
    after = (list(DatasetVersion.objects.values()), list(Dataset.objects.values()), list(DatasetFile.objects.values()))
    assert after == before


def test_without_changes_one_query_is_enough_and_no_file_is_read(
    folder: Path, write: Any, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        write(f"demo-{number}.yaml", FIRST)
    sync_datasets(folder)
    monkeypatch.setattr(service, "read_content", lambda *_: pytest.fail("a file was read"))
    with django_assert_num_queries(1):
        assert set(changes(folder).values()) == {"unchanged"}


def test_a_touched_file_of_the_same_content_makes_no_version(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    write("demo.yaml", FIRST)
    assert changes(folder) == {"demo.yaml": "unchanged"}
    assert DatasetVersion.objects.count() == 1


def test_a_change_of_layout_alone_makes_no_version(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    write("demo.yaml", "# a comment\n" + FIRST)
    assert changes(folder) == {"demo.yaml": "changed"}
    assert current() == (1, "First")
    assert DatasetVersion.objects.count() == 1


def test_a_changed_file_becomes_a_new_version_and_the_old_one_stays(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    write("demo.yaml", SECOND)
    assert changes(folder) == {"demo.yaml": "changed"}
    assert current() == (2, "Second")
    versions = Dataset.objects.get(slug="demo").versions.order_by("number")
    assert [spec_of(version) for version in versions] == [spec(FIRST), spec(SECOND)]


def test_a_file_that_goes_back_to_earlier_content_makes_that_version_current_again(folder: Path, write: Any) -> None:
    for text in (FIRST, SECOND, FIRST):
        write("demo.yaml", text)
        sync_datasets(folder)
    assert current() == (1, "First")
    assert DatasetVersion.objects.count() == 2


def test_rereading_finds_a_change_that_keeps_size_and_time(folder: Path, write: Any) -> None:
    path = write("demo.yaml", FIRST)
    sync_datasets(folder)
    status = path.stat()
    path.write_text(FIRST.replace("1 + 1", "1 + 2"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changes(folder) == {"demo.yaml": "unchanged"}
    assert changes(folder, reread=True) == {"demo.yaml": "changed"}


def test_a_file_changed_a_moment_ago_is_read_again_though_size_and_time_agree(folder: Path) -> None:
    path = folder / "demo.yaml"
    path.write_text(FIRST)
    status = path.stat()
    sync_datasets(folder)
    path.write_text(FIRST.replace("1 + 1", "1 + 2"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changes(folder) == {"demo.yaml": "changed"}


def test_a_bad_file_does_not_hide_the_good_ones(folder: Path, write: Any) -> None:
    write("a.yaml", BROKEN)
    write("b.yaml", FIRST)
    os.mkfifo(folder / "c.yaml")
    assert changes(folder) == {"a.yaml": "broken", "b.yaml": "new", "c.yaml": "broken"}
    assert list(Dataset.objects.values_list("slug", flat=True)) == ["b"]


def test_a_file_with_errors_keeps_them_with_line_and_text(folder: Path, write: Any) -> None:
    write("demo.yaml", BROKEN)
    report = sync_datasets(folder)
    (problem,) = stored_file().problems
    assert (problem["line"], problem["path"], problem["text"]) == (4, "tasks[0].id", "  - id: 001")
    assert 'quote it ("001")' in problem["message"]
    assert str(report).splitlines() == ["Datasets: 1 with errors.", f"demo.yaml:4: tasks[0].id: {problem['message']}"]


def test_while_a_file_has_errors_the_last_valid_version_stays_in_use(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    write("demo.yaml", BROKEN)
    assert changes(folder) == {"demo.yaml": "broken"}
    assert current() == (1, "First")
    assert stored_file().state == "broken"


def test_a_fixed_file_is_valid_again(folder: Path, write: Any) -> None:
    for fixed, change, number in ((FIRST, "unchanged", 1), (SECOND, "changed", 2)):
        for text in (FIRST, BROKEN):
            write("demo.yaml", text)
            sync_datasets(folder)
        write("demo.yaml", fixed)
        assert changes(folder) == {"demo.yaml": change}
        assert current()[0] == number
        assert (stored_file().state, stored_file().problems) == ("good", [])


def test_a_file_with_the_same_errors_is_not_written_again(folder: Path, write: Any) -> None:
    write("demo.yaml", BROKEN)
    sync_datasets(folder)
    before = stored_file().checked_at
    sync_datasets(folder)
    assert stored_file().checked_at == before


def test_a_file_with_errors_is_not_parsed_again_before_it_changes(
    folder: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("demo.yaml", BROKEN)
    first = sync_datasets(folder)
    with monkeypatch.context() as patch:
        patch.setattr(service, "parse_dataset", lambda *args: pytest.fail("parsed again"))
        assert sync_datasets(folder).problems == first.problems != ()
    assert changes(folder, reread=True) == {"demo.yaml": "broken"}
    path.write_text(FIRST)
    assert changes(folder) == {"demo.yaml": "new"}


def test_a_missing_file_is_marked_and_its_dataset_and_runs_stay(folder: Path, write: Any) -> None:
    path = write("demo.yaml", FIRST)
    sync_datasets(folder)
    dataset = Dataset.objects.get(slug="demo")
    run = Run.objects.create(dataset=dataset, dataset_version=dataset.current_version, model="a/b", metrics=[])
    path.unlink()
    assert changes(folder) == {"demo.yaml": "vanished"}
    assert changes(folder) == {}
    assert stored_file().state == "vanished"
    assert current() == (1, "First")
    assert Run.objects.get(pk=run.pk).dataset_version.tasks.count() == 1


def test_a_missing_file_that_returns_is_imported_again(folder: Path, write: Any) -> None:
    for text, number in ((FIRST, 1), (SECOND, 2)):
        path = write("demo.yaml", FIRST)
        sync_datasets(folder)
        path.unlink()
        sync_datasets(folder)
        write("demo.yaml", text)
        sync_datasets(folder)
        assert current()[0] == number
        assert stored_file().state == "good"


def test_a_missing_file_that_was_never_valid_is_forgotten(folder: Path, write: Any) -> None:
    path = write("demo.yaml", BROKEN)
    sync_datasets(folder)
    path.unlink()
    assert changes(folder) == {"demo.yaml": "vanished"}
    assert not DatasetFile.objects.exists()


def test_a_deleted_dataset_returns_while_its_file_exists(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    Dataset.objects.filter(slug="demo").update(current_version=None)
    Dataset.objects.get(slug="demo").delete()
    assert changes(folder) == {"demo.yaml": "new"}
    assert current() == (1, "First")


def test_two_files_of_one_name_do_not_take_the_dataset_from_each_other(folder: Path, write: Any) -> None:
    write("demo.yml", FIRST)
    sync_datasets(folder)
    write("demo.yaml", SECOND)
    for _ in range(2):
        assert changes(folder) == {"demo.yaml": "broken", "demo.yml": "unchanged"}
    assert current() == (1, "First")
    (folder / "demo.yml").unlink()
    assert changes(folder) == {"demo.yaml": "changed", "demo.yml": "vanished"}
    assert current() == (2, "Second")
    assert Dataset.objects.get(slug="demo").file.path == "demo.yaml"


def test_of_two_new_files_of_one_name_the_first_by_name_is_taken(folder: Path, write: Any) -> None:
    write("demo.yml", SECOND)
    write("demo.yaml", FIRST)
    assert changes(folder) == {"demo.yaml": "new", "demo.yml": "broken"}
    assert current() == (1, "First")


def test_a_file_whose_name_is_not_an_identifier_is_reported_and_harms_nothing(folder: Path, write: Any) -> None:
    for name in ("my data.yaml", "é.yaml", os.fsdecode(b"\xff.yaml")):
        write(name, FIRST)
    for report in sync_datasets(folder).files:
        assert report.change == Change.BROKEN, report
        assert report.file.isprintable()
        assert DatasetFile.objects.get(path=report.file).problems[0]["line"] == 1
    assert not Dataset.objects.exists()


def test_a_file_cannot_take_the_name_of_a_canvas_dataset(folder: Path, write: Any) -> None:
    Dataset.objects.create(slug="demo", name="Canvases", kind=Dataset.Kind.CANVAS)
    write("demo.yaml", FIRST)
    (report,) = sync_datasets(folder).files
    assert report.change == Change.BROKEN
    assert "is a canvas dataset" in report.problems[0].message
    assert Dataset.objects.get(slug="demo").name == "Canvases"


def test_a_missing_directory_says_what_to_set(folder: Path) -> None:
    with pytest.raises(NotPossible, match=r"benchmark\.datasets_dir"):
        sync_datasets(folder / "nowhere")


def test_a_missing_directory_marks_no_file_as_missing(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    (folder / "demo.yaml").unlink()
    folder.rmdir()
    with pytest.raises(NotPossible):
        sync_datasets(folder)
    assert stored_file().state == "good"


def test_an_upload_over_a_canvas_dataset_is_refused() -> None:
    dataset = Dataset.objects.create(slug="demo", name="Canvases", kind=Dataset.Kind.CANVAS)
    with pytest.raises(NotPossible, match="canvas dataset"):
        import_dataset(spec(FIRST), "demo", DatasetVersion.Origin.UPLOAD)
    with pytest.raises(NotPossible, match="canvas dataset"):
        save_edited_version(dataset, spec(FIRST), None)
    assert not DatasetVersion.objects.exists()


def test_text_that_databases_often_refuse_is_stored_as_it_is() -> None:
    nasty = "\u2028 \x01 \U0010ffff ' \" \\ \x85 \r\n %s \ufeff"
    text = spec(VALID.replace('"2"', '"x"'))
    from_values = text.__class__(
        name=text.name,
        description=nasty,
        tasks=tuple(type(task)(id="t", name="n", input=nasty, expected_output=nasty) for task in text.tasks),
    )
    version = import_dataset(from_values, "nasty", DatasetVersion.Origin.UPLOAD)
    assert spec_of(DatasetVersion.objects.get(pk=version.pk)) == from_values


@pytest.mark.django_db(transaction=True)
def test_processes_that_synchronize_at_once_store_each_content_once(folder: Path, write: Any) -> None:
    for number in range(4):
        write(f"demo-{number}.yaml", FIRST)
    write("broken.yaml", BROKEN)
    errors: list[BaseException] = []

    def synchronize(start: Barrier) -> None:
        try:
            start.wait(timeout=10)
            sync_datasets(folder)
        except BaseException as error:  # for the assertion below
            errors.append(error)
        finally:
            connection.close()

    for text in (FIRST, SECOND):
        for number in range(4):
            write(f"demo-{number}.yaml", text)
        start = Barrier(4)
        workers = [Thread(target=synchronize, args=(start,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert errors == []
    assert sorted(DatasetVersion.objects.values_list("dataset__slug", "number", "name")) == [
        (f"demo-{number}", version, name) for number in range(4) for version, name in ((1, "First"), (2, "Second"))
    ]
    assert {current(f"demo-{number}") for number in range(4)} == {(2, "Second")}
    assert sorted(DatasetFile.objects.values_list("state", flat=True)) == ["broken", *["good"] * 4]


def test_the_time_of_the_check_is_kept(folder: Path, write: Any) -> None:
    before = timezone.now()
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    assert before <= stored_file().checked_at <= timezone.now()
