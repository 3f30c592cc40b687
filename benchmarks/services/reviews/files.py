"""Labels as files: JSON Lines and CSV, written for other tools and read back from them.

A row names an answer of the review by its ``result``, or by ``task`` and ``repeat`` if only one run was drawn from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from benchmarks.exports.text_files import BYTE_ORDER_MARK, csv_line
from benchmarks.imports.reading import MAX_LINE
from benchmarks.metrics.preference import Preference
from benchmarks.models import Label, Result, ReviewQueue
from benchmarks.models.reviews import LABELED, results_of_answer
from benchmarks.services.access import Caller, may_see_reviewers, record
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import LabelValues, replace_label, review_of, reviewer_name, valid_label

COLUMNS = (
    "result",
    "run",
    "task",
    "repeat",
    "metric",
    "value",
    "reason",
    "first_wrong_step",
    "flags",
    "author",
    "created_at",
    "first",
    "second",
)
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
MAX_BYTES, MAX_ROWS, MAX_SHOWN = 10 * 2**20, 20_000, 20
IMPORTED = " (imported)"
"""Added to the name of another person's account, so that no file speaks for that person."""


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    new: int
    corrected: int
    unchanged: int


def export_labels(queue: ReviewQueue, form: str, user: Caller = None) -> Iterator[str | bytes]:
    """The pieces of a file with the current labels of a review. Names only for those who may see them.

    While a blind review is open, others than those get only their own labels.
    """
    with_names, reader = may_see_reviewers(user), reviewer_name(user)
    labels = queue.labels.filter(replaced_at=None).select_related("result__task").order_by("result", "pk")
    if queue.blind and queue.closed_at is None and not with_names:
        labels = labels.filter(author_name=reader)
    rows = _rows(labels, reader, with_names)
    if form == "csv":
        yield BYTE_ORDER_MARK + csv_line(COLUMNS)
        for row in rows:
            yield csv_line([row[name] if name != "flags" else " ".join(row["flags"]) for name in COLUMNS])
    else:
        for row in rows:
            yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _rows(labels: QuerySet[Label], reader: str, with_names: bool) -> Iterator[dict[str, Any]]:
    numbers: dict[str, str] = {}
    for label in labels.iterator(chunk_size=500):
        name = label.author_name
        shown_runs = label.result.task.known_answer or {} if label.metric == Preference.name else {}
        shown = name if with_names or name == reader else numbers.setdefault(name, f"Reviewer {len(numbers) + 1}")
        yield {
            "result": label.result_id,
            "run": label.result.run_id,
            "task": label.result.task.task_id,
            "repeat": label.result.repeat,
            "metric": label.metric,
            "value": label.value,
            "reason": label.reason,
            "first_wrong_step": label.first_wrong_step,
            "flags": label.flags,
            "author": shown,
            "created_at": label.created_at.isoformat(),
            # The runs of the two answers in the order in which they were shown; empty for labels of one answer.
            "first": shown_runs.get("first"),
            "second": shown_runs.get("second"),
        }


def import_labels(content: bytes, name: str, queue: ReviewQueue, user: Caller = None) -> ImportedLabels:
    """Store the labels of a file, all or none; the same file again changes nothing.

    Raises ``InvalidRequest`` with the first ``MAX_SHOWN`` errors, each with its line.
    """
    if len(content) > MAX_BYTES:
        raise InvalidRequest({"file": [f"The file exceeds {MAX_BYTES // 2**20} MB. Split it."]})
    rows = list(_read(content, name))
    errors: list[str] = []
    items = {item.result_id: item for item in queue.items.select_related("result__run", "result__task__version")}
    homes = {pk: results_of_answer(item.result) for pk, item in items.items()}
    by_result = {other: pk for pk, answers in homes.items() for other in answers}
    by_task = {(item.result.task.task_id, item.result.repeat): pk for pk, item in items.items()}
    one_run = len({item.result.run_id for item in items.values()}) == 1
    valid: dict[tuple[int, str], LabelValues] = {}
    lines: dict[tuple[int, str], int] = {}
    for line, row in rows:
        try:
            place = by_result.get(_whole(row.get("result"), "result") or 0)
            if place is None and one_run:
                place = by_task.get((str(row.get("task", "")), _whole(row.get("repeat"), "repeat") or 1))
            if place is None:
                raise InvalidRequest({"result": ["This answer is not in the review."]})
            values, author = _values(row, items[place].result, queue, user)
            key = (place, author)
            if key in valid:
                message = f"{author} labels this answer on line {lines[key]}. Remove one of the lines."
                raise InvalidRequest({"author": [message]})
            valid[key], lines[key] = values, line
        except InvalidRequest as refusal:
            texts = "; ".join(f"{field}: {' '.join(messages)}" for field, messages in refusal.errors.items())
            errors.append(f"Line {line}: {texts}")
    if errors or not rows:
        more = [f"{len(errors) - MAX_SHOWN} more errors."] if len(errors) > MAX_SHOWN else []
        raise InvalidRequest({"file": [*errors[:MAX_SHOWN], *more] or ["The file has no labels."]})
    with transaction.atomic():
        locked = ReviewQueue.objects.select_for_update().get(pk=queue.pk)
        counts = {"new": 0, "corrected": 0, "unchanged": 0}
        for (place, reviewer), values in valid.items():
            counts[_store(homes[place], values, reviewer, locked)] += 1
            item = items[place]
            if item.state_for(reviewer) != LABELED:
                item.mark(reviewer, LABELED)
        record(user, "review.import", f"review {queue.pk}", **counts)
    return ImportedLabels(**counts)


