"""What the interval of a score covers: what was drawn or varied, of a run or of runs that are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.analysis.comparisons import label_of
from benchmarks.asking import differing
from benchmarks.models import Run
from benchmarks.presentation.ranks import listed
from benchmarks.run_parameters import RUN_PARAMETERS

_PROMPT = frozenset({"system_prompt", "prompt_template", "few_shot", "representation"})
_SEED = "seed"
_JUDGE = "judge_model"


@dataclass(frozen=True, slots=True)
class IntervalCovers:
    """In words, such as ``tasks`` and ``repeats``, and ``other prompts``."""

    covered: Sequence[str]
    not_covered: Sequence[str]

    @property
    def sentence(self) -> str:
        return f"The interval covers the choice of {listed(self.covered)}, not {_either(self.not_covered)}."


def covers_of(runs: Sequence[Run], *, over_variants: bool = False) -> IntervalCovers:
    """What the interval of each of these runs covers, or of their average; ``over_variants`` takes variants as drawn.

    A part counts only if all runs have it. Tasks are named by what several of them share.
    """
    varied = _varied(runs) if over_variants else []
    repeated = all(run.repeats > 1 for run in runs)
    seeded = any(_SEED in run.asked.get("answer", {}) for run in runs)
    seeds = seeded and repeated and not any(run.repeats_same_seed for run in runs)
    covered = [
        *dict.fromkeys(_unit(run) for run in runs),
        *(["repeats with seeds of their own" if seeds else "repeats"] if repeated else []),
        *([f"variants{_in_parentheses(varied)}"] if over_variants else []),
    ]
    not_covered = [
        *([] if _PROMPT.intersection(varied) else ["other prompts"]),
        *([] if repeated else ["repeats"]),
        *(["other seeds"] if seeded and not seeds and _SEED not in varied else []),
        *(["other judges"] if any(run.judge_model for run in runs) and _JUDGE not in varied else []),
    ]
    return IntervalCovers(covered, not_covered)


def _unit(run: Run) -> str:
    if run.representation:
        return "canvases"
    return "clusters of tasks" if run.has_task_clusters else "tasks"


def _varied(runs: Sequence[Run]) -> list[str]:
    """The parameters that differ between variants of one model on one dataset."""
    first = [run for run in runs if (run.model, run.dataset_id) == (runs[0].model, runs[0].dataset_id)]
    asked = [{name: value for part in run.asked.values() for name, value in part.items()} for run in first]
    return [name for name in differing(asked) if name in RUN_PARAMETERS]


def _in_parentheses(names: Sequence[str]) -> str:
    return f" ({', '.join(label_of(RUN_PARAMETERS[name]) for name in names)})" if names else ""


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)
