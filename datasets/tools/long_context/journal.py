"""The journal of an expedition: seventy days by two writers, who disagree on one day and look back on others."""

from __future__ import annotations

from dataclasses import dataclass

from .documents import Deck, Dice, Document, Question

DAYS = 70
EVENTS = {
    8: "Today the runner of the small sledge broke on a stone under the snow, and Eskil mended it with a ski.",
    23: "Toward evening the paraffin stove set the cook tent alight; we lost the tent and a sack of oats.",
    38: "We found the cairn that the surveyors left in 1894, with a tin and a card in it.",
    51: "Ragna went through the ice of the lake to her waist and was dry again after three hours.",
    62: "The compass fell into a crevasse, and we steer by the sun from now on.",
}
LOOKING_BACK = {
    28: "Since the fire we eat oats only every second day.",
    44: "Eskil's ski, which has been a runner for five weeks now, holds better than the iron did.",
    57: "The card from the cairn is in my breast pocket and has become soft.",
    66: "Ragna still dislikes every lake.",
}
LANDSCAPE = (
    "The ridge to the left stayed in cloud the whole day.",
    "The snow carried well in the morning and not at all after two.",
    "We crossed a frozen brook without a name and drank from it through the ice.",
    "A long slope, so even that one forgets walking.",
    "Boulders as large as barns, with moss on the side away from the wind.",
    "The plateau is so flat here that the sledges steer themselves.",
    "Nobody spoke much, as the wind took every word.",
    "Old tracks of skis, half filled, that none of us had made.",
    "A halo around the sun, with two bright spots, from ten until it set.",
    "The ground falls away to the south in steps, like a staircase for giants.",
    "We went along a lake whose far shore we never saw.",
    "Crusted snow that broke at every step; the dogs bled a little at the paws.",
    "Birches no higher than a knee stand out of the snow in a row, as if planted.",
    "From the pass one sees the sea, or a cloud that lies where the sea should be.",
    "Fine drift over the ground, so that we waded to our knees in moving white.",
    "The silence was such that we heard the watch in the breast pocket.",
    "A rock in the shape of a loaf, which we had marked on the map as a hut.",
    "The light was grey and without shadow, and two of us fell over nothing.",
    "A gully, for which we had to unload both sledges and load them again.",
    "The barometer fell all day, but nothing came of it.",
    "We followed the bed of a river and heard it running under us.",
    "Snow so blue in the hollows that Petter took some home in a glass, where it was white.",
    "The mountain the map calls round is pointed from here.",
    "Soft weather; the harness is wet, and everything smells of dog.",
    "We walked by the stars for the last hour, which is easier than by day.",
    "An iron stake with a ring, very old, and nothing tied to it.",
    "Hard wind ridges across the way, one behind the other like a field.",
    "The slope was steep enough for the sledges to overtake the dogs.",
)
ANIMALS = ("reindeer", "ptarmigans", "ravens", "foxes")
EVENINGS = (
    "{name} cooked pea soup.",
    "{name} cooked, and there was chocolate.",
    "{name} read aloud from the almanac.",
    "{name} sewed until the light went.",
    "{name} took the first watch because of the dogs.",
    "{name} told of the winter in the lighthouse.",
    "{name} mended a boot with wire.",
    "{name} won at cards, as usual.",
    "{name} wrote a letter that cannot be posted.",
    "{name} greased the runners.",
    "{name} slept before the soup was ready.",
    "{name} cut the hair of those who wished it.",
    "{name} set up the instruments, but the sky closed.",
    "{name} counted the matches again.",
    "{name} gave the lead dog half of a biscuit.",
)
PARTY = ("Eskil", "Ragna", "Toralf", "Sunniva", "Petter")
DISAGREEMENT = 47
CACHE_DAY, CACHE_VALLEY = 31, "Skarddal"
VALLEYS = {12: "Skardal", 31: CACHE_VALLEY, 46: "Skorddal"}


@dataclass(frozen=True, slots=True)
class Day:
    number: int
    kilometres: int
    degrees: int
    animals: tuple[tuple[int, str], ...]


