"""Prices of models that are entered on the page."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = (
        ('benchmarks', '0009_run_kind'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    )

    operations = (
        migrations.CreateModel(
            name='ModelPrice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(help_text='provider/model', max_length=300, unique=True)),
                ('input_per_million', models.FloatField()),
                ('output_per_million', models.FloatField()),
                ('cached_input_per_million', models.FloatField(blank=True, help_text='None: as other input', null=True)),
                ('set_at', models.DateTimeField(auto_now=True)),
                ('set_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    )
