"""Write the logs of Inspect in this folder with Inspect itself, whose models are scripted: see README.md."""

from __future__ import annotations

import math
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import tiktoken
import zipfile_zstd as zipfile
from inspect_ai import Epochs, Task, eval
from inspect_ai.agent import as_tool, handoff, react
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    CompactionTrim,
    ContentImage,
    ContentText,
    ModelCost,
    ModelInfo,
    ModelOutput,
    ModelUsage,
    get_model,
    set_model_info,
)
from inspect_ai.scorer import (
    Score,
    Scorer,
    Target,
    accuracy,
    at_least,
    choice,
    includes,
    match,
    mean,
    mean_score,
    mode_score,
    model_graded_qa,
    pass_at,
    scorer,
    stderr,
)
from inspect_ai.solver import (
    Generate,
    TaskState,
    generate,
    multiple_choice,
    prompt_template,
    solver,
    system_message,
    use_tools,
)
from inspect_ai.tool import ToolError, tool
from inspect_ai.util import store

HERE = Path(__file__).parent.resolve()
PRICE = ModelCost(input=2.0, output=8.0, input_cache_write=0, input_cache_read=0)
CAPITALS = [
    ("eu/fr", "France", "Paris"),
    ("eu/de", "Germany", "Berlin"),
    ("as/jp", "Japan", "Tokyo"),
    ("sa/pe", "Peru", "Lima"),
]


def said(model: str, text: str) -> ModelOutput:
    output = ModelOutput.from_content(model, text)
    output.usage = ModelUsage(input_tokens=20, output_tokens=len(text), total_tokens=20 + len(text))
    return output


def scripted(name: str, *outputs: str | ModelOutput) -> Any:
    set_model_info(f"mockllm/{name}", ModelInfo(cost=PRICE))
    given = [said(name, output) if isinstance(output, str) else output for output in outputs]
    return get_model(f"mockllm/{name}", custom_outputs=given)


def capitals(**fields: Any) -> list[Sample]:
    return [
        Sample(id=key, input=f"What is the capital of {land}?", target=city, metadata={"continent": key[:2]}, **fields)
        for key, land, city in CAPITALS
    ]


