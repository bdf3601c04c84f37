"""CrowdRAG's study of writing on the published data, and on a small made-up study of its shape."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from crowdqc.errors import Invalid
from evaluation.published.reproduce.crowdrag.writing import tables as crowdrag_writing
from evaluation.published.reproduce.crowdrag.writing.data import (
    ASKED,
    LOGS,
    PASSAGES,
    RESPONSES,
    SURVEYS,
    load,
)
from evaluation.published.reproduce.crowdrag.writing.printed import alphabetical_rho
from evaluation.published.reproduce.data import data_folder
from evaluation.published.reproduce.rows import Row, set_decimals


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        found = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    if not (found / "crowdrag").is_dir():
        pytest.skip(f"there is no crowdrag in {found}")
    return found


def measure(folder: Path, repetitions: int = 100) -> list[Row]:
    return crowdrag_writing.reproduce(folder, say=lambda line: None, repetitions=repetitions)


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return measure(folder)


@pytest.fixture(scope="module")
def measured(rows: list[Row]) -> dict[tuple[str, str], float]:
    found = {(row.table, row.quantity): row.measured for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.data
@pytest.mark.long
def test_figures_that_are_only_drawn_come_as_numbers(
    measured: dict[tuple[str, str], float], rows: list[Row]
) -> None:
    for who, words in (("human", 262), ("LLM", 231)):
        assert measured["Figure 1", f"words per response, bullet, {who}"] == words
    assert measured["Figure 2", "probability of being cited, rank 1, bullet, LLM"] > 0.9
    density = "density of citations, 0 to 0.25 of the text, essay, LLM"
    assert measured["Figure 4", density] < 0.8  # the first citation comes late
    differ = [
        row
        for row in set_decimals(rows, crowdrag_writing.DECIMALS)
        if row.is_counted and not row.is_within_rounding
    ]
    assert [row.quantity for row in differ if not row.note] == []


@pytest.mark.data
@pytest.mark.long
def test_table_3_and_figure_2_come_out_as_printed(rows: list[Row]) -> None:
    table = [row for row in rows if row.table == "Table 3"]
    assert len(table) == 2 * 3 * 7
    assert max(abs(row.difference or 0) for row in table) < 0.0055
    figure = [row for row in rows if row.table == "Figure 2" and row.published is not None]
    assert len(figure) == 16
    assert max(abs(row.difference or 0) for row in figure) < 0.055


@pytest.mark.data
@pytest.mark.long
def test_the_figures_that_the_text_gives_are_met(
    rows: list[Row], measured: dict[tuple[str, str], float]
) -> None:
    for row in rows:
        if row.table == "section 4.1" and row.published is not None:
            assert row.measured == pytest.approx(row.published, rel=0.006), row.quantity
    assert measured["Table 1", "responses"] == 1806
    assert measured["Table 1", "words per response, human"] == pytest.approx(270, abs=2)
    heavy = {
        who: [
            measured["Figure 3", f"heavy reuse (BLEU 50 or more), {style}, {who}"]
            for style in ("bullet", "news", "essay")
        ]
        for who in ("human", "LLM")
    }
    assert heavy["human"] == sorted(heavy["human"], reverse=True)
    assert heavy["human"][0] > 0.4 and max(heavy["LLM"]) < 0.001
    centres = [row for row in rows if row.table == "Figure 5" and row.is_counted]
    assert len(centres) == 4
    assert max(abs(row.difference or 0) for row in centres) < 4


@pytest.mark.data
@pytest.mark.long
def test_a_true_correlation_is_higher_than_the_printed_one_above_all_for_the_model(
    measured: dict[tuple[str, str], float],
) -> None:
    for who, printed in (("human", 0.39), ("LLM", 0.29)):
        true = measured["Table 3, corrected", f"Spearman, {who} and the whole ranking, average"]
        assert true - printed > 0.1
        assert true == pytest.approx(0.5, abs=0.03)


@pytest.mark.data
@pytest.mark.long
def test_numbers_count_from_0_in_both_origins(measured: dict[tuple[str, str], float]) -> None:
    for who in ("human", "LLM"):
        from_0, from_1, further = (
            measured["citations", f"words of a statement in passage {name}, {who}"]
            for name in ("counted from 0", "counted from 1", "one further on")
        )
        assert from_0 > max(from_1, further) + 0.05


@pytest.mark.data
@pytest.mark.long
def test_every_row_that_differs_says_why(rows: list[Row]) -> None:
    assert not [row for row in rows if "differs" in row.note.split("; ")]
    for row in rows:
        if row.published is not None and not row.note:
            digits = len(f"{row.published:g}".partition(".")[2])
            assert round(row.measured, digits) == row.published, row.quantity


def dump(path: Path, lines: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two topics, three styles, both origins; ids in an alphabetical order of their own."""
    folder = tmp_path / "small"
    folder.mkdir()
    topics, styles = ("t1", "t2"), ("bullet", "essay", "news")
    ids = ["d", "b", "a", "e", "c"]
    dump(
        folder / PASSAGES,
        [
            {
                "topic": topic,
                "references_ids": ids,
                "references_texts": [f"Passage {one} is here.\nIt says {one}." for one in ids],
            }
            for topic in topics
        ],
    )
    texts = {
        "human": "It says a [2]. It says d [0], and then b [1] and e [3].",
        "llm": "Many say so [1, 0]. Others do not [4] or [2].",
    }
    dump(
        folder / RESPONSES,
        [
            {
                "response": f"{topic}{style}{origin}",
                "topic": topic,
                "style": style,
                "origin": origin,
                "text": text,
            }
            for topic in topics
            for style in styles
            for origin, text in texts.items()
        ],
    )
    answers = dict.fromkeys(ASKED, 1)
    dump(
        folder / SURVEYS,
        [
            {"worker": f"w{k % 2}", **{name: value + k % 2 for name, value in answers.items()}}
            for k in range(6)
        ],
    )
    (folder / LOGS).write_text("response,active_seconds_gapcap60\n" + "r,600\n" * 6)
    return folder


