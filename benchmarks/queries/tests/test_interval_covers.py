"""What the interval of a score covers, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.models import Run
from benchmarks.queries.interval_covers import covers_of
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db


def run_of(**fields: Any) -> Run:
    return Run.objects.get(pk=make_scored_run(**fields).pk)


def test_one_run_covers_its_tasks_and_repeats_but_neither_prompts_nor_judges() -> None:
    assert covers_of([run_of()]).sentence == "The interval covers the choice of tasks, not other prompts or repeats."
    repeated = run_of(repeats=3, judge_model="loop/judge", metrics=["correctness"])
    assert covers_of([repeated]).sentence == (
        "The interval covers the choice of tasks and repeats, not other prompts or other judges."
    )


def test_what_several_tasks_share_is_what_was_chosen() -> None:
    shared = make_dataset([make_task(number, cluster=f"text-{number // 2}") for number in range(4)], slug="shared")
    assert covers_of([run_of(dataset=shared, values=[1.0] * 4)]).covered == ["clusters of tasks"]
    assert covers_of([run_of(dataset=make_canvas_set([3] * 4).dataset, values=[1.0] * 4)]).covered == ["canvases"]


def test_a_seed_is_covered_only_if_each_repeat_has_its_own() -> None:
    def covers(**fields: Any) -> Any:
        return covers_of([run_of(dataset=make_dataset(3), parameters={"seed": 7}, **fields)])

    assert "other seeds" in covers().not_covered
    assert "other seeds" in covers(repeats=2, seed_per_repeat=False).not_covered
    own = covers(repeats=2, seed_per_repeat=True)
    assert own.covered == ["tasks", "repeats with seeds of their own"]
    assert "other seeds" not in own.not_covered


def test_an_average_over_variants_covers_what_they_vary_where_it_is_a_prompt_a_seed_or_a_judge() -> None:
    dataset = make_dataset(3)
    prompts = [run_of(dataset=dataset, variant=text, parameters={"system_prompt": text}) for text in ("a", "b", "c")]
    assert covers_of(prompts).covered == ["tasks"], "each row has one of them"
    average = covers_of(prompts, over_variants=True)
    assert (average.covered, average.not_covered) == (["tasks", "variants (system prompt)"], ["repeats"])
    judges = [
        run_of(dataset=dataset, variant=name, judge_model=f"loop/{name}", metrics=["correctness"]) for name in "ab"
    ]
    judged = covers_of(judges, over_variants=True)
    assert "variants (judge)" in judged.covered
    assert "other judges" not in judged.not_covered
    seeds = [run_of(dataset=dataset, variant=str(seed), parameters={"seed": seed}) for seed in (1, 2)]
    assert "other seeds" not in covers_of(seeds, over_variants=True).not_covered
    assert "other seeds" in covers_of(seeds).not_covered
