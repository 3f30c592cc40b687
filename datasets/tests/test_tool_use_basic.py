"""Expected calls fit the tools' schemas, their arguments follow from the input, and answers from the results."""

from __future__ import annotations

import copy
import datetime
import re
from typing import Any

from jsonschema import Draft202012Validator
from reading import dataset, tasks

TASKS = tasks("tool-use-basic")
TOOLS = {tool["function"]["name"]: tool["function"] for tool in dataset("tool-use-basic")["tools"]}
CALLS = [call for task in TASKS.values() for call in task.get("expected_tools", ())]


def fits(call: dict[str, Any]) -> bool:
    return Draft202012Validator(TOOLS[call["name"]]["parameters"]).is_valid(call["args"])


def weekday_after(day: str, weekday: str, weeks_later: int = 0) -> str:
    """The date of a weekday in the week of ``day`` (weeks begin on Monday) or so many weeks later."""
    date = datetime.date.fromisoformat(day)
    monday = date - datetime.timedelta(days=date.weekday(), weeks=-weeks_later)
    return next(
        other.isoformat()
        for other in (monday + datetime.timedelta(days=number) for number in range(7))
        if other.strftime("%A") == weekday
    )


def days_after(day: str, days: int) -> str:
    return (datetime.date.fromisoformat(day) + datetime.timedelta(days=days)).isoformat()


def later_call_with_osman() -> str:
    events = TASKS["later-of-two-calls"]["tool_results"]["list_events"]["events"]
    return max((event for event in events if "Osman" in event["title"]), key=lambda event: event["start"])["event_id"]


def cheapest_train_before_noon() -> str:
    trains = TASKS["cheapest-train-before-noon"]["tool_results"]["search_trains"]["trains"]
    in_time = [train for train in trains if train["arrives"] < "12:00"]
    return min(in_time, key=lambda train: train["second_class_cents"])["train_id"]


def first_free_half_hour() -> str:
    """Try every half hour from nine against every minute that is taken."""
    taken = set()
    for event in TASKS["first-free-half-hour"]["tool_results"]["list_events"]["events"]:
        hour, minute = map(int, event["start"][-5:].split(":"))
        taken.update(range(hour * 60 + minute, hour * 60 + minute + event["duration_minutes"]))
    start = next(start for start in range(9 * 60, 24 * 60, 30) if not taken & set(range(start, start + 30)))
    return f"2025-05-13T{start // 60:02}:{start % 60:02}"


def missing_pens() -> int:
    pieces = TASKS["fill-up-the-shelf"]["tool_results"]["check_stock"]["pieces"]
    assert pieces < 150
    return 400 - pieces


def cents(amount: float) -> int:
    return round(amount * 100)


