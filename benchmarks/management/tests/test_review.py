"""``manage.py review``: labels that are added, listed, exported and imported without a page."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from benchmarks.models import Label, ReviewQueue
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def command(*words: object) -> str:
    output = StringIO()
    call_command("review", *map(str, words), stdout=output)
    return output.getvalue()


def test_a_label_is_added_corrected_listed_and_withdrawn() -> None:
    User.objects.create_user("ada")
    result = make_scored_run().results.all()[0].pk
    label = ("label", result, "--metric", "exact_match", "--user", "ada")
    command(*label, "--value", 0, "--reason", "Another city", "--flag", "reference_doubtful")
    assert "Another city" in command("labels", result)
    listed = json.loads(command(*label, "--value", 1, "--json"))
    assert [(row["author"], row["value"], len(row["earlier"])) for row in listed["labels"]] == [("ada", 1.0, 1)]
    assert "no labels" in command(*label, "--withdraw")
    assert Label.objects.filter(author__username="ada", replaced_at=None).count() == 0


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl"])
def test_labels_that_are_exported_are_imported_where_they_are_missing(name: str, tmp_path: Path) -> None:
    run = make_scored_run(values=(1.0, 0.0, 1.0))
    command("create", "Sums", "--runs", run.pk, "--metric", "exact_match", "--size", 3, "--overlap", 0, "--no-blind")
    review = ReviewQueue.objects.get()
    assert (review.items.count(), review.blind) == (3, False)
    lines = [json.dumps({"result": item.result_id, "value": 1, "author": "ida"}) for item in review.items.all()]
    (tmp_path / "first.jsonl").write_text("\n".join(lines))
    assert command("import", review.pk, tmp_path / "first.jsonl") == "3 new, 0 corrected, 0 unchanged\n"
    command("export", review.pk, "--output", tmp_path / name)
    assert command("import", review.pk, tmp_path / name) == "0 new, 0 corrected, 3 unchanged\n"
    Label.objects.all().delete()
    assert command("import", review.pk, tmp_path / name) == "3 new, 0 corrected, 0 unchanged\n"
    assert {row["author"] for row in json.loads(command("export", review.pk, "--json"))} == {"ida"}
    assert "3 of 3 labels on 3 answers" in command("show", review.pk)


def test_a_refusal_says_what_is_wrong(tmp_path: Path) -> None:
    result = make_scored_run(values=(1.0,)).results.get()
    (tmp_path / "labels.csv").write_text("result,value\n1000000,1\n")
    command("create", "Sums", "--runs", result.run_id, "--metric", "exact_match")
    review = ReviewQueue.objects.get().pk
    for words, message in (
        (("label", result.pk, "--metric", "exact_match", "--value", 7), "values from 0 to 1"),
        (("label", 10**9, "--metric", "exact_match", "--value", 1), "does not exist"),
        (("label", result.pk, "--metric", "exact_match", "--withdraw"), "local user has no label"),
        (("labels", result.pk, "--user", "nobody"), "Account nobody does not exist"),
        (("show", 10**9), "Review 1000000000 does not exist"),
        (("import", review, tmp_path / "labels.csv"), "Line 2: result: This answer is not in the review"),
        (("import", review, tmp_path / "missing.csv"), "Cannot read"),
        (("export", review, "--output", tmp_path / "labels.txt"), "ends in .csv or .jsonl"),
    ):
        with pytest.raises(CommandError, match=message):
            command(*words)
