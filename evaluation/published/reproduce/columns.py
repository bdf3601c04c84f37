"""Columns of a published CSV file, plain or gzipped; errors name the file, column and line."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray


def columns(folder: Path, part: str, name: str, needed: Sequence[str]) -> dict[str, list[str]]:
    """The ``needed`` columns of file ``name`` in ``folder/part`` or in ``folder`` itself.

    Raises Invalid naming the file, the missing column or the short line.
    """
    places = [folder / part / name, folder / name]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise Invalid(f"There is no {name} in {folder}.", fields={"data": "no file"})
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = [column for column in needed if column not in (reader.fieldnames or ())]
        if missing:
            raise Invalid(f"{name} has no column {missing[0]}.", fields={"data": "columns"})
        out: dict[str, list[str]] = {column: [] for column in needed}
        for row in reader:
            for column in needed:
                if row[column] is None:
                    raise Invalid(
                        f"{name}, line {reader.line_num}: no {column}.", rows=[reader.line_num]
                    )
                out[column].append(row[column])
    if not out[needed[0]]:
        raise Invalid(f"{name} has no rows.", fields={"data": "empty"})
    return out


def numbers(name: str, column: str, values: Sequence[str], *, missing: bool = False) -> FloatArray:
    """The values as floats; with ``missing``, an empty one is NaN. Raises Invalid with the row."""
    out = np.empty(len(values))
    for k, value in enumerate(values):
        if missing and not value:
            out[k] = np.nan
            continue
        try:
            out[k] = float(value)
        except ValueError:
            out[k] = np.nan
        if not math.isfinite(out[k]):
            raise Invalid(f"{name}, row {k + 1}: {column} is {value!r}.", rows=[k + 1])
    return out
