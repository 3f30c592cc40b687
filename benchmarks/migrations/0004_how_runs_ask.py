"""Store with every run how it asks, and fill that in for the runs that are there."""

from typing import Any

from django.db import migrations, models

from benchmarks.asking import asked, key_of

_BATCH = 500


def fill_in(apps: Any, schema_editor: Any) -> None:
    # The summaries and environments of runs are large, and not needed.
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    rows = runs.select_related("dataset_version").defer("summary", "breakdown", "environment").order_by("pk")
    after = 0
    while batch := list(rows.filter(pk__gt=after)[:_BATCH]):
        for run in batch:
            run.asked = asked(run)
            run.question_key, run.answer_key = (key_of(run.asked[name]) for name in ("question", "answer"))
        runs.bulk_update(batch, ["asked", "question_key", "answer_key"])
        after = batch[-1].pk


class Migration(migrations.Migration):
    dependencies = (("benchmarks", "0003_headline"),)

    operations = (
        migrations.AddField(
            model_name="run",
            name="asked",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="How it asks, as `asking.asked` says: {question, answer, score: {name: value}}, "
                "without defaults",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="question_key",
            field=models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="Hash of what its parameters make the model read",
                max_length=32,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="run",
            name="answer_key",
            field=models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="Hash of what says how the model answers",
                max_length=32,
            ),
            preserve_default=False,
        ),
        migrations.RunPython(fill_in, migrations.RunPython.noop),
    )
