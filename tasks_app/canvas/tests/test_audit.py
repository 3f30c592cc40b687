from collections import Counter
from itertools import permutations, product

import pytest

from tasks_app.canvas.audit import audit, worst_verdict
from tasks_app.canvas.descriptions import coordinates, full, partial
from tasks_app.canvas.faults import Fault, Verdict, center_directions, edge_directions
from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.geometry import FORMS
from tasks_app.canvas.original import OriginalCanvas
from tasks_app.canvas.shapes import Shape
from tasks_app.canvas.tests.original_files import needs_original_files, original_documents

CIRCLE = Shape("Circle", "Red", "Small", (-10, 0))
SQUARE = Shape("Square", "Blue", "Large", (0, 5))
TRIANGLE = Shape("Triangle", "Green", "Large", (10, -5))
SHAPES = (CIRCLE, SQUARE, TRIANGLE)

LINE = "From left to right, the shapes are a small red circle, a large blue square, and a large green triangle. "
SWAP = "The small red circle and the large blue square swap positions. "
CHAIN = (
    "There are 3 shapes in a canvas. There is a small red circle in the canvas. "
    "To the right of the small red circle is a large blue square. "
    "To the right of the large blue square is a large green triangle. "
)
CHANGES = "A small red square is added to the canvas. The large blue square is removed from the canvas. "


def document(
    shapes: tuple[Shape, ...] = SHAPES,
    descriptions: dict[str, str] | None = None,
    questions: dict[str, tuple[tuple[str, str | int], ...]] | None = None,
) -> OriginalCanvas:
    return OriginalCanvas(shapes, descriptions or {}, questions or {})


def faults_of(task: str, question: str, answer: str | int, description: str = "") -> list[Fault]:
    """The faults found in one question, which is not alone in its list."""
    others = ((f"Other {number}", "") for number in (1, 2))
    asked = document(descriptions={task: description}, questions={task: ((question, answer), *others)})
    return [finding.fault for finding in audit(asked) if finding.place == f"questions.{task}[0]"]


@needs_original_files
def test_every_difference_of_the_published_files_has_a_named_fault() -> None:
    found = Counter(finding.fault for document in original_documents() for finding in audit(document))
    assert found[Fault.UNEXPLAINED] == found[Fault.UNREADABLE_QUESTION] == found[Fault.WRONG_ANSWER] == 0
    assert found == {
        Fault.DIRECTION_DROPPED: 84,
        Fault.ASYMMETRIC_RELATION: 32,
        Fault.DIRECTION_FROM_EDGES: 8,
        Fault.ORDER_BY_EDGES: 2,
        Fault.TIE_IN_ORDERED_LINE: 13,
        Fault.ANSWER_CONTRADICTS_TEXT: 4,
        Fault.ASKS_ABOUT_NEIGHBORS: 7,
        Fault.NO_TRACKING_NEEDED: 501,
        Fault.REPEATED_QUESTION: 23,
        Fault.TOO_FEW_QUESTIONS: 4,
        Fault.TRAILING_SPACE: 21,
    }


@needs_original_files
def test_our_words_are_theirs_in_every_published_file_where_edges_and_centres_agree() -> None:
    agreeing = 0
    for document in original_documents():
        assert coordinates(document.shapes) == document.descriptions["coordinates"]
        pairs = list(permutations(document.shapes, 2))
        if all(edge_directions(*pair) == center_directions(*pair) for pair in pairs):
            agreeing += 1
            assert full(document.shapes) == document.descriptions["full"]
            assert partial(document.shapes) == document.descriptions["partial"]
        else:
            assert full(document.shapes) != document.descriptions["full"]
    assert agreeing == 164


def test_an_edge_never_contradicts_the_centre() -> None:
    for first, second in product(FORMS, FORMS):
        for x, y in product(range(-12, 13), repeat=2):
            pair = Shape(first[0], "Red", first[1], (x, y)), Shape(second[0], "Blue", second[1], (0, 0))
            for by_edge, by_center in zip(edge_directions(*pair), center_directions(*pair), strict=True):
                assert by_edge == by_center or not (by_edge and by_center)


def test_our_own_descriptions_have_no_fault() -> None:
    for n_shapes in range(1, 25):
        shapes = generate_shapes(n_shapes, canvas_rng(3, n_shapes, 0, "shapes"))
        texts = {"full": full(shapes), "partial": partial(shapes), "coordinates": coordinates(shapes)}
        assert audit(document(shapes, texts)) == ()


