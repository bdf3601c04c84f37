"""A client's address and scheme are what a trusted proxy says, and nothing that a client writes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

from crowdqc.web.forwarded import Forwarded, networks

PROXY = "172.30.77.2"


def seen(peer: str, trusted: list[str], **headers: str) -> HttpRequest:
    """The request as views see it."""
    request = RequestFactory().get("/", REMOTE_ADDR=peer, **headers)
    passed: list[Any] = []

    def view(request: HttpRequest) -> HttpResponse:
        passed.append(request)
        return HttpResponse()

    with override_settings(CROWDQC_TRUSTED_PROXIES=trusted):
        Forwarded(view)(request)
    return passed[0]


@pytest.mark.parametrize(
    ("peer", "chain", "client"),
    [
        (PROXY, "203.0.113.9", "203.0.113.9"),
        # What the client itself wrote stands before what the proxy saw.
        (PROXY, "10.0.0.1, 203.0.113.9", "203.0.113.9"),
        # A second proxy of ours, then the client.
        (PROXY, "198.51.100.1, 203.0.113.9, 172.30.77.2", "203.0.113.9"),
        (PROXY, "nonsense", PROXY),
        (PROXY, "203.0.113.9, nonsense", PROXY),
        (PROXY, "", PROXY),
        (PROXY, "2001:db8::7", "2001:db8::7"),
        ("::ffff:172.30.77.2", "203.0.113.9", "203.0.113.9"),
        ("203.0.113.50", "10.0.0.1", "203.0.113.50"),
        ("::ffff:203.0.113.50", "10.0.0.1", "203.0.113.50"),
        ("", "203.0.113.9", ""),
    ],
)
def test_the_address_is_the_nearest_that_is_not_ours(peer: str, chain: str, client: str) -> None:
    """(B10)"""
    request = seen(peer, [PROXY], HTTP_X_FORWARDED_FOR=chain)
    assert request.META["REMOTE_ADDR"] == client


def test_only_a_trusted_proxy_says_that_a_request_was_encrypted() -> None:
    """(B10)"""
    said = {"HTTP_X_FORWARDED_PROTO": "https"}
    assert seen(PROXY, [f"{PROXY}/32"], **said).is_secure()
    assert not seen("203.0.113.50", [f"{PROXY}/32"], **said).is_secure()
    assert not seen(PROXY, [], **said).is_secure()
    assert seen("", ["unix"], **said).is_secure()


def test_no_forwarded_header_goes_further() -> None:
    """(B10)"""
    sent = ("X_FORWARDED_FOR", "X_FORWARDED_HOST", "X_FORWARDED_PROTO", "FORWARDED", "X_REAL_IP")
    for peer in (PROXY, "203.0.113.50"):
        request = seen(peer, [PROXY], **{f"HTTP_{name}": "10.1.2.3" for name in sent})
        assert not {f"HTTP_{name}" for name in sent} & set(request.META)


@pytest.mark.parametrize("text", ["10.0.0.1/24", "0.0.0.0/0", "::/0"])
def test_a_network_that_cannot_be_read_or_is_everybody_is_named(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="CROWDQC_TRUSTED_PROXIES"):
        networks([text])
