"""What a model or a dataset says is shown as text, whatever it is, and never makes a page heavy."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import OF_MODELS, Experiment, PushedRun, ReviewQueue, Run, RunKind, Schedule, Transcript
from benchmarks.services.preferences import start_preference
from benchmarks.services.reviews.queues import create_review, save_and_next, start_labeling
from benchmarks.services.runs.exports import CONTENT_TYPES
from frontend.tests.browser.addresses import routes
from frontend.tests.calibrations import make_calibration
from frontend.tests.test_pages import HEAVIEST, page
from tasks_app.models import CanvasSet
from tests.support.factories import make_dataset, make_task
from tests.support.labeled_runs import label_answers, make_judged_run, make_review
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
    "</script></textarea></title>\u202egnp.exe\u202c\x1b[31mred\x1b[0m {{ 7|add:7 }} {% now 'Y' %} \"' onload=1"
)


NOT_READ = {
    "theme": "takes a form",
    "live": "shows no text",
    "new-experiment": "goes to another page",
    "launch-metrics": "takes a form",
    "trial": "shows what results show, escaped in the same way",
    "experiment-action": "takes a form",
    "experiment-tasks": "goes to another page",
    "experiment-chart": "needs two ranked runs; it names them as the chart of the leaderboard does",
    "task-action": "takes a form",
    "providers": "leads to the models",
    "check-providers": "takes a form",
    "test-model": "takes a form",
    "local-model": "takes a form",
    "provider-address": "takes a form",
    "provider-key": "takes a form",
    "model-price": "takes a form",
    "add-system": "takes a form",
    "edit-system": "see the tests of systems",
    "delete-system": "takes a form",
    "selected-runs": "takes a form",
    "plan": "takes a form",
    "size": "takes a form",
    "run-action": "takes a form",
    "label-result": "takes a form",
    "review-action": "takes a form",
    "review-import": "takes a file",
    "review-export": "see the tests of reviews",
    "edit-run": "takes a form",
    "save-view": "takes a form",
    "delete-view": "takes a form",
    "share": "takes a form",
    "revoke-link": "takes a form",
    "new-calibration": "takes a form",
    "preference-action": "takes a form",
    "canvas-preview": "shows a form's own values",
    "new-canvas-set": "takes a form",
    "judge-agreement-chart": "has numbers only",
    "calibration-action": "takes a form",
    "dismiss-score-drop": "takes a form",
    "dataset-action": "takes a form",
    "delete-task": "takes a form",
    "download-dataset": "a file of YAML or JSON lines",
    "choose-changes": "goes to another page",
    "rescore-all": "takes a form",
    "new-schedule": "goes to another page",
    "edit-schedule": "goes to another page",
    "schedule-action": "takes a form",
    "new-token": "takes a form",
    "revoke-token": "takes a form",
    "new-webhook": "takes a form",
    "renew-webhook": "takes a form",
    "delete-webhook": "takes a form",
    "test-webhook": "takes a form",
    "send-delivery": "takes a form",
    "webhook": "shows names of few characters and ids of ours",
    "new-member": "takes a form",
    "member": "shows a name that Django's rules limit",
    "member-action": "takes a form",
    "set-password": "takes a form",
    "import-runs": "takes a form",
    "delete-pushed-run": "takes a form",
    "run-export": "see the exports",
    "runs-export": "see the exports",
    "matrix-export": "see the exports",
    "shared": "see the share links",
}
EXPORTS = ("csv", "jsonl", "html", "scores.csv")


def addresses_of(run: Run) -> dict[str, list[str]]:
    """Route → addresses at which something of the run, its dataset or its canvas set is shown."""
    result = run.results.order_by("pk").first()
    other = Run.objects.filter(OF_MODELS).exclude(model=run.model).get()
    before = Run.objects.filter(model=run.model, dataset=run.dataset).exclude(pk=run.pk).latest("pk")
    preference = Run.objects.get(kind=RunKind.PREFERENCE).pk
    assert result is not None
    shown, slug, task = f"/runs/{run.pk}/", run.dataset.slug, result.task_id
    canvases = f"/canvases/{CanvasSet.objects.get().slug}/"
    experiment = f"/experiments/{run.experiment_id}/"
    return {
        "overview": ["/"],
        "experiments": ["/experiments/"],
        "experiment": [experiment],
        "experiment-status": [f"{experiment}status/"],
        "experiment-answers": [
            f"{experiment}answers/?open={task}",
            f"{experiment}answers/?open={task}&diff=0&show=%3Cscript%3E&sort=%1B&outcome=wrong&reason=%3Cscript%3E",
        ],
        **{f"experiment-{tab}": [f"{experiment}{tab}/"] for tab in ("failures", "cost", "setup")},
        "models": ["/models/"],
        "runs": ["/runs/", "/runs/?model=%3Cscript%3E&sort=%1B&tag=%1B&name=%3Cscript%3E"],
        **{f"{kind}-runs": [f"/runs/{kind}/?text=%3Cscript%3E"] for kind in ("single", "imported", "scheduled")},
        "datasets": ["/datasets/"],
        "dataset": [f"/datasets/{slug}/"],
        "dataset-tasks": [f"/datasets/{slug}/tasks/", f"/datasets/{slug}/tasks/?text=%3Cscript%3E"],
        "dataset-versions": [f"/datasets/{slug}/versions/"],
        "dataset-files": [f"/datasets/{slug}/files/"],
        "dataset-chart": [f"/datasets/{slug}/charts/history-1.svg"],
        "model": [reverse("frontend:model", args=(run.model,))],
        "model-chart": [reverse("frontend:model-chart", args=(run.model, "history-1", "svg"))],
        "task-analysis": [f"/datasets/{slug}/analysis/", f"/datasets/{slug}/analysis/?flag=%3Cscript%3E&text=%1B"],
        "changes": [f"/datasets/{slug}/changes/1/2/"],
        "task": [f"/datasets/{slug}/tasks/{task}/"],
        "launch": [
            *(f"/runs/new/?like={run.pk}", f"/runs/new/?experiment={run.experiment_id}", "/runs/new/?model=%1B"),
            *(f"/runs/new/?schedule={Schedule.objects.get().pk}", "/runs/new/?schedule=%1B&when=%3Cscript%3E"),
        ],
        "rescore": [f"{shown}rescore/?version=%3Cscript%3E"],
        "run": [shown, f"{shown}?text=%3Cscript%3E&outcome=%3Cscript%3E"],
        "run-status": [f"{shown}status/"],
        "run-chart": [f"{shown}charts/spread-exact_match.svg"],
        "threshold-chart": [f"{shown}thresholds/threshold-shapes.svg"],
        "surface": [f"{shown}surface/"],
        "surface-chart": [f"{shown}surface/exact_match/surface.svg"],
        "result": [f"{shown}results/{result.pk}/"],
        "steps": [f"{shown}results/{result.pk}/steps/?text=%3Cscript%3E"],
        "step": [f"{shown}results/{result.pk}/steps/1.txt"],
        "try-rubric": [f"{shown}results/{result.pk}/rubric/?rubric=%3Cscript%3E"],
        "whole-text": [f"{shown}results/{result.pk}/actual.txt"],
        "compare": [f"/compare/?runs={run.pk},{other.pk}", "/compare/"],
        "compare-tasks": [f"/compare/tasks/?runs={run.pk},{other.pk}&open={task}", "/compare/tasks/?runs=%3Cscript%3E"],
        "compare-chart": [f"/compare/deltas.svg?runs={run.pk},{other.pk},{before.pk}"],
        "leaderboard": [f"/leaderboard/?dataset={slug}"],
        "overall-leaderboard": ["/leaderboard/overall/", "/leaderboard/overall/?dataset=%3Cscript%3E&dataset=%1B"],
        "leaderboard-chart": [f"/leaderboard/ranking.svg?dataset={slug}"],
        "canvases": ["/canvases/"],
        "gallery": [canvases],
        "canvas": [f"{canvases}0/"],
        "picture": [f"{canvases}0.svg"],
        "audit": [f"{canvases}audit/"],
        "new-dataset": [f"/datasets/new/{way}" for way in ("", "table/", "public/", "generated/", "empty/")],
        "edit-dataset": [f"/datasets/{slug}/edit/yaml/"],
        "new-task": [f"/datasets/{slug}/tasks/new/"],
        "edit-task": [f"/datasets/{slug}/tasks/{task}/edit/"],
        "copy-results": [f"/results/copy/?result={result.pk}"],
        "benchmarks": ["/benchmarks/"],
        "search": ["/search/?q=%3Cscript%3E", f"/search/?q={quote(HOSTILE[:20])}"],
        "help": ["/help/"],
        "document": ["/help/statistics/"],
        "settings": ["/settings/"],
        "schedules": ["/settings/schedules/"],
        "schedule": [f"/settings/schedules/{Schedule.objects.get().pk}/"],
        "tokens": ["/settings/tokens/"],
        "webhooks": ["/settings/webhooks/"],
        "share-links": ["/settings/share-links/"],
        "members": ["/settings/members/"],
        "workers": ["/workers/"],
        "reviews": ["/reviews/"],
        "new-review": [f"/reviews/new/?runs={run.pk}&metric=%3Cscript%3E"],
        "review": [f"/reviews/{queue.pk}/" for queue in ReviewQueue.objects.all()],
        "review-label": [f"/reviews/{ReviewQueue.objects.latest('pk').pk}/label/"],
        "judges": ["/judges/"],
        "preferences": ["/preferences/"],
        "new-preference": [f"/preferences/new/?runs={run.pk},{other.pk}"],
        "preference": [f"/preferences/{preference}/"],
        "preference-pairs": [f"/preferences/{preference}/pairs/"],
        "calibration": [f"/judges/{Run.objects.get(kind=RunKind.CALIBRATION).pk}/"],
        "judge-agreement": [f"/judges/agreement/?{urlencode({'judge': HOSTILE[:150], 'metric': 'correctness'})}"],
        "calibration-progress": [f"/judges/{Run.objects.get(kind=RunKind.CALIBRATION).pk}/progress/"],
    }


def without_fields(html: str) -> str:
    """The page but for what its form fields hold, which goes back as it came."""
    return re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", html, flags=re.DOTALL)


def make_hostile_run(text: str) -> Run:
    task = make_task(1, name=text[:200], input=text, expected_output=text, context=(text,))
    make_dataset([task, make_task(2)], name=text[:150], description=text)
    dataset = make_dataset([task, make_task(2, input=text)], name=text[:150], description=text)
    return make_scored_run(
        dataset,
        (0.5, None),
        answer=text,
        model=text[:150],
        judge_model=text[:150],
        error_message=text,
        parameters={"system_prompt": text, "stop": text},
        name=text[:200],
        tags=[text[:40]],
        notes=text[:20_000],
    )


def _make_hostile_review(run: Run) -> None:
    """A review with an answer that is labeled, and one that is to be labeled now."""
    runs = list(run.dataset.runs.values_list("pk", flat=True))
    given = {"name": HOSTILE[:200], "description": HOSTILE, "metric": run.metrics[0], "runs": runs}
    queue = create_review({**given, "blind": False})
    item = start_labeling(queue)
    assert item is not None
    save_and_next(queue, item.pk, {"value": 1, "reason": HOSTILE})
    start_labeling(queue)


@pytest.fixture
def hostile_site(monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run in which every text is hostile, another beside it, and a canvas set and a judge of such names."""
    canvas_set = make_canvas_set()
    CanvasSet.objects.update(name=HOSTILE[:150])
    make_calibration(canvas_set, judge_model=HOSTILE[:150], error_message=HOSTILE)
    judged, truth = make_judged_run(25, make_dataset(25, "judged"), model=HOSTILE[:150], judge_model=HOSTILE[:150])
    label_answers(judged, truth, make_review(judged, name=HOSTILE[:150]), 25, HOSTILE[:100])
    run = make_hostile_run(HOSTILE)
    alike = {name: getattr(run, name) for name in ("model", "judge_model", "parameters")}
    for days in (1, 2):
        before = make_scored_run(run.dataset, (1.0, 0.0), answer=HOSTILE, **alike)
        Run.objects.filter(pk=before.pk).update(created_at=timezone.now() - timedelta(days=days))
    other = make_scored_run(run.dataset, (1.0, 0.0), answer=HOSTILE, model=HOSTILE[:140])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-no-request")
    start_preference({"runs": [run.pk, other.pk], "judge_model": "openai/gpt-4o", "criteria": HOSTILE[:4_000]})
    request = {
        "name": HOSTILE[:150],
        "datasets": [run.dataset.slug],
        "models": [run.model, other.model],
        "variants": [{"name": HOSTILE[:60], "system_prompt": HOSTILE}],
        "metrics": list(run.metrics),
    }
    run.experiment = Experiment.objects.create(name=HOSTILE[:150], description=HOSTILE, tags=[HOSTILE], request=request)
    Schedule.objects.create(name=HOSTILE[:100], when="03:00", request={"dataset": run.dataset.slug, "model": run.model})
    _make_hostile_review(run)
    PushedRun.objects.create(model=HOSTILE[:150], dataset=HOSTILE[:150], request={})
    run.variant = HOSTILE[:60]
    Run.objects.filter(pk=other.pk).update(experiment=run.experiment, variant=run.variant)
    level = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 5, "n_shapes": 3, "group": HOSTILE, "metric": "exact_match"}
    curve = {"measure": "n_shapes", "group": HOSTILE, "guess": 0.0, "status": "fitted", "threshold": 4.0, "low": 3.0}
    curve |= {"high": 5.0, "slope": 1.0, "lapse": 0.0, "n": 9, "note": HOSTILE}
    curve["levels"] = [{"difficulty": n, "mean": 0.5, "n": 3} for n in (3, 4, 5)]
    run.breakdown["surface"] = [level, level | {"n_shapes": 4}]
    run.summary["thresholds"] = [curve]
    run.save()
    return run


