"""Other systems mean harm: each call ends by its deadline, and leads nowhere else (B8, B9, B16)."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client as Browser

from annotation.models import KeySet
from annotation.recruitment.actions import key_sets as recruitment
from annotation.recruitment.platforms.prolific import PlatformError, Prolific
from crowdqc import outbound
from crowdqc.outbound import addresses
from crowdqc.outbound.web_request import WebThreadWaits, _serving
from evaluation.llm.client import Sender
from evaluation.llm.completion import CHAT, Link, Outcome
from tests.security.outbound.hostile import WAYS, Hostile, hostile

pytestmark = pytest.mark.django_db
DEADLINE = 0.2
SLACK = 20.0  # of a machine that is busy; without a deadline a call lasts for minutes
LARGE = "x" * 20_000_000  # more than any socket takes without a reader


@pytest.fixture(scope="module")
def enemy() -> Iterator[Hostile]:
    with hostile() as running:
        yield running


@pytest.fixture(autouse=True)
def _short(settings: Any) -> None:
    settings.CROWDQC_PAYMENT_TIMEOUT = settings.CROWDQC_KEYS_TIMEOUT = DEADLINE


def ask_platform(url: str, large: str = "") -> str:
    """What an approval that was asked for there came to, in words."""
    notes: list[str] = []
    with Prolific(url, "a-token", lambda request, status, error: notes.append(error)) as platform:
        try:
            platform.transition("s1", "APPROVE", message=large)
        except PlatformError as error:
            return str(error)
    return ""


def fetch_keys(url: str, large: str = "") -> str:
    KeySet.objects.get_or_create(url=url)
    assert not recruitment.fetch_key_set(url=url) and not KeySet.objects.get(url=url).keys
    return KeySet.objects.get(url=url).problem


def ask_model(url: str, large: str = "") -> str:
    sender = Sender(Link(url, "a-key", DEADLINE))
    try:
        told = sender.send(CHAT, {"model": "m", "messages": [{"role": "user", "content": large}]})
    finally:
        sender.close()
    assert told.outcome != Outcome.OK
    return told.reason


def call_webhook(url: str, large: str = "") -> str:
    told = outbound.post_webhook(url, large.encode() or b"{}", {}, seconds=DEADLINE)
    return told.error or f"HTTP {told.status}"


CALLS: dict[str, Callable[..., str]] = {
    "platform": ask_platform,
    "key set": fetch_keys,
    "model": ask_model,
    "webhook": call_webhook,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", CALLS)
def test_no_other_system_holds_a_call_beyond_its_deadline(
    enemy: Hostile, what: str, way: str
) -> None:
    """(B8) (B9) Whatever it does: drip, never end, redirect, stay mute, take nothing."""
    url, large = enemy.url(way), LARGE if way == "deaf" else ""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    said = CALLS[what](url, large)
    assert time.monotonic() - began < DEADLINE + SLACK, said
    if way in ("drip", "drip-headers", "mute", "mute-tls", "deaf") and what != "key set":
        assert f"{DEADLINE} seconds" in said or (what, way) == ("webhook", "drip"), said
    if way != "deaf":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 90_000  # kB
    assert not any("secret" in path for path in enemy.hits)


@pytest.mark.parametrize("what", CALLS)
def test_a_name_that_leads_elsewhere_the_second_time_reaches_nothing_inside(
    enemy: Hostile, what: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """(B9) DNS rebinding: the connection goes to the number that was checked, or nowhere."""
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    port = enemy.server.getsockname()[1]
    real, lookups, reached = socket.getaddrinfo, [], []
    answers = ["93.184.216.34"]

    def resolver(host: Any, *more: Any, **names: Any) -> Any:
        if host != "rebind.example":
            return real(host, *more, **names)
        lookups.append(host)
        number = answers[min(len(lookups), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port))]

    def connect(self: socket.socket, address: Any) -> None:
        reached.append(address[0])
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(socket.socket, "connect", connect)
    # First outside, then inside: asked for once, and the number of that answer is connected to.
    answers.append("127.0.0.1")
    assert CALLS[what](f"https://rebind.example:{port}/keys")
    tried = len(reached)
    assert set(reached) == {"93.184.216.34"} and len(lookups) == tried
    # Inside at once: nothing is connected to at all.
    answers[:] = ["127.0.0.1"]
    said = CALLS[what](f"https://rebind.example:{port}/keys")
    assert "private network" in said and len(reached) == tried


def test_a_resolver_that_hangs_holds_a_call_no_longer_than_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(B9) The look-up of a name counts for the deadline too."""
    hangs = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hangs.wait(20))
    began = time.monotonic()
    assert f"{DEADLINE} seconds" in call_webhook("https://slow.example/")
    assert time.monotonic() - began < DEADLINE + SLACK
    hangs.set()


def test_a_web_request_calls_nobody(enemy: Hostile) -> None:
    """(B9) The class: a view that tried to would fail its tests, not hold a thread."""
    before = len(enemy.hits)
    token = _serving.set(True)
    try:
        for call in (ask_platform, fetch_keys, call_webhook):
            with pytest.raises(WebThreadWaits):
                call(enemy.url("leak"))
        with pytest.raises(WebThreadWaits):
            addresses.resolve("localhost", 80, seconds=1)
    finally:
        _serving.reset(token)
    assert len(enemy.hits) == before
    Browser().get("/healthz")
    assert not _serving.get()


INSIDE = [
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::7f00:1",
    "2001:0:53aa:64c::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:0808:0808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2a00::5efe:10.0.0.1",
    "2a00::200:5efe:10.0.0.1",
]
OUTSIDE = ["8.8.8.8", "93.184.216.34", "192.1.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]


def address_of(number: str) -> str:
    return f"https://[{number}]/v1" if ":" in number else f"https://{number}/v1"


@pytest.mark.parametrize("number", INSIDE)
def test_a_number_inside_is_refused_in_every_spelling(number: str, settings: Any) -> None:
    """(B16) Also where an IPv4 address is embedded, which a translator would lead inside."""
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    with pytest.raises(addresses.AddressRefused, match="private network"):
        addresses.clean(address_of(number))
    with pytest.raises(addresses.AddressRefused):
        addresses.resolve(number, 443, seconds=5)
    settings.CROWDQC_LOCAL_ENDPOINTS = True
    addresses.check(address_of(number))


@pytest.mark.parametrize("number", OUTSIDE)
def test_a_number_outside_is_taken(number: str, settings: Any) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    assert addresses.clean(address_of(number))
    assert len(addresses.resolve(number, 443, seconds=5)) == 1


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost.", "db", "app.localhost", "metadata.google.internal", "x.local"],
)
def test_a_local_name_is_refused_without_a_resolver(
    host: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    monkeypatch.delattr(socket, "getaddrinfo")
    with pytest.raises(addresses.AddressRefused):
        addresses.clean(f"https://{host}/v1")
    assert addresses.clean("https://models.example/v1")
