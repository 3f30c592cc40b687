"""What can be scored without the canvas: rules that read a question and at most one sentence of its class's own text.

`probe` tries every rule on the questions of one task class. Whatever a rule learns, it learns from other canvases than
the one it answers about: canvases are divided into `FOLDS`. The best rule is also chosen without the fold it answers.
So the result is what a model without the canvas can reach, not what fits by chance.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise

from tasks_app.canvas.right_answers import ORDINALS
from tasks_app.canvas.shapes import COLORS, SHAPES, SIZES
from tasks_app.canvas.wording import OPPOSITE_SIDES
from tasks_app.tasks.task import Task
from tasks_app.tasks.time_limit import TookTooLong

FOLDS = 5
MAX_GUESSES = 24
"""Only the most frequent answers are guessed."""

_TYPES = {
    word.lower() + ending: kind
    for kind, values in (("size", SIZES), ("color", COLORS), ("shape", SHAPES))
    for word in values
    for ending in ("", "s")
} | {"shape": "noun", "shapes": "noun"}
_WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)?|\d+")
_NAME = re.compile(rf"\b(?:{'|'.join(sorted(_TYPES, key=len, reverse=True))})\b(?: (?:{'|'.join(_TYPES)})\b)*")
_PLACE = re.compile(r"([a-z-]+) from the (left|right|top|bottom)")
_LISTED = re.compile(r"From (left|right|top|bottom) to ")
_AXES = {"above": "y", "below": "y", "top": "y", "bottom": "y", "left": "x", "right": "x"}

Score = Callable[[str, str], float]
"""(reference answer, guess) → score from 0 to 1."""


def scoring(task_class: type[Task]) -> Score:
    """The class's own scoring, remembered; 0 if it fails. Raises `TookTooLong`, as each further guess would."""

    @cache
    def score(answer: str, guess: str) -> float:
        try:
            return task_class.verdict(answer.strip(), guess).value or 0.0
        except TookTooLong:
            raise
        except Exception:  # a task class added by a user may raise anything; in a run this gives no score either
            return 0.0

    return score


