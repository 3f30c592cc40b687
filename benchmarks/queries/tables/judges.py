"""The tables of judges, calibrations and preference runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from benchmarks.analysis.judge_agreement import Part
from benchmarks.analysis.judge_comparisons import CorrectedRun, Separation
from benchmarks.metrics import judge_calibration
from benchmarks.models import Run
from benchmarks.presentation.cells import (
    Bar,
    Cell,
    Group,
    Link,
    Mean,
    Moment,
    Money,
    Progress,
    State,
    Strong,
    Words,
    run_link,
    state_of,
)
from benchmarks.presentation.judges import (
    ENOUGH,
    UNCHECKED,
    calibration_finding,
    calibration_leaning,
    count_of_share,
)
from benchmarks.presentation.labels import metric_title, sentence_case
from benchmarks.presentation.numbers import (
    MISSING,
    interval,
    number,
    p_value,
    plural,
    points,
    rank_range,
    score,
    signed_points,
)
from benchmarks.presentation.preferences import PEOPLE, differing_sentence, has_few_pairs, headline, strength, verdict
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.presentation.tables import Column, Shown, Table
from benchmarks.presentation.texts import cut
from benchmarks.queries.judge_agreement import DisputedAnswer
from benchmarks.queries.judge_words import JudgeRow
from benchmarks.queries.judges import agreement_of, answers_to_judge
from benchmarks.queries.preferences import Candidate, candidates_of, compared_dataset, judgements_to_make, numbers_of
from benchmarks.statistics.paired import Comparison
from benchmarks.statistics.panel import JudgeOfPanel
from benchmarks.statistics.prediction_powered import CorrectedMean
from benchmarks.summary import Preferences, Strength

R = TypeVar("R")


def _canvas_set(run: Run) -> Cell:
    canvas_set = run.dataset.known_answers_of
    return Link(canvas_set.name, "gallery", (canvas_set.slug,), typed=canvas_set.slug) if canvas_set else MISSING


def _kappa(run: Run) -> Cell:
    numbers = agreement_of(run)
    if numbers is None:
        return MISSING
    kappa = numbers.kappa
    return Words("undefined", "soft", kappa.note) if kappa.kappa is None else Mean(kappa.kappa, kappa.low, kappa.high)


def _accuracy(run: Run) -> Cell:
    numbers = agreement_of(run)
    return Mean(numbers.accuracy.mean, numbers.accuracy.low, numbers.accuracy.high) if numbers else MISSING


def _answers(run: Run) -> Cell:
    if numbers := agreement_of(run):
        return n_of_expected(numbers.accuracy.n, numbers.accuracy.n_expected)
    total = answers_to_judge(run)
    share = 100 * run.done // total if total else 0
    drawn = [Progress(share, 100, "Progress", f"{share}%")] if run.is_live else []
    return [*drawn, f"{number(run.done)} of {number(total)}"]


def _result(run: Run) -> Cell:
    numbers = numbers_of(run)
    return _headline(run, numbers) if numbers else MISSING


def _headline(run: Run, numbers: Preferences) -> str:
    names = [each["name"] for each in candidates_of(run)]
    return headline(names, numbers, judgements_to_make(run) // 2) if run.judge_model else verdict(names, numbers)


def _finding(run: Run) -> Cell:
    """The result, and on how many pairs it rests; before there is one, how far the run is."""
    total, numbers = judgements_to_make(run), numbers_of(run)
    if numbers is None:
        done = Words(f"{number(run.done)} of {number(total)} verdicts", "soft small")
        share = 100 * run.done // total if total else 0
        return [*([Progress(share, 100, "Progress", f"{share}%")] if run.is_live else []), done]
    about = sentence_case(differing_sentence(numbers, total // 2)) if run.judge_model else ""
    return [_headline(run, numbers), *([Group([about], "soft small", block=True)] if about else [])]


def _preference(run: Run) -> Cell:
    between = " or ".join(each["name"] for each in candidates_of(run)[:3])
    about = f"{compared_dataset(run)} · by {run.judge_model or PEOPLE.lower()} · preference\u00a0run\u00a0{run.pk}"
    link = Link(between, "preference", (run.pk,), look="row-link anywhere")
    return [link, Group([Words(about, "soft small anywhere")], block=True)]


def _win_rate(run: Run) -> Mean | None:
    """How often the first of two candidates wins, a tie as half a win; ``None`` for more."""
    numbers = numbers_of(run) if len(candidates_of(run)) == 2 else None
    if numbers is None or not numbers.n:
        return None
    wins = numbers.strengths[0].wins
    return Mean(wins.mean, wins.low, wins.high)


def _win_rate_of(run: Run) -> Cell:
    found = _win_rate(run)
    if found is None:
        return MISSING
    name = f"of {candidates_of(run)[0]['name']}"
    return [Group([found], "mean"), Group([name], "soft small anywhere", block=True)]


def _telling_win_rate(run: Run) -> Mean | None:
    """``None`` also if few answers differ: automatic ties make it look precise, which the run's own page explains."""
    numbers = numbers_of(run)
    is_few = bool(run.judge_model and numbers and has_few_pairs(numbers))
    return None if is_few else _win_rate(run)


