"""Puzzles with one short answer. Levels differ in the number of steps, of things to remember, or of cases to try."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import ClassVar

from benchmarks.generators.base import Generator, Task
from tasks_app.canvas.random_source import KeyedRandom

NAMES = ("Ada", "Ben", "Cora", "Dov", "Ema", "Finn", "Gus", "Hana", "Ivo", "June", "Kai", "Lea", "Mina", "Nils")
THINGS = ("lamp", "globe", "violin", "clock", "kite", "vase", "drum", "atlas")
TOWNS = ("Arvik", "Belmor", "Corrin", "Dunmoor", "Eskdal", "Farrow", "Gelden", "Harnes", "Ister")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
Order = tuple[str, ...]


def _task(name: str, text: str, form: str, answer: object) -> Task:
    return {
        "name": name,
        "input": f"{text}\n\nEnd with a line `Answer: {form}`.\n",
        "expected_output": str(answer),
    }


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def arithmetic(random: KeyedRandom, level: int) -> Task:
    value = start = random.randint(11, 99)
    history, lines = [start], []
    for step in range((3, 7, 13)[level - 1]):
        operations = ["add", "subtract", "multiply", "remainder" if level > 1 else "add"]
        operation = random.choice(operations) if value < 2_000 else "remainder" if level > 1 else "subtract"
        number = random.randint(13, 89)
        if level == 3 and step % 4 == 3:
            earlier = random.randint(1, step - 1)
            value, line = value + history[earlier], f"Add the number that you had after step {earlier}."
        elif operation == "add":
            value, line = value + number, f"Add {number}."
        elif operation == "subtract":
            value, line = value - number, f"Subtract {number}."
        elif operation == "multiply":
            number = random.randint(3, 9)
            value, line = value * number, f"Multiply by {number}."
        else:
            number = random.randint(101, 499)
            value, line = (
                value % number,
                f"Replace the number by its remainder (0 to {number - 1}) on division by {number}.",
            )
        history.append(value)
        lines.append(line)
    text = f"Start with {start} (this is the number after step 0) and follow the steps.\n\n{_numbered(lines)}"
    return _task("A chain of steps", f"{text}\n\nWhich number do you have at the end?", "<number>", value)


def ordering(random: KeyedRandom, level: int) -> Task:
    people = random.sample(NAMES, level + 3)
    truth = random.sample(people, len(people))
    clues: list[tuple[str, Callable[[Order], bool]]] = []
    for a, b in itertools.permutations(people, 2):
        distance = truth.index(b) - truth.index(a)
        if distance > 0:
            clues.append((f"{a} stands somewhere before {b}.", partial(_apart, a, b, range(1, 9))))
        if abs(distance) == 1 and a < b:
            clues.append((f"{a} and {b} stand next to each other.", partial(_apart, a, b, (-1, 1))))
        if abs(distance) == 3 and a < b:
            clues.append((f"Exactly two people stand between {a} and {b}.", partial(_apart, a, b, (-3, 3))))
    lines = _enough(random, clues, list(itertools.permutations(people)))
    place = random.randrange(len(people))
    text = f"{', '.join(sorted(people))} stand in a queue.\n\n{_numbered(lines)}"
    return _task("A queue", f"{text}\n\nWho is {PLACES[place]} in the queue?", "<name>", truth[place])


def _apart(a: str, b: str, distances: Sequence[int], order: Order) -> bool:
    return order.index(b) - order.index(a) in distances


def _enough(random: KeyedRandom, clues: list[tuple[str, Callable[[Order], bool]]], orders: list[Order]) -> list[str]:
    """Texts of clues that leave a single order, none of which is without use when it is read in turn."""
    random.shuffle(clues)
    chosen = []
    for text, holds in clues:
        left = [order for order in orders if holds(order)]
        if len(left) < len(orders):
            orders = left
            chosen.append(text)
    return chosen


def calendar(random: KeyedRandom, level: int) -> Task:
    start = date(random.randint(2021, 2029), random.randint(1, 12), random.randint(1, 28))
    days = (random.randint(20, 75), random.randint(12, 28), random.randint(30, 60))[level - 1]
    closed: set[date] = set()
    if level == 1:
        end = start + timedelta(days)
        text = f"A ticket bought on {_written(start)} is valid until {days} days later."
        question = "What is its last day?"
    else:
        text = (
            f"An order is placed on {WEEKDAYS[start.weekday()]}, {_written(start)}. It is ready {days} working days "
            "after that day. Working days are Monday to Friday"
        )
        if level == 3:
            while len(closed) < 5:
                day = start + timedelta(random.randint(1, 60))
                if day.weekday() < 5:
                    closed.add(day)
            text += ", except these days: " + "; ".join(map(_written, sorted(closed)))
        text += "."
        end, question = start, "On which date is it ready?"
        while days:
            end += timedelta(1)
            days -= end.weekday() < 5 and end not in closed
    return _task("A date", f"{text} {question}", "<yyyy-mm-dd>", end)


def _written(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def sets(random: KeyedRandom, level: int) -> Task:
    size = (5, 8, 12)[level - 1]
    letters = "ABCDE"[: level + 1]
    groups = {letter: sorted(random.sample(range(1, 3 * size), size)) for letter in letters}
    wording = {"and": "both in {} and in {}", "or": "in {} or in {} (or in both)", "not": "in {} but not in {}"}
    results: dict[str, set[int]] = {letter: set(members) for letter, members in groups.items()}
    lines: list[str] = []
    while len(lines) < level:
        known = list(results)
        first, second = (known[-1], random.choice(known[:-1])) if lines else tuple(random.sample(known, 2))
        operation = random.choice(tuple(wording))
        a, b = results[first], results[second]
        result = a & b if operation == "and" else a | b if operation == "or" else a - b
        if not result or result in results.values():
            return sets(random, level)
        new = "XYZ"[len(lines)]
        results[new] = result
        lines.append(f"{new} holds the numbers that are {wording[operation].format(first, second)}.")
    listed = "\n".join(f"{letter}: {', '.join(map(str, members))}" for letter, members in groups.items())
    text = f"{listed}\n\n" + "\n".join(lines)
    last = list(results)[-1]
    question = f"What is the sum of the numbers in {last}?"
    return _task("Sets of numbers", f"{text}\n\n{question}", "<number>", sum(results[last]))


def swaps(random: KeyedRandom, level: int) -> Task:
    people = random.sample(NAMES, level + 4)
    things = random.sample(THINGS, len(people))
    held = dict(zip(people, things, strict=True))
    lines = []
    for _ in range((3, 8, 16)[level - 1]):
        a, b = random.sample(people, 2)
        if level == 3 and random.random() < 0.3:
            wanted = random.choice(things)
            lines.append(f"If {a} has the {wanted}, {a} and {b} swap what they have; if not, nothing happens.")
            if held[a] != wanted:
                continue
        else:
            lines.append(f"{a} and {b} swap what they have.")
        held[a], held[b] = held[b], held[a]
    begun = ", ".join(f"{person} the {thing}" for person, thing in zip(people, things, strict=True))
    moved = [person for person, thing in zip(people, things, strict=True) if held[person] != thing]
    if not moved:
        return swaps(random, level)
    person = random.choice(moved)
    text = f"At first these people have: {begun}. Then this happens, in this order:\n\n{_numbered(lines)}"
    return _task("Who has what", f"{text}\n\nWhat does {person} have at the end?", "<thing>", held[person])


def grid(random: KeyedRandom, level: int) -> Task:
    turns = {"turn left": 1j, "turn right": -1j, "turn around": -1}
    position, facing = 0j, 1j
    commands = []
    for _ in range((3, 6, 12)[level - 1]):
        turn, steps = random.choice(tuple(turns)), random.randint(2, 9)
        backward = level > 1 and random.random() < 0.3
        facing *= turns[turn]
        position += facing * (-steps if backward else steps)
        commands += [turn, f"{'backward' if backward else 'forward'} {steps}"]
    text = (
        "A robot stands at (0, 0) and faces north. x grows to the east, y to the north. It carries out these commands: "
        f"{'; '.join(commands)}. Moving backward does not turn it. Where does it stand at the end?"
    )
    return _task("A robot", text, "(<x>, <y>)", f"({int(position.real)}, {int(position.imag)})")


def liars(random: KeyedRandom, level: int) -> Task:
    people = random.sample(NAMES, 2 * level + 1)
    while True:
        truth = {person: random.random() < 0.5 for person in people}
        lines, claims = [], []
        for speaker in people:
            others = [person for person in people if person != speaker]
            a, b = random.sample(others, 2)
            kind = random.choice(("is", "same", "differ"))
            real = truth[a] if kind == "is" else (truth[a] == truth[b]) is (kind == "same")
            says = real is truth[speaker]  # what is said of the claim's own words, so that liars say what is false
            if kind == "is":
                lines.append(f"{speaker} says: {a} is a {'knight' if says else 'knave'}.")
            else:
                kind = kind if says else {"same": "differ", "differ": "same"}[kind]
                what = "are both knights or both knaves" if kind == "same" else "are one knight and one knave"
                lines.append(f"{speaker} says: {a} and {b} {what}.")
            claims.append((speaker, kind, a, b, says))
        worlds = (
            dict(zip(people, values, strict=True)) for values in itertools.product((True, False), repeat=len(people))
        )
        fitting = [world for world in worlds if all(_fits(world, claim) for claim in claims)]
        if len(fitting) == 1 and any(truth.values()):
            break
    knights = ", ".join(sorted(person for person in people if truth[person]))
    text = (
        "Each of these people is either a knight, whose statements are all true, or a knave, whose statements are all "
        f"false.\n\n{_numbered(lines)}\n\nWho are the knights?"
    )
    return _task("Knights and knaves", text, "<names in alphabetical order, separated by commas>", knights)


def _fits(world: dict[str, bool], claim: tuple[str, str, str, str, bool]) -> bool:
    speaker, kind, a, b, says = claim
    holds = world[a] is says if kind == "is" else (world[a] == world[b]) is (kind == "same")
    return holds is world[speaker]


def route(random: KeyedRandom, level: int) -> Task:
    towns = random.sample(TOWNS, 2 * level + 2)
    pairs = list(itertools.combinations(towns, 2))
    chain = set(itertools.pairwise(towns))
    random.shuffle(pairs)
    direct = (towns[0], towns[-1])
    pairs = [*chain, *[pair for pair in pairs if pair not in chain and pair != direct][: len(towns) - 1]]
    roads = {pair: random.randint(5, 60) for pair in sorted(pairs)}
    shortest = {(a, b): float("inf") for a in towns for b in towns}
    for (a, b), minutes in roads.items():
        shortest[a, b] = shortest[b, a] = minutes
    for via, a, b in itertools.product(towns, repeat=3):
        shortest[a, b] = min(shortest[a, b], shortest[a, via] + shortest[via, b])
    lines = [f"{a} – {b}: {minutes} minutes" for (a, b), minutes in roads.items()]
    text = "Roads, in both directions:\n\n" + "\n".join(lines)
    question = f"How many minutes does the fastest way from {towns[0]} to {towns[-1]} take?"
    return _task("The fastest way", f"{text}\n\n{question}", "<number>", int(shortest[towns[0], towns[-1]]))


def clock(random: KeyedRandom, level: int) -> Task:
    time = start = random.randrange(24 * 60)
    zone = home = random.randint(-8, 9)
    lines = []
    for leg in range((1, 2, 4)[level - 1]):
        if leg:
            wait = random.randint(25, 190)
            time += wait
            lines.append(f"After {wait} minutes there, the next train leaves.")
        length, to = random.randint(65, 700), random.randint(-8, 9)
        time += length + 60 * (to - zone)
        zone = to
        lines.append(f"The journey takes {length // 60} h {length % 60} min and ends in a town at UTC{zone:+d}.")
    text = f"A train leaves a town at UTC{home:+d} at {_hours(start)} local time. {' '.join(lines)}"
    question = "What is the local time on arrival?"
    return _task("Trains and time zones", f"{text} {question}", "<hh:mm> (24-hour clock)", _hours(time))


def _hours(minutes: int) -> str:
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


def counting(random: KeyedRandom, level: int) -> Task:
    low = random.randint(10, 40)
    high = low + (30, 80, 200)[level - 1] + random.randint(0, 19)
    a, b, c = random.sample((3, 4, 5, 6, 7, 8, 9), 3)
    digit = random.randint(1, 9)
    rule = (
        f"are multiples of {a} or of {b}",
        f"are multiples of {a} or of {b}, but not of both",
        f"are multiples of {a} or of {b}, but not of both, are no multiples of {c}, and do not have the digit {digit}",
    )[level - 1]
    count = sum(
        (n % a == 0 or n % b == 0)
        and (level == 1 or n % a != 0 or n % b != 0)
        and (level < 3 or (n % c != 0 and str(digit) not in str(n)))
        for n in range(low, high + 1)
    )
    text = f"How many whole numbers from {low} to {high} (both included) {rule}?"
    return _task("Counting numbers", text, "<number>", count)


class Reasoning(Generator):
    name = "reasoning"
    shared: ClassVar = {"metrics": ["numeric", "exact_match"]}
    kinds: ClassVar = {
        "arithmetic": arithmetic,
        "calendar": calendar,
        "clock": clock,
        "counting": counting,
        "grid": grid,
        "liars": liars,
        "ordering": ordering,
        "route": route,
        "sets": sets,
        "swaps": swaps,
    }
