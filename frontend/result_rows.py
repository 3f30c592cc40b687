"""Results as lists show them: with their scores, and with the fields at which an answer in JSON differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.models import Outcome, Result, Run, Score
from benchmarks.queries.results import ResultPage, compared_texts
from benchmarks.queries.reviews import labeled_outcomes
from frontend.reviews import n_against
from frontend.texts import FieldDifferences, differing_fields

JSON_LENGTH = 4_000
"""Characters of the expected answer and of the answer; longer JSON is listed by its beginning."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """``scores``: on each metric of the list. ``differs``: ``None`` unless fields of two JSON texts differ.
    ``disputed``: whether a label contradicts the outcome."""

    result: Result
    scores: Sequence[Score | None] = ()
    differs: FieldDifferences | None = None
    disputed: bool = False

    @property
    def name(self) -> str:
        return self.result.task.name or self.result.task.task_id


def rows_of_page(run: Run, page: ResultPage, said: Mapping[tuple[str, int], list[float]]) -> list[ResultRow]:
    """Each result of the page with its score on each metric that the run stores scores of. People say ``said`` of
    answers, by task and repeat."""
    names = [name for name in run.all_metrics if name in run.metrics]
    differing = _differing(page.rows)
    return [
        ResultRow(
            each,
            [page.scores.get(each.pk, {}).get(name) for name in names],
            differing.get(each.pk),
            n_against(each.outcome, said.get((each.task.task_id, each.repeat), ())) > 0,
        )
        for each in page.rows
    ]


def disputed(run: Run, said: Mapping[tuple[str, int], list[float]]) -> Counter[str]:
    """Outcome → how many results of the run with it are disputed, as their rows say."""
    return Counter(outcome for outcome, values in labeled_outcomes(run, said) if n_against(outcome, values))


def rows_of_examples(examples: Mapping[int, Result]) -> dict[int, ResultRow]:
    differing = _differing(examples.values())
    return {pk: ResultRow(each, differs=differing.get(pk)) for pk, each in examples.items()}


def _differing(results: Iterable[Result]) -> dict[int, FieldDifferences]:
    """The fields that differ, by the id of the result; one query, or none where nothing looks like JSON."""
    keys = [
        each.pk
        for each in results
        if each.outcome in (Outcome.PARTIAL, Outcome.WRONG)
        and each.actual_preview
        and (each.expected_preview or "").lstrip()[:1] in ("{", "[")
    ]
    texts = compared_texts(keys, JSON_LENGTH) if keys else {}
    found = {pk: differing_fields(*both) for pk, both in texts.items()}
    return {pk: fields for pk, fields in found.items() if fields}
