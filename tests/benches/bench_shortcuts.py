"""What can be scored on generated canvases without reading them, and by a reader that forgets.

Run as `python -m tests.benches.bench_shortcuts`. The first table has, for each task class and number of shapes, the
guess rate (the class's own, or the best constant for each form of question) and what the best of all rules reaches. The
second has what rules reach that use the examples of a few-shot prompt. The other two have the scores of a simulated
reader with a limited memory: it loses more of a longer text, solves the question with what is left, and guesses if that
does not determine an answer. The exit code is 1 if a rule of the first table reaches more than `MARGIN` above the guess
rate.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence

from tasks_app.guess_rates import asked
from tasks_app.loader import CanvasDocument, build_canvas, build_prompt
from tasks_app.shortcuts import EXAMPLES, GUESSES, probe, scoring
from tasks_app.solver import Unsolvable, solve
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

SHAPES = (3, 7, 12, 20, 24)
STEPS = (3, 6, 12, 24)
STEPS_SHAPES = 7
MARGIN = 0.03
MEMORY = 12
"""Names of shapes that the reader remembers of a text."""
TRACKING = ("existence_tracking", "shuffle_tracking")

_NAME = re.compile(r"(?:small|large) (?:red|blue|yellow|green) (?:circle|square|triangle)")


def probe_table(canvases: dict[int, list[CanvasDocument]]) -> list[str]:
    """Print "guess rate / reached" for each class and number of shapes; return the cells above the margin."""
    above: list[str] = []
    rows: dict[str, list[tuple[str, str]]] = {}
    for name, task in REGISTERED_TASKS.items():
        for n_shapes, documents in canvases.items():
            questions = asked(name, n_shapes, documents)
            found, by_examples = probe(questions, scoring(task)), probe(questions, scoring(task), EXAMPLES)
            if found is None or by_examples is None:
                rows.setdefault(name, []).append(("–", "–"))
                continue
            guess = max(task.guess_score or task.guess_rate or 0.0, *(found.scores.get(rule, 0.0) for rule in GUESSES))
            rows.setdefault(name, []).append((f"{guess:.3f} / {found.score:.3f}", f"{by_examples.score:.3f}"))
            if found.score > guess + MARGIN:
                above.append(f"{name}, {n_shapes} shapes")
    for column in (0, 1):
        print(f"| task class | {' | '.join(f'{n} shapes' for n in canvases)} |")
        print(f"|---|{'---|' * len(canvases)}")
        for name, cells in rows.items():
            print(f"| {name} | {' | '.join(cell[column] for cell in cells)} |")
        print()
    return above


def forgetful_answer(prompt: str, rng: random.Random, memory: int = MEMORY) -> str | None:
    """The answer of a reader that remembers each sentence of a canvas with a probability of memory / names in the text.

    None if what it remembers does not determine an answer.
    """
    head, text, question = re.split(r"(?<=Canvas:\n)|(?=\n\nQuestion: )", prompt, maxsplit=2)
    kept_share = memory / max(len(_NAME.findall(text)), 1)
    kept = [
        sentence
        for sentence in re.findall(r"[^.]+\.", text)
        # The number of shapes only helps to number the places of a line; elsewhere it would give the gaps away.
        if (rng.random() < kept_share if _NAME.search(sentence) else "From " in text)
    ]
    try:
        return solve(head + "".join(kept).strip() + question)
    except Unsolvable:
        return None


def forgetful_score(name: str, documents: Sequence[CanvasDocument], rng: random.Random) -> float | None:
    """The reader's mean score on a class; None if the class is not applicable."""
    documents = [document for document in documents if document.questions[name]]
    answers = [str(document.questions[name][0][1]) for document in documents]
    score = scoring(REGISTERED_TASKS[name])
    values = []
    for document, answer in zip(documents, answers, strict=True):
        given = forgetful_answer(build_prompt(document, name, "coordinates").text, rng)
        values.append(score(answer, given if given is not None else rng.choice(answers)))
    return sum(values) / len(values) if values else None


def forgetful_table(names: Sequence[str], unit: str, columns: dict[int, list[CanvasDocument]], seed: int) -> None:
    print(f"| task class | {' | '.join(f'{n} {unit}' for n in columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name in names:
        scores = [forgetful_score(name, documents, random.Random(seed)) for documents in columns.values()]
        print(f"| {name} | {' | '.join('–' if score is None else f'{score:.3f}' for score in scores)} |")
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if a score without the canvas is too high."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--canvases", type=int, default=4000, help="canvases of each number of shapes (default 4000)")
    parser.add_argument("--seed", type=int, default=11, help="seed of the canvases (default 11)")
    options = parser.parse_args(arguments)
    count, seed = options.canvases, options.seed
    canvases = {n: [build_canvas(n, seed, index, count) for index in range(count)] for n in SHAPES}
    above = probe_table(canvases)
    forgetful_table(list(REGISTERED_TASKS), "shapes", canvases, seed)
    stepped = {
        steps: [build_canvas(STEPS_SHAPES, seed, index, count, tracking_steps=steps) for index in range(count)]
        for steps in STEPS
    }
    forgetful_table(TRACKING, "steps", stepped, seed)
    print(f"More than {100 * MARGIN:.0f} points above the guess rate: {'; '.join(above) or 'none'}.")
    return int(bool(above))


if __name__ == "__main__":
    raise SystemExit(main())
