"""Separators, encodings, cells and layouts of other programs: one test for each class of files."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.files.reading.literals import is_printed, json_of_python
from annotation.files.reading.sources import encodings_instead, of_bytes
from annotation.formats.imports.winners import winner_of
from crowdqc.errors import Invalid
from tests.evaluation.score_table.test_odd_files import HEAD, NAMES, ROWS, VOTES, text
from tests.evaluation.score_table.test_odd_records import by_item
from tests.evaluation.score_table.test_odd_tables import read

LABELS = {"yes": 18, "no": 12}


def labels_of(found: Any) -> dict[str, int]:
    """Labels by how often they are given; all of 3 workers and 10 items are there."""
    good = list(found.checked.good)
    assert len({one["worker"] for one in good}) == 3
    assert len({one["item"] for one in good}) == 10
    assert not list(found.checked.problems)
    return dict(found.checked.about["labels"])


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("delimiter", ["::", "\x01", "~", " | ", " ; "])
def test_rare_separators_are_found_in_the_values(
    delimiter: str, has_header: bool, tmp_path: Path
) -> None:
    rows = [HEAD, *ROWS] if has_header else ROWS
    _, found = read(tmp_path, text(*(row.replace(",", delimiter) for row in rows)), "votes.dat")
    assert labels_of(found) == LABELS


def test_a_separator_of_two_signs_may_stand_in_quotation_marks(tmp_path: Path) -> None:
    rows = (f'{w}::{i}::"{x}::sure"' for w, i, x in VOTES)
    _, found = read(tmp_path, text(HEAD.replace(",", "::"), *rows))
    assert labels_of(found) == {"yes::sure": 18, "no::sure": 12}


@pytest.mark.parametrize("has_bars", [True, False])
def test_tables_of_databases_are_read_without_their_rules(has_bars: bool, tmp_path: Path) -> None:
    ends = ("| ", " |") if has_bars else (" ", "")
    rule = "+----+----+-----+" if has_bars else "----+----+-----"
    rows = [f"{ends[0]}{' | '.join(one)}{ends[1]}" for one in (NAMES, *VOTES)]
    lines = [rule] * has_bars + [rows[0], rule, *rows[1:]] + [rule] * has_bars
    _, found = read(tmp_path, text(*lines), "votes.txt")
    assert labels_of(found) == LABELS


MORE = {"sure": True, "note": None, "quote": 'It\'s "fine" (really): True, None', "at": (1, 2.50)}


@pytest.mark.parametrize(
    "name", ["votes.json", "list.jsonl", "votes.jsonl", "object.json", "votes.csv"]
)
def test_values_that_python_printed_are_read(name: str, tmp_path: Path) -> None:
    votes = [{"annotator": w, "label": x, **MORE} for w, _, x in VOTES]
    records = [{"id": f"i{n}", "votes": votes[3 * n : 3 * n + 3]} for n in range(10)]
    cells = (f"{one['id']}\t{one['votes']}" for one in records)
    content = {
        "votes.json": str(records),
        "list.jsonl": str(records),
        "votes.jsonl": text(*map(str, records)),
        "object.json": str({"data": records}),
        "votes.csv": text("id\tvotes", *cells),
    }[name]
    _, found = read(tmp_path, content, name)
    assert labels_of(found) == LABELS
    assert {
        one["meta"].get("quote") or one["about_item"].get("quote") for one in found.checked.good
    } >= {MORE["quote"]}


def mongo(w: str, i: str, x: str) -> dict[str, Any]:
    at = {"$date": {"$numberLong": "1767225600000"}}
    return {"_id": {"$oid": f"65{w}{i}"}, "worker": w, "item": {"$oid": i}, "label": x, "at": at}


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.json"])
def test_types_of_mongodb_are_unwrapped(name: str, tmp_path: Path) -> None:
    rows = [mongo(*one) for one in VOTES]
    content = text(*map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows)
    _, found = read(tmp_path, content.replace('"at"', '"created_at"'), name)
    assert labels_of(found) == LABELS
    assert {one["item"] for one in found.checked.good} == {f"i{n}" for n in range(10)}
    assert {one["at"].year for one in found.checked.good} == {2026}


def test_types_of_mongodb_are_unwrapped_in_cells(tmp_path: Path) -> None:
    rows = (f'{{"$oid": "{w}"}}\t{{"$oid": "{i}"}}\t{x}' for w, i, x in VOTES)
    _, found = read(tmp_path, text("worker\titem\tlabel", *rows), "votes.tsv")
    assert labels_of(found) == LABELS
    assert {one["worker"] for one in found.checked.good} == {"w0", "w1", "w2"}


def test_types_of_mongodb_are_unwrapped_within_votes(tmp_path: Path) -> None:
    words = {"yes": 1, "no": 0}
    votes = [{"rater": {"$oid": w}, "label": {"$numberInt": str(words[x])}} for w, _, x in VOTES]
    shell = [{"_id": f"i{n}", "votes": votes[3 * n : 3 * n + 3]} for n in range(10)]
    printed = json.dumps(shell).replace('"_id": "', '"_id": ObjectId("')
    content = printed.replace('", "votes"', '"), "votes"')
    _, found = read(tmp_path, content, "votes.json")
    assert labels_of(found) == {"1": 18, "0": 12}


@pytest.mark.parametrize("printed", ["{'a': open('x')}", "[" * 500 + "'a'", "{'a': 1e999}", "{'"])
def test_text_that_is_no_value_of_python_stays_text(printed: str, tmp_path: Path) -> None:
    rows = (f"{w}\t{i}\t{x}\t{printed}{n % 3}" for n, (w, i, x) in enumerate(VOTES))
    _, found = read(tmp_path, text("worker\titem\tlabel\tsaid", *rows), "votes.tsv")
    assert labels_of(found) == LABELS


@pytest.mark.parametrize("sign", ["\\'", "a.", "1", "(", "' ", ", ", "1 "])
def test_rewriting_python_takes_time_by_length_alone(sign: str) -> None:
    begin = time.process_time()
    json_of_python("{'" * (sign != "1") + sign * (600_000 // len(sign)))
    is_printed("{" + sign * (600_000 // len(sign)))
    assert time.process_time() - begin < 3


ASIAN = {
    "cp949": ("긍정적인 리뷰이고 배송이 빨라요", "가격이 너무 비싸서 별로예요"),
    "gb18030": ("这个产品的质量很好我非常满意", "物流太慢而且客服不理人"),
    "big5": ("這個產品的品質很好我非常滿意", "物流太慢而且客服不理人"),
    "cp932": ("とても良い商品でした", "配送が遅くて残念です"),
    "euc_jp": ("とても良い商品でした", "配送が遅くて残念です"),
}
SHORT = {
    "cp949": ("긍정", "부정"),
    "gb18030": ("正面", "负面"),
    "big5": ("正面", "負面"),
    "cp932": ("はい", "いいえ"),
    "euc_jp": ("はい", "いいえ"),
}


@pytest.mark.parametrize("words", [ASIAN, SHORT], ids=["sentences", "words"])
@pytest.mark.parametrize("codec", ASIAN)
def test_east_asian_text_is_read_as_what_is_most_plausible(
    codec: str, words: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    meant = dict(zip(("yes", "no"), words[codec], strict=True))
    content = text(HEAD, *(f"{w},{i},{meant[x]}" for w, i, x in VOTES)).encode(codec)
    _, found = read(tmp_path, content)
    assert labels_of(found) == {meant["yes"]: 18, meant["no"]: 12}
    instead = [one[0] for one in encodings_instead(of_bytes(content))]
    assert ("may be" in found.sheet.encoding_note) == bool(instead)
    assert not instead or words is SHORT


def test_few_letters_that_fit_two_encodings_are_offered_with_a_sample(tmp_path: Path) -> None:
    meant = dict(zip(("yes", "no"), SHORT["cp949"], strict=True))
    path = tmp_path / "votes.csv"
    content = text(HEAD, *(f"{w},{i},{meant[x]}" for w, i, x in VOTES)).encode("cp949")
    path.write_bytes(content)
    lines = io.StringIO()
    call_command("crowdqc_score", path, stdout=io.StringIO(), stderr=lines)
    assert "EUC-KR: line 2 is not UTF-8; it is read as EUC-KR, but may be" in lines.getvalue()
    assert (
        f"--encoding gb18030: w0,i0,{content.decode('gb18030').splitlines()[1][6:]}"
        in lines.getvalue()
    )


def as_json(values: list[str]) -> str:
    return json.dumps(values)


@pytest.mark.parametrize("write", [",".join, "; ".join, as_json, str], ids=[",", ";", "JSON", "Py"])
@pytest.mark.parametrize("names", ["annotations,annotators", "annotator_ids,labels"])
def test_lists_in_step_in_cells_give_each_worker_a_label(
    write: Callable[[list[str]], str], names: str, tmp_path: Path
) -> None:
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["id", "text", *names.split(","), "split"])
    for item, given in by_item(lambda item, given: (item, given)):
        order = -1 if item == "i1" else 1
        people, labels = (list(one) for one in zip(*given[::order], strict=True))
        two = [labels, people] if names.startswith("annotations") else [people, labels]
        table.writerow([item, f"Text of {item}, a text", *map(write, two), "train"])
    _, found = read(tmp_path, file.getvalue())
    assert labels_of(found) == LABELS
    assert {(one["worker"], one["item"], one["label"]) for one in found.checked.good} == {*VOTES}
    assert any("step" in note for note in found.checked.notes)


def test_a_list_that_is_not_in_step_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [f'i{n},"yes,no,yes","w0,w1,w2"' for n in range(10)] + ['i10,"yes,no","w0,w1,w2"']
    _, found = read(tmp_path, text("id,annotations,annotators", *rows))
    assert len(found.checked.good) == 30
    assert [one.line for one in found.sheet.unreadable] == [12]


def pairs_of(found: Any) -> list[tuple[str, str, str, str]]:
    """Judge, topic, winner and loser of each comparison, in alphabetical order if they are tied."""
    pairs = []
    for one in found.checked.good:
        left, right = one["left"][0], one["right"][0]
        is_tie = one["winner"] == "neutral"
        first, second = (right, left) if one["winner"] == "right" else (left, right)
        order = sorted((first, second)) if is_tie else (first, second)
        pairs.append(
            (
                one["judge"],
                one["topic"],
                "=".join(order) if is_tie else ">".join(order),
                one["winner"],
            )
        )
    return pairs


def choices(head: str = "email,age") -> str:
    answers = ["correct", "incorrect", "undecided", "correct"]
    rows = (
        f"my test,{w}@x,{30 + w},trial{n},ref,codec{n % 2},{answers[(n + w) % 4]},3100,"
        for n in range(4)
        for w in range(3)
    )
    columns = (
        "trial_id,choice_reference,choice_non_reference,choice_answer,choice_time,choice_comment"
    )
    return text(f"session_test_id,{head},{columns}", *rows)


@pytest.mark.parametrize(("head", "judge"), [("email,age", "0@x"), ("gender,age", "0@x, 30")])
def test_paired_listening_tests_are_pairs(head: str, judge: str, tmp_path: Path) -> None:
    kind, found = read(tmp_path, choices(head), "paired_comparison.csv")
    pairs = pairs_of(found)
    assert (kind, len(pairs), found.checked.about["ties"]) == ("comparison_table", 12, 3)
    assert (judge, "trial0", "ref>codec0") in {one[:3] for one in pairs}
    assert (judge, "trial1", "codec1>ref") in {one[:3] for one in pairs}
    assert any("“correct”" in note for note in found.checked.notes)
    _, found = read(tmp_path, choices(head).replace("incorrect", "unknown"))
    assert (len(found.checked.good), len(found.sheet.unreadable)) == (9, 3)


# Of three judges and two items: owl before wren in five, and a tie in one.
ORDERS = [
    "owl>wren>tern",
    "owl>tern>wren",
    "wren>owl>tern",
    "owl>wren>tern",
    "owl=wren>tern",
    "tern>owl>wren",
]
ARGILLA = [
    [
        {"value": name, "rank": 1 + at}
        for at, group in enumerate(order.split(">"))
        for name in group.split("=")
    ]
    for order in ORDERS
]
SYSTEMS = ["owl", "wren", "tern"]


def ranks(order: str) -> list[str]:
    groups = [group.split("=") for group in order.split(">")]
    return [
        str(1 + sum(len(g) for g in groups[: next(i for i, g in enumerate(groups) if one in g)]))
        for one in SYSTEMS
    ]


def whose(n: int) -> str:
    return f"j{n % 3},q{n // 3}"


def in_json(order: str) -> str:
    return json.dumps(dict(zip(SYSTEMS, map(int, ranks(order)), strict=True)))


def argilla(k: int) -> str:
    given = [
        {"user_id": f"j{n}", "value": ARGILLA[3 * k + n], "status": "submitted"} for n in range(3)
    ]
    return json.dumps({"id": f"q{k}", "fields": {"text": "t"}, "responses": {"best": given}})


def ranked(head: str, write: Callable[[str], str], delimiter: str = ",") -> str:
    rows = (f"{whose(n).replace(',', delimiter)}{write(one)}" for n, one in enumerate(ORDERS))
    return text(head, *rows)


RANKED = {
    "order": ranked("judge,item,answer", lambda one: "," + one.replace(">", " > ")),
    "ranks": ranked(
        "judge,item,rank_owl,rank_wren,rank_tern", lambda one: "," + ",".join(ranks(one))
    ),
    "JSON": ranked("judge\titem\tranking", lambda one: "\t" + in_json(one), "\t"),
    "Argilla": text(argilla(0), argilla(1)),
}


@pytest.mark.parametrize("case", RANKED)
def test_rankings_are_their_pairs(case: str, tmp_path: Path) -> None:
    kind, found = read(tmp_path, RANKED[case], "votes.jsonl" if case == "Argilla" else "votes.csv")
    pairs = [one[:3] for one in pairs_of(found)]
    assert (kind, len(pairs), found.checked.about["ties"]) == ("comparison_table", 18, 1)
    assert ("j0", "q0", "owl>wren") in pairs and ("j2", "q1", "tern>owl") in pairs
    assert ("j1", "q1", "owl=wren") in pairs
    assert sum("ranking" in note for note in found.checked.notes) == 1


def test_columns_of_places_and_orders_without_ties_are_rankings(tmp_path: Path) -> None:
    orders = [one.replace("=", ">").split(">") for one in ORDERS]
    for head, rows in (
        ("judge,item,Rank 1,Rank 2,Rank 3", [",".join(one) for one in orders]),
        ("judge,item,1st,2nd,3rd", [",".join(one) for one in orders]),
        ("judge,item,owl,wren,tern", [",".join(ranks(">".join(one))) for one in orders]),
    ):
        content = text(head, *(f"{whose(n)},{row}" for n, row in enumerate(rows)))
        kind, found = read(tmp_path, content)
        assert (kind, len(found.checked.good)) == ("comparison_table", 18)
        assert ("j2", "q1", "tern>owl") in [one[:3] for one in pairs_of(found)]


def test_counted_rankings_of_preflib_are_read(tmp_path: Path) -> None:
    names = (f"# ALTERNATIVE NAME {n}: {one}" for n, one in enumerate(SYSTEMS, 1))
    lines = ["# FILE NAME: x.toc", "# NUMBER ALTERNATIVES: 3", *names]
    kind, found = read(tmp_path, text(*lines, "3: 1,2,3", "2: 3,{1,2}", "1: 2"), "votes.toc")
    pairs = [one[2] for one in pairs_of(found)]
    assert (kind, len(pairs), found.checked.about["ties"]) == ("comparison_table", 15, 2)
    assert (pairs.count("owl>wren"), pairs.count("tern>owl")) == (3, 2)
    assert len({one["judge"] for one in found.checked.good}) == 5
    assert len(found.sheet.unreadable) == 1


def test_signs_of_orders_in_texts_rank_nothing(tmp_path: Path) -> None:
    rows = (f'{w},{i},{x},"a{i} > b{w} > <b>c</b> > {i}{w}"' for w, i, x in VOTES)
    kind, found = read(tmp_path, text(f"{HEAD},text_of_item", *rows))
    assert (kind, labels_of(found)) == ("label_table", LABELS)


def matrix_of(*rows: str) -> str:
    return text("," + ",".join(SYSTEMS), *(f"{a},{b}" for a, b in zip(SYSTEMS, rows, strict=True)))


def test_matrices_of_wins_are_pairs_and_others_are_refused(tmp_path: Path) -> None:
    kind, found = read(tmp_path, matrix_of("-,7,5", "3,-,4", "1,0,-"))
    pairs = [one[2] for one in pairs_of(found)]
    assert (kind, len(pairs), found.checked.about["counted"]) == ("comparison_table", 20, 20)
    assert (pairs.count("owl>wren"), pairs.count("wren>owl")) == (7, 3)
    for rows, reason in (
        (("9,7,5", "3,8,4", "1,0,9"), "counts pairs of labels"),
        (("-,0.7,0.5", "0.3,-,0.4", "0.5,0.6,-"), "shares or scores"),
        (("0,7,5", "7,0,4", "5,4,0"), "both ways"),
    ):
        with pytest.raises(Invalid, match=reason):
            read(tmp_path, matrix_of(*rows))


def form_answers(question: str, answer: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="http://mechanicalturk'
        '.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"><Answer>'
        f"<QuestionIdentifier>{question}</QuestionIdentifier>{answer}</Answer></QuestionFormAnswers>"
    )


@pytest.mark.parametrize(
    ("question", "write"),
    [
        ("mood", "<FreeText>{} &amp; fine</FreeText>"),
        ("mood", "\n<SelectionIdentifier>{}</SelectionIdentifier>\n"),
        ("mood", "<FreeText><![CDATA[{} & fine]]></FreeText>"),
        ("taskAnswers", '<FreeText>[{{"mood":{{"label":"{}"}}}}]</FreeText>'),
    ],
)
def test_answers_of_question_forms_are_opened(question: str, write: str, tmp_path: Path) -> None:
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Answer"])
    for at, (w, i, x) in enumerate(VOTES):
        table.writerow([i, f"a{at}", w, "Approved", form_answers(question, write.format(x))])
    _, found = read(tmp_path, file.getvalue())
    end = " & fine" if "&" in write else ""
    assert labels_of(found) == {f"{x}{end}": n for x, n in LABELS.items()}


@pytest.mark.parametrize(
    "content",
    [
        '<?xml version="1.0"?><annotations><label>yes</label></annotations>',
        "\n<corpus><doc id='1'/></corpus>",
        form_answers("mood", "<FreeText>yes</FreeText>"),
    ],
)
def test_xml_is_refused_with_what_to_export_instead(content: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="XML") as refused:
        read(tmp_path, content, "annotations.xml")
    assert "CSV or JSON" in refused.value.fields["file"]


def phoenix(has_users: bool) -> str:
    kinds = ["HUMAN", "LLM", "CODE"]
    rows = (
        f"{i},quality,{kinds[int(w[1])]},{x},{int(x == 'yes')}.0,Reason of {w}"
        + (f",ann{n % 2}" if has_users and w == "w0" else "," * has_users)
        for n, (w, i, x) in enumerate(VOTES)
    )
    head = "span_id,name,annotator_kind,label,score,explanation"
    return text(head + ",user_id" * has_users, *rows)


@pytest.mark.parametrize("has_users", [False, True])
def test_annotations_of_phoenix_are_labels_by_kind_of_annotator(
    has_users: bool, tmp_path: Path
) -> None:
    kind, found = read(tmp_path, phoenix(has_users))
    assert (kind, dict(found.checked.about["labels"])) == ("label_table", LABELS)
    workers = {one["worker"] for one in found.checked.good}
    assert workers == ({"ann0", "ann1"} if has_users else {"HUMAN"}) | {"LLM", "CODE"}
    assert any("annotator_kind" in note for note in found.checked.notes)
    assert found.checked.good[0]["about_item"]["name"] == "quality"
    rows = phoenix(has_users).replace(",yes,", ",,").replace(",no,", ",,").replace("1.0", "0.75")
    kind, found = read(tmp_path, rows)
    assert (kind, len(found.checked.good)) == ("rating_table", 30)
    kind, found = read(tmp_path, rows.replace("label,", "").replace(",,", ",", 30))
    assert (kind, len(found.checked.good)) == ("rating_table", 30)


def test_several_annotations_of_phoenix_are_chosen_from_by_name(tmp_path: Path) -> None:
    more = phoenix(False).replace("quality", "tone").splitlines()[1:]
    with pytest.raises(Invalid, match="name holds 2 kinds of score"):
        read(tmp_path, phoenix(False) + text(*more))
    _, found = read(tmp_path, phoenix(False) + text(*more), uses={"name": "tone"})
    assert labels_of(found) == LABELS


def test_annotation_sets_of_teamware_are_votes(tmp_path: Path) -> None:
    def features(x: str) -> dict[str, Any]:
        own = {"type": "Document", "start": 0, "end": 4, "id": 0, "features": {"mood": x}}
        return {"annotations": [own], "next_annid": 1}

    records = [
        {
            "text": f"Text of {item}",
            "features": {"name": item},
            "offset_type": "p",
            "annotation_sets": {w: {"name": w, **features(x)} for w, x in given},
        }
        for item, given in by_item(lambda item, given: (item, given))
    ]
    _, found = read(tmp_path, json.dumps(records), "annotations.json")
    assert labels_of(found) == LABELS
    assert {one["text"] for one in found.checked.good} == {f"Text of i{n}" for n in range(10)}


COMMENTS = ["Great, thanks!", "", "I found text 2 hard, really", "none", "", "none"]
ASKED = ["How good is summary 1?", "How good is summary 2?", "How good is summary 3?"]


def answered(head: list[str], about: Callable[[int], list[str]], each: bool = False) -> str:
    """Six people who rate three summaries, and comment on all or on each of them."""
    file = io.StringIO()
    table = csv.writer(file)
    asked = [one for name in ASKED for one in (name, f"Comment on {name}")] if each else ASKED
    table.writerow([*head, *asked, *(["Any comments?"] * (not each))])
    for k in range(6):
        given = [str(1 + (k + n) % 4) for n in range(3)]
        ends = [COMMENTS[(k + n) % 6] for n in range(3)]
        both = [one for pair in zip(given, ends, strict=True) for one in pair]
        table.writerow([*about(k), *(both if each else [*given, COMMENTS[k]])])
    return file.getvalue()


@pytest.mark.parametrize("each", [False, True], ids=["one comment", "comments on each"])
@pytest.mark.parametrize(
    ("head", "about", "worker"),
    [
        (
            ["ID", "Start time", "Completion time", "Email", "Name"],
            lambda k: [str(k), f"11/30/26 10:0{k}:00", f"11/30/26 10:1{k}:00", "anonymous", ""],
            "0",
        ),
        (
            ["Timestamp", "Email Address"],
            lambda k: [f"2026/11/01 9:0{k}:00 AM GMT+1", f"p{k}@x.org"],
            "p0@x.org",
        ),
        (
            ["Timestamp"],
            lambda k: [f"2026/11/01 9:0{k}:00 AM GMT+1"],
            "2026/11/01 9:00:00 AM GMT+1",
        ),
    ],
    ids=["Microsoft", "Google", "anonymous"],
)
def test_comments_beside_the_ratings_of_a_form_stay_texts(
    head: list[str], about: Callable[[int], list[str]], worker: str, each: bool, tmp_path: Path
) -> None:
    kind, found = read(tmp_path, answered(head, about, each), "form.csv")
    good = list(found.checked.good)
    assert (kind, len(good), {one["item"] for one in good}) == ("rating_table", 18, {*ASKED})
    assert {one["score"] for one in good} == {1, 2, 3, 4}
    assert (worker, ASKED[0]) in {(one["worker"], one["item"]) for one in good}
    assert any("omment" in note for note in found.checked.notes)
    assert each or "Great, thanks!" in {said for one in good for said in one["meta"].values()}


@pytest.mark.parametrize("head", ["Word 1,Word 2,Human (mean)", "pair,Mean,SD"])
def test_ratings_in_a_column_for_each_worker_are_read_without_means(
    head: str, tmp_path: Path
) -> None:
    scores = [[str(round((7 * n + 3 * k) % 11 * 0.75, 2)) for k in range(13)] for n in range(6)]
    about = ["tiger,cat", "tiger,dog", "book,paper", "plane,car", "drug,abuse", "bread,butter"]
    if head.startswith("pair"):
        about = [f"{one.replace(',', '-')},4.5" for one in about]
    rows = (f"{one},5.51,{','.join(said)}" for one, said in zip(about, scores, strict=True))
    kind, found = read(tmp_path, text(f"{head},{','.join(map(str, range(1, 14)))}", *rows))
    good = list(found.checked.good)
    assert (kind, len(good), len({one["worker"] for one in good})) == ("rating_table", 78, 13)
    assert len({one["item"] for one in good}) == 6
    assert [one["score"] / found.checked.about["factor"] for one in good][:13] == [
        float(one) for one in scores[0]
    ]
    assert any("sum up others" in note for note in found.checked.notes)


def test_labels_that_pandas_wrote_as_decimals_stay_labels(tmp_path: Path) -> None:
    rows = (f"t{n}{k},{n % 2}.0,{(n + k) % 2}.0,nan" for n in range(4) for k in range(2))
    kind, found = read(tmp_path, text("text_id,rater1,rater2,rater3", *rows))
    assert kind == "label_matrix"
    assert len(found.checked.about["labels"]) == 2


@pytest.mark.parametrize("cell", [" " * 400_000, "> " * 200_000, "<QuestionFormAnswers>" * 20_000])
def test_long_cells_take_no_longer_than_their_length(cell: str, tmp_path: Path) -> None:
    more = ["<QuestionIdentifier>a</QuestionIdentifier>", "<FreeText><![CDATA["]
    cell += "".join(more * 5_000) if cell[:1] == "<" else "x"
    begin = time.process_time()
    rows = (f"{w},{i},{x},{cell if n == 3 else ''}" for n, (w, i, x) in enumerate(VOTES))
    read(tmp_path, text(f"{HEAD},more", *rows))
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("told", ["names", "headers"])
def test_sides_and_winner_of_any_name_are_known_by_their_values(told: str, tmp_path: Path) -> None:
    bots, rows = ("Ada", "Bo", "Cy"), []
    for at in range(24):
        first, second = bots[at % 3], bots[(at + 1 + at % 2) % 3]
        won = (first, second) if told == "names" else ("bot A", "bot B")
        rows.append(f"{first},{second},{(*won, 'tie')[at // 2 % 3]},kim{at % 4},Question {at // 2}")
    _, found = read(tmp_path, text("bot A,bot B,better,who,prompt", *rows))
    battles = list(found.checked.good)
    assert len(battles) == 24 and {one["judge"] for one in battles} == {f"kim{n}" for n in range(4)}
    assert {one[side][0] for one in battles for side in ("left", "right")} == {*bots}
    assert sum(one["winner"] == "neutral" for one in battles) == 8


def test_two_coders_and_what_they_agreed_on_are_no_comparison(tmp_path: Path) -> None:
    rows = (
        f"t{at},{'yes' if at % 3 else 'no'},{'yes' if at % 2 else 'no'},yes" for at in range(30)
    )
    _, found = read(tmp_path, text("text,Kim,Lee,final", *rows))
    assert {one["worker"] for one in found.checked.good} == {"Kim", "Lee"}


def test_orders_of_the_same_names_apart_by_spaces_are_rankings(tmp_path: Path) -> None:
    orders = ("ada bo cy", "bo ada cy", "cy bo ada", "ada cy bo", "bo cy ada")
    rows = (f"kim{at},{orders[at % 5]},{orders[(at + 2) % 5]}" for at in range(10))
    _, found = read(tmp_path, text("user,Q1,Q2", *rows))
    pairs = pairs_of(found)
    assert len(pairs) == 60 and {topic for _, topic, *_ in pairs} == {"Q1", "Q2"}
    assert {judge for judge, *_ in pairs} == {f"kim{at}" for at in range(10)}
    assert ("kim0", "Q1", "ada>bo") in {one[:3] for one in pairs}


def test_numbers_of_people_beside_two_answers_choose_between_them(tmp_path: Path) -> None:
    rows = (f"Ask,Text {at},Other {at},{at % 3},{(at + 1) % 3},1" for at in range(12))
    head = "instruction,response1,response2,annotator1,annotator2,annotator3"
    _, found = read(tmp_path, text(head, *rows))
    pairs = pairs_of(found)
    assert len(pairs) == 36 and len({judge for judge, *_ in pairs}) == 3
    won = [said for *_, said, _ in pairs]
    assert (won.count("response1>response2"), won.count("response1=response2")) == (20, 8)


def test_verdicts_that_differ_in_an_accent_or_alphabet_are_never_one() -> None:
    assert winner_of("À") != winner_of("Á") and winner_of("А") != winner_of("A")
    assert winner_of("a") == winner_of("A") == "model_a"


def test_a_final_label_in_any_language_is_no_worker(tmp_path: Path) -> None:
    rows = (f"{at},{'好' if at % 3 else '坏'},{'好' if at % 2 else '坏'},好" for at in range(20))
    _, found = read(tmp_path, text("编号,张三,李四,最终标签", *rows))
    assert {one["worker"] for one in found.checked.good} == {"张三", "李四"}


def test_reasons_beside_the_labels_of_reviewers_are_texts(tmp_path: Path) -> None:
    told = ("good", "bad")
    rows = (f"t{at},{told[at % 2]},clear {at},{told[at % 3 == 0]},wrong {at}" for at in range(20))
    _, found = read(tmp_path, text("item,Kim.tone,Kim.tone.reason,Lee.tone,Lee.tone.reason", *rows))
    assert {one["worker"] for one in found.checked.good} == {"Kim.tone", "Lee.tone"}


def test_reviewers_of_several_criteria_are_asked_for_one(tmp_path: Path) -> None:
    names = [f"{who}.{what}" for who in ("Kim", "Lee") for what in ("tone", "facts")]
    head = ",".join(["item", *names, *(f"{name}.reason" for name in names)])
    with pytest.raises(Invalid) as refused:
        read(tmp_path, text(head, *(f"t{at},a,b,a,b,w,x,y,z" for at in range(9))))
    assert "Kim, Lee" in refused.value.message and "tone, facts" in refused.value.message
