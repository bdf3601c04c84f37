"""CrowdRAG-25 (Gienapp et al. 2025) as published: texts, judgments and what was computed of them.

Pure: files in, rows out. A pair is named by the text on the left and the text on the right, and
labels are as displayed: A the left one, B the right one, N neither. ``read_folder`` takes the
artifact's files, ``read_raw`` the judgments alone as they were collected.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from annotation.formats.imports.published.files import Record, Source
from annotation.formats.imports.published.study_json import NAMES, Study, study_of
from crowdqc.errors import Invalid

DIMENSIONS = tuple(NAMES.values())
SIDES = {"A": "left", "N": "neutral", "B": "right"}
LEFT_RIGHT = ("response_a", "response_b")
FIRST_VOTES = 5  # of a pair as shown; the published analysis takes no more
STUDY = "studies/pairwise-utility/pairwise-utility.json"
POINTWISE_STUDY = "studies/pilots/pilot-pointwise-response.json"
Pair = tuple[str, str]  # left, right
Say = Callable[[str], None]


class Response(NamedTuple):
    """A text under judgment; ``cleaned`` is the published text without citation marks."""

    key: str
    topic: str
    query: str
    style: str
    origin: str
    text: str
    cleaned: str
    judged: bool


class Judgment(NamedTuple):
    """One person's labels of a pair, by dimension; ``counted``: used by the published analysis."""

    questionnaire: str
    worker: str
    position: int  # in the questionnaire, from 1
    topic: str
    pair: Pair
    labels: Mapping[str, str]
    counted: bool = True


class ModelJudgment(NamedTuple):
    """A model's labels of a pair, each with its justification where there is one."""

    inference: str
    repeat: int
    pair: Pair
    labels: Mapping[str, str]
    justifications: Mapping[str, str]


class SlideEvent(NamedTuple):
    """What an expert did on the page of one pair, and when."""

    expert: str
    position: int  # of the pair in the questionnaire, from 1
    event: str  # enter, leave, submit, or the name of the dimension whose answer changed
    at: dt.datetime


class Rating(NamedTuple):
    """One person's ratings of a text that the release does not name."""

    questionnaire: str
    item: str
    worker: str
    resubmission: int
    submitted_at: dt.datetime
    topic: str
    values: Mapping[str, int]


class Gold(NamedTuple):
    """The published label of a pair on a dimension, as displayed, with its probabilities."""

    pair: Pair
    dimension: str
    probability: tuple[float, float, float]
    label: str


@dataclass
class Published:
    """What the authors computed: spam probability by worker, gold labels, grades by text."""

    spam: dict[str, dict[str, float]] = field(default_factory=dict)
    gold: list[Gold] = field(default_factory=list)
    grades: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass
class CrowdRagStudy:
    """All that is imported; ``missing`` names optional files that are not there."""

    responses: list[Response] = field(default_factory=list)
    authors: dict[str, str] = field(default_factory=dict)  # response -> worker
    judgments: list[Judgment] = field(default_factory=list)
    seconds: dict[tuple[str, str], int] = field(default_factory=dict)  # worker, questionnaire
    models: list[ModelJudgment] = field(default_factory=list)
    experts: list[Judgment] = field(default_factory=list)
    events: list[SlideEvent] = field(default_factory=list)
    ratings: list[Rating] = field(default_factory=list)
    published: Published = field(default_factory=Published)
    study: Study | None = None
    pointwise: Study | None = None
    missing: list[str] = field(default_factory=list)


