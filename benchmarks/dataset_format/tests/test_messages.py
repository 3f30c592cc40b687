"""Conversations with images: what is accepted, where each fault is, and files that become part of the content."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.dumping import content_hash, dump_dataset, task_hash
from benchmarks.dataset_format.files import FileContent, read_content, read_dataset_file
from benchmarks.dataset_format.messages import as_text
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import task_values
from benchmarks.dataset_format.validation import validate_dataset_fields, validate_task_fields

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
USER = {"role": "user", "content": "And 2 + 2?"}
TALK = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"text": "What is this?"}, {"image": PNG_URL}, {"image": "https://example.org/a.png"}],
    },
    {"role": "assistant", "content": "A cat."},
    USER,
]
DEMO = """\
name: Demo
description: D
tasks:
  - id: a
    name: A
    messages:
      - role: user
        content: [{text: What is this?}, {image: %s}]
    expected_output: a cat
"""


def test_a_conversation_is_a_task_and_survives_writing() -> None:
    values = {"name": "n", "description": "d", "tasks": [task_values(input=..., messages=TALK)]}
    spec, problems = validate_dataset_fields(values)
    assert spec is not None, problems
    assert spec.tasks[0].messages == tuple(TALK)
    again = parse_dataset(dump_dataset(spec).encode(), "x.yaml").spec
    assert again == spec
    other, _ = validate_dataset_fields(
        {**values, "tasks": [task_values(input=..., messages=[*TALK[:-1], {**USER, "content": "x"}])]}
    )
    assert other is not None
    assert task_hash(other.tasks[0], other) != task_hash(spec.tasks[0], spec)
    text = as_text(TALK)
    assert text.startswith("system: Be brief.\n\nuser: What is this?\n[image ")
    assert "[image https://example.org/a.png]\n\nassistant: A cat.\n\nuser: And 2 + 2?" in text
    assert PNG_URL not in text


SVG = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>').decode()


def test_every_fault_of_a_conversation_is_at_its_place() -> None:
    def user(content: Any) -> list[Any]:
        return [{"role": "user", "content": content}]

    for messages, where, fragment in (
        ("hello", "", "must be a list of {role, content}, not text"),
        ([], "", "is empty"),
        ([USER] * (limits.MAX_MESSAGES + 1), "", "the limit is 100"),
        (["hello"], "[0]", "must be a mapping with role and content"),
        ([{"role": "tool", "content": "x"}, USER], "[0].role", "must be one of system, user, assistant"),
        ([{"role": ["user"], "content": "x"}, USER], "[0].role", "must be one of"),
        ([{"content": "x"}], "[0].role", "must be one of"),
        ([{**USER, "name": "Bob"}], "[0].name", 'unknown key "name"'),
        ([USER, {"role": "system", "content": "x"}, USER], "[1].role", "put it first"),
        ([USER, {"role": "assistant", "content": "x"}], "[1].role", "the last message must be the user's"),
        (user(" "), "[0].content", "is empty"),
        (user(3), "[0].content", "must be text or a list of parts"),
        (user(None), "[0].content", "must be text or a list of parts"),
        (user("a\0"), "[0].content", "U+0000"),
        (user([]), "[0].content", "must have 1 to 50 parts"),
        (user([{"text": "x"}] * 51), "[0].content", "not 51"),
        (user(["x"]), "[0].content[0]", "must be {text: …} or {image: …}"),
        (user([{"text": "x", "image": PNG_URL}]), "[0].content[0]", "must be {text: …} or {image: …}"),
        (user([{"text": 1}]), "[0].content[0].text", "must be text"),
        (user([{"image": 1}]), "[0].content[0].image", "is not an image"),
        (user([{"image": "http://a/b.png"}]), "[0].content[0].image", "use an https: URL"),
        (user([{"image": "https://user:secret@a/b.png"}]), "[0].content[0].image", "use an https: URL"),
        (user([{"image": "https://a/" + "x" * 2000}]), "[0].content[0].image", "use an https: URL"),
        (user([{"image": "javascript:alert(1)"}]), "[0].content[0].image", "is not an image"),
        (user([{"image": "../secret.png"}]), "[0].content[0].image", "not found"),
        (user([{"image": "data:text/html;base64,QUJD"}]), "[0].content[0].image", "is not a data: URL of an image"),
        (user([{"image": "data:image/png;base64,QUJD"}]), "[0].content[0].image", "is not a data: URL of an image"),
        (
            user([{"image": "data:image/svg+xml;base64," + SVG}]),
            "[0].content[0].image",
            "is not a data: URL of an image",
        ),
        (user([{"image": "data:image/png;base64," + SVG}]), "[0].content[0].image", "with its real type"),
        (user([{"image": "data:image/png;base64,A"}]), "[0].content[0].image", "is not a data: URL of an image"),
        (user([{"image": "data:image/png;base64," + "A" * 2_700_000}]), "[0].content[0].image", "more than 2,000,000"),
        ([{"role": "assistant", "content": [{"image": PNG_URL}]}, USER], "[0].content[0].image", "not in a message of"),
    ):
        task, problems = validate_task_fields(task_values(input=..., messages=messages))
        assert task is None, messages
        assert list(problems) == ["messages"], problems
        assert any(text.startswith(where) and fragment in text for text in problems["messages"]), (where, problems)


def test_a_task_has_either_input_or_messages_and_no_context_beside_them() -> None:
    for changes, key in (
        ({"messages": [USER]}, "input"),
        ({"input": ..., "messages": [USER], "context": ["A passage."]}, "context"),
        ({"input": ...}, "input"),
    ):
        task, problems = validate_task_fields(task_values(**changes))
        assert (task, list(problems)) == (None, [key])


def test_images_of_a_dataset_are_bounded_together() -> None:
    image = "data:image/png;base64," + base64.b64encode(PNG + b"\0" * 1_499_972).decode()
    tasks = [
        task_values(id=str(n), input=..., messages=[{"role": "user", "content": [{"image": image}]}]) for n in range(4)
    ]
    spec, problems = validate_dataset_fields({"name": "n", "description": "d", "tasks": tasks})
    assert spec is None
    assert "make them smaller" in problems["tasks"][0]


def test_an_image_file_becomes_part_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "cat.png").write_bytes(PNG)
    path = tmp_path / "demo.yaml"
    path.write_text(DEMO % "pictures/cat.png")
    parsed = read_dataset_file(path, tmp_path)
    assert parsed.spec is not None, parsed.problems
    assert parsed.spec.tasks[0].messages[0]["content"][1] == {"image": PNG_URL}
    before = read_content(path, tmp_path)
    (tmp_path / "pictures" / "cat.png").write_bytes(PNG + b"1")
    after, changed = read_content(path, tmp_path), read_dataset_file(path, tmp_path).spec
    assert isinstance(before, FileContent)
    assert isinstance(after, FileContent)
    assert before.sha256 != after.sha256
    assert changed is not None
    assert content_hash(changed) != content_hash(parsed.spec)


def test_only_images_inside_the_folder_are_read(tmp_path: Path) -> None:
    root = tmp_path / "datasets"
    root.mkdir()
    (tmp_path / "outside.png").write_bytes(PNG)
    (root / "link.png").symlink_to(tmp_path / "outside.png")
    (root / "text.png").write_text("no image")
    (root / "drawing.png").write_bytes(base64.b64decode(SVG))
    (root / "large.png").write_bytes(PNG + b"\0" * limits.MAX_IMAGE_BYTES)
    for name in (
        "../outside.png",
        "link.png",
        "text.png",
        "drawing.png",
        "large.png",
        "missing.png",
        str(tmp_path / "outside.png"),
    ):
        (root / "demo.yaml").write_text(DEMO % json.dumps(name))
        (problem,) = read_dataset_file(root / "demo.yaml", root).problems
        assert (problem.line, problem.path) == (8, "tasks[0].messages[0].content[1].image"), name
        assert "is not an image, or not found" in problem.message, name
