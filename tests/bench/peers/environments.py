"""The peers' virtual environments below build/peers: ``python -m tests.bench.peers.environments``.

Each has hundreds of packages that nothing here uses, so they are made by this command only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.harness import ROOT, NotHere

PEERS = {
    "potato": "potato-annotation==2.12.1",
    "label-studio": "label-studio==1.23.2",
    "phoenix": "arize-phoenix==20.26.1",
}
FOLDER = Path(os.environ.get("CROWDQC_BENCH_PEERS", ROOT / "build" / "peers"))


def command_of(name: str) -> Path:
    """The peer's own command. Raises NotHere."""
    path = FOLDER / name / "bin" / name
    if not path.is_file():
        raise NotHere(
            f"{PEERS[name]} is not installed: run python -m tests.bench.peers.environments"
        )
    return path


def main() -> None:
    """Make what is missing, of all peers or those named; some minutes and a gigabyte."""
    for name in sys.argv[1:] or PEERS:
        requirement = PEERS[name]
        folder = FOLDER / name
        if not (folder / "bin" / name).is_file():
            print(f"installing {requirement} into {folder}")
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement]
            subprocess.run(pip, check=True)


if __name__ == "__main__":
    main()
