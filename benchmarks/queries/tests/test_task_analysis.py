"""The task analysis of a version from stored runs, and what can be done with its flags."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from concurrent.futures import wait

import pytest
from django.core.cache import cache
from django.test import Client

from benchmarks.engine.execution.finishing import refresh_doubtful
from benchmarks.models import Dataset, DatasetVersion, Run, Score, Task
from benchmarks.queries.task_analysis import analysis as analysis_reads
from benchmarks.queries.task_analysis.analysis import task_analysis
from benchmarks.queries.task_analysis.pages import DOUBTFUL, AnalysisFilters, analysis_page
from benchmarks.services.datasets.editing import save_task
from benchmarks.services.datasets.versions import mark_doubtful
from benchmarks.services.errors import NotPossible
from tasks_app.models import Question
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db

ROWS = {"a/best": "011111", "a/good": "011110", "a/fair": "011100", "a/weak": "100001", "a/last": "100000"}
"""Models and their scores: the reference of the first task is wrong, and strong models answer 7."""


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()  # ids begin anew in every test


def version_of(dataset: Dataset) -> DatasetVersion:
    version = DatasetVersion.objects.select_related("dataset").get(pk=dataset.current_version_id)
    return version


def scored(dataset: Dataset, model: str, row: str, answer: str = "7", **fields: object) -> Run:
    run = make_scored_run(dataset, [float(sign) for sign in row], answer=answer, model=model, **fields)
    Score.objects.filter(run=run).update(extracted=f"**{answer}**")
    return run


@pytest.fixture
def analyzed() -> DatasetVersion:
    dataset = make_dataset(6)
    for model, row in ROWS.items():
        scored(dataset, model, row)
    return version_of(dataset)


def flagged(version: DatasetVersion, flag: str = "") -> dict[str, Sequence[str]]:
    page = analysis_page(version, task_analysis(version), AnalysisFilters(flag))
    return {row.task.task_id: [kind for kind, _ in row.flags] for row in page.rows}


def test_flags_come_first_and_say_what_they_rest_on(analyzed: DatasetVersion) -> None:
    analysis = task_analysis(analyzed)
    assert [model.name for model in analysis.models] == list(ROWS)
    assert [model.strong for model in analysis.models] == [True, True, True, False, False]
    page = analysis_page(analyzed, analysis, AnalysisFilters())
    first = page.rows[0]
    assert (first.task.task_id, first.shares) == ("task-1", [0.0, 0.0, 0.0, 1.0, 1.0])
    assert first.flags == [("suspect", "3 of 3 of the best models answer 7")]
    assert flagged(analyzed) == {
        "task-1": ["suspect"],
        "task-2": ["saturated"],
        "task-3": ["saturated"],
        "task-4": ["saturated"],
        "task-5": [],
        "task-6": [],
    }
    assert list(flagged(analyzed, "saturated")) == ["task-2", "task-3", "task-4"]
    assert analysis.verdict == "3 of 6 tasks are too easy: the best 3 of 5 models solve them."
    assert analysis.flagged_sentence == "Flagged: 1 with a suspect expected answer."
    assert analysis.effective_sentence.startswith("Effective tasks: about ")
    assert len(analysis.separations) == 2


def test_easy_tasks_fold_only_beside_tasks_with_another_flag(analyzed: DatasetVersion) -> None:
    folded = AnalysisFilters(folds_easy=True)
    page = analysis_page(analyzed, task_analysis(analyzed), folded)
    assert [row.task.task_id for row in page.rows] == ["task-1", "task-5", "task-6"]
    assert page.n_easy == 3
    dataset = make_dataset(4, slug="easy")
    for model, row in {"a/best": "1111", "a/good": "1110", "a/fair": "1100", "a/last": "0000"}.items():
        scored(dataset, model, row)
    version = version_of(dataset)
    analysis = task_analysis(version)
    assert {kind: list(places) for kind, places in analysis.flags.items() if len(places)} == {"saturated": [0, 1]}
    page = analysis_page(version, analysis, folded)
    assert [row.task.task_id for row in page.rows][:2] == ["task-1", "task-2"]
    assert not page.n_easy


def test_only_comparable_runs_count_the_latest_of_each_model(analyzed: DatasetVersion) -> None:
    dataset = analyzed.dataset
    assert task_analysis(analyzed).setting == ""
    scored(dataset, "baseline/random", "111111")
    scored(dataset, "a/partial", "11", limit=2)
    scored(dataset, "a/last", "110000")
    scored(dataset, "a/last", "100000", parameters={"system_prompt": "Think."})
    analysis = task_analysis(analyzed)
    assert len(analysis.models) == 5
    last = [model.name for model in analysis.models].index("a/last")
    assert analysis.values[last].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert analysis.setting == "no system prompt", "the one of most models"


def test_other_answers_and_too_few_models_make_no_reference_suspect() -> None:
    dataset = make_dataset(6)
    for place, (model, row) in enumerate(ROWS.items()):
        scored(dataset, model, row, answer=str(place))
    assert task_analysis(version_of(dataset)).flags["suspect"] == []
    few = make_dataset(6, slug="few")
    for model in ("a/best", "a/good"):
        scored(few, model, ROWS[model])
    analysis = task_analysis(version_of(few))
    assert not any(analysis.flags.values())
    assert analysis.limits == "Flags from answers require 3 models; there are 2."


def test_an_audited_answer_that_strong_models_miss_is_not_called_suspect(client: Client) -> None:
    """The audit of the set proves the expected answer, so the models are wrong."""
    dataset = make_canvas_set().dataset
    n_tasks = version_of(dataset).task_count
    for model, row in ROWS.items():
        scored(dataset, model, row[0] + (row[1:] * n_tasks)[: n_tasks - 1], answer="none of these")
    version = version_of(dataset)
    analysis = task_analysis(version)
    assert (analysis.flags["suspect"], analysis.flags["missed"]) == ([], [0])
    page = client.get(f"/datasets/{dataset.slug}/analysis/").content.decode()
    assert re.search(r">1 missed by the best models</a>\s+<span>Read them to learn", page)
    assert "uspect" not in page
    assert f'src="/canvases/{dataset.canvas_set.slug}/0.svg?small=1"' in page

    Question.objects.filter(tasks__position=1).update(audit=Question.Audit.UNDETERMINED)
    cache.clear()
    assert task_analysis(version).flags["suspect"] == [0], "an answer that the audit leaves open"


def test_what_repeats_answer_decides_as_most_of_them_do() -> None:
    dataset = make_dataset(6)
    for model, row in ROWS.items():
        run = scored(dataset, model, row)
        first = run.results.get(position=1)
        score = first.scores.get()
        for repeat in (2, 3):
            first.pk, first.repeat, first._state.adding = None, repeat, True
            first.save()
            score.pk, score.result, score._state.adding = None, first, True
            score.save()
        Run.objects.filter(pk=run.pk).update(repeats=3)
    version = version_of(dataset)
    assert flagged(version, "suspect") == {"task-1": ["suspect"]}
    Score.objects.filter(result__position=1, result__repeat__gt=1).update(value=1.0)
    cache.clear()
    analysis = task_analysis(version)
    assert analysis.values[0, 0] == pytest.approx(2 / 3)
    assert analysis.flags["suspect"] == analysis.flags["never"] == []


def test_tasks_that_are_only_too_easy_are_folded_to_a_link(analyzed: DatasetVersion, client: Client) -> None:
    address = f"/datasets/{analyzed.dataset.slug}/analysis/"
    page = client.get(address).content.decode()
    assert "1 of 6 tasks needs a look; 3 are too easy." in page
    assert [f'value="task-{n}"' in page for n in range(1, 7)] == [True, False, False, False, True, True]
    assert "Show 3 tasks that the best 3 of 5 models solve" in page
    assert 'value="task-2"' in client.get(f"{address}?text=task-2").content.decode(), "a search finds them"


def test_without_runs_only_duplicates_are_flagged() -> None:
    dataset = make_dataset([make_task(1), make_task(2, input="what is 1 + 1?"), make_task(3)])
    version = version_of(dataset)
    analysis = task_analysis(version)
    assert analysis.verdict == "Not enough comparable runs to judge the 3 tasks: at least 2 models are required."
    row = analysis_page(version, analysis, AnalysisFilters("duplicate")).rows[0]
    assert (row.task.task_id, row.duplicate_of and row.duplicate_of.task_id) == ("task-2", "task-1")


def test_an_analysis_without_a_run_says_what_it_will_show_and_offers_one(client: Client) -> None:
    slug = make_dataset(3).slug
    page = client.get(f"/datasets/{slug}/analysis/").content.decode()
    assert "The answers of two models or more show which tasks are too easy" in page
    assert "Tasks</h2>" not in page
    assert f'href="/runs/new/?dataset={slug}">Start run</a>' in page
    assert "Tasks with the share of correct answers" not in page


def test_columns_that_say_nothing_are_left_out(analyzed: DatasetVersion, client: Client) -> None:
    address = f"/datasets/{analyzed.dataset.slug}/analysis/"
    all_tasks = client.get(address).content.decode()
    assert 'class="tag flag is-' in all_tasks
    assert ">Discrimination<" in all_tasks
    assert "Never solved (0)" not in all_tasks
    Run.objects.filter(model="a/last").delete()
    saturated = client.get(f"{address}?flag=saturated").content.decode()
    assert 'class="tag flag is-' not in saturated, "every row has the flag of the filter"
    assert ">Discrimination<" not in saturated, "four models give none"
    assert 'data-label="best">✓</td>' in all_tasks, "a card on a phone names the models"
    assert 'data-label="best"' not in saturated
    assert "Each of these tasks: ✓ " in saturated, "all are solved alike"


def test_a_mark_takes_the_task_out_of_every_number_and_stays_with_its_content(analyzed: DatasetVersion) -> None:
    run = Run.objects.get(model="a/best")
    assert run.summary["metrics"]["exact_match"]["mean"] == pytest.approx(5 / 6)
    assert mark_doubtful(analyzed, ["task-1"]) == 1
    refresh_doubtful(analyzed.dataset_id)
    run.refresh_from_db()
    numbers = run.summary["metrics"]["exact_match"]
    assert (numbers["mean"], numbers["n"], numbers["n_doubtful"]) == (1.0, 5, 1)
    assert task_analysis(analyzed).flags["suspect"] == []
    assert list(flagged(analyzed, DOUBTFUL)) == ["task-1"]

    newer = save_task(analyzed.dataset, analyzed.pk, make_task(7))
    assert list(newer.tasks.filter(is_doubtful=True).values_list("task_id", flat=True)) == ["task-1"]
    mended = save_task(analyzed.dataset, newer.pk, make_task(1, expected_output="7"), replaces="task-1")
    assert not mended.tasks.filter(is_doubtful=True).exists()

    mark_doubtful(analyzed, ["task-1"], doubtful=False)
    refresh_doubtful(analyzed.dataset_id)
    run.refresh_from_db()
    assert run.summary["metrics"]["exact_match"]["mean"] == pytest.approx(5 / 6)
    with pytest.raises(NotPossible, match="has no task nothing"):
        mark_doubtful(analyzed, ["nothing"])


def test_the_page_creates_a_version_without_the_tasks_of_a_flag(analyzed: DatasetVersion, client: Client) -> None:
    address = f"/datasets/{analyzed.dataset.slug}/analysis/"
    page = client.get(f"{address}?flag=saturated").content.decode()
    assert "Create version without 3 tasks with this flag" in page
    form = {"version": analyzed.number, "flag": "saturated", "metric": "exact_match"}
    refused = client.post(f"{address}do/remove/", {**form, "all": 4}, follow=True).content.decode()
    assert "The analysis has changed since you opened the page." in refused
    client.post(f"{address}do/remove/", {**form, "all": 3})
    analyzed.dataset.refresh_from_db()
    left = Task.objects.filter(version=analyzed.dataset.current_version).values_list("task_id", flat=True)
    assert list(left) == ["task-1", "task-5", "task-6"]


def test_the_page_of_the_dataset_states_what_the_analysis_finds(analyzed: DatasetVersion, client: Client) -> None:
    address = f"/datasets/{analyzed.dataset.slug}/"
    page = client.get(address).content.decode()
    found = task_analysis(analyzed)
    assert found.verdict in page
    assert found.flagged_sentence in page
    Run.objects.exclude(model="a/best").delete()
    assert "What the tasks show" not in client.get(address).content.decode(), "one model says nothing of the tasks"


def test_the_page_and_the_api_mark_references(analyzed: DatasetVersion, client: Client) -> None:
    slug = analyzed.dataset.slug
    client.post(f"/datasets/{slug}/analysis/do/mark-doubtful/", {"version": analyzed.number, "task": ["task-1"]})
    assert Task.objects.get(version=analyzed, is_doubtful=True).task_id == "task-1"
    assert "Marked as doubtful" in client.get(f"/datasets/{slug}/analysis/").content.decode()
    api = f"/api/v1/benchmarks/datasets/{slug}"
    body = {"tasks": ["task-1", "task-2"], "doubtful": False}
    assert client.post(f"{api}/doubtful-references", body, "application/json").json() == {"tasks": 2}
    found = client.get(f"{api}/analysis?flag=suspect").json()
    assert (found["flagged"]["suspect"], found["tasks"][0]["task"], found["runs"]) == (1, "task-1", 5)
    assert found["tasks"][0]["right"]["a/weak"] == 1.0
    assert client.get("/api/v1/benchmarks/datasets/none/analysis").status_code == 404
    assert client.get(f"{api}/analysis?flag=nonsense").status_code == 400


@pytest.mark.django_db(transaction=True)
def test_a_long_analysis_is_computed_in_the_background_while_the_page_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis_reads, "QUICK", 0)
    dataset = make_dataset(6)
    for model, row in ROWS.items():
        scored(dataset, model, row)
    address = f"/datasets/{dataset.slug}/analysis/"

    monkeypatch.setattr(analysis_reads, "analyzed", lambda *_: 1 / 0)
    assert "are being analyzed" in client.get(address).content.decode()
    wait(analysis_reads._started.values())
    with pytest.raises(ZeroDivisionError):
        client.get(address)
    monkeypatch.undo()

    release, analyzed = threading.Event(), analysis_reads.analyzed
    monkeypatch.setattr(analysis_reads, "QUICK", 0)
    monkeypatch.setattr(analysis_reads, "analyzed", lambda *given: release.wait(60) and analyzed(*given))
    assert "are being analyzed" in client.get(address).content.decode()
    api = f"/api/v1/benchmarks/datasets/{dataset.slug}/analysis"
    later = client.get(api)
    assert (later.status_code, later["Retry-After"]) == (202, "2")
    release.set()
    wait(analysis_reads._started.values())
    assert client.get(api).json()["runs"] == 5
    page = client.get(address).content.decode()
    assert ">1 suspect expected answer</a>" in page
    assert "are being analyzed" not in page
