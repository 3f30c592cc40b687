"""Counts and costs in words, as pages, commands and reports state them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypedDict

from benchmarks.codec import stored
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.presentation.labels import OUTCOME, SCORE_STATUS, sentence_case
from benchmarks.presentation.numbers import (
    MISSING,
    UNKNOWN,
    duration,
    interval,
    money,
    n_of,
    number,
    percent,
    plural,
    score,
)
from benchmarks.providers.clean_text import full_sentence
from benchmarks.statistics.intervals import Bounded, independent_difference
from benchmarks.statistics.spread import are_equal
from benchmarks.summary import Canvases, Corrected, Expected, MetricNumbers, PartOfCost, Summary

_FAULTS = {"n_unparsable": "unparsable", "n_truncated": "cut off", "n_refused": "refused"}
_ERRORS = {f"n_{kind}_error": f"{kind} error" for kind in ("provider", "internal", "judge", "metric")}
_ADVICE = {
    "rate_limited": "The endpoint limits the rate of requests. Retry later, or with fewer requests at once.",
    "timeout": "The endpoint took too long. Retry, or raise the timeout.",
    "connection": "The endpoint could not be reached. Check that it is running, then retry.",
    "server": "The endpoint failed. A retry can help.",
    "bad_response": "The endpoint's response could not be read. A retry can help.",
    "bad_request": "The endpoint refused this request. Check what was sent before you retry.",
    "authentication": "The endpoint refused the API key. Check the key, then retry.",
    "not_found": "The endpoint does not know this name or address. Check it, then retry.",
    "redirect": "The endpoint redirects to another address. Set the final address, then retry.",
    "too_large": "The prompt is longer than the model accepts. A retry does not help.",
    "unsupported": "The model does not support what this task needs. A retry does not help.",
}
"""Kind of a provider error → whose fault it is, and what to do."""
FAILS_ALIKE = frozenset({"bad_request", "too_large", "unsupported"})
"""Those with which the same request ends again."""


def advice(kind: str) -> str:
    return _ADVICE.get(kind, "")


def error_advice(kind: str, outcome: str) -> str:
    """Whose fault an error is, what to do, and that the model does not pay for it."""
    fault = advice(kind) if outcome != "internal_error" else "The fault is here, not in the model."
    return f"{fault} The result has no score and does not count in the mean.".strip()


class JudgeTrial(TypedDict):
    """``Run.judge_trial``."""

    value: float
    reason: str
    calls: int


SILENT_SECONDS = 30.0
SILENT_LATENCIES = 3.0
"""A run without an answer for so long, and for so many times the 95th percentile of its latency, is silent."""
PLAINLY_CORRECT = 0.7
"""A judge that scores the correct answer of its trial lower than this is doubtful."""
HEADLINE = (
    *(
        "mean",
        "low",
        "high",
        "n",
        "n_clusters",
        "n_expected",
        "n_no_answer",
        "n_no_verdict",
        "n_not_applicable",
        "coverage",
    ),
    *("if_missing_wrong", "readable"),
)
WEIGHTED = ("mean", "low", "high", "n", "n_effective", "if_missing_wrong")


def headline_numbers(summary: Summary, metrics: Sequence[str]) -> dict[str, dict[str, object]]:
    """Metric → what other programs get of a run's summary: the strict mean with its 95% interval, ``n`` scores of
    ``n_expected`` with the share (``coverage``) and in how many clusters they are, the results without an answer and
    the answers without a verdict, the results that the metric does not apply to, ``if_missing_wrong``, the mean with
    those without a score as 0, ``readable``, the mean over answers without a fault, and ``weighted`` if the weights of
    the tasks differ.
    """
    numbers: dict[str, dict[str, object]] = {}
    for name in metrics:
        computed = summary.metrics.get(name)
        numbers[name] = {key: stored(getattr(computed, key, None)) for key in HEADLINE} | ({} if computed else {"n": 0})
        if not is_score(name):
            numbers[name]["if_missing_wrong"] = None
        if computed and computed.weighted:
            numbers[name]["weighted"] = {key: getattr(computed.weighted, key) for key in WEIGHTED}
    return numbers


def n_of_expected(n: int, expected: int | None) -> str:
    """How many results a mean contains, of how many it should: ``960 of 960``, ``720 of 960 (75%)``."""
    if expected is None:
        return number(n) if n else MISSING
    return n_of(n, expected) if n >= expected else f"{n_of(n, expected)} ({percent(n / expected)})"


def n_of_mean(metric: str, numbers: Expected) -> str:
    """The same beside a final mean; of a score with what it would be if all that is missing were wrong: ``190 of 200
    (95%), at least 0.850``."""
    words = n_of_expected(numbers.n, numbers.n_expected)
    complete = numbers.mean is None or numbers.n_expected is None or numbers.n >= numbers.n_expected
    return words if complete or not is_score(metric) else f"{words}, at least {score(numbers.if_missing_wrong)}"


def change(first: Expected, last: Expected) -> str:
    """``falls`` or ``rises`` if the mean of other tasks is significantly lower or higher than the first; empty if it is
    not, or if scores are missing that could undo it."""
    before, after = _bounded(first), _bounded(last)
    if before is None or after is None:
        return ""
    _, low, high = independent_difference(before, after)
    return "falls" if low > 0 else "rises" if high < 0 else ""


def _bounded(mean: Expected) -> Bounded | None:
    """``None`` without an interval, or if scores are missing."""
    if mean.mean is None or mean.low is None or mean.high is None or mean.n < (mean.n_expected or 0):
        return None
    return mean.mean, mean.low, mean.high


def if_missing(name: str, metric: MetricNumbers) -> str:
    """What a score would be without what is missing: ``0.850 if the 10 without a verdict are wrong``; empty if nothing
    is."""
    kinds = (("answer", metric.n_no_answer), ("verdict", metric.n_no_verdict))
    parts = [f"the {number(n)} without {'an' if kind == 'answer' else 'a'} {kind}" for kind, n in kinds if n]
    if metric.if_missing_wrong is None or not parts or not is_score(name):
        return ""
    verb = "is" if metric.n_no_answer + metric.n_no_verdict == 1 else "are"
    return f"{score(metric.if_missing_wrong)} if {' and '.join(parts)} {verb} wrong"


def bounds_with_missing(corrected: Corrected) -> str:
    """The interval of a score above the best guess with the missing scores: ``-0.020 to 0.240 whatever the missing
    scores are``; empty if none is missing."""
    complete = corrected.n_expected is None or corrected.n >= corrected.n_expected
    if complete or corrected.low_missing is None or corrected.high_missing is None:
        return ""
    return f"{interval(corrected.low_missing, corrected.high_missing)} whatever the missing scores are"


def applies_to(title: str, metric: MetricNumbers) -> str:
    """``Numeric applies to 120 of 360 results.``; empty for a metric that applies to all."""
    n, others = metric.n_expected or 0, metric.n_not_applicable
    return f"{title} applies to {n_of(n, n + others)} results." if others else ""


def mean_of(mean: float | None, n: int, expected: int | None, written: Callable[[float], str] = score) -> str:
    """A mean with its n: ``0.861 · 720 of 960 (75%)``."""
    return f"{MISSING if mean is None else written(mean)} · {n_of_expected(n, expected)}"


def faults(metric: MetricNumbers) -> str:
    """The answers that count as 0 without being read: ``2 unparsable, 3 cut off``; empty without any."""
    return counted((word, n) for key, word in _FAULTS.items() if (n := getattr(metric, key)))


def unscored(metric: MetricNumbers, *, live: bool) -> list[str]:
    """Why results have no score of a metric, from its summary: ``["2 judge errors", "3 not sent"]``."""
    words = [plural(n, noun) for key, noun in _ERRORS.items() if (n := getattr(metric, key))]
    others = {
        "n_pending": "not finished yet" if live else "not sent yet",
        "n_cancelled": "not sent",
        "n_ungraded": "that no metric applies to",
        "n_missing": "without this metric",
        "n_doubtful": "with a doubtful expected answer",
        "n_not_applicable": "not applicable",
    }
    return words + [f"{number(n)} {word}" for key, word in others.items() if (n := getattr(metric, key))]


def sample(metric: MetricNumbers, *, live: bool) -> str:
    """``96 of 100 (96%) in 12 clusters, including 2 cut off; not scored: 1 judge error, 3 not sent yet``."""
    zeros, missing = faults(metric), unscored(metric, live=live)
    n_of_all = n_of_expected(metric.n, metric.n_expected)
    if metric.n_clusters not in (None, metric.n):
        n_of_all += f" in {plural(metric.n_clusters, 'cluster')}"
    words = f"{n_of_all}, including {zeros}" if zeros else n_of_all
    return f"{words}; not scored: {', '.join(missing)}" if missing else words


def readable(metric: MetricNumbers, written: Callable[[float], str] = score) -> str:
    """The mean over answers without a fault: ``1.000 · 160 of 960 (16.7%)``; empty if there is no fault."""
    return mean_of(metric.readable.mean, metric.readable.n, metric.n, written) if faults(metric) else ""


def weighted(metric: MetricNumbers, written: Callable[[float], str] = score) -> str:
    """The weighted mean: ``0.912 (0.871 to 0.941), counts as 41 equal tasks``, and what it is at least, if a score is
    missing; empty if all weights are equal."""
    part = metric.weighted
    if part is None or part.mean is None:
        return ""
    unbounded = part.low is None or part.high is None
    bounds = ", no interval" if unbounded else f" ({interval(part.low, part.high, written)})"
    lowest = part.if_missing_wrong
    at_least = "" if lowest is None or are_equal(lowest, part.mean) else f", at least {written(lowest)}"
    return f"{written(part.mean)}{bounds}, counts as {plural(round(part.n_effective), 'equal task')}{at_least}"


def score_with_status(value: float | None, status: str) -> str:
    """One score: ``0.750``, ``0.000 (cut off)``, ``Judge error``."""
    label = SCORE_STATUS.get(status, sentence_case(status))
    if value is None:
        return label
    return score(value) if status == "scored" else f"{score(value)} ({label.lower()})"


def canvases(strata: Sequence[Canvases] | None) -> str:
    """The canvases that a run asked about: ``120 canvases: 0 to 19 with 3 to 8 shapes``; empty for other runs."""
    if not strata:
        return ""
    ranges: dict[tuple[int, int], list[int]] = {}
    for stratum in strata:
        ranges.setdefault((stratum.first, stratum.last), []).append(stratum.n_shapes)
    parts = []
    for (first, last), shapes in ranges.items():
        # Numbers of shapes that follow each other are written as a range.
        listed = f"{shapes[0]} to {shapes[-1]}" if shapes[-1] - shapes[0] == len(shapes) - 1 > 0 else None
        parts.append(f"{first} to {last} with {listed or ', '.join(map(str, shapes))} shapes")
    return f"{plural(sum(stratum.n for stratum in strata), 'canvas')}: {'; '.join(parts)}"


def outcome_counts(outcomes: Mapping[str, int]) -> str:
    """``21 correct, 2 wrong, 1 provider error``, the most frequent first."""
    ordered = sorted(outcomes.items(), key=lambda pair: -pair[1])
    return counted((OUTCOME.get(name, sentence_case(name)).lower(), count) for name, count in ordered) or "none yet"


def counted(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number(count)} {word}" for word, count in counts)


def adjustments(
    noted: Mapping[str, Mapping[str, str]], trial: JudgeTrial | None, answered: Mapping[str, int] | None
) -> list[str]:
    """What the requests of a run to its model and judge went without, that several models ``answered`` (name → number
    of results), and what is odd about the trial of the judge.
    """
    roles = ("model", "judge")  # a database may return them in another order
    sentences = [f"{role.capitalize()}: {note}" for role in roles for note in noted.get(role, {}).values()]
    if answered and len(answered) > 1:
        names = ", ".join(f"{name} ({number:,})" for name, number in answered.items())
        sentences.append(f"Model: the endpoint answered with several models: {names}.")
    if trial and trial["value"] < PLAINLY_CORRECT:
        sentences.append(f"Judge: in its trial it gave a correct answer {score(trial['value'])}. Calibrate it.")
    return sentences


def same_seed(seed: object) -> str:
    """Of a run that sent one seed with all repeats of a task."""
    return (
        f"Every repeat was sent with seed {seed}, so repeats may be copies of each other, and their agreement says "
        "little about the model. Runs that you start now send another seed with each repeat."
    )


def first_sentence(text: str) -> str:
    sentence, more, _ = text.partition(". ")
    return f"{sentence}." if more else text


def error_sentence(message: str, model: str) -> str:
    """What stopped a run, which may be a message of an endpoint, with a full stop; without the model, which its page
    and its row name."""
    return full_sentence(message.removeprefix(f"The model {model} failed. "))


def known_cost(model: float | None, judge: float | None, part: PartOfCost | None = None) -> tuple[float | None, str]:
    """Of model and judge together; of an unknown sum the known ``part`` of the model's cost and the judge's, and what
    is unknown: `` + judge unknown``, `` + 3 answers unknown``."""
    unknown = []
    if model is None and part is not None and part.known_usd is not None:
        model = part.known_usd
        unknown = [plural(part.n_unknown, "answer")]
    elif model is None:
        unknown = ["model"]
    unknown += ["judge"] if judge is None else []
    usd = (model or 0.0) + (judge or 0.0)
    if not unknown or model is not None or judge:
        return usd, f" + {' and '.join(unknown)} {UNKNOWN}" if unknown else ""
    return None, ""


def total_cost(model: float | None, judge: float | None, part: PartOfCost | None = None) -> str:
    """Of model and judge together: ``$0.25 + judge unknown``."""
    usd, unknown = known_cost(model, judge, part)
    return money(usd) + unknown


def cost_of_answers(run: Spending) -> tuple[float | None, str]:
    """As ``known_cost``, without the judge."""
    return known_cost(run.cost_usd, 0.0, run.numbers.part_of_cost)


def unknown_cost(model: str, cost: float | None, n_tokens: int | None) -> str:
    """Why the cost of a model or judge is unknown; empty if it is known."""
    if cost is not None:
        return ""
    if n_tokens is None:
        return "the endpoint does not report tokens for every response"
    return f"no price is configured for {model}"


class Spending(Protocol):
    """What a run has used, as ``RunProgress`` has it."""

    model: str
    user_model: str
    cost_usd: float | None
    user_cost_usd: float | None
    tokens_in: int | None
    user_tokens_in: int | None

    @property
    def numbers(self) -> Summary: ...


def unknown_cost_of_answers(run: Spending) -> str:
    """Why the cost of a run's answers is unknown, with its simulated user, if it has one; empty as above."""
    if run.user_model and run.user_cost_usd is None:
        return unknown_cost(run.user_model, run.cost_usd, run.user_tokens_in)
    part = run.numbers.part_of_cost
    if run.cost_usd is None and part is not None and part.by_system:
        return f"the system reports no cost for {n_of(part.n_unknown, part.n)} answers"
    return unknown_cost(run.model, run.cost_usd, run.tokens_in)


