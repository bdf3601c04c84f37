"""What each fault costs: ``python -m tests.studies.faults [NAME ...]``.

Writes docs/admin/faults.json, of which the page is made.
CROWDQC_FAULT_PEOPLE and CROWDQC_FAULT_SECONDS say how many work and for how long something is away
(50 and 60). Names limit it to some faults; the others keep their last figures.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "admin" / "faults.json"
FILE = Path(os.environ.get("CROWDQC_FAULT_FILE") or PAGE)


def main(names: list[str]) -> int:
    """Measure, and write after each; the number of faults that could not be measured."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    import django

    django.setup()
    from tests.devstack.faults.matrix import FAULTS
    from tests.devstack.faults.rig import site

    people = int(os.environ.get("CROWDQC_FAULT_PEOPLE") or 50)
    seconds = float(os.environ.get("CROWDQC_FAULT_SECONDS") or 60)
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"faults": {}}
    found |= {"people": people, "cores": os.cpu_count()}
    failed = 0
    with site() as made:
        for key in names or FAULTS:
            one, began = FAULTS[key], time.monotonic()
            try:
                measured = one.measure(made, people, seconds)
            except Exception:
                traceback.print_exc()
                failed += 1
                continue
            found["faults"][key] = {
                "name": one.name,
                "seen": one.seen,
                **_rounded(asdict(measured)),
                "date": dt.date.today().isoformat(),
            }
            found["faults"] = {
                key: found["faults"][key] for key in FAULTS if key in found["faults"]
            }
            FILE.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{key}: {measured} ({time.monotonic() - began:.0f} s)", flush=True)
    return failed


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in values.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
