"""A run as files and text for other programs: JSON, JUnit XML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from django.db.models import QuerySet
from django.db.models.functions import Left

from benchmarks.engine.summary.verification import Verification
from benchmarks.management.gates import Gate
from benchmarks.management.printing import cost_words, metric_rows, outcome_words
from benchmarks.models import Outcome, Result, Run
from benchmarks.page_urls import page_address
from benchmarks.queries.statistics import Compared

FAILURES = (Outcome.WRONG, Outcome.PARTIAL, Outcome.UNPARSABLE, Outcome.TRUNCATED, Outcome.REFUSED)
ERRORS = (Outcome.PROVIDER_ERROR, Outcome.JUDGE_ERROR)
SHOWN = 2_000
"""Characters of an answer and of a reference answer that a JUnit report shows."""
BATCH = 1_000
STATISTICS = ("chance", "thresholds", "reliability", "adaptive")
"""Parts of the summary that tell more of the scores than their means."""

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def run_json(run: Run, gates: Sequence[Gate] = (), comparisons: Sequence[Compared] = ()) -> dict[str, Any]:
    """A run with its numbers, and what was demanded of it."""
    return {
        "id": run.pk,
        "page": page_address(run),
        "dataset": run.dataset.slug,
        "dataset_version": run.dataset_version.number,
        "model": run.model,
        "judge_model": run.judge_model,
        "self_judged": run.self_judged,
        "status": run.status,
        "error_message": run.error_message,
        "progress": {"total": run.total, "done": run.done, "errors": run.errors},
        "summary": run.summary.get("metrics", {}),
        "outcomes": run.summary.get("outcomes", {}),
        "statistics": {name: run.summary[name] for name in STATISTICS if name in run.summary},
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "cost_usd": run.cost_usd,
        "judge_tokens_in": run.judge_tokens_in,
        "judge_tokens_out": run.judge_tokens_out,
        "judge_cost_usd": run.judge_cost_usd,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at and run.started_at.isoformat(),
        "completed_at": run.completed_at and run.completed_at.isoformat(),
        "gates": [{"name": gate.name, "met": gate.met, "words": gate.words} for gate in gates],
        "comparisons": [comparison_json(one) for one in comparisons],
    }


def comparison_json(one: Compared) -> dict[str, Any]:
    found = one.comparison
    return {
        "metric": one.metric,
        "a": one.a.pk,
        "b": one.b.pk,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "p_value": found.p_value,
        "p_adjusted": one.p_adjusted,
        "family_size": one.family_size,
        "effect_size": found.effect_size,
        "effect_size_name": found.effect_size_name,
        "detectable_difference": found.detectable_difference,
        "worst_case": found.worst_case,
        "best_case": found.best_case,
        "shared_tasks": found.n_shared,
        "missing_tasks": found.n_missing,
        "changed": found.n_changed,
        "better": found.n_better,
        "regression": one.is_drop,
        "sentence": one.change_sentence,
    }


def verification_json(run: Run, found: Verification, code_now: str) -> dict[str, Any]:
    """What verifying a run has found."""
    return {
        "id": run.pk,
        "holds": found.holds,
        "checked": found.checked,
        "differing": found.differing,
        "unasked": found.unasked,
        "run_hash_stored": found.run_hash_stored,
        "run_hash_now": found.run_hash_now,
        "first_differences": [asdict(one) for one in found.first_differences],
        "code_version": run.code_version,
        "code_version_now": code_now,
    }


def markdown(run: Run, gates: Sequence[Gate] = (), comparisons: Sequence[Compared] = ()) -> str:
    """A summary for a pull request or a pipeline's page."""
    judge = f", judged by `{run.judge_model}`{' (itself)' if run.self_judged else ''}" if run.judge_model else ""
    lines = [
        f"### [Run {run.pk}]({page_address(run)}): `{run.model_label}` on `{run.dataset.slug}` "
        f"version {run.dataset_version.number}{judge}",
        "",
        f"{run.get_status_display()}, {run.done} of {run.total} done, {run.errors} with errors.",
        "",
        "| metric | mean | 95 % interval | n | not scored |",
        "|---|---:|---|---:|---|",
        *(f"| {' | '.join(row)} |" for row in metric_rows(run)),
        "",
        f"Outcomes: {outcome_words(run)}. Cost: {cost_words(run)}.",
    ]
    if run.error_message:
        lines += ["", f"> {_one_line(run.error_message)}"]
    if gates:
        lines += ["", "| demand | met | |", "|---|---|---|"]
        lines += [f"| {gate.name} | {'yes' if gate.met else '**no**'} | {_one_line(gate.words)} |" for gate in gates]
    if comparisons:
        lines += ["", *(f"- {one.metric}: {_one_line(one.change_sentence)}" for one in comparisons)]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def write_junit(path: Path, run: Run, gates: Sequence[Gate] = ()) -> None:
    """One test case for each result and one for each demand, written result by result. Raises ``OSError``.

    Wrong, partial, unparsable, truncated and refused answers are failures, errors are errors, and what was not asked is
    skipped. Whether the pipeline goes on is said by the demands and the exit code, not by these counts.
    """
    with path.open("w", encoding="utf-8") as file:
        xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
        xml.startDocument()
        xml.startElement("testsuites", _attributes({"name": f"run {run.pk}"}))
        _write_results(xml, run)
        if gates:
            _write_gates(xml, gates)
        xml.endElement("testsuites")
        xml.endDocument()


