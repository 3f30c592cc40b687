"""The page of a model, and scores over time on it, on the page of a dataset and on the overview."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Run, RunStatus
from benchmarks.queries.model_status import answered_models, troubled_models, warnings_before_run
from frontend.chart_parts import Measure
from frontend.charts import score_over_time
from frontend.launch_options import KnownModels
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
N = 30
GOOD, POOR = [1.0] * N, [0.0] * 20 + [1.0] * 10


def a_history(model: str = "openai/gpt-large", values: tuple[list[float], ...] = (GOOD, POOR)) -> None:
    """A run a day, the last of them today."""
    dataset = make_dataset(N)
    for days, given in zip(range(len(values), 0, -1), values, strict=True):
        run = make_scored_run(dataset, given, model=model, summarized_at=timezone.now())
        Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(days=days - 1))


def test_a_model_has_a_page_with_its_place_its_history_and_its_runs(client: Client) -> None:
    a_history()
    a_history("vendor/small", (GOOD,))
    html = page(client, "/models/openai/gpt-large/")
    assert 'aria-label="Score 0.333. Other models: vendor/small 1.000."' in html
    assert "2 of 2" in html
    assert "<figcaption>" not in html, "two runs are written, not drawn"
    over_time = html.partition("Score over time")[2].partition("</section>")[0]
    assert over_time.index("1.000") < over_time.index("0.333")
    first, last = Run.objects.filter(model="openai/gpt-large").order_by("pk").values_list("pk", flat=True)
    assert f'href="/compare/?runs={first}%2C{last}"' in over_time
    a_history(values=(GOOD, POOR, POOR))
    assert "<figcaption>Sums<small>Exact match" in page(client, "/models/openai/gpt-large/")
    chart = client.get("/models/openai/gpt-large/charts/history-1.svg")
    assert b"Sums" in chart.content
    assert b"Exact match" in chart.content
    assert client.get("/models/openai/gpt-large/charts/history-9.svg").status_code == 404
    assert "Significantly behind vendor/small on Sums." in html
    assert "1,000 results cost $8.33; no result has an error." in html
    assert "Ranks first on Sums." in page(client, "/models/vendor/small/")
    assert client.get("/models/nobody/").status_code == 404


def test_a_model_stands_among_most_others_though_its_newest_run_is_asked_alone(client: Client) -> None:
    dataset = make_dataset(12)
    make_scored_run(dataset, [1.0] * 12, model="a/best")
    make_scored_run(dataset, [0.0] * 12, model="a/behind")
    make_scored_run(dataset, [1.0] * 12, model="a/behind", parameters={"prompt_template": "Shout: {input}"})
    html = page(client, "/models/a/behind/")
    assert "Significantly behind a/best on Sums." in html
    assert "2 of 2" in html


def test_a_rank_that_all_models_share_is_not_said_to_lead(client: Client) -> None:
    dataset = make_dataset(N)
    for model in ("a/one", "a/two"):
        make_scored_run(dataset, GOOD, model=model)
    assert "Not significantly different from any other on Sums." in page(client, "/models/a/one/")
    make_scored_run(dataset, POOR, model="a/three")
    assert "Shares rank 1 on Sums." in page(client, "/models/a/one/")


def test_model_names_lead_to_the_page_of_the_model_whatever_they_hold(client: Client) -> None:
    for name in ("a/b/c:free", "odd name?x=1#y", "a//b", "a/%2F", "new\nline", "../up"):
        a_history(name)
        address = reverse("frontend:model", args=(name,))
        assert f'href="{address}"'.replace("&", "&amp;") in page(client, "/leaderboard/?dataset=sums"), name
        if ".." not in name:  # which a client would resolve
            assert "sums" in page(client, address), name


def test_the_overview_marks_a_change_that_the_test_finds(client: Client) -> None:
    a_history()
    a_history("vendor/small", (GOOD, [*GOOD[1:], 0.0]))
    html = page(client, "/")
    assert "openai/gpt-large fell 66.7 points on" in html
    assert "No significant change in 1 other score." in html
    board = html.partition("Board</h2>")[2].partition("Latest</h2>")[0]
    assert re.findall(r"[▲▼] \d+\.\d", board) == ["▼ 66.7"]
    assert board.count('class="spark') == 2


def test_a_model_whose_key_was_refused_says_so_until_it_answers(client: Client) -> None:
    failed = make_scored_run(make_dataset(2), (None, None), status=RunStatus.FAILED, error_message="401: wrong key.")
    failed.results.update(error_kind="authentication")
    assert "401: wrong key." in page(client, "/models/loop/model/")
    assert [each.kind for each in troubled_models().values()] == ["authentication"]
    make_scored_run(failed.dataset, (1.0, 1.0))
    assert troubled_models() == {}


def test_a_model_whose_run_hangs_says_so_on_all_pages_and_is_not_selected_first(client: Client) -> None:
    fine = make_scored_run(make_dataset(2), (1.0, 0.0), model="ollama/fine")
    run = make_scored_run(fine.dataset, (1.0, 0.0), model="ollama/hung", status=RunStatus.RUNNING, completed_at=None)
    quiet = timezone.now() - timedelta(minutes=3)
    Run.objects.filter(pk=run.pk).update(total=8, started_at=quiet, active_since=quiet, progressed_at=quiet)
    launch = client.get("/runs/new/")
    names = [model.name for model in launch.context["models"]]
    assert names.index("ollama/fine") < names.index("ollama/hung")
    assert KnownModels.read().preselected(["ollama/hung"]) == ["ollama/fine"]
    for path in ("/runs/new/", "/models/", "/models/ollama/hung/"):
        assert "No answer for 3 min" in " ".join(page(client, path).split()), path
    (warning, *_) = warnings_before_run(["ollama/hung"])
    assert warning.endswith(", after 2 of 8 results.")


def test_a_model_with_some_errors_says_how_many_and_one_that_judged_is_known(client: Client) -> None:
    run = make_scored_run(make_dataset(3), (1.0, 0.0, None), model="ollama/flaky")
    Run.objects.filter(pk=run.pk).update(errors=1, done=3, judge_model="ollama/judge", judge_tokens_out=9)
    assert "1 of 3 failed" in page(client, "/models/")
    assert "1 of 3 failed" in page(client, "/runs/new/")
    assert {"ollama/flaky", "ollama/judge"} <= answered_models()


def test_the_overview_starts_a_model_where_the_board_is_empty(client: Client) -> None:
    a_history("a/one", (GOOD,))
    other = make_dataset(N, slug="others")
    make_scored_run(other, GOOD, model="b/two", summarized_at=timezone.now())
    make_scored_run(other, GOOD, model="baseline/reference", summarized_at=timezone.now())
    board = page(client, "/").partition("Board</h2>")[2].partition("Latest</h2>")[0]
    assert 'href="/runs/new/?dataset=others&model=a/one"' in board.replace("&amp;", "&")
    assert "baseline/" not in board


def test_the_page_of_a_dataset_draws_a_history_for_each_model(client: Client) -> None:
    a_history(values=(GOOD, POOR, POOR))
    a_history("vendor/small", (GOOD,))
    html = page(client, "/datasets/sums/")
    assert "<figcaption>openai/gpt-large<small>Exact match" in html
    assert "<figcaption>vendor/small" not in html
    assert client.get("/datasets/sums/charts/history-1.png").status_code == 200


def test_two_runs_with_one_score_are_no_history(client: Client) -> None:
    a_history(values=(POOR, POOR))
    assert "Score over time" not in page(client, "/models/openai/gpt-large/")


def test_runs_of_one_day_are_a_history_only_if_the_score_moved(client: Client) -> None:
    a_history(values=(GOOD, GOOD))
    a_history("vendor/small", (POOR, GOOD, POOR))
    Run.objects.update(created_at=timezone.now())
    html = page(client, "/datasets/sums/")
    assert "<figcaption>vendor/small" in html
    assert "<figcaption>openai/gpt-large" not in html
    assert "Score over time" not in page(client, "/models/openai/gpt-large/")


def test_versions_are_marked_only_where_there_is_more_than_one() -> None:
    point = {"at": "2026-01-01T00:00:00", "run": "Run 1", "version": "v1", "is_new": False}
    point |= {"mean": 0.5, "low": 0.4, "high": 0.6, "n": "5 of 5"}
    measure = Measure("exact_match", "Exact match")
    one = score_over_time("history-1", "a", "Exact match", [point, point], measure)
    two = score_over_time("history-1", "a", "Exact match", [point, {**point, "is_new": True}], measure)
    assert two.panels[0].count('class="joined"') == 1
    assert one.panels[0].count('class="joined"') == 0


def test_the_page_of_a_baseline_says_that_it_is_one(client: Client) -> None:
    run = make_scored_run(make_dataset(3), (1.0, 0.0, 0.0), model="baseline/random")
    html = page(client, "/models/baseline/random/")
    assert "A baseline, not a model.</strong> Picks a random answer" in " ".join(html.split())
    make_scored_run(run.dataset, (1.0, 1.0, 0.0), model="a/model")
    beside = page(client, "/models/baseline/random/")
    assert "A baseline, not a model. All models score higher on Sums." in beside
    assert "0.667 (+33.3)" in beside, "the model on the ruler, with its distance"
    assert "Among models" not in beside, "the ruler draws them"
    assert "random baseline 0.333" in beside
    assert "1,000 results cost" not in html
    assert "Served model" not in html


def test_runs_without_a_right_answer_are_named(client: Client) -> None:
    dataset = make_dataset(3)
    make_scored_run(dataset, [1.0, 1.0, 0.0], model="a/x")
    wrong = make_scored_run(dataset, [0.0, 0.0, 0.0], model="a/x", variant="terse")
    html = " ".join(client.get("/models/a/x/").content.decode().split())
    said = f'<b>No answer is correct</b> in <a href="/runs/{wrong.pk}/#results">run {wrong.pk}</a> (terse): check'
    assert said in html
