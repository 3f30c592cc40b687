"""The minutes of a town council over a year: motions carried and lost, fees set, set again, and restored."""

from __future__ import annotations

from dataclasses import dataclass

from .documents import MONTHS, Deck, Dice, Document, Question

MEMBERS = (
    "Adler",
    "Brenner",
    "Clausen",
    "Dorn",
    "Ebert",
    "Falke",
    "Gerber",
    "Haas",
    "Imhof",
    "Jansen",
    "Kolb",
    "Lauer",
    "Maurer",
)
PLACES = ("the town hall", "the town hall", "the schoolhouse", "the town hall", "the guild house", "the town hall")
FEES = (
    "the bridge toll for carts",
    "the weekly fee for a market stall",
    "the entrance to the bath house",
    "the yearly tax for a dog",
    "the fee for a burial on Sundays",
    "the toll for cattle at the mill ford",
)
OTHER = (
    "that the well in {street} be cleaned before Whitsun",
    "that a second lamp be put up in {street}",
    "that the roof of the fire station be repaired at a cost of not more than {amount} pfennigs",
    "that the paving of {street} be put off by a year",
    "that the band be paid {amount} pfennigs for the summer feast",
    "that the clock of the tower be compared with the railway's every Monday",
)
STREETS = ("Weaver Street", "Long Street", "Crow Lane", "Saddler Street", "the Lower Market", "Abbey Lane")
DEBATE = (
    "{a} reminded the council of the flood and asked for thrift, to which {b} answered that the flood had been "
    "cheaper than the commission.",
    "{a} wished to know why the accounts of the bath house came on yellow paper; {b} said that white paper was out.",
    "A letter of the miller was read out. {a} called it long, {b} called it just, and it was filed.",
    "{a} spoke for a quarter of an hour about the poplars along the canal. {b} asked for the matter to be closed.",
    "The mayor asked {a} to withdraw the word that had been used of {b}. It was withdrawn, and another was found.",
    "{a} reported from the district assembly that other towns have the same troubles and larger debts. {b} was "
    "not comforted.",
    "The stove smoked. {a} and {b} opened a window each, which put out the lamps.",
    "{a} asked who had let the goats into the nursery garden. {b} knew, but would not say it in a public meeting.",
    "The teacher's request for a globe was put off. {a} pointed out that the old one still shows most of the "
    "countries, as {b} confirmed.",
    "{a} and {b} had walked the boundary together and found two stones missing and one too many.",
    "A deputation of the coopers was heard. {a} thanked them for being brief; {b} remarked that they had not been.",
    "{a} praised the fire brigade for its exercise in the autumn. {b} asked who pays for the barn.",
    "{b} handed in the keys of the granary, which {a} will keep until a new steward is found.",
    "Whether the night watchman should call the hours aloud was talked over at length. {a} sleeps badly, {b} is deaf.",
    "{a} read from the newspaper what the capital thinks of towns like this one. {b} asked for the page, to wrap fish.",
    "The surveyor's plan was laid on the table. {a} held it the wrong way round until {b} turned it.",
    "{a} doubted the weights of the market master. {b} had brought a pound of his own, which was light.",
    "A vote of thanks to the widow of the late councillor was passed standing; {a} and {b} had known him longest.",
    "{a} asked about the bell, which has been in the foundry since March of last year. {b} had heard that it "
    "rings flat.",
    "It was noted that {a} came late because of the train and that {b} was late because of {a}.",
    "{a} warned of the cost of candles. {b} proposed to talk less.",
    "The vicar asks that meetings end before the evening service. {a} is in favour; {b} would not promise anything.",
    "{b} gave an account of the bees on the allotments, in which {a} saw no business of the council.",
    "Snow on the stairs was discussed. {a} had fallen, {b} had not.",
)


@dataclass(frozen=True, slots=True)
class Motion:
    """One motion. ``fee`` and ``amount`` are set where it sets a fee, ``rescinds`` where it lifts an earlier "
    "motion."""

    number: int
    meeting: int
    mover: str
    seconder: str
    text: str
    votes_for: int
    votes_against: int
    fee: str = ""
    amount: int = 0
    rescinds: int = 0

    @property
    def carried(self) -> bool:
        return self.votes_for > self.votes_against


def council_minutes() -> Document:
    dice = Dice("council minutes 24")
    motions: list[Motion] = []
    for meeting in range(12):
        for place in range(5):
            motions.append(_motion(len(motions) + 1, meeting, place, motions, dice))
    debate = Deck(DEBATE, dice)
    chapters = tuple(_chapter(month, [m for m in motions if m.meeting == month], debate, dice) for month in range(12))
    return Document("council", chapters, tuple(_questions(motions)))


