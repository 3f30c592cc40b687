"""Estimate a run before anything is spent: requests, tokens, a range of cost, and a duration.

The duration follows from the latency of the models' earlier runs and from the configured limits. Cost and duration
include what runs that asked the same have cost and taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from benchmarks.engine.execution.budget import Price, mean_price, price_of
from benchmarks.engine.execution.model_clients import context_length_of, limits_of
from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.engine.execution.subsets import Outlook, outlooks
from benchmarks.engine.prices import prices_per_million
from benchmarks.metrics.conversations import most_turns
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, Run, RunStatus, Task
from benchmarks.presentation.numbers import number, plural
from benchmarks.providers.model_names import is_baseline
from benchmarks.services.providers import missing_keys
from benchmarks.services.runs.measured import Measured, measured
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import run_of
from benchmarks.statistics.planning import Limits, Range, together, workload
from benchmarks.summary import read_summary

EARLIER_RUNS = 5
UNSEEN_SECONDS = Range(0.5, 2.0, 15.0)
"""Latency of a model without earlier runs: from a word of a fast model to a reasoned page of a slow one."""
BASELINE_SECONDS = Range(0.0002, 0.0005, 0.002)
"""Built-in models answer at once; this is the time to store their results."""
CHARACTERS_PER_TOKEN = (5.0, 2.5)
"""English prose has about four characters per token; code, numbers and other languages fewer. Low and high estimate."""
TOKENS_OUT = (20, 600)
"""If neither an earlier run of the model nor ``max_tokens`` says more: a word, or a reasoned page."""
JUDGE_FRAME = (700, 1_500)
"""Tokens of a judge's instructions."""
JUDGE_TOKENS_OUT = (60, 400)
SAID = 600
"""Characters of a simulated user's message and the answer to it."""
USER_FRAME = 800
"""Characters of a simulated user's instructions."""
USER_TOKENS_OUT = (15, 100)
MOST_EARLIER = 500
"""Runs of a dataset that are looked at for the length of answers."""
NAMED = 4
"""Tasks that a warning names."""


