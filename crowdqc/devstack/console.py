"""``crowdqc`` and ``manage.py``: commands on the embedded database unless another is set."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

# These commands never open a connection, so they need no database server.
NO_DATABASE = {
    "help", "version", "--help", "--version", "reproduce", "collectstatic", "makemessages",
    "diffsettings", "startapp", "test", "spectacular", "crowdqc_score",
}  # fmt: skip


def main() -> None:
    """Run the command named on the command line; ``run`` (or ``devstack``) serves the app."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if find_spec("django") is None:
        sys.exit(
            f"crowdqc is not installed for {sys.executable}. After `make run` or `make test`, say "
            "`.venv/bin/python manage.py ...`, or first `source .venv/bin/activate`."
        )
    if command in {"run", "devstack"}:  # it starts others, and has no use for what Django loads
        from crowdqc.devstack.command import main as devstack

        sys.exit(devstack(sys.argv[2:]))
    if command not in NO_DATABASE and not os.environ.get("DATABASE_URL"):
        from crowdqc.devstack import ensure_database

        ensure_database()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
