"""A colleague who may only read: how they join, and what their pages offer."""

from __future__ import annotations

import re

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.urls import reverse

from annotation.accounts.actions.invitation_mail import invite_by_mail
from annotation.accounts.projects.actions import accept_invitation, invitation_token, remove_member
from annotation.accounts.roles.selectors import load_ties
from annotation.models import Role, RoleGrant
from crowdqc.errors import NotAllowed
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db]
LINK = re.compile(r'<a\b[^>]*\bhref="(/[^"#?]*)')


@pytest.fixture
def world() -> World:
    return factories.make_world(2)


def test_a_viewer_joins_at_once_by_an_invitation_to_their_address_and_is_removed(
    world: World,
) -> None:
    colleague = factories.make_user()
    EmailAddress.objects.create(user=colleague, email="ada@example.org", verified=True)
    [invitation] = invite_by_mail(
        by=world.requester, project=world.project, role=Role.VIEWER, emails="ada@example.org"
    )
    token = invitation_token(invitation)
    with pytest.raises(NotAllowed):
        accept_invitation(by=world.outsider, token=token)
    member = accept_invitation(by=colleague, token=token)
    assert member is not None and member.role == Role.VIEWER
    assert not RoleGrant.objects.exists() and not load_ties(world.project).are_tied(
        colleague.pk, world.requester.pk
    )
    client = Client()
    client.force_login(colleague)
    home = client.get("/", follow=True)
    assert home.status_code == 200 and home.redirect_chain[-1][0].endswith("/results/")
    remove_member(by=world.requester, member=member)
    assert client.get(reverse("task_list", args=[world.project.pk])).status_code == 404


def test_a_viewer_sees_no_money_and_no_log_of_work(world: World) -> None:
    factories.claim_and_submit(world.task)
    client = Client()
    client.force_login(factories.make_member(world.project, Role.VIEWER).user)
    task = client.get(reverse("task", args=[world.project.pk, world.task.pk]))
    labels = [one["label"] for one in task.context["figures"]]
    assert len(labels) == 2 and not any("aid" in label for label in labels)
    listed = client.get(reverse("task_list", args=[world.project.pk])).context["list"]
    assert not {"paid", "at_most", "next"} & set(listed.show)
    exports = dict(task.context["exports"])
    assert exports and not {"assignments", "events"} & set(exports)
    for what in ("events", "answers"):
        where = reverse("task_export", args=[world.project.pk, world.task.pk, what, "csv"])
        assert client.get(where).status_code == (403 if what == "events" else 200)


def test_a_viewer_reads_tasks_without_their_pay(world: World) -> None:
    viewer = factories.make_member(world.project, Role.VIEWER).user
    token = {"HTTP_AUTHORIZATION": f"Token {factories.api_token(viewer, ['read'])}"}
    client = Client()
    found = client.get(f"/api/tasks/{world.task.pk}/", **token).json()
    (listed,) = client.get(f"/api/projects/{world.project.pk}/tasks/", **token).json()["results"]
    for task in (found, listed):
        assert (task["budget"], task["current"]["pay"]) == (None, None)
    client.force_login(viewer)
    for address in (
        reverse("task", args=[world.project.pk, world.task.pk]),
        reverse("task_list", args=[world.project.pk]),
    ):
        assert "1.80" not in client.get(address).content.decode(), address


def test_no_page_of_a_viewer_leads_to_one_that_refuses_them() -> None:
    task = corpus.make_labelled(items=12, known=2, workers=6, guessing=1)
    scored(task)
    viewer = factories.make_member(task.project, Role.VIEWER).user
    client = Client()
    client.force_login(viewer)
    waiting, came_from, refused = ["/"], {"/": ""}, set[tuple[str, str]]()
    while waiting:
        page = waiting.pop()
        response = client.get(page, follow=True)
        if response.status_code == 403:
            refused.add((page, came_from[page]))
            continue
        if response.streaming or "html" not in response["Content-Type"]:
            response.getvalue()
            continue
        for link in LINK.findall(response.content.decode()):
            if link not in came_from and link.startswith(f"/projects/{task.project_id}/"):
                came_from[link] = page
                waiting.append(link)
    assert len(came_from) > 15
    assert not refused