@dataclass(frozen=True, slots=True)
class Load:
    """The requests to one model and a low and a high estimate of their tokens in total."""

    model: str
    requests: int
    tokens_in: Sequence[int]
    tokens_out: Sequence[int]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Totals of a full run, including its judge. Costs are in US dollars, ``None`` if a price is unknown; the known
    costs leave out the models in ``unpriced``.

    ``requests`` are those to the model and to the simulated user.

    The duration, in seconds, assumes the current limits and latencies. ``subset`` is what a run from a part can show.
    """

    requests: int
    judge_requests: int
    tokens_in_low: int
    tokens_in_high: int
    tokens_out_low: int
    tokens_out_high: int
    cost_low: float | None
    cost_high: float | None
    seconds_low: float
    seconds_high: float
    subset: Outlook | None = None
    warnings: Sequence[str] = ()
    """What will probably go wrong."""
    known_low: float = 0.0
    known_high: float = 0.0
    unpriced: Sequence[str] = ()

    def including(self, earlier: Iterable[Measured]) -> RunPlan:
        """The plan with ranges that include what ``earlier`` runs have cost and taken."""
        plan = self
        for each in earlier:
            low, high = min(plan.seconds_low, each.seconds), max(plan.seconds_high, each.seconds)
            plan = replace(plan, seconds_low=low, seconds_high=high)
            if each.cost is not None and plan.cost_low is not None and plan.cost_high is not None:
                low, high = min(plan.cost_low, each.cost), max(plan.cost_high, each.cost)
                plan = replace(plan, cost_low=low, cost_high=high, known_low=low, known_high=high)
        return plan

    def times(self, factor: float) -> RunPlan:
        """The plan for ``factor`` times as many tasks of the same kind."""
        values = {name: getattr(self, name) for name in self.__slots__}
        numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
        scaled: dict[str, Any] = {
            name: round(value * factor) if isinstance(value, int) else value * factor for name, value in numbers.items()
        }
        return replace(self, **scaled)


def plan_run(data: Any) -> RunPlan:
    """Plan the run that ``start_run`` would start from the same data; an adaptive run with all canvases it may add.

    Raises ``InvalidRequest`` as ``start_run`` does.
    """
    request = validated(data)
    plan, run = plan_of(request), run_of(request)
    return replace(plan, subset=outlooks(run, [run.subset])[0]) if run.subset else plan


def plan_of(request: Mapping[str, Any]) -> RunPlan:
    """The plan of a validated request, without what a subset can show."""
    tasks = tasks_of(request)
    repeats = request["repeats"]
    n_tasks, n_requests, characters = _asked(tasks, request)
    requests = n_requests * repeats
    tokens_in = [round(characters / per_token) * repeats for per_token in CHARACTERS_PER_TOKEN]
    tokens_out = [tokens * requests for tokens in _tokens_out(request)]
    user = _user_load(tasks, request)
    judge = judge_load(request, n_tasks * repeats, tokens_in, tokens_out)
    judge_in, judge_out = judge.tokens_in, judge.tokens_out
    price = price_of(request["model"])
    judge_price = mean_price(request["judge_model"]) if judge.requests else Price(0.0, 0.0)
    costs, known = [], []
    user_price = price_of(user.model) if user.requests else Price(0.0, 0.0)
    totals = (tokens_in, tokens_out, judge_in, judge_out, user.tokens_in, user.tokens_out)
    for low_or_high in zip(*totals, strict=True):
        own, judging, speaking = (low_or_high[place : place + 2] for place in (0, 2, 4))
        parts = price.cost(*own), judge_price.cost(*judging), user_price.cost(*speaking)
        known.append(sum(filter(None, parts)))
        costs.append(None if None in parts else known[-1])
    loads = [Load(request["model"], requests, tokens_in, tokens_out), judge, user]
    seconds = duration_range(loads, request["concurrency"])
    low_in, high_in = map(sum, zip(tokens_in, judge_in, user.tokens_in, strict=True))
    low_out, high_out = map(sum, zip(tokens_out, judge_out, user.tokens_out, strict=True))
    tokens = (low_in, high_in, low_out, high_out)
    asked_models = (request["model"], *judges_named(request["judge_model"] if judge.requests else ""), user.model)
    unpriced = [name for name in asked_models if name and not price_of(name).known]
    plan = RunPlan(requests + user.requests, judge.requests, *tokens, costs[0], costs[1], seconds.low, seconds.high)
    asked = {"model": [request["model"], request["user_model"], *judges_named(request["judge_model"])]}
    without_key = missing_keys(asked).get("model", ())
    too_long = _too_long(tasks, request, n_tasks)
    warnings = (*without_key, *((too_long,) if too_long else ()))
    plan = replace(plan, warnings=warnings, known_low=known[0], known_high=known[1], unpriced=unpriced)
    plan = plan.including(measured(request, n_tasks * repeats))
    if request["max_canvases"] is None:
        return plan
    return plan.times(request["max_canvases"] / max(1, request["dataset"].canvas_set.count))


def costs_at_most(models: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The high estimate, in US dollars, of what each model with a known price costs for the tasks of these validated
    requests, without judges and simulated users."""
    prices = {
        name: (price.input / 1e6, price.output / 1e6)
        for name, price in prices_per_million(models).items()
        if price.input is not None and price.output is not None
    }
    costs = dict.fromkeys(prices, 0.0)
    for request in requests:
        _, n_requests, characters = _asked(tasks_of(request), request)
        per_answer = _tokens_per_answer(costs, request)
        sent = characters / CHARACTERS_PER_TOKEN[1]
        for name, (per_token_in, per_token_out) in prices.items():
            got = per_answer[name][1] * n_requests
            costs[name] += request["repeats"] * (per_token_in * sent + per_token_out * got)
    return costs