@pytest.mark.parametrize(
    ("other", "theirs", "fault"),
    [
        # A large circle spans a small one beside its axis: the original sees no left or right.
        (Shape("Circle", "Red", "Large", (-8, 20)), "above", Fault.DIRECTION_DROPPED),
        # Both right edges are at x = -9, so one order has a word and the other has none.
        (Shape("Circle", "Red", "Large", (-13, 20)), "to the above left of", None),
        (Shape("Triangle", "Red", "Small", (10, 0)), "to the above right of", Fault.DIRECTION_FROM_EDGES),
    ],
)
def test_a_relation_by_edges_is_told_from_one_by_centres(other: Shape, theirs: str, fault: Fault | None) -> None:
    shapes = (CIRCLE, other)
    ours = partial(shapes)
    words = ours.split(f"A {other.name} is ")[1].split(" this ")[0]
    text = ours.replace(f"is {words} this", f"is {theirs} this")
    found = audit(document(shapes, {"partial": text}))
    assert [finding.fault for finding in found] == ([fault] if fault else [])


def test_a_word_missing_in_one_order_only_is_an_asymmetric_relation() -> None:
    other = Shape("Circle", "Red", "Large", (-13, 20))  # its right edge, too, is at x = -9
    text = full((CIRCLE, other)).replace("is to the below right of this large", "is below this large")
    found = audit(document((CIRCLE, other), {"full": text}))
    assert [finding.fault for finding in found] == [Fault.ASYMMETRIC_RELATION]


@pytest.mark.parametrize(
    ("old", "new"),
    [("below", "above"), ("There are 3", "There are 4"), (". ", "."), ("small red circle", "small blue circle")],
)
@pytest.mark.parametrize("name", ["full", "partial", "coordinates"])
def test_a_difference_that_no_fault_explains_is_called_unexplained(name: str, old: str, new: str) -> None:
    ours = {"full": full, "partial": partial, "coordinates": coordinates}[name](SHAPES)
    found = audit(document(descriptions={name: ours.replace(old, new)}))
    assert {finding.fault for finding in found} == ({Fault.UNEXPLAINED} if old in ours else set())


@pytest.mark.parametrize(
    ("center", "faults"),
    [
        ((10, 0), []),
        ((0, 0), [Fault.TIE_IN_ORDERED_LINE] * 2),
        ((-1, 20), [Fault.ORDER_BY_EDGES] * 2),  # its right edge is further right, its centre is not
        ((-20, 0), [Fault.UNEXPLAINED] * 2),
    ],
)
def test_a_line_that_centres_do_not_bear_out_is_found(center: tuple[int, int], faults: list[Fault]) -> None:
    shapes = (Shape("Circle", "Red", "Small", (0, 10)), Shape("Circle", "Red", "Large", center))
    texts = {
        "transitivity": "To the right of the small red circle is a large red circle. ",
        "shuffle_tracking": "From left to right, the shapes are a small red circle and a large red circle. ",
    }
    assert [finding.fault for finding in audit(document(shapes, texts))] == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (CHANGES, []),
        ("A small red circle is added to the canvas. ", [Fault.IMPOSSIBLE_CHANGE]),
        ("The small red square is removed from the canvas. ", [Fault.IMPOSSIBLE_CHANGE]),
        ("The canvas is turned. ", [Fault.UNEXPLAINED]),
        ("A small red square is added to the canv", [Fault.UNEXPLAINED]),
    ],
)
def test_changes_that_cannot_be_are_found(text: str, faults: list[Fault]) -> None:
    found = audit(document(descriptions={"existence_tracking": text}))
    assert [finding.fault for finding in found] == faults


@pytest.mark.parametrize("name", ["transitivity", "shuffle_tracking"])
@pytest.mark.parametrize("text", ["", "No line. ", f"{LINE}The red dog and the large blue square swap positions. "])
def test_a_description_that_cannot_be_read_is_unexplained(name: str, text: str) -> None:
    found = [finding.fault for finding in audit(document(descriptions={name: text}))]
    assert found == ([] if (name, text) == ("transitivity", "") else [Fault.UNEXPLAINED])


@pytest.mark.parametrize(
    ("task", "question", "answer", "faults"),
    [
        ("existence", "Is there a blue square?", "Yes", []),
        ("existence", "Is there a shape that is yellow?", "No", []),
        ("existence", "Is there a large shape?", "No", [Fault.WRONG_ANSWER]),
        ("existence", "Is it nice?", "No", [Fault.UNREADABLE_QUESTION]),
        ("count", "How many large shapes are there?", 2, []),
        ("count", "How many yellow circles are there?", 0, []),
        ("count", "How many triangles are there?", 3, [Fault.WRONG_ANSWER]),
        ("count", "How many triangles are there?", "1", [Fault.WRONG_ANSWER]),
        ("coordinate", "Where is the large blue square relative to the small red circle?", "Above Right", []),
        (
            "coordinate",
            "Where is the large blue square relative to the small red circle?",
            "Left",
            [Fault.WRONG_ANSWER],
        ),
        ("coordinate", "Where is the large blue square relative to the red dog?", "Left", [Fault.UNREADABLE_QUESTION]),
        (
            "coordinate",
            "Where is the large blue square relative to the small red circle?",
            "Above Right ",
            [Fault.TRAILING_SPACE],
        ),
    ],
)
def test_an_answer_about_the_shapes_is_worked_out_again(
    task: str, question: str, answer: str | int, faults: list[Fault]
) -> None:
    assert faults_of(task, question, answer) == faults


