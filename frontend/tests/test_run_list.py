"""The list of runs and experiments: its rows, filters and columns, and what is done with what is selected."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.models import Experiment, Run, RunStatus, ScheduledRun, ScoreDrop
from benchmarks.queries.run_list import ListedExperiment, newest
from benchmarks.services.schedules import save_schedule
from frontend.tests.test_pages import page
from frontend.tests.test_query_growth import queries
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db(transaction=True)
SELECTED = "/runs/selected/"


def words(client: Client, url: str) -> str:
    return " ".join(page(client, url).split())


def made_experiment(name: str = "Prompts") -> Experiment:
    experiment = Experiment.objects.create(name=name, tags=["autumn"], request={"models": []})
    dataset = make_dataset(40, slug=name.lower())
    for model, right in (("a/large", 38), ("a/small", 5)):
        values = [1.0] * right + [0.0] * (40 - right)
        make_scored_run(dataset, values, model=model, experiment=experiment, summarized_at=timezone.now())
    return experiment


def test_experiments_and_single_runs_stand_in_one_list_newest_first(client: Client) -> None:
    single = make_scored_run(make_dataset(2), (1.0, 0.0), model="a/single", name="Nightly")
    experiment = made_experiment()
    rows = words(client, "/runs/").partition("<tbody>")[2]
    assert rows.index(f"/experiments/{experiment.pk}/") < rows.index(f"/runs/{single.pk}/")
    assert rows.count("<tr>") == 2, "the runs of an experiment are folded into it"
    assert "2 models · " in rows
    assert 'large leads. <div class="soft small anywhere">small is 82.5 points behind' in rows
    assert 'aria-label="Scores of 2 models and prompts, 0 to 1"' in rows
    assert "Nightly, a/single" in rows
    each = words(client, "/runs/single/").partition("<tbody>")[2]
    assert each.count("<tr>") == 3
    of_experiments = words(client, "/experiments/")
    assert of_experiments.partition("<tbody>")[2].count("<tr>") == 1
    assert '<th scope="col">Experiment</th>' in of_experiments


def test_the_best_of_an_experiment_is_no_baseline_and_so_far_until_all_have_ended(client: Client) -> None:
    experiment = made_experiment()
    assert "Best of 2: 0.950 large; other 0.125" in words(client, "/experiments/")
    experiment.runs.filter(model="a/small").update(status=RunStatus.RUNNING, active_since=timezone.now())
    assert "Best of 2 so far: 0.950 large" in words(client, "/experiments/")
    for name in ("reference", "random"):
        run = experiment.runs.filter(model__startswith="a/").first()
        assert run
        Run.objects.filter(pk=run.pk).update(model=f"baseline/{name}")
    assert "Best of" not in words(client, "/experiments/")


def test_the_newest_are_those_that_the_list_begins_with(client: Client) -> None:
    dataset = make_dataset(2)
    older = [make_scored_run(dataset, (1.0, 0.0), model="a/older") for _ in range(3)]
    experiment = made_experiment()
    newer = make_scored_run(dataset, (1.0, 0.0), model="a/newer")
    found = [each.experiment.pk if isinstance(each, ListedExperiment) else each.run.pk for each in newest(3)]
    assert found == [newer.pk, experiment.pk, older[-1].pk]


def test_a_row_says_what_was_found_or_what_went_wrong(client: Client) -> None:
    dataset = make_dataset(2)
    make_scored_run(
        dataset, (1.0, None), status=RunStatus.FAILED, error_message="The API key was rejected (401). Check it"
    )
    live = make_scored_run(dataset, (1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    Run.objects.filter(pk=live.pk).update(total=8)
    dropped, before = make_scored_run(dataset, (0.0, 0.0)), make_scored_run(dataset, (1.0, 1.0))
    schedule = save_schedule(
        "Nightly", "03:00", {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    )
    turn = ScheduledRun.objects.create(schedule=schedule, run=dropped, due_at=timezone.now())
    ScoreDrop.objects.create(
        scheduled_run=turn, compared_with=before, metric=dropped.headline, difference=-0.041, n_shared=2,
        low=-0.06, high=-0.02, p_adjusted=0.001, sentence="It dropped.",
    )  # fmt: skip
    html = words(client, "/runs/")
    assert 'The API key was rejected (401). <div class="soft small anywhere">1 answer kept</div>' in html
    assert "So far 0.500 after 2 of 8" in html
    pair = f"{before.pk}%2C{dropped.pk}"
    assert f'<a class="down" href="/compare/?runs={pair}">▼ 4.1 points since run {before.pk}</a>' in html
    assert words(client, "/runs/scheduled/").partition("<tbody>")[2].count("<tr>") == 1
    for path, name in (
        ("/runs/", dropped.model),
        (f"/runs/?model={dropped.model}", dataset.title),
        ("/datasets/sums/", dropped.model),
        (f"/models/{dropped.model}/", dataset.title),
        (f"/settings/schedules/{schedule.pk}/", f"Run {dropped.pk}"),
    ):
        row = words(client, path).partition(f'<a class="row-link anywhere" href="/runs/{dropped.pk}/">')[2]
        row, head = row.partition("</tr>")[0], row.partition("</th>")[0]
        assert head.startswith(f"{name}</a>"), "without what the page says itself"
        assert ("by schedule" in head) != ("/schedules/" in path)
        assert ("▼ 4.1 points" in row) != ("/schedules/" in path), "once on each page: there its notice says it"
        assert '<span class="tag caution">2 wrong</span>' in row


def test_a_run_that_stands_still_says_for_how_long_and_gives_no_time_left(client: Client) -> None:
    run = make_scored_run(make_dataset(2), (1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    began, now = timezone.now() - timedelta(minutes=9), timezone.now()
    rows = Run.objects.filter(pk=run.pk)
    rows.update(total=8, started_at=began, active_since=began, progressed_at=now - timedelta(minutes=3))
    for path in ("/", "/runs/", f"/runs/{run.pk}/"):
        html = words(client, path)
        assert "No answer for 3 min" in html, path
        assert " left<" not in html, path
        assert ">Running</span>" not in html, path
    inbox = words(client, "/").partition('class="inbox"')[2].partition("</ul>")[0]
    assert "no answer for 3 min" in inbox
    assert f'action="/runs/{run.pk}/do/pause/"' in inbox
    rows.update(progressed_at=now - timedelta(minutes=1))
    assert "No answer for 1 min" in words(client, f"/runs/{run.pk}/")
    assert 'class="inbox"' not in words(client, "/"), "it may go on"
    rows.update(model="openai/model")
    html = words(client, f"/runs/{run.pk}/")
    assert "openai has not answered since" in html
    assert "times out after 2 min and is sent up to 5 times" in html
    rows.update(progressed_at=now)
    assert "has not answered since" not in words(client, f"/runs/{run.pk}/")
    assert "No answer for" not in words(client, f"/runs/{run.pk}/")
    assert "left</span>" in words(client, f"/runs/{run.pk}/")
    # Models that think for long are not silent while they do.
    summary = Run.objects.get(pk=run.pk).summary | {
        "latency_ms": dict.fromkeys(("n", "mean", "p50", "p95", "max"), 120_000.0)
    }
    rows.update(progressed_at=now - timedelta(minutes=3), summary=summary)
    assert "No answer for" not in words(client, f"/runs/{run.pk}/")


def test_an_experiment_and_a_list_of_datasets_say_that_a_run_stands_still_as_the_run_does(client: Client) -> None:
    experiment = made_experiment()
    run = make_scored_run(make_dataset(2), (1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    moments = {"active_since": timezone.now() - timedelta(minutes=9)}
    rows = Run.objects.filter(pk=run.pk)
    rows.update(**moments, progressed_at=timezone.now() - timedelta(minutes=3), experiment=experiment)
    for path in ("/", "/experiments/", f"/experiments/{experiment.pk}/", "/search/?q=Prompts", "/datasets/"):
        html = words(client, path)
        assert "No answer for 3 min" in html, path
        assert ">Running</span>" not in html, path


def test_a_provisional_score_is_sorted_after_the_final_ones(client: Client) -> None:
    dataset = make_dataset(2)
    final = [make_scored_run(dataset, values).pk for values in ((0.0, 0.0), (1.0, 0.0))]
    live = make_scored_run(dataset, (1.0, 1.0), status=RunStatus.RUNNING, completed_at=None).pk
    for sort, order in (("-score", [*final[::-1], live]), ("score", [*final, live])):
        assert re.findall(r">Run (\d+)", words(client, f"/runs/single/?sort={sort}")) == [str(pk) for pk in order]


def test_filters_are_chips_that_can_be_removed(client: Client) -> None:
    make_scored_run(make_dataset(2, slug="sums"), model="a/first", tags=["t"])
    made_experiment()
    nobody = page(client, "/runs/?model=nobody")
    assert "Remove “Model: nobody”</a>" in nobody, "how many there are without any filter, the tabs say"
    assert 'href="?model=a%2Ffirst">a/first</a>' in nobody, "models with runs are offered in its place"
    nothing = words(client, "/runs/?model=a%2Ffirst&tag=other&days=7")
    assert "No run matches all 3 filters." in nothing
    assert re.findall(r"Remove “(.+?)” \(1 row\)", nothing) == ["Tag: other"], (
        "without another one there would be no row either"
    )
    for query, rows in (
        ("?model=a%2Flarge", 1), ("?text=first", 1), ("?text=autumn", 1), ("?text=PROMPTS", 1), ("?tag=t", 1),
        ("?days=7", 2), ("?dataset=sums&status=completed", 1),
    ):  # fmt: skip
        assert words(client, f"/runs/{query}").partition("<tbody>")[2].count("<tr>") == rows, query
    html = words(client, "/runs/?model=a%2Ffirst&tag=t&page=1")
    assert '<span class="soft small">1 match</span>' in html
    assert '<a class="chip on" href="?model=a%2Ffirst">Tag: t' in html
    assert '<a class="chip on" href="?tag=t">Model: a/first' in html


def test_baselines_are_a_group_of_their_own_among_the_models_to_filter_by(client: Client) -> None:
    for model in ("a/large", "baseline/random", "z/small"):
        make_scored_run(make_dataset(2), (1.0, 0.0), model=model)
    html = words(client, "/runs/?model=baseline/random")
    models = html.partition('<select id="model"')[2].partition("</select>")[0]
    assert re.findall(r'<optgroup label="[^"]+"|value="[^"]+"(?: selected)?|</optgroup>', models) == [
        'value="a/large"',
        'value="z/small"',
        '<optgroup label="Baselines (not language models)"',
        'value="baseline/random" selected',
        "</optgroup>",
    ]


def test_columns_can_be_left_out_in_the_address(client: Client) -> None:
    make_scored_run(make_dataset(2), model="a/model")
    whole = words(client, "/runs/")
    assert '<th scope="col" class="num wide-only">Cost</th>' in whole
    assert "hidden column" not in whole
    fewer = words(client, "/runs/?model=a%2Fmodel&columns=0&columns=finding")
    assert ">Cost</th>" not in fewer
    assert ">Scores, 0 to 1</th>" in fewer
    assert '<a class="small" href="?model=a%2Fmodel">Show 4 hidden columns</a>' in fewer
    assert '<input type="hidden" name="columns" value="finding">' in fewer, "a filter keeps the columns"


def test_selected_rows_are_compared_exported_and_rescored(client: Client) -> None:
    dataset = make_dataset(2)
    one, two = make_scored_run(dataset), make_scored_run(dataset)
    experiment = made_experiment()
    inner = ",".join(str(run.pk) for run in experiment.runs.order_by("pk"))

    def leads(**sent: object) -> str:
        return client.post(SELECTED, {**sent, "back": "/runs/?tag=t"}).headers["Location"]

    assert leads(do="compare", runs=[one.pk], experiments=[experiment.pk]) == f"/compare/?runs={inner},{one.pk}"
    assert leads(do="export", runs=[one.pk]) == f"/runs/{one.pk}/export.csv"
    assert leads(do="export", experiments=[experiment.pk]) == f"/matrix.csv?runs={inner}"
    assert leads(do="rescore", runs=[one.pk]) == f"/runs/{one.pk}/rescore/"
    for refused in ({"do": "compare", "runs": [one.pk]}, {"do": "rescore", "runs": [one.pk, two.pk]}, {"do": "tag"}):
        assert leads(**refused) == "/runs/?tag=t"
    assert leads(do="compare", runs=[one.pk]) == "/runs/?tag=t"
    assert "Select two or more runs to compare." in page(client, "/runs/")
    assert client.post(SELECTED, {"do": "tag", "back": "//elsewhere/"}).headers["Location"] == "/runs/"
    assert client.post(SELECTED, {"do": "nothing"}).status_code == 404


def test_selected_rows_are_changed_one_by_one_and_refusals_are_said(client: Client) -> None:
    dataset = make_dataset(2)
    done = make_scored_run(dataset, tags=["old"])
    paused = make_scored_run(dataset, status=RunStatus.PAUSED, completed_at=None)
    experiment = made_experiment()
    both = {"runs": [done.pk, paused.pk], "experiments": [experiment.pk]}
    client.post(SELECTED, {**both, "do": "tag", "tag_added": "new"})
    rows = (*Run.objects.filter(experiment=None).order_by("pk"), Experiment.objects.get())
    assert [sorted(row.tags) for row in rows] == [["new", "old"], ["new"], ["autumn", "new"]]
    assert "2 runs and 1 experiment tagged new." in page(client, "/runs/")
    client.post(SELECTED, {**both, "do": "cancel"})
    html = page(client, "/runs/")
    assert "1 run canceled." in html
    assert "Only queued" not in html, "what does not allow it is left out"
    client.post(SELECTED, {**both, "do": "cancel"})
    html = page(client, "/runs/")
    assert f"Run {done.pk} is completed. Only queued" in html
    assert "All runs have ended." in html
    asked = client.post(SELECTED, {**both, "do": "delete"}).content.decode()
    assert "Delete 2 runs and 1 experiment?" in asked
    assert Run.objects.count() == 4
    client.post(SELECTED, {**both, "do": "delete", "confirmed": "yes"})
    assert Run.objects.filter(experiment=None).count() == 2, "the runs of the experiment are kept"
    assert not Experiment.objects.exists()


def test_rows_name_the_actions_that_depend_on_their_state(client: Client) -> None:
    dataset = make_dataset(2)
    rows = {
        make_scored_run(dataset): "",
        make_scored_run(dataset, status=RunStatus.PAUSED, completed_at=None): "resume cancel",
        make_scored_run(dataset, (1.0, None), status=RunStatus.COMPLETED_WITH_ERRORS): "retry",
    }
    experiment = made_experiment()
    html = page(client, "/runs/")
    for run, actions in rows.items():
        assert f'aria-label="Select run {run.pk}" data-actions="{actions}"' in html
    assert f'aria-label="Select experiment {experiment.name}" data-actions=""' in html


def test_the_list_needs_as_many_queries_for_more_rows(client: Client) -> None:
    def warm(url: str) -> int:
        client.get(url)
        return queries(client, url, clear=False)

    urls = ("/runs/", "/experiments/", "/runs/single/", "/runs/imported/", "/runs/scheduled/")
    made_experiment("First")
    make_scored_run(make_dataset(1))
    few = [warm(url) for url in urls]
    for name in ("Second", "Third", "Fourth"):
        made_experiment(name)
        make_scored_run(make_dataset(1))
    assert [warm(url) for url in urls] == few


def test_more_days_than_a_calendar_has_filter_nothing(client: Client) -> None:
    make_scored_run(model="loop/old")
    for days in ("36501", "9999999", "999999999"):
        assert "loop/old" in client.get(f"/runs/?days={days}").content.decode(), days


def test_columns_that_say_nothing_of_any_row_are_left_out(client: Client) -> None:
    run = make_scored_run()
    Run.objects.filter(pk=run.pk).update(cost_usd=None)
    html = page(client, "/runs/single/")
    heads = html.partition("<thead")[2].partition("</thead>")[0]
    assert "Cost" not in heads, "unknown of all"
    assert "0 to 1" in heads
    Run.objects.filter(pk=run.pk).update(
        cost_usd=0.5, status="failed", error_message=f"The model {run.model} failed. 401."
    )
    html = page(client, "/runs/single/")
    heads = html.partition("<thead")[2].partition("</thead>")[0]
    assert "Cost" in heads
    assert "0 to 1" not in heads, "no score to draw"
    assert "401." in html
    assert "The model" not in html.partition("<tbody")[2]


def test_runs_in_the_order_of_their_scores_say_that_these_do_not_compare(client: Client) -> None:
    make_scored_run(make_dataset(2, slug="sums"))
    said = "By benchmark and metric, because their scores are not comparable."
    heading = ">Sums · Exact match</th>"
    assert said in (html := words(client, "/runs/single/?sort=-score"))
    assert heading in html
    assert ">n = 2 of 2<" in html, "the head says the metric"
    for path in ("/runs/single/", "/runs/single/?sort=-score&dataset=sums"):
        assert said not in (html := words(client, path))
        assert heading not in html
        assert ">Exact match, n = 2 of 2<" in html


def test_runs_in_the_order_of_their_scores_stand_by_benchmark_and_their_order_is_a_chip(client: Client) -> None:
    first, second = (make_dataset(2, slug=slug) for slug in ("alpha", "beta"))
    low = make_scored_run(first, (0.0, 0.0)).pk
    high, higher = (make_scored_run(second, values).pk for values in ((1.0, 0.0), (1.0, 1.0)))
    html = words(client, "/runs/single/?sort=-score")
    assert re.findall(r">Run (\d+)", html) == [str(pk) for pk in (low, higher, high)]
    assert '<a class="chip on" href="?">Score, highest first' in html
    assert "highest first" not in words(client, "/runs/single/")
