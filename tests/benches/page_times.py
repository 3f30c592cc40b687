"""Asking for every page and timing the server."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchmarks.models import Result, Run
from codeforge.garbage import collect_after_requests


def pages() -> dict[str, str]:
    """Name → address of every page that shows runs or results, at their heaviest."""
    huge = Run.objects.order_by("id").first()
    other = Run.objects.filter(dataset=huge.dataset).order_by("-id").first() if huge else None
    assert huge is not None, "the database is filled"
    assert other is not None, "the database is filled"
    on_canvases = Run.objects.filter(representation="coordinates").order_by("-id").first()
    assert on_canvases is not None, "the database is filled"
    middle = Result.objects.filter(run=huge).order_by("position")[huge.total // 2]
    run = f"/runs/{huge.pk}/"
    members = Run.objects.exclude(experiment=None).order_by("pk")
    twelve = ",".join(str(pk) for pk in members.values_list("pk", flat=True))
    experiment = f"/experiments/{members[0].experiment_id}/"
    return {
        # First, because a thread computes it once pages of the dataset are read, and would slow what is measured then.
        "task analysis": "/datasets/many-sums/analysis/",
        "task analysis, searched": "/datasets/many-sums/analysis/?text=number+77&flag=suspect",
        "overview": "/",
        "live parts of pages": "/live/",
        "datasets": "/datasets/",
        "dataset": "/datasets/many-sums/",
        "dataset, searched": "/datasets/many-sums/?text=number+77",
        "task": f"/datasets/many-sums/tasks/{middle.task_id}/",
        "edited task": f"/datasets/many-sums/tasks/{middle.task_id}/edit/",
        "copy of results": f"/results/copy/?result={middle.pk}",
        "runs": "/runs/",
        "runs, sorted by score": "/runs/?sort=-score",
        "run": run,
        "run, far page": f"{run}?after={middle.position}~{middle.pk}",
        "run, one outcome": f"{run}?outcome=provider_error",
        "run, by difficulty": f"{run}?difficulty=hard",
        "run, by score": f"{run}?metric=contains&low=0.5",
        "run, sorted by score": f"{run}?sort=-value",
        "run, sorted by duration": f"{run}?sort=-duration",
        "run, one outcome by duration": f"{run}?outcome=correct&sort=duration",
        "run, searched": f"{run}?text=task-77",
        "run, its status": f"{run}status/",
        "result": f"{run}results/{middle.pk}/",
        "result inside a sort": f"{run}results/{middle.pk}/?sort=-value",
        "compare": f"/compare/?runs={huge.pk},{other.pk}",
        "compare 12 runs": f"/compare/?runs={twelve}",
        "compare task by task": f"/compare/tasks/?runs={twelve}&show=disagree&sort=disagreement",
        "experiments": "/experiments/",
        "experiment": experiment,
        "experiment, its status": f"{experiment}status/",
        "experiment, by difficulty": f"{experiment}?columns=difficulty",
        "experiment, task by task": f"{experiment}tasks/",
        "experiment, far page": f"{experiment}tasks/?show=disagree&sort=difficulty&page=100",
        "experiment, task opened": f"{experiment}tasks/?open={middle.task_id}&diff=1",
        "model": reverse("frontend:model", args=(huge.model,)),
        "search": "/search/?q=sum",
        "leaderboard": "/leaderboard/",
        "leaderboard over several datasets": "/leaderboard/overall/",
        "canvas sets": "/canvases/",
        "gallery": "/canvases/many-canvases/",
        "gallery, wrong answers of a run": f"/canvases/many-canvases/?task=count&run={on_canvases.pk}&outcome=wrong",
        "canvas": "/canvases/many-canvases/1999/",
        "canvas set, audit": "/canvases/many-canvases/audit/",
        "canvas run": f"/runs/{on_canvases.pk}/",
        "difficulty surface": f"/runs/{on_canvases.pk}/surface/",
        "launch": "/runs/new/?dataset=many-sums",
        "judges": "/judges/",
        "models": "/models/",
        "workers": "/workers/",
        "settings": "/settings/",
        "share links": "/settings/share-links/",
        "schedules": "/settings/schedules/",
        "admin: datasets": "/admin/benchmarks/dataset/",
        "admin: runs": "/admin/benchmarks/run/",
        "admin: tasks": "/admin/benchmarks/task/",
        "api: runs": "/api/v1/benchmarks/runs",
        "api: results": f"/api/v1/benchmarks/runs/{huge.pk}/results",
        "api: results, far page": f"/api/v1/benchmarks/runs/{huge.pk}/results?page=5000",
    }


def report(rounds: int) -> None:
    collect_after_requests()  # as the web server does
    client = Client(headers={"host": "localhost"})
    users = get_user_model().objects
    client.force_login(users.filter(username="bench").first() or users.create_superuser("bench", password=None))
    print("| page | min ms | median ms | p95 ms | queries | kB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, address in pages().items():
        response = client.get(address, follow=True)
        while b"are being analyzed" in response.content:
            time.sleep(1)
            response = client.get(address, follow=True)
        if response.status_code != 200:
            print(f"| {name} | {response.status_code} at {address} | | | | |")
            continue
        queries = _queries(client, address)
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            size = len(client.get(address, follow=True).content)
            times.append((time.perf_counter() - began) * 1000)
        p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
        shown = (min(times), statistics.median(times), p95, queries, size / 1000)
        print(f"| {name} | {' | '.join(f'{number:.0f}' for number in shown)} |", flush=True)


def _queries(client: Client, address: str) -> int:
    counted = Counter[str]()

    def count(execute: Any, *arguments: Any) -> Any:
        counted["query"] += 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        client.get(address, follow=True)
    return counted["query"]
