"""The page of the documentation, from measured cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = """# Coverage of intervals

How often intervals at .95 hold the truth with simulated crowds as they really are: a few people do
most of the work, items come in topics, classes are rare, workers copy or skip, many equals are
compared at once. Made by `python -m tests.studies.coverage`.

Aim: coverage of .93 to .97, or no interval with the reason; something untrue is called sure on at
most .05 of the pages. `covered` has its Monte Carlo error; `given` is the share of data sets (or
rows) with an interval; `false` the share of pages that call something untrue sure; `power` the
share that call something true sure.
"""


def write_page(page: Path, now: Path, before: Path | None) -> None:
    """Write a table a method; ``before`` adds what an earlier version gave."""
    cells = json.loads(now.read_text())
    old = {
        (one["method"], one["design"]): one
        for one in (json.loads(before.read_text()) if before else [])
    }
    parts = [HEAD]
    for method in dict.fromkeys(one["method"] for one in cells):
        own = [one for one in cells if one["method"] == method]
        extra = own[0]["extra_name"]
        head = ["design", "given", "covered", "width", "false", "power"]
        head += [extra] if extra else []
        head += ["covered in 0.1.0", "false in 0.1.0"] if old else []
        parts.append(f"\n## {method[0].upper()}{method[1:]}\n")
        parts.append("| " + " | ".join(head) + " |")
        parts.append("|" + "---|" * len(head))
        for one in own:
            row = [
                one["design"],
                figure(one["given"], 2),
                f"{figure(one['covered'])} ± {figure(one['error'])}"
                if one["covered"] is not None
                else "no interval",
                figure(one["width"]),
                figure(one["false_sure"]),
                figure(one["power"], 2),
            ]
            row += [figure(one["extra"])] if extra else []
            if old:
                was = old.get((one["method"], one["design"]), {})
                row += [figure(was.get("covered")), figure(was.get("false_sure"))]
            parts.append("| " + " | ".join(row) + " |")
    page.write_text("\n".join(parts) + "\n")


def figure(value: Any, digits: int = 3) -> str:
    """A number without its leading zero; nothing where there is none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
