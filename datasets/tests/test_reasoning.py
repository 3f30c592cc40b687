"""Every answer of the reasoning dataset worked out again: by simulation, by counting all cases, by searching all."""

from __future__ import annotations

import datetime
import re
from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any

from reading import tasks

TASKS = tasks("reasoning")
LETTERS = "ABCDEFGH"


def bread_rolls() -> str:
    packed = 15 * 24 * 7 // 8
    return f"{packed // 6 * 2.70:.2f}"


def fence_posts() -> str:
    half_metres = [(x, y) for x in range(37) for y in range(25) if x in (0, 36) or y in (0, 24)]
    posts = [(x, y) for x, y in half_metres if (x if y in (0, 24) else y) % 3 == 0]
    inside_gate = [(x, y) for x, y in posts if y == 0 and 15 < x < 21]
    return str(len(posts) - len(inside_gate))


def three_games() -> str:
    """Search for all sizes of the eight regions; only one value of "all three" makes them fit."""
    answers = set()
    for all_three in range(10):
        chess_go, go_bridge, chess_bridge = 12 - all_three, 9 - all_three, 11 - all_three
        chess = 41 - chess_go - chess_bridge - all_three
        go = 38 - chess_go - go_bridge - all_three
        bridge = 29 - go_bridge - chess_bridge - all_three
        regions = (chess, go, bridge, chess_go, go_bridge, chess_bridge, all_three)
        if min(regions) >= 0 and sum(regions) == 90 - 10:
            answers.add(chess + go + bridge)
    (answer,) = answers
    return str(answer)


def weekday_later() -> str:
    assert datetime.date(2023, 3, 1).strftime("%A") == "Wednesday"
    return datetime.date(2031, 3, 1).strftime("%A")


def robot_walk() -> str:
    place, heading = 0j, 1j
    for command in re.findall(r"(?:forward|backward) \d+|turn (?:left|right|around)", TASKS["robot-walk"]["input"]):
        verb, what = command.split()
        if verb == "turn":
            heading *= {"left": 1j, "right": -1j, "around": -1}[what]
        else:
            place += heading * int(what) * (1 if verb == "forward" else -1)
    return f"({place.real:.0f}, {place.imag:.0f})"


def original_price() -> str:
    """Try every price in cents."""
    fits = [cents for cents in range(1, 200_000) if (cents * 8 - 15000) * 119 == 53550 * 1000]
    (cents,) = fits
    return f"{cents / 100:.2f}"


def syrup_barrel() -> str:
    sugar = 24.0
    for _ in range(3):
        sugar -= sugar * 15 / 60
    return f"{(sugar + 12 * 0.8) / 72 * 100:.2f}"


def leaking_tank() -> str:
    """Step through the day in tenths of a minute, with the tank divided into 18 * 600 parts."""
    level = Fraction(0)
    step = Fraction(1, 600)
    for tenths in range(24 * 600):
        if level >= 1:
            minutes = 8 * 60 + Fraction(tenths, 10)
            assert level == 1
            assert minutes.denominator == 1
            return f"{int(minutes) // 60:02}:{int(minutes) % 60:02}"
        resting = 900 <= tenths < 1200
        leak = Fraction(1, 18) if level >= Fraction(1, 2) else 0
        level += step * (Fraction(1, 9) + (0 if resting else Fraction(1, 6)) - leak)
    raise AssertionError("the tank never fills")


def notice_period() -> str:
    arrived = datetime.date(2024, 5, 17)
    ends = (datetime.date(2024, month, day) for month, day in ((3, 31), (6, 30), (9, 30), (12, 31)))
    return next(end.isoformat() for end in ends if arrived <= end - datetime.timedelta(days=45))


def two_flights() -> str:
    def zone(hours: float) -> datetime.timezone:
        return datetime.timezone(datetime.timedelta(hours=hours))

    leaves = datetime.datetime(2024, 2, 28, 23, 50, tzinfo=zone(9.5))
    on_the_way = datetime.timedelta(hours=13 + 2 + 5, minutes=25 + 50 + 40)
    return (leaves + on_the_way).astimezone(zone(-7)).strftime("%Y-%m-%d %H:%M")


