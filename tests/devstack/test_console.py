"""Commands from a checkout: what they need, and what they say where it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_python_without_what_is_installed_says_which_one_to_take() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "manage.py", "help"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert ".venv/bin/python manage.py" in done.stderr


def test_a_table_is_scored_without_starting_a_database(tmp_path: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
    env |= {"CROWDQC_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    done = subprocess.run(
        [sys.executable, "manage.py", "crowdqc_score", "docs/examples/labels.csv"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "postgres").exists()
