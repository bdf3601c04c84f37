"""The five steps of a new project: read from its rows, one next, gone when all are done."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.access import Access
from annotation.accounts.named.actions import workers_named
from annotation.accounts.projects.actions import invite
from annotation.authoring.actions import tasks
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template
from annotation.models import Membership, Role
from annotation.panels.selectors import count_able_workers
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.work.actions import answers
from evaluation.labels.run import LABELS
from evaluation.models import Run
from evaluation.overview.selectors import facts
from evaluation.overview.started import started
from tests.support import factories
from tests.support.pages import html_of

pytestmark = [pytest.mark.django_db, pytest.mark.db]
LIST = "<h2>Get started"


def test_each_step_follows_from_what_is_there_and_the_list_goes_when_all_are_done() -> None:
    project = factories.make_project(also_manager=True, single_approval=True)
    by = project.owner
    client = Client()
    client.force_login(by)

    def at(done: int, label: str) -> None:
        page = html_of(client.get(reverse("project", args=[project.pk])))
        assert f"{done} of 5 steps done." in page
        assert re.findall(r'<a class="button primary"[^>]*>([^<]*)</a>', page) == [label]

    at(0, "Create a task")
    bare = tasks.create_task(by=by, project=project, type="labels", title="Empty")
    at(1, "Add items")
    bare.delete()
    task = begin_task(by=by, project=project, template=get_template("classification"))
    at(1, "Preview and publish")
    tasks.edit_draft(by=by, task=task, fields={"pay": "1.00", "redundancy": 1})
    tasks.publish(by=by, task=task)
    at(2, "Invite people")
    invite(by=by, project=project, role=Role.WORKER)
    at(3, "See the results page")
    task.refresh_from_db()
    held = factories.claim(task, factories.make_worker(project))
    drafts = {e.item_id: {"l-topic": "fault"} for e in held.entries.all()}
    done = answers.submit_assignment(
        by=held.worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts
    )
    at(3, "Start a run")
    Run.objects.create(project=project, task=task, number=1, method=LABELS, state="done")
    at(4, "Open payouts")
    batch = payouts.propose_payout(
        by=by, task=task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    payouts.approve_payout(by=by, batch=batch, expected_total=Decimal("1.00"))
    page = html_of(client.get(reverse("project", args=[project.pk])))
    assert LIST not in page and "Templates" not in page


def test_the_list_can_be_hidden_by_one_person_and_managers_do_not_see_it() -> None:
    world = factories.make_world(1)
    url = reverse("project", args=[world.project.pk])
    one, other = Client(), Client()
    one.force_login(world.requester)
    other.force_login(factories.make_member(world.project, Role.REQUESTER).user)
    manager = Client()
    manager.force_login(world.manager)
    hidden = one.post(reverse("project_start_hide", args=[world.project.pk]), follow=True)
    assert LIST not in html_of(hidden) and LIST not in html_of(one.get(url))
    assert LIST in html_of(other.get(url)) and LIST not in html_of(manager.get(url))


def test_workers_of_a_file_do_not_count_as_invited() -> None:
    project = factories.make_project()
    task = factories.make_task(project=project, n=2)
    workers_named(project, {"w1", "w2"})
    found = facts(Access(project, project.owner, frozenset({Role.REQUESTER})))
    invite_step = next(one for one in started(found).steps if "Invite" in one.title)
    assert not invite_step.done and count_able_workers(task) == 0
    factories.make_worker(project)
    invite_step = next(one for one in started(found).steps if "Invite" in one.title)
    assert invite_step.done and count_able_workers(task) == 1


def test_the_step_to_invite_counts_only_the_assignments_that_are_still_to_answer() -> None:
    project = factories.make_project()
    task = factories.make_task(project=project, n=2)
    factories.claim_and_submit(task)
    done = task.assignments.get()
    Membership.objects.filter(pk=done.worker_id).update(removed_at=timezone.now())
    found = facts(Access(project, project.owner, frozenset({Role.REQUESTER})))
    [progress] = found.published
    assert progress.submitted == 1 < progress.needed
    assert found.unanswered == progress.needed - 1
    assert (found.ahead, found.cost_limit) == (progress.ahead, progress.spent + progress.ahead)
    invite_step = next(one for one in started(found).steps if "Invite" in one.title)
    assert f"{found.unanswered} assignment" in invite_step.text
