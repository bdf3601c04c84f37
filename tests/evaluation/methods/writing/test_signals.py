"""What was planted in a log is found, with its moment; honest logs and thin ones stay quiet."""

from __future__ import annotations

import pytest

from evaluation.methods.core.base import BadParameter
from evaluation.methods.writing.measures import speed
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Process
from evaluation.methods.writing.process import read
from evaluation.methods.writing.signals import (
    DEFAULTS,
    PARAMETERS,
    SIGNALS,
    Finding,
    Usual,
    base_rates,
    find,
    usual_speed,
)
from tests.evaluation.methods.writing.written import FOREIGN, PASSAGES, Writer, sentence, snapshots

SOURCES = Sources(PASSAGES)


def honest(seed: int = 0, *, slower: float = 1.0) -> Writer:
    """Somebody who reads, types, corrects themselves and quotes a passage."""
    writer = Writer(seed=seed)
    writer.add("passage", target="passage", name="open", comment="1")
    writer.wait(20_000)
    writer.add("passage", target="passage", name="close", comment="1")
    for k in range(12):
        writer.type(sentence(9, seed=100 * seed + k))
        writer.back(3 + k % 3)
        writer.type(". ")
    writer.paste(PASSAGES[0], "passage", number="1")
    for event in writer.events:
        if "ms" in event:
            event["ms"] = [int(slower * ms) for ms in event["ms"]]
    return writer


def judged(writer: Writer, *, usual: Usual | None = None, **params: float) -> dict[str, Finding]:
    process = read(writer.events, SOURCES, target="item-1")
    return {f.slug: f for f in find(process, usual=usual, passages=SOURCES, params=params)}


def states(findings: dict[str, Finding]) -> dict[str, str]:
    return {slug: finding.state for slug, finding in findings.items()}


def test_honest_writing_stays_quiet() -> None:
    for seed in range(5):
        found = states(judged(honest(seed), usual=Usual(6.5, 4)))
        assert found == dict.fromkeys(found, "quiet"), seed


def test_a_paste_from_outside_is_found_and_told_apart_from_a_passage() -> None:
    writer = honest()
    time = writer.time
    writer.paste(FOREIGN, "outside")
    found = judged(writer)["outside_paste"]
    assert found.state == "fired"
    assert found.value == len(FOREIGN.split())
    assert [moment.time_ms for moment in found.moments] == [time]
    assert (found.code, found.values) == (
        "pasted_once",
        {"words": 20, "pastes": 1, "at": time, "passages": 2},
    )


def test_the_same_paste_typed_or_own_does_not_fire() -> None:
    writer = honest()
    writer.type(FOREIGN)
    writer.paste(FOREIGN, "own")
    assert judged(writer)["outside_paste"].state == "quiet"


def test_text_from_outside_without_a_paste_is_a_jump_whatever_the_page_says() -> None:
    writer = honest()
    time = writer.time
    writer.change(0, 0, FOREIGN, name="insertText")
    found = judged(writer)
    assert found["unexplained_jump"].state == "fired"
    assert found["unexplained_jump"].value == len(FOREIGN)
    assert found["unexplained_jump"].moments[0].time_ms == time
    assert found["outside_paste"].state == "quiet"
    writer = honest()
    writer.paste(FOREIGN, "passage", number="2")
    assert judged(writer)["unexplained_jump"].state == "fired"


def test_a_passage_that_comes_at_once_is_explained() -> None:
    writer = honest()
    writer.change(0, 0, PASSAGES[1], name="insertText")
    assert judged(writer)["unexplained_jump"].state == "quiet"


def test_keys_at_even_intervals_are_found_in_the_middle_of_honest_typing() -> None:
    writer = honest()
    time = writer.time
    writer.type(sentence(30, seed=9), even=70)
    writer.type(sentence(30, seed=10))
    found = judged(writer)["even_keys"]
    assert found.state == "fired"
    assert found.value == pytest.approx(0, abs=0.05)
    assert abs(found.moments[0].time_ms - time) < 3000
    assert found.values["every"] == pytest.approx(70, abs=1)


