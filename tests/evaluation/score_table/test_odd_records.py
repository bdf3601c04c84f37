"""Votes within records, comparisons in other wordings, and refusals that name the true reason."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.formats.imports.winners import winner_of
from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file
from tests.evaluation.score_table.test_odd_files import VOTES, compared, text

ITEMS = sorted({item for _, item, _ in VOTES})
PEOPLE = sorted({worker for worker, _, _ in VOTES})


def by_item(make: Callable[[str, list[tuple[str, str]]], Any]) -> list[Any]:
    """A record of each item, of its workers and their labels."""
    return [make(one, [(w, x) for w, i, x in VOTES if i == one]) for one in ITEMS]


def as_ground_truth(item: str, given: list[tuple[str, str]]) -> Any:
    votes = [
        {"workerId": w, "annotationData": {"content": json.dumps({"mood": {"label": x}})}}
        for w, x in given
    ]
    about = {"job-name": "job", "creation-date": "2026-01-01"}
    return {"source-ref": f"s3://{item}", "job": {"fromAll": votes}, "job-metadata": about}


def as_labelbox(item: str, given: list[tuple[str, str]]) -> Any:
    labels = [
        {
            "id": f"{item}{w}",
            "label_details": {"created_by": w, "reviews": []},
            "annotations": {
                "classifications": [
                    {"name": "Mood", "value": "mood", "radio_answer": {"name": x, "value": x}}
                ]
            },
        }
        for w, x in given
    ]
    return {"data_row": {"id": item, "key": f"k{item}"}, "projects": {"p": {"labels": labels}}}


def as_lists_in_step(item: str, given: list[tuple[str, str]]) -> Any:
    people, labels = zip(*given, strict=True)
    return {"post_id": item, "annotators": {"annotator_id": people, "label": labels}}


def as_spans_of_doccano(item: str, given: list[tuple[str, str]]) -> Any:
    votes = [{"annotator": w, "label": x} for w, x in given]
    return {"id": item, "text": f"Text of {item}", "annotations": votes}


BY_KEY = {
    item: {"annotators": [{"label": x, "annotator_id": w, "target": ["a"]} for w, x in given]}
    for item, given in by_item(lambda item, given: (item, given))
}
BY_WORKER = [
    {"annotator": one, "answers": [{"item": i, "label": x} for w, i, x in VOTES if w == one]}
    for one in PEOPLE
]


@pytest.mark.parametrize(
    "records",
    [
        by_item(as_ground_truth),
        by_item(as_labelbox),
        by_item(as_lists_in_step),
        by_item(as_spans_of_doccano),
        BY_KEY,
        BY_WORKER,
    ],
    ids=["JSON in JSON", "by project", "lists in step", "as doccano", "by key", "by worker"],
)
def test_votes_nested_in_records_are_read_as_rows(records: Any, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(records))
    kind, found = open_file(path)
    about = found.checked.about
    assert (kind, about["workers"], len(found.checked.good)) == ("label_table", 3, 30)
    assert dict(about["labels"]) == {"yes": 18, "no": 12}
    items = {one["item"].removeprefix("s3://") for one in found.checked.good}
    assert items == set(ITEMS) and not list(found.checked.problems)


@pytest.mark.parametrize("questions", [1, 2])
def test_answers_in_a_list_of_questions_are_labels(questions: int, tmp_path: Path) -> None:
    path = tmp_path / "classifications.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user_name", "subject_ids", "created_at", "annotations"])
        for n, (w, i, x) in enumerate(VOTES):
            told = [
                {"task": f"T{k}", "task_label": f"Question {k}?", "value": x}
                for k in range(questions)
            ]
            table.writerow([w, i, f"2026-01-{n + 1:02}", json.dumps(told)])
    given = {} if questions == 1 else {"label": "Question 1?"}
    if given:
        with pytest.raises(Invalid, match="Question 0"):
            open_file(path)
    _, found = open_file(path, given=given)
    assert dict(found.checked.about["labels"]) == {"yes": 18, "no": 12}


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (
            {"judge": "j", "model": "owl", "looks": [{"score": "A>B"}, {"score": "B>A"}]},
            "looks.score",
        ),
        ({"annotator": "ann", "index": 3, "checks": [{"judgment": "ok"}]}, "checks.judgment"),
    ],
)
def test_votes_that_name_nobody_or_nothing_are_refused_by_their_place(
    record: dict[str, Any], place: str, tmp_path: Path
) -> None:
    path = tmp_path / "votes.jsonl"
    rows = [{"uid": f"q{n // 2}", **record} for n in range(6)]
    rows[-1] |= {"model": "wren"} if "model" in record else {"index": 4}
    path.write_text(text(*map(json.dumps, rows)))
    with pytest.raises(Invalid) as refused:
        open_file(path)
    assert place in refused.value.message


def test_lists_of_two_groups_of_judges_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "prefs.jsonl"
    verdicts = ["A-is-clearly-better", "B-is-slightly-better", "Tie"]
    rows = [
        {
            "prompt_id": f"q{n}",
            "model_a": "owl",
            "model_b": "wren",
            **{
                f"{one}_annotations": [{"evaluator": f"{one}1", "overall_pref": verdicts[n % 3]}]
                for one in ("lay", "expert")
            },
        }
        for n in range(6)
    ]
    path.write_text(text(*map(json.dumps, rows)))
    kind, found = open_file(path)
    good = found.checked.good
    assert (kind, len({one["judge"] for one in good})) == ("comparison_table", 2)
    assert [one["winner"] for one in good][::2] == ["left", "right", "neutral"] * 2


@pytest.mark.parametrize(
    ("said", "winner"),
    [
        ("[[A]]", "model_a"),
        ("My final verdict is: [[B>>A]]", "model_b"),
        ("A>B", "model_a"),
        ("A<<B", "model_b"),
        ("A=B", "tie"),
        ("B is much better", "model_b"),
        ("Response A is better", "model_a"),
        ("A>A", "A>A"),
        ("nothing is better", "nothing is better"),
        ("[[C]]", "[[C]]"),
    ],
)
def test_wordings_of_verdicts_name_a_side_or_none(said: str, winner: str) -> None:
    assert winner_of(said) == winner


def test_c_beside_a_and_b_is_offered_as_a_tie(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(compared(*"ABC" * 4, column="verdict"))
    _, found = open_file(path)
    assert [one["use"] for one in found.checked.about["offers"]] == ["tie"]
    _, found = open_file(path, uses={"C": "tie"})
    assert [one["winner"] for one in found.checked.good] == ["left", "right", "neutral"] * 4


def test_several_columns_of_verdicts_are_asked_for_and_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    won = ["model_a", "model_b", "tie"] * 2
    two = (f"q{n},owl,wren,{one},{won[-n]}" for n, one in enumerate(won))
    path.write_text(text("question_id,model_a,model_b,win_1,win_2", *two))
    with pytest.raises(Invalid, match="win_1, win_2"):
        open_file(path)
    assert len(open_file(path, given={"winner": "win_2"})[1].checked.good) == 6
    one = (f"q{n},owl,wren,{said}" for n, said in enumerate(won))
    path.write_text(text("question_id,model_a,model_b,win_1", *one))
    assert open_file(path)[1].mapping["winner"] == "win_1"


def test_counts_of_wins_are_refused_as_such(tmp_path: Path) -> None:
    path = tmp_path / "wins.csv"
    path.write_text(text("player1,player2,win1,win2", "owl,wren,7,3", "owl,jay,2,5"))
    with pytest.raises(Invalid, match="win1, win2 count"):
        open_file(path)


@pytest.mark.parametrize(("by", "name"), [("participant", ""), ("author", "a")])
def test_numbered_raters_are_the_workers_beside_who_was_rated(
    by: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    rows = (
        f"{name}{n // 4 + 1},prompt {n % 2},{n % 5 + 1},NA,{(n + 1) % 5 + 1}" for n in range(12)
    )
    path.write_text(text(f"{by},prompt,rater1,rater2,rater3", *rows))
    kind, found = open_file(path)
    assert kind == "label_matrix"
    assert {one["worker"] for one in found.checked.good} == {"rater1", "rater3"}
    assert len({one["item"] for one in found.checked.good}) == 12


def test_a_preference_between_two_texts_is_a_label_where_no_system_is_named(tmp_path: Path) -> None:
    path = tmp_path / "prefs.json"
    path.write_text(json.dumps([
        {"instruction": f"Do {i}", "output_1": f"a {i}", "output_2": f"b {i}",
         "preference": 1 + (x == "no"), "annotator_index": int(w[1])}
        for w, i, x in VOTES
    ]))  # fmt: skip
    kind, found = open_file(path)
    assert (kind, found.checked.about["workers"]) == ("label_table", 3)
    assert dict(found.checked.about["labels"]) == {"1": 18, "2": 12}


def test_japanese_is_read_as_shift_jis_and_cyrillic_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    words = {"yes": "はい、そうです", "no": "いいえ"}
    path.write_bytes(
        text("worker,item,label", *(f"{w},{i},{words[x]}" for w, i, x in VOTES)).encode("cp932")
    )
    assert set(dict(open_file(path)[1].checked.about["labels"])) == set(words.values())
    words = {"yes": "да", "no": "нет"}
    path.write_bytes(
        text("worker,item,label", *(f"{w},{i},{words[x]}" for w, i, x in VOTES)).encode("cp1251")
    )
    told = io.StringIO()
    call_command("crowdqc_score", path, stdout=io.StringIO(), stderr=told)
    assert "--encoding cp1251: w0,i0,нет" in told.getvalue()


def test_a_refusal_names_the_kind_that_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text("worker,item,label", *map(",".join, VOTES)))
    with pytest.raises(Invalid) as refused:
        open_file(path, "comparison_table")
    assert "--kind label_table" in refused.value.fields["file"]
