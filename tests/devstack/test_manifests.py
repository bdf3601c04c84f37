"""Kubernetes and systemd would take our files, and they say what the program needs."""

from __future__ import annotations

import configparser
import ipaddress
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from crowdqc.deployment.backup import recovery
from crowdqc.deployment.installation import read_version
from crowdqc.jobs.queues import ROLES
from crowdqc.jobs.workers import SCHEDULER, parse_counts
from crowdqc.proxy import Proxy
from crowdqc.web.bodies import KB, LIMITS, MB, SMALL, limit_of

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "admin" / "kubernetes"


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_every_manifest_is_listed_and_fits_the_schemas_of_kubernetes() -> None:
    import kubernetes_validate  # takes a fifth of the time in which all tests are loaded

    (base,) = read("kustomization.yaml")
    others = {one.name for one in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(base["resources"]) == others
    assert base["images"][0]["newTag"] == read_version()
    found = [one for name in base["resources"] for one in read(name)]
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(names) == len(set(names)) > 14
    for one in found:
        kubernetes_validate.validate(one, "1.37", strict=True)


def test_digest_of_each_image_of_others_can_be_given() -> None:
    """Compose files and Dockerfiles take them from variables, which one command writes."""
    defaults = dict(
        re.findall(r"([A-Z]+)=([a-z]+:\S+?)[;\s]", (FOLDER.parent / "install.md").read_text())
    )
    texts = {path.name: path.read_text() for path in sorted(ROOT.glob("docker-compose*.yml"))}
    texts |= {
        str(path): path.read_text()
        for path in (ROOT / "Dockerfile", ROOT / "docs/admin/recovery/Dockerfile")
    }
    own = r"crowdqc|base |build |installed "
    for name, text in texts.items():
        named = re.findall(rf"^(?: *image: |FROM )(?!{own})(\S+)", text, re.MULTILINE)
        assert all(re.match(r"\$\{[A-Z]+_IMAGE\b", one) for one in named), (name, named)
        for variable, image in re.findall(r"([A-Z]+)_IMAGE(?::-|=)([a-z]+:[\w.-]+)", text):
            assert defaults[variable] == image, (name, variable)


def test_the_database_with_recovery_fits_the_schemas_and_is_reached_by_the_app() -> None:
    import kubernetes_validate

    (base,) = read("recovery/kustomization.yaml")
    [job] = read("recovery/recover.yaml")
    assert (str(base) + str(job)).count(read_version()) == 2  # as the image of the app
    found = [one for name in base["resources"] for one in read(f"recovery/{name}")]
    for one in (*found, job):
        kubernetes_validate.validate(one, "1.37", strict=True)
    server = next(one for one in found if one["kind"] == "StatefulSet")
    pod = server["spec"]["template"]["spec"]
    claim = server["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
    volumes = {one["name"]: one for one in job["spec"]["template"]["spec"]["volumes"]}
    restored = volumes["data"]["persistentVolumeClaim"]["claimName"]
    assert restored == f"{claim}-{server['metadata']['name']}-0"
    (settings,) = read("configuration.yaml")
    given = [one for container in pod["containers"] for one in container["env"]]
    keys = [one["valueFrom"]["configMapKeyRef"]["key"] for one in given if "valueFrom" in one]
    assert keys == ["CROWDQC_RECOVERY_SECONDS"] and set(keys) <= settings["data"].keys()
    written = pod["initContainers"][0]["args"][-1]
    image = (FOLDER.parent / "recovery" / "Dockerfile").read_text()
    assert f"PGBACKREST_CONFIG={written}" in image
    for word in (container["command"][0] for container in pod["containers"]):
        assert f"/usr/local/bin/{word}" in image


def test_servers_of_every_way_to_deploy_close_the_log_as_the_command_says(settings: Any) -> None:
    settings.CROWDQC_RECOVERY_SECONDS = 60
    script = (FOLDER.parent / "recovery" / "archiving-postgres.sh").read_text()
    share = re.search(r"\$\(\((\w+) \* (\d+) / (\d+)\)\)", script)
    assert share and share[1] == "CROWDQC_RECOVERY_SECONDS"
    assert 60 * int(share[2]) // int(share[3]) == recovery.archive_timeout()
    for line in recovery.server_config().splitlines():
        name, _, value = line.partition(" = ")
        assert name == "archive_timeout" or f"{name}={value.strip(chr(39))}" in script


def test_each_queue_is_served_there_is_one_scheduler_and_no_secret_is_written_down() -> None:
    served: dict[str, int] = {}
    for one in read("workers.yaml"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert container["args"][:3] == ["python", "-m", "crowdqc.jobs.workers"]
        served |= dict.fromkeys(parse_counts(container["args"][3:]), one["spec"]["replicas"])
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


def test_a_pod_gets_only_the_secrets_that_it_needs_and_shows_its_metrics() -> None:
    found = {}
    for name in ("web.yaml", "workers.yaml", "migrate.yaml"):
        for one in (one for one in read(name) if one["kind"] in {"Deployment", "Job"}):
            pod = one["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            given = {
                source["secretRef"]["name"]
                for source in container["envFrom"]
                if "secretRef" in source
            }
            given |= {
                volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume
            }
            found[one["metadata"]["name"]] = given - {"crowdqc"}
            assert "crowdqc" in given
            ports = [port["name"] for port in container.get("ports", ())]
            assert ("metrics" in ports) == (one["kind"] == "Deployment")
            # Production refuses to start without one.
            assert ("crowdqc-mail" in given) != ("EMAIL_URL" in str(container.get("env")))
    files, mail = {"crowdqc-files"}, {"crowdqc-mail"}
    assert found.pop("web") == files | mail | {"crowdqc-web"}
    assert found.pop("worker-default") == files | mail
    assert found.pop("worker-backups") == files | {"crowdqc-backup"}
    assert found.pop("migrate") == found.pop("scheduler") == set()
    assert all(given == files for given in found.values())


def test_pods_are_added_by_the_age_of_each_queue_and_never_of_the_scheduler() -> None:
    deployed = {one["metadata"]["name"] for one in read("workers.yaml")}
    scaled = read("autoscaling/scaled.yaml")
    names = [one["spec"]["scaleTargetRef"]["name"] for one in scaled]
    assert set(names) < deployed and not {SCHEDULER, "worker-backups"} & set(names)
    for one, name in zip(scaled, names, strict=True):
        [trigger] = one["spec"]["triggers"]
        query = f'max(crowdqc_queue_oldest_job_age_seconds{{queue="{name.partition("-")[2]}"}})'
        assert trigger["metadata"]["query"] == query


UNITS = sorted((ROOT / "docs" / "admin" / "systemd").glob("*.service"))


def test_units_serve_each_queue_once_with_one_scheduler_and_the_settings_that_there_are() -> None:
    served: list[str] = []
    for path in UNITS:
        unit = configparser.RawConfigParser(strict=False)
        unit.read(path)
        program, _, words = unit["Service"]["ExecStart"].partition(" -m crowdqc.jobs.workers ")
        served += parse_counts(words.split()) if words else []
        # Base backups run as the user of the database, who gets no secret of the app.
        file = "recovery" if unit["Service"]["User"] == "postgres" else "crowdqc"
        assert unit["Service"]["EnvironmentFile"] == f"/etc/crowdqc/{file}.env", path.name
        assert program
    assert sorted(served) == sorted([*ROLES, SCHEDULER])
    told = (ROOT / ".env.example").read_text().splitlines()
    known = {line.partition("=")[0].strip("# ") for line in told}
    lines = (UNITS[0].parent / "crowdqc.env").read_text().splitlines()
    assert {line.partition("=")[0] for line in lines if not line.startswith("#")} <= known


def test_limits_and_hsts_reach_every_way_to_deploy_and_no_quotas_are_none() -> None:
    names = (
        "CROWDQC_JOB_MEMORY",
        "CROWDQC_QUOTAS",
        "SECURE_HSTS_INCLUDE_SUBDOMAINS",
        "SECURE_HSTS_PRELOAD",
    )
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = [one for one in compose["services"].values() if "environment" in one]
    passed = [one["environment"] for one in services if "SECRET_KEY" in one["environment"]]
    (cluster,) = read("configuration.yaml")
    lines = (UNITS[0].parent / "crowdqc.env").read_text().splitlines()
    units = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    for name in names:
        assert passed and all(one[name].startswith(f"${{{name}:-") for one in passed)
        assert isinstance(cluster["data"][name], str) and name in units
    assert passed[0]["CROWDQC_QUOTAS"] == "${CROWDQC_QUOTAS:-}"
    assert cluster["data"]["CROWDQC_QUOTAS"] == units["CROWDQC_QUOTAS"] == ""
    env = {**os.environ, "CROWDQC_QUOTAS": "", "DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    told = subprocess.run(
        [sys.executable, "-c", "from django.conf import settings; print(settings.CROWDQC_QUOTAS)"],
        capture_output=True, text=True, check=True, env=env, cwd=ROOT,
    )  # fmt: skip
    assert told.stdout.strip() == "{}"


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


def test_the_ingress_has_the_limits_of_our_own_proxy() -> None:
    proxy = Proxy(Path(), (), Path(), Path())
    known = {"k": KB, "m": MB}
    sizes: dict[str, int] = {}
    for one in (one for one in read("web.yaml") if one["kind"] == "Ingress"):
        said = {name.rpartition("/")[2]: v for name, v in one["metadata"]["annotations"].items()}
        assert int(said["limit-rps"]) == proxy.requests_per_second
        assert int(said["limit-connections"]) == proxy.connections
        size = int(said["proxy-body-size"][:-1]) * known[said["proxy-body-size"][-1]]
        [rule] = one["spec"]["rules"]
        sizes |= {path["path"]: size for path in rule["http"]["paths"]}
    assert sizes["/"] == SMALL and max(sizes.values()) == max(limit for _, limit in LIMITS)
    for address in (
        *(
            "/login/",
            "/score/",
            "/projects/1/score/",
            "/projects/1/statements/",
            "/api/tasks/1/items/",
        ),
        *("/projects/1/tasks/2/import/items/", "/projects/1/tasks/2/build/media/"),
        *("/work/assignments/1/items/2/recording/", "/work/assignments/1/submit/"),
        *("/uploads/3/", "/uploads/archives/3/"),
    ):
        prefix = max((one for one in sizes if address.startswith(one)), key=len)
        assert sizes[prefix] >= limit_of(address), address


def test_pods_reach_no_private_address_but_data_and_believe_no_whole_network() -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in read("network.yaml")}
    assert policies["closed"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    metadata = ipaddress.ip_address("169.254.169.254")
    for name, spec in policies.items():
        blocks = [to["ipBlock"] for rule in spec.get("egress", ()) for to in rule["to"]
                  if "ipBlock" in to]  # fmt: skip
        for block in blocks if name != "data" else ():
            excepted = [ipaddress.ip_network(one) for one in block["except"]]
            v4 = ipaddress.ip_network(block["cidr"]).version == 4
            assert not v4 or any(metadata in one for one in excepted)
            assert all(not ipaddress.ip_network(one).is_global for one in block["except"])
    (settings,) = read("configuration.yaml")
    trusted = settings["data"]["CROWDQC_TRUSTED_PROXIES"].split(",")
    assert all(ipaddress.ip_network(one).prefixlen >= 24 for one in trusted)
