"""Each repeat of a run sends a seed of its own. Runs that are there, also those that are resumed, keep one for all."""

from typing import Any

from django.db import migrations, models

from benchmarks.asking import asked, key_of


def keep_the_old_rule(apps: Any, schema_editor: Any) -> None:
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    runs.update(seed_per_repeat=False)
    rows = runs.select_related("dataset_version").defer("summary", "breakdown", "environment")
    for pk in list(runs.filter(repeats__gt=1, parameters__has_key="seed").values_list("pk", flat=True)):
        run = rows.get(pk=pk)
        run.asked = asked(run)
        run.question_key, run.answer_key = (key_of(run.asked[name]) for name in ("question", "answer"))
        run.save(update_fields=["asked", "question_key", "answer_key"])


class Migration(migrations.Migration):
    dependencies = (("benchmarks", "0006_results_add_up_constraint"),)

    operations = (
        migrations.AddField(
            model_name="run",
            name="seed_per_repeat",
            field=models.BooleanField(
                default=True,
                editable=False,
                help_text="Whether repeat r sends its seed plus r − 1; if not, as until 0.1.0, every repeat sends "
                "the seed",
            ),
        ),
        migrations.RunPython(keep_the_old_rule, migrations.RunPython.noop),
    )