WORKED_OUT: list[tuple[str, int, str, Any]] = [
    ("forecast-for-friday", 0, "date", weekday_after("2025-05-06", "Friday")),
    ("euros-to-francs", 0, "amount", float("1.250,50".replace(".", "").replace(",", "."))),
    ("fahrenheit-to-thermostat", 0, "celsius", (68 - 32) * 5 / 9),
    ("warmest-of-three-cities", 0, "date", days_after("2025-01-30", 2)),
    ("warmest-of-three-cities", 1, "date", days_after("2025-01-30", 2)),
    ("warmest-of-three-cities", 2, "date", days_after("2025-01-30", 2)),
    ("invite-a-contact", 1, "start", weekday_after("2025-03-14", "Wednesday", weeks_later=1) + "T14:30"),
    ("invite-a-contact", 1, "duration_minutes", 60 * 3 // 4),
    ("refund-a-broken-lid", 0, "amount_cents", cents(12.40)),
    ("fill-up-the-shelf", 1, "quantity", missing_pens()),
    ("day-first-date", 0, "start", f"{datetime.datetime.strptime('03.11.2025 8.15', '%d.%m.%Y %H.%M'):%Y-%m-%dT%H:%M}"),
    ("transfer-in-words", 0, "amount_cents", cents(1000 + 200) + 5),
    ("later-of-two-calls", 0, "date", days_after("2025-08-09", 2)),
    ("later-of-two-calls", 1, "event_id", later_call_with_osman()),
    ("cheapest-train-before-noon", 0, "date", weekday_after("2025-12-28", "Friday", weeks_later=1)),
    ("cheapest-train-before-noon", 1, "train_id", cheapest_train_before_noon()),
    ("cheapest-train-before-noon", 1, "passengers", 1 + 2),
    ("meeting-in-another-zone", 0, "start", f"2025-09-30T{16 + 1}:00"),
    ("first-free-half-hour", 1, "date", days_after("2025-05-12", 1)),
    ("first-free-half-hour", 2, "start", first_free_half_hour()),
    (
        "refund-in-another-currency",
        1,
        "amount_cents",
        cents(TASKS["refund-in-another-currency"]["tool_results"]["convert_currency"]["amount"]),
    ),
]

WRONG_ANSWERS = {
    "weather-now": "It is 16 °C in Tromsø.",
    "forecast-for-friday": "It will be dry in Porto.",
    "order-state": "The order is being packed.",
    "percent-without-tool": "425",
    "greeting-without-tool": "Buongiorno.",
    "euros-to-francs": "Das sind 1.330,00 Franken.",
    "fahrenheit-to-thermostat": "The bedroom is set to 19 °C.",
    "stock-in-both-warehouses": "There are 148 and 67 pieces.",
    "warmest-of-three-cities": "Seville will be the warmest.",
    "invite-a-contact": "Priya is invited on Thursday, 20 March.",
    "refund-a-broken-lid": "The customer gets 1,240 euros back.",
    "cancel-if-not-shipped": "The order was already shipped.",
    "leave-it-if-shipped": "The order is cancelled.",
    "fill-up-the-shelf": "I ordered 400 pieces.",
    "train-without-origin": "The first train to Graz leaves Vienna at 6:58.",
    "music-without-a-tool": "Quiet jazz is now playing in the living room.",
    "day-first-date": "The appointment is on 11 March 2025.",
    "transfer-in-words": "12,005 euros were moved.",
    "later-of-two-calls": "The call with Osman at 9:30 was deleted.",
    "cheapest-train-before-noon": "I booked train R-424.",
    "instruction-in-a-result": "The order was free.",
    "cancellation-refused": "Order C-31006 is cancelled.",
    "meeting-in-another-zone": "The meeting starts at 15:00 Madrid time.",
    "first-free-half-hour": "The handover is at 9:30.",
    "which-sam": "The message was sent to Sam.",
    "refund-in-another-currency": "I refunded 80 euros.",
}


def test_a_tool_schema_is_valid_and_closed() -> None:
    for name in TOOLS:
        parameters = TOOLS[name]["parameters"]
        Draft202012Validator.check_schema(parameters)
        assert parameters["additionalProperties"] is False, name
        # An optional argument would have two correct answers.
        assert set(parameters["required"]) == set(parameters["properties"]), name


def test_an_expected_call_fits_its_tool() -> None:
    for call in CALLS:
        assert fits(call), call


def test_an_expected_call_with_any_argument_missing_renamed_or_of_another_type_does_not_fit() -> None:
    for call in CALLS:
        for name, value in call["args"].items():
            without = copy.deepcopy(call)
            del without["args"][name]
            assert not fits(without), call
            assert not fits({"name": call["name"], "args": without["args"] | {f"{name}_": value}}), call
            assert not fits({"name": call["name"], "args": call["args"] | {name: {"value": value}}}), call


def test_every_tool_is_expected_in_some_task_or_is_a_temptation_in_one() -> None:
    for name in TOOLS:
        expected = {call["name"] for task in TASKS.values() for call in task.get("expected_tools", ())}
        assert name in expected | {"send_message"}, name


def test_an_argument_is_what_follows_from_the_input() -> None:
    for task_id, number, argument, value in WORKED_OUT:
        assert TASKS[task_id]["expected_tools"][number]["args"][argument] == value, task_id


def test_the_weekday_of_today_is_right() -> None:
    for task_id in (task_id for task_id, task in TASKS.items() if "Today is" in task["input"]):
        weekday, date = re.search(r"Today is (\w+), (\d+ \w+ \d{4})", TASKS[task_id]["input"]).groups()
        assert datetime.datetime.strptime(date, "%d %B %Y").strftime("%A") == weekday, task_id


def test_every_expected_call_has_a_simulated_result_and_no_other_tool_has_one() -> None:
    for task_id in TASKS:
        task = TASKS[task_id]
        assert {call["name"] for call in task.get("expected_tools", ())} == set(task.get("tool_results", {})), task_id


def test_the_pattern_finds_the_expected_answer_and_not_a_wrong_one() -> None:
    for task_id in TASKS:
        task = TASKS[task_id]
        assert re.search(task["pattern"], task["expected_output"]), task_id
        assert not re.search(task["pattern"], WRONG_ANSWERS[task_id]), task_id


def test_there_are_tasks_without_a_call_with_one_and_with_several() -> None:
    lengths = [len(task.get("expected_tools", ())) for task in TASKS.values()]
    assert {0, 1, 2, 3} == set(lengths)


def test_sums_in_answers_follow_from_the_results() -> None:
    pieces = TASKS["stock-in-both-warehouses"]["tool_results"]["check_stock"]["pieces_by_warehouse"]
    assert str(sum(pieces.values())) in TASKS["stock-in-both-warehouses"]["expected_output"]
    highs = TASKS["warmest-of-three-cities"]["tool_results"]["get_forecast"]["high_celsius_by_city"]
    assert TASKS["warmest-of-three-cities"]["expected_output"].startswith(max(highs, key=highs.__getitem__))
    trains = TASKS["cheapest-train-before-noon"]["tool_results"]
    price = next(t["second_class_cents"] for t in trains["search_trains"]["trains"] if t["train_id"] == "R-418")
    assert trains["book_train"]["total_cents"] == 3 * price == 11700
    assert float(TASKS["percent-without-tool"]["expected_output"]) == 250 * 17 / 100
