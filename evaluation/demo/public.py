"""The state of a public demo that each night brings back (``CROWDQC_DEMO=public``)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from django.conf import settings

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.demo import PASSWORD, VIEWER
from annotation.accounts.projects import actions as people
from annotation.models import Project, Role, User
from crowdqc.deployment.backup.envelope import read_passphrase
from crowdqc.deployment.backup.places import open_location
from crowdqc.deployment.backup.restore import Restored, restore_backup
from crowdqc.deployment.backup.write import WrittenBackup, write_backup
from crowdqc.errors import Conflict
from evaluation.models import Run
from evaluation.runs import engine

FOLDER = "demo"
WAIT_SECONDS = 1800.0


def add_viewer(project: Project) -> None:
    """Add the account of a viewer, which the demo of a developer does without."""
    if not User.objects.filter(username=VIEWER).exists():
        user = accounts.sign_up(username=VIEWER, display_name="Ida Falk", password=PASSWORD)
        people.add_member(project=project, user=user, role=Role.VIEWER)


def work_on_runs() -> None:
    """Work on all open runs and those that follow them. Raises Conflict after half an hour."""
    until = time.monotonic() + WAIT_SECONDS
    while runs := list(Run.objects.filter(state__in=engine.ACTIVE).values_list("pk", flat=True)):
        for run in runs:
            engine.execute(run)
        if time.monotonic() > until:
            raise Conflict(f"{len(runs)} runs are not finished yet. Start the workers.")
        time.sleep(0.3)


def keep_state() -> WrittenBackup:
    """Keep the present state as the one that each night brings back, in place of the one before."""
    require_public_demo()
    where = _location()
    if not where.startswith("s3://"):
        Path(where).mkdir(mode=0o700, parents=True, exist_ok=True)
    made = write_backup(where, passphrase=_passphrase(), keys=False)
    place = open_location(where)
    for name in place.names()[:-1]:
        place.delete(name)
    return made


def has_kept_state() -> bool:
    """Whether a state is kept."""
    where = _location()
    there = where.startswith("s3://") or Path(where).exists()
    return there and bool(open_location(where).names())


def reset() -> Restored:
    """Bring the kept state back while the site serves on; everybody has to sign in again.

    It is loaded beside the tables in use and takes their place at once. Raises Conflict where this
    is no public demo, or none was kept.
    """
    require_public_demo()
    place = open_location(_location())
    if not (names := place.names()):
        raise Conflict("No state of the demo is kept. Run manage.py crowdqc_demo keep.")
    return restore_backup(
        place.address(names[-1]), passphrase=_passphrase(), replace=True, in_use=True
    )


def reset_in_process() -> None:
    """Reset in a process of its own, as a restore redirects the whole connection."""
    command = [sys.executable, "-m", "django", "crowdqc_demo", "reset"]
    subprocess.run(command, check=True, cwd=settings.BASE_DIR)  # noqa: S603 - our own arguments


def require_public_demo() -> None:
    """Raise Conflict where this is no public demo."""
    if settings.CROWDQC_DEMO != "public":
        raise Conflict("This is no public demo: CROWDQC_DEMO is not public.")


def _location() -> str:
    backups = settings.CROWDQC_BACKUP_FOLDER or str(settings.HOME)
    return f"{backups.rstrip('/')}/{FOLDER}"


def _passphrase() -> str:
    file = settings.CROWDQC_BACKUP_PASSPHRASE_FILE
    return read_passphrase(file) if file else ""
