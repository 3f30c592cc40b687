"""What the fields of a request for a run must be beside each other, its dataset and its models.

A check adds sentences to ``errors``, and fills in values that are not given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings

from benchmarks.engine.configured import retrieves
from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.engine.execution.scoring import metrics_named
from benchmarks.engine.execution.subsets import MOST_TASKS, tasks_to_draw_from
from benchmarks.metrics.base import ALWAYS_THERE, FROM_SYSTEMS, Metric
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.metrics.rubrics import PREFIX, stored_rubric
from benchmarks.models import Dataset, DatasetVersion, Run
from benchmarks.providers.clean_text import full_sentence
from benchmarks.providers.model_names import is_baseline
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.rubrics import Rubrics
from tasks_app.canvas.generator import GENERATOR_VERSION
from tasks_app.loader import supports, unknown_class
from tasks_app.models import CanvasSet
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

Errors = dict[str, list[str]]


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "(none)"


def check_canvas_options(values: dict[str, Any], dataset: Dataset, version: DatasetVersion, errors: Errors) -> None:
    """Check task classes and representation, and fill in what is not given: all classes, as full text."""
    classes = sorted(version.facets.get("group", {}))
    chosen = values["tasks"] or classes
    if unknown := [name for name in chosen if name not in classes]:
        errors["tasks"].append(f"{dataset.slug} has no task class {listed(unknown)}. Choose from: {listed(classes)}.")
        return
    if missing := [name for name in chosen if name not in REGISTERED_TASKS]:
        errors["tasks"].append(unknown_class(missing))
        return
    representation, model = values["representation"] or "full", values["model"]
    values |= {"tasks": chosen, "representation": representation}
    if unsupported := [name for name in chosen if not supports(name, representation)]:
        errors["representation"].append(
            f"The representation {representation} does not support the task classes {listed(unsupported)}. "
            "Choose another representation."
        )
    elif representation == "image" and not settings.CODEFORGE.model(model).sees_pictures:
        errors["representation"].append(
            f"{model} is not known to accept images. If it does, set `models.{model}.sees_pictures` in codeforge.yaml."
        )


def chosen_metrics(names: Sequence[str], rubrics: Rubrics, errors: Errors) -> list[Metric]:
    """The metrics of valid names, those of ``rubrics`` with their text."""
    unknown = [name for name in names if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in rubrics]
    if unknown:
        known = listed(PREFIX + name for name in rubrics)
        errors["metrics"].append(
            f"No such rubric: {listed(unknown)}. Rubrics of the dataset and of codeforge.yaml: {known}."
        )
    return metrics_named([name for name in names if name not in unknown], rubrics)


def used_rubrics(names: Sequence[str], rubrics: Rubrics) -> Rubrics:
    """The rubrics of the metrics ``rubric:NAME``, as a run stores them."""
    named = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
    return {name: stored_rubric(rubrics[name]) for name in named if name in rubrics}


def check_metrics(
    metrics: Sequence[Metric], dataset: Dataset, version: DatasetVersion, errors: Errors, *, retrieves: bool
) -> None:
    """``retrieves``: whether the answers may come with passages that a system under test looked up."""
    for metric in metrics:
        if reason := metric.unavailable():
            errors["metrics"].append(f"{metric.name} is not available: {full_sentence(reason)}")
        if "retrieved" in metric.needs and not retrieves:
            errors["metrics"].append(
                f"{metric.name} scores the passages that a system under test looks up, and there are none here. "
                "Choose another metric or model."
            )
        elif missing := missing_fields(metric, version, retrieves=retrieves):
            errors["metrics"].append(
                f"{metric.name} does not apply to {dataset.slug}: no task has {listed(missing)}. Choose another metric."
            )


def metrics_for(model: str, names: Sequence[str]) -> list[str]:
    """The metrics without those of what a system looked up, if the model looks up nothing; all, for the error, if no
    other is left."""
    if retrieves(model):
        return list(names)
    kept = [name for name in names if (metric := metric_named(name)) is None or "retrieved" not in metric.needs]
    return kept or list(names)


def missing_fields(metric: Metric, version: DatasetVersion, *, retrieves: bool) -> list[str]:
    """What the metric needs and no task of the version has, such as a schema; empty if the metric applies.

    ``retrieves``: whether the model is, or may be, a system that reports the passages that it looks up.
    """
    fields = version.facets.get("fields", {})
    needed = metric.needs - ALWAYS_THERE - (FROM_SYSTEMS.keys() if retrieves else set())
    in_tasks = {FROM_SYSTEMS.get(name) or name for name in needed}
    return sorted(name for name in in_tasks if not fields.get(name))


def check_adaptive(values: Mapping[str, Any], dataset: Dataset, metrics: Sequence[Metric], errors: Errors) -> None:
    """An adaptive run requires a canvas set that can grow, a target and a maximum."""
    canvas_set = dataset.canvas_set
    missing = [name for name in ADAPTIVE if values[name] is None]
    if canvas_set is None or len(missing) == len(ADAPTIVE):
        return
    if missing:
        errors[missing[0]].append("An adaptive run requires both ⟨target_half_width⟩ and ⟨max_canvases⟩.")
        return
    if canvas_set.origin != CanvasSet.Origin.GENERATED:
        errors["target_half_width"].append(
            f"{dataset.slug} was imported and cannot grow. Choose a generated canvas set."
        )
    elif canvas_set.generator_version != GENERATOR_VERSION:
        errors["target_half_width"].append(
            f"{dataset.slug} was generated by generator {canvas_set.generator_version}; the current generator is "
            f"{GENERATOR_VERSION}, so new canvases would differ. Generate a new set."
        )
    if metrics and metrics[0].range != (0.0, 1.0):
        errors["target_half_width"].append(f"{metrics[0].name} is not a score from 0 to 1. Put such a metric first.")
    if values["limit"]:
        errors["limit"].append("An adaptive run selects its own tasks. Remove ⟨limit⟩ and set ⟨max_canvases⟩.")
    strata = canvas_set.shapes_high - canvas_set.shapes_low + 1
    if values["max_canvases"] < strata:
        errors["max_canvases"].append(
            f"The set has {strata} numbers of shapes. Set ⟨max_canvases⟩ to at least {strata}."
        )


def check_split(values: Mapping[str, Any], version: DatasetVersion, errors: Errors) -> None:
    if (split := values["split"]) and split not in (known := version.facets.get("split", {})):
        advice = f"Choose from: {listed(known)}." if known else "Clear ⟨split⟩."
        errors["split"].append(f"{values['dataset'].slug} has no split {split}. {advice}")


def check_limit(values: dict[str, Any], version: DatasetVersion) -> None:
    """A limit that leaves no task out is none: wherever runs are compared, its run is one on all tasks."""
    tasks = tasks_to_draw_from(version, values["tasks"], values["split"], include_doubtful=True)
    if values["limit"] and values["limit"] >= tasks.count():
        values["limit"] = None


def check_only_task(values: dict[str, Any], version: DatasetVersion, errors: Errors) -> None:
    """One task by its id. With a limit of 1, the run is a part of the dataset wherever runs are compared."""
    if not values["only_task"]:
        return
    named = version.tasks.filter(task_id=values["only_task"])
    if not named.exists():
        errors["only_task"].append(f"{values['dataset'].slug} has no task {values['only_task']}. Enter another id.")
    elif values["split"] and not named.filter(split=values["split"]).exists():
        errors["only_task"].append(f"{values['only_task']} is not in the split {values['split']}. Clear ⟨split⟩.")
    values["limit"] = 1


def check_subset(values: Mapping[str, Any], version: DatasetVersion, metrics: Sequence[Metric], errors: Errors) -> None:
    """A subset is a part of all tasks, and only a score from 0 to 1 can be estimated."""
    if values["subset"] is None:
        return
    if values["limit"] or values["target_half_width"] is not None:
        errors["subset"].append("Remove ⟨limit⟩ and ⟨target_half_width⟩: an estimate draws from all tasks.")
    n_tasks = tasks_to_draw_from(
        version, values["tasks"], values["split"], include_doubtful=values["include_doubtful"]
    ).count()
    if values["subset"] >= n_tasks:
        errors["subset"].append(f"The estimate is about {n_tasks} tasks. Set ⟨subset⟩ to fewer, or clear it.")
    elif n_tasks > MOST_TASKS:
        errors["subset"].append(f"The run has {n_tasks} tasks; a subset is drawn of at most {MOST_TASKS}.")
    if metrics and metrics[0].range != (0.0, 1.0):
        errors["subset"].append(f"{metrics[0].name} is not a score from 0 to 1. Put such a metric first.")


def check_judge(values: dict[str, Any], metrics: Sequence[Metric], errors: Errors) -> None:
    """Check the judge, and fill in the configured one; a run without judged metrics has none."""
    judged = [metric.name for metric in metrics if metric.judged]
    judge = (values["judge_model"] or settings.CODEFORGE.judge.model or "") if judged else ""
    values["judge_model"] = judge
    if judged and not judge:
        errors["judge_model"].append(
            f"{listed(judged)} requires a judge. Set ⟨judge_model⟩, `judge.model` in codeforge.yaml, "
            "or `CODEFORGE_JUDGE_MODEL` in the environment."
        )
    elif values["model"] in judges_named(judge) and not values["allow_self_judging"]:
        errors["judge_model"].append(
            f"{values['model']} would judge its own answers. Choose another ⟨judge_model⟩, or turn on "
            "⟨allow_self_judging⟩."
        )
    with_pictures = [name for name, rubric in values["rubrics"].items() if "picture" in rubric.get("sees", ())]
    for name in judges_named(judge) if with_pictures else ():
        if not settings.CODEFORGE.model(name).sees_pictures:
            errors["judge_model"].append(
                f"The rubric {listed(with_pictures)} shows images, and {name} is not known to accept them. If it "
                f"does, set `models.{name}.sees_pictures` in codeforge.yaml."
            )


def second_judge_of(values: Mapping[str, Any]) -> str:
    """The configured judge of answers on which the replies of the run's judges cannot be read.

    Empty without one, and if it is one of them, cannot see the images of a rubric, or would judge its own answers.
    """
    second, judges = settings.CODEFORGE.judge.second_model, judges_named(values["judge_model"])
    if not second or not judges or second in judges:
        return ""
    shows = any("picture" in rubric.get("sees", ()) for rubric in values["rubrics"].values())
    blind = shows and not settings.CODEFORGE.model(second).sees_pictures
    own = second == values["model"] and not values.get("allow_self_judging")
    return "" if blind or own else second


def check_user(values: dict[str, Any], version: DatasetVersion, errors: Errors) -> None:
    """Check the simulated user.

    A run whose chosen tasks have none, and a baseline, which answers at once, go without. Of a subset, which is drawn
    later, any task may be chosen.
    """
    n_simulated = version.facets.get("simulated_users", 0)
    if n_simulated and not errors:
        choosing = {name: values[name] for name in ("split", "only_task", "limit")}
        chosen = chosen_tasks(Run(dataset_version=version, **choosing))
        n_simulated = version.tasks.filter(pk__in=chosen.values("pk"), user__isnull=False).count()
    if not n_simulated or is_baseline(values["model"]):
        values["user_model"] = ""
    elif not values["user_model"]:
        errors["user_model"].append(
            f"Tasks of {values['dataset'].slug} with a simulated user: {n_simulated}. Set ⟨user_model⟩."
        )


def check_budget(values: Mapping[str, Any], errors: Errors) -> None:
    if values["budget_usd"] is None:
        return
    judges = (*judges_named(values["judge_model"]), second_judge_of(values))
    for model in filter(None, (values["model"], values["user_model"], *judges)):
        if not price_of(model).known:
            errors["budget_usd"].append(
                f"The price of {model} is unknown, so a budget cannot be enforced. "
                f"Set `models.{model}` in codeforge.yaml, or remove the budget."
            )
    if values["max_tokens"] is None:
        errors["budget_usd"].append(
            "A budget requires ⟨max_tokens⟩, which limits the cost of each request. "
            "Set ⟨max_tokens⟩ or remove the budget."
        )
