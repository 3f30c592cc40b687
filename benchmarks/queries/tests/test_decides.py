"""What every parameter of a run decides: where two runs that differ only in it stand, and how the difference is named.

A new parameter is tested here as soon as it is in ``RUN_PARAMETERS``.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from benchmarks.analysis.comparisons import differing_settings
from benchmarks.analysis.rankings import places
from benchmarks.models import Dataset, Run, Schedule, ScheduledRun
from benchmarks.queries.compare import asked_differently
from benchmarks.queries.history import histories, latest_runs
from benchmarks.queries.leaderboard import by_setting, completed_runs, whole_runs
from benchmarks.queries.matrix import matrix
from benchmarks.queries.runs import other_variants, previous_run, run_detail
from benchmarks.queries.schedules import earlier_runs
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, Kind, RunParameter
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
N = 4
VARIANTS = ("representation", "few_shot")
NAMED = [row for row in RUN_PARAMETERS.values() if row.decides is not Decides.SUBJECT]


def of(*decides: Decides) -> pytest.MarkDecorator:
    rows = [row for row in NAMED if row.decides in decides]
    return pytest.mark.parametrize("parameter", rows, ids=lambda row: row.name)


def other_value(parameter: RunParameter) -> Any:
    """A value that no run has that does not give the parameter."""
    by_kind = {
        Kind.SWITCH: True,
        Kind.INTEGER: 9,
        Kind.NUMBER: (parameter.least or 0) + 0.25,
        Kind.CHOICE: next((choice for choice in parameter.choices if choice not in (parameter.default, "full")), ""),
        Kind.PARAMETERS: {"top_k": 5},
        Kind.NAMES: ["exact_match", "contains"] if parameter.name == "metrics" else ["count"],
        Kind.LONG_TEXT: "Think. {input}",
        Kind.TEXT: "loop/another",
    }
    return by_kind[parameter.kind]


def stored(parameter: RunParameter, value: Any) -> dict[str, Any]:
    if parameter.name == "only_task":
        return {"only_task": value, "limit": 1}
    return {parameter.field: value} if parameter.field else {"parameters": {parameter.name: value}}


def pair(parameter: RunParameter) -> tuple[Run, Run]:
    """Two completed runs of one model that differ only in the parameter, the plain one first."""
    if parameter.canvas_only:
        dataset: Dataset = make_canvas_set(shapes=(3, 4)).dataset
    else:
        dataset = make_dataset([make_task(number, tools=(TOOL,)) for number in range(1, N + 1)])
    common: dict[str, Any] = {"judge_model": "loop/judge", "summarized_at": timezone.now()}
    n = dataset.current_version.task_count if dataset.current_version else 0
    plain = make_scored_run(dataset, [1.0] * n, **common)
    changed = make_scored_run(dataset, [1.0] * n, **common | stored(parameter, other_value(parameter)))
    summary = {**changed.summary, **({"subset": {"n_all": n}} if changed.subset else {})}
    Run.objects.filter(pk=changed.pk).update(total=changed.total * changed.repeats, summary=summary)
    return run_detail(plain.pk), run_detail(changed.pk)


def label(parameter: RunParameter) -> str:
    words = parameter.setting or parameter.label
    return words[0].lower() + words[1:]


def tables(run: Run) -> list[list[int]]:
    """The runs of each table of the leaderboard."""
    return [[each.pk for each in group] for group in by_setting(whole_runs(run.dataset_version)[0]).values()]


def in_histories(run: Run) -> list[list[int]]:
    return [[point.run.pk for point in each.points] for each in histories(latest_runs(dataset=run.dataset_id))]


def rows(run: Run) -> list[tuple[int, str]]:
    """The rows of the one table that there is: run, and how it differs."""
    (group,) = by_setting(whole_runs(run.dataset_version)[0]).values()
    return [(place.run.pk, place.differs) for place in places(group, run.metrics[0])]


def scheduled_with(plain: Run, changed: Run) -> list[Run]:
    """The earlier runs that the changed one is compared with if a schedule started both."""
    schedule = Schedule.objects.create(name="nightly", when="03:00", request={})
    links = [ScheduledRun.objects.create(schedule=schedule, run=run, due_at=timezone.now()) for run in (plain, changed)]
    return earlier_runs(links[1])


@of(*Decides)
def test_what_explains_a_difference_names_each_parameter_that_decides_a_score(parameter: RunParameter) -> None:
    plain, changed = pair(parameter)
    expected = [] if parameter.decides is Decides.NEITHER else [label(parameter)]
    if parameter.name == "only_task":
        plain.limit = changed.limit
    assert differing_settings(plain, changed) == expected
    asked = parameter.decides in (Decides.QUESTION, Decides.EXTENT, Decides.ANSWER)
    assert asked_differently(changed, plain) == (parameter.label.lower() if asked else "")


@of(Decides.QUESTION)
def test_runs_that_ask_another_question_share_nothing(parameter: RunParameter) -> None:
    plain, changed = pair(parameter)
    assert all(len(table) == 1 for table in tables(plain))
    assert in_histories(plain) == []
    assert previous_run(changed) is None
    assert scheduled_with(plain, changed) == []
    assert other_variants(changed) == ([plain] if parameter.name in VARIANTS else [])
    assert all(row.differs for row in matrix([plain, changed], plain.metrics[0]).rows)


@of(Decides.ANSWER, Decides.SCORE)
def test_runs_that_answer_or_are_judged_otherwise_are_rows_of_one_table_that_say_so(parameter: RunParameter) -> None:
    plain, changed = pair(parameter)
    assert tables(plain) == [[changed.pk, plain.pk]]
    named = dict(rows(plain))
    assert named.keys() == {plain.pk, changed.pk}
    assert parameter.name == "judge_model" or (named[changed.pk] and named[changed.pk] != named[plain.pk])
    assert in_histories(plain) == []
    assert scheduled_with(plain, changed) == []
    assert previous_run(changed) == plain
    assert other_variants(changed) == []
    told = {row.runs[0].pk: row.differs for row in matrix([plain, changed], plain.metrics[0]).rows}
    assert told[changed.pk] != told[plain.pk]


@of(Decides.EXTENT)
def test_runs_on_fewer_tasks_are_compared_on_shared_tasks_and_ranked_by_all(parameter: RunParameter) -> None:
    plain, changed = pair(parameter)
    assert previous_run(changed) == plain
    ranked = [
        place.run.pk
        for group in by_setting(whole_runs(plain.dataset_version)[0]).values()
        for place in places(group, plain.metrics[0])
        if place.rank
    ]
    adaptive = parameter.name == "target_half_width"
    assert ranked == ([changed.pk] if parameter.name in ("repeats", "max_canvases") else [plain.pk]) or adaptive
    assert not adaptive or [changed.pk, plain.pk] not in tables(plain)


@of(Decides.NEITHER)
def test_runs_that_differ_in_what_decides_no_score_are_one_row_and_one_history(parameter: RunParameter) -> None:
    plain, changed = pair(parameter)
    assert rows(plain) == [(changed.pk, "")]
    assert in_histories(plain) == [[plain.pk, changed.pk]]
    assert previous_run(changed) == plain
    assert scheduled_with(plain, changed) == [plain]


def test_every_parameter_says_what_it_decides() -> None:
    assert {row.decides for row in RUN_PARAMETERS.values()} == set(Decides)


def test_which_tasks_a_ranked_run_asked_is_read_with_it(django_assert_num_queries: Any) -> None:
    make_scored_run(make_dataset(1), (1.0,))
    (run,) = completed_runs()
    with django_assert_num_queries(0):
        assert [row.value_of(run) for row in RUN_PARAMETERS.values() if row.selects]
