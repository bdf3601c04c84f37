"""Health check of containers: the web process, or with ``jobs`` every worker.

``ready`` asks whether the web process may take requests: not before its tables are migrated.
Run as a file, so that it loads nothing of the application.
"""

from __future__ import annotations

import os
import sys
import time
import urllib.error
import urllib.request

SILENT = 60.0  # seconds after which a worker without a sign of life counts as dead


def web_problem(path: str = "/healthz") -> str:
    """Return why the web process does not answer 200, or ""."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:8000" + path, timeout=4):
            return ""
    except (urllib.error.URLError, OSError) as error:
        return str(error)


def readiness_problem() -> str:
    """Return why the web process may not take requests."""
    return web_problem("/readyz?parts=migrations")


def silent_workers() -> str:
    """List workers of this container without a heartbeat for a minute."""
    folder = os.environ.get("CROWDQC_ALIVE", "")
    try:
        ages = {one.name: time.time() - one.stat().st_mtime for one in os.scandir(folder)}
    except OSError as error:
        return f"no sign of life ({error.strerror}: CROWDQC_ALIVE={folder})"
    silent = sorted(name for name, age in ages.items() if age > SILENT)
    if not ages:
        return "nothing has given a sign of life yet"
    return f"no sign of life for {SILENT:.0f} seconds: {', '.join(silent)}" if silent else ""


def main() -> int:
    """Return 0 if all is well, else print the reason and return 1."""
    problem = {"jobs": silent_workers, "ready": readiness_problem}.get(
        "".join(sys.argv[1:]), web_problem
    )()
    if problem:
        print(f"not healthy: {problem}", file=sys.stderr)
    return int(bool(problem))


if __name__ == "__main__":
    sys.exit(main())
