"""Who names the server and the token that payments use: whoever does decides what was "paid"."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.security.middleware import STASH
from annotation.models import Notice, Recruitment, Role
from tests.security.accounts.factors import OLD, person, signed_in
from tests.support import factories as make
from tests.support.servers import prolific

pytestmark = [pytest.mark.django_db]
STUDY = {"kind": "prolific", "name": "Autumn", "study_id": "s-9", "entry": "bound"}
OWN_SERVER = {"api_url": "https://elsewhere.example", "token": "own"}


@pytest.fixture
def world() -> make.World:
    return make.make_world(2)


def ways(world: make.World) -> str:
    return reverse("api_ways", args=[world.task.pk])


def send(client: Client, path: str, body: dict[str, Any], *, patch: bool = False) -> Any:
    method = client.patch if patch else client.post
    return method(path, json.dumps(body), "application/json")


def program(user: Any, *scopes: str) -> Client:
    return Client(headers={"Authorization": f"Token {make.api_token(user, scopes)}"})


@pytest.mark.parametrize("sent", [OWN_SERVER, {"api_url": ""}, {"token": "own"}])
def test_a_requester_does_not_lead_payments_to_a_server_of_their_own(
    world: make.World, sent: dict[str, str]
) -> None:
    """(A2) By neither page nor API: approved money would be "paid" by a program of theirs."""
    way_in = prolific.make_recruitment(world.task, api_url="https://api.example")
    requester = make.make_member(world.project, Role.REQUESTER).user
    own = reverse("api_way", args=[world.task.pk, way_in.pk])
    for client in (program(requester, "read", "write", "pay"), signed_in(requester)):
        answer = send(client, own, {**sent, "token": "own"}, patch=True)
        assert answer.status_code == 403 and "owner" in answer.json()["detail"]
        answer = send(client, ways(world), {**STUDY, **sent, "token": "own"})
        assert answer.status_code == 403
    page = reverse("recruitment_edit", args=[world.project.pk, world.task.pk, way_in.pk])
    answer = signed_in(requester).post(page, {**STUDY, **OWN_SERVER})
    assert answer.status_code == 422 and "Only the owner" in answer.content.decode()
    row = Recruitment.objects.get()
    assert row.api_url == "https://api.example" and not row.token_sealed
    # The address alone would wait there for the owner's token.
    answer = send(signed_in(requester), own, {"api_url": "https://elsewhere.example"}, patch=True)
    assert answer.status_code == 403


def test_a_requester_goes_on_with_all_else(world: make.World) -> None:
    way_in = prolific.make_recruitment(world.task, api_url="https://api.example")
    requester = make.make_member(world.project, Role.REQUESTER).user
    client = program(requester, "read", "write")
    own = reverse("api_way", args=[world.task.pk, way_in.pk])
    assert send(client, own, {"active": False}, patch=True).status_code == 200
    assert send(client, ways(world), STUDY).status_code == 201


def test_it_needs_the_scope_that_pays_and_a_second_factor_and_is_told(
    world: make.World, settings: Any
) -> None:
    path = ways(world)
    refused = send(program(world.requester, "read", "write"), path, {**STUDY, "token": "own"})
    assert refused.status_code == 403 and refused.json()["code"] == "missing-scope"
    client = program(world.requester, "read", "write", "pay")
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    refused = send(client, path, {**STUDY, "token": "own"})
    assert refused.status_code == 403 and refused.json()["code"] == "second-factor-needed"
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = False
    assert send(client, path, {**STUDY, "token": "own"}).status_code == 201
    assert Notice.objects.filter(user=world.manager, kind="project.rules").count() == 1


def test_a_form_with_a_secret_does_not_wait_in_the_session(world: make.World) -> None:
    person(world.requester)
    client = signed_in(world.requester, age=OLD)
    page = reverse("recruitment_new", args=[world.project.pk, world.task.pk, "prolific"])
    answer = client.post(page, {**STUDY, "token": "own"})
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert STASH not in client.session and not Recruitment.objects.exists()
