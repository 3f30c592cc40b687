"""``manage.py review ACTION``: what people say of answers. ``--help`` lists the actions.

Exit codes: 0 success; 2 request refused or invalid usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import time
from typing import Any

import orjson
from django.core.management import CommandError
from django.db.models import QuerySet

from benchmarks.management.actions import JSON, REFUSED, action, argument, reader_of, writing
from benchmarks.management.resources import DeletingCommand
from benchmarks.models import Result, ReviewQueue
from benchmarks.presentation.numbers import plural, score
from benchmarks.presentation.tables import aligned
from benchmarks.queries.judge_agreement import review_alpha
from benchmarks.queries.resources.reviews import ResultLabels, ReviewDetail, ReviewResource
from benchmarks.queries.results import result_of_any_run
from benchmarks.queries.reviews import labels_of_answer, review_counts, review_detail, reviews
from benchmarks.queries.tables.reviews import REVIEWS, ReviewRow, review_rows
from benchmarks.services.access import Caller, account_named
from benchmarks.services.errors import NotPossible
from benchmarks.services.labels import LabelRequest, label_result, reviewer_name, withdraw_label
from benchmarks.services.reviews.files import CONTENT_TYPES, export_labels, import_labels
from benchmarks.services.reviews.queues import ReviewRequest, close_review, create_review, delete_review, reopen_review

FIELDS = {str(name): field for name, field in ReviewRequest().fields.items()}
LABEL_FIELDS = LabelRequest().fields
REVIEW = argument("key", "ID", "number of the review", type=int)
RESULT = argument("result", "RESULT", "number of the result", type=int)
USER = argument("--user", "NAME", "account that labels and reads; without it, labels are those of the local user")


class Command(DeletingCommand):
    help = "Draw answers for people to label, and add, list, export and import labels."
    noun, empty, loss = "review", "No reviews yet.", "Its labels are kept with their answers."
    listed, shown, table, one = ReviewResource, ReviewDetail, REVIEWS, REVIEW

    def rows(self, **options: Any) -> QuerySet[ReviewQueue]:
        return reviews()

    def row(self, key: int) -> ReviewQueue:
        try:
            return review_detail(key)
        except ReviewQueue.DoesNotExist:
            raise NotPossible(f"Review {key} does not exist.") from None

    def in_table(self, rows: Iterable[ReviewQueue]) -> list[ReviewRow]:
        return review_rows(list(rows), reviewer_name(None), time())

    def remove(self, row: ReviewQueue) -> None:
        delete_review(row)

    def beside(self, row: ReviewQueue) -> dict[str, Any]:
        return {"alpha": review_alpha(row).alpha}

    @action(
        "Draw answers of runs for people to label.",
        argument("name", "NAME", str(FIELDS["name"].help_text)),
        argument("--runs", "RUN", str(FIELDS["runs"].help_text), nargs="+", type=int),
        *(
            argument(f"--{name}", "X", str(field.help_text), required=field.required)
            for name, field in FIELDS.items()
            if name not in ("name", "runs", "blind")
        ),
        argument("--blind", None, str(FIELDS["blind"].help_text), action=argparse.BooleanOptionalAction),
        JSON,
    )
    def create(self, *, as_json: bool, **options: Any) -> None:
        queue = create_review({name: options[name] for name in FIELDS if options[name] is not None})
        self.print_row(queue, as_json)

    @action("End the labeling. What a blind review hides becomes visible.", REVIEW, JSON)
    def close(self, *, key: int, as_json: bool, **options: Any) -> None:
        close_review(self.row(key))
        self.print_row(self.row(key), as_json)

    @action("Let people label again.", REVIEW, JSON)
    def reopen(self, *, key: int, as_json: bool, **options: Any) -> None:
        reopen_review(self.row(key))
        self.print_row(self.row(key), as_json)

    @action(
        "Write the labels of a review as JSON Lines or CSV.",
        REVIEW,
        argument("-o --output", "FILE", f"file to write, ending in .{' or .'.join(CONTENT_TYPES)}", type=Path),
        USER,
        JSON,
    )
    def export(self, *, key: int, output: Path | None, user: str | None, as_json: bool, **options: Any) -> None:
        queue, caller = self.row(key), _account(user)
        if output is None:
            lines = [bytes(piece) for piece in export_labels(queue, "jsonl", caller)]  # type: ignore[arg-type]
            self.print_either(as_json, list(map(orjson.loads, lines)), b"".join(lines).decode().removesuffix("\n"))
            return
        form = output.suffix.removeprefix(".")
        if form not in CONTENT_TYPES:
            raise NotPossible(f"Name a file with --output that ends in .{' or .'.join(CONTENT_TYPES)}.")
        pieces = export_labels(queue, form, caller)
        content = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
        with writing(output):
            output.write_bytes(content)
        self.print_either(as_json, {"file": str(output), "bytes": len(content)}, f"Wrote {output}.")

    @action(
        "Store the labels of a CSV or JSON Lines file, all or none. The same file again changes nothing.",
        REVIEW,
        argument("file", "FILE", "labels as exported", type=Path),
        USER,
        JSON,
        name="import",
    )
    def import_file(self, *, key: int, file: Path, user: str | None, as_json: bool, **options: Any) -> None:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise CommandError(f"Cannot read {file}: {error.strerror}", returncode=REFUSED) from None
        done = import_labels(content, file.name, self.row(key), _account(user))
        counts = {"new": done.new, "corrected": done.corrected, "unchanged": done.unchanged}
        self.print_either(as_json, counts, ", ".join(f"{count} {name}" for name, count in counts.items()))

    @action(
        "Label a result. The label replaces the earlier one of the same account by the same metric.",
        RESULT,
        argument("--metric", "X", str(LABEL_FIELDS["metric"].help_text), required=True),
        argument("--value", "X", str(LABEL_FIELDS["value"].help_text), type=float),
        argument("--reason", "TEXT", str(LABEL_FIELDS["reason"].help_text)),
        argument("--step", "N", str(LABEL_FIELDS["first_wrong_step"].help_text), type=int, dest="first_wrong_step"),
        argument("--flag", "FLAG", str(LABEL_FIELDS["flags"].help_text), action="append", dest="flags"),
        argument("--withdraw", None, "take the label back instead", action="store_true"),
        USER,
        JSON,
    )
    def label(
        self, *, result: int, metric: str, withdraw: bool, user: str | None, as_json: bool, **options: Any
    ) -> None:
        labeled, caller = _result(result), _account(user)
        fields = ("value", "reason", "first_wrong_step", "flags")
        given = {name: options[name] for name in fields if options[name] is not None}
        if not withdraw:
            label_result(labeled, {"metric": metric, **given}, caller)
        elif given:
            raise NotPossible("--withdraw takes a label back. Omit --value, --reason, --step and --flag.")
        elif withdraw_label(labeled, metric, caller) is None:
            raise NotPossible(f"{reviewer_name(caller)} has no label of result {result} by {metric}.")
        self._print_labels(labeled, caller, as_json)

    @action("List the labels of a result's answer, whichever run scored it.", RESULT, USER, JSON)
    def labels(self, *, result: int, user: str | None, as_json: bool, **options: Any) -> None:
        self._print_labels(_result(result), _account(user), as_json)

    def lines(self, row: ReviewQueue) -> Iterator[str]:
        counts = review_counts(row)
        state = "closed" if row.closed_at else "open"
        yield f"Review {row.pk}: {row.name}, by {row.metric}, {state}"
        yield f"{counts.labels} of {plural(counts.wanted, 'label')} on {plural(counts.answers, 'answer')}"
        yield f"Labeled twice: {counts.twice}, differently: {counts.disagreeing}"
        yield f"Flagged: {counts.flagged}, labeled wrong: {counts.wrong}"
        yield f"Agreement of people with each other (Krippendorff's α): {score(review_alpha(row).alpha)}"

    def _print_labels(self, result: Result, caller: Caller, as_json: bool) -> None:
        reader = reader_of(caller)
        shown = ResultLabels.of(labels_of_answer(result, reader.name, reader.sees_reviewers), reader)
        if as_json:
            self.print_json(shown)
            return
        cells = [
            (row.author, row.metric, row.value, " ".join(row.flags), row.reason, f"{row.created_at:%Y-%m-%d %H:%M:%S}")
            for row in shown.labels
        ]
        head = ("author", "metric", "value", "flags", "reason", "at")
        self.stdout.write(aligned(head, cells, right=(2,)) if cells else f"Result {result.pk} has no labels to show.")
        if shown.hidden:
            self.stdout.write(f"Hidden in an open blind review: {shown.hidden}")


def _result(pk: int) -> Result:
    try:
        return result_of_any_run(pk)
    except Result.DoesNotExist:
        raise NotPossible(f"Result {pk} does not exist.") from None


def _account(name: str | None) -> Caller:
    return account_named(name) if name else None
