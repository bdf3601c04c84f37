"""A name in a file is the task's own where it is only written in another way."""

from __future__ import annotations

import pytest

from annotation.files.reading.importer import CheckedRows, Reader, Row
from annotation.formats.imports.answers import Answers, KnownAnswers

pytestmark = pytest.mark.django_db
DECOMPOSED, COMPOSED = "cafe\u0301-1", "caf\u00e9-1"


def checked_answers(rows: list[dict[str, str]], keys: list[str]) -> CheckedRows:
    mapping = {name: name for name in ("item_id", "worker_id", "answer")}
    given = [Row(at, {"answer": "It is.", **row}) for at, row in enumerate(rows, 2)]
    return Answers().check(given, mapping, KnownAnswers(keys))


def test_an_item_is_found_by_an_id_that_a_spreadsheet_wrote_as_a_decimal() -> None:
    rows = [{"item_id": f"{n}.0", "worker_id": "ann"} for n in (1, 2)]
    found = checked_answers(rows, ["1", "2", "3"])
    assert [one["item_id"] for one in found.good] == ["1", "2"]
    assert (len(found.problems), len(found.notes)) == (0, 1)


def test_one_worker_stays_one_in_two_encodings_of_an_accent_and_with_an_odd_space() -> None:
    names = (DECOMPOSED, COMPOSED, f"\u00a0{COMPOSED}")
    rows = [{"item_id": str(at), "worker_id": name} for at, name in enumerate(names)]
    found = checked_answers(rows, ["0", "1", "2"])
    assert {one["worker_id"] for one in found.good} == {COMPOSED}


def test_case_is_never_guessed_nor_is_one_of_two_ids_that_look_alike() -> None:
    rows = [{"item_id": name, "worker_id": "ann"} for name in ("A", "7.00")]
    found = checked_answers(rows, ["a", "7", "7.0"])
    assert len(found.good) == 0 and len(found.problems) == 2


def test_answers_keep_the_characters_that_names_lose() -> None:
    reader = Reader({"answer": "answer", "item_id": "item_id"}, CheckedRows())
    row = Row(2, {"answer": DECOMPOSED, "item_id": DECOMPOSED})
    assert reader.value(row, "answer") == DECOMPOSED
    assert reader.value(row, "item_id") == COMPOSED
