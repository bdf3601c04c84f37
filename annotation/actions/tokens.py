"""Tokens of the API: one a person, given on sign-in, taken back by its owner."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.db import transaction
from rest_framework.authtoken.models import Token

from annotation.models import User
from crowdqc.errors import NotAllowed

from .audit import record


def sign_in(*, username: str, password: str) -> str:
    """The person's token, made when there is none; NotAllowed unless name and password fit."""
    name = username.strip()
    user = authenticate(username=name.lower() if "@" in name else name, password=password)
    if not isinstance(user, User):
        raise NotAllowed("Name and password do not fit.", code="wrong-password")
    with transaction.atomic():
        token, made = Token.objects.get_or_create(user=user)
        if made:
            record(by=user, project=None, action="token.give", on=user)
    return str(token.key)


@transaction.atomic
def take_back(*, by: User) -> None:
    """End the person's token; whoever has it is signed out of the API."""
    if Token.objects.filter(user=by).delete()[0]:
        record(by=by, project=None, action="token.take_back", on=by)