@dataclass(frozen=True)
class Asked:
    """A question as a rule sees it. `text` is its class's own text, `number` that of the canvas."""

    question: str
    text: str
    n_shapes: int
    number: int
    answer: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    """The questions and answers of a few-shot prompt."""

    @property
    def fold(self) -> int:
        return self.number % FOLDS

    @cached_property
    def form(self) -> str:
        """The question with the kind of each attribute instead of the attribute, and the axes its text is about."""
        words = _WORD.findall(self.question.lower())
        axes = {_AXES[word] for word in _WORD.findall(self.text.lower()) if word in _AXES}
        masked = ["place" if word in ORDINALS else _TYPES.get(word, word) for word in words]
        return " ".join([*masked, *sorted(axes)])

    @cached_property
    def asked_about(self) -> list[frozenset[str]]:
        """The attributes of each shape that the question names."""
        return [_attributes(name) for name in _names(self.question)]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the text that name a shape."""
        return [sentence for sentence in self.text.split(". ") if _names(sentence)]

    @cached_property
    def stated_answer(self) -> str | None:
        """The shape at the place asked about, according to the line in the text."""
        place = _PLACE.search(self.question)
        line = next((sentence for sentence in self.sentences if _LISTED.match(sentence)), "")
        if place is None or not line or place[1] not in ORDINALS:
            return None
        side, names = line.split()[1], _names(line)
        if place[2] not in (side, OPPOSITE_SIDES[side]):
            return None
        index = ORDINALS.index(place[1])
        ordered = names if place[2] == side else names[::-1]
        return ordered[index] if index < len(ordered) else None

    def mention(self, shape: int, last: bool) -> str | None:
        """The first or the last sentence about the shape that the question names at this place, without names."""
        if shape >= len(self.asked_about):
            return None
        kind = self.asked_about[shape]
        for sentence in reversed(self.sentences) if last else self.sentences:
            masked = _NAME.sub(lambda name: "it" if kind <= _attributes(name[0]) else "another", sentence)
            if re.search(r"\bit\b", masked):
                return masked
        return None

    def named(self, sentence: int, name: int) -> str | None:
        """The shape at this place in this sentence of the text; negative numbers count from the end."""
        names = _names(self.sentences[sentence]) if self.sentences else []
        return names[name] if names else None

    @cached_property
    def example_answers(self) -> tuple[str, ...]:
        return tuple(answer for _, answer in self.examples)

    @cached_property
    def example_forms(self) -> tuple[str, ...]:
        return tuple(replace(self, question=question).form for question, _ in self.examples)

    def unlike_examples(self, last: bool) -> str | None:
        """The first or last shape that the text names and no example has as its answer."""
        names = [name for sentence in self.sentences for name in _names(sentence)]
        others = [name for name in names if name not in self.example_answers]
        return (others[-1] if last else others[0]) if others and self.examples else None

    def partner(self, last: bool) -> str | None:
        """The shape that the first or last sentence after the line names beside the one at the place asked about."""
        swaps = [_names(it) for it in self.sentences if not _LISTED.match(it)]
        with_it = [names for names in swaps if self.stated_answer in names and len(names) == 2]
        if self.stated_answer is None or not with_it:
            return self.stated_answer
        first, second = with_it[-1 if last else 0]
        return second if first == self.stated_answer else first


def _names(sentence: str) -> list[str]:
    """The shapes that a sentence names by at least one attribute."""
    return [match[0] for match in _NAME.finditer(sentence) if _attributes(match[0])]


def _attributes(name: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in name.split()) - {"shape"}


class _Table:
    """Gives the best constant for each key. Without a key, it is the best constant of all."""

    def __init__(self, key: Callable[[Asked], Hashable]) -> None:
        self.key = key

    def fit(self, questions: Sequence[Asked], score: Score) -> Callable[[Asked], str]:
        answers: dict[Hashable, Counter[str]] = defaultdict(Counter)
        total: Counter[str] = Counter()
        for question in questions:
            answers[self.key(question)][question.answer] += 1
            total[question.answer] += 1
        guesses = [answer for answer, _ in total.most_common(MAX_GUESSES)]
        best = {key: _best_constant(counts, guesses, score) for key, counts in answers.items()}
        otherwise = _best_constant(total, guesses, score)
        return lambda question: best.get(self.key(question), otherwise)


def _best_constant(answers: Mapping[str, int], guesses: Iterable[str], score: Score) -> str:
    return max(guesses, key=lambda guess: sum(n * score(answer, guess) for answer, n in answers.items()))


class _Pointer:
    """Gives a shape that the text names at a fixed place."""

    def __init__(self, find: Callable[[Asked], str | None]) -> None:
        self.find = find

    def fit(self, questions: Sequence[Asked], score: Score) -> Callable[[Asked], str]:
        otherwise = Counter(question.answer for question in questions).most_common(1)[0][0]
        return lambda question: self.find(question) or otherwise


class _NaiveBayes:
    """Gives the likeliest answer by the words of the question, its pairs of words and the number of shapes.

    Multinomial naive Bayes with add-one smoothing.
    """

    def fit(self, questions: Sequence[Asked], score: Score) -> Callable[[Asked], str]:
        answers = Counter(question.answer for question in questions)
        guesses = [answer for answer, _ in answers.most_common(MAX_GUESSES)]
        grams: dict[str, Counter[str]] = {answer: Counter() for answer in guesses}
        for question in questions:
            if question.answer in grams:
                grams[question.answer].update(_grams(question))
        size = len(set().union(*grams.values()))
        totals = {answer: counts.total() + size for answer, counts in grams.items()}

        def answer_to(question: Asked) -> str:
            features = _grams(question)

            def likelihood(answer: str) -> float:
                counts, total = grams[answer], totals[answer]
                return math.log(answers[answer]) + sum(math.log((counts[it] + 1) / total) for it in features)

            return max(guesses, key=likelihood)

        return answer_to


def _grams(question: Asked) -> list[str]:
    words = _WORD.findall(question.question.lower())
    return [*words, *map(" ".join, pairwise(words)), f"{question.n_shapes} shapes"]


Rule = _Table | _Pointer | _NaiveBayes

GUESSES: dict[str, Rule] = {
    "constant": _Table(lambda question: ""),
    "form": _Table(lambda question: question.form),
    "form and number of shapes": _Table(lambda question: (question.form, question.n_shapes)),
    "first shape of the text": _Pointer(lambda question: question.named(0, 0)),
    "last shape of the text": _Pointer(lambda question: question.named(-1, -1)),
}
"""Rules that always say the same, for each form of question. Where answers are names, the same place in the text."""

SHORTCUTS: dict[str, Rule] = {
    "words of the question": _NaiveBayes(),
    "first mention": _Table(lambda question: (question.form, question.mention(0, last=False))),
    "last mention": _Table(lambda question: (question.form, question.mention(0, last=True))),
    "first mention of the second shape": _Table(lambda question: (question.form, question.mention(1, last=False))),
    "last mention of the second shape": _Table(lambda question: (question.form, question.mention(1, last=True))),
    "place as first told": _Pointer(lambda question: question.stated_answer),
    "first swap": _Pointer(lambda question: question.partner(last=False)),
    "last swap": _Pointer(lambda question: question.partner(last=True)),
}
"""Rules that use the words of the question, or one sentence about what it asks."""

RULES: dict[str, Rule] = GUESSES | SHORTCUTS

EXAMPLES: dict[str, Rule] = {
    "answers of the examples": _Table(lambda question: (question.form, question.example_answers)),
    "forms and answers of the examples": _Table(
        lambda question: (question.form, question.example_forms, question.example_answers)
    ),
    "first shape that no example has": _Pointer(lambda question: question.unlike_examples(last=False)),
    "last shape that no example has": _Pointer(lambda question: question.unlike_examples(last=True)),
}
"""Rules that use the worked examples of a few-shot prompt."""


@dataclass(slots=True)
class Probe:
    """The rules, fitted to the questions of one task class.

    `scores` are the means of each rule on questions that it was not fitted to. `score` is that of the best rule, chosen
    without the questions it is scored on; `by_shapes` has it for each number of shapes, with the number of questions.
    """

    score: float
    best: str
    scores: dict[str, float]
    by_shapes: dict[int, tuple[float, int]]
    _rules: dict[int, Callable[[Asked], str]] = field(repr=False)

    def answer(self, question: Asked) -> str:
        """Answer a question by the best rule of its fold."""
        return self._rules[question.fold](question)


def probe(questions: Sequence[Asked], score: Score, candidates: Mapping[str, Rule] = RULES) -> Probe | None:
    """Try the rules that apply; None if none does, or there are no questions outside some fold."""
    learning = {fold: [question for question in questions if question.fold != fold] for fold in range(FOLDS)}
    rules = {
        name: rule
        for name, rule in candidates.items()
        if not isinstance(rule, _Pointer) or any(map(rule.find, questions))
    }
    if not rules or not all(learning.values()):
        return None
    fitted = {name: {fold: rule.fit(learning[fold], score) for fold in learning} for name, rule in rules.items()}
    values = {
        name: [score(question.answer, folds[question.fold](question)) for question in questions]
        for name, folds in fitted.items()
    }
    chosen = {
        fold: max(
            rules, key=lambda name: sum(v for v, it in zip(values[name], questions, strict=True) if it.fold != fold)
        )
        for fold in learning
    }
    blind = [(question.n_shapes, values[chosen[question.fold]][place]) for place, question in enumerate(questions)]
    by_shapes: dict[int, list[float]] = defaultdict(list)
    for n_shapes, value in blind:
        by_shapes[n_shapes].append(value)
    return Probe(
        score=math.fsum(value for _, value in blind) / len(blind),
        best=max(rules, key=lambda name: math.fsum(values[name])),
        scores={name: math.fsum(of_rule) / len(of_rule) for name, of_rule in values.items()},
        by_shapes={n: (math.fsum(of_n) / len(of_n), len(of_n)) for n, of_n in sorted(by_shapes.items())},
        _rules={fold: fitted[name][fold] for fold, name in chosen.items()},
    )
