"""Every answer of the long-context dataset, derived again by reading the documents as text."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from reading import DATASETS, tasks

TASKS = tasks("long-context")
MONTHS = ("January", "February", "March", "April", "May", "June")
Row = dict[str, Any]


def document(key: str) -> list[str]:
    """The chapters of the document with which the first task of that name comes."""
    return next(task["context"] for task_id, task in TASKS.items() if task_id.startswith(key))


def matches(pattern: str, text: str) -> list[Row]:
    """Every match as a row; digits become numbers."""
    return [
        {name: int(value) if value.isdigit() else value for name, value in match.groupdict().items() if value}
        for match in re.finditer(pattern, text)
    ]


def arrivals() -> list[Row]:
    """Arrivals in the order of the log, with each part of an entry matched by its own expression."""
    rows = []
    for month, chapter in zip(MONTHS, document("harbour"), strict=True):
        for line in chapter.splitlines():
            if "Captain" not in line:
                continue
            ship = re.search(r"the (?:schooner|brig|barque|ketch|steamer) (\w+)", line, re.IGNORECASE)
            tons, cargo = re.search(r"(\d+) tons of (\w+)", line).groups()
            rows.append(
                {
                    "month": month,
                    "day": int(re.search(r"the (\d+)(?:st|nd|rd|th)", line)[1]),
                    "ship": ship[1],
                    "port": re.search(r"from (\w+)", line)[1],
                    "tons": int(tons),
                    "cargo": cargo,
                    "berth": int(re.search(r"berth (\d)", line, re.IGNORECASE)[1]),
                    "pilot": re.search(r"pilot (\w+)", line)[1],
                }
            )
    return rows


def harbour_pilot() -> str:
    ship, day = re.search(r"the (\w+) to her berth on (\d+) April", TASKS["harbour-pilot"]["input"]).groups()
    (row,) = [r for r in arrivals() if (r["ship"], r["day"], r["month"]) == (ship, int(day), "April")]
    return row["pilot"]


def harbour_coal() -> str:
    return str(sum(row["cargo"] == "coal" and row["month"] == "March" for row in arrivals()))


def harbour_salt() -> str:
    total = sum(row["tons"] for row in arrivals() if row["cargo"] == "salt" and row["month"] == "May")
    june = document("harbour")[MONTHS.index("June")]
    ((ship, right, wrong),) = re.findall(r"last month: the cargo of the (\w+) .*? was (\d+) tons, not (\d+)", june)
    assert any(r["ship"] == ship and r["tons"] == int(wrong) and r["cargo"] == "salt" for r in arrivals())
    return str(total + int(right) - int(wrong))


def harbour_berth() -> str:
    rows = arrivals()
    sizes = sorted(row["tons"] for row in rows if row["cargo"] == "timber")
    assert sizes[-1] > sizes[-2]
    place = next(i for i, row in enumerate(rows) if row["cargo"] == "timber" and row["tons"] == sizes[-1])
    following = next(row for row in rows[place + 1 :] if row["berth"] == rows[place]["berth"])
    return f"{following['ship']}, {following['port']}"


def harbour_absent() -> str:
    ship = re.search(r"did the (\w+) arrive in February", TASKS["harbour-absent"]["input"])[1]
    assert not re.search(rf"\b{ship}\b", document("harbour")[1])
    assert any(re.search(rf"\b{ship}\b", chapter) for chapter in document("harbour"))
    return "none"


MOTION = (
    r"Motion (?P<number>\d+), moved by Councillor (?P<mover>\w+) and seconded by Councillor (?P<seconder>\w+): "
    r"that (?P<what>.+?)\. Votes for: (?P<yes>\d+), against: (?P<no>\d+)\. "
    r"The motion was (?P<outcome>\w+)\."
)


def motions() -> list[Row]:
    rows = []
    for chapter in document("council"):
        place = re.search(r"held in ([\w ]+)\.", chapter)[1]
        rows += [row | {"place": place} for row in matches(MOTION, chapter)]
    return rows


def council_votes() -> str:
    return str(next(row["no"] for row in motions() if row["number"] == 37))


def council_mover() -> str:
    mover = re.search(r"Councillor (\w+) moved", TASKS["council-mover"]["input"])[1]
    return str(sum(row["mover"] == mover and row["outcome"] == "carried" for row in motions()))


def council_schoolhouse() -> str:
    rows = [row for row in motions() if row["place"] == "the schoolhouse"]
    by_majority = sorted(rows, key=lambda row: row["yes"] - row["no"], reverse=True)
    assert by_majority[0]["yes"] - by_majority[0]["no"] > by_majority[1]["yes"] - by_majority[1]["no"]
    return by_majority[0]["seconder"]


def council_fee() -> str:
    """Go through the year, keeping a stack of amounts for each fee; a rescission takes its motion's amount out."""
    fee = re.search(r"pfennigs does (.+) stand after", TASKS["council-fee"]["input"])[1]
    in_force: list[tuple[int, int]] = []
    rescinded = False
    for row in motions():
        if row["outcome"] != "carried":
            continue
        if setting := re.fullmatch(rf"{fee} be set at (\d+) pfennigs", row["what"]):
            in_force.append((row["number"], int(setting[1])))
        elif lifting := re.match(r"motion (\d+) be rescinded", row["what"]):
            left = [entry for entry in in_force if entry[0] != int(lifting[1])]
            rescinded = rescinded or left != in_force
            in_force = left
    assert rescinded, "the question should turn on a rescinded motion"
    return str(in_force[-1][1])


