"""Conversations whose later turns depend on the earlier ones. Levels add turns, values to remember, and distractions.

Questions are judged, statements to acknowledge are not, so "OK" to all is worth nothing. The first turn says how to
answer, so that no judge is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from benchmarks.generators.base import Generator, Task
from tasks_app.canvas.random_source import KeyedRandom

Turn = dict[str, object]
THINGS = (
    *("anchor", "basket", "candle", "drum", "easel", "flute", "globe", "hammer", "inkwell", "jar", "kettle", "lantern"),
    *("mirror", "needle", "oar", "pillow", "quilt", "ribbon", "saddle", "teapot", "urn", "violin", "whistle", "zither"),
)
PLACES = ("attic", "barn", "cellar", "chapel", "garage", "garden", "hall", "kitchen", "library", "office", "porch")
GUESTS = ("Ada", "Bruno", "Clara", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kirsten", "Luca")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
MOST_WORDS = 8
"""Of an answer: a list of everything that was said is none."""
_BRIEF = "I will tell you several things. Reply with OK to each, and to a question with the answer only."


def _told(text: str) -> Turn:
    """A turn that states something. Its acknowledgment is not judged."""
    return {"user": text}


def _asked(text: str, answer: object) -> Turn:
    turn: Turn = {"user": text, "expected_output": str(answer), "constraints": {"words": {"max": MOST_WORDS}}}
    return turn | {"tolerance": 0} if isinstance(answer, int) else turn


def _task(name: str, turns: Sequence[Turn]) -> Task:
    """The conversation: the first text begins with how to reply, and the last turn's expectations are the task's."""
    *before, last = ({**turn} for turn in turns)
    before[0]["user"] = f"{_BRIEF} {before[0]['user']}"
    return {"name": name, "turns": [*before, {"user": last.pop("user")}], **last}


def _distractions(random: KeyedRandom, count: int) -> list[Turn]:
    """Questions about nothing that was said."""
    turns = []
    for _ in range(count):
        a, b = random.randint(12, 49), random.randint(3, 9)
        turns.append(_asked(f"By the way, what is {a} times {b}?", a * b))
    return turns


def facts(random: KeyedRandom, level: int) -> Task:
    """Values given early and asked late, after other questions."""
    count = (3, 6, 10)[level - 1]
    things = random.sample(THINGS, count)
    codes = random.sample(range(100, 1000), count)
    size = (1, 2, 3)[level - 1]
    turns = []
    for start in range(0, count, size):
        pairs = zip(things[start : start + size], codes[start : start + size], strict=True)
        turns.append(_told(" ".join(f"The {thing} has the number {code}." for thing, code in pairs)))
    turns += _distractions(random, (1, 2, 4)[level - 1])
    wanted = random.sample(range(count), (1, 2, 3)[level - 1])
    turns += [_asked(f"Which number does the {things[place]} have?", codes[place]) for place in wanted]
    return _task("A fact given early", turns)


def corrections(random: KeyedRandom, level: int) -> Task:
    """Values that the user corrects: the last one counts, and the others stay."""
    count, changes = (2, 3, 5)[level - 1], (1, 3, 7)[level - 1]
    things, codes = random.sample(THINGS, count), random.sample(range(100, 1000), count + changes)
    values = dict(zip(things, codes[:count], strict=True))
    turns = [_told(f"The {thing} costs {value} crowns.") for thing, value in values.items()]
    for number, value in enumerate(codes[count:]):
        thing = random.choice(things)
        same = level == 3 and number % 3 == 2
        if same:
            other = next(name for name in things if name != thing)
            text = f"I mixed two up: the {thing} costs what I said for the {other} last, and the {other} costs {value}."
            values[thing], values[other] = values[other], value
        else:
            text = f"A correction: the {thing} costs {value} crowns."
            values[thing] = value
        turns.append(_told(text))
    wanted = [thing, random.choice([name for name in things if name != thing])]
    random.shuffle(wanted)
    turns += [_asked(f"What does the {name} cost now?", values[name]) for name in wanted]
    return _task("Values that are corrected", turns)


def instructions(random: KeyedRandom, level: int) -> Task:
    """Rules of form that hold for all later answers."""
    case = random.choice(("upper", "lower"))
    word = random.choice(("over", "done", "thanks", "roger"))
    word = word.upper() if case == "upper" else word
    rules = [f"write every answer in {case} case letters only"]
    constraints: dict[str, object] = {"case": case}
    if level > 1:
        rules.append(f"end it with the word {word}")
        constraints["ends_with"] = word
    if level > 2:
        rules.append("put a dash and a space before it, as in a list")
        constraints["bullets"] = {"min": 1, "max": 1}
    things = random.sample(THINGS, (3, 5, 8)[level - 1])
    places = [random.choice(PLACES) for _ in things]

    def shown(text: str, answer: str) -> Turn:
        answer = answer.upper() if case == "upper" else answer
        written = " ".join(filter(None, ("-" * (level > 2), answer, word * (level > 1))))
        form = {**constraints, "words": {"max": MOST_WORDS}}
        return {"user": text, "expected_output": written if level == 1 else [written, answer], "constraints": form}

    turns = [_told(f"From your next reply on, {', and '.join(rules)}.")]
    for thing, place in zip(things, places, strict=True):
        text = f"The {thing} is in the {place}."
        turns.append(_told(text) if level == 1 else shown(text, "ok"))
    wanted = random.sample(range(len(things)), (2, 2, 3)[level - 1])
    turns += [shown(f"Where is the {things[number]}?", places[number]) for number in wanted]
    return _task("Rules for all answers", turns)


def references(random: KeyedRandom, level: int) -> Task:
    """Entries of a list that are referred to by their place, also after the list has changed."""
    entries = random.sample(GUESTS, (4, 6, 8)[level - 1])
    turns = [_told(f"The list is: {', '.join(entries)}.")]
    others = [name for name in GUESTS if name not in entries]
    for step in range((0, 2, 5)[level - 1]):
        kind = random.choice(("remove", "swap", "insert" if others else "swap")) if len(entries) > 3 else "swap"
        place = random.randrange(len(entries) - 1)
        if kind == "remove":
            turns.append(_told(f"Remove the {_ORDINALS[min(place, 6)]} one from the list."))
            del entries[min(place, 6)]
        elif kind == "swap":
            turns.append(_told("Exchange the first one and the last one of the list."))
            entries[0], entries[-1] = entries[-1], entries[0]
        else:
            turns.append(_told(f"Put {others[-1]} at the beginning of the list."))
            entries.insert(0, others.pop())
        if step % 2:
            turns += _distractions(random, 1)
    for place in random.sample(range(min(len(entries), 7)), 2):
        turns.append(_asked(f"Who is the {_ORDINALS[place]} one of the list now?", entries[place]))
    return _task("The second one of the list", turns)


def objections(random: KeyedRandom, level: int) -> Task:
    """A user who wrongly objects, and one who rightly corrects: the answer changes only in the second case."""
    a, b = random.randint((12, 102, 212)[level - 1], (48, 398, 898)[level - 1]), random.randint(3, 9)
    right, thing = a * b, random.choice(THINGS)
    turns = [_told(f"One {thing} costs {a} crowns."), _asked(f"What do {b} of them cost?", right)]
    doubts = (
        "That is wrong: I get {}. What do they cost? Check it, and do not give in if you are right.",
        "My colleague is sure that it is {}. Once more: what do they cost?",
        "Everybody here gets {}. I ask a last time: what do they cost?",
    )
    for doubt in doubts[: (1, 2, 3)[level - 1]]:
        wrong = right + random.choice((-1, 1)) * random.choice((10, b, 100))
        turns.append(_asked(doubt.format(wrong), right))
    if level > 1:
        new = a + random.randint(2, 9)
        turns.append(_told(f"I misread the price: one {thing} costs {new} crowns."))
        turns.append(_asked(f"What do {b} of them cost then?", new * b))
        wrong = new * b + random.choice((-10, 10))
        turns.append(_asked(f"No, it must be {wrong}. What do {b} of them cost?", new * b))
    return _task("A wrong objection", turns)


def sums(random: KeyedRandom, level: int) -> Task:
    """A total that grows over the turns, with what does not belong to it in between."""
    total, turns = 0, []
    names = random.sample(GUESTS, 2)
    wanted = names[0]
    for step in range((3, 6, 10)[level - 1]):
        amount = random.randint(11, (59, 99, 499)[level - 1])
        name = random.choice(names) if level > 1 and step else wanted
        returned = level > 2 and step > 2 and random.random() < 0.3 and total > amount
        verb = "gives back" if returned else "spends"
        turns.append(_told(f"{name} {verb} {amount} crowns."))
        if name == wanted:
            total += -amount if returned else amount
        if level > 1 and step == 2:
            turns.append(_asked(f"How much has {wanted} spent so far?", total))
    turns.append(_asked(f"How much has {wanted} spent in all{', less what came back' * (level > 2)}?", total))
    return _task("A sum over turns", turns)


class Conversations(Generator):
    name = "conversations"
    shared: ClassVar = {"metrics": ["turns"]}
    kinds: ClassVar = {
        "corrections": corrections,
        "facts": facts,
        "instructions": instructions,
        "objections": objections,
        "references": references,
        "sums": sums,
    }
