"""A new SECRET_KEY loses nothing: what was signed and sealed under the old one is read on."""

from __future__ import annotations

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import BinaryField
from django.test import Client, override_settings
from django.urls import reverse

from annotation.accounts.projects.actions import invitation_token, invite, open_invitation
from annotation.models import Role
from annotation.notifications.actions import webhooks as hooks
from annotation.records.actions import replies
from annotation.recruitment.platforms import webhook
from annotation.recruitment.platforms.prolific import PURPOSE
from crowdqc.errors import Conflict, DomainError
from crowdqc.sealing import sealed
from evaluation.llm.endpoints import keys
from tests.support import factories
from tests.support.servers import prolific
from tests.support.servers.llm import make_model

OLD = override_settings(SECRET_KEY="old" * 20, SECRET_KEY_FALLBACKS=[])
BOTH = override_settings(SECRET_KEY="new" * 20, SECRET_KEY_FALLBACKS=["old" * 20])
NEW = override_settings(SECRET_KEY="new" * 20, SECRET_KEY_FALLBACKS=[])
FACTOR = "second factor"
VALUES = 7


def test_every_sealed_field_is_registered() -> None:
    """(B19) A field that holds sealed values says so in its name."""
    known = {(place.model, place.field) for place in sealed.registered()}
    fields = {
        (model._meta.label, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, BinaryField) and "sealed" in field.name
    }
    assert fields | {("mfa.Authenticator", "data")} == known


def fill(world: factories.World) -> None:
    """One value of each kind, sealed under the key of the moment."""
    way_in = prolific.make_recruitment(world.task)
    way_in.token_sealed = sealed.seal("token", PURPOSE)
    way_in.webhook_sealed = sealed.seal("webhook", webhook.PURPOSE)
    way_in.save()
    hooks.add_hook(by=world.requester, project=world.project, url="https://hooks.example/a")
    replies.store_reply(by=world.requester, key="k", request_hash="h", status=200, body={"a": 1})
    endpoint = make_model(world.project, "http://127.0.0.1:9/v1").endpoint
    endpoint.key_sealed = keys.seal("key")
    endpoint.save()
    factor = sealed.seal("totp", FACTOR).decode()
    kinds = Authenticator.Type
    Authenticator.objects.create(
        user=world.manager, type=kinds.TOTP, data={"secret": factor, "other": "as it is"}
    )
    codes = {"seed": factor, "migrated_codes": [], "used_mask": 0}
    Authenticator.objects.create(user=world.manager, type=kinds.RECOVERY_CODES, data=codes)
    Authenticator.objects.create(
        user=world.worker.user, type=kinds.WEBAUTHN, data={"credential": {"id": "x"}}
    )


def opened() -> list[str]:
    """All of it, opened where it is used."""
    found = []
    for place in sealed.registered():
        for value in apps.get_model(place.model).objects.values_list(place.field, flat=True):
            texts = [value[key].encode() for key in place.keys if value.get(key)]
            for text in texts if place.keys else [value] if value else []:
                found.append(sealed.unseal(text, place.purpose, "It"))
    return found


def reseal() -> str:
    out = StringIO()
    call_command("reseal_secrets", stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_sealed_values_survive_a_new_key_and_the_end_of_the_old_one() -> None:
    """(B19)"""
    world = factories.make_world(n=1)
    with OLD:
        fill(world)
        before = opened()
    assert len(before) == VALUES
    with NEW, pytest.raises(Conflict, match="Enter it again"):
        opened()
    with BOTH:
        assert opened() == before
        said = reseal()
        assert "evaluation.Endpoint.key_sealed: 1 resealed, 0 already current" in said
        assert "mfa.Authenticator.data: 2 resealed" in said
        rows = list(Authenticator.objects.values_list("data", flat=True))
        assert " 0 resealed, 1 already current" in reseal()
        assert list(Authenticator.objects.values_list("data", flat=True)) == rows
    with NEW:
        assert opened() == before
        assert " 0 resealed, 1 already current" in reseal()


@pytest.mark.django_db
def test_a_value_that_no_key_opens_is_counted_and_left() -> None:
    """(B19)"""
    world = factories.make_world(n=1)
    with override_settings(SECRET_KEY="lost" * 20):
        hooks.add_hook(by=world.requester, project=world.project, url="https://hooks.example/a")
    with BOTH, pytest.raises(CommandError, match="1 values open under no key"):
        reseal()


@pytest.mark.django_db
def test_sessions_and_links_survive_a_new_key() -> None:
    """(B19)"""
    world = factories.make_world(n=1)
    client = Client()
    with OLD:
        client.force_login(world.requester)
        invitation = invite(by=world.requester, project=world.project, role=Role.WORKER)
        token = invitation_token(invitation)
    with BOTH:
        assert client.get(reverse("project_list")).status_code == 200
        assert open_invitation(token) == invitation
    with NEW:  # who came meanwhile stays signed in, and the old links have ended
        assert client.get(reverse("project_list")).status_code == 200
        with pytest.raises(DomainError):
            open_invitation(token)
