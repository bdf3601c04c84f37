"""A wheel holds all that the app needs, and works outside of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.processes import ROOT, test_database_url

PACKAGES = ("annotation", "crowdqc", "evaluation")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel as an installer lays it out."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("crowdqc-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_it_holds_every_file_of_the_packages_every_template_and_static_file(
    installed: Path,
) -> None:
    listed = ["git", "ls-files", "-z", *PACKAGES, "templates", "static"]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = [
        name if name.startswith(PACKAGES) else f"crowdqc/assets/{name}"
        for name in tracked.stdout.split("\0")
        if name and (ROOT / name).exists()
    ]
    assert len(wanted) > 1500
    assert [name for name in wanted if not (installed / name).is_file()] == []


@pytest.mark.django_db
def test_its_commands_and_pages_work_elsewhere(installed: Path, tmp_path: Path) -> None:
    """Also the version, and the place for data, which is not beside the code."""
    look = (
        "import sys; sys.argv = ['crowdqc', 'check']\n"
        "from crowdqc.devstack.console import main; main()\n"
        "from django.conf import settings\n"
        "from django.template.loader import get_template\n"
        "from django.contrib.staticfiles.finders import find\n"
        "from crowdqc.deployment.installation import read_version\n"
        "print(settings.HOME, get_template('base.html').origin.name, find('css/shell.css'))\n"
        "print(find('bundles/worker.css'))\n"
        "print(read_version())\n"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(installed),
        "HOME": str(tmp_path),
        "DATABASE_URL": test_database_url(),
    }
    done = subprocess.run(
        [sys.executable, "-c", look],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    places, bundle, told = done.stdout.splitlines()[-3:]
    home, template, static = places.split()
    assert home == str(tmp_path / ".local" / "share" / "crowdqc")
    assert bundle.startswith(home) and ".work-page" in Path(bundle).read_text()
    assert template.startswith(str(installed)) and static.startswith(str(installed))
    assert f'version = "{told}"' in (ROOT / "pyproject.toml").read_text()
