"""Where the demo is not loaded: nothing that is there already is touched."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Project, User
from tests.support import factories as make

pytestmark = pytest.mark.django_db


def load(**options: Any) -> str:
    out = StringIO()
    call_command("load_demo", encoder="char-svd", stdout=out, stderr=out, **options)
    return out.getvalue()


def test_somebodys_own_accounts_are_left_as_they_are() -> None:
    make.make_user("manager", password=make.PASSWORD)
    assert "there are accounts named manager already" in load()
    assert User.objects.count() == 1 and not Project.objects.exists()


def test_production_refuses_passwords_that_everybody_knows(settings: Any) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="not loaded in production"):
        load()
    assert not User.objects.exists()
