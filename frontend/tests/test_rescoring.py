"""The stored answers of a run are scored again from its page."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.models import Experiment, Run, RunKind
from benchmarks.services.runs.rescoring import start_rescoring
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.page_factories import make_scored_run
from tests.support.running import VERDICT, Endpoint, model_requests, worked

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rescoring_is_estimated_started_and_listed_beside_the_run(client: Client, endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: VERDICT if asked.body["model"] == "judge" else "2")
    source = worked(make_run(make_dataset(3)))
    shown = f"/runs/{source.pk}/"
    assert f'href="{shown}rescore/"' in client.get(shown).content.decode()
    form = client.get(f"{shown}rescore/").content.decode()
    said = " ".join(form.split())
    assert "Scores the 3 stored answers of loop/model again. The model is not asked; only a judge costs." in said
    assert 'type="hidden" name="metrics" value="exact_match"' in form
    assert 'type="checkbox" name="metrics"' not in form, "no wall of metrics"
    assert "Present scores" in form
    assert f">compare</a>; run {source.pk} keeps its scores." in said
    assert 'Exact match <span class="soft">as before</span>' in form
    opened = client.post(f"{shown}rescore/", {"metrics": "exact_match", "given": "exact_match", "do": "metrics"})
    boxes = " ".join(opened.content.decode().split())
    assert 'name="metrics" value="exact_match" id="metric-exact_match" checked' in boxes
    assert "json_schema" not in boxes, "only what applies is listed"
    assert "judged by loop/judge, not checked by people" in boxes
    sent = {"metrics": ["correctness", "contains"], "version": "1", "concurrency": "32"}
    estimated = client.post(f"{shown}rescore/", {**sent, "do": "plan"})
    assert estimated.context["plan"].judge_requests == 3
    assert Run.objects.count() == 1
    started = client.post(f"{shown}rescore/", {**sent, "do": "start"}, follow=True)
    assert "It scores the answers of run" in started.content.decode()
    again = worked(Run.objects.get(rescored_from=source.pk))
    assert model_requests(server) == 3
    for run in (source, again):
        html = client.get(f"/runs/{run.pk}/").content.decode()
        assert "Scorings of these answers" in html
        assert f"?runs={source.pk},{again.pk}" in html
    assert f'answers of <a href="{shown}">run {source.pk}</a>' in client.get(f"/runs/{again.pk}/").content.decode()


def test_a_form_with_mistakes_says_so_at_the_field(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    source = worked(make_run(make_dataset(1)))
    refused = client.post(f"/runs/{source.pk}/rescore/", {"do": "start"})
    assert refused.status_code == 400
    assert refused.context["form"].errors["metrics"]
    assert client.post(f"/runs/{source.pk}/rescore/", {"do": "plan"}).context["plan_errors"]
    Run.objects.filter(pk=source.pk).update(status="running")
    late = client.post(f"/runs/{source.pk}/rescore/", {"do": "start", "metrics": "contains"})
    assert late.status_code == 409
    assert "Rescore it after it completes" in late.content.decode()


def test_the_references_of_a_newer_version_are_offered(client: Client) -> None:
    experiment = Experiment.objects.create(name="Sums", request={"models": []})
    dataset = make_dataset(3)
    run = make_scored_run(dataset, experiment=experiment)
    changes, mark = f"/datasets/{dataset.slug}/changes/1/2/", "A newer version of these expected answers exists"
    pages = f"/runs/{run.pk}/", f"/experiments/{experiment.pk}/", f"/leaderboard/?dataset={dataset.slug}&version=1"
    assert not any(mark in client.get(each).content.decode() for each in pages)
    corrected = [make_task(1, expected_output="3"), make_task(2), make_task(3)]
    make_dataset(corrected, slug=dataset.slug)
    of_run, *others = (" ".join(client.get(each).content.decode().split()) for each in pages)
    assert f"{mark}: version 2 of {dataset.title} changes 1 expected answer of version 1." in of_run
    assert f'href="/runs/{run.pk}/rescore/?version=2"' in of_run
    assert 'type="checkbox" name="metrics"' not in client.get(f"/runs/{run.pk}/rescore/?version=2").content.decode()
    for html in others:
        assert mark in html
        assert f'href="{changes}#moved-title">Rescore' in html
    make_dataset([*corrected, make_task(4)], slug=dataset.slug)
    of_run, of_experiment, _ = (client.get(each).content.decode() for each in pages)
    assert f'href="/runs/new/?like={run.pk}">Run again' in of_run, "a task that it was not asked"
    assert f'href="/runs/new/?experiment={experiment.pk}">Run again' in of_experiment


def test_a_corrected_reference_leads_to_the_runs_it_touches_and_says_what_moved(
    client: Client, endpoint: Endpoint
) -> None:
    endpoint(lambda asked: "3")
    dataset = make_dataset([make_task(1, expected_output="2"), make_task(2, expected_output="3")])
    run = worked(make_run(dataset))
    corrected = make_dataset([make_task(1, expected_output="3"), make_task(2, expected_output="3")], slug=dataset.slug)
    assert corrected.current_version
    task = corrected.current_version.tasks.get(task_id="task-1")
    changes = f"/datasets/{dataset.slug}/changes/1/2/"
    assert f'href="{changes}"' in client.get(f"/datasets/{dataset.slug}/tasks/{task.pk}/").content.decode()
    html = client.get(changes).content.decode()
    assert f'href="/runs/{run.pk}/rescore/?version=2"' in html
    sent = {"metrics": ["exact_match"], "version": "2", "do": "start"}
    planned = client.post(f"/runs/{run.pk}/rescore/", {**sent, "do": "plan"}).content.decode()
    assert "Select other metrics" not in planned, "the other version changes the scores"
    client.post(f"/runs/{run.pk}/rescore/", sent)
    again = worked(Run.objects.get(rescored_from=run.pk))
    of_run = client.get(f"/runs/{run.pk}/").content.decode()
    assert f'href="/runs/{again.pk}/">Scores by version 2</a>' in of_run
    assert f'href="/runs/{run.pk}/rescore/?version=2"' not in of_run
    html = client.get(changes).content.decode()
    assert f'href="/runs/{run.pk}/rescore/?version=2"' not in html
    assert "+50.0" in html


def test_one_button_rescores_every_run_that_a_corrected_reference_touches(client: Client, endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "3")
    dataset = make_dataset([make_task(1, expected_output="2"), make_task(2, expected_output="3")])
    runs = [worked(make_run(dataset)), worked(make_run(dataset))]
    pruned = worked(make_run(dataset))
    Run.objects.filter(pk=pruned.pk).update(texts_pruned_at=pruned.created_at)
    asked = model_requests(server)
    make_dataset([make_task(1, expected_output="3"), make_task(2, expected_output="3")], slug=dataset.slug)
    changes = f"/datasets/{dataset.slug}/changes/1/2/"
    assert f'action="{changes}rescore/"' in client.get(changes).content.decode()
    question = client.post(f"{changes}rescore/").content.decode()
    assert "Rescore 2 runs by the expected answers of version 2?" in question
    assert "4 stored answers. No judge is asked." in question
    assert f"The texts of run {pruned.pk} were pruned" in question
    assert 'value="yes" class="primary">Rescore 2 runs</button>' in question, "nothing is lost"
    assert not Run.objects.filter(rescored_from__isnull=False).exists()
    confirmed = {"confirmed": "yes"}
    assert "2 runs queued." in client.post(f"{changes}rescore/", confirmed, follow=True).content.decode()
    again = Run.objects.filter(rescored_from__in=[run.pk for run in runs])
    assert {(run.rescored_from, run.dataset_version.number) for run in again} == {(run.pk, 2) for run in runs}
    second = client.post(f"{changes}rescore/", confirmed, follow=True).content.decode()
    assert "No run was rescored." in second
    assert again.count() == 2
    for run in again:
        assert worked(run).metrics == runs[0].metrics
    assert client.get(changes).content.decode().count("+50.0") == 2
    assert model_requests(server) == asked


def test_the_button_states_what_the_judges_of_the_runs_will_cost(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: VERDICT if asked.body["model"] == "judge" else "3")
    dataset = make_dataset([make_task(1, expected_output="2"), make_task(2, expected_output="3")])
    worked(make_run(dataset, metrics=["correctness"], judge_model="loop/judge"))
    make_dataset([make_task(1, expected_output="3"), make_task(2, expected_output="3")], slug=dataset.slug)
    question = client.post(f"/datasets/{dataset.slug}/changes/1/2/rescore/").content.decode()
    assert "2 stored answers. 2 judge requests: " in question


def test_a_trial_that_is_rescored_stays_out_of_lists(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    trial = worked(make_run(make_dataset(3), tags=["trial"]))
    Run.objects.filter(pk=trial.pk).update(kind=RunKind.TRIAL)
    trial.refresh_from_db()
    again = start_rescoring(trial, {"metrics": ["contains"]})
    assert (again.kind, again.tags) == (RunKind.TRIAL, ["trial"])
    assert f"/runs/{again.pk}/" not in client.get("/runs/single/").content.decode()
    assert f"/runs/{again.pk}/" in client.get("/runs/?tag=trial").content.decode()
    assert f"/runs/{again.pk}/" in client.get(f"/runs/{trial.pk}/").content.decode()
