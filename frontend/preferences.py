"""Preference runs as pages show them: view models, made from the numbers stored with the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from rest_framework.fields import empty

from benchmarks.analysis.preferences import PeoplesChoices, choice_of, choices_of_people, peoples_choices
from benchmarks.models import Result, ReviewQueue, Run
from benchmarks.presentation.numbers import number, plural, rank_range
from benchmarks.presentation.preferences import (
    PEOPLE,
    agreement_sentence,
    basis_sentence,
    cycle_sentence,
    first_shown_sentence,
    has_few_pairs,
    headline,
    pairs_sentence,
    pooled_sentence,
    position_sentence,
    strength,
    verdict,
)
from benchmarks.presentation.tables import Shown
from benchmarks.queries.preferences import (
    DISAGREE,
    IDENTICAL,
    TIE,
    Candidate,
    Pair,
    candidates_of,
    compared_dataset,
    compared_results,
    judgements_to_make,
    numbers_of,
    pooled_numbers,
    preferences,
    results_of_pairs,
    strengths_of_experiment,
)
from benchmarks.queries.tables.judges import STRENGTHS, RankedCandidate, by_strength
from benchmarks.services.preferences import PreferenceRequest
from benchmarks.statistics.preference import Choice
from benchmarks.summary import PairOfCandidates, Preferences, Wins
from frontend.forms import RequestForm
from frontend.texts import Excerpt, excerpt
from frontend.view_models import JudgingRow

RARELY_CHANGED = ("tasks", "pairs_per_task", "only_new", "concurrency", "seed")
"""Fields of the form that are folded until one is changed."""
_SHOWN, _FOLDED = 2_000, 260
"""Characters of each text of a pair, whose rest is in the result of a verdict, and of a question that is not folded."""


class PreferenceForm(RequestForm):
    """A preference run of given runs. Defaults and hints are those of the request that the service checks."""

    judge_model = forms.CharField(
        label="Judge", required=False, widget=forms.TextInput({"list": "judges", "autocomplete": "off"})
    )
    criteria = forms.CharField(label="Criteria", required=False, widget=forms.Textarea({"rows": 5}))
    tasks = forms.CharField(label="Max tasks", required=False)
    pairs_per_task = forms.CharField(label="Max pairs per task", required=False)
    only_new = forms.BooleanField(label="Only new pairs", required=False)
    budget_usd = forms.CharField(label="Budget (USD)", required=False)
    concurrency = forms.CharField(label="Max concurrent requests", required=False)
    seed = forms.CharField(label="Seed", required=False)

    def __init__(
        self, runs: Sequence[int], experiment: int | None = None, data: Any = None, more: Run | None = None
    ) -> None:
        """``more`` is the preference run that the new one adds to, unless ``data`` says otherwise."""
        request = {str(name): field for name, field in PreferenceRequest().fields.items()}
        defaults = {name: field.default for name, field in request.items() if field.default not in (empty, None)}
        judge = settings.CODEFORGE.judge.model
        initial = {"judge_model": judge or "", **defaults}
        if more:
            criteria = (more.preference or {})["criteria"]
            initial |= {"judge_model": more.judge_model, "criteria": criteria, "only_new": True}
        super().__init__(data, initial=initial)
        for name, field in self.fields.items():
            field.help_text = str(request[name].help_text)
            if name in ("tasks", "pairs_per_task", "concurrency", "seed", "budget_usd"):
                field.widget.attrs["inputmode"] = "decimal" if name == "budget_usd" else "numeric"
        self.runs, self.experiment, self.defaults = runs, experiment, defaults
        self.known_judges = sorted({*settings.CODEFORGE.models, *([judge] if judge else [])})

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in RARELY_CHANGED]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in RARELY_CHANGED]

    @property
    def is_more_open(self) -> bool:
        """Whether one of the fields that are folded is not at its default."""
        return any(
            field.errors or str(field.value() or "") not in ("", str(self.defaults.get(field.name, "")))
            for field in self.more_fields
        )

    def request_data(self) -> dict[str, Any]:
        return super().request_data() | {"runs": list(self.runs), "experiment": self.experiment}


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate with its place. ``low`` and ``high`` are ``None`` with fewer than two tasks."""

    name: str
    run: int
    rank: str
    strength: str
    bounds: str
    wins: Wins
    judgements: int


