"""A made-up writing study in the files of CrowdRAG-25: two topics, three styles, short logs."""

from __future__ import annotations

from pathlib import Path

from annotation.formats.imports.published.crowdrag_writing import (
    FORMS,
    LOGS,
    RETRIEVAL,
    STYLES,
    SURVEYS,
    TEXTS,
)
from tests.support.studies.crowdrag_study import Rows, write

START = 1_728_671_105_500  # ms since 1970
TOPICS = ("t0", "t1")


def topics() -> Rows:
    return [
        {
            "topic": topic,
            "query": f"What do storks do in place {topic}?",
            "references_ids": [f"{topic}#{n}" for n in range(4)],
            "references_texts": [f"In month {n} the storks of {topic} rest." for n in range(4)],
        }
        for topic in TOPICS
    ]


def final(topic: str, style: str) -> str:
    """What a person wrote: a mark of two passages, one of none, and space at the end."""
    return f"Storks of {topic} rest in {style} [0, 3] 🐦 and fly [7]. "


def snapshots() -> Rows:
    """Logs whose lines alternate; two states have one time, and one is there twice."""
    found: Rows = []
    for topic in TOPICS:
        logs = []
        for style in STYLES:
            text = final(topic, style)
            states = ["", text[:9], text[:9], "Frogs!", text[:30], text[:-1], text]
            times = [0, 900, 1800, 1800, 2500, 61_000, 61_001]
            logs.append(
                [
                    {
                        "response": f"r-{topic}-{style}",
                        "topic": topic,
                        "style": style,
                        "timestamp": START + ms,
                        "text": state,
                    }
                    for ms, state in zip(times, states, strict=True)
                ]
            )
        found += [row for rows in zip(*logs, strict=True) for row in rows]
    return found


def surveys() -> Rows:
    """Ann writes on both topics, also twice on one; one person was asked nothing."""
    rows: Rows = []
    for topic in TOPICS:
        for style in STYLES:
            said: dict[str, float | None] = {column: 1.0 for column in FORMS}
            if (topic, style) == ("t1", "news"):
                said = dict.fromkeys(FORMS)
            rows.append(
                {
                    "response": f"r-{topic}-{style}",
                    "worker": "ann" if style != "news" else "ben",
                    "topic": topic,
                    "style": style,
                    **said,
                }
            )
    return rows


def texts() -> Rows:
    rows: Rows = []
    for topic in TOPICS:
        for style in STYLES:
            one = {"topic": topic, "style": style}
            human = {"response": f"r-{topic}-{style}", "origin": "human"}
            llm = {"response": f"m-{topic}-{style}", "origin": "llm"}
            rows += [
                {**one, **human, "text": final(topic, style)},
                {**one, **llm, "text": f"A model on {topic} [1] in {style} [2]."},
            ]
    return rows


def make_folder(folder: Path) -> Path:
    """All files of the study in ``folder``."""
    for name, rows in (
        (RETRIEVAL, topics()),
        (SURVEYS, surveys()),
        (TEXTS, texts()),
        (LOGS, snapshots()),
    ):
        write(folder, name, rows)
    return folder
