"""Logs of Inspect in the common form."""

from __future__ import annotations

import math
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.imports.reading import zipfile
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem
from benchmarks.imports.tests.logs import inspect_log, inspect_sample, read_runs, write_archive, write_json
from benchmarks.metrics.base import ScoreStatus

COMPRESSIONS = pytest.mark.parametrize(
    "compression",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_ZSTANDARD],
    ids=lambda number: f"method {number}",
)


def read(path: Path, *samples: dict[str, Any], **fields: Any) -> ImportedRun:
    (run,) = read_runs(write_json(path / "log.json", inspect_log(*samples, **fields)))
    return run


def result(path: Path, value: Any = "C", **fields: Any) -> ImportedResult:
    return read(path, inspect_sample(1, value, **fields)).results[0]


def test_a_log_becomes_a_run(tmp_path: Path) -> None:
    run = read(tmp_path)
    assert (run.format, run.model, run.name, list(run.metrics)) == (
        "inspect",
        "vendor/model",
        "sums",
        ["inspect:match"],
    )
    first_task = run.tasks[0]
    assert (first_task.id, first_task.input, first_task.expected_output) == ("1", "What is 1 + 1?", "2")
    assert [each.scores["inspect:match"].value for each in run.results] == [1.0, 0.0, 0.5]
    assert run.parameters == {"temperature": 0.5, "max_tokens": 100.0, "system_prompt": "Be brief."}
    assert run.started_at == datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
    assert run.shortfall == ""
    first = run.results[0]
    assert (first.answer, first.tokens_in, first.tokens_out, first.duration_ms) == ("2", 20, 2, 250.0)
    assert [message["role"] for message in first.messages] == ["system", "user", "assistant"]
    assert first.scores["inspect:match"].reason == "as expected"


def test_an_archive_reads_as_the_json_does(tmp_path: Path) -> None:
    for header in (
        "header.json",
        "_journal/start.json",
    ):
        log = inspect_log(*(inspect_sample(number) for number in range(1, 13)))
        (from_archive,) = read_runs(write_archive(tmp_path / "log.eval", log, header))
        assert from_archive == read(tmp_path, *log["samples"]), header
        assert [task.id for task in from_archive.tasks][8:11] == ["9", "10", "11"], header


def test_values_count_as_inspect_counts_them(tmp_path: Path) -> None:
    for value, number in (
        ("C", 1),
        ("I", 0),
        ("P", 0.5),
        ("N", 0),
        (True, 1),
        (False, 0),
        (1, 1),
        (0.25, 0.25),
        ("yes", 1),
        ("No", 0),
        ("0.5", 0.5),
    ):
        score = result(tmp_path, value).scores["inspect:match"]
        assert (score.status, score.value) == (ScoreStatus.SCORED, number), value


def test_a_value_that_is_not_a_number_is_a_zero_as_in_inspect_and_no_value_an_error_of_the_scorer(
    tmp_path: Path,
) -> None:
    for value, status, counted in (
        (math.nan, ScoreStatus.METRIC_ERROR, None),
        (None, ScoreStatus.METRIC_ERROR, None),
        ("perhaps", ScoreStatus.UNPARSABLE, 0.0),
        ("c", ScoreStatus.UNPARSABLE, 0.0),
        (math.inf, ScoreStatus.METRIC_ERROR, None),
    ):
        score = result(tmp_path, value).scores["inspect:match"]
        assert (score.status, score.value) == (status, counted), value
        assert score.reason, value


def test_a_scorer_that_gave_no_score_has_an_error_with_the_reason_in_the_log(tmp_path: Path) -> None:
    for fields, status, reason in (
        ({"reason": "grader_failed"}, ScoreStatus.JUDGE_ERROR, "Unscored in Inspect (grader failed). No grade."),
        ({"reason": "scoring_failed"}, ScoreStatus.METRIC_ERROR, "Unscored in Inspect (scoring failed). No grade."),
        (
            {"metadata": {"unscored_reason": "grader_failed"}},
            ScoreStatus.JUDGE_ERROR,
            "Unscored in Inspect (grader failed). No grade.",
        ),
        ({}, ScoreStatus.METRIC_ERROR, "Unscored in Inspect. No grade."),
    ):
        scores = {"match": {"value": math.nan, "explanation": "No grade.", **fields}}
        score = result(tmp_path, scores=scores).scores["inspect:match"]
        assert (score.status, score.value, score.reason) == (status, None, reason), fields


