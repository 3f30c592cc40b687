"""Canvas documents and prompts: shapes drawn, described, asked about, and put before a model.

Nothing here touches a database or a model. A document is what one canvas file holds, with the difficulty of its
questions beside it; a prompt is exactly what a model is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks_app.canvas.descriptions import DESCRIPTIONS
from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.original import OriginalCanvas, dump_original, parse_original
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS, QUESTIONS_PER_CANVAS, Question, Task

IMAGE = "image"
REPRESENTATIONS = (*DESCRIPTIONS, IMAGE)
"""The names of the ways to show a canvas to a model."""

STORED_DESCRIPTIONS = ("full", "partial", "coordinates")
"""What a canvas file holds, as the published ones do. The other descriptions are made from the shapes when needed."""

ADDED_TO_DESCRIPTION = frozenset({"existence_tracking"})
"""Task classes whose `self.description` follows a description of the canvas. Any other's stands alone."""


class PromptError(ValueError):
    """A prompt that cannot be built; the text says why and what can be asked instead."""


@dataclass(frozen=True, slots=True)
class CanvasDocument:
    """One canvas with everything said and asked about it.

    `questions` has every task class; the list is empty where it is not applicable, and `not_applicable` says why.
    `descriptions` has `STORED_DESCRIPTIONS` and those that task classes made, by task name.
    """

    shapes: tuple[Shape, ...]
    descriptions: dict[str, str]
    questions: dict[str, tuple[Question, ...]]
    difficulty: dict[str, dict[str, int]] = field(default_factory=dict)
    not_applicable: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the canvas file: `canvas`, `descriptions` and `questions` in the layout of the published data."""
        return dump_original(self.shapes, self.descriptions, self.questions)

    @classmethod
    def from_original(cls, original: OriginalCanvas) -> CanvasDocument:
        """Take over an imported canvas with its texts and answers as they are."""
        not_applicable = {name: "the file has no question" for name, asked in original.questions.items() if not asked}
        return cls(original.shapes, original.descriptions, original.questions, not_applicable=not_applicable)

    @classmethod
    def from_json(cls, data: bytes, file: str) -> CanvasDocument:
        """Read a canvas file. Raises `CanvasError` naming `file` and what is wrong in it."""
        return cls.from_original(parse_original(data, file))


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent, and the answer it should give."""

    text: str
    expected: str
    needs_image: bool
    examples: int
    """How many questions with their answers the text shows first."""


def build_canvas(
    n_shapes: int,
    seed: int,
    index: int,
    count: int,
    *,
    tracking_steps: int = DEFAULT_TRACKING_STEPS,
    tasks: Mapping[str, type[Task]] = REGISTERED_TASKS,
) -> CanvasDocument:
    """Draw canvas `index` of the `count` with `n_shapes` shapes, and ask everything about it.

    Shapes and questions depend on (seed, n_shapes, index) and `tracking_steps`; `count` is only handed on to
    `select_expected_answer`. Raises `CanvasError` for an impossible `n_shapes`.
    """
    shapes = generate_shapes(n_shapes, canvas_rng(seed, n_shapes, index, "shapes"))
    descriptions = {name: DESCRIPTIONS[name](shapes) for name in STORED_DESCRIPTIONS}
    document = CanvasDocument(shapes, descriptions, {})
    for name, task in tasks.items():
        rng = canvas_rng(seed, n_shapes, index, name)
        wanted = task(rng).select_expected_answer(index, count)
        asked = task.ask(shapes, rng, wanted, tracking_steps)
        if not asked.questions and wanted is not None:  # not to be had here: any answer is better than no question
            asked = task.ask(shapes, rng, None, tracking_steps)
        document.questions[name] = asked.questions
        if not asked.questions:
            document.not_applicable[name] = f"needs {task.requirement}"
            continue
        if asked.description is not None:
            descriptions[name] = asked.description
        document.difficulty[name] = asked.difficulty
    return document