def _motion(number: int, meeting: int, place: int, earlier: list[Motion], dice: Dice) -> Motion:
    mover, seconder = dice.sample(MEMBERS, 2)
    votes_for = dice.between(3, 12)
    votes_against = dice.between(1, 13 - votes_for)
    if votes_for == votes_against:
        votes_for, votes_against = votes_for - 1, votes_against + 1
    fee, amount, rescinds = "", 0, 0
    rescindable = [m for m in earlier if m.fee and m.carried and m.meeting < meeting and not _rescinded(m, earlier)]
    if place == 4 and meeting in (4, 7, 10) and rescindable:
        rescinds = rescindable[-1].number
        votes_for, votes_against = 8, 4
        text = f"that motion {rescinds} be rescinded and the state before it restored"
    elif place < 2 or dice.chance(0.25):
        fee, amount = dice.pick(FEES), 2 * dice.between(3, 60)
        text = f"that {fee} be set at {amount} pfennigs"
    else:
        text = dice.pick(OTHER).format(street=dice.pick(STREETS), amount=50 * dice.between(3, 40))
    return Motion(number, meeting, mover, seconder, text, votes_for, votes_against, fee, amount, rescinds)


def _rescinded(motion: Motion, motions: list[Motion]) -> bool:
    return any(other.rescinds == motion.number and other.carried for other in motions)


def _chapter(meeting: int, motions: list[Motion], debate: Deck, dice: Dice) -> str:
    place = PLACES[meeting % len(PLACES)]
    paragraphs = [
        f"Minutes of the council of Lissenfeld, meeting of {MONTHS[meeting]} 1911, held in {place}. Present: "
        "the mayor, who does not "
        "vote, and thirteen councillors, some of whom left early."
    ]
    for motion in motions:
        for _ in range(dice.between(1, 3)):
            a, b = dice.sample(MEMBERS, 2)
            paragraphs.append(debate.draw().format(a=f"Councillor {a}", b=f"Councillor {b}"))
        outcome = "The motion was carried." if motion.carried else "The motion was lost."
        paragraphs.append(
            f"Motion {motion.number}, moved by Councillor {motion.mover} and seconded by Councillor "
            f"{motion.seconder}: {motion.text}. "
            f"Votes for: {motion.votes_for}, against: {motion.votes_against}. {outcome}"
        )
    return "\n".join(paragraphs)


def _in_force(fee: str, motions: list[Motion]) -> int:
    """The amount that the last carried motion about a fee sets, leaving out motions that were rescinded."""
    return [m for m in motions if m.fee == fee and m.carried and not _rescinded(m, motions)][-1].amount


def _questions(motions: list[Motion]) -> list[Question]:
    rescinded = [m for m in motions if _rescinded(m, motions)]
    fee = next(m.fee for m in reversed(rescinded) if _last_carried(m.fee, motions) is m)
    mover = max(MEMBERS, key=lambda name: sum(m.mover == name for m in motions))
    carried = sum(m.mover == mover and m.carried for m in motions)
    schoolhouse = [m for m in motions if PLACES[m.meeting % len(PLACES)] == "the schoolhouse"]
    widest = max(schoolhouse, key=lambda m: m.votes_for - m.votes_against)
    assert sum(m.votes_for - m.votes_against == widest.votes_for - widest.votes_against for m in schoolhouse) == 1
    intro = "The passages are the minutes of a town council, one meeting each."
    return [
        Question(
            "council-votes",
            "The votes on one motion",
            "easy",
            f"{intro} How many councillors voted against motion 37?",
            "<number>",
            str(motions[36].votes_against),
            numeric=True,
        ),
        Question(
            "council-mover",
            "Counting what one councillor achieved",
            "medium",
            f"{intro} How many of the motions that Councillor {mover} moved (not seconded) were carried during "
            "the year?",
            "<number>",
            str(carried),
            numeric=True,
        ),
        Question(
            "council-schoolhouse",
            "The clearest vote in one place",
            "hard",
            f"{intro} Among the motions voted on in the schoolhouse, in all meetings held there, one had the "
            "greatest majority of votes for "
            "over votes against. Who seconded it?",
            "<name>",
            widest.seconder,
        ),
        Question(
            "council-fee",
            "What is in force at the end",
            "hard",
            f"{intro} Motions that were carried stay in force until a later one that was carried sets the same "
            "fee anew; a rescinded motion "
            f"counts as if it had never been. At how many pfennigs does {fee} stand after the meeting of December?",
            "<number>",
            str(_in_force(fee, motions)),
            numeric=True,
        ),
    ]


def _last_carried(fee: str, motions: list[Motion]) -> Motion:
    return [m for m in motions if m.fee == fee and m.carried][-1]
