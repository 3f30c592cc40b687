"""``Run.total`` counts results from the moment they exist; whether a run was prepared has a field of its own.

Until now the total was set when a run was set running, so that one that failed before that, for example, at the trial
of its judge, had results and a total of 0.
"""

from django.db import migrations, models
from django.db.models import Count

CANCELLED = "cancelled"


def count_results(apps, schema_editor):
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    runs.filter(total__gt=0).update(is_prepared=True)
    # By the index alone: grouped with the columns of runs, a million results took SQLite a minute and a half.
    results = apps.get_model("benchmarks", "Result").objects.using(schema_editor.connection.alias)
    counted = dict(results.order_by().values_list("run").annotate(n=Count("pk")))
    for pk, total, done, errors in list(runs.values_list("pk", "total", "done", "errors")):
        if errors <= done <= total == counted.get(pk, 0):
            continue
        run = runs.get(pk=pk)
        failed = run.results.filter(state="error").exclude(outcome=CANCELLED).count()
        run.total = run.results.count()
        run.errors, run.done = failed, failed + run.results.filter(state="done").count()
        if not run.is_prepared:
            # Nothing was sent to its model.
            run.cost_usd = run.cost_usd or 0.0
            run.judge_cost_usd = 0.0 if run.judge_tokens_in == 0 else run.judge_cost_usd
        run.save(update_fields=["total", "done", "errors", "cost_usd", "judge_cost_usd"])


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0004_how_runs_ask")]

    operations = [
        migrations.AddField(
            "run",
            "is_prepared",
            models.BooleanField(
                default=False,
                help_text="All of its results exist and it was set running; otherwise resuming prepares it",
            ),
        ),
        migrations.AlterField(
            "run",
            "total",
            models.PositiveIntegerField(default=0, help_text="Its results; changes in one transaction with them"),
        ),
        migrations.RunPython(count_results, migrations.RunPython.noop),
    ]
