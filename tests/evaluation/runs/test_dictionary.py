"""The data dictionary of result tables."""

from __future__ import annotations

import pytest

from evaluation.runs.exports.dictionary import describe_column
from evaluation.runs.run_types import run_types


@pytest.mark.parametrize("method", sorted(run_types()))
def test_every_column_that_goes_out_is_described(method: str) -> None:
    tables = run_types()[method].tables or {}
    unknown = {
        (name, one)
        for name, table in tables.items()
        for one in table.header
        if not describe_column(one)
    }
    assert not unknown


def test_an_item_is_called_by_one_name_in_all_tables() -> None:
    for kind in run_types().values():
        for table in (kind.tables or {}).values():
            assert not {"item", "key", "task", "id"} & set(table.header)
