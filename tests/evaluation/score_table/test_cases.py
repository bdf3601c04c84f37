"""Files as people bring them: what each is taken to be, how many rows count, and the agreement."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.chats.model import Chat, load_chat
from annotation.files.reading.tables import Reading
from annotation.formats.selectors.imports import check_rows
from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file
from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.methods.core.votes import Labels
from evaluation.score_table.reports import ratings
from evaluation.score_table.reports.labels import labels_of
from evaluation.score_table.reports.text import Options

# Three workers, eight items: the third one errs on every fourth.
VOTES = [(f"w{k}", f"i{n}", n % 2 ^ (k == 2 and n % 4 == 0)) for n in range(8) for k in range(3)]
YES = ("no", "yes")
ALPHA = 0.671  # by hand: two items of three disagree, 10 and 14 of 24: 1 - 23 * 4 / (2 * 10 * 14)
LONG = [f"{w},{i},{YES[x]}" for w, i, x in VOTES]
HEAD = "worker,item,label"


def found_in(
    folder: Path, content: str | bytes, name: str = "votes.csv", **how: object
) -> tuple[str, object]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_file(path, **how)  # type: ignore[arg-type]


def alpha_of(found: object) -> float:
    return round(krippendorff_alpha(labels_of(found.checked)[0], "nominal"), 3)  # type: ignore[attr-defined]


def text(*lines: str) -> str:
    return "\n".join([*lines, ""])


CONTAINERS = {
    "plain": (text(HEAD, *LONG), "votes.csv"),
    "Excel's separator": (
        text("sep=;", *(line.replace(",", ";") for line in [HEAD, *LONG])),
        "votes.csv",
    ),
    "no header": (text(*LONG), "votes.csv"),
    "gzip": (gzip.compress(text(HEAD, *LONG).encode(), mtime=0), "votes.csv.gz"),
    "Qualtrics": (
        text(
            "ResponseId," + HEAD,
            "Response ID,Who,What,Pick one",
            ",".join(f'"{{""ImportId"":""Q{n}""}}"' for n in range(4)),
            *(f"R{n},{line}" for n, line in enumerate(LONG)),
        ),
        "votes.csv",
    ),
    "nested by worker": (
        json.dumps(
            {f"w{k}": {i: YES[x] for w, i, x in VOTES if w == f"w{k}"} for k in range(3)}, indent=1
        ),
        "votes.json",
    ),
    "nested by item": (
        json.dumps({f"i{n}": {w: YES[x] for w, i, x in VOTES if i == f"i{n}"} for n in range(8)}),
        "votes.json",
    ),
    "NaN beside the votes": (
        json.dumps(
            [{"worker": w, "item": i, "label": YES[x], "score": float("nan")} for w, i, x in VOTES]
        ),
        "votes.json",
    ),
    "names of Snow": (
        text(
            "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold",
            *(
                f"{n}\t{w}\t{i}\t{YES[x]}\t{YES[int(i[1]) % 2]}"
                for n, (w, i, x) in enumerate(VOTES)
            ),
        ),
        "votes.tsv",
    ),
}


def dumped(*rows: object) -> str:
    return text(*map(json.dumps, rows))


def by_item(make: Callable[[str, list[tuple[str, int]]], object]) -> list[object]:
    return [make(f"i{n}", [(w, x) for w, i, x in VOTES if i == f"i{n}"]) for n in range(8)]


def prodigy(worker: str, item: str, **more: object) -> dict[str, object]:
    keys = {"_input_hash": -int(item[1:]) - 1, "_task_hash": 7 * int(item[1:])}
    return {
        "text": f"Text {item}",
        **keys,
        "_annotator_id": worker,
        "_timestamp": 1700000000,
        **more,
    }


NATIVE = {
    "Prodigy, accepted or not": (
        dumped(*(prodigy(w, i, label="CAT", answer=("reject", "accept")[x]) for w, i, x in VOTES)),
        "votes.jsonl",
    ),
    "Prodigy, options": (
        dumped(*(prodigy(w, i, answer="accept", options=[], accept=[YES[x]]) for w, i, x in VOTES)),
        "votes.jsonl",
    ),
    "Argilla": (
        json.dumps(
            by_item(
                lambda item, said: {
                    "id": item,
                    "fields": {"text": f"Text {item}"},
                    "responses": {
                        "mood": [
                            *(
                                {"value": YES[x], "user_id": w, "status": "submitted"}
                                for w, x in said
                            ),
                            {"value": "no", "user_id": "w9", "status": "draft"},
                        ]
                    },
                }
            )
        ),
        "votes.json",
    ),
    "Argilla, older": (
        dumped(
            *by_item(
                lambda item, said: {
                    "id": item,
                    "fields": {"text": f"Text {item}"},
                    "responses": [
                        {"user_id": w, "values": {"mood": {"value": YES[x]}}} for w, x in said
                    ],
                }
            )
        ),
        "votes.jsonl",
    ),
    "doccano": (
        dumped(
            *by_item(
                lambda item, said: {
                    "id": item,
                    "text": f"Text {item}",
                    "annotations": [{"label": x, "user": w} for w, x in said],
                }
            )
        ),
        "votes.jsonl",
    ),
    "MTurk": (
        text(
            "HITId,AssignmentId,WorkerId,Input.text,Answer.taskAnswers",
            *(
                f'{i},{w}{i},{w},Text {i},"[{{""mood"": {{""label"": ""{YES[x]}""}}}}]"'
                for w, i, x in VOTES
            ),
        ),
        "votes.csv",
    ),
    "Potato": (
        text(
            "user,instance_id,displayed_text,mood:::yes,mood:::no",
            *(f"{w},{i},Text {i},{'yes,' if x else ',no'}" for w, i, x in VOTES),
        ),
        "votes.csv",
    ),
}


@pytest.mark.parametrize("tool", NATIVE)
def test_the_same_votes_are_read_from_every_tool(tool: str, tmp_path: Path) -> None:
    content, name = NATIVE[tool]
    kind, found = found_in(tmp_path, content, name)
    assert (kind, found.checked.used) == ("label_table", 24)
    left_out = {one.value for one in found.checked.problems}
    assert left_out == ({"w9: draft"} if tool == "Argilla" else set())
    assert alpha_of(found) == ALPHA
    first = next(iter(found.checked.good))
    assert (first["worker"], first["text"].startswith("Text")) == ("w0", True)


@pytest.mark.parametrize("case", CONTAINERS)
def test_the_same_votes_are_read_from_every_container(case: str, tmp_path: Path) -> None:
    content, name = CONTAINERS[case]
    kind, found = found_in(tmp_path, content, name)
    assert (kind, found.checked.used, list(found.checked.problems)) == ("label_table", 24, [])
    assert alpha_of(found) == ALPHA
    assert bool(found.checked.notes) == (
        case in ("no header", "Qualtrics", "nested by worker", "nested by item")
    )


def test_assignments_that_were_rejected_on_mturk_are_left_out_by_line(tmp_path: Path) -> None:
    rows = [f"{i},{w}{i},{w},Approved,{YES[x]}" for w, i, x in VOTES]
    rows[3] = rows[3].replace("Approved", "Rejected")
    content = text("HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.mood", *rows)
    kind, found = found_in(tmp_path, content)
    assert (kind, found.checked.used) == ("label_table", 23)
    assert [(one.line, one.column) for one in found.checked.problems] == [(5, "AssignmentStatus")]


def test_a_matrix_without_a_header_has_no_vote_as_its_header(tmp_path: Path) -> None:
    rows = [",".join(YES[x] for _, i, x in VOTES if i == f"i{n}") for n in range(8)]
    kind, found = found_in(tmp_path, text(*rows))
    assert (kind, found.checked.used, alpha_of(found)) == ("label_matrix", 8, ALPHA)


def test_a_row_of_a_matrix_that_is_given_twice_is_counted_once(tmp_path: Path) -> None:
    rows = [",".join([f"i{n}", *(YES[x] for _, i, x in VOTES if i == f"i{n}")]) for n in range(8)]
    _, found = found_in(tmp_path, text("item,ann,ben,cy", *rows, rows[3]))
    assert (found.checked.used, found.tally.left_out) == (8, {"twice": 1})
    assert [one.line for one in found.checked.repeats] == [10]


def test_a_matrix_may_have_a_text_beside_its_workers(tmp_path: Path) -> None:
    rows = [
        ",".join([f"i{n}", f"Text {n}", *(YES[x] for _, i, x in VOTES if i == f"i{n}")])
        for n in range(8)
    ]
    kind, found = found_in(tmp_path, text("item,said,ann,ben,cy", *rows))
    assert (kind, len(found.checked.good), alpha_of(found)) == ("label_matrix", 24, ALPHA)


def test_a_person_says_that_there_is_no_header_and_which_column_is_which(tmp_path: Path) -> None:
    rows = text("a,1,x", "b,1,x", "a,2,y", "b,2,x")
    given = {"worker": "column 1", "item": "column 2", "label": "column 3"}
    kind, found = found_in(tmp_path, rows, given=given, reading=Reading(header=False))
    assert (kind, len(found.checked.good)) == ("label_table", 4)
    with pytest.raises(Invalid, match="no column Column 9"):
        found_in(tmp_path, rows, given={"worker": "Column 9"})


def test_chinese_bytes_are_read_as_such_and_it_is_said(tmp_path: Path) -> None:
    chinese = text(HEAD, *(line.replace("yes", "正面").replace("no", "负面") for line in LONG))
    _, found = found_in(tmp_path, chinese.encode("gb18030"))
    assert {one["label"] for one in found.checked.good} == {"正面", "负面"}
    assert found.sheet.encoding == "GB18030" and found.sheet.encoding_note
    _, found = found_in(
        tmp_path, chinese.encode("big5", "replace"), reading=Reading(encoding="big5")
    )
    assert found.sheet.encoding == "big5"
    latin = text(HEAD, *(line.replace("yes", "naïf").replace("no", "déçu") for line in LONG))
    assert found_in(tmp_path, latin.encode("cp1252"))[1].sheet.encoding == "Windows-1252"


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (text(HEAD, *LONG[:8], 'w0,i9,"no', *LONG[8:]), "votes.csv", "line 10 and never closes"),
        ('[{"worker": 1e999}]', "votes.json", "Line 1: .* too large a number"),
        (gzip.compress(bytes(range(99)), mtime=0)[:40], "votes.gz", "cut off"),
    ],
)
def test_what_cannot_be_read_is_refused_for_its_own_reason(
    content: str | bytes, name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Invalid, match=reason):
        found_in(tmp_path, content, name)


def changed(old: str, new: str, every: int = 3) -> str:
    """The votes with another spelling in every third line."""
    lines = [line.replace(old, new) if n % every == 0 else line for n, line in enumerate(LONG)]
    return text(HEAD, *lines)


@pytest.mark.parametrize(
    "content",
    [
        changed("yes", "1.0").replace("yes", "1").replace("no", "0"),
        changed("yes", "TRUE").replace("yes", "True").replace("no", "false"),
        changed("yes", "cafe\u0301").replace("yes", "caf\u00e9"),
        changed("yes", "b#a").replace("yes", "a#b").replace("no", "c"),
        changed("w0", " w0 "),
    ],
    ids=["numbers", "truth values", "accents", "several labels", "space"],
)
def test_spellings_of_one_value_meet_and_it_is_said_once(content: str, tmp_path: Path) -> None:
    _, found = found_in(tmp_path, content)
    assert (found.checked.used, alpha_of(found)) == (24, ALPHA)
    assert len(found.checked.notes) == (0 if " w0 " in content else 1)


@pytest.mark.parametrize("gold", ["YES", "Yes"])
def test_a_known_answer_in_capitals_is_the_label(gold: str, tmp_path: Path) -> None:
    rows = [f"{line},{gold if int(line[4]) % 2 else 'no'}" for line in LONG]
    _, found = found_in(tmp_path, text(HEAD + ",gold", *rows))
    assert {one["gold"] for one in found.checked.good} == {"yes", "no"}
    assert len(found.checked.notes) == 1


def test_known_answers_that_nobody_gave_are_named_before_scoring(tmp_path: Path) -> None:
    rows = [f"{line},{'maybe' if ',i3,' in line else 'no'}" for line in LONG]
    _, found = found_in(tmp_path, text(HEAD + ",gold", *rows))
    assert [one["text"] for one in found.checked.about["warnings"]] == ["No worker gave “maybe”."]


def test_words_for_missing_and_labels_that_differ_by_case_are_offered(tmp_path: Path) -> None:
    rows = [line.replace("no", "NO") if n % 5 == 0 else line for n, line in enumerate(LONG)]
    rows[1], rows[2] = rows[1].replace("no", "n/a"), rows[2].replace("yes", "n/a")
    content = text(HEAD, *rows)
    _, found = found_in(tmp_path, content)
    offers = {one["value"]: one["use"] for one in found.checked.about["offers"]}
    assert offers == {"n/a": "", "NO": "no"} and found.checked.notes == []
    _, found = found_in(tmp_path, content, uses=offers)
    assert {one["label"] for one in found.checked.good} == {"yes", "no"}
    assert len(found.checked.problems) == 2


def test_different_labels_stay_apart(tmp_path: Path) -> None:
    odd = ["01", "1", "NA", "None", "aa", "Aa", "a#b", "a#c"]
    rows = [f"w{k},i{n},{label}" for n, label in enumerate(odd) for k in range(3)]
    _, found = found_in(tmp_path, text(HEAD, *rows))
    assert {one["label"] for one in found.checked.good} == set(odd)
    assert found.checked.notes == []


def test_na_in_a_matrix_is_no_label_unless_somebody_keeps_it(tmp_path: Path) -> None:
    said = [YES[n % 2] for n in range(9)]
    rows = [f"i{n},{'NA' if n % 3 else said[n]},{said[n]},{said[n]}" for n in range(9)]
    matrix = text("item,ann,ben,cy", *rows)
    _, found = found_in(tmp_path, matrix)
    assert len(found.checked.good) == 21 and len(found.checked.notes) == 1
    (offer,) = found.checked.about["offers"]
    kept = check_rows(None, "label_matrix", found.sheet, {}, {"label": {"NA": offer["use"]}})
    assert len(kept.checked.good) == 27
    _, other = found_in(tmp_path, matrix, uses={"no": ""})
    assert {one["label"] for one in other.checked.good} == {"NA", "yes"}


@pytest.mark.parametrize(
    ("times", "first", "lost"),
    [
        (["7/10/2014 02:15:50"] * 24, None, 24),
        (["7/10/2014 02:15:50", "7/13/2014 02:15"] * 12, "2014-07-10T02:15:50", 0),
        (["31/7/2014", "1/7/2014"] * 12, "2014-07-31T00:00:00", 0),
        (["7/10/2014 2:15 PM", "7/31/2014"] * 12, "2014-07-10T14:15:00", 0),
        (["1609789589"] * 23 + ["soon"], "2021-01-04T19:46:29", 1),
        (["1609789589000.0"] * 24, "2021-01-04T19:46:29", 0),
        (["1.0"] * 24, None, 24),
    ],
)
def test_a_time_that_cannot_be_read_loses_no_vote(
    times: list[str], first: str | None, lost: int, tmp_path: Path
) -> None:
    rows = [f"{line},{time}" for line, time in zip(LONG, times, strict=True)]
    _, found = found_in(tmp_path, text(HEAD + ",created_at", *rows))
    at = next(iter(found.checked.good))["at"]
    assert (at and at.isoformat()[:19]) == first
    assert sum(one["at"] is None for one in found.checked.good) == lost
    assert (found.checked.used, len(found.checked.notes)) == (24, min(lost, 1))


def talk(*turns: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": said} for n, said in enumerate(turns)]


def battle(n: int, **more: object) -> dict[str, object]:
    sides = {"model_a": "owl", "model_b": "wren", "winner": ("model_a", "model_b")[n % 2]}
    return {"question_id": f"q{n}", "judge": f"j{n % 3}", **sides, **more}


def test_each_turn_of_a_conversation_is_judged_by_itself_with_all_before_it(tmp_path: Path) -> None:
    talks = {
        f"conversation_{side}": talk("Ask", f"{side}1", "More", f"{side}2") for side in ("a", "b")
    }
    rows = [battle(n, **talks, turn=turn, judge=["gpt", "v2"]) for n in range(6) for turn in (1, 2)]
    kind, found = found_in(tmp_path, dumped(*rows), "battles.jsonl")
    assert (kind, found.checked.used) == ("comparison_table", 12)
    first, second, *_ = found.checked.good
    assert (first["topic"], second["topic"]) == ("q0", "q0, turn 2")
    assert (first["query"], first["left"][1], first["judge"]) == ("Ask", "a1", "gpt, v2")
    assert first["chats"] == ("", "")  # question and answer are texts
    assert [turn.text for turn in chat(second["chats"][0]).turns] == ["Ask", "a1", "More", "a2"]
    assert second["left"][1].endswith("[4] Assistant: a2")


def chat(document: str) -> Chat:
    return load_chat(json.loads(document))


def test_calls_of_tools_are_part_of_what_is_judged(tmp_path: Path) -> None:
    call = {"function": {"name": "find", "arguments": '{"q": 1}'}}
    turns = [
        *talk("Ask"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "42"},
        *talk("", "It is 42.")[1:],
    ]
    rows = [battle(n, conversation_a=turns, conversation_b=talk("Ask", "b")) for n in range(6)]
    _, found = found_in(tmp_path, dumped(*rows), "battles.jsonl")
    one = found.checked.good[0]
    assert (one["query"], one["right"], one["chats"][1]) == ("Ask", ("wren", "b"), "")
    (call_made,) = chat(one["chats"][0]).turns[1].calls
    assert (call_made.name, call_made.arguments, call_made.result_text) == (
        "find",
        '{"q": 1}',
        "42",
    )


def test_lists_of_turns_in_cells_are_conversations(tmp_path: Path) -> None:
    head = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b"
    said = '"[""Ask"", ""More""]","[""a1"", null]","[""b1"", ""b2""]"'
    rows = [f"{n},owl,wren,{said},{n % 2},{1 - n % 2}" for n in range(6)]
    _, found = found_in(tmp_path, text(head, *rows))
    one = found.checked.good[0]
    assert one["query"] == "Ask"
    sides = [[turn.text for turn in chat(side).turns] for side in one["chats"]]
    assert sides == [["Ask", "a1", "More", ""], ["Ask", "b1", "More", "b2"]]


def test_preferences_by_sign_are_sides_and_ties(tmp_path: Path) -> None:
    rows = [f"j{n % 3},owl,wren,{n % 5 - 2}" for n in range(20)]
    kind, found = found_in(tmp_path, text("annotator,system_a,system_b,preference", *rows))
    assert (kind, found.checked.used, len(found.checked.notes)) == ("comparison_table", 20, 1)
    assert [one["winner"] for one in found.checked.good][:5] == [
        *("left", "left", "neutral", "right", "right")
    ]


def test_a_repeated_battle_is_named_and_times_that_are_none_are_left_empty(tmp_path: Path) -> None:
    rows = [battle(n, tstamp=1.0) for n in range(6)]
    _, found = found_in(tmp_path, dumped(*rows, rows[2]), "battles.jsonl")
    assert (len(found.checked.good), len(found.checked.repeats)) == (6, 1)
    assert any("tstamp" in note for note in found.checked.notes)


def test_battles_with_names_in_view_are_left_out_where_somebody_says_so(tmp_path: Path) -> None:
    rows = [battle(n, anony=n > 1) for n in range(8)]
    _, found = found_in(tmp_path, dumped(*rows), "battles.jsonl")
    (offer,) = found.checked.about["offers"]
    assert found.checked.used == 8
    fixes = {offer["column"]: {offer["value"]: offer["use"]}}
    found = check_rows(None, "comparison_table", found.sheet, None, fixes)
    assert found.checked.used == 6


@pytest.mark.parametrize("head", [",0,1,2", "doc,0,1,2", "doc,1,2,3", "what,who,said"])
def test_a_header_of_numbers_or_of_names_is_no_vote(head: str, tmp_path: Path) -> None:
    wide = [f"d{n}," + ",".join(str((n + k * (n % 3)) % 3) for k in range(3)) for n in range(12)]
    long = [f"d{n},w{k},{(n + k) % 2}" for n in range(12) for k in range(3)]
    _, found = found_in(tmp_path, text(head, *(long if "said" in head else wide)))
    assert list(found.sheet.columns)[1:] == head.split(",")[1:]
    assert len(found.checked.good) == 36


def test_a_tie_by_inconsistency_is_offered_as_a_tie(tmp_path: Path) -> None:
    rows = dumped(*(battle(n) for n in range(6)), battle(6, winner="tie (inconsistent)"))
    _, found = found_in(tmp_path, rows, "battles.jsonl")
    (offer,) = found.checked.about["offers"]
    _, found = found_in(tmp_path, rows, "battles.jsonl", uses={offer["value"]: offer["use"]})
    assert [one["winner"] for one in found.checked.good][-1] == "neutral"


def test_pairs_without_a_verdict_are_no_labels(tmp_path: Path) -> None:
    rows = [f"Ask {n},a{n},b{n % 3},owl,wren" for n in range(9)]
    with pytest.raises(Invalid, match="winner"):
        found_in(tmp_path, text("prompt,response_a,response_b,model_a,model_b", *rows))


@pytest.mark.parametrize(
    ("write", "factor"),
    [(lambda x: f"{x / 2:g}".replace(".", ","), 10), (lambda x: f"{x / 4}", 100), (str, 1)],
    ids=["halves", "quarters", "a slider"],
)
def test_decimals_and_sliders_are_ratings(
    write: Callable[[int], str], factor: int, tmp_path: Path
) -> None:
    scores = [
        (k, n, 9 * n + k * (n % 2) if factor == 1 else n + k * (n % 2))
        for n in range(10)
        for k in range(3)
    ]
    rows = [f"w{k};t{n};{write(score)}" for k, n, score in scores]
    kind, found = found_in(tmp_path, text("worker;item;rating", *rows))
    assert (kind, found.checked.used) == ("rating_table", 30)
    lines = ratings.report(found.checked, Options()).lines
    by_hand = [
        Labels.build(
            [k for k, *_ in scores],
            [n for _, n, _ in scores],
            [s for *_, s in scores],
            workers=["a", "b", "c"],
            items=[str(n) for n in range(10)],
            labels=[str(s) for s in range(99)],
        )
    ]
    for at, level in enumerate(("ordinal", "interval")):
        assert f"{krippendorff_alpha(by_hand[0], level):.3f}" in lines[at]
    assert found.checked.about["factor"] == factor
    assert found.checked.notes == []  # they are shown as the file writes them


def test_of_two_scores_of_a_worker_the_last_counts_and_the_first_is_named(tmp_path: Path) -> None:
    rows = [f"w{n % 3};i{n // 3};{n % 4},5" for n in range(18)]
    _, found = found_in(tmp_path, text("worker;item;score", *rows, "w0;i0;3,5"))
    (problem,) = found.checked.problems
    assert (found.checked.used, problem.line, problem.value) == (18, 2, "0,5")


def test_the_command_says_what_the_page_says_and_takes_what_it_offers(tmp_path: Path) -> None:
    lines = [f"{line.replace('yes', 'skip') if n == 4 else line}" for n, line in enumerate(LONG)]
    path = tmp_path / "votes.csv"
    path.write_text(text(*lines, *(f"w3,i{n},yes" for n in range(12))))
    columns = {"worker": "column 1", "item": "column 2", "label": "column 3"}
    out, err = io.StringIO(), io.StringIO()
    call_command("crowdqc_score", path, na=["skip"], **columns, stdout=out, stderr=err)
    said = err.getvalue()
    assert "No header line was found" in said and "Line 5, column 3 empty: No label" in said
    assert "Warning: One worker always gives the same label." in said
    assert "4 workers" in out.getvalue()


MANUAL = Path(__file__).parents[3] / "docs" / "guides" / "files.md"
SAMPLE = re.compile(r"<!-- sample: (\S+) (\w+) (\d+) -->\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("name", "kind", "votes", "content"), SAMPLE.findall(MANUAL.read_text()))
def test_each_sample_of_the_manual_is_read_as_it_says(
    name: str, kind: str, votes: str, content: str, tmp_path: Path
) -> None:
    slug, found = found_in(tmp_path, content, name)
    assert (slug, len(found.checked.good), list(found.checked.problems)) == (kind, int(votes), [])