def test_a_scorer_that_is_missing_for_a_sample_has_an_error_there_but_not_where_there_is_no_answer(
    tmp_path: Path,
) -> None:
    error = {"message": "Connection lost"}
    run = read(tmp_path, inspect_sample(1), inspect_sample(2, scores={}), inspect_sample(3, error=error))
    first, second, third = (each.scores for each in run.results)
    assert first["inspect:match"].value == 1
    assert second["inspect:match"].status is ScoreStatus.METRIC_ERROR
    assert third == {}


def test_a_scorer_of_several_values_that_gave_none_has_an_error_in_each(tmp_path: Path) -> None:
    run = read(tmp_path, inspect_sample(1, {"clear": 1, "polite": 0}), inspect_sample(2, math.nan))
    assert list(run.metrics) == ["inspect:match/clear", "inspect:match/polite"]
    assert {score.status for score in run.results[1].scores.values()} == {ScoreStatus.METRIC_ERROR}
    assert list(run.results[1].scores) == list(run.metrics)


def test_a_score_of_several_values_is_several_metrics(tmp_path: Path) -> None:
    run = read(
        tmp_path, inspect_sample(1, {"clear": 1, "polite": None}), inspect_sample(2, {"clear": 0, "polite": "C"})
    )
    assert list(run.metrics) == ["inspect:match/clear", "inspect:match/polite"]
    assert run.results[0].scores["inspect:match/polite"].value is None
    assert run.results[1].scores["inspect:match/polite"].value == 1


def test_values_below_0_or_above_1_make_a_measurement(tmp_path: Path) -> None:
    assert list(read(tmp_path, inspect_sample(1, -1)).metrics) == ["inspect#match"]
    run = read(tmp_path, inspect_sample(1, 0.5), inspect_sample(2, 7))
    assert list(run.metrics) == ["inspect#match"]
    assert [each.scores["inspect#match"].value for each in run.results] == [0.5, 7]


def test_an_error_has_no_scores(tmp_path: Path) -> None:
    imported = result(tmp_path, "I", error={"message": "Connection lost", "traceback": "", "traceback_ansi": ""})
    assert (imported.error, imported.scores) == ("Connection lost", {})


def test_a_sample_that_was_never_answered_is_cancelled(tmp_path: Path) -> None:
    imported = result(tmp_path, scores=None, output={"model": "", "choices": []}, messages=[])
    assert (imported.cancelled, imported.error) == (True, None)


def test_epochs_are_repeats_of_one_task(tmp_path: Path) -> None:
    run = read(tmp_path, inspect_sample(1), inspect_sample(1, "I", epoch=2))
    assert len(run.tasks) == 1
    assert [each.repeat for each in run.results] == [1, 2]


def test_content_parts_and_attachments_become_text(tmp_path: Path) -> None:
    key = "0123456789abcdef0123456789abcdef"
    parts = [
        {"type": "reasoning", "reasoning": "Let me add."},
        {"type": "text", "text": f"attachment://{key}"},
        {"type": "image", "image": "data:image/png;base64,AAAA"},
    ]
    choice = {"message": {"role": "assistant", "content": parts}, "stop_reason": "max_tokens"}
    imported = result(tmp_path, output={"choices": [choice]}, attachments={key: "It is two."})
    assert (imported.answer, imported.reasoning, imported.finish_reason) == (
        "It is two.\n[image]",
        "Let me add.",
        "length",
    )


