"""What a kind is, and what all of them share: files as JSON, a run without a database, names.

A kind packs a run's frozen answers into files and, without any database, turns such files back
into the rows and figures that the run wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import models
from django.utils.translation import gettext as _

from annotation.models import Item, Membership, System, Task
from crowdqc.errors import Conflict
from crowdqc.files.json_input import Unreadable, read_json
from evaluation.methods.core.base import Hooks
from evaluation.models import Run, Snapshot

Row = dict[str, Any]
Rows = Mapping[type[models.Model], Sequence[Row]]
ANSWERS, TEXTS, ITEMS = "data/answers.jsonl", "data/texts.jsonl", "data/items.jsonl"
SOURCES, ASKED = "data/sources.json", "data/asked.json"
FIELD, OTHERS = "data/field.json", "data/other_fields.json"
KINDS_OF = "data/kinds.json"  # what columns say of labelled items
TOPICS = "data/topics.json"  # of each item its group, and the category of that


class Broken(Exception):
    """A bundle that cannot be run again; the message says why."""


@dataclass(frozen=True)
class Recomputed:
    """What running again gave: rows by model, figures by name, and the hash of the data."""

    rows: Rows
    told: Row
    data_hash: str


class Kind(Protocol):
    """How runs of one method are packed and run again.

    ``given`` says what is taken as it was stored, since a model made it or it stays here.
    """

    @property
    def given(self) -> str: ...

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        """Yield the files under data/ as (name, content)."""
        ...

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        """Run the method on them. Raises Broken."""
        ...


def json_bytes(value: Any) -> bytes:
    """A value as a small JSON document."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """Write rows as JSON, one per line."""
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode()


def read_value(content: bytes) -> Any:
    """The value of a JSON document, bounded in depth and numbers. Raises Broken."""
    try:
        return read_json(content, any_text=True)
    except Unreadable as error:
        raise Broken(error.says) from error


def read_jsonl(content: bytes) -> list[Any]:
    """The values of such a file; a text may hold other ends of lines. Raises Broken."""
    return [read_value(line) for line in content.split(b"\n") if line]


def as_run(recipe: Row, data_hash: str) -> Run:
    """Make an unsaved run from a recipe."""
    snapshot = Snapshot(content_hash=data_hash, counts=recipe["counts"])
    return Run(
        method=recipe["method"],
        version=recipe["version"],
        params=recipe["params"],
        seed=recipe["seed"],
        snapshot=snapshot,
    )


def snapshot_of(run: Run) -> Snapshot:
    """Return the run's snapshot; Conflict if it has none."""
    if run.snapshot is None:
        raise Conflict(
            _("Run %(number)s has no frozen answers, so it cannot be bundled.")
            % {"number": run.number}
        )
    return run.snapshot


def names_of(task: Task) -> bytes:
    """Return the names behind the ids of results: pseudonyms, systems, items."""
    people = Membership.objects.filter(answers__item__task=task).distinct()
    systems = System.objects.filter(project=task.project_id)
    items = Item.objects.filter(task=task)
    return json_bytes(
        {
            "workers": {str(pk): name for pk, name in people.values_list("pk", "pseudonym")},
            "systems": {str(one.pk): str(one) for one in systems},
            "items": {str(pk): key for pk, key in items.values_list("pk", "key")},
        }
    )
