"""Separators, encodings, cells and layouts of other programs: one test for each class of files."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.files.reading.literals import is_printed, json_of_python
from annotation.files.reading.sources import encodings_instead, of_bytes
from tests.evaluation.score_table.test_odd_files import HEAD, NAMES, ROWS, VOTES, text
from tests.evaluation.score_table.test_odd_records import by_item
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


ASIAN = {
    "cp949": ("긍정적인 리뷰이고 배송이 빨라요", "가격이 너무 비싸서 별로예요"),
    "gb18030": ("这个产品的质量很好我非常满意", "物流太慢而且客服不理人"),
    "big5": ("這個產品的品質很好我非常滿意", "物流太慢而且客服不理人"),
    "cp932": ("とても良い商品でした", "配送が遅くて残念です"),
    "euc_jp": ("とても良い商品でした", "配送が遅くて残念です"),
}
SHORT = {
    "cp949": ("긍정", "부정"),
    "gb18030": ("正面", "负面"),
    "big5": ("正面", "負面"),
    "cp932": ("はい", "いいえ"),
    "euc_jp": ("はい", "いいえ"),
}


@pytest.mark.parametrize("words", [ASIAN, SHORT], ids=["sentences", "words"])
@pytest.mark.parametrize("codec", ASIAN)
def test_east_asian_text_is_read_as_what_is_most_plausible(
    codec: str, words: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    meant = dict(zip(("yes", "no"), words[codec], strict=True))
    content = text(HEAD, *(f"{w},{i},{meant[x]}" for w, i, x in VOTES)).encode(codec)
    _, found = read(tmp_path, content)
    assert labels_of(found) == {meant["yes"]: 18, meant["no"]: 12}
    instead = [one[0] for one in encodings_instead(of_bytes(content))]
    assert ("may be" in found.sheet.encoding_note) == bool(instead)
    assert not instead or words is SHORT


def test_few_letters_that_fit_two_encodings_are_offered_with_a_sample(tmp_path: Path) -> None:
    meant = dict(zip(("yes", "no"), SHORT["cp949"], strict=True))
    path = tmp_path / "votes.csv"
    content = text(HEAD, *(f"{w},{i},{meant[x]}" for w, i, x in VOTES)).encode("cp949")
    path.write_bytes(content)
    lines = io.StringIO()
    call_command("crowdqc_score", path, stdout=io.StringIO(), stderr=lines)
    assert "EUC-KR: line 2 is not UTF-8; it is read as EUC-KR, but may be" in lines.getvalue()
    assert (
        f"--encoding gb18030: w0,i0,{content.decode('gb18030').splitlines()[1][6:]}"
        in lines.getvalue()
    )


def as_json(values: list[str]) -> str:
    return json.dumps(values)


@pytest.mark.parametrize("write", [",".join, "; ".join, as_json, str], ids=[",", ";", "JSON", "Py"])
@pytest.mark.parametrize("names", ["annotations,annotators", "annotator_ids,labels"])
def test_lists_in_step_in_cells_give_each_worker_a_label(
    write: Callable[[list[str]], str], names: str, tmp_path: Path
) -> None:
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["id", "text", *names.split(","), "split"])
    for item, given in by_item(lambda item, given: (item, given)):
        order = -1 if item == "i1" else 1
        people, labels = (list(one) for one in zip(*given[::order], strict=True))
        two = [labels, people] if names.startswith("annotations") else [people, labels]
        table.writerow([item, f"Text of {item}, a text", *map(write, two), "train"])
    _, found = read(tmp_path, file.getvalue())
    assert labels_of(found) == LABELS
    assert {(one["worker"], one["item"], one["label"]) for one in found.checked.good} == {*VOTES}
    assert any("step" in note for note in found.checked.notes)


def test_a_list_that_is_not_in_step_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [f'i{n},"yes,no,yes","w0,w1,w2"' for n in range(10)] + ['i10,"yes,no","w0,w1,w2"']
    _, found = read(tmp_path, text("id,annotations,annotators", *rows))
    assert len(found.checked.good) == 30
    assert [one.line for one in found.sheet.unreadable] == [12]
