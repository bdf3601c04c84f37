"""Web, workers and scheduler, forked from one process that has loaded the app.

``python -m crowdqc.devstack.program SOCKET NAME=FD ...``: the socket that the web processes listen
on, and where the output of each part goes. It loads beside the start of the database, which a
byte on its standard input reports, and a child migrates where that is due.

The first pages come from a process that loads only the views that are asked for. The others follow
once everything is loaded, so that they share it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

import django

from crowdqc.devstack.supervisor import DEMO, FAILED_LOAD, FAILED_MIGRATION
from crowdqc.jobs import workers
from crowdqc.jobs.family import Family, Member
from crowdqc.jobs.queues import PLATFORMS, ROLES, RUNS
from crowdqc.metrics import folder

# Fewer processes than a server gets: one machine runs everything here.
SHARES = dict.fromkeys((*ROLES, workers.SCHEDULER), 1) | {RUNS: 2, PLATFORMS: 2}
FIRST_APP, APP = "django.core.wsgi:get_wsgi_application()", "crowdqc.wsgi:application"


def load_addresses() -> None:
    """Load what every page needs: models, middleware and addresses."""
    from django.core.wsgi import get_wsgi_application
    from django.urls import get_resolver

    get_wsgi_application()
    get_resolver().reverse_dict  # noqa: B018 - walks all addresses


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
    """Wait for the database and migrate where that is due; return the exit status."""
    if not sys.stdin.buffer.read(1):
        return 1  # whoever started this has gone
    if not has_pending_migrations():
        return 0
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        return _command("migrate", "--noinput")()
    except SystemExit:  # the command has printed why
        return FAILED_MIGRATION
    except Exception:
        traceback.print_exc()
        return FAILED_MIGRATION


def _fork(work: Callable[[], int]) -> int:
    """Do work in a child, whose memory is free afterwards; return its process id."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve_web(listener: int, app: str = APP, *options: str) -> int:
    """Serve pages at the socket until stopped."""
    from gunicorn.app.wsgiapp import WSGIApplication

    sys.argv = [
        *("gunicorn", "--config", "python:crowdqc.web.server", "--bind", f"fd://{listener}"),
        *("--graceful-timeout", "4", *options, app),
    ]
    WSGIApplication().run()
    return 0


def serve_first_pages(listener: int) -> int:
    """Serve pages while the rest is loaded. Metrics are left to the successor."""
    for name in (folder.LISTEN, folder.TOKEN):
        os.environ.pop(name, None)
    gc.freeze()
    gc.enable()
    quiet = ("--workers", "1", "--log-level", "warning")
    # An upload that began before the hand-over has time to end.
    return serve_web(listener, FIRST_APP, *quiet, "--graceful-timeout", "60")


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
    workers.set_environment()
    folder.make_folder()
    gc.disable()  # until Family.run: there is nothing to free while modules load
    django.setup()
    migration = _fork(lambda: _migrate(output["migrate"]))
    load_addresses()
    if status := os.waitstatus_to_exitcode(os.waitpid(migration, 0)[1]):
        return 1 if status == 1 else FAILED_MIGRATION
    first = Member("web", lambda: serve_first_pages(listener), output.get("web"), once=True)
    parts = [first, Member("web", lambda: serve_web(listener), output.get("web"))]
    if DEMO in output:
        parts.append(Member(DEMO, _command("load_demo"), output[DEMO], once=True))
    # The demo starts its own runs; a periodic job must not be first.
    parts += workers.worker_members(SHARES, output=output, after=DEMO)
    family = Family(parts, _ended(output.get(DEMO)))
    family.start(first)
    try:
        load_app()
    except (ImportError, SyntaxError, AttributeError):
        traceback.print_exc()
        os.kill(first.pid, signal.SIGTERM)
        return FAILED_LOAD
    os.kill(first.pid, signal.SIGTERM)  # it finishes what it has begun
    return family.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
