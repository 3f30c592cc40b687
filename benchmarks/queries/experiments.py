"""Experiments: their list, their runs, and the state of the runs together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import FloatField, Prefetch, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from benchmarks.analysis.kept import has_ended, is_kept, kept_for
from benchmarks.analysis.matrices import FORMAT
from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.models import LIVE, OF_MODELS, TERMINAL, Experiment, Run, RunStatus
from benchmarks.presentation.cells import Money, State, run_state, standstill
from benchmarks.presentation.numbers import UNKNOWN
from benchmarks.queries.judge_words import judge_words
from benchmarks.queries.matrix import Statement, matrix
from benchmarks.queries.runs import JUDGING, HeadlineNumber, full_runs, runs
from benchmarks.run_parameters import RUN_PARAMETERS

MOST_RANKED = 50_000
"""Results up to which an experiment is ranked for a list; a larger one would delay the page."""
AVERAGE, EACH = "average", "each"
"""Variants as a sample that models are averaged over, and variants as rivals."""
MOST_COMPUTED = 5
"""Experiments that one list ranks; the others are as kept, for the same reason."""
_FINDING = f"finding:{FORMAT}"


@dataclass(frozen=True, slots=True)
class Progress:
    """The sums of an experiment's runs. ``total`` has also the results that runs will have that are not prepared yet.
    Costs include judges; ``cost_usd`` is ``None`` if a part of them is unknown. It ``is_judging`` while verdicts are
    all that its live runs wait for; ``standstill`` is that of the run that has been silent for longest, or what all of
    those that are running wait for."""

    status: str
    runs: int
    ended: int
    total: int
    done: int
    errors: int
    cost_usd: float | None
    known_cost_usd: float
    is_judging: bool = False
    standstill: State | None = None
    runs_by_status: Mapping[str, int] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """As a run's."""
        return self.standstill or run_state(self.status, self.errors)

    @property
    def cost(self) -> str:
        """Of an unknown sum the known part: ``$0.25 + unknown``."""
        return self.priced.text

    @property
    def priced(self) -> Money:
        is_part = self.cost_usd is None and self.known_cost_usd
        return Money(self.known_cost_usd, f" + {UNKNOWN}") if is_part else Money(self.cost_usd)


_MEMBERS = (
    *("model", "variant", "status", "total", "done", "errors", "cost_usd", "judge_cost_usd", "summarized_at"),
    *("headline", "dataset__slug", "dataset__name", "dataset_version__number", "dataset_version__task_count"),
    *("is_prepared", "repeats", "kind", "import_format", "texts_pruned_at", "fresh_of"),
    *("active_since", "progressed_at"),
    *(row.field for row in RUN_PARAMETERS.values() if row.selects),
)
_NUMBERS = {
    **{f"headline_{key}": HeadlineNumber(key) for key in ("mean", "low", "high")},
    "known_part_usd": Cast(KT("summary__part_of_cost__known_usd"), FloatField()),
}


def experiments() -> QuerySet[Experiment]:
    """All experiments, newest first, with the columns of their runs that ``progress`` and lists need."""
    shown = runs().only("experiment", *_MEMBERS).annotate(**JUDGING, **_NUMBERS)
    members = Prefetch("runs", shown.order_by("pk"))
    return Experiment.objects.select_related("created_by").prefetch_related(members).order_by("-id")


def experiment_detail(pk: int) -> Experiment:
    """Raises ``Experiment.DoesNotExist``."""
    return Experiment.objects.select_related("created_by").get(pk=pk)


def experiment_runs(experiment: Experiment) -> list[Run]:
    """The runs as lists show them, in the order in which they were launched."""
    return list(runs().filter(experiment=experiment).annotate(**JUDGING).order_by("pk"))


def averages_variants(experiment: Experiment, chosen: str) -> bool:
    """Whether models are averaged over variants: as ``chosen``, ``average`` or ``each``, else as it was launched."""
    return chosen == AVERAGE or (chosen != EACH and bool(experiment.request.get("average_variants")))


