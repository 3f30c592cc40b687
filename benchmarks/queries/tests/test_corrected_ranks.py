"""Runs ranked by means that labels correct, on pages, in the API and by the command."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.analysis.corrected_ranks import CorrectedPlace
from benchmarks.models import Experiment, Run
from benchmarks.queries.corrected_ranks import corrected_ranks, corrected_sentence
from tests.support.factories import make_dataset
from tests.support.labeled_runs import METRIC, label_answers, make_judged_run, make_review
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
N = 300


@pytest.fixture
def runs() -> dict[str, Run]:
    """The judge accepts most wrong answers of ``charming``, and none of ``honest``, which is right more often."""
    dataset = make_dataset(N)
    experiment = Experiment.objects.create(name="Judged", request={"datasets": ["sums"]})
    made = {}
    for seed, (name, rate, lenient) in enumerate((("honest", 0.75, 0.0), ("charming", 0.45, 0.9))):
        given = {"rate": rate, "lenient": lenient, "strict": 0.0, "seed": seed, "model": f"loop/{name}"}
        run, truth = make_judged_run(N, dataset, experiment=experiment, **given)
        label_answers(run, truth, make_review(run), n=150)
        made[name] = run
    return made


def told(places: list[CorrectedPlace]) -> list[tuple[str, tuple[int, int] | None]]:
    return [(place.run.model, place.ranks) for place in places]


def test_the_order_is_that_of_the_corrected_means(runs: dict[str, Run]) -> None:
    assert runs["charming"].results.filter(value=1).count() > runs["honest"].results.filter(value=1).count()
    places = corrected_ranks([*runs.values()], METRIC)
    assert told(places) == [("loop/honest", (1, 1)), ("loop/charming", (2, 2))]
    assert corrected_sentence(places) == "loop/honest leads by corrected means, significantly ahead of every other run."


def test_runs_that_the_labels_do_not_separate_share_the_lead(runs: dict[str, Run]) -> None:
    twin, truth = make_judged_run(N, runs["honest"].dataset, rate=0.74, lenient=0.05, model="loop/twin", seed=8)
    label_answers(twin, truth, make_review(twin), n=100)
    places = corrected_ranks([*runs.values(), twin], METRIC)
    assert [ranks for _, ranks in told(places)] == [(1, 2), (1, 2), (3, 3)]
    assert "lead by corrected means; the labels do not separate them." in corrected_sentence(places)


def test_a_run_without_enough_labels_says_what_is_missing(runs: dict[str, Run]) -> None:
    dataset = runs["honest"].dataset
    few, truth = make_judged_run(N, dataset, model="loop/few")
    label_answers(few, truth, make_review(few), n=7)
    none, _ = make_judged_run(N, dataset, model="loop/none")
    other = make_scored_run(dataset, [1.0] * N, metrics=("exact_match",), model="loop/other")
    places = {place.run.model: place for place in corrected_ranks([*runs.values(), few, none, other], METRIC)}
    assert places["loop/few"].reason == "13 more labels needed, on answers of its random review."
    assert places["loop/none"].reason == "No random review was drawn from it. 20 labels are needed."
    assert "not scored by" in places["loop/other"].reason
    assert places["loop/honest"].ranks == (1, 1)


def test_missing_verdicts_are_counted_against_the_run_that_leads(runs: dict[str, Run]) -> None:
    found = {place.run.model: place for place in corrected_ranks([*runs.values()], METRIC)}
    assert found["loop/honest"].coverage == 1
    run = runs["honest"]
    summary = {**run.summary, "metrics": {METRIC: {**run.summary["metrics"][METRIC], "n_expected": N + 10}}}
    Run.objects.filter(pk=run.pk).update(summary=summary)
    partly = corrected_ranks([*Run.objects.filter(pk__in=[each.pk for each in runs.values()])], METRIC)
    place = next(each for each in partly if each.run.pk == run.pk)
    assert place.coverage == pytest.approx(N / (N + 10))
    assert place.means is not None
    assert place.least == pytest.approx(place.means.mean * N / (N + 10))


def test_what_no_judge_scores_and_several_versions_are_refused(runs: dict[str, Run], client: Client) -> None:
    with pytest.raises(ValueError, match="not scored by a judge"):
        corrected_ranks([*runs.values()], "exact_match")
    elsewhere, _ = make_judged_run(30, make_dataset(30, slug="others"))
    with pytest.raises(ValueError, match="one version of one dataset"):
        corrected_ranks([*runs.values(), elsewhere], METRIC)
    address = "/api/v1/benchmarks/judges/corrected"
    assert client.get(f"{address}?runs={runs['honest'].pk},{elsewhere.pk}").status_code == 400
    assert client.get(f"{address}?runs=x").status_code == 400
    assert client.get(f"{address}?runs=999").status_code == 404
    assert client.get(f"{address}?experiment=999").status_code == 404


def test_pages_api_and_command_rank_by_corrected_means(runs: dict[str, Run], client: Client) -> None:
    ids = ",".join(str(run.pk) for run in runs.values())
    listed = client.get(f"/api/v1/benchmarks/judges/corrected?runs={ids}").json()
    assert [(row["model"], row["rank"]) for row in listed] == [("loop/honest", [1, 1]), ("loop/charming", [2, 2])]
    experiment = runs["honest"].experiment_id
    assert client.get(f"/api/v1/benchmarks/judges/corrected?experiment={experiment}").json() == listed
    out = StringIO()
    call_command("judge", "corrected", *map(str, (run.pk for run in runs.values())), stdout=out)
    said = "loop/honest leads by corrected means"
    assert said in out.getvalue()
    for address in (f"/leaderboard/?dataset=sums&metric={METRIC}", f"/experiments/{experiment}/?metric={METRIC}"):
        plain = client.get(address).content.decode()
        assert "Corrected by labels" in plain
        assert said not in plain
        corrected = client.get(f"{address}&judge=corrected").content.decode()
        assert said in corrected
        assert "Ranked by means corrected by labels" in corrected
