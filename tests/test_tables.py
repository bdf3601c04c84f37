"""The database has what the models say, however the tables came to be."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

from annotation.models import Project
from tests.support import factories

OURS = ("annotation", "evaluation")


@pytest.mark.db
@pytest.mark.django_db
def test_columns_keys_constraints_and_indexes_are_those_of_the_models() -> None:
    models = [model for label in OURS for model in apps.get_app_config(label).get_models(True)]
    assert len(models) > 80
    with connection.cursor() as cursor:
        for model in models:
            meta = model._meta
            described = connection.introspection.get_table_description(cursor, meta.db_table)
            fields = {field.column: field for field in meta.local_fields}
            assert {row.name for row in described} == fields.keys(), meta.db_table
            found = connection.introspection.get_constraints(cursor, meta.db_table)
            named = {one.name for one in (*meta.constraints, *meta.indexes)}
            assert named <= found.keys(), (meta.db_table, named - found.keys())
            kept = list(found.values())
            for column, field in fields.items():
                own = [one for one in kept if one["columns"] == [column]]
                if field.remote_field and getattr(field, "db_constraint", False):
                    target = field.target_field
                    key = (target.model._meta.db_table, target.column)
                    assert key in [one["foreign_key"] for one in own], (meta.db_table, column)
                if field.unique:
                    assert any(one["unique"] for one in own), (meta.db_table, column)
                elif field.db_index:
                    assert any(one["index"] for one in own), (meta.db_table, column)


@pytest.mark.db
@pytest.mark.django_db
@pytest.mark.parametrize("turn", [1, 2])
def test_rows_that_tests_begin_with_are_followed_by_new_ones_after_numbers_began_anew(
    turn: int,
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE annotation_user_id_seq RESTART WITH 1")
    world = factories.make_world(3)
    factories.make_user()
    assert Project.objects.get() == world.project and world.task.items.count() == 3
