"""Hostile files: small ones that unpack to much, wrong ones, and what is left of an upload."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet
import pytest

from annotation.files.reading import limits
from annotation.files.reading.sheet import read
from annotation.models import ImportFile
from crowdqc.errors import Invalid

ROOT = Path(__file__).parents[3]
STATE = ImportFile.State
# Reads files, each in a process of its own; prints the refusal, seconds of computing and megabytes
# grown of each.
MEASURE = """
import os, resource, sys, time
import django
django.setup()
from annotation.files.reading.sheet import read
from crowdqc.errors import Invalid
for path in sys.argv[1:]:
    if pid := os.fork():
        os.waitpid(pid, 0)
        continue
    content, said = open(path, "rb").read(), ""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    try:
        read(content, path)
    except Invalid as refused:
        said = refused.message
    print(said, time.process_time() - began,
          (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, sep="|", flush=True)
    os._exit(0)
"""


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def repeated(text: str, times: int) -> Any:
    """A column that refers to one text so many times."""
    places = pyarrow.array([0] * times, pyarrow.int32())
    return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array([text]))


def many_columns(count: int = 100_000) -> bytes:
    names = ",".join(f"c{n}" for n in range(count))
    return f"{names}\n{','.join('1' * count)}\n".encode()


def test_a_file_of_too_many_rows_or_columns_is_refused_at_once(tmp_path: Path) -> None:
    """(B11) Under a second of computing and 50 MB; it took 45 s and 460 MB, or over 200 s."""
    x, y = repeated("x", 1_000_000), repeated("y", 1_000_000)
    hostile = {
        "rows": (
            parquet(item_id=x, question=y),
            "The file has 1,000,000 rows; 500,000 is the most.",
        ),
        "columns of CSV": (many_columns(), "The file has 100,000 columns; 500 is the most."),
        "columns of parquet": (
            parquet(**{f"c{n}": [1] for n in range(3_000)}),
            "The file has 3,000 columns; 500 is the most.",
        ),
        "columns of JSONL": (
            b"\n".join(b'{"c%d": 1}' % n for n in range(100_000)),
            "500 is the most.",
        ),
    }
    for name, (content, _) in hostile.items():
        (tmp_path / name).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *(str(tmp_path / name) for name in hostile)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    for (name, (_, words)), line in zip(hostile.items(), lines, strict=True):
        said, seconds, grown = line.split("|")
        assert words in said, name
        assert float(seconds) < 1 and float(grown) < 50, name


def test_a_small_parquet_that_unpacks_to_gigabytes_harms_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(B11) Neither by a value that many rows refer to, nor by lists of a million."""
    small = limits.Limits(decoded=20_000_000)
    monkeypatch.setattr("annotation.files.reading.tables.current", lambda: small)
    lengths = numpy.arange(0, 20_000_001, 1_000_000, dtype=numpy.int32)
    lists = pyarrow.ListArray.from_arrays(lengths, numpy.zeros(20_000_000))
    bombs = (
        (parquet(item_id=repeated("x" * 900_000, 50_000)), "more than 19 MB of text"),
        (parquet(lists=lists), "memory|text"),
    )
    for content, words in bombs:
        assert len(content) < 100_000
        with pytest.raises(Invalid, match=words):
            read(content, "a.parquet")


def test_a_parquet_footer_that_lies_is_refused_in_words() -> None:
    """(B11) It is read as what it holds, or refused; nothing else happens."""
    good = parquet(item_id=["a"], question=["b"])
    at = len(good) - 40
    broken = [
        b"PAR1",
        b"PAR1" * 5,
        good[:-1],
        good[:at] + b"\xff" * 20 + good[at + 20 :],
        good[:-8] + b"\xff\xff\xff\x7fPAR1",
        good[:8] + b"\0" * 30 + good[38:],
    ]
    for content in broken:
        try:
            assert len(read(content, "a.parquet").rows) <= 1
        except Invalid as refused:
            assert "parquet" in refused.message


def tar_of(content: bytes) -> bytes:
    file, about = io.BytesIO(), tarfile.TarInfo("table.csv")
    about.size = len(content)
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(about, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04" + b"\0" * 50, "a ZIP archive"),
        (b"\x1f\x8b\x08" + b"\0" * 50, "gzip file is cut off"),
        (tar_of(b"a,b\n1,2\n"), "a tar archive"),
        (gzip.compress(tar_of(b"a,b\n1,2\n")), "a tar archive"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"<!DOCTYPE html><title>Sign in</title>", "a web page"),
        (b"", "empty"),
        (b"\xef\xbb\xbf", "no rows"),
        (b"\n \n", "no rows"),
        (b"a,b,a\n1,2,3\n", "names a twice"),
        (b"\xff\xfea\x00,\x00b", "UTF-16"),
        (b'{"a": "' + b"x" * 2_000_001 + b'"}', "Line 1 has more than 2,000,000 characters"),
        (b"x" * 300 + b",b\n1,2\n", "The name of column 1 has 300 characters"),
        (b"a\x00,b\n1,2\n", "The name of column 1 holds a character"),
        (b'{"\\ud800": 1}', "holds a character"),
    ],
)
def test_what_is_no_table_is_refused_by_its_content(content: bytes, words: str) -> None:
    """(B11) Its name does not matter."""
    with pytest.raises(Invalid, match=words):
        read(content, "table.csv")


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ('a,b\n1,2\n3,"opens\n4,5\n', 3, "never closes"),
        ('a,b\n1,2\n3,"opens' + "x" * 1_500_000 + "\n4,5\n", 3, "1,000,000 characters"),
        ("a,b\n1,2\n3,4,5\n", 3, "3 values"),
        ("a,b\n1,2\n3,x\x00y\n", 3, "no text can hold"),
        ('{"a": 1}\n{"a": "\\ud800"}\n', 2, "no text can hold"),
        ('{"a": 1}\n{"a": ' + "[" * 100_000 + "\n", 2, "too deeply|not JSON"),
        ('{"a": 1}\n{"a": ' + "9" * 5_000 + "}\n", 2, "5,000 digits"),
        ('{"a": 1}\n{"a": "' + "x" * 1_500_000 + '"}\n', 2, "1,000,000"),
    ],
    ids=["quote", "long cell", "values", "NUL", "surrogate", "deep", "digits", "long value"],
)
def test_a_bad_row_is_named_and_the_others_are_read(content: str, line: int, words: str) -> None:
    """(B11, B18) Line and reason; nothing breaks."""
    import re

    sheet = read(content.encode(), "a.jsonl" if content[0] == "{" else "a.csv")
    [problem] = list(sheet.unreadable)
    assert problem.line == line and re.search(words, problem.wrong)
    assert next(iter(sheet.rows)).line == line - 1
    json.dumps(problem.as_dict()).encode()


def test_old_line_ends_and_other_encodings_are_read_alike() -> None:
    """(B11) CR alone, UTF-16 and Latin-1; a guess is said."""
    for text in ("a,b\r1,\xe9\r2,y\r", "a,b\r\n1,\xe9\r\n2,y\r\n", "a,b\n1,\xe9\n2,y"):
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"):
            sheet = read(text.encode(encoding), "a.csv")
            assert [dict(row.values) for row in sheet.rows] == [
                {"a": "1", "b": "\xe9"},
                {"a": "2", "b": "y"},
            ]
            assert bool(sheet.encoding_note) == (encoding in ("utf-16-le", "latin-1"))
    rows = read(b'{"a": 1}\r{"a": 2}\r', "a.jsonl").rows
    assert [row.values["a"] for row in rows] == ["1", "2"]
