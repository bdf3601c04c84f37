"""``python -m tests.studies.coverage``: see the package."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.studies.coverage.cases import cases
from tests.studies.coverage.outcomes import Cell, measure


def main() -> None:
    """Simulate, print a line a cell, and keep the cells where asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.coverage")
    parser.add_argument("simulations", nargs="?", type=int, help="data sets a cell, at most")
    parser.add_argument("--only", default="", help="cells whose method or design has these words")
    parser.add_argument("--part", default="0/1", help="K/N: every N-th cell, from the K-th")
    parser.add_argument("--json", type=Path, help="keep cells here; those in it are not run again")
    options = parser.parse_args()
    place, of = (int(one) for one in options.part.split("/"))
    done = []
    if options.json and options.json.exists():
        done = json.loads(options.json.read_text())
    known = {(one["method"], one["design"]) for one in done}
    chosen = [one for one in cases() if options.only in f"{one.methods}: {one.design}"]
    for case in chosen[place::of]:
        if (case.methods[0], case.design) in known:
            continue
        for cell in measure(case, options.simulations):
            print(line(cell), flush=True)
            done.append(cell.as_json())
        if options.json:
            options.json.write_text(json.dumps(done, indent=1))


def line(cell: Cell) -> str:
    """A cell for the terminal."""
    return (
        f"{cell.method:32} {cell.design:26} given {cell.given:.2f} covered {cell.covered:.3f} "
        f"+- {cell.error:.3f} width {cell.width:.3f} false {cell.false_sure:.3f} "
        f"power {cell.power:.3f} {cell.extra_name} {cell.extra:.3f} n {cell.simulations}"
    )


if __name__ == "__main__":
    main()
