"""No cell of a file that we write becomes a formula where a spreadsheet opens it (B17)."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import ImportFile
from crowdqc.files.cells import csv_lines, protect_cell, unprotect_cell
from tests.support import factories as make

FORMULAS = (
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(1)",
    "+1+1",
    "-2+3",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "＠SUM(1)",
    "'=1",
    "''@x",
)


def opens_as_text(cell: str) -> bool:
    """Whether a spreadsheet takes the cell for a text."""
    return not cell or cell[0] not in "=+-@\t\r\n＝＋－＠"


@pytest.mark.django_db
def test_rows_that_cannot_be_imported_come_back_as_texts(client: Client) -> None:
    """The file of bad rows repeats what was uploaded, heads of columns included (B17)."""
    world = make.make_world(1)
    client.force_login(world.requester)
    rows = [["worker_id", "item_id", "answer", "@SUM(9)"]]
    rows += [[one, "no-such-item", one, one] for one in FORMULAS]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    client.post(
        reverse("task_import", args=[world.project.pk, world.task.pk, "answers"]),
        {"file": SimpleUploadedFile("a.csv", out.getvalue().encode())},
    )
    file = ImportFile.objects.get()
    answer = client.get(
        reverse("task_import_bad_rows", args=[world.project.pk, world.task.pk, file.pk])
    )
    cells = [
        cell for row in csv.reader(io.StringIO(answer.content.decode(), newline="")) for cell in row
    ]
    assert len(cells) > len(FORMULAS) * 4
    assert all(map(opens_as_text, cells)), [cell for cell in cells if not opens_as_text(cell)]


@pytest.mark.parametrize("text", [*FORMULAS, "plain", "", "a=b", "1.80"])
def test_a_protected_text_comes_back_as_it_was(text: str) -> None:
    assert opens_as_text(protect_cell(text))
    assert unprotect_cell(protect_cell(text)) == text
    line = "".join(csv_lines([[text, None, True, ["=1"], -1]]))
    [[cell, empty, yes, listed, number]] = csv.reader(io.StringIO(line, newline=""))
    assert unprotect_cell(cell) == text and opens_as_text(cell)
    assert (empty, yes, listed, number) == ("", "true", '["=1"]', "-1")
