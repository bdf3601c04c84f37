"""Copies of tasks and projects: what is asked is there, and nobody who answered."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects.actions import change_consent_text, current_consent_text
from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.gallery.actions.duplicates import duplicate_project, duplicate_task
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import templates
from annotation.models import (
    Answer,
    Assignment,
    Candidate,
    Exclusion,
    Item,
    LedgerEntry,
    Membership,
    Panel,
    Project,
    Recruitment,
    Task,
)
from annotation.task_types.pairwise.texts import signature
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers import prolific
from tests.support.studies import labels, thinking, writing

pytestmark = pytest.mark.django_db
ASKED = ("title", "instructions", "order", "redundancy", "items_per_assignment", "pay", "settings")


def asked(task: Task) -> list[object]:
    version = task.versions.latest("number")
    return [getattr(version, name) for name in ASKED[1:]]


def items(task: Task) -> list[tuple[object, ...]]:
    rows = task.items.in_version(task.versions.latest("number").number).order_by("position", "pk")
    return list(
        rows.values_list("group__key", "key", "question", "settings", "expected", "known_why")
    )


def test_a_copied_task_asks_the_same_and_leaves_no_trace_of_people_or_money() -> None:
    world = factories.make_world(2)
    task = labels.make_labels(world.project)
    key = task.items.first().key
    set_known(by=world.requester, task=task, key=key, given={"damage": "spots"}, why="Brown.")
    tasks.publish(by=world.requester, task=task)
    factories.claim_and_submit(world.task, world.worker)
    prolific.make_recruitment(task)
    task.budget, task.domain = Decimal("50"), "leaves"
    task.panel = Panel.objects.create(project=world.project, name="P", created_by=world.requester)
    task.save()
    client = Client()
    client.force_login(world.requester)
    url = reverse("task_copy", args=[world.project.pk, task.pk])
    told = html_of(client.post(url, {"items": "1"}, follow=True))
    copy = world.project.tasks.latest("pk")
    assert f"{task.items.filter(until=None).count()} items copied." in told
    assert (copy.state, copy.current, copy.budget, copy.panel) == ("draft", None, None, None)
    assert (asked(copy), items(copy), copy.domain) == (asked(task), items(task), "leaves")
    assert copy.versions.get().title == f"Copy of {task.versions.latest('number').title}"
    assert [item.held for item in copy.items.all()] == [0] * copy.items.count()
    for model in (Assignment, LedgerEntry, Exclusion, Recruitment):
        assert not model.objects.filter(task=copy).exists()
    assert not Answer.objects.filter(item__task=copy).exists()
    client.post(url)
    bare = world.project.tasks.latest("pk")
    assert (asked(bare), items(bare)) == (asked(task), [])


def test_a_copied_project_has_its_tasks_as_drafts_its_settings_and_only_its_new_owner() -> None:
    world = factories.make_world(2)
    old = world.project
    factories.claim_and_submit(world.task, world.worker)
    for template in templates().values():
        begin_task(by=world.requester, project=old, template=template)
    labels.make_labels(old)
    writing.make_writing(old)
    thinking.make_think(old)
    old.hourly_floor, old.budget, old.decide_days = Decimal("9"), Decimal("100"), 3
    old.single_approval = True
    old.save()
    change_consent_text(by=world.requester, project=old, text="Our own.", retention_days=5)
    client = Client()
    client.force_login(world.requester)
    told = html_of(client.post(reverse("project_copy", args=[old.pk]), follow=True))
    new = Project.objects.latest("pk")
    assert f"“Copy of {old.name}” was created." in told
    assert (new.hourly_floor, new.decide_days, new.currency) == (9, 3, old.currency)
    assert (new.budget, new.single_approval, new.owner) == (None, False, world.requester)
    consent = current_consent_text(new)
    assert (consent.text, consent.retention_days) == ("Our own.", 5)
    people = Membership.objects.filter(project=new).values_list("user", "role")
    assert list(people) == [(world.requester.pk, "requester")]
    before, after = old.tasks.order_by("pk"), new.tasks.order_by("pk")
    assert [task.state for task in after] == ["draft"] * len(before)
    assert [len(items(task)) for task in after] == [len(items(task)) for task in before]
    open_in = [tasks.problems(task, task.versions.latest("number")) for task in before]
    assert [tasks.problems(task, task.versions.get()) for task in after] == open_in
    assert not Assignment.objects.filter(task__project=new).exists()
    assert not LedgerEntry.objects.filter(project=new).exists()
    shown = Item.objects.filter(task__project=new, media__isnull=False)
    assert shown.count() == 7 and not shown.exclude(media__project=new).exists()
    pairs = after.get(type="pairwise")
    texts = Candidate.objects.filter(project=new)
    assert Item.objects.filter(task=pairs).exclude(first__in=texts).count() == 0
    for item in pairs.items.all():
        assert f"-{item.first_id}-{item.second_id}" in item.key
    assert tasks.publish(by=world.requester, task=pairs).number == 1
    assert signature(pairs, pairs.versions.get())


@pytest.mark.parametrize("what", ["task", "project"])
def test_a_second_click_on_duplicate_leads_to_the_first_copy(what: str) -> None:
    world = factories.make_world(2)
    client = Client()
    client.force_login(world.requester)
    place = [world.project.pk, world.task.pk] if what == "task" else [world.project.pk]
    form = {"key": str(uuid4()), "items": "1"}
    first, second = (client.post(reverse(f"{what}_copy", args=place), form) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert (Project if what == "project" else Task).objects.count() == 2
    client.post(reverse(f"{what}_copy", args=place), {**form, "key": str(uuid4())})
    assert (Project if what == "project" else Task).objects.count() == 3
    shown = client.get(reverse("project_settings" if what == "project" else "task", args=place))
    assert shown.content.decode().count('name="key"') >= 1


def test_texts_that_people_wrote_stay_in_their_project_and_are_counted() -> None:
    task = pair_corpus.make_task(topics=1, sources=3)
    project = task.project
    one = task.items.first().first
    author = factories.make_worker(project)
    Candidate.objects.filter(pk=one.pk).update(author=author)
    about = task.items.filter(first=one).count() + task.items.filter(second=one).count()
    new, copied = duplicate_project(by=project.owner, project=project)
    assert (copied.left_out, copied.items) == (about, task.items.count() - about)
    assert not Candidate.objects.filter(project=new, text=one.text).exists()
    _, here = duplicate_task(by=project.owner, task=task)  # they are in this project already
    assert (here.items, here.left_out) == (task.items.count(), 0)


def test_a_copied_checklist_does_not_name_the_people_whose_words_it_came_from() -> None:
    project = factories.make_project()
    task = begin_task(by=project.owner, project=project, template=templates()["checklist"])
    rows = task.versions.get().settings["questions"]
    rows[0]["attributes"] = [{"text": "It is clear.", "author": "owl-01", "kind": "person"}]
    tasks.edit_draft(by=project.owner, task=task, fields={"settings": {"questions": rows}})
    assert "owl-01" in str(task.versions.get().settings)
    copy, _ = duplicate_task(by=project.owner, task=task)
    assert "owl-01" not in str(copy.versions.get().settings)
    assert len(copy.versions.get().settings["questions"]) == len(rows)