def test_votes_agree_with_outcomes_and_with_the_number_of_councillors() -> None:
    assert len(motions()) == 60
    for row in motions():
        assert (row["yes"] > row["no"]) == (row["outcome"] == "carried")
        assert row["yes"] + row["no"] <= 13


def days() -> dict[int, str]:
    """The journal's entry for each day, without its number."""
    entries: dict[int, str] = {}
    for chapter in document("journal")[:-1]:
        entries |= {int(number): text for number, text in re.findall(r"^Day (\d+)\. (.+)$", chapter, re.MULTILINE)}
    return entries


def kilometres(text: str) -> int:
    walked = re.search(r"(\d+) kilometres", text)
    return int(walked[1]) if walked else 0


def journal_cache() -> str:
    ((_, valley),) = [
        (number, match[1])
        for number, text in days().items()
        if (match := re.search(r"valley called (\w+) we left a cache of fuel", text))
    ]
    return valley


def journal_order() -> str:
    signs = {
        "A": "We found the cairn",
        "B": "The compass fell",
        "C": "set the cook tent alight",
        "D": "Ragna went through the ice",
        "E": "the runner of the small sledge broke",
    }
    text = "\n".join(document("journal"))
    assert all(text.count(sign) == 1 for sign in signs.values())
    return ", ".join(sorted(signs, key=lambda letter: text.index(signs[letter])))


def journal_distance() -> str:
    return str(sum(kilometres(days()[number]) for number in range(20, 35)))


def journal_ptarmigans() -> str:
    counts = (re.search(r"(\d+) ptarmigans", text) for text in days().values())
    return str(sum(bool(count) and int(count[1]) > 12 for count in counts))


def journal_disagreement() -> str:
    notebook = re.findall(r"^Day (\d+): (.+)$", document("journal")[-1], re.MULTILINE)
    (day,) = [number for number, text in notebook if kilometres(text) != kilometres(days()[int(number)])]
    return day


def journal_coldest() -> str:
    degrees = {number: int(re.search(r"it was (-\d+) degrees", text)[1]) for number, text in days().items()}
    (day,) = [number for number in degrees if degrees[number] == min(degrees.values())]
    return f"day {day}, {kilometres(days()[day])} kilometres"


KINDS = "clock|candlestick|casket|goblet|mirror|inkstand|barometer|tray"
MATERIALS = "silver|brass|walnut|pewter|ebony|copper"


def piece(line: str, room: str) -> Row:
    return {
        "number": int(re.match(r"No\. (\d+)\.", line)[1]),
        "kind": re.search(KINDS, line)[0],
        "material": re.search(MATERIALS, line)[0],
        "year": int(re.search(r"(?:of|dated|made in) (1[678]\d\d|1900)\b", line)[1]),
        "donor": re.search(r"(?:[Gg]iven by|Gift of) (\w+ \w+)", line)[1],
        "room": room,
    }


def pieces() -> list[Row]:
    """All objects, in the rooms where they stand after the moves."""
    rows = []
    for chapter in document("inventory")[:5]:
        room = re.search(r"Objects in ([\w ]+),", chapter)[1]
        rows += [piece(line, room) for line in chapter.splitlines()[1:]]
    moves = matches(r"No\. (?P<number>\d+) went from (?P<old>[\w ]+?) to (?P<new>[\w ]+)\.", document("inventory")[6])
    rooms = {row["number"]: row["new"] for row in moves}
    assert all(rows[row["number"] - 1]["room"] == row["old"] for row in moves)
    return [row | {"room": rooms.get(row["number"], row["room"])} for row in rows]


def homes() -> dict[str, str]:
    return dict(re.findall(r"^(\w+ \w+), .+? lived in (\w+) and", document("inventory")[5], re.MULTILINE))


def inventory_donor() -> str:
    return next(row["donor"] for row in pieces() if row["number"] == 83)


