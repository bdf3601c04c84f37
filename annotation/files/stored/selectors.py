"""Reading stored files, wherever they lie."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.core.files.storage import storages
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import StoredFile
from crowdqc.errors import Missing, Unavailable

logger = logging.getLogger(__name__)
GONE = gettext_lazy("The file is no longer there.")


def pieces(file: StoredFile) -> Iterator[bytes]:
    """The content of a file, about a megabyte at a time.

    Raises
    ------
    Missing
        Its row or its bytes are gone.
    Unavailable
        The place it lies in does not answer.
    """
    first: bytes | None
    for last in (False, True):
        try:
            storage: Any = storages[file.storage]
            found: Iterator[bytes] = storage.pieces(file.name)
            first = next(found, None)
            break
        except FileNotFoundError:
            # Moved to another place since the row was read, or deleted.
            now = StoredFile.objects.filter(pk=file.pk).first()
            if last or now is None or now.storage == file.storage:
                raise Missing(GONE) from None
            file = now
        except OSError as error:
            logger.exception("a stored file cannot be read")
            raise Unavailable(_("The file cannot be read just now. Try again later.")) from error
    return _rest(first, found)


def _rest(first: bytes | None, found: Iterator[bytes]) -> Iterator[bytes]:
    if first is not None:
        yield first
        yield from found


def content(file: StoredFile) -> bytes:
    """The whole content; raises as ``pieces``. For files with a limit of a few megabytes."""
    return b"".join(pieces(file))


def unused() -> Any:
    """Files that no row points to."""
    found = StoredFile.objects.all()
    for relation in StoredFile._meta.get_fields(include_hidden=True):
        if relation.auto_created and not relation.concrete:
            rows: Any = relation.related_model
            pointing: Any = relation.remote_field
            found = found.filter(
                ~Exists(rows._base_manager.filter(**{pointing.attname: OuterRef("pk")}))
            )
    return found


def names_in(storage: Any, folder: str = "") -> Iterator[str]:
    """Names of all files of a storage, below a folder."""
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:  # a folder in which nothing was ever stored
        return
    start = f"{folder}/" if folder else ""
    yield from (start + name for name in files)
    for name in folders:
        yield from names_in(storage, start + name)