def journal() -> Document:
    dice = Dice("journal 19")
    days = [_day(number, dice) for number in range(1, DAYS + 1)]
    landscape, evenings = Deck(LANDSCAPE, dice), Deck(EVENINGS, dice)
    chapters = tuple(
        _chapter(days[start : start + 10], ("Sunniva", "Petter")[start // 10 % 2], landscape, evenings, dice)
        for start in range(0, DAYS, 10)
    )
    second = _second_account(days, landscape)
    return Document("journal", (*chapters, second), tuple(_questions(days)))


def _day(number: int, dice: Dice) -> Day:
    rests = number % 9 == 0
    kinds = dice.sample(ANIMALS, dice.between(0, 2))
    return Day(
        number,
        0 if rests else dice.between(6, 27),
        -dice.between(2, 31),
        tuple((dice.between(2, 19), kind) for kind in kinds),
    )


def _chapter(days: list[Day], writer: str, landscape: Deck, evenings: Deck, dice: Dice) -> str:
    paragraphs = [
        f"Journal of the Korvald expedition, days {days[0].number} to {days[-1].number}, in the hand of {writer}."
    ]
    for day in days:
        walked = f"We made {day.kilometres} kilometres." if day.kilometres else "A day of rest; we did not move."
        sentences = [f"Day {day.number}.", f"At seven it was {day.degrees} degrees.", walked]
        sentences.append(landscape.draw())
        if day.animals:
            sentences.append(f"We counted {' and '.join(f'{count} {kind}' for count, kind in day.animals)}.")
        if day.number in EVENTS:
            sentences.append(EVENTS[day.number])
        if day.number in LOOKING_BACK:
            sentences.append(LOOKING_BACK[day.number])
        if day.number in VALLEYS:
            left = "a cache of fuel" if day.number == CACHE_DAY else "a broken box and two empty tins"
            sentences.append(f"In the valley called {VALLEYS[day.number]} we left {left} under stones.")
        sentences.append(evenings.draw().format(name=dice.pick(PARTY)))
        sentences += [landscape.draw() for _ in range(dice.between(0, 2))]
        paragraphs.append(" ".join(sentences))
    return "\n".join(paragraphs)


def _second_account(days: list[Day], landscape: Deck) -> str:
    """Toralf's own note of the kilometres of each day from 40 to 60, correct on all days but one."""
    paragraphs = ["From the notebook of Toralf, who counted paces. Days 40 to 60."]
    for day in days[39:60]:
        kilometres = day.kilometres + (3 if day.number == DISAGREEMENT else 0)
        walked = f"{kilometres} kilometres by my count" if kilometres else "no walking"
        paragraphs.append(f"Day {day.number}: {walked}. {landscape.draw()}")
    return "\n".join(paragraphs)


def _questions(days: list[Day]) -> list[Question]:
    distance = sum(day.kilometres for day in days[19:34])
    ptarmigans = [day.number for day in days if any(kind == "ptarmigans" and count > 12 for count, kind in day.animals)]
    coldest = min(days, key=lambda day: day.degrees)
    assert sum(day.degrees == coldest.degrees for day in days) == 1
    intro = "The passages are the journal of an expedition."
    return [
        Question(
            "journal-cache",
            "Three valleys with similar names",
            "easy",
            f"{intro} In which valley did the expedition leave a cache of fuel?",
            "<name>",
            CACHE_VALLEY,
        ),
        Question(
            "journal-order",
            "Events in their order",
            "medium",
            f"{intro} Put these events in the order in which they happened: (A) the surveyors' cairn was found, "
            "(B) the compass was lost, (C) the "
            "cook tent burned, (D) Ragna broke through the ice, (E) the runner of the small sledge broke.",
            "<five letters separated by commas, such as A, B, C, D, E>",
            "E, C, A, D, B",
        ),
        Question(
            "journal-distance",
            "A distance over fifteen days",
            "hard",
            f"{intro} How many kilometres did the expedition make from day 20 to day 34, both included, "
            "according to the journal?",
            "<number>",
            str(distance),
            numeric=True,
        ),
        Question(
            "journal-ptarmigans",
            "Counting days with a condition",
            "hard",
            f"{intro} On how many days did the expedition count more than 12 ptarmigans?",
            "<number>",
            str(len(ptarmigans)),
            numeric=True,
        ),
        Question(
            "journal-disagreement",
            "Two accounts of the same days",
            "hard",
            f"{intro} The last passage is a notebook that covers a part of the same days. On which day do the "
            "journal and the notebook "
            "disagree about the distance?",
            "<number of the day>",
            str(DISAGREEMENT),
            numeric=True,
        ),
        Question(
            "journal-coldest",
            "The coldest morning",
            "medium",
            f"{intro} On which day was the lowest temperature at seven o'clock recorded, and how many "
            "kilometres were made that day?",
            "day <number>, <number> kilometres",
            f"day {coldest.number}, {coldest.kilometres} kilometres",
        ),
    ]
