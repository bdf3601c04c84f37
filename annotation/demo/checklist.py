"""The demo's think-aloud and checklist: one dimension, what was thought of it, eight summaries.

All of it was written for this project: rubric, samples, attributes, questions and human scores.
``yes`` are the authors' own answers to the eight questions; people and models slip from them now
and then. No method sees them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.demo.logs import seeded
from crowdqc.errors import Invalid

FILE = "checklist.json"
Row = dict[str, Any]


@dataclass(frozen=True)
class Checking:
    """Everything the two tasks are made of, as it stands in the file."""

    content: Row

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def samples(self) -> list[Row]:
        """Rows as the importer of samples takes them."""
        about = {"dimension": self["dimension"], "rubric": self["rubric"]}
        return [{**about, **one, "sample_id": one["key"]} for one in self["samples"]]

    def attributes(self) -> list[Row]:
        """Rows as the importer of attributes takes them."""
        return [row for one in self["attributes"] for row in _attributes(one, self["dimension"])]

    def questions(self) -> list[Row]:
        """List the checklist's questions, each with its source attributes."""
        said = {one["author"]: one for one in self["attributes"]}
        return [
            {
                "name": row["name"],
                "label": row["label"],
                "component": row["component"],
                "attributes": [
                    {
                        "text": said[author]["texts"][at],
                        "author": author,
                        "kind": "model" if "strategy" in said[author] else "person",
                    }
                    for author, at in row["from"]
                ],
            }
            for row in self["questions"]
        ]

    def texts(self) -> list[Row]:
        """Rows as the importer of texts takes them."""
        return [
            {
                "key": self.key(topic, one),
                "topic": topic["topic"],
                "query": topic["query"],
                "context": topic["context"],
                "text": one["text"],
                "system": one["system"],
                "prompt_strategy": "summary",
            }
            for topic in self["topics"]
            for one in topic["texts"]
        ]

    def scores(self) -> list[Row]:
        """The human score of each text."""
        return [
            {"key": self.key(topic, one), "dimension": self["dimension"], "score": one["score"]}
            for topic in self["topics"]
            for one in topic["texts"]
        ]

    def checks(self) -> list[Row]:
        """Rows as the importer of checklists takes them, of people and of models."""
        found = []
        for who in (*self["checkers"], *self["models"]):
            name = who.get("id") or who["system"]
            author = (
                {"worker": who["id"]}
                if "id" in who
                else {"system": name, "prompt_strategy": who["strategy"]}
            )
            for topic in self["topics"]:
                for one in topic["texts"]:
                    found += self._answers(topic, one, author, name, who["slips"])
        return found

    def _answers(self, topic: Row, one: Row, author: Row, name: str, slips: float) -> list[Row]:
        key = self.key(topic, one)
        rng = seeded("demo checklist", name, key)
        rows = []
        for row, true in zip(self["questions"], one["yes"], strict=True):
            said = (true == "1") != (rng.random() < slips)
            answer = "yes" if said else "no"
            rows.append({**author, "text": key, "name": row["name"], "answer": answer})
        return rows

    @staticmethod
    def key(topic: Row, one: Row) -> str:
        """The id of a text: its topic and its system."""
        return f"{topic['topic']}-{one['system'].lower()}"


def _attributes(one: Row, dimension: str) -> list[Row]:
    author = {"worker": one["author"]}
    if "strategy" in one:
        author = {"system": one["author"], "prompt_strategy": one["strategy"]}
    rows = []
    for at, text in enumerate(one["texts"]):
        row = {"dimension": dimension, **author, "index": str(at), "attribute": text}
        if "marked" in one:
            start = one["transcript"].index(one["marked"][at])
            row |= {"start": str(start), "end": str(start + len(one["marked"][at]))}
        if at == 0 and "transcript" in one:
            row["transcript"] = one["transcript"]
        rows.append(row)
    return rows


def load() -> Checking:
    """Read the file beside this module; Invalid where it is not as described."""
    path = Path(__file__).parent / FILE
    content = json.loads(path.read_text(encoding="utf-8"))
    asked = len(content["questions"])
    for topic in content["topics"]:
        for one in topic["texts"]:
            if len(one["yes"]) != asked or set(one["yes"]) - {"0", "1"}:
                raise Invalid(f"{FILE}: a text of {topic['topic']} has not {asked} answers.")
    return Checking(content)
