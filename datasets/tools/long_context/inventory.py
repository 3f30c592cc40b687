"""The inventory of a house: objects room by room, a register of donors, and a list of what was moved since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from .documents import Deck, Dice, Document, Question

ROOMS = ("the Blue Room", "the Long Gallery", "the Library", "the Garden Hall", "the Chapel")
KINDS = ("clock", "candlestick", "casket", "goblet", "mirror", "inkstand", "barometer", "tray")
MATERIALS = ("silver", "brass", "walnut", "pewter", "ebony", "copper")
TOWNS = ("Felsach", "Obern", "Lund", "Marling", "Tessen", "Varn")
PROFESSIONS = ("a physician", "a brewer", "a teacher", "a notary", "a ship owner", "an organist")
DONORS = (
    *("Agnes Rohr", "Agathe Rohr", "Bruno Hasler", "Clara Winter", "Emil Stadler", "Frieda Lang", "Georg Paulsen"),
    *("Hedwig Marek", "Ivo Marek", "Julius Thoma", "Klara Winter", "Ludwig Orth", "Martha Seidl", "Otto Brandis"),
)
STATES = (
    "The lid no longer closes.",
    "A repair from about 1900 is visible on the underside.",
    "In good state, but the original box is missing.",
    "Bears an old label with the number of the previous owner.",
    "Should not be placed near the radiator.",
    "Lent to an exhibition twice and returned without damage.",
    "Three small dents on the left side, already noted in 1912.",
    "The maker's mark is worn and was read in different ways.",
    "Formerly thought to be a pair with another piece, which was sold.",
    "Cleaned too well at some time.",
    "The key is kept in the office, on the third hook.",
    "Smells faintly of camphor.",
    "A visitor claims to have seen the same thing in another house.",
    "The inscription on the base is a later addition.",
    "Stood in the attic for twenty years and has not suffered from it.",
    "Insured for more than it is worth, on the donor's wish.",
    "One foot was replaced, not badly.",
    "Photographed for the guide book, from its better side.",
    "The committee accepted it after a long debate.",
    "Should be turned a little every spring because of the light.",
    "Nobody knows what the second hole is for.",
    "Wormholes, old ones, treated with paraffin.",
    "To be shown behind glass, if glass can be had.",
    "The donor asked that children be allowed to touch it.",
)
FORMS = (
    "No. {number}. A {material} {kind} of {year}, given by {donor}. {state}",
    "No. {number}. A {kind}, {material}, dated {year}. {state} Gift of {donor}.",
    "No. {number}. Given by {donor}: a {kind} of {material}, made in {year}. {state}",
)


@dataclass(frozen=True, slots=True)
class Piece:
    number: int
    kind: str
    material: str
    year: int
    donor: str
    room: str


def inventory() -> Document:
    dice = Dice("inventory 1")
    years = dice.sample(range(1690, 1901), 130)
    pieces = [
        Piece(number, dice.pick(KINDS), dice.pick(MATERIALS), year, dice.pick(DONORS), ROOMS[(number - 1) // 26])
        for number, year in enumerate(years, start=1)
    ]
    homes = {donor: dice.pick(TOWNS) for donor in DONORS}
    moved = {
        piece.number: dice.pick([room for room in ROOMS if room != piece.room])
        for piece in dice.sample(pieces, 9)
        + [p for p in pieces if p.material == "silver" and p.room == "the Library"][:1]
    }
    states = Deck(STATES, dice)
    rooms = tuple(_room(room, [p for p in pieces if p.room == room], states, dice) for room in ROOMS)
    appendix = (_register(homes, dice), _moves(pieces, moved))
    now = [replace(piece, room=moved.get(piece.number, piece.room)) for piece in pieces]
    return Document("inventory", rooms + appendix, tuple(_questions(now, homes)))


def _room(room: str, pieces: list[Piece], states: Deck, dice: Dice) -> str:
    paragraphs = [f"Inventory of Wendel House. Objects in {room}, as of 1931."]
    for piece in pieces:
        fields = {name: getattr(piece, name) for name in Piece.__slots__} | {"state": states.draw()}
        paragraphs.append(_with_article(dice.pick(FORMS).format(**fields)))
    return "\n".join(paragraphs)


def _with_article(text: str) -> str:
    for vowel in "aeiou":
        text = text.replace(f" a {vowel}", f" an {vowel}").replace(f" A {vowel}", f" An {vowel}")
    return text


def _register(homes: dict[str, str], dice: Dice) -> str:
    paragraphs = ["Register of donors, in alphabetical order."]
    for donor in sorted(homes):
        died = dice.between(1895, 1930)
        paragraphs.append(
            f"{donor}, {dice.pick(PROFESSIONS)}, lived in {homes[donor]} and died in {died}. The gift was "
            "accepted by the committee in "
            f"{died - dice.between(1, 12)}."
        )
    return "\n".join(paragraphs)


def _moves(pieces: list[Piece], moved: dict[int, str]) -> str:
    rooms = {piece.number: piece.room for piece in pieces}
    paragraphs = ["Moved since 1931. What is not listed here still stands in its old place."]
    paragraphs += [f"No. {number} went from {rooms[number]} to {moved[number]}." for number in sorted(moved)]
    return "\n".join(paragraphs)


def _questions(pieces: list[Piece], homes: dict[str, str]) -> list[Question]:
    oldest = min((piece for piece in pieces if piece.kind == "clock"), key=lambda piece: piece.year)
    silver = sum(piece.material == "silver" and piece.room == "the Library" for piece in pieces)
    town = Counter(homes.values()).most_common(1)[0][0]
    gifts = Counter(piece.donor for piece in pieces if homes[piece.donor] == town)
    (generous, most), (_, second) = gifts.most_common(2)
    assert most > second
    barometers = [p for p in pieces if p.kind == "barometer" and p.material == "ebony"]
    intro = "The passages are the inventory of a house with its appendices."
    return [
        Question(
            "inventory-donor",
            "The donor of one object",
            "easy",
            f"{intro} Who gave object no. 83?",
            "<first name and surname>",
            pieces[82].donor,
        ),
        Question(
            "inventory-clock",
            "From the oldest clock to a town",
            "medium",
            f"{intro} In which town did the person live who gave the oldest clock of the house?",
            "<town>",
            homes[oldest.donor],
        ),
        Question(
            "inventory-silver",
            "Counting after moves",
            "hard",
            f"{intro} How many objects of silver stand in the Library today, after the moves?",
            "<number>",
            str(silver),
            numeric=True,
        ),
        Question(
            "inventory-generous",
            "The greatest donor of a town",
            "hard",
            f"{intro} Which of the donors who lived in {town} gave the most objects?",
            "<first name and surname>",
            generous,
        ),
        Question(
            "inventory-barometers",
            "Kind and material together",
            "hard",
            f"{intro} What are the numbers of all barometers made of ebony, wherever they stand?",
            "<numbers in ascending order, separated by commas, such as 7, 31>",
            ", ".join(str(piece.number) for piece in barometers),
        ),
    ]
