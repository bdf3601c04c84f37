"""Matrices: tables whose columns are themselves things that are measured, as dimensions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from crowdqc.web.terms import Words
from evaluation.results.cells import Cell, Html
from evaluation.results.columns import Column, Format, head_column
from evaluation.results.tables import Group, ResultTable


@dataclass(frozen=True)
class MatrixRow:
    """A line of a matrix: what it is of, and a cell for each head."""

    name: Words
    cells: Sequence[Cell]
    classes: str = ""
    note: Words = ""


def _cell_at(row: MatrixRow, at: int) -> Cell:
    return row.cells[at]


def matrix_table(
    title: Words,
    corner: Html,
    heads: Sequence[Html | Column],
    rows: Sequence[MatrixRow | Group],
    *,
    format: Format = Format.HEAT,
    name_classes: str = "",
    **more: Any,
) -> ResultTable:
    """A matrix of rows, or of groups of rows; ``more`` as of a ResultTable.

    ``heads``: of its columns, which are of this ``format``, or the columns themselves.
    """
    columns = [head_column("name", corner, note="note", classes=name_classes)]
    for at, head in enumerate(heads):
        column = head if isinstance(head, Column) else Column("", head, format)
        columns.append(replace(column, cell=partial(_cell_at, at=at)))
    groups = [row for row in rows if isinstance(row, Group)]
    groups = groups or [Group("", [row for row in rows if isinstance(row, MatrixRow)], "")]
    return ResultTable(title, columns, groups, row_class=lambda row: row.classes, **more)
