"""The recommended metric gives the reference full marks in each of the forms in which models usually write an answer.

The forms differ by kind of reference. A short answer may stand alone, in a sentence or after a mark, with emphasis and
quotes. JSON may be in a fenced block, after a sentence, pretty or compact. Code is compared as the text that is run, so
that no sandbox is needed. A pattern is written for the prose of its task, so only what stands before the answer and the
space around it changes. Not tried: texts under constraints, where every further word breaks one, and tool calls, worlds
and conversations, whose answer is not a text in a reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import pytest
from reading import DATASETS, GENERATED, SLUGS

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.metrics.base import DeterministicMetric, Item
from benchmarks.metrics.exact_match import ExactMatch
from benchmarks.metrics.extraction import extract_code
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS

REASONING = "Let me work through this. First I look at what is given, then at what follows from it."
THINKING = f"<think>\n{REASONING} Perhaps it is something else?\n</think>\n\n"
SHORT = (
    *("{}", "{}.", "{}\n", "  {}  \n\n", "**{}**", "**{}.**", "**{}**.", "*{}*", "`{}`", '"{}"', "“{}”."),
    *(
        "Answer: {}",
        "Answer: {}.",
        "**Answer:** {}",
        "**Answer: {}**",
        "Answer: **{}**.",
        "Answer: `{}`",
        'Answer: "{}".',
    ),
    *(
        "answer: {}",
        "Answer:\n{}",
        "Final answer: {}",
        "**Final Answer:** {}.",
        "## Answer\n\n{}",
        "**Answer**\n\n**{}**",
    ),
    *("The answer is {}.", "The answer is **{}**.", "The final answer is: {}", 'The answer is "{}".', "\\boxed{{{}}}"),
    *("The answer is $\\boxed{{{}}}$.", "```\n{}\n```", THINKING + "{}", f"{REASONING} So the answer is {{}}."),
    *(f"{REASONING}\n\nAnswer: {{}}", f"{REASONING}\r\n\r\nAnswer: {{}}.\r\n", f"{REASONING}\n\n**{{}}**"),
    *(f"{REASONING}\n\n{{}}", f"{REASONING}\n\n{{}}."),
)
JSON = (
    *(
        "{}",
        "{}\n",
        "  {}  ",
        "\n\n{}\n\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        "```JSON\n{}\n```\n",
        "~~~json\n{}\n~~~",
    ),
    *("Here is the JSON:\n\n```json\n{}\n```", "Here it is:\n{}", "{}\n\nThis is the result.", "**Answer:**\n\n{}"),
    *("```json\n{}\n```\n\nLet me know if you need anything else.", "Answer:\n```json\n{}\n```", THINKING + "{}"),
    *(THINKING + "```json\n{}\n```", f"{REASONING}\n\n{{}}", f"{REASONING}\n\n```json\n{{}}\n```"),
    *(f"{REASONING}\r\n\r\n```json\r\n{{}}\r\n```\r\n", "```json\n{}", "# Result\n\n{}"),
)
CODE = (
    *("{}", "{}\n", "\n\n{}\n", "```python\n{}\n```", "```py\n{}\n```", "```Python\n{}\n```\n", "```\n{}\n```"),
    *(
        "~~~python\n{}\n~~~",
        "```python3\n{}\n```",
        "Here is the function:\n\n```python\n{}\n```",
        "Answer:\n```\n{}\n```",
    ),
    *("```python\n{}\n```\n\nIt runs in linear time.", "**Answer:**\n\n```python\n{}\n```", THINKING + "{}"),
    *(THINKING + "```python\n{}\n```", f"{REASONING}\n\n```python\n{{}}\n```", "## Solution\n\n```python\n{}\n```"),
    *("```python\n{}", "```python\n{}\n```\n\nRun it with:\n\n```\n$ python x.py\n```", "```\n{}\n```\n\nDone."),
)
PROSE = (
    *("{}", "{}\n", "  {}  ", "\n\n{}\n\n", "{}\r\n", "\u200b{}", THINKING + "{}", f"<think>{REASONING}</think>{{}}"),
    *(f"{REASONING}\n\n{{}}", f"{REASONING}\n{{}}", f"{REASONING}\r\n\r\n{{}}", f"## Reasoning\n\n{REASONING}\n\n{{}}"),
    *(f"1. {REASONING}\n2. Then I answer.\n\n{{}}", f"- {REASONING}\n\n{{}}", f"> {REASONING}\n\n{{}}", "Sure!\n\n{}"),
    *("Here is my answer.\n\n{}", f"**Reasoning:** {REASONING}\n\n{{}}", "Okay.\n{}\n", f"{REASONING}\n\n---\n\n{{}}"),
)
FORMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("numeric", "exact_match", "multiple_choice"), SHORT),
    "json_match": JSON,
    "code_tests": CODE,
    "regex": PROSE,
}
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \| \d+ \|.*\| ([^|]*) \|$", re.MULTILINE)
RECOMMENDED = {
    slug: re.findall(r"`(\w+)`", metrics) for slug, metrics in _ROW.findall((DATASETS / "README.md").read_text())
}


def item(task: TaskSpec, reference: str, reply: str) -> Item:
    fields = {name: getattr(task, name) for name in ("input", "tests", "choices", "pattern", "tolerance", "schema")}
    return Item(expected_output=reference, actual_output=reply, **fields)


def references(slug: str) -> Iterator[tuple[TaskSpec, str, str]]:
    """Each task with each of its references, and the first recommended metric that reads it from the reply."""
    for task in parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml").spec.tasks:
        for reference in task.accepted_answers:
            asked = item(task, reference, reference)
            for name in filter(FORMS.__contains__, RECOMMENDED[slug]):
                if REGISTERED_METRICS[name].applies_to(asked):
                    yield task, reference, name
                    break


def is_right(name: str, asked: Item) -> bool:
    if name == "code_tests":
        return extract_code(asked.actual_output).text.strip() == asked.expected_output.strip()
    metric = REGISTERED_METRICS[name]
    assert isinstance(metric, DeterministicMetric)
    return metric.score(asked).value == 1


def test_every_kind_has_twenty_forms() -> None:
    assert all(len(set(forms)) >= 20 for forms in FORMS.values())


@pytest.mark.parametrize("slug", SLUGS + GENERATED)
def test_the_reference_is_right_in_every_usual_form(slug: str) -> None:
    misread = [
        (task.id, name, form, reference)
        for task, reference, name in references(slug)
        for form in FORMS[name]
        if not is_right(name, item(task, reference, form.format(reference)))
    ]
    assert misread == []


def test_json_is_right_pretty_and_compact() -> None:
    for slug in ("structured-output", "structured-output-large"):
        for task, reference, name in references(slug):
            for indent, separators in ((2, None), (None, (",", ":")), (4, (",", ": "))):
                written = json.dumps(
                    json.loads(reference), indent=indent, separators=separators, ensure_ascii=indent == 4
                )
                assert is_right(name, item(task, reference, written)), (task.id, indent)


def test_these_datasets_are_read_from_a_reply() -> None:
    read = {slug for slug in SLUGS + GENERATED if next(references(slug), None)}
    others = {"conversations", "instruction-following", "library-desk", "tool-use-large", "tool-use-shop"}
    assert read == {*SLUGS, *GENERATED} - others - {"conversations-large"}


@pytest.mark.parametrize("slug", ["reasoning", "reasoning-large", "long-context", "rag-faithfulness-large"])
def test_no_reference_is_read_as_another_one(slug: str) -> None:
    texts = list(dict.fromkeys(reference for _, reference, _ in references(slug)))[::7][:30]
    for reference in texts:
        for other in texts:
            for form in SHORT:
                value = (
                    ExactMatch()
                    .score(Item(input="", expected_output=reference, actual_output=form.format(other)))
                    .value
                )
                assert value == (other == reference), (reference, other, form)


def test_patterns_of_prose_read_usual_heads_and_remarks_and_no_second_answer() -> None:
    found = [each for each in references("rag-faithfulness") if each[2] == "regex"]
    assert len(found) >= 20
    for task, reference, name in found:
        before, mark, line = reference.rpartition("Answer:")
        assert mark, task.id
        for head in ("Final answer:", "**Answer:**", "### Answer\n", "### Final answer\n\n", "**Final Answer**:"):
            for remark in ("", "\n\nLet me know if you have more questions!", "\nPlease ask if you need the passage."):
                reply = f"{before}{head} {line.strip()}{remark}"
                assert is_right(name, item(task, reference, reply)), (task.id, reply)
        for second in ("\n\nAnswer: something else", "\n\nActually, it is 99.", "\n\nLet me know.\n\nAnswer: 7"):
            assert not is_right(name, item(task, reference, reference + second)), (task.id, second)