def all_colours() -> str:
    draws = list(combinations("RRRRRBBBBGGG", 4))
    return str(Fraction(sum(len(set(draw)) == 3 for draw in draws), len(draws)))


def two_screenings() -> str:
    carrier = Fraction(2, 100) * Fraction(9, 10) ** 2 * Fraction(1, 10)
    other = Fraction(98, 100) * Fraction(5, 100) ** 2 * Fraction(95, 100)
    return f"{float(carrier / (carrier + other) * 100):.2f}"


def gate_codes() -> str:
    codes = product(range(10), repeat=4)
    return str(sum(sum(code) % 2 == 0 and all(a != b for a, b in pairwise(code)) for code in codes))


def race_order() -> str:
    boats = ("Amber", "Birch", "Coral", "Dune", "Ember", "Fern", "Gale")

    def fits(order: tuple[str, ...]) -> bool:
        at = {boat: place for place, boat in enumerate(order, start=1)}
        return (
            at["Coral"] == at["Amber"] + 3
            and at["Birch"] < at["Ember"] < at["Coral"]
            and at["Fern"] < at["Birch"]
            and at["Dune"] == at["Fern"] - 2
            and at["Gale"] not in (1, 7)
        )

    return ", ".join(only(order for order in permutations(boats) if fits(order)))


def odd_creatures() -> str:
    """Look at all worlds of up to four creatures, each with its four traits."""
    creatures = list(product([False, True], repeat=4))
    statements: list[Callable[[tuple[Any, ...]], bool]] = [
        lambda world: not any(glimmer and hums for glimmer, _, _, hums in world),
        lambda world: any(vexel and hums for _, _, vexel, hums in world),
        lambda world: all(tork for _, tork, vexel, _ in world if vexel),
        lambda world: any(tork and not hums for _, tork, _, hums in world),
        lambda world: any(glimmer and hums for glimmer, _, _, hums in world),
    ]
    worlds = [
        world
        for size in range(1, 5)
        for world in combinations(creatures, size)
        if all(tork for glimmer, tork, _, _ in world if glimmer)
        and not any(tork and vexel and hums for _, tork, vexel, hums in world)
        and any(glimmer and vexel for glimmer, _, vexel, _ in world)
    ]
    return only(letter for letter, holds in zip(LETTERS, statements, strict=False) if all(map(holds, worlds)))


def forgetful_host() -> str:
    """All cases are equally likely: where the car is, and which two of doors 1 to 3 the host opens (yours is 0)."""
    cases = [(car, opened) for car in range(4) for opened in combinations((1, 2, 3), 2) if car not in opened]
    chance = Fraction(sum(car != 0 for car, _ in cases), len(cases))
    return LETTERS[TASKS["forgetful-host"]["choices"].index(str(chance))]


def rising_rolls() -> str:
    """Follow the probability of each state (length of the rising run, last roll) until almost nothing is left."""
    states = {(1, face): 0.25 for face in range(1, 5)}
    expected, rolls = 0.0, 1
    while sum(states.values()) > 1e-15:
        rolls += 1
        following: dict[tuple[int, int], float] = {}
        for (length, last), chance in states.items():
            for face in range(1, 5):
                run = length + 1 if face > last else 1
                if run == 3:
                    expected += rolls * chance / 4
                else:
                    following[run, face] = following.get((run, face), 0.0) + chance / 4
        states = following
    return f"{expected:.2f}"


def truth_and_lies() -> str:
    def consistent(ana: bool, ben: bool, cem: bool, dan: bool, eve: bool) -> bool:
        return (
            ana == (ana + ben + cem + dan + eve == 2)
            and ben == (ana != dan)
            and cem == (not ben or dan)
            and dan == (not (ana and cem))
            and eve == (ben != cem)
        )

    kinds = only(kinds for kinds in product([False, True], repeat=5) if consistent(*kinds))
    return ", ".join(name for name, knight in zip(("Ana", "Ben", "Cem", "Dan", "Eve"), kinds, strict=True) if knight)


