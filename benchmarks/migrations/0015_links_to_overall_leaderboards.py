"""Links to leaderboards over several datasets."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = (('benchmarks', '0014_retrieved'),)

    operations = (
        migrations.AlterField(
            model_name='sharelink',
            name='kind',
            field=models.CharField(
                choices=[
                    ('run', 'Run'),
                    ('experiment', 'Experiment'),
                    ('comparison', 'Comparison'),
                    ('leaderboard', 'Leaderboard'),
                    ('overall', 'Leaderboard over several datasets'),
                ],
                max_length=20,
            ),
        ),
    )
