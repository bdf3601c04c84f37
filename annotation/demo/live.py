"""The demo's live evaluations: questions about invented lighthouses and what systems answered.

The register is that of the labels task. ``right`` is how often a system tells what the entry says,
``liked`` how often somebody prefers the first of two systems where both are right. No method sees
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.demo.labels import load as load_register
from annotation.demo.logs import seeded

Row = dict[str, str]
INSTRUCTIONS = (
    "Read the entry of the lighthouse register and the question below it, then the two answers.\n\n"
    "- An answer that the entry contradicts is the worse one.\n"
    "- If both are right, choose the one that you would rather have been given."
)
QUESTIONS = {
    "built": "When was {name} built?",
    "material": "What is {name} made of?",
    "height": "How tall is {name}?",
    "seconds": "How often does {name} flash?",
    "left": "When did the last keeper of {name} leave?",
    "since": "What is {name} today?",
}
BRIEF = {
    "built": "In {built}.",
    "material": "Of {material}.",
    "height": "{height} metres.",
    "seconds": "Once every {seconds} seconds.",
    "left": "In {left}.",
    "since": "It is {since}.",
}


@dataclass(frozen=True)
class LiveStudy:
    """What one live evaluation compares: two systems on the questions about some lights."""

    title: str
    systems: tuple[str, str]
    right: tuple[float, float]
    liked: float
    lights: slice
    half_width: float
    judgments: int

    def outputs(self) -> tuple[list[Row], dict[tuple[str, str], bool]]:
        """Return the outputs to send, and by question and text whether the text is right."""
        register = load_register()
        lights = [dict(zip(register["columns"], one, strict=True)) for one in register["lights"]]
        rows: list[Row] = []
        told: dict[tuple[str, str], bool] = {}
        forms = dict(zip(self.systems, (register["claims"], BRIEF), strict=True))
        for light in lights[self.lights]:
            for fact, question in QUESTIONS.items():
                asked = f"{register['entry'].format(**light)}\n\n{question.format(**light)}"
                for system, right in zip(self.systems, self.right, strict=True):
                    rng = seeded("demo live", system, light["name"], fact)
                    true = rng.random() < right
                    others = [one[fact] for one in lights if one[fact] != light[fact]]
                    said: dict[str, Any] = (
                        {**light} if true else {**light, fact: rng.choice(others)}
                    )
                    text = forms[system][fact].format(**said)
                    key = f"{light['name']}: {fact}"
                    rows.append({"prompt": key, "question": asked, "system": system, "text": text})
                    told[asked, text] = true
        return rows, told


# One that ends as precise as was asked, and one that is still open.
ENDED = LiveStudy(
    title="Does the small model read the register?",
    systems=("Halcyon-7B", "Pellet-3B"),
    right=(0.98, 0.35),
    liked=0.7,
    lights=slice(0, 10),
    half_width=0.28,
    judgments=600,
)
OPEN = LiveStudy(
    title="A sentence or a word?",
    systems=("Orrery-M, one sentence", "Orrery-M, one word"),
    right=(0.95, 0.95),
    liked=0.55,
    lights=slice(10, 20),
    half_width=0.1,
    judgments=400,
)
