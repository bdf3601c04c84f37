"""Addresses that files are fetched from, as people copy them, and the bytes behind them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from django.conf import settings
from django.core.files.storage import storages
from django.utils.translation import gettext as _

from annotation.files.reading.limits import check_size, current
from annotation.files.reading.sources import Source
from annotation.files.reading.spool import Spool
from crowdqc import outbound
from crowdqc.errors import Invalid
from crowdqc.outbound import addresses

MOST = 2_000  # characters of an address
MOST_MOVES = 5  # redirects that are followed
SECONDS = 600.0  # for all of a file
BUCKET = "bucket:"  # before the name of a file in the bucket of imports
# What people copy from a page that shows a file -> where the file itself is.
PAGES = (
    (
        re.compile(r"hf://datasets/([^/]+/[^/@]+)(?:@([^/]+))?/(.+)"),
        r"https://huggingface.co/datasets/\1/resolve/\2/\3",
    ),
    (
        re.compile(r"https://huggingface\.co/datasets/([^/]+/[^/]+)/blob/([^/]+)/(.+)"),
        r"https://huggingface.co/datasets/\1/resolve/\2/\3",
    ),
    (
        re.compile(r"https://github\.com/([^/]+/[^/]+)/blob/(.+)"),
        r"https://raw.githubusercontent.com/\1/\2",
    ),
    (
        re.compile(r"https://docs\.google\.com/spreadsheets/d/([\w-]+)/edit.*"),
        r"https://docs.google.com/spreadsheets/d/\1/export?format=csv",
    ),
)


@dataclass(frozen=True)
class Place:
    """Where a file is fetched from, and what it is called."""

    address: str
    name: str


def parse_address(text: str) -> Place:
    """Find the file behind an address that somebody typed. Raises Invalid; asks no network."""
    text = text.strip()
    if len(text) > MOST or not text.isprintable():
        raise _refused(_("The address is too long or cannot be read."))
    if text.startswith(BUCKET):
        return Place(text, _bucket_name(text).name)
    for page, file in PAGES:
        if match := page.fullmatch(text):
            text = match.expand(file).replace("/resolve//", "/resolve/main/")
            break
    _check(text)
    parts = urlsplit(text)
    name = PurePosixPath(unquote(parts.path)).name or parts.hostname or "file"
    return Place(text, f"{name}.csv" if text.endswith("export?format=csv") else name)


@contextmanager
def open_address(address: str) -> Iterator[Iterator[bytes]]:
    """The bytes of a file, as they come. Raises Invalid, also while they are read."""
    if address.startswith(BUCKET):
        yield _bucket_pieces(address)
        return
    end, most = time.monotonic() + SECONDS, current().size
    try:
        for _move in range(MOST_MOVES + 1):
            left = max(1.0, end - time.monotonic())
            with (
                outbound.Client(seconds=left, most_bytes=most + 1) as client,
                client.download(address) as answer,
            ):
                if answer.status == 200:
                    yield answer.pieces
                    return
                address = _next_address(address, answer)
    except outbound.OutboundError as error:
        raise _refused(_("The file cannot be fetched. %(reason)s") % {"reason": error}) from error
    raise _refused(_("The address leads on and on."))


def fetch(address: str, report: Any) -> Source:
    """Fetch a file; ``report`` is called with the bytes so far. Raises Invalid."""
    held, size, most = Spool[bytes](), 0, current().size
    with open_address(address) as pieces:
        for piece in pieces:
            size += len(piece)
            check_size(size, most)
            held.append(piece, len(piece))
            report(size)
    check_size(size, most)
    return Source(size, lambda: iter(held))


def _next_address(address: str, answer: outbound.Download) -> str:
    """Where a redirect leads. Raises Invalid for another answer, or a place that is not public."""
    moved = answer.headers.get("location", "")
    if answer.status not in (301, 302, 303, 307, 308) or not moved:
        raise _refused(
            _("%(host)s answered %(status)s instead of the file.")
            % {"host": urlsplit(address).hostname, "status": answer.status}
        )
    moved = urljoin(address, moved)
    _check(moved)
    return moved


def _check(address: str) -> None:
    """Refuse an address that is no https address of a public host."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise _refused(_("The address cannot be read.")) from None
    wanted = {"https", "http"} if settings.CROWDQC_LOCAL_ENDPOINTS else {"https"}
    if parts.scheme not in wanted or not parts.hostname or port == 0:
        raise _refused(_("Give an address that begins with https://."))
    if parts.username or parts.password:
        raise _refused(_("Leave name and password out of the address."))
    addresses.check(address)


def _bucket_name(address: str) -> PurePosixPath:
    """The name of a file in the bucket of imports. Raises Invalid."""
    name = PurePosixPath(address.removeprefix(BUCKET).lstrip("/"))
    if "imports" not in settings.STORAGES:
        raise _refused(_("This installation has no bucket for imports."))
    if not name.name or ".." in name.parts:
        raise _refused(_("Name a file in the bucket, such as bucket:study/votes.csv."))
    return name


def _bucket_pieces(address: str) -> Iterator[bytes]:
    storage: Any = storages["imports"]
    try:
        yield from storage.pieces(str(_bucket_name(address)))
    except FileNotFoundError:
        raise _refused(_("There is no such file in the bucket.")) from None
    except OSError as error:
        raise _refused(_("The bucket does not answer.")) from error


def _refused(words: str) -> Invalid:
    return Invalid(words, fields={"address": _("Check the address, or upload the file.")})
