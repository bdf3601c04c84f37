"""``python -m tests.support.golden record FILE`` and ``... compare FILE [OTHER]``.

``compare`` records the working tree as it is, unless it is given a second file. It ends with
status 1 where something differs. ``--only PATTERN`` limits it to addresses in which this regular
expression is found.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.support.golden import comparing
from tests.support.golden.comparing import Key, Records


def _same_order_of_sets() -> None:
    """Begin again in a process whose sets are always in one order, with a database of its own."""
    if os.environ.get("PYTHONHASHSEED") == "0":
        return
    environment = {**os.environ, "PYTHONHASHSEED": "0", "DJANGO_SETTINGS_MODULE": "tests.settings"}
    for name in ("DATABASE_URL", "CROWDQC_TEST_DATABASE_URL", "CROWDQC_TEST_HOME", "BROKER_URL"):
        environment.pop(name, None)
    os.execve(  # noqa: S606
        sys.executable, [sys.executable, "-m", "tests.support.golden", *sys.argv[1:]], environment
    )


@contextlib.contextmanager
def database() -> Iterator[None]:
    """Django on an embedded database that is made for this record and removed after it."""
    import django

    from tests.support.golden.fixed import DATABASE_CLOCK, fixed

    fixed.install()
    django.setup()
    fixed.stop_watches()
    import psycopg
    from django.core.management import call_command
    from django.test.utils import setup_test_environment, teardown_test_environment

    from crowdqc.devstack import Cluster

    home = Path(os.environ["CROWDQC_TEST_HOME"])
    cluster = Cluster(home, durable=False).start(tied=True)
    try:
        with psycopg.connect(cluster.url, autocommit=True) as admin:
            # Statistics that come by themselves change plans, and with them the order of rows.
            admin.execute("ALTER SYSTEM SET autovacuum = off")
            admin.execute("SELECT pg_reload_conf()")
            admin.execute(DATABASE_CLOCK)
        call_command("migrate", verbosity=0)
        setup_test_environment()
        # Addresses that are refused are recorded, and no news here.
        logging.getLogger("django.request").setLevel(logging.ERROR)
        yield
        teardown_test_environment()
    finally:
        cluster.stop()
        shutil.rmtree(home, ignore_errors=True)


def recorded(only: re.Pattern[str] | None, known: Collection[Key] = ()) -> Records:
    """What the working tree says at every address, or at those in which ``only`` is found."""
    with database():
        from tests.support.golden import everybody

        return everybody.records(only, known)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.support.golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        own = commands.add_parser(name)
        own.add_argument("file", type=Path)
        own.add_argument("--only", type=re.compile, help="addresses in which this is found")
        if name == "compare":
            own.add_argument("other", type=Path, nargs="?", help="a second record")
    options = parser.parse_args()
    began = time.monotonic()
    if options.command == "record":
        records = recorded(options.only)
        comparing.write(options.file, records)
        size = options.file.stat().st_size / 1e6
        spent = f"{time.monotonic() - began:.0f} s, {time.process_time():.0f} s of a processor"
        print(f"{len(records):,} answers, {size:.1f} MB, {spent}")
        return 0
    before = comparing.read(options.file)
    after = comparing.read(options.other) if options.other else recorded(options.only, before)
    if options.only:
        before, after = (
            {key: one for key, one in some.items() if options.only.search(key[1])}
            for some in (before, after)
        )
    found = comparing.differences(before, after)
    print("\n\n".join([*found, f"{len(found)} differences" if found else "No difference"]))
    return 1 if found else 0


if __name__ == "__main__":
    _same_order_of_sets()
    sys.exit(main())
