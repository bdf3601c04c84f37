"""Separators, encodings, cells and layouts of other programs: one test for each class of files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from annotation.files.reading.literals import is_printed, json_of_python
from tests.evaluation.score_table.test_odd_files import HEAD, NAMES, ROWS, VOTES, text
from tests.evaluation.score_table.test_odd_tables import read

LABELS = {"yes": 18, "no": 12}


def labels_of(found: Any) -> dict[str, int]:
    """Labels by how often they are given; all of 3 workers and 10 items are there."""
    good = list(found.checked.good)
    assert len({one["worker"] for one in good}) == 3
    assert len({one["item"] for one in good}) == 10
    assert not list(found.checked.problems)
    return dict(found.checked.about["labels"])


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("delimiter", ["::", "\x01", "~", " | ", " ; "])
def test_rare_separators_are_found_in_the_values(
    delimiter: str, has_header: bool, tmp_path: Path
) -> None:
    rows = [HEAD, *ROWS] if has_header else ROWS
    _, found = read(tmp_path, text(*(row.replace(",", delimiter) for row in rows)), "votes.dat")
    assert labels_of(found) == LABELS


def test_a_separator_of_two_signs_may_stand_in_quotation_marks(tmp_path: Path) -> None:
    rows = (f'{w}::{i}::"{x}::sure"' for w, i, x in VOTES)
    _, found = read(tmp_path, text(HEAD.replace(",", "::"), *rows))
    assert labels_of(found) == {"yes::sure": 18, "no::sure": 12}


@pytest.mark.parametrize("has_bars", [True, False])
def test_tables_of_databases_are_read_without_their_rules(has_bars: bool, tmp_path: Path) -> None:
    ends = ("| ", " |") if has_bars else (" ", "")
    rule = "+----+----+-----+" if has_bars else "----+----+-----"
    rows = [f"{ends[0]}{' | '.join(one)}{ends[1]}" for one in (NAMES, *VOTES)]
    lines = [rule] * has_bars + [rows[0], rule, *rows[1:]] + [rule] * has_bars
    _, found = read(tmp_path, text(*lines), "votes.txt")
    assert labels_of(found) == LABELS


MORE = {"sure": True, "note": None, "quote": 'It\'s "fine" (really): True, None', "at": (1, 2.50)}


@pytest.mark.parametrize(
    "name", ["votes.json", "list.jsonl", "votes.jsonl", "object.json", "votes.csv"]
)
def test_values_that_python_printed_are_read(name: str, tmp_path: Path) -> None:
    votes = [{"annotator": w, "label": x, **MORE} for w, _, x in VOTES]
    records = [{"id": f"i{n}", "votes": votes[3 * n : 3 * n + 3]} for n in range(10)]
    cells = (f"{one['id']}\t{one['votes']}" for one in records)
    content = {
        "votes.json": str(records),
        "list.jsonl": str(records),
        "votes.jsonl": text(*map(str, records)),
        "object.json": str({"data": records}),
        "votes.csv": text("id\tvotes", *cells),
    }[name]
    _, found = read(tmp_path, content, name)
    assert labels_of(found) == LABELS
    assert {
        one["meta"].get("quote") or one["about_item"].get("quote") for one in found.checked.good
    } >= {MORE["quote"]}


def mongo(w: str, i: str, x: str) -> dict[str, Any]:
    at = {"$date": {"$numberLong": "1767225600000"}}
    return {"_id": {"$oid": f"65{w}{i}"}, "worker": w, "item": {"$oid": i}, "label": x, "at": at}


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.json"])
def test_types_of_mongodb_are_unwrapped(name: str, tmp_path: Path) -> None:
    rows = [mongo(*one) for one in VOTES]
    content = text(*map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows)
    _, found = read(tmp_path, content.replace('"at"', '"created_at"'), name)
    assert labels_of(found) == LABELS
    assert {one["item"] for one in found.checked.good} == {f"i{n}" for n in range(10)}
    assert {one["at"].year for one in found.checked.good} == {2026}


def test_types_of_mongodb_are_unwrapped_within_votes(tmp_path: Path) -> None:
    words = {"yes": 1, "no": 0}
    votes = [{"rater": {"$oid": w}, "label": {"$numberInt": str(words[x])}} for w, _, x in VOTES]
    shell = [{"_id": f"i{n}", "votes": votes[3 * n : 3 * n + 3]} for n in range(10)]
    printed = json.dumps(shell).replace('"_id": "', '"_id": ObjectId("')
    content = printed.replace('", "votes"', '"), "votes"')
    _, found = read(tmp_path, content, "votes.json")
    assert labels_of(found) == {"1": 18, "0": 12}


@pytest.mark.parametrize("printed", ["{'a': open('x')}", "[" * 500 + "'a'", "{'a': 1e999}", "{'"])
def test_text_that_is_no_value_of_python_stays_text(printed: str, tmp_path: Path) -> None:
    rows = (f"{w}\t{i}\t{x}\t{printed}{n % 3}" for n, (w, i, x) in enumerate(VOTES))
    _, found = read(tmp_path, text("worker\titem\tlabel\tsaid", *rows), "votes.tsv")
    assert labels_of(found) == LABELS


@pytest.mark.parametrize("sign", ["\\'", "a.", "1", "(", "' ", ", ", "1 "])
def test_rewriting_python_takes_time_by_length_alone(sign: str) -> None:
    begin = time.process_time()
    json_of_python("{'" * (sign != "1") + sign * (600_000 // len(sign)))
    is_printed("{" + sign * (600_000 // len(sign)))
    assert time.process_time() - begin < 3
