"""Orders to a freight depot, carried out by tools that read and change its tables, in 3 to 12 calls.

A higher level has more parcels that count, and more that only look as if they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from benchmarks.generators.base import Generator, Task
from benchmarks.generators.reasoning import NAMES, TOWNS
from tasks_app.canvas.random_source import KeyedRandom

Row = dict[str, Any]
SURNAMES = ("Aune", "Brandt", "Dahl", "Eide", "Foss", "Gran", "Holm", "Juul", "Kvam", "Lind", "Moe", "Rud")
HALLS = ("north", "south", "east", "west")
STORED, HELD, LOADED = "stored", "held", "loaded"
_END = "When you are done, say so in one sentence."
_SPARE_CALLS = 8


def _tool(name: str, description: str, required: Sequence[str] = (), /, **properties: str) -> dict[str, Any]:
    kinds = {"amount": {"type": "integer", "minimum": 1}}
    parameters = {
        "type": "object",
        "properties": {
            key: {**kinds.get(key, {"type": "string"}), "description": properties[key]} for key in properties
        },
        "additionalProperties": False,
    }
    if required:
        parameters["required"] = list(required)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _change(name: str, description: str, /, **properties: str) -> dict[str, Any]:
    return _tool(name, description, tuple(properties), **properties)


_PARCEL, _TRUCK, _CLIENT = "Such as P-7", "Such as T-2", "Such as C-4"
TOOLS = (
    _tool("find_clients", "Clients by name, by town, or both.", name="Name or part of it", town="Town"),
    _tool(
        "list_parcels",
        "Parcels of one client, in one bay, of one status, or any of these together. Weights are in kg.",
        client_id=_CLIENT,
        bay="Such as B-3",
        status="stored, held or loaded",
    ),
    _tool("list_bays", "Bays of one hall, or all. Only open ones take parcels.", hall=", ".join(HALLS)),
    _tool("list_trucks", "Trucks to one town, or all. Only waiting ones take parcels.", town="Town"),
    _change("move_parcel", "Moves a stored parcel to an open bay.", parcel_id=_PARCEL, bay="Such as B-3"),
    _change("load_parcel", "Loads a stored parcel into a waiting truck.", parcel_id=_PARCEL, truck_id=_TRUCK),
    _change("hold_parcel", "Holds a stored parcel back.", parcel_id=_PARCEL),
    _change("release_parcel", "Makes a held parcel a stored one.", parcel_id=_PARCEL),
    _change("send_truck", "Sends a waiting truck off. It takes no more parcels.", truck_id=_TRUCK),
    _change("charge_client", "Takes an amount of a client's credit.", client_id=_CLIENT, amount="Whole crowns"),
    _change(
        "give_credit", "Moves credit between clients.", from_client=_CLIENT, to_client=_CLIENT, amount="Whole crowns"
    ),
)


def _of_parcel(tool: str, status: str, values: dict[str, str], *requirements: dict[str, Any]) -> dict[str, Any]:
    refusal = {"where": {"status": status}, "error": f"Parcel $parcel_id is not {status}."}
    return {
        "tool": tool,
        "action": "update",
        "table": "parcels",
        "where": {"id": "$parcel_id"},
        "require": [refusal, *requirements],
        "set": values,
        "missing": "There is no parcel $parcel_id.",
    }


def _of_credit(tool: str, client: str, amount: str, *, checked: bool) -> dict[str, Any]:
    enough = {"where": {"credit": {"min": "$amount"}}, "error": f"Client ${client} has less credit."}
    return {
        "tool": tool,
        "action": "update",
        "table": "clients",
        "where": {"id": f"${client}"},
        **({"require": [enough]} if checked else {}),
        "add": {"credit": amount},
        "missing": f"There is no client ${client}.",
    }


_OPEN_BAY = {"table": "bays", "where": {"id": "$bay", "open": True}, "error": "Bay $bay is not open."}
_WAITING = {"table": "trucks", "where": {"id": "$truck_id", "status": "waiting"}, "error": "$truck_id is not waiting."}
_READS: dict[str, tuple[str, dict[str, Any]]] = {
    "find_clients": ("clients", {"name": {"contains": "$name"}, "town": "$town"}),
    "list_parcels": ("parcels", {"client": "$client_id", "bay": "$bay", "status": "$status"}),
    "list_bays": ("bays", {"hall": "$hall"}),
    "list_trucks": ("trucks", {"town": "$town"}),
}
RULES = (
    *({"tool": tool, "action": "read", "table": table, "where": where} for tool, (table, where) in _READS.items()),
    _of_parcel("move_parcel", STORED, {"bay": "$bay"}, _OPEN_BAY),
    _of_parcel("load_parcel", STORED, {"status": LOADED, "truck": "$truck_id"}, _WAITING),
    _of_parcel("hold_parcel", STORED, {"status": HELD}),
    _of_parcel("release_parcel", HELD, {"status": STORED}),
    {
        "tool": "send_truck",
        "action": "update",
        "table": "trucks",
        "where": {"id": "$truck_id"},
        "require": [{"where": {"status": "waiting"}, "error": "$truck_id is not waiting."}],
        "set": {"status": "gone"},
        "missing": "There is no truck $truck_id.",
    },
    _of_credit("charge_client", "client_id", "-$amount", checked=True),
    _of_credit("give_credit", "from_client", "-$amount", checked=True),
    _of_credit("give_credit", "to_client", "$amount", checked=False),
)


class _Depot:
    """The tables of one task, the calls that carry it out, and what they must lead to."""

    def __init__(self, random: KeyedRandom, level: int) -> None:
        self.random = random
        n_clients, n_bays = (6, 8, 12)[level - 1], (6, 8, 12)[level - 1]
        people = random.sample([f"{first} {last}" for first in NAMES for last in SURNAMES], n_clients)
        self.clients: list[Row] = [
            {"id": f"C-{number}", "name": name, "town": random.choice(TOWNS), "credit": random.randint(8_000, 19_999)}
            for number, name in zip(_numbers(random, n_clients), people, strict=True)
        ]
        # One open bay in each hall, and one waiting truck to each town: what a task means is never in doubt.
        halls = [HALLS[place % len(HALLS)] for place in range(n_bays)]
        self.bays: list[Row] = [
            {"id": f"B-{number}", "hall": hall, "open": place < len(HALLS)}
            for place, (number, hall) in enumerate(zip(_numbers(random, n_bays), halls, strict=True))
        ]
        towns = random.sample(TOWNS, 4)
        self.trucks: list[Row] = [
            {"id": f"T-{number}", "town": towns[place % 4], "status": "waiting" if place < 4 else "gone"}
            for place, number in enumerate(_numbers(random, 6))
        ]
        self.parcels: list[Row] = []
        self.calls: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []

    def add(self, n: int, client: Row, status: str, weights: tuple[int, int], bay: str = "") -> list[Row]:
        """``n`` parcels of the client, with weights from ``weights``, in any bay unless one is given."""
        added = [
            {
                "id": "",
                "client": client["id"],
                "bay": bay or self.random.choice(self.bays)["id"],
                "weight": self.random.randint(*weights),
                "status": status,
                "truck": "",
            }
            for _ in range(n)
        ]
        self.parcels += added
        return added

    def finish(self) -> None:
        """Put all tables in an order that says nothing, and name the parcels; the calls come after this."""
        for table in (self.clients, self.bays, self.trucks, self.parcels):
            self.random.shuffle(table)
        for row, number in zip(self.parcels, _numbers(self.random, len(self.parcels)), strict=True):
            row["id"] = f"P-{number}"

    def call(self, tool: str, /, **arguments: object) -> None:
        self.calls.append({"name": tool, "args": arguments})

    def change(self, name: str, parcel: Row, new: Row, **arguments: object) -> None:
        """A call that changes a parcel."""
        self.call(name, parcel_id=parcel["id"], **arguments)
        self.expect("parcels", parcel, new)

    def expect(self, table: str, row: Row, new: Row) -> None:
        """The row ends with these values, whatever was expected of it before."""
        earlier = next((each for each in self.rows if each["where"]["id"] == row["id"]), None)
        if earlier is None:
            self.rows.append({"table": table, "where": {"id": row["id"], **new}})
        else:
            earlier["where"].update(new)

    def load(self, parcels: Sequence[Row], truck: Row) -> None:
        for parcel in parcels:
            self.change("load_parcel", parcel, {"status": LOADED, "truck": truck["id"]}, truck_id=truck["id"])

    def send(self, truck: Row) -> None:
        self.call("send_truck", truck_id=truck["id"])
        self.expect("trucks", truck, {"status": "gone"})

    def ordered(self, parcels: Sequence[Row]) -> list[Row]:
        """These parcels in the order of their table."""
        return [row for row in self.parcels if any(row is each for each in parcels)]

    def waiting(self) -> Row:
        return self.random.choice([truck for truck in self.trucks if truck["status"] == "waiting"])

    def task(self, name: str, text: str) -> Task:
        return {
            "name": name,
            "input": f"{text} {_END}",
            "expected_output": "",
            "expected_tools": self.calls,
            "world": {
                "tables": {
                    "clients": self.clients,
                    "bays": self.bays,
                    "trucks": self.trucks,
                    "parcels": self.parcels,
                }
            },
            "final_state": {"rows": self.rows, "max_steps": len(self.calls) + _SPARE_CALLS},
        }


def _numbers(random: KeyedRandom, count: int) -> list[int]:
    """Different numbers for identifiers."""
    return random.sample(range(10, 100), count)


def _others(depot: _Depot, left_out: Row, n: int, *statuses: str) -> None:
    """``n`` parcels of other clients."""
    clients = [client for client in depot.clients if client is not left_out]
    for _ in range(n):
        depot.add(1, depot.random.choice(clients), depot.random.choice(statuses), (5, 95))


def loads(random: KeyedRandom, level: int) -> Task:
    depot = _Depot(random, level)
    client, truck, limit = random.choice(depot.clients), depot.waiting(), random.randint(30, 60)
    wanted = depot.add((1, 3, random.randint(5, 7))[level - 1], client, STORED, (limit + 1, 95))
    depot.add(3, client, STORED, (5, limit))
    depot.add(1, client, HELD, (limit + 1, 95))
    depot.add(level, client, LOADED, (limit + 1, 95))
    _others(depot, client, 6 * level, STORED, HELD)
    depot.finish()
    depot.call("find_clients", name=client["name"])
    depot.call("list_parcels", client_id=client["id"], status=STORED)
    depot.call("list_trucks", town=truck["town"])
    depot.load(depot.ordered(wanted), truck)
    order = f"Load every stored parcel of {client['name']} that weighs more than {limit} kg into the truck to"
    if level == 1:
        return depot.task("Load a truck", f"{order} {truck['town']}.")
    depot.send(truck)
    return depot.task("Load a truck", f"{order} {truck['town']}, then send that truck off.")


def moves(random: KeyedRandom, level: int) -> Task:
    depot = _Depot(random, level)
    source = random.choice([bay for bay in depot.bays if not bay["open"]])
    halls = [bay for bay in depot.bays if bay["open"] and bay["hall"] != source["hall"]]
    target, client, limit = random.choice(halls), random.choice(depot.clients), random.randint(30, 60)
    others = [each for each in depot.clients if each is not client]
    heavy, bay = (limit + 1, 95), source["id"]
    moved = [
        each for _ in range((1, 2, 5)[level - 1]) for each in depot.add(1, random.choice(others), STORED, heavy, bay)
    ]
    held = depot.add((0, 1, 3)[level - 1], client, STORED, heavy, bay)
    depot.add(1, random.choice(others), HELD, heavy, bay)
    depot.add(level, client, STORED, (5, limit), bay)
    for _ in range(3):
        depot.add(1, random.choice(others), STORED, (5, limit), bay)
    elsewhere = [each["id"] for each in depot.bays if each is not source]
    for _ in range(6 * level):
        depot.add(1, random.choice(depot.clients), STORED, (5, 95), random.choice(elsewhere))
    depot.finish()
    depot.call("list_parcels", bay=bay, status=STORED)
    depot.call("list_bays", hall=target["hall"])
    if held:
        depot.call("find_clients", name=client["name"])
    for parcel in depot.ordered(held):
        depot.change("hold_parcel", parcel, {"status": HELD})
    for parcel in depot.ordered(moved):
        depot.change("move_parcel", parcel, {"bay": target["id"]}, bay=target["id"])
    which = f"In bay {bay}, every stored parcel of more than {limit} kg has to go"
    where = f"to the open bay of the {target['hall']} hall"
    hold = f"hold those of {client['name']} where they are, and move all others" if held else "move each"
    return depot.task("Clear a bay", f"{which}: {hold} {where}.")


def gifts(random: KeyedRandom, level: int) -> Task:
    depot = _Depot(random, level)
    giver, town, amount = random.choice(depot.clients), random.choice(TOWNS), random.randint(11, 99)
    n_given = (1, 3, random.randint(6, 8))[level - 1]
    others = random.sample([each for each in depot.clients if each is not giver], n_given + 2)
    away = [each for each in TOWNS if each != town]
    for client in depot.clients:
        client["town"] = town if any(client is each for each in others) else random.choice(away)
    given, passed = others[:n_given], others[n_given:]
    for client in given:
        depot.add(random.randint(1, 2), client, HELD, (5, 95))
    for client in (*passed, *given):
        depot.add(1, client, STORED, (5, 95))
    for client in depot.clients:
        if client["town"] != town:
            depot.add(1, client, HELD, (5, 95))
    depot.finish()
    depot.call("find_clients", name=giver["name"])
    depot.call("find_clients", town=town)
    depot.call("list_parcels", status=HELD)
    for client in given:
        depot.call("give_credit", from_client=giver["id"], to_client=client["id"], amount=amount)
        depot.expect("clients", client, {"credit": client["credit"] + amount})
    depot.expect("clients", giver, {"credit": giver["credit"] - amount * n_given})
    who = f"each client in {town} who has at least one held parcel, however many"
    return depot.task("Share credit", f"{giver['name']} gives {amount} crowns of credit to {who}.")


def fees(random: KeyedRandom, level: int) -> Task:
    depot = _Depot(random, level)
    client, truck, rate = random.choice(depot.clients), depot.waiting(), random.randint(2, 29)
    held = depot.add((1, 3, 4)[level - 1], client, HELD, (5, 60))
    depot.add(2 + level, client, STORED, (5, 60))
    depot.add(level, client, LOADED, (5, 60))
    _others(depot, client, 6 * level, STORED, HELD)
    depot.finish()
    amount = rate * sum(row["weight"] for row in held)
    depot.call("find_clients", name=client["name"])
    depot.call("list_parcels", client_id=client["id"], status=HELD)
    if level == 3:
        depot.call("list_trucks", town=truck["town"])
    for parcel in depot.ordered(held):
        depot.change("release_parcel", parcel, {"status": STORED})
    then = ""
    if level == 3:
        depot.load(depot.ordered(held), truck)
        then = f" Load what you released into the truck to {truck['town']}, and nothing else."
    depot.call("charge_client", client_id=client["id"], amount=amount)
    depot.expect("clients", client, {"credit": client["credit"] - amount})
    text = (
        f"Release all held parcels of {client['name']}, and charge {rate} crowns for each kilogram of them, in one sum."
    )
    return depot.task("Release and charge", text + then)


def branches(random: KeyedRandom, level: int) -> Task:
    depot = _Depot(random, level)
    client, truck, least = random.choice(depot.clients), depot.waiting(), random.randint(30, 60)
    wanted = depot.add((2, 4, random.randint(6, 8))[level - 1], client, STORED, (least + 1, 95))
    stored = [*wanted, *depot.add(2 + level, client, STORED, (5, least))]
    depot.add(level, client, HELD, (least + 1, 95))
    depot.add(level, client, LOADED, (least + 1, 95))
    _others(depot, client, 6 * level, STORED, HELD)
    depot.finish()
    heavy = random.random() < 0.5
    limit = sum(row["weight"] for row in stored) + random.randint(1, 5) * (-1 if heavy else 1)
    depot.call("find_clients", name=client["name"])
    depot.call("list_parcels", client_id=client["id"], status=STORED)
    if heavy:
        depot.call("list_trucks", town=truck["town"])
        depot.load(depot.ordered(wanted), truck)
    else:
        for parcel in depot.ordered(wanted):
            depot.change("hold_parcel", parcel, {"status": HELD})
    condition = f"If the stored parcels of {client['name']} weigh more than {limit} kg together"
    load = f"load those of more than {least} kg into the truck to {truck['town']}"
    return depot.task("Load or hold", f"{condition}, {load}; otherwise hold those of more than {least} kg.")


class ToolUse(Generator):
    name = "tool-use"
    shared: ClassVar = {"metrics": ["final_state"], "tools": list(TOOLS), "world": {"rules": list(RULES)}}
    kinds: ClassVar = {"branches": branches, "fees": fees, "gifts": gifts, "loads": loads, "moves": moves}
