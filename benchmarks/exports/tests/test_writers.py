"""Result files are read back unchanged, contain nothing that executes, and are written in constant memory."""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from benchmarks.exports import parquet_file
from benchmarks.exports.html_file import Head, TextTable, html_pieces, tables_html
from benchmarks.exports.rows import PLAIN_FIELDS, ResultRow, ScoreCell
from benchmarks.exports.text_files import BYTE_ORDER_MARK, csv_pieces, defused, jsonl_pieces

METRICS = ["exact_match", "correctness"]
ROW = ResultRow(
    run=1,
    model="acme/m",
    dataset="sums",
    dataset_version="1",
    variant="",
    system_prompt="Be brief.",
    prompt_template="",
    result=2,
    position=3,
    task_id="t",
    task_name="Task",
    repeat=1,
    seed=7,
    difficulty="easy",
    group="",
    n_shapes=None,
    state="done",
    outcome="correct",
    score=1.0,
    input="What is 1 + 1?",
    expected_output="2",
    actual_output="2",
    error_kind="",
    error_message="",
    duration_ms=12.5,
    first_token_ms=2.5,
    tokens_per_second=None,
    tokens_in=5,
    tokens_out=1,
    reasoning_tokens=None,
    cached_tokens=3,
    cost_usd=None,
    judge_cost_usd=0.0,
    user_cost_usd=0.25,
    attempts=1,
    finish_reason="stop",
    response_model="gpt-4o-2024-08-06",
    finished_at=datetime(2030, 1, 2, tzinfo=UTC),
    scores={"exact_match": ScoreCell(1.0, "scored"), "correctness": ScoreCell(None, "judge_error", "=timeout")},
)
HEAD = Head(
    title="Run 1: <b>m</b>",
    lead="<i>sums</i>, version 1",
    means=[("exact_match", "1.000", "1 of 1")],
    outcomes=[("correct", "Correct 1 (100%)")],
    failures=[("wrong", "Wrong", "<b>Another number</b>", "1 (50%)")],
    facts=[("Dataset", "sums")],
    images=[("Scores", '<svg xmlns="…"></svg>')],
)
HOSTILE = ['=HYPERLINK("http://evil.example","x")', "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1", "＝1"]
TEXTS = [
    *HOSTILE,
    'a "quoted", text',
    "two\nlines",
    "two\r\nlines",
    "<script>alert(1)</script>",
    "ünïcode 🟢",
    "",
    "plain",
]


def read_csv(rows: Iterable[ResultRow]) -> list[dict[str, str]]:
    text = "".join(csv_pieces(rows, METRICS))
    assert text.startswith(BYTE_ORDER_MARK)
    return list(csv.DictReader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline="")))


def test_csv_keeps_every_text_except_for_the_apostrophe_that_defuses_it() -> None:
    read = read_csv([replace(ROW, actual_output=text) for text in TEXTS])
    for text, cells in zip(TEXTS, read, strict=True):
        assert cells["actual_output"] == defused(text)
        assert cells["actual_output"].removeprefix("'") == text


def test_no_cell_of_a_csv_file_starts_like_a_formula() -> None:
    names = ("input", "expected_output", "actual_output", "task_id", "error_message")
    for text in HOSTILE:
        (cells,) = read_csv([replace(ROW, **dict.fromkeys(names, text))])
        assert [cells[name][:1] for name in names] == ["'"] * len(names), text


def test_csv_keeps_numbers_as_numbers_and_unknown_ones_empty() -> None:
    (cells,) = read_csv([replace(ROW, duration_ms=-1.5)])
    assert (float(cells["duration_ms"]), cells["cost_usd"], float(cells["judge_cost_usd"])) == (-1.5, "", 0.0)
    assert float(cells["user_cost_usd"]) == 0.25
    assert (cells["score.exact_match"], cells["score.correctness"]) == ("1.0", "")
    assert cells["unscored.correctness"] == "judge_error: =timeout"
    assert list(cells)[: len(PLAIN_FIELDS)] == list(PLAIN_FIELDS)


