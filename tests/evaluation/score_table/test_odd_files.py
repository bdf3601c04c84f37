"""Files that other programs stumbled over: each gives the same 30 labels, or its own reason."""

from __future__ import annotations

import codecs
import datetime as dt
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import xlsxwriter

from annotation.files.reading.tables import Reading
from annotation.formats.imports.chats import NO_VOTES
from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file, rejected_lines
from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.score_table.kinds import KINDS
from evaluation.score_table.reports.label_studio import WAYS
from evaluation.score_table.reports.labels import labels_of
from evaluation.score_table.reports.text import Options

VOTES = [
    (f"w{k}", f"i{n}", "yes" if (n % 2) ^ (k == 2 and n % 4 == 0) else "no")
    for n in range(10)
    for k in range(3)
]
NAMES = ["worker", "item", "label"]
HEAD = ",".join(NAMES)
ROWS = [",".join(vote) for vote in VOTES]
RECORDS = [dict(zip(NAMES, vote, strict=True)) for vote in VOTES]


def text(*lines: str) -> str:
    return "\n".join([*lines, ""])


def workbook(fill: Callable[[Any], None]) -> bytes:
    held = io.BytesIO()
    with xlsxwriter.Workbook(held, {"in_memory": True}) as book:
        fill(book)
    return held.getvalue()


def remarks_first(book: Any) -> None:
    sheet = book.add_worksheet("README")
    for at, line in enumerate(["About these data", "Collected in May", "Workers saw a text once"]):
        sheet.write(at, 0, line)
    sheet = book.add_worksheet("labels")
    for at, row in enumerate([NAMES, *VOTES]):
        sheet.write_row(at, 0, row)


def merged_items(book: Any) -> None:
    """A cell for the three votes of an item, beside a column that is merged over them as well."""
    sheet = book.add_worksheet()
    sheet.merge_range(1, 2, 1, 5, "Study of 2024")
    sheet.write_row(3, 2, ["item", "worker", "label", "note"])
    for at, (worker, item, label) in enumerate(VOTES, 4):
        sheet.write_row(at, 3, [worker, label])
        if at % 3 == 1:
            sheet.merge_range(at, 2, at + 2, 2, item)
            sheet.merge_range(at, 5, at + 2, 5, f"seen in {item}")


