"""Addresses of static files: worked out once a process, since they change with a restart only.

A page names some thirty of them, each of which takes the framework a look-up and a join.
"""

from __future__ import annotations

from typing import Any

from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage


class KnownUrls:
    """A storage that keeps the addresses it has given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: dict[str | None, str] = {}

    def url(self, name: str | None, *args: Any, **kwargs: Any) -> str:
        """The address of a file."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = super().url(name, *args, **kwargs)  # type: ignore[misc]
        return found


class PlainStorage(KnownUrls, StaticFilesStorage):
    """Files under their own names, for development."""


class HashedStorage(KnownUrls, CompressedManifestStaticFilesStorage):
    """Files under names with their digests, for production."""
