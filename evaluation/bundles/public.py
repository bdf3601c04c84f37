"""Bundles that anybody may have of a public board: the run's votes under codes of their own.

Every number that a database has (people, answers, items, texts) and every key that a requester
wrote is replaced by a fresh code, people and items stand in a random order, and the time of an
answer becomes its place among those of its author. The method then runs again on that: so what
rests on random draws differs from the board within their noise, and everything else is the same,
which is checked before the bundle is kept.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from annotation.files.stored.actions import forget, store
from crowdqc.errors import Conflict, DomainError
from evaluation.bundles import writing
from evaluation.bundles.kinds.base import (
    ANSWERS,
    ASKED,
    FIELD,
    ITEMS,
    KINDS_OF,
    OTHERS,
    SOURCES,
    TEXTS,
    Recomputed,
    json_bytes,
    jsonl,
    read_jsonl,
)
from evaluation.bundles.kinds.registry import KINDS
from evaluation.bundles.manifest import (
    ENVIRONMENT,
    FIGURES,
    README,
    RECIPE,
    environment,
    manifest_of,
    results_file,
    zipped,
)
from evaluation.methods.core.base import Hooks
from evaluation.models import BoardBundle, Run, SystemScore, WorkerScore
from evaluation.runs.results.rows import result_hash

MOST = 200_000  # answers; more take long to compute once more
SAME = 1e-6
PATIENCE = dt.timedelta(minutes=30)
BEGIN = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
WORDS = """This is the run behind a public board, with everything that gives its numbers again.

    python manage.py verify_bundle THIS.zip