def spending_runs(experiment: Experiment) -> list[Run]:
    """The same runs with all that they used: tokens and costs of model, simulated user and judge."""
    return list(full_runs().filter(OF_MODELS, experiment=experiment).order_by("pk"))


def findings(shown: Sequence[Experiment]) -> dict[int, Sequence[str]]:
    """Experiment → two sentences on what has no answer right, who leads, and by how much, by the headline of each run;
    from the cache until a run gets new numbers.

    Empty before all runs have ended, without a ranking, above ``MOST_RANKED`` results, and once ``MOST_COMPUTED`` were
    not in the cache: the next request finds more.
    """
    statements: dict[int, Statement | None] = {}
    computed = 0
    for experiment in shown:
        members = list(experiment.runs.all())
        ranks = all(map(has_ended, members)) and 0 < sum(run.total for run in members) <= MOST_RANKED
        computed += ranks and not is_kept(_FINDING, members)
        statements[experiment.pk] = _statement(members, experiment) if ranks and computed <= MOST_COMPUTED else None
    known = judge_words({each for statement in statements.values() if statement for each in statement.judged})
    return {
        pk: [*filter(None, [statement.none_right, *statement.sentences(known)[:2]])][:2] if statement else ()
        for pk, statement in statements.items()
    }


def _statement(members: Sequence[Run], experiment: Experiment) -> Statement | None:
    # In a tuple, because what is kept may be that there is none.
    return kept_for(_FINDING, members, lambda: (matrix(experiment_runs(experiment)).statement,))[0]


def progress(members: Sequence[Run]) -> Progress:
    statuses = [run.status for run in members]
    live = [run for run in members if run.is_live]
    # What is not prepared yet has no cost, which is not the same as an unknown one.
    costs = [amount for run in members if run.total for amount in (run.cost_usd, run.judge_cost_usd)]
    parts = [_known_part(run) for run in members if run.total and run.cost_usd is None]
    return Progress(
        status=status_of(statuses),
        runs=len(members),
        ended=sum(status in TERMINAL for status in statuses),
        total=sum(map(_expected, members)),
        done=sum(run.done for run in members),
        errors=sum(run.errors for run in members),
        cost_usd=None if None in costs else sum(filter(None, costs)),
        known_cost_usd=sum(filter(None, [*costs, *parts])),
        is_judging=bool(live) and all(run.is_judging for run in live),
        standstill=_standstill([run for run in live if run.status == RunStatus.RUNNING]),
        runs_by_status={status: statuses.count(status) for status in RunStatus.values if status in statuses},
    )


def _known_part(run: Run) -> float | None:
    """Of the unknown cost of its answers, in US dollars. Members in a list of experiments come without summaries."""
    if "known_part_usd" in vars(run):
        listed: float | None = vars(run)["known_part_usd"]
        return listed
    part = run.numbers.part_of_cost
    return part.known_usd if part else None


def _standstill(running: Sequence[Run]) -> State | None:
    found = [standstill(run) for run in sorted(running, key=lambda run: run.silent_seconds or 0.0, reverse=True)]
    silent = (state for state in found if state and state.mark == "silent")
    return next(silent, found[0] if found and all(found) else None)


def _expected(run: Run) -> int:
    """The results that a run has, or will have once it is prepared."""
    if run.is_prepared or has_ended(run):
        return run.total
    if run.task_classes or run.split or run.only_task or run.target_half_width is not None:
        return chosen_tasks(run).count() * run.repeats
    tasks = run.dataset_version.task_count
    return min(tasks, run.subset or run.limit or tasks) * run.repeats


def status_of(statuses: Collection[str]) -> str:
    """The status of an experiment whose runs have these: the one that most needs to be known."""
    if LIVE & set(statuses):
        return RunStatus.QUEUED if set(statuses) == {RunStatus.QUEUED} else RunStatus.RUNNING
    order = (RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.COMPLETED_WITH_ERRORS)
    return next((status for status in order if status in statuses), RunStatus.COMPLETED)
