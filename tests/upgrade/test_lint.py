"""A migration of a release is never changed, and a new one may not break what still serves."""

from __future__ import annotations

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader

from tests.upgrade import lint


def test_a_released_migration_is_neither_changed_nor_taken_away() -> None:
    assert lint.changed(lint.migrations(), lint.released()) == []
    then = {"annotation/migrations/0001_initial.py": "a", "annotation/migrations/0000_gone.py": "b"}
    assert lint.changed(lint.migrations(), then) == list(then)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (migrations.RemoveField("task", "domain"), "DROPPING columns"),
        (migrations.RenameField("task", "domain", "subject"), "RENAMING columns"),
        (
            migrations.AddField("task", "later", models.TextField(default="x")),
            "NOT NULL constraint on columns",
        ),
        (migrations.AddField("task", "later", models.TextField(null=True)), ""),
        (migrations.AddField("task", "later", models.TextField(db_default="x")), ""),
    ],
    ids=["drop", "rename", "not null", "null", "default of the database"],
)
def test_what_the_old_version_could_not_live_with_is_found(
    monkeypatch: pytest.MonkeyPatch, operation: migrations.operations.base.Operation, said: str
) -> None:
    """Run while the old version still writes: it knows nothing of the new column."""
    [last] = MigrationLoader(connection).graph.leaf_nodes("annotation")

    class WithIt(MigrationLoader):
        """The migrations of this checkout, the last of which does something else."""

        def build_graph(self) -> None:
            super().build_graph()
            self.get_migration(*last).operations = [operation]

    for module in ("loader", "executor"):
        monkeypatch.setattr(f"django.db.migrations.{module}.MigrationLoader", WithIt)
    monkeypatch.setattr("django.core.management.commands.sqlmigrate.MigrationLoader", WithIt)
    found = lint.unsafe([f"annotation/migrations/{last[1]}.py"])
    assert said in found if said else found == ""
