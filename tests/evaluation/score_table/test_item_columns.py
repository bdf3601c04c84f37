"""Which column of a table is the item: by its name, else by how its values repeat."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from django.test import Client

from annotation.files.reading.rows import Row
from annotation.files.reading.sheet import spooled
from annotation.files.reading.sources import of_bytes
from annotation.files.reading.tables import open_table
from annotation.formats.imports.labels import Labels
from annotation.formats.imports.tables.labels import LabelMatrix
from annotation.formats.imports.tables.native import unfold
from annotation.formats.selectors.imports import check_rows
from annotation.formats.uploads.actions import set_kind
from annotation.models import ImportFile, Project, User
from evaluation.management.commands.crowdqc_score import open_file
from evaluation.score_table import selectors
from tests.evaluation.score_table.test_every_way import by_page, check, requester
from tests.support.uploads import work

__all__ = ["requester"]
Requester = tuple[Client, User, Project]
SYSTEMS = ("alder", "birch", "cedar", "dogwood")
PAIRS = [(a, b) for at, a in enumerate(SYSTEMS) for b in SYSTEMS[at + 1 :]]


def comparisons(head: str, *, numbered_rows: bool = False) -> str:
    """60 items with three of five judges each, all of an item on the same two systems."""
    rows = [f"{head};Judge;System A;System B;Winner"]
    for item in range(60):
        for k in range(3):
            a, b = PAIRS[item % 6]
            number = len(rows) if numbered_rows else item + 1
            rows.append(f"{number};j{(item + k) % 5};{a};{b};{(a, b)[(item + k) % 3 == 0]}")
    return "\n".join(rows) + "\n"


@pytest.mark.django_db
@pytest.mark.parametrize("head", ["Nr", "No.", "#", "Fall", "Zeile", "Vorlage", "x"])
def test_comparisons_take_the_item_from_a_column_that_repeats_as_items_do(
    head: str, requester: Requester, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(comparisons(head))
    reading = check(path, requester)
    assert (reading.kind, reading.votes) == ("comparison_table", 180)
    assert reading.mapping["question_id"] == head
    checked = open_file(path)[1].checked
    assert len({one["topic"] for one in checked.good}) == 60
    assert len(reading.notes) == 1 and not reading.warnings


@pytest.mark.django_db
def test_a_number_of_the_row_is_no_item_and_is_asked_about(
    requester: Requester, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(comparisons("Nr", numbered_rows=True))
    reading = check(path, requester)
    assert "question_id" not in reading.mapping and len(reading.warnings) == 1


def test_a_property_of_items_is_no_item(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = comparisons("Domain").splitlines()
    path.write_text(
        "\n".join([rows[0], *(f"d{n % 4};{r.partition(';')[2]}" for n, r in enumerate(rows[1:]))])
    )
    assert "question_id" not in open_file(path)[1].mapping


def marks(person: str, item: str, score: str, points: int = 5) -> str:
    """45 people who mark 4 of 12 items each."""
    rows = [f"{person};{item};{score}"]
    rows += [
        f"p{who};{(who + 3 * k) % 12 + 1};{(who * k + who) % points + 1}"
        for who in range(45)
        for k in range(4)
    ]
    return "\n".join(rows) + "\n"


@pytest.mark.django_db
@pytest.mark.parametrize("head", ["Mark", "Note", "Punkte", "Grade", "stars", "Score", "fluency"])
def test_marks_of_four_values_and_more_are_ratings(
    head: str, requester: Requester, tmp_path: Path
) -> None:
    path = tmp_path / "marks.csv"
    path.write_text(marks("Parent", "Nr", head))
    reading = check(path, requester)
    assert (reading.kind, reading.votes) == ("rating_table", 180)
    assert reading.mapping == {"worker": "Parent", "item": "Nr", "score": head}


@pytest.mark.parametrize(("head", "points"), [("Mark", 2), ("Code", 5)])
def test_few_values_and_other_names_stay_labels(head: str, points: int, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text(marks("Parent", "Nr", head, points))
    slug, found = open_file(path)
    assert slug == "label_table"
    assert found.mapping == {"worker": "Parent", "item": "Nr", "label": head}


@pytest.mark.django_db
def test_another_kind_keeps_the_columns_that_it_shares(requester: Requester) -> None:
    client, user, _project = requester
    by_page(client, marks("Parent", "Nr", "Code").encode(), "marks.csv", user)
    file = ImportFile.objects.get()
    for kind, vote in (("rating_table", "score"), ("label_table", "label")):
        set_kind(by=user, file=file, kind=kind)
        work()
        file.refresh_from_db()
        assert file.found["mapping"] == {"worker": "Parent", "item": "Nr", vote: "Code"}
    file.mapping = {"worker": "Nr", "item": "Parent", "label": "Code"}
    file.save()
    set_kind(by=user, file=file, kind="rating_table")
    work()
    file.refresh_from_db()
    assert file.found["mapping"] == {"worker": "Nr", "item": "Parent", "score": "Code"}


@pytest.mark.parametrize("head", ["Nr", "Fall", "#", "Vorlage"])
def test_labels_for_a_task_take_the_item_from_its_column(head: str) -> None:
    columns = ["Teacher", head, "Label"]
    rows = [
        Row(line, {"Teacher": f"t{line % 3}", head: str(line // 3), "Label": "ab"[line % 2]})
        for line in range(60)
    ]
    found = Labels().guess(columns, rows)
    assert found == {"worker": "Teacher", "item": head, "label": "Label"}


@pytest.mark.parametrize("is_drawn", [False, True])
def test_two_posters_without_an_item_are_one_pair_unless_pairs_are_drawn_anew(
    is_drawn: bool,
) -> None:
    """Four judges see each of 15 pairs once and some again; in an arena two are drawn each time."""
    rng = random.Random(3)
    pairs = list(itertools.combinations([f"Poster {name}" for name in "ABCDEF"], 2))
    rows = ["Jury;links;rechts;Gewinner"]
    for judge in ("Anna", "Ben", "Cem", "Dora"):
        seen = [rng.choice(pairs) for _ in range(18)] if is_drawn else [*pairs, *pairs[:3]]
        for pair in seen:
            left, right = rng.sample(pair, 2)
            rows.append(f"{judge};{left};{right};{left}")
    sheet = spooled(unfold(open_table(of_bytes("\n".join(rows).encode()), "posters.csv")))
    sides = {"model_a": "links", "model_b": "rechts", "winner": "Gewinner"}
    checked = check_rows(None, "comparison_table", sheet, {"judge": "Jury", **sides}).checked
    assert len(checked.good) == 72
    topics = {one["topic"] for one in checked.good}
    assert len(topics) == (72 if is_drawn else 1)


@pytest.mark.django_db
def test_a_matrix_shows_the_text_of_its_items_as_such_under_any_name(
    requester: Requester, tmp_path: Path
) -> None:
    """A column of long values that all differ is no worker and no label."""
    draw = random.Random(38)
    rows = ["ID;Comment text;Anna;Ben;Cleo"]
    for n in range(30):
        votes = (draw.choice(("toxic", "fine")) for _ in range(3))
        rows.append(f"c{n};The comment number {n} of the thread, as written;{';'.join(votes)}")
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(rows) + "\n")
    reading = check(path, requester)
    assert (reading.kind, reading.votes) == ("label_matrix", 90)
    assert reading.mapping == {"item": "ID", "text": "Comment text"}
    checked = open_file(path)[1].checked
    assert {one["worker"] for one in checked.good} == {"Anna", "Ben", "Cleo"}
    assert checked.good[0]["text"].startswith("The comment number 0")


@pytest.mark.django_db
def test_only_columns_that_share_labels_are_shown_as_labels_of_a_matrix(
    requester: Requester,
) -> None:
    client, user, _project = requester
    rows = ["id,input,ann.score,ann.reason,ben.score,ben.reason"]
    for n in range(8):
        said = (f"{(n + k) % 4},because {n} {k}" for k in range(2))
        rows.append(",".join([f"i{n}", f"question {n}", *said]))
    reading = by_page(client, "\n".join(rows).encode(), "scores.csv", user)
    assert (reading.kind, reading.votes) == ("label_matrix", 16)
    columns = selectors.frame(ImportFile.objects.get())["columns"]
    labels = {one["name"] for one in columns if one["unread_as"] == LabelMatrix.unread}
    assert labels == {"ann.score", "ben.score"}