@dataclass(frozen=True, slots=True)
class PreferenceRow(JudgingRow):
    """One preference run. ``numbers`` is ``None`` until the run has completed."""

    candidates: Sequence[Candidate]
    numbers: Preferences | None
    noun: ClassVar[str] = "Preference run"
    routes: ClassVar = ("frontend:preferences", "frontend:preference", "frontend:preference-action")

    @property
    def found(self) -> Preferences:
        """Its numbers, once it has some."""
        assert self.numbers is not None, "a run without numbers shows none"
        return self.numbers

    @property
    def names(self) -> list[str]:
        return [each["name"] for each in self.candidates]

    @property
    def dataset(self) -> str:
        return compared_dataset(self.run)

    @property
    def title(self) -> str:
        between = " or ".join(self.names) if len(self.names) == 2 else f"Answers of {len(self.names)} runs"
        return f"{between} on {self.dataset}"

    @property
    def request(self) -> Mapping[str, Any]:
        return self.run.preference or {}

    @property
    def total(self) -> int:
        return judgements_to_make(self.run)

    @property
    def n_pairs(self) -> int:
        """Pairs of answers, each judged in both orders."""
        return self.total // 2

    @property
    def who(self) -> str:
        """Who chooses: the judge, or people if there is none."""
        return self.run.judge_model or PEOPLE

    @property
    def basis(self) -> str:
        return basis_sentence(self.who, self.dataset, self.found)

    @property
    def verdict(self) -> str:
        if self.run.judge_model:
            return headline(self.names, self.found, self.n_pairs)
        return verdict(self.names, self.found)

    @property
    def is_few(self) -> bool:
        """Whether so few answers differ that the win rate says nothing: automatic ties make it look precise."""
        return bool(self.run.judge_model) and has_few_pairs(self.found)

    @property
    def position(self) -> str:
        return position_sentence(self.found.position)

    @property
    def cycles(self) -> str:
        return cycle_sentence(self.names, self.found.cycles)

    @property
    def needs_caution(self) -> bool:
        """Whether preferences go in circles, or some candidates were never compared with the others."""
        return self.found.cycles.p_value <= 0.05 or not self.found.connected

    @property
    def strengths(self) -> Shown[RankedCandidate]:
        return STRENGTHS.of(by_strength(self.candidates, self.found))

    def place_of(self, number: int) -> Ranked:
        of, candidate = self.found.strengths[number], self.candidates[number]
        return Ranked(
            name=candidate["name"],
            run=candidate["run"],
            rank=rank_range(of.rank_low, of.rank_high),
            strength=strength(of.value),
            bounds="" if of.low is None else f"{strength(of.low)} to {strength(of.high)}",
            wins=of.wins,
            judgements=of.judgements,
        )

    @property
    def of_two(self) -> PairOfCandidates | None:
        """The verdicts between two candidates, from the side of the first; ``None`` for more."""
        return self.found.pairs[0] if len(self.candidates) == 2 and self.found.pairs else None

    @property
    def split(self) -> Mapping[str, int]:
        """The verdicts of ``of_two`` as parts of a bar."""
        pair = self.of_two
        return {"only_a": pair.wins, "both": pair.ties, "only_b": pair.losses} if pair else {}

    @property
    def matrix(self) -> list[tuple[str, list[PairOfCandidates | None]]]:
        """For each candidate, by strength, how often it is preferred to each other one; ``None`` against itself."""
        order = self.found.order
        pairs = {(pair.a, pair.b): pair for pair in self.found.pairs}
        return [(self.names[a], [None if a == b else _against(pairs, a, b) for b in order]) for a in order]

    @property
    def heads(self) -> list[str]:
        return [self.names[number] for number in self.found.order]

    @property
    def next_pairs(self) -> list[tuple[str, str, str]]:
        """The pairs of which another task would show most: both names, and their runs for an address."""
        return [
            (self.names[a], self.names[b], f"{self.candidates[a]['run']},{self.candidates[b]['run']}")
            for a, b in ((pair.a, pair.b) for pair in self.found.next)
        ]

    @property
    def settings(self) -> list[tuple[str, object]]:
        labels = {"tasks": "Max tasks", "pairs_per_task": "Max pairs per task", "seed": "Seed", "criteria": "Criteria"}
        settings = [
            (label, "All" if self.request[name] is None else self.request[name]) for name, label in labels.items()
        ]
        settings.append(("Only new pairs", "Yes" if self.request["only_new"] else "No"))
        return [("Judge", self.run.judge_model or "–"), *settings, ("Code version", self.run.code_version or "–")]


