"""Kubernetes and systemd would take our files, and they say what the program needs."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from crowdqc.jobs.queues import ROLES
from crowdqc.jobs.workers import SCHEDULER, counts

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "admin" / "kubernetes"


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_every_manifest_is_listed_and_fits_the_schemas_of_kubernetes() -> None:
    import kubernetes_validate  # takes a fifth of the time in which all tests are loaded

    (base,) = read("kustomization.yaml")
    others = {one.name for one in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(base["resources"]) == others
    released = (ROOT / "tests" / "upgrade" / "releases.txt").read_text().split()
    assert f"v{base['images'][0]['newTag']}" == released[-2]  # the last version and its commit
    found = [one for name in base["resources"] for one in read(name)]
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(names) == len(set(names)) > 14
    for one in found:
        kubernetes_validate.validate(one, "1.37", strict=True)


def test_each_queue_is_served_there_is_one_scheduler_and_no_secret_is_written_down() -> None:
    served: dict[str, int] = {}
    for one in read("workers.yaml"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert container["args"][:3] == ["python", "-m", "crowdqc.jobs.workers"]
        served |= dict.fromkeys(counts(container["args"][3:]), one["spec"]["replicas"])
        assert (
            one["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]
            in (one["metadata"]["name"])
        )
    assert served.keys() == {*ROLES, SCHEDULER} and served[SCHEDULER] == 1
    (settings,) = read("configuration.yaml")
    told = (ROOT / ".env.example").read_text().splitlines()
    known = {line.partition("=")[0].strip("# ") for line in told}
    assert settings["data"].keys() <= known
    secret = {"SECRET_KEY", "DATABASE_URL", "BROKER_URL", "EMAIL_URL"}
    assert not [name for name in settings["data"] if name in secret or "SECRET" in name]


UNITS = sorted((ROOT / "docs" / "admin" / "systemd").glob("*.service"))


def test_units_serve_each_queue_once_with_one_scheduler_and_the_settings_that_there_are() -> None:
    served: list[str] = []
    for path in UNITS:
        unit = configparser.RawConfigParser(strict=False)
        unit.read(path)
        program, _, words = unit["Service"]["ExecStart"].partition(" -m crowdqc.jobs.workers ")
        served += counts(words.split()) if words else []
        assert unit["Service"]["EnvironmentFile"] == "/etc/crowdqc/crowdqc.env", path.name
        assert program
    assert sorted(served) == sorted([*ROLES, SCHEDULER])
    told = (ROOT / ".env.example").read_text().splitlines()
    known = {line.partition("=")[0].strip("# ") for line in told}
    lines = (UNITS[0].parent / "crowdqc.env").read_text().splitlines()
    assert {line.partition("=")[0] for line in lines if not line.startswith("#")} <= known


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for path in UNITS:
        text = path.read_text().replace("/srv/crowdqc/.venv/bin", str(Path(sys.executable).parent))
        (tmp_path / path.name).write_text(text.replace("/usr/sbin/nginx", "/bin/true"))
    files = [str(tmp_path / path.name) for path in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "crowdqc" in line]
    assert done.returncode == 0 and said == [], done.stderr
