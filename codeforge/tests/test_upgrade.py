"""Updates without a pause: what the previous release does still works on a database that is migrated already."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management import call_command
from django.db import connections, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.utils import timezone

from benchmarks.tests import services
from benchmarks.tests.databases import further_database, sqlite_url
from codeforge.release import PREVIOUS_MIGRATIONS
from codeforge.tests.additive import problems

ALIAS = "upgraded"
LOOKED_AT: frozenset[tuple[str, str]] = frozenset()
"""App and name of migrations that run code or SQL, which somebody has found the previous release to live with."""


def newer_migrations(loader: MigrationLoader) -> list[tuple[str, str]]:
    """App and name of what was added since the previous release, in order."""
    leaves = [key for key in loader.graph.leaf_nodes() if key[0] in PREVIOUS_MIGRATIONS]
    old = {key for app_and_name in PREVIOUS_MIGRATIONS.items() for key in loader.graph.forwards_plan(app_and_name)}
    plan = dict.fromkeys(key for leaf in leaves for key in loader.graph.forwards_plan(leaf))
    return [key for key in plan if key[0] in PREVIOUS_MIGRATIONS and key not in old]


def test_every_migration_since_the_previous_release_is_additive() -> None:
    loader = MigrationLoader(None)
    newer = newer_migrations(loader)
    assert newer
    found = [
        problem
        for key in newer
        if key not in LOOKED_AT
        for problem in problems(loader.graph.nodes[key], loader.project_state(key, at_end=False))
    ]
    assert found == []


FIELDS = [("id", models.BigAutoField(primary_key=True)), ("name", models.CharField(max_length=10, null=True))]
ADD, ALTER = migrations.AddField, migrations.AlterField


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (migrations.RemoveField("thing", "name"), "still uses"),
        (migrations.RenameField("thing", "name", "title"), "still uses"),
        (migrations.RenameModel("thing", "item"), "still uses"),
        (migrations.DeleteModel("thing"), "still uses"),
        (migrations.AlterUniqueTogether("thing", {("id", "name")}), "still uses"),
        (ADD("thing", "size", models.IntegerField(default=0)), "db_default"),
        (ALTER("thing", "name", models.CharField(max_length=10)), "NULL"),
        (ALTER("thing", "name", models.CharField(max_length=9, null=True)), "longer"),
        (ALTER("thing", "name", models.CharField(max_length=10, null=True, unique=True)), "twice"),
        (ALTER("thing", "name", models.CharField(max_length=10, null=True, db_column="n")), "another name"),
        (ALTER("thing", "name", models.IntegerField(null=True)), "another type"),
        (
            migrations.AddConstraint("thing", models.UniqueConstraint(fields=["name"], name="once")),
            "rows that break it",
        ),
        (migrations.RunSQL("SELECT 1"), "nobody can tell"),
        (migrations.RunPython(migrations.RunPython.noop), "nobody can tell"),
        (ADD("thing", "size", models.IntegerField(null=True)), ""),
        (ADD("thing", "size", models.IntegerField(default=0, db_default=0)), ""),
        (ALTER("thing", "name", models.CharField(max_length=20, null=True)), ""),
        (migrations.AddIndex("thing", models.Index(fields=["name"], name="by_name")), ""),
        (migrations.CreateModel("other", [("id", models.BigAutoField(primary_key=True))]), ""),
    ],
    ids=lambda value: value.describe() if isinstance(value, migrations.operations.base.Operation) else None,
)
def test_what_the_previous_release_cannot_live_with_is_told(operation: Any, says: str) -> None:
    before = ProjectState()
    before.add_model(ModelState("app", "Thing", FIELDS))
    migration = migrations.Migration("0002_change", "app")
    migration.operations = [operation]
    found = list(problems(migration, before))
    assert len(found) == (1 if says else 0)
    assert says in "".join(found)


GIVEN: dict[str, dict[str, Any]] = {"Score": {"status": "scored", "value": 1.0}}
"""Model → what its constraints want."""
VALUES: dict[type[models.Field[Any, Any]], Callable[[int], Any]] = {
    models.UUIDField: lambda number: uuid.uuid4(),
    models.DateTimeField: lambda number: timezone.now(),
    models.JSONField: lambda number: {"n": number},
    models.BooleanField: lambda number: False,
    models.IntegerField: lambda number: number,
    models.FloatField: float,
}


class Rows:
    """Writes one row into every table as code of some state would: every column it knows, and no other."""

    def __init__(self, apps: Apps) -> None:
        self.apps = apps
        self.number = 0

    def write(self) -> dict[type[models.Model], models.Model]:
        self.number += 1
        made: dict[type[models.Model], models.Model] = {}
        for app in PREVIOUS_MIGRATIONS:
            for model in self.apps.get_app_config(app).get_models():
                self._row(model, made)
        return made

    def _row(self, model: type[models.Model], made: dict[type[models.Model], models.Model]) -> models.Model:
        if model not in made:
            values = {
                field.name: self._row(field.related_model, made) if field.is_relation else self._value(field)
                for field in model._meta.concrete_fields
                if not isinstance(field, models.AutoField) and not (field.null and field.is_relation)
            }
            made[model] = model._base_manager.using(ALIAS).create(**values | GIVEN.get(model.__name__, {}))
        return made[model]

    def _value(self, field: Any) -> Any:
        if field.choices:
            return field.choices[0][0]
        made = next((make for kind, make in VALUES.items() if isinstance(field, kind)), None)
        return made(self.number) if made else f"{field.name}-{self.number}"[: field.max_length or 100]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path, transactional_db: None) -> Iterator[str]:
    if request.param == "sqlite":
        with further_database(ALIAS, sqlite_url(tmp_path / "upgraded.sqlite3"), migrated=False):
            yield request.param
        return
    with services.postgres_database() as url, further_database(ALIAS, url, migrated=False):
        yield request.param


def test_the_previous_release_goes_on_on_the_migrated_database(empty_database: str) -> None:
    for app, name in PREVIOUS_MIGRATIONS.items():
        call_command("migrate", app, name, database=ALIAS, verbosity=0)
    loader = MigrationLoader(connections[ALIAS])
    old_code = Rows(loader.project_state(list(PREVIOUS_MIGRATIONS.items())).apps)
    before = old_code.write()
    call_command("migrate", database=ALIAS, verbosity=0)

    for model, row in before.items():
        (read,) = model._base_manager.using(ALIAS).all()
        for field in model._meta.concrete_fields:
            assert getattr(read, field.attname) == getattr(row, field.attname), (model, field.name)
    after = old_code.write()
    for model, row in after.items():
        row.save(using=ALIAS)
        assert model._base_manager.using(ALIAS).count() == 2
    new_code = MigrationLoader(connections[ALIAS]).project_state().apps
    for model in before:
        now = new_code.get_model(model._meta.label)
        assert now._base_manager.using(ALIAS).count() == 2
        assert len(list(now._base_manager.using(ALIAS).all())) == 2
    for model, row in reversed(after.items()):
        model._base_manager.using(ALIAS).filter(pk=row.pk).delete()
    assert {model._base_manager.using(ALIAS).count() for model in before} == {1}