def judge_load(request: Mapping[str, Any], answers: int, tokens_in: Sequence[int], tokens_out: Sequence[int]) -> Load:
    """The requests to the judge for ``answers`` answers, from low and high estimates of all their tokens."""
    n_judged = sum((metric := metric_named(name)) is not None and metric.judged for name in request["metrics"])
    judges = judges_named(request["judge_model"])
    n_judged *= max(1, len(judges)) * request["judge_repeats"]
    judge_in = [
        answers * n_judged * frame + n_judged * (prompt + answer)
        for frame, prompt, answer in zip(JUDGE_FRAME, tokens_in, tokens_out, strict=True)
    ]
    judge_out = [answers * n_judged * tokens for tokens in JUDGE_TOKENS_OUT]
    return Load(judges[0] if judges else "", answers * n_judged, judge_in, judge_out)


def tasks_of(request: Mapping[str, object]) -> QuerySet[Task]:
    """The tasks of a run of the validated request, in order; those of all canvases for an adaptive run."""
    run = run_of(request)
    run.target_half_width = None
    return chosen_tasks(run)


def _asked(tasks: QuerySet[Task], request: Mapping[str, Any]) -> tuple[int, int, float]:
    """How many tasks, how many requests, and the characters of all prompts.

    A canvas counts as a full description of average length. In a world, each expected call is a request of its own. Of
    a conversation, each turn is one, which sends half of it on average. A simulated user is expected to use all turns.
    """
    total, n_tasks, n_requests = 0.0, 0, 0
    frame = len(request["system_prompt"]) + len(request["prompt_template"])
    measured = tasks.annotate(size=Length("input"), in_world=Q(final_state__isnull=False))
    rows = measured.values_list("size", "n_shapes", "context", "expected_tools", "in_world", "turns", "user")
    for size, n_shapes, context, calls, in_world, turns, user in rows.iterator():
        n_turns = len(turns or ()) or 1
        steps = n_turns + len(calls) if in_world else n_turns
        sent = (n_turns + 1) / (2 * n_turns) * steps * (size + frame + sum(map(len, context)) + _canvas_size(n_shapes))
        if user and request["user_model"]:
            more = most_turns(user) - 1
            sent += more * sent + SAID * more * (more + 1) / 2
            steps += more
        total += sent
        n_tasks, n_requests = n_tasks + 1, n_requests + steps
    return n_tasks, n_requests, total


def _too_long(tasks: QuerySet[Task], request: Mapping[str, Any], n_tasks: int) -> str:
    """Which prompts exceed, or may exceed, the context window of the model; empty if it is unknown or all fit.

    A conversation counts as a whole, without its answers. Pictures are not counted, and neither are shortened canvases.
    """
    length = context_length_of(request["model"])
    if length is None or request["representation"] not in ("", "full"):
        return ""
    room = length - (request["max_tokens"] or 0)
    sizes = sorted(
        ((size, task_id) for size, task_id in _prompt_sizes(tasks, request) if size / CHARACTERS_PER_TOKEN[1] > room),
        reverse=True,
    )
    if not sizes:
        return ""
    n_certain = sum(size / CHARACTERS_PER_TOKEN[0] > room for size, _ in sizes)
    longest, longest_id = sizes[0]
    low, high = (round(longest / per_token, -2) for per_token in CHARACTERS_PER_TOKEN)
    answer = f", {number(request['max_tokens'])} of them for the answer" if request["max_tokens"] else ""
    more = [*(task_id for _, task_id in sizes[1:NAMED]), *(["…"] if len(sizes) > NAMED else [])]
    others = f"; then {', '.join(more)}" if len(sizes) > 1 else ""
    return (
        f"{request['dataset'].title}: {number(len(sizes))} of {plural(n_tasks, 'prompt')} may exceed the context "
        f"window of {request['model']} ({number(length)} tokens{answer}), {number(n_certain)} of them certainly. The "
        f"longest, {longest_id}, has {number(low)} to {number(high)} tokens{others}. Choose "
        "a model with a larger context window or a dataset with shorter tasks."
    )


