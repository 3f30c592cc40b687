"""Questions about the papers of invented places, with one exact key, or none in the passages at all.

Every number is drawn, so nothing but the passages tells it. A higher level has more passages, which look like the one
that counts.
"""

from __future__ import annotations

from typing import ClassVar

from benchmarks.generators.base import Generator, Task
from tasks_app.canvas.random_source import KeyedRandom

ABSENT = "Not in the passages"
PLACES = ("Skarvik", "Oruba", "Tallmoor", "Nennheim", "Varmo", "Brackwater", "Lissen", "Corvale", "Estrin", "Halvard")
HOUSES = ("museum", "library", "swimming pool", "harbour office", "theatre", "botanical garden", "archive")
THINGS = (
    *("day ticket", "locker", "guided tour", "parking space", "headset", "meeting room", "storage box", "bicycle"),
    *("projector", "reading desk", "boat trailer", "parasol", "folding chair", "piano room", "workbench", "canoe"),
)
MONTHS = ("February", "March", "April", "May", "June", "July", "August", "September", "October", "November")
GROUPS = ("students", "residents", "volunteers", "members", "pensioners")
CAPITALS = {
    "France": ("Lyon", "Nantes", "Toulouse"),
    "Japan": ("Osaka", "Kyoto", "Nagoya"),
    "Italy": ("Turin", "Milan", "Naples"),
    "Egypt": ("Luxor", "Aswan", "Suez"),
    "Canada": ("Toronto", "Halifax", "Quebec"),
    "Peru": ("Cusco", "Arequipa", "Trujillo"),
    "Kenya": ("Mombasa", "Kisumu", "Nakuru"),
    "Norway": ("Bergen", "Tromsø", "Bodø"),
}
"""Country → towns of which none is its capital."""
_RULES = (
    f"Use only the passages. If they do not hold the answer, reply with the line `Answer: {ABSENT}`. If two of them "
    "give different values and neither replaces the other, give both, the smaller one first, as in `Answer: 3 or 5`."
)


class _Desk:
    """A place with its things, what each costs, and the passages about it."""

    def __init__(self, random: KeyedRandom, level: int) -> None:
        self.random = random
        self.place = f"the {random.choice(HOUSES)} of {random.choice(PLACES)}"
        self.things = random.sample(THINGS, 3 * level + 2)
        self.fees = dict(zip(self.things, random.sample(range(11, 99), len(self.things)), strict=True))
        self.passages = [self.fee(thing, self.fees[thing]) for thing in self.things]

    def fee(self, thing: str, crowns: int) -> str:
        opening = self.random.choice(("Notice", "From the price list", "Information for visitors"))
        return f"{opening} of {self.place}: the fee for a {thing} is {crowns} crowns."

    def task(self, name: str, question: str, answer: object, form: str = "<number of crowns>") -> Task:
        self.random.shuffle(self.passages)
        while f" {answer}" in self.passages[-1]:  # where a reply that ends in a copy of the passages would be read
            self.random.shuffle(self.passages)
        return {
            "name": name,
            "input": f"{question}\n\n{_RULES} Otherwise end with a line `Answer: {form}`.\n",
            "expected_output": [str(answer), f"{answer} crowns"]
            if "crowns" in form and answer != ABSENT
            else str(answer),
            "context": self.passages,
        }

    def question(self, thing: str) -> str:
        return f"How many crowns is the fee for a {thing} at {self.place}?"


