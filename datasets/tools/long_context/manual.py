"""A service manual: numbered sections that refer to each other by readings, with torques and tools."""

from __future__ import annotations

from dataclasses import dataclass

from .documents import Deck, Dice, Document, Question

READINGS = (
    "the pressure in bar",
    "the oil temperature in degrees",
    "the play of the shaft in hundredths of a millimetre",
    "the current in ampere",
)
READING_NAMES = ("pressure", "oil temperature", "play of the shaft", "current")
GIVEN = (6, 71, 14, 23)
PARTS = (
    "feed pump",
    "clutch plate",
    "slide valve",
    "worm gear",
    "lower bearing",
    "pressure switch",
    "return spring",
    "oil cooler",
)
TOOLS = ("the hook spanner", "the pin gauge", "the puller", "the torque wrench", "the feeler gauge")
BOLTS = ("cover bolts", "flange bolts", "foundation bolts", "ring bolts", "housing bolts")
ADVICE = (
    "Wipe the faces with a cloth that leaves no lint, and never with cotton waste.",
    "Older machines have a brass plate here; its screws have a left-hand thread.",
    "If the paint is cracked, note it in the book, but do not stop the work for it.",
    "Two people are needed, one of whom does nothing but hold the lamp.",
    "Let the machine stand for ten minutes before anything is opened.",
    "The gasket is used once only, even if it looks like new.",
    "A rattling noise at this place is normal as long as it has a rhythm.",
    "Lay the parts on the bench in the order in which they came off.",
    "In winter the grease is stiff; warm the housing with a lamp, not with a flame.",
    "The drawing at the end of the book shows this part from the other side.",
    "Do not trust the mark on the dial; knock at the glass first.",
    "Oil that runs out is black at first and clear later, which has no meaning.",
    "The chain of the hoist must hang free before it takes any load.",
    "A new part is tight for the first fifty hours.",
    "If a bolt does not give way, do not lengthen the lever; use penetrating oil and wait.",
    "The foreman signs for this step in the column on the right.",
    "On machines with the wide base the cover is lifted off to the left.",
    "Keep the fingers away from the edge, which is sharper than it looks.",
    "What was done here is entered in the book at once and not in the evening.",
    "The spring is under tension; stand beside it, never before it.",
    "A little rust on the outside is without importance.",
    "Close the valve by hand and not with a tool.",
    "The older edition of this book gives this step in another place.",
    "Afterwards turn the shaft twice by hand and listen.",
)


@dataclass(frozen=True, slots=True)
class Section:
    """``above`` and ``otherwise`` are the next sections. A section without them names the ``part``."""

    number: str
    reading: int
    limit: int
    above: str
    otherwise: str
    part: str
    tool: str
    bolts: str
    torque: int


def manual() -> Document:
    dice = Dice("manual 5")
    sections = _sections(dice)
    advice = Deck(ADVICE, dice)
    chapters = tuple(
        _chapter(chapter, [s for s in sections if s.number.startswith(f"{chapter}.")], advice)
        for chapter in range(1, 9)
    )
    return Document("manual", chapters, tuple(_questions(sections)))


def _sections(dice: Dice) -> list[Section]:
    """Eight chapters of nine sections. References lead from layer to layer, so every path ends after six steps."""
    numbers = [f"{chapter}.{place}" for chapter in range(1, 9) for place in range(1, 10)]
    shuffled = dice.sample(numbers, len(numbers))
    layers = [shuffled[start : start + 12] for start in range(0, 72, 12)]
    sections = {}
    for depth, layer in enumerate(layers):
        for number in layer:
            above, otherwise = dice.sample(layers[depth + 1], 2) if depth < 5 else ("", "")
            reading = dice.between(0, 3)
            sections[number] = Section(
                number=number,
                reading=reading,
                limit=GIVEN[reading] + dice.pick((-3, -2, -1, 1, 2, 3)),
                above=above,
                otherwise=otherwise,
                part="" if above else dice.pick(PARTS),
                tool=dice.pick(TOOLS),
                bolts=dice.pick(BOLTS),
                torque=5 * dice.between(4, 30),
            )
    return [sections[number] for number in numbers]


def _chapter(chapter: int, sections: list[Section], advice: Deck) -> str:
    paragraphs = [f"Service manual of the Torvik press, chapter {chapter}."]
    for section in sections:
        if section.above:
            leads = (
                f"Read {READINGS[section.reading]}. Above {section.limit} go on with section {section.above}, "
                "otherwise with section "
                f"{section.otherwise}."
            )
        else:
            leads = f"The fault lies in the {section.part}: replace it, and the search is at its end."
        work = (
            f"The work here needs {section.tool}. Tighten the {section.bolts} of this section with {section.torque} Nm."
        )
        paragraphs.append(f"Section {section.number}. {advice.draw()} {work} {advice.draw()} {leads} {advice.draw()}")
    return "\n".join(paragraphs)


def follow(start: str, sections: dict[str, Section]) -> list[str]:
    """The sections on the path of the given readings, including the first and the last."""
    path = [start]
    while sections[path[-1]].above:
        section = sections[path[-1]]
        path.append(section.above if GIVEN[section.reading] > section.limit else section.otherwise)
    return path


def _questions(sections: list[Section]) -> list[Question]:
    by_number = {section.number: section for section in sections}
    start = next(s.number for s in sections if len(follow(s.number, by_number)) == 6)
    path = follow(start, by_number)
    puller = sum(section.tool == "the puller" for section in sections)
    strongest = max((s for s in sections if s.bolts == "ring bolts"), key=lambda section: section.torque)
    assert sum(s.torque == strongest.torque and s.bolts == "ring bolts" for s in sections) == 1
    intro = "The passages are a service manual."
    readings = ", ".join(f"{name} {value}" for name, value in zip(READING_NAMES, GIVEN, strict=True))
    return [
        Question(
            "manual-torque",
            "The torque of one section",
            "easy",
            f"{intro} With how many Nm are the bolts of section 5.7 tightened?",
            "<number>",
            str(by_number["5.7"].torque),
            numeric=True,
        ),
        Question(
            "manual-strongest",
            "The strongest of one kind of bolt",
            "medium",
            f"{intro} In which section do the ring bolts need the highest torque?",
            "<number of the section>",
            strongest.number,
        ),
        Question(
            "manual-puller",
            "Counting sections that need a tool",
            "hard",
            f"{intro} In how many sections does the work need the puller?",
            "<number>",
            str(puller),
            numeric=True,
        ),
        Question(
            "manual-search",
            "Following references to the fault",
            "hard",
            f"{intro} A search for a fault begins in section {start}. The readings are: {readings}. Follow the "
            "manual from section to section. Through "
            "which sections does the search lead, and which part is replaced?",
            "<section>, <section>, ..., <section>: <part>",
            f"{', '.join(path)}: {by_number[path[-1]].part}",
        ),
    ]
