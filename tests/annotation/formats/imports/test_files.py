"""Reading files: encodings, delimiters, columns, and every kind of bad row with its reason."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.files.reading.importer import MAX_BYTES, CheckedRows, guess
from annotation.files.reading.sheet import read, sheet_of
from annotation.files.reading.sources import encodings_of, of_bytes
from annotation.formats.imports import authors, labels
from annotation.formats.imports.answers import KnownAnswers, KnownSystems
from annotation.formats.imports.candidates import KnownCandidates
from annotation.formats.imports.chats import KnownChatTexts
from annotation.formats.imports.items import KnownItems
from annotation.formats.imports.judgment_lines import KnownJudgments
from annotation.formats.imports.known_answers import KnownFields
from annotation.formats.imports.pairs import KnownPairs
from annotation.formats.imports.ratings import KnownDocuments, KnownRatings
from annotation.formats.imports.think_aloud import KnownSamples
from annotation.formats.imports.writing.collection import TopicsToFill
from annotation.formats.imports.writing.responses import KnownResponses
from annotation.formats.imports.writing.topics import KnownTopics
from annotation.formats.registry import FORMATS
from crowdqc.errors import Invalid

KEYS = [f"voy-{n:02d}" for n in range(1, 9)]


def check(kind: str, text: str, known: Any = None, name: str = "a.csv") -> CheckedRows:
    sheet = read(text.encode(), name)
    importer = FORMATS[kind]
    if known is None:
        known = {
            "items": KnownItems(),
            "answers": KnownAnswers(keys=KEYS),
            "system_answers": KnownSystems(keys=KEYS),
        }[kind]
    checked: CheckedRows = importer.check(sheet.rows, guess(sheet.columns, importer.fields), known)
    checked.problems = checked.problems.merged(sheet.unreadable)
    return checked


def only(checked: CheckedRows) -> tuple[int | None, str, str, str, str]:
    (problem,) = checked.problems
    return problem.line, problem.column, problem.value, problem.wrong, problem.mend


@pytest.mark.parametrize(
    ("encode", "said"),
    [
        (lambda text: text.encode(), "UTF-8"),
        (lambda text: codecs.BOM_UTF8 + text.encode(), "UTF-8 with byte order mark"),
        (lambda text: text.encode("utf-16"), "UTF-16"),
        (lambda text: text.encode("utf-16-be"), "UTF-16"),
        (lambda text: text.encode("latin-1"), "Windows-1252"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_common_encodings_and_delimiters_are_found(encode: Any, said: str, delimiter: str) -> None:
    text = f"item_id{delimiter}question\r\nq1{delimiter}Où est l’été?\r\n".replace("’", "'")
    sheet = read(encode(text), "a.csv")
    assert sheet.encoding == said
    assert list(sheet.columns) == ["item_id", "question"]
    assert [(row.line, dict(row.values)) for row in sheet.rows] == [
        (2, {"item_id": "q1", "question": "Où est l'été?"})
    ]
    assert bool(sheet.encoding_note) == (said == "Windows-1252" or encode("a") == b"\x00a")


def test_a_delimiter_within_quotes_does_not_decide() -> None:
    sheet = read(b'item_id;question\nq1;"a, b, c, d"\nq2;"e, f"\n', "a.csv")
    assert sheet.delimiter == "semicolon" and len(sheet.rows) == 2


def test_lines_are_those_of_the_file_also_after_values_of_several_lines() -> None:
    sheet = read(b'item_id,question\nq1,"two\nlines"\n\nq2,one\n', "a.csv")
    assert [row.line for row in sheet.rows] == [2, 5]


def test_rows_that_are_no_rows_are_listed_and_the_others_kept() -> None:
    sheet = read(b'item_id,question\nq1,a,b,c\nq2,fine\nq3,"x"y\nq4,also\nq5,"open\n', "a.csv")
    assert [row.line for row in sheet.rows] == [3, 5]
    assert [problem.line for problem in sheet.unreadable] == [2, 4, 6]
    assert "4 values, but the first line names 2 columns" in sheet.unreadable[0].wrong
    assert "never closes" in sheet.unreadable[2].wrong


def test_jsonl_is_read_line_by_line() -> None:
    lines = ['{"item_id": 1, "question": "a"}', "", "not json", "[1]", '{"item_id": null}']
    sheet = read("\n".join(lines).encode(), "a.jsonl")
    assert sheet.kind == "JSONL"
    assert [(row.line, row.values["item_id"]) for row in sheet.rows] == [(1, "1"), (5, "")]
    assert [problem.line for problem in sheet.unreadable] == [3, 4]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.csv", "empty"),
        (b" \n ", "a.csv", "no rows"),
        (b"x" * (MAX_BYTES + 1), "a.csv", "64 MB is the most"),
        (b"a,a\n1,2\n", "a.csv", "names a twice"),
        (b'[{"item_id": 1},\n{"item_id"', "a.json", "cannot be read from line 2 on"),
        (codecs.BOM_UTF8 + b"a\xff,b\n", "a.csv", "is not"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_says_why(content: bytes, name: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read(content, name)


def test_a_json_list_is_read_an_object_a_row_numbered_in_the_place_of_lines() -> None:
    long = "x" * 600_000  # more than is read at once
    head = '[\n  {"id": 1, "data": {"text": "a ] b"}},\n  7, {"id": "\\u00e9",\n "t": "'
    text = head + long + '"}\n]\n'
    sheet = read(text.encode(), "tasks.json")
    assert sheet.kind == "JSON" and list(sheet.columns) == ["id", "data", "t"]
    assert [(row.line, row.values["id"]) for row in sheet.rows] == [(1, "1"), (3, "é")]
    assert [row.values.get("t", "") for row in sheet.rows] == ["", long]
    assert [problem.line for problem in sheet.unreadable] == [2]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    try:
        sheet = read(content, "a.csv")
    except Invalid:
        return
    for importer, known in zip(
        FORMATS.values(),
        (
            KnownItems(),
            KnownFields(),
            KnownAnswers(),
            KnownSystems(),
            KnownCandidates(),
            KnownPairs(),
            KnownJudgments(),
            KnownTopics(),
            TopicsToFill(),
            KnownResponses(),
            KnownSamples(),
            authors.KnownAnswers(),
            authors.KnownAnswers(),
            KnownDocuments(),
            KnownRatings(),
            labels.KnownItems(),
            labels.KnownLabels(),
            labels.KnownItems(),
            KnownChatTexts(),
            {},
        ),
        strict=True,
    ):
        importer.check(sheet.rows, guess(sheet.columns, importer.fields), known)


def test_columns_are_guessed_by_exact_name_first() -> None:
    fields = FORMATS["items"].fields
    assert guess(["Question-ID", "QUESTION"], fields) == {
        "item_id": "Question-ID",
        "question": "QUESTION",
    }
    assert guess(["id", "item_id", "question"], fields)["item_id"] == "item_id"


def test_questions_share_a_text_by_topic_and_bad_ones_are_named() -> None:
    known = KnownItems(questions={"old": ("Same?", ""), "x": ("Was?", "")}, topics={"t9": "Nine"})
    checked = check(
        "items",
        "item_id,question,context,topic\n"
        "a,What?,Text,t1\nb,Why?,,t1\nc,Who?,Other,t1\n,No id,,\nd,,,\na,Again?,,\n"
        "a,What?,,\nold,Same?,,\nx,Is?,,\ne,When?,Ten,t9\n" + "k" * 81 + ",Long?,,\n",
        known,
    )
    assert [row["item_id"] for row in checked.good][:2] == ["a", "b"]
    assert checked.good[2]["item_id"].startswith("q-")
    assert "1 question has no id" in checked.notes[0]
    assert (len(checked.good), checked.there, len(checked.repeats)) == (3, 1, 1)
    assert [(p.line, p.column, p.wrong) for p in checked.problems] == [
        (4, "topic, context", "This topic has another text in line 2."),
        (6, "question", "A question needs text."),
        (7, "item_id", "Given twice, first on line 2, with another question."),
        (10, "item_id", "The task has this id with another question."),
        (11, "topic, context", "This topic has another text in the task."),
        (12, "item_id", "81 characters; 80 is the most for an id."),
    ]
    assert all(problem.mend for problem in checked.problems)


@pytest.mark.parametrize("time", ["yesterday", "0001-01-01", "1/2/2025"])
def test_a_time_that_is_none_loses_its_cell_and_no_answer(time: str) -> None:
    checked = check("answers", f"item_id,worker_id,answer,submitted_at\nvoy-01,w1,Text,{time}\n")
    (answer,) = checked.good
    assert (answer["answer"], answer["submitted_at"]) == ("Text", None)
    (note,) = checked.notes
    assert f"“{time}” on line 2" in note


def test_an_unknown_question_is_answered_with_the_nearest_one() -> None:
    checked = check("answers", "item_id,worker_id,answer\nvoy-09,w1,Text\n")
    assert only(checked) == (
        2,
        "item_id",
        "voy-09",
        "No question has this id.",
        "The task has voy-01 to voy-08. Did you mean voy-08?",
    )


@pytest.mark.parametrize(
    ("row", "column", "wrong"),
    [
        ("voy-01,w1,,", "answer", "An answer needs text."),
        ("voy-01,,Text,", "worker_id", "There is no worker."),
        ("voy-01,gone,Text,", "worker_id", "This worker was removed from the project."),
        (",w1,Text,", "item_id", "There is no id."),
        (
            "voy-02,w9,Other,",
            "worker_id, item_id",
            "The task has another answer of this worker to this question.",
        ),
        (
            "voy-01,w1," + "x" * 20_001 + ",",
            "answer",
            "20,001 characters; 20,000 is the most for an answer.",
        ),
    ],
)
def test_each_bad_answer_is_named_with_its_column(row: str, column: str, wrong: str) -> None:
    known = KnownAnswers(keys=KEYS, texts={("w9", "voy-02"): "Mine"}, removed={"gone"})
    checked = check("answers", f"item_id,worker_id,answer,submitted_at\n{row}\n", known)
    assert only(checked)[:2] == (2, column) and only(checked)[3] == wrong
    assert not checked.good


def test_an_answer_given_twice_is_refused_only_with_another_text() -> None:
    head = "item_id,worker_id,answer\nvoy-01,w1,One\n"
    same = check("answers", head + "voy-01,w1,One\n")
    assert (len(same.good), same.there, same.problems) == (1, 0, [])
    assert [one.wrong for one in same.repeats] == [
        "Given twice, first on line 2, with the same text."
    ]
    other = check("answers", head + "voy-01,w1,Two\n")
    assert only(other)[3] == "Given twice, first on line 2, with another text."


def test_times_are_read_with_and_without_zone() -> None:
    rows = "voy-01,w1,a,2025-03-31T14:05:00Z\nvoy-02,w1,b,2025-03-31 16:05\nvoy-03,w1,c,\n"
    checked = check("answers", "item_id,worker_id,answer,submitted_at\n" + rows)
    assert [row["submitted_at"] and row["submitted_at"].isoformat() for row in checked.good] == [
        "2025-03-31T14:05:00+00:00",
        "2025-03-31T16:05:00+00:00",
        None,
    ]


def test_systems_that_differ_only_by_case_and_space_are_one_spelling_too_many() -> None:
    rows = "voy-01,Halcyon-7B,a\nvoy-02,Halcyon 7b,b\nvoy-03,orrery m,c\n"
    known = KnownSystems(keys=KEYS, names=["Orrery-M"])
    checked = check("system_answers", "item_id,system,answer\n" + rows, known)
    assert [row["system"] for row in checked.good] == ["Halcyon-7B"]
    assert [problem.wrong for problem in checked.problems] == [
        "Differs from “Halcyon-7B” only by case and space.",
        "Differs from “Orrery-M” only by case and space.",
    ]


def test_replicates_let_a_system_answer_more_than_once() -> None:
    rows = "voy-01,M,a,0\nvoy-01,M,b,1\nvoy-01,M,c,1\nvoy-02,M,d,-1\n"
    checked = check("system_answers", "item_id,system,answer,replicate\n" + rows)
    assert [(row["answer"], row["replicate"]) for row in checked.good] == [("a", 0), ("b", 1)]
    assert [problem.mend for problem in checked.problems] == [
        "Keep one, or add a replicate column.",
        "Number the repeats 0, 1, 2 and so on.",
    ]


def test_what_no_text_can_hold_is_refused_not_broken() -> None:
    [problem] = read(b'{"item_id": "voy-01", "answer": "half \\ud800"}', "a.jsonl").unreadable
    assert (problem.line, "no text can hold" in problem.wrong) == (1, True)
    row = {"item_id": "voy-01", "worker_id": "w", "answer": "half \ud800"}
    [problem] = sheet_of([row]).unreadable
    assert "no text can hold" in problem.wrong


def test_rows_of_the_api_are_checked_alike() -> None:
    sheet = sheet_of([{"item_id": "voy-01", "worker_id": 7, "answer": "x"}, {"item_id": "nope"}])
    importer = FORMATS["answers"]
    checked = importer.check(
        sheet.rows, guess(sheet.columns, importer.fields), KnownAnswers(keys=KEYS)
    )
    assert checked.good[0]["worker_id"] == "7" and checked.problems[0].line == 2


@pytest.mark.data
def test_the_questions_of_the_real_data_are_read_by_their_own_column_names() -> None:
    home = Path(__file__).parents[4]
    folder = Path(os.environ.get("CROWDQC_DATA") or home.parent / "shared" / "data")
    path = folder / "mohler" / "mohler_questions.csv"
    if not path.exists():
        pytest.skip("the real data is not here; CROWDQC_DATA says where it lies")
    checked = check("items", path.read_text())
    assert len(checked.good) == 87 and not checked.problems


def test_ten_thousand_rows_are_checked_in_moments() -> None:
    lines = [
        json.dumps({"item_id": KEYS[n % 8], "worker_id": str(n), "answer": "Some words"})
        for n in range(10_000)
    ]
    assert len(check("answers", "\n".join(lines), name="a.jsonl").good) == 10_000


def test_samples_of_encodings_begin_with_a_whole_word() -> None:
    line = "worker,review\nw1,Das Zimmer war wirklich ausgesprochen schön gelegen\n"
    samples = {codec: sample for codec, _, sample in encodings_of(of_bytes(line.encode("cp1252")))}
    assert samples["cp1252"].startswith("ausgesprochen schön")
