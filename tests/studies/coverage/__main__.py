"""``python -m tests.studies.coverage``: see the package."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.studies.coverage.cases import cases
from tests.studies.coverage.outcomes import measure
from tests.studies.coverage.table import write_page


def main() -> None:
    """Simulate, print a line a cell, and write files where asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.coverage")
    parser.add_argument("simulations", nargs="?", type=int, help="data sets a cell, at most")
    parser.add_argument("--only", default="", help="cells whose method or design has these words")
    parser.add_argument("--part", default="", help="K/N: every N-th cell, from the K-th")
    parser.add_argument("--json", type=Path, help="add the cells to this file")
    parser.add_argument("--before", type=Path, help="cells of an earlier version")
    parser.add_argument("--table", type=Path, help="write the page from --json, without simulating")
    options = parser.parse_args()
    if options.table:
        write_page(options.table, options.json, options.before)
        return
    place, of = (int(one) for one in (options.part or "0/1").split("/"))
    done = []
    if options.json and options.json.exists():
        done = json.loads(options.json.read_text())
    known = {(one["method"], one["design"]) for one in done}
    chosen = [one for one in cases() if options.only in f"{one.method}: {one.design}"]
    for case in chosen[place::of]:
        if (case.method, case.design) in known:
            continue
        cell = measure(case, options.simulations)
        print(
            f"{cell.method:32} {cell.design:26} given {cell.given:.2f} covered {cell.covered:.3f} "
            f"+- {cell.error:.3f} width {cell.width:.3f} false {cell.false_sure:.3f} "
            f"power {cell.power:.3f} {cell.extra_name} {cell.extra:.3f} n {cell.simulations}",
            flush=True,
        )
        done.append(cell.as_json())
        if options.json:
            options.json.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    sys.exit(main())
