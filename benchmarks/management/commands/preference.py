"""``manage.py preference ACTION``: which answers a judge prefers. ``--help`` lists the actions.

Exit codes: 0 success; 2 request refused or invalid usage; 3 the run failed or was stopped; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.preferences import peoples_choices
from benchmarks.management.actions import JSON, OK, action, argument, reader_of, switch
from benchmarks.management.judges import EXIT_CODES, JudgingCommand
from benchmarks.models import Run
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import duration, interval, money, money_range, plural
from benchmarks.presentation.preferences import (
    PEOPLE,
    agreement_sentence,
    cycle_sentence,
    first_shown_sentence,
    headline,
    pooled_sentence,
    position_sentence,
    verdict,
)
from benchmarks.presentation.tables import aligned
from benchmarks.queries.preferences import (
    Candidate,
    candidates_of,
    judgements_to_make,
    numbers_of,
    pooled_numbers,
    preferences,
)
from benchmarks.queries.resources.judges import PreferenceDetail, PreferenceResource
from benchmarks.queries.resources.plans import Plan
from benchmarks.queries.tables.judges import PREFERENCES, STRENGTHS, by_strength
from benchmarks.services.access import may_see_reviewers
from benchmarks.services.preferences import PreferenceRequest, plan_preference, start_preference
from benchmarks.summary import Preferences

FIELDS = {str(name): field for name, field in PreferenceRequest().fields.items()}
OPTIONS = {name: "--judge" if name == "judge_model" else f"--{name.replace('_', '-')}" for name in FIELDS}


class Command(JudgingCommand):
    command, noun, empty = "preference", "preference run", "No preference runs yet."
    table = PREFERENCES
    listed, shown = PreferenceResource, PreferenceDetail
    help = f"Have a judge choose between the stored answers of runs to the same tasks, in both orders. {EXIT_CODES}"

    @action(
        "Have a judge choose between the answers of runs, and print strengths, win rates, position bias and cycles.",
        argument("runs", "RUN", str(FIELDS["runs"].help_text), nargs="+", type=int),
        *(
            argument(OPTIONS[name], "X", str(field.help_text), dest=name)
            for name, field in FIELDS.items()
            if name not in ("runs", "only_new")
        ),
        switch("--only-new", str(FIELDS["only_new"].help_text)),
        switch("--plan", "only estimate requests, tokens, cost and duration"),
        JSON,
    )
    def compare(self, *, plan: bool, as_json: bool, **options: Any) -> int:
        request = {name: options[name] for name in FIELDS if options[name] is not None}
        if plan:
            self._print_plan(request, as_json)
            return OK
        run = start_preference(request)
        self.note(f"Preference run {run.pk}: {run.judge_model} makes {plural(judgements_to_make(run), 'verdict')}.")
        return self.follow(run, as_json)

    def _print_plan(self, request: dict[str, Any], as_json: bool) -> None:
        plan = plan_preference(request)
        cost, time = money_range(plan.cost_low, plan.cost_high), interval(plan.seconds_low, plan.seconds_high, duration)
        text = f"{plural(plan.judge_requests, 'request')} to the judge, {cost}, {time}."
        self.print_either(as_json, Plan.of(plan, reader_of()), text)

    def runs(self) -> QuerySet[Run]:
        return preferences()

    def lines(self, row: Run) -> Iterator[str]:
        """The preference run as text: verdict, strengths, pairs, position bias, cycles and cost; then people's."""
        dataset, candidates = (row.preference or {})["dataset"], candidates_of(row)
        names = [each["name"] for each in candidates]
        who = row.judge_model or PEOPLE
        yield f"Preference run {row.pk}: {who} on {dataset}, {run_status(row.status, row.errors)}"
        if row.error_message:
            yield row.error_message
        if numbers := numbers_of(row):
            yield headline(names, numbers, judgements_to_make(row) // 2) if row.judge_model else verdict(names, numbers)
            yield from _tables(candidates, numbers)
            yield "\n" + position_sentence(numbers.position)
            yield from filter(None, [cycle_sentence(names, numbers.cycles)])
            yield f"Without a verdict: {numbers.missing}. Cost: {money(row.judge_cost_usd)}"
            if pooled := pooled_numbers(row):
                yield f"\n{pooled_sentence(pooled.runs or ())} {verdict(names, pooled)}"
                yield from _tables(candidates, pooled)
        elif row.judge_model:
            yield f"{row.done} of {plural(judgements_to_make(row), 'verdict')} made."
        if choices := peoples_choices(row, may_see_reviewers(None)):
            numbers = choices.numbers
            agreement = agreement_sentence(choices.same, choices.kappa, choices.alpha)
            yield "\n" + " ".join(filter(None, (verdict(names, numbers, PEOPLE), agreement)))
            yield from _tables(candidates, numbers)
            yield "\n" + first_shown_sentence(numbers.position)
            yield from filter(None, [cycle_sentence(names, numbers.cycles)])
            reviewers = plural(choices.n_people, "reviewer")
            yield f"{plural(numbers.n, 'choice')} of {reviewers} on {plural(numbers.n_tasks, 'task')}"
        elif not row.judge_model:
            yield "People have chosen nothing yet, or only in blind reviews that are open."


def _tables(candidates: Sequence[Candidate], numbers: Preferences) -> Iterator[str]:
    """Strengths and pairs."""
    yield "\n" + STRENGTHS.text(by_strength(candidates, numbers))
    names = [each["name"] for each in candidates]
    pairs = [
        (names[pair.a], names[pair.b], *map(str, (pair.wins, pair.ties, pair.losses, pair.n)))
        for pair in numbers.pairs
        if pair.n
    ]
    yield "\n" + aligned(("first", "second", "wins", "ties", "losses", "n"), pairs, right=(2, 3, 4, 5))
