"""Every command and action: ``--json`` prints one document, and shells complete it."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command, get_commands, load_command_class

from benchmarks.engine.workers import depart, report
from benchmarks.imports.tests.logs import inspect_log, write_archive
from benchmarks.management import following
from benchmarks.models import Result, Run
from benchmarks.services.experiments.files import read_experiment_file
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.judges import start_calibration
from benchmarks.services.preferences import start_preference
from benchmarks.services.reviews.queues import create_review
from codeforge.command import SHORT
from codeforge.config import ProviderConfig
from codeforge.management.commands.completion import APPS
from tests.support import services
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.factories import JUDGE, make_dataset, make_run
from tests.support.labeled_runs import label_answers, make_judged_run, make_review
from tests.support.page_factories import make_scored_run
from tests.support.running import VERDICT, Endpoint

ROOT = Path(__file__).resolve().parents[2]
NO_FACTS = {"dev", "completion", "migrate"}
"""Commands that print no facts: a server, a script, and Django's own."""
LINES = """
datasets import {folder}/table.jsonl --slug imported
datasets check {folder}/datasets
datasets sync
datasets list
datasets show sums
datasets presets
datasets generate instruction-following --seed 3
datasets analyze sums
datasets analyze sums --mark-doubtful task-1
datasets export sums
datasets export sums --output {folder}/copy.yaml
datasets schema
datasets schema --check
schema show experiment
schema write
schema write --check
canvases generate --shapes 3 --count 2
canvases list
canvases show 3-shapes-seed-0
canvases audit 3-shapes-seed-0
canvases export 3-shapes-seed-0 {folder}/canvases
canvases import {folder}/canvases --name copied
canvases delete 3-shapes-seed-0
benchmark run sums --model baseline/reference --metrics exact_match
benchmark run sums --model baseline/reference --metrics exact_match --detach
benchmark show {right}
benchmark list
benchmark plan sums --model baseline/reference --metrics exact_match
benchmark plan sums --model baseline/reference --metrics exact_match --to-see 5
benchmark verify {on_canvases}
benchmark steps {result}
benchmark compare {right} {wrong}
benchmark gate {wrong} --against {right} --margin 2
benchmark gate {wrong} --against {right} --margin 2 --series release
benchmark series
benchmark series release
benchmark gate --reset release
benchmark rescore {on_canvases} --metrics contains --plan
benchmark rescore {on_canvases} --metrics contains --detach
benchmark edit {right} --name first
benchmark cancel {queued}
benchmark resume {queued}
benchmark retry-failed {broken}
benchmark check-contamination {on_canvases}
benchmark experiment plan {folder}/experiment.yaml
benchmark experiment run {folder}/experiment.yaml --detach
benchmark experiment list
benchmark experiment show {experiment}
benchmark experiment export {experiment} --output {folder}/matrix.csv
benchmark import {folder}/log.eval
benchmark export {broken} --output {folder}/results.csv
judge calibrate --canvas-set {canvas_set} --judge {judge} --questions 18
judge list
judge agreement --judge {judge}
judge corrected {right}
judge show {calibration}
judge cancel {calibration}
judge resume {calibration}
judge delete {calibration}
preference compare {right} {wrong} --judge {judge}
preference compare {right} {wrong} --judge {judge} --plan
preference list
preference show {preference}
preference cancel {preference}
preference resume {preference}
preference delete {preference}
review create Sums --metric exact_match --runs {right} --overlap 0
review list
review show {review}
review label {result} --metric exact_match --value 1 --reason sure
review labels {result}
review import {review} {folder}/labels.jsonl
review export {review}
review export {review} --output {folder}/labels.csv
review close {review}
review reopen {review}
review delete {review}
providers list
providers show loop
providers check loop
providers test loop/model
providers address open http://127.0.0.1:9/v1
providers price loop/other --input 1 --output 2
providers system own-bot {folder}/system.yaml
providers system own-bot --remove
tokens create ada ci
tokens list
tokens revoke ada ci
groups
groups ada runner
worker_health
doctor
benchmark delete {wrong}
prune --older-than 90d
backup {folder}/backup.zip
restore {folder}/backup.zip --rehearse
restore {folder}/backup.zip --replace
"""
EXPERIMENT = """
name: Two
datasets: [sums]
models: [baseline/reference, baseline/empty]
metrics: [exact_match]
"""


