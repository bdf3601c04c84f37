"""What a row of judgments means: which pair, shown how, whose, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.files.reading.importer import CheckedRows, Reader, guess
from annotation.files.reading.sheet import sheet_of
from annotation.formats.imports.authors import digest_text
from annotation.formats.imports.judged_pairs import KnownPair
from annotation.formats.imports.judgment_lines import JudgmentLine, KnownJudgments, Lines
from annotation.formats.imports.judgments import Judgments
from annotation.task_types.pairwise.sides import left_right, to_canonical, to_displayed
from annotation.work.snapshots.judgments import AskedDimension

Row = dict[str, Any]
ASKED = (AskedDimension("clarity", "Clarity"), AskedDimension("overall", "Overall", neutral=False))
PAIRS = (
    KnownPair(1, "p-1", "t-1", "t-2"),
    KnownPair(2, "p-2", "t-1", "t-3"),
    KnownPair(3, "p-3", "t-2", "t-3", side=1),
    KnownPair(4, "p-4", "t-2", "t-3", side=-1),
    KnownPair(5, "p-5", "t-1", "t-4", asked=False),
)
KNOWN = KnownJudgments(
    pairs=PAIRS,
    attention={"gold"},
    people={"kestrel-07": 7, "ann": 7, "gone": 8},
    removed={8},
    names=["Wren"],
    strategies=["short"],
    there={(("worker", 7), "p-1", False): {"clarity": "first", "overall": "second"}},
)


def check(rows: list[Row], known: KnownJudgments = KNOWN, asked: Any = ASKED) -> CheckedRows:
    sheet, form = sheet_of(rows), Judgments(asked)
    checked = form.check(sheet.rows, guess(sheet.columns, form.fields), known)
    checked.problems = checked.problems.merged(sheet.unreadable)
    return checked


CELLS = {
    "item_id": ["p-1", "p-2", "p-9", "gold", ""],
    "worker": ["ann", "bo", "gone", ""],
    "system": ["", "Wren"],
    "replicate": ["", "1", "x"],
    "flipped": ["", "true", "perhaps"],
    "clarity": ["first", "left", "neutral", "frist", ""],
    "overall": ["second", "neutral", "A", ""],
    "counts": ["", "true", "false"],
}


@given(rows=st.lists(st.fixed_dictionaries({k: st.sampled_from(v) for k, v in CELLS.items()})))
def test_a_row_is_read_the_same_whatever_rows_come_before_it(rows: list[Row]) -> None:
    def read(*rows: Row) -> list[object]:
        checked, told = CheckedRows(), []
        reader = Reader({name: name for name in CELLS}, checked)
        lines = Lines(reader, KNOWN, {one.name: one for one in ASKED}, single=False)
        for row in sheet_of(rows).rows:
            with reader:
                told.append(lines.read(row))
        return [*told, *((one.column, one.value, one.wrong, one.mend) for one in checked.problems)]

    lines = [one for row in rows for one in read(row)]
    assert read(*rows) == sorted(lines, key=lambda one: not isinstance(one, JudgmentLine))


@given(
    code=st.sampled_from(["first", "neutral", "second"]),
    flipped=st.booleans(),
    turned=st.booleans(),
    naming=st.sampled_from(["id", "texts", "sides", "all", "id and sides"]),
    words=st.sampled_from(["stored", "shown", "letters"]),
)
def test_every_way_to_name_a_pair_and_a_side_means_the_same_vote(
    code: str, flipped: bool, turned: bool, naming: str, words: str
) -> None:
    """``code`` and ``flipped`` are of the stored pair; the row may name its texts turned."""
    turned &= naming in ("texts", "all")
    first, second = left_right("t-1", "t-2", flipped=turned)
    left, right = left_right("t-1", "t-2", flipped=flipped)
    row: Row = {"worker": "bo"}
    if naming in ("id", "all", "id and sides"):
        row["item_id"] = "p-1"
    if naming in ("texts", "all"):
        row |= {"first": first, "second": second}
    if naming in ("sides", "all", "id and sides"):
        row |= {"left": left, "right": right}
    if naming in ("id", "texts", "all"):
        row["flipped"] = flipped != turned
    side = to_displayed(code, flipped=flipped)
    if naming == "sides" and words == "stored":
        words = "shown"  # the row does not say which text is first
    row["clarity"] = {
        "stored": to_canonical(to_displayed(code, flipped=False), flipped=turned),
        "shown": side,
        "letters": {"left": "A", "neutral": "N", "right": "B"}[side],
    }[words]
    checked = check([row])
    assert not checked.problems
    [good] = checked.good
    assert (good["item"], good["flipped"], good["choices"][0][1]) == (1, flipped, code)


def test_texts_alone_find_the_item_that_is_shown_so() -> None:
    row = {"system": "Wren", "clarity": "A"}
    rows = [
        {**row, "left": "t-2", "right": "t-3"},
        {**row, "left": "t-3", "right": "t-2"},
        {**row, "left": "t-3", "right": "t-1"},
    ]
    good = check(rows).good
    assert [(one["item"], one["flipped"], one["choices"][0][1]) for one in good] == [
        (3, False, "first"),
        (4, True, "second"),
        (2, True, "second"),
    ]


MODELS = (KnownPair(1, "p-1", "t-1", "t-2", systems=("wren-13b", "owl-mini")),)
WINS = {
    "first": ("a", "A", "model_a", "first", "wren-13b", "Wren-13B", "t-1"),
    "neutral": ("tie", "draw", "neutral", "n", "tie (bothbad)", "unentschieden", "empate"),
    "second": ("b", "model_b", "second", "owl-mini", "t-2"),
}


@pytest.mark.parametrize("column", ["winner", "Preferred", "Gewinner", "ganador", "clarity"])
@pytest.mark.parametrize("code", WINS)
def test_a_winner_is_written_as_in_a_scored_table(code: str, column: str) -> None:
    """By id alone, where sides are not known: A is the first text."""
    known = KnownJudgments(pairs=MODELS)
    rows = [{"pair": "p-1", "judge": f"j{n}", column: said} for n, said in enumerate(WINS[code])]
    checked = check(rows, known, ASKED[:1])
    assert [one["choices"] for one in checked.good] == [
        (("clarity", code, {"first": -1, "neutral": 0, "second": 1}[code]),)
    ] * len(rows)


@pytest.mark.parametrize("said", ["left", "links", "izquierda", "a", "model_a", "owl-mini"])
def test_a_winner_by_side_is_the_text_that_stood_there(said: str) -> None:
    row = {"left": "t-2", "right": "t-1", "judge": "bo", "winner": said}
    [good] = check([row], KnownJudgments(pairs=MODELS), ASKED[:1]).good
    assert (good["flipped"], good["choices"][0][1]) == (True, "second")


def test_a_winner_without_a_dimension_is_about_the_overall_one() -> None:
    [good] = check([{"pair": "p-1", "judge": "bo", "winner": "b", "clarity": "a"}]).good
    assert [one[:2] for one in good["choices"]] == [("clarity", "first"), ("overall", "second")]
    refused = check([{"pair": "p-1", "judge": "bo", "winner": "left"}])
    assert not refused.good and len(refused.problems) == 1


BY_ID: Row = {"item_id": "p-1", "worker": "bo", "clarity": "first", "overall": "first"}
BY_SIDES: Row = {"left": "t-1", "right": "t-2", "worker": "bo", "clarity": "left"}


@pytest.mark.parametrize(
    ("row", "columns", "words"),
    [
        ({**BY_ID, "item_id": "p1"}, "item_id", "nothing with this id.*p-1 to p-4.*mean p-1"),
        ({**BY_ID, "item_id": "gold"}, "item_id", "attention pair"),
        ({**BY_ID, "item_id": "p-5"}, "item_id", "no longer asks"),
        ({**BY_ID, "item_id": ""}, "item_id", "Nothing says what was judged"),
        ({**BY_ID, "first": "t-1"}, "first, second", "Only one of the two"),
        ({**BY_ID, "first": "t-1", "second": "t-3"}, "item_id, first, second", "about t-1 and t-2"),
        ({**BY_SIDES, "left": "t-11"}, "left", "no such text.*mean t-1"),
        ({**BY_SIDES, "left": "t-2"}, "left, right", "with itself"),
        ({**BY_SIDES, "left": "t-3", "right": "t-4"}, "left, right", "does not compare"),
        ({**BY_SIDES, "first": "t-1", "second": "t-3"}, "first, second, left, right", "same two"),
        ({**BY_SIDES, "flipped": "true"}, "flipped, left, right", "one way or the other"),
        ({**BY_ID, "flipped": "maybe"}, "flipped", "neither true nor false"),
        ({**BY_ID, "clarity": "left", "overall": "left"}, "clarity", "which text stood on the l"),
        ({**BY_SIDES, "clarity": "first"}, "clarity", "not which one is first"),
        ({**BY_ID, "flipped": "false", "overall": "B"}, "clarity, overall", "says both first or"),
        ({**BY_ID, "clarity": "frist"}, "clarity", "no judgment.*mean first"),
        ({**BY_ID, "clarity": "1"}, "clarity", "no judgment.*Write first, neutral or second"),
        ({**BY_ID, "overall": "neutral"}, "overall", "“Overall” has no neutral"),
        ({**BY_ID, "overall": "n", "clarity": ""}, "overall", "“Overall” has no neutral"),
        ({**BY_ID, "clarity": "", "overall": ""}, "clarity, overall", "Nothing is judged"),
        ({**BY_ID, "system": "Wren"}, "worker, system", "not both"),
        ({**BY_ID, "worker": ""}, "worker", "Nobody is named"),
        ({**BY_ID, "worker": "gone"}, "worker", "was removed"),
        ({**BY_ID, "replicate": "1"}, "replicate", "Only systems"),
        ({**BY_ID, "prompt_strategy": "short"}, "prompt_strategy", "Only systems"),
        ({**BY_ID, "worker": "", "system": "wren"}, "system", "only by case"),
        ({**BY_ID, "worker": "", "system": "Wren", "replicate": "16384"}, "replicate", "whole"),
        ({**BY_ID, "worker": "kestrel-07"}, "worker, item_id", "another judgment of this author"),
        ({**BY_ID, "position": "0"}, "position", "from 1"),
        ({**BY_ID, "counts": "perhaps"}, "counts", "neither true nor false"),
        ({**BY_ID, "overal": "second"}, "overal", "does not ask for overal.*mean overall"),
        ({**BY_ID, "mood": "A"}, "mood", "asks for clarity, overall.*take it out"),
    ],
)
def test_what_cannot_be_taken_is_named_with_its_columns_and_how_to_mend_it(
    row: Row, columns: str, words: str
) -> None:
    fine = {**BY_ID, "worker": "cy"}
    checked = check([fine, row])
    [problem] = checked.problems
    assert (problem.line, problem.column) == (2, columns)
    assert re.search(words, f"{problem.wrong} {problem.mend}")
    # What only stands in a column that is no judgment's asks for nothing.
    assert len(checked.good) == 1 or "mood" in row or "overal" in row


ANYTHING = st.sampled_from(
    [
        "",
        "p-1",
        "t-1",
        "t-2",
        "t-3",
        "ann",
        "Wren",
        "true",
        "0",
        "1",
        "first",
        "left",
        "n",
        "\0",
        "9" * 5000,
        "neutral",
    ]
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([field.name for field in Judgments(ASKED).fields] + ["mood"]), ANYTHING
        ),
        max_size=4,
    )
)
def test_every_row_is_taken_or_there_or_refused_in_words(rows: list[Row]) -> None:
    checked = check(rows)
    known = len(checked.good) + checked.there + len(checked.repeats)
    assert known + len(checked.bad_lines) == len(rows)
    assert all(problem.wrong and problem.mend for problem in checked.problems)


def test_what_may_be_left_to_be_understood_is() -> None:
    calls: list[Row] = [
        {"item_id": "p-1", "system": "Wren", "overall": "neutral", "notes": "fast", "topic": "A"},
        {"item_id": "p-1", "system": "Wren", "overall": "neutral", "flipped": "1", "topic": "B"},
        {"item_id": "p-1", "system": "Wren", "overall": "First", "replicate": "1", "topic": "A"},
    ]
    checked = check(calls)
    assert not checked.problems and checked.facts == ["1 system", "1 pair"]
    assert [(one["replicate"], one["flipped"]) for one in checked.good] == [
        (0, False),
        (0, True),
        (1, False),
    ]
    assert checked.good[0]["choices"] == (("overall", "neutral", 0),)


def test_the_same_again_is_there_and_another_judgment_of_it_is_refused() -> None:
    there = {"item_id": "p-1", "worker": "ann", "clarity": "first", "overall": "second"}
    new = {**there, "worker": "bo"}
    checked = check([there, {**there, "worker": "kestrel-07"}, new, dict(new)])
    assert (checked.there, len(checked.good), checked.problems) == (1, 1, [])
    assert [one.line for one in checked.repeats] == [2, 4]
    # A file that is asked for less than the task holds is compared on what it has.
    assert check([{"item_id": "p-1", "worker": "ann", "overall": "second"}]).there == 1
    checked = check([new, {**new, "clarity": "second"}, {**there, "flipped": "true"}])
    [problem] = checked.problems
    assert (problem.line, len(checked.good)) == (2, 2)
    assert problem.wrong == "Given twice, first on line 1, with another judgment."


def test_a_dimension_that_is_called_as_a_column_of_the_format_has_a_column_of_its_own() -> None:
    asked = (AskedDimension("position", "Position"), AskedDimension("first", "First"))
    row = {
        "item_id": "p-1",
        "worker": "bo",
        "position": "4",
        "judged_position": "first",
        "judged_first": "second",
    }
    [good] = check([row], asked=asked).good
    assert [choice[:2] for choice in good["choices"]] == [
        ("position", "first"),
        ("first", "second"),
    ]
    assert good["position"] == 3


@pytest.mark.parametrize(
    ("row", "pair", "problem"),
    [
        ({"response_a": "One.", "response_b": "Three."}, 2, ""),
        ({"text_a": "One.", "text_b": "t-3"}, 2, ""),
        ({"item_id": "p-1", "first": "One.", "second": "Two, or four."}, 1, ""),
        ({"item_id": "p-2", "response_a": "One.", "response_b": "Two, or four."}, 0, "is about"),
        ({"response_a": "One.", "response_b": "Two, or four."}, 0, "Several pairs"),
        ({"response_a": "One.", "response_b": "Five."}, 0, "no such text"),
    ],
)
def test_a_row_names_its_pair_by_the_texts_themselves(row: Row, pair: int, problem: str) -> None:
    texts = {"One.": {"t-1"}, "Two, or four.": {"t-2", "t-4"}, "Three.": {"t-3"}}
    known = replace(KNOWN, digests={digest_text(text): ids for text, ids in texts.items()})
    checked = check([{"worker": "bo", "clarity": "A", **row}], known)
    assert [one["item"] for one in checked.good] == [pair] * bool(pair)
    assert [problem in one.wrong for one in checked.problems] == [True] * bool(problem)