def test_json_lines_keep_every_text() -> None:
    lines = b"".join(jsonl_pieces([replace(ROW, actual_output=text) for text in TEXTS])).splitlines()
    assert [json.loads(line)["actual_output"] for line in lines] == TEXTS
    reason = {"value": None, "status": "judge_error", "reason": "=timeout"}
    assert json.loads(lines[0])["scores"]["correctness"] == reason


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_report_shows_hostile_texts_as_text_and_fetches_nothing() -> None:
    for text in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</pre></table>"):
        page = Tags()
        hostile = replace(ROW, input=text, actual_output=text, task_id=text, error_message=text)
        page.feed("".join(html_pieces(HEAD, [hostile], METRICS)))
        assert page.text.count(text) == 3, text
        assert not {"script", "link", "iframe", "object", "form", "b"} & {tag for tag, _ in page.tags}, text
        attributes = [(name, value or "") for _, pairs in page.tags for name, value in pairs.items()]
        assert not [name for name, _ in attributes if name.startswith("on")], text
        sources = [value for name, value in attributes if name in ("src", "href")]
        assert all(value.startswith("data:image/svg+xml;base64,") for value in sources), text


def test_a_report_is_read_from_the_means_to_the_details_and_names_each_cell_for_narrow_screens() -> None:
    text = "".join(html_pieces(HEAD, [ROW], METRICS))
    order = (
        'class="verdict"',
        "1.000",
        "Correct 1 (100%)",
        "What failed",
        'alt="Scores"',
        ">Results</h2>",
        "Run details",
    )
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert '<td data-label="Answer"><pre>2</pre></td>' in text
    assert '<td data-label="Correctness"><span>Judge error</span></td>' in text


def test_a_report_cuts_long_texts_and_says_by_how_much() -> None:
    assert "… 3,000 more characters" in "".join(html_pieces(HEAD, [replace(ROW, input="x" * 5_000)], METRICS))


WRITERS: dict[str, Callable[[Iterable[ResultRow]], Iterator[Any]]] = {
    "csv": lambda rows: csv_pieces(rows, METRICS),
    "jsonl": jsonl_pieces,
    "html": lambda rows: html_pieces(HEAD, rows, METRICS),
}


@pytest.mark.parametrize("form", WRITERS)
def test_the_memory_of_a_writer_does_not_grow_with_the_rows(form: str) -> None:
    """A writer that keeps its output holds all of it at the end; any other stays far below a tenth."""
    highest, written = peak_and_size(form, 20_000)
    assert highest < written / 10


def peak_and_size(form: str, rows: int) -> tuple[int, int]:
    """Return the most memory that writing ``rows`` rows took and the length of what was written, in bytes."""
    gc.collect()
    tracemalloc.start()
    written = sum(len(piece) for piece in WRITERS[form](ROW for _ in range(rows)))
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest, written


def test_parquet_keeps_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet_file, "GROUP_ROWS", 4)
    rows = [replace(ROW, result=number, actual_output=text) for number, text in enumerate(TEXTS)]
    rows.append(replace(ROW, result=999, tool_calls=({"name": "add", "arguments": {"a": 1}},), scores={}))
    pieces = list(parquet_file.parquet_pieces(rows, METRICS))
    file = parquet.ParquetFile(io.BytesIO(b"".join(pieces)))
    assert file.num_row_groups == math.ceil(len(rows) / 4) == len(pieces) - 1
    read = file.read().to_pylist()
    assert [row["actual_output"] for row in read[:-1]] == TEXTS
    first, last = read[0], read[-1]
    assert {name: first[name] for name in PLAIN_FIELDS} == {name: getattr(rows[0], name) for name in PLAIN_FIELDS}
    assert (first["score.exact_match"], first["unscored.exact_match"]) == (1.0, None)
    assert (first["score.correctness"], first["unscored.correctness"]) == (None, "judge_error: =timeout")
    assert (json.loads(last["tool_calls"]), last["score.exact_match"]) == (
        [{"name": "add", "arguments": {"a": 1}}],
        None,
    )


def test_parquet_without_results_is_a_file_with_columns() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(b"".join(parquet_file.parquet_pieces([], METRICS))))
    assert (table.num_rows, table.column_names[0]) == (0, "run")


def test_a_row_group_of_long_texts_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet_file, "GROUP_CHARACTERS", 100)
    rows = (replace(ROW, actual_output="x" * 60) for _ in range(10))
    assert len(list(parquet_file.parquet_pieces(rows, METRICS))) == 6


def test_a_page_has_no_table_without_rows_and_no_column_without_values() -> None:
    tables = [
        TextTable("None ran", ["Model"], []),
        TextTable("Two ran", ["Model", "Cost"], [["one", "–"], ["two", ""]]),
    ]
    html = tables_html("Prompts", "2 runs", [], tables)
    assert "None ran" not in html
    assert html.count('<th scope="col">') == 1
    assert "<tr><td>one</td></tr>" in html
