"""The demo's labels: claims about invented lighthouses, labelled by six people and three models.

All of it was written for this project. Of three labels each claim deserves one. ``right`` and
``hard`` are how often somebody gives it, to claims that the entry decides and to those that it
leaves open. No method sees them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.demo.logs import seeded
from crowdqc.errors import Invalid

FILE = "labels.json"
FIELD = "verdict"
SUPPORTED, CONTRADICTED, NOT_IN_SOURCE = "supported", "contradicted", "not_in_source"
Row = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A claim below the entry that it is read against, and the label that it deserves."""

    key: str
    text: str
    truth: str


@dataclass(frozen=True)
class Labelled:
    """Everything the task is made of, as it stands in the file, and its claims in their order."""

    content: Row
    claims: tuple[Claim, ...]

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def field(self) -> Row:
        """The question with its labels, as the settings of a labels task take it."""
        return {
            "name": FIELD,
            "label": "Verdict",
            "question": self["question"],
            "kind": "choose_one",
            "options": [{"value": code, "label": label} for code, label in self["labels"]],
        }

    def items(self) -> list[Row]:
        """Rows as the importer of items takes them."""
        return [{"key": one.key, "text": one.text} for one in self.claims]

    def of_people(self) -> list[Row]:
        """Rows as the importer of labels takes them: ``each`` people on the first ``seen``."""
        people, each = self["people"], self["each"]
        return [
            {"worker_id": who["id"], **self._label(claim, who["id"], who)}
            for at, claim in enumerate(self.claims[: self["seen"]])
            for place, who in enumerate(people)
            if (place - at) % len(people) < each
        ]

    def of_models(self) -> list[Row]:
        """The same of models, each on its first ``items``."""
        return [
            {
                "system": who["system"],
                "prompt_strategy": who["strategy"],
                **self._label(claim, who["system"], who),
            }
            for who in self["models"]
            for claim in self.claims[: who["items"]]
        ]

    def _label(self, claim: Claim, name: str, who: Row) -> Row:
        rng = seeded("demo labels", name, claim.key)
        wrong = [code for code, _ in self["labels"] if code != claim.truth]
        right = who["hard" if claim.truth == NOT_IN_SOURCE else "right"]
        said = claim.truth if rng.random() < right else rng.choice(wrong)
        return {"item_id": claim.key, "label": said}


def load() -> Labelled:
    """Read the file beside this module; Invalid where a part of it is missing."""
    try:
        content = json.loads((Path(__file__).parent / FILE).read_text(encoding="utf-8"))
        return Labelled(content, tuple(_claims(content)))
    except (KeyError, ValueError, TypeError) as error:
        raise Invalid(f"{FILE} is not what the demo needs: {error!r}.") from error


def _claims(content: Row) -> list[Claim]:
    """Make claims about each light: every fact true or false, and as many left open."""
    lights = [dict(zip(content["columns"], row, strict=True)) for row in content["lights"]]
    found = []
    for place, light in enumerate(lights):
        rng = seeded("demo claims", light["name"])
        source = content["entry"].format(**light)
        said = [(text.format(**light), NOT_IN_SOURCE) for text in content["open"]]
        for fact, text in content["claims"].items():
            others = [one[fact] for one in lights if one[fact] != light[fact]]
            true = rng.random() < 0.5
            told = light if true else {**light, fact: rng.choice(others)}
            said.append((text.format(**told), SUPPORTED if true else CONTRADICTED))
        for number, (text, truth) in enumerate(said):
            key = f"light-{place + 1:02d}-{number + 1:02d}"
            found.append(Claim(key, f"{source}\n\nClaim: {text}", truth))
    # Mixed, so that the claims that people have labelled are like the others.
    seeded("demo claims").shuffle(found)
    return found
