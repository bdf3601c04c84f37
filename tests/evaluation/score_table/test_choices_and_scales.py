"""Choices of experiments, judges and surveys, answers on scales, and trials that are no votes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotation.files.reading.alphabets import tell_alphabet
from crowdqc.errors import Invalid
from tests.evaluation.score_table.test_odd_files import text, workbook
from tests.evaluation.score_table.test_odd_forms import pairs_of
from tests.evaluation.score_table.test_odd_tables import read

# Two of three systems at a time, and which one won.
BATTLES = [("owl", "wren", 0), ("wren", "tern", 0), ("tern", "owl", 1), ("wren", "owl", 1)] * 3
WON = Counter({"owl": 9, "wren": 3})
JUDGES = ("ann", "ben", "cem")


def wins(found: Any) -> Counter[str]:
    return Counter(one[2].partition(">")[0] for one in pairs_of(found) if ">" in one[2])


def battles(verdict: str, head: str) -> str:
    sides = dict(zip("01", verdict.split("/"), strict=True))
    rows = [
        f"{JUDGES[at % 3]},{at},{a},{b},{sides.get(str(won), '')}"
        for at, (a, b, won) in enumerate(BATTLES)
    ]
    return text(f"participant,trial,{head}", *rows)


@pytest.mark.parametrize("verdict", ["left/right", "f/j", "q/p", "ArrowLeft/ArrowRight", "1/2"])
def test_keys_and_places_say_which_side_won(verdict: str, tmp_path: Path) -> None:
    kind, found = read(tmp_path, battles(verdict, "stim_left,stim_right,response"))
    assert (kind, wins(found)) == ("comparison_table", WON)


def test_few_rows_whose_winner_is_named_are_comparisons(tmp_path: Path) -> None:
    rows = [f"p{at % 2},{a},{b},{(a, b)[won]}" for at, (a, b, won) in enumerate(BATTLES[:6])]
    kind, found = read(tmp_path, text("pupil,a,b,better", *rows))
    assert (kind, len(found.checked.good)) == ("comparison_table", 6)


@pytest.mark.parametrize("by", ["name", "place", "column"])
def test_the_best_and_worst_of_a_set_are_read_as_pairs(by: str, tmp_path: Path) -> None:
    """The best beats three, the worst loses to the other two, too."""
    own = ("owl", "wren", "tern", "kite")
    said = {"name": "owl,kite", "place": "1,4", "column": "Item1,Item4"}[by]
    rows = [f"{judge},{','.join(own)},{said}" for judge in JUDGES]
    kind, found = read(tmp_path, text("judge,Item1,Item2,Item3,Item4,Best,Worst", *rows))
    assert kind == "comparison_table"
    assert wins(found) == {"owl": 9, "wren": 3, "tern": 3}


def test_a_best_and_worst_without_their_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="choose from several"):
        read(tmp_path, text("judge,best,worst", *(f"{one},owl,wren" for one in JUDGES)))


def test_ranks_beside_the_names_of_systems_are_pairs_and_a_missing_rank_is_none(
    tmp_path: Path,
) -> None:
    head = "judgeId,segmentId," + ",".join(f"system{n}Id,system{n}rank" for n in (1, 2, 3))
    rows = [f"{one},{n},owl,1,wren,2,tern,-1" for n, one in enumerate(JUDGES)]
    _, found = read(tmp_path, text(head, *rows))
    assert [one[2] for one in pairs_of(found)] == ["owl>wren"] * 3


def test_two_looks_at_a_pair_that_differ_are_a_tie(tmp_path: Path) -> None:
    """As MT-bench counts: a win needs both orders; an error is no verdict."""
    looks = [("model_1", "model_1"), ("model_2", "model_1"), ("error", "model_2"), ("tie", "tie")]
    rows = [
        {"question_id": 80 + n, "model_1": "owl", "model_2": "wren", "g1_winner": first}
        | {"g2_winner": second, "judge": ["gpt-4", "pair-v2"], "turn": 1}
        for n, (first, second) in enumerate(looks)
    ]
    _, found = read(tmp_path, text(*map(json.dumps, rows)), "pairs.jsonl")
    said = [(one[0], one[2]) for one in pairs_of(found)]
    assert said == [("gpt-4", one) for one in ("owl>wren", "owl=wren", "wren>owl", "owl=wren")]


def test_games_against_a_baseline_exchange_their_sides(tmp_path: Path) -> None:
    scores = [("B>A", "A>>B"), ("A>B", "B>A"), ("A>B", "A>B")]
    rows = [
        {"question_id": f"q{n}", "model": "owl", "judge": "gpt-4"}
        | {"games": [{"score": first}, {"score": second}]}
        for n, (first, second) in enumerate(scores)
    ]
    _, found = read(tmp_path, text(*map(json.dumps, rows)), "arena.jsonl")
    assert [one[2] for one in pairs_of(found)] == ["owl>baseline", "baseline>owl", "baseline=owl"]


def test_replies_of_judges_end_in_their_verdict(tmp_path: Path) -> None:
    said = ["A names it. [[B]]", "Final: [[A]]", "[[C]]", "I cannot tell."] * 2
    rows = [
        {"prompt_id": f"q{n}", "judge_model": "m", "assistant_a": "owl", "assistant_b": "wren"}
        | {"judgment": one}
        for n, one in enumerate(said)
    ]
    _, found = read(tmp_path, text(*map(json.dumps, rows)), "judged.jsonl")
    assert [one[2] for one in pairs_of(found)] == ["wren>owl", "owl>wren", "owl=wren"] * 2
    assert len(found.checked.problems) == 2


def test_questions_which_of_two_is_better_are_comparisons(tmp_path: Path) -> None:
    head = ",".join(f"Which answer is better? [Question {n}]" for n in (1, 2, 3))
    rows = [f"2026-11-0{n} 10:00:00,p{n},Bot A,Bot B,No preference" for n in range(1, 5)]
    kind, found = read(tmp_path, text(f"Timestamp,Name,{head}", *rows))
    assert (kind, len(found.checked.good)) == ("comparison_table", 12)
    assert Counter(one[2] for one in pairs_of(found)) == {
        "Bot A>Bot B": 4, "Bot B>Bot A": 4, "Bot A=Bot B": 4,
    }  # fmt: skip
    assert {one[1] for one in pairs_of(found)} == {"Question 1", "Question 2", "Question 3"}


# Scales ------------------------------------------------------------------------------------------

WORDS = {
    "en": ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    "fr": [
        *("Pas du tout d'accord", "Plutôt pas d'accord", "Ni d'accord ni pas d'accord"),
        *("Plutôt d'accord", "Tout à fait d'accord"),
    ],
    "de": ["nie", "selten", "manchmal", "oft", "immer"],
}


@pytest.mark.parametrize("language", WORDS)
def test_words_of_a_scale_are_ratings_in_their_order(language: str, tmp_path: Path) -> None:
    """Alphabetical order would put "Agree" below "Disagree"."""
    head = ",".join(f"It is clear. [Text {n}]" for n in range(1, 5))
    rows = [
        f"2026-11-0{n + 1} 10:00:00,p{n}@x.org,"
        + ",".join(f'"{WORDS[language][(n + k) % 5]}"' for k in range(4))
        for n in range(5)
    ]
    kind, found = read(tmp_path, text(f"Timestamp,Email Address,{head}", *rows))
    good = list(found.checked.good)
    assert (kind, len(good), {one["item"] for one in good}) == (
        "rating_table", 20, {f"Text {n}" for n in range(1, 5)},
    )  # fmt: skip
    assert [one["score"] for one in good if one["worker"] == "p0@x.org"] == [1, 2, 3, 4]


def test_a_grid_of_numbers_in_a_form_is_ratings_and_an_age_is_none(tmp_path: Path) -> None:
    head = ",".join(f"Rate the texts [Text {n}]" for n in range(1, 4))
    rows = [
        f"2026-11-0{n + 1} 10:00:00,p{n}@x.org,{n % 5 + 1},{n % 4 + 1},3,2{n}" for n in range(6)
    ]
    kind, found = read(tmp_path, text(f"Timestamp,Email Address,{head},Your age", *rows))
    assert (kind, len(found.checked.good)) == ("rating_table", 18)


def test_several_criteria_are_asked_for_one(tmp_path: Path) -> None:
    rows = [
        f"{one},t{n},{(n + k) % 5 + 1},{n % 5 + 1}"
        for k, one in enumerate(JUDGES)
        for n in range(6)
    ]
    content = text("rater,text_id,fluency,adequacy", *rows)
    with pytest.raises(Invalid, match="fluency, adequacy"):
        read(tmp_path, content)
    _, found = read(tmp_path, content, uses={"fluency": "adequacy"})
    by_text = Counter((one["item"], one["score"]) for one in found.checked.good)
    assert by_text == {(f"t{n}", n % 5 + 1): 3 for n in range(6)}


def test_people_who_rate_each_other_are_read_as_their_corner_says(tmp_path: Path) -> None:
    rows = ["Ana,—,5,4", "Bea,7,—,6.5", "Cid,9,8,—", "Promedio,8,6.5,5.25"]
    _, found = read(tmp_path, text("Evaluador ↓ / Evaluado →,Ana,Bea,Cid", *rows))
    told = {(one["worker"], one["item"]): one["score"] for one in found.checked.good}
    assert (len(told), told["Ana", "Bea"], told["Bea", "Cid"]) == (6, 50, 65)


# Rows and columns --------------------------------------------------------------------------------


def test_practice_and_fixations_are_no_votes_and_are_named(tmp_path: Path) -> None:
    rows = []
    for one in JUDGES:
        rows += [f"{one},instructions,,next", f"{one},practice,p.png,f", f"{one},fixation,+,"]
        rows += [f"{one},trial,i{n}.png,{'fj'[n % 2]}" for n in range(6)]
    _, found = read(tmp_path, text("subject,task,stimulus,response", *rows))
    assert len(found.checked.good) == 18
    assert {one.value for one in found.checked.problems} == {
        "instructions", "practice", "fixation",
    }  # fmt: skip


def test_rounds_that_show_each_person_another_order_are_read_by_what_they_show(
    tmp_path: Path,
) -> None:
    """Taking the round as the item would compare ratings of different clips."""
    head = ",".join(f"rate.{n}.player.stimulus,rate.{n}.player.trust_rating" for n in (1, 2, 3, 4))
    clips = {"k": 1, "l": 3, "m": 5, "n": 7}
    rows = []
    for at, one in enumerate(JUDGES):
        order = [*clips][at:] + [*clips][:at]
        rows.append(f"{one}," + ",".join(f"{clip},{clips[clip]}" for clip in order))
    kind, found = read(tmp_path, text(f"participant.code,{head}", *rows))
    assert kind == "rating_table"
    assert {(one["item"], one["score"]) for one in found.checked.good} == {*clips.items()}


def test_a_list_of_items_in_a_form_of_mturk_is_a_row_each(tmp_path: Path) -> None:
    head = "WorkerId,HITId," + ",".join(f"Input.text{n}" for n in (1, 2))
    rows = [f"{one},h1,first,second,yes,no" for one in JUDGES]
    _, found = read(tmp_path, text(f"{head},Answer.label1,Answer.label2", *rows))
    assert Counter((one["item"], one["label"]) for one in found.checked.good) == {
        ("first", "yes"): 3, ("second", "no"): 3,
    }  # fmt: skip


def test_a_sheet_for_each_person_is_read_with_their_names(tmp_path: Path) -> None:
    def write(book: Any) -> None:
        for at, one in enumerate(JUDGES):
            sheet = book.add_worksheet(one)
            sheet.write_row(0, 0, ["ID", "Text", "Code"])
            for n in range(6):
                sheet.write_row(n + 1, 0, [n, f"Sentence {n}", "abc"[(n + at // 2) % 3]])

    _, found = read(tmp_path, workbook(write), "codes.xlsx")
    assert Counter(one["worker"] for one in found.checked.good) == dict.fromkeys(JUDGES, 6)


def test_decisions_of_rayyan_are_read_by_reviewer(tmp_path: Path) -> None:
    said = ["Included", "Excluded", "Excluded", "Included"]
    cells = [
        f'RAYYAN-INCLUSION: {{"Ann"=>"{one}", "Ben"=>"{said[n - 1]}"}} | RAYYAN-LABELS: x'
        for n, one in enumerate(said)
    ]
    content = io.StringIO()
    table = csv.writer(content)
    table.writerow(["key", "title", "notes"])
    table.writerows([f"r-{n}", f"Title {n}", cell] for n, cell in enumerate(cells))
    _, found = read(tmp_path, content.getvalue())
    assert Counter(one["worker"] for one in found.checked.good) == {"Ann": 4, "Ben": 4}


def test_tables_that_r_writes_with_spaces_are_read(tmp_path: Path) -> None:
    rows = [
        f'"{at}" "{one}" "s{n}" "{"yes no".split()[n % 2]}"'
        for at, (one, n) in enumerate((one, n) for one in JUDGES for n in range(4))
    ]
    _, found = read(tmp_path, text('"rater" "subject" "label"', *rows), "votes.txt")
    assert len(found.checked.good) == 12


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("cp1251", "аннотатор текст метка Привет мир новый отзыв"),
        ("koi8_r", "аннотатор текст метка Привет мир новый отзыв"),
        ("cp1253", "Σχολιαστής κείμενο ετικέτα καλημέρα κόσμε"),
        ("cp1255", "מתייג טקסט תווית שלום עולם זה טוב"),
        ("cp1256", "المعلق النص التصنيف مرحبا بالعالم"),
    ],
)
def test_alphabets_are_told_by_their_frequent_letters(codec: str, words: str) -> None:
    found = tell_alphabet(words.encode(codec))
    assert found is not None and words.encode(codec).decode(found[0]) == words
    assert tell_alphabet("Prüfer Größe Übung Jörg Äpfel müde café déjà".encode("cp1252")) is None


@pytest.mark.parametrize(
    ("write", "score"),
    [("{}%", 70), ("{}/10", 7), ("{} von 10", 7), ("stars", 7)],
    ids=["per cent", "of ten", "German", "stars"],
)
def test_written_scores_are_numbers(write: str, score: int, tmp_path: Path) -> None:
    """An essay would be read as the label, as its names are the fewest."""
    unit = 10 if write == "{}%" else 1
    rows = []
    for at, one in enumerate(JUDGES):
        for n in range(6):
            given = 7 if n == 0 else 3 + (n + at) % 4
            rows.append(
                f"{one},e{n},{'★' * given if write == 'stars' else write.format(given * unit)}"
            )
    kind, found = read(tmp_path, text("teacher,essay,mark", *rows))
    good = list(found.checked.good)
    assert (kind, len(good)) == ("rating_table", 18)
    assert {one["score"] for one in good if one["item"] == "e0"} == {score}


def test_jurors_by_name_who_rank_with_ordinals_are_workers(tmp_path: Path) -> None:
    rows = ["Horta;9A;1º;3;1;5", "Filtro;9A;3º;1;2,5;6,5", "Robô;8A;2º;2;2,5;6,5"]
    _, found = read(tmp_path, text("Feira 2023 (1º = melhor)", "Projeto;Turma;Jurado Kátia;"
                                   "Jurado Leandro;Jurado Mário;Soma", *rows))  # fmt: skip
    good = list(found.checked.good)
    assert len(good) == 9 and {one["worker"] for one in good} == {
        "Jurado Kátia", "Jurado Leandro", "Jurado Mário",
    }  # fmt: skip


NO_VOTES = {
    "results": ("segment,system,COMET,BLEU", "s{n},owl,0.{n},4{n}.5", "COMET, BLEU"),
    "log": ("ts,user,doc,event,ms", "{n},ann,d{n},scroll,{n}7", "event and ts"),
    "stretches": ("tier,annotator,begin,end,value", "t,ann,{n},{n}9,smile", "begin and end"),
    "questions": (
        "text,ann_tone,ann_topic,ben_tone,ben_topic", "t{n},good,food,bad,price", "tone, topic",
    ),
    "list": ("pair,annotator_labels", 'p{n},"[""e"", ""n"", ""e""]"', "does not say who"),
    "tags": ("token,tag", "w{n},B-PER", "tag for each token"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_VOTES)
def test_what_is_no_vote_is_refused_by_what_it_is(case: str, tmp_path: Path) -> None:
    head, row, reason = NO_VOTES[case]
    rows = [row.format(n=n) for n in range(1, 9)] + (["w,O", "v,O"] if case == "tags" else [])
    with pytest.raises(Invalid, match=reason):
        read(tmp_path, text(head, *rows))


def test_spans_of_texts_are_no_labels(tmp_path: Path) -> None:
    rows = [
        {"id": n, "text": "Ann met Ben", "username": one, "label": [[0, 3, "PER"], [8, 11, "PER"]]}
        for one in JUDGES
        for n in range(4)
    ]
    with pytest.raises(Invalid, match="parts of the text"):
        read(tmp_path, text(*map(json.dumps, rows)), "all.jsonl")


def test_files_of_an_archive_with_several_criteria_name_their_people(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for at, one in enumerate(JUDGES):
            rows = [f"{n},{(n + at) % 9 + 1},{n % 9 + 1}" for n in range(5)]
            archive.writestr(f"panel/{one}.csv", text("Sample,Sweetness,Aroma", *rows))
    with pytest.raises(Invalid, match="Sweetness, Aroma"):
        read(tmp_path, file.getvalue(), "panel.zip")
    _, found = read(tmp_path, file.getvalue(), "panel.zip", uses={"Sweetness": "Aroma"})
    assert {one["worker"] for one in found.checked.good} == {*JUDGES}
