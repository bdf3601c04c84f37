"""How many of the votes that came in each board of a run uses, and why it leaves the others out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdqc.tally import Tally
from evaluation.models import Run

FIGURE = "votes"
STUDY = "study"  # the board of what the methods see


def figure(run: Run, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Count the votes that each board of a run used and left out; None for runs without boards.

    What the snapshot left out is counted by ``annotation``; what the dataset and the method did
    not use is said by ``told``. Raises DoesNotAddUp where the two do not make the whole.
    """
    counts = run.snapshot.counts if run.snapshot is not None else {}
    uses = _uses(told)
    if "came" not in counts or not uses:
        return None
    boards = []
    for one in uses:
        left_out = {**counts["left_out"]}
        for reason, n in one["left_out"].items():
            left_out[reason] = left_out.get(reason, 0) + n
        tally = Tally(counts["came"], one["used"], left_out)
        boards.append({"board": one["board"], "dimension": one["dimension"], **tally.as_dict()})
    whole = next(one for one in boards if one["board"] == STUDY)
    return {
        **{name: whole[name] for name in ("came", "used", "left_out")},
        "boards": [one for one in boards if one is not whole],
    }


def _uses(told: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return how many of the frozen answers each board uses."""
    if "components" in told and "convergence" in told:  # free text
        alone = len(told["left_out"]["questions_with_one_answer"])
        used = sum(part["answers"] for part in told["components"])
        return [
            {
                "board": STUDY,
                "dimension": "",
                "used": used,
                "left_out": {"alone": alone} if alone else {},
            }
        ]
    found: Sequence[Mapping[str, Any]] = told.get("diagnostics", {}).get("used") or []
    return found


def tally_of(told: Mapping[str, Any], board: str = STUDY, dimension: str = "") -> Tally | None:
    """The tally of a board among a run's figures; None where the run has none."""
    found = told.get(FIGURE)
    if found is None:
        return None
    own = (one for one in found["boards"] if (one["board"], one["dimension"]) == (board, dimension))
    return Tally.from_dict(found if board == STUDY else next(own, found))
