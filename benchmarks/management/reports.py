"""A run as files and text for other programs: JSON, JUnit XML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from django.db.models.functions import Left

from benchmarks.analysis.comparisons import Compared
from benchmarks.engine.execution.verification import Verification
from benchmarks.management.actions import reader_of
from benchmarks.management.gates import Gate
from benchmarks.management.printing import (
    METRICS,
    cost_words,
    metric_rows,
    outcome_words,
    progress_words,
    title_words,
    weighted_lines,
)
from benchmarks.models import ERRORS, Outcome, Result, Run
from benchmarks.page_urls import page_address
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.comparisons import ComparisonResource
from benchmarks.queries.resources.runs import RunResource

FAILURES = (Outcome.WRONG, Outcome.PARTIAL, Outcome.UNPARSABLE, Outcome.TRUNCATED, Outcome.REFUSED)
SHOWN = 2_000
"""Characters of an answer and of an expected answer that a JUnit report shows."""
BATCH = 1_000
STATISTICS = ("chance", "thresholds", "reliability", "adaptive")
"""Parts of the summary beyond the means."""

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def run_json(run: Run, gates: Sequence[Gate] = (), comparisons: Sequence[Compared] = ()) -> dict[str, object]:
    """A run as in the API, and beside it more of its statistics, the requirements on it, and comparisons."""
    reader = reader_of()
    return {
        **json_of(RunResource.of(run, reader)),
        "statistics": {name: part for name, part in run.numbers.stored().items() if name in STATISTICS},
        "gates": [asdict(gate) for gate in gates],
        "comparisons": [ComparisonResource.of(each, reader) for each in comparisons],
    }


def verification_json(run: Run, verification: Verification, code_now: str) -> dict[str, object]:
    """The result of verifying a run."""
    versions = {"code_version": run.code_version, "code_version_now": code_now}
    return {"id": run.pk, "holds": verification.holds, **asdict(verification), **versions}


def markdown(run: Run, gates: Sequence[Gate] = (), comparisons: Sequence[Compared] = ()) -> str:
    """A summary for a pull request or the page of a pipeline."""
    lines = [
        f"### [Run {run.pk}]({page_address(run)}): {title_words(run, quote='`')}",
        "",
        f"{progress_words(run)}.",
        "",
        METRICS.markdown(metric_rows(run)),
        "",
        *(f"{line}.\n" for line in weighted_lines(run)),
        f"Outcomes: {outcome_words(run)}. Cost: {cost_words(run)}.",
    ]
    if run.error_message:
        lines += ["", f"> {_one_line(run.error_message)}"]
    if gates:
        lines += ["", "| requirement | met | |", "|---|---|---|"]
        lines += [f"| {gate.name} | {_met(gate)} | {_one_line(gate.words)} |" for gate in gates]
    if comparisons:
        lines += ["", *(f"- {each.metric}: {_one_line(each.change_sentence)}" for each in comparisons)]
    return "\n".join(lines) + "\n"


def _met(gate: Gate) -> str:
    return "yes" if gate.met else "undecided" if gate.undecided else "**no**"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def write_junit(path: Path, run: Run, gates: Sequence[Gate] = ()) -> None:
    """One test case for each result and one for each requirement, streamed. Raises ``OSError``.

    Wrong, partial, unparsable, truncated and refused answers are failures, errors are errors, and results that were not
    sent are skipped. The requirements and the exit code decide whether a pipeline continues, not these counts.
    """
    with path.open("w", encoding="utf-8") as file:
        xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
        xml.startDocument()
        with _element(xml, "testsuites", name=f"run {run.pk}"):
            _write_results(xml, run)
            if gates:
                missed = sum(not gate.met for gate in gates)
                with _element(xml, "testsuite", name="requirements", tests=len(gates), failures=missed):
                    for gate in gates:
                        _write_gate(xml, gate)
        xml.endDocument()


def _write_results(xml: XMLGenerator, run: Run) -> None:
    outcomes = run.numbers.outcomes
    suite = {
        "name": f"{run.model} on {run.dataset.slug}",
        "timestamp": run.created_at.isoformat(timespec="seconds"),
        "tests": run.total,
        "failures": sum(outcomes.get(name, 0) for name in FAILURES),
        "errors": sum(outcomes.get(name, 0) for name in ERRORS),
        "skipped": run.total - sum(count for name, count in outcomes.items() if name != Outcome.CANCELLED),
    }
    texts = {
        "task_name": "task__name",
        "task_key": "task__task_id",
        "expected": "task__expected_output",
        "actual": "transcript__actual_output",
    }
    results = Result.objects.filter(run=run).order_by("position")
    results = results.annotate(**{name: Left(field, SHOWN) for name, field in texts.items()})
    fields = ("run", "repeat", "position", "outcome", "value", "duration_ms", "error_kind", "error_message")
    with _element(xml, "testsuite", **suite):
        for result in results.only(*fields).iterator(chunk_size=BATCH):
            _write_result(xml, run, result)


def _write_result(xml: XMLGenerator, run: Run, result: Any) -> None:
    repeat = f" (repeat {result.repeat})" if run.repeats > 1 else ""
    seconds = f"{(result.duration_ms or 0.0) / 1000:.3f}"
    name, group = f"{result.task_name}{repeat}", f"{run.dataset.slug}.{result.task_key}"
    with _element(xml, "testcase", classname=group, name=name, time=seconds):
        if result.outcome in FAILURES:
            value = "no score" if result.value is None else f"{run.headline} {result.value:g}"
            body = f"expected:\n{result.expected}\n\nanswered:\n{run.texts_pruned or result.actual or ''}"
            with _element(xml, "failure", type=result.outcome, message=f"{result.outcome}, {value}"):
                xml.characters(_legal(body))
        elif result.outcome in ERRORS:
            with _element(xml, "error", type=result.error_kind or result.outcome, message=result.error_message):
                xml.characters(_legal(result.error_message))
        elif result.outcome in ("", Outcome.CANCELLED):
            with _element(xml, "skipped", message=result.error_message or "not sent"):
                pass


def _write_gate(xml: XMLGenerator, gate: Gate) -> None:
    with _element(xml, "testcase", classname="requirements", name=gate.name):
        if not gate.met:
            with _element(xml, "failure", type="undecided" if gate.undecided else "requirement", message=gate.words):
                pass


@contextmanager
def _element(xml: XMLGenerator, tag: str, /, **attributes: object) -> Iterator[None]:
    xml.startElement(tag, AttributesImpl({name: _legal(str(value)) for name, value in attributes.items()}))
    yield
    xml.endElement(tag)


def _legal(text: str) -> str:
    """Models answer with anything, but XML 1.0 excludes most control characters, even escaped."""
    return _NOT_IN_XML.sub("\ufffd", text)
