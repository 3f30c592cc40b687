"""The registry of generators. A new generator is a file, a line here and a test; a package adds one with an entry point
(``benchmarks.plugins``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from benchmarks.generators.base import Generator, Task
from benchmarks.generators.basic_coding import BasicCoding
from benchmarks.generators.conversations import Conversations
from benchmarks.generators.instruction_following import InstructionFollowing
from benchmarks.generators.long_context import LongContext
from benchmarks.generators.rag_faithfulness import RagFaithfulness
from benchmarks.generators.reasoning import Reasoning
from benchmarks.generators.structured_output import StructuredOutput
from benchmarks.generators.tool_use import ToolUse
from benchmarks.plugins import Plugins
from tasks_app.canvas.random_source import KeyedRandom

MAX_TASKS = 3_000
MIN_TOKENS, MAX_TOKENS = 500, 128_000
LARGEST_SEED = 2**53 - 1
_ATTEMPTS = 50
_DIFFICULTIES = ("easy", "medium", "hard")

_GENERATORS: tuple[Generator, ...] = (
    BasicCoding(),
    Conversations(),
    InstructionFollowing(),
    LongContext(),
    RagFaithfulness(),
    Reasoning(),
    StructuredOutput(),
    ToolUse(),
)
GENERATORS: Plugins[Generator] = Plugins(
    "generators", "generator", Generator, {each.name: each for each in _GENERATORS}, make=lambda kind: kind()
)


def generate(name: str, seed: int, count: int, tokens: Sequence[int] = ()) -> Iterator[Task]:
    """Yield ``count`` different tasks. Levels and kinds, and lengths of the context in ``tokens``, take turns.

    Tasks from one template share a cluster.

    Raises ``ValueError`` if a kind has no more.
    """
    generator = GENERATORS[name]
    makers, kinds = generator.kinds, tuple(generator.kinds)
    seen: set[str] = set()
    for index in range(count):
        level, kind, number = index % 3 + 1, kinds[index // 3 % len(kinds)], index // 3 // len(kinds) + 1
        length = tokens[(number - 1) % len(tokens) :][:1] if tokens else ()
        for attempt in range(_ATTEMPTS):
            random = KeyedRandom(f"{name}/{seed}/{kind}/{level}/{number}/{attempt}")
            task = makers[kind](random, level, *length)
            content = repr([task.get(key) for key in ("input", "turns", "context")])
            if content not in seen:
                break
        else:
            raise ValueError(f"makes no more than {index:,} different tasks: enter at most {index:,}")
        seen.add(content)
        labels: Task = {"difficulty": _DIFFICULTIES[level - 1], "tags": [kind]}
        if not generator.composed:
            labels["cluster"] = f"{kind}-{level}"
        if length:
            labels["metadata"] = {"tokens": length[0]}
        yield {"id": f"{kind}-{level}-{number:03}", **task, "name": f"{task['name']} {number}, level {level}", **labels}


@cache
def examples() -> dict[str, str]:
    """What a model reads first of the first task, of each generator that comes with the project."""
    tasks = {
        each.name: next(generate(each.name, 1, 1, (MIN_TOKENS,) if each.takes_tokens else ())) for each in _GENERATORS
    }
    return {name: task["input"] if "input" in task else task["turns"][0]["user"] for name, task in tasks.items()}
