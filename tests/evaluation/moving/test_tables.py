"""Every table is in an archive or named as left out, and every unique value is looked after."""

from __future__ import annotations

from typing import Any

from django.db.models import UniqueConstraint

from annotation.models import StoredFile
from evaluation.moving import reading, tables


def test_every_table_is_in_an_archive_or_named_as_left_out() -> None:
    names = {tables.label(one) for one in tables.all_models()}
    moved = {tables.label(one) for one in tables.ordered()}
    assert moved | set(tables.LEFT_OUT) == names
    assert not moved & set(tables.LEFT_OUT)


def test_each_table_comes_after_those_it_points_to() -> None:
    order = tables.ordered()
    for place, model in enumerate(order):
        for key in tables.kept_keys(model):
            if tables.field_label(key) not in tables.DEFERRED:
                assert key.remote_field.model in order[:place], tables.field_label(key)


def test_keys_to_what_stays_may_be_empty() -> None:
    for model in tables.ordered():
        assert all(key.null for key in tables.lost_keys(model)), model


def unique_without_a_key(model: Any) -> set[str]:
    """Fields whose values no two rows of an installation share, whatever project they are of."""
    keys = {one.name for one in tables.foreign_keys(model)}
    alone = {
        one.name
        for one in model._meta.concrete_fields
        if one.unique and not one.primary_key and one.name not in keys
    }
    for rule in model._meta.constraints:
        if isinstance(rule, UniqueConstraint) and not set(rule.fields) & keys:
            alone |= set(rule.fields)
    return {f"{tables.label(model)}.{name}" for name in alone}


def test_values_that_are_unique_in_an_installation_get_others_where_they_are_taken() -> None:
    found = set().union(*map(unique_without_a_key, tables.ordered()))
    assert found == {*reading.UNIQUE, *reading.OWN}


def test_secrets_are_written_empty() -> None:
    sealed = {
        tables.field_label(field)
        for model in tables.ordered()
        for field in model._meta.concrete_fields
        if "sealed" in field.name or field.name in ("password", "digest_key")
    }
    assert sealed <= set(tables.CLEARED)
    assert StoredFile in tables.ordered()
