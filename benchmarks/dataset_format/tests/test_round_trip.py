from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.dataset_format.dumping import content_hash, dump_dataset, task_hash
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.scalars import read_plain
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.tests.examples import FULL, VALID
from benchmarks.dataset_format.validation import _as_seen, validate_dataset_fields

NASTY = (
    *[
        "",
        " ",
        "\n",
        "\n\n",
        " \n",
        "a\n",
        "a\n\n",
        "\na",
        "\n a",
        " a\nb",
        "a \nb",
        "a\n b\n",
        "\ta",
        "a\tb\n",
        "a\r\nb",
    ],
    *["\x85", "a\u2028b\n", "\ufeff", "\x1b[31m", "\u202e", "\x7f", "é\u0301", "\U0010ffff", "\xa0", "a\n\u3000b\n"],
    *["yes", "NO", "null", "~", "true", "001", "1e5", "1_0", "12:30", "0x1F", "2024-01-31", ".inf", "<<", "=", "\\n"],
    *["-", "- a", "? a", ": a", "a: b", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a`", "'a'", '"a"', "[a", "{a"],
    *["|", ">", "---", "...", "--- a", "---\na", "...\n", "a\n---\nb\n", "a\n...\n", "😀\n"],
    *["x" * 300, "word " * 60, "word " * 60 + "\n  more"],
)

DATASETS = Path(__file__).parents[3] / "datasets"
HASHES = {
    "basic-coding": (
        "4a066fd97209d5697fd9fda0dd9f2f21238b13e60be9f0620cac4fd5fba89b4d",
        "7306be610f0b43f448cc3b18d3bf7b483733c61aaa1598c836980dec2c406c85",
    ),
    "long-context": (
        "767973fe18e90046dba00a9dc2ca3eee80b17722d69818fe4c376bf00cc2e54a",
        "587a590c5f0c3afb567d336e3325e758b199e05df2423fc7473ffd45098d3332",
    ),
    "rag-faithfulness": (
        "4b2da0fba68040b7cdca4641121e7a9aa6688ee1ea243f7f7a8509f180167149",
        "086bd03c4ea74fb4e37b4c52e9dd72450f13fd88ac09f0376112b1da214aef42",
    ),
    "reasoning": (
        "ebf437e4b6533f6caa3b1128167dfc65635f5431db8a658a74c69a21a78af707",
        "5c91664ed8b20a17848896919ed1e92c887c70e30323418d7f1982f668b12601",
    ),
    "structured-output": (
        "1e454f00eda66851ec7b1efdb1ce887326aca6e93ddb1031b98a2120ab62bf2d",
        "44981e6032cc506e53feaeea70323f8fbdcc1b54a9c7b30560d4130acd9feb54",
    ),
    "tool-use-basic": (
        "a7f088615de71bf5662e9910b02e12917b2aa3f98030201d4472fd874564d1f0",
        "5b28c10f2313d55ae6db40010fbe460f8557e57d02cc265d055524a7e3730f05",
    ),
    "tool-use-shop": (
        "3a021b1c6dad58af60a09bd0ceac888cebff4333da5ebebf39079a95189b1f18",
        "fe37fc8a92efd918ac8469d608783e6237d05c66897e15989d0cb7b0a5146f48",
    ),
}
"""Dataset → its content hash, and the SHA-256 of the hashes of its tasks."""

texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.lists(st.sampled_from(NASTY), max_size=4).map("".join),
)
filled = texts.filter(str.strip)
names = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=30)
    .map(str.strip)
    .filter(bool)
)
numbers = st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
tool_names = st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True)


@st.composite
def tasks(draw: st.DrawFn, task_id: str) -> dict[str, Any]:
    uses = draw(
        st.lists(
            st.fixed_dictionaries(
                {"name": tool_names}, optional={"args": st.dictionaries(texts, json_values, max_size=3)}
            ),
            max_size=2,
        )
    )
    optional = {
        "difficulty": st.sampled_from(["easy", "medium", "hard"]),
        "tags": st.lists(names, max_size=3, unique_by=_as_seen),
        "metadata": st.dictionaries(
            st.sampled_from(["a", "B_2", "yes"]), st.one_of(names, numbers, st.booleans()), max_size=3
        ),
        "context": st.lists(filled, max_size=3),
        "tests": st.sampled_from(["assert True\n", "assert '''\n\ty\n'''\n", "def test_a(): pass  # only this"]),
        "schema": st.fixed_dictionaries({"description": texts, "default": json_values, "enum": st.just([1, "a"])}),
        "choices": st.lists(filled, min_size=2, max_size=4, unique_by=_as_seen),
        "pattern": st.sampled_from(["^a+$", "\\d{2}", "[yes]", "a b "]),
        "tolerance": st.floats(0, 1e300),
        "tool_results": st.dictionaries(st.sampled_from([use["name"] for use in uses]), json_values)
        if uses
        else st.just({}),
    }
    answers = st.one_of(texts, st.lists(filled, min_size=1, max_size=3, unique_by=_as_seen))
    required = {"id": st.just(task_id), "name": names, "input": filled, "expected_output": answers}
    return draw(st.fixed_dictionaries(required, optional=optional)) | {"expected_tools": uses}


@st.composite
def datasets(draw: st.DrawFn) -> DatasetSpec:
    ids = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    values = {"name": draw(names), "description": draw(filled), "tasks": [draw(tasks(task_id)) for task_id in ids]}
    values["metrics"] = draw(st.lists(st.sampled_from(["latency", "length", "json_valid"]), unique=True))
    spec, problems = validate_dataset_fields(values)
    assert spec is not None, problems
    return spec


def loaded(text: str) -> DatasetSpec:
    spec = parse_dataset(text.encode(), "x.yaml").spec
    assert spec is not None
    return spec


def reread(spec: DatasetSpec) -> DatasetSpec:
    result = parse_dataset(dump_dataset(spec).encode(), "dump.yaml")
    assert result.spec is not None, (dump_dataset(spec), result.problems)
    return result.spec


@settings(max_examples=150)
@given(datasets())
def test_a_written_dataset_loads_to_the_same_content(spec: DatasetSpec) -> None:
    again = reread(spec)
    assert again == spec
    assert content_hash(again) == content_hash(spec)


def test_nasty_text_survives_in_every_place() -> None:
    for text in NASTY:
        uses = [{"name": "f", "args": {text: text, "list": [text, {text: [text]}]}}]
        task = {"id": "i", "name": "n", "input": f"x{text}", "expected_output": text, "expected_tools": uses}
        spec, problems = validate_dataset_fields({"name": "n", "description": f"{text}d", "tasks": [task]})
        assert spec is not None, (text, problems)
        assert reread(spec) == spec, text


@given(texts)
@example("y")
def test_other_yaml_readers_get_the_same_text(text: str) -> None:
    values = {
        "name": "n",
        "description": "d",
        "tasks": [{"id": "i", "name": "n", "input": "x", "expected_output": text}],
    }
    spec, _ = validate_dataset_fields(values)
    assert spec is not None
    assert yaml.safe_load(dump_dataset(spec))["tasks"][0]["expected_output"] == text


@given(
    st.one_of(st.from_regex(r"[-+]?[0-9._:eExob]{1,8}", fullmatch=True), st.sampled_from(NASTY), st.text(max_size=8))
)
def test_what_pyyaml_would_convert_is_not_read_as_text(word: str) -> None:
    resolved = yaml.SafeLoader("").resolve(yaml.ScalarNode, word, (True, False))
    if resolved.rpartition(":")[2] not in {"str", "merge", "value", "yaml"}:  # the others become no Python value
        assert not isinstance(read_plain(word), str)


def test_the_written_yaml_is_readable() -> None:
    written = dump_dataset(loaded(FULL))
    assert "    input: |\n      Add 1 and 2.\n\n        Mind the indent.\n" in written
    assert (
        '  - id: plain\n    name: Only what is required\n    input: What is 1 + 1?\n    expected_output: "2"\n\n'
        in written
    )
    assert "medium" not in written
    assert "&" not in written


def test_explicit_defaults_do_not_change_the_hash() -> None:
    assert content_hash(loaded(VALID + "    difficulty: medium\n    context: []\n")) == content_hash(loaded(VALID))


def test_a_list_of_one_accepted_answer_is_that_answer() -> None:
    assert content_hash(loaded(VALID.replace('"2"', '["2"]'))) == content_hash(loaded(VALID))
    assert content_hash(loaded(VALID.replace('"2"', '["2", two]'))) != content_hash(loaded(VALID))


def test_the_order_of_keys_does_not_change_the_hash_but_the_order_of_tasks_does() -> None:
    name, description, *rest = VALID.splitlines(keepends=True)
    assert content_hash(loaded("".join([description, name, *rest]))) == content_hash(loaded(VALID))
    spec = loaded(FULL)
    assert content_hash(replace(spec, tasks=spec.tasks[::-1])) != content_hash(spec)


def test_any_change_of_what_is_asked_changes_the_hash_of_the_task() -> None:
    spec = loaded(VALID)
    changes: tuple[dict[str, Any], ...] = (
        {"input": "Who?"}, {"expected_output": "3"}, {"context": ("c",)}, {"tolerance": 0.0}, {"tests": "x"}
    )  # fmt: skip
    for change in changes:
        changed = replace(spec, tasks=(replace(spec.tasks[0], **change),))
        assert task_hash(changed.tasks[0], changed) != task_hash(spec.tasks[0], spec), change
        assert content_hash(changed) != content_hash(spec), change


def test_a_name_difficulty_or_label_changes_the_hash_of_the_dataset_but_not_of_the_task() -> None:
    spec = loaded(VALID)
    labels: tuple[dict[str, Any], ...] = ({"tags": ("a",)}, {"metadata": {"a": 1}})
    for change in ({"name": "Another"}, {"difficulty": "hard"}, *labels):
        changed = replace(spec, tasks=(replace(spec.tasks[0], **change),))  # type: ignore[arg-type]  # mixed values
        assert task_hash(changed.tasks[0], changed) == task_hash(spec.tasks[0], spec), change
        assert content_hash(changed) != content_hash(spec), change


def test_the_hashes_of_the_shipped_datasets_never_change() -> None:
    """Stored versions, exported runs and published results refer to them. They must not depend on the code."""
    for slug, expected in HASHES.items():
        spec = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), slug).spec
        assert spec is not None, slug
        tasks = "".join(task_hash(task, spec) for task in spec.tasks)
        assert (content_hash(spec), hashlib.sha256(tasks.encode()).hexdigest()) == expected, slug


def test_tools_of_the_dataset_belong_to_what_its_tasks_ask() -> None:
    spec = loaded(FULL)
    plain, full = spec.tasks
    bare = replace(spec, tools=(), tool_results={})
    assert task_hash(plain, bare) != task_hash(plain, spec)
    assert task_hash(full, bare) == task_hash(full, spec), "it has tools and results of its own"
