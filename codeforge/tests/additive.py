"""Which migrations the previous release can live with: those that only add, or make looser, what it knows.

A small check of our own: packages for it judge the SQL of one database at a time, while the rule here is the same for
both, and knows what our code leaves out of an INSERT.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

HARMLESS = (
    operations.CreateModel,
    operations.AddIndex,
    operations.RemoveIndex,
    operations.RenameIndex,
    operations.RemoveConstraint,
    operations.AlterModelOptions,
    operations.AlterModelManagers,
    operations.AlterModelTableComment,
)


def problems(migration: Migration, before: ProjectState) -> Iterator[str]:
    """What in a migration the previous release cannot live with, in words. ``before`` is the state it begins with."""
    state = before.clone()
    for operation in migration.operations:
        if problem := _problem(operation, migration.app_label, state):
            yield f"{migration.app_label}.{migration.name}: {operation.describe()}: {problem}"
        operation.state_forwards(migration.app_label, state)


def _problem(operation: Operation, app: str, state: ProjectState) -> str:
    if isinstance(operation, HARMLESS):
        return ""
    if isinstance(operation, operations.AddField):
        return _added(operation.field)
    if isinstance(operation, operations.AlterField):
        old = state.models[app, operation.model_name_lower].get_field(operation.name)
        return _altered(old, operation.field)
    if isinstance(operation, operations.AddConstraint):
        return "the previous release may write rows that break it"
    if isinstance(operation, (operations.RunPython, operations.RunSQL)):
        return "nobody can tell by itself whether the previous release bears it"
    return "the previous release still uses what goes or changes"


def _added(field: models.Field) -> str:
    if field.null or field.many_to_many or field.db_default is not models.NOT_PROVIDED:
        return ""
    return "the previous release inserts rows without it; make it null or give it a db_default"


def _altered(old: models.Field, new: models.Field) -> str:
    if new.get_internal_type() != old.get_internal_type():
        return "the column gets another type"
    if old.null and not new.null:
        return "the previous release may still write NULL"
    if new.unique and not old.unique:
        return "the previous release may write a value twice"
    if (new.db_column or "") != (old.db_column or ""):
        return "the column gets another name"
    if new.max_length and (old.max_length is None or new.max_length < old.max_length):
        return "the previous release may write longer values"
    return ""
