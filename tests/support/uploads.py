"""Uploads in tests: what the queue does with them, done here and now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from django.db import connection

from annotation.formats.uploads.process import process
from annotation.models import ImportFile


def work() -> None:
    """Bring every upload as far as it comes by itself."""
    for pk in ImportFile.objects.values_list("pk", flat=True):
        process(pk)


@contextmanager
def working() -> Iterator[None]:
    """The same by a thread, beside a browser that waits for it."""
    over = Event()

    def run() -> None:
        try:
            while not over.wait(0.2):
                work()
        finally:
            connection.close()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