def round_table() -> str:
    """Chairs are numbered clockwise as seen from above, so a person's left neighbour has the next number."""

    def fits(at: dict[str, int]) -> bool:
        def apart(a: str, b: str) -> int:
            return min((at[a] - at[b]) % 6, (at[b] - at[a]) % 6)

        return (
            (at["Ned"] - at["Ida"]) % 6 == 1
            and apart("Kim", "Lou") == 1
            and apart("Ida", "Jan") != 1
            and apart("Mia", "Jan") != 1
            and apart("Mia", "Kim") != 1
            and apart("Jan", "Ned") != 3
        )

    seatings = ({"Ida": 0} | dict(zip(rest, range(1, 6), strict=True)) for rest in permutations(NEIGHBOURS))
    at = only(seating for seating in seatings if fits(seating))
    return next(name for name in at if (at[name] - at["Kim"]) % 6 == 1)


NEIGHBOURS = ("Jan", "Kim", "Lou", "Mia", "Ned")


def four_boats() -> str:
    solutions = []
    for boats, skippers, cargoes in product(
        permutations(("Heron", "Osprey", "Petrel", "Tern")),
        permutations(("Aske", "Britt", "Cato", "Dagny")),
        permutations(("salt", "tiles", "timber", "wool")),
    ):
        at = {name: place for names in (boats, skippers, cargoes) for place, name in enumerate(names)}
        if (
            at["Britt"] in (1, 2)
            and at["Tern"] in (1, 2)
            and at["wool"] - at["salt"] == 2
            and at["Cato"] == at["tiles"]
            and at["Dagny"] == at["timber"]
            and abs(at["Dagny"] - at["Osprey"]) == 1
            and at["timber"] < at["Petrel"]
            and at["Heron"] not in (at["Aske"], at["Cato"])
            and at["Tern"] not in (at["timber"], at["tiles"])
        ):
            solutions.append(", ".join(f"{boat}-{skipper}" for boat, skipper in zip(boats, skippers, strict=True)))
    return only(iter(solutions))


def rolling_die() -> str:
    top, north, east = 1, 2, 3
    moves = TASKS["rolling-die"]["input"].partition("from square to square:")[2].partition(".")[0]
    for move in re.findall(r"north|east|south|west", moves):
        if move == "north":
            top, north = 7 - north, top
        elif move == "south":
            top, north = north, 7 - top
        elif move == "east":
            top, east = 7 - east, top
        else:
            top, east = east, 7 - top
    return f"top {top}, north {north}"


def drilled_cube() -> str:
    cells = set(product(range(5), repeat=3))
    left = {cell for cell in cells if sum(coordinate == 2 for coordinate in cell) < 2}
    both = none = 0
    for x, y, z in left:
        around = [(x + 1, y, z), (x - 1, y, z), (x, y + 1, z), (x, y - 1, z), (x, y, z + 1), (x, y, z - 1)]
        blue = any(cell not in cells for cell in around)
        red = any(cell in cells and cell not in left for cell in around)
        both += blue and red
        none += not blue and not red
    return f"both {both}, none {none}"


def ferry_with_two_places() -> str:
    """Breadth first over (what is on the first bank, whether the farmer is there too)."""
    everything = frozenset({"wolf", "goat", "cabbage"})
    distance = {(everything, True): 0}
    queue = deque(distance)
    while queue:
        bank, here = state = queue.popleft()
        if not bank and not here:
            return str(distance[state])
        side = bank if here else everything - bank
        for size in range(3):
            for load in combinations(sorted(side), size):
                following = (bank - set(load), False) if here else (bank | set(load), True)
                unwatched = everything - following[0] if following[1] else following[0]
                if len(unwatched) <= 1 and following not in distance:
                    distance[following] = distance[state] + 1
                    queue.append(following)
    raise AssertionError("no way across")


