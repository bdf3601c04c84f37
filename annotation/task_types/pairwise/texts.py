"""The texts, the design and the attention pairs that a version of a pairwise task holds."""

from __future__ import annotations

import hashlib
import json

from django.db.models import QuerySet

from annotation.models import Candidate, Item, Task, TaskVersion
from annotation.pair_design.model import Design, Text


def texts_of(task: Task, version: TaskVersion) -> QuerySet[Candidate]:
    """Return every text in the version's topics, including texts that are left out."""
    topics = task.groups.in_version(version.number).values("key")
    found = Candidate.objects.filter(project_id=task.project_id, topic__in=topics)
    return found.exclude(text="")  # erased with its writer


def chosen_texts(task: Task, version: TaskVersion) -> list[Candidate]:
    """Return the texts that pairs are made of, without their wording, in order of their ids."""
    rows = texts_of(task, version).exclude(pk__in=version.settings.get("left_out", []))
    return list(rows.select_related("system").defer("text").order_by("pk"))


def design_of(version: TaskVersion) -> Design:
    """The design that a version's settings ask for."""
    asked = version.settings["design"]
    return Design(
        kind=asked["kind"],
        pairs_per_topic=asked["pairs_per_topic"],
        reversed_share=1 / asked["repeat_every"] if asked["repeat_every"] else 0.0,
        stratify=asked["strata"] != "none",
        one_per_stratum=asked["strata"] == "one_each",
        seed=asked["seed"],
    )


def as_text(candidate: Candidate) -> Text:
    """Convert a candidate to the text that the design of pairs takes."""
    origin, system = candidate.origin or candidate.system.name, str(candidate.system)
    own = system if candidate.system.name != origin else ""
    return Text(
        key=str(candidate.pk),
        topic=candidate.topic,
        style=", ".join(filter(None, (candidate.style, own))),
        origin=origin,
        words=candidate.words,
        author=str(candidate.author_id or ""),
    )


def attention_pairs(task: Task, version: TaskVersion) -> list[Item]:
    """The attention pairs of a version, with their texts."""
    rows = task.items.in_version(version.number).filter(expected__isnull=False)
    return list(rows.select_related("group", "first__system", "second__system").order_by("pk"))


def signature(task: Task, version: TaskVersion) -> str:
    """Hash everything that the generated pairs depend on: equal hashes mean equal pairs."""
    rows = texts_of(task, version).exclude(pk__in=version.settings.get("left_out", []))
    gold = task.items.in_version(version.number).filter(expected__isnull=False)
    what = [
        version.settings["design"],
        version.settings["sides"] == "authored",
        version.items_per_assignment,
        sorted(rows.values_list("pk", flat=True)),
        sorted(gold.values_list("first_id", "second_id")),
    ]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]
