import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0013_schedules'),
    ]

    operations = [
        migrations.AddField(
            model_name='scorenotice',
            name='compared_with',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='benchmarks.run'),
        ),
        migrations.AlterField(
            model_name='scorenotice',
            name='p_adjusted',
            field=models.FloatField(help_text="Holm's p-value over the metrics of the two runs"),
        ),
    ]
