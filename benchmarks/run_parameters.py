"""The parameters of a run: one list from which requests, forms, options, stored runs, settings and documents derive.

To add a parameter, add a row here and use its value where it matters. With an empty ``column`` it needs no migration,
because ``Run.parameters`` stores it. A test adds a row and checks every place that derives from the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from benchmarks.metrics.panel import MEAN, MOST_REPEATS, VOTES
from benchmarks.prompt_template import MAX_LENGTH
from benchmarks.providers import extra_parameters
from benchmarks.statistics.subset import FEWEST
from tasks_app.loader import REPRESENTATIONS


class Kind(Enum):
    """What a value is. ``NAMES`` is a list of strings."""

    TEXT = "text"
    LONG_TEXT = "long text"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "true or false"
    NAMES = "list of names"
    CHOICE = "name"
    PARAMETERS = "object of names and values"


class Group(Enum):
    """Parts of the form; the value is the heading."""

    DATASET = "Dataset and model"
    METRICS = "Metrics"
    CANVAS = "Canvas options"
    LIMITS = "Repeats, limits and budget"
    PROMPT = "Prompt and sampling"


class Decides(Enum):
    """What a parameter decides, and with that where runs that differ in it may stand together.

    - ``SUBJECT``: what is tested. Runs are named by it everywhere.
    - ``QUESTION``: what the model reads, and of which part of the dataset. Runs that differ share no table, rank,
      history or schedule's comparison, and are not offered as the previous run.
    - ``EXTENT``: how many of these tasks are asked, and how often. Runs that differ are compared on shared tasks. A
      table has runs on all tasks, beside estimates without a rank.
    - ``ANSWER``: how the model answers. Runs that differ are rows of one table that say so, such as "temperature 0",
      and have histories of their own.
    - ``SCORE``: how judges score an answer. As with ``ANSWER``.
    - ``NEITHER``: no score, or, as metrics do, which scores there are. Runs that differ are alike.

    Where runs that differ stand together, the difference is named.
    """

    SUBJECT = "subject"
    QUESTION = "question"
    EXTENT = "extent"
    ANSWER = "answer"
    SCORE = "score"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class RunParameter:
    """One parameter of a run.

    ``hint`` stands below the field of the form; ``meaning`` describes the parameter to users of the API and the command
    line, by default in the words of the hint. ``least`` and ``most`` bound numbers, ``most`` also the length of texts.
    ``column`` names the field of ``Run`` that stores the value, by default ``name``; if it is empty, ``Run.parameters``
    stores the value. ``sent`` ones are fields of every request to the model, and stored in ``Run.parameters``.
    ``setting`` is the label on the run's page, by default ``label``, and ``unset`` is shown there if there is no value.
    ``phrase`` names the value where it differs between runs, with the value in place of ``{}``, and ``absent`` a run
    without one. ``same`` is a value that says the same as none. ``selects`` is whether it selects among the tasks.
    """

    name: str
    label: str
    kind: Kind
    group: Group
    hint: str = ""
    meaning: str = ""
    required: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    column: str | None = None
    sent: bool = False
    setting: str = ""
    unset: str = "Not set"
    phrase: str = ""
    absent: str = ""
    same: Any = None
    selects: bool = False
    decides: Decides = field(kw_only=True)

    @property
    def description(self) -> str:
        return self.meaning or self.hint or self.label

    @property
    def option(self) -> str:
        """The option of the command line. Parameters are given one at a time."""
        return "--param" if self.kind is Kind.PARAMETERS else f"--{self.name.replace('_', '-')}"

    @property
    def empty(self) -> Any:
        """The value of a request that does not give the parameter."""
        if self.default is not None:
            return self.default
        blank = {Kind.SWITCH: False, Kind.NAMES: [], Kind.PARAMETERS: {}}
        return blank.get(self.kind, "" if self.kind in (Kind.TEXT, Kind.LONG_TEXT, Kind.CHOICE) else None)

    @property
    def field(self) -> str:
        """The field of ``Run`` that stores the value; empty if ``Run.parameters`` does."""
        if self.column is None:
            return "" if self.sent else self.name
        return self.column

    @property
    def canvas_only(self) -> bool:
        return self.group is Group.CANVAS

    def value_of(self, run: Any) -> Any:
        """The value that the run stores, ``empty`` if it stores none."""
        return getattr(run, self.field) if self.field else run.parameters.get(self.name, self.empty)


TEXT, LONG_TEXT, INTEGER, NUMBER, SWITCH, NAMES, CHOICE, PARAMETERS = Kind
DATASET, METRICS, CANVAS, LIMITS, PROMPT = Group
SUBJECT, QUESTION, EXTENT, ANSWER, SCORE, NEITHER = Decides
LAST_SEED = 2**31 - 1

_ROWS = (
    RunParameter(
        "dataset",
        "Dataset",
        TEXT,
        DATASET,
        required=True,
        meaning="Slug of a dataset or canvas set, for example, basic-coding",
        decides=SUBJECT,
    ),
    RunParameter(
        "model",
        "Model",
        TEXT,
        DATASET,
        hint="For example, openai/gpt-5-mini",
        meaning="provider/model of a configured provider, a system under test, or a baseline/ model",
        required=True,
        most=200,
        decides=SUBJECT,
    ),
    RunParameter(
        "metrics",
        "Metrics",
        NAMES,
        METRICS,
        hint="The first one selected decides the outcome",
        meaning="The first decides the outcome. By default those that the dataset names; of canvas sets, task_score",
        decides=NEITHER,
    ),
    RunParameter(
        "judge_model",
        "Judge",
        TEXT,
        METRICS,
        hint='Scores the metrics marked "judged"',
        meaning="provider/model that scores judged metrics; by default the configured one; or several as a list",
        most=600,
        unset="None",
        decides=SCORE,
    ),
    RunParameter(
        "user_model",
        "Simulated user",
        TEXT,
        PROMPT,
        hint="Plays the user in conversations that have one",
        meaning="provider/model that plays the user in tasks with a simulated user, and required by them",
        most=200,
        unset="None",
        phrase="user {}",
        absent="no simulated user",
        decides=QUESTION,
    ),
    RunParameter(
        "judge_repeats",
        "Verdicts per answer",
        INTEGER,
        LIMITS,
        hint="Every second verdict sees the parts in reverse order",
        default=1,
        least=1,
        most=MOST_REPEATS,
        phrase="{} verdicts of each judge",
        decides=SCORE,
    ),
    RunParameter(
        "judge_vote",
        "Combine verdicts by",
        CHOICE,
        LIMITS,
        hint="The mean, or 1 or 0 by the majority",
        default=MEAN,
        choices=VOTES,
        phrase="{} of several verdicts",
        decides=SCORE,
    ),
    RunParameter(
        "allow_self_judging",
        "Allow self-judging",
        SWITCH,
        LIMITS,
        hint="The judge may be the model under test",
        column="self_judged",
        setting="Self-judged",
        decides=NEITHER,
    ),
    RunParameter(
        "skip_judge_when_identical",
        "Skip judge on identical answers",
        SWITCH,
        LIMITS,
        hint="Answers equal to the expected answer are not sent to the judge",
        setting="Judge skipped on identical answers",
        phrase="judge skipped on identical answers",
        decides=SCORE,
    ),
    RunParameter("repeats", "Repeats per task", INTEGER, LIMITS, default=1, least=1, most=100, decides=EXTENT),
    RunParameter(
        "concurrency",
        "Max concurrent requests",
        INTEGER,
        LIMITS,
        meaning="Max concurrent requests; by default benchmark.default_concurrency",
        least=1,
        most=1024,
        decides=NEITHER,
    ),
    RunParameter(
        "limit",
        "Task limit",
        INTEGER,
        LIMITS,
        hint="Run only the first N tasks",
        least=1,
        most=10_000_000,
        unset="None",
        selects=True,
        decides=EXTENT,
    ),
    RunParameter(
        "split",
        "Split",
        TEXT,
        LIMITS,
        hint="Run only the tasks of this split, for example, test",
        most=40,
        unset="All tasks",
        phrase="split {}",
        absent="all splits",
        selects=True,
        decides=QUESTION,
    ),
    RunParameter(
        "only_task",
        "Only task",
        TEXT,
        LIMITS,
        hint="Run only the task with this id",
        most=200,
        unset="None",
        selects=True,
        decides=EXTENT,
    ),
    RunParameter(
        "subset",
        "Estimate from a subset",
        INTEGER,
        LIMITS,
        hint="Run N chosen tasks and estimate the score on all",
        meaning="Run only N tasks, drawn by the results of earlier runs, and estimate the score on all tasks",
        least=FEWEST,
        most=1_000_000,
        setting="Tasks of the estimate",
        unset="All tasks",
        selects=True,
        decides=EXTENT,
    ),
    RunParameter(
        "budget_usd",
        "Budget (USD)",
        NUMBER,
        LIMITS,
        hint="The run pauses before it exceeds this amount",
        meaning="The run pauses before it exceeds this amount. Requires known prices and max_tokens",
        least=0,
        unset="None",
        decides=NEITHER,
    ),
    RunParameter(
        "use_cache",
        "Use cached responses",
        SWITCH,
        LIMITS,
        hint="Reuse stored responses to identical requests",
        meaning="Reuse stored responses to identical requests, and store new ones",
        setting="Cached responses",
        decides=NEITHER,
    ),
    RunParameter(
        "temperature",
        "Temperature",
        NUMBER,
        PROMPT,
        hint="Empty: the model's default",
        meaning="Sampling temperature; by default the model's",
        least=0,
        most=2,
        sent=True,
        decides=ANSWER,
    ),
    RunParameter(
        "top_p",
        "Top p",
        NUMBER,
        PROMPT,
        hint="Empty: the model's default",
        meaning="Nucleus sampling; by default the model's",
        least=0,
        most=1,
        sent=True,
        decides=ANSWER,
    ),
    RunParameter(
        "max_tokens",
        "Max output tokens",
        INTEGER,
        PROMPT,
        hint="Per answer",
        meaning="Max output tokens per answer",
        least=1,
        most=1_000_000,
        sent=True,
        phrase="max {} output tokens",
        decides=ANSWER,
    ),
    RunParameter(
        "seed",
        "Seed",
        INTEGER,
        PROMPT,
        hint="Repeat r of a task sends the seed plus r − 1",
        meaning="Seed that is sent to the model and that baselines use. "
        f"Repeat r sends seed + r − 1; after {LAST_SEED} comes 0",
        least=0,
        most=LAST_SEED,
        sent=True,
        decides=ANSWER,
    ),
    RunParameter(
        "system_prompt",
        "System prompt",
        LONG_TEXT,
        PROMPT,
        meaning="System prompt, sent before each task",
        most=100_000,
        column="",
        decides=QUESTION,
    ),
    RunParameter(
        "prompt_template",
        "Prompt template",
        LONG_TEXT,
        PROMPT,
        hint="{input} is the task, {context} its passages. Empty: the task as it is",
        meaning="{input} stands for the task, {context} for its numbered passages; empty: the task as it is",
        most=MAX_LENGTH,
        column="",
        same="{input}",
        decides=QUESTION,
    ),
    RunParameter(
        "extra",
        "Extra parameters",
        PARAMETERS,
        PROMPT,
        hint="Sent as they are, for example, reasoning_effort and low",
        meaning="Further parameters of the request, such as reasoning_effort, stop or top_k; sent as they are",
        column="",
        unset="None",
        decides=ANSWER,
    ),
    RunParameter(
        "max_tool_steps",
        "Max tool steps",
        INTEGER,
        PROMPT,
        hint="Per task",
        meaning="Max responses of the model in one conversation with tools",
        default=5,
        least=1,
        most=50,
        column="",
        phrase="max {} tool steps",
        decides=ANSWER,
    ),
    RunParameter(
        "tasks",
        "Task classes",
        NAMES,
        CANVAS,
        hint="None selected: all",
        meaning="Task classes; by default all",
        column="task_classes",
        selects=True,
        decides=QUESTION,
    ),
    RunParameter(
        "representation",
        "Representation",
        CHOICE,
        CANVAS,
        hint="How the canvas is shown to the model",
        meaning="How the canvas is shown to the model; by default full",
        choices=tuple(sorted(REPRESENTATIONS)),
        phrase="{}",
        decides=QUESTION,
    ),
    RunParameter(
        "few_shot",
        "Include worked examples",
        SWITCH,
        CANVAS,
        hint="Few-shot instead of zero-shot",
        meaning="Include the worked examples of the canvas, with their answers",
        phrase="few-shot",
        absent="zero-shot",
        decides=QUESTION,
    ),
    RunParameter(
        "include_doubtful",
        "Include doubtful expected answers",
        SWITCH,
        LIMITS,
        hint="Count tasks whose expected answer the audit or a person doubts",
        meaning="Count tasks whose expected answer is doubtful: wrong or undetermined by the audit, or marked by a "
        "person",
        phrase="doubtful expected answers included",
        absent="doubtful expected answers left out",
        selects=True,
        decides=QUESTION,
    ),
    RunParameter(
        "target_half_width",
        "Target interval half-width",
        NUMBER,
        CANVAS,
        hint="0.05 means ±5 points for every number of shapes",
        meaning="Add canvases until the interval of every number of shapes is this narrow; 0.05 means ±5 points",
        least=0.005,
        most=0.45,
        unset="None: no canvases are added",
        selects=True,
        decides=EXTENT,
    ),
    RunParameter(
        "max_canvases",
        "Max canvases",
        INTEGER,
        CANVAS,
        hint="Empty: use the existing canvases only",
        meaning="Max canvases of a run with a target interval half-width",
        least=1,
        most=100_000,
        unset="Existing canvases only",
        selects=True,
        decides=EXTENT,
    ),
)

RUN_PARAMETERS: dict[str, RunParameter] = {row.name: row for row in _ROWS}
"""Name → parameter, in the order of forms, options and documents."""

ADAPTIVE = ("target_half_width", "max_canvases")
"""What makes a run adaptive: it adds canvases by itself."""


NOT_GIVEN: tuple[Any, ...] = (None, "", [], {})
"""Values that say nothing: a request with one is like a request without the parameter."""


def deciding(*decides: Decides) -> list[RunParameter]:
    """The parameters that decide one of these."""
    return [parameter for parameter in RUN_PARAMETERS.values() if parameter.decides in decides]


def sent_parameters() -> tuple[str, ...]:
    """The names of the parameters that are fields of every request to the model."""
    return tuple(name for name, parameter in RUN_PARAMETERS.items() if parameter.sent)


def labels() -> Mapping[str, str]:
    """Name → the label on the dashboard."""
    return {name: parameter.label for name, parameter in RUN_PARAMETERS.items()}


def settings_shown(run: Any) -> list[tuple[str, str]]:
    """Label and value of every parameter of a run for people, without those of canvases on a run that has none."""
    rows = (row for row in RUN_PARAMETERS.values() if run.representation or not row.canvas_only)
    seeds = {"seed": run.seeds} if run.seeds else {}
    return [
        (row.setting or row.label, seeds.get(row.name) or _shown(row, row.value_of(run)))
        for row in rows
        if row.name != "dataset"
    ]


def seed_of_repeat(seed: int, repeat: int) -> int:
    """The seed of the n-th repeat of a task, from 1: each has its own, and after the last seed comes 0."""
    return (seed + repeat - 1) % (LAST_SEED + 1)


def seeds_shown(seed: int, repeats: int, *, per_repeat: bool) -> str:
    """The seeds of a run for people. Without ``per_repeat``, every repeat had the same one."""
    if repeats == 1:
        return str(seed)
    if not per_repeat:
        return f"{seed} in every repeat"
    last = seed_of_repeat(seed, repeats)
    return f"{seed} to {last}{'' if last > seed else f' (0 follows {LAST_SEED})'}, one for each repeat"


def given_shown(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and value, for people, of the parameters that ``given`` names; other keys are left out."""
    named = ((parameter, given.get(name)) for name, parameter in RUN_PARAMETERS.items())
    return [(parameter.label, _shown(parameter, value)) for parameter, value in named if value not in NOT_GIVEN]


def _shown(parameter: RunParameter, value: Any) -> str:
    if parameter.kind is Kind.SWITCH:
        return "Yes" if value else "No"
    if value in NOT_GIVEN:
        return parameter.unset
    if parameter.kind is Kind.PARAMETERS:
        return extra_parameters.shown(value)
    if parameter.kind is Kind.NAMES:
        return ", ".join(value)
    shown = f"{float(value):g}" if parameter.kind is Kind.NUMBER else str(value)
    return f"${shown}" if parameter.name == "budget_usd" else shown
