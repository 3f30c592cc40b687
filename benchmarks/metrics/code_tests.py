from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored
from benchmarks.metrics.extraction import extract_code
from benchmarks.providers.clean_text import full_sentence
from benchmarks.sandbox.python_source import has_checks, parse_python
from benchmarks.sandbox.sandbox import Report, Sandbox, SandboxError

_FAILURES = {"tested": "Tests failed", "not_loaded": "The code cannot be run"}


class CodeTests(DeterministicMetric):
    """1 if the answer's code passes all of the task's ``tests`` in a sandbox, otherwise 0 with the failures.

    Every ``assert`` at the top level of the tests and every ``test_*`` function is one check. Code that does not
    compile, raises, exits or exceeds a limit fails; a sandbox that fails is an error without a score.
    Without a sandbox the metric is turned off.
    """

    name = "code_tests"
    title = "Code tests"
    description = "The code in the answer passes the task's tests in a sandbox"
    needs = frozenset({"tests"})
    blocking = True

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox

    def unavailable(self) -> str | None:
        if self.sandbox is None:
            return "`benchmark.code_tests` in codeforge.yaml turns it off"
        return self.sandbox.refusal()

    def score(self, item: Item) -> Score:
        extraction = extract_code(item.actual_output)
        unavailable = self.unavailable()
        if self.sandbox is None or unavailable:
            return metric_error(f"The tests were not run: {unavailable}.", extraction)
        tests = item.tests or ""
        problem = problem_in_tests(tests)
        if problem:
            return metric_error(f"The task's tests are not usable: {full_sentence(problem)}", extraction)
        try:
            report = self.sandbox.run(extraction.text, tests)
        except SandboxError as error:
            return metric_error(f"The sandbox failed: {full_sentence(error)}", extraction)
        return scored(
            report.passed,
            _reason(report),
            extraction,
            failure=_FAILURES.get(report.outcome, "The tests did not finish"),
            outcome=report.outcome,
            checks=report.checks,
            failures=list(report.failures),
            output=report.output,
            seconds=report.seconds,
        )


def problem_in_tests(tests: str) -> str | None:
    """What is wrong with a task's tests, or ``None``."""
    try:
        tree = parse_python(tests)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    return None if has_checks(tree) else "they contain no top-level assert and no test function"


def _reason(report: Report) -> str:
    if report.passed:
        return f"All {report.checks} checks passed."
    if report.outcome == "tested":
        return f"{len(report.failures)} of {report.checks} checks failed: {'; '.join(report.failures[:3])}"
    if report.outcome == "not_loaded":
        return f"The code could not be run: {report.reason}"
    return f"The tests did not finish: {report.reason}."
