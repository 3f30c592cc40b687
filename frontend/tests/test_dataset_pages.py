"""Pages of benchmarks and datasets: results, tasks, analysis, versions and files."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import (
    Dataset,
    DatasetFile,
    DatasetVersion,
)
from benchmarks.services.datasets.versions import import_dataset, spec_of
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_the_benchmarks_show_the_best_score_of_a_model_and_start_runs(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    make_dataset(2, slug="never-run")
    make_scored_run(dataset, (1.0, 1.0, 1.0), model="baseline/reference")
    make_scored_run(dataset, (0.0, 1.0, 1.0), model="a/better")
    make_scored_run(dataset, (0.0, 0.0, 1.0), model="a/worse")
    html = page(client, "/benchmarks/")
    row = next(row for row in html.split("<tr>") if "sums" in row)
    assert "a/better" in row
    assert "0.667" in row
    assert "baseline/reference" not in html
    assert "a/worse" not in html
    assert 'aria-label="Means of 2 models, the best 0.667"' in row
    assert 'href="/leaderboard/?dataset=sums">of 2 models</a>' in row
    assert 'href="/runs/new/?dataset=never-run"' in html


def test_the_benchmarks_are_found_by_name(client: Client) -> None:
    make_dataset(1, slug="sums")
    make_dataset(1, slug="letters", name="Letters")
    found = page(client, "/benchmarks/?text=SUM")
    assert "/datasets/sums/" in found
    assert "/datasets/letters/" not in found
    assert "No benchmark has this name." in page(client, "/benchmarks/?text=none")


def test_a_broken_file_is_shown_with_line_and_text(client: Client) -> None:
    problem = {
        "line": 12,
        "path": "tasks[3].difficulty",
        "message": "'hrad' is not a difficulty",
        "text": "difficulty: hrad",
    }
    DatasetFile.objects.create(
        path="bad.yaml", state=DatasetFile.State.BROKEN, problems=[problem], checked_at=timezone.now()
    )
    html = page(client, "/datasets/")
    for shown in ("bad.yaml", "12", "tasks[3].difficulty", "&#x27;hrad&#x27; is not a difficulty", "difficulty: hrad"):
        assert shown in html


def test_a_chosen_version_stays_chosen_between_the_tabs_of_a_dataset(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset(3, slug="sums")
    for path in ("", "tasks/", "versions/", "files/"):
        chosen, current = (
            page(client, f"/datasets/sums/{path}{query}").partition('class="tabs"')[2].partition("</nav>")[0]
            for query in ("?version=1&page=1", "")
        )
        assert chosen.count("?version=1") == chosen.count("<a ") == 5, path
        assert "?version" not in current


def test_a_dataset_without_a_valid_version_has_a_page(client: Client) -> None:
    Dataset.objects.create(slug="hopeless", name="Hopeless")
    page(client, "/datasets/")
    assert "no valid version" in page(client, "/datasets/hopeless/")


def test_a_dataset_shows_its_tasks_and_finds_them_by_text(client: Client) -> None:
    make_dataset(3, slug="sums")
    moved = client.get("/datasets/sums/?text=2 %2B 2")
    assert moved.headers["Location"] == "/datasets/sums/tasks/?text=2+%2B+2"
    html = page(client, moved.headers["Location"])
    assert "task-2" in html
    assert "task-3" not in html


def test_what_changed_between_two_versions_is_shown(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset(3, slug="sums")
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "task-3" in html
    assert "<strong>Version 2 adds 1 task.</strong>" in html


def test_changes_count_every_task_and_say_which_fields_changed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontend.views.datasets.CHANGES_SHOWN", 1)
    make_dataset(3, slug="sums")
    make_dataset([make_task(n, expected_output="7", choices=("7", "8")) for n in (1, 2, 3)], slug="sums")
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "<strong>Version 2 changes 3 tasks.</strong>" in html
    assert "Changed in the first 1 task: expected answer and choices." in html
    assert "Only the first tasks are shown below; 2 more tasks differ." in html
    assert re.search(r"<dt>Expected answer</dt>\s*<dd>\s*<del>2</del><ins>7</ins>\s*</dd>", html)
    assert re.search(r'<dt>Choices</dt>\s*<dd>\s*<div class="text" tabindex="0"><ins>7\s8</ins></div>', html)
    assert 'name="old"' not in html, "there is no other pair of versions"
    make_dataset(4, slug="sums")
    assert 'name="old"' in page(client, "/datasets/sums/changes/1/2/")


def test_what_changed_besides_the_tasks_is_shown(client: Client) -> None:
    first = make_dataset(2, slug="sums").current_version
    assert first is not None
    spec = spec_of(first)
    import_dataset(replace(spec, name="<b>New</b>", tasks=spec.tasks[::-1]), "sums", DatasetVersion.Origin.UPLOAD)
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "&lt;b&gt;" in html
    assert "<strong>Version 2 reorders the tasks and edits the dataset&#x27;s name.</strong>" in html


def test_answers_to_the_same_task_name_the_metric_of_their_score(client: Client) -> None:
    dataset = make_dataset(1)
    run = make_scored_run(dataset, [1.0])
    make_scored_run(dataset, [0.5], metrics=["contains"])
    address = f"/runs/{run.pk}/results/{run.results.get().pk}/"
    once = '<small class="soft">Contains</small>'
    assert once in page(client, address)
    make_scored_run(dataset, [0.5], metrics=["length"])
    html = page(client, address)
    assert '<td class="soft">Contains</td>' in html
    assert once not in html


def test_answers_to_a_task_keep_their_lines_and_mark_what_was_not_expected(client: Client) -> None:
    dataset = make_dataset(1)
    task = dataset.current_version.tasks.get()
    task.expected_output = "one\ntwo\nthree"
    task.save()
    address = f"/datasets/{dataset.slug}/tasks/{task.pk}/"
    make_scored_run(dataset, [0.0], answer="five")
    assert '<td class="cut" dir="auto">five</td>' in page(client, address), "short ones stay beside their scores"
    make_scored_run(dataset, [1.0], answer="one\ntwo\nthree\n")
    make_scored_run(dataset, [0.0], answer="one\nfive\nthree")
    html = page(client, address)
    assert '<td class="cut"' not in html
    assert "one\n<ins>five</ins>\nthree" in html
    assert "Equal to the expected answer" in html


def test_a_benchmark_shows_its_title_and_why_it_is_not_ranked_and_is_selected_to_run(client: Client) -> None:
    make_scored_run(make_dataset(4, name="Short sums"), (1.0, 0.0, None, None))
    html = page(client, "/benchmarks/")
    assert ">Short sums</a>" in html
    assert "Only 2 of 4 results have a score" in html.split("Not ranked")[1]
    assert "of 1 model<" not in html, "without others, it is the best of nothing"
    assert '<input type="checkbox" name="dataset" value="sums" form="selected" aria-label="Select Short sums"' in html
    assert re.search(r'<form id="selected" [^>]*action="/runs/new/"', html)


def test_best_for_its_price_marks_only_some(client: Client) -> None:
    dataset = make_dataset(4)
    for model, right, cost in (("a/good", 4, 2.0), ("a/cheap", 1, 1.0)):
        make_scored_run(dataset, [1.0] * right + [0.0] * (4 - right), model=model, cost_usd=cost)
    address = f"/leaderboard/?dataset={dataset.slug}"
    assert "best for its price" not in page(client, address), "true of all"
    make_scored_run(dataset, [0.0] * 4, model="a/dear", cost_usd=3.0)
    assert page(client, address).count("best for its price") == 2


def test_a_run_on_a_dataset_says_that_it_has_no_surface(client: Client) -> None:
    run = make_scored_run()
    html = page(client, f"/runs/{run.pk}/surface/")
    assert "only runs on canvas sets have one" in html
    assert "zero-shot" not in html
    assert "Runs with a difficulty surface" not in html


def test_the_tasks_show_how_each_model_answers_them(client: Client) -> None:
    dataset = make_dataset(2)
    assert "Latest full run of each" not in page(client, f"/datasets/{dataset.slug}/tasks/")
    make_scored_run(dataset, [1.0, 1.0], model="a/good")
    make_scored_run(dataset, [1.0, 0.0], model="a/poor")
    html = page(client, f"/datasets/{dataset.slug}/tasks/")
    right, wrong = '<i class="is-correct"></i>', '<i class="is-wrong"></i>'
    assert f'aria-label="2 of 2 correct">{right}{right}</span>' in html
    assert f'aria-label="1 of 2 correct">{right}{wrong}</span>' in html
    assert "Left to right: good, poor" in html
    assert "Latest full run of each model." in html


def test_a_dataset_without_a_run_shows_its_first_tasks(client: Client) -> None:
    dataset = make_dataset(7)
    tasks = [
        f'href="/datasets/{dataset.slug}/tasks/{task.pk}/"'
        for task in dataset.current_version.tasks.order_by("position")
    ]
    for tab, shown in (("", 5), ("analysis/", 0)):
        html = page(client, f"/datasets/{dataset.slug}/{tab}")
        assert [link in html for link in tasks] == [True] * shown + [False] * (7 - shown)
        assert "Start run" in html
        assert "/leaderboard/?dataset=" not in html


def test_the_flags_of_an_analysis_are_links_to_their_tasks(client: Client) -> None:
    dataset = make_dataset(3)
    for model in ("a/one", "a/two", "a/three"):
        make_scored_run(dataset, [1.0, 1.0, 0.0], model=model)
    html = page(client, f"/datasets/{dataset.slug}/analysis/")
    assert "<strong>1 of 3 tasks needs a look; 2 are too easy.</strong>" in html
    first = html[html.index("<tbody>") :].partition("</tr>")[0]
    assert "tint-wrong" in first
    assert 'class="tag flag is-' in first.partition("</th>")[0], "beside the name"
    assert re.search(
        r'href="\?flag=saturated">2 too easy</a>\s+<span>Replace with harder ones: all 3 models solve', html
    )
    chosen = page(client, f"/datasets/{dataset.slug}/analysis/?flag=saturated")
    assert re.search(r'href="\?flag=saturated" aria-current="true"', chosen)
    assert re.search(r"Too easy\s+<span aria-hidden", chosen), "a chip that removes the filter"
    assert '<input type="hidden" name="flag" value="saturated">' in chosen
    assert "tint-" not in chosen
    said = re.search(r"Each of these tasks: ✓ (\w+), (\w+) and (\w+)\.", chosen)
    assert said is not None
    assert {*said.groups()} == {"one", "two", "three"}


def test_a_version_without_a_run_offers_to_run_the_current_one(client: Client) -> None:
    make_dataset(3, slug="sums")
    make_dataset(4, slug="sums")
    html = page(client, "/datasets/sums/?version=1")
    assert '<a class="button primary" href="/runs/new/?dataset=sums">Run version 2</a>' in html
    assert "New runs use version 2, which has no runs either." in html
    assert '<span class="tag caution">Version 2 is current</span>' in html
    assert "is current</span>" not in page(client, "/datasets/sums/")


def test_an_old_version_without_a_run_leads_to_the_analysis_of_the_current_one(client: Client) -> None:
    make_dataset(3, slug="sums")
    make_scored_run(make_dataset(4, slug="sums"), [1.0] * 4)
    html = page(client, "/datasets/sums/analysis/?version=1")
    assert "New runs use version 2, which has 1 run." in html
    assert '<a class="button primary" href="/datasets/sums/analysis/">Show version 2</a>' in html
    assert "Run version 2" not in html


def test_the_whole_file_of_a_dataset_is_shown_in_the_browser(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/datasets/sums/files/")
    assert 'download.yaml?version=1&amp;show=1">Show whole file</a>' in html
    assert 'class="button primary" href="/datasets/sums/download.yaml?version=1"' in html
    assert "<dt>Tasks</dt>" not in html, "the head says them"
    shown = client.get("/datasets/sums/download.yaml?version=1&show=1")
    assert shown.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "Content-Disposition" not in shown.headers
    assert shown.content == client.get("/datasets/sums/download.yaml?version=1").content


def test_a_task_says_how_many_answers_are_correct(client: Client) -> None:
    dataset = make_dataset(1)
    task = dataset.current_version.tasks.get()
    address = f"/datasets/{dataset.slug}/tasks/{task.pk}/"
    assert "latest answers are correct" not in page(client, address)
    for value in (1.0, 0.0, None):
        make_scored_run(dataset, [value])
    assert "1 of 2 latest answers are correct. 1 more answer without a score." in page(client, address)
    make_scored_run(dataset, [0.0], model="scripted/other")
    assert "1 of 3 latest answers are correct. 1 more" in page(client, address), "a model is right and wrong"


def test_a_task_names_the_models_whose_answers_are_wrong(client: Client) -> None:
    dataset = make_dataset(1)
    address = f"/datasets/{dataset.slug}/tasks/{dataset.current_version.tasks.get().pk}/"
    for model, value in (("scripted/a", 1.0), ("scripted/b", 0.0), ("scripted/c", 0.0)):
        make_scored_run(dataset, [value], model=model)
    assert "1 of 3 latest answers are correct, not those of scripted/c and scripted/b." in page(client, address)


def test_a_task_says_that_its_tests_were_not_run(client: Client) -> None:
    dataset = make_dataset([make_task(tests="assert True")])
    address = f"/datasets/{dataset.slug}/tasks/{dataset.current_version.tasks.get().pk}/"
    assert "tests were not run" not in page(client, address), "nobody has answered"
    run = make_scored_run(dataset, [1.0], metrics=["exact_match"])
    assert "Scored by Exact match; the tests were not run." in page(client, address)
    assert f'href="/runs/{run.pk}/rescore/?metric=code_tests"' in page(client, address)
    make_scored_run(dataset, [1.0], metrics=["code_tests"])
    assert "tests were not run" not in page(client, address)


def test_versions_say_what_the_newest_changes_and_which_runs_used_them(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(2, slug="sums")
    make_scored_run(dataset, [1.0, 1.0])
    first = dataset.current_version
    import_dataset(replace(spec_of(first), tasks=spec_of(first).tasks[:1]), "sums", DatasetVersion.Origin.UPLOAD)
    response = client.get("/datasets/sums/versions/")
    assert '<a class="more" href="/datasets/sums/changes/1/2/">Removes 1 task</a>' in response.content.decode()
    assert "Removed in version 2</h2>" in response.content.decode()
    assert [row.runs for row in response.context["versions"].rows] == [0, 1]
    monkeypatch.setattr("frontend.views.datasets.MOST_INLINE", 0)
    with CaptureQueriesContext(connection) as queries:
        again = client.get("/datasets/sums/versions/")
    assert "Removes 1 task</a>" in again.content.decode()
    assert not any("benchmarks_task" in each["sql"] for each in queries), "they are compared once"


def test_the_files_of_a_dataset_begin_with_its_first_tasks(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    shown = [
        f"<b>id</b>: {task}" in page(client, "/datasets/sums/files/")
        for task in dataset.current_version.tasks.order_by("position").values_list("task_id", flat=True)
    ]
    assert shown == [True, False, False]
