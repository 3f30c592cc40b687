"""The judge of judged metrics, called through the engine: its limits, retries, connections, cache and cost apply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from benchmarks.engine.execution.model_clients import Model, Slot
from benchmarks.engine.execution.reply_cache import JudgeResponseCache
from benchmarks.metrics.base import JudgeAnswer, JudgeUsage
from benchmarks.models import Run
from benchmarks.providers.base import ChatRequest, JudgeSettings, known_sum
from benchmarks.providers.model_families import traits_of
from benchmarks.providers.retrying import GaveUp


@dataclass(frozen=True, slots=True)
class JudgeParameters:
    """The fields of every request to a judge; ``max_tokens`` leave room for its thinking."""

    temperature: float | None
    max_tokens: int
    structured_output: str
    extra: Mapping[str, object]


def judge_parameters(run: Run, judge: str) -> JudgeParameters:
    """How one of the run's judges is asked, as stored when the run was started."""
    stored = {name: value for name, value in run.judge_settings.items() if name in JudgeSettings.model_fields}
    judging = JudgeSettings.model_validate(stored)
    params = run.judge_settings.get("params_of", {}).get(judge, run.judge_settings.get("params", {}))
    if judge == second_judge(run):
        params = run.judge_settings["second"]["params"]
    thinks = traits_of(judge, settings.CODEFORGE.model_families).thinking is not None
    return JudgeParameters(
        temperature=judging.temperature,
        max_tokens=judging.max_tokens + (judging.reasoning_tokens if thinks else 0),
        structured_output=judging.structured_output,
        extra={
            **params,
            **({"reasoning_effort": judging.effort} if judging.effort else {}),
        },
    )


def second_judge(run: Run) -> str:
    """The judge of answers on which the replies of the run's own judges cannot be read; empty without one."""
    return str(run.judge_settings.get("second", {}).get("model", ""))


class EngineJudge:
    """``spent`` sums up the replies that came, so they are counted even if the score they were for is aborted."""

    def __init__(
        self,
        model: Model,
        parameters: JudgeParameters,
        slot: Slot | None = None,
        cache: JudgeResponseCache | None = None,
    ) -> None:
        self._model = model
        self._parameters = parameters
        self._slot = slot or Slot()
        self._cache = cache
        self.model = f"{model.provider.name}/{model.name}"
        self.spent = JudgeUsage()

    @property
    def usage(self) -> JudgeUsage:
        """What it has spent, under its own name."""
        spent = self.spent
        tokens = (self.model, spent.tokens_in, spent.tokens_out, spent.cached_tokens)
        return replace(spent, by_model=(tokens,))

    async def ask(
        self, prompt: str, schema: Mapping[str, object] | None = None, pictures: Sequence[str] = ()
    ) -> JudgeAnswer:
        """Ask once, with retries. Raises ``ProviderError`` if no reply came. A cached response costs nothing."""
        request = self.request(prompt, schema, pictures)
        if self._cache and (cached := await asyncio.to_thread(self._cache.find, request)) is not None:
            text, notes = cached
            return self._counted(JudgeAnswer(text, 0, 0, notes=notes))
        try:
            reply, _ = await self._slot.send(self._model, request)
        except GaveUp as gave_up:
            failure = gave_up.error
        else:
            # Counted before the next await: it may be cancelled there, and the reply is paid for.
            answer = self._counted(
                JudgeAnswer(
                    text=reply.text,
                    tokens_in=reply.tokens_in,
                    tokens_out=reply.tokens_out,
                    cached_tokens=reply.cached_tokens or 0,
                    finish_reason=reply.finish_reason,
                    notes=reply.notes,
                    is_last=self._slot.requests_left < 1,
                )
            )
            if self._cache:
                await asyncio.to_thread(self._cache.store, request, reply, schema)
            return answer
        # Raised out here: inside the handler its context would be the ``GaveUp`` whose cause it is, a circle in which
        # DeepEval, which walks the causes of an error, would loop forever and block the event loop.
        raise failure

    def request(self, prompt: str, schema: Mapping[str, Any] | None, pictures: Sequence[str] = ()) -> ChatRequest:
        """What is sent for a prompt, if the model takes it."""
        parameters = self._parameters
        forms: Mapping[str, Mapping[str, Any]] = {
            "json_schema": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "schema": schema, "strict": True},
            },
            "json_object": {"type": "json_object"},
        }
        images = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
        content: Any = [*images, {"type": "text", "text": prompt}] if images else prompt
        return ChatRequest(
            model=self._model.name,
            messages=({"role": "user", "content": content},),
            temperature=parameters.temperature,
            max_tokens=parameters.max_tokens,
            response_format=forms.get(parameters.structured_output) if schema else None,
            extra=parameters.extra,
        )

    def _counted(self, answer: JudgeAnswer) -> JudgeAnswer:
        spent = self.spent
        self.spent = JudgeUsage(
            calls=spent.calls + 1,
            tokens_in=known_sum(spent.tokens_in, answer.tokens_in),
            tokens_out=known_sum(spent.tokens_out, answer.tokens_out),
            cached_tokens=spent.cached_tokens + answer.cached_tokens,
        )
        return answer
