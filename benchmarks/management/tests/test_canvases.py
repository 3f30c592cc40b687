"""``manage.py canvases``: output and exit codes."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmarks.services.canvas_sets import control as services
from tasks_app.models import CanvasSet, Question

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and output."""
    out = io.StringIO()
    try:
        call_command("canvases", *map(str, arguments), stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, str(error)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_generate_prints_the_set_and_its_audit() -> None:
    code, printed = run("generate", "--shapes", 7, "--count", 20, "--seed", 11)
    assert code == 0
    assert printed.startswith("7-shapes-seed-11: 20 canvases, 120 tasks, generated in ")
    row = next(line.split() for line in printed.splitlines() if line.startswith("Existence  "))
    assert row[:4] == ["Existence", "20", "0", "0"]
    assert row[5:11] == ["0.500", "0.500", "20", "0", "0", "0"]
    assert all(re.fullmatch(r"0\.\d{3}", score) for score in row[-2:])
    assert CanvasSet.objects.get().audited == 20


def test_generate_again_with_a_larger_count_grows_the_set() -> None:
    run("generate", "--shapes", "3-5", "--count", 6, "--seed", 2)
    assert run("generate", "--shapes", "3-5", "--count", 15, "--seed", 2)[0] == 0
    assert CanvasSet.objects.get().count == 15


def test_a_terminal_sees_a_progress_bar_and_a_pipe_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream, count in ((terminal, 4), (pipe, 8)):
        monkeypatch.setattr(sys, "stderr", stream)
        run("generate", "--shapes", 3, "--count", count)
    assert f"[{'#' * 30}] 4/4 Generating" in terminal.getvalue()
    assert pipe.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--shapes", "0", "--count", "5"], "shapes: A canvas has 1 to 24 shapes"),
        (["--shapes", "25", "--count", "5"], "shapes: A canvas has 1 to 24 shapes"),
        (["--shapes", "7", "--count", "0"], "count: "),
        (["--shapes", "7", "--count", "1000000000"], "count: "),
        (["--shapes", "7", "--count", "5", "--seed", "pi"], "seed: A valid integer is required."),
        (["--shapes", "7", "--count", "5", "--tracking-steps", "0"], "--tracking-steps: "),
        (["--shapes", "7"], "--count"),
    ],
)
def test_an_invalid_request_is_an_error(arguments: list[str], says: str) -> None:
    code, message = run("generate", *arguments)
    assert code != 0
    assert says in message
    assert not CanvasSet.objects.exists()


def test_control_c_keeps_the_canvases_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(set_id: int, progress: object = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(services.generation, "grow", interrupted)
    code, message = run("generate", "--shapes", 7, "--count", 5)
    assert (code, message) == (2, "Stopped. Canvases generated so far are kept.")
    assert not CanvasSet.objects.get().is_growing


def test_export_and_import_go_both_ways(tmp_path: Path) -> None:
    run("generate", "--shapes", "8-9", "--count", 6, "--name", "mine")
    assert run("export", "mine", tmp_path / "out") == (0, f"Wrote 6 files to {tmp_path / 'out'}.\n")
    code, printed = run("import", tmp_path / "out", "--name", "theirs")
    assert code == 0
    assert printed.startswith("theirs: 6 canvases, 36 tasks, imported.\n")
    assert run("export", "theirs", tmp_path / "out")[0] == 2


def test_import_takes_files_too_and_names_a_bad_one(tmp_path: Path) -> None:
    run("generate", "--shapes", 8, "--count", 2, "--name", "mine")
    run("export", "mine", tmp_path / "out")
    (tmp_path / "canvas_3_9.json").write_text("[]")
    code, message = run("import", tmp_path / "out" / "canvas_8_0.json", tmp_path / "canvas_3_9.json")
    assert (code, message) == (2, "Request refused:\n  files: canvas_3_9.json: must be an object, not list")
    assert run("import", tmp_path / "out" / "canvas_8_0.json")[1].startswith("out: 1 canvases, 6 tasks")


def test_an_audit_that_finds_a_wrong_answer_exits_with_1() -> None:
    run("generate", "--shapes", 7, "--count", 2, "--name", "mine")
    assert run("audit", "mine")[0] == 0
    wrong = Question.objects.filter(task_name="count").earliest("pk")
    Question.objects.filter(pk=wrong.pk).update(answer="99")
    code, printed = run("audit", "mine", "--json")
    assert code == 1
    assert json.loads(printed)["audit"]["tasks"]["count"]["wrong"] == 1


def test_list_names_every_set() -> None:
    assert run("list")[1].startswith("No canvas sets yet.")
    run("generate", "--shapes", "3-12", "--count", 10, "--seed", 4)
    assert "  3-to-12-shapes-seed-4        10  3 to 12     56  Generated, seed 4" in run("list")[1].splitlines()[1]
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["slug"], row["count"], row["tasks"]) == ("3-to-12-shapes-seed-4", 10, 56)


@pytest.mark.parametrize("action", ["audit", "export"])
def test_an_unknown_set_is_an_error(action: str, tmp_path: Path) -> None:
    arguments = [tmp_path] if action == "export" else []
    assert run(action, "nope", *arguments) == (2, "Canvas set nope does not exist. Existing sets: none yet.")