def preferences_shown(runs: Sequence[Run]) -> Shown[Run]:
    """The preference runs of a page, with win rates if any of them says something."""
    return PREFERENCES.where(win_rates=any(map(_telling_win_rate, runs))).of(runs)


def _differing(run: Run) -> Cell:
    """Of all pairs, those whose answers differ: identical ones need no verdict."""
    total, numbers = judgements_to_make(run), numbers_of(run)
    if not run.judge_model:
        return MISSING
    if numbers is None:
        return f"{number(run.done)} of {number(total)} verdicts"
    return f"{number(numbers.position.n)} of {number(total // 2)}"


def _cost(run: Run) -> Cell:
    return Money(run.judge_cost_usd)


def _calibration(run: Run) -> Cell:
    canvas_set = run.dataset.known_answers_of
    about = " · ".join(
        [metric_title(run.metrics[0]), *([canvas_set.name] if canvas_set else []), f"calibration\u00a0{run.pk}"]
    )
    link = Link(run.judge_model, "calibration", (run.pk,), look="row-link anywhere")
    return [link, Group([Words(about, "soft small anywhere")], block=True)]


def _calibration_finding(run: Run) -> Cell:
    numbers = agreement_of(run)
    return calibration_finding(numbers) if numbers else ""


def with_bar(head: str, mean: Callable[[R], Mean | None], otherwise: Cell = MISSING, look: str = "") -> list[Column[R]]:
    """Two columns: a mean with its interval, and the same drawn on a page, in a ``look`` of its own."""
    return [
        Column(head, lambda row: mean(row) or otherwise, look="nowrap"),
        Column(
            "Interval, 0 to 1",
            lambda row: Bar(found) if (found := mean(row)) else "",
            look=look,
            bare=True,
            only="page",
        ),
    ]


CALIBRATIONS = Table[Run](
    "Calibrations, newest first",
    [
        Column("Judge", _calibration, "name", only="page"),
        Column("Calibration", lambda run: f"Calibration {run.pk}", only="text"),
        Column("Judge", lambda run: run.judge_model, "name", only="text"),
        Column("Metric", lambda run: metric_title(run.metrics[0]), only="text"),
        Column("Canvas set", _canvas_set, only="text"),
        Column("Result", _calibration_finding, look="finding", only="page"),
        Column("Status", state_of),
        Column("Accuracy", _accuracy, look="nowrap"),
        Column("Beyond chance (κ)", _kappa, look="nowrap", info="kappa"),
        Column("Answers", _answers, "number", look="nowrap"),
        Column("Cost", _cost, "number"),
        Column("Queued", lambda run: Moment(run.created_at), look="nowrap"),
    ],
    region=True,
    look="leads by-line",
)


_MARKS = {"usable": "completed", "not usable": "failed", UNCHECKED: "pending"}
"""Word of a standing → its mark."""


def _judge(row: JudgeRow) -> Cell:
    link: Link | Strong = Strong(row.judge)
    if row.people:
        link = Link(row.judge, "judge-agreement", (), {"judge": row.judge, "metric": row.metric}, "row-link anywhere")
    elif row.calibration:
        link = Link(row.judge, "calibration", (row.calibration.pk,), look="row-link anywhere")
    about = metric_title(row.metric) + (f" · {plural(row.n_runs, 'run')}" if row.n_runs else "")
    return [link, Group([Words(about, "soft small anywhere")], block=True)]


