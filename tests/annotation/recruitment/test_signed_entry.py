"""Signed entries: whose signature opens, whose does not, and how the keys are come by."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.core.cache import caches
from django.utils import timezone

from annotation.models import AuditEntry, KeySet, Recruitment, User, Visit
from annotation.recruitment.actions import key_sets
from annotation.recruitment.actions import ways_in as actions
from tests.annotation.recruitment.test_entry import come, refused
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(n=4, redundancy=5, items_per_assignment=2)


@pytest.fixture(scope="module")
def key() -> prolific.Key:
    return prolific.Key()


@pytest.fixture
def platform(key: prolific.Key) -> Iterator[prolific.Platform]:
    caches["shared"].clear()
    with prolific.serving() as running:
        running.keys = [key.public]
        yield running


@pytest.fixture
def signed_study(world: factories.World, platform: prolific.Platform) -> Recruitment:
    made = prolific.make_recruitment(
        world.task,
        entry="jwt",
        jwks_url=platform.url + prolific.JWKS,
        audience=prolific.SITE,
        issuer=prolific.ISSUER,
    )
    key_sets.request_key_set(url=made.jwks_url)
    assert key_sets.fetch_key_set(url=made.jwks_url)
    return made


def test_a_signed_entry_is_let_in_and_may_change_its_browser(
    signed_study: Recruitment, key: prolific.Key
) -> None:
    first = key.sign(key.claims("anna"))
    assert come(signed_study, prolific_token=first).status_code == 302
    fresh = key.sign(key.claims("anna", jti="2"))
    assert come(signed_study, prolific_token=fresh).status_code == 302
    refused(come(signed_study, prolific_token=fresh), 409, "opened in another browser before")
    refused(come(signed_study, prolific_token=first), 409, "opened in another browser before")
    # The same entry, its signature written otherwise: it verifies, and is not a new one.
    refused(come(signed_study, prolific_token=f"{fresh}=="), 409, "opened in another browser")
    second = key.sign(key.claims("anna", "s2"))
    answer = come(signed_study, session="s2", prolific_token=second)
    refused(answer, 409, "another session of this study")


def forged(name: str, key: prolific.Key) -> str:
    """A token that somebody made up."""
    claims = key.claims("anna")
    made = {
        "wrong key": lambda: prolific.Key().sign(claims, kid=key.kid),
        "unknown key": lambda: prolific.Key("key-9").sign(claims),
        "expired": lambda: key.sign({**claims, "exp": int(time.time()) - 60}),
        "without expiry": lambda: key.sign({k: v for k, v in claims.items() if k != "exp"}),
        "other audience": lambda: key.sign({**claims, "aud": "https://elsewhere.example/enter/"}),
        "other issuer": lambda: key.sign({**claims, "iss": "https://elsewhere.example"}),
        "other participant": lambda: key.sign(key.claims("ben")),
        "no claim": lambda: key.sign({**claims, "prolific": None}),
        "none": lambda: jwt.encode(claims, None, "none", headers={"kid": key.kid}),
        "hs256 with the public key": lambda: _hs256(claims, key),
    }
    return made[name]()


def _hs256(claims: dict[str, Any], key: prolific.Key) -> str:
    """Signed with the public key as if it were a shared secret, which the library refuses to do."""
    import base64
    import hashlib
    import hmac
    import json

    public = key.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": "HS256", "typ": "JWT", "kid": key.kid}, claims)
    ]
    made = hmac.new(public, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(made).rstrip(b"=")]).decode()


FORGERIES = {
    "wrong key": "signature does not fit",
    "unknown key": "signature does not fit",
    "expired": "This entry has expired",
    "without expiry": "signature does not fit",
    "other audience": "signed for another site",
    "other issuer": "signature does not fit",
    "other participant": "for somebody else than the address says",
    "no claim": "for somebody else than the address says",
    "none": "signature does not fit",
    "hs256 with the public key": "signature does not fit",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_entry_opens_nothing(
    signed_study: Recruitment, key: prolific.Key, name: str
) -> None:
    answer = come(signed_study, prolific_token=forged(name, key))
    refused(answer, 403, FORGERIES[name], "Go back to the platform and start from there.")
    assert not Visit.objects.exists() and not User.objects.filter(username__startswith="visitor")


def test_without_a_signature_nothing_opens_and_unknown_keys_are_fetched_once_a_minute(
    signed_study: Recruitment, key: prolific.Key, platform: prolific.Platform
) -> None:
    refused(come(signed_study), 403, "signature is missing")
    for _ in range(3):
        come(signed_study, prolific_token=forged("unknown key", key))
        assert not key_sets.request_key_set(url=signed_study.jwks_url)
    assert platform.asked.count("GET jwks") == 1
    platform.keys = [{**key.public, "kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}]
    key_sets.fetch_key_set(url=signed_study.jwks_url)
    refused(come(signed_study, prolific_token=forged("expired", key)), 403, "does not fit")


def a_while_ago(url: str, **fields: Any) -> None:
    """As if the keys had been read before the last pause, or before whatever ``fields`` say."""
    then = timezone.now() - dt.timedelta(hours=1)
    KeySet.objects.filter(url=url).update(**{"asked_at": then, "tried_at": then, **fields})


def test_a_new_key_of_the_platform_opens_once_a_job_has_read_it(
    signed_study: Recruitment, key: prolific.Key, platform: prolific.Platform
) -> None:
    a_while_ago(signed_study.jwks_url)
    new = prolific.Key("key-2")
    platform.keys.append(new.public)
    token = new.sign(new.claims("anna"))
    before = AuditEntry.objects.count()
    for _ in range(2):
        waits = come(signed_study, prolific_token=token)
        assert waits.status_code == 503 and waits.headers["Refresh"] == "2"
        assert "loading the platform’s keys" in waits.content.decode()
    assert platform.asked.count("GET jwks") == 1 and AuditEntry.objects.count() == before
    key_sets.fetch_key_set(url=signed_study.jwks_url)
    assert come(signed_study, prolific_token=token).status_code == 302
    # A failed reading leaves the known keys; those of yesterday are believed no more.
    platform.keys.clear()
    Recruitment.objects.filter(pk=signed_study.pk).update(active=True)
    yesterday = timezone.now() - dt.timedelta(hours=25)
    a_while_ago(signed_study.jwks_url, fetched_at=yesterday)
    assert come(signed_study, pid="ben", session="s2", prolific_token=token).status_code == 503


def test_a_way_in_has_its_keys_read_when_it_is_set_up_and_in_time(
    world: factories.World, platform: prolific.Platform
) -> None:
    url = platform.url + prolific.JWKS
    fields = {
        "name": "Signed",
        "entry": "jwt",
        "active": True,
        "parameter_participant": "pid",
        "jwks_url": url,
        "audience": prolific.SITE,
    }
    made = actions.add(by=world.requester, task=world.task, kind="panel", fields=fields)
    assert KeySet.objects.get().asked_at is not None
    assert key_sets.fetch_key_set(url=url) and key_sets.refresh_key_sets() == 0
    a_while_ago(url, fetched_at=timezone.now() - dt.timedelta(hours=7))
    assert key_sets.refresh_key_sets() == 1
    Recruitment.objects.filter(pk=made.pk).update(active=False)
    assert key_sets.refresh_key_sets() == 0 and not KeySet.objects.exists()


def test_keys_that_cannot_be_read_say_so(signed_study: Recruitment, key: prolific.Key) -> None:
    nowhere = "http://127.0.0.1:9/keys"
    Recruitment.objects.filter(pk=signed_study.pk).update(jwks_url=nowhere)
    token = key.sign(key.claims("anna"))
    assert come(signed_study, prolific_token=token).headers["Refresh"]
    assert not key_sets.fetch_key_set(url=nowhere)
    assert KeySet.objects.get(url=nowhere).problem == "It cannot be reached."
    refused(come(signed_study, prolific_token=token), 503, "keys cannot be read", "Wait a minute")
