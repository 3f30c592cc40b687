"""Imported runs: what the tool's scorer did not say is an error of the scorer, and decides how the result ended.

Until now such a score was stored as not applicable, or not at all; it was no part of the coverage, and a metric added
here decided in its place. Workers compute the numbers of the changed runs again, because they have no time of summary.
"""

from django.db import migrations

OWN_CHOICE = ("promptfoo", "deepeval")
"""Tools that score a task by metrics of its own choice: a score that is missing there does not apply."""
BATCH = 1_000


def mark_errors(apps, schema_editor):
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    for pk in list(runs.exclude(import_format="").values_list("pk", flat=True)):
        run = runs.get(pk=pk)
        if _mark_run(apps, run):
            failed = run.results.filter(state="error").count()
            run.errors = failed
            run.status = "completed_with_errors" if failed or run.error_message else "completed"
            run.summarized_at = None
            run.save(update_fields=["metrics", "errors", "status", "summarized_at"])


def _mark_run(apps, run):
    changed = _drop_silent_scorers(run)
    scores = [name for name in run.metrics if name.startswith(f"{run.import_format}:")]
    measurements = [name for name in run.metrics if name.startswith(f"{run.import_format}#")]
    changed += _mark_scores(run, [*scores, *measurements])
    changed += _add_missing(apps, run, [*scores, *measurements])
    changed += _end_results(apps, run, scores or measurements)
    if measurements and not scores:
        by_ours = run.results.filter(outcome__in=("correct", "partial", "wrong", "unparsable"))
        changed += by_ours.update(outcome="answered", failure="")
    return changed


def _drop_silent_scorers(run):
    """A scorer of several values that gave none for a sample was stored as a metric of its own there."""
    silent = [
        name
        for name in run.metrics
        if name.startswith("inspect") and any(other.startswith(f"{name}/") for other in run.metrics)
        if not run.scores.filter(metric=name, value__isnull=False).exists()
    ]
    run.scores.filter(metric__in=silent).delete()
    run.metrics = [name for name in run.metrics if name not in silent]
    return len(silent)


def _mark_scores(run, names):
    silent = run.scores.filter(metric__in=names, status="not_applicable")
    if run.import_format in OWN_CHOICE:
        return silent.filter(reason__contains=" is not a number.").update(status="metric_error")
    judged = silent.filter(reason__startswith="Unscored in Inspect. Grade not found").update(status="judge_error")
    return judged + silent.update(status="metric_error")


def _add_missing(apps, run, names):
    score = apps.get_model("benchmarks", "Score")
    own_choice = run.import_format in OWN_CHOICE
    status = "not_applicable" if own_choice else "metric_error"
    reason = "The task has no such metric." if own_choice else "The tool gave no score."
    answered = run.results.exclude(outcome__in=("provider_error", "cancelled"))
    added = 0
    for name in names:
        without = answered.exclude(scores__metric=name).order_by().values_list("pk", flat=True)
        rows = [score(run_id=run.pk, result_id=pk, metric=name, status=status, reason=reason) for pk in without]
        added += len(score.objects.using(run._state.db).bulk_create(rows, batch_size=BATCH))
    return added


def _end_results(apps, run, deciding):
    """End results as errors where a metric that decides has failed, with its reason."""
    kinds = {"judge_error": "judge", "metric_error": "metric"}
    failed = run.scores.filter(metric__in=deciding, status__in=kinds).exclude(result__state="error")
    place = {name: number for number, name in enumerate(deciding)}
    first = {}
    for row in failed.values_list("result", "metric", "status", "reason"):
        if row[0] not in first or place[row[1]] < place[first[row[0]][1]]:
            first[row[0]] = row
    result = apps.get_model("benchmarks", "Result")
    rows = [
        result(
            pk=pk,
            state="error",
            outcome=status,
            failure="",
            error_kind=kinds[status],
            error_message=reason[:2_000],
        )
        for pk, _, status, reason in first.values()
    ]
    fields = ["state", "outcome", "failure", "error_kind", "error_message"]
    result.objects.using(run._state.db).bulk_update(rows, fields, batch_size=BATCH // 10)
    return len(rows)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0001_initial")]
    operations = [migrations.RunPython(mark_errors, migrations.RunPython.noop, elidable=True)]
