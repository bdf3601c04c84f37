"""Organisations on pages, by commands and by a program."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.accounts.organisations import actions as organisations
from annotation.models import Organisation, OrganisationMember, Project, User
from evaluation.models import Endpoint
from tests.evaluation.installation.test_api import Program
from tests.support import factories as make

pytestmark = pytest.mark.django_db
KEY = "sk-shared-and-never-shown-4711"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def command(*words: str) -> str:
    """What the command prints."""
    out = io.StringIO()
    call_command("crowdqc_owner", "organisation", *words, stdout=out)
    return out.getvalue()


def test_head_of_a_lab_runs_it_on_one_page() -> None:
    founder, head, member = make.make_user(is_superuser=True), make.make_user(), make.make_user()
    assert Client().get("/organisations/").status_code == 302
    said = {"name": "Bird lab", "currency": "EUR", "person": head.username}
    assert client_of(head).post("/organisations/", said).status_code == 404
    client_of(founder).post("/organisations/", said)
    [lab] = Organisation.objects.all()
    pages, here = client_of(head), reverse("organisation", args=[lab.pk])

    def do(what: str, **values: Any) -> Any:
        return pages.post(here, {"do": what, **values})

    assert do("add_member", person="nobody-here", role="member").status_code == 422
    assert do("add_member", person=member.username, role="member").status_code == 302
    mine = make.make_project(owner=head, name="Nests")
    assert "Nests" in pages.get(here).content.decode()
    assert do("join", project=mine.pk).status_code == 302
    made = pages.post(
        "/projects/new/", {"name": "Songs", "currency": "EUR", "organisation": lab.pk}
    )
    assert made.status_code == 302 and Project.objects.get(name="Songs").organisation == lab
    assert do("settings", model_budget="20.00", decide_days=5).status_code == 302
    lab.refresh_from_db()
    assert (lab.model_budget, lab.decide_days) == (20, 5)
    new = {"name": "Ours", "base_url": "https://models.example/v1", "parallel": 4}
    key = {"timeout_seconds": 60, "key_kind": "sealed", "key": KEY}
    shared = pages.post(reverse("organisation_models_endpoint_new", args=[lab.pk]), {**new, **key})
    assert shared.status_code == 302
    pages.post(shared["Location"], {"name": "bird-1", "use": "chat", "price_in": 1, "price_out": 2})
    for reader, address in (
        (pages, here),
        (client_of(member), here),
        (pages, reverse("models", args=[mine.pk])),
        (client_of(founder), here),
    ):
        page = reader.get(address).content.decode()
        assert "bird-1" in page and KEY not in page
    assert "Bird lab" in client_of(founder).get("/organisations/").content.decode()
    people = client_of(head).get(reverse("people", args=[mine.pk])).content.decode()
    assert "By the organisation Bird lab" in people and str(member) in people
    row = OrganisationMember.objects.get(user=member)
    assert do("change_role", member=row.pk, role="owner").status_code == 302
    assert do("remove_member", member=row.pk).status_code == 302
    assert client_of(member).get(here).status_code == 404


def test_member_who_wants_more_than_their_role_gets_nothing() -> None:
    head, member, stranger = make.make_user(), make.make_user(), make.make_user()
    lab = organisations.create_organisation(by=None, name="Bird lab", owner=head)
    other = organisations.create_organisation(by=None, name="Bee lab", owner=stranger)
    organisations.set_member(by=None, organisation=lab, user=member, role="member")
    project = make.make_project(owner=head, organisation=lab)
    endpoint = Endpoint.objects.create(
        organisation=lab, name="Ours", base_url="https://models.example/v1", created_by=head
    )
    pages, here = client_of(member), reverse("organisation", args=[lab.pk])
    own, theirs = (lab.members.get(user=one).pk for one in (member, head))
    for sent in (
        {"do": "change_role", "member": own, "role": "owner"},
        {"do": "remove_member", "member": theirs},
        {"do": "add_member", "person": stranger.username, "role": "owner"},
        {"do": "settings", "model_budget": "1", "decide_days": 7},
        {"do": "leave", "project": project.pk},
        {"do": "rename", "name": "Mine"},
        {"do": "close"},
    ):
        assert pages.post(here, sent).status_code == 403, sent
    assert pages.post(here, {"do": "join", "project": project.pk}).status_code == 422
    assert pages.post(here, {"do": "nothing"}).status_code == 404
    page = pages.get(here).content.decode()
    assert "Make owner" not in page and "Save settings" not in page and "Close…" not in page
    for name, args in (
        ("endpoint", [endpoint.pk]),
        ("endpoint_new", []),
        ("model_new", [endpoint.pk]),
    ):
        address = reverse(f"organisation_models_{name}", args=[lab.pk, *args])
        assert pages.get(address).status_code == 403
        assert client_of(stranger).get(address).status_code == 404
        assert client_of(head).get(address).status_code == 200
    # Neither by the address of a project, nor by that of an organisation one does own.
    assert (
        client_of(head).get(reverse("models_endpoint", args=[project.pk, endpoint.pk])).status_code
        == 404
    )
    wrong = reverse("organisation_models_endpoint", args=[other.pk, endpoint.pk])
    assert client_of(stranger).get(wrong).status_code == 404
    assert client_of(stranger).get(here).status_code == 404
    taken = {"name": "Theirs", "currency": "EUR", "organisation": lab.pk}
    assert client_of(stranger).post("/projects/new/", taken).status_code in (302, 422)
    assert not Project.objects.filter(name="Theirs", organisation=lab).exists()
    lab.refresh_from_db()
    assert lab.members.count() == 2 and lab.model_budget is None


def test_owner_of_the_installation_runs_organisations_by_commands() -> None:
    head, member = make.make_user("head"), make.make_user("member")
    project = make.make_project()
    assert "Bird lab" in command("create", "Bird lab", "head")
    command("member", "bird lab", "member", "member")
    command("project", "Bird lab", str(project.pk))
    command("set", "Bird lab", "model_budget", "25.50")
    command("set", "Bird lab", "answer_days_kept", "none")
    assert "25.50" in command("list") and "member\tmember\towner" in command("people", "Bird lab")
    with pytest.raises(CommandError, match="keeps one owner"):
        command("member", "Bird lab", "head", "none")
    with pytest.raises(CommandError, match="Projects belong"):
        command("close", "Bird lab")
    command("rename", "Bird lab", "Bee lab")
    command("project", "none", str(project.pk))
    assert "closed" in command("close", "Bee lab")
    with pytest.raises(CommandError, match="no such organisation"):
        command("people", "Bee lab")
    assert not OrganisationMember.objects.filter(user__in=[head, member]).exists()


def test_owner_of_the_installation_runs_organisations_by_a_program() -> None:
    program, head, member = Program(), make.make_user("head"), make.make_user("member")
    project = make.make_project()
    made = program.post("api_installation_organisations", name="Bird lab", owner="head").json()
    one = made["id"]
    changed = program.patch("api_installation_organisation", one, model_budget="9.00", name="Birds")
    assert (changed.json()["model_budget"], changed.json()["name"]) == ("9.00", "Birds")
    people = program.post(
        "api_installation_organisation_members", one, person="member", role="owner"
    )
    assert [row["person"] for row in people.json()] == ["head", "member"]
    program.post("api_installation_organisation_members", one, person="head", role=None)
    assert len(program.read("api_installation_organisation_members", one).json()) == 1
    joined = program.post("api_installation_organisation_projects", one, project=project.pk)
    assert joined.json()["projects"] == 1
    assert program.post("api_installation_organisation_close", one).status_code == 409
    program.post("api_installation_organisation_projects", one, project=project.pk, joins=False)
    assert program.read("api_installation_organisation", one).json()["projects"] == 0
    assert program.post("api_installation_organisation_close", one).status_code == 204
    assert not program.read("api_installation_organisations").json()["results"]
    token = {"Authorization": f"Token {make.api_token(head)}"}
    assert Client().get(reverse("api_installation_organisations"), headers=token).status_code in (
        403,
        404,
    )
    assert not member.organisations.exists()
