"""A reader of the orders that knows only what the tools return reaches every final state; shortcuts do not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from statistics import mean
from typing import Any

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.registry import GENERATORS
from benchmarks.generators.tests.test_generators import LEVELS, dataset
from benchmarks.metrics.base import Item
from benchmarks.metrics.final_state import FinalState
from benchmarks.metrics.worlds import World, WorldSpec, merged_world, world_spec
from benchmarks.providers.base import ToolCall

CHANGES = ("move_parcel", "load_parcel", "hold_parcel", "release_parcel", "send_truck", "charge_client", "give_credit")
STEPS = {"easy": range(3, 6), "medium": range(6, 8), "hard": range(8, 13)}


class Desk:
    """The tools, and what was called."""

    def __init__(self, task: TaskSpec) -> None:
        self.world, self.calls = World(_world(task)), list[tuple[str, dict[str, Any]]]()

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        self.calls.append((tool, arguments))
        result = self.world.call(tool, arguments)
        assert not str(result).startswith("error"), (tool, arguments, result)
        return result

    def client(self, name: str) -> str:
        (found,) = self("find_clients", name=name)
        return found["id"]

    def truck(self, town: str) -> str:
        (found,) = [each["id"] for each in self("list_trucks", town=town) if each["status"] == "waiting"]
        return found


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("tool-use", 1, 300).tasks


def _world(task: TaskSpec) -> WorldSpec:
    shared = GENERATORS["tool-use"].shared
    return world_spec(merged_world(shared["world"], task.world), shared["tools"])


def branches(desk: Desk, order: str) -> None:
    name, limit, least, town = re.match(
        r"If the stored parcels of (.+) weigh more than (\d+) kg.* those of more than (\d+) kg .* truck to (\w+);",
        order,
    ).groups()
    parcels = desk("list_parcels", client_id=desk.client(name), status="stored")
    wanted = [each for each in parcels if each["weight"] > int(least)]
    if sum(each["weight"] for each in parcels) > int(limit):
        truck = desk.truck(town)
        for each in wanted:
            desk("load_parcel", parcel_id=each["id"], truck_id=truck)
    else:
        for each in wanted:
            desk("hold_parcel", parcel_id=each["id"])


def fees(desk: Desk, order: str) -> None:
    name, rate = re.match(r"Release all held parcels of (.+), and charge (\d+) crowns", order).groups()
    client = desk.client(name)
    parcels = desk("list_parcels", client_id=client, status="held")
    for each in parcels:
        desk("release_parcel", parcel_id=each["id"])
    if found := re.search(r"into the truck to (\w+)", order):
        truck = desk.truck(found[1])
        for each in parcels:
            desk("load_parcel", parcel_id=each["id"], truck_id=truck)
    desk("charge_client", client_id=client, amount=int(rate) * sum(each["weight"] for each in parcels))


def gifts(desk: Desk, order: str) -> None:
    name, amount, town = re.match(r"(.+) gives (\d+) crowns of credit to each client in (\w+) who", order).groups()
    giver = desk.client(name)
    held = {each["client"] for each in desk("list_parcels", status="held")}
    for each in desk("find_clients", town=town):
        if each["id"] in held:
            desk("give_credit", from_client=giver, to_client=each["id"], amount=int(amount))


def loads(desk: Desk, order: str) -> None:
    name, limit, town = re.match(
        r"Load every stored parcel of (.+) that weighs more than (\d+) kg .* to (\w+)", order
    ).groups()
    truck = desk.truck(town)
    for each in desk("list_parcels", client_id=desk.client(name), status="stored"):
        if each["weight"] > int(limit):
            desk("load_parcel", parcel_id=each["id"], truck_id=truck)
    if "send that truck off" in order:
        desk("send_truck", truck_id=truck)


def moves(desk: Desk, order: str) -> None:
    bay, limit, hall = re.match(
        r"In bay (\S+), every stored parcel of more than (\d+) kg.* of the (\w+) hall", order
    ).groups()
    held = re.search(r"hold those of (.+) where they are", order)
    client = desk.client(held[1]) if held else ""
    (target,) = [each["id"] for each in desk("list_bays", hall=hall) if each["open"]]
    for each in desk("list_parcels", bay=bay, status="stored"):
        if each["weight"] > int(limit):
            if each["client"] == client:
                desk("hold_parcel", parcel_id=each["id"])
            else:
                desk("move_parcel", parcel_id=each["id"], bay=target)


READERS: dict[str, Callable[[Desk, str], None]] = {
    reader.__name__: reader for reader in (branches, fees, gifts, loads, moves)
}


def calls_of(task: TaskSpec) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the second reader."""
    desk = Desk(task)
    READERS[task.tags[0]](desk, task.input)
    return desk.calls


