"""Tables for the documentation, from measured cells (``docs/methods/coverage.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).resolve().parents[3] / "docs" / "methods" / "coverage.json"
LEAST_COVERED, MOST_FALSE = 0.93, 0.05  # the aims
EXPLAINED = {
    "label shown (95 % set)": "`covered`: the smallest set of labels with .95 of the posterior has "
    "the true one. `width`: accuracy of the label shown minus that of majority vote.",
    "competence (labels)": "`false`: somebody who is not below the median is called surely so. "
    "`bias`: mean of estimate minus truth.",
    "alternative test at the margin": "`false`: Yes or No of a model that is "
    "worse by exactly epsilon.",
    "live, every look": "`covered`: the intervals of all looks hold at once.",
    "Bradley-Terry by judge": "`false`: equal systems are told apart, or others the wrong way "
    "round.",
    "board by topic and judge": "`false`: as above. Fewer than 5 judges are taken as they are: the "
    "truth is what these would say.",
}
EXPLAINED["competence (MACE)"] = "Of those who know something; `bias`: estimate minus truth."


def measured() -> dict[str, list[dict[str, Any]]]:
    """Cells of this version ("now") and of 0.1.0 ("before")."""
    return dict(json.loads(MEASURED.read_text()))


def tables(methods: Sequence[str] = (), level: int = 2) -> str:
    """Markdown: a table a method (all by default), with what 0.1.0 gave."""
    found = measured()
    old = {(one["method"], one["design"]): one for one in found["before"]}
    parts: list[str] = []
    for method in methods or dict.fromkeys(one["method"] for one in found["now"]):
        own = [one for one in found["now"] if one["method"] == method]
        parts += ["", f"{'#' * level} {method[0].upper()}{method[1:]}", ""]
        parts += [EXPLAINED[method], ""] if method in EXPLAINED else []
        extra = [own[0]["extra_name"]] if own[0]["extra_name"] else []
        head = ["design", "data sets", "given", "covered", "width", "false", "power", *extra]
        head += ["covered in 0.1.0", "false in 0.1.0"]
        parts += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for one in own:
            was = old.get((method, one["design"]), {})
            row = [
                *cell(one, bool(extra)),
                figure(was.get("covered")),
                figure(was.get("false_sure")),
            ]
            parts.append("| " + " | ".join(row) + " |")
    return "\n".join(parts[1:]) + "\n"


def misses() -> str:
    """Markdown: the cells outside the aims, the worst first, with what 0.1.0 gave."""
    found = measured()
    old = {(one["method"], one["design"]): one for one in found["before"]}
    rows = sorted((one for one in found["now"] if shortfall(one) > 0), key=shortfall, reverse=True)
    head = ("method", "design", "covered", "false", "covered in 0.1.0", "false in 0.1.0")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for one in rows:
        was = old.get((one["method"], one["design"]), {})
        row = (
            one["method"],
            one["design"],
            figure(one["covered"]),
            figure(one["false_sure"]),
            figure(was.get("covered")),
            figure(was.get("false_sure")),
        )
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def shortfall(one: Mapping[str, Any]) -> float:
    """How far coverage lies below .93, or false certainty above .05, beyond two errors; 0 within.

    Coverage above .97 is wide, not wrong, and is read in the tables.
    """
    below = above = 0.0
    if one["covered"] is not None:
        below = LEAST_COVERED - one["covered"] - 2 * one["error"]
    if one["false_sure"] is not None:
        error = (MOST_FALSE * (1 - MOST_FALSE) / one["simulations"]) ** 0.5
        above = one["false_sure"] - MOST_FALSE - 2 * error
    return max(below, above, 0.0)


def cell(one: Mapping[str, Any], extra: bool) -> list[str]:
    """The figures of one design."""
    covered = "no interval"
    if one["covered"] is not None:
        covered = f"{figure(one['covered'])} ± {figure(one['error'])}"
    row = [
        one["design"],
        str(one["simulations"]),
        figure(one["given"], 2),
        covered,
        figure(one["width"]),
    ]
    row += [figure(one["false_sure"]), figure(one["power"], 2)]
    return [*row, figure(one["extra"])] if extra else row


def figure(value: Any, digits: int = 3) -> str:
    """A number without its leading zero; a dash where there is none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
