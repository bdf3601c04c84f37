"""Tables of labels are recognised by the names or the values of their columns."""

from __future__ import annotations

import pytest

from annotation.files.reading.recognise import LONG, WIDE, Layout, recognise
from crowdqc.errors import Invalid


def rows(columns: str, *lines: str) -> tuple[list[str], list[dict[str, str]]]:
    names = columns.split()
    return names, [dict(zip(names, line.split(), strict=True)) for line in lines]


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ("worker item label", Layout(LONG, "worker", "item", "label", "")),
        ("WorkerID task_id Response gold", Layout(LONG, "WorkerID", "task_id", "Response", "gold")),
        ("orig_id Annotator truth answer", Layout(LONG, "Annotator", "orig_id", "answer", "truth")),
        ("Bewerterin Aufgabe Urteil", Layout(LONG, "Bewerterin", "Aufgabe", "Urteil", "")),
        ("Schüler Aufgabe Antwort", Layout(LONG, "Schüler", "Aufgabe", "Antwort", "")),
        ("elemento anotador etiqueta", Layout(LONG, "anotador", "elemento", "etiqueta", "")),
    ],
)
def test_usual_names_are_known_in_any_order_and_spelling(columns: str, wanted: Layout) -> None:
    assert recognise(*rows(columns, " ".join("1" for _ in columns.split()))) == wanted


def test_unusual_names_are_told_by_their_values_and_said() -> None:
    found = recognise(
        *rows("a b c", *(f"p{k} w{k % 4} {'yes' if k % 3 else 'no'}" for k in range(12)))
    )
    assert (found.item, found.worker, found.label) == ("a", "b", "c")
    assert found.by_values == ("a", "b", "c")


def test_a_matrix_of_items_and_workers_is_recognised() -> None:
    table = rows("picture ann bob gold", "x 1 1 1", "y 0 1 0", "z 1 0 1", "u 0 0 0")
    found = recognise(*table)
    assert (found.kind, found.item, found.gold) == (WIDE, "picture", "gold")
    assert found.workers == ("ann", "bob")


@pytest.mark.parametrize(
    "table",
    [
        rows("name text", "a b", "c d"),
        rows("w x y z v", *("1 2 3 4 5" for _ in range(3))),
        rows("p q r", *(f"{k} {k + 1} {k + 2}" for k in range(80))),
    ],
    ids=["too few columns", "too many", "no column of labels"],
)
def test_what_cannot_be_told_is_refused_with_the_names_that_work(table: object) -> None:
    with pytest.raises(Invalid) as problem:
        recognise(*table)  # type: ignore[misc]
    assert "worker, item, label" in problem.value.fields["file"]
