from __future__ import annotations

import ast
from typing import Any

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import extract_code
from benchmarks.metrics.verdicts import metric_error, passed_or_not
from benchmarks.sandbox.sandbox import Report, Sandbox, SandboxError


class CodeTests(DeterministicMetric):
    """1 where the answer's code passes all of the task's ``tests``, run in a sandbox; otherwise 0, saying what failed.

    Every ``assert`` at the top level of the tests and every ``test_*`` function is one check. Code that does not
    compile, raises, ends the process or runs into a limit fails; a sandbox that fails is an error without a score.
    It is switched off unless made with a sandbox.
    """

    name = "code_tests"
    title = "Code tests"
    description = "The answer's code passes the task's tests, run in a sandbox"
    needs = frozenset({"tests"})
    blocking = True

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox

    def unavailable(self) -> str | None:
        if self.sandbox is None:
            return (
                "running answers' code is switched off; "
                "set benchmark.code_tests: true in codeforge.yaml to run it in a sandbox"
            )
        return self.sandbox.refusal()

    def score(self, item: Item) -> Score:
        extraction = extract_code(item.actual_output)
        unavailable = self.unavailable()
        if self.sandbox is None or unavailable:
            return metric_error(f"The tests were not run: {unavailable}.", extraction)
        tests = item.tests or ""
        problem = problem_in_tests(tests)
        if problem:
            return metric_error(f"The task's tests cannot be run: {problem}.", extraction)
        try:
            report = self.sandbox.run(extraction.text, tests)
        except SandboxError as error:
            return metric_error(f"The sandbox failed: {error}.", extraction)
        return passed_or_not(report.passed, _reason(report), extraction, **_detail(report))


def problem_in_tests(tests: str) -> str | None:
    """What is wrong with a task's tests, or ``None``. For checking datasets before any run."""
    try:
        body = ast.parse(tests).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    checks = [node for node in body if isinstance(node, ast.Assert)]
    functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    return None if checks or functions else "they hold no assert at the top level and no test function"


def _detail(report: Report) -> dict[str, Any]:
    return {
        "outcome": report.outcome,
        "checks": report.checks,
        "failures": list(report.failures),
        "output": report.output,
        "seconds": report.seconds,
    }


def _reason(report: Report) -> str:
    if report.passed:
        return f"All {report.checks} checks passed."
    if report.outcome == "tested":
        return f"{len(report.failures)} of {report.checks} checks failed: {'; '.join(report.failures[:3])}"
    if report.outcome == "not_loaded":
        return f"The code could not be run: {report.reason}"
    return f"The code did not finish its tests: {report.reason}."
