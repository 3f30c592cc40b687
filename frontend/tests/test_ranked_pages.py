"""The pages that rank models, on ties, baselines and scores that a judge gave."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from benchmarks.models import Dataset, Experiment, Run
from benchmarks.presentation.numbers import percent
from frontend.tests.calibrations import make_calibration
from tests.support.factories import make_dataset
from tests.support.labeled_runs import JUDGE, METRIC, label_answers, make_judged_run, make_review
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db

TIE = "x and y tie at 0.652; 23 tasks can show gaps of "
UNDER = "x scores 0.217; guessing at random scores 0.391."


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()  # runs of another test had the same ids and times


def shown(client: Client, path: str) -> str:
    """The words of the page."""
    response = client.get(path)
    assert response.status_code == 200
    text = response.content.decode().partition("<main")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def run(dataset: Dataset, model: str, right: int, **fields: object) -> Run:
    n = dataset.current_version.task_count if dataset.current_version else 0
    values = [1.0] * right + [0.0] * (n - right)
    return make_scored_run(dataset, values, model=model, summarized_at=timezone.now(), **fields)


def test_a_tie_has_no_winner_on_any_page(client: Client) -> None:
    dataset, experiment = make_dataset(23), Experiment.objects.create(name="Prompts", request={})
    runs = [run(dataset, model, 15, experiment=experiment) for model in ("a/y", "a/x")]
    for path in (f"/experiments/{experiment.pk}/", "/", "/leaderboard/"):
        words = shown(client, path).replace("y and x", "x and y")
        assert TIE in words, path
        assert "scores highest" not in words, path
    assert re.search(r"0.652 .* a/x a/y 2 models tie of 2 models", shown(client, "/benchmarks/"))
    assert "a/y and a/x tie at 0.652" in shown(client, f"/compare/?runs={runs[0].pk},{runs[1].pk}")
    assert shown(client, f"/runs/{runs[0].pk}/").count(" 1–2 ") == 2


def test_more_than_two_best_models_are_counted(client: Client) -> None:
    dataset = make_dataset(23)
    for model in ("a/x", "a/y", "a/z"):
        run(dataset, model, 15)
    words = shown(client, "/benchmarks/")
    assert re.search("0.652 .* 3 models tie of 3 models", words)
    assert "a/x" not in words


def test_a_model_under_a_baseline_is_said_on_every_page(client: Client) -> None:
    dataset, experiment = make_dataset(23), Experiment.objects.create(name="Prompts", request={})
    run(dataset, "baseline/random", 9, experiment=experiment)
    run(dataset, "baseline/reference", 23, experiment=experiment)
    own = run(dataset, "a/x", 5, experiment=experiment)
    for path in (f"/experiments/{experiment.pk}/", "/", "/leaderboard/"):
        words = shown(client, path)
        assert UNDER in words, path
        assert "So far" not in words, path
        if path != "/":
            assert words.index("a/x") < words.rindex("baseline/random"), path
    for path in ("/benchmarks/", f"/runs/{own.pk}/", "/models/a/x/"):
        assert "Guessing at random scores 0.391" in shown(client, path), path
    assert "1 of 1" not in shown(client, f"/runs/{own.pk}/"), "one model is no ranking"


def test_baselines_alone_have_no_winner(client: Client) -> None:
    dataset, experiment = make_dataset(23), Experiment.objects.create(name="Prompts", request={})
    own = run(dataset, "baseline/random", 9, experiment=experiment)
    run(dataset, "baseline/empty", 0, experiment=experiment)
    said = "Only baselines have run: guessing at random scores 0.391 and giving an empty answer scores 0.000."
    for path in (f"/experiments/{experiment.pk}/", "/", "/leaderboard/", "/benchmarks/"):
        assert said in shown(client, path), path
    assert "A baseline has no rank." in shown(client, f"/runs/{own.pk}/")
    assert "A baseline, not a model." in shown(client, "/models/baseline/random/")


def test_marks_of_models_are_explained_where_there_are_any(client: Client) -> None:
    dataset = make_dataset(23)
    run(dataset, "baseline/random", 9)
    words = shown(client, "/benchmarks/")
    assert "What models are tested on." in words
    assert not re.search("the best guess", words)
    run(dataset, "a/x", 15)
    for path in ("/benchmarks/", "/datasets/"):
        words, html = shown(client, path), client.get(path).content.decode()
        assert re.search("a model the best the best guess i 95% interval *. Scores of the latest full runs", words)
        assert html.index("marks-note") < html.index("<table"), "above the marks"


def test_an_experiment_leads_to_the_comparison_of_its_first_runs(client: Client, settings: Any) -> None:
    dataset, experiment = make_dataset(3), Experiment.objects.create(name="Prompts", request={})
    runs = [run(dataset, "baseline/random", 1, experiment=experiment)]
    page = f"/experiments/{experiment.pk}/"
    assert "/compare/?runs=" not in client.get(page).content.decode(), "one run is compared with nothing"
    run(make_dataset(3, slug="other"), "baseline/random", 1, experiment=experiment)
    assert "/compare/?runs=" not in client.get(page).content.decode(), "runs of two datasets share no task"
    runs += [run(dataset, "baseline/majority", 1, variant=str(place), experiment=experiment) for place in range(12)]
    link = f'href="/compare/?runs={",".join(str(each.pk) for each in runs[:12])}">Compare</a>'
    for path in (page, f"{page}answers/", f"{page}cost/", f"{page}setup/"):
        assert link in client.get(path).content.decode(), path
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    assert link in client.get(page).content.decode(), "comparing is reading"


def test_a_judged_score_names_its_judge_on_every_page(client: Client) -> None:
    experiment = Experiment.objects.create(name="Prompts", request={})
    dataset = make_dataset(40)
    judged = {"metrics": [METRIC], "judge_model": JUDGE, "experiment": experiment}
    runs = [run(dataset, model, right, **judged) for model, right in (("a/x", 34), ("a/y", 9))]
    addresses = ["/", "/benchmarks/", "/leaderboard/", "/models/a/x/", f"/experiments/{experiment.pk}/"]
    addresses += [f"/runs/{runs[0].pk}/", f"/compare/?runs={runs[0].pk},{runs[1].pk}"]
    for path in addresses:
        assert f"Correctness, judged by {JUDGE}, not checked by people" in shown(client, path), path
    report = b"".join(client.get(f"/runs/{runs[0].pk}/export.html")).decode()
    assert f"Correctness, judged by {JUDGE}, not checked by people" in report


def test_a_judge_whose_answers_people_have_labeled_is_called_usable_or_not(client: Client) -> None:
    run, truth = make_judged_run(200, lenient=0.2, model="a/x", summarized_at=timezone.now())
    label_answers(run, truth, make_review(run), n=39)
    few = rf"judged by {JUDGE}, not reliable yet: agrees with people on \d\d of 39 answers\)"
    assert re.search(few, shown(client, "/leaderboard/")), "too few labels are counted, and decide nothing"
    label_answers(run, truth, make_review(run), n=80, author="eve")
    words = shown(client, "/leaderboard/")
    assert re.search(
        rf"\(Correctness, judged by {JUDGE}, usable( after correction)?: agrees with people on "
        rf"\d\d(\.\d)?% of 8\d answers\)",
        words,
    )


def test_known_answers_are_named_and_do_not_decide(client: Client) -> None:
    run(make_dataset(23), "a/x", 9, metrics=[METRIC], judge_model=JUDGE)
    found = make_calibration(judge_model=JUDGE, metrics=[METRIC]).numbers.agreement
    assert found is not None
    right = f"right on {percent(found.accuracy.mean)} of {found.accuracy.n} known answers"
    assert f"judged by {JUDGE}, not checked by people: {right}" in shown(client, "/leaderboard/")
    judged, truth = make_judged_run(8, lenient=0.2, model="a/y", summarized_at=timezone.now())
    label_answers(judged, truth, make_review(judged), n=8)
    both = rf"judged by {JUDGE}, not reliable yet: agrees with people on \d of 8 answers, {re.escape(right)}"
    assert re.search(both, shown(client, f"/leaderboard/?dataset={judged.dataset.slug}")), (
        "the one does not hide the other"
    )


def ranks_on(client: Client, path: str) -> dict[int, str]:
    """Run → its rank, of the first table of ranks on the page; without a link, it is the run of the page."""
    text = client.get(path).content.decode()
    table = next(each for each in text.split("<table")[1:] if ">Rank" in each).split("</table>")[0]
    found = {}
    for row in (each for each in table.split("<tr")[2:] if "rowgroup" not in each):
        linked = re.search(r"/runs/(\d+)/", row) or re.search(r"(\d+)", path)
        rank = re.search(r'<td class="num[^>]*>([^<]+)<', row)
        assert linked
        assert rank
        found[int(linked[1])] = rank[1]
    return found


@pytest.mark.parametrize("n_models", [9, 26], ids=["tested", "too many to test"])
def test_a_run_has_one_rank_on_every_page(client: Client, n_models: int) -> None:
    dataset = make_dataset(20)
    for number in range(n_models):
        right = 20 - number % 9 * 2
        make_scored_run(dataset, [1.0] * right + [0.0] * (20 - right), model=f"a/m{number}")
    make_scored_run(dataset, [1.0] * 12 + [0.0] * 8, model="a/m1", parameters={"temperature": 0.0})
    make_scored_run(dataset, [1.0] * 3 + [None] * 17, model="a/m2")  # too few scores: the earlier run stands for it
    make_scored_run(dataset, [1.0] * 10 + [0.0] * 10, model="baseline/majority")
    expected = ranks_on(client, "/leaderboard/")
    assert len(expected) == n_models + 2
    for pk in expected:
        assert ranks_on(client, f"/runs/{pk}/").items() <= expected.items(), pk
        model = Run.objects.get(pk=pk).model
        if model not in ("a/m1", "baseline/majority"):
            row = shown(client, f"/models/{model}/").partition("Strengths and weaknesses")[2]
            assert f" {expected[pk]} of {n_models + 1} " in row, model


def test_the_leaderboard_opens_on_what_most_models_share(client: Client) -> None:
    few, most = make_dataset(4, slug="few", name="Few"), make_dataset(4, slug="most", name="Most")
    for model in ("a/x", "a/y", "a/z"):
        make_scored_run(most, (1.0, 0.0, 1.0, 0.0), model=model, metrics=["contains"])
    make_scored_run(most, (1.0, 0.0, 1.0, 0.0), model="a/x", metrics=["exact_match"])
    for _ in range(6):
        make_scored_run(most, (1.0, 0.0, 1.0, 0.0), model="a/v", metrics=["exact_match"])
        make_scored_run(few, (1.0, 1.0, 1.0, 0.0), model="a/x")
    make_scored_run(few, (1.0, 1.0, 1.0, 0.0), model="baseline/random")
    assert "Most: leaderboard Version 1, Contains" in shown(client, "/leaderboard/")
    assert "Few: leaderboard" in shown(client, "/leaderboard/?dataset=few")
    for model in ("a/y", "a/z"):
        make_scored_run(few, (1.0, 1.0, 1.0, 0.0), model=model)
    assert "Few: leaderboard" in shown(client, "/leaderboard/"), "of equals the newest"