def waiting(until: datetime | None, done: int, total: int) -> str:
    """``The endpoint asks to wait until 14:05. 63 of 700 done.``, in local time; empty once that time has passed."""
    now = datetime.now().astimezone()
    if until is None or until <= now:
        return ""
    until = until.astimezone()  # Django has set the process to the configured time zone
    moment = f"{until:%H:%M}" if until.date() == now.date() else f"{until:%Y-%m-%d %H:%M}"
    return f"The endpoint asks to wait until {moment}. {n_of(done, total)} done."


class Progressing(Protocol):
    """What is read of a run."""

    @property
    def silent_seconds(self) -> float | None: ...
    @property
    def numbers(self) -> Summary: ...


def silent(run: Progressing) -> str:
    """``No answer for 3 min``; empty for a run that is not running, within what its requests usually take, or while it
    waits for its turn."""
    seconds = _overdue_seconds(run)
    if seconds is None or _waits_for_turn(run, seconds):
        return ""
    judges = getattr(run, "is_replay", False) or getattr(run, "is_judging", False)
    what = "verdict" if judges else "answer"
    return f"No {what} for {duration(seconds - seconds % 60 if seconds >= 60 else seconds)}"


def waits_for_turn(run: Progressing) -> str:
    """``Waits for a free place at ollama`` or ``Waits for the rate limit of openai``, of a run that would be silent,
    but that its model takes a limited number of requests and answers those of other runs, or that the limit of
    requests per minute lets none pass; empty for any other.
    """
    seconds = _overdue_seconds(run)
    if seconds is None or not _waits_for_turn(run, seconds):
        return ""
    provider = getattr(run, "asks_now", "").partition("/")[0]
    limited = getattr(run, "places", None) is not None and seconds >= _paced_seconds(run)
    return f"Waits for a free place at {provider}" if limited else f"Waits for the rate limit of {provider}"


