"""CrowdRAG-25's writing study as published: topics, what people and a model wrote, and how.

Pure: files in, rows out. Passages are cited by their number from 0. A response's log is read as
changes of its text; its last snapshot is the published text, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from annotation.formats.imports.published.files import Record, Source
from annotation.formats.imports.writing.logs import WritingLog, read_logs
from crowdqc.errors import Invalid

LOGS = "raw/study1_responses_human.jsonl.gz"
RETRIEVAL = "raw/study1_retrieval.jsonl.gz"
SURVEYS = "study1_tasks_surveys.jsonl.gz"
TEXTS = "responses.jsonl.gz"
STYLES = ("bullet", "essay", "news")
ORIGINS = ("human", "llm")
MAX_TOPIC = 39  # characters; an item's key is topic and style
MAX_DOCUMENT, MAX_PASSAGE = 80, 20_000  # characters of a passage's id and text
# The published names of the questionnaires, as ours ask for them.
FORMS = {
    "worker_knowledge": "entry.knowledge",
    "worker_expertise": "entry.expertise",
    "query_answerable": "entry.answerable",
    "query_controversial": "entry.controversial",
    "worker_satisfaction": "exit.satisfaction",
    "references_quality": "exit.sources",
    "references_extra": "exit.own_knowledge",
    "references_omission": "exit.omissions",
}
Say = Callable[[str, int, int], None]  # what, done, of how many


class Topic(NamedTuple):
    """A query and its passages, the best first: rows of key, title and text."""

    key: str
    query: str
    passages: tuple[dict[str, str], ...]


class Response(NamedTuple):
    """What one person wrote, their log, and what they said before and after by field."""

    worker: str
    log: WritingLog
    answers: Mapping[str, int]


class ModelResponse(NamedTuple):
    """What a model wrote on a topic in a style."""

    topic: str
    style: str
    text: str


@dataclass
class WritingStudy:
    """All that is imported."""

    topics: list[Topic] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    models: list[ModelResponse] = field(default_factory=list)

    @property
    def snapshots(self) -> int:
        """Number of snapshots in all logs."""
        return sum(one.log.snapshots for one in self.responses)

    @property
    def characters(self) -> int:
        """Number of characters in all snapshots."""
        return sum(one.log.characters for one in self.responses)


def read_writing(
    folder: Path,
    *,
    points: Mapping[str, Mapping[int, str]],
    clean: Callable[[str], str],
    say: Say = lambda what, done, total: None,
) -> WritingStudy:
    """The writing study in ``folder``, or in crowdrag below it.

    ``points`` are the values that each question of the forms takes (``entry.NAME`` -> value ->
    label), ``clean`` makes a text one that can be stored. Raises Invalid naming file, line, column.
    """
    if not folder.is_dir():
        raise Invalid(f"There is no folder {folder}.", fields={"file": "No such folder."})
    if not (folder / SURVEYS).is_file() and (folder / "crowdrag").is_dir():
        folder = folder / "crowdrag"
    study = WritingStudy(topics=list(_topics(folder)))
    known = {topic.key for topic in study.topics}
    writers = _surveys(folder, known, points)
    published, study.models = _texts(folder, known)
    source = Source(folder, LOGS, needed=("response", "topic", "style", "timestamp", "text"))
    logs = read_logs(
        source,
        clean=clean,
        topics=known,
        styles=STYLES,
        advance=lambda done, total: say("bytes of the logs", done, total),
    )
    study.responses = list(_joined(logs, source, writers, published))
    return study


def _topics(folder: Path) -> Iterator[Topic]:
    source = Source(
        folder,
        RETRIEVAL,
        needed=(
            "topic",
            "query",
            "references_ids",
            "references_texts",
        ),
    )
    seen: set[str] = set()
    for row in source.stream():
        key, query = str(row["topic"]), str(row["query"])
        if key in seen:
            source.add_error("topic", key, "This topic is there twice.")
        if not key.strip() or len(key) > MAX_TOPIC:
            source.add_error("topic", key, f"A topic's id has 1 to {MAX_TOPIC} characters.")
        if not query.strip():
            source.add_error("query", query, "This is empty.")
        seen.add(key)
        yield Topic(key, query, tuple(_passages(source, row)))


def _passages(source: Source, row: Record) -> Iterator[dict[str, str]]:
    ids, texts = row["references_ids"], row["references_texts"]
    if not isinstance(ids, list) or not isinstance(texts, list) or len(ids) != len(texts):
        source.add_error("references_texts", "", "There is not one text for each id.")
        return
    if len(set(map(str, ids))) < len(ids):
        source.add_error("references_ids", "", "A passage is there twice.")
    for key, text in zip(map(str, ids), map(str, texts), strict=True):
        if not key.strip() or len(key) > MAX_DOCUMENT:
            source.add_error("references_ids", key, f"An id has 1 to {MAX_DOCUMENT} characters.")
        if not text.strip() or len(text) > MAX_PASSAGE:
            source.add_error(
                "references_texts", key, f"A passage has 1 to {MAX_PASSAGE:,} characters."
            )
        yield {"key": key, "title": "", "text": text}


def _surveys(
    folder: Path, topics: set[str], points: Mapping[str, Mapping[int, str]]
) -> dict[str, tuple[str, str, str, dict[str, int]]]:
    """Response -> worker, topic, style and what was said by field; what is null was not said."""
    source = Source(folder, SURVEYS, needed=("response", "worker", "topic", "style"))
    found: dict[str, tuple[str, str, str, dict[str, int]]] = {}
    for row in source.rows():
        key = str(row["response"])
        if key in found:
            source.add_error("response", key, "This response is there twice.")
        source.known(row, "topic", topics, "topic")
        source.known(row, "style", STYLES, "style")
        said = {}
        for column, name in FORMS.items():
            value = row.get(column)
            if value is None:
                continue
            if value not in points.get(name, {}):  # 3.0 is 3
                wrong = f"The question has no point {value}."
                source.add_error(column, value, wrong)
                continue
            said[name] = int(value)
        found[key] = str(row["worker"]), str(row["topic"]), str(row["style"]), said
    return found


def _texts(folder: Path, topics: set[str]) -> tuple[dict[str, str], list[ModelResponse]]:
    """The published texts of people by response, and those of the model."""
    source = Source(folder, TEXTS, needed=("response", "topic", "style", "origin", "text"))
    people: dict[str, str] = {}
    models: dict[tuple[str, str], ModelResponse] = {}
    for row in source.rows():
        place, text = (str(row["topic"]), str(row["style"])), str(row["text"])
        source.known(row, "topic", topics, "topic")
        source.known(row, "style", STYLES, "style")
        source.known(row, "origin", ORIGINS, "origin")
        if not text.strip():
            source.add_error("text", text, "This is empty.")
        if row["origin"] == "human":
            people[str(row["response"])] = text
        elif place in models:
            source.add_error("response", row["response"], "The model wrote twice on this topic.")
        else:
            models[place] = ModelResponse(*place, text)
    return people, list(models.values())


def _joined(
    logs: Sequence[WritingLog],
    source: Source,
    writers: Mapping[str, tuple[str, str, str, dict[str, int]]],
    published: Mapping[str, str],
) -> Iterator[Response]:
    """Each log with its writer; Invalid where the files do not say the same of a response."""
    for log in logs:
        source.line = log.line
        worker, topic, style, answers = writers.get(log.response, ("", "", "", {}))
        if not worker:
            source.add_error("response", log.response, f"{SURVEYS} does not name its writer.")
        elif (topic, style) != (log.topic, log.style):
            source.add_error("topic", log.topic, f"{SURVEYS} has it under {topic}, {style}.")
        if log.text != published.get(log.response):
            wrong = f"The last snapshot is not the text in {TEXTS}."
            source.add_error("text", log.text[-60:], wrong)
        yield Response(worker, log, answers)
    source.line, there = 0, {log.response for log in logs}
    for key in writers.keys() - there:
        source.add_error("response", key, f"{SURVEYS} names it, and there is no log of it.")
    source.refuse()