def _prompt_sizes(tasks: QuerySet[Task], request: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Characters of the longest request of each task, with its id."""
    frame = len(request["system_prompt"]) + len(request["prompt_template"])
    rows = tasks.values_list(Length("input"), "task_id", "n_shapes", "context")
    for size, task_id, n_shapes, context in rows.iterator():
        yield size + frame + sum(map(len, context)) + _canvas_size(n_shapes), task_id


def _canvas_size(n_shapes: int | None) -> int:
    """Characters of a full description of average length."""
    return 80 * n_shapes * n_shapes + 300 if n_shapes else 0


def _user_load(tasks: QuerySet[Task], request: Mapping[str, Any]) -> Load:
    """The requests to the simulated user, of which each sends what was said so far."""
    requests, characters = 0, 0
    rows = tasks.values_list(Length("input"), "user")
    # Not filtered by the database: tasks that a limit has cut cannot be.
    for size, user in rows.iterator() if request["user_model"] else ():
        if not user:
            continue
        more = most_turns(user) - 1
        requests += more
        characters += more * (size + USER_FRAME + len(str(user))) + SAID * more * (more + 1) // 2
    repeats = request["repeats"]
    tokens_in = [round(characters / per_token) * repeats for per_token in CHARACTERS_PER_TOKEN]
    return Load(request["user_model"], requests * repeats, tokens_in, [n * requests * repeats for n in USER_TOKENS_OUT])


def _tokens_out(request: Mapping[str, Any]) -> tuple[int, int]:
    """Low and high estimate per answer."""
    return _tokens_per_answer([request["model"]], request)[request["model"]]


def _tokens_per_answer(models: Iterable[str], request: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Low and high estimate for each model, from its latest runs of the dataset; at most ``max_tokens``. One query."""
    same = Run.objects.filter(dataset=request["dataset"], model__in=list(models), status=RunStatus.COMPLETED)
    # Cached responses cost no tokens, and would lower the mean.
    known = same.filter(use_cache=False, tokens_out__gt=0, done__gt=0).order_by("-id")
    answered: dict[str, list[tuple[int, int]]] = {name: [] for name in models}
    for name, tokens, done in known.values_list("model", "tokens_out", "done")[:MOST_EARLIER]:
        answered[name].append((tokens or 0, done))
    estimates = {}
    for name, of_model in answered.items():
        latest = of_model[:3]
        mean = sum(tokens for tokens, _ in latest) / max(1, sum(done for _, done in latest))
        low, high = (round(mean * 0.7), round(mean * 1.5) + 1) if mean else TOKENS_OUT
        most = request["max_tokens"] or high
        estimates[name] = min(low, most), min(high, most)
    return estimates


def duration_range(loads: Sequence[Load], concurrency: int) -> Range:
    """Seconds for all loads together, such as those of a model and its judge, at this concurrency for each."""
    workloads = []
    for load in loads:
        if load.requests:
            limits = limits_of(load.model)
            at_once = Limits(
                concurrency=min(concurrency, limits.max_in_flight or concurrency),
                seconds_per_request=seconds_for_answer(load.model),
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            )
            n = load.requests
            sums = (load.tokens_in, load.tokens_out)
            tokens_in, tokens_out = (Range(low / n, (low + high) / 2 / n, high / n) for low, high in sums)
            workloads.append(workload(n, tokens_in, tokens_out, at_once))
    return together(workloads).seconds if workloads else Range(0.0, 0.0, 0.0)


def seconds_for_answer(model: str) -> Range:
    """Median, mean and 95th percentile of the latency in the model's latest runs, in ascending order."""
    if is_baseline(model):
        return BASELINE_SECONDS
    ended = Run.objects.filter(model=model, status__in=COMPLETED)
    summaries = ended.order_by("-id").values_list("summary", flat=True)[:EARLIER_RUNS]
    latencies = [latency for summary in summaries if (latency := read_summary(summary).latency_ms)]
    if not latencies:
        return UNSEEN_SECONDS
    measured = zip(*((latency.p50, latency.mean, latency.p95) for latency in latencies), strict=True)
    means = (sum(values) / len(values) / 1000 for values in measured)
    return Range(*sorted(means))
