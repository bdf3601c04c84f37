"""Which addresses a server may be sent to: what a project enters must not reach into our network.

Two checks. ``check`` judges an address by its text and asks no resolver, so that a page may call
it. ``resolve`` looks the name up, within a deadline, and judges every number behind it; jobs
connect to these numbers and not to the name, which could lead elsewhere a moment later.
CROWDQC_LOCAL_ENDPOINTS allows local addresses, as in development.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from crowdqc.errors import Invalid
from crowdqc.outbound.web_request import forbid_in_web_request

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PRIVATE = "This address lies in a private network."
UNKNOWN = "The host is not known."
LOCAL_NAMES = (".localhost", ".local", ".localdomain", ".internal", ".home.arpa", ".lan")
# Outside numbers that ``is_global`` of Python 3.11 lets pass.
INSIDE_4 = [
    ipaddress.IPv4Network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments; a cloud's metadata service
        "192.88.99.0/24",  # relays of 6to4
        "168.63.129.16/32",  # the inside of Azure
    )
]
GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
# Numbers that hold an IPv4 address, so that a translator or tunnel may lead them to it.
INSIDE_6 = [
    ipaddress.IPv6Network(text)
    for text in (
        "::/96",  # IPv4-compatible
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64 of a local network
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
]
ISATAP = (0x00005EFE, 0x02005EFE)  # the upper half of an interface id that holds an IPv4 address
# A resolver that hangs must not collect threads without end.
LOOKUPS = threading.BoundedSemaphore(32)


DEMO = "This is a public demo: nothing is sent to other systems."


class AddressRefused(Invalid):
    """The address leads to where nothing may be sent."""


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
    """Return scheme and host by which the request reached this site."""
    return f"{request.scheme}://{request.get_host()}"


def origin(address: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of an address; a secret for one origin is sent to no other."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port


def is_secure(address: str) -> bool:
    """Whether a secret may go there: by https, or where local addresses are allowed anyway."""
    return origin(address)[0] == "https" or bool(settings.CROWDQC_LOCAL_ENDPOINTS)


def check(base_url: str) -> None:
    """Raise AddressRefused where the text itself names a private network and that is not allowed.

    Names are looked up only by jobs, when they connect (``resolve``).
    """
    if settings.CROWDQC_LOCAL_ENDPOINTS:
        return
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    number = _number(host)
    if number is None:
        if "." not in host or f".{host}".endswith(LOCAL_NAMES):
            raise _inside()
    elif not is_outside(number):
        raise _inside()


def resolve(host: str, port: int, *, seconds: float, inside: bool = False) -> list[str]:
    """Look up a host's IP addresses; AddressRefused if one of them is private.

    Who connects to these and not to the name cannot be led elsewhere after the check. ``inside``
    allows all, for a host that the installation's owner named. Raises OSError where the name is
    not known, and TimeoutError where that is not told in time.
    """
    if settings.CROWDQC_DEMO:
        raise AddressRefused(DEMO, fields={"base_url": DEMO})
    forbid_in_web_request("The look-up of a name")
    found = _lookup(host, port, seconds)
    free = inside or settings.CROWDQC_LOCAL_ENDPOINTS
    if not free and not all(map(is_outside, found)):
        raise _inside()
    return [str(address) for address in found]


def is_outside(address: Address) -> bool:
    """Whether a number belongs to the public network, and can lead nowhere else."""
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return is_outside(mapped)
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in INSIDE_4)
    if address not in GLOBAL_6 or any(address in network for network in INSIDE_6):
        return False
    return (int(address) >> 32) & 0xFFFFFFFF not in ISATAP


def _number(host: str) -> Address | None:
    """The number that a host is written as, also in the old ways (127.1, 0x7f000001)."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _lookup(host: str, port: int, seconds: float) -> list[Address]:
    """Ask the resolver in a thread, as it knows no deadline itself."""
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # handed to whoever waits
            answers.put(error)
        finally:
            LOOKUPS.release()

    if not LOOKUPS.acquire(timeout=max(0.0, seconds)):
        raise TimeoutError
    threading.Thread(target=ask, name="lookup", daemon=True).start()
    try:
        found = answers.get(timeout=max(0.0, seconds))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, OSError | UnicodeError):  # a name that cannot be one, as a..b
        raise OSError(UNKNOWN)
    if isinstance(found, Exception):
        raise found
    plain = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return [getattr(one, "ipv4_mapped", None) or one for one in plain]


def _refused(hint: str) -> Invalid:
    return Invalid(f"This base URL cannot be used. {hint}", fields={"base_url": hint})


def _inside() -> AddressRefused:
    message = f"This base URL cannot be used. {PRIVATE}"
    return AddressRefused(message, fields={"base_url": PRIVATE})