def actions() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command, or each of its actions, and its parser."""
    for name, app in get_commands().items():
        if app not in APPS or name in NO_FACTS:
            continue
        yield from _actions(name, load_command_class(app, name).create_parser("codeforge", name))


def _actions(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action, each in (item for choices in below for item in choices.items()):
        yield from _actions(f"{name} {action}", each)
    if not below:
        yield name, parser


@pytest.mark.django_db(transaction=True)
def test_each_command_prints_one_json_document(
    endpoint: Endpoint, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "WAIT_FOR_WORKER_SECONDS", 0.0)
    monkeypatch.setattr(following, "runs_without_worker", lambda: Run.objects.values_list("pk", flat=True))
    endpoint(lambda asked: VERDICT)
    settings.CODEFORGE.providers["open"] = ProviderConfig(default_url="http://127.0.0.1:19/v1")
    settings.DATASETS_DIR = tmp_path / "datasets"
    settings.DATASETS_DIR.mkdir()
    shutil.copy(ROOT / "datasets/instruction-following.yaml", settings.DATASETS_DIR)
    (tmp_path / "table.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n')
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    (tmp_path / "system.yaml").write_text("url: http://127.0.0.1:9/ask\nbody: {q: '{input}'}\n")
    write_archive(tmp_path / "log.eval", inspect_log())
    User.objects.create_user("ada")
    worker = f"{socket.gethostname()}:1"
    sums, canvas_set = make_dataset(3), make_canvas_set(count=6)
    values = {
        "right": make_scored_run(sums, (1.0, 1.0, 1.0)).pk,
        "wrong": make_scored_run(sums, (0.0, 1.0, 0.0)).pk,
        "broken": make_scored_run(sums, (1.0, None, 1.0)).pk,
        "queued": make_run(sums).pk,
        "on_canvases": canvas_run(canvas_set).pk,
        "calibration": start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18}).pk,
    }
    compared = {"runs": [values["right"], values["wrong"]], "judge_model": JUDGE}
    values["preference"] = start_preference(compared).pk
    values["experiment"] = start_experiment(read_experiment_file(tmp_path / "experiment.yaml")).pk
    judged, truth = make_judged_run(40, judge_model=JUDGE)
    label_answers(judged, truth, make_review(judged), 30)
    values["result"] = Result.objects.filter(run=values["right"])[0].pk
    values["review"] = create_review({"name": "Sums", "metric": "exact_match", "runs": [values["right"]]}).pk
    (tmp_path / "labels.jsonl").write_text(f'{{"result": {values["result"]}, "value": 1}}')
    values |= {"folder": tmp_path, "judge": JUDGE, "canvas_set": canvas_set.slug}
    walked = set()
    for line in LINES.split("\n")[1:-1]:
        words = shlex.split(line.format(**values))
        output = StringIO()
        report(worker, threads=1)
        if words[0] == "restore":  # refused while a worker is alive
            depart(worker)
        with suppress(SystemExit):  # with what is printed, some say that something is missing
            call_command(*words, "--json", stdout=output, stderr=StringIO())
        assert isinstance(json.loads(output.getvalue()), dict | list), line
        walked |= {" ".join(words[:count]) for count in (1, 2, 3)}
    assert {name for name, _ in actions()} <= walked
    assert all("--json" in parser._option_string_actions for _, parser in actions())


ASKED = {
    "codeforge benchmark sh": ["show"],
    "codeforge run sums --juni": ["--junit"],
    "codeforge experiment ex": ["export"],
    "codeforge tokens create --scope lau": ["launch"],
    "codeforge prune --dry": ["--dry-run"],
    "codeforge datasets check dataset.schema.j": ["dataset.schema.json"],
}
"""A line → what Tab makes of its last word."""
BASH = """
source "$1"
read -ra COMP_WORDS <<< "$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_codeforge
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = 'source $argv[1]; complete -C "$argv[2]" | string replace -r "\\t.*" ""'
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; codeforge() { print -r -- "<$@>"; }'
zpty -w shell 'eval "$(<'$1')"; print rea""dy'
zpty -r shell line '*ready*'
zpty -w -n shell "$2"$'\\t\\n'
zpty -r shell line '*<*>*'
print -r -- "${${line##*<}%%>*}"
"""


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_completes_what_the_parsers_know(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        services.missing(shell)
    script = tmp_path / f"completion.{shell}"
    with script.open("w") as file:
        call_command("completion", shell, stdout=file)
    program = {"bash": BASH, "fish": FISH, "zsh": ZSH}[shell]
    arguments = ["-c", program, str(script)] if shell == "fish" else ["-c", program, shell, str(script)]
    (tmp_path / "dataset.schema.json").touch()
    for line, expected in ASKED.items():
        done = subprocess.run(
            [shell, *arguments, line], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60
        )
        words = done.stdout.split()
        assert words == (line.split()[1:-1] + expected if shell == "zsh" else expected), (line, done.stderr)


def test_a_script_names_every_command_and_hides_what_django_adds() -> None:
    output = StringIO()
    call_command("completion", "fish", stdout=output)
    script = output.getvalue()
    assert [name for name, _ in actions() if f"'{name}'" not in script and f" {name} " not in script] == []
    for name in SHORT:
        assert f"-a {name} " in script
    assert "-l pythonpath" not in script
