"""Thinking aloud: what is stored of attributes and of a transcript, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.authoring.actions import tasks, think_topics
from annotation.models import SpanValue, TextValue
from annotation.task_types import get_type
from annotation.task_types.think_aloud.type import MAX_ATTRIBUTES
from annotation.work.snapshots import attributes
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.studies import thinking

TYPE = get_type("think_aloud")
SETTINGS = TYPE.clean_settings({"min_attributes": 2})


def checked(raw: dict[str, Any], **settings: Any) -> Any:
    return TYPE.check(TYPE.clean_draft(raw), {**SETTINGS, **settings})


def test_attributes_typed_become_texts_in_their_order_without_gaps() -> None:
    values = checked({"attribute-0": " one ", "attribute-2": "", "attribute-7": "two"})
    assert values.texts == [("attribute", 0, "one"), ("attribute", 1, "two")]
    assert values.spans == []


def test_a_stretch_marked_in_the_transcript_is_a_span_and_may_be_worded_anew() -> None:
    draft = thinking.thought(["typed"], thinking.SAID, "jump around in time", "Names")
    draft["attribute-1"] = "Time does not jump"
    values = checked(draft)
    assert values.texts[1] == ("attribute", 1, "Time does not jump")
    assert values.texts[3] == ("transcript", 0, thinking.SAID)
    [first, second] = values.spans
    assert first[:3] == ("attribute", 1, "transcript")
    assert thinking.SAID[first[3] : first[4]] == "jump around in time"
    # Counted in characters: the smiling face before it is one of them.
    assert thinking.SAID[second[3] : second[4]] == "Names"


def test_a_list_of_attributes_stands_in_for_the_fields_of_the_page() -> None:
    rows = [{"text": "one"}, {"text": "two", "start": 0, "end": 3}]
    values = checked({"attributes": rows, "transcript": "two"})
    assert [text for _, _, text in values.texts] == ["one", "two", "two"]
    assert values.spans == [("attribute", 1, "transcript", 0, 3)]


def test_a_mark_beyond_a_shortened_transcript_is_dropped_and_the_attribute_stays() -> None:
    draft = TYPE.clean_draft({"attribute-0": "one", "mark-0": "5-90", "transcript": "short"})
    assert draft == {"attribute-0": "one", "transcript": "short", "skipped": False}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"attribute-0": "one"}, "At least 2 attributes are wanted; there is 1 attribute."),
        ({}, "At least 2 attributes are wanted; there are none."),
        ({"attribute-0": "One  thing", "attribute-1": "one thing"}, "1 and 2 say the same"),
        ({"attribute-0": "one", "mark-0": "9-3"}, "start before its end"),
        ({"attribute-0": "one", "mark-0": "here"}, "Mark 0 is 'here'"),
        ({"attribute-0": "x" * 1001}, "1,000 is the most"),
        ({"attributes": "one"}, "not a list"),
        ({"transcript": 3}, "not a text"),
        ({f"attribute-{n}": f"a{n}" for n in range(MAX_ATTRIBUTES + 1)}, "There are 201"),
    ],
)
def test_what_cannot_be_taken_is_said(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked(raw)
    assert said in refused.value.message


def test_a_transcript_is_refused_where_none_is_offered() -> None:
    with pytest.raises(Invalid, match="not offered"):
        checked({**thinking.thought(), "transcript": "said"}, transcript=False)


def test_a_dimension_may_be_skipped_only_where_that_is_permitted() -> None:
    assert checked({"skipped": True}, skippable=True) is None
    with pytest.raises(Invalid):
        checked({"skipped": True})


@pytest.mark.django_db
def test_counting_attributes_say_whose_each_is_and_leave_out_what_does_not_count() -> None:
    world = factories.make_world(1)
    task = thinking.make_think(world.project)
    draft = thinking.thought(thinking.ATTRIBUTES[:1], thinking.SAID, "Names should stay the same")
    done = thinking.submit(factories.claim(task, world.worker), draft)
    rows = attributes.counting_attributes(task)
    assert [(row.index, row.worker_id, row.kind) for row in rows] == [
        (0, world.worker.pk, "person"),
        (1, world.worker.pk, "person"),
    ]
    answer = done.answers.get()
    assert attributes.transcripts([answer.pk]) == {answer.pk: thinking.SAID}
    [(key, (start, end))] = attributes.marks([answer.pk]).items()
    assert key == (answer.pk, 1)
    assert thinking.SAID[start:end] == "Names should stay the same"
    assert TextValue.objects.filter(answer=answer, field="attribute").count() == 2
    assert SpanValue.objects.get(answer=answer).target == "transcript"
    answer.counts, answer.uncounted_reason = False, "a test"
    answer.save()
    assert attributes.counting_attributes(task) == []


@pytest.mark.django_db
def test_a_task_is_published_once_every_dimension_has_a_rubric_and_scored_samples() -> None:
    project = factories.make_project()
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="think_aloud", title="Think")

    def lacking() -> list[str]:
        draft = task.versions.latest("number")
        return [one.sentence for one in get_type(task.type).missing(task, draft)]

    assert lacking() == ["The task has no dimension"]
    group = think_topics.save_dimension(by=by, task=task, name="Coherence")
    assert lacking() == ["Dimension 1 has no rubric"]
    group = think_topics.save_dimension(by=by, task=task, group=group, rubric=thinking.RUBRIC)
    assert lacking() == ["Dimension 1 has no scored sample"]
    unscored = [{"text": "A text."}]
    group = think_topics.save_dimension(by=by, task=task, group=group, samples=unscored)
    assert lacking() == ["Dimension 1 has a sample without a score"]
    with pytest.raises(Invalid, match="without a score"):
        tasks.publish(by=by, task=task)
    think_topics.save_dimension(by=by, task=task, group=group, samples=thinking.SAMPLES)
    tasks.publish(by=by, task=task)
    assert task.items.get().question == "Coherence"


@pytest.mark.django_db
def test_a_rubric_changed_after_publishing_is_another_item_with_attributes_of_its_own() -> None:
    world = factories.make_world(1)
    by, task = world.requester, thinking.make_think(world.project)
    thinking.submit(factories.claim(task, world.worker), thinking.thought())
    old = task.items.get()
    group = think_topics.save_dimension(
        by=by, task=task, group=task.groups.get(), rubric="Another rubric."
    )
    tasks.publish(by=by, task=task)
    new = task.items.get(group=group)
    assert new.pk != old.pk
    assert new.held == 0
    assert {row.item_id for row in attributes.counting_attributes(task)} == {old.pk}


@pytest.mark.django_db
def test_a_name_changed_before_publishing_keeps_the_one_item_and_its_place() -> None:
    project = factories.make_project()
    task = thinking.make_think(project, ("Coherence", "Fluency"), publish=False)
    by, first = project.owner, task.groups.order_by("position").first()
    think_topics.save_dimension(by=by, task=task, group=first, name="Order of thoughts")
    think_topics.move_dimension(by=by, task=task, group=first, step=1)
    asked = task.items.order_by("group__position").values_list("question", flat=True)
    assert list(asked) == ["Fluency", "Order of thoughts"]


def test_a_way_of_recording_that_there_is_not_is_refused_by_name() -> None:
    assert TYPE.clean_settings({})["recording"] == "no"
    with pytest.raises(Invalid) as refused:
        TYPE.clean_settings({"recording": "loud"})
    assert "required" in refused.value.fields["recording"]
