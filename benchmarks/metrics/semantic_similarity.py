"""Similarity of meaning by the static embeddings of WordLlama: no provider, no network and no judge is needed."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored
from benchmarks.metrics.extraction import whole_answer
from benchmarks.metrics.languages import INSTALL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MAX_CHARACTERS = 50_000
_PACKAGES = ("wordllama", "tokenizers", "safetensors")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class SemanticSimilarity(DeterministicMetric):
    """Cosine of the mean token embeddings of answer and expected text, in 256 dimensions; below 0 counts as 0.

    The weights are those of WordLlama's ``l2_supercat``, which its package contains. Word order has no influence, and a
    text and its denial are near each other, so it measures and does not decide whether an answer is correct.
    """

    name = "semantic_similarity"
    title = "Semantic similarity"
    description = "Similarity of meaning by word embeddings: the same topic, not the same truth"
    needs = frozenset({"expected_output"})
    decides_outcome = False

    def unavailable(self) -> str | None:
        missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
        return f"{', '.join(missing)} not installed; run `{INSTALL}`" if missing else None

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        longer = max(len(answer.text), len(item.expected_output))
        if longer > MAX_CHARACTERS:
            return metric_error(f"Too long to compare: {longer:,} characters; the limit is {MAX_CHARACTERS:,}.", answer)
        if missing := self.unavailable():
            return metric_error(f"Similarity was not computed: {missing}.", answer)
        value = cosine(answer.text, item.expected_output)
        return scored(min(1.0, max(0.0, value)), f"Cosine of the embeddings {value:.2f}.", answer)


def cosine(text: str, other: str) -> float:
    """From -1 to 1; 0 if one of the texts has no tokens."""
    import numpy as np  # not at the start of every process, for this metric alone

    tokenizer, vectors = _model()
    readable = (each.encode(errors="replace").decode() for each in (text, other))  # half a surrogate pair is refused
    tokens = [tokenizer.encode(each, add_special_tokens=False).ids for each in readable]
    if not all(tokens):
        return 0.0
    first, second = (vectors[ids].astype(np.float32).mean(axis=0) for ids in tokens)
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0


@cache
def _model() -> tuple[Tokenizer, NDArray[np.float16]]:
    """Tokenizer and vectors, 16 MB, read once a process when the first answer is scored."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("wordllama")
    folder = Path(spec.origin).parent
    (vectors,) = load_file(folder / _WEIGHTS).values()
    return Tokenizer.from_file(str(folder / _TOKENIZER)), vectors
