"""Texts to write under constraints that are checked without a judge. The reference is built first and follows them all.

Kinds are families of constraints. A higher level adds constraints, also of other families, and narrows the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from benchmarks.generators.base import Generator, Task
from tasks_app.canvas.random_source import KeyedRandom

TEXTS = ("a letter to a friend", "a notice for a board", "a short report", "a speech", "a story", "a review")
TOPICS = (
    *("rain", "bread", "trains", "gardens", "music", "winter", "markets", "bicycles", "bridges", "chess", "coffee"),
    *("islands", "libraries", "maps", "mountains", "neighbours", "pottery", "rivers", "schools", "soup", "stars"),
    *("swimming", "theatres", "windows"),
)
SUBJECTS = (
    "Many visitors",
    "Old friends",
    "Our teachers",
    "Two bakers",
    "Quiet children",
    "Some sailors",
    "Most guests",
)
VERBS = ("talk about", "remember", "describe", "prefer", "enjoy", "mention", "draw", "dream of")
TAILS = (
    "every morning",
    "after lunch",
    "in spring",
    "at home",
    "on Sundays",
    "before dinner",
    "near town",
    "since May",
)
FORBIDDEN = ("the", "and", "is", "very", "but", "which", "people", "always", "there", "because")
"""No sentence of a reference has these words."""
BEGINNINGS = ("Good morning to all", "Here we go again", "On second thought", "Let me begin")
ENDINGS = ("That will do for now.", "More will follow soon.", "So much for today.", "Please write back.")
PLACEHOLDERS = ("[name]", "[date]", "[address]", "[town]", "[number]")

FAMILIES = {
    "counting": ("words", "sentences", "paragraphs", "capital_words"),
    "layout": ("bullets", "highlights", "placeholders", "title"),
    "letters": ("case", "no_commas", "quoted"),
    "wording": ("include", "exclude", "starts_with", "ends_with"),
}
_APART = (
    *({"quoted", "starts_with"}, {"quoted", "ends_with"}, {"title", "starts_with"}, {"case", "capital_words"}),
    {"case", "quoted"},
)
"""Constraints that are not asked for together: no text, or only an odd one, follows both."""


def _make(random: KeyedRandom, level: int, family: str) -> Task:
    chosen = _chosen(random, level, family)
    topic, *keywords = random.sample(TOPICS, 4)
    sentences = [
        [random.choice(SUBJECTS), random.choice(VERBS), word, random.choice(TAILS)]
        for word in [*keywords, *[topic] * (level + random.randint(0, 3))]
    ]
    constraints: dict[str, object] = {}
    for name in chosen:
        constraints[name] = _value(random, name, len(sentences), keywords)
    for count, mark in (("highlights", "*{}*"), ("capital_words", "{}")):
        for sentence in sentences[: _most(constraints, count)]:
            sentence[2] = mark.format(sentence[2] if count == "highlights" else sentence[2].upper())
    for sentence, placeholder in zip(sentences, PLACEHOLDERS[: _most(constraints, "placeholders")], strict=False):
        sentence[3] += f" {placeholder}"
    reference = _written(constraints, [f"{' '.join(sentence)}." for sentence in sentences], topic)
    if "sentences" in constraints:
        total = len(sentences) + ("ends_with" in constraints)
        constraints["sentences"] = {"min": total, "max": total}
    if "words" in constraints:
        total, around = sum(any(map(str.isalnum, word)) for word in reference.split()), (12, 5, 2)[level - 1]
        constraints["words"] = {"min": total - around, "max": total + around}
    rules = "\n".join(f"- {_told(name, value)}" for name, value in constraints.items())
    return {
        "name": f"{family.capitalize()}: {topic}",
        "input": f"Write {random.choice(TEXTS)} about {topic}.\n\n{rules}\n\nReply with the text only.\n",
        "expected_output": reference,
        "constraints": constraints,
    }


def _chosen(random: KeyedRandom, level: int, family: str) -> list[str]:
    own = list(FAMILIES[family])
    others = [name for names in FAMILIES.values() for name in names if name not in own]
    chosen: list[str] = []
    for pool, wanted in ((own, 2 if level < 3 else 3), (others, (2, 4, 7)[level - 1])):
        random.shuffle(pool)
        for name in pool:
            fits = not any(name in pair and pair & set(chosen) for pair in _APART)
            if fits and len(chosen) < wanted:
                chosen.append(name)
    return chosen


def _value(random: KeyedRandom, name: str, sentences: int, keywords: list[str]) -> Any:
    if name in ("no_commas", "title", "quoted"):
        return True
    if name in ("include", "exclude"):
        return sorted(keywords) if name == "include" else sorted(random.sample(FORBIDDEN, 3))
    if name in ("starts_with", "ends_with"):
        return random.choice(BEGINNINGS if name == "starts_with" else ENDINGS)
    if name == "case":
        return random.choice(("upper", "lower"))
    most = {"paragraphs": min(sentences, 5), "highlights": min(sentences, 4), "placeholders": 4, "capital_words": 4}
    count = random.randint(2, most.get(name, 5))
    return {"min": count, "max": count}


def _most(constraints: Mapping[str, Any], name: str) -> int:
    return int(constraints.get(name, {"max": 0})["max"])


def _written(constraints: Mapping[str, object], sentences: list[str], topic: str) -> str:
    if "starts_with" in constraints:
        sentences[0] = f"{constraints['starts_with']}: {sentences[0]}"
    count = max(1, _most(constraints, "paragraphs"))
    paragraphs = [" ".join(sentences[place::count]) for place in range(count)]
    lines = [f"- {'fresh' if place % 2 else 'good'} {topic}" for place in range(_most(constraints, "bullets"))]
    if lines:
        paragraphs[-1] = "\n".join([paragraphs[-1], *lines])
    if "title" in constraints:
        paragraphs[0] = f"<<{topic}>>\n{paragraphs[0]}"
    text = "\n\n".join(paragraphs)
    if "ends_with" in constraints:
        text += f"\n{constraints['ends_with']}"
    if "case" in constraints:
        text = text.upper() if constraints["case"] == "upper" else text.lower()
    return f'"{text}"' if "quoted" in constraints else text


def _told(name: str, value: Any) -> str:
    """The constraint as the model reads it."""
    if name == "words":
        return f"Use {value['min']} to {value['max']} words."
    if name in ("include", "exclude"):
        listed = ", ".join(f"“{word}”" for word in value)
        return f"{'Use' if name == 'include' else 'Do not use'} the words {listed}."
    count = value["min"] if isinstance(value, dict) else 0
    return {
        "sentences": f"Write exactly {count} sentences that end with a period, and no other.",
        "paragraphs": f"Write exactly {count} paragraphs, separated by blank lines.",
        "bullets": f"Have exactly {count} lines that begin with `- `.",
        "highlights": f"Put exactly {count} words between asterisks, as in *this*.",
        "placeholders": f"Have exactly {count} placeholders in square brackets, as in [name].",
        "capital_words": f"Write exactly {count} words in capitals (a word of one capital letter counts).",
        "title": "Include a title in double angle brackets, as in <<title>>.",
        "case": f"Write all letters in {value} case.",
        "no_commas": "Use no commas.",
        "quoted": "Put the whole text in double quotation marks.",
        "starts_with": f"Begin with the words “{value}”.",
        "ends_with": f"End with the sentence “{value}”",
    }[name]


class InstructionFollowing(Generator):
    name = "instruction-following"
    shared: ClassVar = {"metrics": ["constraints"]}
    composed = True
    kinds: ClassVar = {family: partial(_make, family=family) for family in FAMILIES}
