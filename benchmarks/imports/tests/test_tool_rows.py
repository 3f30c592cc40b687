"""Datasets and traces of other tools, in the forms that these write, become tasks.

The files follow the vendors' sources: openai/evals docs/build-eval.md, Arize-ai/phoenix routers/v1/datasets.py,
langfuse's batch export of dataset items, OpenTelemetry's conventions for generative AI, OpenLLMetry's attributes.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_tasks import TableReport, TableRequest, dataset_of_rows
from benchmarks.imports.tables import Row, read_rows
from benchmarks.imports.tool_rows import of_tools

FILES = Path(__file__).parent / "tool_datasets"
ONE_WORD = {"role": "system", "content": "Answer with one word."}
CASES: dict[str, list[tuple[Any, Any]]] = {
    "openai_evals.jsonl": [
        ([ONE_WORD, "Capital of France?"], "Paris"),
        ("Name a primary color.", ("red", "blue", "yellow")),
    ],
    "phoenix_evals.jsonl": [([ONE_WORD, "Capital of France?"], "Paris")],
    "phoenix_fine_tuning.jsonl": [(["Hello", {"role": "assistant", "content": "Hi!"}, "Capital of France?"], "Paris")],
    "phoenix.csv": [("Capital of France?", "Paris")],
    "phoenix_messages.csv": [([ONE_WORD, "What's the capital of France?"], "Paris")],
    "langfuse.json": [("Capital of France?", "Paris"), ([ONE_WORD, "Capital of Peru?"], "Lima")],
    "langfuse.csv": [("Capital of France?", "Paris")],
    "otlp_traces.json": [
        ([ONE_WORD, "Capital of France?"], "Paris"),
        ("Capital of Peru?", ""),
        ("Capital of Chad?", "N'Djamena"),
        ("Capital of Mali?", "Bamako"),
    ],
}


def report(path: Path) -> TableReport:
    return dataset_of_rows(of_tools(read_rows(path)), path.name, TableRequest("Table", "From a tool"))


@pytest.mark.parametrize("name", CASES)
def test_a_file_as_the_tool_writes_it_becomes_tasks(name: str) -> None:
    table = report(FILES / name)
    assert not table.problems
    assert table.spec is not None
    for task, (asked, expected) in zip(table.spec.tasks, CASES[name], strict=True):
        if isinstance(asked, list):
            messages = [{"role": "user", "content": each} if isinstance(each, str) else each for each in asked]
            assert (list(task.messages), task.input) == (messages, "")
        else:
            assert (task.messages, task.input) == ((), asked)
        expects = task.expected_output
        assert (expects if isinstance(expects, str) else tuple(expects)) == expected


def test_every_committed_file_has_a_case() -> None:
    assert {file.name for file in FILES.iterdir()} == {*CASES}


def test_ids_tags_and_metadata_are_kept() -> None:
    for name, labels, task_id in (
        ("phoenix.csv", ["category: geo", "priority: 1"], "RGF0YXNldEV4YW1wbGU6MQ=="),
        ("langfuse.json", ["tags: europe", "category: geo"], "a1"),
        (
            "otlp_traces.json",
            ["model: gpt-4o", "span: chat gpt-4o"],
            "5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174",
        ),
    ):
        table = report(FILES / name)
        assert table.spec is not None
        assert (table.spec.tasks[0].labels, table.spec.tasks[0].id) == (labels, task_id)


def test_what_a_task_cannot_have_is_reported_with_its_line(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    sound = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]}
    for messages, problem in (
        ([{"role": "user", "content": "Hi"}, call, {"role": "user", "content": "?"}], "calls of tools"),
        ([sound], "parts that are not text (input_audio)"),
        ([{"role": "boss", "content": "Hi"}], "role"),
        ([], "input"),
    ):
        file = tmp_path / "evals.jsonl"
        good = {"input": [{"role": "user", "content": "Hi"}], "ideal": "x"}
        file.write_text("\n".join(map(json.dumps, [good, {"input": messages, "ideal": "x"}])))
        (first, *_) = report(file).problems
        assert first.line == 2
        assert problem in str(first), problem


def test_images_of_a_conversation_are_kept(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "https://x.org/y.png"}}]
    file = tmp_path / "evals.jsonl"
    file.write_text(json.dumps({"input": [{"role": "user", "content": parts}], "ideal": "x"}))
    table = report(file)
    assert table.spec is not None, table.problems
    expected = [{"role": "user", "content": [{"text": "What?"}, {"image": "https://x.org/y.png"}]}]
    assert list(table.spec.tasks[0].messages) == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "parts",
                    "type",
                    "text",
                    "key",
                    "value",
                    "stringValue",
                    "arrayValue",
                    "kvlistValue",
                    "values",
                    "messages",
                    "attributes",
                    "events",
                    "scopeSpans",
                    "spans",
                    "name",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(values, values, values)
def test_anything_in_any_place_gives_tasks_or_problems(one: Any, two: Any, three: Any) -> None:
    for row in (
        {"input": [one], "ideal": two},
        {"messages": [one, two]},
        {"id": one, "datasetName": "x", "input": two, "expectedOutput": three, "metadata": one},
        {"example_id": one, "input_a": two, "output_b": three, "metadata_c": one},
        {"resourceSpans": one},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": one, "events": two, "traceId": three}]}]}]},
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "attributes": [
                                        {"key": "gen_ai.input.messages", "value": one},
                                        {"key": "gen_ai.output.messages", "value": two},
                                        {
                                            "key": "gen_ai.system_instructions",
                                            "value": {"stringValue": json.dumps(three)},
                                        },
                                    ]
                                }
                            ]
                        }
                    ]
                }
            ]
        },
    ):
        with contextlib.suppress(ImportProblem):
            dataset_of_rows(of_tools([Row(1, row)]), "x", TableRequest("Table", "From a tool"))
