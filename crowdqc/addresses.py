"""Which addresses a server may be sent to: a project's endpoint must not reach into our network.

In production private and loopback addresses are refused, as are names that lead to them, unless
CROWDQC_LOCAL_ENDPOINTS allows it. The check stands where an address is entered and again before a
run sends anything, since a name may lead elsewhere later.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from crowdqc.errors import Invalid


def clean(base_url: str, *, query: bool = False) -> str:
    """The address without a slash at its end; Invalid names ``base_url`` and says what is wrong.

    With ``query`` what follows a ? belongs to it.
    """
    address = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise _refused("The address cannot be read.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise _refused("Begin with http:// or https:// and name a host.")
    if parts.username or parts.password:
        raise _refused("Leave name and password out; the key has a field of its own.")
    if (parts.query and not query) or parts.fragment:
        raise _refused("Leave out what follows ? or #.")
    if not address.isascii() or not address.isprintable() or " " in address:
        raise _refused("Letters, digits and signs of ASCII only; write others as %.. or xn--.")
    if len(address) > 300:
        raise _refused("300 characters at most.")
    check(address)
    return address


def site_of(request: Any) -> str:
    """Scheme and host by which this request reached us."""
    return f"{request.scheme}://{request.get_host()}"


def origin(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: a secret that was entered for one is sent to no other."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port


def is_secure(address: str) -> bool:
    """Whether a secret may go there: by https, or where local addresses are allowed anyway."""
    return origin(address)[0] == "https" or bool(settings.CROWDQC_LOCAL_ENDPOINTS)


def check(base_url: str) -> None:
    """Raise Invalid where the address leads into a private network and that is not allowed."""
    if not settings.CROWDQC_LOCAL_ENDPOINTS:
        parts = urlsplit(base_url)
        reachable(parts.hostname or "", parts.port or 443)


def reachable(host: str, port: int) -> list[str]:
    """The numbers behind a host's name; Invalid where one of them is not allowed.

    Who connects to these and not to the name cannot be led elsewhere after the check.
    """
    found = _addresses(host, port)
    if not settings.CROWDQC_LOCAL_ENDPOINTS:
        for address in found:
            if not address.is_global or address.is_multicast:
                raise _refused("This address lies in a private network.")
    return [str(address) for address in found]


def _addresses(host: str, port: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # a name that cannot be one, as a..b
        raise _refused("The host is not known.") from None
    plain = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return [getattr(one, "ipv4_mapped", None) or one for one in plain]


def _refused(hint: str) -> Invalid:
    return Invalid(f"This base URL cannot be used. {hint}", fields={"base_url": hint})
