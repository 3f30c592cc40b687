"""Canvas documents and prompts: shapes, their descriptions, questions about them, and the text for a model.

Nothing here uses a database or a model. A document has the content of one canvas file and the difficulty of its
questions; a prompt is exactly what a model is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks_app.canvas.descriptions import DESCRIPTIONS
from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.original import OriginalCanvas, dump_original, parse_original
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS, Question, Task
from tasks_app.tasks.time_limit import CANVAS_SECONDS, within

IMAGE = "image"
REPRESENTATIONS = (*DESCRIPTIONS, IMAGE)
"""The names of the ways to show a canvas to a model."""

STORED_DESCRIPTIONS = ("full", "partial", "coordinates")
"""The descriptions in a canvas file, as in the published ones. Others are made from the shapes when needed."""

ADDED_TO_DESCRIPTION = frozenset({"existence_tracking"})
"""Task classes whose `self.description` follows a description of the canvas. Any other's stands alone."""


class PromptError(ValueError):
    """A prompt that cannot be built; the message says why and what to use instead."""


@dataclass(frozen=True, slots=True)
class CanvasDocument:
    """One canvas with its descriptions and questions.

    `questions` has every task class; the list is empty if it is not applicable, and `not_applicable` says why.
    `descriptions` has `STORED_DESCRIPTIONS` and those of task classes, by task name.
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
        """A document of an imported canvas, with unchanged texts and answers."""
        not_applicable = {
            name: "the file has no question" for name, questions in original.questions.items() if not questions
        }
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
    """Number of examples in the text."""


def build_canvas(
    n_shapes: int,
    seed: int,
    index: int,
    count: int,
    *,
    item: tuple[int, int] | None = None,
    tracking_steps: int = DEFAULT_TRACKING_STEPS,
    tasks: Mapping[str, type[Task]] = REGISTERED_TASKS,
) -> CanvasDocument:
    """Generate canvas `index` of `count` with `n_shapes` shapes, and its questions.

    `index` and `count` are among the canvases with as many shapes; `item` says which one of how many it is in its set,
    by default the same. Shapes and questions depend on (seed, n_shapes, index) and `tracking_steps`. Only what
    `select_expected_answer` makes of `item` may differ. Raises `CanvasError` for an impossible `n_shapes`.
    """
    shapes = generate_shapes(n_shapes, canvas_rng(seed, n_shapes, index, "shapes"))
    descriptions = {name: DESCRIPTIONS[name](shapes) for name in STORED_DESCRIPTIONS}
    document = CanvasDocument(shapes, descriptions, {})
    for name, task in tasks.items():
        rng = canvas_rng(seed, n_shapes, index, name)
        balancing = task(rng)
        balancing.place = (n_shapes, index)
        wanted = balancing.select_expected_answer(*(item or (index, count)))
        result = task.ask(shapes, rng, wanted, tracking_steps)
        if (
            not result.questions and wanted is not None
        ):  # that answer is not possible here; any answer is better than no question
            result = task.ask(shapes, rng, None, tracking_steps)
        document.questions[name] = result.questions
        if not result.questions:
            document.not_applicable[name] = f"needs {task.requirement}"
            continue
        if result.description is not None:
            descriptions[name] = result.description
        document.difficulty[name] = result.difficulty
    return document


def supports(task_name: str, representation: str, tasks: Mapping[str, type[Task]] = REGISTERED_TASKS) -> bool:
    """Whether a representation supports a task class.

    Every text supports every class; an image supports none with a text of its own. Raises `PromptError` for unknown
    names.
    """
    if task_name not in tasks:
        raise PromptError(unknown_class([task_name], tasks))
    if representation not in REPRESENTATIONS:
        raise PromptError(
            f"Representation {representation!r} does not exist. Use one of: {', '.join(REPRESENTATIONS)}."
        )
    return representation != IMAGE or not has_own_text(task_name, tasks[task_name])


def unknown_class(names: Sequence[str], tasks: Mapping[str, type[Task]] = REGISTERED_TASKS) -> str:
    """Say that classes are not among those that this process has loaded, and what to do about it."""
    return (
        f"Task class {', '.join(map(repr, names))} does not exist in this process. If it was added to "
        "tasks_app/tasks/registered_tasks.py after the start, restart the web server and the workers. "
        f"Otherwise, use one of: {', '.join(tasks)}."
    )


def has_own_text(name: str, task: type[Task]) -> bool:
    """Whether the class registered as `name` asks about a text of its own, found out with a sample canvas."""
    if name in ADDED_TO_DESCRIPTION:
        return False
    shapes = generate_shapes(12, canvas_rng(0, 12, 0, "shapes"))
    asked = within(CANVAS_SECONDS, lambda: task.ask(shapes, canvas_rng(0, 12, 0, name)))
    return asked.description is not None


def check_supported(
    task_names: Sequence[str], representation: str, tasks: Mapping[str, type[Task]] = REGISTERED_TASKS
) -> None:
    """Raise `PromptError` with the alternatives unless `representation` supports all these task classes."""
    missing = [name for name in task_names if not supports(name, representation, tasks)]
    if missing:
        carried = ", ".join(name for name in tasks if supports(name, representation, tasks))
        texts = ", ".join(DESCRIPTIONS)
        raise PromptError(
            f"The representation {representation} supports {carried}; {texts} support every task class. "
            f"Not supported by {representation}: {', '.join(missing)}."
        )


def build_prompt(
    document: CanvasDocument,
    task_name: str,
    representation: str,
    few_shot: bool | int = False,
    tasks: Mapping[str, type[Task]] = REGISTERED_TASKS,
) -> Prompt:
    """The prompt with a task class's evaluated question, after its first examples (`few_shot`; True is all of them).

    Raises `PromptError` if the class has no question about this canvas, or the representation does not support it.
    """
    check_supported([task_name], representation, tasks)
    questions = document.questions.get(task_name, ())
    if not questions:
        reason = document.not_applicable.get(task_name, "the document was created without it")
        raise PromptError(f"{task_name} has no question about this canvas: {reason}.")
    (question, expected), *others = questions
    wanted = len(others) if few_shot is True else int(few_shot)
    if not 0 <= wanted <= len(others):
        raise PromptError(f"{wanted} examples are not possible. Use 0 to {len(others)}.")
    examples = others[:wanted]
    in_picture = representation == IMAGE
    return Prompt(
        text=_text(_canvas_text(document, task_name, representation), examples, tasks[task_name].instruction, question),
        expected=str(expected).strip(),
        needs_image=in_picture,
        examples=len(examples),
    )


def describe(document: CanvasDocument, representation: str) -> str:
    """Return a canvas in one of the text representations, from its file or else from its shapes."""
    stored = document.descriptions.get(representation)
    return DESCRIPTIONS[representation](document.shapes) if stored is None else stored


def _canvas_text(document: CanvasDocument, task_name: str, representation: str) -> str:
    own_text = document.descriptions.get(task_name)
    if own_text is not None and task_name not in ADDED_TO_DESCRIPTION:
        return own_text
    shown = "See the picture. " if representation == IMAGE else describe(document, representation)
    return shown + (own_text or "")


def _text(canvas: str, examples: Sequence[Question], instruction: str, question: str) -> str:
    """The text of a prompt, in parts separated by empty lines; the last part is the question."""
    parts = [
        f"Answer a question about a canvas. {instruction} You may reason first; end your reply with a line that says "
        f'"Answer:" and then your answer alone.',
        f"Canvas:\n{canvas.strip()}",
        *(f"Question: {example.strip()}\nAnswer: {str(answer).strip()}" for example, answer in examples),
        f"Question: {question.strip()}",
    ]
    return "\n\n".join(parts) + "\n"
