"""Items that several columns name, and columns that values tell where names do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file


def written(tmp_path: Path, *lines: str, name: str = "votes.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


SEGMENTS = [
    f"{rater},{system},{n},{3 + (n + at + len(system)) % 3}"
    for at, rater in enumerate(("r1", "r2", "r3"))
    for system in ("A", "BB")
    for n in range(5)
]


def test_a_segment_of_two_systems_is_two_items_unless_a_person_says_otherwise(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "rater,system,segment,score", *SEGMENTS)
    _, found = open_file(path)
    assert len(found.checked.good) == 30 and not found.checked.problems
    assert {one["item"] for one in found.checked.good} == {
        f"{system} / {n}" for system in ("A", "BB") for n in range(5)
    }
    _, found = open_file(path, uses={"segment": "segment"})
    assert {one["item"] for one in found.checked.good} == set(map(str, range(5)))


def test_the_rounds_and_times_of_a_worker_make_no_items(tmp_path: Path) -> None:
    rows = [
        f"{rater},{n},{round_},{'yn'[(n + len(rater)) % 2]}"
        for rater in ("r1", "r22", "r333")
        for n in range(6)
        for round_ in (1, 2)
    ]
    _, found = open_file(written(tmp_path, "rater,item,round,label", *rows))
    assert {one["item"] for one in found.checked.good} == set(map(str, range(6)))


def test_a_row_a_document_and_sentence_has_its_item_named_by_both(tmp_path: Path) -> None:
    rows = [f"d{n // 2},{n % 2},{'yn'[n % 2]},{'yn'[n % 3 > 0]},{'yn'[n > 3]}" for n in range(8)]
    _, found = open_file(written(tmp_path, "doc_id,sentence,rater1,rater2,rater3", *rows))
    items = {one["item"] for one in found.checked.good}
    assert items == {f"d{n // 2} / {n % 2}" for n in range(8)}
    assert {one["worker"] for one in found.checked.good} == {"rater1", "rater2", "rater3"}


def test_votes_that_replace_each_other_are_not_scored(tmp_path: Path) -> None:
    rows = [f"{rater},d{n % 2},{'xyz'[n % 3]}" for rater in "ab" for n in range(8)]
    with pytest.raises(Invalid, match="are the same in 12 rows with other votes"):
        open_file(written(tmp_path, "annotator,doc_id,label", *rows))


def test_columns_of_0_and_1_beside_rater_and_item_are_one_label(tmp_path: Path) -> None:
    rows = [
        f"text {n},i{n},r{k},{int(n % 2 == 0)},{int(k == 1)},{int(n == 3)}"
        for n in range(5)
        for k in range(3)
    ]
    kind, found = open_file(written(tmp_path, "text,id,rater_id,anger,joy,fear", *rows))
    labels = {(one["worker"], one["item"]): one["label"] for one in found.checked.good}
    assert kind == "label_table" and len(labels) == 15
    assert labels["r0", "i0"] == "anger" and labels["r1", "i3"] == "fear + joy"
    assert labels["r0", "i1"] == "none"


@pytest.mark.parametrize("name", ["Kürzel", "Your initials", "Nombre"])
def test_people_of_a_form_are_told_by_their_initials_not_by_the_time(
    name: str, tmp_path: Path
) -> None:
    rows = [
        f"12.05.2025 10:1{n}:00,{who},{'ja nein'.split()[n % 2]},ja,{'ja nein'.split()[n > 1]}"
        for n, who in enumerate(["AB", "MK", "TS", "RL"])
    ]
    asked = ",".join(f"Ist Satz {n} gut gesagt?" for n in range(3))
    _, found = open_file(written(tmp_path, f"Zeitstempel,{name},{asked}", *rows))
    assert {one["worker"] for one in found.checked.good} == {"AB", "MK", "TS", "RL"}


def test_answers_of_an_experiment_are_read_by_subject_and_stimulus(tmp_path: Path) -> None:
    rows = [
        "{},text {},{}".format(
            who, n, '"' + json.dumps({"Q0": "yes" if n > k else "no"}).replace('"', '""') + '"'
        )
        for k, who in enumerate(["p01", "p02", "p03"])
        for n in range(4)
    ]
    _, found = open_file(written(tmp_path, "subject,stimulus,response", *rows))
    assert dict(found.checked.about["labels"]) == {"yes": 6, "no": 6}
    assert {one["worker"] for one in found.checked.good} == {"p01", "p02", "p03"}


def test_numbered_people_with_their_names_beside_an_unnamed_text_are_a_matrix(
    tmp_path: Path,
) -> None:
    rows = [f"{n},第{n}句话,{'正负'[n % 2]},{'正负'[n % 3 > 0]},正" for n in range(1, 9)]
    head = "编号,文本,标注员1（王芳）,标注员2（李伟）,标注员3（张敏）"
    kind, found = open_file(written(tmp_path, head, *rows))
    assert kind == "label_matrix" and len(found.checked.good) == 24
    assert {one["item"] for one in found.checked.good} == set(map(str, range(1, 9)))


def test_two_groups_of_columns_that_share_nothing_are_no_matrix(tmp_path: Path) -> None:
    rows = [f"s{n},{'abc'[n % 3]},{'bca'[n % 3]},{n % 4},{n % 5}" for n in range(8)]
    with pytest.raises(Invalid, match="No column is read as"):
        open_file(written(tmp_path, "segment_id,one,two,three,four", *rows))


def test_a_refusal_names_the_columns_that_may_do(tmp_path: Path) -> None:
    rows = [f"i{n % 4},{'xy'[n % 3 > 1]},{'pq'[n % 3 > 0]},w{n % 3}" for n in range(12)]
    with pytest.raises(Invalid) as refused:
        open_file(written(tmp_path, "item,first,second,annotator", *rows))
    assert "label: first or second" in refused.value.message
    rows = [f"i{n},text number {n} of all,{'xy'[n % 2]}" for n in range(8)]
    with pytest.raises(Invalid) as refused:
        open_file(written(tmp_path, "ID,Text,Code", *rows))
    assert "No column repeats a few names" in refused.value.message
