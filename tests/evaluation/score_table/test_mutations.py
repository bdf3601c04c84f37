"""Tables written by other programs read back equal, and damaged ones lose no row in silence."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.files.reading.sheet import read
from annotation.formats.selectors.imports import CheckedFile
from crowdqc.errors import DomainError
from evaluation.management.commands.crowdqc_score import open_file
from tests.bench.service.bench_import import peak, resident
from tests.evaluation.score_table.test_every_way import MADE

NAMES = ["worker", "item", "label"]
# What begins with an apostrophe is how our own exports keep a formula a text.
CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1
).filter(lambda text: text == text.strip() and not text.startswith("'"))
ID = st.from_regex(r"[A-Za-z][A-Za-z0-9 _.-]{0,8}[A-Za-z0-9]", fullmatch=True)
TABLES = st.lists(st.tuples(ID, ID, CELL), min_size=2, max_size=12)
Rows = list[tuple[str, str, str]]


def by_pandas(**options: Any) -> Callable[[Rows], bytes]:
    return lambda rows: pandas.DataFrame(rows, columns=NAMES).to_csv(**options).encode()


def by_r(rows: Rows, *, names: bool = True) -> bytes:
    """As ``write.csv`` of R: all texts in quotation marks, rows with names, an empty name first."""
    lines = [(["", *NAMES] if names else NAMES)]
    lines += [[str(at), *row] if names else list(row) for at, row in enumerate(rows, 1)]
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines]
    return "".join(",".join(line) + "\n" for line in quoted).encode()


def by_excel(rows: Rows) -> bytes:
    held = io.BytesIO()
    with xlsxwriter.Workbook(
        held, {"strings_to_formulas": False, "strings_to_urls": False}
    ) as book:
        sheet = book.add_worksheet()
        for at, row in enumerate([NAMES, *rows]):
            for place, cell in enumerate(row):
                sheet.write_string(at, place, cell)
    return held.getvalue()


def by_parquet(rows: Rows) -> bytes:
    held = io.BytesIO()
    pandas.DataFrame(rows, columns=NAMES).to_parquet(held)
    return held.getvalue()


def as_json(orient: Any, **options: Any) -> Callable[[Rows], bytes]:
    return lambda rows: (
        pandas.DataFrame(rows, columns=NAMES).to_json(orient=orient, **options).encode()
    )


WRITERS: dict[str, tuple[Callable[[Rows], bytes], str]] = {
    "pandas": (by_pandas(), "a.csv"),
    "pandas, no index": (by_pandas(index=False), "a.csv"),
    "pandas, semicolons": (by_pandas(index=False, sep=";"), "a.csv"),
    "pandas, tabs": (by_pandas(index=False, sep="\t"), "a.tsv"),
    "pandas, bars": (by_pandas(index=False, sep="|"), "a.txt"),
    "pandas, all quoted": (by_pandas(index=False, quoting=csv.QUOTE_ALL), "a.csv"),
    "pandas, CR LF": (by_pandas(index=False, lineterminator="\r\n"), "a.csv"),
    "R": (by_r, "a.csv"),
    "R, no names of rows": (lambda rows: by_r(rows, names=False), "a.csv"),
    "Excel": (by_excel, "a.xlsx"),
    "Parquet": (by_parquet, "a.parquet"),
    "JSON, records": (as_json("records"), "a.json"),
    "JSON, lines": (as_json("records", lines=True), "a.jsonl"),
    "JSON, columns": (as_json("columns"), "a.json"),
    "JSON, index": (as_json("index"), "a.json"),
    "JSON, split": (as_json("split"), "a.json"),
    "JSON, table": (as_json("table"), "a.json"),
}


@pytest.mark.parametrize("writer", WRITERS)
@settings(deadline=None, max_examples=5)
@given(rows=TABLES)
def test_a_table_of_another_program_reads_back_equal(writer: str, rows: Rows) -> None:
    write, name = WRITERS[writer]
    sheet = read(write(rows), name)
    assert not list(sheet.unreadable)
    assert [tuple(row.values[column] for column in NAMES) for row in sheet.rows] == rows


# Damage ------------------------------------------------------------------------------------------


def contents() -> list[tuple[str, bytes]]:
    """Good files of every kind, and the names that they go by."""
    return [
        (name, content if isinstance(content, bytes) else content.encode())
        for content, name in MADE.values()
    ]


MARKS = [b'"', b",", b"\n", b"\0", b"[", b"\xff"]


def damage(content: bytes, rng: random.Random) -> bytes:
    """A file with one to three things wrong: bytes, lines, marks or its end."""
    for _ in range(rng.randint(1, 3)):
        content = _damage_once(content, rng) or b"\n"
    return content


def _damage_once(content: bytes, rng: random.Random) -> bytes:
    at, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    lines = content.split(b"\n")
    line = rng.randrange(len(lines))
    ways = [
        content[:at] + content[at + 1 :],
        content[:at] + bytes([rng.randrange(256)]) + content[at:],
        content[:at] + rng.choice(MARKS) + content[at:],
        content[:at],
        content[:at] + content[to:],
        content[:to] + content[at:],
        b"\n".join(lines[:line] + lines[line + 1 :]),
        b"\n".join([*lines[:line], lines[line], *lines[line:]]),
        content.replace(b"\n", b"\r", 1),
        content.replace(b",", b";", rng.randint(1, 9)),
    ]
    return rng.choice(ways)


def check_damaged(name: str, content: bytes, path: Path) -> None:
    """A damaged file is read or refused in words, and all of its rows are accounted for."""
    path.write_bytes(content)
    try:
        _, found = open_file(path)
    except DomainError as refused:
        assert refused.message
        return
    tally = found.tally
    assert tally.came == tally.used + sum(tally.left_out.values())
    assert tally.came >= rows_at_least(name, content, found)


def rows_at_least(name: str, content: bytes, found: CheckedFile) -> int:
    """Rows that a reader of lines sees in a file of plain lines, less those that notes name."""
    if not name.endswith((".csv", ".jsonl")) or found.sheet.kind not in ("CSV", "JSONL"):
        return 0
    if b'"' in content and found.sheet.kind == "CSV":
        return 0  # a row may have several lines
    text = content.decode(found.sheet.encoding.partition(" ")[0], "replace")
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip(" ,;|\t\v\f\0\xa0\ufeff")]
    if found.sheet.kind == "JSONL":
        return 0  # a line of a tool may be several rows, or none
    aside = 1 if not any("No header" in note for note in found.sheet.notes) else 0
    aside += sum(note.count(",") + 1 for note in found.sheet.notes if "Left out" in note)
    aside += 2 * any("Lines 1 to 3 name" in note for note in found.sheet.notes)
    aside += content.lower().startswith((b"sep=", b'"sep='))
    return len(lines) - aside


def test_damaged_files_are_read_or_refused_and_no_row_is_lost(tmp_path: Path) -> None:
    rng = random.Random(39)
    files = contents()
    for _ in range(150):
        name, content = rng.choice(files)
        check_damaged(name, damage(content, rng), tmp_path / name)


@pytest.mark.long
def test_five_thousand_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    rng = random.Random(5_000)
    files = contents()
    for number in range(5_000):
        name, content = rng.choice(files)
        damaged = damage(content, rng)
        try:
            check_damaged(name, damaged, tmp_path / name)
        except Exception as error:
            raise AssertionError(f"number {number}: {name} {damaged[:2000]!r}") from error


def large(name: str) -> bytes:
    """A megabyte of votes in a format."""
    rows = [(f"w{n % 97}", f"i{n // 5}", ("yes", "no")[n % 3 > 0]) for n in range(50_000)]
    if name.endswith(".jsonl"):
        dumped = (json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows[:20_000])
        return "".join(f"{line}\n" for line in dumped).encode()
    return ("worker,item,label\n" + "".join(f"{','.join(row)}\n" for row in rows)).encode()


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_damaged_megabyte_takes_under_two_seconds_and_200_mb(name: str, tmp_path: Path) -> None:
    """Two seconds of computing on a quiet machine; a busy one takes up to three times as long."""
    rng, content = random.Random(1), large(name)
    for _ in range(20):
        damaged = damage(content, rng)
        before, began = resident(), time.process_time()
        check_damaged(name, damaged, tmp_path / name)
        assert (time.process_time() - began) * 2**20 / max(len(damaged), 2**20) < 6
        assert peak() - before < 200
