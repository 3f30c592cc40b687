"""What an expected answer says stands in the passages, and what a question asks in vain does not."""

from __future__ import annotations

import re
from typing import Any

from reading import tasks

TASKS = tasks("rag-faithfulness")
NOT_THERE = "Not in the passages."

EVIDENCE: dict[str, list[tuple[int, str]]] = {
    "ferry-late-arrival": [
        (0, "bicycles must be at the pier 20 minutes before"),
        (0, "Foot passengers board until 10"),
    ],
    "ferry-family-fare": [
        (1, "These fares replace those of 2024"),
        (1, "Adults 14.00"),
        (1, "15 years 7.00"),
        (1, "4.50"),
    ],
    "heat-pump-code": [(1, "H8, error E14"), (1, "Clean the air filter of the outdoor unit, then switch the unit off")],
    "heat-pump-warranty": [(2, "An inspection every two years is a condition of the warranty")],
    "api-page-size": [(1, "v3 (current version)"), (2, "The largest page_size is now 250 for shipments")],
    "api-webhook-attempts": [(4, "after 1, 5, 30 and 120 minutes, and then given up")],
    "staff-leave-days": [(0, "28 days from the sixth year"), (1, "turn 55, staff have 5 further days")],
    "staff-carry-over": [
        (2, "up to 10 days"),
        (3, "until 30 June 2025"),
        (3, "limit of section 4.4 on the number of days"),
    ],
    "museum-contradiction": [(0, "Cast in 1764"), (1, "was cast by my father in the spring of 1771")],
    "museum-sunday": [(4, "free on the first Sunday"), (4, "upper floor, which has no lift")],
    "policy-left-in-car": [(1, "unless the vehicle stands in a guarded"), (2, "250 euros for theft from a vehicle")],
    "policy-long-tour": [(0, "Outside Europe cover is given for journeys of up to 60 days")],
    "town-market-parking": [(1, "Tuesdays and Thursdays are market days"), (1, "whatever permit they hold")],
    "town-permit-price": [
        (2, "A permit costs 96 euros a year"),
        (3, "from 96 to 120"),
        (4, "has suspended the decision"),
    ],
    "station-false-premise": [(0, "stayed until 2016"), (1, "autumn 2017"), (1, "loss of the access road")],
    "station-warming": [(2, "At ten metres the means were 6.1, 6.2, 6.4 and 6.6")],
    "station-successor": [(0, "stayed until 2016 and was followed by Dr. Jonas Tveit")],
}

ABSENT: dict[str, str] = {
    "ferry-dog": r"\b(dogs?|pets?|animals?)\b",
    "heat-pump-power": r"\b(kW|kilowatts?)\b",
    "api-signature": r"\b(SHA|HMAC|MD5|hash\w*|algorithm)\b",
    "staff-sick-leave": r"\b(ill\w*|sick\w*|certificate|doctor)\b",
    "museum-initials": r"initials of|signed|stands? for|marked (it|by)",
    "policy-premium": r"\b(premium|8,?000)\b",
    "town-towing-cost": r"tow\w*[^.]*\d+[^.]*(euro|\.\d\d)",
}

WRONG_ANSWERS = {
    "ferry-late-arrival": "Yes, boarding is open until 10 minutes before departure.",
    "ferry-family-fare": "They pay 35.00 in total.",
    "ferry-dog": "A dog costs 4.50, like a bicycle.",
    "heat-pump-code": "Refill the heating circuit to 1.5 bar.",
    "heat-pump-warranty": "No, the warranty does not depend on inspections.",
    "heat-pump-power": "It delivers 5.6 kW in night mode.",
    "api-page-size": "The largest page size is 500.",
    "api-webhook-attempts": "It tries four times, the last time after 120 minutes.",
    "api-signature": "It is computed with HMAC-SHA256.",
    "staff-leave-days": "They get 30 days.",
    "staff-carry-over": "You can take 10 days until 31 March 2025.",
    "staff-sick-leave": "From the third day on.",
    "museum-contradiction": "It was cast in 1764.",
    "museum-initials": "They are the initials of Matthis Kehr.",
    "museum-sunday": "It costs 6.00, and the lift takes visitors to the upper floor.",
    "policy-left-in-car": "The theft is not covered, as it happened after 22:00.",
    "policy-long-tour": "Yes, damage is covered anywhere.",
    "policy-premium": "The premium is 160 euros a year.",
    "town-market-parking": "Yes, holders of a permit park there at all times.",
    "town-permit-price": "It costs 120 euros.",
    "town-towing-cost": "The owner pays 180 euros.",
    "station-false-premise": "She closed it in 2016 for lack of staff.",
    "station-warming": "It rose by 1.1 degrees.",
    "station-successor": "Dr. Mila Reyes.",
}


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def test_every_task_has_evidence_or_is_unanswerable() -> None:
    assert EVIDENCE.keys() | ABSENT.keys() == set(TASKS)
    assert {task_id for task_id, task in TASKS.items() if task["expected_output"] == NOT_THERE} == set(ABSENT)


def test_the_evidence_is_in_the_named_passage() -> None:
    for task_id, evidence in EVIDENCE.items():
        for passage, words in evidence:
            assert words in TASKS[task_id]["context"][passage], task_id


def test_unanswerable_questions_have_no_answer_in_the_passages() -> None:
    for task_id, pattern in ABSENT.items():
        assert not re.search(pattern, " ".join(TASKS[task_id]["context"]), re.IGNORECASE), task_id


DERIVED: dict[str, dict[str, Any]] = {
    "ferry-family-fare": {"39.50": 2 * 14.00 + 7.00 + 4.50},
    "api-webhook-attempts": {"156": 1 + 5 + 30 + 120},
    "staff-leave-days": {"33": 28 + 5},
    "station-warming": {"0.5": round(6.6 - 6.1, 1)},
}


def test_every_number_of_the_answer_is_given_or_derived() -> None:
    for task_id in EVIDENCE:
        task = TASKS[task_id]
        derived = DERIVED.get(task_id, {})
        assert (
            numbers(task["expected_output"]) <= numbers(" ".join([*task["context"], task["input"]])) | derived.keys()
        ), task_id
        assert all(float(shown) == value for shown, value in derived.items()), task_id


def test_the_pattern_finds_the_expected_answer_and_not_a_wrong_one() -> None:
    for task_id in TASKS:
        pattern = TASKS[task_id]["pattern"]
        assert re.search(pattern, TASKS[task_id]["expected_output"]), task_id
        assert not re.search(pattern, WRONG_ANSWERS[task_id]), task_id


def test_the_input_says_what_to_do_without_an_answer() -> None:
    for task_id in TASKS:
        assert f"reply exactly: {NOT_THERE}" in " ".join(TASKS[task_id]["input"].split()), task_id


def test_the_passage_that_answers_is_not_always_the_first() -> None:
    assert {quotes[0][0] for quotes in EVIDENCE.values()} == {0, 1, 2, 4}
