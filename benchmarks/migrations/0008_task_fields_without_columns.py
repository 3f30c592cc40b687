from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("benchmarks", "0007_seed_per_repeat"),)

    operations = (
        migrations.AddField(
            model_name="task",
            name="other_fields",
            field=models.JSONField(
                blank=True, help_text="Keys of the dataset format that have no column: name → value", null=True
            ),
        ),
    )
