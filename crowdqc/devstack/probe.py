"""The container's health check: is the web process alive, or (``jobs``) is every worker?

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


def web(path: str = "/healthz") -> str:
    """Why the web process does not answer 200 there; empty where it does."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:8000" + path, timeout=4):
            return ""
    except (urllib.error.URLError, OSError) as error:
        return str(error)


def ready() -> str:
    """Why the web process may not take requests."""
    return web("/readyz?parts=migrations")


def jobs() -> str:
    """Which workers (or the scheduler) of this container gave no sign of life for a minute."""
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
    """0 where all is well, else 1 with the reason."""
    problem = {"jobs": jobs, "ready": ready}.get("".join(sys.argv[1:]), web)()
    if problem:
        print(f"not healthy: {problem}", file=sys.stderr)
    return int(bool(problem))


if __name__ == "__main__":
    sys.exit(main())
