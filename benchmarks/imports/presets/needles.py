"""Needles in a haystack, after RULER (Hsieh et al. 2024): generated from a seed, nothing is fetched."""

from __future__ import annotations

import random
from typing import NamedTuple

from benchmarks.imports.presets.base import Preset, Task

CHARACTERS_A_TOKEN = 4
LENGTHS = (4_000, 8_000, 16_000)
"""Tokens, estimated."""

_FIRST = "amber brisk calm dusty eager faint gentle hollow idle jolly keen lively mellow narrow oval pale quiet rapid"
_SECOND = "anchor basket candle desert engine forest garden harbor island jacket kettle ladder meadow needle orchard"
_SUBJECTS = "The gardener,A neighbor,The old miller,One of the sailors,The librarian,A traveler,The baker,The child"
_ACTIONS = (
    "walked along the river,counted the boats in the bay,repaired the wooden gate,read a letter twice,"
    "waited for the evening train,carried water from the well,painted the shutters green,listened to the rain"
)
_ENDINGS = "before breakfast,without a word,as every week,until the lamps were lit,in spite of the wind,with great care"


class _Kind(NamedTuple):
    """How many keys stand in the text, values each has, and keys are asked for. ``repeats`` is one sentence as text."""

    keys: int = 1
    values: int = 1
    n_questions: int = 1
    repeats: bool = False


_KINDS = {
    "single, repeated text": _Kind(repeats=True),
    "single": _Kind(),
    "several keys": _Kind(keys=4),
    "several values": _Kind(values=4),
    "several questions": _Kind(keys=4, n_questions=4),
}
"""Kinds as RULER's niah_single_1, niah_single_2, niah_multikey_1, niah_multivalue and niah_multiquery."""


def needles(count: int, seed: int) -> list[Task]:
    """``count`` tasks, evenly over kinds and lengths. A task depends on the seed and its number alone."""
    cases = [(kind, length) for length in LENGTHS for kind in _KINDS]
    return [_task(*cases[number % len(cases)], number, seed) for number in range(count)]


def _task(name: str, length: int, number: int, seed: int) -> Task:
    draw = random.Random(f"{seed}:{number}")
    kind = _KINDS[name]
    words = [f"{first}-{second}" for first in _FIRST.split() for second in _SECOND.split()]
    keys = draw.sample(words, kind.keys)
    numbers = [str(value) for value in draw.sample(range(1_000_000, 10_000_000), kind.keys * kind.values)]
    values = {key: numbers[place * kind.values : (place + 1) * kind.values] for place, key in enumerate(keys)}
    hidden = [f"One of the special magic numbers for {key} is: {value}." for key in keys for value in values[key]]
    sentences = _haystack(draw, length * CHARACTERS_A_TOKEN - sum(map(len, hidden)), repeats=kind.repeats)
    for sentence in hidden:
        sentences.insert(draw.randrange(len(sentences) + 1), sentence)
    chosen = keys[: kind.n_questions]
    wanted = [value for key in chosen for value in values[key]]
    return {
        "id": f"needle-{number + 1}",
        "name": f"{name}, about {length:,} tokens",
        "input": (
            "Some special magic numbers are hidden within the following text. Memorize them: you are asked for them "
            f"afterwards.\n\n{' '.join(sentences)}\n\nWhat are all the special magic numbers for {_and(chosen)} in the "
            "text above? Answer with the numbers alone."
        ),
        "expected_output": ", ".join(wanted),
        "constraints": {"include": wanted},
        "metadata": {"kind": name, "tokens": length},
    }


def _haystack(draw: random.Random, characters: int, *, repeats: bool) -> list[str]:
    sentences: list[str] = []
    subjects, actions, endings = (part.split(",") for part in (_SUBJECTS, _ACTIONS, _ENDINGS))
    while characters > 0:
        drawn = f"{draw.choice(subjects)} {draw.choice(actions)} {draw.choice(endings)}."
        sentences.append(sentences[0] if repeats and sentences else drawn)
        characters -= len(sentences[-1]) + 1
    return sentences


def _and(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])} and {keys[-1]}"


PRESETS = (
    Preset(
        name="needles",
        title="Needles (RULER style)",
        about="Numbers hidden in long texts, generated here.",
        license="Apache 2.0 (made here)",
        size=75,
        metrics=("constraints",),
        difference=(
            "texts are generated sentences, not essays; lengths of 4,000 to 16,000 tokens are estimated as four "
            "characters each; five kinds of RULER's thirteen"
        ),
        generate=needles,
    ),
)
