import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.original import (
    MAX_BYTES,
    QuestionAndAnswer,
    dump_original,
    file_name,
    parse_file_name,
    parse_original,
)
from tasks_app.canvas.shapes import CanvasError
from tasks_app.canvas.tests.original_files import needs_original_files, original_documents, original_files

CIRCLE = '{"shape": "Circle", "color": "Red", "size": "Small", "center": [1, 2]}'


def document(canvas: str = f"[{CIRCLE}]", descriptions: str = "{}", questions: str = "{}") -> bytes:
    return f'{{"canvas": {canvas}, "descriptions": {descriptions}, "questions": {questions}}}'.encode()


@needs_original_files
def test_every_published_file_comes_back_byte_for_byte() -> None:
    assert len(original_files()) == 200
    for path, read in zip(original_files(), original_documents(), strict=True):
        assert dump_original(read.shapes, read.descriptions, read.questions) == path.read_bytes()
        assert file_name(*parse_file_name(path.name)) == path.name
        assert parse_file_name(path.name)[0] == len(read.shapes)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,10}", fullmatch=True)
questions = st.lists(st.tuples(texts, texts | st.integers(-1_000_000, 1_000_000)), max_size=4).map(tuple)


@given(st.integers(1, 24), st.dictionaries(names, texts, max_size=4), st.dictionaries(names, questions, max_size=4))
def test_any_document_is_written_as_json_dumps_would_and_read_back(
    n_shapes: int, descriptions: dict[str, str], questions: dict[str, tuple[QuestionAndAnswer, ...]]
) -> None:
    shapes = generate_shapes(n_shapes, canvas_rng(1, n_shapes, 0, "shapes"))
    written = dump_original(shapes, descriptions, questions)
    canvas = [{"shape": s.shape, "color": s.color, "size": s.size, "center": s.center} for s in shapes]
    expected = {"canvas": canvas, "descriptions": descriptions, "questions": questions}
    assert written.decode() == json.dumps(expected, indent=4)
    read = parse_original(written, "any.json")
    assert (read.shapes, read.descriptions, read.questions) == (shapes, descriptions, questions)
    assert list(read.questions) == list(questions)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x.json: this is not JSON in UTF-8"),
        (b"\xff{}", "x.json: this is not JSON in UTF-8"),
        (b"[" * 100_000, "x.json: lists or objects are nested too deeply"),
        (b"9" * 5_000, "x.json: this is not JSON"),
        (b" " * (MAX_BYTES + 1), "x.json: the file has 1,000,001 bytes; a canvas file has at most 1,000,000"),
        (b"[]", "x.json: must be an object, not list"),
        (b"{}", 'x.json: the key "canvas" is missing'),
        (b'{"canvas": [], "canvas": []}', 'x.json: the key "canvas" is given twice'),
        (document(canvas="[NaN]"), "x.json: NaN is not a value of JSON"),
        (document()[:-1] + b', "more": 1}', 'x.json: the key "more" is unknown; the keys are canvas, descriptions'),
        (document(canvas="[]"), "x.json: canvas: must hold 1 to 48 shapes, not 0"),
        (document(canvas=f"[{','.join([CIRCLE] * 49)}]"), "x.json: canvas: must hold 1 to 48 shapes, not 49"),
        (document(canvas="[null]"), r"x.json: canvas\[0\]: must be an object, not null"),
        (
            document(canvas=f"[{CIRCLE.replace('Red', 'red')}]"),
            r"canvas\[0\].color: must be one of Red, Blue, .* not \"red\"",
        ),
        (
            document(canvas=f"[{CIRCLE.replace('[1, 2]', '[1.0, 2]')}]"),
            r"canvas\[0\].center: must be two whole numbers",
        ),
        (
            document(canvas=f"[{CIRCLE.replace('[1, 2]', '[true, 2]')}]"),
            r"canvas\[0\].center: must be two whole numbers",
        ),
        (
            document(canvas=f"[{CIRCLE.replace('[1, 2]', '[1, 32]')}]"),
            r"a small red circle at \(1, 32\) crosses the border",
        ),
        (
            document(canvas=f"[{CIRCLE.replace('[1, 2]', f'[1, {10**4000}]')}]"),
            r"canvas\[0\].center: must be two whole numbers",
        ),
        (document(descriptions='{"full": 3}'), "descriptions.full: must be a text, not 3"),
        (document(descriptions=r'{"full": "\u0000"}'), "descriptions.full: the text has a NUL character"),
        (document(descriptions=r'{"full": "\ud800"}'), "descriptions.full: .* half of a surrogate pair"),
        (document(descriptions='{"../full": "x"}'), 'descriptions: "../full" is not a name'),
        (document(questions='{"count": {}}'), "questions.count: must be a list, not dict"),
        (document(questions='{"count": [["How?"]]}'), r"questions.count\[0\]: must be \[question, answer\]"),
        (document(questions='{"count": [["How?", true]]}'), r"questions.count\[0\]\[1\]: must be a text, not true"),
        (
            document(questions='{"count": [["How?", 1e400]]}'),
            r"questions.count\[0\]\[1\]: must be a text, not Infinity",
        ),
        (document(questions='{"count": [["How?", 1000001]]}'), r"questions.count\[0\]\[1\]: a number must lie between"),
        (document(questions=f'{{"count": {[[1, 2]] * 101}}}'), "questions.count: must hold at most 100 questions"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_key(data: bytes, message: str) -> None:
    with pytest.raises(CanvasError, match=message) as caught:
        parse_original(data, "x.json")
    assert str(caught.value).startswith("x.json: ")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "name", ["canvas_3.json", "canvas_03_1.json", "canvas_3_-1.json", "canvas_3_1.json.bak", "canvas_3_１.json"]
)
def test_a_file_of_another_name_is_refused(name: str) -> None:
    with pytest.raises(CanvasError, match="a canvas file is named"):
        parse_file_name(name)
