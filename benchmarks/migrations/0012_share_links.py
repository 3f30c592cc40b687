"""Links to experiments, comparisons and leaderboards; those to runs move to the same table and stay valid."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def move_links_of_runs(apps, schema_editor):
    Run, ShareLink = apps.get_model('benchmarks', 'Run'), apps.get_model('benchmarks', 'ShareLink')
    database = schema_editor.connection.alias
    shared = Run.objects.using(database).filter(shared_since__isnull=False, shared_until__isnull=False)
    columns = shared.order_by('pk').values_list('pk', 'shared_since', 'shared_until')
    subjects = [f'run {pk}' for pk, _, _ in columns]
    entries = apps.get_model('benchmarks', 'AuditEntry').objects.using(database)
    entries = entries.filter(action='run.share', subject__in=subjects)
    authors = dict(entries.order_by('pk').values_list('subject', 'account'))
    ShareLink.objects.using(database).bulk_create(
        ShareLink(
            kind='run',
            query=f'run={pk}',
            created_by_id=authors.get(f'run {pk}'),
            created_at=since,
            expires_at=until,
        )
        for pk, since, until in columns
    )


class Migration(migrations.Migration):

    dependencies = (
        ('benchmarks', '0011_addresses_and_fingerprints'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    )

    operations = (
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('run', 'Run'), ('experiment', 'Experiment'), ('comparison', 'Comparison'), ('leaderboard', 'Leaderboard')], max_length=20)),
                ('query', models.TextField(help_text='What it shows, as in an address: run=12')),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.RunPython(move_links_of_runs, migrations.RunPython.noop),
        migrations.RemoveField(model_name='run', name='shared_since'),
        migrations.RemoveField(model_name='run', name='shared_until'),
    )