def zipped(**files: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_dot_", "."), content)
        archive.writestr("__MACOSX/._votes.csv", b"\0\5")
    return held.getvalue()


def arrow(open_writer: Callable[..., Any]) -> bytes:
    held = io.BytesIO()
    columns = {name: [row[name] for row in RECORDS] for name in NAMES}
    table = pyarrow.table(
        {name: pyarrow.array(values).dictionary_encode() for name, values in columns.items()}
    )
    with open_writer(held, table.schema) as writer:
        writer.write_table(table)
    return held.getvalue()


def data_set(rename: bool = False) -> bytes:
    """A folder as Hugging Face has it: a card, and two parts of one table."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("README.md", "# Votes\n")
        archive.writestr("columns.csv", "column,about\nworker,who\n")
        for number, rows in enumerate((RECORDS[:12], RECORDS[12:])):
            part, table = io.BytesIO(), pyarrow.Table.from_pylist(rows)
            table = table.rename_columns(["a", "b", "c"]) if rename and number else table
            pyarrow.parquet.write_table(table, part)
            archive.writestr(f"data/train-{number:05}-of-00002.parquet", part.getvalue())
    return held.getvalue()


def form() -> str:
    head = ",".join(f"Text {n} [Is it spam?]" for n in range(10))
    return text(
        f"Timestamp,Email Address,{head}",
        *(
            f"2024/05/0{k + 1} 3:05:1{k} pm,w{k}@example.org,"
            + ",".join(label for worker, _, label in VOTES if worker == f"w{k}")
            for k in range(3)
        ),
    )


def survey() -> str:
    """Respondents and questions as SurveyMonkey writes them."""
    return text(*map(",".join, survey_rows()))


def survey_rows() -> list[list[str]]:
    said = {k: [x for w, _, x in VOTES if w == f"w{k}"] for k in range(3)}
    return [
        ["Respondent ID", "Start Date", *(f"How is text {n}?" for n in range(10))],
        ["", "", *["Response"] * 10],
        *([f"{k}{k}", f"11/0{k + 1}/2026 10:00:00", *said[k]] for k in said),
    ]


def survey_sheet(book: Any) -> None:
    sheet = book.add_worksheet()
    for at, row in enumerate(survey_rows()):
        sheet.write_row(at, 0, row)


def by_worker(of_row: Callable[[dict[str, str]], dict[str, Any]]) -> dict[str, str]:
    """Lines of JSON by worker, whose rows do not name the worker."""
    return {
        f"w{k}_dot_jsonl": text(
            *(json.dumps(of_row(row)) for row in RECORDS if row["worker"] == f"w{k}")
        )
        for k in range(3)
    }


def by_item() -> dict[str, str]:
    """Responses of workers as Ground Truth writes them: a folder an item."""
    return {
        f"run/worker-response/iteration-1/{n}/2026-11-02_10:00:0{n}_dot_json": json.dumps(
            {
                "answers": [
                    {"workerId": w, "answerContent": {"crowd-classifier": {"label": x}}}
                    for w, i, x in VOTES
                    if i == f"i{n}"
                ]
            }
        )
        for n in range(10)
    }


def user_states() -> dict[str, str]:
    """What Potato keeps of each user."""
    return {
        f"output/w{k}/user_state_dot_json": json.dumps(
            {
                "user_id": f"w{k}",
                "instance_id_to_label_to_value": {
                    i: [[{"schema": "mood", "name": x}, "true"]]
                    for w, i, x in VOTES
                    if w == f"w{k}"
                },
            }
        )
        for k in range(3)
    }


def argilla_set() -> list[dict[str, Any]]:
    """Records of Argilla as a data set: three submitted responses, and a draft."""
    said = {f"i{n}": [x for _, i, x in VOTES if i == f"i{n}"] for n in range(10)}
    return [
        {
            "id": item,
            "text": f"text of {item}",
            "label.responses": labels,
            "label.responses.users": ["w0", "w1", "w2"],
            "label.responses.status": ["submitted"] * 3,
            "label.suggestion": "yes",
        }
        for item, labels in said.items()
    ]


def langfuse() -> str:
    head = "id,traceId,timestamp,name,dataType,value,stringValue,comment,authorUserId"
    return text(
        head,
        *(
            f"s{at},{i},2026-11-02T10:00:00Z,mood,CATEGORICAL,1,{x},,{w}"
            for at, (w, i, x) in enumerate(VOTES)
        ),
    )


def inception() -> str:
    rows = [[x for _, i, x in VOTES if i == f"i{n}"] for n in range(10)]
    return text(
        "Document,Layer,Feature,Position,w0,w1,w2",
        *(
            f"doc{n % 2}.txt,webanno.custom.Mood,value,{n // 2}-9 [word],{','.join(row)}"
            for n, row in enumerate(rows)
        ),
    )


def mturk() -> str:
    return text(
        "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.mood.yes,Answer.mood.no",
        *(
            f"{i},a{at},{w},Approved,{str(x == 'yes').lower()},{str(x == 'no').lower()}"
            for at, (w, i, x) in enumerate(VOTES)
        ),
    )


def kobo() -> str:
    """Names within groups, and ids that are new in every row."""
    rows = (f"{9001 + at};{i};{x};u{at};{w};{at}" for at, (w, i, x) in enumerate(VOTES))
    return text("_id;coder/text_id;coder/verdict;_uuid;_submitted_by;_index", *rows)


def toloka(first: str = "APPROVED") -> str:
    head = "INPUT:image OUTPUT:result GOLDEN:result ASSIGNMENT:assignment_id ASSIGNMENT:worker_id"
    rows = (
        f"https://example.org/{i}.jpg {x} {x if i == 'i1' else ''} a{at // 5} {w} "
        f"{first if at < 2 else 'APPROVED'} +"
        for at, (w, i, x) in enumerate(VOTES)
    )
    return text(f"{head} ASSIGNMENT:status ACCEPT:verdict", *rows).replace(" ", "\t")


def appen(tainted: str = "false") -> str:
    head = "_unit_id,_id,_tainted,_trust,_worker_id,_country,mood,mood_gold,text"
    rows = (
        f"{i},{5100 + at},{tainted if at < 2 else 'false'},0.{at % 3 + 7},{w},DE,{x},"
        f"{x if i == 'i1' else ''},Text of {i}"
        for at, (w, i, x) in enumerate(VOTES)
    )
    return text(head, *rows)


def half_signed_in() -> str:
    """Ids of users that are empty where nobody was signed in, beside their names."""
    rows = (f"{w},{w * (w != 'w2')},{7000 + at},{i},{x}" for at, (w, i, x) in enumerate(VOTES))
    return text("user_name,user_id,id,subject_ids,answer", *rows)


FILES: dict[str, tuple[str | bytes, str]] = {
    "a comma more in each row": (text(HEAD, *(row + "," for row in ROWS)), "votes.csv"),
    "vertical bars": (text(HEAD, *ROWS).replace(",", "|"), "votes.txt"),
    "spaces before quotation marks": (
        text(", ".join(NAMES), *(f'{w}, {i}, "{x}, I think"' for w, i, x in VOTES)),
        "votes.csv",
    ),
    "names of rows as R writes them": (
        text(HEAD, *(f"{at},{row}" for at, row in enumerate(ROWS, 1))),
        "votes.csv",
    ),
    "a title above": (text("Study of 2024,,", "From May,,", "", HEAD, *ROWS), "votes.csv"),
    "comments above": (text("# written by a tool", "# 30 rows", HEAD, *ROWS), "votes.csv"),
    "spaces that do not break": (
        text(
            HEAD,
            *(f"no{(' ', chr(160))[at % 2]}{w},{i},{x}" for at, (w, i, x) in enumerate(VOTES)),
        ),
        "votes.csv",
    ),
    "spaces without width": (
        text(HEAD, *(f"{w}{chr(0x200B) * (at % 2)},{i},{x}" for at, (w, i, x) in enumerate(VOTES))),
        "votes.csv",
    ),
    "a pivot table of pandas": (
        text(
            ",label,label,label",
            "worker,w0,w1,w2",
            "item,,,",
            *(f"i{n},{','.join(x for _, i, x in VOTES if i == f'i{n}')}" for n in range(10)),
        ),
        "votes.csv",
    ),
    "a table of Markdown": (
        text(
            "Here are the votes:",
            "",
            *(f"| {' | '.join(row)} |" for row in [NAMES, [":---", ":-:", "---:"], *VOTES]),
        ),
        "votes.txt",
    ),
    "Markdown without outer bars": (
        text(*(" | ".join(row) for row in [NAMES, ["--", "--", "--"], *VOTES])),
        "votes.md",
    ),
    "a survey with a second header": (survey(), "votes.csv"),
    "a workbook of a survey with a second header": (workbook(survey_sheet), "votes.xlsx"),
    "zeros at the end": (text(HEAD, *ROWS) + "\0" * 64, "votes.csv"),
    "more zeros than text": (text(HEAD, *ROWS) + "\0" * 512, "votes.csv"),
    "UTF-16 without a mark": (text(HEAD, *ROWS).encode("utf-16-be"), "votes.csv"),
    "an item's own column beside the label, as Label Studio writes it": (
        text(
            "annotation_id,annotator,id,topic,sentiment,lead_time",
            *(f"{at},{w},{i},t{int(i[1:]) % 4},{x},{at}.5" for at, (w, i, x) in enumerate(VOTES)),
        ),
        "result.csv",
    ),
    "a list in an object": (json.dumps({"count": 30, "data": RECORDS}), "votes.json"),
    "columns of pandas": (
        json.dumps({n: {str(at): row[n] for at, row in enumerate(RECORDS)} for n in NAMES}),
        "votes.json",
    ),
    "lines that end in commas": (
        text(*(f"{json.dumps(row)}," for row in RECORDS)),
        "votes.jsonl",
    ),
    "objects over several lines": (
        text(*(json.dumps(row, indent=2) for row in RECORDS)),
        "votes.json",
    ),
    "objects beside each other": ("".join(map(json.dumps, RECORDS)), "votes.jsonl"),
    "rows of pandas": (json.dumps(dict(enumerate(RECORDS))), "votes.json"),
    "split by pandas": (json.dumps({"columns": NAMES, "data": VOTES}), "votes.json"),
    "lists of columns": (json.dumps({n: [r[n] for r in RECORDS] for n in NAMES}), "votes.json"),
    "a list of lists": (json.dumps([NAMES, *VOTES]), "votes.json"),
    "answers of a form": (form(), "votes.csv"),
    "a sheet of remarks first": (workbook(remarks_first), "votes.xlsx"),
    "an item in cells that are merged": (workbook(merged_items), "votes.xlsx"),
    "one file in an archive": (zipped(votes_dot_csv=text(HEAD, *ROWS)), "votes.zip"),
    "a file of each worker": (
        zipped(**by_worker(lambda row: {"id": row["item"], "label": [row["label"]]})),
        "votes.zip",
    ),
    "a file of each item by SageMaker": (zipped(**by_item()), "votes.zip"),
    "a file of each user by Potato": (zipped(**user_states()), "votes.zip"),
    "a data set of Argilla": (text(*map(json.dumps, argilla_set())), "votes.jsonl"),
    "scores of Langfuse": (langfuse(), "scores.csv"),
    "differences of INCEpTION": (inception(), "diff.csv"),
    "a column for each choice of MTurk": (mturk(), "batch.csv"),
    "names within groups, by Kobo": (kobo(), "votes.csv"),
    "results of Toloka": (toloka(), "assignments.tsv"),
    "a full report of Appen": (appen(), "full.csv"),
    "users who were not signed in": (half_signed_in(), "votes.csv"),
    "a data set in parts": (data_set(), "votes.zip"),
    "Arrow": (arrow(pyarrow.ipc.new_file), "votes.arrow"),
    "a stream of Arrow": (arrow(pyarrow.ipc.new_stream), "data-00000-of-00001.arrow"),
}


@pytest.mark.parametrize("case", FILES)
def test_the_same_labels_are_read_from_odd_files(case: str, tmp_path: Path) -> None:
    content, name = FILES[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    _, found = open_file(path)
    votes = list(found.checked.good)
    assert len(votes) == 30 and not list(found.checked.problems)
    assert len({vote["worker"] for vote in votes}) == 3
    assert len({vote["item"] for vote in votes}) == 10
    # By hand: 3 of 10 items are split, 18 of 30 labels are yes.
    alpha = krippendorff_alpha(labels_of(found.checked)[0], "nominal")
    assert alpha == pytest.approx(1 - 29 * 6 / (2 * 18 * 12))


NMM = """"",V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,V11,V12
1,1,2,3,3,2,1,4,1,2,NA,NA,NA
2,1,2,3,3,2,2,4,1,2,5,NA,NA
3,NA,3,3,3,2,3,4,2,2,5,1,3
4,1,2,3,3,2,4,4,1,2,5,1,NA
"""


def wordings() -> str:
    """A matrix whose last worker used other words, beside a column that holds no labels."""
    said = [[x for _, i, x in VOTES if i == f"i{n}"] for n in range(10)]
    rows = (f"i{n},{'ab'[n % 2]},{','.join(x * 3)},{x[0].upper()}" for n, x in enumerate(said))
    return text(f"item,source,{','.join(f'w{k}' for k in range(10))}", *rows)


@pytest.mark.parametrize(
    ("content", "size", "alpha", "left"),
    [(NMM, (4, 12, 41), 0.743, ""), (wordings(), (10, 10, 100), None, "source")],
    ids=["the example of irr", "a worker with words of their own"],
)
def test_no_worker_or_item_of_a_matrix_is_lost_without_a_note(
    content: str, size: tuple[int, int, int], alpha: float | None, left: str, tmp_path: Path
) -> None:
    path = tmp_path / "matrix.csv"
    path.write_text(content)
    kind, found = open_file(path)
    data = labels_of(found.checked)[0]
    assert (kind, (len(data.workers), len(data.items), len(data))) == ("label_matrix", size)
    if alpha:
        assert krippendorff_alpha(data, "nominal") == pytest.approx(alpha, abs=0.0005)
    notes = [one for one in found.checked.notes if one.startswith("Not read as labels")]
    assert [one.rpartition(": ")[2] for one in notes] == ([f"{left}."] if left else [])


def test_a_header_within_joined_files_is_left_out_by_line(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    halves = [text(HEAD, *ROWS[:15]), text(HEAD, *ROWS[15:])]
    path.write_text("".join(f"\ufeff{half}" for half in halves))
    _, found = open_file(path)
    assert len(found.checked.good) == 30
    assert [one.line for one in found.checked.problems] == [17]


@pytest.mark.parametrize("empty", ["nan", "NaN", "NA", "<NA>"])
def test_reliability_data_without_names_have_a_row_a_worker(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = [[empty if (n + k) % 5 == 0 else str(n % 2) for n in range(10)] for k in range(3)]
    path.write_text(text(*map(",".join, rows)))
    kind, found = open_file(path)
    votes = list(found.checked.good)
    assert (kind, len(votes), {vote["label"] for vote in votes}) == ("label_matrix", 24, {"0", "1"})
    assert (len({vote["worker"] for vote in votes}), len({vote["item"] for vote in votes})) == (
        *(3, 10),
    )


def test_counts_of_labels_are_no_labels_of_workers(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text("item,yes,no", *(f"i{n},{n % 4},{3 - n % 4}" for n in range(9))))
    with pytest.raises(Invalid, match="how many workers gave each label"):
        open_file(path)


def test_a_line_that_was_cut_off_and_a_footnote_are_named(tmp_path: Path) -> None:
    lines = tmp_path / "votes.jsonl"
    lines.write_text(text(*map(json.dumps, RECORDS))[:-12])
    _, found = open_file(lines)
    assert (len(found.checked.good), len(list(rejected_lines(found)))) == (29, 1)
    note = tmp_path / "votes.csv"
    note.write_text(text(HEAD, *ROWS, "", "Collected in May, by the second team"))
    _, found = open_file(note)
    assert (len(found.checked.good), len(list(rejected_lines(found)))) == (30, 1)


def test_responses_that_were_not_submitted_are_named(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    rows = argilla_set()
    rows[0]["label.responses.status"] = ["submitted", "draft", "discarded"]
    path.write_text(text(*map(json.dumps, rows)))
    _, found = open_file(path)
    assert len(found.checked.good) == 28
    problems = [(one.line, one.value) for one in found.sheet.unreadable]
    assert problems == [(1, "w1: draft"), (1, "w2: discarded")]


@pytest.mark.parametrize(
    ("content", "column"),
    [(toloka("REJECTED"), "ASSIGNMENT:status"), (appen("true"), "_tainted")],
    ids=["Toloka", "Appen"],
)
def test_answers_that_a_tool_did_not_accept_are_named(
    content: str, column: str, tmp_path: Path
) -> None:
    path = tmp_path / "votes.txt"
    path.write_text(content)
    _, found = open_file(path)
    assert len(found.checked.good) == 28
    assert [(one.line, one.column) for one in found.sheet.unreadable] == [(2, column), (3, column)]


def test_a_question_for_a_column_says_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "votes.json"
    rows = [
        {"trace_id": i, "id": n, "worker": {"name": w}, "rater": w, "said": {"label": x}}
        for n, (w, i, x) in enumerate(VOTES)
    ]
    path.write_text(json.dumps(rows))
    with pytest.raises(Invalid) as asked:
        open_file(path)
    assert "label. Read: worker: rater; item: trace_id." in asked.value.message


def test_completions_of_an_old_export_are_annotations(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    result = {"from_name": "mood", "to_name": "text", "type": "choices"}
    tasks = [
        {
            "id": n,
            "data": {"text": f"text {n}"},
            "completions": [
                {
                    "created_at": 1_604_400_000,
                    "completed_by": w,
                    "result": [{**result, "value": {"choices": [x]}}],
                }
                for w, i, x in VOTES
                if i == f"i{n}"
            ],
        }
        for n in range(10)
    ]
    path.write_text(json.dumps(tasks))
    kind, found = open_file(path)
    given = [one for row in found.checked.good for one in row["task"].given]
    assert (kind, len(given), len({one.author for one in given})) == ("label_studio", 30, 3)
    assert {one.at.year for one in given if one.at} == {2020}


CONTROLS: dict[str, Callable[[str], Any]] = {
    "choices": lambda x: {"choices": [x]},
    "rating": lambda x: {"rating": 1 + len(x)},
    "textarea": lambda x: {"text": [f"I say {x} here"]},
    "pairwise": lambda x: {"selected": "right" if x == "no" else "left"},
}


@pytest.mark.parametrize("kind", CONTROLS)
def test_each_control_of_label_studio_is_scored_by_the_command(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    about = {"text1": "One", "text2": "Two", "model_1": "owl", "model_2": "wren"}
    tasks = [
        {
            "id": n,
            "data": {**about, "text": f"text {n}"},
            "annotations": [
                {
                    "completed_by": w,
                    "result": [
                        {
                            "from_name": "mood",
                            "to_name": "text",
                            "type": kind,
                            "value": CONTROLS[kind](x),
                        }
                    ],
                }
                for w, i, x in VOTES
                if i == f"i{n}"
            ],
        }
        for n in range(10)
    ]
    path.write_text(json.dumps(tasks))
    _, found = open_file(path)
    way = found.checked.about["type"]
    assert way in WAYS and len(WAYS) == len(CONTROLS)
    report = KINDS["label_studio"].report(found.checked, Options())
    assert report.lines
    if way != "pairwise":
        assert sorted(report.names["worker"]) == ["w0", "w1", "w2"]
        return
    best, other = sorted(report.tables["player"].rows(), key=lambda row: row["rank"])
    names = report.names["player"]
    assert (names[best["player"]], names[other["player"]]) == ("owl", "wren")  # 18 of 30
    assert (best["n"], other["n"]) == (30, 30)


def test_a_pivot_table_of_several_values_is_refused_for_them(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text(",label,label,sure,sure", "worker,a,b,a,b", "item,,,,", "i1,x,y,1,2"))
    with pytest.raises(Invalid, match="several values: label, sure"):
        open_file(path)


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("2026/11/01 9:00:00 AM GMT+1", 8),
        ("2026/11/01 9:00:00 PM GMT-5:30", 2),
        ("2026-11-01 09:00:00 UTC", 9),
    ],
)
def test_times_of_forms_are_read_with_their_zone(written: str, hour: int, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text(f"{HEAD},Timestamp", *(f"{row},{written}" for row in ROWS)))
    _, found = open_file(path)
    times = {vote["at"].astimezone(dt.UTC).hour for vote in found.checked.good}
    assert (times, found.checked.notes) == ({hour}, [])


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (
            zipped(a_dot_csv=text(HEAD, *ROWS), b_dot_csv=text("key,about", "i1,x")),
            "votes.zip",
            "b.csv has other columns than a.csv",
        ),
        (zipped(a_dot_csv=text(HEAD, *ROWS), b_dot_png="x"), "votes.zip", "no table: b.png"),
        (zipped(votes_dot_csv=text(HEAD, *ROWS))[:90], "votes.zip", "damaged|ZIP archive"),
        (arrow(pyarrow.ipc.new_file)[:200], "votes.arrow", "cannot be read as arrow"),
        (data_set(rename=True), "votes.zip", "has other columns than"),
    ],
    ids=["two tables", "a picture beside", "cut off", "cut Arrow", "parts of two tables"],
)
def test_packed_files_are_refused_for_their_own_reason(
    content: bytes, name: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Invalid, match=reason):
        open_file(path)


PRICES = [950, 1200, 2500, 1100, 850, 1000]  # of six items
ONLY_DECIMALS = [1.5, 2.25, 3, 1.75, 2, 4]


def rated(write: Callable[[Any], str], prices: list[Any]) -> str:
    pairs = ((k, n, write(prices[n])) for n in range(6) for k in range(3))
    return text("worker\titem\tscore", *(f"w{k}\ti{n}\t{said}" for k, n, said in pairs))


@pytest.mark.parametrize(
    ("write", "prices", "uses", "scores"),
    [
        ("{:,}".format, PRICES, {}, PRICES),
        (lambda x: f"{x:,}".replace(",", "."), PRICES, {".": ""}, PRICES),
        (lambda x: f"{x + 250:,}", PRICES, {",": ""}, [x + 250 for x in PRICES]),
        (lambda x: f"{x:.3f}".replace(".", ","), ONLY_DECIMALS, {",": "."}, ONLY_DECIMALS),
        ("{:.3f}".format, ONLY_DECIMALS, {}, ONLY_DECIMALS),
        (
            lambda x: f"{x:,.1f}",
            [950.5, 999, 1000, 100, 200, 300],
            {},
            [950.5, 999, 1000, 100, 200, 300],
        ),
        ("{}".format, PRICES, {}, PRICES),
    ],
    ids=["comma", "point", "all grouped", "all decimals", "3 decimals", "both", "plain"],
)
def test_marks_of_thousands_are_told_from_decimals_or_asked_for(
    write: Callable[[Any], str],
    prices: list[Any],
    uses: dict[str, str],
    scores: list[Any],
    tmp_path: Path,
) -> None:
    path = tmp_path / "prices.tsv"
    path.write_text(rated(write, prices))
    if uses:
        with pytest.raises(Invalid) as asked:
            open_file(path)
        assert len(asked.value.fields["offers"].splitlines()) == 2
    _, found = open_file(path, uses=uses)
    factor = found.checked.about["factor"]
    assert not list(found.checked.problems) and len(found.checked.good) == 18
    assert [one["score"] / factor for one in found.checked.good][::3] == scores


def said_as(*forms: dict[str, str]) -> str:
    """The votes, each worker's labels in a wording of their own."""
    mine = [forms[min(int(worker[1]), len(forms) - 1)] for worker, *_ in VOTES]
    votes = zip(VOTES, mine, strict=True)
    return text(HEAD, *(f"{w},{i},{form.get(label, label)}" for (w, i, label), form in votes))


@pytest.mark.parametrize(
    ("content", "warnings", "uses", "notes"),
    [
        (said_as({"yes": "2-Jan", "no": "6-May"}, {"yes": "1-2", "no": "5-6"}),
         2, {"2-Jan": "1-2", "6-May": "5-6"}, 0),
        (said_as({"yes": "02. Jan", "no": "03. Mrz"}, {"yes": "2.1", "no": "3.3"}),
         2, {"02. Jan": "2.1", "03. Mrz": "3.3"}, 0),
        (said_as({"yes": "❤", "no": "⚠"}, {"yes": "❤\ufe0f", "no": "⚠\ufe0f"}), 0, {}, 1),
        (said_as({"yes": "TRUE", "no": "FALSE"}, {"yes": "WAHR", "no": "FALSCH"},
                 {"yes": "VRAI", "no": "FAUX"}), 0, {}, 1),
        (said_as({"yes": "oui", "no": "non"}, {}), 1, {"oui": "yes", "non": "no"}, 0),
    ],
    ids=["dates", "German dates", "emoji", "truths", "languages"],
)  # fmt: skip
def test_labels_written_in_two_ways_are_read_as_one_or_named(
    content: str, warnings: int, uses: dict[str, str], notes: int, tmp_path: Path
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(content)
    _, found = open_file(path)
    about = found.checked.about
    assert (len(about["warnings"]), len(found.checked.notes)) == (warnings, notes)
    offered = {one["value"]: one["use"] for one in about["offers"]}
    assert offered == {value: use for value, use in uses.items() if value not in ("oui", "non")}
    _, found = open_file(path, uses=uses)
    assert not found.checked.about["warnings"]
    alpha = krippendorff_alpha(labels_of(found.checked)[0], "nominal")
    assert alpha == pytest.approx(1 - 29 * 6 / (2 * 18 * 12))


def test_thumbs_of_two_skin_tones_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(said_as({"yes": "👍🏽", "no": "👍🏿"}))
    assert len(open_file(path)[1].checked.about["labels"]) == 2


@pytest.mark.parametrize(
    ("label", "offered"),
    [
        ({"yes": "1", "no": "0"}, {"-1": ""}),
        ({"yes": "1", "no": "-2"}, {}),
        ({"yes": "1.5", "no": "0"}, {}),
    ],
    ids=["an abstention", "two below 0", "decimals"],
)
def test_the_only_whole_number_below_0_is_offered_as_no_label(
    label: dict[str, str], offered: dict[str, str], tmp_path: Path
) -> None:
    rows = [",".join(label[x] for _, i, x in VOTES if i == f"i{n}") for n in range(10)]
    path = tmp_path / "matrix.csv"
    path.write_text(
        text(",lf1,lf2,lf3", *(f"{n},{row}" for n, row in enumerate(rows)), "10,-1,-1,-1")
    )
    _, found = open_file(path)
    assert {one["value"]: one["use"] for one in found.checked.about["offers"]} == offered
    if offered:
        assert len(open_file(path, uses=offered)[1].checked.good) == 30


@pytest.mark.parametrize(
    ("ids", "warned"),
    [
        (["1.29403E+18", "1.29404E+18"], True),
        (["1,29403E+18", "1,29404E+18"], True),
        (["1e5", "2e5"], False),
    ],
)
def test_ids_that_a_spreadsheet_rounded_are_named_first(
    ids: list[str], warned: bool, tmp_path: Path
) -> None:
    path = tmp_path / "votes.csv"
    rows = [f"w{k};{one};{x}" for k in range(3) for one, x in zip(ids, "yn", strict=True)]
    path.write_text(text("worker;tweet_id;label", *rows))
    texts = [one["text"] for one in open_file(path)[1].checked.about["warnings"]]
    assert bool(texts and "tweet_id" in texts[0]) == warned


@pytest.mark.parametrize(
    "rows",
    [
        [f"w0,i{n},{n % 2}" for n in range(9)],
        [f"w{n % 2},i{n},{n % 3}" for n in range(9)],
    ],
    ids=["one worker", "no item twice"],
)
def test_labels_that_nobody_shares_are_refused_before_scoring(
    rows: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text(HEAD, *rows))
    with pytest.raises(Invalid, match="compare"):
        open_file(path)


def compared(*winners: str, column: str = "winner") -> str:
    rows = (f"j{n % 3},q{n // 3},owl,wren,{said}" for n, said in enumerate(winners))
    return text(f"judge,prompt_id,model_a,model_b,{column}", *rows)


def fenced(winner: str, n: int) -> str:
    told = json.dumps({"reasoning": f"Reason {n}", "winner": winner}).replace('"', '""')
    return f'"```json\n{told}\n```"'


WON = ["A", "B", "tie"] * 4
SIDES = ["left", "right", "neutral"] * 4
NUMBERS = {"0": "model_a", "1": "tie", "2": "model_b"}


@pytest.mark.parametrize(
    ("content", "uses", "notes", "winners"),
    [
        (compared(*(fenced(won, n) for n, won in enumerate(WON))), {}, 1, SIDES),
        (compared(*["both_good", "both_bad", "model_a"] * 4), {}, 1,
         ["neutral", "neutral", "left"] * 4),
        (compared(*"021" * 4, column="preference"), NUMBERS, 0, SIDES),
    ],
    ids=["JSON in a fence", "both good", "numbers"],
)  # fmt: skip
def test_winners_written_in_other_ways_are_read_or_asked_for(
    content: str, uses: dict[str, str], notes: int, winners: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    if uses:
        with pytest.raises(Invalid) as asked:
            open_file(path)
        assert len(asked.value.fields["offers"].splitlines()) == 9
    kind, found = open_file(path, uses=uses)
    checked = found.checked
    assert (kind, len(checked.notes)) == ("comparison_table", notes)
    assert [one["winner"] for one in checked.good] == winners
    assert len({one["topic"] for one in checked.good}) == 4 and not list(checked.problems)


@pytest.mark.parametrize(
    ("use", "winners"),
    [("model_a", ["left", "right", "neutral"]), ("model_b", ["right", "left", "neutral"])],
)
def test_weights_between_two_numbered_systems_are_asked_for(
    use: str, winners: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "weights.json"
    weights = [1.0, 2.0, 1.5, 1.0000048, 1.898, 1.5]
    path.write_text(json.dumps([
        {"annotator": "judge", "instruction": f"Do {n // 2}", "preference": one,
         "generator_1": "owl", "output_1": f"To {n // 2}",
         "generator_2": "wren", "output_2": f"To wit {n // 2}"}
        for n, one in enumerate(weights)
    ]))  # fmt: skip
    with pytest.raises(Invalid) as asked:
        open_file(path)
    assert len(asked.value.fields["offers"].splitlines()) == 2
    kind, found = open_file(path, uses={"preference": use})
    assert kind == "comparison_table"
    assert [one["winner"] for one in found.checked.good] == winners * 2


def test_columns_of_comparisons_are_named_to_the_command(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(compared(*WON).replace("model_a,model_b,winner", "one,other,better one"))
    given = {"left": "one", "right": "other", "winner": "better one"}
    kind, found = open_file(path, given=given)
    assert (kind, [one["winner"] for one in found.checked.good]) == ("comparison_table", SIDES)


def test_numbers_beside_two_texts_stay_labels(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = (f"w{k},i{n},a{n},b{n},{(n + k) % 2}" for n in range(6) for k in range(3))
    path.write_text(text("annotator,id,text_a,text_b,label", *rows))
    assert open_file(path)[0] == "label_table"


def test_labels_are_read_out_of_the_json_of_a_language_model(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    cells = (json.dumps({"why": f"{w} {i}", "label": x}).replace('"', '""') for w, i, x in VOTES)
    rows = (f'{w},{i},"{cell}"' for (w, i, _), cell in zip(VOTES, cells, strict=True))
    path.write_text(text(HEAD, *rows))
    assert dict(open_file(path)[1].checked.about["labels"]) == {"yes": 18, "no": 12}


@pytest.mark.parametrize(
    ("use", "kind", "name"),
    [("stars", None, "name"), ("verdict", "label_table", "name"), ("stars", None, "key")],
)
def test_one_of_several_scores_of_an_item_is_chosen(
    use: str, kind: str | None, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "scores.csv"
    rows = (
        f"s{n}{one},t-{i},{one},{'yn'.index(x[0]) + more},{x if one == 'verdict' else ''},u-{w}"
        for n, (w, i, x) in enumerate([*VOTES, ("", "i1", "yes")])
        for one, more in (("verdict", 0), ("stars", 1 + n % 4))
    )
    path.write_text(
        text(f"id,traceId,{name},value,stringValue,authorUserId", *rows).replace(",u-\n", ",\n")
    )
    with pytest.raises(Invalid) as asked:
        open_file(path)
    assert len(asked.value.fields["offers"].splitlines()) == 2
    slug, found = open_file(path, kind, uses={name: use})
    checked = found.checked
    lost = 32 if kind else 1  # stars have no word, and one row of each score has no worker
    assert (slug, len(checked.good), len(checked.problems)) == (kind or "rating_table", 30, lost)
    assert {one["item"] for one in checked.good} == {f"t-i{n}" for n in range(10)}
    if kind:
        assert dict(checked.about["labels"]) == {"yes": 18, "no": 12}
    else:
        assert {one["score"] for one in checked.good} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("layout", "good"),
    [("{:<8}{:<6}{:>8}", 30), ("{:<8}{:<6}  {}", 30), ("{}  {}   {}", 0), ("{} {} {}", 0)],
    ids=["aligned", "last ragged", "at other places", "one space"],
)
def test_columns_that_spaces_align_are_read_by_their_places(
    layout: str, good: int, tmp_path: Path
) -> None:
    path = tmp_path / "votes.txt"
    votes = [(f"{w}5"[: 2 + int(i[1:]) % 2], i, x.replace("no", "not sure")) for w, i, x in VOTES]
    path.write_text(text(*(layout.format(*one) for one in [NAMES, *votes])))
    if good:
        found = open_file(path)[1]
        assert dict(found.checked.about["labels"]) == {"yes": 18, "not sure": 12}
        return
    with pytest.raises(Invalid) as refused:
        open_file(path)
    assert "--worker" not in str(refused.value.fields)


@pytest.mark.parametrize("mark", ["___", "/"])
def test_a_column_of_0_and_1_for_each_option_is_one_question(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "boxes.csv"
    bits = {"yes": "1,0,0", "no": "0,1,1"}
    rows = [f"{w},{i},{bits[x]},2" for w, i, x in VOTES]
    heads = (f"topic{mark}{one}" for one in ("sport", "1", "x_1"))
    path.write_text(text(f"coder,text_id,{','.join(heads)},complete", *rows))
    kind, found = open_file(path)
    assert (kind, found.mapping["label"]) == ("label_table", "topic")
    assert dict(found.checked.about["labels"]) == {"sport": 18, "1 + x_1": 12}


def test_people_of_a_matrix_may_be_called_like_options(tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    rows = [[str(int(x == "yes")) for _, i, x in VOTES if i == f"i{n}"] for n in range(10)]
    lines = (f"i{n},{','.join(row)}" for n, row in enumerate(rows))
    path.write_text(text("item,team/ann,team/ben,team/cem", *lines))
    assert open_file(path)[1].checked.about["workers"] == 3


def test_a_row_of_a_survey_is_a_person_and_its_times_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    at = ["2026-02-01 10:0{}:00", "2026-02-01 11:0{}:00", "2026-02-01 11:0{}:00"]
    rows = (
        [str(k + 1), *(one.format(k) for one in at), str(2 - k // 2), "Y"]
        + [x for w, _, x in VOTES if w == f"w{k}"]
        for k in range(3)
    )
    asked = [f"Q2[{n}]" for n in range(10)]
    path.write_text(text(
        ",".join(["id", "startdate", "submitdate", "datestamp", "lastpage", "Q1", *asked]),
        *map(",".join, rows),
    ))  # fmt: skip
    kind, found = open_file(path)
    assert (kind, found.mapping) == ("label_matrix", {"worker": "id"})
    assert {one["item"] for one in found.checked.good} == set(asked)
    assert dict(found.checked.about["labels"]) == {"yes": 18, "no": 12}


BARE = ['"Open {}', '"A friend" of {}', 'the word "{}']


@pytest.mark.parametrize("write", [lambda one: one, lambda one: f'"{one}"'], ids=["bare", "closed"])
def test_marks_that_open_no_value_of_tabs_stay_in_it(
    write: Callable[[str], str], tmp_path: Path
) -> None:
    path = tmp_path / "votes.tsv"
    is_bare = write("") == ""
    texts = [(BARE[n % 3] if is_bare else "{}").format(f"i{n}") for n in range(10)]
    rows = ((w, i, write(texts[int(i[1:])]), x) for w, i, x in VOTES)
    path.write_text(text("worker\titem\ttext\tlabel", *map("\t".join, rows)))
    _, found = open_file(path)
    assert [one["text"] for one in found.checked.good[::3]] == texts
    assert (len(found.checked.good), len(found.checked.notes)) == (30, is_bare)


def test_a_named_encoding_is_read_without_a_mark_of_another(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = text("Prüfer,item,label", *ROWS).encode("cp1252")
    path.write_bytes(codecs.BOM_UTF8 + rows)
    _, found = open_file(path, given={"worker": "Prüfer"}, reading=Reading(None, "cp1252"))
    assert (found.mapping["worker"], len(found.checked.good)) == ("Prüfer", 30)


def graded(grader: str) -> dict[str, Any]:
    told = {"pass": True, "assertion": {"type": "llm-rubric", "provider": grader}}
    asked, answered = {"raw": "Tell"}, {"output": "Told"}
    graded = {"pass": True, "componentResults": [told]}
    return {"prompt": asked, "response": answered, "success": True, "gradingResult": graded}


def steps_rated(labeler: str) -> dict[str, Any]:
    steps = [{"completions": [{"text": "Step", "rating": 1}], "chosen_completion": 0}]
    question = {"problem": "Why? " * 30}
    return {"labeler": labeler, "question": question, "label": {"steps": steps}}


HI = {"messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("chats.json", [HI], [str(NO_VOTES)]),
        ("steps.jsonl", [steps_rated("ann"), steps_rated("ben")], ["rating", "ann, ben"]),
        ("results.json", {"results": {"results": [graded("ruby"), graded("jade")]}},
         ["success, llm-rubric", "ruby, jade"]),
    ],
    ids=["messages", "PRM800K", "promptfoo"],
)  # fmt: skip
def test_conversations_are_refused_by_what_their_records_hold(
    name: str, content: Any, said: list[str], tmp_path: Path
) -> None:
    file = tmp_path / name
    rows = content if name.endswith("l") else [content]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(Invalid) as refused:
        open_file(file)
    assert all(one in refused.value.message for one in said)
    assert "crowdqc_import" in refused.value.fields["file"]
