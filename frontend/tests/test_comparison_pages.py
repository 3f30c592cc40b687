"""Pages that compare runs, and the leaderboard."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.models import (
    Run,
)
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_runs_that_share_no_task_are_compared_without_numbers(client: Client) -> None:
    tasks = [replace(make_task(), input="Another?")]
    first, other = make_scored_run(make_dataset(1), (1.0,)), make_scored_run(make_dataset(tasks, slug="other"), (1.0,))
    html = page(client, f"/compare/?runs={first.pk},{other.pk}")
    assert "cannot be compared: no task has a score in both runs." in html


def test_runs_without_a_common_metric_are_offered_by_benchmark(client: Client) -> None:
    dataset = make_dataset(4)
    ids = [make_scored_run(dataset, [1.0] * 4, model=f"a/{name}").pk for name in "xy"]
    elsewhere = make_dataset(4, slug="other")
    other = make_scored_run(elsewhere, [1.0] * 4, metrics=["length"]).pk
    html = page(client, f"/compare/?runs={ids[0]},{ids[1]},{other},99999")
    assert f'href="/compare/?runs={ids[0]}%2C{ids[1]}"' in html
    assert ">Compare these 2</a>" in html
    assert "The only chosen run here, so it is not compared." in html
    assert "No other run was asked in the same way." in html
    assert "Run 99999 does not exist." in html
    partner = make_scored_run(elsewhere, [1.0] * 4, model="a/z", metrics=["length"]).pk
    html = page(client, f"/compare/?runs={ids[0]},{ids[1]},{other}")
    assert f'href="/compare/?runs={other}%2C{partner}">Compare with a/z, run {partner}</a>' in html


def test_where_no_run_is_chosen_those_are_proposed_that_were_asked_the_same(client: Client) -> None:
    dataset = make_dataset(4)
    ids = [make_scored_run(dataset, [1.0] * 4, model=f"a/{name}").pk for name in "xy"]
    for name in "xyz":
        make_scored_run(dataset, [1.0] * 4, model=f"a/{name}", limit=4)
    make_scored_run(dataset, [1.0] * 4, model="baseline/random")
    html = page(client, "/compare/")
    assert (
        f'href="/compare/?runs={ids[0]}%2C{ids[1]}">Compare<span class="visually-hidden"> a/x and a/y</span></a>'
        in html
    )
    assert html.count(">Compare<span") == 1
    assert 'a/x <span class="soft">1.000</span>' in html


def test_a_test_that_all_pairs_share_is_named_once(client: Client) -> None:
    dataset = make_dataset(12)
    values = ([1.0] * 12, [1.0] * 5 + [0.0] * 7, [0.0] * 12)
    ids = [make_scored_run(dataset, each, model=f"a/{name}").pk for each, name in zip(values, "xyz", strict=True)]
    html = page(client, "/compare/?runs=" + ",".join(map(str, ids)))
    assert re.findall(r"Test: ([\w' ,-]+)", html) == ["exact McNemar test"]
    assert html.count("McNemar") == 1


def test_two_runs_are_compared_on_their_shared_tasks(client: Client) -> None:
    dataset = make_dataset(40)
    good = make_scored_run(dataset, [1.0] * 40, model="a/good")
    bad = make_scored_run(dataset, [0.0] * 30 + [1.0] * 10, model="a/bad")
    html = " ".join(page(client, f"/compare/?runs={bad.pk},{good.pk}").split())
    assert "<strong>a/good is better than a/bad by 75.0 points" in html
    assert "The 40 shared tasks" in html
    for part, count in (("Both right", 10), ("Only a/good right", 30), ("Only a/bad right", 0), ("Neither right", 0)):
        assert f"{part}: {count}" in html
    assert html.count(f"/runs/{bad.pk}/results/") == 25
    assert "a/bad better</a>" not in html, "no task favors it"
    assert f'run={bad.pk}&amp;baseline={good.pk}"> a/good better</a>' in html
    better = page(client, f"/compare/tasks/?runs={good.pk},{bad.pk}&show=worse&run={bad.pk}")
    assert better.count(f"/runs/{bad.pk}/results/") == 25
    assert "Page 1 of 2, 30 of 40 tasks" in " ".join(better.split())
    assert "No task matches" in page(client, f"/compare/tasks/?runs={good.pk},{bad.pk}&show=worse&run={good.pk}")


def test_the_difference_of_two_runs_has_the_direction_of_the_sentence(client: Client) -> None:
    dataset = make_dataset(40)
    good = make_scored_run(dataset, [1.0] * 40, model="a/good")
    bad = make_scored_run(dataset, [0.0] * 30 + [1.0] * 10, model="a/bad")
    html = page(client, f"/compare/?runs={good.pk},{bad.pk}")
    assert "a/good is better than a/bad by 75.0 points" in html
    assert "Difference: a/good minus a/bad" in html
    assert '<span class="is-clear">+75.0</span>' in html
    html = page(client, f"/compare/?runs={good.pk},{bad.pk}&baseline={good.pk}")
    assert "a/bad is 75.0 points below a/good" in html
    assert "Difference: a/bad minus a/good" in html
    assert '<span class="is-clear">−75.0</span>' in html


def test_other_shared_metrics_are_rows_of_one_table(client: Client) -> None:
    dataset = make_dataset(40)
    ids = [
        make_scored_run(
            dataset, [1.0] * right + [0.0] * (40 - right), model=model, metrics=["exact_match", "contains", "rouge_l"]
        ).pk
        for model, right in (("a/bad", 10), ("a/good", 40), ("a/fair", 11))
    ]
    html = page(client, f"/compare/?runs={ids[0]},{ids[2]}&margin=5")
    table = html[html.index("Other shared metrics") : html.index("Choose other runs")]
    assert f"Difference: run {ids[2]} minus run {ids[0]}, in points" in table
    assert f"/compare/?runs={ids[0]}%2C{ids[2]}&amp;margin=5&amp;metric=rouge_l" in table
    assert (table.count(">Contains<"), table.count("a/fair")) == (1, 0)
    assert '<span class="nowrap">+2.5</span>' in table

    html = page(client, f"/compare/?runs={','.join(map(str, ids))}")
    table = html[html.index("Other shared metrics") : html.index("Choose other runs")]
    assert f"Difference: the run minus run {ids[0]}, in points" in table
    assert re.findall(r">(Contains|ROUGE-L|a/good|a/fair)<", table) == [
        *("Contains", "a/good", "Contains", "a/fair", "ROUGE-L", "a/good", "ROUGE-L", "a/fair")
    ]
    assert '<span class="is-clear">+75.0</span>' in table
    assert '<span class="nowrap">+2.5</span>' in table


@pytest.mark.parametrize(("right", "is_bold"), [(12, False), (40, True)])
def test_only_a_significant_difference_of_two_runs_is_bold(client: Client, right: int, is_bold: bool) -> None:
    tasks = [make_task(place, difficulty=("easy", "hard")[place % 2]) for place in range(1, 41)]
    dataset = make_dataset(tasks)
    ids = [
        make_scored_run(dataset, [1.0] * count + [0.0] * (40 - count), model=model).pk
        for model, count in (("baseline/random", 10), ("baseline/majority", right))
    ]
    html = " ".join(page(client, f"/compare/?runs={ids[0]},{ids[1]}").split())
    said = "bold: significant" if is_bold else "none significant"
    assert f"in points; {said}<button" in html
    assert "the intervals are not." in html, "so that one without 0 does not contradict it"
    assert ('class="is-clear">+75.0<' in html) == is_bold
    assert ("is-clear" in html) == is_bold
    assert not re.search(r"<b>[+−][\d.]+</b>", html)
    assert "/compare/deltas" not in html, "a chart of one row would repeat the difference beside it"
    assert client.get(f"/compare/deltas.svg?runs={ids[0]},{ids[1]}").status_code == 404


def test_a_comparison_of_no_runs_task_by_task_asks_for_them(client: Client) -> None:
    make_scored_run()
    html = client.get("/compare/tasks/", follow=True).content.decode()
    assert "<h1>Compare runs task by task</h1>" in html
    assert 'class="primary" formaction="/compare/tasks/">Compare task by task</button>' in html
    assert "No runs chosen yet: select 2 or more." in html
    assert "Choose 2 to 12 runs." in html


def test_several_runs_are_compared_as_a_matrix_with_the_oldest_or_the_marked_as_baseline(client: Client) -> None:
    dataset = make_dataset(40)
    runs = [
        make_scored_run(dataset, [1.0] * right + [0.0] * (40 - right), model=f"a/{right}") for right in (40, 20, 18)
    ]
    ids = ",".join(str(run.pk) for run in reversed(runs))
    html = " ".join(page(client, f"/compare/?runs={ids}").split())
    assert f'with a/40 (<a href="/runs/{runs[0].pk}/">run {runs[0].pk}</a>) on shared tasks' in html
    assert "<strong>40 leads.</strong> 20 is 50.0 points behind" in html
    assert '−55.0 <span class="interval">' in html
    assert "The difference between 20 and 18 is not significant." in html
    tasks = page(client, f"/compare/tasks/?runs={ids}&show=only&run={runs[0].pk}")
    assert "20 of 40 tasks" in tasks
    Run.objects.filter(pk=runs[1].pk).update(baseline=True)
    again = " ".join(page(client, f"/compare/?runs={ids}").split())
    assert f'with a/20 (<a href="/runs/{runs[1].pk}/">run {runs[1].pk}</a>) on shared tasks' in again
    assert page(client, "/runs/").count('form="selected"') == 3


def test_the_leaderboard_ranks_the_latest_run_or_the_best(client: Client) -> None:
    dataset = make_dataset(4)
    make_scored_run(dataset, (1.0, 1.0, 1.0, 1.0), model="a/uneven")
    make_scored_run(dataset, (0.0, 0.0, 0.0, 0.0), model="a/uneven")
    make_scored_run(dataset, (1.0, 0.0, 1.0, 0.0), model="a/steady")
    latest, best = page(client, "/leaderboard/"), page(client, "/leaderboard/?choose=best")
    assert latest.index("a/steady") < latest.index("a/uneven")
    assert best.index("a/uneven") < best.index("a/steady")


def test_ranks_on_the_leaderboard_are_those_that_paired_tests_allow(client: Client) -> None:
    dataset = make_dataset(40)
    for model, correct in (("v/good", 39), ("v/better", 40), ("v/poor", 5)):
        make_scored_run(dataset, [1.0] * correct + [0.0] * (40 - correct), model=model, summarized_at=timezone.now())
    html = page(client, f"/leaderboard/?dataset={dataset.slug}")
    rows = re.findall(
        r'<td class="num nowrap" data-label="Rank">([^<]+)</td>\s*<th scope="row">\s*<a href="/models/([^"]+)/"', html
    )
    assert rows == [("1–2", "v/better"), ("1–2", "v/good"), ("3", "v/poor")]
    assert "Models that share a letter are not significantly different" in html


def test_a_run_over_part_of_the_tasks_is_not_ranked(client: Client) -> None:
    dataset = make_dataset(4)
    make_scored_run(dataset, (1.0,), model="a/partial", limit=1)
    make_scored_run(dataset, (1.0, 0.0, 1.0, 0.0), model="a/whole")
    assert "a/partial" not in page(client, "/leaderboard/")
