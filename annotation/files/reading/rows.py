"""A row of a table, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.files.reading.values import displayable

MAX_SHOWN = 200  # characters of a bad value that are repeated


class Row(NamedTuple):
    """A row of a file: the line where it begins and its values by column."""

    line: int
    values: Mapping[str, str]


FILE = "file in archive"  # a column: which of several files or sheets holds a row


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row, where, and how to mend it."""

    line: int | None
    column: str
    value: str
    wrong: str
    mend: str

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as a dict for pages, the API and the database."""
        return {
            "line": self.line,
            "column": displayable(self.column, MAX_SHOWN),
            "value": displayable(self.value, MAX_SHOWN),
            "wrong": displayable(self.wrong, 500),
            "mend": displayable(self.mend, 500),
        }
