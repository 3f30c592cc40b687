"""Webhook deliveries, from the status change that stores them to a receiver on loopback."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, get_args

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import dispatch, lifecycle
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import give_back_claims
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.webhooks import delivery
from benchmarks.engine.webhooks.delivery import send_due, signature
from benchmarks.engine.webhooks.receivers import receiver_of
from benchmarks.models import AuditEntry, Run, RunStatus, Webhook, WebhookDelivery
from benchmarks.outbound import REFUSED, Outbound
from benchmarks.presentation.sentences import headline_numbers
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, resume_run
from benchmarks.services.webhooks import add_webhook, change_webhook, send_again, send_test
from codeforge.config import WebhookConfig, WebhookEvent
from tests.support.factories import make_dataset, make_run
from tests.support.receiver import HANG, SECRET, SECRET_ENV, Receiver, receiving
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)
Hook = Callable[..., Receiver]


@pytest.fixture
def hook(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    """Start a receiver with these responses, and configure it as the webhook ``ops``."""
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with ExitStack() as receivers:

        def start(*answers: int, **options: Any) -> Receiver:
            receiver = receivers.enter_context(receiving(answers))
            configured(settings, ops=receiver.webhook(**options))
            return receiver

        yield start


def configured(settings: Any, **webhooks: WebhookConfig) -> None:
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"webhooks": webhooks})


def completed_run(endpoint: Endpoint, hook: Hook, *answers: int, **options: Any) -> tuple[Run, Receiver]:
    """A run of two sums that the model gets wrong, and the receiver of its deliveries."""
    endpoint(lambda request: "nothing")
    receiver = hook(*answers, **options)
    run = make_run(make_dataset(2))
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED
    return run, receiver


def the_delivery() -> WebhookDelivery:
    return WebhookDelivery.objects.get()


def make_due() -> None:
    """Make all pending deliveries due."""
    WebhookDelivery.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))


def test_a_completed_run_is_delivered_once_signed_and_with_its_numbers(endpoint: Endpoint, hook: Hook) -> None:
    run, receiver = completed_run(endpoint, hook)
    assert send_due() == 1
    assert send_due() == 0
    [message] = receiver.messages
    delivery = the_delivery()
    assert (delivery.state, delivery.attempts) == ("delivered", 1)
    assert message.path == "/hook?for=tests"
    assert message.is_signed()
    assert not message.is_signed(b"x" * 32)
    assert message.headers["webhook-id"] == str(delivery.pk)
    assert message.json["type"] == "run.completed"
    run_data = message.json["data"]["run"]
    exact = run.summary["metrics"]["exact_match"]
    assert run_data["summary"] == headline_numbers(run.numbers, run.metrics)
    assert (exact["mean"], exact["n"], exact["n_expected"]) == (0.0, 2, 2)
    assert run_data | {"summary": None} == {
        "id": run.pk,
        "status": "completed",
        "dataset": "sums",
        "dataset_version": 1,
        "added_canvases": 0,
        "model": "loop/model",
        "url": f"http://localhost:8080/runs/{run.pk}/",
        "completed_at": run.completed_at.isoformat(),
        "total": 2,
        "done": 2,
        "errors": 0,
        "summary": None,
    }
    assert b"What is" not in message.body


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The test vector of the specification's libraries."""
    webhook = WebhookConfig(url="http://127.0.0.1/", secret_env="S")
    key = webhook.signing_key({"S": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
    signed = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_status_change_that_is_rolled_back_stores_no_delivery(endpoint: Endpoint, hook: Hook) -> None:
    endpoint()
    hook()
    run = make_run()

    def rolled_back() -> None:
        with transaction.atomic():
            assert lifecycle.cancel(run.pk)
            raise ConnectionError("the connection was lost")

    with pytest.raises(ConnectionError):
        rolled_back()
    assert not WebhookDelivery.objects.exists()
    assert lifecycle.cancel(run.pk)
    assert not lifecycle.cancel(run.pk)
    assert the_delivery().event == "run.cancelled"


def test_a_refused_delivery_is_retried_at_growing_intervals_with_the_same_body_and_id(
    endpoint: Endpoint, hook: Hook
) -> None:
    _, receiver = completed_run(endpoint, hook, 500, 503)
    pauses = []
    for _ in range(2):
        assert send_due() == 0
        delivery = the_delivery()
        pauses.append((delivery.next_attempt_at - timezone.now()).total_seconds())
        assert delivery.state == "pending"
        assert send_due() == 0
        make_due()
    assert delivery.last_error == "The address returned 503."
    assert pauses == [pytest.approx(30, abs=10), pytest.approx(60, abs=10)]
    assert send_due() == 1
    assert len(receiver.messages) == 3
    assert all(message.is_signed() for message in receiver.messages)
    assert len({(message.headers["webhook-id"], message.body) for message in receiver.messages}) == 1
    assert (the_delivery().attempts, the_delivery().last_error) == (3, "")


def test_a_delivery_that_was_stored_before_the_clock_was_set_back_is_sent(endpoint: Endpoint, hook: Hook) -> None:
    completed_run(endpoint, hook)
    WebhookDelivery.objects.update(next_attempt_at=timezone.now() + timedelta(hours=1))
    assert send_due() == 1


def test_a_delivery_is_given_up_after_its_last_attempt(endpoint: Endpoint, hook: Hook) -> None:
    _, receiver = completed_run(endpoint, hook, *[500] * 9, retries={"max_attempts": 3})
    for _ in range(6):
        send_due()
        make_due()
    assert len(receiver.messages) == 3
    assert (the_delivery().state, the_delivery().attempts) == ("given_up", 3)


def test_a_redirect_is_not_followed(endpoint: Endpoint, hook: Hook) -> None:
    _, receiver = completed_run(endpoint, hook, 307)
    assert send_due() == 0
    assert [message.path for message in receiver.messages] == ["/hook?for=tests"]
    assert the_delivery().last_error == "The address returned 307; redirects are not followed."


def test_an_address_that_hangs_times_out_and_delays_no_other(endpoint: Endpoint, hook: Hook, settings: Any) -> None:
    endpoint()
    with receiving([HANG]) as hanging:
        fine = hook()
        configured(settings, hangs=hanging.webhook(timeout_seconds=0.3), fine=fine.webhook())
        lifecycle.cancel(make_run(make_dataset(1)).pk)
        runs_without_worker()
        assert send_due() == 1
    assert len(fine.messages) == len(hanging.messages) == 1
    refused = WebhookDelivery.objects.get(address="hangs")
    assert (refused.state, refused.last_error) == ("pending", "The address did not respond within 0.3 s.")


def test_a_failed_connection_is_reported_without_the_address(
    endpoint: Endpoint, hook: Hook, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    completed_run(endpoint, hook)
    configured(settings, ops=WebhookConfig(url="http://127.0.0.1:1/hook-s3cret", secret_env=SECRET_ENV))
    with caplog.at_level(logging.DEBUG):
        assert send_due() == 0
    assert "The connection failed" in the_delivery().last_error
    assert "s3cret" not in the_delivery().last_error + caplog.text
    assert SECRET not in caplog.text


def test_a_delivery_of_a_dead_worker_is_retried_but_not_forever(
    endpoint: Endpoint, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, receiver = completed_run(endpoint, hook, retries={"max_attempts": 2})

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("benchmarks.engine.webhooks.delivery._store_success", die)
        with pytest.raises(KeyboardInterrupt):
            send_due()
        assert send_due() == 0, "the claim holds until its due time"
        make_due()
        with pytest.raises(KeyboardInterrupt):
            send_due()
    make_due()
    assert send_due() == 0
    assert len(receiver.messages) == 2
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 1
    assert the_delivery().state == "given_up"
    assert the_delivery().last_error == "The worker stopped during the last attempt."


def test_one_of_two_workers_that_see_a_due_delivery_claims_it(endpoint: Endpoint, hook: Hook) -> None:
    completed_run(endpoint, hook)
    first, second = the_delivery(), the_delivery()
    webhook = receiver_of("ops")
    assert delivery._claim(first, webhook) is not None
    assert delivery._claim(second, webhook) is None
    assert the_delivery().attempts == 1


def test_a_stopped_run_is_delivered_when_its_numbers_are_final(endpoint: Endpoint, hook: Hook) -> None:
    endpoint()
    receiver = hook()
    run = make_run(make_dataset(2))
    assert prepare_run(run, lambda: True)
    lease = dispatch.lease_run(run.pk)
    assert lease is not None
    cancel_run(run)
    assert send_due() == 0, "a worker still holds a lease on it"
    leases.leave(lease)
    leases.release(lease, give_back_claims)
    runs_without_worker()
    make_due()
    assert send_due() == 1
    run_data = receiver.messages[0].json["data"]["run"]
    assert run_data["status"] == "cancelled"
    exact = run_data["summary"]["exact_match"]
    assert (exact["mean"], exact["n"], exact["n_expected"], exact["coverage"]) == (None, 0, 2, 0.0)


def test_a_run_that_was_resumed_before_its_delivery_is_reported_without_numbers(endpoint: Endpoint, hook: Hook) -> None:
    endpoint()
    receiver = hook()
    run = make_run(make_dataset(2))
    cancel_run(run)
    resume_run(run)
    assert send_due() == 1
    run_data = receiver.messages[0].json["data"]["run"]
    assert run_data["status"] == "cancelled"
    assert run_data["summary"] is run_data["done"] is run_data["errors"] is None


def test_each_end_of_a_run_is_delivered_to_the_webhooks_that_subscribe_to_it(
    endpoint: Endpoint, hook: Hook, settings: Any
) -> None:
    endpoint()
    receiver = hook()
    configured(settings, all=receiver.webhook(), failures=receiver.webhook(events=["run.failed"]))
    for end in (lifecycle.cancel, lambda pk: lifecycle.fail(pk, "why [prompt]")):
        end(make_run(make_dataset(1)).pk)
    runs_without_worker()
    assert send_due() == 3
    types = sorted(message.json["type"] for message in receiver.messages)
    assert types == ["run.cancelled", "run.failed", "run.failed"]
    assert not any(b"[prompt]" in message.body for message in receiver.messages)


def test_a_run_that_pauses_for_its_budget_is_delivered(endpoint: Endpoint, hook: Hook) -> None:
    endpoint()
    receiver = hook()
    run = make_run(make_dataset(3), budget_usd=0.000001, max_tokens=100)
    work_on_run_once(run.pk)
    assert Run.objects.get(pk=run.pk).status == RunStatus.PAUSED
    assert send_due() == 1
    assert receiver.messages[0].json["data"]["run"]["status"] == "paused"


def test_without_webhooks_nothing_is_stored(endpoint: Endpoint) -> None:
    endpoint()
    lifecycle.cancel(make_run().pk)
    assert not WebhookDelivery.objects.exists()
    assert send_due() == 0


def test_a_delivery_to_a_removed_webhook_is_given_up(endpoint: Endpoint, hook: Hook, settings: Any) -> None:
    _, receiver = completed_run(endpoint, hook)
    configured(settings)
    assert send_due() == 0
    assert the_delivery().state == "given_up"
    assert not receiver.messages


def test_a_delivery_waits_for_a_valid_secret_and_counts_no_attempt(
    endpoint: Endpoint, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, receiver = completed_run(endpoint, hook, retries={"max_attempts": 2})
    for value in (None, "", "secret-s3cret", "whsec_s3cret!", "whsec_czNjcmV0"):
        monkeypatch.delenv(SECRET_ENV) if value is None else monkeypatch.setenv(SECRET_ENV, value)
        assert send_due() == 0, value
        assert not receiver.messages, value
        assert (the_delivery().state, the_delivery().attempts, the_delivery().last_error) == ("pending", 0, ""), value
    monkeypatch.setenv(SECRET_ENV, SECRET)
    assert send_due() == 1
    assert receiver.messages[0].is_signed()
    assert the_delivery().attempts == 1


def test_deliveries_that_wait_for_a_secret_hold_up_no_other(endpoint: Endpoint, hook: Hook, settings: Any) -> None:
    endpoint()
    receiver = hook()
    configured(settings, mute=WebhookConfig(url=receiver.url, secret_env="NOT_SET_ANYWHERE"), ops=receiver.webhook())
    for run in [make_run(make_dataset(1)) for _ in range(delivery.MAX_AT_ONCE + 1)]:
        lifecycle.cancel(run.pk)
    runs_without_worker()
    WebhookDelivery.objects.filter(address="ops").update(next_attempt_at=timezone.now())
    assert send_due() == delivery.MAX_AT_ONCE
    assert send_due() == 1


def test_a_delivery_waits_for_its_secret_thirty_days(
    endpoint: Endpoint, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, receiver = completed_run(endpoint, hook)
    monkeypatch.delenv(SECRET_ENV)
    for days, state in ((29, "pending"), (31, "given_up")):
        WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=days))
        send_due()
        assert the_delivery().state == state
    assert the_delivery().last_error == "The webhook had no valid secret for 30 days."
    assert not receiver.messages


def test_a_delivery_is_sent_again_on_demand_and_that_is_audited(endpoint: Endpoint, hook: Hook) -> None:
    _, receiver = completed_run(endpoint, hook)
    with pytest.raises(NotPossible):
        send_again(the_delivery())
    send_due()
    user = User.objects.create_user("ada")
    send_again(the_delivery(), user)
    assert send_due() == 1
    first, second = receiver.messages
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    assert AuditEntry.objects.get(action="webhook.send").account == user


def test_a_run_is_deleted_with_its_deliveries(endpoint: Endpoint, hook: Hook) -> None:
    run, _ = completed_run(endpoint, hook)
    delete_run(run)
    assert not WebhookDelivery.objects.exists()


def test_the_configuration_knows_every_event() -> None:
    assert set(get_args(WebhookEvent)) == set(WebhookDelivery.Event.values)


def test_a_webhook_of_the_page_reaches_no_private_address(settings: Any, hook: Hook) -> None:
    receiver = hook()
    add_webhook("page", receiver.url.replace("127.0.0.1", "localhost"), [])
    # Development mode allows this machine; elsewhere nothing tells an open port from a closed one.
    send_test("page")
    assert len(receiver.messages) == 1
    settings.OUTBOUND = Outbound()
    for url in (receiver.url.replace("127.0.0.1", "localhost"), "http://localhost:1/", "http://no-such-host.invalid/"):
        change_webhook(Webhook.objects.get(), url, [])
        with pytest.raises(NotPossible, match=re.escape(f"The test to page failed. {REFUSED}")):
            send_test("page")
    assert len(receiver.messages) == 1
    send_test("ops")
    assert len(receiver.messages) == 2, "codeforge.yaml may name any address"


def test_a_private_address_is_refused_when_it_is_entered(settings: Any) -> None:
    settings.OUTBOUND = Outbound.of(["10.1.0.0/16"], loopback=False)
    with pytest.raises(InvalidRequest) as refusal:
        add_webhook("page", "http://169.254.169.254/latest/meta-data/", [])
    assert refusal.value.errors == {"url": [REFUSED]}
    webhook, _ = add_webhook("page", "http://10.1.2.3/hook", [])
    with pytest.raises(InvalidRequest):
        change_webhook(webhook, "http://10.2.2.3/hook", [])
