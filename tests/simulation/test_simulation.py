"""The engine keeps its rules whatever the seed; a seed can be replayed; planted faults are found."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.simulation.checker import RESULT_CHANGES, RUN_CHANGES
from tests.simulation.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
PART = 50
# History of a seed, also after others in the same process.
HISTORY = """
import sys, django
django.setup()
from tests.simulation.trying import prepared
with prepared() as tried:
    *_, last = [tried(int(seed)) for seed in sys.argv[1:]]
print(last.broken, *last.history, sep="\\n")
"""
# Statements and history of seeds, with queries that are kept or with Django's own.
STATEMENTS = """
import re, sys, contextlib, hashlib, django
django.setup()
from django.db import connection
from tests.simulation import trying
if sys.argv[1] == "django":
    trying.quick_queries = contextlib.nullcontext
digest = hashlib.sha256()
def note(execute, sql, parameters, many, context):
    parameters = [*parameters] if many else parameters
    said = repr((sql, [str(each) for each in parameters or ()]))
    # The real time is in what all seeds begin with, and the number of the thread in the names of savepoints.
    digest.update(re.sub(r"20(?!2[56]-(12-31|01-01))\\d\\d-\\S+ [0-9:.]+|s\\d+_x\\d+", "", said).encode())
    return execute(sql, parameters, many, context)
with trying.prepared() as tried, connection.execute_wrapper(note):
    for seed in sys.argv[2:]:
        outcome = tried(int(seed))
        print(outcome.broken, *outcome.history, digest.hexdigest(), sep="\\n")
"""


def python(*arguments: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": "0", "DJANGO_SETTINGS_MODULE": "codeforge.settings"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout


@pytest.mark.parametrize("begin", range(0, 200, PART))
def test_every_rule_holds(begin: int) -> None:
    printed = python("-m", "tests.simulation", "--begin", str(begin), "--seeds", str(PART))
    assert f"{PART} seeds" in printed
    assert "0 broke a rule" in printed
    assert "a worker is killed" in printed


def test_a_seed_has_one_history_alone_and_after_others() -> None:
    alone = python("-c", HISTORY, "19")
    assert len(alone.splitlines()) > 20
    assert python("-c", HISTORY, "18", "19") == alone


def test_queries_that_are_kept_are_those_that_django_makes() -> None:
    seeds = [str(seed) for seed in range(12, 20)]
    assert python("-c", STATEMENTS, "kept", *seeds) == python("-c", STATEMENTS, "django", *seeds)


def test_the_documented_changes_are_those_that_are_checked() -> None:
    assert ("queued", "preparing") in RUN_CHANGES
    assert ("completed", "queued") not in RUN_CHANGES
    assert ("judging", "answered") in RESULT_CHANGES
    assert ("done", "pending") not in RESULT_CHANGES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["answers are written though others hold them", "a judged result stays claimed"])
def test_a_planted_fault_is_found(name: str) -> None:
    number = [mutant.name for mutant in MUTANTS].index(name)
    assert f"{name}: seed" in python("-m", "tests.simulation", "--mutant", str(number), "--seeds", "60")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_of_a_planted_fault_exists_once(mutant: Mutant) -> None:
    assert mutant.source(import_module(f"benchmarks.{mutant.module}"))