@dataclass(frozen=True, slots=True)
class PeopleRow(PreferenceRow):
    """What people chose between the same pairs."""

    choices: PeoplesChoices

    @property
    def who(self) -> str:
        return PEOPLE

    @property
    def basis(self) -> str:
        return basis_sentence(plural(self.choices.n_people, "reviewer"), self.dataset, self.found)

    @property
    def verdict(self) -> str:
        return verdict(self.names, self.found, PEOPLE)

    @property
    def position(self) -> str:
        return first_shown_sentence(self.found.position)

    @property
    def agreement(self) -> str:
        return agreement_sentence(self.choices.same, self.choices.kappa, self.choices.alpha)


@dataclass(frozen=True, slots=True)
class PooledRow(PreferenceRow):
    """The verdicts of all runs that join this one; ``numbers`` is ``pooled_numbers``."""

    @property
    def verdict(self) -> str:
        return f"{pooled_sentence(self.found.runs or ())} {verdict(self.names, self.found)}"

    @property
    def suffix(self) -> str:
        """What headings add."""
        return f" over {len(self.found.runs or ())} runs"


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """What the judge chose when it saw the answer of ``first`` first, as ``chose x``, ``tie`` or ``no verdict``."""

    result: Result
    first: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One answer of a pair, with its model and outcome."""

    name: str
    text: Excerpt
    outcome: str


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two answers to a task. ``orders`` are those in which the judge saw them.

    ``winner`` is the model that wins, or empty; ``people`` is what people chose, in either order, and how often.
    """

    task: str
    input: Excerpt
    expected: Excerpt | None
    answers: list[ShownAnswer]
    winner: str
    verdict: str
    orders: list[JudgedOrder]
    people: list[tuple[str, int]]

    @property
    def is_long(self) -> bool:
        """Whether the question would push the answers off the screen."""
        return len(self.input.text) > _FOLDED


def preference_row(run: Run) -> PreferenceRow:
    return PreferenceRow(run, candidates_of(run), numbers_of(run))


def people_row(run: Run, with_open: bool) -> PeopleRow | None:
    """``None`` if people chose nothing, or only in blind reviews that are open, unless ``with_open``."""
    choices = peoples_choices(run, with_open)
    return PeopleRow(run, candidates_of(run), choices.numbers, choices) if choices else None


def pooled_row(run: Run) -> PooledRow | None:
    numbers = pooled_numbers(run)
    return PooledRow(run, candidates_of(run), numbers) if numbers else None


def columns_of_experiment(experiment_id: int, with_open: bool) -> list[PreferenceRow]:
    """Strengths beside the scores of an experiment's runs, by each judge and by people."""
    return [
        PeopleRow(run, candidates_of(run), strengths.numbers, strengths)
        if isinstance(strengths, PeoplesChoices)
        else PreferenceRow(run, candidates_of(run), strengths)
        for run, strengths in strengths_of_experiment(experiment_id, with_open)
    ]


def preferences_beside(review: ReviewQueue) -> list[PreferenceRow]:
    """What people and judges prefer, for the conclusion of a closed review: of its own pairs, or among the runs of its
    experiment."""
    if review.closed_at is None:
        return []
    if not review.is_of_pairs:
        experiment = review.source.get("experiment")
        return columns_of_experiment(experiment, with_open=False) if experiment else []
    run = preferences().filter(pk=review.source["preference"]).first()
    rows = [people_row(run, with_open=False), preference_row(run)] if run else []
    return [row for row in rows if row is not None and row.numbers is not None]


def verdicts_of_pairs(row: PreferenceRow, compared: Sequence[int], counts: Counter[str]) -> list[tuple[str, str]]:
    """The verdicts to choose from, of all candidates or of two runs, each with its number of ``counts``."""
    wins = [(str(each["run"]), f"{each['name']} wins") for each in row.candidates]
    wins = [each for each in wins if not compared or int(each[0]) in compared]
    named = [
        *wins,
        (DISAGREE, _disagreement(row)),
        (TIE, "Tie"),
        *([(IDENTICAL, "Identical")] if row.run.judge_model else []),
    ]
    return [(value, f"{title} ({number(counts[value])})") for value, title in named]


def counts_of_verdicts(pairs: Sequence[Pair]) -> Counter[str]:
    return Counter(pair.verdict for pair in pairs)


def pairs_in_words(row: PreferenceRow, counts: Counter[str]) -> str:
    """How many pairs differ and how those were decided; empty until a judge has decided all. ``counts`` of verdicts."""
    if row.numbers is None or not row.run.judge_model:
        return ""
    decided = [(each["name"], counts[str(each["run"])]) for each in row.candidates]
    tied, disagree = counts[TIE], counts[DISAGREE]
    with_total = not row.is_few or bool(row.found.missing)
    return pairs_sentence(counts[IDENTICAL], decided, tied, disagree, with_total=with_total)


