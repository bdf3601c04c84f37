"""Which text a worker agreed to: word for word, for each type of task by itself."""

from __future__ import annotations

import datetime as dt
import importlib
import json
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.accounts.projects.consent_words import COMPARED, SPOKEN, fill_consent
from annotation.formats.exports.person import TABLES
from annotation.models import AgreedText, AuditEntry, Consent, Membership
from annotation.work.selectors import work
from annotation.work.selectors.agreements import list_agreements
from tests.support import factories
from tests.support.factories import World
from tests.support.kept import kept
from tests.support.pages import html_of
from tests.support.studies import thinking

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def world() -> World:
    return factories.make_world()


@pytest.fixture
def worker(world: World) -> Membership:
    return factories.make_worker(world.project, consent=False)


def signed_in(worker: Membership) -> Client:
    client = Client()
    client.force_login(worker.user)  # type: ignore[arg-type]
    return client


def agree(client: Client, url: str) -> str:
    """Agree on the page to what it shows, and return that text."""
    page = client.get(url)
    client.post(url, {"text": page.context["fingerprint"], "agreed": "on"})
    return str(page.context["words"])


def exported(worker: Membership) -> list[dict[str, Any]]:
    rows = next(rows for name, _words, rows in TABLES if name == "consents")
    return list(rows(Membership.objects.filter(pk=worker.pk)))


def test_two_texts_of_one_version_are_two_records_on_every_page(
    world: World, worker: Membership
) -> None:
    spoken, client = thinking.make_think(world.project), signed_in(worker)
    consent = reverse("work_consent", args=[world.project.pk])
    read = [agree(client, f"{consent}?task={task.pk}") for task in (world.task, spoken)]
    assert SPOKEN not in read[0] and SPOKEN in read[1]
    types = [[world.task.type], [spoken.type]]
    given = Consent.objects.get(membership=worker)
    assert [one.task_types for one in list_agreements(given)] == types
    assert [one.text for one in list_agreements(given)] == read
    assert [(row["task_types"], row["text"]) for row in exported(worker)] == [
        *zip(types, read, strict=True)
    ]
    assert exported(worker)[0]["given"] < exported(worker)[1]["given"]
    [over_api] = json.loads(client.get(reverse("api_own_consents")).content)["results"]
    assert [one["text"] for one in over_api["texts"]] == read
    shown = client.get(reverse("work_record")).context["consents"][0].agreements
    assert [one.text for one in shown] == read
    again = client.get(consent)
    assert [one.text for one in again.context["agreements"]] == read


def test_what_is_published_after_the_page_was_read_is_not_agreed_to(
    world: World, worker: Membership
) -> None:
    client, url = signed_in(worker), reverse("work_consent", args=[world.project.pk])
    page = client.get(url)
    thinking.make_think(world.project)
    sent = {"text": page.context["fingerprint"], "agreed": "on"}
    assert client.post(url, sent).status_code == 409
    assert not Consent.objects.filter(membership=worker).exists()


def test_a_consent_to_some_types_can_be_read_and_withdrawn(
    world: World, worker: Membership
) -> None:
    spoken, client = thinking.make_think(world.project), signed_in(worker)
    url = reverse("work_consent", args=[world.project.pk])
    read = agree(client, f"{url}?task={spoken.pk}")
    page = client.get(url)
    assert [one.text for one in page.context["agreements"]] == [read]
    assert reverse("work_withdraw", args=[world.project.pk]) in html_of(page)


def test_words_stay_as_they_were_read_in_another_language(world: World, worker: Membership) -> None:
    client = signed_in(worker)
    client.cookies["language"] = "de"
    url = reverse("work_consent", args=[world.project.pk])
    page = client.get(url, headers={"accept-language": "de"})
    sent = {"text": page.context["fingerprint"], "agreed": "on"}
    client.post(url, sent, headers={"accept-language": "de"})
    [agreed] = list_agreements(Consent.objects.get(membership=worker))
    assert (
        agreed.text
        == page.context["words"]
        != fill_consent(page.context["text"].text, [world.task.type])
    )


def test_an_offer_of_another_type_asks_to_be_read_first(world: World, worker: Membership) -> None:
    agree(signed_in(worker), reverse("work_consent", args=[world.project.pk]))
    spoken = thinking.make_think(world.project)
    offers = work.list_offers(work.memberships_with_consent(worker.user))  # type: ignore[arg-type]
    asked = {one.task.pk: one.needs_consent for one in offers}
    assert asked == {world.task.pk: False, spoken.pk: True}


def old_consent(worker: Membership, *types: list[str]) -> Consent:
    """A consent as version 0.3.0 left it: merged types, and an audit entry for each agreement."""
    text = people.current_consent_text(worker.project)
    for one in types:
        people.give_consent(
            by=worker.user,  # type: ignore[arg-type]
            member=worker,
            text=text,
            agreed=True,
            task_types=one,
        )
    AgreedText.objects.all().delete()
    return Consent.objects.get(membership=worker)


def migrate() -> None:
    module = importlib.import_module("annotation.migrations.0039_agreed_texts")
    with connection.schema_editor() as editor:
        module.fill(apps, editor)


def test_earlier_consents_get_their_texts_by_version_and_type(worker: Membership) -> None:
    given = old_consent(worker, ["pairwise"], ["think_aloud"])
    text = given.text.text
    logged = AuditEntry.objects.filter(action="consent.give", object_id=given.pk).order_by("pk")
    migrate()
    found = list_agreements(given)
    expected = [fill_consent(text, [one]) for one in ("pairwise", "think_aloud")]
    assert [one.text for one in found] == expected and all(one.is_exact for one in found)
    assert [one.given_at for one in found] == [one.at for one in logged]
    migrate()
    assert given.agreed_texts.count() == 2


def test_texts_that_cannot_be_told_apart_are_named_and_left(
    world: World, worker: Membership
) -> None:
    given = old_consent(worker, ["pairwise", "think_aloud"])
    unrecorded = factories.make_worker(world.project, consent=False)
    joint = Consent.objects.create(
        membership=unrecorded, text=given.text, task_types=["labels", "think_aloud"]
    )
    single = Consent.objects.create(
        membership=factories.make_worker(world.project, consent=False),
        text=given.text,
        task_types=["labels"],
    )
    migrate()
    [together] = list_agreements(given)  # one page showed both: its entry says so
    assert together.is_exact and COMPARED in together.text and SPOKEN in together.text
    [left] = list_agreements(joint)
    assert not left.is_exact and left.task_types == joint.task_types
    assert not joint.agreed_texts.exists()
    [known] = list_agreements(single)
    assert known.is_exact and known.given_at - single.given_at == dt.timedelta(0)
    page = html_of(signed_in(unrecorded).get(reverse("work_record")))
    assert "data-inexact" in page


def test_a_type_that_the_previous_version_added_is_named(worker: Membership) -> None:
    """While both serve, the previous one adds types to a consent and no text."""
    text = people.current_consent_text(worker.project)
    user: Any = worker.user
    given = people.give_consent(
        by=user, member=worker, text=text, agreed=True, task_types=["labels"]
    )
    Consent.objects.filter(pk=given.pk).update(task_types=["labels", "think_aloud"])
    given.refresh_from_db()
    first, second = list_agreements(given)
    assert first.is_exact and first.task_types == ["labels"]
    assert not second.is_exact and second.task_types == ["think_aloud"]
    assert SPOKEN in second.text
