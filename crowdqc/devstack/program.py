"""Web, workers and scheduler, forked from one process that has loaded the app.

``python -m crowdqc.devstack.program SOCKET NAME=FD ...``: the socket that the web processes listen
on, and where the output of each part goes. It loads beside the start of the database, which a
byte on its standard input reports. Then it migrates where that is due, and the first page waits
for nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from crowdqc.devstack.supervisor import DEMO, FAILED_MIGRATION
from crowdqc.jobs import workers
from crowdqc.jobs.family import Family, Member
from crowdqc.jobs.queues import PLATFORMS, ROLES, RUNS

# Fewer processes than a server gets: one machine runs everything here.
SHARES = dict.fromkeys((*ROLES, workers.SCHEDULER), 1) | {RUNS: 2, PLATFORMS: 2}


def load_app() -> None:
    """Load everything that any part uses."""
    workers.load_workers()

    import crowdqc.web.server
    import crowdqc.wsgi  # noqa: F401


def has_pending_migrations() -> bool:
    """Whether the tables are older than the program."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    finally:
        connection.close()


def _command(*words: str) -> Callable[[], int]:
    def run() -> int:
        from django.core.management import execute_from_command_line

        execute_from_command_line(["manage.py", *words])
        return 0

    return run


def _migrate(output: int) -> int:
    """Migrate in a separate process to free its memory; return the exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = _command("migrate", "--noinput")()
    finally:
        sys.stdout.flush()
        os._exit(status)


def serve_web(listener: int) -> int:
    """Serve pages at the socket until stopped."""
    from gunicorn.app.wsgiapp import WSGIApplication

    sys.argv = [
        *("gunicorn", "--config", "python:crowdqc.web.server", "--bind", f"fd://{listener}"),
        *("--graceful-timeout", "4", "crowdqc.wsgi:application"),
    ]
    WSGIApplication().run()
    return 0


def _ended(demo: int | None) -> Callable[[Member, int], None]:
    say = workers.log_ended(lambda line: print(line, flush=True))

    def ended(member: Member, status: int) -> None:
        say(member, status)
        if member.name == DEMO and demo is not None:
            if status:
                os.write(demo, b"\n")  # takes back what was said before
                print(f"the demo data was not loaded (status {status})", flush=True)
            os.close(demo)  # the end of its output says that it has ended

    return ended


def main(words: Sequence[str]) -> int:
    """Load, migrate, and run the parts."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    listener = int(words[0])
    output = {name: int(fd) for name, _, fd in (word.partition("=") for word in words[1:])}
    load_app()
    if not sys.stdin.buffer.read(1):
        return 0  # whoever started this has gone
    if has_pending_migrations() and _migrate(output["migrate"]):
        return FAILED_MIGRATION
    parts = [Member("web", lambda: serve_web(listener), output.get("web"))]
    if DEMO in output:
        parts.append(Member(DEMO, _command("load_demo"), output[DEMO], once=True))
    # The demo starts its own runs; a periodic job must not be first.
    parts += workers.worker_members(SHARES, output=output, after=DEMO)
    return Family(parts, _ended(output.get(DEMO))).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