@dataclass(frozen=True, slots=True)
class DecidedPairs:
    """How the pairs of two candidates that differ were decided: as ``parts`` of a bar, and each that is not 0 with its
    key and words. Identical answers need no verdict, and would leave the bar no room for the others."""

    parts: Mapping[str, int]
    legend: Sequence[tuple[str, str, int]]


def decided_pairs(row: PreferenceRow, counts: Counter[str]) -> DecidedPairs | None:
    """``None`` unless a judge chose between two candidates, in both orders. ``counts`` of verdicts."""
    if len(row.candidates) != 2 or not row.run.judge_model or not counts:
        return None
    wins = [counts[str(each["run"])] for each in row.candidates]
    legend = (
        ("a", f"{row.names[0]} wins", wins[0]),
        ("both", "Ties", counts[TIE]),
        ("neither", _disagreement(row), counts[DISAGREE]),
        ("b", f"{row.names[1]} wins", wins[1]),
    )
    return DecidedPairs(
        parts={"only_a": wins[0], "both": counts[TIE], "neither": counts[DISAGREE], "only_b": wins[1]},
        legend=[each for each in legend if each[2]],
    )


def pair_rows(row: PreferenceRow, pairs: Sequence[Pair], with_open: bool) -> list[PairRow]:
    """Choices of blind reviews that are open are left out unless ``with_open``."""
    results = results_of_pairs(row.run, pairs)
    people = choices_of_people([result.task.content_hash for result in results.values()], with_open)
    compared = compared_results(results.values())
    return [_pair_row(row, pair, results, people, compared) for pair in pairs]


def _pair_row(
    row: PreferenceRow,
    pair: Pair,
    results: Mapping[int, Result],
    people: Mapping[str, Counter[Choice]],
    compared: Mapping[tuple[int, str], Result],
) -> PairRow:
    names: dict[int | None, str] = {each["run"]: each["name"] for each in row.candidates} | {None: "Tie"}
    titles = {DISAGREE: f"No winner: {_disagreement(row).lower()}", TIE: "Tie", IDENTICAL: "Identical", "": "–"}
    winner = "" if pair.verdict in titles else names[int(pair.verdict)]
    shown = [results[pk] for pk in pair.results.values()]
    known = shown[0].task.known_answer or {}
    orders, chosen = [], Counter[str]()
    for result in shown:
        order = result.task.known_answer or {}
        meant = {"first": names[order["first"]], "tie": names[None], "second": names[order["second"]]}
        said = {"first": f"chose {meant['first']}", "tie": "tie", "second": f"chose {meant['second']}"}
        score = next(iter(result.scores.all()), None)
        choice = "no verdict" if score is None or score.value is None else said[choice_of(score.value)]
        reason = result.error_message if score is None else score.reason
        orders.append(JudgedOrder(result, meant["first"], choice, reason))
        chosen.update({meant[own]: times for own, times in people[result.task.content_hash].items()})
    texts = {known["first"]: known["text"], known["second"]: known["other"]}
    originals = {run: compared.get((run, known["task"])) for run in texts}
    if not row.run.judge_model or pair.identical:
        orders = []
    return PairRow(
        task=next((each.task.name for each in originals.values() if each), known["task"]),
        input=excerpt(shown[0].task.input, _SHOWN),
        expected=excerpt(expected, _SHOWN) if (expected := shown[0].task.expected_output) else None,
        answers=[
            ShownAnswer(names[run], excerpt(text, _SHOWN), each.outcome if (each := originals[run]) else "")
            for run, text in texts.items()
        ],
        winner=winner,
        verdict=titles[pair.verdict] if not winner else f"{winner} wins",
        orders=orders,
        people=chosen.most_common(),
    )


def _disagreement(row: PreferenceRow) -> str:
    return "Choice changed with the order" if row.run.judge_model else "People disagree"


def _against(pairs: Mapping[tuple[int, int], PairOfCandidates], a: int, b: int) -> PairOfCandidates:
    """The pair from the side of ``a``."""
    if (a, b) in pairs:
        return pairs[a, b]
    pair = pairs[b, a]
    mean, low, high = (None if value is None else 1 - value for value in (pair.mean, pair.high, pair.low))
    return replace(pair, mean=mean, low=low, high=high, wins=pair.losses, losses=pair.wins)
