"""Filtered lists of runs under names."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = (
        ('benchmarks', '0012_share_links'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    )

    operations = (
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('tab', models.CharField(choices=[('runs', 'All'), ('experiments', 'Experiments'), ('single-runs', 'Runs'), ('imported-runs', 'Imported'), ('scheduled-runs', 'Scheduled')], default='runs', max_length=20)),
                ('query', models.TextField(help_text='The filters, as in an address: status=failed&days=7')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('name', 'id'),
                'constraints': [models.UniqueConstraint(fields=('created_by', 'name'), name='view_names_are_unique_per_account'), models.UniqueConstraint(condition=models.Q(('created_by', None)), fields=('name',), name='view_names_are_unique_without_account')],
            },
        ),
    )