def inventory_clock() -> str:
    clocks = sorted((row for row in pieces() if row["kind"] == "clock"), key=lambda row: row["year"])
    assert clocks[0]["year"] < clocks[1]["year"]
    return homes()[clocks[0]["donor"]]


def inventory_silver() -> str:
    return str(sum(row["material"] == "silver" and row["room"] == "the Library" for row in pieces()))


def inventory_generous() -> str:
    town = re.search(r"lived in (\w+) gave", TASKS["inventory-generous"]["input"])[1]
    gifts = Counter(row["donor"] for row in pieces() if homes()[row["donor"]] == town)
    (first, most), (_, second) = gifts.most_common(2)
    assert most > second
    return first


def inventory_barometers() -> str:
    return ", ".join(str(r["number"]) for r in pieces() if r["kind"] == "barometer" and r["material"] == "ebony")


def test_the_inventory_is_read_completely() -> None:
    assert [row["number"] for row in pieces()] == list(range(1, 131))
    assert {row["donor"] for row in pieces()} <= homes().keys()


def test_moves_change_the_count_of_silver() -> None:
    before = "\n".join(document("inventory")[:5]).split("Inventory of Wendel House.")
    library = next(chapter for chapter in before if "Objects in the Library" in chapter)
    assert str(len(re.findall("silver", library))) != inventory_silver()


def sections() -> dict[str, str]:
    text = "\n".join(document("manual"))
    return dict(re.findall(r"^Section (\d\.\d)\. (.+)$", text, re.MULTILINE))


def manual_torque() -> str:
    return re.search(r"with (\d+) Nm", sections()["5.7"])[1]


def manual_strongest() -> str:
    torques = {n: int(m[1]) for n, text in sections().items() if (m := re.search(r"ring bolts .*? (\d+) Nm", text))}
    (number,) = [number for number in torques if torques[number] == max(torques.values())]
    return number


def manual_puller() -> str:
    return str(sum("needs the puller" in text for text in sections().values()))


def manual_search() -> str:
    question = TASKS["manual-search"]["input"]
    readings = {
        name: int(value) for name, value in re.findall(r"(pressure|temperature|play|current)[a-z ]* (\d+)", question)
    }
    number = re.search(r"begins in section (\d\.\d)", question)[1]
    path = [number]
    while part := re.search(
        r"Read the .*?(pressure|temperature|play|current).*? Above (\d+) go on with section (\S+), "
        r"otherwise with section (\d\.\d)",
        sections()[path[-1]],
    ):
        path.append(part[3] if readings[part[1]] > int(part[2]) else part[4])
    return f"{', '.join(path)}: {re.search(r'lies in the ([a-z ]+):', sections()[path[-1]])[1]}"


SOLVERS: dict[str, Callable[[], str]] = {
    "harbour-pilot": harbour_pilot,
    "harbour-coal": harbour_coal,
    "harbour-salt": harbour_salt,
    "harbour-berth": harbour_berth,
    "harbour-absent": harbour_absent,
    "council-votes": council_votes,
    "council-mover": council_mover,
    "council-schoolhouse": council_schoolhouse,
    "council-fee": council_fee,
    "journal-cache": journal_cache,
    "journal-order": journal_order,
    "journal-distance": journal_distance,
    "journal-ptarmigans": journal_ptarmigans,
    "journal-disagreement": journal_disagreement,
    "journal-coldest": journal_coldest,
    "inventory-donor": inventory_donor,
    "inventory-clock": inventory_clock,
    "inventory-silver": inventory_silver,
    "inventory-generous": inventory_generous,
    "inventory-barometers": inventory_barometers,
    "manual-torque": manual_torque,
    "manual-strongest": manual_strongest,
    "manual-puller": manual_puller,
    "manual-search": manual_search,
}


def test_every_task_has_a_reader() -> None:
    assert list(SOLVERS) == list(TASKS)


def test_the_answer_is_what_the_text_says() -> None:
    for task_id in TASKS:
        assert SOLVERS[task_id]() == TASKS[task_id]["expected_output"], task_id


def test_the_program_writes_exactly_this_file() -> None:
    program = [sys.executable, "-m", "datasets.tools.long_context"]
    written = subprocess.run(program, cwd=DATASETS.parent, capture_output=True, check=True).stdout
    assert written == (DATASETS / "long-context.yaml").read_bytes()


def test_a_document_has_thousands_of_words() -> None:
    for key in (
        "harbour",
        "council",
        "journal",
        "inventory",
        "manual",
    ):
        assert 3_000 <= sum(len(chapter.split()) for chapter in document(key)) <= 6_000, key


def test_the_file_stays_below_400_kilobytes() -> None:
    assert (DATASETS / "long-context.yaml").stat().st_size < 400_000