def _standing(row: JudgeRow) -> Cell:
    return State(_MARKS.get(row.standing.word, "partial"), sentence_case(row.standing.word))


def _with_people(row: JudgeRow) -> Mean | None:
    found = row.people.agreement if row.people and row.people.agreement.n else None
    return Mean(found.mean, found.low, found.high) if found else None


def _n_labeled(row: JudgeRow) -> Cell:
    """How many labels there are, which is the n of the agreement with people, and whether more can be given."""
    n = row.people.agreement.n if row.people else 0
    needed = [Words(f"of {ENOUGH} needed", "soft small")] if n < ENOUGH else []
    no_more = [Group(["all answers labeled"], "soft small", block=True)] if needed and row.all_labeled else []
    return [number(n), *needed, *no_more]


def _on_known(row: JudgeRow) -> Cell:
    known = agreement_of(row.calibration) if row.calibration else None
    if row.calibration is None or known is None:
        return Words("Not calibrated", "soft")
    link = Link(score(known.accuracy.mean), "calibration", (row.calibration.pk,))
    about = ", ".join(filter(None, (f"right on {count_of_share(known.accuracy)}", calibration_leaning(known))))
    bounds = interval(known.accuracy.low, known.accuracy.high)
    return [link, Words(bounds, "soft small"), Group([about], "soft small", block=True)]


def _next_step(row: JudgeRow) -> Cell:
    look = "button primary" if row.comes_next else "button"
    if row.people and row.people.open_reviews:
        return Link("Finish the open review", "review", (row.people.open_reviews[0],), look=look)
    if row.standing.caution and row.run and row.all_labeled:
        return Link(
            "Get more answers to label",
            "launch",
            (),
            {"like": str(row.run)},
            look=look,
            name=f"Get more answers to label for {row.judge}",
        )
    if row.standing.caution and row.run:
        query = {"metric": row.metric, "method": "rest", "size": str(ENOUGH), "runs": str(row.run)}
        return Link("Label answers", "new-review", (), query, look=look, name=f"Label answers that {row.judge} scored")
    return ""


JUDGES_IN_USE = Table[JudgeRow](
    "Judges, those to check first",
    [
        Column("Judge", _judge, "name"),
        Column("Reliable?", _standing, look="nowrap"),
        *with_bar("People agree", _with_people),
        Column("Labels", _n_labeled, "number"),
        Column("Known answers", _on_known, look="nowrap"),
        Column("Next step", _next_step, look="nowrap", given="may_launch"),
    ],
    region=True,
    look="leads by-line",
)
PREFERENCES = Table[Run](
    "Preference runs, newest first",
    [
        Column("Preference run", _preference, "name", only="page"),
        Column("Preference run", lambda run: f"Preference run {run.pk}", only="text"),
        Column("Chosen by", lambda run: run.judge_model or PEOPLE, only="text"),
        Column("Dataset", lambda run: (run.preference or {})["dataset"], only="text"),
        Column("Result", _finding, look="finding", only="page", bare=True),
        Column("Result", _result, only="text"),
        Column("Win rate", _win_rate_of, only="text"),
        Column(
            "Win rate",
            lambda run: _win_rate_of(run) if _telling_win_rate(run) else MISSING,
            only="page",
            given="win_rates",
        ),
        *(replace(column, given="win_rates") for column in with_bar("Win rate", _telling_win_rate)[1:]),
        Column("Status", state_of),
        Column("Pairs that differ", _differing, "number", only="text"),
        Column("Cost", _cost, "number"),
        Column("Queued", lambda run: Moment(run.created_at), look="soft nowrap"),
    ],
    region=True,
    look="leads",
)


def _proposed(pair: tuple[Run, Run]) -> Cell:
    first, second = pair
    names = [f"{run.model_label} {run.variant}".strip() for run in pair]
    link = _to_preference(pair, f"{names[0]} or {names[1]}", "row-link anywhere")
    scores = " and ".join(score(getattr(run, "score", None)) for run in pair)
    about = f"{first.dataset.title} · runs {first.pk} and {second.pk} scored {scores}"
    return [link, Group([Words(about, "soft small anywhere")], block=True)]


def _judge_pair(pair: tuple[Run, Run]) -> Cell:
    first, second = pair
    name = f"Set up {first.model_label} and {second.model_label} of runs {first.pk} and {second.pk}"
    return _to_preference(pair, "Set up", "button", name)


