"""The one next step of a task, in every state, and the one primary button that shows it."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.authoring.selectors.next_step import (
    DONE,
    NO_RESULTS,
    NO_RUN,
    RUNNING,
    Standing,
    button_of,
    next_step,
)
from annotation.models import User
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from evaluation.models import Run
from tests.support import factories

DRAFT = Standing("draft", 0, "Add items")
OPEN = Standing("open", 4, "Add items", results=NO_RUN)
BEGUN = replace(OPEN, begun=True)
FULL = replace(BEGUN, complete=True)
CLOSED = replace(BEGUN, state="closed")


@pytest.mark.parametrize(
    ("at", "label"),
    [
        (DRAFT, "Add items"),
        (replace(DRAFT, items=4), "Preview and publish"),
        (OPEN, "Invite workers"),
        (BEGUN, "Invite more workers"),
        (replace(BEGUN, waiting=1), "Review 1 assignment"),
        (replace(BEGUN, draft=2), "Publish version 2"),
        (replace(BEGUN, waiting=3, proposal=7), "Approve proposal 7"),
        (replace(FULL, waiting=3), "Review 3 assignments"),
        (FULL, "Start a run"),
        (replace(FULL, waiting=3, results=RUNNING), "Review 3 assignments"),
        (replace(FULL, results=RUNNING), "See the run"),
        (replace(FULL, waiting=3, results=DONE), "Review 3 assignments"),
        (replace(FULL, results=DONE), "Open results"),
        (replace(FULL, results=NO_RESULTS), None),
        (replace(OPEN, state="paused"), "Resume the task"),
        (CLOSED, "Start a run"),
        (replace(CLOSED, results=DONE), "Open results"),
        (replace(CLOSED, begun=False), None),
    ],
)
def test_every_state_has_its_next_step(at: Standing, label: str | None) -> None:
    step = next_step(at)
    assert (step.label if step else None) == label
    if step:
        args = {"project_id": 1, "task_id": 2}
        assert button_of(at, is_requester=True, **args)
        assert (button_of(at, is_requester=False, **args) is None) == step.requester


@pytest.mark.django_db
def test_a_task_has_one_primary_button_which_goes_on_from_step_to_step() -> None:
    world = factories.make_world(1, redundancy=1, pay="1.00")
    world.project.memberships.create(user=world.requester, role="manager")

    def shown(person: User) -> list[str]:
        client = Client()
        client.force_login(person)
        page = client.get(reverse("task", args=[world.project.pk, world.task.pk]))
        head = page.content.decode().partition('class="actions"')[2].partition("</header>")[0]
        return re.findall(r'<a class="button primary"[^>]*>([^<]*)</a>', head)

    assert shown(world.requester) == ["Invite workers"]
    done = factories.claim_and_submit(world.task, world.worker)
    assert shown(world.requester) == shown(world.manager) == ["Review 1 assignment"]
    Run.objects.create(
        project=world.project, task=world.task, number=1, method="aqer", state="done"
    )
    assert shown(world.requester) == ["Review 1 assignment"]
    payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    assert shown(world.manager) == ["Approve proposal 1"]
    assert shown(world.requester) == ["Open results"]  # nobody approves what they proposed
    tasks.edit_draft(by=world.requester, task=world.task, fields={"pay": "2.00"})
    assert shown(world.requester) == ["Publish version 2"]