def test_a_chat_as_input_becomes_messages_and_several_targets_accepted_answers(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Add."}]}]
    task = read(tmp_path, inspect_sample(1, input=chat, target=["2", "two", "2"], choices=["1", "2"])).tasks[0]
    assert (task.input, task.expected_output) == ("", ("2", "two"))
    assert task.messages == ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add."})
    assert task.choices == ("1", "2")


def test_an_input_that_no_task_can_have_becomes_text_and_is_said(tmp_path: Path) -> None:
    for chat, text in (
        ([{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}], "user: A\n\nassistant: B"),
        ([{"role": "user", "content": [{"type": "image", "image": "photo.png"}]}], "[image]"),
        ([{"role": "user", "content": [{"type": "audio", "audio": "x"}]}], "[audio]"),
    ):
        run = read(tmp_path, inspect_sample(1, input=chat))
        assert (run.tasks[0].input, run.tasks[0].messages) == (text, ()), chat
        assert "input as messages, which is text here, of samples (1)" in run.unused[-1]


def test_metadata_that_a_task_cannot_have_is_said_and_that_of_all_epochs_kept(tmp_path: Path) -> None:
    first = {"hops": 2, "kind": "sum", "turn": 1, "sub-topic": "x", "long": "x" * 101, "list": [1], "none": None}
    epochs = [inspect_sample(1, epoch=1, metadata=first), inspect_sample(1, epoch=2, metadata={**first, "turn": 2})]
    run = read(tmp_path, *epochs)
    assert run.tasks[0].metadata == {"hops": 2, "kind": "sum"}
    assert run.unused == [
        "Not imported: metadata.sub-topic of samples (2), metadata.long of samples (2), metadata.list of samples (2), "
        "metadata.turn, which epochs change, of samples (1)."
    ]


def test_tool_calls_are_kept(tmp_path: Path) -> None:
    calls = [
        {"id": "a", "function": "add", "arguments": {"a": 1}},
        {"id": "b", "function": {"name": "sub"}, "arguments": "not parsed"},
    ]
    choice = {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "stop_reason": "tool_calls"}
    imported = result(tmp_path, output={"choices": [choice]})
    assert [(call["name"], call["arguments"], call["malformed"]) for call in imported.tool_calls] == [
        ("add", {"a": 1}, False),
        ("sub", None, True),
    ]


def test_what_an_interrupted_log_lacks_is_reported(tmp_path: Path) -> None:
    log = inspect_log(status="cancelled")
    log["eval"]["dataset"]["samples"] = 10
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert run.shortfall == "Status in Inspect: cancelled. The log has 3 of 10 samples."


def missing(run: ImportedRun) -> list[tuple[str, int]]:
    return [(each.task_id, each.repeat) for each in run.results if each.cancelled and not each.messages]


def test_samples_that_the_log_should_have_are_results_without_an_answer(tmp_path: Path) -> None:
    log = inspect_log()
    log["eval"]["dataset"] |= {"samples": 10, "sample_ids": [1, 2, 3, "4", 5]}
    log["eval"]["config"] = {"limit": 5}
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert missing(run) == [("4", 1), ("5", 1)]
    assert [task.id for task in run.tasks] == ["1", "2", "3", "4", "5"]
    assert run.tasks[3].input == "(The log lacks the sample 4.)"
    assert run.shortfall == "The log has 3 of 5 samples."


def test_epochs_that_the_log_should_have_are_results_without_an_answer(tmp_path: Path) -> None:
    log = inspect_log(inspect_sample(1), inspect_sample(1, epoch=2), inspect_sample(2))
    log["eval"] |= {"dataset": {"samples": 2, "sample_ids": [1, 2]}, "config": {"epochs": 2}}
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert missing(run) == [("2", 2)]
    assert len(run.tasks) == 2
    assert run.shortfall == "The log has 3 of 4 samples."


def test_without_their_ids_missing_samples_count_unless_part_was_chosen(tmp_path: Path) -> None:
    log = inspect_log()
    log["eval"]["dataset"]["samples"] = 5
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert missing(run) == [("missing 1", 1), ("missing 2", 1)]
    log["eval"]["config"] = {"limit": 3}
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert (missing(run), run.shortfall) == ([], "The log has 3 of 5 samples, as requested.")


@pytest.mark.parametrize(
    ("dataset", "epochs"),
    [({"samples": 2**31 - 1}, 1), ({"samples": 3, "sample_ids": [1, 2, 3, *range(9, 9_000)]}, 32_767)],
)
def test_more_than_a_dataset_can_have_is_only_said(dataset: dict[str, Any], epochs: int, tmp_path: Path) -> None:
    log = inspect_log()
    log["eval"] |= {"dataset": dataset, "config": {"epochs": epochs}}
    (run,) = read_runs(write_json(tmp_path / "log.json", log))
    assert missing(run) == []


def test_an_error_is_reported_with_its_place(tmp_path: Path) -> None:
    for log, message in (
        (inspect_log(samples=[]), "samples: none found"),
        (inspect_log(samples={}), "samples: expected a list, found an object"),
        (inspect_log(eval={"task": "sums"}), "eval.model: expected a value, found nothing"),
        (inspect_log(inspect_sample(1, id=None)), "samples[0].id: expected a value, found nothing"),
        (inspect_log(inspect_sample(1, input=7)), "samples[0].input: expected a list, found 7"),
        (inspect_log(inspect_sample(1, epoch=1.5)), "samples[0].epoch: expected a whole number"),
        (inspect_log(inspect_sample(1, scores=[])), "samples[0].scores: expected an object, found a list"),
        (inspect_log(inspect_sample(1), inspect_sample(1)), 'task "1": repeat 1 occurs twice'),
        (inspect_log(inspect_sample(1), inspect_sample(1, epoch=2, input="Else?")), 'sample "1": its epochs differ'),
        (inspect_log(inspect_sample(1, completed_at="yesterday")), "completed_at: expected a time"),
        ([], "none of Inspect logs"),
        ({}, "none of Inspect logs"),
    ):
        with pytest.raises(ImportProblem) as problem:
            read_runs(write_json(tmp_path / "log.json", log))
        assert str(problem.value).startswith("log.json: "), log
        assert message in str(problem.value), log


def test_invalid_json_is_reported_with_its_place(tmp_path: Path) -> None:
    for content, message in (
        (b'{"eval": {\n', "line 2, column 1: invalid JSON"),
        (b'{"eval": "\xff"}', "invalid UTF-8 at byte 10"),
        (b"[" * 200_000, "JSON that cannot be read"),
        (b'{"eval": ' + b"1" * 5_000 + b"}", "JSON that cannot be read"),
        (b"PK\x03\x04 and no more", "invalid JSON"),
        (b"", "invalid JSON"),
    ):
        path = tmp_path / "log.json"
        path.write_bytes(content)
        with pytest.raises(ImportProblem, match=message):
            read_runs(path)


@COMPRESSIONS
def test_every_compression_of_archives_is_read(tmp_path: Path, compression: int) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log(), compression=compression)
    [run] = read_runs(path)
    assert [result.answer for result in run.results] == ["2", "4", "6"]


