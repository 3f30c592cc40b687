"""Write the logs of lm-evaluation-harness in this folder with a scripted model: see README.md."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

TASKS = Path(__file__).parent.resolve() / "lm_eval"
ANSWERS = {
    "12 + 30": ("12 + 30 is 42.\n#### 42", "It is 41.\n#### 41", "#### 42"),
    "700 + 534": ("The sum is 1,234", "#### 1,234", "So 1234.\n#### 1234"),
    "5 + 6": ("#### 12", "That makes 11", "#### 11"),
    "Good morning": ("Bonjour, mon ami.",),
    "See you": ("À demain, mon ami.",),
    "Where is": ("Où est le train ?",),
    "20 + 20": ("I do not know.", "", "Forty"),
}
LIKELIHOODS = {
    "Paris": -1.0,
    "Sydney": -2.0,
    "Canberra": -2.5,
    "Cusco": -3.0,
    "Lima": -2.75,
    "Arequipa": -4.0,
    "Tokyo": -0.5,
    "Mombasa": -1.5,
    "Nairobi": -2.0,
    "Jupiter": -1.0,
    "Mercury": -3.0,
    "Earth": -2.0,
}


@register_model("scripted")
class Scripted(LM):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._asked: Counter[str] = Counter()

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [self._answer(request.args[0]) for request in requests]

    def _answer(self, prompt: str) -> str:
        question = next(known for known in ANSWERS if known in prompt)
        self._asked[question] += 1
        return ANSWERS[question][self._asked[question] - 1]

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        return [(LIKELIHOODS.get(request.args[1].strip(), -9.0), False) for request in requests]

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        return [-1.0 for _ in requests]


def main() -> None:
    os.chdir(TASKS)
    sys.argv = ["lm_eval", "run", "--include_path", ".", "--output_path", "..", "--log_samples", *sys.argv[1:]]
    cli_evaluate()


if __name__ == "__main__":
    main()