def lookup(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    thing = desk.things[0]
    other = random.choice([place for place in PLACES if place not in desk.place])
    for place in random.sample(HOUSES, level):  # the same thing elsewhere
        desk.passages.append(
            f"Notice of the {place} of {other}: the fee for a {thing} is {random.randint(11, 98)} crowns."
        )
    return desk.task("One of many fees", desk.question(thing), desk.fees[thing])


def replaced(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    thing = desk.things[0]
    months = sorted(random.sample(range(len(MONTHS)), level + 1))
    fees = random.sample(range(11, 99), len(months))
    for number, (month, fee) in enumerate(zip(months, fees, strict=True), 1):
        before = f"change {number - 1}" if number > 1 else "the fee before"
        desk.passages.append(
            f"Change {number} at {desk.place}: from 1 {MONTHS[month]} 2025 the fee for a {thing} is {fee} crowns. "
            f"This replaces {before}."
        )
    place = random.randrange(len(months))
    month = random.randrange(months[place], [*months, len(MONTHS)][place + 1])
    question = f"How many crowns was the fee for a {thing} at {desk.place} on 15 {MONTHS[month]} 2025?"
    return desk.task("A fee that was replaced", question, fees[place])


def exception(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    thing = desk.things[0]
    groups = random.sample(GROUPS, level + 1)
    less = dict(zip(groups, random.sample(range(2, 10), len(groups)), strict=True))
    for group in groups:
        desk.passages.append(f"At {desk.place}, {group} pay {less[group]} crowns less for a {thing}.")
    other = random.choice(desk.things[1:])
    desk.passages.append(f"At {desk.place}, {groups[0]} pay 10 crowns less for a {other}.")
    question = f"One of the {groups[0]} wants a {thing} at {desk.place}. How many crowns is the fee?"
    return desk.task("A fee with an exception", question, desk.fees[thing] - less[groups[0]])


def combined(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    wanted = {thing: random.randint(1, 4) for thing in desk.things[: level + 1]}
    listed = "; ".join(f"{thing}: {count}" for thing, count in wanted.items())
    total = sum(desk.fees[thing] * count for thing, count in wanted.items())
    question = (
        f"Somebody pays at {desk.place} for the following, with the number of each: {listed}. How many crowns in all?"
    )
    return desk.task("A sum from several passages", question, total)


def conflict(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    thing = desk.things[0]
    low, high = sorted(random.sample(range(11, 99), 2))
    desk.passages.remove(next(each for each in desk.passages if f" a {thing} " in each))
    desk.passages += [desk.fee(thing, low), f"Leaflet of {desk.place}: the fee for a {thing} is {high} crowns."]
    return desk.task("Passages that disagree", desk.question(thing), f"{low} or {high}", "<number of crowns>")


def against_memory(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    countries = random.sample(tuple(CAPITALS), 2 * level + 2)
    towns = {country: random.choice(CAPITALS[country]) for country in countries}
    game = f"game {random.randint(100, 999)}"
    for first, second in zip(countries[::2], countries[1::2], strict=True):
        a, b = random.sample((first, second), 2)
        desk.passages.append(f"In the world of {game}, {a} has its capital in {towns[a]} and {b} in {towns[b]}.")
    question = f"Which town is the capital of {countries[0]} in the world of {game}?"
    return desk.task("Against what is known", question, towns[countries[0]], "<town>")


def absent(random: KeyedRandom, level: int) -> Task:
    desk = _Desk(random, level)
    thing = desk.things[0]
    desk.passages = [each for each in desk.passages if f" a {thing} " not in each]
    other = random.choice([place for place in PLACES if place not in desk.place])
    for place in random.sample(HOUSES, level):
        desk.passages.append(
            f"Notice of the {place} of {other}: the fee for a {thing} is {random.randint(11, 98)} crowns."
        )
    if level > 1:
        desk.passages.append(f"At {desk.place}, a {thing} must be returned by {random.randint(16, 20)}:00.")
    if level > 2:
        desk.passages.append(f"At {desk.place}, {random.choice(GROUPS)} pay 5 crowns less for a {thing}.")
    return desk.task("A fee that is not there", desk.question(thing), ABSENT)


class RagFaithfulness(Generator):
    name = "rag-faithfulness"
    shared: ClassVar = {"metrics": ["exact_match"]}
    kinds: ClassVar = {
        "absent": absent,
        "against_memory": against_memory,
        "combined": combined,
        "conflict": conflict,
        "exception": exception,
        "lookup": lookup,
        "replaced": replaced,
    }
