"""Locks across all machines that end with their connection."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

SPACE = 7_246_114  # any constant that no other lock of ours uses


@contextmanager
def try_lock(name: str) -> Iterator[bool]:
    """Yield whether this process alone holds the named lock, until the block ends."""
    key = [SPACE, zlib.crc32(name.encode()) - 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
        (mine,) = cursor.fetchone()
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
