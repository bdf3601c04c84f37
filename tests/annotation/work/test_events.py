"""The interaction log: append-only, in sequence, after consent; and what is read from it."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.models import Assignment, EventBatch, EventStream
from annotation.work.actions import events
from annotation.work.selectors import log, log_words
from crowdqc.errors import Conflict, Invalid, LimitExceeded, NotAllowed
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def clicks(number: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"method": "click", "time": start + n} for n in range(number)]


def run(
    position: int, inserted: str, ms: list[Any], *, deleted: int = 0, keys: int = 2, time: int = 1
) -> dict[str, Any]:
    """Keystrokes that followed one another, as the page tells them."""
    return {
        "method": "input",
        "time": time,
        "target": "item-1",
        "name": "run",
        "delta": [time, position, deleted, inserted],
        "ms": ms,
        "keys": keys,
    }


@pytest.fixture
@kept
def opened() -> dict[str, Any]:
    """What ``append_events`` needs: an open stream of a worker's assignment."""
    world = factories.make_world(2)
    assignment = factories.claim(world.task, world.worker)
    key = uuid.uuid4()
    events.open_stream(by=world.worker.user, assignment=assignment, key=key)
    return {"by": world.worker.user, "assignment": assignment, "stream_key": key}


def test_a_batch_sent_again_adds_only_what_is_new(opened: dict[str, Any]) -> None:
    assert events.append_events(**opened, first_seq=0, events=clicks(5)) == 5
    assert events.append_events(**opened, first_seq=0, events=clicks(5)) == 5
    assert events.append_events(**opened, first_seq=3, events=clicks(4, 3)) == 7
    stored = log.assignment_events(opened["assignment"].pk)
    assert [event["time"] for event in stored] == list(range(7))


def test_a_gap_is_refused_with_the_number_that_is_missing(opened: dict[str, Any]) -> None:
    events.append_events(**opened, first_seq=0, events=clicks(2))
    with pytest.raises(Conflict) as refused:
        events.append_events(**opened, first_seq=5, events=clicks(2))
    assert refused.value.fields == {"next": "2"}