def test_every_route_that_shows_something_is_tried(hostile_site: Run) -> None:
    assert set(addresses_of(hostile_site)) | set(NOT_READ) == routes("frontend")


def test_hostile_text_is_inert_on_every_page_and_in_every_picture(client: Client, hostile_site: Run) -> None:
    for addresses in addresses_of(hostile_site).values():
        for url in addresses:
            response = client.get(url)
            assert response.status_code == 200, url
            if response.headers["Content-Type"].startswith("text/plain"):
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                continue
            html = response.content.decode()
            assert "<script>alert" not in html, url
            assert "<img src=x" not in html, url
            assert "<a href='javascript:" not in html, url
            assert not re.search("[\u202e\x1b]", without_fields(html)), url
            assert len(response.content) < HEAVIEST, url


def test_hostile_text_is_inert_in_every_export(client: Client, hostile_site: Run) -> None:
    assert set(EXPORTS) <= set(CONTENT_TYPES)
    for form in CONTENT_TYPES:
        response = client.get(f"/runs/{hostile_site.pk}/export.{form}")
        content = b"".join(response.streaming_content)
        assert response.headers["Content-Disposition"].startswith("attachment;"), form
        assert response.headers["X-Content-Type-Options"] == "nosniff", form
        assert "script-src" not in response.headers["Content-Security-Policy"], form
        if form == "html":
            assert b"<script" not in content
            assert b"<img src=x" not in content
        if form.endswith("csv"):
            cells = [cell for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t")) or cell.startswith("-<")]


def test_five_megabytes_in_one_line_are_folded(client: Client) -> None:
    run = make_hostile_run("long " * 40 + "x" * 5_000_000)
    result = run.results.first()
    assert result is not None
    html = page(client, f"/runs/{run.pk}/results/{result.pk}/")
    assert "more characters." in html
    for url in (f"/runs/{run.pk}/", f"/datasets/{run.dataset.slug}/tasks/{result.task_id}/", "/runs/", "/"):
        page(client, url)


def test_the_whole_text_is_plain_text_to_every_browser(client: Client) -> None:
    run = make_hostile_run(HOSTILE)
    result = run.results.first()
    assert result is not None
    response = client.get(f"/runs/{run.pk}/results/{result.pk}/actual.txt")
    assert response.content.decode() == HOSTILE
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_long_reason_is_cut_on_its_page_and_whole_as_plain_text(client: Client) -> None:
    run = make_scored_run(metrics=["exact_match", "contains"], answer="because " * 1_000)
    result = run.results.earliest("position")
    html = page(client, f"/runs/{run.pk}/results/{result.pk}/")
    address = f"/runs/{run.pk}/results/{result.pk}/scores.txt"
    assert html.count(f'7,000 more characters.\n    <a href="{address}">') == len(run.metrics)
    whole = client.get(address).content.decode()
    assert whole.startswith("Exact match: 1.000\nbecause because")
    assert whole.count("because ") == 1_000 * len(run.metrics)


def test_messages_that_are_the_question_alone_are_not_shown_twice(client: Client) -> None:
    run = make_scored_run()
    result = run.results.earliest("position")
    address = f"/runs/{run.pk}/results/{result.pk}/"
    said = "The question above, with nothing before or after it"
    assert said not in page(client, address)
    Transcript.objects.filter(result=result).update(messages=[{"role": "user", "content": result.task.input}])
    assert said in page(client, address)


def test_a_hostile_name_stays_text_in_a_drawn_chart(client: Client) -> None:
    run = make_scored_run(model="<script>alert(1)</script>")
    response = client.get(f"/leaderboard/ranking.svg?dataset={run.dataset.slug}")
    assert response.status_code == 200
    assert b"<script" not in response.content
    assert "script-src" not in response.headers["Content-Security-Policy"]
