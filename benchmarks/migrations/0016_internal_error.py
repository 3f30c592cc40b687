"""Results that ended in an error of the application have an outcome of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = (('benchmarks', '0015_links_to_overall_leaderboards'),)

    operations = (
        migrations.AlterField(
            model_name='result',
            name='outcome',
            field=models.CharField(
                blank=True,
                choices=[
                    ('correct', 'Correct'),
                    ('partial', 'Partial'),
                    ('wrong', 'Wrong'),
                    ('answered', 'Ungraded'),
                    ('unparsable', 'Unparsable'),
                    ('truncated', 'Cut off'),
                    ('refused', 'Refused'),
                    ('provider_error', 'Provider error'),
                    ('internal_error', 'Internal error'),
                    ('judge_error', 'Judge error'),
                    ('metric_error', 'Metric error'),
                    ('cancelled', 'Not sent'),
                ],
                max_length=14,
            ),
        ),
    )
