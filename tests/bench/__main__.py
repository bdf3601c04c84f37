"""Run every benchmark module in a process of its own and write build/bench.json.

``python -m tests.bench [NAME ...]`` runs bench_NAME.py of a folder here (all by default). A module
has ``run() -> list[dict]`` with name, value, unit, peer, peer_value, ratio, note. Exits 1 if one
fails; the rows of the others are written all the same. One that raises NotHere is left out, and
says why.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.harness import NotHere

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "build" / "bench.json"
FIELDS = ("name", "value", "unit", "peer", "peer_value", "ratio", "note")
LIMIT = 1800  # seconds a module may take
LEFT_OUT = 3  # the exit status of a module that this machine cannot run


def modules() -> dict[str, str]:
    """The benchmark modules by their names without bench_."""
    paths = sorted(HERE.glob("*/bench_*.py"), key=lambda path: path.stem)
    return {
        path.stem.removeprefix("bench_"): f"tests.bench.{path.parent.name}.{path.stem}"
        for path in paths
    }


def run_here(name: str, out: Path) -> None:
    """Run one module in this process and leave its rows in ``out``."""
    try:
        rows = importlib.import_module(modules()[name]).run()
    except NotHere as reason:
        print(f"bench_{name} is left out: {reason}", file=sys.stderr)
        raise SystemExit(LEFT_OUT) from None
    for row in rows:
        missing = set(FIELDS) - set(row)
        if missing:
            raise SystemExit(f"bench_{name}: a row has no {', '.join(sorted(missing))}: {row}")
    out.write_text(json.dumps([{field: row[field] for field in FIELDS} for row in rows]))


def run_apart(name: str) -> list[dict[str, Any]] | None:
    """Run one module in a fresh process; none of it where it is left out, None if it failed.

    Its reasons and errors are on the terminal.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "tests.bench", "--here", name, str(out)]
        try:
            done = subprocess.run(command, cwd=ROOT, check=False, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"bench_{name} took more than {LIMIT} s", file=sys.stderr)
            return None
        if done.returncode == LEFT_OUT:
            return []
        if done.returncode or not out.is_file():
            print(f"bench_{name} failed with exit code {done.returncode}", file=sys.stderr)
            return None
        rows: list[dict[str, Any]] = json.loads(out.read_text())
        return rows


def figure(value: float | None) -> str:
    """Three significant digits, nothing for nothing."""
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as aligned text."""
    head = ("benchmark", "value", "unit", "peer", "peer value", "ratio", "note")
    lines = [head] + [
        (
            str(row["name"]),
            figure(row["value"]),
            str(row["unit"]),
            str(row["peer"]),
            figure(row["peer_value"]),
            figure(row["ratio"]),
            str(row["note"]),
        )
        for row in rows
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main() -> int:
    """Run what was asked for, print the table, write the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(modules())}")
    parser.add_argument("--here", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        run_here(given.here[0], Path(given.here[1]))
        return 0
    unknown = sorted(set(given.names) - set(modules()))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(modules())}")
    rows: list[dict[str, Any]] = []
    failed = []
    for name in given.names or modules():
        print(f"bench_{name} ...", file=sys.stderr, flush=True)
        found = run_apart(name)
        if found is None:
            failed.append(name)
        else:
            rows += found
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    print(f"\nWritten to {os.path.relpath(OUT, ROOT)}")
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