def other_calendar() -> str:
    def days() -> Iterator[tuple[int, int, int]]:
        for year in range(1, 31):
            for month in range(1, 10):
                longer = month == 5 and year % 4 == 0 and year % 12 != 0
                yield from ((year, month, day) for day in range(1, 42 if longer else 41))

    names = ("Ana", "Bera", "Ceta", "Dora", "Esa", "Fila")
    return names[next(index for index, date in enumerate(days()) if date == (30, 8, 17)) % 6]


def two_presses() -> str:
    hours = {"A": 3, "B": 2, "C": 7, "D": 4, "E": 5, "F": 6, "G": 3}
    after = {"C": "A", "D": "AB", "E": "B", "F": "D", "G": "CE"}

    def finished(order: tuple[str, ...]) -> int:
        """The end when each job of the order goes to the press that is free first, as soon as it may begin."""
        presses, ends = [0, 0], dict[str, int]()
        for job in order:
            if any(other not in ends for other in after.get(job, "")):
                return 10**6
            presses.sort()
            ready = max((ends[other] for other in after.get(job, "")), default=0)
            ends[job] = presses[0] = max(presses[0], ready) + hours[job]
        return max(ends.values())

    return str(min(map(finished, permutations(hours))))


def stones_without_repeats() -> str:
    @cache
    def wins(stones: int, forbidden: int) -> bool:
        return any(take <= stones and take != forbidden and not wins(stones - take, take) for take in (1, 3, 4))

    return str(only(take for take in (1, 3, 4) if not wins(24 - take, take)))


def only(results: Iterator[Any]) -> Any:
    """The only solution: a puzzle must not have several."""
    (solution,) = results
    return solution


SOLVERS: dict[str, Callable[[], str]] = {
    "bread-rolls": bread_rolls,
    "fence-posts": fence_posts,
    "three-games": three_games,
    "weekday-later": weekday_later,
    "robot-walk": robot_walk,
    "original-price": original_price,
    "syrup-barrel": syrup_barrel,
    "leaking-tank": leaking_tank,
    "notice-period": notice_period,
    "two-flights": two_flights,
    "all-colours": all_colours,
    "two-screenings": two_screenings,
    "gate-codes": gate_codes,
    "race-order": race_order,
    "odd-creatures": odd_creatures,
    "forgetful-host": forgetful_host,
    "rising-rolls": rising_rolls,
    "truth-and-lies": truth_and_lies,
    "round-table": round_table,
    "four-boats": four_boats,
    "rolling-die": rolling_die,
    "drilled-cube": drilled_cube,
    "ferry-with-two-places": ferry_with_two_places,
    "other-calendar": other_calendar,
    "two-presses": two_presses,
    "stones-without-repeats": stones_without_repeats,
}


def test_every_task_has_a_solver() -> None:
    assert list(SOLVERS) == list(TASKS)


def test_the_answer_is_what_a_program_finds() -> None:
    for task_id in TASKS:
        assert SOLVERS[task_id]() == TASKS[task_id]["expected_output"], task_id


def test_the_input_says_how_to_answer() -> None:
    for task_id in TASKS:
        assert re.search(r"[Ee]nd with a line `Answer: .+`", TASKS[task_id]["input"]), task_id


def test_a_tolerance_goes_with_a_number_and_is_small_beside_it() -> None:
    for task_id in (task_id for task_id, task in TASKS.items() if "tolerance" in task):
        task = TASKS[task_id]
        assert task["tolerance"] <= abs(float(task["expected_output"])) / 1000, task_id


def test_the_input_lists_the_choices_in_order() -> None:
    for task_id in (task_id for task_id, task in TASKS.items() if "choices" in task):
        task = TASKS[task_id]
        lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, task["choices"], strict=False)]
        assert "\n".join(lines) in task["input"], task_id
        assert task["expected_output"] in LETTERS[: len(lines)], task_id
