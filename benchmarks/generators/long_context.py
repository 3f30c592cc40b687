"""Questions about a long register of deliveries, of which every line looks like the ones that count.

A higher level needs more lines; the length of the register is given apart, about three characters a token.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from benchmarks.generators.base import Generator, Task
from benchmarks.generators.reasoning import NAMES, TOWNS
from tasks_app.canvas.random_source import KeyedRandom

GOODS = ("salt", "wool", "tea", "iron", "glass", "paper", "rice", "wax")
KEYS = ("brass key", "iron key", "silver key", "wooden key")
CHARACTERS_PER_TOKEN = 3
"""Of these short lines with numbers; prose has four. OpenAI's cl100k_base makes 3 to 9% fewer tokens than asked for."""
_CHAPTER = 40
"""Lines of one passage."""


def _register(random: KeyedRandom, planted: list[str], avoided: str, tokens: int) -> list[str]:
    """Passages with the planted lines in order, between lines that do not contain the avoided words."""
    lines, length = [], sum(map(len, planted))
    while length < tokens * CHARACTERS_PER_TOKEN:
        choice = random.random()
        if choice < 0.8:
            line = _delivery(random)
        elif choice < 0.9:
            line = f"The price of {random.choice(GOODS)} in {random.choice(TOWNS)} is set to {random.randint(11, 99)}."
        else:
            line = f"{random.choice(NAMES)} gives the {random.choice(KEYS)} to {random.choice(NAMES)}."
        if avoided not in line:
            lines.append(line)
            length += len(line) + 8
    places = sorted(random.sample(range(len(lines) + len(planted)), len(planted)))
    for place, line in zip(places, planted, strict=True):
        lines.insert(place, line)
    numbered = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    return ["\n".join(numbered[start : start + _CHAPTER]) for start in range(0, len(numbered), _CHAPTER)]


def _delivery(random: KeyedRandom, what: str = "") -> str:
    person, good, town = random.choice(NAMES), random.choice(GOODS), random.choice(TOWNS)
    return f"{what or f'{person} brings {good} to {town}'}: {random.randint(11, 99)} crates."


def _task(name: str, question: str, form: str, answer: object, passages: list[str]) -> Task:
    text = f"The passages are one register; its lines are numbered in order. {question}"
    return {
        "name": name,
        "input": f"{text}\n\nEnd with a line `Answer: {form}`.\n",
        "expected_output": str(answer),
        "context": passages,
    }


def total(random: KeyedRandom, level: int, tokens: int) -> Task:
    what = f"{random.choice(NAMES)} brings {random.choice(GOODS)} to {random.choice(TOWNS)}"
    planted = [_delivery(random, what) for _ in range((1, 3, 6)[level - 1])]
    crates = sum(int(line.split(": ")[1].split(" ")[0]) for line in planted)
    question = f"How many crates are there in all lines that say “{what}”, taken together?"
    return _task("Crates in all", question, "<number>", crates, _register(random, planted, what, tokens))


def count(random: KeyedRandom, level: int, tokens: int) -> Task:
    what = f"{random.choice(NAMES)} brings {random.choice(GOODS)} to {random.choice(TOWNS)}"
    times = (random.randint(1, 4), random.randint(5, 9), random.randint(10, 18))[level - 1]
    planted = [_delivery(random, what) for _ in range(times)]
    question = f"How many lines say “{what}”?"
    return _task("Counted lines", question, "<number>", times, _register(random, planted, what, tokens))


def price(random: KeyedRandom, level: int, tokens: int) -> Task:
    what = f"The price of {random.choice(GOODS)} in {random.choice(TOWNS)} is"
    values = random.sample(range(11, 99), 1)
    planted = [f"{what} set to {values[0]}."]
    for _ in range((1, 3, 7)[level - 1]):
        change = random.randint(2, 9)
        values.append(values[-1] + change)
        planted.append(f"{what} raised by {change}.")
    question = f"{what.replace('The', 'What is the', 1).removesuffix(' is')} after the last line?"
    return _task("A price that changes", question, "<number>", values[-1], _register(random, planted, what, tokens))


def holder(random: KeyedRandom, level: int, tokens: int) -> Task:
    key = random.choice(KEYS)
    people = [random.choice(NAMES)]
    for _ in range((1, 4, 9)[level - 1]):
        people.append(random.choice([name for name in NAMES if name != people[-1]]))
    planted = [f"{people[0]} finds the {key}."]
    planted += [f"{giver} gives it to {taker}." for giver, taker in pairwise(people)]
    planted = [line.replace(" it ", f" the {key} ") for line in planted]
    place = random.randrange(len(people))
    passed = {0: "before it is given on", 1: "after it has been given on once", len(people) - 1: "at the end"}
    before = passed.get(place, f"after it has been given on {place} times")
    question = f"Who has the {key} {before}?"
    return _task("Who has the key", question, "<name>", people[place], _register(random, planted, key, tokens))


class LongContext(Generator):
    name = "long-context"
    shared: ClassVar = {"metrics": ["numeric", "exact_match"]}
    takes_tokens = True
    kinds: ClassVar = {"count": count, "holder": holder, "price": price, "total": total}
