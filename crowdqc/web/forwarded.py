"""Who sent a request and how: decided in one place, from headers of trusted proxies only."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
UNIX = "unix"  # a peer on a Unix socket has no address
PREFIXES = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


def networks(values: Iterable[str]) -> list[Network]:
    """Parse networks in CIDR form; raise ImproperlyConfigured if one is invalid."""
    try:
        found = [ipaddress.ip_network(value) for value in values if value != UNIX]
        if any(not one.prefixlen for one in found):  # else everybody says who they are
            raise ValueError("all addresses are no proxy")
        return found
    except ValueError as error:
        raise ImproperlyConfigured(
            f"CROWDQC_TRUSTED_PROXIES: {error}. Give addresses or networks separated by commas, "
            "for example 172.30.77.2 or 10.0.0.0/24."
        ) from error


def _address(text: str) -> Address | None:
    """The address; an IPv4 address written as IPv6 is the IPv4 one."""
    try:
        found = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def client_address(peer: Address | None, chain: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the client's address: the last one in the chain that is not a trusted proxy.

    Whatever stands before it was written by somebody who is not trusted.
    """
    last = peer
    for text in reversed(chain):
        hop = _address(text)
        if hop is None:
            break
        last = hop
        if not any(hop in network for network in trusted):
            break
    return str(last) if last else ""


class Forwarded:
    """Take the client's address and scheme from a trusted proxy's headers, then drop the headers.

    Nothing behind this reads a forwarded header: ``REMOTE_ADDR`` is the client's address and
    ``request.is_secure()`` is right, whoever sent what.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.trusted = networks(settings.CROWDQC_TRUSTED_PROXIES)
        self.trusts_unix = UNIX in settings.CROWDQC_TRUSTED_PROXIES

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        peer = _address(meta.get("REMOTE_ADDR", ""))
        chain = [hop for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
        scheme = meta.get("HTTP_X_FORWARDED_PROTO", "").strip().lower()
        for name in [name for name in meta if name.startswith(PREFIXES)]:
            del meta[name]
        if self._trusts(peer):
            meta["REMOTE_ADDR"] = client_address(peer, chain, self.trusted)
            if scheme in ("http", "https"):
                meta["wsgi.url_scheme"] = scheme
        elif peer is not None:
            meta["REMOTE_ADDR"] = str(peer)
        return self.get_response(request)

    def _trusts(self, peer: Address | None) -> bool:
        if peer is None:
            return self.trusts_unix
        return any(peer in network for network in self.trusted)