def _write_results(xml: XMLGenerator, run: Run) -> None:
    outcomes: dict[str, int] = run.summary.get("outcomes", {})
    counts = {
        "tests": run.total,
        "failures": sum(outcomes.get(name, 0) for name in FAILURES),
        "errors": sum(outcomes.get(name, 0) for name in ERRORS),
        "skipped": run.total - sum(count for name, count in outcomes.items() if name != Outcome.CANCELLED),
    }
    suite = {"name": f"{run.model} on {run.dataset.slug}", "timestamp": run.created_at.isoformat(timespec="seconds")}
    xml.startElement("testsuite", _attributes(suite | counts))
    for result in _results(run).iterator(chunk_size=BATCH):
        _write_result(xml, run, result)
    xml.endElement("testsuite")


def _results(run: Run) -> QuerySet[Result]:
    return (
        Result.objects.filter(run=run)
        .order_by("position")
        .annotate(
            task_name=Left("task__name", SHOWN),
            task_key=Left("task__task_id", SHOWN),
            expected=Left("task__expected_output", SHOWN),
            actual=Left("transcript__actual_output", SHOWN),
        )
        .only("run", "repeat", "position", "outcome", "value", "duration_ms", "error_kind", "error_message")
    )


def _write_result(xml: XMLGenerator, run: Run, result: Any) -> None:
    repeat = f" (repeat {result.repeat})" if run.repeats > 1 else ""
    case = {
        "classname": f"{run.dataset.slug}.{result.task_key}",
        "name": f"{result.task_name}{repeat}",
        "time": f"{(result.duration_ms or 0.0) / 1000:.3f}",
    }
    xml.startElement("testcase", _attributes(case))
    if result.outcome in FAILURES:
        value = "no score" if result.value is None else f"{run.metrics[0]} {result.value:g}"
        body = f"expected:\n{result.expected}\n\nanswered:\n{run.texts_pruned or result.actual or ''}"
        _element(xml, "failure", {"type": result.outcome, "message": f"{result.outcome}, {value}"}, body)
    elif result.outcome in ERRORS:
        message = {"type": result.error_kind or result.outcome, "message": result.error_message}
        _element(xml, "error", message, result.error_message)
    elif result.outcome in ("", Outcome.CANCELLED):
        _element(xml, "skipped", {"message": result.error_message or "not asked"})
    xml.endElement("testcase")


def _write_gates(xml: XMLGenerator, gates: Sequence[Gate]) -> None:
    missed = sum(not gate.met for gate in gates)
    xml.startElement("testsuite", _attributes({"name": "demands", "tests": len(gates), "failures": missed}))
    for gate in gates:
        xml.startElement("testcase", _attributes({"classname": "demands", "name": gate.name}))
        if not gate.met:
            _element(xml, "failure", {"type": "demand", "message": gate.words})
        xml.endElement("testcase")
    xml.endElement("testsuite")


def _element(xml: XMLGenerator, name: str, attributes: dict[str, Any], text: str = "") -> None:
    xml.startElement(name, _attributes(attributes))
    if text:
        xml.characters(_legal(text))
    xml.endElement(name)


def _attributes(values: dict[str, Any]) -> AttributesImpl[str]:
    return AttributesImpl({name: _legal(str(value)) for name, value in values.items()})


def _legal(text: str) -> str:
    """Models answer with anything; XML 1.0 cannot carry most control characters, escaped or not."""
    return _NOT_IN_XML.sub("\ufffd", text)
