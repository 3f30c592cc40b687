"""What requests cost, in US dollars, from the configured prices. Unknown is ``None``, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from benchmarks.providers.base import Message


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, in and out."""

    per_token_in: float | None
    per_token_out: float | None

    @property
    def known(self) -> bool:
        return self.per_token_in is not None and self.per_token_out is not None

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """``None`` where the price or a token count is unknown; a free model costs 0 whatever its counts."""
        if self.per_token_in is None or self.per_token_out is None:
            return None
        if self.per_token_in == 0 and self.per_token_out == 0:
            return 0.0
        if tokens_in is None or tokens_out is None:
            return None
        return tokens_in * self.per_token_in + tokens_out * self.per_token_out


def price_of(model: str) -> Price:
    known = settings.CODEFORGE.model(model)
    per_million = (known.input_per_million, known.output_per_million)
    tokens_in, tokens_out = (None if price is None else price / 1e6 for price in per_million)
    return Price(tokens_in, tokens_out)


def most_tokens(messages: Iterable[Message]) -> int:
    """An upper bound on the tokens of a prompt: a byte-level tokeniser never makes more tokens than bytes."""
    return sum(len(str(message.get("content") or "").encode()) + 16 for message in messages)
