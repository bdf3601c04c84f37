"""A log told back: the exact text, what came from where, absences, and what was read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.work.selectors.log import item_events, replay_text
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Opening, Process, View
from evaluation.methods.writing.process import read
from tests.evaluation.methods.writing.written import FOREIGN, PASSAGES, Writer, snapshots, units


def played(process: Process) -> str:
    """The changes applied one after the other."""
    text = b""
    for change in process.changes:
        start, end = 2 * change.position, 2 * (change.position + change.deleted)
        assert end <= len(text)
        text = text[:start] + change.inserted.encode("utf-16-le") + text[end:]
    return text.decode("utf-16-le")


def coloured(process: Process) -> list[tuple[str, str, int]]:
    """(stretch, source, passage) of the final text, which they cover without a gap."""
    raw = process.text.encode("utf-16-le")
    parts = process.origins()
    assert [part.start for part in parts] == [0, *(part.end for part in parts)][: len(parts)]
    assert not parts or 2 * parts[-1].end == len(raw)
    return [(raw[2 * p.start : 2 * p.end].decode("utf-16-le"), p.source, p.passage) for p in parts]


def kinds(process: Process) -> list[tuple[str, str, int]]:
    return [(c.kind, c.source, c.passage) for c in process.changes if c.inserted or c.deleted]


def test_what_was_typed_deleted_cited_and_pasted_is_told_apart() -> None:
    writer = Writer()
    writer.type("Ice 😀 held the ships. ")
    writer.back(2)
    writer.add("cite", name="1")
    writer.change(len(writer.text), 0, " [1]", name="cite")
    writer.paste(PASSAGES[1][:60], "passage", number="2")
    writer.paste(FOREIGN, "outside")
    process = read(writer.events, PASSAGES, target="item-1")
    assert process.text == played(process) == writer.text
    assert kinds(process) == [
        ("typed", "", 0),
        ("deleted", "", 0),
        ("cited", "", 1),
        ("pasted", "passage", 2),
        ("pasted", "outside", 0),
    ]
    assert coloured(process) == [
        ("Ice 😀 held the ships [1]", "", 0),
        (PASSAGES[1][:60], "passage", 2),
        (FOREIGN, "outside", 0),
    ]


def test_the_text_decides_where_a_paste_came_from_not_the_page() -> None:
    for claim in ("outside", "own", "passage"):
        writer = Writer()
        writer.paste('merchants BURNED furniture\nto keep warm "while grain', claim)
        assert kinds(read(writer.events, PASSAGES)) == [("pasted", "passage", 2)]
        writer = Writer()
        writer.paste(FOREIGN, claim)
        wanted = "outside" if claim == "outside" else "unexplained"
        assert kinds(read(writer.events, PASSAGES)) == [("pasted", wanted, 0)]


def test_a_changed_quotation_is_still_from_its_passage_and_a_foreign_end_is_not() -> None:
    writer = Writer()
    writer.paste(PASSAGES[0].replace("late in March", "spring came") + " " + FOREIGN, "outside")
    process = read(writer.events, PASSAGES)
    first, second = coloured(process)
    assert first[1:] == ("passage", 1)
    assert second[1] == "outside"
    assert second[0].strip().endswith(FOREIGN[-60:])


def test_text_cut_and_put_in_again_keeps_where_it_came_from() -> None:
    writer = Writer()
    writer.type("My own beginning of a text. ")
    writer.paste(FOREIGN, "outside")
    writer.type(" And an end of mine.")
    start = writer.text.index("Coastal")
    taken = writer.cut(start, start + len(FOREIGN))
    writer.paste(taken, "own", at=0)
    process = read(writer.events, PASSAGES)
    assert process.text == played(process) == writer.text
    assert process.changes[-1].source == "outside"
    assert coloured(process)[0] == (FOREIGN, "outside", 0)


def test_a_stretch_at_once_without_a_paste_is_a_jump() -> None:
    writer = Writer()
    writer.change(0, 0, FOREIGN, name="insertText")
    writer.change(0, 0, PASSAGES[0], name="insertText")
    writer.change(0, 0, "suggested ", name="insertReplacementText")
    assert kinds(read(writer.events, PASSAGES)) == [
        ("jump", "unexplained", 0),
        ("jump", "passage", 1),
        ("typed", "", 0),
    ]


def test_between_snapshots_only_what_nobody_types_is_a_jump() -> None:
    typed = "Merchants of the town had no coal left in March. "
    begun = "Ice held the ships. " * 3
    slow = snapshots([0, 4900], ["", typed])
    quick = snapshots([0, 900], ["", typed])
    assert kinds(read(slow, PASSAGES)) == [("typed", "", 0)]
    assert kinds(read(quick, PASSAGES)) == [("jump", "unexplained", 0)]
    # Nothing was typed in a minute without snapshots: they follow every change.
    late = read(snapshots([0, 60_000], [begun, begun + FOREIGN]), PASSAGES)
    assert kinds(late)[-1] == ("jump", "unexplained", 0)
    assert late.snapshots
    assert not late.recorded


def test_two_changes_between_snapshots_keep_what_lies_between_them() -> None:
    texts = ["", PASSAGES[0], "So: " + PASSAGES[0][:-1] + " (1)."]
    process = read(snapshots([0, 1000, 2000], texts), PASSAGES)
    middle = [part for part in coloured(process) if part[1] == "passage"]
    assert sum(len(text) for text, _, _ in middle) > len(PASSAGES[0]) - 12
    assert process.changes[-1].kind == "typed"


def test_another_opening_of_the_page_goes_on_with_the_text() -> None:
    first = Writer()
    first.type("One sentence. ")
    first.paste(PASSAGES[0], "passage")
    second = Writer(first.text, stream=2, time=first.time + 90_000)
    second.type(" Another.")
    process = read([*first.events, *second.events], PASSAGES)
    assert process.text == played(process) == second.text
    assert [c.kind for c in process.changes] == ["shown", "typed", "pasted", "shown", "typed"]
    assert process.changes[3].inserted == ""
    assert [source for _, source, _ in coloured(process)] == ["", "passage", ""]


def test_text_that_nothing_in_the_log_explains_is_said_to_be() -> None:
    writer = Writer(FOREIGN)
    writer.type(" Typed.")
    process = read(writer.events, PASSAGES)
    assert kinds(process)[0] == ("shown", "unexplained", 0)


def test_what_another_tab_wrote_is_not_told_twice() -> None:
    left, right = Writer(stream=1), Writer(stream=2, time=10)
    left.wait(100)
    left.paste(FOREIGN, "outside")
    right.time = left.time + 5
    right.change(0, 0, FOREIGN, comment="sync")
    right.wait(1000)
    right.type(" Typed on the right.")
    process = read([*left.events, *right.events], PASSAGES)
    assert process.text == played(process) == right.text
    assert kinds(process) == [("pasted", "outside", 0), ("typed", "", 0)]
    assert [source for _, source, _ in coloured(process)] == ["outside", ""]


def test_absences_pauses_and_closed_pages_are_kept_apart() -> None:
    writer = Writer()
    writer.type("Begun. ")
    left = writer.time
    writer.add("visibilitychange", target="window", name="hidden")
    writer.wait(30_000)
    writer.add("visibilitychange", target="window", name="visible")
    back = writer.time
    writer.wait(40_000)
    writer.add("dwell", target="page", name="passage-1", comment="40000")
    writer.wait(35_000)
    writer.type("After a long thought. ")
    writer.add("blur", target="window")
    gone = writer.time
    writer.wait(5000)
    again = Writer(writer.text, stream=2, time=writer.time + 120_000)
    process = read([*writer.events, *again.events], PASSAGES, target="item-1")
    assert process.absences == ((left, back), (gone, again.events[0]["time"]))
    assert process.pauses == ((back, back + 75_000),)
    assert process.recorded >= {"keys", "pastes", "visibility"}


def test_times_count_from_the_first_opening_of_this_text() -> None:
    other = Writer(time=0)
    other.events = [{**e, "target": e["target"].replace("item-1", "item-2")} for e in other.events]
    writer = Writer(stream=2, time=600_000)
    writer.type("Only this.")
    process = read([*other.events, *writer.events], PASSAGES, target="item-1")
    assert process.start == 600_000
    assert process.changes[0].time == 0
    assert process.text == "Only this."
    assert process.length <= writer.time - 600_000


def test_openings_and_dwell_of_passages_are_told() -> None:
    writer = Writer()
    writer.wait(1000)
    writer.add("passage", target="passage", name="open", comment="2")
    writer.wait(4000)
    writer.add("passage", target="passage", name="close", comment="2")
    writer.add("passage", target="passage", name="open", comment="1")
    writer.wait(2000)
    writer.add("dwell", target="page", name="passage-2", comment="3900")
    writer.add("dwell", target="page", name="passage-1", comment="2500")
    process = read(writer.events, PASSAGES, target="item-1")
    assert process.openings == (Opening(2, 1000, 5000), Opening(1, 5000, 7000))
    assert process.views == (View(2, 0, 7000, 3900), View(1, 0, 7000, 2500))
    assert process.dwell == {1: 2500, 2: 3900}
    assert "passages" in process.recorded


def test_keys_of_runs_and_of_single_events_have_their_intervals() -> None:
    writer = Writer()
    writer.change(0, 0, "abba", name="run", ms=[0, 90, 110, 100], keys=4)
    writer.wait(300 + 200)
    writer.change(3, 1, "", name="run", ms=[0], keys=1)
    writer.wait(100)
    writer.add("keydown", name="letter")
    writer.change(3, 0, "c", name="insertText")
    writer.wait(5000)
    writer.change(4, 0, "d", name="insertText")
    keys = read(writer.events, PASSAGES).keys
    assert [key.gap for key in keys] == [None, 90, 110, 100, 200, 100, None]
    assert [key.correction for key in keys] == [False] * 4 + [True, False, False]
    assert [key.repeat for key in keys] == [False, False, True, False, False, False, False]


def test_a_log_with_events_missing_is_refused() -> None:
    writer = Writer()
    writer.change(0, 0, "abc")
    writer.events[-1]["delta"] = [0, 5, 1, ""]
    with pytest.raises(ValueError, match="deletes 1 of a text of 0 units"):
        read(writer.events, PASSAGES)


def test_nothing_recorded_gives_an_empty_history() -> None:
    process = read([], PASSAGES)
    assert (process.text, process.changes, process.origins(), process.length) == ("", (), (), 0)


STEP = st.tuples(
    st.integers(1, 2),  # the tab
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["", "a", "é😀", "some words here ", PASSAGES[0], FOREIGN]),
    st.sampled_from(["insertText", "insertFromPaste", "sync", "show", "snapshot", "cite"]),
)


@settings(deadline=None)
@given(st.lists(STEP, max_size=15))
def test_any_log_of_two_tabs_ends_with_the_text_that_its_replay_has(
    steps: list[tuple[int, float, float, str, str]],
) -> None:
    tabs = {1: Writer("", stream=1, time=0), 2: Writer("Begun", stream=2, time=7)}
    time = 20
    for tab, start, part, inserted, name in steps:
        writer = tabs[tab]
        time += 150
        writer.time = time
        if name == "show":
            writer.add("show", delta=[time, 0, 0, inserted])
            writer.text = inserted
            continue
        place = int(start * len(writer.text))
        more: dict[str, Any] = {"comment": "sync"} if name == "sync" else {"name": name}
        writer.change(place, int(part * (len(writer.text) - place)), inserted, **more)
    both = sorted(
        [*tabs[1].events, *tabs[2].events], key=lambda e: (e["time"], e["stream"], e["seq"])
    )
    process = read(both, PASSAGES, target="item-1")
    assert process.text == played(process) == replay_text(item_events(both, 1))
    assert read(item_events(both, 1), PASSAGES).text == process.text
    assert sum(part.end - part.start for part in process.origins()) == units(process.text)
    coloured(process)


def test_a_page_that_numbers_from_zero_is_told_in_ranks() -> None:
    writer = Writer()
    writer.add("passage", target="passage", name="open", comment="0")
    writer.wait(3000)
    writer.add("dwell", target="page", name="passage-0", comment="2000")
    writer.paste(PASSAGES[0], "passage", number="0")
    writer.add("cite", name="1")
    writer.change(0, 0, "[1]", name="cite")
    process = read(writer.events, PASSAGES, target="item-1", first_number=0)
    assert process.dwell == {1: 2000}
    assert [opening.passage for opening in process.openings] == [1]
    assert kinds(process) == [("pasted", "passage", 1), ("cited", "", 2)]


def test_the_question_pasted_into_the_text_was_on_the_page() -> None:
    question = "why did ships lie idle in the harbour for so many weeks of that year?"
    writer = Writer()
    writer.paste(question, "passage")
    sources = Sources(PASSAGES, also=[question])
    assert kinds(read(writer.events, sources)) == [("pasted", "passage", 0)]
    assert kinds(read(writer.events, PASSAGES)) == [("pasted", "unexplained", 0)]
