"""The log of a harbour office over half a year: arrivals in order, remarks between them, corrections that "
"come late."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .documents import MONTHS, Deck, Dice, Document, Question, ordinal

SHIPS = (
    *(("schooner", "Alma"), ("brig", "Sofia"), ("barque", "Vega"), ("ketch", "Petrea"), ("steamer", "Orion")),
    *(("schooner", "Lykke"), ("brig", "Alva"), ("barque", "Sofie"), ("ketch", "Tern"), ("steamer", "Castor")),
    *(("schooner", "Idun"), ("brig", "Fortuna"), ("barque", "Norna"), ("ketch", "Vesta"), ("steamer", "Pollux")),
    *(("schooner", "Almina"), ("brig", "Hedvig"), ("barque", "Verona"), ("ketch", "Brage"), ("steamer", "Tyr")),
)
CAPTAINS = (
    *("Berg", "Holm", "Lind", "Aune", "Krog", "Vik", "Dahl", "Moe", "Ness", "Rud"),
    *("Sund", "Tveit", "Wold", "Eide", "Foss", "Gran", "Hauge", "Juul", "Kvam", "Lunde"),
)
PORTS = ("Riga", "Leith", "Hull", "Danzig", "Bergen", "Gothenburg", "Antwerp", "Reval", "Aberdeen", "Kiel")
CARGOES = ("timber", "coal", "salt", "grain", "herring", "bricks", "tar")
PILOTS = ("Nystad", "Aas", "Bratli", "Sorby", "Tangen")
REMARKS = (
    "Wind from the {wind} all night, and the lamp on the mole had to be lit twice.",
    "The dredger lay idle for want of coal; the foreman asks again for a new chain.",
    "Fog until noon. The bell was rung every five minutes by the boy Elling.",
    "A dispute between two boatmen about a hawser was settled in the office with coffee.",
    "The customs cutter passed {wind}ward without stopping and did not answer the flag.",
    "Two barrels drifted in at the fish quay; nobody has claimed them so far.",
    "The crane at berth 2 was greased. Its brake is to be looked at before the ice comes again.",
    "Inspector Falk counted the lifebuoys and found one more than the list has.",
    "Heavy swell from the {wind}. Three fishing boats asked for shelter and paid nothing, as is the custom.",
    "The widow Strand brought back the telescope that her husband had borrowed in 1899.",
    "Ice along the inner basin, not thicker than a finger, gone by the evening.",
    "A telegram from the coast guard warns of a drifting wreck to the {wind}; nothing was seen.",
    "The painter began with the railings. He was told to leave the bollards black.",
    "Schoolchildren were shown the tide gauge, and one of them read it better than the apprentice.",
    "The office clock was four minutes slow and has been set by the railway's.",
    "A dog came ashore with nobody; the cook of the dredger has taken it in.",
    "Complaint of the fish dealers about coal dust at berth 4. They were told about the wind from the {wind}.",
    "The diver looked at the sill of the lock and found a chain, a plough and no damage.",
    "Half a gale from the {wind} in the afternoon. All hawsers were doubled.",
    "The new regulations were nailed to the door. Nobody has been seen reading them.",
    "Rain without a pause. The ink in this book has run on the page before.",
    "A photographer asked where the largest ships lie and was sent to another town.",
    "The ferry ran an hour late because of the wedding at the island church.",
    "The ropes ordered in autumn have come, in the wrong thickness, with a letter of apology.",
    "Northern lights until two. The watchman reports them as a fire and then not.",
    "The tug was tried with the new boiler and went no faster, but quieter.",
)
ENTRIES = (
    "On the {day} at {time} the {rig} {ship}, Captain {captain}, came in from {port} with {tons} tons of "
    "{cargo} and was "
    "brought to berth {berth} by pilot {pilot}.",
    "The {rig} {ship} (Captain {captain}) arrived from {port} on the {day}, {time}, laden with {tons} tons of "
    "{cargo}; "
    "pilot {pilot} took her to berth {berth}.",
    "{time} on the {day}: the {rig} {ship} from {port}, Captain {captain}. She carries {tons} tons of {cargo}. "
    "Berth {berth}, "
    "pilot {pilot}.",
)


@dataclass(frozen=True, slots=True)
class Arrival:
    month: int
    day: int
    time: str
    rig: str
    ship: str
    captain: str
    port: str
    tons: int
    cargo: str
    berth: int
    pilot: str

    @property
    def date(self) -> str:
        return f"{self.day} {MONTHS[self.month]}"


def harbour_log() -> Document:
    dice = Dice("harbour log 5")
    arrivals = [arrival for month in range(6) for arrival in _arrivals(month, dice)]
    salt_in_may = [a for a in arrivals if a.cargo == "salt" and a.month == 4]
    wrong = salt_in_may[1]
    right = replace(wrong, tons=wrong.tons + 45)
    corrections = {
        5: f"Correction to last month: the cargo of the {wrong.ship} entered for {time_of(wrong)} was "
        f"{right.tons} tons, not "
        f"{wrong.tons}, as the scales of the customs house have shown.",
        2: "Correction: the name of the boy at the bell is Elling, not Erling as the list of wages has it.",
    }
    chapters = [
        _chapter(month, [a for a in arrivals if a.month == month], corrections, Deck(REMARKS, dice), dice)
        for month in range(6)
    ]
    true = [right if arrival is wrong else arrival for arrival in arrivals]
    return Document("harbour", tuple(chapters), tuple(_questions(true)))


def time_of(arrival: Arrival) -> str:
    return f"the {ordinal(arrival.day)} at {arrival.time}"


def _arrivals(month: int, dice: Dice) -> list[Arrival]:
    count = dice.between(22, 26)
    moments = sorted({(dice.between(1, 28), 60 * dice.between(4, 22) + 5 * dice.between(0, 11)) for _ in range(count)})
    return [_arrival(month, day, minutes, dice) for day, minutes in moments]


def _arrival(month: int, day: int, minutes: int, dice: Dice) -> Arrival:
    number = dice.between(0, len(SHIPS) - 1)
    rig, ship = SHIPS[number]
    return Arrival(
        month=month,
        day=day,
        time=f"{minutes // 60:02}:{minutes % 60:02}",
        rig=rig,
        ship=ship,
        captain=CAPTAINS[number],
        port=dice.pick(PORTS),
        tons=dice.between(60, 420),
        cargo=dice.pick(CARGOES),
        berth=dice.between(1, 6),
        pilot=dice.pick(PILOTS),
    )


def _chapter(month: int, arrivals: list[Arrival], corrections: dict[int, str], remarks: Deck, dice: Dice) -> str:
    paragraphs = [f"Log of the harbour office of Vesterhamn. {MONTHS[month]} 1907."]
    for number, arrival in enumerate(arrivals):
        fields = {name: getattr(arrival, name) for name in Arrival.__slots__} | {"day": ordinal(arrival.day)}
        paragraphs.append(dice.pick(ENTRIES).format(**fields))
        if dice.chance(0.6):
            paragraphs.append(remarks.draw().format(wind=dice.pick(("north", "south", "east", "west"))))
        if number == len(arrivals) // 2 and month in corrections:
            paragraphs.append(corrections[month])
    return "\n".join(paragraphs)


def _questions(arrivals: list[Arrival]) -> list[Question]:
    once = next(
        a for a in arrivals if a.month == 3 and sum(b.ship == a.ship and b.date == a.date for b in arrivals) == 1
    )
    coal = sum(a.cargo == "coal" and a.month == 2 for a in arrivals)
    salt = sum(a.tons for a in arrivals if a.cargo == "salt" and a.month == 4)
    timber = max((a for a in arrivals if a.cargo == "timber"), key=lambda a: a.tons)
    following = next(a for a in arrivals[arrivals.index(timber) + 1 :] if a.berth == timber.berth)
    absent = next(ship for _, ship in SHIPS if not any(a.ship == ship and a.month == 1 for a in arrivals))
    intro = "The passages are the log of a harbour office, one month each."
    return [
        Question(
            "harbour-pilot",
            "Which pilot, on a certain day",
            "easy",
            f"{intro} Which pilot brought the {once.ship} to her berth on {once.date}?",
            "<name>",
            once.pilot,
        ),
        Question(
            "harbour-coal",
            "Counting arrivals of a month",
            "medium",
            f"{intro} How many ships arrived with coal in March?",
            "<number>",
            str(coal),
            numeric=True,
        ),
        Question(
            "harbour-salt",
            "A sum with a late correction",
            "hard",
            f"{intro} How many tons of salt arrived in May in total? Take corrections that the log makes later "
            "into account.",
            "<number>",
            str(salt),
            numeric=True,
        ),
        Question(
            "harbour-berth",
            "Largest cargo, same berth, next ship",
            "hard",
            f"{intro} Look for the largest single cargo of timber in the whole half-year. Which ship was the "
            "next to arrive at the "
            "berth where that cargo was landed, and from which port did she come?",
            "<ship>, <port>",
            f"{following.ship}, {following.port}",
        ),
        Question(
            "harbour-absent",
            "A ship that did not come",
            "medium",
            f"{intro} With which cargo did the {absent} arrive in February? If the log names no such arrival, "
            "the answer is none.",
            "<cargo, or none>",
            "none",
        ),
    ]
