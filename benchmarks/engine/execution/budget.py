"""What requests cost, and the most they can cost, in US dollars. An unknown cost is ``None``, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.engine.execution.judge import judge_parameters, second_judge
from benchmarks.engine.execution.simulated_user import FRAME_TOKENS, most_tokens
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.engine.prices import prices_per_million
from benchmarks.metrics.base import Item, JudgedMetric, Metric
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.task_parts import FinalState, WorldTables
from benchmarks.models import Run

JUDGE_FRAME_TOKENS = 6_000
"""An upper bound on what a judge's instructions add to a task's own texts."""
TRIAL_CALLS = 2
"""Requests to a judge that gives no verdict on one known pair."""
TRIAL_REPLIES = 3
"""Replies of a judge that gives one: to a plain request, and two to what it does not refuse, if one is unreadable."""
TRIAL_TOKENS = 2_000
"""An upper bound on the prompt of each."""
IMAGE_TOKENS = 50_000
"""An upper bound on what any vendor counts for one image; one with fewer bytes counts as these."""
MAX_TOOL_STEPS = 5
"""Requests per task with tools, if the run does not set ``max_tool_steps``."""
MAX_WORLD_STEPS = 20
"""Tool calls, one after the other, in a world whose task sets no ``max_steps``."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token: in, out, and read from the vendor's cache, which costs as much as other input if its own
    price is not configured."""

    per_token_in: float | None
    per_token_out: float | None
    per_cached_token: float | None = None

    @property
    def known(self) -> bool:
        return self.per_token_in is not None and self.per_token_out is not None

    def cost(self, tokens_in: int | None, tokens_out: int | None, cached: int | None = None) -> float | None:
        """``None`` if the price or a token count is unknown; a free model costs 0 whatever its counts.

        ``cached`` tokens are part of ``tokens_in``; unknown, they count as none.
        """
        if self.per_token_in is None or self.per_token_out is None:
            return None
        if self.per_token_in == 0 and self.per_token_out == 0:
            return 0.0
        if tokens_in is None or tokens_out is None:
            return None
        saved = 0.0 if self.per_cached_token is None else (cached or 0) * (self.per_token_in - self.per_cached_token)
        return tokens_in * self.per_token_in + tokens_out * self.per_token_out - saved


def price_of(model: str) -> Price:
    """The price of the model named ``provider/model``. At most one query."""
    known = prices_per_million([model])[model]
    per_million = (known.input, known.output, known.cached)
    return Price(*(None if price is None else price / 1e6 for price in per_million))


def mean_price(judges: str) -> Price:
    """The mean price of the judges of a run, of which each gives as many verdicts; unknown if one is."""
    prices = [price_of(name) for name in judges_named(judges)]
    ins, outs = [each.per_token_in for each in prices], [each.per_token_out for each in prices]
    known_in, known_out = [each for each in ins if each is not None], [each for each in outs if each is not None]
    if not prices or len(known_in) < len(ins) or len(known_out) < len(outs):
        return Price(None, None)
    return Price(sum(known_in) / len(ins), sum(known_out) / len(outs))


def tool_steps(run: Run, world: WorldTables, final_state: FinalState | None) -> int:
    """The most requests that one task with tools may take; in a world, one for each call it allows, and one more."""
    if world:
        return (final_state or FinalState()).get("max_steps", MAX_WORLD_STEPS) + 1
    return int(run.parameters.get("max_tool_steps", MAX_TOOL_STEPS))


_SPENT = ("total", "judge_tokens_in", "cost_usd", "judge_cost_usd", "reserved_usd")


def money_left(run: Run) -> float | None:
    """What is left of the budget in force after costs and reservations, in US dollars; ``None`` if a cost is unknown.

    Call it with the run locked, and with its experiment locked if it has one.
    """
    runs = [tuple(getattr(run, name) for name in _SPENT)]
    if run.experiment is not None:
        runs += run.experiment.runs.exclude(pk=run.pk).values_list(*_SPENT)
    amounts: list[float | None] = []
    for total, judge_tokens, cost, judge_cost, reserved in runs:
        # A run that is not prepared yet has no cost, which is not the same as an unknown one; its judge may have been
        # tried already.
        amounts += [0.0 if cost is None and not total else cost, reserved]
        amounts.append(0.0 if judge_cost is None and not total and judge_tokens == 0 else judge_cost)
    return None if None in amounts else (run.budget_in_force or 0.0) - sum(filter(None, amounts))


class WorstCase:
    """The most that the requests of one run can cost; 0 for a run without a budget.

    A byte-level tokenizer never makes more tokens than bytes, and ``max_tokens`` bounds every reply. Not counted
    are the tool results that a dataset simulates. An endpoint that reports more tokens than that raises all later
    estimates by the highest factor and excess seen, so that only what was reserved before can cost more than was
    reserved. A run with a budget has known prices and ``max_tokens``; its request checks that.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._factor, self._excess = 1.0, 0.0
        self._price = price_of(run.model)
        self._judges = [self._most_of_judge(name) for name in judges_named(run.judge_model)]
        second = second_judge(run)
        # Any judge's seat may be taken by the second, and after it by the next of the panel.
        self._seats = [
            *self._judges,
            *(self._judges if len(self._judges) > 1 else ()),
            *([self._most_of_judge(second)] * len(self._judges) if second else ()),
        ]
        self._user_price = price_of(run.user_model or run.model)
        self._user_tokens = most_tokens(run.user_model) if run.user_model else 0

    def _most_of_judge(self, name: str) -> tuple[Price, int]:
        return price_of(name), judge_parameters(self._run, name).max_tokens

    def observe(self, prompt: Prompt, tokens_in: int | None, tokens_out: int | None) -> None:
        """Note what the endpoint reported for a question; unknown counts say nothing."""
        cost, most = self._price.cost(tokens_in, tokens_out), self._asking(prompt)
        if cost and most:
            self._factor, self._excess = max(self._factor, cost / most), max(self._excess, cost - most)

    def asking(self, prompt: Prompt) -> float:
        """The most that a question can cost until it is answered, by what the endpoint reported so far."""
        most = self._asking(prompt)
        return max(self._factor * most, most + self._excess)

    def _asking(self, prompt: Prompt) -> float:
        if self._run.budget_in_force is None:
            return 0.0
        steps = prompt.most_requests
        max_out = self._run.parameters["max_tokens"]
        most_said = self._user_tokens * (prompt.most_turns - 1) if prompt.user else 0
        # 16 tokens cover the frame of a message. With every step and turn, the replies before it are sent again.
        sent = (*prompt.messages, *prompt.turns)
        tokens_in = sum(_most_tokens(message.get("content") or "") + 16 for message in sent)
        tokens_in += len(str(prompt.tools)) + (steps - 1) * max_out + most_said
        asking = steps * (self._price.cost(tokens_in, max_out) or 0.0)
        if not prompt.user:
            return asking
        # The user reads the conversation as JSON, whose escapes may double it.
        read = FRAME_TOKENS + len(str(prompt.user).encode()) + 2 * (tokens_in + max_out)
        return asking + (prompt.most_turns - 1) * (self._user_price.cost(read, self._user_tokens) or 0.0)

    def judging(self, item: Item, metrics: Iterable[Metric]) -> float:
        """The maximum cost of judging one answer with those of the metrics that are judged."""
        judged = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
        if self._run.budget_in_force is None or not judged:
            return 0.0
        answer = self._run.parameters.get("max_tokens") or len(item.actual_output.encode())
        n_answers = max(1, len(item.turns), item.simulated_turns)
        answers = answer * n_answers + self._user_tokens * item.simulated_turns
        texts = (item.input, item.reference, item.other_output, *item.context)
        # The input of a conversation has the answers to all turns.
        tokens_in = JUDGE_FRAME_TOKENS + answers + sum(len(text.encode()) for text in texts)
        # A metric asks at most once for each passage of the context, and three times more.
        calls = len(item.context) + 3
        extra = (metric.extra_tokens(item) + IMAGE_TOKENS * metric.pictures_shown(item) for metric in judged)
        costs = (price.cost(tokens_in + more, most_out) for more in extra for price, most_out in self._seats)
        return calls * self._run.judge_repeats * sum(cost or 0.0 for cost in costs)

    def trial(self) -> float:
        """The maximum cost of trying the judges."""
        if self._run.budget_in_force is None:
            return 0.0
        return TRIAL_REPLIES * sum(price.cost(TRIAL_TOKENS, most_out) or 0.0 for price, most_out in self._judges)


def _most_tokens(content: Any) -> int:
    if isinstance(content, str):
        return len(content.encode())
    return sum(
        _most_tokens_of_image(part) if part["type"] == "image_url" else len(str(part).encode()) for part in content
    )


def _most_tokens_of_image(part: Any) -> int:
    url = part["image_url"]["url"]
    return min(len(url), IMAGE_TOKENS) if url.startswith("data:") else IMAGE_TOKENS
