"""Tables as tools export them: of which kind each is taken to be, and what its rows say."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from annotation.files.reading.rows import Row
from annotation.files.reading.sheet import spooled
from annotation.files.reading.sources import of_bytes
from annotation.files.reading.tables import open_table
from annotation.formats.imports.tables.native import unfold
from annotation.formats.registry import READERS, get_format, recognise_table
from annotation.formats.selectors.imports import CheckedFile, check_rows


def opened(text: str, name: str = "votes.csv") -> tuple[str, CheckedFile]:
    sheet = spooled(unfold(open_table(of_bytes(text.encode()), name)))
    kind, _ = recognise_table(sheet.columns, list(islice(sheet.rows, 100)))
    return kind, check_rows(None, kind, sheet)


def lines(head: str, row: str, n: int = 24) -> str:
    """``row`` with {k} of three workers, {n} of eight items and {label} of two."""
    labels = ("cat", "dog")
    return "\n".join(
        [head, *(row.format(k=at % 3, n=at // 3, label=labels[at % 5 % 2]) for at in range(n)), ""]
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (lines("task,worker,label", "i{n},w{k},{label}"), "label_table"),
        (
            lines(
                "annotation_id,annotator,text,sentiment,created_at,id,lead_time,updated_at",
                "{n}{k},w{k}@a.org,Some text {n},{label},2026-01-01,{n},{n}.{k},2026-01-02",
            ),
            "label_table",
        ),
        (
            lines("user,instance_id,displayed_text,label", "w{k},i{n},Text {n},{label}"),
            "label_table",
        ),
        (lines("worker,item,answer", "w{k},i{n},{label}"), "label_table"),
        (lines("annotator,claim_id,verdict,seconds", "w{k},c{n},{label},{n}{k}"), "label_table"),
        (lines("worker,left,right,label", "w{k},cat,dog,{label}"), "comparison_table"),
        (lines("judge,left,right,winner", "w{k},a{n},b{n},left"), "comparison_table"),
        (lines("Schüler,Satz,Label", "w{k},Der Satz mit Nummer {n},{label}"), "label_table"),
        (
            lines("Schüler,Frage,Modell A,Modell B,Gewinner", "w{k},f{n},ahorn,birke,Modell A"),
            "comparison_table",
        ),
        (lines("Modell A,Modell B,Sieger", "cat{n}{k},dog{n}{k},A"), "comparison_table"),
        (lines("task,worker,text", "i{n},w{k},It is a {label} in a hat {n}"), "answer_table"),
        (lines("worker,question,answer", "w{k},q{n},A {label} that runs {n}"), "answer_table"),
        (lines("worker,item,score", "w{k},i{n},{n}"), "rating_table"),
        (lines("worker,text,stars", "w{k},A story of {n},{n}"), "rating_table"),
    ],
    ids=[
        *("crowd-kit labels", "Label Studio", "Potato", "short answers", "verdicts"),
        *("crowd-kit pairs", "comparisons", "German texts", "German pairs", "German pairs alone"),
        *("crowd-kit texts", "answers", "ratings", "ratings of texts"),
    ],
)
def test_a_table_is_recognised_and_all_of_its_rows_are_used(text: str, kind: str) -> None:
    found, checked = opened(text)
    assert (found, list(checked.checked.problems), checked.unmapped) == (kind, [], [])
    assert checked.checked.used == 24


@pytest.mark.parametrize("corner", ["", "worker"], ids=["as pandas writes it", "named"])
def test_a_wide_matrix_with_a_row_per_worker_is_recognised(corner: str) -> None:
    said = ("yes", "no", "unclear")
    head = ",".join([corner, *(f"i{n}" for n in range(12))])
    body = [",".join([f"w{k}", *(said[(n + k) % 3] for n in range(12))]) for k in range(5)]
    kind, found = opened("\n".join([head, *body, ""]))
    assert (kind, found.checked.used) == ("label_matrix", 5)
    names = {one["worker" if corner else "item"] for one in found.checked.good}
    assert names == {f"w{k}" for k in range(5)}
    assert len(list(found.checked.good)) == 60


def argilla(n: int, status: str) -> dict[str, Any]:
    said = {"value": "ab"[n % 2], "user_id": f"w{n % 3}", "status": status}
    return {"id": f"i{n // 3}", "fields": {"text": "A text"}, "responses": {"mood": [said]}}


def doccano(n: int, *annotations: dict[str, Any]) -> dict[str, Any]:
    given = [{"user": f"w{n % 3}", **one} for one in annotations]
    return {"id": f"i{n // 3}", "text": "A text", "annotations": given}


@pytest.mark.parametrize(
    ("column", "good", "empty"),
    [
        ("responses", [argilla(n, "submitted") for n in range(24)], [argilla(24, "draft")]),
        (
            "annotations",
            [doccano(n, {"label": "ab"[n % 2]}) for n in range(24)],
            [doccano(24), doccano(25, {"label": "c", "start_offset": 0, "end_offset": 1})],
        ),
    ],
    ids=["Argilla", "doccano"],
)
def test_a_row_of_a_tool_that_gives_no_label_is_named(
    column: str, good: list[dict[str, Any]], empty: list[dict[str, Any]]
) -> None:
    kind, found = opened("\n".join(map(json.dumps, [*good, *empty])), "votes.jsonl")
    assert (kind, len(list(found.checked.good))) == ("label_table", 24)
    problems = [(one.line, one.column) for one in found.checked.problems]
    assert problems == [(25 + at, column) for at in range(len(empty))]


def test_arena_battles_are_comparisons_about_texts_of_their_own() -> None:
    rows = [
        {"model_a": "alder", "model_b": "birch", "winner": said, "judge": f"j{n}"}
        for n, said in enumerate(("model_a", "model_b", "tie", "tie (bothbad)"))
    ]
    kind, found = opened("\n".join(map(json.dumps, rows)), "battles.jsonl")
    assert kind == "comparison_table"
    assert [one["winner"] for one in found.checked.good] == ["left", "right", "neutral", "neutral"]


def test_a_winner_that_was_not_compared_is_named() -> None:
    rows = lines("judge,left,right,winner", "w{k},cat,dog,{label}") + "w1,cat,dog,horse\n"
    _, found = opened(rows)
    (problem,) = found.checked.problems
    assert (problem.line, problem.column, problem.value) == (26, "winner", "horse")


def test_judges_who_compare_the_same_two_again_and_again_see_different_texts() -> None:
    once = lines("judge,left,right,winner", "w{k}{n},cat,dog,{label}")
    again = lines("judge,left,right,winner", "w{k},cat,dog,{label}")
    assert len({one["topic"] for one in opened(once)[1].checked.good}) == 1
    assert len({one["topic"] for one in opened(again)[1].checked.good}) == 24


def test_a_cell_of_a_matrix_that_is_no_label_of_others_is_not_a_worker() -> None:
    rows = ["item,w1,w2,batch", *(f"i{n},{'ab'[n % 2]},{'ab'[n % 3 % 2]},b1" for n in range(12))]
    kind, found = opened("\n".join(rows))
    assert kind == "label_matrix"
    assert next(iter(found.checked.good))["about_item"] == {"batch": "b1"}
    assert {one["worker"] for one in found.checked.good} == {"w1", "w2"}


POTATO = "user instance_id displayed_text sentiment:::positive sentiment:::negative".split()


@pytest.mark.parametrize("form", ["tsv", "jsonl", "nested"])
def test_an_export_of_potato_has_a_label_for_what_was_ticked(form: str) -> None:
    ticked = [(f"w{k}", f"i{n}", (n + k % 2) % 2) for n in range(8) for k in range(3)]
    if form == "tsv":
        marks = [("true", ""), ("", "true")]
        rows = [[w, i, "A text", *marks[no]] for w, i, no in ticked]
        text = "\n".join("\t".join(row) for row in [POTATO, *rows])
        kind, found = opened(text, "annotated_instances.tsv")
    else:
        objects = []
        for w, i, no in ticked:
            said = {"negative" if no else "positive": "true"}
            flat = {f"sentiment:::{name}": value for name, value in said.items()}
            own = {"label_annotations": {"sentiment": said}} if form == "nested" else flat
            objects.append(json.dumps({"user": w, "instance_id": i, **own}))
        kind, found = opened("\n".join(objects), "annotated_instances.jsonl")
    assert (kind, found.mapping["label"]) == ("label_table", "sentiment")
    assert [(one["worker"], one["item"], one["label"]) for one in found.checked.good] == [
        (w, i, "negative" if no else "positive") for w, i, no in ticked
    ]


def test_several_options_of_potato_at_once_are_one_label_and_typed_words_are_kept() -> None:
    head = (
        "user,instance_id,topic:::sport,topic:::money,why:::text_box,sure:::scale_1,sure:::scale_2"
    )
    rows = [f"w{k},i{n},1,{n % 2 or ''},because {n},,2" for n in range(8) for k in range(3)]
    kind, found = opened("\n".join([head, *rows]))
    chosen = {**found.mapping, "label": "topic"}  # which of the questions is scored, a person says
    found = check_rows(None, kind, found.sheet, chosen)
    first, *_, last = found.checked.good
    assert (first["label"], last["label"]) == ("sport", "money + sport")
    assert first["about_item"] == {"why": "because 0", "sure": "2"}


def test_systems_that_are_never_compared_are_a_warning_before_a_table_is_scored() -> None:
    rows = ["judge,model_a,model_b,winner"]
    for n in range(6):
        rows += [f"j{n},alpha,gamma,model_a", f"j{n},beta,delta,model_b"]
    kind, found = opened("\n".join(rows))
    assert kind == "comparison_table"
    told = [one["text"] for one in found.checked.about["warnings"]]
    assert told[0].startswith("2 groups that are never compared: “alpha”, “gamma” | ")
    _, found = opened("\n".join([*rows, "j1,gamma,beta,tie"]))
    assert found.checked.about["warnings"] == []


def reads(slug: str, rows: list[dict[str, str]]) -> dict[str, str]:
    """Field -> column as the columns and values of these rows tell it."""
    reader = READERS[slug] if slug in READERS else get_format(slug).reader
    return reader.guess([*rows[0]], [Row(line, values) for line, values in enumerate(rows, 2)])


@pytest.mark.parametrize(
    ("slug", "field"), [("items", "item_id"), ("label_items", "key"), ("candidates", "key")]
)
def test_items_with_ids_of_another_name_keep_them(slug: str, field: str) -> None:
    rows = [{"review_id": f"r{n}", "text": f"Text {n}"} for n in range(20)]
    assert reads(slug, rows)[field] == "review_id"
    assert field not in reads(slug, [{**row, "review_id": "r1"} for row in rows])


@pytest.mark.parametrize(
    ("slug", "field", "vote"),
    [
        ("label_table", "item", {"label": "good"}),
        ("rating_table", "item", {"score": "3"}),
        ("answer_table", "item_id", {"question": "Why?", "answer": "Because"}),
    ],
)
def test_votes_name_their_item_by_an_id_of_another_name_and_not_by_that_of_the_vote(
    slug: str, field: str, vote: dict[str, str]
) -> None:
    rows = [
        {"answer_id": f"a{n}", "worker": f"w{n % 3}", "review_id": f"r{n // 3}", "text": "t"} | vote
        for n in range(30)
    ]
    assert reads(slug, rows)[field] == "review_id"
    without = [{name: one for name, one in row.items() if name != "review_id"} for row in rows]
    assert field not in reads(slug, without)