def test_the_database_itself_refuses_overlap_change_and_removal(opened: dict[str, Any]) -> None:
    events.append_events(**opened, first_seq=0, events=clicks(5))
    stream = EventStream.objects.get()
    for attempt in (
        lambda: EventBatch.objects.create(stream=stream, first_seq=4, last_seq=8, events=[]),
        lambda: EventBatch.objects.update(events=[]),
        lambda: EventBatch.objects.all().delete(),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            attempt()
    assert EventBatch.objects.count() == 1


def test_nothing_is_stored_without_or_after_agreement(opened: dict[str, Any]) -> None:
    worker = opened["assignment"].worker
    people.withdraw_consent(by=worker.user, member=worker)
    with pytest.raises(NotAllowed) as refused:
        events.append_events(**opened, first_seq=0, events=clicks(1))
    assert refused.value.code == "no-consent"
    with pytest.raises(NotAllowed):
        events.open_stream(by=worker.user, assignment=opened["assignment"], key=uuid.uuid4())
    assert not EventBatch.objects.exists()


def test_the_log_takes_the_last_events_of_a_submit_and_nothing_after_a_decision(
    opened: dict[str, Any],
) -> None:
    held = factories.submit(opened["assignment"])
    assert events.append_events(**opened | {"assignment": held}, first_seq=0, events=clicks(1)) == 1
    now = timezone.now()
    late = {"submitted_at": now - events.GRACE - dt.timedelta(seconds=1)}
    for change in ({"settled_at": now}, {"settled_at": None, **late}):
        Assignment.objects.filter(pk=held.pk).update(**change)
        held.refresh_from_db()
        with pytest.raises(Conflict) as refused:
            events.append_events(**opened | {"assignment": held}, first_seq=1, events=clicks(1))
        # Without the number that is missing, so that the page drops what it holds.
        assert (refused.value.code, refused.value.fields) == ("log-closed", {})
        with pytest.raises(Conflict):
            events.open_stream(by=opened["by"], assignment=held, key=uuid.uuid4())
    assert EventBatch.objects.count() == 1


def test_the_log_of_a_quiz_takes_its_last_events_as_any_other(opened: dict[str, Any]) -> None:
    held = factories.submit(opened["assignment"])
    held.quiz, held.settled_at = 1, held.submitted_at
    assert events.append_events(**opened | {"assignment": held}, first_seq=0, events=clicks(1)) == 1


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"method": "mindreading", "time": 1}, "events.0.method"),
        ({"method": "click"}, "events.0.time"),
        ({"method": "click", "time": float("nan")}, "events.0.time"),
        ({"method": "keydown", "time": 1, "name": "a"}, "events.0.name"),
        ({"method": "input", "time": 1, "delta": [1, -1, 0, "x"]}, "events.0.delta"),
        ({"method": "input", "time": 1, "delta": [1, 0, "x"]}, "events.0.delta"),
        (run(0, "ab", [0]), "events.0.ms"),
        (run(0, "ab", [0, -1]), "events.0.ms"),
        (run(0, "ab", [0, 1.5]), "events.0.ms"),
        (run(0, "ab", [0, 60_000]), "events.0.ms"),
        (run(0, "ab", [0, 90], keys=-1), "events.0.ms"),
        (run(0, "ab", [0, 90], deleted=2), "events.0.ms"),
        (run(0, "x" * 201, [0] * 201), "events.0.ms"),
        ({"method": "input", "time": 1, "ms": [0]}, "events.0.ms"),
        ({"method": "click", "time": 1, "ms": [0], "delta": [1, 0, 0, "a"]}, "events.0.ms"),
        ({"method": "cite", "time": 1, "name": "first"}, "events.0.name"),
        ({"method": "passage", "time": 1, "name": "open", "comment": "doc-7"}, "events.0.comment"),
        ({"method": "find", "time": 1, "comment": "storks"}, "events.0.comment"),
        ("click", "events.0.method"),
    ],
)
def test_an_event_outside_the_vocabulary_is_named(
    opened: dict[str, Any], event: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        events.append_events(**opened, first_seq=0, events=[event])
    assert field in refused.value.fields


def test_a_run_of_keystrokes_is_stored_to_the_letter(opened: dict[str, Any]) -> None:
    sent = [run(0, "a 😀", [0, 112, 95, 0], keys=4), run(1, "", [0, 80, 75], deleted=3, keys=3)]
    events.append_events(**opened, first_seq=0, events=sent)
    stored = log.assignment_events(opened["assignment"].pk)
    kept = [{key: event[key] for key in sent[0]} for event in stored]
    assert kept == sent
    assert log.replay_text(stored) == "a"


def test_half_a_character_is_stored_as_its_replacement(opened: dict[str, Any]) -> None:
    broken = {"method": "input", "time": 1, "delta": [1, 0, 0, "a\ud83d\x00"], "target": "item-1"}
    events.append_events(**opened, first_seq=0, events=[broken])
    assert log.assignment_events(opened["assignment"].pk)[0]["delta"][3] == "a��"


def test_size_and_rate_are_bounded(opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid):
        events.append_events(**opened, first_seq=0, events=clicks(events.MAX_BATCH + 1))
    large = {"method": "input", "time": 1, "delta": [1, 0, 0, "x" * 600_000]}
    with pytest.raises(LimitExceeded):
        events.append_events(**opened, first_seq=0, events=[large])
    monkeypatch.setattr(events, "BURST", 10)
    monkeypatch.setattr(events, "RATE", 0)
    events.append_events(**opened, first_seq=0, events=clicks(10))
    with pytest.raises(LimitExceeded):
        events.append_events(**opened, first_seq=10, events=clicks(1))
    monkeypatch.setattr(events, "BURST", 10_000)
    monkeypatch.setattr(events, "MAX_ASSIGNMENT_BYTES", 400)
    with pytest.raises(LimitExceeded, match="full"):
        events.append_events(**opened, first_seq=10, events=clicks(20))


def test_a_stream_belongs_to_one_assignment(opened: dict[str, Any]) -> None:
    other = factories.claim(
        opened["assignment"].task, factories.make_worker(opened["assignment"].task.project)
    )
    with pytest.raises(Conflict):
        events.open_stream(by=other.worker.user, assignment=other, key=opened["stream_key"])
    with pytest.raises(Invalid):
        events.append_events(
            by=other.worker.user,
            assignment=other,
            stream_key=opened["stream_key"],
            first_seq=0,
            events=clicks(1),
        )


# Reading it back ---------------------------------------------------------------------------------


def edits(text: str, steps: int, rng: random.Random) -> tuple[list[dict[str, Any]], str]:
    """Random edits as a browser tells them: positions and lengths in UTF-16 units."""
    units = [text[i : i + 1] for i in range(len(text))]
    made: list[dict[str, Any]] = []
    for step in range(steps):
        at = rng.randint(0, len(units))
        gone = rng.randint(0, min(3, len(units) - at))
        new = "".join(rng.choice("ab é\n😀👩") for _ in range(rng.randint(0, 4)))
        position = log.utf16_length("".join(units[:at]))
        deleted = log.utf16_length("".join(units[at : at + gone]))
        units[at : at + gone] = list(new)
        made.append({"method": "input", "time": step, "delta": [step, position, deleted, new]})
    return made, "".join(units)


@pytest.mark.parametrize("seed", range(5))
def test_replaying_the_deltas_gives_the_text_exactly(seed: int) -> None:
    start = "A stork 😀 nests."
    made, text = edits(start, 200, random.Random(seed))
    shown = {"method": "show", "time": 0, "delta": [0, 0, 0, start]}
    assert log.replay_text([shown, *made]) == text


def test_missing_deltas_are_noticed() -> None:
    with pytest.raises(ValueError, match="deletes"):
        log.replay_text([{"method": "input", "time": 1, "delta": [1, 4, 0, "x"]}])


def test_the_summary_tells_typing_pastes_and_absences() -> None:
    stream: list[dict[str, Any]] = [
        {"method": "open", "time": 0, "target": "window"},
        {"method": "keydown", "time": 900, "name": "letter"},
        {"method": "input", "time": 1000, "name": "insertText", "delta": [1000, 0, 0, "abcd"]},
        {"method": "keydown", "time": 1100, "name": "correction"},
        {"method": "visibilitychange", "time": 2000, "name": "hidden", "target": "window"},
        {"method": "blur", "time": 2001, "target": "window"},
        {"method": "visibilitychange", "time": 12_000, "name": "visible", "target": "window"},
        {"method": "paste", "time": 13_000, "length": 8, "comment": "outside"},
        {
            "method": "input",
            "time": 13_001,
            "name": "insertFromPaste",
            "delta": [13_001, 4, 0, "x" * 12],
        },
        {"method": "paste", "time": 14_000, "length": 3, "comment": "passage"},
    ]
    found = log.summarize_streams([stream])
    assert (found.seconds_total, found.seconds_away, found.focus_losses) == (14.0, 10.0, 1)
    assert (found.typed_chars, found.pasted_chars, found.paste_share) == (4, 12, 0.75)
    assert (found.pastes_passage, found.pastes_own, found.pastes_outside) == (1, 0, 1)
    assert (found.keys, found.corrections, found.events) == (2, 1, 10)


def test_a_run_adds_up_to_what_its_single_keys_would_have() -> None:
    def key(time: int, name: str, *delta: Any) -> list[dict[str, Any]]:
        change = {"method": "input", "time": time, "name": "insertText", "delta": [time, *delta]}
        return [{"method": "keydown", "time": time, "name": name}, change]

    single = [
        *key(0, "letter", 0, 0, "n"),
        *key(90, "letter", 1, 0, "e"),
        *key(200, "correction", 1, 1, ""),
        *key(260, "correction", 0, 1, ""),
    ]
    runs = [run(0, "ne", [0, 90], time=0), run(0, "", [0, 60], deleted=2, time=200)]
    one, other = log.summarize_streams([single]), log.summarize_streams([runs])
    fields = ("keys", "corrections", "typed_chars", "seconds_total", "pasted_chars")
    assert [getattr(one, name) for name in fields] == [getattr(other, name) for name in fields]
    assert (one.keys, one.corrections, one.seconds_total) == (4, 2, 0.26)
    alike = [{"method": "keydown", "time": 0, "name": "correction", "length": 7}]
    assert log.summarize_streams([alike]).corrections == 7


def test_what_is_cited_or_imported_counts_as_neither_typed_nor_pasted() -> None:
    def put_in(name: str) -> log.LogSummary:
        change = {"method": "input", "time": 1, "name": name, "delta": [1, 0, 0, "[3]"]}
        return log.summarize_streams([[change]])

    for name in ("cite", "snapshot"):
        assert (put_in(name).typed_chars, put_in(name).pasted_chars) == (0, 0)
    assert put_in("snapshot").snapshots == 1


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (run(0, "ne", [0, 900]), "typed 2 characters in 0.9 s"),
        (run(0, "", [0], deleted=1), "deleted 1 character in 0.0 s"),
        ({"method": "keydown", "name": "navigation"}, "pressed a key: navigation"),
        ({"method": "keydown", "name": "navigation", "length": 5}, "pressed 5 keys: navigation"),
        (
            {"method": "paste", "comment": "passage", "name": "3", "length": 20},
            "pasted 20 characters from passage 3",
        ),
        (
            {"method": "paste", "comment": "outside", "length": 20},
            "pasted 20 characters from elsewhere",
        ),
        ({"method": "passage", "name": "open", "comment": "12"}, "opened passage 12"),
        ({"method": "cite", "name": "3"}, "cited passage 3"),
        (
            {"method": "find", "comment": "hits", "length": 6},
            "searched the passages for 6 characters",
        ),
        ({"method": "dwell", "name": "passage-3", "comment": "4200"}, "passage 3, 4.2 s"),
        ({"method": "dwell", "name": "left", "comment": "4200"}, "the left text, 4.2 s"),
    ],
)
def test_a_worker_reads_every_event_in_words(event: dict[str, Any], words: str) -> None:
    assert log_words.describe_event({"time": 0, **event}, {}).what == words


