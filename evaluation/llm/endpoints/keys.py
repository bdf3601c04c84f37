"""Keys of endpoints: named by an environment variable, or sealed at rest; never shown again."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext

from crowdqc.errors import Conflict, Invalid
from crowdqc.sealing import sealed
from evaluation.models import Endpoint

NO_KEY = "none"  # what is sent where an endpoint wants no key: the client insists on one
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,79}")
ANY_NAME = re.compile(r"[A-Z0-9_]*_API_KEY")
PURPOSE = "endpoint keys"


def seal(key: str) -> bytes:
    """Encrypt an API key with this installation's key."""
    return sealed.seal(key, PURPOSE)


def clean_key(key: str) -> str:
    """A key as it may stand in a header; Invalid names ``key`` and never repeats it."""
    found = key.strip()
    if len(found) > 500 or not found.isascii() or not found.isprintable() or " " in found:
        hint = gettext("Letters, digits and signs without spaces, 500 at most.")
        raise Invalid(gettext("This key cannot be used."), fields={"key": hint})
    return found


def clean_variable(name: str, base_url: str) -> str:
    """Check the name of a variable that holds the key for an address; Invalid if not allowed.

    CROWDQC_KEY_VARIABLES lists which may: ``NAME`` for any address or ``NAME@host`` for one, and
    ``*_API_KEY`` for every name that ends so. Others would let a project read the server's
    secrets by sending them to an address of its own.
    """
    found = name.strip()
    if not found:
        return ""
    if not VARIABLE.fullmatch(found):
        hint = gettext("Capitals, digits and _, as in MY_API_KEY.")
        raise Invalid(gettext("This is no name of a variable."), fields={"key_env": hint})
    if not _allowed(found, urlsplit(base_url).hostname or ""):
        hint = gettext(
            "Not among the variables that the server's CROWDQC_KEY_VARIABLES allows here."
        )
        raise Invalid(
            gettext("The variable %(found)s may not be used for a key.") % {"found": found},
            fields={"key_env": hint},
        )
    return found


def _allowed(name: str, host: str) -> bool:
    for entry in settings.CROWDQC_KEY_VARIABLES:
        listed, _, only = entry.partition("@")
        fits = listed == name or (listed == "*_API_KEY" and ANY_NAME.fullmatch(name))
        if fits and only in ("", host):
            return True
    return False


def key_of(endpoint: Endpoint) -> str:
    """Return the API key of an endpoint; Conflict if there is none, without showing it."""
    if endpoint.key_env:
        try:
            name = clean_variable(endpoint.key_env, endpoint.base_url)
        except Invalid as refused:
            raise Conflict(refused.message) from None
        value = os.environ.get(name, "").strip()
        if not value:
            raise Conflict(
                gettext("The variable %(name)s, which holds the key, is not set.") % {"name": name}
            )
        return value
    if endpoint.key_sealed:
        what = gettext("The key of %(endpoint)s") % {"endpoint": endpoint.name}
        return sealed.unseal(endpoint.key_sealed, PURPOSE, what, again="the key")
    return NO_KEY


def state_of(endpoint: Endpoint) -> str:
    """Describe where an endpoint's key is stored and whether it can be used."""
    try:
        key_of(endpoint)
    except Conflict as problem:
        return problem.message
    if endpoint.key_env:
        return gettext("From the variable %(key_env)s.") % {"key_env": endpoint.key_env}
    return gettext("Set and sealed.") if endpoint.key_sealed else gettext("No key is set.")
