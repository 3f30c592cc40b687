"""existence_tracking: shapes are added and removed; is one of them there in the end?"""

from __future__ import annotations

from tasks_app.canvas.shapes import KIND_NAMES, Shape
from tasks_app.tasks.draw import pick, shuffled
from tasks_app.tasks.judging import judge_yes_no
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict


class ExistenceTrackingTask(Task):
    """Tells changes to a canvas and asks whether a shape is there afterwards.

    All three questions are about shapes that the changes brought or took away, so the canvas as first described gives
    the wrong answer. One exception: where every kind is there at first, a Yes can only be about a shape that was taken
    away and brought back. A kind that the canvas holds twice is neither changed nor asked about.
    """

    name = "existence_tracking"
    instruction = "Answer with Yes or No, for the canvas after all these changes."
    requirement = "three kinds of shape, not repeated on the canvas, that can be added or removed"
    guess_rate = 1 / 2

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        names = [shape.name for shape in shapes]
        free = {"Yes": [name for name in KIND_NAMES.values() if name not in names], "No": _single(names)}
        wanted = str(selected_answer) if selected_answer else pick(self.rng, ("Yes", "No"))
        brought_back = wanted == "Yes" and not free["Yes"]
        source = free["No" if brought_back else wanted]
        if len(free["Yes"]) + len(free["No"]) < 3 or not source:
            return []
        pairs = [(self._take(source), wanted)]
        for answer in shuffled(self.rng, ("Yes", "No")):
            given = answer if free[answer] else ("No" if answer == "Yes" else "Yes")
            pairs.append((self._take(free[given]), given))
        changed = [name for name, _ in pairs] + [pairs[0][0]] * brought_back
        self.description = self._tell(self._with_more_steps(changed, free), set(names))
        return [(_question(name), answer) for name, answer in pairs]

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return ("Yes", "No")[i % 2]

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_yes_no(expected, actual)

    def _take(self, names: list[str]) -> str:
        return names.pop(int(self.rng.random() * len(names)))

    def _with_more_steps(self, changed: list[str], free: dict[str, list[str]]) -> list[str]:
        """Lengthen the changes to `self.tracking_steps`; an asked shape gets two at a time, which cancel out."""
        questioned = list(changed)
        rest = free["Yes"] + free["No"]
        missing = self.tracking_steps - len(changed)
        if missing % 2 and missing > 0 and rest:
            changed = [*changed, pick(self.rng, rest)]
        while len(changed) + 2 <= self.tracking_steps:
            changed = [*changed, *[pick(self.rng, questioned)] * 2]
        return shuffled(self.rng, changed)

    def _tell(self, changed: list[str], present: set[str]) -> str:
        sentences = []
        for name in changed:
            removed = name in present
            present ^= {name}
            sentences.append(f"The {name} is removed from" if removed else f"A {name} is added to")
        self.difficulty = {"tracking_steps": len(changed)}
        return "".join(f"{sentence} the canvas. " for sentence in sentences)


def _single(names: list[str]) -> list[str]:
    return names[:] if len(set(names)) == len(names) else [name for name in names if names.count(name) == 1]


def _question(name: str) -> str:
    return f"Is there a {name} in the canvas? "  # the space at the end is in the published canvases