def _to_preference(pair: tuple[Run, Run], label: str, look: str, name: str = "") -> Link:
    return Link(label, "new-preference", (), {"runs": ",".join(str(run.pk) for run in pair)}, look, name)


PROPOSED_PAIRS = Table[tuple[Run, Run]](
    "Pairs of runs that answered the same tasks",
    [
        Column("Compare", _proposed, "name"),
        Column("Set up", _judge_pair, "number", hidden_head=True, bare=True),
    ],
    region=True,
    look="leads",
)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of answers and its interval; ``mean`` is ``None`` if there are no such answers."""

    title: str
    mean: float | None
    low: float | None
    high: float | None
    n_of: str

    @classmethod
    def of(cls, title: str, share: judge_calibration.Share) -> Self:
        return cls(title, share.mean, share.low, share.high, count_of_share(share))


def share_table(of: str, share: str) -> Table[Share]:
    return Table(
        f"{share} by {of.lower()}, with 95% interval",
        [
            Column(of, lambda row: row.title, "name"),
            *with_bar(share, lambda row: Mean(row.mean, row.low, row.high), look="wide-only"),
            Column("Answers", lambda row: row.n_of, "number", "nowrap"),
        ],
        region=True,
    )


BY_PHRASING = share_table("Phrasing", "Accuracy")
BY_ANSWER = share_table("Kind of answer", "Share")
AGREEMENT_WITH = share_table("With", "Agreement")


def part_table(of: str) -> Table[Part]:
    """How a judge agrees with people on the answers of each model or class."""

    def name(part: Part) -> Cell:
        leaning = f"Significantly {part.leaning}" if part.leaning else "Not significantly lenient or strict"
        return [Strong(part.name), Group([leaning], "soft small", block=True)]

    return Table(
        f"By {of.lower()}: agreement with 95% interval",
        [
            Column(of, name, "name"),
            *with_bar("Agreement", lambda part: Mean(part.agreement.mean, part.agreement.low, part.agreement.high)),
            Column("Lenient", lambda part: part.n_lenient, "number"),
            Column("Strict", lambda part: part.n_strict, "number"),
            Column("n", lambda part: part.agreement.n, "number"),
        ],
        region=True,
        label=f"By {of.lower()}",
        look="leads",
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    title: str
    mean: Mean
    basis: str


def estimates(means: CorrectedMean) -> list[Estimate]:
    """The mean by the judge alone, by the labels alone, and corrected."""
    judge, labels = means.judge, means.labels
    answers, labeled = plural(means.n_judged, "answer"), plural(means.n_labels, "label")
    bias = "" if judge.mean is None else points(judge.mean - means.mean)
    direction = "higher" if judge.mean is not None and judge.mean > means.mean else "lower"
    return [
        Estimate(
            "Judge alone",
            Mean(judge.mean, judge.low, judge.high),
            f"{answers}; {bias.removeprefix('−')} points {direction} than corrected",
        ),
        Estimate("Labels alone", Mean(labels.mean, labels.low, labels.high), f"{labeled}; without the judge"),
        Estimate("Corrected", Mean(means.mean, means.low, means.high), f"{answers} judged, corrected by {labeled}"),
    ]


ESTIMATES = Table[Estimate](
    "Three estimates of the mean",
    [
        Column("Estimate", lambda row: row.title, "name"),
        *with_bar("Mean", lambda row: row.mean),
        Column("Based on", lambda row: row.basis, look="nowrap"),
    ],
    region=True,
)


def _corrected(run: CorrectedRun) -> Mean | None:
    return Mean(run.means.mean, run.means.low, run.means.high) if run.means else None


CORRECTED_RUNS = Table[CorrectedRun](
    "Corrected mean by run",
    [
        Column("Run", lambda each: run_link(each.run.pk), look="nowrap"),
        Column("Model", lambda each: each.run.model_label, "name"),
        *with_bar("Corrected mean", _corrected, Words("Too few labels", "soft")),
        Column("Labeled", lambda each: each.n_labels, "number"),
        Column("Judged", lambda each: each.n_judged, "number"),
    ],
    region=True,
)


def _separated(run: Run) -> Cell:
    return [Link(run.model_label, "run", (run.pk,)), Group([f"Run {run.pk}"], "small nowrap")]


def _apart(pair: Separation) -> Cell:
    found = pair.corrected
    bounds = f"{signed_points(found.low)} to {signed_points(found.high)}"
    return [signed_points(found.difference), Words(bounds, "small")]


SEPARATIONS = Table[Separation](
    "Differences of corrected means, in points, with 95% interval",
    [
        Column("Higher", lambda pair: _separated(pair.higher), "name"),
        Column("Lower", lambda pair: _separated(pair.lower)),
        Column("Judge alone", lambda pair: signed_points(pair.judged), "number"),
        Column("Corrected difference, points", _apart, look="nowrap"),
        Column(
            "Verdict",
            lambda pair: [pair.words[0], *([Group([pair.words[1]], "small", block=True)] if pair.words[1] else [])],
            look="wide-text",
        ),
    ],
    region=True,
)
RankedCandidate = tuple[str, int, Strength]
STRENGTHS = Table[RankedCandidate](
    "Strengths, the strongest first",
    [
        Column("Rank", lambda row: rank_range(row[2].rank_low, row[2].rank_high), "number", "nowrap"),
        Column("Run", lambda row: Link(row[0], "run", (row[1],)), "name"),
        Column("Strength", lambda row: Strong(strength(row[2].value)), "number", "nowrap", info="strength"),
        Column(
            "95% interval",
            lambda row: MISSING if row[2].low is None else interval(row[2].low, row[2].high, strength),
            look="nowrap wide-only",
            info="interval",
        ),
        *with_bar("Win rate", lambda row: Mean(row[2].wins.mean, row[2].wins.low, row[2].wins.high)),
        Column("Verdicts", lambda row: row[2].judgements, "number", "wide-only"),
    ],
    region=True,
)
"""Of candidates, each with its name and run."""


def by_strength(candidates: Sequence[Candidate], numbers: Preferences) -> list[RankedCandidate]:
    """The candidates of ``candidates_of``, the strongest first."""
    return [(candidates[n]["name"], candidates[n]["run"], numbers.strengths[n]) for n in numbers.order]


JUDGES = Table[JudgeOfPanel](
    "Judges",
    [
        Column("Judge", lambda judge: judge.judge, "name", "anywhere"),
        Column("Mean verdict", lambda judge: number(judge.mean, 3), "number"),
        Column(
            "Spread of its verdicts on an answer",
            lambda judge: number(judge.deviation, 3),
            "number",
            given="deviation",
        ),
    ],
    region=True,
)
"""Of a panel, or of one judge that was asked repeatedly."""


@dataclass(frozen=True, slots=True)
class LengthBias:
    """Of correct or of wrong answers."""

    truth: str
    difference: Comparison
    n_of: str


def _longer(row: LengthBias) -> Cell:
    found = row.difference
    if found.difference is None:
        return Words(found.note or "Not measured", "soft")
    return Mean(found.difference, found.low, found.high)


LENGTH_BIAS = Table[LengthBias](
    "Score of a long answer minus score of a short answer with the same content. Above 0, the judge favors long "
    "answers.",
    [
        Column("Truth", lambda row: row.truth.capitalize(), "name"),
        Column("Difference", _longer),
        Column("p", lambda row: p_value(row.difference.p_value), "number", "wide-only", info="p_value"),
        Column("n", lambda row: row.n_of, "number", "nowrap"),
    ],
    region=True,
    label="Scores of long and short answers",
)


def _disputed(row: DisputedAnswer) -> Cell:
    link = Link(row.task, "result", (row.answer.run, row.answer.result))
    return [link, Group([row.answer.model], "soft small anywhere", block=True)]


DISPUTED_ANSWERS = Table[DisputedAnswer](
    "Answers on which judge and people disagree",
    [
        Column("Task", _disputed, "name", "anywhere"),
        Column("Answer", lambda row: cut(row.text, 160), look="wide-text anywhere"),
        Column("Reason of the judge", lambda row: cut(row.reason, 200), look="wide-text anywhere"),
        Column("Judge", lambda row: score(row.answer.judged), "number"),
        Column("People", lambda row: score(row.answer.label), "number"),
        Column("Judge is", lambda row: f"too {row.answer.error}", look="beside nowrap", bare=True),
    ],
    region=True,
    look="leads",
)
