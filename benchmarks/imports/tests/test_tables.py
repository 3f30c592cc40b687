"""Published tables become datasets, and every error is reported with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.exports import parquet_file
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import columns_of
from benchmarks.imports.table_tasks import TableReport, TableRequest, dataset_of_rows
from benchmarks.imports.tables import Row, read_rows


def report(path: Path, content: str | bytes, name: str = "table.jsonl", **options: Any) -> TableReport:
    file = path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return dataset_of_rows(read_rows(file), name, TableRequest("Table", "From a table", **options))


def dataset(path: Path, *rows: dict[str, Any], **options: Any) -> DatasetSpec:
    table = report(path, "\n".join(map(json.dumps, rows)), **options)
    assert not table.problems
    assert table.spec is not None
    return table.spec


def test_columns_are_known_by_the_names_that_datasets_use(tmp_path: Path) -> None:
    for row, asked, expected in (
        ({"question": "2 + 2?", "answer": "4"}, "2 + 2?", "4"),
        ({"prompt": "2 + 2?", "completion": 4}, "2 + 2?", "4"),
        ({"instruction": "Add.", "input": "2 and 2", "output": "4"}, "Add.\n\n2 and 2", "4"),
        ({"instruction": "Say hello.", "input": "", "output": "hello"}, "Say hello.", "hello"),
        ({"Input": "2 + 2?", "Target": 4.5}, "2 + 2?", "4.5"),
        ({"question": "True?", "label": True}, "True?", "true"),
        ({"question": "Where?", "answers": {"text": ["a", "b"], "answer_start": [0, 9]}}, "Where?", ("a", "b")),
        ({"problem": "2 + 2?"}, "2 + 2?", ""),
    ):
        (task,) = dataset(tmp_path, row).tasks
        assert (task.id, task.input, task.expected_output) == ("row-1", asked, expected), row


def test_multiple_choice_is_asked_with_letters(tmp_path: Path) -> None:
    for row in (
        {"question": "Which?", "choices": ["red", "blue", "green"], "answer": 1},
        {
            "question": "Which?",
            "choices": {"text": ["red", "blue", "green"], "label": ["1", "2", "3"]},
            "answerKey": "2",
        },
        {"question": "Which?", "options": ["red", "blue", "green"], "answer": "blue"},
        {"question": "Which?", "A": "red", "B": "blue", "C": "green", "answer": "B"},
        {"question": "Which?", "option_a": "red", "option_b": "blue", "option_c": "green", "answer": 1},
        {"question": "Which?", "choices": '["red", "blue", "green"]', "answer": "B"},
    ):
        (task,) = dataset(tmp_path, row).tasks
        assert task.input == "Which?\n\nA. red\nB. blue\nC. green\n\nAnswer with the letter of one option.", row
        assert (task.expected_output, task.choices) == ("B", ("red", "blue", "green")), row


def test_named_columns_override_guesses(tmp_path: Path) -> None:
    row = {"key": "k1", "question": "not this", "text": "Ask this", "gold": "7", "passages": ["One.", "Two."], "nr": 3}
    (task,) = dataset(tmp_path, row, columns={"text": "input", "gold": "expected", "nr": "id"}).tasks
    assert (task.id, task.input, task.expected_output, task.context) == ("3", "Ask this", "7", ("One.", "Two."))


def test_the_answer_can_be_the_end_of_a_cell(tmp_path: Path) -> None:
    (task,) = dataset(tmp_path, {"question": "?", "answer": "2 + 2 = 4\n#### 4"}, answer_after="####").tasks
    assert task.expected_output == "4"


def test_a_limit_imports_only_the_first_rows(tmp_path: Path) -> None:
    assert len(dataset(tmp_path, *({"question": str(n)} for n in range(5)), limit=2).tasks) == 2


def test_every_kind_of_file_gives_the_same(tmp_path: Path) -> None:
    for name, content in (
        ("table.csv", '\ufeffquestion,answer\n"One,\ntwo?",x\n\nThree?,y\n'),
        ("table.csv", 'question;answer\r\n"One,\ntwo?";x\r\nThree?;y\r\n'),
        ("table.tsv", 'question\tanswer\n"One,\ntwo?"\tx\nThree?\ty\n'),
        ("table.json", json.dumps([{"question": "One,\ntwo?", "answer": "x"}, {"question": "Three?", "answer": "y"}])),
        (
            "table.json",
            json.dumps(
                {"rows": [{"row": {"question": q, "answer": a}} for q, a in (("One,\ntwo?", "x"), ("Three?", "y"))]}
            ),
        ),
        ("table.ndjson", '{"question": "One,\\ntwo?", "answer": "x"}\n\n{"question": "Three?", "answer": "y"}\n'),
    ):
        table = report(tmp_path, content, name)
        assert table.spec is not None, name
        assert [(task.input, task.expected_output) for task in table.spec.tasks] == [
            ("One,\ntwo?", "x"),
            ("Three?", "y"),
        ], name


def test_parquet_is_read_like_the_others(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [
        {"question": "Which?", "choices": ["x", "y"], "answer": 1},
        {"question": "Or?", "choices": ["a", "b"], "answer": 0},
    ]
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "table.parquet")
    table = report(tmp_path, (tmp_path / "table.parquet").read_bytes(), "table.parquet")
    assert table.spec is not None
    assert [task.expected_output for task in table.spec.tasks] == ["B", "A"]
    with pytest.raises(ImportProblem, match="invalid Parquet file"):
        report(tmp_path, b"PAR1 and no more", "broken.parquet")


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: False)
    with pytest.raises(ImportProblem, match=r"requirements-parquet\.txt"):
        report(tmp_path, b"", "table.parquet")


def test_every_error_is_reported_with_its_line(tmp_path: Path) -> None:
    content = "\n".join(
        (
            '{"id": "a", "question": "One?", "answer": "1"}',
            "",
            '{"id": "b", "question": "Two?", "answer": {"x": 1}}',
            '{"id": "c", "question": ',
            "[1]",
        )
    )
    assert [str(problem) for problem in report(tmp_path, content).problems] == [
        'table.jsonl:3: column "answer": expected text, found an object',
        "table.jsonl:4: column 25: invalid JSON: Expecting value",
        "table.jsonl:5: expected an object with the columns as its keys",
    ]


def test_rows_pass_the_same_checks_as_yaml_files(tmp_path: Path) -> None:
    rows = ({"id": "a", "question": "One?"}, {"id": "a", "question": "Two?"}, {"id": "b", "question": "  "})
    problems = report(tmp_path, "\n".join(map(json.dumps, rows))).problems
    assert [(problem.line, problem.path) for problem in problems] == [(2, "id"), (3, "input")]
    assert "first at line 1" in problems[0].message


def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for name, content, told in (
        ("table.csv", "", "line 1: expected the names of the columns"),
        ("table.csv", "question,question\n", 'line 1: the column "question" occurs twice'),
        ("table.csv", b"question\n\xff\n", "invalid UTF-8"),
        ("table.csv", 'question\n"One', "invalid CSV"),
        ("table.csv", "question\n", "the table has no rows"),
        ("table.jsonl", "", "the table has no rows"),
        ("table.jsonl", '{"a": 1}', "no column is recognized as the input: name one"),
        ("table.json", "{}", "the file: expected a list, found nothing"),
        ("table.txt", "", "unknown extension"),
    ):
        with pytest.raises(ImportProblem) as problem:
            report(tmp_path, content, name)
        assert told in str(problem.value), name


def test_a_missing_column_is_reported_with_the_existing_ones() -> None:
    with pytest.raises(ImportProblem, match=r'column "x" for input does not exist. Columns: "question", "answer"'):
        columns_of([Row(1, {"question": "?", "answer": "!"})], {"x": "input"})


def test_too_many_cells_and_an_invalid_choice_are_errors_of_their_rows(tmp_path: Path) -> None:
    content = "question,A,B,answer\nWhich?,x,y,A\nWhich?,x,y,C\nWhich?,x,y,A,more\n"
    assert [(problem.line, problem.message[:30]) for problem in report(tmp_path, content, "table.csv").problems] == [
        (3, 'column "answer": "C" is not on'),
        (4, "5 cells, but the header has 4 "),
    ]


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["A", "0", "####"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "label"]), inner, max_size=2),
    max_leaves=5,
)
NAMES = st.sampled_from(["question", "input", "instruction", "answer", "choices", "id", "context", "A", "B", "output"])


@given(st.lists(st.dictionaries(NAMES, CELLS, max_size=5), max_size=4), st.sampled_from(["", "####"]))
def test_any_rows_give_a_dataset_or_problems(rows: list[dict[str, Any]], after: str) -> None:
    numbered = [Row(number, row) for number, row in enumerate(rows, 1)]
    try:
        table = dataset_of_rows(numbered, "t", TableRequest("T", "D", answer_after=after))
    except ImportProblem:
        return
    if table.spec is None:
        assert table.problems
        return
    parsed = parse_dataset(dump_dataset(table.spec).encode(), "t.yaml")
    assert parsed.spec == table.spec
    assert len(table.spec.tasks) == len(rows)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.sampled_from(["csv", "jsonl", "json", "tsv"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, ending: str) -> None:
    path = tmp_path_factory.mktemp("bytes") / f"table.{ending}"
    path.write_bytes(b"question,answer\n" + content if ending == "csv" else content)
    try:
        rows = list(read_rows(path))
    except ImportProblem:
        return
    assert all(row.line >= 1 for row in rows)
