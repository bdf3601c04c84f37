"""The demo's writing task: own words, responses that the rules take, logs that replay exactly."""

from __future__ import annotations

import pytest

from annotation.demo import logs, writing
from annotation.demo.writing import writing_log
from annotation.task_types import get_type
from annotation.work.actions.events import MAX_BATCH, clean_event
from annotation.work.selectors import log
from evaluation.demo.writing import SETTINGS
from evaluation.methods.writing import process as writing_process

DATA = writing.load()
NAMES = (
    [f"entry.{name}" for name in ("knowledge", "expertise", "answerable", "controversial")],
    [f"exit.{name}" for name in ("satisfaction", "sources", "own_knowledge", "omissions")],
)


def events_of(one: writing.Response) -> list[logs.Event]:
    passages = [passage.text for passage in DATA.topic(one.topic).passages]
    rng = logs.seeded("demo writing", one.worker, one.item)
    return writing_log(one, passages, NAMES, rng, target="item-7")


def test_there_are_two_topics_of_six_passages_and_eight_responses_of_six_people() -> None:
    assert [len(topic.passages) for topic in DATA.topics] == [6, 6]
    assert len(DATA.responses) == 8 and len({one.worker for one in DATA.responses}) == 6
    items = {f"{topic.id}-{style}" for topic in DATA.topics for style in writing.USED_STYLES}
    assert {one.item for one in DATA.responses} == items
    assert {f"{one.topic}-{one.style}" for one in DATA.system_responses} == items


@pytest.mark.parametrize("one", DATA.responses, ids=lambda one: f"{one.worker}-{one.item}")
def test_each_response_is_one_that_the_task_takes(one: writing.Response) -> None:
    kind = get_type("writing")
    settings = kind.clean_settings({**SETTINGS, "styles": DATA.styles()})
    said = zip((*NAMES[0], *NAMES[1]), (*one.entry, *one.exit), strict=True)
    draft = kind.clean_draft({"text": one.text, **{name: str(v) for name, v in said}})
    values = kind.check(draft, {**settings, "style": one.style, "passages": 6})
    assert values is not None and len(values.choices) == 8 and len(values.spans) >= 3


@pytest.mark.parametrize("one", DATA.responses, ids=lambda one: f"{one.worker}-{one.item}")
def test_each_log_is_taken_by_the_server_and_replays_to_the_text(one: writing.Response) -> None:
    events = events_of(one)
    assert [clean_event(event, number) for number, event in enumerate(events)] == events
    times = [event["time"] for event in events]
    assert times == sorted(times) and len(events) < MAX_BATCH
    assert log.replay_text([event for event in events if event["target"] == "item-7"]) == one.text
    assert events == events_of(one)  # the same in every load
    assert 90_000 < times[-1] < 40 * 60_000


def test_pastes_are_told_apart_and_reading_and_absences_are_there() -> None:
    found = {}
    for one in DATA.responses:
        passages = [passage.text for passage in DATA.topic(one.topic).passages]
        process = writing_process.read(events_of(one), passages, target="item-7")
        assert process.text == one.text
        assert process.recorded >= {"keys", "pastes", "visibility", "passages"}
        assert process.openings or process.dwell
        pasted = [change for change in process.changes if change.kind == "pasted"]
        found[one.worker, one.topic] = [(change.source, change.passage) for change in pasted]
        if any(part.outside for part in one.parts):
            assert process.absences
    assert found["quartz-40", "thunder"] == [
        ("passage", 1),
        ("passage", 2),
        ("outside", 0),
        ("passage", 4),
    ]
    assert found["swift-71", "milk"] == [("outside", 0)]
    assert found["linden-22", "milk"] == [("passage", 5)]
    assert found["kestrel-07", "thunder"] == []
