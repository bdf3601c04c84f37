"""The alternative annotator test on seven sets and six models: printed pairs beside measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.replacement import annotator
from evaluation.published.reproduce.rows import Row

TITLE = (
    "Alternative annotator test (Calderon, Reichart and Dror, ACL 2025): winning rate and "
    "advantage probability"
)
LEFT_OUT = "Printed with two digits; a difference of up to .005 is rounding."
DECIMALS = {"": 2}
MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")
# Set: score, epsilon, and of each model winning rate and advantage probability in hundredths.
PRINTED: dict[str, tuple[str, float, tuple[tuple[int, int], ...]]] = {
    "wax": ("accuracy", 0.1, ((38, 69), (50, 74), (50, 73), (0, 57), (0, 59), (0, 50))),
    "lgbteen": ("accuracy", 0.2, ((25, 71), (0, 67), (75, 77), (0, 72), (75, 76), (25, 75))),
    "mtbench": ("accuracy", 0.2, ((0, 72), (0, 76), (0, 77), (0, 69), (0, 74), (0, 68))),
    "framing": ("accuracy", 0.15, ((100, 83), (100, 91), (100, 92), (50, 80), (100, 87), (25, 80))),
    "cebab_aspects":
        ("accuracy", 0.1, ((70, 91), (90, 94), (90, 93), (60, 89), (50, 90), (10, 81))),
    "summeval": ("rmse", 0.2, ((0, 46), (0, 44), (0, 48), (0, 58), (0, 54), (0, 62))),
    "10k_prompts": ("rmse", 0.15, ((31, 67), (8, 63), (69, 76), (15, 67), (92, 80), (15, 67))),
}  # fmt: skip
Labels = dict[str, dict[str, Any]]
Say = Callable[[str], None]


def read(path: Path) -> Labels:
    """Annotator -> item -> label. Raises Invalid naming the file."""
    if not path.is_file():
        raise Invalid(
            f"There is no {path.parent.name}/{path.name} in the data.", fields={"data": "no file"}
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise Invalid(f"{path.name} must name labels by annotator and item.", fields={"data": ""})
    return found


def arrays(
    people: Labels, model: dict[str, Any], score: str
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """person, item, value (n,) and the model's values (items,); classes become numbers."""
    items = {one: at for at, one in enumerate(sorted({one for d in people.values() for one in d}))}
    given = [(who, items[one], d[one]) for who, d in enumerate(people.values()) for one in d]
    other = {items[one]: value for one, value in model.items() if one in items}
    if score == "accuracy":
        classes = sorted({str(value) for *_, value in given} | {str(v) for v in other.values()})
        code = {name: float(at) for at, name in enumerate(classes)}
        given = [(who, at, code[str(value)]) for who, at, value in given]
        other = {at: code[str(value)] for at, value in other.items()}
    values = np.full(len(items), np.nan)
    values[list(other)] = list(other.values())
    person, item, value = (np.array(column) for column in zip(*given, strict=True))
    return person, item, value.astype(np.float64), values


def reproduce(folder: Path, *, say: Say, seed: int = 0, repetitions: int = 0) -> list[Row]:
    """Two rows a set and model; nothing is drawn, so ``seed`` and ``repetitions`` are unused."""
    rows = []
    for name, (score, epsilon, printed) in PRINTED.items():
        people = read(folder / "alttest" / name / "human_annotations.json")
        models = read(folder / "alttest" / name / "llm_annotations.json")
        say(f"{name}: {len(people)} people")
        for model, (winning, advantage) in zip(MODELS, printed, strict=True):
            data = annotator.compare_labels(
                *arrays(people, models[model], score), people=tuple(people), score=score
            )
            found = annotator.judge(data, epsilon)
            low, high = annotator.advantage_interval(data)
            protocol = f"{score}, epsilon {epsilon:g}, {len(data.people)} people"
            rows += [
                Row(name, f"{model}, winning rate", protocol, winning / 100, found.winning_rate),
                Row(
                    name,
                    f"{model}, advantage probability",
                    protocol,
                    advantage / 100,
                    found.advantage_probability,
                    f"95% CI {low:.3f}-{high:.3f}",
                ),
            ]
    return rows
