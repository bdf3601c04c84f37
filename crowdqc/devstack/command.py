"""``crowdqc run``: database, web, worker and scheduler in one terminal; Ctrl-C stops all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crowdqc.devstack.supervisor import Supervisor


def main(words: Sequence[str]) -> int:
    """Run the stack in the foreground and return the exit status."""
    parser = argparse.ArgumentParser(prog="crowdqc run", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on")
    parser.add_argument(
        "--port", type=int, default=8000, help="port to serve on; the next free one if taken"
    )
    parser.add_argument("--no-demo", action="store_true", help="do not load the demo data")
    given = parser.parse_args(words)
    return Supervisor(host=given.host, port=given.port, demo=not given.no_demo).run()