in a checkout of crowdqc needs no database. People, items and texts have codes that were drawn for
this file alone, in random order, and no times: a code here says nothing of a code elsewhere. The
scores of systems are those of the board ("board" in manifest.json says how far they differ at
most); intervals that rest on random draws differ within the noise of these draws.
"""
Row = dict[str, Any]


@dataclass
class Codes:
    """Fresh numbers for rows of one kind, drawn without an order."""

    drawn: random.Random
    given: dict[Any, int] = field(default_factory=dict)

    def draw(self, keys: Iterable[Any]) -> None:
        """Number these keys from 1 in random order."""
        found = [key for key in dict.fromkeys(keys) if key is not None]
        numbers = list(range(1, len(found) + 1))
        self.drawn.shuffle(numbers)
        self.given = dict(zip(found, numbers, strict=True))

    def number(self, keys: Iterable[int | None]) -> None:
        """Number these keys from 1 in ascending order."""
        found = sorted({key for key in keys if key is not None})
        self.given = {key: number for number, key in enumerate(found, 1)}

    def of(self, key: Any) -> int | None:
        """Return the number given to a key; None for None."""
        return None if key is None else self.given[key]


class Renamed:
    """The packed files of a run with codes in place of everything that could be linked."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        drawn = random.Random(secrets.randbits(128))  # noqa: S311 (seeded by the system's own)
        self.workers, self.items, self.texts, self.topics = (Codes(drawn) for _ in range(4))
        self.rows = read_jsonl(files[ANSWERS])
        self.asked = read_jsonl(files[ITEMS]) if ITEMS in files else []
        self.shown = read_jsonl(files[TEXTS]) if TEXTS in files else []
        self.others = json.loads(files[OTHERS]) if OTHERS in files else []
        authors = [one["author_id"] for one in self.shown]
        self.workers.draw([*(row["worker_id"] for row in self.rows), *authors])
        ids = [row["item_id"] for row in (*self.asked, *self.rows)]
        self.items.draw([*ids, *(int(item) for one in self.others for item in _of_items(one))])
        self.texts.draw(one["candidate_id"] for one in self.shown)
        self.topics.draw(one["topic"] for one in self.shown)
        self.sources = json.loads(files[SOURCES]) if SOURCES in files else {}
        # Their names are on the board; in their order, so that random draws stay the same.
        self.systems = Codes(drawn)
        self.systems.number(
            [*map(int, self.sources), *(one.get("system_id") for one in (*self.rows, *self.shown))]
        )
        self.columns, self.values = Codes(drawn), Codes(drawn)
        known = [pair for one in self.asked for pair in one.get("metadata", {}).items()]
        self.said = json.loads(files[KINDS_OF]) if KINDS_OF in files else {}
        known += [pair for one in self.said.values() for pair in one.items()]
        known += [("category", one["category"]) for one in self.asked if one.get("category")]
        self.columns.draw(sorted({name for name, _ in known}))
        self.values.draw(sorted(set(known)))

    def data(self) -> dict[str, bytes]:
        """Files under data/ with their ids renamed."""
        found = {name: self.files[name] for name in (ASKED, FIELD) if name in self.files}
        if SOURCES in self.files:
            named = {str(self.systems.of(int(pk))): name for pk, name in self.sources.items()}
            found[SOURCES] = json_bytes(named)
        found[ANSWERS] = jsonl(self._answers())
        if ITEMS in self.files:
            found[ITEMS] = jsonl(sorted(map(self._item, self.asked), key=lambda r: r["item_id"]))
        if TEXTS in self.files:
            texts = map(self._text, self.shown)
            found[TEXTS] = jsonl(sorted(texts, key=lambda r: r["candidate_id"]))
        if KINDS_OF in self.files:
            coded = {self.items.given[int(pk)]: self._kinds(one) for pk, one in self.said.items()}
            found[KINDS_OF] = json_bytes({str(pk): coded[pk] for pk in sorted(coded)})
        if OTHERS in self.files:
            found[OTHERS] = json_bytes([self._rename_field(one) for one in self.others])
        return found

    def _answers(self) -> Iterator[Row]:
        """Rows by author, in their author's order; systems stand behind people, as in the run."""
        place: dict[tuple[Any, Any], int] = {}
        made = []
        for row in sorted(self.rows, key=lambda r: (r["answered_at"], r["answer_id"])):
            author = row["worker_id"], row.get("system_id")
            place[author] = at = place.get(author, 0) + 1
            renamed = {
                **row,
                "worker_id": self.workers.of(row["worker_id"]),
                "item_id": self.items.of(row["item_id"]),
                "answered_at": (BEGIN + dt.timedelta(minutes=at)).isoformat(),
            }
            if "system_id" in row:
                renamed["system_id"] = self.systems.of(row["system_id"])
            if "item_key" in row:
                renamed["item_key"] = f"i{self.items.of(row['item_id'])}"
            made.append(
                (
                    renamed["worker_id"] is None,
                    author[0] and renamed["worker_id"],
                    row.get("system_id"),
                    at,
                    renamed,
                )
            )
        made.sort(key=lambda one: (one[0], one[1] or 0, one[2] or 0, one[3]))
        for number, (*_, row) in enumerate(made, 1):
            yield {**row, "answer_id": number}

    def _item(self, row: Row) -> Row:
        code = self.items.of(row["item_id"])
        named: Row = {name: self.texts.of(row[name]) for name in ("first_id", "second_id")}
        kinds = self._kinds(row.get("metadata", {}))
        if category := row.pop("category", ""):
            named["category"] = f"kind {self.values.of(('category', category))}"
        return {**row, **named, "item_id": code, "key": f"i{code}", "metadata": kinds}

    def _kinds(self, said: Mapping[str, str]) -> dict[str, str]:
        columns = ((self.columns.of(one[0]), self.values.of(one)) for one in said.items())
        return {f"column {column}": f"kind {value}" for column, value in columns}

    def _text(self, row: Row) -> Row:
        code = self.texts.of(row["candidate_id"])
        return {
            **row,
            "candidate_id": code,
            "system_id": self.systems.of(row["system_id"]),
            "key": f"t{code}",
            "topic": f"topic {self.topics.of(row['topic'])}",
            "author_id": self.workers.of(row["author_id"]),
        }

    def _rename_field(self, one: Row) -> Row:
        made = dict(one)
        for name in ("ticked", "marked"):
            made[name] = {
                str(self.items.of(int(item))): {
                    str(self.workers.of(int(who))): said
                    for who, said in by.items()
                    if int(who) in self.workers.given
                }
                for item, by in one.get(name, {}).items()
            }
        return made


def _of_items(one: Row) -> Iterator[str]:
    yield from one.get("ticked", {})
    yield from one.get("marked", {})


