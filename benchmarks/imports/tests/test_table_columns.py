"""Every column of a table becomes something, or is named as not used."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.fields import CLUSTER_NAME
from benchmarks.exports import parquet_file
from benchmarks.imports.pictures import Pictures
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import columns_of, read_columns
from benchmarks.imports.table_tasks import TableReport, TableRequest, dataset_of_rows
from benchmarks.imports.tables import Row, read_rows
from benchmarks.imports.tool_rows import of_tools

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def read(rows: list[dict[str, Any]], pictures: Pictures | None = None, **columns: str) -> TableReport:
    numbered = (Row(number, row) for number, row in enumerate(rows, 1))
    request = TableRequest("T", "D", columns=columns, pictures=pictures or Pictures())
    return dataset_of_rows(of_tools(numbered), "t.jsonl", request)


def fields(report: TableReport) -> dict[str, str]:
    return {column.name: column.field for column in report.columns.all}


def task(report: TableReport, place: int = 0) -> Any:
    assert report.spec is not None, report.problems
    return report.spec.tasks[place]


def test_columns_that_neither_ask_nor_answer_become_labels() -> None:
    row = {"id": "a", "question": "?", "answer": "1", "subject": "law", "year": 2020, "level": "hard", "split": "test"}
    made = task(read([{**row, "tags": ["x", "y"]}]))
    assert (made.metadata, made.tags) == ({"subject": "law", "year": 2020}, ("x", "y"))
    assert (made.difficulty, made.split) == ("hard", "test")


def test_rows_with_one_passage_are_a_cluster_whatever_its_id() -> None:
    rows = [{"question": "?", "answer": "1", "passage_id": of} for of in ("p-7", "12", "Harbours, 3rd edition", "")]
    report = read(rows)
    names = [task(report, place).cluster for place in range(4)]
    assert names[0] == "p-7"
    assert names[3] == ""
    assert len(set(names)) == 4
    assert all(re.fullmatch(CLUSTER_NAME, name) for name in names[:3]), "digits alone would be the number of a task"


def test_a_level_that_is_no_difficulty_is_metadata() -> None:
    assert task(read([{"question": "?", "level": "Level 5"}])).metadata == {"level": "Level 5"}


def test_a_column_that_no_field_holds_is_named_with_the_reason() -> None:
    rows = [{"question": "?", "why": "x" * 200, "steps": [{"n": 1}], "empty": None}, {"question": "!", "why": "short"}]
    report = read(rows)
    assert str(report.columns) == (
        "input: question; id: the line number; not used: why (texts of more than 100 characters in 1 of 2 rows), "
        "steps (lists or objects), empty (empty)"
    )


def test_a_column_without_a_name_such_as_an_index_of_pandas_is_not_used() -> None:
    report = read([{"": 0, "question": "?", "subject": "law"}])
    assert task(report).metadata == {"subject": "law"}
    assert report.columns.all[0].becomes == "Not used: it has no name"


def test_a_column_that_begins_late_is_not_lost() -> None:
    rows = [{"question": str(n)} for n in range(150)] + [{"question": "last", "topic": "sea"}]
    assert task(read(rows), 150).metadata == {"topic": "sea"}


def test_a_key_that_metadata_cannot_have_gets_another() -> None:
    made = task(read([{"question": "?", "n shapes": 1, "n_shapes": 2, "1st": 3, "group": "g"}]))
    assert made.metadata == {"column_n_shapes": 1, "column_n_shapes_2": 2, "column_1st": 3, "column_group": "g"}


def test_the_twenty_first_property_is_named_as_not_used() -> None:
    report = read([{"question": "?", **{f"p{n}": n for n in range(21)}}])
    assert len(task(report).metadata) == 20
    assert report.columns.all[-1].becomes == "Not used: a task has at most 20 properties"


def test_the_field_of_a_column_can_be_chosen() -> None:
    row = {"question": "?", "hint": "Think.", "level": "easy", "source": "a book"}
    made = task(read([row], hint="input", level="tag", source="unused"))
    assert (made.input, made.tags, made.metadata, made.difficulty) == ("Think.", ("easy",), {"question": "?"}, "medium")
    both = task(read([row], question="input", hint="input"))
    assert both.input == "?\n\nThink."


def test_a_chosen_label_that_cannot_be_one_is_an_error_of_its_row() -> None:
    (problem,) = read([{"question": "?", "why": "x" * 200}], why="metadata").problems
    assert str(problem) == (
        't.jsonl:1: column "why": metadata cannot be texts of more than 100 characters. Leave the column out'
    )


def test_a_choice_that_is_not_valid_says_what_is() -> None:
    assert read_columns(["a=b=input", "c=Not used", "d=expected_output"]) == {
        "a=b": "input",
        "c": "unused",
        "d": "expected",
    }
    for text, told in (("a", "use NAME=FIELD"), ("a=", "use NAME=FIELD"), ("a=metdata", "did you mean metadata?")):
        with pytest.raises(ImportProblem, match=told.replace("?", r"\?")):
            read_columns([text])
    with pytest.raises(ImportProblem, match=r'columns "a" and "b" are both for expected: choose one'):
        columns_of([Row(1, {"q": "?", "a": 1, "b": 2})], {"q": "input", "a": "expected", "b": "expected"})


def test_a_conversation_keeps_id_and_answer() -> None:
    asked = [{"role": "system", "content": "One word."}, {"role": "user", "content": "Capital of Peru?"}]
    report = read([{"messages": asked, "id": "q7", "answer": "Lima", "topic": "geo"}])
    made = task(report)
    assert (made.id, made.expected_output, made.metadata) == ("q7", "Lima", {"topic": "geo"})
    assert list(made.messages) == asked
    assert str(report.columns) == "messages: messages; expected: answer; id: id; metadata: topic"


def test_the_reply_at_the_end_of_a_conversation_is_the_reference_without_another() -> None:
    chat = [{"role": "user", "content": "Capital of Peru?"}, {"role": "assistant", "content": "Lima."}]
    assert (task(read([{"messages": chat}])).input, task(read([{"messages": chat}])).expected_output) == (
        "Capital of Peru?",
        "Lima.",
    )
    report = read([{"messages": chat, "answer": "Lima"}])
    assert task(report).expected_output == "Lima"
    assert "its last answer is not used, because answer has the reference" in str(report.columns)


def test_conversations_of_sharegpt_and_of_csv_are_read() -> None:
    chat = [{"from": "human", "value": "Capital of Peru?"}, {"from": "gpt", "value": "Lima"}]
    assert task(read([{"conversations": chat}])).expected_output == "Lima"
    text = json.dumps([{"role": "user", "content": "Hi?"}])
    assert task(read([{"messages": text, "answer": "Hello"}])).input == "Hi?"


def test_all_accepted_answers_are_kept() -> None:
    assert task(read([{"question": "?", "answers": ["a", "b", "a"]}])).expected_output == ("a", "b")
    report = read([{"question": "?", "answers": [str(n) for n in range(60)]}])
    assert len(task(report).expected_output) == 50
    assert "of more than 50 accepted answers, the first 50" in str(report.columns)


def test_pictures_of_every_form_become_content(tmp_path: Path) -> None:
    (tmp_path / "art").mkdir()
    (tmp_path / "art/a.png").write_bytes(PNG)
    for cell in ("art/a.png", URL, {"bytes": PNG, "path": "a.png"}, {"bytes": None, "path": "art/a.png"}):
        rows = [{"question": "What?", "image": cell}, {"question": "And?", "image": None}]
        made = task(read(rows, Pictures(tmp_path)))
        assert list(made.messages) == [{"role": "user", "content": [{"text": "What?"}, {"image": URL}]}], cell
    two = task(read([{"question": "What?", "images": [URL, {"bytes": PNG, "path": None}], "image_2": URL}]))
    assert [part.get("image") for part in two.messages[0]["content"]] == [None, URL, URL, URL]


def test_pictures_stand_after_choices_and_in_conversations() -> None:
    made = task(read([{"question": "Which?", "A": "x", "B": "y", "answer": "A", "image": URL}]))
    assert made.messages[0]["content"][0]["text"].startswith("Which?\n\nA. x")
    assert made.expected_output == "A"
    chat = [{"role": "system", "content": "Look."}, {"role": "user", "content": "What?"}]
    made = task(read([{"messages": chat, "image": URL}]))
    assert list(made.messages)[1]["content"] == [{"text": "What?"}, {"image": URL}]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def test_a_picture_that_cannot_be_read_is_an_error_of_its_row(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "t/text.png").write_bytes(b"no picture")
    (tmp_path / "t/drawing.svg").write_bytes(SVG)
    (tmp_path / "t/large.png").write_bytes(PNG + b"\0" * limits.MAX_IMAGE_BYTES)
    (tmp_path / "t/link.png").symlink_to(tmp_path / "secret.png")
    for cell, told in (
        ("gone.png", "cannot be read (No such file or directory)"),
        ("../secret.png", "is outside the folder of the table"),
        ("link.png", "is outside the folder of the table"),
        (str(tmp_path / "secret.png"), "is outside the folder of the table"),
        ("text.png", "is not a picture in PNG, JPEG, GIF or WebP"),
        ("drawing.svg", "is not a picture in PNG, JPEG, GIF or WebP"),
        ("data:image/svg+xml;base64," + base64.b64encode(SVG).decode(), "is not a data: URL of an image"),
        ("large.png", "has more than 2,000,000 bytes: make it smaller"),
        ("a\0.png", "cannot be read"),
        ("data:image/png;base64,AAAA", "is not a data: URL of an image"),
    ):
        rows = [{"question": "?", "image": URL}, {"question": "?", "image": cell}]
        (problem,) = read(rows, Pictures(tmp_path / "t"), image="image").problems
        assert (problem.line, told in str(problem)) == (2, True), problem


def test_paths_without_files_are_named_and_not_guessed() -> None:
    report = read([{"question": "?", "image": "a.png"}])
    assert "paths of pictures, whose files are not with the table" in str(report.columns)
    (problem,) = read([{"question": "?", "image": "a.png"}], image="image").problems
    assert "the table came without files" in str(problem)


def test_urls_of_this_machine_are_not_fetched() -> None:
    for url in ("http://127.0.0.1:9/a.png", "http://169.254.169.254/a.png", "http://localhost:1/a.png"):
        (problem,) = read([{"question": "?", "image": url}]).problems
        assert "is not fetched. The host has no public address" in str(problem), url
    (problem,) = read([{"question": "?", "image": "http://a:b@127.0.0.1/a.png"}]).problems
    assert "has a password in it" in str(problem)


def test_a_preview_fetches_nothing() -> None:
    made = task(read([{"question": "?", "image": "http://127.0.0.1:9/a.png"}], Pictures(preview=True)))
    assert made.messages[0]["content"][1]["image"].startswith("data:image/png")


def test_metadata_of_langfuse_that_no_task_can_have_is_named() -> None:
    item = {"id": "1", "input": "Capital?", "expectedOutput": "Lima", "datasetName": "geo"}
    report = read([{**item, "metadata": {"topic": "geo", "trace": {"deep": 1}}}])
    assert task(report).metadata == {"topic": "geo"}
    assert str(report.columns).endswith("not used: datasetName (of the tool), metadata.trace (of the tool)")


def test_values_of_parquet_become_plain() -> None:
    import datetime as dt

    row = {"question": "?", "day": dt.date(2026, 1, 2), "price": Decimal("1.5"), "exact": Decimal("0.1")}
    assert task(read([row])).metadata == {"day": "2026-01-02", "price": 1.5, "exact": 0.1}


def test_more_values_than_a_dataset_holds_are_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.dataset_format.limits.MAX_NODES", 40)
    with pytest.raises(ImportProblem, match="import fewer rows, or leave columns out"):
        read([{"question": str(n), "a": 1, "b": 2} for n in range(5)])


def written(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    """The rows as the libraries that people use write them."""
    path = folder / f"table.{kind}"
    if kind == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue(), newline="")
    elif kind == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_every_kind_of_table_keeps_every_column(tmp_path: Path, kind: str) -> None:
    if kind == "parquet" and not parquet_file.has_parquet():
        pytest.skip("needs pyarrow")
    (tmp_path / "a.png").write_bytes(PNG)
    rows = [
        {"id": f"q{n}", "question": f"{n}?", "answer": str(n), "subject": "law", "level": "easy", "image": "a.png"}
        for n in range(3)
    ]
    rows[2]["image"] = ""
    path = written(tmp_path, kind, rows)
    report = dataset_of_rows(of_tools(read_rows(path)), path.name, TableRequest("T", "D", pictures=Pictures(tmp_path)))
    assert set(fields(report).values()) == {"id", "input", "expected", "metadata", "difficulty", "image"}
    made = task(report)
    assert (made.id, made.expected_output, made.difficulty, made.metadata) == ("q0", "0", "easy", {"subject": "law"})
    assert (len(made.messages[0]["content"]), task(report, 2).input) == (2, "2?")
