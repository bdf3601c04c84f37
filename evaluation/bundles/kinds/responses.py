"""Bundles of responses: texts, the passages they cite, forms, and what logs say of each text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from annotation.work.snapshots.responses import Header, LogSize, Topic, TopicItem
from evaluation.bundles.kinds.base import (
    ANSWERS,
    ASKED,
    ITEMS,
    TEXTS,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.methods.core.base import Hooks
from evaluation.methods.writing.signals import Finding, Moment
from evaluation.models import Run
from evaluation.writing import dataset, logs
from evaluation.writing import run as writing_runs
from evaluation.writing.dataset import ResponsesParts
from evaluation.writing.logs import WritingProcess

PROCESSES = "data/processes.jsonl"
BESIDE = ("text", "form", "log")  # of a response, beside its header


class OfResponses:
    """Responses with all that describes them. Logs of keys stay here; what they say goes along."""

    given = (
        "The interaction logs are not in the bundle: the minutes and signals of each response are "
        "those that were read from its log when the bundle was made."
    )

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        read = dataset.reload_responses(snapshot_of(run))  # refuses what was changed since
        found = dict(run.figures.filter(name__in=("frame", "forms")).values_list("name", "data"))
        points = {row["question"]: row["points"] for row in found["forms"]["distributions"]}
        styles = found["frame"]["styles"]
        yield ANSWERS, jsonl(_responses(read))
        used = {row.item_id for row in read.rows}
        yield ITEMS, jsonl(asdict(read.asked[pk]) for pk in sorted(used))
        yield TEXTS, jsonl(map(asdict, read.topics.values()))
        yield ASKED, json_bytes({"styles": styles, "points": points})
        written = logs.read_all(dataset.to_arrays(read, styles), advance=lambda done: None)
        yield PROCESSES, jsonl({"place": at, **asdict(one)} for at, one in written.items())

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        read, asked = _read(files), read_value(files[ASKED])
        run = as_run(recipe, read.hash)
        frozen = dataset.to_arrays(read, asked["styles"])
        written = {one["place"]: _process(one) for one in read_jsonl(files[PROCESSES])}
        done = writing_runs.fit(run, frozen, written, asked["points"], hooks)
        found = writing_runs.write(run, done)
        return Recomputed(found.rows, dict(found.figures), read.hash)


def _responses(read: ResponsesParts) -> Iterator[Row]:
    for row in read.rows:
        log = read.logs.get(row.assignment_id or 0)
        yield {
            **row._asdict(),
            "text": read.texts[row.answer_id],
            "form": read.forms.get(row.answer_id, {}),
            "log": asdict(log) if log else None,
        }


def _read(files: Mapping[str, bytes]) -> ResponsesParts:
    rows = read_jsonl(files[ANSWERS])
    beside = [{name: row.pop(name) for name in BESIDE} for row in rows]
    headers = [Header(**row) for row in rows]
    both = list(zip(headers, beside, strict=True))
    topics = read_jsonl(files[TEXTS])
    return ResponsesParts(
        headers,
        {row.answer_id: more["text"] for row, more in both},
        {one["item_id"]: TopicItem(**one) for one in read_jsonl(files[ITEMS])},
        {one["topic_id"]: _topic(one) for one in topics},
        {row.answer_id: more["form"] for row, more in both},
        {row.assignment_id or 0: LogSize(**more["log"]) for row, more in both if more["log"]},
    )


def _topic(row: Row) -> Topic:
    return Topic(**{**row, **{name: tuple(row[name]) for name in ("passages", "titles")}})


def _process(row: Row) -> WritingProcess:
    findings = [
        Finding(**{**one, "moments": tuple(Moment(**at) for at in one["moments"])})
        for one in row["findings"]
    ]
    return WritingProcess(row["minutes"], tuple(findings), row["problem"])
