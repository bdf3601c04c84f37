"""Drafts, versions, and what happens to answers when a task is changed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from annotation.authoring.actions import drafts, items, tasks
from annotation.authoring.selectors.builder.frame import Build, asks_twice
from annotation.authoring.selectors.cost import expected_an_hour, shown_seconds, time_in_words
from annotation.authoring.selectors.tasks import task_row, versions_of
from annotation.models import Answer, Item, Task, TaskVersion
from annotation.models.tasks import TaskState
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import duration
from tests.support import factories

pytestmark = pytest.mark.django_db


def shown(task: Task, number: int) -> dict[str, str]:
    return dict(task.items.in_version(number).values_list("key", "question"))


def test_a_published_version_cannot_change_even_past_the_actions() -> None:
    task = factories.make_task()
    version = task.current
    assert version is not None
    version.title = "Something else"
    with pytest.raises(IntegrityError), transaction.atomic():
        version.save()


def test_saving_what_stands_there_begins_no_version() -> None:
    task = factories.make_task(pay="1.80", title="Storks")
    drafts.edit_draft(by=task.created_by, task=task, fields={"pay": "1,80", "title": "Storks"})
    assert task.versions.count() == 1


def test_a_compatible_change_keeps_the_questions_and_their_answers() -> None:
    task = factories.make_task(n=2)
    factories.claim_and_submit(task)
    drafts.edit_draft(by=task.created_by, task=task, fields={"pay": "2.00"})
    tasks.publish(by=task.created_by, task=task)
    row = task_row(task)
    assert (row.version.number, row.version.pay, row.answers) == (2, Decimal("2.00"), 2)
    assert set(Answer.objects.values_list("version__number", flat=True)) == {1}


def test_a_changed_question_is_asked_anew_and_its_old_answers_stay_with_version_1() -> None:
    task = factories.make_task(n=2)
    factories.claim_and_submit(task)
    item = task.items.get(key="q-001")
    items.save_item(by=task.created_by, task=task, item=item, question="Asked differently?")
    build = Build(task)
    assert build.changes().changed == {"q-001"}
    assert build.touched_answers(build.changes()) == 1
    tasks.publish(by=task.created_by, task=task)
    assert shown(task, 1)["q-001"] == item.question
    assert shown(task, 2)["q-001"] == "Asked differently?"
    new = task.items.get(key="q-001", until=None)
    assert (new.held, new.redundancy) == (0, 2)
    assert Answer.objects.get(item=item).version.number == 1
    assert task_row(task).answers == 1


def test_a_change_taken_back_word_for_word_gives_the_answers_back() -> None:
    task = factories.make_task(n=2)
    factories.claim_and_submit(task)
    item = task.items.get(key="q-001")
    changed = items.save_item(by=task.created_by, task=task, item=item, question="What?")
    assert changed.pk != item.pk
    back = items.save_item(by=task.created_by, task=task, item=changed, question=item.question)
    assert back.pk == item.pk and task.items.count() == 2


def test_a_changed_passage_replaces_its_questions_and_taken_back_restores_them() -> None:
    task = factories.make_task(n=3)
    before = set(task.items.values_list("pk", flat=True))
    group = task.groups.get()
    new = items.save_group(
        by=task.created_by, task=task, group=group, title=group.title, passage="Other."
    )
    assert set(new.items.values_list("key", flat=True)) == {"q-001", "q-002", "q-003"}
    back = items.save_group(
        by=task.created_by, task=task, group=new, title=group.title, passage=group.passage
    )
    assert back.pk == group.pk
    assert set(task.items.values_list("pk", flat=True)) == before
    assert not task.items.exclude(until=None).exists()


def test_a_lease_in_work_keeps_its_version_and_pay() -> None:
    task = factories.make_task(n=2, pay="1.80")
    assignment = factories.claim(task, factories.make_worker(task.project))
    drafts.edit_draft(by=task.created_by, task=task, fields={"pay": "1.00"})
    tasks.publish(by=task.created_by, task=task)
    factories.submit(assignment)
    assignment.refresh_from_db()
    assert assignment.pay == Decimal("1.80") and assignment.version.number == 1


def test_discarding_a_draft_leaves_the_published_version_as_it_was() -> None:
    task = factories.make_task(n=3)
    before = shown(task, 1)
    by = task.created_by
    items.save_item(by=by, task=task, item=task.items.get(key="q-001"), question="New?")
    items.remove_item(by=by, task=task, item=task.items.get(key="q-002"))
    items.save_item(by=by, task=task, question="Fourth?")
    tasks.discard_draft(by=by, task=task)
    assert shown(task, 1) == before and task.versions.count() == 1
    assert not Item.objects.exclude(until=None).exists()


def test_nothing_is_published_without_questions_or_with_an_empty_one() -> None:
    project = factories.make_project()
    task = tasks.create_task(by=project.owner, project=project, type="free_text", title="Empty")
    with pytest.raises(Invalid):
        tasks.publish(by=project.owner, task=task)
    items.save_item(by=project.owner, task=task, question="")
    assert [problem.sentence for problem in Build(task).missing()] == ["Question 1 has no text"]
    with pytest.raises(Invalid):
        tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    assert task.state == TaskState.DRAFT


def test_a_task_pauses_resumes_closes_and_reopens_and_nothing_else() -> None:
    task = factories.make_task()
    by = task.created_by
    for step, state in (
        ("pause", "paused"),
        ("resume", "open"),
        ("close", "closed"),
        ("reopen", "open"),
    ):
        assert tasks.move(by=by, task=task, to=step).state == state
    tasks.move(by=by, task=task, to="close")
    with pytest.raises(Conflict):
        tasks.move(by=by, task=task, to="pause")
    with pytest.raises(Conflict):
        drafts.edit_draft(by=by, task=task, fields={"title": "Other"})


def test_questions_move_within_their_text_and_texts_among_themselves() -> None:
    task = factories.make_task(n=4, groups=2, publish=False)
    by = task.created_by
    items.place_item(by=by, task=task, row=task.items.get(key="q-002"), index=0)
    second = task.groups.order_by("position").last()
    assert second is not None
    items.place_item(by=by, task=task, row=second, index=0)
    assert [item.key for item in Build(task).items] == ["q-003", "q-004", "q-002", "q-001"]


def test_versions_say_what_each_changed() -> None:
    task = factories.make_task(n=2, pay="1.80")
    by = task.created_by
    drafts.edit_draft(by=by, task=task, fields={"pay": "2.00"})
    items.save_item(by=by, task=task, question="A third?")
    rows = versions_of(task)
    assert [row.version.number for row in rows] == [2, 1]
    assert rows[0].changes == ["pay 1.80 to 2.00", "1 question new"]


def test_the_cost_counts_assignments_up_and_warns_below_the_floor() -> None:
    project = factories.make_project(hourly_floor=Decimal("12"))
    task = factories.make_task(project, n=8, redundancy=12, items_per_assignment=5, pay="0.10")
    cost = Build(task).cost()
    assert cost.assignments == 20  # 8 x 12 / 5, rounded up
    assert cost.open_assignments == 28  # at most: the last of 12 may hold one question each
    assert cost.cost_limit == Decimal("2.80")
    assert cost.measured == 0 and cost.under_floor


@pytest.mark.parametrize("seconds", [7, 59.6, 83, 127, 599, 640, 3601])
def test_the_hourly_pay_is_that_of_the_time_beside_it(seconds: float) -> None:
    shown = shown_seconds(seconds / 60)
    assert time_in_words(seconds / 60) == duration(shown)
    hourly = expected_an_hour(Decimal("0.19"), seconds / 60)
    assert hourly == (Decimal("0.19") * 3600 / shown).quantize(Decimal("0.01"))
    assert seconds != 83 or hourly == Decimal("8.05")


def test_unpaid_imported_answers_do_not_raise_what_a_task_costs_at_most() -> None:
    task = factories.make_task(n=2, redundancy=2, pay="1.00")
    factories.make_answers(task, {f"w{n}": {"q-001": "a", "q-002": "b"} for n in range(5)})
    row = task_row(task)
    assert (row.answers, row.planned, row.cost_limit) == (10, 4, Decimal("0.00"))


def test_a_draft_shows_its_questions_before_anything_is_published() -> None:
    row = task_row(factories.make_task(n=3, redundancy=4, publish=False))
    assert (row.questions, row.planned) == (3, 12)


@pytest.mark.parametrize(
    ("question", "twice"),
    [
        ("How does a wetsuit help, and when is it not allowed?", True),
        ("Who was there? Why?", True),
        ("Which animals live in sea and river?", False),
    ],
)
def test_two_questions_in_one_are_hinted_at(question: str, twice: bool) -> None:
    assert asks_twice(question) is twice


def test_editing_a_version_published_in_another_tab_begins_the_next_one() -> None:
    task = factories.make_task(n=1, publish=False)
    stale = Build(task).version
    tasks.publish(by=task.created_by, task=task)
    task.refresh_from_db()
    version = drafts.edit_draft(by=task.created_by, task=task, fields={"title": "Later"})
    assert (stale.number, version.number) == (1, 2)
    assert TaskVersion.objects.get(task=task, number=1).title == stale.title
