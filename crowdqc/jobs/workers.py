"""Worker processes for every queue, started and kept up by one: ``python -m crowdqc.jobs.workers``.

Arguments say how many processes a queue gets: ``default=2 runs=2 files=1 platforms=3
models=2`` (that is what there is without any). The program is loaded once and forked, so that the
queues share its memory. A worker that dies is started again; SIGTERM lets jobs end, and a second
one does not wait.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType

from crowdqc.jobs.queues import ROLES, queue_name
from crowdqc.jobs.worker import end_with_parent

PROCESSES = {"default": 2, "runs": 2, "files": 1, "platforms": 3, "models": 2}
AGAIN_SECONDS = 1.0  # between the death of a worker and the next start of it


def counts(words: Sequence[str]) -> dict[str, int]:
    """``queue=processes`` as numbers; ValueError names a word that is none."""
    found = {}
    for word in words:
        role, _, number = word.partition("=")
        if role not in ROLES or not number.isdecimal() or not 0 < int(number) <= 64:
            raise ValueError(f"{word!r}: write {'=N, '.join(ROLES)}=N, with N from 1 to 64")
        found[role] = int(number)
    return found or dict(PROCESSES)


def worker_command(role: str, processes: int, level: str) -> list[str]:
    """The words after ``celery`` that start the worker of one queue."""
    return [
        *("--skip-checks", "--quiet", "worker", "--loglevel", level, "--hostname", f"{role}@%h"),
        *("--queues", queue_name(role), "--concurrency", str(processes)),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


class Workers:
    """The workers of one machine."""

    def __init__(self, wanted: Mapping[str, int]) -> None:
        self.wanted = dict(wanted)
        self.running: dict[int, str] = {}
        self.ends = 0

    def run(self) -> int:
        """Start them, keep them up, stop them on a signal; the exit status."""
        from crowdqc.celery import app

        app.loader.import_default_modules()
        app.finalize()
        gc.collect()
        gc.freeze()  # what is loaded stays shared
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._end)
        for role in self.wanted:
            self._start(role)
        while self.running:
            pid, _ = os.wait()
            role = self.running.pop(pid, "")
            if role and not self.ends:
                time.sleep(AGAIN_SECONDS)
                if not self.ends:
                    self._start(role)
        return 0

    def _start(self, role: str) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self.running[pid] = role
            if self.ends:  # told to end while it was being started
                os.kill(pid, signal.SIGTERM)
            return
        status = 1
        try:
            status = self._work(role)
        except Exception:  # said here, as nobody above may go on in this process
            traceback.print_exc()
        finally:
            os._exit(status)

    def _work(self, role: str) -> int:
        from crowdqc.celery import app

        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, signal.SIG_DFL)
        end_with_parent()
        level = os.environ.get("LOG_LEVEL", "INFO")
        return int(app.start(worker_command(role, self.wanted[role], level)) or 0)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.ends += 1
        for pid in list(self.running):
            os.kill(pid, signal.SIGTERM if self.ends == 1 else signal.SIGQUIT)


def main(words: Sequence[str]) -> int:
    """Run the workers that the words name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    try:
        wanted = counts(words)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return Workers(wanted).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
