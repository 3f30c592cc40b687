"""Simulated users and splits on pages: who spoke, what it cost, and which split was asked."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.engine.tests.test_simulated_users import ANSWERS, SAYS, TALK, USER, bank, script
from tests.support.factories import make_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_pages_show_the_user_its_cost_and_the_split(client: Client, endpoint: Endpoint) -> None:
    endpoint(script(SAYS, ANSWERS))
    dataset = bank(TALK.replace("    name: A card", "    split: test\n    name: A card"))
    run = worked(make_run(dataset, user_model=USER, split="test"))
    shown = page(client, f"/runs/{run.pk}/")
    assert "Split test" in shown
    assert "Cost, simulated user" in shown
    assert "Tokens, simulated user" in shown
    result = run.results.get()
    answer = page(client, f"/runs/{run.pk}/results/{result.pk}/")
    assert "of it the simulated user" in answer
    assert "block my card" in answer
    assert "The simulated user ended the conversation" in answer
    assert "number 42" in page(client, f"/datasets/{dataset.slug}/tasks/{result.task_id}/")
    assert "split test: 1" in page(client, f"/datasets/{dataset.slug}/")


def test_a_task_with_a_simulated_user_is_edited_on_the_page(admin_client: Client, endpoint: Endpoint) -> None:
    dataset = bank()
    task = dataset.current_version.tasks.get()
    address = f"/datasets/{dataset.slug}/tasks/{task.pk}/edit/"
    assert "You want to block your card" in page(admin_client, address)
    values = {"base": dataset.current_version.pk, "id": "card", "name": "A card", "difficulty": "easy", "split": "dev"}
    values |= {"input": "Hi.", "expected_output": "Blocked."}
    wrong = admin_client.post(address, values | {"user": '{"goal": "x", "max_turns": 1}'}).content.decode()
    assert "it must be at least 2" in wrong
    admin_client.post(address, values | {"user": '{"goal": "Unblock it"}'})
    dataset.refresh_from_db()
    stored = dataset.current_version.tasks.get()
    assert (stored.user, stored.split) == ({"goal": "Unblock it"}, "dev")
