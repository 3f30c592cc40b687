"""A limit that leaves no task out is none: its run is one on all tasks, wherever runs are compared."""

from django.db import migrations


def clear_limits(apps, schema_editor):
    runs = apps.get_model("benchmarks", "Run").objects.using(schema_editor.connection.alias)
    versions = apps.get_model("benchmarks", "DatasetVersion").objects.using(schema_editor.connection.alias)
    limited = runs.exclude(limit=None).filter(only_task="")
    for version in versions.filter(pk__in=limited.values("dataset_version")).only("task_count", "facets"):
        own = limited.filter(dataset_version=version.pk)
        own.filter(limit__gte=version.task_count).update(limit=None)
        for split, count in version.facets.get("split", {}).items():
            own.filter(split=split, limit__gte=count).update(limit=None)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0025_progress")]

    operations = [migrations.RunPython(clear_limits, migrations.RunPython.noop)]
