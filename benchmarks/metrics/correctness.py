from __future__ import annotations

from dataclasses import replace

from benchmarks.metrics.base import Item, Score, scored
from benchmarks.metrics.extraction import same_spacing
from benchmarks.metrics.judges import GEvalMetric, as_data, shown_answer
from tasks_app.tasks.reply import answer_body


class Correctness(GEvalMetric):
    """Whether the answer agrees with the reference in everything the task asks for. One judge call."""

    name = "correctness"
    title = "Correctness"
    description = "A judge compares the facts in the answer with the expected answer (G-Eval)"
    needs = frozenset({"expected_output"})
    steps = (
        "Read the task in Input, and take Expected Output as a right answer to it, even where you would disagree.",
        "Compare the facts, values, names, code behaviour and conclusions of Actual Output with those of Expected "
        "Output. Other wording, order, formatting or language is no mistake; neither is a correct explanation around "
        "the answer.",
        "A fact that contradicts Expected Output is heavily penalised. So is a missing fact that the task asks for.",
        "Where Actual Output gives several answers without choosing one, or chooses one and then another, judge the "
        "final one; a list that merely includes the right one is wrong.",
        "An empty answer, a refusal or a reply to another question is wrong. Length and tone are worth nothing.",
    )
    rubric = (
        ((0, 0), "Wrong, empty, refused, or not an answer to the task."),
        ((1, 3), "The main point is wrong or missing, though something related is right."),
        ((4, 6), "Partly right: some of what the task asks for is right, some is wrong or missing."),
        ((7, 9), "Right in all that matters, with a small omission or inaccuracy."),
        ((10, 10), "Says the same as Expected Output in all that the task asks for."),
    )

    def reordered(self, item: Item) -> Item:
        last, *others = reversed((item.expected_output, *item.other_answers))
        return replace(item, expected_output=last, other_answers=tuple(others))

    def shown(self, item: Item) -> tuple[str, str, str]:
        return as_data("TASK", item.input), shown_answer(item), as_data("REFERENCE", item.reference)

    def decided_without_judge(self, item: Item) -> Score | None:
        answer = same_spacing(answer_body(item.actual_output))
        if any(answer == same_spacing(text) for text in (item.expected_output, *item.other_answers)):
            return scored(1.0, "The answer is identical to the expected text, so the judge was not called.")
        return None
