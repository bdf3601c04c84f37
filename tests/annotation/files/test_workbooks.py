"""Workbooks of Excel and OpenDocument are read and written as tables."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.files import conll
from annotation.files.reading.limits import Limits
from annotation.files.reading.sources import of_bytes
from annotation.files.reading.tables import Row, Table, open_table
from annotation.files.writing.tables import lines
from crowdqc.errors import Conflict, Invalid

LIMITS = Limits()
SHEET = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
 <table:table table:name="S">{}</table:table></office:spreadsheet></office:body>
 </office:document-content>"""


def workbook(write: Callable[[Any, Any], None]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"default_date_format": "yyyy-mm-dd"}) as book:
        write(book, book.add_worksheet("Votes"))
    return file.getvalue()


def read(content: bytes, limits: Limits = LIMITS) -> tuple[Table, list[dict[str, str]]]:
    table = open_table(of_bytes(content), "votes.xlsx", limits)
    return table, [event.values for event in table.events if isinstance(event, Row)]


def test_a_workbook_that_holds_other_files_too_is_read_as_a_workbook() -> None:
    file = io.BytesIO(workbook(lambda _book, sheet: sheet.write_column(0, 0, ["item", "a"])))
    with zipfile.ZipFile(file, "a") as archive:
        for name in (conll.SPANS, conll.ABOUT, conll.LEFT):
            archive.writestr(name, "")
    table, rows = read(file.getvalue())
    assert (table.kind, rows) == ("Excel", [{"item": "a"}])


def test_cells_are_read_as_somebody_would_type_them() -> None:
    def write(book: Any, sheet: Any) -> None:
        sheet.write_row(2, 1, ["worker", "item", "share", "day", "sure", "text"])  # below a gap
        sheet.write_row(3, 1, ["w1", 7, 0.25, dt.date(2026, 11, 29), True, "“Grüße”, =1+1"])
        sheet.write_row(5, 1, ["w2", 12345678901, 3.0, dt.datetime(2026, 1, 2, 3, 4), False])

    table, rows = read(workbook(write))
    assert (table.kind, table.encoding_note) == ("Excel", "")
    assert rows == [
        {"worker": "w1", "item": "7", "share": "0.25", "day": "2026-11-29", "sure": "true"}
        | {"text": "“Grüße”, =1+1"},
        {"worker": "w2", "item": "12345678901", "share": "3", "day": "2026-01-02T03:04:00"}
        | {"sure": "false", "text": ""},
    ]


def test_the_first_sheet_with_rows_is_read_and_named() -> None:
    def write(book: Any, sheet: Any) -> None:
        second = book.add_worksheet("Labels 2026")
        second.write_row(0, 0, ["worker", "label"])
        second.write_row(1, 0, ["w1", "yes"])

    table, rows = read(workbook(write))
    assert "Labels 2026" in table.encoding_note and rows == [{"worker": "w1", "label": "yes"}]


def test_rows_with_a_title_alone_stand_above_the_names_of_the_columns() -> None:
    def write(book: Any, sheet: Any) -> None:
        sheet.merge_range(0, 0, 0, 2, "Our study")
        sheet.merge_range(1, 0, 1, 2, "exported in May")
        for at, row in enumerate([["worker", "label"], ["w1", "yes"], ["w2", "no"]], 3):
            sheet.write_row(at, 0, row)

    table, rows = read(workbook(write))
    assert rows == [{"worker": "w1", "label": "yes"}, {"worker": "w2", "label": "no"}]
    assert table.encoding_note == "row 4 names the columns"


def test_a_comment_beside_one_column_is_no_head() -> None:
    def write(book: Any, sheet: Any) -> None:
        sheet.write_column(0, 0, ["text", "one", "two", "three"])
        sheet.write(2, 1, "look again")

    table, rows = read(workbook(write))
    assert [row["text"] for row in rows] == ["one", "two", "three"] and not table.encoding_note


def test_a_sheet_of_names_alone_is_passed_over_for_one_with_rows() -> None:
    def write(book: Any, sheet: Any) -> None:
        sheet.write_row(0, 0, ["worker", "label"])
        second = book.add_worksheet("May")
        second.write_row(0, 0, ["worker", "label"])
        second.write_row(1, 0, ["w1", "yes"])

    table, rows = read(workbook(write))
    assert rows == [{"worker": "w1", "label": "yes"}]
    assert table.encoding_note == "sheet “May” of 2 is read"
    only = workbook(lambda book, sheet: sheet.write_row(0, 0, ["worker", "label"]))
    assert (read(only)[0].columns, read(only)[1]) == (["worker", "label"], [])


def test_rows_have_the_numbers_that_the_workbook_shows() -> None:
    def write(book: Any, sheet: Any) -> None:
        for at, row in enumerate([["worker", "label"], ["w1", "yes"], [], ["w2", "a\x00b"]]):
            sheet.write_row(at, 0, row)

    events = open_table(of_bytes(workbook(write)), "votes.xlsx", LIMITS).events
    assert [event.line for event in events] == [2, 4]


def test_open_document_is_read() -> None:
    def cells(*texts: str) -> str:
        inside = "".join(
            '<table:table-cell office:value-type="string">'
            f"<text:p>{text}</text:p></table:table-cell>"
            for text in texts
        )
        return f"<table:table-row>{inside}</table:table-row>"

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", SHEET.format(cells("worker", "item") + cells("w1", "q1")))
    assert read(file.getvalue())[1] == [{"worker": "w1", "item": "q1"}]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (Limits(rows=2), "2 is the most"),
        (Limits(decoded=4), "MB of text"),
        (Limits(columns=1), "1"),
    ],
)
def test_a_workbook_beyond_a_limit_is_refused_with_the_limit(limits: Limits, field: str) -> None:
    def write(book: Any, sheet: Any) -> None:
        for at in range(5):
            sheet.write_row(at, 0, [f"a{at}", f"b{at}"])

    with pytest.raises(Invalid, match=field):
        read(workbook(write), limits)


def test_a_broken_or_empty_workbook_says_so() -> None:
    content = workbook(lambda book, sheet: sheet.write(0, 0, "worker"))
    with pytest.raises(Invalid):
        read(content[: len(content) // 2])
    with pytest.raises(Invalid, match="holds no rows"):
        read(workbook(lambda book, sheet: None))


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda text: text == text.strip() and "_x" not in text and "\ufffe" not in text
)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(texts, st.integers(-(2**50), 2**50), st.booleans()), max_size=20))
def test_what_is_written_for_excel_reads_back_equal(rows: list[tuple[str, int, bool]]) -> None:
    content = b"".join(lines(("text", "n", "is"), rows, "xlsx"))
    found = read(content)[1]
    wanted = [{"text": a, "n": str(b), "is": "true" if c else "false"} for a, b, c in rows]
    assert found == wanted


def test_the_same_rows_are_the_same_workbook_at_any_time() -> None:
    content = b"".join(lines(("text",), [("a",)], "xlsx"))
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        assert {info.date_time[0] for info in parts.infolist()} == {1980}
        assert str(dt.date.today().year) not in parts.read("docProps/core.xml").decode()


def test_a_text_that_no_cell_of_excel_holds_is_refused_before_the_file_begins() -> None:
    with pytest.raises(Conflict, match="Row 1 of column text"):
        lines(("text",), [("x" * 40_000,)], "xlsx")