def bundle_of(run: Run) -> bytes:
    """The public bundle of a finished run. Raises Conflict and Invalid where there can be none."""
    writing.check(run)
    if run.snapshot is not None and len(run.snapshot.answer_ids) > MOST:
        raise Conflict(
            gettext("A public bundle holds %(most)s answers at most.") % {"most": f"{MOST:,}"}
        )
    renamed = Renamed(dict(KINDS[run.method].pack(run)))
    data = renamed.data()
    recipe = writing.recipe_of(run)
    told = recipe["counts"]  # but for the ids of answers, and the hash over them
    recipe["counts"] = {name: n for name, n in told.items() if name not in ("mark", "max_id")}
    found = KINDS[run.method].recompute(data, recipe, Hooks())
    recipe["snapshot"] = found.data_hash
    far = _farthest(run, found, renamed.systems)
    if far > SAME:
        raise Conflict(
            gettext(
                "Scores under the codes of a public bundle differ from the board by "
                "%(far)s, so it is not offered."
            )
            % {"far": f"{far:.2g}"}
        )
    return b"".join(zipped(_files(data, recipe, found), _manifest(run, recipe, found, far)))


def _farthest(run: Run, found: Recomputed, systems: Codes) -> float:
    """The largest difference of a system's score from that of the run."""
    key = ("dimension", "component", "system_id")
    theirs = {
        (row["dimension"], row["component"], systems.of(row["system_id"])): row["estimate"]
        for row in SystemScore.objects.filter(run=run).values(*key, "estimate")
    }
    ours = {
        tuple(row[name] for name in key): row["estimate"] for row in found.rows.get(SystemScore, ())
    }
    if set(theirs) != set(ours):
        raise Conflict(gettext("The board under the codes of a public bundle has other rows."))
    return max((abs((theirs[one] or 0) - (ours[one] or 0)) for one in ours), default=0.0)


def _workers_differ(run: Run, found: Recomputed) -> float | None:
    """The same of workers' scores in their order, as nobody can say which worker is which."""
    key = ("dimension", "component", "estimate")
    theirs = sorted(
        tuple(row[name] for name in key)
        for row in WorkerScore.objects.filter(run=run, estimate__isnull=False).values(*key)
    )
    ours = sorted(
        tuple(row[name] for name in key)
        for row in found.rows.get(WorkerScore, ())
        if row["estimate"] is not None
    )
    if len(theirs) != len(ours):
        return None
    return max((abs(a[2] - b[2]) for a, b in zip(theirs, ours, strict=True)), default=0.0)


def _files(
    data: Mapping[str, bytes], recipe: Row, found: Recomputed
) -> Iterator[tuple[str, bytes]]:
    yield README, WORDS.encode()
    yield RECIPE, json_bytes(recipe)
    yield ENVIRONMENT, json_bytes(environment())
    yield from data.items()
    for model, rows in found.rows.items():
        if rows:
            yield results_file(model), jsonl(rows)
    yield FIGURES, json_bytes(found.told)


def _manifest(run: Run, recipe: Row, found: Recomputed, far: float) -> Row:
    return manifest_of(
        recipe,
        task_type=run.task.type,
        result_hash=result_hash(found.rows, found.told),
        names="codes of this file alone",
        finished_at=run.finished_at.date().isoformat() if run.finished_at else None,
        board={
            "run": run.number,
            "result_hash": run.result_hash,
            "largest_difference_of_scores": far,
            "largest_difference_of_worker_scores": _workers_differ(run, found),
        },
    )


def write_bundle(share_id: int) -> str:
    """Write the bundle that a public board waits for; safe to call twice.

    One that was withdrawn or moved to another run meanwhile is let be.
    """
    rows = BoardBundle.objects.filter(share=share_id, made_at=None, error="")
    row = rows.select_related("run__task__current", "run__snapshot__task").first()
    if row is None:
        return "not mine"
    mine = rows.filter(run=row.run_id)
    try:
        content = bundle_of(row.run)
    except DomainError as problem:
        mine.update(error=problem.message[:300])
        return "failed"
    stored = store([content], kind="boards")
    if not mine.update(stored=stored, sha256=stored.sha256, made_at=timezone.now()):
        forget([stored.pk])
        return "not mine"
    return "done"


def write_waiting() -> int:
    """Write bundles whose job never came, or died."""
    limit = timezone.now() - PATIENCE
    waiting = BoardBundle.objects.filter(made_at=None, error="", asked_at__lt=limit)
    return sum(write_bundle(pk) == "done" for pk in waiting.values_list("share", flat=True))
