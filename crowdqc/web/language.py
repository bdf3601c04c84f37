"""In which language a page or a mail speaks.

A person's own choice comes first (their account, then the switch on this device), then what the
browser asks for, then the installation's. What programs read, files and public boards stay English
(``ENGLISH_VIEWS``). See docs/develop/translate.md.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import trans_real
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

from crowdqc.deployment.languages import ENGLISH_VIEWS
from crowdqc.errors import Missing

GetResponse = Callable[[HttpRequest], HttpResponse]


def known(code: str | None) -> str:
    """Return the language code if the installation offers it, else ""."""
    return code if code and code in dict(settings.LANGUAGES) else ""


def language_of(person: Any) -> str:
    """Return the language in which to write to a person; the default one for None."""
    return known(getattr(person, "language", "")) or settings.CROWDQC_LANGUAGE


def speaking_to(person: Any) -> AbstractContextManager[Any]:
    """Switch to the person's language within the block."""
    return translation.override(language_of(person))


def _requested_language(request: HttpRequest) -> str:
    """Return the language chosen on this device, else the one the browser asks for."""
    chosen = known(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME))
    if chosen:
        return chosen
    for code, _weight in trans_real.parse_accept_lang_header(
        request.headers.get("Accept-Language", "")
    ):
        try:
            return translation.get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.CROWDQC_LANGUAGE


def readers_language(request: HttpRequest) -> str:
    """Return the language of the reader's account, else the one that the request asks for."""
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    own = known(getattr(getattr(request, "user", None), "language", "")) if has_session else ""
    return own or _requested_language(request)


class Language:
    """Middleware: answer each request in its user's language, then restore the thread's."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked = _requested_language(request)
        with translation.override(asked):
            response = self.get_response(request)
            spoken = translation.get_language() or settings.LANGUAGE_CODE
        response.headers.setdefault("Content-Language", spoken[:2])
        if spoken == asked != settings.LANGUAGE_CODE:
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    def process_view(self, request: HttpRequest, view: Any, args: object, kwargs: object) -> None:
        """Switch to English for what stays English, else to the person's own language."""
        view = getattr(view, "view_class", view)
        name = f"{view.__module__}.{getattr(view, '__qualname__', '')}"
        if ENGLISH_VIEWS.search(name):
            translation.activate(settings.LANGUAGE_CODE)
        elif settings.SESSION_COOKIE_NAME in request.COOKIES:
            own = known(getattr(request.user, "language", ""))
            if own:
                translation.activate(own)


@cache
def _script_words(language: str) -> bytes:
    request = HttpRequest()
    request.method = "GET"
    with translation.override(language):
        return bytes(JavaScriptCatalog.as_view()(request).content)  # type: ignore[attr-defined]


@require_safe
def script_words(request: HttpRequest, language: str) -> HttpResponse:
    """Serve the texts of scripts in a language, with its plural rule, as JavaScript."""
    if not known(language):
        raise Missing(_("There is no such language."))
    return HttpResponse(_script_words(language), content_type='text/javascript; charset="utf-8"')
