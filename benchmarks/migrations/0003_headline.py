"""The headline of a run: one score per task. Runs whose first metric leaves tasks to another one get new numbers."""

from django.db import migrations, models
from django.db.models import Case, OuterRef, Q, Subquery, When

_MEASUREMENTS = ("contextual_precision", "latency", "length", "preference", "semantic_similarity")
"""Metrics that decided no outcome when this was written; so did those of other tools with a # in their name."""
_UNGRADED = ("not_applicable", "doubtful")


def _decides(name):
    return name not in _MEASUREMENTS and "#" not in name.partition(":")[0]


def fill_headlines(apps, schema_editor):
    alias = schema_editor.connection.alias
    names = ("Run", "Result", "Score")
    runs, results, scores = (apps.get_model("benchmarks", name).objects.using(alias) for name in names)
    for run in runs.only("pk", "metrics", "import_format", "summary", "status").iterator(chunk_size=200):
        deciding = [name for name in run.metrics if _decides(name)]
        if run.import_format:
            deciding = [name for name in deciding if ":" in name and not name.startswith("rubric:")] or deciding
        first = deciding[0] if deciding else run.metrics[0]
        others = run.summary.get("metrics", {}).get(first, {}).get("n_not_applicable")
        changed = bool(deciding) and (first != run.metrics[0] or bool(others))
        if changed:
            order = Case(*(When(metric=name, then=place) for place, name in enumerate(deciding)))
            applies = scores.filter(result=OuterRef("pk"), metric__in=deciding)
            value = applies.exclude(status__in=_UNGRADED).order_by(order).values("value")[:1]
            results.filter(run=run.pk).update(value=Subquery(value))
        # A worker computes the numbers of a run that has ended and has no time of its summary.
        stale = {"summarized_at": None} if changed else {}
        runs.filter(pk=run.pk).update(headline=first, **stale)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0002_scorers_that_said_nothing")]

    operations = [
        migrations.AddField(
            "run",
            "headline",
            models.TextField(
                blank=True,
                default="",
                help_text="The metric of its score: the one that decides every task, or what several make together",
            ),
            preserve_default=False,
        ),
        migrations.AddIndex(
            "run", models.Index(fields=["status"], name="runs_without_numbers", condition=Q(summarized_at=None))
        ),
        migrations.AlterField("scoredrop", "metric", models.TextField()),
        migrations.RunPython(fill_headlines, migrations.RunPython.noop),
    ]
