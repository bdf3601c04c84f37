"""Writing, deleting and moving stored files.

A file is written whole before a row points to it, and deleted only when none does. So a row may
outlive a crash between the two, and its file never goes before it: what is left over is files that
nothing refers to, which ``clean_up`` finds.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.core.files.storage import storages
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.stored.selectors import names_in, unused
from annotation.models import StoredFile
from crowdqc.database.locks import try_lock
from crowdqc.errors import Conflict, Invalid, Unavailable
from crowdqc.files.storages import write_checked

logger = logging.getLogger(__name__)
# After which a file that no row points to was given up; writing one takes an hour at most.
GIVEN_UP = dt.timedelta(days=1)


def store(content: Iterable[bytes], *, kind: str) -> StoredFile:
    """Write a file into the storage that is set; the caller's row is to point to it.

    Parameters
    ----------
    kind
        The folder it goes to: ``exports``, ``uploads``, ``media`` ... Names say nothing else.

    Raises
    ------
    Unavailable
        It cannot be written there.
    """
    place, token = settings.CROWDQC_FILES, secrets.token_hex(16)
    name, digest, size = f"{kind}/{token[:2]}/{token}", hashlib.sha256(), 0
    storage = storages[place]
    try:
        with storage.open(name, "wb") as out:
            for piece in content:
                digest.update(piece)
                size += len(piece)
                out.write(piece)
    except OSError as error:
        logger.exception("a file cannot be stored")
        raise Unavailable(_("The file cannot be stored just now. Try again later.")) from error
    except BaseException:
        if not connection.in_atomic_block:  # else its end undoes it, or ``clean_up`` deletes it
            storage.delete(name)
        raise
    return StoredFile.objects.create(storage=place, name=name, size=size, sha256=digest.hexdigest())


@transaction.atomic
def forget(ids: Iterable[int | None]) -> int:
    """Delete those of these files that no row points to any more; how many."""
    wanted = [pk for pk in ids if pk is not None]
    gone = list(unused().filter(pk__in=wanted).select_for_update()) if wanted else []
    for file in gone:
        file.delete()
        _delete(file.storage, file.name)
    return len(gone)


def _delete(place: str, name: str) -> None:
    """Delete the bytes with the transaction where they are part of it, else after it."""
    storage: Any = storages[place]
    if storage.transactional:
        storage.delete(name)
    else:  # one that is not reached keeps the file until ``clean_up``
        transaction.on_commit(partial(storage.delete, name), robust=True)


# Moving ------------------------------------------------------------------------------------------


@dataclass
class Moved:
    """What a move did: files, their bytes, and the names of those that stay where they are."""

    files: int = 0
    size: int = 0
    damaged: list[str] = field(default_factory=list)


def move_files(to: str, say: Callable[[str], None] = lambda text: None) -> Moved:
    """Move every stored file to another storage while the site is in use.

    Each is copied, read back and compared with its checksum; then its row says the new place, and
    only then the old copy is deleted. What was moved stays moved when it is stopped.

    Raises
    ------
    Invalid
        There is no such storage.
    Conflict
        Another process moves files.
    """
    if to not in settings.CROWDQC_FILE_PLACES:
        known = ", ".join(settings.CROWDQC_FILE_PLACES)
        raise Invalid(
            _("There is no storage %(to)s in the settings; there is %(known)s.")
            % {"to": repr(to), "known": known}
        )
    with try_lock("move_files") as mine:
        if not mine:
            raise Conflict(_("Files are being moved already."))
        done = Moved()
        waiting = StoredFile.objects.exclude(storage=to).order_by("pk")
        for pk in list(waiting.values_list("pk", flat=True)):
            file = waiting.filter(pk=pk).first()
            if file is None:  # deleted meanwhile
                continue
            if not _copied(file, to):
                done.damaged.append(file.name)
                say(f"{file.name} does not match its checksum, and stays in {file.storage}")
                continue
            with transaction.atomic():
                if waiting.filter(pk=pk, storage=file.storage).update(storage=to):
                    _delete(file.storage, file.name)
                    done.files, done.size = done.files + 1, done.size + file.size
                else:
                    _delete(to, file.name)
            if done.files % 1000 == 0:
                say(f"{done.files:,} files moved")
        return done


def _copied(file: StoredFile, to: str) -> bool:
    """Copy a file; whether what is read there is what was stored, else the copy is gone."""
    old: Any = storages[file.storage]
    new: Any = storages[to]
    # One that is there is of a move that was stopped.
    if write_checked(new, file.name, old.pieces(file.name), file.sha256):
        return True
    new.delete(file.name)
    return False


# What nothing refers to --------------------------------------------------------------------------


def clean_up(now: dt.datetime | None = None) -> int:
    """Delete files that no row points to and that were given up a day ago; how many."""
    before = (now or timezone.now()) - GIVEN_UP
    gone = forget(unused().filter(created_at__lt=before).values_list("pk", flat=True))
    for place in settings.CROWDQC_FILE_PLACES:
        storage = storages[place]
        found = list(names_in(storage))
        known = set(StoredFile.objects.filter(storage=place).values_list("name", flat=True))
        for name in found:
            if name not in known and storage.get_modified_time(name) < before:
                storage.delete(name)
                gone += 1
    return gone
