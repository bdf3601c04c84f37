"""A title that is too long is refused with its limit wherever it is taken; none is cut silently."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.models import Project, Task
from annotation.pairs.actions import derived_tasks as chain
from annotation.pairs.actions import pair_design
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.factories import World
from tests.support.studies import judging

pytestmark = pytest.mark.django_db
LONG = "A title that goes on " + "and on " * 30
LIMIT = "160"


@pytest.fixture
def world() -> World:
    return factories.make_world(1)


@pytest.fixture
def client(world: World) -> Client:
    client = Client()
    client.force_login(world.requester)
    return client


def test_the_form_of_a_new_task_refuses_and_keeps_what_was_written(
    world: World, client: Client
) -> None:
    before = Task.objects.count()
    answer = client.post(
        reverse("task_new", args=[world.project.pk]), {"title": LONG, "type": "free_text"}
    )
    page = answer.content.decode()
    assert answer.status_code == 422 and LIMIT in page and LONG.strip() in page
    assert Task.objects.count() == before


def test_a_form_of_a_new_task_that_is_sent_twice_makes_one(world: World, client: Client) -> None:
    address, before = reverse("task_new", args=[world.project.pk]), Task.objects.count()
    made = set()
    for _ in range(2):  # two forms, each clicked twice
        key = str(client.get(address).context["form"]["key"].value())
        filled = {"title": "Birds", "type": "free_text", "key": key}
        made |= {client.post(address, filled)["Location"] for _ in "12"}
    assert len(made) == 2 == Task.objects.count() - before


def test_actions_and_the_api_name_the_limit(world: World, client: Client) -> None:
    by, project = world.requester, world.project
    with pytest.raises(Invalid, match="160 is the most"):
        tasks.create_task(by=by, project=project, type="free_text", title=LONG)
    with pytest.raises(Invalid, match="160 is the most"):
        tasks.save_group(by=by, task=world.task, title=LONG, passage="Storks.")
    with pytest.raises(Invalid, match="160 is the most"):
        tasks.edit_draft(by=by, task=world.task, fields={"title": LONG})
    with pytest.raises(Invalid) as told:
        people.create_project(by=by, name=LONG)
    assert told.value.fields == {"name": "120 characters at most."}
    body = {"title": LONG, "type": "free_text"}
    header = {"HTTP_AUTHORIZATION": f"Token {factories.api_token(by)}"}
    refused = client.post(
        f"/api/projects/{project.pk}/tasks/", body, content_type="application/json", **header
    )
    assert refused.status_code in (400, 422) and LIMIT in refused.content.decode()
    assert not Project.objects.filter(name__startswith="A title that goes").exists()


def test_no_field_of_a_title_cuts_what_is_pasted_into_it(world: World, client: Client) -> None:
    pages = (
        reverse("project_new"),
        reverse("project_settings", args=[world.project.pk]),
        reverse("task_new", args=[world.project.pk]),
        reverse("task_build", args=[world.project.pk, world.task.pk]) + "?part=title",
        reverse("task_build", args=[world.project.pk, world.task.pk]) + "?part=text",
    )
    seen = set()
    for address in pages:
        for field in re.findall(r"<input[^>]*>", client.get(address).content.decode()):
            name = re.search(r'name="(title|name|group_title)"', field)
            if name and 'type="hidden"' not in field:
                seen.add((address, name[1]))
                assert "maxlength" not in field, field
    assert len(seen) >= 4


def test_a_title_made_of_another_shows_that_something_is_left_out(world: World) -> None:
    task = judging.make_pairs(world.project, 2)
    long = ("What people say of it, " * 9)[:159]
    tasks.edit_draft(by=world.requester, task=task, fields={"title": long})
    tasks.publish(by=world.requester, task=task)
    made = pair_design.rating_task(by=world.requester, task=task)
    title = made.versions.get().title
    assert len(title) <= 160 and "…" in title and title.endswith("(one by one)")
    assert chain.as_title(f"Judge: {long}").endswith("…")