@COMPRESSIONS
def test_a_bomb_is_not_unpacked(tmp_path: Path, compression: int) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log())
    with zipfile.ZipFile(path, "a", compression) as file:
        file.writestr("samples/0_epoch_1.json", b"[" + b" " * 40_000_000 + b"]")
    tracemalloc.start()
    try:
        with pytest.raises(ImportProblem, match=r"samples/0_epoch_1.json: exceeds the limit"):
            read_runs(path, max_bytes=100_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_member_of_600_mb_is_refused_in_the_memory_of_a_small_one(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file, file.open("samples/9_epoch_1.json", "w") as member:
        member.write(b'{"id": "')
        for _ in range(600):
            member.write(b"x" * 1_000_000)
        member.write(b'"}')
    tracemalloc.start()
    try:
        with pytest.raises(
            ImportProblem, match=r"samples/9_epoch_1.json: exceeds the limit of \d+ MB when decompressed"
        ):
            read_runs(path, max_bytes=256 * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@COMPRESSIONS
def test_a_damaged_member_is_reported(tmp_path: Path, compression: int) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log(), compression=compression)
    content = bytearray(path.read_bytes())
    content[60:70] = b"\xff" * 10
    path.write_bytes(content)
    with pytest.raises(ImportProblem, match=r"samples/1_epoch_1.json.*(cannot be read|invalid JSON|invalid UTF-8)"):
        read_runs(path)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log())
    content = path.read_bytes()
    place = content.rindex(b"PK\x01\x02")
    path.write_bytes(content[: place + 24] + b"\x01\x00\x00\x00" + content[place + 28 :])
    with pytest.raises(ImportProblem, match=r"header.json"):
        read_runs(path)


def test_another_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(ImportProblem, match=r"header.json not found"):
        read_runs(path)


def test_what_of_a_log_is_not_used_is_said_with_counts(tmp_path: Path) -> None:
    samples = [
        inspect_sample(1, store={"steps": 3}, events=[{"event": "model"}], files={}, uuid="x"),
        inspect_sample(2, events=[{"event": "model"}], scores={"match": {"value": "C", "metadata": {"why": "x"}}}),
    ]
    run = read(tmp_path, *samples, tags=["mine", "x" * 41, 7], **{"new\x1b[31m" + "y" * 200: 1})
    assert run.tags == ("mine",)
    assert run.unused == [
        f"Not imported: tags of the log, new\\u001b[31m{'y' * 87} of the log, "
        "store of samples (1), metadata.why of scores (1)."
    ]
    many = inspect_sample(1, **{f"key{number}": 1 for number in range(1_000)})
    (sentence,) = read(tmp_path, many).unused
    assert sentence.endswith("key29 of samples (1), 970 more.")
    assert read(tmp_path).unused == []


def said(*messages: tuple[str, str]) -> list[dict[str, str]]:
    """Messages, of which those of the user are the sample's input, and a last one of the assistant."""
    sources = {"user": {"source": "input"}}
    before = [{"role": role, "content": text, **sources.get(role, {})} for role, text in messages]
    return [*before, {"role": "assistant", "content": "A", "source": "generate"}, {"role": "user", "content": "Sure?"}]


def test_what_solvers_put_around_the_inputs_is_the_runs_system_prompt_and_template(tmp_path: Path) -> None:
    first, second = "What is 1 + 1?", "What is 2 + 2?"
    other = "System messages that solvers added differ between samples: they are only in the messages of the results."
    changed = "Prompts that solvers changed differ between samples: they are only in the messages of the results."
    for one, two, parameters, sentences in (
        ([("user", first)], [("user", second)], {}, []),
        ([("user", f"{{Q}} {first}!")], [("user", f"{{Q}} {second}!")], {"prompt_template": "{{Q}} {input}!"}, []),
        ([("system", "S"), ("user", first)], [("system", "S"), ("user", second)], {"system_prompt": "S"}, []),
        ([("system", "S"), ("user", first)], [("system", "T"), ("user", second)], {}, [other]),
        ([("system", "S"), ("user", first)], [("user", second)], {}, [other]),
        ([("system", "S"), ("system", "T"), ("user", first)], [("user", second)], {}, [other]),
        ([("user", f"A {first}")], [("user", f"B {second}")], {}, [changed]),
        ([("user", f"{first} {first}")], [("user", f"{second} {second}")], {}, [changed]),
        ([("user", "An example"), ("user", first)], [("user", "An example"), ("user", second)], {}, [changed]),
    ):
        run = read(tmp_path, inspect_sample(1, messages=said(*one)), inspect_sample(2, messages=said(*two)))
        settings = {name: text for name, text in run.parameters.items() if name in ("system_prompt", "prompt_template")}
        assert (settings, [each for each in run.unused if "solvers" in each]) == (parameters, sentences), one
        assert [task.input for task in run.tasks] == [first, second]


def test_a_question_with_choices_is_asked_as_the_solver_wrote_it(tmp_path: Path) -> None:
    texts = [f"Choose.\n\nWhat is {n} + {n}?\n\nA) {n}\nB) {2 * n}" for n in (1, 2)]
    samples = [
        inspect_sample(n, choices=[str(n), str(2 * n)], target="B", messages=said(("user", text)))
        for n, text in enumerate(texts, 1)
    ]
    run = read(tmp_path, *samples)
    assert [task.input for task in run.tasks] == texts
    assert (run.parameters.get("prompt_template"), [each for each in run.unused if "solvers" in each]) == (None, [])
    shuffled = samples[0] | {"epoch": 2, "messages": said(("user", texts[0].replace("A) 1\nB) 2", "A) 2\nB) 1")))}
    run = read(tmp_path, samples[0], shuffled)
    assert run.tasks[0].input == "What is 1 + 1?", "epochs that differ leave the input as it is"