def read_folder(folder: Path, say: Say = lambda line: None) -> CrowdRagStudy:
    """All files of the artifact in ``folder``, or in crowdrag below it.

    Raises Invalid naming the file, the column and the line.
    """
    if not folder.is_dir():
        raise Invalid(f"There is no folder {folder}.", fields={"file": "No such folder."})
    if not (folder / "responses.jsonl.gz").is_file() and (folder / "crowdrag").is_dir():
        folder = folder / "crowdrag"
    study = CrowdRagStudy()
    study.responses = list(_responses(folder))
    texts = {one.key: one.topic for one in study.responses}
    say(f"{len(study.responses):,} texts")
    study.judgments = list(_judgments(folder, texts))
    pairs = {one.pair for one in study.judgments}
    say(f"{len(study.judgments):,} judgments of people")
    study.models = list(_models(folder, pairs, study))
    say(f"{len(study.models):,} judgments of models")
    study.experts = list(_experts(folder, pairs))
    study.published = _published(folder, texts, pairs)
    study.study = _study(folder, STUDY)
    _optional(folder, study, texts)
    return study


def read_raw(path: Path, *, first: int = FIRST_VOTES) -> list[Judgment]:
    """The judgments as collected (``validity`` is topical correctness). Raises Invalid.

    Every vote beyond the ``first`` ones of a pair is marked as not used by the published analysis
    (0: all are used).
    """
    short = {ours: theirs for theirs, ours in NAMES.items()}
    source = Source(
        path.parent,
        path.name,
        needed=(
            "submission_id",
            "worker",
            "item_index",
            "query_id",
            *LEFT_RIGHT,
        ),
    )
    votes: Counter[Pair] = Counter()
    found = []
    for row in source.rows():
        names = {name: name if name in row else short[name] for name in DIMENSIONS}
        pair = _pair(source, row)
        votes[pair] += 1
        labels = _labels(source, row, names)
        found.append(
            Judgment(
                str(row["submission_id"]),
                str(row["worker"]),
                source.read_whole(row, "item_index", least=1),
                str(row["query_id"]),
                pair,
                labels,
                not first or votes[pair] <= first,
            )
        )
    return found


def _responses(folder: Path) -> Iterator[Response]:
    source = Source(
        folder,
        "responses.jsonl.gz",
        needed=(
            "response",
            "topic",
            "query",
            "style",
            "origin",
            "judged",
            "text",
            "cleaned_text",
        ),
    )
    seen: set[str] = set()
    for row in source.rows():
        texts = [
            str(row[name])
            for name in ("response", "topic", "query", "style", "origin", "text", "cleaned_text")
        ]
        if texts[0] in seen:
            source.add_error("response", texts[0], "This text is there twice.")
        seen.add(texts[0])
        for name, value in zip(("response", "topic", "text"), (*texts[:2], texts[5]), strict=True):
            if not value.strip():
                source.add_error(name, value, "This is empty.")
        key, topic, query, style, origin, text, cleaned = texts
        yield Response(key, topic, query, style, origin, text, cleaned, bool(row["judged"]))


def _judgments(folder: Path, texts: Mapping[str, str]) -> Iterator[Judgment]:
    source = Source(
        folder,
        "pairwise_judgments_wide.csv.gz",
        needed=(
            "questionnaire_id",
            "worker",
            "position",
            "query_id",
            *LEFT_RIGHT,
            *DIMENSIONS,
            "in_artifact",
        ),
    )
    seen: set[tuple[str, str, int]] = set()
    for row in source.rows():
        position = source.read_whole(row, "position", least=1)
        where = (row["questionnaire_id"], row["worker"], position)
        if where in seen:
            source.add_error("position", position, "This worker judged two pairs at this position.")
        seen.add(where)
        source.known(row, "in_artifact", ("0", "1"), "mark")
        pair = _pair(source, row, texts)
        yield Judgment(
            *where, row["query_id"], pair, _labels(source, row), row["in_artifact"] == "1"
        )


def _pair(source: Source, row: Record, texts: Mapping[str, str] | None = None) -> Pair:
    left, right = str(row["response_a"]), str(row["response_b"])
    if left == right:
        source.add_error("response_b", right, "The text is compared with itself.")
    if texts is not None:
        known = [source.known(row, name, texts, "text") for name in LEFT_RIGHT]
        if all(known) and not texts[left] == texts[right] == row["query_id"]:
            source.add_error("query_id", row["query_id"], "The two texts are not of this topic.")
    return left, right


