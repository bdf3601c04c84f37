"""The recipe line at the foot of every result: what gives the same numbers again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from crowdqc.numbers import count
from evaluation.methods.registry import METHODS
from evaluation.models import Run

SIMILARITIES = {"cosine": "cosine", "neg_euclidean": "negative Euclidean distance"}


def method_title(run: Run) -> str:
    """``AQER 1.0``."""
    method = METHODS.get(run.method)
    return f"{method.title if method else run.method.capitalize()} {run.version}"


def encoder_words(identity: str) -> str:
    """The encoder's name and the first digits of its hash."""
    name, at, digest = identity.partition("@")
    return f"{name} {digest[:8]}" if at else name


def recipe_pairs(run: Run, told: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """The recipe line: from the finished run's own record, else from what was asked for."""
    if run.method != "aqer":
        return _plain_recipe(run, told)
    params = {**run.params, **(told["params"] if told else {})}
    own = "left out" if params.get("leave_one_out") else "included"
    pairs = [
        ("method", method_title(run)),
        (
            "similarity",
            f"{SIMILARITIES.get(params.get('similarity', ''), 'cosine')}, own answer {own}",
        ),
        ("encoder", encoder_words(told["encoder"] if told else params.get("encoder", ""))),
    ]
    if params.get("start") not in (None, "equal"):
        pairs.append(("start", params["start"]))
    pairs.append(("interval", f"bootstrap over questions, {count(params.get('resamples', 0))}"))
    pairs.append(("seed", str(run.seed)))
    if run.snapshot:
        taken = timezone.localtime(run.snapshot.created_at)
        pairs.append(("snapshot", f"{run.snapshot.content_hash[:8]}, {taken:%-d %b %Y %H:%M}"))
    if run.result_hash:
        pairs.append(("result", run.result_hash[:8]))
    return pairs


def _plain_recipe(run: Run, told: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The recipe of a method whose options are told by their names."""
    params = {**run.params, **(told["params"] if told else {})}
    pairs = [("method", method_title(run))]
    pairs += [(name.replace("_", " "), _said(value)) for name, value in sorted(params.items())]
    pairs.append(("seed", str(run.seed)))
    if run.snapshot:
        pairs.append(("snapshot", run.snapshot.content_hash[:8]))
    if run.result_hash:
        pairs.append(("result", run.result_hash[:8]))
    return pairs


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "by default" if value is None else str(value)
