"""Results of promptfoo in the common form."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.imports import reading
from benchmarks.imports.runs import ImportedRun, ImportProblem
from benchmarks.imports.tests.logs import promptfoo_results, promptfoo_row, read_runs, write_json
from benchmarks.metrics.base import ScoreStatus

PASS = "promptfoo:pass"


def read(path: Path, *rows: dict[str, Any], **fields: Any) -> list[ImportedRun]:
    return read_runs(write_json(path / "results.json", promptfoo_results(*rows, **fields)))


def only(path: Path, *rows: dict[str, Any]) -> ImportedRun:
    (run,) = read(path, *rows)
    return run


def test_a_column_becomes_a_run(tmp_path: Path) -> None:
    run = only(tmp_path)
    assert (run.model, run.name, run.evaluation) == ("openai:gpt-4o", "Sums", "eval-1")
    assert list(run.metrics) == [PASS, "promptfoo:score", "promptfoo:contains"]
    assert [(task.id, task.input, task.expected_output) for task in run.tasks][1] == ("test-2", "What is 1 + 1?", "2")
    assert [each.scores[PASS].value for each in run.results] == [1.0, 0.0, 1.0]
    first = run.results[0]
    assert (first.answer, first.duration_ms, first.tokens_in, first.tokens_out) == ("It is 0.", 321.0, 20, 10)
    assert first.cost_usd == 0.001


def test_the_summary_alone_and_the_layout_of_version_2_read_the_same(tmp_path: Path) -> None:
    whole = read(tmp_path)
    document = promptfoo_results()
    second = {**document, "results": {**document["results"], "version": 2, "table": {"head": {}, "body": []}}}
    assert read_runs(write_json(tmp_path / "b.json", second)) == whole
    (bare,) = read_runs(write_json(tmp_path / "c.json", document["results"]))
    assert (bare.tasks, bare.results, bare.name) == (whole[0].tasks, whole[0].results, "c")


def matrix_of(*prompts: dict[str, Any], tests: int = 2) -> list[dict[str, Any]]:
    """Rows of two providers with these prompts, which are filled with the question of each test."""
    return [
        promptfoo_row(
            number,
            provider={"id": provider},
            prompt={
                "raw": prompt["raw"].replace("{{question}}", f"What is {number} + {number}?"),
                "label": prompt["label"],
            },
            promptIdx=place,
        )
        for provider in ("openai:gpt-4o", "anthropic:messages:claude")
        for place, prompt in enumerate(prompts)
        for number in range(tests)
    ]


SAY = {"raw": "Say {x}: {{question}}", "label": "say"}
THINK = {"raw": "Think. {{question}}", "label": "Think. {{question}}"}


def test_several_prompts_are_variants_on_the_same_tasks(tmp_path: Path) -> None:
    runs = read(tmp_path, *matrix_of(SAY, THINK), prompts=[SAY, THINK])
    assert [(run.model, run.variant, run.name) for run in runs] == [
        ("openai:gpt-4o", "say", "Sums"),
        ("openai:gpt-4o", "prompt 2", "Sums"),
        ("anthropic:messages:claude", "say", "Sums"),
        ("anthropic:messages:claude", "prompt 2", "Sums"),
    ]
    assert len({run.part for run in runs}) == 4
    assert runs[0].tasks == runs[1].tasks == runs[2].tasks == runs[3].tasks
    assert [(task.id, task.input, task.expected_output) for task in runs[0].tasks] == [
        ("test-1", "What is 0 + 0?", "0"),
        ("test-2", "What is 1 + 1?", "2"),
    ]
    assert [run.parameters["prompt_template"] for run in runs[:2]] == ["Say {{x}}: {input}", "Think. {input}"]
    assert runs[0].results[1].messages[0]["content"] == "Say {x}: What is 1 + 1?"


def test_variables_that_no_prompt_uses_are_no_part_of_the_task(tmp_path: Path) -> None:
    both = {"raw": "{{question}} Hint: {{hint | upper}}", "label": "hint"}
    rows = matrix_of(SAY, both)
    for row in rows:
        row["vars"] |= {"hint": "half of 2", "unused": "x"}
    first = read(tmp_path, *rows, prompts=[SAY, both])[0]
    assert first.tasks[0].input == "question: What is 0 + 0?\nhint: half of 2"
    assert first.parameters["prompt_template"] == SAY["raw"], "with two variables it is promptfoo's own"


def test_templates_that_the_file_lacks_are_read_from_the_filled_prompts(tmp_path: Path) -> None:
    plain = [{**SAY, "label": "say"}, {**THINK, "label": "think"}]
    rows = matrix_of(*plain)
    runs = read(tmp_path, *rows)
    assert {run.tasks[1].input for run in runs} == {"What is 1 + 1?"}
    assert [run.parameters["prompt_template"] for run in runs[:2]] == ["Say {{x}}: {input}", "Think. {input}"]
    for row in rows:
        row["prompt"]["raw"] += str(row["testIdx"])
    runs = read(tmp_path, *rows)
    assert {run.tasks[1].input for run in runs} == {"question: What is 1 + 1?\nanswer: 2"}, "all variables"
    assert [run.variant for run in runs[:2]] == ["say", "think"]


def test_prompts_of_one_label_are_told_apart(tmp_path: Path) -> None:
    rows = matrix_of({**SAY, "label": "same"}, {**THINK, "label": "same"})
    for row in rows:
        row["promptId"] = "a" * 64 if row["prompt"]["raw"].startswith("Say") else "b" * 64
    runs = read(tmp_path, *rows)
    assert [run.variant for run in runs[:2]] == ["same (aaaaaaaa)", "same (bbbbbbbb)"]
    assert {len(run.results) for run in runs} == {2}


def test_prompts_without_variables_have_tasks_of_their_own(tmp_path: Path) -> None:
    rows = [
        promptfoo_row(0, prompt={"raw": text, "label": text}, vars={}) for text in ("Name a color.", "Name a tree.")
    ]
    runs = read(tmp_path, *rows)
    assert [(run.name, run.variant) for run in runs] == [("Sums, prompt 1", ""), ("Sums, prompt 2", "")]
    assert [run.tasks[0].input for run in runs] == ["Name a color.", "Name a tree."]


def test_a_failed_request_is_an_error_and_not_a_zero(tmp_path: Path) -> None:
    failed = promptfoo_row(
        0, passed=False, failureReason=2, error="504 from upstream", gradingResult=None, response={"error": "504"}
    )
    imported = only(tmp_path, failed, promptfoo_row(1)).results[0]
    assert (imported.error, imported.scores) == ("504 from upstream", {})


def test_an_older_row_without_a_reason_of_failure_is_an_error_too(tmp_path: Path) -> None:
    row = promptfoo_row(0, passed=False, gradingResult=None, response=None, error="no key")
    del row["failureReason"]
    assert only(tmp_path, row).results[0].error == "no key"


def test_a_failed_grader_gives_no_verdict(tmp_path: Path) -> None:
    parts = [
        {"pass": True, "score": 1, "reason": "", "assertion": {"type": "contains"}},
        {
            "pass": False,
            "score": 0,
            "reason": "no JSON",
            "assertion": {"type": "llm-rubric"},
            "metadata": {"graderError": True},
        },
    ]
    row = promptfoo_row(
        0, passed=False, gradingResult={"pass": False, "score": 0, "reason": "", "componentResults": parts}
    )
    scores = only(tmp_path, row).results[0].scores
    assert {name: score.value for name, score in scores.items()} == {
        PASS: None,
        "promptfoo:score": None,
        "promptfoo:contains": 1.0,
        "promptfoo:llm-rubric": None,
    }
    assert scores[PASS].status is ScoreStatus.JUDGE_ERROR


def test_an_assertion_that_a_test_does_not_have_is_not_applicable(tmp_path: Path) -> None:
    part = {"pass": True, "score": 1, "reason": "", "assertion": {"type": "is-json"}}
    other = promptfoo_row(1, gradingResult={"pass": True, "score": 1, "componentResults": [part]})
    first, second = only(tmp_path, promptfoo_row(0), other).results
    assert first.scores["promptfoo:is-json"].status is ScoreStatus.NOT_APPLICABLE
    assert second.scores["promptfoo:contains"].status is ScoreStatus.NOT_APPLICABLE


REJECTED = Path(__file__).parent / "tool_logs" / "promptfoo_rejected.json"


def test_an_assertion_that_promptfoo_rejects_is_an_error_of_the_metric_and_not_of_the_provider() -> None:
    (run,) = read_runs(REJECTED)
    asked = {task.id: task.input for task in run.tasks}
    france, peru, japan, mali, chad = sorted(run.results, key=lambda result: result.task_id)
    assert [asked[result.task_id].split()[-1] for result in (peru, japan, chad)] == ["Peru?", "Japan?", "Chad?"]
    assert (france.error, france.scores[PASS].value) == (None, 1.0)
    for result, names, reason in (
        (peru, ("regex",), "An assertion failed: Invalid regex pattern: "),
        (japan, ("equals", "no-such-assertion"), "promptfoo rejected an assertion: Unknown assertion type: no-such-"),
        (chad, ("contains",), 'promptfoo rejected an assertion: Invariant failed: "contains" assertion type must have'),
    ):
        assert result.error is None, reason
        for name in ("pass", *names):
            assert result.scores[f"promptfoo:{name}"].status is ScoreStatus.METRIC_ERROR, name
        assert result.scores[PASS].reason.startswith(reason)
        assert "\n" not in result.scores[PASS].reason
    assert mali.error is not None
    assert mali.error.startswith("Error: socket hang up"), "it failed at the request"
    assert [result.answer_lost for result in (peru, japan, chad)] == [False, True, True]


def test_a_test_without_assertions_has_no_score(tmp_path: Path) -> None:
    row = promptfoo_row(0, testCase={"vars": {}}, gradingResult={"pass": True, "score": 1, "reason": "No assertions"})
    score = only(tmp_path, row).results[0].scores[PASS]
    assert (score.status, score.value) == (ScoreStatus.NOT_APPLICABLE, None)


def test_assertions_of_one_type_are_numbered(tmp_path: Path) -> None:
    parts = [{"pass": True, "score": 1, "reason": "", "assertion": {"type": "contains"}} for _ in range(2)]
    parts.append({"pass": True, "score": 0.5, "reason": "", "assertion": {"type": "javascript", "metric": "Tone"}})
    row = promptfoo_row(0, gradingResult={"pass": True, "score": 1, "reason": "", "componentResults": parts})
    assert list(only(tmp_path, row).metrics)[2:] == ["promptfoo:contains", "promptfoo:contains 2", "promptfoo:Tone"]


def test_the_same_test_again_is_a_repeat(tmp_path: Path) -> None:
    run = only(tmp_path, promptfoo_row(0), promptfoo_row(0, testIdx=1), promptfoo_row(5))
    assert [(each.task_id, each.repeat) for each in run.results] == [("test-1", 1), ("test-1", 2), ("test-6", 1)]


def test_different_tests_of_one_index_are_different_tasks(tmp_path: Path) -> None:
    rows = [promptfoo_row(0, prompt={"raw": f"Question {number}"}) for number in range(3)]
    run = only(tmp_path, *rows)
    assert [each.task_id for each in run.results] == ["test-1", "test-1-2", "test-1-3"]


def test_a_document_of_too_many_objects_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_json(tmp_path / "results.json", {"results": [{}] * 90})
    monkeypatch.setattr(reading, "MAX_CONTAINERS", 92)
    with pytest.raises(ImportProblem, match="expected a value"):
        read_runs(path)
    monkeypatch.setattr(reading, "MAX_CONTAINERS", 91)
    with pytest.raises(ImportProblem, match="more than 91 objects and lists"):
        read_runs(path)


def test_unknown_costs_and_tokens_are_not_zeros(tmp_path: Path) -> None:
    imported = only(tmp_path, promptfoo_row(0, cost=0, response={"output": {"sum": 0}})).results[0]
    assert (imported.cost_usd, imported.tokens_in, imported.tokens_out) == (None, None, None)
    assert imported.answer == '{"sum": 0}'


def test_an_error_is_reported_with_its_place(tmp_path: Path) -> None:
    for row, message in (
        (promptfoo_row(0, provider=None), "results.results[0].provider: expected a value, found nothing"),
        (promptfoo_row(0, prompt=None, vars=None), "results.results[0]: neither prompt.raw nor vars"),
        (promptfoo_row(0, success="yes"), "results.results[0].success: expected true or false"),
        (promptfoo_row(0, latencyMs=-1), "results.results[0].latencyMs: expected a number of at least 0, found -1"),
        (
            promptfoo_row(0, testIdx=10**40),
            "results.results[0].testIdx: expected a whole number up to 2,147,483,647, found a huge number",
        ),
        (promptfoo_row(0, gradingResult=[]), "results.results[0].gradingResult: expected an object, found a list"),
    ):
        with pytest.raises(ImportProblem) as problem:
            read(tmp_path, row)
        assert message in str(problem.value), row


LOG = Path(__file__).parent / "tool_logs" / "promptfoo_graded.json"


def test_a_file_of_promptfoo_with_a_grader_equals_its_own_summary() -> None:
    (run,) = read_runs(LOG)
    stats = json.loads(LOG.read_text())["results"]["stats"]
    usage, grading = stats["tokenUsage"], stats["tokenUsage"]["assertions"]
    names = {"test-1": "France is easy", "test-2": "Peru is harder", "test-3": "test-3"}
    assert {task.id: task.name for task in run.tasks} == names
    assert sum(result.scores[PASS].value or 0 for result in run.results) == stats["successes"] == 1
    assert sum(result.tokens_in or 0 for result in run.results) == usage["prompt"] == 30
    assert sum(result.tokens_out or 0 for result in run.results) == usage["completion"] == 6
    assert sum(result.cost_usd or 0 for result in run.results) == pytest.approx(0.0015)
    spent = [each for result in run.results for each in result.judging.values()]
    assert (sum(each.tokens_in or 0 for each in spent), sum(each.tokens_out or 0 for each in spent)) == (
        grading["prompt"],
        grading["completion"],
    )
    assert len(spent) == 2, "the third test has no grader"
    assert {each.cost_usd for each in spent} == {None}


def test_a_file_whose_summary_counts_otherwise_is_refused(tmp_path: Path) -> None:
    for stats, message in (
        ({"successes": 2, "failures": 2, "errors": 0}, "results.stats: 4 tests, but 3 results found"),
        ({"successes": 3, "failures": 0, "errors": 0}, "results.stats.successes: 3, but 2 results passed"),
    ):
        with pytest.raises(ImportProblem, match=message):
            read(tmp_path, stats=stats)
    assert read(tmp_path, stats={"successes": 2, "failures": 1, "errors": 0})


def test_what_of_a_file_is_not_used_is_said_once_and_of_rows_for_each_run(tmp_path: Path) -> None:
    rows = [promptfoo_row(0, trace={"tone": 1}), promptfoo_row(0, provider="other", metadata={"trace": 1})]
    first, second = read(tmp_path, *rows, table={"body": [1]})
    assert first.unused == ["Not imported: trace of results (1), table.body of the summary."]
    assert second.unused == ["Not imported: metadata of results (1)."]


def test_yaml_and_lines_that_cannot_be_read_say_where(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.yaml", "- " * 10_000, "more than 50 levels of lists and mappings"),
        ("a.yaml", "results: &all [*all]", "an alias of what contains it"),
        (
            "a.yaml",
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in itertools.pairwise("abcdefg")),
            "more than 1,000,000 values",
        ),
        ("a.yml", "results: [2026-01-31]", "date is not JSON"),
        ("a.yaml", "results: [", "invalid YAML"),
        ("a.jsonl", '{"results": 1}\n{', "line 2, line 1, column 2: invalid JSON"),
        ("a.jsonl", "[]", r"results\[0\]: expected an object, found a list"),
        ("a.jsonl", "", "results: none found"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ImportProblem, match=message):
            read_runs(tmp_path / name)


CHAT = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": "https://a.b/c"}],
    },
]


def test_a_prompt_that_is_a_chat_is_asked_as_its_messages(tmp_path: Path) -> None:
    messages = (CHAT[0], {"role": "user", "content": [{"text": "What?"}, {"image": "https://a.b/c"}]})
    as_yaml = "- role: user\n  content: Who?\n"
    for raw, expected in (
        (json.dumps(CHAT), messages),
        (as_yaml, ({"role": "user", "content": "Who?"},)),
        ("[1] is a footnote", ()),
        ('["a"]', ()),
        ("- role: [", ()),
    ):
        (task,) = only(tmp_path, promptfoo_row(prompt={"raw": raw, "label": "chat"})).tasks
        assert (tuple(task.messages), task.input) == (expected, "" if expected else raw), raw


def test_a_chat_that_no_task_can_have_stays_text_and_is_said(tmp_path: Path) -> None:
    for last in (
        {"role": "assistant", "content": "Yes"},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]},
    ):
        raw = json.dumps([*CHAT[:1], last])
        run = only(tmp_path, promptfoo_row(prompt={"raw": raw, "label": "chat"}))
        assert (run.tasks[0].input, run.tasks[0].messages) == (raw, ())
        assert run.unused == ["Not imported: prompt.raw as messages, which is text here, of results (1)."]


def test_scores_below_0_or_above_1_make_a_measurement_of_all_columns(tmp_path: Path) -> None:
    def row(number: int, score: float, provider: str) -> dict[str, Any]:
        assertion = {"type": "javascript", "value": "1", "metric": "profit"}
        graded = {"pass": True, "score": score, "componentResults": [{"score": score, "assertion": assertion}]}
        return promptfoo_row(number, score=score, provider={"id": provider}, gradingResult=graded)

    first, second = read(tmp_path, row(0, -1.5, "a"), row(1, 2.0, "a"), row(0, 0.5, "b"), row(1, 0.25, "b"))
    assert list(first.metrics) == list(second.metrics) == [PASS, "promptfoo#score", "promptfoo#profit"]
    assert [result.scores["promptfoo#profit"].value for result in first.results] == [-1.5, 2.0]
    broken = row(0, 0.5, "a") | {"score": float("nan")}
    score = only(tmp_path, broken).results[0].scores["promptfoo:score"]
    assert (score.status, score.value) == (ScoreStatus.METRIC_ERROR, None)


def at(place: int, provider: Any = "openai:gpt-4o", **config: Any) -> tuple[dict[str, Any], Any]:
    """A row of the column at this place, and its provider as the file configures it."""
    given = {"id": provider} if isinstance(provider, str) else provider
    return promptfoo_row(promptIdx=place, provider=given), {**given, "config": config}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([at(0, temperature=0), at(1, temperature=1)], ["openai:gpt-4o temperature 0", "openai:gpt-4o temperature 1"]),
        ([at(0), at(1, seed=7)], ["openai:gpt-4o provider 1", "openai:gpt-4o seed 7"]),
        (
            [at(0, {"id": "gpt", "label": "cold"}, temperature=0), at(1, {"id": "gpt", "label": "hot"}, temperature=1)],
            ["gpt cold", "gpt hot"],
        ),
        ([at(0, {"id": "gpt", "label": "cold"}), at(1, {"id": "opus", "label": "hot"})], ["cold ", "hot "]),
        ([at(0, apiHost="a"), at(1, apiHost="b")], ["openai:gpt-4o provider 1", "openai:gpt-4o provider 2"]),
    ],
)
def test_columns_of_one_model_are_named_by_what_distinguishes_them(
    columns: list[Any], expected: list[str], tmp_path: Path
) -> None:
    rows, providers = zip(*columns, strict=True)
    document = promptfoo_results(*rows, prompts=[{"provider": "p", "label": "x"}] * len(rows))
    document["config"]["providers"] = list(providers)
    runs = read_runs(write_json(tmp_path / "results.json", document))
    assert [f"{run.model} {run.variant}" for run in runs] == expected
    assert len({run.part for run in runs}) == len(rows)


def test_the_settings_of_a_provider_are_those_of_its_runs_and_others_are_counted(tmp_path: Path) -> None:
    row, provider = at(0, temperature=0.5, max_completion_tokens=20, seed=7.0, apiKey="x", apiHost="h", stop=["."])
    document = promptfoo_results(row)
    for providers in ([provider], provider, [{"openai:gpt-4o": {"config": provider["config"]}}]):
        document["config"]["providers"] = providers
        (run,) = read_runs(write_json(tmp_path / "results.json", document))
        assert run.parameters == {"temperature": 0.5, "max_tokens": 20, "seed": 7}
        assert type(run.parameters["seed"]) is int
        assert "config.apiHost of providers (1), config.stop of providers (1)" in run.unused[0]
        assert "apiKey" not in run.unused[0]
