"""What a release is made of: a list of all that is in it, and one version of torch."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from crowdqc.deployment.installation import read_version
from crowdqc.files.json_input import read_json

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.long
def test_the_list_of_what_is_in_it_is_valid_and_whole(tmp_path: Path) -> None:
    # Loading them takes a second, which every process of the suite would spend.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    to = tmp_path / "sbom.json"
    # As if the environment were made: this test runs in it.
    command = ["make", "--silent", "-o", ".venv/.dev", "sbom", f"SBOM={to}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    text = to.read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    told = read_json(text.encode())
    assert told["metadata"]["component"]["version"] == read_version()
    listed = {one["name"] for one in told["components"]}
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements/base.lock").read_text(), re.M)
    assert listed == {*locked, "torch"} and len(listed) > 100


def test_one_version_of_torch_is_named_everywhere() -> None:
    makefile, dockerfile = (ROOT / "Makefile").read_text(), (ROOT / "Dockerfile").read_text()
    (named,) = re.findall(r"^TORCH := (\S+)$", makefile, re.M)
    assert re.findall(r"torch==(\S+)", dockerfile) == [named]
    assert re.findall(r"^torch==(\S+)", (ROOT / "requirements/torch.lock").read_text(), re.M) == [
        named
    ]
    assert re.findall(r"torch==(\S+)", (ROOT / "docs/admin/install.md").read_text()) == [named]
