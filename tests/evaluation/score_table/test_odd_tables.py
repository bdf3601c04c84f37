"""Tables that people lay out in their own way: read as meant, or refused for their own reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file
from tests.evaluation.score_table.test_odd_files import text, workbook

# Three workers, six items, two labels.
ITEMS = [f"i{n}" for n in range(6)]
WHO = ["ann", "ben", "cem"]
SAID = ["yes yes no", "no no no", "yes yes yes", "no yes no", "yes no yes", "no no no"]
GIVEN = [one.split() for one in SAID]


def read(tmp_path: Path, content: str | bytes, name: str = "votes.csv", **more: Any) -> Any:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_file(path, **more)


def size(found: Any) -> tuple[int, int, int]:
    """How many workers, items and labels are read."""
    good = list(found.checked.good)
    return (
        *(len({one["worker"] for one in good}), len({one["item"] for one in good})),
        len(good),
    )


def merged_workers(book: Any) -> None:
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["ID", "Text"])
    for at, worker in enumerate(WHO):
        sheet.merge_range(0, 2 + 2 * at, 0, 3 + 2 * at, worker)
        sheet.write_row(1, 2 + 2 * at, ["Label", "Sure"])
    for at, (item, said) in enumerate(zip(ITEMS, GIVEN, strict=True), 2):
        cells = [cell for k, one in enumerate(said) for cell in (one, 5 - (at + k) % 2)]
        sheet.write_row(at, 0, [item, f"Message {item} here", *cells])


def bits(said: list[str]) -> str:
    return ",".join("1,0" if one == "yes" else "0,1" for one in said)


TWO_LINES = {
    "merged": (workbook(merged_workers), "votes.xlsx", ["Sure"]),
    "repeated": (
        text(
            "id,ann,ann,ben,ben,cem,cem",
            ",answer,time,answer,time,answer,time",
            *(f"{i},{x[0]},4,{x[1]},5,{x[2]},4" for i, x in zip(ITEMS, GIVEN, strict=True)),
        ),
        "votes.csv",
        ["ann time", "ben time", "cem time"],
    ),
    "options of 0 and 1": (
        text(
            ",ann,,ben,,cem,",
            "sentence,yes,no,yes,no,yes,no",
            *(f"{i},{bits(x)}" for i, x in zip(ITEMS, GIVEN, strict=True)),
        ),
        "votes.csv",
        [],
    ),
    "one name over all workers": (
        text(
            "item,coders,,,about",
            ",ann,ben,cem,",
            *(f"{i},{','.join(x)},source {i}" for i, x in zip(ITEMS, GIVEN, strict=True)),
        ),
        "votes.csv",
        [],
    ),
}


@pytest.mark.parametrize("case", TWO_LINES)
def test_a_second_line_of_names_is_no_row(case: str, tmp_path: Path) -> None:
    content, name, left_out = TWO_LINES[case]
    kind, found = read(tmp_path, content, name)
    assert (kind, size(found)) == ("label_matrix", (3, 6, 18))
    assert {one["worker"] for one in found.checked.good} == set(WHO)
    assert dict(found.checked.about["labels"]) == {"yes": 8, "no": 10}
    assert all(any(column in note for note in found.checked.notes) for column in left_out)


def test_several_columns_of_each_worker_are_refused_by_name(tmp_path: Path) -> None:
    rows = (f"{i},a,{x[0]},b,{x[1]}" for i, x in zip(ITEMS, GIVEN, strict=True))
    with pytest.raises(Invalid, match="ann, ben have topic, tone each"):
        read(tmp_path, text("id,ann,,ben,", ",topic,tone,topic,tone", *rows))


def test_columns_without_a_name_are_left_out_by_place(tmp_path: Path) -> None:
    rows = (f"{i},{x[0]},4,{x[1]},5,{x[2]}," for i, x in zip(ITEMS, GIVEN, strict=True))
    _, found = read(tmp_path, text("item,ann,,ben,,cem,", *rows))
    assert size(found) == (3, 6, 18)
    assert [note.rpartition(": ")[2] for note in found.checked.notes] == ["3, 5."]


@pytest.mark.parametrize(
    ("head", "draw"),
    [("winner,loser,Draw", ["TRUE", "FALSE"]), ("Sieger,Verlierer,Unentschieden", ["1", "0"])],
)
def test_a_winner_and_a_loser_are_two_sides(head: str, draw: list[str], tmp_path: Path) -> None:
    rows = ["owl,wren", "owl,tern", "wren,tern", "tern,owl", "owl,wren", "tern,wren"]
    kind, found = read(tmp_path, text(head, *(f"{x},{draw[n != 2]}" for n, x in enumerate(rows))))
    good = list(found.checked.good)
    assert (kind, len(good), found.checked.about["ties"]) == ("comparison_table", 6, 1)
    won = [one[one["winner"]][0] for one in good if one["winner"] != "neutral"]
    assert won == ["owl", "owl", "tern", "owl", "tern"]
    assert {one["winner"] for one in good} == {"left", "right", "neutral"}


def test_a_winner_without_a_column_of_draws_wins(tmp_path: Path) -> None:
    rows = [{"won_by": "x", "winner": "owl", "loser": "wren"}, {"winner": "wren", "loser": "owl"}]
    kind, found = read(tmp_path, text(*(str(one).replace("'", '"') for one in rows)), "v.jsonl")
    assert (kind, len(found.checked.good), found.checked.about["ties"]) == (
        "comparison_table",
        2,
        0,
    )


@pytest.mark.parametrize("head", ["who,a,b,c,BestItem,WorstItem", "who,a,b,c,best,worst"])
def test_best_and_worst_of_several_are_refused_by_name(head: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"est.* and .*orst.* choose from several"):
        read(tmp_path, text(head, "w1,x,y,z,x,z", "w2,x,y,z,x,y", "w1,y,x,z,x,z"))


@pytest.mark.parametrize("none", ["NA", "n/a", "*", "?"])
def test_a_missing_score_does_not_make_ratings_labels(none: str, tmp_path: Path) -> None:
    rows = [f'"{n}";w{n % 3};i{n // 3};{n % 5},{5 * (n % 2)}' for n in range(18)]
    rows[4], rows[9] = f'"4";w1;i1;{none}', f'"9";w0;i3;{none}'
    kind, found = read(tmp_path, text('"";rater;item;score', *rows))
    assert (kind, len(found.checked.good)) == ("rating_table", 16)
    assert [one.line for one in found.checked.problems] == [6, 11]


def matrix(head: str, *columns: list[str], ids: list[str] | None = None) -> str:
    rows = zip(ids or ITEMS, GIVEN, *columns, strict=True)
    return text(head, *(",".join([i, *said, *more]) for i, said, *more in rows))


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("majority", "Total"),
        ("Consensus", "Mean"),
        ("Mehrheit", "Gesamt"),
        ("Vote majoritaire", "Moyenne"),
        ("consenso", "promedio"),
    ],
)
def test_sums_of_a_matrix_are_no_workers_or_items(column: str, row: str, tmp_path: Path) -> None:
    content = matrix(f"item,ann,ben,cem,{column}", ["no", "no", "yes", "no", "yes", "no"])
    _, found = read(tmp_path, content + f"{row},2,2,2,no\n")
    assert size(found) == (3, 6, 18)
    assert any(column in note for note in found.checked.notes)
    assert [(one.line, one.value) for one in found.checked.problems] == [(8, row)]


def test_a_consensus_among_rows_is_no_worker(tmp_path: Path) -> None:
    rows = [
        f"{who},{item},{label}"
        for item, said in zip(ITEMS, GIVEN, strict=True)
        for who, label in zip([*WHO, "gold"], [*said, "no"], strict=True)
    ]
    _, found = read(tmp_path, text("worker,item,label", *rows))
    assert size(found) == (3, 6, 18)
    assert {one.value for one in found.checked.problems} == {"gold"}


def test_an_item_called_total_that_workers_rate_stays(tmp_path: Path) -> None:
    rows = [f"{w},{i},{n + k}" for k, w in enumerate(WHO) for n, i in enumerate(["Style", "Total"])]
    _, found = read(tmp_path, text("worker,item,score", *rows))
    assert (size(found), len(found.checked.problems)) == ((3, 2, 6), 0)


@pytest.mark.parametrize("none", ["*", ".", "-", "?"])
@pytest.mark.parametrize("head", ["Units u:", "", "who"])
def test_reliability_data_have_coders_in_rows(head: str, none: str, tmp_path: Path) -> None:
    said = [[str(1 + (n + (k and n % 3 == 0)) % 3) for n in range(12)] for k in range(3)]
    for n in range(3):
        said[n][n] = none
    said[0][11] = said[1][11] = said[2][11] = none
    rows = (f"Coder {'ABC'[k]},{','.join(one)}" for k, one in enumerate(said))
    kind, found = read(tmp_path, text(f"{head},{','.join(str(n + 1) for n in range(12))}", *rows))
    assert (kind, size(found)) == ("label_matrix", (3, 11, 30))
    assert any(note.startswith(f"6 cells “{none}”") for note in found.checked.notes)
    assert [(one["value"], one["use"]) for one in found.checked.about["offers"]] == [(none, none)]


def test_a_mark_among_words_is_offered_as_no_label(tmp_path: Path) -> None:
    content = matrix("item,ann,ben,cem,dan", ["*", "no", "yes", "no", "yes", "no"])
    _, found = read(tmp_path, content)
    assert ("*", "") in {(one["value"], one["use"]) for one in found.checked.about["offers"]}
    _, found = read(tmp_path, content, uses={"*": ""})
    assert size(found) == (4, 6, 23)


@pytest.mark.parametrize("head", ["n", "Count", "Anzahl"])
def test_rows_with_a_count_stand_for_so_many_items(head: str, tmp_path: Path) -> None:
    patterns = ["1,1,1,40", "1,1,2,7", "2,1,1,3", "2,2,2,25", "1,2,2,4"]
    rows = [f"{n},{one}" for n, one in enumerate(patterns, 1)]
    kind, found = read(tmp_path, text(f",r1,r2,r3,{head}", *rows))
    assert (kind, size(found)) == ("label_matrix", (3, 79, 237))
    assert dict(found.checked.about["labels"]) == {"1": 40 * 3 + 7 * 2 + 3 * 2 + 4, "2": 93}
    assert len(found.checked.problems) == 0 and found.checked.used == 5


def test_a_count_of_items_with_ids_is_left_out_by_name(tmp_path: Path) -> None:
    _, found = read(tmp_path, matrix("item,ann,ben,cem,n", list("121212")))
    assert size(found) == (3, 6, 18)
    assert [note.rpartition(": ")[2] for note in found.checked.notes] == ["n."]


def test_columns_of_a_survey_besides_its_questions_are_left_out(tmp_path: Path) -> None:
    said = list(zip(*GIVEN, strict=True))
    asked = ",".join(f'"Q1[{n}]. Is it spam, please? [{"Text " * 12}{n}]"' for n in range(6))
    admin = '"id. Response ID","submitdate. Date","lastpage. Last page","seed. Seed"'
    rows = (f"{k + 3},2026-11-01 10:00:0{k},2,99{k}1,{','.join(x)}" for k, x in enumerate(said))
    kind, found = read(tmp_path, text(f"{admin},{asked}", *rows))
    assert (kind, size(found)) == ("label_matrix", (3, 6, 18))
    assert not len(found.checked.problems)


def test_a_form_in_french_with_comments_is_read(tmp_path: Path) -> None:
    said = list(zip(*GIVEN, strict=True))
    more = ["", '"Trop court, ""vide"""', "non"]
    asked = ",".join(f"Fidèle ? [Résumé {n}]" for n in range(6))
    rows = (
        f"2024/03/10 2:15:3{k} PM UTC+1,{who}@univ.example,{','.join(x)},{more[k]}"
        for k, (who, x) in enumerate(zip(WHO, said, strict=True))
    )
    content = text(f"Horodateur,Adresse e-mail,{asked},Des commentaires ?", *rows)
    kind, found = read(tmp_path, content)
    assert (kind, size(found)) == ("label_matrix", (3, 6, 18))
    assert {one["worker"] for one in found.checked.good} == {f"{who}@univ.example" for who in WHO}
    assert any("Des commentaires ?" in note for note in found.checked.notes)


