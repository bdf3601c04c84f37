"""A new wording of what was answered: only spelling, or another question, as its requester says."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import drafts, tasks
from annotation.authoring.actions.rewording import respelling
from annotation.authoring.selectors.rewording import rewording_of
from annotation.authoring.selectors.tasks import task_row
from annotation.formats.actions.imports import import_content
from annotation.models import Answer, AuditEntry, Item, Task
from annotation.work.snapshots.answers import counting_texts
from tests.support import factories
from tests.support.studies.labels import make_labels

pytestmark = [pytest.mark.django_db, pytest.mark.db]
CORRECTED = "What is the capital of France?"


@pytest.fixture
def task() -> Task:
    return factories.make_task(n=3, redundancy=2)


def reword(task: Task, question: str = CORRECTED) -> Item:
    item = task.items.filter(until=None).order_by("position").first()
    assert item is not None
    tasks.save_item(by=task.project.owner, task=task, item=item, question=question)
    return item


def publish(task: Task, **sent: Any) -> Any:
    client = Client()
    client.force_login(task.project.owner)
    return client.post(reverse("task_publish", args=[task.project_id, task.pk]), sent)


def answered_in_force(task: Task) -> int:
    """Answers to questions of the version in force that enter results."""
    task.refresh_from_db()
    assert task.current is not None
    live = set(task.items.in_version(task.current.number).values_list("pk", flat=True))
    return sum(row.item_id in live for row in counting_texts(task))


def test_the_dialog_asks_once_and_says_how_many_answers_are_meant(task: Task) -> None:
    factories.claim_and_submit(task)
    reword(task)
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("task_publish", args=[task.project_id, task.pk])
    page = client.get(url)
    assert page.context["publishing"].rewording.answers == 1
    assert page.content.decode().count('name="wording"') == 2
    assert publish(task).status_code == 422  # nothing was chosen
    task.refresh_from_db()
    assert task.current is not None and task.current.number == 1


@pytest.mark.parametrize(("wording", "kept", "open_slots"), [("spelling", 3, 3), ("meaning", 2, 4)])
def test_answers_to_a_reworded_question_count_as_it_was_said(
    task: Task, wording: str, kept: int, open_slots: int
) -> None:
    done = factories.claim_and_submit(task)
    old = reword(task)
    assert publish(task, wording=wording).status_code == 302
    assert answered_in_force(task) == kept
    shown = task.items.in_version(2).get(key=old.key)
    assert shown.question == CORRECTED and (shown.pk == old.pk) is (wording == "spelling")
    assert Answer.objects.filter(assignment=done, counts=True).count() == 3
    rows = task.items.in_version(2).values_list("redundancy", "held")
    assert sum(wanted - held for wanted, held in rows) == open_slots
    kept_words = AuditEntry.objects.filter(action="item.respell").values_list("detail", flat=True)
    words = hashlib.sha256(old.question.encode()).hexdigest()  # no text outlives its project
    assert [row["before"] for row in kept_words] == ([words] if kept == 3 else [])


def test_a_lease_in_work_is_submitted_to_the_corrected_question(task: Task) -> None:
    worker = factories.make_worker(task.project)
    factories.claim_and_submit(task)
    held = factories.claim(task, worker)
    reword(task)
    publish(task, wording="spelling")
    factories.submit(held)
    assert answered_in_force(task) == 6


def test_a_corrected_passage_keeps_the_answers_to_its_questions(task: Task) -> None:
    factories.claim_and_submit(task)
    group = task.groups.get()
    by = task.project.owner
    tasks.save_group(by=by, task=task, group=group, title=group.title, passage="Corrected.")
    assert publish(task, wording="spelling").status_code == 302
    assert answered_in_force(task) == 3
    group.refresh_from_db()
    assert group.passage == "Corrected." and group.until is None


def test_a_change_of_more_than_words_is_no_rewording(task: Task) -> None:
    factories.claim_and_submit(task)
    item = task.items.order_by("position").first()
    assert item is not None
    by = task.project.owner
    tasks.save_item(
        by=by, task=task, item=item, question=CORRECTED, settings={"min_words": 40, "max_words": 90}
    )
    assert rewording_of(task, drafts.draft_of(task, by=by)).answers == 0
    assert publish(task).status_code == 302 and answered_in_force(task) == 2


@pytest.mark.parametrize(("wording", "kept"), [("spelling", True), ("meaning", False), ("", True)])
def test_answers_to_a_reworded_field_count_as_it_was_said(wording: str, kept: bool) -> None:
    task = make_labels(factories.make_project(), redundancy=2)
    content = b"worker,item,label\nann,leaf-1,spots\nbob,leaf-2,holes\n"
    by = task.project.owner
    import_content(by=by, task=task, kind="labels", content=content, name="labels.csv")
    task.refresh_from_db()
    before = set(task.items.values_list("pk", flat=True))
    assert task.current is not None
    fields = json.loads(json.dumps(task.current.settings["fields"]))
    fields[0]["label"] = "Damage seen"
    drafts.edit_draft(by=by, task=task, fields={"settings": {"fields": fields}})
    draft = drafts.draft_of(task, by=by)
    assert rewording_of(task, draft).answers == Answer.objects.filter(counts=True).count() > 0
    tasks.publish(by=by, task=task, wording=wording)  # "" as programs did before
    after = set(task.items.in_version(2).values_list("pk", flat=True))
    assert (after == before) is kept and kept is not (after & before == set())


@pytest.mark.parametrize("wording", ["spelling", "meaning"])
@pytest.mark.parametrize("what", ["item", "field"])
def test_the_dialog_names_the_cost_of_what_is_chosen(what: str, wording: str) -> None:
    if what == "item":
        task = factories.make_task(n=3, redundancy=2, pay="1.00")
        factories.claim_and_submit(task)
        reword(task)
    else:
        task = make_labels(factories.make_project(), redundancy=2)
        content = b"worker,item,label\nann,leaf-1,spots\nbob,leaf-2,holes\n"
        by = task.project.owner
        import_content(by=by, task=task, kind="labels", content=content, name="labels.csv")
        task.refresh_from_db()
        fields = json.loads(json.dumps(task.version_or_draft().settings["fields"]))
        fields[0]["label"] = "Damage seen"
        drafts.edit_draft(
            by=task.project.owner, task=task, fields={"settings": {"fields": fields}, "pay": "1.00"}
        )
    page = publish(task, wording=wording, look="1")
    promised, told = page.context["publishing"].total, page.context["republishing"]
    tasks.publish(by=task.project.owner, task=task, wording=wording)
    task.refresh_from_db()
    assert task_row(task).cost_limit == promised
    still_count = what == "item" or wording == "spelling"
    assert ("still count" in told) is still_count


def test_the_database_lets_nothing_but_the_spelling_change(task: Task) -> None:
    factories.claim_and_submit(task)
    item = task.items.first()
    assert item is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(question="Another")
    with pytest.raises(IntegrityError), transaction.atomic(), respelling():
        Item.objects.filter(pk=item.pk).update(question="Another", settings={"min_words": 3})


def test_programs_may_say_what_a_wording_means(task: Task) -> None:
    factories.claim_and_submit(task)
    reword(task)
    token = factories.api_token(task.project.owner)
    for said, status in (("nonsense", 422), ("spelling", 200)):
        sent = Client().post(
            reverse("api_task_publish", args=[task.pk]),
            json.dumps({"wording": said}),
            content_type="application/json",
            headers={"Authorization": f"Token {token}"},
        )
        assert sent.status_code == status, sent.content
    assert answered_in_force(task) == 3
