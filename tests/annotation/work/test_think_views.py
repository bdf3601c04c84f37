"""The worker's pages of a think-aloud and of a checklist: what they show and what a form does."""

from __future__ import annotations

import html as entities
import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Assignment
from annotation.work.actions import events
from annotation.work.selectors import work
from crowdqc.errors import Invalid
from tests.annotation.work.test_worker_views import item_url, signed_in
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import thinking

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


def page(client: Client, held: Assignment, number: int = 1, query: str = "") -> str:
    answer = client.get(item_url(held, number) + query)
    assert answer.status_code == 200
    return entities.unescape(html_of(answer))


# Thinking aloud ----------------------------------------------------------------------------------


def test_the_rubric_and_every_scored_sample_stand_beside_the_list(world: factories.World) -> None:
    held = factories.claim(thinking.make_think(world.project), world.worker)
    shown = page(signed_in(world.worker), held)
    assert "<strong>Order.</strong>" in shown
    for sample in thinking.SAMPLES:
        assert sample["text"] in shown
        assert f"score {sample['score']}" in shown
    assert shown.count("Its source") == 4
    assert "Keep it general" in shown
    assert re.search(r'name="attribute-0"', shown)
    assert 'name="transcript"' in shown


def test_without_a_transcript_setting_there_is_no_field_for_one(world: factories.World) -> None:
    task = thinking.make_think(world.project, settings={"transcript": False})
    shown = page(signed_in(world.worker), factories.claim(task, world.worker))
    assert 'name="transcript"' not in shown


def test_a_plain_form_keeps_the_lines_and_says_what_is_missing(world: factories.World) -> None:
    held = factories.claim(thinking.make_think(world.project, ("A", "B")), world.worker)
    client = signed_in(world.worker)
    sent = {"attribute-0": "Sentences link up", "attribute-1": "", "go": "next"}
    answer = client.post(item_url(held, 1), sent)
    assert answer["Location"] == item_url(held, 1) + "?check=1"
    shown = page(client, held, 1, "?check=1")
    assert "At least 2 attributes are wanted; there is 1 attribute." in shown
    assert "Sentences link up</textarea>" in shown
    sent["attribute-1"] = "Time runs one way"
    assert client.post(item_url(held, 1), sent)["Location"] == item_url(held, 2)
    back = client.post(item_url(held, 2), {"go": "back"})
    assert back["Location"] == item_url(held, 1)
    steps = work.steps(held)
    assert steps[0].said == "2 attributes: Sentences link up; Time runs one way"
    assert [step.state for step in steps] == ["done", "open"]


def test_marks_and_transcript_come_back_with_the_page(world: factories.World) -> None:
    held = factories.claim(thinking.make_think(world.project), world.worker)
    client = signed_in(world.worker)
    draft = thinking.thought(["typed"], thinking.SAID, "jump around in time")
    client.post(item_url(held, 1), {**draft, "go": "stay"})
    shown = page(client, held)
    assert f'name="mark-1" value="{draft["mark-1"]}"' in shown
    assert f"{thinking.SAID}</textarea>" in shown
    review = entities.unescape(
        client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    )
    assert "2 attributes: typed; jump around in time" in review
    assert "Ready to submit" in review
    client.post(reverse("work_submit", args=[held.pk]), {"key": str(uuid.uuid4())})
    record = entities.unescape(
        client.get(reverse("work_record_assignment", args=[held.pk])).content.decode()
    )
    assert "jump around in time" in record


def test_the_log_takes_marks_in_its_own_words_and_no_others(world: factories.World) -> None:
    held = factories.claim(thinking.make_think(world.project), world.worker)
    told = [
        {"method": "mark", "time": 5, "target": "transcript", "name": "set", "comment": "3-9"},
        {"method": "mark", "time": 6, "target": "attribute-0", "name": "remove"},
        {"method": "change", "time": 7, "target": "item-1", "name": "c-links", "comment": "yes"},
    ]
    assert factories.make_log(held, told).next_seq == 3
    stream, user = uuid.uuid4(), world.worker.user
    events.open_stream(by=user, assignment=held, key=stream)
    bad = {"method": "mark", "time": 5, "name": "set", "comment": "some words"}
    with pytest.raises(Invalid):
        events.append_events(by=user, assignment=held, stream_key=stream, first_seq=0, events=[bad])


