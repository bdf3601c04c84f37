"""Files by the columns of a board: names, order, values of JSON, and rows of a page."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evaluation.models import WorkerScore
from evaluation.registry import IMPORTED, RUN_TYPES
from evaluation.results.columns import PLOT, RANK, Column, head_column, interval_column
from evaluation.results.files import (
    PLACE,
    StoredTable,
    csv_of,
    records,
    stored,
    strip_zero_decimals,
)
from evaluation.results.rows import typed
from evaluation.results.tables import plain_table

BOARD = (
    RANK,
    head_column("name", "Worker", exports={"worker": "worker__pseudonym"}),
    *PLACE,
    PLOT,
    *stored("raw", inside="extra"),
    Column.score("estimate", "Score", exports={"estimate": "estimate"}),
    interval_column(),
    Column.count("n", "Answers", exports={"n": "n"}),
)


@dataclass(frozen=True)
class Row:
    name: str
    low: float | None
    n: int


def test_a_file_has_names_first_then_figures_ranks_and_what_one_method_adds() -> None:
    table = StoredTable(WorkerScore, BOARD)
    assert table.header == (
        "worker dimension component estimate low high n rank_low rank_high group raw".split()
    )
    assert table.paths["raw"] == "extra.raw" and table.paths["worker"] == "worker__pseudonym"


def test_columns_of_files_alone_stand_on_no_page() -> None:
    shown = plain_table("Workers", BOARD, []).shown
    assert [one.key for one in shown] == ["rank", "name", "plot", "estimate", "interval", "n"]


def test_rows_of_a_page_are_written_by_the_same_names() -> None:
    columns = stored("name", "low", "n", "rank")
    rows = records(columns, [Row("=A", None, 3)])
    assert rows == [{"name": "=A", "low": None, "n": 3, "rank": None}]
    assert csv_of(columns, rows) == "name,low,n,rank\r\n'=A,,3,\r\n"


def test_what_counts_is_written_without_a_point() -> None:
    assert [strip_zero_decimals(value) for value in (120.0, 0.5, None)] == [120, 0.5, None]


def test_a_typed_row_takes_what_it_names_of_a_stored_one() -> None:
    assert typed(Row, {"low": 0.5, "n": 2, "more": 1}, name="A") == Row("A", 0.5, 2)
    with pytest.raises(TypeError):
        typed(Row, {"low": 0.5})


def test_no_file_of_any_kind_of_run_names_a_column_twice() -> None:
    for kind in (*RUN_TYPES.values(), *IMPORTED.values()):
        for name, table in kind.tables.items():
            assert len(table.header) == len(set(table.header)), (kind.slug, name)
