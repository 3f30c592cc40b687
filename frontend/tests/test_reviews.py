"""Labels on the page of a result, and reviews from their list to the last label."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from benchmarks.engine.execution.step_store import write_steps
from benchmarks.models import Dataset, Experiment, Label, ReviewItem, ReviewQueue, Run
from benchmarks.presentation.judges import ENOUGH
from benchmarks.providers.steps import Step
from benchmarks.queries.reviews import conclusion_of
from benchmarks.services.access import assign_group
from benchmarks.services.reviews.queues import create_review
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def address_of(run: Run) -> str:
    return f"/runs/{run.pk}/results/{run.results.order_by('position')[0].pk}/"


def test_a_label_is_saved_shown_corrected_and_withdrawn(client: Client) -> None:
    page = address_of(make_scored_run(metrics=("exact_match", "contains")))
    html = client.get(page).content.decode()
    assert "Your label" in html
    assert '<a href="?label_by=contains#label">Contains</a>' in html
    sent = {"metric": "contains", "value": "0.0", "flags": ["task_unclear"], "reason": "<b>Not Lima</b>"}
    html = client.post(f"{page}label/", sent, follow=True).content.decode()
    assert "Label saved." in html
    assert 'value="0.0" checked' in html
    assert "1 label by people" in html.partition("Question")[0], "it stands beside the verdict"
    assert "&lt;b&gt;Not Lima&lt;/b&gt;" in html
    html = client.post(f"{page}label/", {"metric": "contains", "value": "1.0"}, follow=True).content.decode()
    assert "1 earlier label" in html
    html = client.post(f"{page}label/", {"metric": "contains", "do": "withdraw"}, follow=True).content.decode()
    assert "Label withdrawn." in html
    assert "of people" not in html


def test_labels_that_contradict_the_outcome_say_so(client: Client) -> None:
    run = make_scored_run(make_dataset(2), (1.0, 0.0), metrics=("exact_match",))
    dispute = "Correct by Exact match, wrong by 1 of 1 person", "Wrong by Exact match, right by 1 of 1 person"
    for result, value, said in zip(run.results.order_by("position"), ("0.0", "1.0"), dispute, strict=True):
        page = f"/runs/{run.pk}/results/{result.pk}/"
        html = client.post(f"{page}label/", {"metric": "exact_match", "value": value}, follow=True).content.decode()
        ruling = html.partition("Question")[0]
        assert said in ruling
        assert "<span>Disputed</span>" in ruling
        table = client.get(f"/runs/{run.pk}/?outcome=").content.decode()
        assert table.count("<span>Disputed</span>") == 2, "its row and the legend say it too"
        outcome = "Correct: 1" if value == "0.0" else "Wrong: 1"
        assert f"{outcome}, 1 of them disputed by people" in table, "and so does the bar of outcomes"
        assert table.count('class="fill-partial"') == 1
        assert re.search(r'class="fill-partial" x="[\d.]+" y="10" width="500.00" height="6"', table)
        assert table.count("(people say ") == 1
        steps = client.get(f"{page}steps/").content.decode()
        assert said in steps
        assert "<span>Disputed</span>" in steps
        agreed = {"metric": "exact_match", "value": "1.0" if value == "0.0" else "0.0"}
        html = client.post(f"{page}label/", agreed, follow=True).content.decode()
        assert "1 label by people" in html
        assert "Disputed" not in html
        assert "isputed" not in client.get(f"/runs/{run.pk}/").content.decode()


def test_labels_by_a_rubric_dispute_nothing_as_its_scale_may_be_unknown(client: Client) -> None:
    run = make_scored_run(metrics=("rubric:tone",))
    result = run.results.order_by("position")[0]
    Label.objects.create(result=result, metric="rubric:tone", value=0.0, author_name="local user")
    for page in (f"/runs/{run.pk}/results/{result.pk}/", f"/runs/{run.pk}/"):
        html = client.get(page).content.decode()
        assert "Correct" in html
        assert "Disputed" not in html


def test_a_label_with_mistakes_is_refused_with_a_message(client: Client) -> None:
    page = address_of(make_scored_run())
    html = client.post(f"{page}label/", {"metric": "exact_match"}, follow=True).content.decode()
    assert "Label not saved. Label: Choose a value or a flag, or write a reason." in html
    assert client.post("/runs/1/results/999999/label/", {}).status_code == 404
    assert not Label.objects.exists()


def test_a_value_between_the_steps_is_offered_again(client: Client) -> None:
    run = make_scored_run()
    Label.objects.create(
        result=run.results.order_by("position")[0], metric="exact_match", value=0.8, author_name="local user"
    )
    assert 'value="0.8" checked' in client.get(address_of(run)).content.decode()


def test_viewers_see_labels_and_no_form(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    run = make_scored_run()
    Label.objects.create(
        result=run.results.order_by("position")[0], metric="exact_match", value=1.0, author_name="grace"
    )
    seen = {}
    for role in ("viewer", "reviewer", "editor"):
        account = User.objects.create_user(role)
        assign_group(account, role)
        client = Client()
        client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
        html = client.get(address_of(run)).content.decode()
        seen[role] = ("Save label" in html, "grace" in html, "Reviewer 1" in html)
    assert seen == {
        "viewer": (False, False, True),
        "reviewer": (True, False, True),
        "editor": (True, True, False),
    }


def make_review(run: Run, **request: Any) -> ReviewQueue:
    given = {"name": "Sums", "metric": "exact_match", "runs": [run.pk], "overlap": 0}
    return create_review({**given, **request})


def labeling(client: Client, queue: ReviewQueue, **sent: Any) -> str:
    """The page after pressing a button of the page to label; ``item`` is the one that is shown."""
    address = f"/reviews/{queue.pk}/label/"
    shown = client.get(address)
    item = shown.context["item"].pk if shown.status_code == 200 else 0
    return client.post(address, {"item": item, **sent}, follow=True).content.decode()


def test_a_review_is_created_labeled_and_closed(client: Client) -> None:
    run = make_scored_run(values=[1.0, 0.0, 1.0])
    html = client.get(f"/reviews/new/?runs={run.pk}").content.decode()
    assert f'value="{run.pk}"' in html
    sent = {"name": "Check", "metric": "exact_match", "runs": str(run.pk), "method": "random", "by": "model"}
    sent |= {"size": "3", "overlap": "1", "seed": "0", "blind": "on"}
    html = client.post("/reviews/new/", sent, follow=True).content.decode()
    assert "Review Check created with 3 answers." in html
    queue = ReviewQueue.objects.get()
    assert client.get(f"/reviews/{queue.pk}/label/").status_code == 302
    assert "Answer 1 of 3." in labeling(client, queue, do="start")
    assert "Answer 2 of 3." in labeling(client, queue, do="save", value="1.0")
    assert f'<a class="button primary" href="/reviews/{queue.pk}/label/"' in client.get("/reviews/").content.decode()
    html = labeling(client, queue, do="save", value="0.0", reason="Not 4", flags="task_unclear")
    assert "Not 4" in html
    assert "2 labeled, 1 left" in html
    html = labeling(client, queue, do="undo")
    assert "Answer 2 of 3." in html
    assert 'value="0.0" checked' in html
    assert "Label: Choose a value or a flag, or write a reason." in labeling(client, queue, do="save")
    labeling(client, queue, do="skip")
    html = labeling(client, queue, do="save", value="1.0")
    assert "You have labeled every answer that is left for you." in html
    assert "<small>1 skipped by you</small>" in html
    assert "Review Check closed." in client.post(f"/reviews/{queue.pk}/do/close/", follow=True).content.decode()
    assert f'href="/runs/{run.pk}/"' in client.get(f"/reviews/{queue.pk}/").content.decode()
    assert "2 of 4" in client.get("/reviews/").content.decode()
    client.post(f"/reviews/{queue.pk}/do/delete/", {"confirmed": "yes"})
    assert not ReviewQueue.objects.exists()
    assert client.post("/reviews/new/", {"runs": "x"}).status_code == 400


def test_labels_that_are_missing_say_whether_others_have_to_give_them_or_are_about_to(client: Client) -> None:
    queue = make_review(make_scored_run(values=[1.0] * 4), overlap=4)
    mine, now = "local user", time.time()
    for done, said in (
        ([{mine: "labeled"}] * 4, "4 need a second person"),
        ([{mine: "labeled", "ada": "claimed"}] * 4, "4 claimed by others"),
        ([{mine: "skipped"}] * 4, "4 skipped by you"),
        (
            [
                {mine: "labeled"},
                {mine: "labeled", "ada": "labeled"},
                {mine: "skipped"},
                {"ada": "labeled", "eve": "claimed"},
            ],
            "1 needs a second person, 1 skipped by you, 1 claimed by others",
        ),
        ([{"ada": "labeled", "eve": "labeled"}] * 4, ""),
        ([{mine: "labeled"}] * 3 + [{}], ""),
    ):
        for item, states in zip(queue.items.all(), done, strict=True):
            item.reviewers = {name: [state, now] for name, state in states.items()}
            item.save()
        labels = (
            client.get(f"/reviews/{queue.pk}/").content.decode().partition("<dt>Labels</dt>")[2].partition("</dd>")[0]
        )
        assert " ".join(re.findall("<small>(.*)</small>", labels)) == said


def test_the_form_proposes_no_more_labels_than_the_chosen_runs_have_answers(client: Client) -> None:
    run = make_scored_run(values=[1.0] * 8)
    alone = client.get(f"/reviews/new/?runs={run.pk}").content.decode()
    assert 'name="overlap" value="0"' in alone, "nobody else can label"
    for name in ("grace", "ada"):
        assign_group(User.objects.create_user(name), "reviewer")
    form = " ".join(client.get(f"/reviews/new/?runs={run.pk}&size=40").content.decode().split())
    assert re.search(r'name="size" value="8"', form)
    assert re.search(r'name="overlap" value="8"', form)
    assert "Of 8 answers of the chosen runs" in form
    assert "With 8, its agreement with people is known to ±34.3 points at most." in form
    assert f'href="/runs/new/?like={run.pk}">Run more tasks' in form, "no other run has enough"
    assert "What labels can show" not in form
    assert '<button type="submit" id="create" class="primary">Create review' in form, "it is what the page is for"
    other = make_scored_run(make_dataset(40, slug="more"), values=[1.0] * 40)
    form = client.get(f"/reviews/new/?runs={run.pk}&metric={run.metrics[0]}").content.decode()
    assert re.search(rf'href="[^"]*runs={run.pk},{other.pk}">\s*Add 1 run to reach 40<', form)
    assert '<button type="submit" id="create">Create review' in form, "the runs to add come first"
    more = client.get(f"/reviews/new/?runs={run.pk},{other.pk}").content.decode()
    assert "labels are needed" not in more
    assert '<button type="submit" id="create" class="primary">Create review' in more
    assert "What labels can show" in more


def test_a_closed_review_concludes_with_its_agreement_and_the_answers_in_dispute(client: Client) -> None:
    run = make_scored_run(values=[1.0, 0.0, 1.0])
    sent = {"name": "Check", "metric": "exact_match", "runs": str(run.pk), "method": "random", "by": "model"}
    client.post("/reviews/new/", sent | {"size": "3", "overlap": "0", "seed": "0"})
    queue = ReviewQueue.objects.get()
    first, *others = run.results.order_by("position")
    said = {"queue": queue, "metric": "exact_match", "author_name": "ada"}
    Label.objects.create(result=first, value=1.0, replaced_at=timezone.now(), **said)
    Label.objects.create(result=first, value=0.0, **said)
    for result in others:
        Label.objects.create(result=result, value=result.value, **said)
    assert "Conclusion" not in client.get(f"/reviews/{queue.pk}/").content.decode(), "people may still label"
    ReviewItem.objects.filter(queue=queue).update(reviewers={"ada": ["labeled", 0.0]})
    listed = " ".join(client.get("/reviews/").content.decode().split())
    assert "Nothing is left to label." in listed
    assert f'action="/reviews/{queue.pk}/do/close/"' in listed.partition("<h2>Done</h2>")[2]
    html = " ".join(client.post(f"/reviews/{queue.pk}/do/close/", follow=True).content.decode().split())
    assert "People and Exact match agree on 2 of 3 answers" in html
    assert "You need 40 labeled answers to decide whether to rely on the scores." in html
    assert re.findall(r"/results/(\d+)/", html.partition("Conclusion")[2]) == [str(first.pk)]
    assert "People and scores agree on 2 of 3 answers. A decision needs 40." in client.get("/reviews/").content.decode()


def test_labels_of_tasks_in_one_cluster_are_one_sample_of_the_agreement() -> None:
    tasks = [make_task(number, cluster=f"text-{number % 3}") for number in range(9)]
    run = make_scored_run(make_dataset(tasks), values=[1.0, 0.0, 1.0] * 3)
    queue = make_review(run, metric="exact_match", overlap=0)
    for result in run.results.all():
        Label.objects.create(result=result, value=1.0, queue=queue, metric="exact_match", author_name="ada")
    ReviewQueue.objects.filter(pk=queue.pk).update(closed_at=timezone.now())
    conclusion = conclusion_of(ReviewQueue.objects.get())
    assert conclusion is not None
    assert (conclusion.n, conclusion.agreement.n_clusters) == (9, 3)


def test_a_blind_page_names_neither_model_judge_scores_nor_other_reviewers(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    run = make_scored_run(
        values=[0.875] * 4,
        metrics=("correctness",),
        model="acme/oracle-9",
        judge_model="acme/umpire-3",
        name="Oracle in May",
        answer="Lima",
    )
    queue = make_review(run, metric="correctness", overlap=4)
    clients = {}
    for name in ("grace", "ada"):
        account = User.objects.create_user(name)
        assign_group(account, "editor" if name == "ada" else "reviewer")
        clients[name] = Client()
        clients[name].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    labeling(clients["grace"], queue, do="start")
    labeling(clients["grace"], queue, do="save", value="0.5", reason="Grace was here")
    secrets = (
        "oracle",
        "umpire",
        "0.875",
        "grace",
        "was here",
        f"/runs/{run.pk}",
        f"/results/{run.results.all()[0].pk}",
    )
    html = labeling(clients["ada"], queue, do="start")
    assert "Lima" in html
    assert [secret for secret in secrets if secret in html.lower()] == []
    html = labeling(clients["ada"], queue, do="save", value="1.0")
    assert [secret for secret in secrets if secret in html.lower()] == []
    overview = clients["grace"].get(f"/reviews/{queue.pk}/").content.decode().lower()
    assert [secret for secret in secrets if secret in overview and secret != "grace"] == []
    assert "ada" not in overview.replace("readability", "")
    exported = b"".join(clients["grace"].get(f"/reviews/{queue.pk}/export.jsonl"))  # type: ignore[arg-type]
    assert exported.count(b"\n") == 1


def test_answers_of_an_open_review_say_the_model_if_it_is_not_blind(client: Client) -> None:
    queue = make_review(make_scored_run(model="acme/oracle-9"), blind=False)
    assert "acme/oracle-9" in labeling(client, queue, do="start")


def test_flagged_answers_become_a_dataset_that_names_where_they_come_from(client: Client) -> None:
    run = make_scored_run()
    queue = make_review(run)
    labeling(client, queue, do="start")
    labeling(client, queue, do="save", flags="reference_doubtful")
    html = client.get(f"/reviews/{queue.pk}/").content.decode()
    address = f"/results/copy/?review={queue.pk}&amp;which=flagged"
    assert address in html
    page = client.get(address.replace("&amp;", "&"))
    [result] = page.context["results"]
    client.post("/results/copy/", {"result": result.pk, "dataset": "", "slug": "doubtful", "name": "Doubtful"})
    version = Dataset.objects.get(slug="doubtful").current_version
    assert version is not None
    assert f"run {run.pk}" in version.description
    assert client.get("/results/copy/?review=999&which=flagged").status_code == 404
    assert client.get("/results/copy/?review=1&which=all").status_code == 200


def test_labels_are_imported_on_the_page_of_the_review(client: Client) -> None:
    run = make_scored_run()
    queue = make_review(run)
    rows = f'{{"result": {run.results.all()[0].pk}, "value": 1, "author": "eve"}}\n'
    file = SimpleUploadedFile("labels.jsonl", rows.encode())
    html = client.post(f"/reviews/{queue.pk}/import/", {"file": file}, follow=True).content.decode()
    assert "Labels imported: 1 new, 0 corrected, 0 unchanged." in html
    assert "eve" in html
    refused = client.post(f"/reviews/{queue.pk}/import/", {"file": SimpleUploadedFile("labels.csv", b"a,b\n1,2\n")})
    assert refused.status_code == 400
    assert "The first line must name columns" in refused.content.decode()


def test_the_criteria_of_a_rubric_are_shown_to_who_labels_by_it(client: Client) -> None:
    rubric = {"criteria": ["Done is done.", "Nothing <b>invented</b>."], "hash": "0" * 64}
    run = make_scored_run(metrics=("rubric:honest",), rubrics={"honest": rubric})
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert f"/reviews/new/?runs={run.pk}&amp;metric=rubric%3Ahonest" in html
    form = client.get(f"/reviews/new/?runs={run.pk}&metric=rubric:honest").content.decode()
    assert '<option value="rubric:honest" selected>' in form
    html = labeling(client, make_review(run, metric="rubric:honest"), do="start")
    assert "Nothing &lt;b&gt;invented&lt;/b&gt;." in html


@pytest.mark.parametrize("blind", [True, False])
def test_who_labels_can_open_the_steps_and_blind_sees_no_model_in_them(client: Client, blind: bool) -> None:
    run = make_scored_run(values=[1.0], model="acme/large")
    result = run.results.get()
    did = [
        Step(kind="model_call", name="large-2026-01", text="I look.", tokens_in=4, tokens_out=2, agent="acme-agent"),
        Step(kind="tool_call", name="find_order", arguments={"order_id": 1042}, result="paid " * 200 + "in the end"),
        Step(kind="model_call", name="large-2026-01", error="large-2026-01 is overloaded"),
        Step(kind="score", name="judged by acme/judge", result=0.75),
        *(Step(kind="tool_call", name=f"wait_{number}") for number in range(120)),
    ]
    write_steps([(result.pk, did)])
    queue = make_review(run, blind=blind)
    html = labeling(client, queue, do="start")
    assert "Steps (124)" in html
    assert all(text in html for text in ("I look.", "find_order", "order_id: 1042", "paid paid", "2 · Tool call"))
    assert "in the end" not in html
    address = f"/reviews/{queue.pk}/label/"
    assert 'href="?from=1&amp;step=2#step-2">Whole step' in html
    assert "in the end" in client.get(f"{address}?from=1&step=2").content.decode()
    following = client.get(f"{address}?from=101").content.decode()
    assert "wait_119" in following
    shown = html + following + client.get(f"{address}?step=3").content.decode()
    for secret in ("large-2026-01", "acme-agent", "acme/judge", "acme/large"):
        assert (secret in shown) != blind, secret


@pytest.mark.parametrize("blind", [True, False])
def test_who_chooses_between_two_answers_sees_the_steps_of_both(client: Client, blind: bool) -> None:
    dataset = make_dataset(1)
    runs = [make_scored_run(dataset, (1.0,), model=f"acme/{name}") for name in ("large", "small")]
    for run, tool in zip(runs, ("find_order", "guess"), strict=True):
        result = run.results.select_related("transcript").get()
        result.transcript.actual_output = f"By {tool}."
        result.transcript.save()
        waits = [Step(kind="tool_call", name=f"{tool}_{number}", result=tool * 100) for number in range(110)]
        write_steps([(result.pk, [Step(kind="model_call", name="acme-2026", text=f"I {tool}."), *waits])])
    queue = create_review(
        {"name": "Pairs", "metric": "preference", "runs": [run.pk for run in runs], "size": 1, "blind": blind}
    )
    html = labeling(client, queue, do="start")
    left, right = re.findall(r'<section aria-labelledby="(?:first|second)-title".*?</section>', html, re.DOTALL)
    tools = ("find_order", "guess") if "By find_order." in left else ("guess", "find_order")
    for shown, tool, other, side in ((left, *tools, "left"), (right, *tools[::-1], "right")):
        assert "Steps (111)" in shown
        assert f"I {tool}." in shown
        assert f"{tool}_98" in shown
        assert f"{tool}_99" not in shown
        assert f"{other}_1" not in shown
        assert f'href="?{side}_from=101#{side}_steps"' in shown
        assert shown.count(f'id="{side}_step-2"') == 1
        following = client.get(f"/reviews/{queue.pk}/label/?{side}_from=101").content.decode()
        assert f"{tool}_109" in following
        whole = client.get(f"/reviews/{queue.pk}/label/?{side}_from=1&{side}_step=2").content.decode()
        assert tool * 100 in whole
    for secret in ("acme-2026", "acme/large", "acme/small"):
        assert (secret in html) != blind, secret
    runs[0].delete()
    assert client.get(f"/reviews/{queue.pk}/label/").status_code == 200


def test_who_labels_can_say_which_step_is_the_first_wrong_one(client: Client) -> None:
    run = make_scored_run(values=[0.0, 0.0])
    first, second = run.results.order_by("position")
    write_steps([(first.pk, [Step(kind="tool_call", name="look"), Step(kind="tool_call", name="book")])])
    address = f"/runs/{run.pk}/results/{first.pk}/"
    assert 'name="first_wrong_step"' in client.get(address).content.decode()
    assert 'name="first_wrong_step"' not in client.get(f"/runs/{run.pk}/results/{second.pk}/").content.decode()
    said = {"metric": "exact_match", "value": "0.0", "first_wrong_step": "2"}
    html = client.post(f"{address}label/", said, follow=True).content.decode()
    assert "Step 2 is the first wrong one" in html
    assert 'name="first_wrong_step" min="0" max="2" value="2"' in html
    html = client.post(f"{address}label/", {**said, "first_wrong_step": "9"}, follow=True).content.decode()
    assert "First wrong step: The answer has 2 steps." in html
    html = client.post(f"{address}label/", {**said, "first_wrong_step": "0"}, follow=True).content.decode()
    assert "No step is wrong" in html


def test_runs_experiments_and_comparisons_lead_to_a_review_of_their_answers(client: Client) -> None:
    experiment = Experiment.objects.create(name="Two", request={})
    run = make_scored_run(experiment=experiment)
    other = make_scored_run(run.dataset, (0.0, 1.0, 1.0), experiment=experiment, model="loop/other")
    for page, query, chosen in (
        (f"/runs/{run.pk}/", f"runs={run.pk}", [run.pk]),
        (f"/experiments/{experiment.pk}/", f"experiment={experiment.pk}", [run.pk, other.pk]),
        (f"/compare/?runs={run.pk},{other.pk}", f"runs={run.pk}%2C{other.pk}", [run.pk, other.pk]),
    ):
        assert f"/reviews/new/?{query}&amp;metric=exact_match" in client.get(page).content.decode(), page
        form = client.get(f"/reviews/new/?{query}&metric=exact_match").content.decode()
        assert '<option value="exact_match" selected>' in form
        shown = re.findall(r'<input type="checkbox" name="runs" value="(\d+)"[^>]*( checked)', form)
        assert [int(pk) for pk, _ in shown] == chosen, page
        assert f'<option value="{experiment.pk}">{experiment.pk}: Two</option>' in form
    client.post(f"{address_of(run)}label/", {"metric": "exact_match", "value": "1.0"})
    assert "(1 labeled)" in client.get(f"/runs/{run.pk}/").content.decode()


@pytest.mark.parametrize(("scale", "titles"), [("1 to 5", "12345"), ("pass or fail", ("Fail", "Pass"))])
def test_the_form_has_the_values_of_the_rubrics_scale_on_the_result_and_in_a_review(
    client: Client, scale: str, titles: Sequence[str]
) -> None:
    run = make_scored_run(metrics=("rubric:tone",))
    Run.objects.filter(pk=run.pk).update(rubrics={"tone": {"name": "tone", "criteria": "Kind.", "scale": scale}})
    review = make_review(run, metric="rubric:tone")
    client.post(f"/reviews/{review.pk}/label/", {"do": "start"})
    for page in (address_of(run), f"/reviews/{review.pk}/label/"):
        html = client.get(page).content.decode()
        fields = html[html.index('<fieldset class="marks">') : html.index('<fieldset class="flag-choices">')]
        assert re.findall(r"<span>(\w+)", fields) == list(titles), page
    keys = re.findall(r"<kbd[^>]*>(\w)</kbd>", fields)
    assert keys == [str(number) for number in range(1, len(titles) + 1)]
    client.post(f"{address_of(run)}label/", {"metric": "rubric:tone", "value": "1.0"})
    assert f"<strong>{titles[-1]}</strong>" in client.get(address_of(run)).content.decode()


def test_the_form_says_how_exactly_labels_show_the_agreement(client: Client) -> None:
    html = client.get("/reviews/new/").content.decode()
    assert f"<dt>{ENOUGH} labels</dt><dd>±14.8 points</dd>" in html


def test_the_form_proposes_the_metric_of_the_chosen_runs_and_says_if_none_of_them_has_another(client: Client) -> None:
    run = make_scored_run(metrics=("latency", "contains", "exact_match"))
    other = make_scored_run(run.dataset, metrics=("rubric:tone", "exact_match"), model="loop/other")
    none = "None of the runs was scored by"
    for query, metric in (
        ("", "correctness"),
        (f"runs={run.pk}", "contains"),
        (f"runs={other.pk}", "rubric:tone"),
        (f"runs={run.pk}&runs={other.pk}", "exact_match"),
        (f"runs={run.pk}&metric=unknown", "contains"),
        (f"runs={run.pk}&metric=exact_match", "exact_match"),
        (f"runs={run.pk},{other.pk}&metric=preference", "preference"),
    ):
        html = client.get(f"/reviews/new/?{query}").content.decode()
        assert re.findall(r'<option value="([\w:]+)" selected', html.partition('id="runs-title"')[0]) == [metric], query
        assert none not in html, query
    html = client.get(f"/reviews/new/?runs={run.pk}&metric=correctness").content.decode()
    assert f"{none} Correctness: the review gives labels but no agreement" in html.partition('id="review-plan"')[2]
    assert re.findall(r'<label for="id_(\w+)">[^<]+<span class="needed">', html) == ["name"]


def test_a_closed_review_by_a_metric_that_its_runs_do_not_have_says_so(client: Client) -> None:
    run = make_scored_run(metrics=("exact_match",))
    said = "None of the runs was scored by Correctness: the review gives labels but no agreement with a metric."
    for metric, is_said in (("correctness", True), ("exact_match", False)):
        queue = make_review(run, metric=metric)
        address = f"/reviews/{queue.pk}/"
        assert said not in client.get(address).content.decode(), "it is open"
        html = client.post(f"{address}do/close/", follow=True).content.decode()
        assert (said in html) == is_said, metric