def _read(content: bytes, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Line and values of each row. Raises ``InvalidRequest`` for a file that is neither CSV nor JSON Lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest({"file": ["The file is not UTF-8. Save it as UTF-8."]}) from None
    if "\0" in text:
        raise InvalidRequest({"file": ["The file contains the character NUL. Remove it."]})
    rows = _csv_rows(text) if name.lower().endswith(".csv") else _json_rows(text)
    for count, row in enumerate(rows, 1):
        if count > MAX_ROWS:
            raise InvalidRequest({"file": [f"The file has more than {MAX_ROWS:,} labels. Split it."]})
        yield row


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(MAX_LINE)  # of the whole process, so what a file may have must not depend on files before it
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        if not {"value", "flags", "reason"} & {*names}:
            raise InvalidRequest({"file": [f"The first line must name columns, such as {', '.join(COLUMNS)}."]})
        if twice := [name for name in COLUMNS if names.count(name) > 1]:
            raise InvalidRequest({"file": [f"The first line names {twice[0]} twice. Remove one of the columns."]})
        for row in reader:
            flags = row.get("flags") or ""
            yield reader.line_num, {**row, "value": row.get("value") or None, "flags": flags.replace(",", " ").split()}
    except csv.Error as error:
        raise InvalidRequest({"file": [f"Invalid CSV after line {reader.line_num}: {error}."]}) from None


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidRequest({"file": [f"Line {number} is not valid JSON: {error}."]}) from None
        if not isinstance(row, dict):
            raise InvalidRequest({"file": [f"Line {number} is not a JSON object."]})
        yield number, row


def _whole(value: Any, field: str) -> int | None:
    """A number of a row; text from CSV too. ``None`` if it is missing."""
    if value in (None, ""):
        return None
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidRequest({field: [f"{text[:40]} is not a whole number."]})
    return int(text)


def _values(row: Mapping[str, object], result: Result, queue: ReviewQueue, user: Caller) -> tuple[LabelValues, str]:
    """The fields of the label and its author, who is the importer unless the row names somebody."""
    if None in row:
        raise InvalidRequest({"row": ["It has more values than the first line names. Quote values with commas."]})
    metric = row.get("metric") or queue.metric
    if metric != queue.metric:
        raise InvalidRequest({"metric": [f"The review labels by {queue.metric}. Remove this label."]})
    given = {
        name: row[name] for name in ("value", "reason", "first_wrong_step", "flags") if row.get(name) not in (None, "")
    }
    valid = valid_label(result, {**given, "metric": metric})
    own = reviewer_name(user)
    author = row.get("author") or own
    if not isinstance(author, str) or not author.strip() or len(author) > 100 or not author.isprintable():
        raise InvalidRequest({"author": ["Use a text of at most 100 printable characters."]})
    if author != own and User.objects.filter(username=author).exists():
        author += IMPORTED
    return valid, author


def _store(answers: list[int], values: LabelValues, author: str, queue: ReviewQueue) -> str:
    own = Label.objects.filter(metric=values["metric"], author_name=author)
    current = own.filter(result__in=answers, replaced_at=None).first()
    review = review_of(current, queue)
    if current and current.queue == review and all(getattr(current, name) == value for name, value in values.items()):
        return "unchanged"
    account = current.author if current else None
    replace_label(answers[0], current, values, review, author_name=author, author=account)
    return "corrected" if current else "new"
