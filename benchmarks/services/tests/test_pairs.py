"""Reviews of pairs: people choose between the answers of two runs, beside a judge or without one."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from benchmarks.analysis.preferences import peoples_choices
from benchmarks.models import Label, ReviewQueue, Run, Score
from benchmarks.queries.preferences import preferences
from benchmarks.services.access import assign_group
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import label_result
from benchmarks.services.reviews.files import export_labels
from benchmarks.services.reviews.queues import close_review, create_review, save_and_next, start_labeling, undo
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def compared(n: int = 3, tasks: int = 20) -> list[Run]:
    """Completed runs on one dataset, with answers that differ."""
    dataset = make_dataset(tasks)
    runs = [make_scored_run(dataset, (1.0,) * tasks, model=f"loop/{name}") for name in "abc"[:n]]
    for run in runs:
        for result in run.results.select_related("transcript"):
            result.transcript.actual_output = f"{run.model} says {result.position}"
            result.transcript.save()
    return runs


def pairs_of(chosen: list[Run], **fields: Any) -> ReviewQueue:
    given = {"name": "Pairs", "metric": "preference", "runs": [run.pk for run in chosen], "size": 60, "overlap": 0}
    return create_review({**given, **fields})


def choose(queue: ReviewQueue, winner: str, user: Any = None) -> int:
    """Label all that is left for the user, always for the answer of one model; returns how many."""
    count, item = 0, start_labeling(queue, user)
    while item is not None:
        known = item.result.task.known_answer or {}
        first, second = (winner in known[name] for name in ("text", "other"))
        item = save_and_next(queue, item.pk, {"value": 0.5 + (first - second) / 2}, user)
        count += 1
    return count


def test_either_run_of_two_is_first_in_half_of_their_pairs() -> None:
    runs = compared()
    queue = pairs_of(runs)
    shown: Counter[tuple[int, int]] = Counter()
    for item in queue.items.select_related("result__task"):
        known = item.result.task.known_answer or {}
        shown[known["first"], known["second"]] += 1
    assert shown.total() == queue.source["answers"] == 60
    assert set(shown.values()) == {10}
    assert queue.source["runs"] == [run.pk for run in runs]
    again = [item.result.task.content_hash for item in pairs_of(runs).items.select_related("result__task")]
    assert again == [item.result.task.content_hash for item in queue.items.select_related("result__task")]


def test_choices_become_strengths_once_the_blind_review_is_closed() -> None:
    queue = pairs_of(compared(), size=40)
    run = preferences().get()
    assert (run.status, run.judge_model, run.total) == ("completed", "", 40)
    assert choose(queue, "loop/b") == 40
    assert peoples_choices(run, with_open=False) is None
    assert peoples_choices(run, with_open=True) is not None
    close_review(queue)
    found = peoples_choices(run, with_open=False)
    assert found is not None
    numbers = found.as_json()
    best = numbers["order"][0]
    assert (run.preference or {})["candidates"][best]["model"] == "loop/b"
    assert numbers["strengths"][best]["wins"]["mean"] == 1.0
    assert (numbers["n"], numbers["n_people"], numbers["n_reviews"]) == (40, 1, 1)
    assert not numbers["position"]["is_clear"]
    assert numbers["agreement"]["mean"] is None


def test_the_command_prints_what_people_chose_once_it_is_not_hidden(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    queue = pairs_of(compared(2), size=20)
    choose(queue, "loop/b")

    def printed(*options: str) -> str:
        out = StringIO()
        call_command("preference", "show", str(queue.source["preference"]), *options, stdout=out, no_color=True)
        return out.getvalue()

    assert "only in blind reviews that are open" in printed()
    close_review(queue)
    text = printed()
    assert "People on sums" in text
    assert re.search(r"loop/b +\+\d.* 1\.000 .* 20", text)
    assert "20 choices of 1 reviewer on 20 tasks" in text
    assert orjson.loads(printed("--json"))["people"]["n"] == 20


def test_a_position_that_people_always_choose_is_found() -> None:
    queue = pairs_of(compared(), blind=False)
    item = start_labeling(queue)
    while item is not None:
        item = save_and_next(queue, item.pk, {"value": 1.0})
    found = peoples_choices(preferences().get(), with_open=False)
    assert found is not None
    assert (found.numbers.position.mean, found.numbers.position.is_clear) == (1.0, True)


def test_people_stand_beside_the_judge_of_the_same_pairs() -> None:
    queue = pairs_of(compared(2), blind=False)
    run = preferences().get()
    for result in run.results.select_related("task"):
        first = "loop/a" in (result.task.known_answer or {})["text"]
        verdict = {"value": 1.0 if first else 0.0, "status": "scored"}
        Score.objects.create(run=run, result=result, metric="preference", **verdict)
    choose(queue, "loop/a")
    found = peoples_choices(run, with_open=False)
    assert found is not None
    assert (found.same.mean, found.same.n, found.kappa.kappa) == (1.0, 20, 1.0)
    other = pairs_of(compared(2), preference=None)
    assert peoples_choices(Run.objects.get(pk=other.source["preference"]), with_open=True) is None


def test_two_people_choose_on_the_overlap_and_agree_or_not() -> None:
    queue = pairs_of(compared(2), overlap=20, blind=False)
    for name in ("ida", "max"):
        account = User.objects.create_user(name)
        assign_group(account, "reviewer")
        assert choose(queue, "loop/a" if name == "ida" else "loop/b", account) == 20
    found = peoples_choices(preferences().get(), with_open=False)
    assert found is not None
    assert found.n_people == 2
    assert (found.alpha.alpha or 0) < 0
    assert [each.value for each in found.numbers.strengths] == pytest.approx([0, 0], abs=1e-6)


def test_a_choice_is_undone_and_exported_with_the_order() -> None:
    queue = pairs_of(compared(2), blind=False)
    item = start_labeling(queue)
    assert item is not None
    save_and_next(queue, item.pk, {"value": 0.5, "reason": "Both are fine"})
    [row] = [orjson.loads(line) for line in export_labels(queue, "jsonl")]
    known = item.result.task.known_answer or {}
    assert (row["value"], row["first"], row["second"]) == (0.5, known["first"], known["second"])
    assert undo(queue).pk == item.pk
    assert not Label.objects.filter(replaced_at=None).exists()


def test_pairs_of_a_preference_run_are_drawn_from_it() -> None:
    first = pairs_of(compared(2), size=10)
    again = create_review({"name": "Again", "metric": "preference", "preference": first.source["preference"]})
    assert again.items.count() == 10
    assert preferences().count() == 1


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"method": "stratified"}, "method", "drawn at random"),
        ({"outcome": "wrong"}, "outcome", "cannot be filtered"),
        ({"runs": []}, "runs", "Choose runs, an experiment or a preference run."),
        ({"runs": [], "preference": 999}, "preference", "Preference run 999 does not exist."),
        ({"runs": [10**6, 10**6 + 1]}, "runs", "do not exist"),
        ({"metric": "exact_match", "runs": [], "preference": 1}, "metric", "by the metric preference"),
        ({"runs": [], "experiment": 7}, "experiment", "at least two different runs"),
    ],
)
def test_a_bad_request_names_the_field(fields: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        pairs_of(compared(2, tasks=2), **fields)
    assert message in " ".join(refusal.value.errors[field])


def test_only_pairs_are_labeled_by_preference() -> None:
    runs = compared(2, tasks=2)
    pair = pairs_of(runs).items.all()[0].result
    for result, metric in ((runs[0].results.all()[0], "preference"), (pair, "exact_match")):
        with pytest.raises(InvalidRequest):
            label_result(result, {"metric": metric, "value": 1.0})


def test_roles_see_and_do_what_they_may_in_a_blind_review_of_pairs(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    queue = pairs_of(compared(2, tasks=4), size=4)
    choose(queue, "loop/a")
    page, review = f"/preferences/{queue.source['preference']}/", f"/reviews/{queue.pk}/"
    seen = {}
    for role in ("viewer", "reviewer", "runner", "editor"):
        account = User.objects.create_user(role)
        assign_group(account, role)
        client = Client()
        client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
        seen[role] = (
            "Win rate by people" in client.get(page).content.decode(),
            client.get(f"/api/v1/benchmarks{page[:-1]}").json()["people"] is not None,
            "local user" in client.get(review).content.decode(),
            client.post(f"{review}label/", {"do": "start"}).status_code,
            client.get("/reviews/new/?metric=preference").status_code,
        )
    assert seen == {
        "viewer": (False, False, False, 403, 403),
        "reviewer": (False, False, False, 302, 403),
        "runner": (False, False, False, 302, 200),
        "editor": (True, True, True, 302, 200),
    }
