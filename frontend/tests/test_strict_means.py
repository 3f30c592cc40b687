"""Every mean on every page stands beside its n of N, and a model that answers only what it knows is not first."""

from __future__ import annotations

import csv
import random
import re
from html.parser import HTMLParser

import pytest
from django.core.management import call_command
from django.db.models import Count
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Outcome, Result, ResultState, Run, RunStatus
from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.numbers import percent, score
from frontend.tests.calibrations import make_calibration
from tasks_app.models import Canvas
from tests.loopback.replies import Asked, Reply
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.page_factories import make_scored_run
from tests.support.running import Endpoint, worked

DECLINES = "I would rather not commit to this."
PER_MODEL = {"shy": 160, "good": 872, "fair": 607}
"""Model → how many of the 960 questions it answers correctly. The shy one declines the others."""
TIMES = frozenset({"latency_ms", "first_token_ms", "tokens_per_second"})
BLOCKS = frozenset({"tr", "dd", "li", "p", "summary", "caption"})


class Blocks(HTMLParser):
    """The texts of table rows, list items, paragraphs and figures."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[str]] = []
        self.texts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("script", "style"):
            self.silent += 1
        if tag in BLOCKS:
            self.open.append([])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self.silent -= 1
        if tag in BLOCKS and self.open:
            self.texts.append(" ".join(" ".join(self.open.pop()).split()))

    def handle_data(self, data: str) -> None:
        if not self.silent:
            for block in self.open:
                block.append(data)


def blocks(client: Client, url: str) -> list[str]:
    response = client.get(url)
    assert response.status_code == 200, url
    parser = Blocks()
    content = b"".join(response.streaming_content) if response.streaming else response.content
    parser.feed(content.decode())
    return parser.texts


def bare_means(texts: list[str], means: dict[str, str]) -> list[str]:
    """Blocks that show a mean without its n of N. Bounds, of intervals and of what is missing, are no means."""
    without_bounds = [re.sub(r"[−\d.]+ to [−\d.]+|at least [\d.]+|[\d.]+ if the", "", text) for text in texts]
    return [
        text
        for text in without_bounds
        for mean, n_of in means.items()
        if re.search(rf"(?<![\d.]){re.escape(mean)}(?!\d)", text) and n_of not in text
    ]


def partly_covered_run(**fields: object) -> Run:
    """A run on canvases in which calls failed, so that every mean covers a part of its results."""
    dataset = fields.pop("dataset", None) or make_canvas_set("3-8", 20).dataset
    shapes = dataset.current_version.tasks.order_by("position").values_list("n_shapes", flat=True)
    rng = random.Random(7)  # enough different scores that hardly any two means are alike
    # More shapes are harder, so that thresholds are fitted and drawn.
    values = [
        None if place % 7 == 3 else round(rng.uniform(0.7, 1) if n < 6 else rng.uniform(0, 0.3), 2)
        for place, n in enumerate(shapes)
    ]
    return make_scored_run(dataset, values, metrics=["task_score"], **fields)


def means_with_n(run: Run) -> dict[str, str]:
    """Every mean of a run as pages write it → its n of N."""
    numbers = [*run.summary["metrics"].values(), *run.breakdown["surface"]]
    numbers += [level for row in run.summary["thresholds"] if row["status"] == "fitted" for level in row["levels"]]
    for facet in ("difficulty", "group", "n_shapes"):
        numbers += [mean for level in run.breakdown.get(facet, {}).values() for mean in level.values()]
    counted: dict[str, set[str]] = {}
    for each in numbers:
        counted.setdefault(score(each["mean"]), set()).add(f"{each['n']} of {each['n_expected']}")
    assert sum(n.split(" of ")[0] != n.split(" of ")[1] for several in counted.values() for n in several) > 5
    # A mean that occurs with several n, or also as a bound, cannot be attributed, and one with two decimals may be a
    # single score.
    bounds = {score(each[name]) for each in numbers for name in ("low", "high") if each.get(name) is not None}
    return {mean: n.pop() for mean, n in counted.items() if len(n) == 1 and mean not in bounds and mean[-1] != "0"}


@pytest.mark.django_db
def test_no_page_shows_a_mean_without_its_n_of_n(admin_client: Client) -> None:
    run = partly_covered_run(model="a/partial")
    other = partly_covered_run(dataset=run.dataset, model="b/partial")
    slug, result = run.dataset.slug, run.results.first()
    means = means_with_n(run)
    headline = score(run.summary["metrics"]["task_score"]["mean"])
    assert headline in means
    assert len(means) > 5
    assert any(row["status"] == "fitted" for row in run.summary["thresholds"])
    showing = set()
    for url in (
        "/",
        "/runs/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/status/",
        f"/runs/{run.pk}/surface/",
        f"/runs/{run.pk}/results/{result.pk}/",
        f"/runs/{run.pk}/export.html",
        f"/datasets/{slug}/",
        f"/datasets/{slug}/tasks/{result.task_id}/",
        f"/leaderboard/?dataset={slug}",
        f"/compare/?runs={run.pk},{other.pk}",
        "/benchmarks/",
        "/judges/",
        "/canvases/",
        f"/canvases/{slug}/",
        f"/canvases/{slug}/audit/",
    ):
        texts = blocks(admin_client, url)
        assert not bare_means(texts, means), url
        showing |= {url} if any(headline in text for text in texts) else set()
    expected = {
        "/",
        "/benchmarks/",
        "/runs/",
        f"/runs/{run.pk}/",
        f"/datasets/{slug}/",
        f"/leaderboard/?dataset={slug}",
    }
    assert expected <= showing


@pytest.mark.django_db
def test_the_page_of_an_adaptive_run_shows_every_mean_with_its_n_of_n(client: Client) -> None:
    dataset = make_canvas_set("3-8", 20).dataset
    canvases = Canvas.objects.filter(canvas_set=dataset.canvas_set).order_by("n_shapes").values_list("n_shapes")
    asked = {str(n_shapes): n for n_shapes, n in canvases.annotate(n=Count("pk"))}
    rule = {"target_half_width": 0.2, "max_canvases": 20, "adaptive": {"asked": asked}}
    run = partly_covered_run(dataset=dataset, **rule)
    texts = blocks(client, f"/runs/{run.pk}/")
    assert not bare_means(texts, means_with_n(run))
    rows = {f"{row['n_shapes']} {row['asked']} {score(row['mean'])}" for row in run.summary["adaptive"]["strata"]}
    assert len(rows) == 6
    assert all(any(text.startswith(row) for text in texts) for row in rows)


@pytest.mark.django_db
def test_no_page_of_judges_shows_a_share_without_its_n_of_n(client: Client) -> None:
    calibration = make_calibration(without_verdict=17)
    numbers = calibration.summary["agreement"]
    shares = [numbers[name] for name in ("accuracy", "false_accepts", "false_rejects")]
    shares += numbers["by_phrasing"].values()
    assert all(share["n"] < share["n_expected"] for share in shares)
    assert numbers["accuracy"]["n"] + 17 == numbers["accuracy"]["n_expected"] == calibration.total / 2
    counted: dict[str, set[str]] = {}
    for share in shares:
        counted.setdefault(score(share["mean"]), set()).add(f"{share['n']} of {share['n_expected']} (")
    means = {mean: n.pop() for mean, n in counted.items() if len(n) == 1}
    assert len(means) > 5
    accuracy = numbers["accuracy"]["mean"]
    for url, shown in {
        "/judges/": score(accuracy),
        f"/judges/{calibration.pk}/": score(accuracy),
        f"/judges/{calibration.pk}/progress/": f"{percent(accuracy)} of 93 known answers",
    }.items():
        texts = blocks(client, url)
        assert not bare_means(texts, means), url
        assert any(shown in text for text in texts), url


def repeated_run_with_failures(**request: object) -> Run:
    """A run with two repeats of which every fifth call failed."""
    run = canvas_run(make_canvas_set("7-9", 12), "baseline/random", repeats=2, **request)
    while run.is_live:  # an adaptive run goes on with the canvases it has added
        work_on_run_once(run.pk)
        run.refresh_from_db()
    failed = run.results.filter(position__in=range(0, 10 * run.total, 5))
    run.scores.filter(result__in=failed).delete()
    failed.update(state=ResultState.ERROR, outcome=Outcome.PROVIDER_ERROR, value=None)
    run.summary, run.breakdown = summarize(run)
    run.save()
    return run


@pytest.mark.django_db(transaction=True)
def test_pages_show_averages_above_best_guess_and_shares_over_repeats_with_their_n_of_n(client: Client) -> None:
    run = repeated_run_with_failures()
    above_best_guess = run.summary["chance"]["task_score"]
    repeats = run.summary["reliability"]["task_score"]
    rows = {
        "Average of task classes": above_best_guess["average"],
        "All 2 repeats correct (pass^2)": repeats["pass_hat"]["2"],
        "Tasks with differing repeats": repeats["flipped"],
        "Agreement between two repeats": repeats["agreement"],
    }
    rows |= {sentence_case(row["group"]): row["corrected"] for row in above_best_guess["groups"]}
    texts = blocks(client, f"/runs/{run.pk}/")
    for label, numbers in rows.items():
        assert numbers["n"] < numbers["n_expected"], label
        mean, counted = score(numbers["mean"]), f"{numbers['n']} of {numbers['n_expected']} ("
        assert any(text.startswith(label) and mean in text and counted in text for text in texts), label
    n_tasks = run.total // 2
    assert repeats["flipped"]["n_expected"] == n_tasks > repeats["n_repeated"] == repeats["flipped"]["n"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("adaptive", [{}, {"target_half_width": 0.3, "max_canvases": 30, "tasks": ["count"]}])
def test_commands_and_files_give_every_mean_its_n_of_n(
    adaptive: dict[str, object], client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run = repeated_run_with_failures(**adaptive)
    call_command("benchmark", "show", str(run.pk))
    # Two spaces separate columns: percentages in sentences are no means, and heads name the interval and the threshold.
    cell = re.compile(r"  +[−\d.]+(%(?! interval| threshold)| \()")
    lines = [line for line in capsys.readouterr().out.splitlines() if cell.search(line)]
    assert len(lines) >= 10
    assert not [line for line in lines if not re.search(r"\d of [\d,]+", line)]
    content = b"".join(client.get(f"/runs/{run.pk}/export.scores.csv").streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = [row for row in csv.DictReader(content.splitlines()) if row["value"]]
    # Quantiles of times are no means: they count the answers that were timed, no number of which is expected.
    times = [row for row in rows if row["part"] in TIMES]
    means = [row for row in rows if row["part"] not in TIMES]
    assert len(means) >= 20
    assert {row["level"] for row in times} == {"median", "95th percentile"}
    assert all(int(row["n"]) > 0 for row in times)
    assert [row for row in means if int(row["n"]) < int(row["n_expected"])]
    assert not [row for row in means if int(row["n"]) > int(row["n_expected"])]


def test_a_bare_mean_is_noticed() -> None:
    parser = Blocks()
    parser.feed("<table><tr><td>0.861</td><td>720 of 960</td></tr><tr><td>0.861</td></tr></table>")
    assert bare_means(parser.texts, {"0.861": "720 of 960"}) == ["0.861"]


@pytest.mark.django_db
def test_a_paused_run_says_of_how_many_results_its_mean_is(client: Client) -> None:
    dataset = make_dataset(720)
    run = make_scored_run(dataset, [1.0] * 34, status=RunStatus.PAUSED, completed_at=None)
    pending = [
        Result(run=run, task=task, position=task.position, difficulty=task.difficulty, cluster=str(task.pk))
        for task in dataset.current_version.tasks.order_by("position")[34:]
    ]
    Result.objects.bulk_create(pending)
    run.total = 720
    run.summary, run.breakdown = summarize(run)
    run.save()
    assert any("is paused after 34 of 720 results" in text for text in blocks(client, "/"))
    for url in ("/", "/runs/", f"/datasets/{dataset.slug}/"):
        assert any("So far 1.000 after 34 of 720" in text for text in blocks(client, url)), url
    status = " ".join(blocks(client, f"/runs/{run.pk}/status/"))
    assert "Provisional" in status
    assert "not scored: 686 not sent yet" in status


@pytest.mark.django_db(transaction=True)
def test_a_model_that_declines_what_it_does_not_know_is_last(endpoint: Endpoint, client: Client) -> None:
    """The three scripted models of the issue: 872, 607 and 160 of 960 are correct, and ranked in this order."""
    numbers = {f"Question {n}": n for n in range(960)}

    def reply(asked: Asked) -> Reply | str:
        model, number = asked.body["model"], numbers[asked.prompt]
        if number < PER_MODEL[model]:
            return str(number)
        return DECLINES if model == "shy" else str(number + 1)

    endpoint(reply)
    tasks = [make_task(n, id=f"q-{n}", input=text, expected_output=str(n)) for text, n in numbers.items()]
    dataset = make_dataset(tasks, slug="numbers")
    for model, n_correct in PER_MODEL.items():
        run = worked(make_run(dataset, model=f"loop/{model}", metrics=["numeric"], concurrency=64))
        metric = run.summary["metrics"]["numeric"]
        assert (metric["n"], metric["n_expected"], metric["coverage"]) == (960, 960, 1.0)
        assert metric["mean"] == pytest.approx(n_correct / 960)
        if model == "shy":
            assert metric["readable"] == {"mean": 1.0, "n": 160, "share": pytest.approx(160 / 960)}
            assert run.summary["outcomes"] == {Outcome.CORRECT: 160, Outcome.UNPARSABLE: 800}
    for url in ("/leaderboard/?dataset=numbers",):
        pattern = r"(\d) loop/(shy|good|fair) (?:[Rr]un \d+ )?(\d\.\d{3}) "
        ranks = [match.groups() for text in blocks(client, url) if (match := re.search(pattern, text))]
        assert ranks[:3] == [("1", "good", "0.908"), ("2", "fair", "0.632"), ("3", "shy", "0.167")], url
        assert any("n = 960 for each" in text for text in blocks(client, url)), url


@pytest.mark.django_db
def test_a_run_with_too_few_scores_is_listed_without_a_rank_and_an_earlier_one_takes_its_place(client: Client) -> None:
    dataset = make_dataset(40)
    broken = [1.0] * 37 + [None] * 3
    make_scored_run(dataset, [1.0] * 20 + [0.0] * 20, model="a/steady")
    make_scored_run(dataset, broken, model="a/steady", status=RunStatus.COMPLETED_WITH_ERRORS)
    make_scored_run(dataset, broken, model="b/broken", status=RunStatus.COMPLETED_WITH_ERRORS)
    for url in (f"/leaderboard/?dataset={dataset.slug}",):
        texts = blocks(client, url)
        (first,) = (text for text in texts if re.search(r"(?<!Run )\b1 a/steady", text))
        assert "0.500" in first, url
        assert any("– b/broken" in text for text in texts), url
        reason = "Only 37 of 40 results have a score, and a rank requires 95%: 3 provider errors."
        assert any("b/broken" in text and reason in text for text in texts), url


@pytest.mark.django_db
def test_a_verdict_is_one_score_per_task_and_says_to_which_tasks_each_metric_applies(client: Client) -> None:
    run = make_scored_run(values=[1.0, 0.0, 1.0, 1.0, 0.5], metrics=["numeric", "exact_match"])
    assert "Task score (" not in client.get(f"/runs/{run.pk}/").content.decode()
    run.scores.filter(metric="numeric", result__task__position__gt=2).update(status="not_applicable", value=None)
    run.summary, run.breakdown = summarize(run)
    run.save()
    title = "Task score (Numeric, Exact match), strict"
    assert "Task score (Numeric, Exact match)" in client.get("/leaderboard/").content.decode()
    assert "Numeric applies to 2 of 5 results." in client.get("/leaderboard/?metric=numeric").content.decode()
    assert f"{title} 0.700 95% interval" in " ".join(blocks(client, f"/runs/{run.pk}/export.html"))
    shown = " ".join(blocks(client, f"/runs/{run.pk}/"))
    assert title in client.get(f"/runs/{run.pk}/").content.decode()
    assert "5 of 5" in shown
    assert "2 of 5" in shown, "the single metric does not say how many tasks it covers"
