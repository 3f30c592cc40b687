"""What the list does with the runs and experiments that are selected in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from benchmarks.models import Experiment, Run
from benchmarks.presentation.actions import refusal
from benchmarks.presentation.numbers import plural
from benchmarks.queries.experiments import experiments
from benchmarks.queries.runs import full_runs
from benchmarks.queries.tables.run_list import OFFERED
from benchmarks.services.access import Caller
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments import control as of_experiments
from benchmarks.services.runs import control as of_runs
from benchmarks.services.runs.exports import RESULTS
from frontend import params
from frontend.views.shared import require_launch, unconfirmed

REFUSALS_SHOWN = 5
_READS = ("compare", "export", *(f"export-{form}" for form in RESULTS))


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows that are selected; an experiment stands for all of its runs."""

    runs: Sequence[Run]
    experiments: Sequence[Experiment]

    @property
    def every_run(self) -> list[Run]:
        folded = [run for experiment in self.experiments for run in experiment.runs.all()]
        return [*{run.pk: run for run in (*folded, *self.runs)}.values()]

    def allowing(self, action: str) -> Selected | None:
        """Those of them that allow an action now; ``None`` if none does."""

        def allows(runs: Iterable[Run]) -> bool:
            return any(refusal(action, run) is None for run in runs)

        runs = [run for run in self.runs if allows([run])]
        experiments = [each for each in self.experiments if allows(each.runs.all())]
        return Selected(runs, experiments) if runs or experiments else None

    @property
    def words(self) -> str:
        """``2 runs and 1 experiment``."""
        parts = ((len(self.runs), "run"), (len(self.experiments), "experiment"))
        return " and ".join(plural(count, noun) for count, noun in parts if count)


@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """Do ``do`` with what is selected, and return to the list or go to the page that does it."""
    action, back = params.text(request.POST, "do"), _back(request)
    if action not in _READS:
        require_launch(request)
    if action not in _PAGES and action not in _ACTIONS:
        raise Http404(f"{action} is not an action for runs.")
    runs, of = params.run_ids(request.POST), params.run_ids(request.POST, "experiments")
    selected = Selected(list(full_runs().filter(pk__in=runs)), list(experiments().filter(pk__in=of)))
    if not selected.words:
        messages.error(request, "Select at least one run.")
        return HttpResponseRedirect(back)
    if action in _PAGES:
        try:
            return HttpResponseRedirect(_PAGES[action](selected))
        except NotPossible as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(back)
    question = f"Delete {selected.words}?"
    n_results = plural(sum(run.total for run in selected.runs), "result")
    note = f"{n_results} of the runs are deleted. Runs of deleted experiments are kept."
    if action == "delete" and (confirmation := unconfirmed(request, question, "Delete", back, note)):
        return confirmation
    _each(request, action, selected)
    return HttpResponseRedirect(back)


def _each(request: HttpRequest, action: str, selected: Selected) -> None:
    """Do it with one after the other, and say what was done and what was refused. Rows that do not allow an action
    are left out if others do, because pages offer it for those.
    """
    done, refusals = Selected([], []), []
    of_run, of_experiment, word = _ACTIONS[action](params.text(request.POST, "tag_added"))
    if action in OFFERED:
        selected = selected.allowing(action) or selected
    todo: list[tuple[Callable[[], object], Selected]] = [
        *((lambda each=each: of_run(each, request.user), Selected([each], [])) for each in selected.runs),
        *((lambda each=each: of_experiment(each, request.user), Selected([], [each])) for each in selected.experiments),
    ]
    for act_on, one in todo:
        try:
            act_on()
        except NotPossible as refusal:
            refusals.append(refusal.message)
        except InvalidRequest as refusal:
            refusals += [text for texts in refusal.errors.values() for text in texts]
        else:
            done = Selected([*done.runs, *one.runs], [*done.experiments, *one.experiments])
    if done.words:
        messages.success(request, f"{done.words} {word}.", extra_tags="passing")
    refusals = list(dict.fromkeys(refusals))
    more = len(refusals) - REFUSALS_SHOWN
    if refusals:
        others = [f"{plural(more, 'more')} refused."] if more > 0 else []
        messages.error(request, " ".join([*refusals[:REFUSALS_SHOWN], *others]))


def _back(request: HttpRequest) -> str:
    back = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(back, None) and back.startswith("/"):
        return back
    return reverse("frontend:runs")


def _ids(runs: Sequence[Run]) -> str:
    return ",".join(str(run.pk) for run in runs)


def _compare(selected: Selected) -> str:
    if len(runs := selected.every_run) < 2:
        raise NotPossible("Select two or more runs to compare.")
    return f"{reverse('frontend:compare')}?runs={_ids(runs)}"


def _export(selected: Selected) -> str:
    """The results of one run, or the scores of several."""
    if len(runs := selected.every_run) == 1:
        return reverse("frontend:run-export", args=(runs[0].pk, "csv"))
    return f"{reverse('frontend:matrix-export', args=('csv',))}?runs={_ids(runs)}"


def _export_results(form: str) -> Callable[[Selected], str]:
    """The results of all runs in one file, the oldest first."""

    def address(selected: Selected) -> str:
        runs = sorted(selected.every_run, key=lambda run: run.pk)
        return f"{reverse('frontend:runs-export', args=(form,))}?runs={_ids(runs)}"

    return address


def _rescore(selected: Selected) -> str:
    """The form for one run; for several of an earlier version, the page that rescores all runs of that version."""
    runs = selected.every_run
    if len(runs) == 1:
        return reverse("frontend:rescore", args=(runs[0].pk,))
    dataset, old = runs[0].dataset, runs[0].dataset_version
    current = dataset.current_version
    if any(run.dataset_version_id != old.pk for run in runs) or current is None or current.number <= old.number:
        raise NotPossible("Select one run, or runs of the same earlier version, to rescore.")
    return reverse("frontend:changes", args=(dataset.slug, old.number, current.number))


_PAGES: dict[str, Callable[[Selected], str]] = {"compare": _compare, "export": _export, "rescore": _rescore}
_PAGES |= {f"export-{form}": _export_results(form) for form in RESULTS}


def _tag_run(tag: str) -> Callable[[Run, Caller], object]:
    return lambda run, user: of_runs.edit_run(run, {"tags": [*run.tags, tag]}, user)


def _tag_experiment(tag: str) -> Callable[[Experiment, Caller], object]:
    return lambda each, user: of_experiments.edit_experiment(each, {"tags": [*each.tags, tag]}, user)


_Action = tuple[Callable[[Run, Caller], object], Callable[[Experiment, Caller], object], str]
_ACTIONS: dict[str, Callable[[str], _Action]] = {
    "tag": lambda tag: (_tag_run(tag), _tag_experiment(tag), f"tagged {tag}"),
    "cancel": lambda _: (of_runs.cancel_run, of_experiments.cancel_experiment, "canceled"),
    "resume": lambda _: (of_runs.resume_run, of_experiments.resume_experiment, "resumed"),
    "retry": lambda _: (of_runs.retry_failed, of_experiments.retry_experiment, "with errors to retry"),
    "delete": lambda _: (of_runs.delete_run, of_experiments.delete_experiment, "deleted"),
}
"""Name → what it does to a run and to an experiment, given the tag to add, and what now holds of them."""
