"""Write deepeval.json in this folder with DeepEval itself, whose judge is scripted: see README.md."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from deepeval import evaluate
from deepeval.evaluate import ErrorConfig
from deepeval.metrics import BaseMetric, ExactMatchMetric, GEval, PatternMatchMetric
from deepeval.metrics.g_eval import Rubric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams, ToolCall

HERE = Path(__file__).parent.resolve()


class Judge(DeepEvalBaseLLM):
    """Answers with JSON text and reports a price, as DeepEval's own models do."""

    def load_model(self) -> Judge:
        return self

    def get_model_name(self) -> str:
        return "scripted-judge"

    def generate(self, prompt: str, schema: Any = None) -> Any:
        score = 9 if "Paris" in prompt else 3
        return schema(score=score, reason="It names the capital." if score == 9 else "It does not.")

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return self.generate(prompt, schema)


class Broken(BaseMetric):
    """A metric that fails for one test case."""

    threshold = 0.5

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        if "Peru" in test_case.input:
            raise ValueError("the metric's service is down")
        self.score, self.success, self.reason = 0.75, True, "up"
        self.evaluation_cost = 0.002
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "Uptime"


CASES = [
    LLMTestCase(
        name="france",
        input="What is the capital of France? One word.",
        actual_output="Paris",
        expected_output="Paris",
        completion_time=0.5,
        token_cost=0.001,
        input_token_count=20,
        output_token_count=2,
        context=["Paris is the capital of France."],
        retrieval_context=["Paris is the capital of France.", "Lyon is large."],
    ),
    LLMTestCase(
        input="What is the capital of Australia? One word.",
        actual_output="Sydney",
        expected_output="Canberra",
        completion_time=0.25,
        token_cost=0.002,
        input_token_count=21,
        output_token_count=3,
        tools_called=[ToolCall(name="look_up", input_parameters={"country": "Australia"}, output="Sydney?")],
        expected_tools=[ToolCall(name="look_up", input_parameters={"country": "Australia"})],
    ),
    LLMTestCase(
        input="What is the capital of Peru? One word.",
        actual_output="Lima",
        expected_output="Lima",
        completion_time=0.75,
        token_cost=0.003,
        input_token_count=19,
        output_token_count=4,
    ),
    LLMTestCase(
        name="france again",
        input="What is the capital of France? One word.",
        actual_output="It is Paris",
        expected_output="Paris",
        completion_time=1.0,
        token_cost=0.004,
        input_token_count=20,
        output_token_count=5,
        context=["Paris is the capital of France."],
    ),
]


def main() -> None:
    geval = GEval(
        name="Names the capital",
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        evaluation_steps=["Check that the answer is the capital."],
        rubric=[Rubric(score_range=(0, 5), expected_outcome="no"), Rubric(score_range=(6, 10), expected_outcome="yes")],
        model=Judge(),
        async_mode=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        evaluate(
            CASES,
            [ExactMatchMetric(), PatternMatchMetric(pattern="[A-Z][a-z]+"), geval, Broken()],
            hyperparameters={"model": "acme/tiny", "temperature": 0.5},
            identifier="capitals",
            error_config=ErrorConfig(ignore_errors=True),
        )
        shutil.copy(".deepeval/.latest_test_run.json", HERE / "deepeval.json")


if __name__ == "__main__":
    main()