def _labels(
    source: Source, row: Record, names: Mapping[str, str] | None = None, *, may_lack: bool = False
) -> dict[str, str]:
    """left, neutral or right by dimension."""
    found = {}
    for dimension in DIMENSIONS:
        column = names[dimension] if names else dimension
        value = str(row.get(column) or "")
        if not value and may_lack:
            continue
        side = SIDES.get(value.upper())
        if side is None or (side == "neutral" and dimension == DIMENSIONS[-1] and not may_lack):
            forced = " or N" if dimension != DIMENSIONS[-1] else ""
            source.add_error(column, value, f"A label is A, B{forced}.")
            continue
        found[dimension] = side
    return found


def _models(folder: Path, pairs: set[Pair], study: CrowdRagStudy) -> Iterator[ModelJudgment]:
    source = Source(
        folder,
        "llm_judgments.csv.gz",
        needed=(
            "query_id",
            *LEFT_RIGHT,
            "inference",
            "repeat",
            *DIMENSIONS,
        ),
    )
    why = _justifications(folder, study)
    for row in source.rows():
        pair = _judged_pair(source, row, pairs)
        labels = _labels(source, row, may_lack=True)
        said: Mapping[str, str] = {}
        given = why.get(pair) if row["inference"] == "combined" else None
        if given is not None and given[0] == labels:  # the call that they belong to
            said = why.pop(pair)[1]
        yield ModelJudgment(
            row["inference"], source.read_whole(row, "repeat", least=1), pair, labels, said
        )


def _judged_pair(source: Source, row: Record, pairs: set[Pair]) -> Pair:
    pair = _pair(source, row)
    if pair not in pairs:
        source.add_error("response_a", " ".join(pair), "No person judged this pair in this order.")
    return pair


def _justifications(
    folder: Path, study: CrowdRagStudy
) -> dict[Pair, tuple[dict[str, str], dict[str, str]]]:
    """Labels and justifications of a model's calls, by pair: the labels tell which call it was."""
    source = Source(
        folder, "llm_justifications_combined_first.jsonl.gz", needed=(*LEFT_RIGHT, "ratings")
    )
    if not _has_file(source, study):
        return {}
    found = {}
    for row in source.rows():
        ratings = row["ratings"] if isinstance(row["ratings"], dict) else {}
        labels: dict[str, str] = {}
        said: dict[str, str] = {}
        for number, dimension in enumerate(DIMENSIONS, 1):
            side = SIDES.get(str(ratings.get(f"Q{number}_rating") or "").upper())
            text = str(ratings.get(f"Q{number}_justification") or "").strip()
            labels |= {dimension: side} if side else {}
            said |= {dimension: text} if text else {}
        found[_pair(source, row)] = labels, said
    return found


def _experts(folder: Path, pairs: set[Pair]) -> Iterator[Judgment]:
    source = Source(
        folder,
        "expert_judgments.csv",
        needed=(
            "questionnaire_id",
            "expert",
            "in_paper",
            "position",
            "query_id",
            *LEFT_RIGHT,
            *DIMENSIONS,
        ),
    )
    for row in source.rows():
        source.known(row, "in_paper", ("0", "1"), "mark")
        yield Judgment(
            row["questionnaire_id"],
            row["expert"],
            source.read_whole(row, "position", least=1),
            row["query_id"],
            _judged_pair(source, row, pairs),
            _labels(source, row),
            row["in_paper"] == "1",
        )