def test_a_worker_reads_the_title_of_a_line_not_its_key() -> None:
    row = {"name": "correctness_topical", "label": "Topical correctness"}
    titles = log_words.line_titles({"dimensions": [row], "redundancy": 2, "tags": ["a"]})
    event = {"time": 0, "method": "change", "name": "d-correctness_topical", "comment": "left"}
    line = log_words.describe_event(event, {}, titles)
    assert line.what == "chose left for Topical correctness"


def test_log_lines_name_the_choice_not_its_place() -> None:
    settings = {
        "fields": [
            {"name": "verdict", "label": "Verdict", "options": [{"label": "A"}, {"label": "B"}]}
        ],
        "entry": [
            {"name": "known", "label": "Known", "points": [{"value": "m", "label": "maybe"}]}
        ],
    }
    titles, choices = log_words.line_titles(settings), log_words.line_choices(settings)

    def describe(name: str, comment: str) -> str:
        event = {"time": 0, "method": "change", "name": name, "comment": comment}
        return log_words.describe_event(event, {}, titles, choices=choices).what

    assert describe("verdict", "2") == "chose B for Verdict"
    assert describe("verdict", "-2") == "took back B for Verdict"
    assert describe("entry.known", "m") == "chose maybe for Known"
    assert describe("verdict", "9") == "chose 9 for Verdict"