def score(task: TaskSpec, calls: list[tuple[str, dict[str, Any]]]) -> float:
    made = [ToolCall(str(at), tool, arguments, json.dumps(arguments)) for at, (tool, arguments) in enumerate(calls)]
    item = Item(
        input=task.input,
        expected_output=task.expected_output,
        actual_output="Done.",
        expected_tools=[{"name": use.name, "args": use.args} for use in task.expected_tools],
        tool_calls=made,
        world=_world(task),
        final_state=task.final_state,
    )
    return FinalState().score(item).value or 0.0


def test_an_answer_without_calls_scores_nothing_and_no_text_is_compared() -> None:
    for task in tasks():
        assert not task.expected_output, task.id
        assert score(task, []) < 1, task.id


def test_a_second_reader_reaches_every_state_in_3_to_12_calls() -> None:
    assert READERS.keys() == GENERATORS["tool-use"].kinds.keys()
    for seed in (1, 2):
        for task in dataset("tool-use", seed, 300).tasks:
            calls = calls_of(task)
            assert score(task, calls) == 1, task.id
            assert len(calls) == len(task.expected_tools), task.id
            assert len(calls) in STEPS[task.difficulty], task.id


def test_shortcuts_reach_little() -> None:
    shortcuts: dict[str, Callable[[TaskSpec], list[tuple[str, dict[str, Any]]]]] = {
        "nothing": lambda task: [],
        "only look": lambda task: [call for call in calls_of(task) if call[0] not in CHANGES],
        "another order of the same kind": _of_another,
        "everything in sight": _everything,
        "all but the last change": lambda task: calls_of(task)[:-1],
    }
    solved = {how: mean(score(task, calls(task)) == 1 for task in tasks()[:150]) for how, calls in shortcuts.items()}
    assert {how: share for how, share in solved.items() if share > 0.05} == {}


def test_a_reader_that_takes_one_branch_unread_solves_half_of_the_conditions() -> None:
    branch = [task for task in tasks() if task.tags[0] == "branches"]
    assert 0.35 < mean(any(use.name == "hold_parcel" for use in task.expected_tools) for task in branch) < 0.65


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated model gets each call right with a fixed probability; one wrong call spoils the state."""
    for ability in (0.99, 0.95, 0.85):
        for kind in READERS:
            easy, medium, hard = (
                mean(
                    ability ** len(task.expected_tools)
                    for task in tasks()
                    if (kind, level) == (task.tags[0], task.difficulty)
                )
                for level in LEVELS
            )
            assert easy > medium > hard, (ability, kind)


def _of_another(task: TaskSpec) -> list[tuple[str, dict[str, Any]]]:
    """What solves the task before it of this kind and level."""
    same = [each for each in tasks() if (each.tags, each.difficulty) == (task.tags, task.difficulty)]
    return [(use.name, dict(use.args)) for use in same[same.index(task) - 1].expected_tools]


def _everything(task: TaskSpec) -> list[tuple[str, dict[str, Any]]]:
    """The changes of the order, made to every parcel or client that the order could be about."""
    changed = next(use for use in task.expected_tools if use.name in CHANGES)
    if changed.name == "give_credit":
        town = re.search(r"in (\w+) who", task.input)[1]
        clients = [each["id"] for each in task.world["tables"]["clients"] if each["town"] == town]
        return [(changed.name, {**changed.args, "to_client": client}) for client in clients]
    parcels = task.world["tables"]["parcels"]
    first = next(each for each in parcels if each["id"] == changed.args["parcel_id"])
    column = "bay" if task.tags[0] == "moves" else "client"
    same = [each["id"] for each in parcels if each[column] == first[column]]
    return [(changed.name, {**changed.args, "parcel_id": parcel}) for parcel in same]
