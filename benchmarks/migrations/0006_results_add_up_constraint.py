"""In a migration of its own: PostgreSQL does not alter a table whose rows the same transaction has changed."""

from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0005_results_add_up")]

    operations = [
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                condition=Q(errors__lte=F("done"), done__lte=F("total")), name="results_add_up"
            ),
        ),
    ]