# Checklists --------------------------------------------------------------------------------------


def test_a_text_stands_beside_its_source_and_lines_stand_by_component(
    world: factories.World,
) -> None:
    held = factories.claim(thinking.make_checklist(world.project), world.worker)
    shown = page(signed_in(world.worker), held)
    assert shown.index("A garden. Books.") < shown.index("40,000 books and a garden on the roof")
    heads = re.findall(r'<h3 class="component" dir="auto">(.*?)</h3>', shown)
    assert heads == ["Links", "Order"]
    asked = re.findall(r'<span class="what" dir="auto">(.*?)</span>', shown)
    assert asked == [
        "Does each sentence take up the one before it?",
        "Do names stay the same?",
        "Does time run in one direction?",
    ]
    assert shown.count('type="radio" name="c-') == 6
    assert "Not answered yet" in shown  # there, and hidden until it is asked for
    assert shown.count("data-missing hidden") == 3
    assert not re.search(r"source \d+|text-\d+", shown)  # nothing says whose text it is


def test_a_plain_form_with_open_lines_comes_back_with_a_word_beside_each(
    world: factories.World,
) -> None:
    held = factories.claim(thinking.make_checklist(world.project), world.worker)
    client = signed_in(world.worker)
    answer = client.post(item_url(held, 1), {"c-links": "yes", "go": "next"})
    assert answer["Location"] == item_url(held, 1) + "?check=1"
    shown = page(client, held, 1, "?check=1")
    assert shown.count("data-missing hidden") == 1
    answer = client.post(item_url(held, 1), {**thinking.YES, "go": "next"})
    assert answer["Location"] == item_url(held, 2)
    assert work.steps(held)[0].said == "2 yes, 1 no"


def test_without_sources_a_text_stands_alone(world: factories.World) -> None:
    task = thinking.make_checklist(world.project, settings={"show_sources": False})
    shown = page(signed_in(world.worker), factories.claim(task, world.worker))
    assert "a garden on the roof" not in shown
    assert "A garden. Books." in shown


def test_pages_ask_the_database_as_often_for_many_items_as_for_few(
    world: factories.World,
) -> None:
    client, counts = signed_in(world.worker), []
    names = ["Coherence", "Fluency", "Relevance", "Consistency", "Tone"]
    for few, many in ((1, 5), (2, 6)):
        think = thinking.make_think(world.project, names[: few if few == 1 else many])
        check = thinking.make_checklist(world.project, few if few == 1 else many)
        for task in (think, check):
            held = factories.claim(task, world.worker)
            page(client, held)
            with CaptureQueriesContext(
                connection,
            ) as asked:
                page(client, held)
            counts.append(len(asked))
    assert counts[:2] == counts[2:]


# API and review ----------------------------------------------------------------------------------


def test_a_scripted_worker_gets_samples_and_lines_but_not_whose_idea_a_line_was(
    world: factories.World,
) -> None:
    think, check = thinking.make_think(world.project), thinking.make_checklist(world.project)
    client = signed_in(world.worker)
    entries = []
    for task in (think, check):
        held = factories.claim(task, world.worker)
        shown = client.get(reverse("api_assignment", args=[held.pk]))
        entries.append(shown.json()["entries"][0])
        assert "Calm Heron" not in shown.content.decode()
    assert [one["score"] for one in entries[0]["samples"]] == ["1", "2", "3.5", "5"]
    assert entries[0]["context"] == thinking.RUBRIC
    assert entries[1]["samples"] == []
    assert set(entries[1]["settings"]["questions"][0]) == {"name", "label", "component"}
    assert entries[1]["context"] == thinking.SOURCE


def test_a_reviewer_reads_attributes_by_number_and_questions_by_their_wording(
    world: factories.World,
) -> None:
    think, check = thinking.make_think(world.project), thinking.make_checklist(world.project)
    client, shown = signed_in(world.requester), []
    for task, draft in ((think, thinking.thought()), (check, thinking.YES)):
        done = thinking.submit(factories.claim(task, world.worker), draft)
        url = reverse("review_answers", args=[task.project_id, task.pk, done.pk])
        shown.append(entities.unescape(client.get(url).content.decode()))
    assert "2. Time runs in one direction" in shown[0]
    assert "no: Does time run in one direction?" in shown[1]
