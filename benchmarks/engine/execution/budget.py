"""What requests cost, and the most they can cost, in US dollars. An unknown cost is ``None``, never 0."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from benchmarks.engine.execution.engine_judge import judge_parameters
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.metrics.base import Item
from benchmarks.models import Run

JUDGE_FRAME_TOKENS = 6_000
"""An upper bound on what a judge's instructions add to a task's own texts."""
TRIAL_CALLS = 2
"""Requests to a judge that gives no verdict on one known pair."""
TRIAL_REPLIES = 3
"""Replies of a judge that gives one: to a plain request, and two to what it does not refuse, if one is unreadable."""
TRIAL_TOKENS = 2_000
"""An upper bound on the prompt of each."""
MAX_TOOL_STEPS = 5
"""Requests per task with tools, if the run does not set ``max_tool_steps``."""


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
    """The configured price of the model named ``provider/model``."""
    known = settings.CODEFORGE.model(model)
    per_million = (known.input_per_million, known.output_per_million, known.cached_input_per_million)
    return Price(*(None if price is None else price / 1e6 for price in per_million))


def tool_steps(run: Run) -> int:
    """The most requests that one task with tools may take."""
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

    A byte-level tokenizer never makes more tokens than bytes, and ``max_tokens`` bounds every reply. Not counted are
    the tool results that a dataset simulates. A run with a budget has known prices and ``max_tokens``; its request
    checks that.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._price = price_of(run.model)
        self._judge_price = price_of(run.judge_model or run.model)
        self._judge_max_out = judge_parameters(run).max_tokens if run.judge_model else 0

    def asking(self, prompt: Prompt) -> float:
        """The most that a question can cost until it is answered."""
        if self._run.budget_in_force is None:
            return 0.0
        steps = tool_steps(self._run) if prompt.tools else 1
        max_out = self._run.parameters["max_tokens"]
        # 16 tokens cover the frame of a message. With every step of tools, the replies before it are sent again.
        tokens_in = sum(len(str(message.get("content") or "").encode()) + 16 for message in prompt.messages)
        tokens_in += len(str(prompt.tools)) + (steps - 1) * max_out
        return steps * (self._price.cost(tokens_in, max_out) or 0.0)

    def judging(self, item: Item, n_metrics: int) -> float:
        """The maximum cost of judging one answer with ``n_metrics`` judged metrics."""
        if self._run.budget_in_force is None or not n_metrics:
            return 0.0
        answer = self._run.parameters.get("max_tokens") or len(item.actual_output.encode())
        texts = (item.input, item.expected_output, *item.context)
        tokens_in = JUDGE_FRAME_TOKENS + answer + sum(len(text.encode()) for text in texts)
        # A metric asks at most once for each passage of the context, and three times more.
        calls = n_metrics * (len(item.context) + 3)
        return calls * (self._judge_price.cost(tokens_in, self._judge_max_out) or 0.0)

    def trial(self) -> float:
        """The maximum cost of trying the judge."""
        if self._run.budget_in_force is None:
            return 0.0
        return TRIAL_REPLIES * (self._judge_price.cost(TRIAL_TOKENS, self._judge_max_out) or 0.0)
