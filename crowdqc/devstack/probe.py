"""The container's health check: ask the web process next door whether it is alive.

Run as a file, so that it loads nothing of the application.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request


def main() -> int:
    """0 if ``/healthz`` answers 200, else 1 with the reason."""
    # Django answers only for hosts it is told of; a leading dot or a star is a pattern.
    host = os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".")
    request = urllib.request.Request(
        "http://127.0.0.1:8000/healthz",
        headers={"Host": host if host not in {"", "*"} else "localhost"},
    )
    try:
        with urllib.request.urlopen(request, timeout=3):  # noqa: S310 - a fixed http address
            return 0
    except (urllib.error.URLError, OSError) as error:
        print(f"not healthy: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
