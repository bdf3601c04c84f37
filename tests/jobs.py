"""Jobs for tests of the queue, loaded by the test's own worker."""

from __future__ import annotations

import os
import time
from pathlib import Path

from celery import shared_task


@shared_task
def note(path: str, seconds: float = 0.0) -> None:
    """Append a line when it begins and one when it ends."""
    for word in ("begin", "end"):
        with Path(path).open("a") as handle:
            handle.write(f"{word} {os.getpid()}\n")
        if word == "begin":
            time.sleep(seconds)
