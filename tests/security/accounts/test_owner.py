"""The owner of an installation gets in before mail works."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import AccountMail
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_the_owner_that_a_command_made_signs_in_without_any_mail(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", factories.PASSWORD)
    words = ["--noinput", "--username", "owner", "--email", "Owner@Example.org"]
    call_command("createsuperuser", *words, verbosity=0)
    form = {"login": "owner@example.org", "password": factories.PASSWORD}
    assert client.post(reverse("login"), form)["Location"] == reverse("home")
    assert client.get(reverse("operations")).status_code == 200
    assert not AccountMail.objects.exists()
