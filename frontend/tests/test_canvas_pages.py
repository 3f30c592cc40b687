"""Pages of canvases: sets, gallery, one canvas, audit, files and the difficulty surface."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.test import Client

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.models import (
    Task,
)
from benchmarks.services.canvas_sets.control import generate_canvas_set
from frontend.drawing import tokens
from frontend.tests.test_pages import page
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db


def test_canvas_pages_show_pictures_questions_and_answers(client: Client) -> None:
    canvas_set = make_canvas_set()
    rows = page(client, f"/datasets/{canvas_set.dataset.slug}/tasks/")
    assert rows.count("/0.svg?small=1") == 1, "a picture is drawn once for its questions"
    run = make_scored_run(canvas_set.dataset, [1.0] * 30, answer="my own answer", metrics=["task_score"])
    assert "/canvases/canvases-7/0.svg" in page(client, "/canvases/canvases-7/")
    html = page(client, "/canvases/canvases-7/1/")
    assert 'class="canvas-picture"' in html
    assert "my own answer" in html
    assert "Majority guess" in page(client, "/canvases/canvases-7/audit/")
    assert '<svg class="plot rows"' in page(client, f"/runs/{run.pk}/surface/")


@pytest.mark.parametrize(
    ("address", "form", "has"),
    [
        ("/canvases/new/", "/canvases/?new=1#new-title", "Generate set"),
        ("/judges/new/", "/judges/#new-title", "Calibrate a judge"),
    ],
)
def test_the_address_of_something_new_leads_to_its_form(client: Client, address: str, form: str, has: str) -> None:
    make_canvas_set()
    response = client.get(address, follow=True)
    assert response.redirect_chain == [(form, 302)]
    assert 'id="new-title"' in response.content.decode()
    assert has in response.content.decode()


def test_the_picture_of_a_canvas_is_dark_where_the_page_is(client: Client) -> None:
    make_canvas_set()
    paper = tokens("dark")["--surface"]
    for query, dark in (("", True), ("?theme=dark", True), ("?theme=light", False), ("?theme=<b>", False)):
        drawn = client.get(f"/canvases/canvases-7/0.svg{query}").content.decode()
        assert (paper in drawn) == dark, query
        assert ("prefers-color-scheme" in drawn) == (query == ""), query
    assert "scale:" not in drawn
    assert "scale:" in client.get("/canvases/canvases-7/0.svg?theme=light&small=1").content.decode()
    client.cookies["theme"] = "dark"
    assert "/canvases/canvases-7/0.svg?theme=dark" in page(client, "/canvases/canvases-7/")


def test_a_canvas_shows_its_questions_by_the_latest_run_of_each_model_in_one_way_of_asking(client: Client) -> None:
    dataset = make_canvas_set().dataset
    make_scored_run(dataset, [0.0] * 30, model="a/old", metrics=["task_score"])
    older = make_scored_run(dataset, [0.0] * 30, model="b/two", metrics=["task_score"])
    newer = make_scored_run(dataset, [1.0] * 30, model="b/two", metrics=["task_score"], answer="North")
    make_scored_run(dataset, [1.0] * 2, model="c/short", metrics=["task_score"])
    other = make_scored_run(dataset, [1.0] * 30, model="d/few", metrics=["task_score"], few_shot=True)
    html = page(client, "/canvases/canvases-7/0/")
    heads = re.findall(r'href="/models/([^"]+)/"', html)
    assert heads[0] == "b/two"
    assert set(heads) == {"a/old", "b/two", "c/short"}
    assert f"/runs/{newer.pk}/results/" in html
    assert f"/runs/{older.pk}/results/" not in html
    assert "Not asked" in html
    n_questions = html.count('class="asked"')
    for right in (n_questions, 0):
        assert f'{right} of {n_questions}<span class="visually-hidden"> correct</span></a>' in html
    assert f"0 of {n_questions} questions are answered correctly by all 3 models; hardest: " in html
    assert "0.000" in page(client, f"/canvases/canvases-7/?run={older.pk}").partition('aria-label="Verdict"')[2][:200]
    few = page(client, "/canvases/canvases-7/0/?variant=full, few-shot")
    assert f"/runs/{other.pk}/results/" in few
    assert f"/runs/{newer.pk}/results/" not in few


def test_the_files_of_canvases_say_where_they_come_from_and_how_to_export_them(client: Client) -> None:
    canvas_set = generate_canvas_set({"shapes": "3", "count": 2, "seed": 3})
    html = page(client, f"/datasets/{canvas_set.dataset.slug}/files/")
    assert f"seed {canvas_set.seed}" in html
    assert f"python manage.py canvases export {canvas_set.slug} exported</code></pre>" in html
    assert '<code class="soft">canvas_3_0.json</code>' in html
    address = f"/datasets/{canvas_set.dataset.slug}/download.zip"
    assert f'href="{address}"' in html
    packed = client.get(address)
    with ZipFile(BytesIO(b"".join(packed.streaming_content))) as archive:
        assert archive.namelist() == ["canvas_3_0.json", "canvas_3_1.json"]
    assert packed["Content-Disposition"] == f'attachment; filename="{canvas_set.dataset.slug}.zip"'


def test_the_audit_shows_what_is_reached_without_the_canvas(client: Client) -> None:
    canvas_set = generate_canvas_set({"shapes": "8-9", "count": 40, "seed": 3})
    assert "Each rule by number of shapes" not in page(client, f"/canvases/{canvas_set.slug}/audit/")
    audit_set(canvas_set.pk)
    canvas_set.refresh_from_db()
    html = page(client, f"/canvases/{canvas_set.slug}/audit/")
    asked = sum(audit["asked"] for audit in canvas_set.audit["tasks"].values())
    assert f"A second solver confirms all {asked} expected answers." in html
    for name, audit in canvas_set.audit["tasks"].items():
        row = html.partition(f"task={name}&quot;")[2] or html.partition(f'task={name}"')[2]
        best = max(audit["blind_score"], audit["examples_score"])
        said = f"{best:.3f}" if best > audit["majority_score"] else "None beats the most frequent answer"
        row = row.partition("</tr>")[0]
        assert said in row, name
        assert f"{audit['asked']} questions" in row, name
        assert f"{audit['distinct_answers']} distinct answers" in row, name
    table = html.partition("<summary>Each rule by number of shapes</summary>")[2].partition("</table>")[0]
    assert re.findall(r"<th scope=\"col\" class=\"num\">([^<]*)</th>", table) == [
        "Questions",
        "Majority guess",
        "Rule, all",
        "8 shapes",
        "9 shapes",
    ]
    for name, audit in canvas_set.audit["tasks"].items():
        row = table.partition(f">{name.replace('_', ' ').capitalize()}</th>")[2].partition("</tr>")[0]
        scores = [audit[f"{kind}_score"] for kind in ("majority", "blind", "examples")]
        scores += [*(score for _, score, _ in audit["blind_by_shapes"])]
        assert re.findall(r"\d\.\d{3}", row) == [f"{score:.3f}" for score in scores], name


def test_the_gallery_filters_by_the_outcome_of_a_run(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    tasks = canvas_set.dataset.current_version.task_count
    run = make_scored_run(canvas_set.dataset, [0.0] + [1.0] * (tasks - 1), metrics=["task_score"])
    html = page(client, f"/canvases/canvases-7/?run={run.pk}&outcome=wrong")
    assert "/canvases/canvases-7/0.svg" in html
    assert "/canvases/canvases-7/1.svg" not in html


def test_canvases_show_the_whole_plain_runs_of_a_model_and_not_its_newest_trials(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    tasks, asked = canvas_set.dataset.current_version.task_count, {"metrics": ["task_score"]}
    whole = make_scored_run(canvas_set.dataset, [1.0] * tasks, model="a/x", **asked)
    make_scored_run(canvas_set.dataset, [1.0] * tasks, model="a/y", **asked)
    variant = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", variant="shouting", **asked)
    part = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", limit=2, **asked)
    canvas = page(client, "/canvases/canvases-7/0/")
    assert f"/runs/{whole.pk}/" in canvas
    assert not {f"/runs/{run.pk}/" for run in (variant, part) if f"/runs/{run.pk}/" in canvas}
    alone = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", representation="coordinates", **asked)
    gallery = page(client, "/canvases/canvases-7/")
    assert f"run={alone.pk}" not in gallery.partition("</section>")[0]
    assert "scores 1.000 on this set" in gallery
    none = page(client, "/canvases/canvases-7/?n_shapes=3&answer=nowhere")
    assert "scores 1.000 on this set" not in none, "of an empty result, one wants the filters"
    assert "No canvases match “Expected: nowhere”." in none
    assert 'href="?n_shapes=3">Remove “Expected: nowhere”' in none
    assert "Remove “3 shapes”" not in none, "without it, there are none either"


def test_a_gallery_begins_with_the_canvases_that_a_run_got_least_right(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4, 5))
    canvas = {task.pk: task.question.canvas.index for task in Task.objects.select_related("question__canvas")}
    tasks = list(canvas_set.dataset.current_version.tasks.order_by("position").values_list("pk", flat=True))
    values = [1.0 if canvas[task] == 0 else 0.0 for task in tasks if canvas[task] != 2]
    run = make_scored_run(canvas_set.dataset, values, metrics=["task_score"])
    html = page(client, f"/canvases/canvases-7/?run={run.pk}")
    assert re.findall(r"canvases-7/(\d)\.svg", html) == ["1", "0", "2"], "the one not asked about comes last"
    n = sum(canvas[task] == 0 for task in tasks)
    assert f'aria-label="{n} of {n} correct"' in html
    in_order = page(client, f"/canvases/canvases-7/?run={run.pk}&sort=index")
    assert re.findall(r"canvases-7/(\d)\.svg", in_order) == ["0", "1", "2"]
    assert ' correct"' not in page(client, "/canvases/canvases-7/?run=none"), "no run is chosen"


def test_the_hardest_canvas_has_the_smallest_share_of_correct_answers(client: Client) -> None:
    canvas_set = make_canvas_set((3, 8))
    canvas = {task.pk: task.question.canvas.index for task in Task.objects.select_related("question__canvas")}
    tasks = list(canvas_set.dataset.current_version.tasks.order_by("position").values_list("pk", flat=True))
    fewer, more = (sum(canvas[task] == index for task in tasks) for index in (0, 1))
    assert fewer < more
    wrong = [task for task in tasks if canvas[task] == 1][fewer:]
    run = make_scored_run(canvas_set.dataset, [float(task not in wrong) for task in tasks], metrics=["task_score"])
    html = page(client, f"/canvases/canvases-7/?run={run.pk}")
    assert re.findall(r"canvases-7/(\d)\.svg", html) == ["1", "0"], "both have as many correct answers"


def test_a_run_without_a_surface_leads_to_those_that_have_one(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    drawn = make_scored_run(canvas_set.dataset, [1.0] * 30, metrics=["task_score"])
    other = make_scored_run(canvas_set.dataset, [1.0] * 30, metrics=["task_score"], model="a/other")
    html = page(client, f"/runs/{make_scored_run().pk}/surface/")
    listed = re.findall(r'href="/runs/(\d+)/surface/"', html)
    assert listed == [str(other.pk), str(drawn.pk)], "newest first"
    assert f"&amp;dataset={canvas_set.dataset.slug}" in html


@pytest.mark.parametrize(
    ("few", "many", "said"),
    [
        (1.0, 0.0, "The score falls from 1.000 with 3 shapes (n = {few}) to 0.000 with 4 shapes (n = {many})."),
        (0.0, 1.0, "The score rises from 0.000 with 3 shapes (n = {few}) to 1.000 with 4 shapes (n = {many})."),
        (
            1.0,
            1.0,
            "The score is 1.000 with 3 shapes (n = {few}) and 1.000 with 4 shapes (n = {many}): no significant change.",
        ),
    ],
)
def test_the_surface_says_how_the_score_changes_with_the_shapes(
    client: Client, few: float, many: float, said: str
) -> None:
    dataset = make_canvas_set((3,) * 12 + (4,) * 12).dataset
    shapes = [task.n_shapes for task in dataset.current_version.tasks.order_by("position")]
    run = make_scored_run(dataset, [few if n == 3 else many for n in shapes], metrics=["task_score"])
    counts = {name: f"{shapes.count(n)} of {shapes.count(n)}" for name, n in (("few", 3), ("many", 4))}
    assert said.format(**counts) in page(client, f"/runs/{run.pk}/surface/").partition('aria-label="Verdict"')[2]


def test_the_change_with_the_shapes_is_over_the_classes_that_are_asked_at_both_ends(client: Client) -> None:
    dataset = make_canvas_set((3,) * 12 + (8,) * 12).dataset
    tasks = list(dataset.current_version.tasks.order_by("position"))
    at_few, at_many = ({task.group for task in tasks if task.n_shapes == n} for n in (3, 8))
    assert at_many - at_few == {"transitivity"}, "which needs more shapes"
    run = make_scored_run(dataset, [float(task.group != "transitivity") for task in tasks], metrics=["task_score"])
    few, many = (sum(task.n_shapes == n and task.group in at_few for task in tasks) for n in (3, 8))
    said = page(client, f"/runs/{run.pk}/surface/").partition('aria-label="Verdict"')[2].partition("</section>")[0]
    assert (
        f"The score is 1.000 with 3 shapes (n = {few} of {few}) and 1.000 with 8 shapes (n = {many} of {many}): "
        "no significant change."
    ) in said
    assert "Without Transitivity, not asked at both ends." in said
    assert "score falls" not in page(client, f"/canvases/{dataset.slug}/?run={run.pk}")
    fallen = make_scored_run(dataset, [float(task.n_shapes == 3) for task in tasks], metrics=["task_score"])
    assert f"falls from 1.000 with 3 shapes (n = {few} of {few}) to 0.000" in page(
        client, f"/runs/{fallen.pk}/surface/"
    )
    gallery = page(client, f"/canvases/{dataset.slug}/?run={fallen.pk}")
    assert "Without transitivity, the score falls from 1.000 with 3 to 0.000 with 8 shapes." in gallery
    assert '<h2>By number of shapes <span class="soft">with transitivity</span></h2>' in gallery, "all classes there"
