"""Files of other tools as those write them, small, with any part replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.imports.assembly import unread_sentence
from benchmarks.imports.reading import zipfile
from benchmarks.imports.registered_importers import logs_in
from benchmarks.imports.runs import ImportedRun


def read_runs(path: Path, **options: Any) -> list[ImportedRun]:
    """The runs in a file, each with what of it was not read as a sentence."""
    runs = [run for log in logs_in([(path, path.name)], **options) for run in log.runs()]
    return [replace(run, unused=[*run.unused, *unread_sentence(run.unread)]) for run in runs]


def inspect_sample(number: int = 1, value: Any = "C", epoch: int = 1, **fields: Any) -> dict[str, Any]:
    question, answer = f"What is {number} + {number}?", str(2 * number)
    return {
        "id": number,
        "epoch": epoch,
        "input": question,
        "target": answer,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": question, "source": "input"},
            {"role": "assistant", "content": answer, "source": "generate"},
        ],
        "output": {
            "model": "model",
            "choices": [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}],
            "usage": {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22},
            "time": 0.25,
        },
        "model_usage": {
            "vendor/model": {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22},
            "vendor/grader": {"input_tokens": 900, "output_tokens": 90, "total_tokens": 990},
        },
        "scores": {"match": {"value": value, "answer": answer, "explanation": "as expected"}},
        "completed_at": "2026-01-31T12:00:01+00:00",
        **fields,
    }


def inspect_log(*samples: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = samples or (inspect_sample(1), inspect_sample(2, "I"), inspect_sample(3, "P"))
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": "abc",
            "created": "2026-01-31T11:59:00+00:00",
            "task": "sums",
            "dataset": {"name": "sums", "samples": len({sample["id"] for sample in given})},
            "model": "vendor/model",
            "config": {},
            "packages": {"inspect_ai": "0.3.150"},
            "scorers": [{"name": "match"}],
        },
        "plan": {"name": "plan", "steps": [], "config": {"temperature": 0.5, "max_tokens": 100}},
        "stats": {"started_at": "2026-01-31T12:00:00+00:00", "completed_at": "2026-01-31T12:00:10+00:00"},
        "samples": list(given),
        **fields,
    }


def write_json(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def write_archive(
    path: Path, log: Mapping[str, Any], header: str = "header.json", compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """As an ``.eval`` file: header and samples apart, in an archive."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for sample in log["samples"]:
            file.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        file.writestr("summaries.json", "[]")
        file.writestr(header, json.dumps({name: part for name, part in log.items() if name != "samples"}))
    return path


def promptfoo_row(number: int = 0, *, passed: bool = True, **fields: Any) -> dict[str, Any]:
    question, answer = f"What is {number} + {number}?", str(2 * number)
    assertion = {"type": "contains", "value": "{{answer}}"}
    return {
        "provider": {"id": "openai:gpt-4o", "label": ""},
        "prompt": {"raw": question, "label": "{{question}}"},
        "promptIdx": 0,
        "testIdx": number,
        "vars": {"question": question, "answer": answer},
        "testCase": {"vars": {"question": question, "answer": answer}, "assert": [assertion]},
        "response": {"output": f"It is {answer}.", "tokenUsage": {"total": 30, "prompt": 20, "completion": 10}},
        "success": passed,
        "score": float(passed),
        "failureReason": 0 if passed else 1,
        "error": None if passed else "Expected output to contain it",
        "latencyMs": 321,
        "cost": 0.001,
        "gradingResult": {
            "pass": passed,
            "score": float(passed),
            "reason": "All assertions passed" if passed else "Expected output to contain it",
            "componentResults": [{"pass": passed, "score": float(passed), "reason": "", "assertion": assertion}],
        },
        **fields,
    }


def promptfoo_results(*rows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = rows or (promptfoo_row(0), promptfoo_row(1, passed=False), promptfoo_row(2))
    summary = {
        "version": 3,
        "timestamp": "2026-01-31T12:00:00.000Z",
        "results": list(given),
        "prompts": [],
        "stats": {},
    }
    return {"evalId": "eval-1", "results": {**summary, **fields}, "config": {"description": "Sums"}}


def write_long_log(path: Path, events: int) -> None:
    """A log of one sample, in the archive's own way, with so many events, which are about 700 bytes each."""
    head = json.dumps(inspect_sample())[:-1]
    event = {"event": "tool", "function": "shell", "arguments": {"cmd": "ls " + "x" * 200}, "result": "y" * 400}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("samples/1_epoch_1.json", "w") as member:
            member.write(f'{head}, "events": ['.encode())
            for number in range(events):
                given = {**event, "arguments": {"cmd": f"{number} {event['arguments']}"}}
                member.write(("," if number else "").encode() + json.dumps(given).encode())
            member.write(b"]}")
        header = inspect_log(inspect_sample())
        file.writestr("header.json", json.dumps({**header, "samples": None}))
