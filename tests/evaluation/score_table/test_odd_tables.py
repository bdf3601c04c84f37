"""Tables that people lay out in their own way: read as meant, or refused for their own reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

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
    assert (kind, len(found.checked.good), found.checked.about["ties"]) == ("comparison_table", 2, 0)


@pytest.mark.parametrize("head", ["who,a,b,c,BestItem,WorstItem", "who,a,b,c,best,worst"])
def test_best_and_worst_of_several_are_refused_by_name(head: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="est.* and .*orst.* choose from several"):
        read(tmp_path, text(head, "w1,x,y,z,x,z", "w2,x,y,z,x,y", "w1,y,x,z,x,z"))


@pytest.mark.parametrize("none", ["NA", "n/a", "*", "?"])
def test_a_missing_score_does_not_make_ratings_labels(none: str, tmp_path: Path) -> None:
    rows = [f'"{n}";w{n % 3};i{n // 3};{n % 5},{5 * (n % 2)}' for n in range(18)]
    rows[4], rows[9] = f'"4";w1;i1;{none}', f'"9";w0;i3;{none}'
    kind, found = read(tmp_path, text('"";rater;item;score', *rows))
    assert (kind, len(found.checked.good)) == ("rating_table", 16)
    assert [one.line for one in found.checked.problems] == [6, 11]
