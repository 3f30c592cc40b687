"""Runs of other tools beside ours: stored whole or not at all, marked, compared, and never asked again."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.analysis.comparisons import compared_runs
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.imports.tests.logs import (
    inspect_log,
    inspect_sample,
    promptfoo_results,
    promptfoo_row,
    write_archive,
    write_json,
)
from benchmarks.models import AuditEntry, Dataset, DatasetVersion, Experiment, Outcome, Result, Run, RunStatus, Score
from benchmarks.queries.experiments import experiment_runs
from benchmarks.queries.matrix import matrix
from benchmarks.services.errors import NotPossible
from benchmarks.services.experiments.start import add_model
from benchmarks.services.imports import import_runs
from benchmarks.services.runs import control
from benchmarks.services.runs.control import verify_run
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)


def take(path: Path, document: dict[str, Any], **options: Any) -> Run:
    (imported,) = import_runs(write_json(path / "log.json", document), **options)
    return imported.run


def failing_log() -> dict[str, Any]:
    error = {"message": "Connection lost", "traceback": "", "traceback_ansi": ""}
    return inspect_log(inspect_sample(1), inspect_sample(2, "I"), inspect_sample(3, error=error))


def test_a_run_is_stored_as_ended(tmp_path: Path) -> None:
    run = take(tmp_path, failing_log())
    run.refresh_from_db()
    assert (run.status, run.total, run.done, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 3, 3, 1)
    assert (run.model, run.dataset.slug, run.import_tool) == ("vendor/model", "inspect-sums", "Inspect")
    assert run.metrics == ["inspect:match", "exact_match"]
    assert run.summary["metrics"]["inspect:match"]["mean"] == 0.5
    assert run.summary["metrics"]["inspect:match"]["n"] == 2
    assert run.summary["metrics"]["exact_match"]["mean"] == 1.0
    assert run.summary["outcomes"] == {Outcome.CORRECT: 1, Outcome.WRONG: 1, Outcome.PROVIDER_ERROR: 1}
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (60, 6, None)
    failed = Result.objects.get(run=run, outcome=Outcome.PROVIDER_ERROR)
    assert (failed.value, failed.error_message, failed.scores.count()) == (None, "Connection lost", 0)
    assert AuditEntry.objects.get(action="run.import").detail["file"] == "log.json"


def test_a_sum_is_unknown_if_one_answer_lacks_the_number(tmp_path: Path) -> None:
    run = take(tmp_path, promptfoo_results(promptfoo_row(0), promptfoo_row(1, cost=0, response={"output": "2"})))
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (None, None, None)


def test_an_answer_that_was_cut_off_keeps_the_score_of_the_tool(tmp_path: Path) -> None:
    choice = {"message": {"role": "assistant", "content": "2"}, "stop_reason": "max_tokens"}
    run = take(tmp_path, inspect_log(inspect_sample(1, output={"choices": [choice]})))
    assert run.summary["metrics"]["inspect:match"]["mean"] == 1.0
    assert run.results.get().outcome == Outcome.TRUNCATED


def test_the_same_file_gives_the_same_run(tmp_path: Path) -> None:
    first = import_runs(write_json(tmp_path / "a.json", promptfoo_results()))
    again = import_runs(write_json(tmp_path / "b.json", promptfoo_results()))
    assert [each.is_new for each in (*first, *again)] == [True, False]
    assert first[0].run.pk == again[0].run.pk
    assert (Run.objects.count(), DatasetVersion.objects.count()) == (1, 1)


def test_logs_that_differ_only_in_what_was_asked_are_two_runs(tmp_path: Path) -> None:
    def log(*questions: str, **fields: Any) -> dict[str, Any]:
        samples = [inspect_sample(1, id=place, input=text, messages=[]) for place, text in enumerate(questions, 1)]
        return inspect_log(*samples, **fields)

    first = take(tmp_path, log("Is 2 prime?", "Is 4 prime?"))
    assert take(tmp_path, log("Is Paris in France?", "Is Rome in France?")) != first
    assert take(tmp_path, log("Is 2 prime?", "Is 4 prime?", tags=["again"])) == first


def test_a_mean_that_contradicts_a_log_without_declared_scorers_is_refused(tmp_path: Path) -> None:
    entry = {"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": 0.99}}}
    log = inspect_log()
    log["eval"].pop("scorers")
    take(tmp_path, log)
    with pytest.raises(NotPossible, match=r"accuracy of \"match\" is 0\.99, but the mean of its samples is 0\.5"):
        take(tmp_path, log | {"results": {"scores": [entry]}})


def test_equal_tasks_of_two_models_are_one_version(tmp_path: Path) -> None:
    log = inspect_log()
    other = inspect_log()
    other["eval"]["model"] = "vendor/other"
    assert take(tmp_path, log).dataset_version == take(tmp_path, other).dataset_version


def test_an_imported_run_is_compared_with_a_run_made_here(tmp_path: Path) -> None:
    theirs = take(tmp_path, inspect_log())
    ours = make_run(theirs.dataset, model="baseline/empty", metrics=["exact_match"])
    work_on_run_once(ours.pk)
    ours.refresh_from_db()
    (compared,) = compared_runs([theirs, ours])
    assert (compared.metric, compared.comparison.n_shared, compared.comparison.difference) == ("exact_match", 3, -1.0)
    assert compared.name_a == "vendor/model (imported)"


def test_tasks_of_a_dataset_are_matched_by_input(tmp_path: Path) -> None:
    dataset = make_dataset([make_task(number, id=f"ours-{number}") for number in (1, 2, 3)])
    run = take(tmp_path, inspect_log(), dataset="sums")
    assert run.dataset_version == dataset.current_version
    assert list(run.results.values_list("task__task_id", flat=True).order_by("position")) == [
        "ours-1",
        "ours-2",
        "ours-3",
    ]


def test_a_run_of_other_or_fewer_tasks_cannot_join_a_dataset(tmp_path: Path) -> None:
    for tasks, message in ((2, "1 of 3 tasks do not match any task in two"), (4, "has 3 tasks and four has 4")):
        slug = {2: "two", 4: "four"}[tasks]
        make_dataset(tasks, slug=slug)
        with pytest.raises(NotPossible, match=message):
            take(tmp_path, inspect_log(), dataset=slug)
    assert not Run.objects.exists()


def test_a_dataset_that_was_not_imported_is_not_touched(tmp_path: Path) -> None:
    make_dataset(slug="inspect-sums")
    with pytest.raises(NotPossible, match="Choose another identifier"):
        take(tmp_path, inspect_log())
    assert take(tmp_path, inspect_log(), slug="theirs").dataset.slug == "theirs"


def test_an_imported_run_cannot_be_resumed_retried_or_verified(tmp_path: Path, client: Client) -> None:
    run = take(tmp_path, failing_log())
    for ask in (control.resume_run, control.retry_failed, verify_run):
        with pytest.raises(NotPossible, match="imported from an Inspect file"):
            ask(run)
    answer = client.post(f"/api/v1/benchmarks/runs/{run.pk}/retry-failed")
    assert answer.status_code == 409
    assert "imported from an Inspect file" in answer.content.decode()
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS


@pytest.mark.parametrize("document", [failing_log(), promptfoo_results()])
def test_every_page_shows_the_run_and_marks_it_as_imported(tmp_path: Path, admin_client: Client, document: Any) -> None:
    run = take(tmp_path, document)
    asked_alike = {name: text for name, text in run.parameters.items() if name == "system_prompt"}
    ours = make_run(run.dataset, model="baseline/empty", metrics=["exact_match"], **asked_alike)
    work_on_run_once(ours.pk)
    result = run.results.first()
    assert result is not None
    for address in (
        "/",
        "/runs/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/results/{result.pk}/",
        f"/compare/?run={ours.pk}&run={run.pk}",
        f"/leaderboard/?dataset={run.dataset.slug}&metric=exact_match",
        "/admin/benchmarks/run/",
    ):
        page = admin_client.get(address)
        assert page.status_code == 200, address
        assert "imported" in page.content.decode().lower(), address
    shown = admin_client.get(f"/runs/{run.pk}/").content.decode()
    assert "/do/retry/" not in shown
    assert "Run again" not in shown
    answer = admin_client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()
    assert answer["import_format"] == run.import_format
    for form in ("csv", "jsonl", "html"):
        assert admin_client.get(f"/runs/{run.pk}/export.{form}").getvalue()


def test_an_imported_run_can_be_deleted(tmp_path: Path) -> None:
    control.delete_run(take(tmp_path, inspect_log()))
    assert not Run.objects.exists()


def test_epochs_are_repeats(tmp_path: Path) -> None:
    log = inspect_log(
        *(inspect_sample(number, value, epoch) for number in (1, 2) for epoch, value in ((1, "C"), (2, "I")))
    )
    run = take(tmp_path, log)
    assert (run.repeats, run.total, run.dataset_version.task_count) == (2, 4, 2)
    assert run.summary["reliability"]["inspect:match"]["n_repeated"] == 2


def test_a_failed_grader_is_a_judge_error(tmp_path: Path) -> None:
    part = {"pass": False, "score": 0, "reason": "no JSON", "metadata": {"graderError": True}}
    row = promptfoo_row(0, passed=False, gradingResult={"pass": False, "score": 0, "componentResults": [part]})
    run = take(tmp_path, promptfoo_results(row, promptfoo_row(1)))
    failed = Result.objects.get(run=run, outcome=Outcome.JUDGE_ERROR)
    assert (run.errors, failed.state, failed.value) == (1, "error", None)
    assert run.summary["metrics"]["promptfoo:pass"]["n"] == 1


def test_the_command_imports_files_and_prints_the_result(tmp_path: Path) -> None:
    archive = write_archive(
        tmp_path / "log.eval", inspect_log(inspect_sample(1, store={"a": 1}), inspect_sample(2, "I"))
    )
    out = io.StringIO()
    call_command(
        "benchmark", "import", str(archive), str(archive), "--metric", "contains", "--metric", "numeric", stdout=out
    )
    run = Run.objects.get()
    first, second, unused = out.getvalue().splitlines()
    assert first.startswith(f"Run {run.pk} imported: vendor/model on inspect-sums, 2 results")
    assert unused == "Not imported: store of samples (1)."
    assert second.startswith(f"Run {run.pk} already imported from log.eval: ")
    assert run.metrics == ["inspect:match", "contains", "numeric"]
    for arguments, message in (
        (["missing.json"], "No such file"),
        ([str(archive), "--metric", "correctness"], "correctness cannot score imported answers"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("benchmark", "import", *arguments)


def test_the_command_imports_every_log_of_a_folder_and_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".cache").mkdir(parents=True)
    write_archive(tmp_path / "a.eval", inspect_log())
    write_json(tmp_path / "b.json", inspect_log(eval={"task": "sums"}))
    write_json(tmp_path / "package.json", {"name": "evals"})
    write_archive(tmp_path / "deep" / "c.eval", inspect_log(inspect_sample(4)))
    write_archive(tmp_path / "deep" / ".cache" / "d.eval", inspect_log(inspect_sample(5)))
    (tmp_path / "notes.txt").write_text("Notes")
    out, told = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError, match=r"b\.json: eval\.model: expected a value, found nothing") as refused:
        call_command("benchmark", "import", str(tmp_path), stdout=out, stderr=told)
    assert refused.value.returncode == 2
    assert sorted(Run.objects.values_list("environment__file", "total")) == [("a.eval", 3), ("c.eval", 1)]
    assert out.getvalue().count(" imported: ") == 2
    assert told.getvalue() == f"Skipped {tmp_path / 'package.json'}, which is not a log.\n"
    with pytest.raises(CommandError, match="has no files of promptfoo"):
        call_command("benchmark", "import", str(tmp_path / "deep"), "--format", "promptfoo", stdout=out)


def test_many_results_take_a_bounded_number_of_queries(tmp_path: Path, django_assert_max_num_queries: Any) -> None:
    log = inspect_log(*(inspect_sample(number) for number in range(1, 401)))
    with django_assert_max_num_queries(100):
        assert take(tmp_path, log).total == 400


def stored() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Run, Result, Score, Dataset, DatasetVersion, AuditEntry))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, item in inner for way in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


@pytest.mark.parametrize("document", [failing_log(), promptfoo_results()], ids=["inspect", "promptfoo"])
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_with_anything_in_any_place_is_imported_completely_or_not_at_all(
    document: Any, data: st.DataObject
) -> None:
    """Either ``NotPossible`` and nothing stored, or a run with all its results."""
    spoilt = replaced(document, data.draw(st.sampled_from(places(document))), data.draw(JSON))
    before = stored()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text(json.dumps(spoilt))
        try:
            imported = import_runs(path, slug="fuzzed")
        except NotPossible:
            assert stored() == before
            return
    for run in (each.run for each in imported):
        assert run.results.count() == run.total > 0
        assert run.summarized_at is not None
        control.delete_run(run)


def test_a_file_of_two_prompts_and_three_providers_compares_prompt_with_prompt_on_all_tasks(client: Client) -> None:
    """Written by promptfoo 0.118 with its echo provider and two scripted ones."""
    path = Path(__file__).parents[2] / "imports" / "tests" / "promptfoo_prompts.json"
    imported = import_runs(path)
    experiment = Experiment.objects.get()
    runs = [each.run for each in imported]
    assert {(run.model, run.variant) for run in runs} == {
        (model, variant) for model in ("echo", "knows", "guesses") for variant in ("plain", "step by step")
    }
    assert len({run.dataset_version_id for run in runs}) == 1
    assert list(runs[0].dataset_version.tasks.values_list("input", "expected_output").order_by("position")) == [
        ("France", "Paris"),
        ("Australia", "Canberra"),
        ("Peru", "Lima"),
        ("Japan", "Tokyo"),
    ]
    for model in ("echo", "knows", "guesses"):
        plain, steps = sorted((run for run in runs if run.model == model), key=lambda run: run.variant)
        compared = compared_runs([plain, steps], metrics=["promptfoo:pass"])
        assert [(each.comparison.n_shared, each.comparison.n_only_a) for each in compared] == [(4, 0)], model
    means = {(row.model, row.variant): row.cells[0] for row in matrix(experiment_runs(experiment)).rows}
    known = {names: cell and cell.mean for names, cell in means.items()}
    assert known["knows", "plain"] == known["knows", "step by step"] == 1.0
    assert (known["guesses", "plain"], known["guesses", "step by step"]) == (0.25, 0.25)
    assert all(mean is not None for mean in known.values())
    for address in ("", "answers/"):
        assert client.get(f"/experiments/{experiment.pk}/{address}").status_code == 200
    assert not any(each.is_new for each in import_runs(path))
    assert Experiment.objects.count() == 1


def test_a_model_of_ours_joins_an_imported_experiment_with_the_same_prompts() -> None:
    import_runs(Path(__file__).parents[2] / "imports" / "tests" / "promptfoo_prompts.json")
    added = add_model(Experiment.objects.get(), "baseline/reference")
    assert {run.variant: run.parameters["prompt_template"] for run in added} == {
        "plain": "What is the capital of {input}? One word.",
        "step by step": "Think step by step, then name the capital of {input} in {{braces}}.",
    }
    for run in added:
        work_on_run_once(run.pk)
        run.refresh_from_db()
        assert run.summary["metrics"]["exact_match"]["mean"] == 1.0


def test_names_of_one_model_are_one_model_where_aliases_say_so(tmp_path: Path, settings: Any, client: Client) -> None:
    names = {"gpt-4o": "gpt", "gpt": "openai/gpt-4o", "openai:chat:gpt-4o": "openai/gpt-4o"}
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"aliases": names})
    out = io.StringIO()
    for place, name in enumerate(("openai/gpt-4o", "gpt-4o", "openai:chat:gpt-4o", "gpt-4o-mini")):
        log = inspect_log()
        log["eval"] |= {"model": name, "eval_id": str(place)}
        call_command("benchmark", "import", str(write_json(tmp_path / f"{place}.json", log)), stdout=out)
    runs = Run.objects.order_by("pk")
    assert [run.model for run in runs] == ["openai/gpt-4o", "openai/gpt-4o", "openai/gpt-4o", "gpt-4o-mini"]
    assert [run.environment.get("model_named") for run in runs] == [None, "gpt-4o", "openai:chat:gpt-4o", None]
    assert "imported: openai/gpt-4o (there gpt-4o) on inspect-sums" in out.getvalue()
    assert "Its model is named openai:chat:gpt-4o there." in client.get(f"/runs/{runs[2].pk}/").content.decode()
    assert "is named" not in client.get(f"/runs/{runs[0].pk}/").content.decode()