def supports(task_name: str, representation: str, tasks: Mapping[str, type[Task]] = REGISTERED_TASKS) -> bool:
    """Tell whether questions of a task class can be asked in a representation.

    Every text can carry every class; a picture carries none that is asked of a text of its own. Raises `PromptError`
    for names there are not.
    """
    if task_name not in tasks:
        raise PromptError(f"There is no task class {task_name!r}: use {', '.join(tasks)}.")
    if representation not in REPRESENTATIONS:
        raise PromptError(f"There is no representation {representation!r}: use {', '.join(REPRESENTATIONS)}.")
    return representation != IMAGE or not has_own_text(tasks[task_name])


def has_own_text(task: type[Task]) -> bool:
    """Tell whether a class asks about a text of its own, by what it makes of a sample canvas."""
    shapes = generate_shapes(12, canvas_rng(0, 12, 0, "shapes"))
    description = task.ask(shapes, canvas_rng(0, 12, 0, task.name)).description
    return description is not None and task.name not in ADDED_TO_DESCRIPTION


def check_supported(
    task_names: Sequence[str], representation: str, tasks: Mapping[str, type[Task]] = REGISTERED_TASKS
) -> None:
    """Raise `PromptError`, listing what can be combined, unless `representation` carries all these task classes."""
    missing = [name for name in task_names if not supports(name, representation, tasks)]
    if missing:
        carried = ", ".join(name for name in tasks if supports(name, representation, tasks))
        texts = ", ".join(DESCRIPTIONS)
        raise PromptError(
            f"The representation {representation} carries {carried}; every task class can be asked with {texts}. "
            f"Not with {representation}: {', '.join(missing)}."
        )


def build_prompt(
    document: CanvasDocument,
    task_name: str,
    representation: str,
    few_shot: bool | int = False,
    tasks: Mapping[str, type[Task]] = REGISTERED_TASKS,
) -> Prompt:
    """Put a task class's evaluated question before a model, after up to two examples (`few_shot`; True is both).

    Raises `PromptError` where the class has no question about this canvas, or the representation cannot carry it.
    """
    check_supported([task_name], representation, tasks)
    questions = document.questions.get(task_name, ())
    if not questions:
        reason = document.not_applicable.get(task_name, "the document was made without it")
        raise PromptError(f"{task_name} has no question about this canvas: {reason}.")
    wanted = QUESTIONS_PER_CANVAS - 1 if few_shot is True else int(few_shot)
    if not 0 <= wanted < QUESTIONS_PER_CANVAS:
        raise PromptError(f"{wanted} examples cannot be shown: use 0 to {QUESTIONS_PER_CANVAS - 1}.")
    (question, expected), *others = questions
    examples = others[:wanted]
    in_picture = representation == IMAGE
    return Prompt(
        text=_text(_canvas_text(document, task_name, representation), examples, tasks[task_name].instruction, question),
        expected=str(expected).strip(),
        needs_image=in_picture,
        examples=len(examples),
    )


def describe(document: CanvasDocument, representation: str) -> str:
    """Return a canvas in one of the text representations, as its file has it or else from its shapes."""
    stored = document.descriptions.get(representation)
    return DESCRIPTIONS[representation](document.shapes) if stored is None else stored


def _canvas_text(document: CanvasDocument, task_name: str, representation: str) -> str:
    own_text = document.descriptions.get(task_name)
    if own_text is not None and task_name not in ADDED_TO_DESCRIPTION:
        return own_text
    shown = "See the picture. " if representation == IMAGE else describe(document, representation)
    return shown + (own_text or "")


def _text(canvas: str, examples: Sequence[Question], instruction: str, question: str) -> str:
    """Lay out a prompt; parts are apart by an empty line, and the last part is the question."""
    parts = [
        f"Answer a question about a canvas. {instruction} You may reason first; end your reply with a line that says "
        f'"Answer:" and then your answer alone.',
        f"Canvas:\n{canvas.strip()}",
        *(f"Question: {asked.strip()}\nAnswer: {str(answer).strip()}" for asked, answer in examples),
        f"Question: {question.strip()}",
    ]
    return "\n\n".join(parts) + "\n"