def turn_awaited(run: Progressing) -> str:
    """The same with the limit: ``Waits for a free place at ollama (at most 2 requests at once to ollama/model).
    Requests of other runs are answered.``"""
    words = waits_for_turn(run)
    if not words:
        return ""
    at_once = words.startswith("Waits for a free place")
    most = plural(getattr(run, "places" if at_once else "per_minute", 0), "request")
    limit = f"at most {most} {'at once' if at_once else 'a minute'} to {getattr(run, 'asks_now', '')}"
    return f"{words} ({limit}).{' Requests of other runs are answered.' if _others_answered(run) else ''}"


def _overdue_seconds(run: Progressing) -> float | None:
    """For how long a running run has got nothing; ``None`` within what its requests usually take."""
    seconds = run.silent_seconds
    return None if seconds is None or seconds < _usual_seconds(run) else seconds


def _waits_for_turn(run: Progressing, seconds: float) -> bool:
    return _others_answered(run) or seconds < _paced_seconds(run)


def _paced_seconds(run: Progressing) -> float:
    """How long a run that is alone at its model may get nothing because of the limit of requests per minute: a minute,
    after which its window has room, and what a request usually takes. 0 without such a limit."""
    return 0.0 if getattr(run, "per_minute", None) is None else 60.0 + _usual_seconds(run)


def _others_answered(run: Progressing) -> bool:
    """Whether the model that a run waits for has a limit and has lately answered another run, as
    ``queries.runs.turns`` found."""
    at: datetime | None = getattr(run, "others_answered_at", None)
    if at is None:
        return False
    usual = max(_usual_seconds(run), SILENT_LATENCIES * (getattr(run, "others_p95_ms", None) or 0.0) / 1000)
    return (datetime.now().astimezone() - at).total_seconds() < max(usual, _paced_seconds(run))


def _usual_seconds(run: Progressing) -> float:
    latency = run.numbers.latency_ms
    return max(SILENT_SECONDS, SILENT_LATENCIES * latency.p95 / 1000) if latency else SILENT_SECONDS


def tokens(tokens_in: int | None, tokens_out: int | None) -> str:
    """``1,234 tokens in, 56 out``; unknown where the endpoint does not report them for every response."""
    if tokens_in is None or tokens_out is None:
        return f"tokens {UNKNOWN}"
    return f"{number(tokens_in)} tokens in, {number(tokens_out)} out"
