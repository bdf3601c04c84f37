"""Kubernetes would take the manifests, and they say what the program needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