def _published(folder: Path, texts: Mapping[str, str], pairs: set[Pair]) -> Published:
    found = Published()
    source = Source(
        folder, "worker_spam_probability_published.csv.gz", needed=("worker", *DIMENSIONS)
    )
    for row in source.rows():
        found.spam[row["worker"]] = {name: source.number(row, name) for name in DIMENSIONS}
    chances = ("p_a", "p_n", "p_b")
    source = Source(
        folder,
        "pairwise_gold_published.csv.gz",
        needed=(
            *LEFT_RIGHT,
            "dimension",
            *chances,
            "gold",
        ),
    )
    for row in source.rows():
        source.known(row, "dimension", DIMENSIONS, "dimension")
        if source.known(row, "gold", ("a", "n", "b"), "label"):
            a, n, b = (source.number(row, name) for name in chances)
            pair = _judged_pair(source, row, pairs)
            found.gold.append(Gold(pair, row["dimension"], (a, n, b), SIDES[row["gold"].upper()]))
    source = Source(folder, "grades_published.csv", needed=("response", *DIMENSIONS))
    for row in source.rows():
        source.known(row, "response", texts, "text")
        found.grades[row["response"]] = {
            name: source.read_whole(row, name, least=1) for name in DIMENSIONS
        }
    return found


def _optional(folder: Path, study: CrowdRagStudy, texts: Mapping[str, str]) -> None:
    """Read what tables do without: authors, times, experts' log, point-wise pilot."""
    source = Source(folder, "study1_tasks_surveys.jsonl.gz", needed=("response", "worker"))
    for row in source.rows() if _has_file(source, study) else ():
        if source.known(row, "response", texts, "text"):
            study.authors[row["response"]] = str(row["worker"])
    source = Source(
        folder, "sessions_time_taken.csv", needed=("worker", "questionnaire_id", "time_taken")
    )
    for row in source.rows() if _has_file(source, study) else ():
        where = (row["worker"], row["questionnaire_id"])
        study.seconds[where] = source.read_whole(row, "time_taken")
    source = Source(
        folder,
        "expert_slide_events.csv.gz",
        needed=(
            "expert",
            "position",
            "event",
            "time",
        ),
    )
    for row in source.rows() if _has_file(source, study) else ():
        study.events += _event(source, row, study.events)
    source = Source(
        folder,
        "pointwise_judgments.csv",
        needed=(
            "questionnaire_id",
            "item",
            "worker",
            "resubmission",
            "submitted_at",
            "query_id",
            *DIMENSIONS,
        ),
    )
    if _has_file(source, study) and (folder / POINTWISE_STUDY).is_file():
        study.pointwise = _study(folder, POINTWISE_STUDY)
        study.ratings = list(_ratings(source, study.pointwise))


def _has_file(source: Source, study: CrowdRagStudy) -> bool:
    if not source.exists:
        study.missing.append(source.name)
    return source.exists


def _event(source: Source, row: Record, before: Sequence[SlideEvent]) -> list[SlideEvent]:
    try:
        at = dt.datetime.fromisoformat(row["time"])
    except ValueError:
        source.add_error("time", row["time"], "This is not a time.")
        return []
    # Slides are numbered from 0, pairs from 1.
    event, position = row["event"], source.read_whole(row, "position") + 1
    if event.startswith("response_"):
        event = NAMES.get(event.split("_", 2)[-1], "")
    if event not in ("enter", "leave", "submit", *DIMENSIONS):
        source.add_error("event", row["event"], "There is no such event.")
    if event == "leave":  # is written down for the slide that comes next
        last = before[-1] if before and before[-1].expert == row["expert"] else None
        position = last.position if last else 1
    return [SlideEvent(row["expert"], position, event, at)]


def _ratings(source: Source, study: Study) -> Iterator[Rating]:
    points = {
        scale["name"]: {str(point["value"]) for point in scale["points"]}
        for scale in study.settings["scales"]
    }
    for row in source.rows():
        good = [source.known(row, name, points[name], "point") for name in DIMENSIONS]
        at = source.read_whole(row, "submitted_at")
        if all(good):
            yield Rating(
                row["questionnaire_id"],
                row["item"],
                row["worker"],
                source.read_whole(row, "resubmission"),
                dt.datetime.fromtimestamp(at / 1000, dt.UTC),
                row["query_id"],
                {name: int(row[name]) for name in DIMENSIONS},
            )


def _study(folder: Path, name: str) -> Study:
    return study_of(Source(folder, name, needed=()).json(), name)
