"""A made-up study in the files of CrowdRAG-25: small, with one of everything that can occur."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from annotation.formats.imports.published.crowdrag import DIMENSIONS, POINTWISE_STUDY, STUDY
from annotation.formats.imports.published.study_json import NAMES

STYLES, ORIGINS = ("bullet", "essay", "news"), ("human", "llm")
TOPICS, WORKERS, VOTES = 3, 9, 5
QUESTIONNAIRE = "11111111-1111-3111-8111-111111111111"
SHORT = {ours: theirs for theirs, ours in NAMES.items()}
Rows = list[dict[str, Any]]


def write(folder: Path, name: str, rows: Rows) -> None:
    """A CSV or JSONL file, gzipped where its name says so."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if name.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as handle:  # type: ignore[operator]
        if ".csv" in name:
            writer = csv.DictWriter(handle, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            handle.writelines(json.dumps(row) + "\n" for row in rows)


def texts() -> Rows:
    """Six texts a topic, one a style and origin; their ids do not follow the topics."""
    rows = []
    cells = itertools.product(range(TOPICS), ORIGINS, STYLES)
    for number, (topic, origin, style) in enumerate(cells):
        text = f"Text {number} says [1] what storks do in month {number % 12}."
        rows.append(
            {
                "response": f"r{(7 * number) % 18:02d}",
                "topic": f"t{topic}",
                "query": f"What do storks do in place {topic}?",
                "style": style,
                "origin": origin,
                "judged": True,
                "text": text,
                "cleaned_text": text.replace(" [1]", ""),
            }
        )
    return rows


def labels(rng: np.random.Generator, ahead: bool, *, forced: bool = True) -> dict[str, str]:
    """Noisy labels that lean to the left where ``ahead``; overall quality may be forced."""
    found = {}
    for name in DIMENSIONS:
        drawn = "ANB"[rng.integers(3)] if rng.random() < 0.4 else ("A" if ahead else "B")
        found[name] = (
            "AB"[rng.integers(2)] if forced and drawn == "N" and (name == DIMENSIONS[-1]) else drawn
        )
    return found


def judged(rows: Rows, rng: np.random.Generator) -> Rows:
    """All pairs of a topic by five workers each; a third of them in both orders, one by ten."""
    found: Rows = []
    for topic in range(TOPICS):
        names = [row["response"] for row in rows if row["topic"] == f"t{topic}"]
        pairs = [tuple(rng.permutation(pair)) for pair in itertools.combinations(names, 2)]
        shown = pairs + [(b, a) for a, b in pairs[::3]]
        for group in range(2):
            mine = shown[group::2]
            for worker in range(VOTES + (5 if topic == group == 0 else 0)):
                number = (topic + 3 * group + worker) % WORKERS
                for place, (left, right) in enumerate(mine, 1):
                    found.append(
                        {
                            "questionnaire_id": f"q{topic}-{group}-{worker >= VOTES:d}",
                            "worker": f"w{number}-{worker >= VOTES:d}",
                            "position": place,
                            "query_id": f"t{topic}",
                            "response_a": left,
                            "response_b": right,
                            **labels(rng, left < right),
                            "in_artifact": int(worker < VOTES),
                        }
                    )
    return found


def models(pairs: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Both orders of the pairs that people saw both ways; some prompts were called twice."""
    there = {(row["response_a"], row["response_b"]): row["query_id"] for row in pairs}
    both = [(pair, topic) for pair, topic in there.items() if pair[::-1] in there]
    calls, why = [], []
    for kind, repeat in (("combined", 1), ("individual", 1), ("combined", 2)):
        for (left, right), topic in both if repeat == 1 else both[::4]:
            given = labels(rng, left < right, forced=False)
            calls.append(
                {
                    "query_id": topic,
                    "response_a": left,
                    "response_b": right,
                    "inference": kind,
                    "repeat": repeat,
                    **{name: label.lower() for name, label in given.items()},
                }
            )
            if kind == "combined" and repeat == 1:
                ratings = {}
                for number, name in enumerate(DIMENSIONS, 1):
                    ratings[f"Q{number}_rating"] = given[name]
                    ratings[f"Q{number}_justification"] = f"Because of {SHORT[name]}."
                why.append(
                    {"query_id": topic, "response_a": left, "response_b": right, "ratings": ratings}
                )
    calls[-1]["coverage_deep"] = ""  # a model may leave a question out
    return calls, why


def experts(pairs: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Three experts on four pairs, the third not in the paper, and what their pages logged."""
    some = list({(row["response_a"], row["response_b"], row["query_id"]): None for row in pairs})
    given, events = [], []
    for number, expert in enumerate(("annot1", "annot2", "annot5")):
        for place, (left, right, topic) in enumerate(some[:4], 1):
            given.append(
                {
                    "questionnaire_id": QUESTIONNAIRE,
                    "expert": expert,
                    "in_paper": int(number < 2),
                    "position": place,
                    "query_id": topic,
                    "response_a": left,
                    "response_b": right,
                    **labels(rng, left < right),
                }
            )
            slide = [("leave", 0), ("enter", 0), (f"response_{place}_validity", 30)]
            for event, seconds in slide if place > 1 else ():
                events.append(
                    {
                        "questionnaire_id": QUESTIONNAIRE,
                        "expert": expert,
                        "position": place - 1,
                        "event": event,
                        "time": moment(10 * number + place, seconds),
                    }
                )
        events.append(
            {
                "questionnaire_id": QUESTIONNAIRE,
                "expert": expert,
                "position": 3,
                "event": "submit",
                "time": moment(10 * number + 6, 0),
            }
        )
    return given, events


def moment(minute: int, second: int) -> str:
    """A time of one morning."""
    return f"2024-11-19T08:{minute:02d}:{second:02d}Z"


def ratings(rng: np.random.Generator) -> Rows:
    """A pilot of two items and two workers, one of whom posted twice."""
    found = []
    for worker, again in (("p1", 0), ("p1", 1), ("p2", 0)):
        for place in (1, 2):
            values = {name: int(rng.choice([-3, -1, 1, 3])) for name in DIMENSIONS}
            values["correctness_topical"] = 1
            found.append(
                {
                    "questionnaire_id": QUESTIONNAIRE,
                    "item": f"1111_{place:02d}",
                    "worker": worker,
                    "resubmission": again,
                    "submitted_at": 1730923068584 + 1000 * place,
                    "query_id": f"t{place}",
                    **values,
                }
            )
    return found


def published(folder: Path, rows: Rows, pairs: Rows, rng: np.random.Generator) -> None:
    """Gold labels, spam probabilities and grades as their authors might have computed them."""
    gold = []
    shown = {(row["response_a"], row["response_b"]): row["query_id"] for row in pairs}
    for (left, right), topic in sorted(shown.items()):
        for name in DIMENSIONS:
            p = rng.dirichlet((1, 1, 1)) if name != DIMENSIONS[-1] else rng.dirichlet((1, 1))
            a, n, b = p if len(p) == 3 else (p[0], 0.0, p[1])
            gold.append(
                {
                    "questionnaire_id": "q",
                    "query_id": topic,
                    "response_a": left,
                    "response_b": right,
                    "dimension": name,
                    "p_a": round(a, 6),
                    "p_n": round(n, 6),
                    "p_b": round(b, 6),
                    "gold": "anb"[int(np.argmax((a, n, b)))],
                }
            )
    write(folder, "pairwise_gold_published.csv.gz", gold)
    workers = sorted({row["worker"] for row in pairs})
    spam = [
        {"worker": one, **{name: round(float(rng.random()), 6) for name in DIMENSIONS}}
        for one in workers
    ]
    write(folder, "worker_spam_probability_published.csv.gz", spam)
    ranks = {
        f"t{topic}": rng.permuted(np.tile(np.arange(1, 7), (7, 1)), axis=1)
        for topic in range(TOPICS)
    }
    seen: dict[str, int] = {}
    grades = []
    for row in rows:
        place = seen[row["topic"]] = seen.get(row["topic"], -1) + 1
        given = ranks[row["topic"]][:, place].tolist()
        about = {name: row[name] for name in ("response", "topic", "style", "origin")}
        grades.append({**about, **dict(zip(DIMENSIONS, given, strict=True))})
    write(folder, "grades_published.csv", grades)


def questionnaires(folder: Path) -> None:
    """The two study files."""
    points = {"-3": "very poor", "-1": "poor", "1": "good", "3": "very good"}
    for name, kind in ((STUDY, "pairwise"), (POINTWISE_STUDY, "response")):
        questions = []
        for ours, theirs in SHORT.items():
            options = {"A": "left", "N": "equal", "B": "right"} if kind == "pairwise" else points
            if ours == DIMENSIONS[-1] and kind == "pairwise":
                options = {"A": "left", "B": "right"}
            questions.append(
                {
                    "name": theirs,
                    "text": f"Which has more {theirs}?",
                    "description": "Look closely.",
                    "options": options,
                }
            )
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = {"instructions": "#### Overview", "type": kind, "questions": questions}
        path.write_text(json.dumps(body))


def make_folder(folder: Path, seed: int = 3) -> Path:
    """Write every file of the study into ``folder``; the same seed gives the same study."""
    rng = np.random.default_rng(seed)
    rows = texts()
    write(folder, "responses.jsonl.gz", rows)
    pairs = judged(rows, rng)
    write(folder, "pairwise_judgments_wide.csv.gz", pairs)
    raw = [
        {
            "submission_id": row["questionnaire_id"],
            "worker": row["worker"],
            "item_index": row["position"],
            "query_id": row["query_id"],
            "response_a": row["response_a"],
            "response_b": row["response_b"],
            **{"validity" if name == DIMENSIONS[0] else name: row[name] for name in DIMENSIONS},
        }
        for row in pairs
    ]
    write(folder, "raw/study2_responses.jsonl.gz", raw)
    calls, why = models(pairs, rng)
    write(folder, "llm_judgments.csv.gz", calls)
    write(folder, "llm_justifications_combined_first.jsonl.gz", why)
    given, events = experts(pairs, rng)
    write(folder, "expert_judgments.csv", given)
    write(folder, "expert_slide_events.csv.gz", events)
    write(folder, "pointwise_judgments.csv", ratings(rng))
    writers = [
        {"response": row["response"], "worker": f"author-{number % 3}"}
        for number, row in enumerate(rows)
        if row["origin"] == "human"
    ]
    write(folder, "study1_tasks_surveys.jsonl.gz", writers)
    first = pairs[0]
    write(
        folder,
        "sessions_time_taken.csv",
        [
            {
                "worker": first["worker"],
                "questionnaire_id": first["questionnaire_id"],
                "time_taken": 1043,
            },
        ],
    )
    published(folder, rows, pairs, rng)
    questionnaires(folder)
    return folder
