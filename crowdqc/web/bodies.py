"""How large a request's body may be, by its address; the proxy's configuration is made of it too.

A body is refused by its announced length, before anything reads it: Django would else write a
file of any size to /tmp before a view can look at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crowdqc.errors import DomainError, TooLarge
from crowdqc.web.middleware import refuse

KB, MB = 1024, 1024 * 1024
# What anybody may send: forms of signing in and joining, calls of platforms.
SMALL = 64 * KB
# What a signed-in person or a program may send besides files: large forms, rows as JSON.
FORM = 20 * MB
# A file as the import pages take it, with the form around it.
UPLOAD = 65 * MB
# What a page sends of a large file at once.
PART = 8 * MB
# Speech as a page of work takes it.
RECORDING = 17 * MB
TASK = r"/projects/[0-9]+/tasks/[0-9]+"
# The first pattern that an address begins with counts; any other address takes SMALL.
LIMITS = (
    (rf"{TASK}/import/[a-z_-]+/$", UPLOAD),
    (rf"{TASK}/build/media/$", UPLOAD),
    (r"/projects/([0-9]+/tasks/from-file|first)/$", UPLOAD),
    (rf"{TASK}/(checks|rescaling)/scores/$", UPLOAD),
    (r"(/projects/[0-9]+)?/score/$", UPLOAD),
    (r"/uploads/(archives/)?[0-9]+/$", PART),
    (r"/api/token/$", SMALL),
    (r"/(projects|api|otel)/", FORM),
    (r"/work/assignments/[0-9]+/items/[0-9]+/recording/$", RECORDING),
    (r"/work/", 2 * MB),
)
_LIMITS = [(re.compile(pattern), limit) for pattern, limit in LIMITS]


class LengthRequired(DomainError):
    """A body of unknown length cannot be bounded before it is read."""

    status = 411
    code = "length-required"


def limit_of(path: str) -> int:
    """Return how many bytes a signed-in sender may put into the body of a request to ``path``."""
    return next((limit for pattern, limit in _LIMITS if pattern.match(path)), SMALL)


def in_words(size: int) -> str:
    """Format a size in bytes as text, such as "64 kB" or "20 MB"."""
    return f"{size // MB} MB" if size >= MB else f"{size // KB} kB"


class BodyLimit:
    """Refuse a body that is larger than its address and sender may send.

    Only a large body costs more than a comparison: then it matters who sends it. WSGI reads no
    further than Content-Length says, so a wrong one cannot let more in.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "HTTP_TRANSFER_ENCODING" in request.META:
            return refuse(request, LengthRequired(_("Send the body with a Content-Length.")))
        length = _length(request)
        if length > SMALL:
            known = _may_be_known(request)
            limit = limit_of(request.path_info) if known else SMALL
            if length > limit:
                text = _("The request is too large: at most %(size)s are accepted here.") % {
                    "size": in_words(limit)
                }
                return refuse(
                    request,
                    TooLarge(
                        text if known else _("%(text)s Sign in to send more.") % {"text": text}
                    ),
                )
        return self.get_response(request)


def _length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    # Ten digits are 9 GB, above every limit; a longer number need not be read.
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else UPLOAD + 1


def _may_be_known(request: HttpRequest) -> bool:
    """Signed in, or a program whose token is checked before its body is read."""
    if request.path_info.startswith(("/api/", "/otel/")) and "HTTP_AUTHORIZATION" in request.META:
        return True
    return request.user.is_authenticated