def test_going_from_one_page_to_the_next_is_no_absence() -> None:
    away = {"method": "visibilitychange", "name": "hidden", "target": "window"}
    first = [{"method": "open", "time": 0}, {**away, "time": 5000}]
    soon = [{"method": "open", "time": 5400}, {"method": "click", "time": 6000}]
    later = [{"method": "open", "time": 25_000}, {"method": "click", "time": 26_000}]
    assert log.summarize_streams([first, soon]).focus_losses == 0
    assert log.absence_starts([*first, *soon]) == set()
    assert log.summarize_streams([first, later]).seconds_away == 20.0


def test_closing_the_page_at_the_end_is_no_absence() -> None:
    """A submit hides the page, and so does closing it; nothing comes after."""
    events = [
        {"time": 0, "method": "open", "target": "window"},
        {"time": 9000, "method": "keydown", "name": "letter"},
        {"time": 9500, "method": "visibilitychange", "target": "window", "name": "hidden"},
        {"time": 9510, "method": "visibilitychange", "target": "window", "name": "hidden"},
    ]
    found = log.summarize_streams([events])
    assert (found.focus_losses, found.seconds_away) == (0, 0.0)


def test_log_lines_name_each_counted_absence_once() -> None:
    hidden = {"method": "visibilitychange", "name": "hidden", "target": "window"}
    events: list[dict[str, Any]] = [
        {"method": "open", "time": 0},
        {"method": "blur", "target": "window", "time": 5000},
        {**hidden, "time": 5001},
        {**hidden, "time": 5002},
        {**hidden, "name": "visible", "time": 9000},
        {**hidden, "time": 12_000},
        {"method": "open", "time": 12_400},
    ]
    starts = log.absence_starts(events)
    lines = [
        log_words.describe_event(event, {}, is_absence=place in starts).what
        for place, event in enumerate(events)
    ]
    assert starts == {1}
    assert lines.count("left the page") == log.summarize_streams([events]).focus_losses == 1
    kinds = {"open": 2, "visibilitychange": 4}
    assert log_words.describe_counts(kinds, 1) == "pages opened: 2, times the page was left: 1"
    assert log_words.describe_counts({"visibilitychange": 4}) == ""


def test_summaries_take_the_same_few_queries_for_one_and_for_many() -> None:
    world = factories.make_world(2, redundancy=9)
    made = []
    for number in range(5):
        assignment = factories.claim(world.task, factories.make_worker(world.project))
        factories.make_log(assignment, clicks(number + 1))
        made.append(assignment.pk)
    counts = []
    for ids in (made[:1], made[1:]):
        with CaptureQueriesContext(connection) as queries:
            found = log.log_summaries(ids)
        counts.append(len(queries))
    assert counts == [2, 2]
    assert [found[pk].events for pk in made[1:]] == [2, 3, 4, 5]
    with CaptureQueriesContext(connection) as queries:
        assert log.log_summaries([*made, 10**9])[10**9] == log.EMPTY
    assert len(queries) == 1