@tool
def add() -> Any:
    async def execute(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: one number
            b: the other
        """
        return a + b

    return execute


@scorer(metrics=[mean(), stderr()])
def used_tool() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        calls = [call for message in state.messages for call in getattr(message, "tool_calls", None) or []]
        return Score(value=float(any(call.function == "add" for call in calls)))

    return score


@scorer(metrics=[mean(), stderr()])
def profit() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(target.text), explanation="what the trade earned")

    return score


@scorer(metrics={"clear": [mean()], "polite": [mean()]})
def style() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value={"clear": 1.0, "polite": 0.5 if state.output.completion == "Lima" else 0.0})

    return score


@scorer(metrics={"clear": [mean()], "polite": [mean()]})
def hesitant() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if target.text == "Berlin":
            return Score.unscored(reason="scoring_failed", explanation="The style guide was not found.")
        return Score(value={"clear": 1.0, "polite": math.nan if target.text == "Tokyo" else 0.5})

    return score


@scorer(metrics=[accuracy()])
def selective() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score | None:
        return None if target.text == "Lima" else Score(value="C")

    return score


@solver
def stops_at(stop: str) -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == stop:
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep(60)
        return await generate(state)

    return solve


@solver
def fails_at(sample: str) -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == sample:
            raise RuntimeError("Connection lost")
        return await generate(state)

    return solve


@solver
def fails_first(times: dict[str, int]) -> Any:
    """Asks twice, and fails so many times at a sample."""
    failed: Counter[Any] = Counter()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(await generate(state))
        if failed[state.sample_id] < times.get(str(state.sample_id), 0):
            failed[state.sample_id] += 1
            raise RuntimeError("Connection lost")
        return state

    return solve


@tool
def find_order() -> Any:
    async def execute(order_id: int) -> str:
        """Find an order.

        Args:
            order_id: the number of the order
        """
        if order_id != 1042:
            raise ToolError(f"Order {order_id} does not exist.")
        return '{"status": "paid", "total": 89.0}'

    return execute


def asked(name: str, **arguments: Any) -> ModelOutput:
    output = ModelOutput.for_tool_call("m", name, arguments)
    output.usage = ModelUsage(input_tokens=30, output_tokens=10, total_tokens=40)
    return output


def shop() -> Any:
    """An agent that hands a question to another one, which first asks for the wrong order."""
    calls = [asked("find_order", order_id=7), asked("find_order", order_id=1042)]
    helper = scripted("helper", *calls, asked("submit", answer="Order 1042 is paid."))
    researcher = react(name="researcher", description="Looks up orders.", tools=[find_order()], model=helper)
    return react(name="shop", tools=[handoff(researcher)])


@tool
def cancel_order() -> Any:
    async def execute(order_id: int) -> str:
        """Cancel an order.

        Args:
            order_id: the number of the order
        """
        store().set("canceled", [*store().get("canceled", []), order_id])
        return "Canceled. " + "The refund of 89.00 is on the card within three days. " * 30

    return execute


def help_desk() -> Any:
    """An agent that hands the question to another one, who has a third one look up the order, cancels it and forgets
    the beginning. Each has outputs for two samples."""
    calls = [asked("find_order", order_id=7), asked("find_order", order_id=1042), asked("submit", answer="It is paid.")]
    auditor = react(
        name="auditor", description="Checks payments.", tools=[find_order()], model=scripted("small", *calls * 2)
    )
    calls = [asked("auditor", input="Is order 1042 paid?"), asked("cancel_order", order_id=1042)]
    clerk = react(
        name="clerk",
        description="Changes orders.",
        tools=[as_tool(auditor), cancel_order()],
        model=scripted("medium", *[*calls, asked("submit", answer="Order 1042 is canceled.")] * 2),
        compaction=CompactionTrim(threshold=460, preserve=0.3),
    )
    return react(name="desk", tools=[handoff(clerk)])


@solver
def breaks_at(sample: str) -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == sample:
            raise RuntimeError("Connection lost")
        return state

    return solve


def tool_calls() -> Iterator[ModelOutput]:
    for a in (1, 2):
        asked = ModelOutput.for_tool_call("agent", "add", {"a": a, "b": 2})
        asked.usage = ModelUsage(input_tokens=30, output_tokens=10, total_tokens=40)
        yield asked
        yield said("agent", str(a + 2))


def tasks() -> dict[str, tuple[Callable[[], Task], Callable[[], Any], dict[str, Any]]]:
    """The log's name → its task, its model, and options of the evaluation."""
    agent = [Sample(id=n, input=f"Add {n} and 2 with the tool.", target=str(n + 2)) for n in (1, 2)]
    trades = [Sample(id=n, input=f"Trade {n}", target=t) for n, t in enumerate(("-1.5", "0.25", "2", "-0.5"), 1)]
    pair = [
        Sample(id=1, input="Name a prime below 4.", target=["2", "3"]),
        Sample(id=2, input="Name a vowel.", target=["a", "e", "i", "o", "u"]),
    ]
    planets = [
        Sample(id=1, input="Largest planet?", choices=["Mars", "Jupiter", "Venus"], target="B"),
        Sample(id=2, input="Closest to the sun?", choices=["Mercury", "Earth"], target="A"),
    ]
    pixel = (
        "data:image/png;base64,"
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
    )
    talk = [
        ChatMessageSystem(content="Answer with one word."),
        ChatMessageUser(content="My cat is red."),
        ChatMessageAssistant(content="Noted."),
        ChatMessageUser(content="Which color is my cat?"),
    ]
    picture = [ChatMessageUser(content=[ContentText(text="Which color is this?"), ContentImage(image=pixel)])]
    turns = [
        Sample(id="turns", input=talk, target="red", metadata={"kind": "memory", "steps": [1, 2]}),
        Sample(id="image", input=picture, target="red", metadata={"kind": "vision", "hops": 1}),
    ]
    reducers = Epochs(3, [mean_score(), mode_score(), at_least(2), pass_at(2)])
    return {
        "tools": (
            lambda: Task(agent, solver=[use_tools(add()), generate()], scorer=[match(numeric=True), used_tool()]),
            lambda: scripted("agent", *tool_calls()),
            {"max_samples": 1},
        ),
        "agents": (
            lambda: Task(
                [Sample(id="order", input="Is order 1042 paid?", target="paid")], solver=shop(), scorer=includes()
            ),
            lambda: scripted("m", asked("transfer_to_researcher"), asked("submit", answer="It is paid.")),
            {},
        ),
        "delegated": (
            lambda: Task(
                [
                    Sample(id="cancel", input="Cancel order 1042.", target="canceled"),
                    Sample(id="lost", input="Cancel order 1042 today.", target="canceled"),
                ],
                solver=[help_desk(), breaks_at("lost")],
                scorer=includes(),
                fail_on_error=False,
            ),
            lambda: scripted("m", *[asked("transfer_to_clerk"), asked("submit", answer="Order 1042 is canceled.")] * 2),
            {"max_samples": 1},
        ),
        "targets": (lambda: Task(pair, scorer=includes()), lambda: scripted("m", "It is 3", "y"), {}),
        "turns": (lambda: Task(turns, scorer=match()), lambda: scripted("m", "Red", "Blue"), {"max_samples": 1}),
        "choices": (
            lambda: Task(planets, solver=multiple_choice(), scorer=choice()),
            lambda: scripted("m", "ANSWER: B", "ANSWER: B"),
            {"max_samples": 1},
        ),
        "measurements": (lambda: Task(trades, scorer=profit()), lambda: scripted("m", *"abcd"), {}),
        "epochs": (
            lambda: Task(capitals()[:2], epochs=reducers, scorer=match()),
            lambda: scripted("m", "Paris", "Lyon", "Berlin", "Paris", "Berlin", "Berlin"),
            {"max_samples": 1},
        ),
        "graded": (
            lambda: Task(
                capitals(),
                solver=[system_message("Answer with one word."), generate()],
                scorer=[
                    model_graded_qa(model=scripted("judge", *["GRADE: C", "GRADE: I", "GRADE: C", "GRADE: I"])),
                    style(),
                ],
            ),
            lambda: scripted("m", "Paris", "Bonn", "Tokyo", "Lima"),
            {"max_samples": 1},
        ),
        "unscored": (
            lambda: Task(
                capitals(),
                scorer=[
                    model_graded_qa(model=scripted("judge", "GRADE: C", *["I cannot tell."] * 3)),
                    hesitant(),
                    selective(),
                ],
            ),
            lambda: scripted("m", "Paris", "Bonn", "Tokyo", "Lima"),
            {"max_samples": 1},
        ),
        "prompts": (
            lambda: Task(
                capitals()[:2],
                solver=[system_message("Answer with one word."), prompt_template("{prompt}\n{city}:"), generate()],
                scorer=match(),
            ),
            lambda: scripted("m", "Paris", "Bonn"),
            {"max_samples": 1},
        ),
        "interrupted": (
            lambda: Task(capitals(), solver=stops_at("as/jp"), scorer=match()),
            lambda: scripted("m", "Paris", "Bonn"),
            {"max_samples": 1},
        ),
        "retried": (
            lambda: Task(capitals(), solver=fails_first({"eu/de": 1, "sa/pe": 9}), scorer=match(), fail_on_error=False),
            lambda: scripted("m", *["Paris"] * 14),
            {"max_samples": 1, "retry_on_error": 2},
        ),
        "failed": (
            lambda: Task(capitals(), solver=fails_at("as/jp"), scorer=match(), fail_on_error=False),
            lambda: scripted("m", "Paris", "Bonn", "Lima"),
            {"max_samples": 1},
        ),
    }


def without_paths(old: Path, new: Path) -> None:
    """Copy a log without the paths of this machine, which its tracebacks contain."""
    paths = re.compile(rf"({re.escape(str(HERE))}|/[^\s\"]*/site-packages|{re.escape(sys.base_prefix)}/lib/[^/]+)/")
    with zipfile.ZipFile(old) as read, zipfile.ZipFile(new, "w", zipfile.ZIP_ZSTANDARD) as write:
        for name in read.namelist():
            write.writestr(name, paths.sub("", read.read(name).decode()))


def main() -> None:
    # Inspect would fetch its tokenizer; here, a token has four characters.
    tiktoken.get_encoding = lambda name: SimpleNamespace(encode=lambda text, **options: list(text[::4]))
    wanted = sys.argv[1:] or list(tasks())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # outside a repository, whose revision would be part of the logs
        for name, (task, model, options) in ((name, tasks()[name]) for name in wanted):
            try:
                eval(task(), model=model(), log_dir=name, log_format="eval", display="none", **options)
            except KeyboardInterrupt:
                print(f"{name}: interrupted", file=sys.stderr)
            (log,) = Path(name).glob("*.eval")
            without_paths(log, HERE / f"inspect_{name}.eval")
            if name == "targets":
                write_eval_log(read_eval_log(str(HERE / f"inspect_{name}.eval")), str(HERE / f"inspect_{name}.json"))


if __name__ == "__main__":
    main()