def test_a_small_study_by_hand(small: Path) -> None:
    found = {(row.table, row.quantity, row.protocol): row for row in measure(small)}

    def of(table: str, quantity: str) -> list[float]:
        return [row.measured for key, row in found.items() if key[:2] == (table, quantity)]

    assert of("section 4.1", "documents per response, human") == [4.0]
    assert of("Table 3", "Jaccard, human and LLM, news") == [pytest.approx(3 / 5)]
    assert of("Figure 2", "rank of cited passages, essay, human") == [1.5]
    assert of("Figure 2, corrected", "rank of cited passages, essay, human") == [2.5]
    true = spearmanr([2, 0, 1, 3], [0, 1, 2, 3])[0]
    assert of("Table 3, corrected", "Spearman, human and the whole ranking, bullet") == [
        pytest.approx(true)
    ]
    assert of("section 3.1", "minutes per response") == [10.0]
    from_0, from_1 = (
        of("citations", f"words of a statement in passage counted from {k}, human")[0]
        for k in (0, 1)
    )
    assert from_0 > from_1


def test_altering_one_text_changes_what_is_measured(small: Path) -> None:
    rows = measure(small)
    with gzip.open(small / RESPONSES, "rt", encoding="utf-8") as handle:
        lines = [json.loads(line) for line in handle]
    assert (lines[0]["origin"], lines[0]["style"]) == ("human", "bullet")
    lines[0]["text"] = "Short and simple words now [4]."
    dump(small / RESPONSES, lines)
    changed = {new.quantity for old, new in zip(rows, measure(small), strict=True) if old != new}
    for quantity in (
        "documents per response, human",
        "Jaccard, human and LLM, bullet",
        "rank of cited passages, bullet, human",
        "mean position of the first citation, bullet, human",
    ):
        assert quantity in changed
    assert "Jaccard, human and LLM, essay" not in changed


def test_the_published_order_is_that_of_the_alphabet(small: Path) -> None:
    found = load(small)
    cited, ranked = ["a", "d", "b", "e"], ["d", "b", "a", "e"]
    wanted = spearmanr([ord(one) for one in cited], [ord(one) for one in ranked])[0]
    for mean, spread in alphabetical_rho(found.as_published, found.documents, "human", ""):
        assert mean == pytest.approx(wanted)
        assert spread == pytest.approx(0)
    # Both cite d, b and a: the model in the order b, d, a.
    wanted = spearmanr([ord(one) for one in "adb"], [ord(one) for one in "bda"])[0]
    for mean, _ in alphabetical_rho(found.as_published, found.documents, "human", "llm"):
        assert mean == pytest.approx(wanted)


def test_broken_files_are_named_with_their_line(small: Path) -> None:
    with gzip.open(small / RESPONSES, "at", encoding="utf-8") as handle:
        handle.write(
            '{"response": "x", "topic": "t9", "style": "news", "origin": "llm", "text": ""}\n'
        )
    with pytest.raises(Invalid, match=r"line 13: topic is 't9'"):
        load(small)
    dump(small / RESPONSES, [{"response": "x"}])
    with pytest.raises(Invalid, match="line 1: no topic"):
        load(small)
    with gzip.open(small / SURVEYS, "wt") as handle:
        handle.write("{\n")
    (small / RESPONSES).unlink()
    with pytest.raises(Invalid, match=f"There is no {RESPONSES}"):
        load(small)
