"""From a request to a queued run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import django
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmarks import jobs
from benchmarks.engine.execution.dispatch import leases_wanted
from benchmarks.engine.execution.subsets import design_of
from benchmarks.metrics.panel import judges_named
from benchmarks.models import IdempotencyKey, Run
from benchmarks.presentation.actions import refusal
from benchmarks.providers.extra_parameters import TOKEN_LIMITS
from benchmarks.run_parameters import NOT_GIVEN, RUN_PARAMETERS
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.providers import missing_keys
from benchmarks.services.requests import check_idempotency_key, fingerprint
from benchmarks.services.runs.checks import second_judge_of
from benchmarks.services.runs.requests import validated

KEPT_FOR = timedelta(hours=24)


def run_of(request: Mapping[str, Any]) -> Run:
    """The run of a validated request, not saved."""
    parameters = RUN_PARAMETERS.values()
    columns = {parameter.field: request[parameter.name] for parameter in parameters if parameter.field}
    rest = {parameter.name: request[parameter.name] for parameter in parameters if not parameter.field}
    return Run(
        name=request["name"],
        tags=request["tags"],
        **columns | {"self_judged": request["model"] in judges_named(request["judge_model"])},
        parameters={name: value for name, value in rest.items() if value not in NOT_GIVEN},
        dataset_version=request["dataset"].current_version,
        rubrics=request["rubrics"],
        model_params=_model_params(request["model"], beside_limit=request["max_tokens"] is not None),
        judge_settings=judge_settings(request["judge_model"], second_judge_of(request)),
    )


def judge_settings(model: str, second: str = "") -> dict[str, Any]:
    """How the judge is asked from now on, and who is the ``second`` if any, as ``Run.judge_settings``; empty without
    a judge."""
    if not model:
        return {}
    params = {name: _model_params(name, beside_limit=True) for name in judges_named(model)}
    common = settings.CODEFORGE.judge.settings.model_dump()
    if second:
        common["second"] = {"model": second, "params": _model_params(second, beside_limit=True)}
    return common | ({"params": params[model]} if model in params else {"params": {}, "params_of": params})


def _model_params(model: str, *, beside_limit: bool) -> dict[str, Any]:
    """``params`` of the model, without other names for a limit of tokens that is set anyway."""
    params = settings.CODEFORGE.model(model).params
    return {name: value for name, value in params.items() if not (beside_limit and name in TOKEN_LIMITS)}


def start_run(data: Any, user: Caller = None, *, parent: Run | None = None, fresh_of: Run | None = None) -> Run:
    """Queue a run, and enqueue its jobs on commit.

    Raises ``InvalidRequest`` naming every invalid field, ``NotPossible`` for a ``parent`` that cannot be run again.
    """
    if parent is not None and (reason := refusal("again", parent)):
        raise NotPossible(reason)
    run = run_of(validated(data))
    run.parent, run.fresh_of = parent, fresh_of
    queue_run(run, user)
    return run


@transaction.atomic
def queue_run(run: Run, user: Caller) -> None:
    """Store a run that was made of a validated request, and enqueue its jobs on commit.

    Raises ``InvalidRequest`` if a provider that the run asks needs a key that is not there.
    """
    if problems := missing_keys(models_asked(run)):
        raise InvalidRequest(problems)
    run.created_by = account_of(user)
    run.code_version = run.code_version or code_version()
    run.environment = {"python": platform.python_version(), "django": django.get_version()}
    run.subset_design = design_of(run) if run.subset else {}
    run.save()
    record(user, "run.start", f"run {run.pk}", dataset=run.dataset.slug, model=run.model)
    enqueue_run(run)


def models_asked(run: Run) -> dict[str, list[str]]:
    """Field of the request → the models that a run sends requests to; answers that are scored again ask no model."""
    asked = {
        "model": [] if run.rescored_from else [run.model],
        "user_model": [run.user_model] if run.user_model else [],
    }
    return asked | {"judge_model": judges_named(run.judge_model)}


def enqueue_run(run: Run) -> None:
    """Enqueue one job for each lease that the run wants, once the transaction is committed.

    If the broker is unavailable, this is only logged: the run is stored, and a worker's sweep finds it.
    """
    for _ in range(leases_wanted(run)):
        transaction.on_commit(lambda: jobs.work_on_run.delay(run.pk), robust=True)


def request_of(run: Run) -> dict[str, object]:
    """The request that would start a run like this one again."""
    values = {name: parameter.value_of(run) for name, parameter in RUN_PARAMETERS.items()}
    given = {name: value for name, value in values.items() if value not in NOT_GIVEN}
    return given | {"dataset": run.dataset.slug}


def start_run_once(key: str, data: Any, user: Caller = None) -> Run:
    """The run that this idempotency key started within the last day, or a new one.

    Each account has its own keys. Raises ``NotPossible`` if the key came with another request, ``InvalidRequest`` for
    an invalid key or request. A refused request leaves its key unused.
    """
    check_idempotency_key(key)
    account = account_of(user)
    owner = str(account.pk) if account else ""
    sent = fingerprint(data)
    if earlier := _earlier(owner, key, sent):
        return earlier
    try:
        # The key is written in the transaction of the run: neither is ever stored without the other.
        with transaction.atomic():
            run = start_run(data, user)
            IdempotencyKey.objects.create(owner=owner, key=key, fingerprint=sent, run=run)
    except IntegrityError:
        # The same request arrived twice at once, and the other one committed first. This run was rolled back.
        if earlier := _earlier(owner, key, sent):
            return earlier
        raise
    return run


def _earlier(owner: str, key: str, sent: str) -> Run | None:
    IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()
    keys = IdempotencyKey.objects.select_related("run__dataset", "run__dataset_version")
    earlier = keys.filter(owner=owner, key=key).first()
    if earlier is None:
        return None
    if earlier.fingerprint != sent:
        raise NotPossible(
            f"This Idempotency-Key was used by another request, which started run {earlier.run_id}. Use a new key."
        )
    return earlier.run
