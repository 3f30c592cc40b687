"""Every route of the dashboard and of the project's part of the admin: its addresses, or why it is not a page.

Names are those of ``frontend.urls`` and of the admin. A route that is missing here fails a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.urls import URLPattern, URLResolver, get_resolver, reverse

from frontend.tests.browser.site import Site

Address = Callable[[Site], str]

PAGES: dict[str, dict[str, Address]] = {
    "overview": {"overview": lambda site: "/"},
    "benchmarks": {"benchmarks": lambda site: "/benchmarks/"},
    "datasets": {"datasets": lambda site: "/datasets/"},
    "dataset": {
        "dataset": lambda site: "/datasets/reasoning/",
        "dataset of canvases": lambda site: f"/datasets/{site.canvas_set}/",
        "dataset without a run": lambda site: "/datasets/capitals/?version=1",
        "hostile dataset": lambda site: "/datasets/hostile/",
    },
    "dataset-tasks": {
        "tasks of a dataset": lambda site: "/datasets/reasoning/tasks/",
        "tasks of canvases": lambda site: f"/datasets/{site.canvas_set}/tasks/",
        "tasks searched in vain": lambda site: "/datasets/reasoning/tasks/?text=nowhere",
        "hostile tasks": lambda site: "/datasets/hostile/tasks/",
    },
    "dataset-versions": {
        "versions of a dataset": lambda site: "/datasets/capitals/versions/",
        "versions of the hostile": lambda site: "/datasets/hostile/versions/",
    },
    "dataset-files": {
        "files of a dataset": lambda site: "/datasets/reasoning/files/",
        "files of canvases": lambda site: f"/datasets/{site.canvas_set}/files/",
    },
    "model": {
        "model": lambda site: "/models/scripted/medium/",
        "model of a baseline": lambda site: "/models/baseline/random/",
    },
    "task-analysis": {
        "task analysis": lambda site: "/datasets/reasoning/analysis/",
        "task analysis of canvases": lambda site: f"/datasets/{site.canvas_set}/analysis/?flag=saturated",
        "task analysis of the hostile": lambda site: "/datasets/hostile/analysis/",
        "task analysis without a run": lambda site: "/datasets/capitals/analysis/?version=1",
    },
    "new-dataset": {
        "upload of a dataset": lambda site: "/datasets/new/",
        "import of a table": lambda site: "/datasets/new/table/",
        "import of a public benchmark": lambda site: "/datasets/new/public/",
        "generated dataset": lambda site: "/datasets/new/generated/",
        "first task of a dataset": lambda site: "/datasets/new/empty/",
    },
    "edit-dataset": {
        "dataset as YAML": lambda site: "/datasets/reasoning/edit/yaml/",
        "head of a dataset": lambda site: "/datasets/tool-use-basic/edit/head/",
        "upload of a version": lambda site: "/datasets/reasoning/edit/file/",
    },
    "new-task": {"new task": lambda site: "/datasets/reasoning/tasks/new/"},
    "edit-task": {
        "edited task": lambda site: f"/datasets/tool-use-basic/tasks/{site.tasks['tool-use-basic']}/edit/",
        "hostile edited task": lambda site: f"/datasets/hostile/tasks/{site.tasks['hostile']}/edit/",
    },
    "copy-results": {
        "copy of results": lambda site: "/results/copy/?result=" + site.result_path("hostile").split("/")[-2],
        "copy of nothing": lambda site: "/results/copy/",
    },
    "changes": {"changes": lambda site: "/datasets/capitals/changes/1/2/"},
    "task": {
        "task": lambda site: f"/datasets/basic-coding/tasks/{site.tasks['basic-coding']}/",
        "hostile task": lambda site: f"/datasets/hostile/tasks/{site.tasks['hostile']}/",
    },
    "experiments": {"experiments": lambda site: "/experiments/"},
    "experiment": {
        "experiment": lambda site: f"/experiments/{site.experiment}/",
        "experiment by difficulty": lambda site: (
            f"/experiments/{site.experiment}/?dataset=reasoning&columns=difficulty"
        ),
    },
    "experiment-answers": {
        "experiment answers": lambda site: f"/experiments/{site.experiment}/answers/",
        "experiment answers filtered": lambda site: (
            f"/experiments/{site.experiment}/answers/?show=only&sort=difficulty"
        ),
        "experiment task opened": lambda site: (
            f"/experiments/{site.experiment}/answers/?open={site.tasks['reasoning']}"
        ),
    },
    **{
        f"experiment-{tab}": {f"experiment {tab}": lambda site, tab=tab: f"/experiments/{site.experiment}/{tab}/"}
        for tab in ("failures", "cost", "setup")
    },
    "runs": {
        "runs": lambda site: "/runs/",
        "runs filtered to none": lambda site: "/runs/?model=nobody",
        "runs with filters": lambda site: (
            "/runs/?model=scripted/medium&status=completed&columns=0&columns=finding&columns=cost&columns=when"
        ),
    },
    "single-runs": {"single runs": lambda site: "/runs/single/?sort=-score"},
    "imported-runs": {"imported runs": lambda site: "/runs/imported/"},
    "scheduled-runs": {"scheduled runs": lambda site: "/runs/scheduled/"},
    "rescore": {"rescore": lambda site: f"/runs/{site.runs['canvases small']}/rescore/"},
    "launch": {
        "launch": lambda site: "/runs/new/",
        "launch again": lambda site: f"/runs/new/?like={site.runs['few-shot']}",
        "launch like hostile": lambda site: f"/runs/new/?like={site.runs['hostile']}",
        "launch experiment again": lambda site: f"/runs/new/?experiment={site.experiment}",
        "new schedule": lambda site: "/runs/new/?when=03:00",
        "edit schedule": lambda site: "/runs/new/?schedule=1",
        "launch with a benchmark": lambda site: "/runs/new/?dataset=reasoning",
        "launch with metrics": lambda site: (
            "/runs/new/?dataset=reasoning&model=baseline/random&given-reasoning=numeric&metrics-reasoning=correctness"
        ),
        "launch matrix": lambda site: (
            "/runs/new/?dataset=reasoning&dataset=capitals&model=scripted/large&model=nobody/unlisted"
            "&variant-0-name=plain&variant-1-name=short&variant-1-system_prompt=Be+short."
        ),
    },
    "run": {
        f"run {name}": (lambda site, name=name: f"/runs/{site.runs[name]}/")
        for name in ("judged", "canvases medium", "errors", "failed", "paused", "stuck", "hostile", "second night")
    }
    | {"run filtered": lambda site: f"/runs/{site.runs['errors']}/?outcome=provider_error&sort=-duration&low=2"},
    "surface": {
        "surface": lambda site: f"/runs/{site.runs['canvases medium']}/surface/",
        "surface of a run without one": lambda site: f"/runs/{site.runs['judged']}/surface/",
    },
    "result": {
        "result correct": lambda site: site.result_path("judged", "?outcome=correct"),
        "result wrong": lambda site: site.result_path("reasoning small", "?outcome=wrong"),
        "result error": lambda site: site.result_path("errors", "?outcome=provider_error"),
        "result with tool calls": lambda site: site.result_path("tools"),
        "result of a canvas": lambda site: site.result_path("canvases small", "?outcome=wrong"),
        "hostile result": lambda site: site.result_path("hostile"),
    },
    "steps": {
        "steps": lambda site: site.result_path("tools") + "steps/",
        "steps of a hostile result": lambda site: site.result_path("hostile") + "steps/",
        "steps that do not match": lambda site: site.result_path("judged", "?outcome=correct") + "steps/?text=zzz",
    },
    "try-rubric": {
        "try a rubric": lambda site: site.result_path("judged", "?outcome=correct") + "rubric/",
        "try a rubric of a dataset": lambda site: site.result_path("hostile") + "rubric/",
    },
    "reviews": {"reviews": lambda site: "/reviews/"},
    "new-review": {"new review": lambda site: f"/reviews/new/?runs={site.runs['judged']}"},
    "canvases": {"canvases": lambda site: "/canvases/"},
    "gallery": {
        "gallery": lambda site: f"/canvases/{site.canvas_set}/",
        "gallery filtered to none": lambda site: f"/canvases/{site.canvas_set}/?task=count&answer=99",
    },
    "canvas": {"canvas": lambda site: f"/canvases/{site.canvas_set}/5/"},
    "audit": {"audit": lambda site: f"/canvases/{site.canvas_set}/audit/"},
    "compare": {
        "compare": lambda site: "/compare/",
        "compare two": lambda site: "/compare/?runs={reasoning medium},{reasoning small}".format_map(site.runs),
        "compare four": lambda site: (
            "/compare/?runs={canvases large},{canvases medium},{canvases small},{random}".format_map(site.runs)
        ),
        "compare on two datasets": lambda site: (
            "/compare/?runs={reasoning large},{reasoning medium},{canvases large},{hostile}".format_map(site.runs)
        ),
        "compare hostile": lambda site: "/compare/?runs={hostile},{coding small}".format_map(site.runs),
    },
    "compare-tasks": {
        "compare task by task": lambda site: (
            "/compare/tasks/?runs={canvases large},{canvases medium}&show=disagree".format_map(site.runs)
        ),
        "compare nothing task by task": lambda site: "/compare/tasks/",
    },
    "judges": {"judges": lambda site: "/judges/"},
    "judge-agreement": {
        "judge with labels": lambda site: "/judges/agreement/?judge=scripted/judge&metric=correctness",
    },
    "preferences": {"preferences": lambda site: "/preferences/"},
    "new-preference": {
        "new preference": lambda site: "/preferences/new/?runs={reasoning large},{reasoning medium}".format_map(
            site.runs
        ),
    },
    "preference": {"preference": lambda site: f"/preferences/{site.runs['preference']}/"},
    "preference-pairs": {"pairs of answers": lambda site: f"/preferences/{site.runs['preference']}/pairs/"},
    "calibration": {"calibration": lambda site: f"/judges/{site.runs['calibration']}/"},
    "models": {"models": lambda site: "/models/"},
    "settings": {"settings": lambda site: "/settings/"},
    "schedules": {"schedules": lambda site: "/settings/schedules/"},
    "schedule": {"schedule": lambda site: "/settings/schedules/1/"},
    "tokens": {"API tokens": lambda site: "/settings/tokens/"},
    "new-token": {"new token": lambda site: "/settings/tokens/new/"},
    "webhooks": {"webhooks": lambda site: "/settings/webhooks/"},
    "new-webhook": {"new webhook": lambda site: "/settings/webhooks/new/"},
    "webhook": {"webhook": lambda site: "/settings/webhooks/nowhere/"},
    "share-links": {"share links": lambda site: "/settings/share-links/"},
    "import-runs": {"import runs": lambda site: "/settings/imports/"},
    "members": {"members": lambda site: "/settings/members/"},
    "new-member": {"new member": lambda site: "/settings/members/new/"},
    "member": {"member": lambda site: "/settings/members/1/"},
    "set-password": {"set a password by an invalid link": lambda site: "/password/MQ/none/"},
    "workers": {"workers": lambda site: "/workers/"},
    "leaderboard": {
        "leaderboard": lambda site: "/leaderboard/?dataset=reasoning",
        "leaderboard of canvases": lambda site: f"/leaderboard/?dataset={site.canvas_set}",
        "leaderboard of the hostile": lambda site: "/leaderboard/?dataset=hostile",
    },
    "search": {
        "search": lambda site: "/search/",
        "search for much": lambda site: "/search/?q=reas",
        "search for the hostile": lambda site: "/search/?q=hostile",
    },
    "add-system": {"add system": lambda site: "/systems/add/"},
    "help": {"help": lambda site: "/help/"},
    "document": {"document": lambda site: "/help/how-to/own-dataset/"},
    "overall-leaderboard": {"leaderboard over several datasets": lambda site: "/leaderboard/overall/"},
}
NO_PAGES = {
    "live": "a part of lists",
    "theme": "accepts a form and goes back",
    "providers": "leads to the models",
    "plan": "a part of the launch page",
    "launch-metrics": "a part of the launch page",
    "trial": "a part of the launch page",
    "new-experiment": "leads to the launch page",
    "new-schedule": "leads to the launch page",
    "edit-schedule": "leads to the launch page",
    "size": "a part of the launch page",
    "threshold-chart": "an image",
    "experiment-chart": "an image",
    "experiment-tasks": "leads to the answers",
    "experiment-status": "a part of the experiment page",
    "dataset-action": "accepts a form and goes to the dataset",
    "download-dataset": "a file",
    "delete-task": "accepts a form and goes to the dataset",
    "choose-changes": "goes to the changes between two versions",
    "rescore-all": "accepts a form and goes to the changes",
    "task-action": "accepts a form and goes to the analysis or the dataset",
    "experiment-action": "accepts a form and goes to the experiment",
    "run-status": "a part of the run page",
    "selected-runs": "accepts a form and goes to the list or to what was chosen",
    "run-action": "accepts a form and goes to the run",
    "label-result": "accepts a form and goes to the result",
    "review": "needs a review; see the test of reviews",
    "review-action": "accepts a form and goes to the review",
    "review-import": "accepts a file and goes to the review",
    "review-export": "a file",
    "review-label": "needs an answer that somebody claims; see the test of reviews",
    "edit-run": "accepts a form and goes to the run",
    "run-chart": "an image",
    "dataset-chart": "an image",
    "model-chart": "an image",
    "surface-chart": "an image",
    "compare-chart": "an image",
    "leaderboard-chart": "an image",
    "whole-text": "plain text",
    "step": "plain text",
    "run-export": "a file",
    "runs-export": "a file",
    "matrix-export": "a file",
    "dismiss-score-drop": "accepts a form and goes to the overview",
    "save-view": "accepts a form and goes to the runs",
    "delete-view": "accepts a form and goes to the runs",
    "share": "accepts a form and goes to the page",
    "revoke-link": "accepts a form and goes to the page",
    "shared": "a page in one file",
    "preference-action": "accepts a form and goes to the preference run",
    "new-calibration": "leads to the form of the judges page",
    "judge-agreement-chart": "an image",
    "calibration-action": "accepts a form and goes to the calibration",
    "calibration-progress": "a part of the calibration page",
    "check-providers": "accepts a form and goes to the providers",
    "test-model": "accepts a form and goes to the providers",
    "local-model": "a part of other pages",
    "model-price": "accepts a form and goes to the models",
    "edit-system": "the page that adds a system, filled in",
    "delete-system": "accepts a form and goes to the models",
    "provider-address": "accepts a form and goes to the providers",
    "provider-key": "accepts a form and goes to the providers",
    "revoke-token": "accepts a form and goes to the tokens",
    "test-webhook": "accepts a form and goes to the webhook",
    "renew-webhook": "accepts a form, and shows a secret once",
    "delete-pushed-run": "accepts a form and goes to the imports",
    "delete-webhook": "accepts a form and goes to the webhooks",
    "send-delivery": "accepts a form and goes to the webhook",
    "member-action": "accepts a form and goes to the member, or shows a link once",
    "schedule-action": "accepts a form and goes to the schedule",
    "canvas-preview": "a part of the canvas sets page",
    "new-canvas-set": "leads to the form of the canvas sets page",
    "picture": "an image",
}

# Pages of the admin that need an id or a permission. ``admin_pages`` finds the others itself.
ADMIN_OBJECTS: dict[str, Address] = {
    "benchmarks_dataset_add": lambda site: "benchmarks/dataset/add/",
    "benchmarks_dataset_change": lambda site: f"benchmarks/dataset/{site.datasets['capitals']}/change/",
    "benchmarks_dataset_delete": lambda site: f"benchmarks/dataset/{site.datasets['capitals']}/delete/",
    "benchmarks_dataset_upload": lambda site: f"benchmarks/dataset/{site.datasets['capitals']}/upload/",
    "benchmarks_task_changelist": lambda site: "benchmarks/task/",
    "benchmarks_task_add": lambda site: f"benchmarks/task/add/?dataset={site.datasets['capitals']}",
    "benchmarks_task_change": lambda site: f"benchmarks/task/{site.tasks['tool-use-basic']}/change/",
    "benchmarks_task_delete": lambda site: f"benchmarks/task/{site.tasks['reasoning']}/delete/",
    "benchmarks_task_preview": lambda site: f"benchmarks/task/{site.tasks['reasoning']}/preview/",
    "benchmarks_datasetfile_change": lambda site: f"benchmarks/datasetfile/{site.files['broken.yaml']}/change/",
}
_WITHOUT_ID = ("_changelist", "_upload_new", "_table", "_import")


def admin_pages(site: Site) -> dict[str, str]:
    """Name → path of the index and of every list and form in the project's part of the admin."""
    paths = {name: reverse(f"admin:{name}") for name in sorted(admin_routes()) if name.endswith(_WITHOUT_ID)}
    paths |= {name: f"/admin/{address(site)}" for name, address in ADMIN_OBJECTS.items()}
    return {"index": "/admin/", "app_list": "/admin/benchmarks/", **paths}


def admin_routes() -> set[str]:
    return {name for name in routes("admin") if name.startswith(("benchmarks_", "tasks_app_"))}


def pages() -> list[tuple[str, Address]]:
    """Every page of the dashboard, with a name for its content."""
    return [(name, address) for variants in PAGES.values() for name, address in variants.items()]


def routes(namespace: str) -> set[str]:
    """The names of all routes in a namespace of the site."""
    return set(_names(get_resolver(), "", namespace))


def _names(resolver: URLResolver, inside: str, namespace: str) -> Iterator[str]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _names(entry, entry.namespace or inside, namespace)
        elif isinstance(entry, URLPattern) and inside == namespace and entry.name:
            yield entry.name