FORK = (
    "There is a small red circle in the canvas. To the right of the small red circle is a large blue square. "
    "To the right of the small red circle is a large green triangle. "
)


@pytest.mark.parametrize(
    ("question", "answer", "text", "faults"),
    [
        ("Where is the large green triangle relative to the small red circle?", "Right", CHAIN, []),
        ("Where is the small red circle relative to the large green triangle?", "Left", CHAIN, []),
        (
            "Where is the small red circle relative to the large green triangle?",
            "Right",
            CHAIN,
            [Fault.ANSWER_CONTRADICTS_TEXT],
        ),
        (
            "Where is the large blue square relative to the small red circle?",
            "Right",
            CHAIN,
            [Fault.ASKS_ABOUT_NEIGHBORS],
        ),
        (
            "Where is the large blue square relative to the large green triangle?",
            "Left",
            FORK,
            [Fault.ANSWER_NOT_IN_TEXT],
        ),
        ("Where is the small red square relative to the small red circle?", "Left", CHAIN, [Fault.UNREADABLE_QUESTION]),
    ],
)
def test_a_transitivity_answer_must_follow_from_its_text(
    question: str, answer: str, text: str, faults: list[Fault]
) -> None:
    assert faults_of("transitivity", question, answer, text) == faults


@pytest.mark.parametrize(
    ("question", "answer", "faults"),
    [
        ("What shape is first from the left?", "large blue square", []),
        ("What shape is second from the right?", "small red circle", []),
        ("What shape is first from the left?", "small red circle", [Fault.ANSWER_CONTRADICTS_TEXT]),
        ("What shape is first from the right?", "large green triangle", [Fault.NO_TRACKING_NEEDED]),
        ("What shape is fourth from the right?", "large green triangle", [Fault.UNREADABLE_QUESTION]),
        ("What shape is first from the top?", "large green triangle", [Fault.UNREADABLE_QUESTION]),
    ],
)
def test_a_shuffled_line_is_followed(question: str, answer: str, faults: list[Fault]) -> None:
    assert faults_of("shuffle_tracking", question, answer, LINE + SWAP) == faults


@pytest.mark.parametrize(
    ("name", "answer", "faults"),
    [
        ("small red square", "Yes", []),
        ("large blue square", "No", []),
        ("large blue square", "Yes", [Fault.ANSWER_CONTRADICTS_TEXT]),
        ("small red circle", "Yes", [Fault.NO_TRACKING_NEEDED]),
    ],
)
def test_changes_are_followed(name: str, answer: str, faults: list[Fault]) -> None:
    assert faults_of("existence_tracking", f"Is there a {name} in the canvas? ", answer, CHANGES) == faults


def test_a_list_that_is_short_or_repeats_itself_is_found() -> None:
    question = ("How many circles are there?", 1)
    found = audit(document(questions={"count": (question, question)}))
    assert [(finding.place, finding.fault) for finding in found] == [
        ("questions.count", Fault.TOO_FEW_QUESTIONS),
        ("questions.count[1]", Fault.REPEATED_QUESTION),
    ]


def test_shapes_that_touch_or_share_a_kind_are_found() -> None:
    again = Shape("Circle", "Red", "Small", (-8, 0))
    question = ("Where is the large blue square relative to the small red circle?", "Above Right")
    found = audit(document((CIRCLE, SQUARE, again), {"full": ""}, {"coordinate": (question,)}))
    assert [(finding.place, finding.fault) for finding in found] == [
        ("canvas[2]", Fault.SHAPES_TOUCH),
        ("canvas[2]", Fault.REPEATED_KIND),
        ("descriptions.full", Fault.REPEATED_KIND),
        ("questions.coordinate", Fault.TOO_FEW_QUESTIONS),
        ("questions.coordinate[0]", Fault.REPEATED_KIND),
    ]


def test_what_the_original_does_not_have_is_left_alone() -> None:
    rhymes = (("square?", "fair"), ("circle?", "none"), ("blue?", "two"))
    assert audit(document(descriptions={"poem": "O circle."}, questions={"rhyme": rhymes})) == ()


def test_the_gravest_verdict_of_a_place_is_given() -> None:
    text = LINE + SWAP
    question = ("What shape is first from the right?", "small red circle")
    found = audit(document(descriptions={"shuffle_tracking": text}, questions={"shuffle_tracking": (question,)}))
    assert {finding.fault for finding in found if finding.place.endswith("[0]")} == {
        Fault.ANSWER_CONTRADICTS_TEXT,
        Fault.NO_TRACKING_NEEDED,
    }
    assert worst_verdict(found, "questions.shuffle_tracking[0]") is Verdict.WRONG
    assert worst_verdict(found, "questions.shuffle_tracking[1]") is None