def test_a_key_held_down_is_no_even_typing() -> None:
    writer = honest()
    writer.type("-" * 400, even=33)
    assert judged(writer)["even_keys"].state == "quiet"


def test_writing_without_a_correction_is_found_only_when_there_is_enough_of_it() -> None:
    writer = Writer()
    writer.type(sentence(20))
    assert judged(writer)["no_corrections"].state == "too_little"
    writer.type(sentence(60))
    assert judged(writer)["no_corrections"].state == "fired"
    writer.back(12)
    assert judged(writer)["no_corrections"].state == "quiet"


def test_typing_is_compared_with_the_same_workers_other_texts() -> None:
    others = [speed(read(honest(seed).events, SOURCES, target="item-1")) for seed in (1, 2, 3)]
    usual = usual_speed(others)
    assert usual is not None
    assert usual.responses == 3
    assert judged(honest(4), usual=usual)["faster_than_own"].state == "quiet"
    quick = judged(honest(4, slower=0.5), usual=usual)["faster_than_own"]
    assert quick.state == "fired"
    assert quick.value == pytest.approx(2, rel=0.1)
    assert judged(honest(4))["faster_than_own"].state == "too_little"
    assert usual_speed([None]) is None


def test_text_that_was_there_before_anything_was_read_is_found() -> None:
    writer = Writer()
    writer.type(sentence(60))
    writer.add("passage", target="passage", name="open", comment="1")
    writer.wait(60_000)
    writer.add("passage", target="passage", name="close", comment="1")
    found = judged(writer)["before_reading"]
    assert found.state == "fired"
    assert found.value == 0
    assert judged(honest())["before_reading"].value == pytest.approx(20)


def test_what_was_in_view_counts_as_if_it_had_come_first() -> None:
    writer = Writer()
    writer.type(sentence(60))
    writer.wait(100_000)
    writer.add("dwell", target="page", name="passage-1", comment="15000")
    assert judged(writer)["before_reading"].state == "quiet"


def test_snapshots_say_what_they_do_not_record() -> None:
    texts = [FOREIGN[:20], FOREIGN, FOREIGN + PASSAGES[0]]
    process = read(snapshots([0, 800, 90_000], texts), SOURCES)
    found = {f.slug: f for f in find(process, passages=SOURCES)}
    assert states(found) == {
        "outside_paste": "not_recorded",
        "unexplained_jump": "fired",
        "even_keys": "not_recorded",
        "no_corrections": "too_little",
        "faster_than_own": "too_little",
        "before_reading": "not_recorded",
    }
    assert found["outside_paste"].code == "not_recorded"
    assert found["outside_paste"].values == {"lacks": "pastes"}


def test_base_rates_count_what_was_judged() -> None:
    writer = honest()
    writer.paste(FOREIGN, "outside")
    some = [tuple(judged(honest(seed)).values()) for seed in range(3)]
    rates = base_rates([*some, tuple(judged(writer).values()), find(Process((), ""))])
    assert rates.keys() == {signal.slug for signal in SIGNALS}
    assert (rates["outside_paste"].fired, rates["outside_paste"].judged) == (1, 4)
    assert rates["outside_paste"].not_recorded == 1
    assert rates["outside_paste"].share == 0.25
    assert rates["faster_than_own"].share is None


def test_every_threshold_says_what_it_is_and_can_be_changed() -> None:
    assert DEFAULTS.keys() == PARAMETERS.keys()
    assert all(parameter.words and parameter.reason for parameter in PARAMETERS.values())
    writer = honest()
    writer.paste(FOREIGN, "outside")
    assert judged(writer, outside_words=30)["outside_paste"].state == "quiet"
    with pytest.raises(BadParameter):
        judged(writer, outside_words=0)
    with pytest.raises(BadParameter):
        judged(writer, unheard_of=1)
