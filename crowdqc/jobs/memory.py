"""Memory limits of job processes, and jobs that exceed them.

A limit of the process (RLIMIT_DATA) turns an allocation too many into a MemoryError of that job,
before the machine runs out and its kernel kills whatever it likes.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from crowdqc.numbers import parse_whole

SHARE = 0.4  # of the machine's memory, for one process: two runs may be at work at once
LEAST = 2 * 2**30  # bytes that a job may hold on any machine
CGROUP = Path("/sys/fs/cgroup/memory.max")


def machine_bytes() -> int:
    """Return the memory of this machine or container, whichever is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = parse_whole(CGROUP.read_text()) if CGROUP.is_file() else None  # "max": none
    return total if limit is None else min(total, limit)


def limit_bytes() -> int:
    """Return the memory limit of a job's process (CROWDQC_JOB_MEMORY); 0: none."""
    if settings.CROWDQC_JOB_MEMORY >= 0:
        limit: int = settings.CROWDQC_JOB_MEMORY * 2**20
        return limit
    return max(LEAST, round(SHARE * machine_bytes()))


def limit_this_process() -> None:
    """Apply the limit to this process and its children."""
    limit = limit_bytes()
    if limit:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@contextmanager
def limited_memory() -> Iterator[None]:
    """Apply the limit within the block, for untrusted input."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_this_process()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
