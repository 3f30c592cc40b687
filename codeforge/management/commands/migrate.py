"""``manage.py migrate``: Django's, which first looks whether the database is one that these migrations belong to."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate

from benchmarks.services.operations.schema import schema_problem


class Command(migrate.Command):
    help = "Create or update the tables of the database, unless another checkout or a later version has filled it."

    def handle(self, *args: Any, **options: Any) -> None:
        if options["database"] == "default" and (problem := schema_problem()):
            raise CommandError(problem)
        super().handle(*args, **options)
