"""People with second factors, and sessions of a chosen strength and age."""

from __future__ import annotations

import time
import uuid
from typing import Any

from allauth.mfa import app_settings
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.accounts.security.stepup import SIGNED_IN_AT
from annotation.models import PayoutBatch, User
from annotation.payouts.actions import proposals as payouts
from tests.support import factories as make

OLD = 3600  # seconds, far beyond the time for which a confirmation is good


def person(user: User) -> User:
    """The same person, with a password that they know."""
    user.set_password(make.PASSWORD)
    user.save()
    return user


def set_up_app(user: User) -> str:
    """An authenticator app of the person's; gives its secret."""
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(user, secret)
    return secret


def current_code(secret: str) -> str:
    """What the app shows now: good for 30 s more, as a clock may be so much slow or fast."""
    counter = int(time.time()) // app_settings.TOTP_PERIOD
    return str(totp.format_hotp_value(totp.hotp_value(secret, counter)))


def code_of(secret: str) -> str:
    """What the app shows now; it may be used once more, as after half a minute."""
    cache.clear()
    return current_code(secret)


def recovery_code_of(user: User) -> str:
    """One of the person's recovery codes."""
    return str(RecoveryCodes.activate(user).get_unused_codes()[0])


def signed_in(user: User, *, age: int = 0) -> Client:
    """A browser in which the person signed in so many seconds ago, with a password alone."""
    client = Client()
    client.force_login(user)
    if age:
        session = client.session
        session[SIGNED_IN_AT] = time.time() - age
        session.save()
    return client


def grow_old(client: Client) -> None:
    """Nothing was confirmed in this browser for long."""
    session = client.session
    session[SIGNED_IN_AT] = time.time() - OLD
    records = session.get("account_authentication_methods", [])
    session["account_authentication_methods"] = [{**one, "at": one["at"] - OLD} for one in records]
    session.save()


def show_factor(client: Client, secret: str, **more: Any) -> Any:
    """The person types the code of their app where it is asked for."""
    return client.post(reverse("mfa_reauthenticate"), {"code": code_of(secret), **more})


def staffed_world() -> make.World:
    """A world whose people know their passwords, and one piece of work."""
    world = make.make_world(2)
    person(world.requester), person(world.manager), person(world.worker.user)
    make.claim_and_submit(world.task, world.worker)
    return world


def proposal(world: make.World) -> PayoutBatch:
    """Work of 1.80 that waits for its approval."""
    line = payouts.ProposedLine(world.task.assignments.get().pk)
    return payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