def test_several_labels_in_the_cells_of_a_matrix_are_read_in_any_order(tmp_path: Path) -> None:
    rows = ["A,A,A", '"A, C","C, A",A', "B,B,B", "U,B,", "C,C,C", '"B, D",D,"B, D"', "D,D,D"]
    kind, found = read(tmp_path, text("File,f,s,t", *(f"n{n},{x}" for n, x in enumerate(rows))))
    assert (kind, size(found)) == ("label_matrix", (3, 7, 20))
    assert len({one["label"] for one in found.checked.good if "C" in one["label"]}) == 2


@pytest.mark.parametrize("vote", ["label", "score"])
def test_ids_that_differ_by_case_are_offered_as_one(vote: str, tmp_path: Path) -> None:
    rows = [f"{who},i{n // 3},{n % 5}" for n, who in enumerate(["Kim", "Lou", "Max"] * 6)]
    rows[4] = "lou,i1,4"
    content = text(f"worker,item,{vote}", *rows)
    _, found = read(tmp_path, content)
    offers = [(one["column"], one["value"], one["use"]) for one in found.checked.about["offers"]]
    assert offers == [("worker", "lou", "Lou")]
    _, found = read(tmp_path, content, uses={"lou": "Lou"})
    assert size(found) == (3, 6, 18)
