"""Each run says what kind it is. Before, that followed from four other columns."""

from typing import Any

from django.db import migrations, models

KINDS = (
    ("rescored", {"rescored_from__isnull": False}),
    ("calibration", {"calibration__isnull": False}),
    ("preference", {"preference__isnull": False}),
)


def tell_kinds(apps: Any, schema_editor: Any) -> None:
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    runs.exclude(import_format="").update(kind="imported")
    runs.filter(import_format="api").update(kind="pushed")
    for kind, condition in KINDS:
        runs.filter(**condition).update(kind=kind)


class Migration(migrations.Migration):
    dependencies = (("benchmarks", "0008_task_fields_without_columns"),)

    operations = (
        migrations.AddField(
            model_name="run",
            name="kind",
            field=models.CharField(
                choices=[
                    ("asked", "Asked here"),
                    ("rescored", "Answers of another run, scored again"),
                    ("imported", "Read from a file of another tool"),
                    ("pushed", "Sent by another tool"),
                    ("calibration", "Known answers, which measure a judge"),
                    ("preference", "Pairs of stored answers, between which a judge or people choose"),
                    ("trial", "A few tasks, asked to try what is about to start"),
                ],
                default="asked",
                editable=False,
                max_length=11,
            ),
        ),
        migrations.RunPython(tell_kinds, migrations.RunPython.noop),
    )
