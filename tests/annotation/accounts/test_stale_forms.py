"""A form that was opened before somebody else saved undoes nothing of theirs."""

from __future__ import annotations

from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from django import forms
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.models import Project, Recruitment
from crowdqc.web.edits import EditForm
from evaluation.models import Endpoint
from tests.support import factories
from tests.support.factories import World
from tests.support.servers.prolific import make_recruitment

pytestmark = pytest.mark.django_db


class Sent(HTMLParser):
    """What a browser sends of a page's forms as they were opened; a script changed nothing."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._select = self._area = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        name = has.get("name", "")
        if tag == "input" and (has.get("type") not in ("radio", "checkbox") or "checked" in has):
            self.fields[name] = has.get("value", "on" if "checked" in has else "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in has:
            self.fields[self._select] = has["value"]
        elif tag == "textarea":
            self._area, self.fields[name] = name, ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            text = self.fields[self._area].removeprefix("\n")
            self.fields[self._area], self._area = text.replace("\n", "\r\n"), ""


def opened(client: Client, url: str) -> dict[str, str]:
    return Sent(client.get(url).content.decode()).fields


def signed_in(world: World) -> Client:
    client = Client()
    client.force_login(world.requester)
    return client


@pytest.fixture
def world() -> World:
    world = factories.make_world(1)
    Project.objects.filter(pk=world.project.pk).update(budget=Decimal(900))
    return world


def budget_of(world: World) -> Decimal | None:
    return Project.objects.get(pk=world.project.pk).budget


def test_a_form_opened_before_another_changed_the_budget_brings_no_old_one_back(
    world: World,
) -> None:
    client, url = signed_in(world), reverse("project_settings", args=[world.project.pk])
    form = opened(client, url)
    assert form["budget"] == form["initial-budget"] == "900.00"
    Project.objects.filter(pk=world.project.pk).update(budget=Decimal(5))
    assert client.post(url, {**form, "name": "Terns"}).status_code == 302
    project = Project.objects.get(pk=world.project.pk)
    assert (project.name, project.budget) == ("Terns", Decimal(5))


def test_a_budget_that_both_changed_is_refused_with_both_values_and_then_saved_on_purpose(
    world: World,
) -> None:
    client, url = signed_in(world), reverse("project_settings", args=[world.project.pk])
    form = opened(client, url)
    Project.objects.filter(pk=world.project.pk).update(budget=Decimal(5), reply_days=30)
    refused = client.post(url, {**form, "budget": "1200"})
    assert refused.status_code == 422 and budget_of(world) == Decimal(5)
    [why] = refused.context["form"].errors["budget"]
    assert "5.00" in why and "1200.00" in why
    again = Sent(refused.content.decode()).fields
    assert (again["budget"], again["initial-budget"]) == ("1200", "5.00")
    assert again["reply_days"] == "30"  # what only the other one changed is shown as it is now
    assert client.post(url, again).status_code == 302
    assert budget_of(world) == Decimal(1200)


def test_a_changed_consent_text_is_not_undone_by_a_form_that_was_opened_before(
    world: World,
) -> None:
    url = reverse("project_settings_consent", args=[world.project.pk])
    client = signed_in(world)
    form = opened(client, url)
    assert client.post(url, form).status_code == 302  # line ends of a browser are no change
    assert people.current_consent_text(world.project).number == 1
    people.change_consent_text(
        by=world.requester, project=world.project, text="New.", retention_days=9
    )
    refused = client.post(url, {**form, "text": "Other."})
    assert refused.status_code == 422
    assert people.current_consent_text(world.project).text == "New."


def test_a_way_in_and_an_endpoint_keep_what_was_changed_meanwhile(world: World) -> None:
    client = signed_in(world)
    way = make_recruitment(world.task)
    endpoint = Endpoint.objects.create(
        project=world.project,
        name="Own",
        base_url="https://models.example/v1",
        hard_budget=50,
        created_by=world.requester,
    )
    edit = reverse("recruitment_edit", args=[world.project.pk, world.task.pk, way.pk])
    models = reverse("models_endpoint", args=[world.project.pk, endpoint.pk])
    way_form, endpoint_form = opened(client, edit), opened(client, models)
    del endpoint_form["key_kind"]  # of the form beside it
    Recruitment.objects.filter(pk=way.pk).update(active=False)
    Endpoint.objects.filter(pk=endpoint.pk).update(hard_budget=Decimal(5))
    assert client.post(edit, {**way_form, "name": "Second"}).status_code == 302
    assert client.post(models, {**endpoint_form, "name": "Renamed"}).status_code == 302
    way.refresh_from_db()
    endpoint.refresh_from_db()
    assert (way.name, way.active) == ("Second", False)
    assert (endpoint.name, endpoint.hard_budget) == ("Renamed", Decimal(5))
    refused = client.post(models, {**endpoint_form, "hard_budget": "70"})
    assert "hard_budget" in refused.context["form"].errors


class Every(EditForm):
    on = forms.BooleanField(required=False)
    days = forms.IntegerField(required=False)
    kind = forms.ChoiceField(choices=[("a", "First"), ("b", "Second"), ("c", "Third")])
    many = forms.MultipleChoiceField(required=False, choices=[("x", "X"), ("y", "Y"), ("z", "Z")])
    text = forms.CharField(required=False)


OPENED: dict[str, Any] = {"on": True, "days": 3, "kind": "a", "many": ["x"], "text": "one\ntwo"}
STORED: dict[str, Any] = {"on": False, "days": 4, "kind": "b", "many": ["y"], "text": ""}
SENT: dict[str, Any] = {"on": True, "days": 5, "kind": "c", "many": ["z"], "text": "three"}


def sent(values: dict[str, Any]) -> QueryDict:
    """The form, opened on OPENED, with these values."""
    data = QueryDict(mutable=True)
    for name, value in Sent(str(Every(initial=OPENED))).fields.items():
        if name.startswith("initial-"):
            data[name] = value
    for name, value in values.items():
        if value is not False:
            data.setlist(name, value if isinstance(value, list) else [value])
    return data


@pytest.mark.parametrize("name", ["days", "kind", "many", "text"])
def test_each_kind_of_field_keeps_asks_back_or_takes(name: str) -> None:
    kept = Every(sent(OPENED), initial={**OPENED, name: STORED[name]})
    assert kept.is_valid() and kept.cleaned_data[name] == STORED[name] and kept.changes() == []
    both = Every(sent({**OPENED, name: SENT[name]}), initial={**OPENED, name: STORED[name]})
    assert not both.is_valid() and list(both.errors) == [name]
    alike = Every(sent({**OPENED, name: STORED[name]}), initial={**OPENED, name: STORED[name]})
    assert alike.is_valid()
    own = Every(sent({**OPENED, name: SENT[name]}), initial=OPENED)
    assert own.is_valid() and own.changes() == [name]


def test_a_box_left_alone_stays_as_another_set_it() -> None:
    kept = Every(sent(OPENED), initial={**OPENED, "on": False})
    assert kept.is_valid() and kept.cleaned_data["on"] is False
    taken_out = Every(sent({**OPENED, "on": False}), initial=OPENED)
    assert taken_out.is_valid() and taken_out.changes() == ["on"]
