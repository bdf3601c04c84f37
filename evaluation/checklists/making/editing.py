"""A stage as a person edits it: what the form begins with, and what is read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.utils.translation import gettext as _

from crowdqc.errors import Invalid
from evaluation.checklists.making import pipeline, stages
from evaluation.checklists.making.pipeline import Standing
from evaluation.checklists.making.stages import Entries, Entry

SAVE, MERGE, REMOVE, COPY = "save", "merge", "remove", "copy"
QUESTIONS = (stages.SUB_QUESTIONS, stages.VALIDATION)
NOWHERE = ""  # the component of an attribute that stands in none


class Posted(Protocol):
    """A form as it was sent."""

    def get(self, key: str, default: Any = ...) -> Any: ...
    def getlist(self, key: str) -> Sequence[str]: ...
    def __iter__(self) -> Any: ...


def draft(kind: str, found: Mapping[str, Standing]) -> Entries:
    """Return the entries that the form of a stage begins with."""
    data = {name: one.data for name, one in found.items()}
    entries = [dict(one) for one in data[kind]]
    if kind == stages.VALIDATION and found[kind].row is None:
        return copy_subquestions(data)
    if kind == stages.CLUSTERS:
        given = {one["component"]: one["attributes"] for one in entries}
        known = stages.by_id(data[stages.ATTRIBUTES])
        return [
            {
                "component": one["id"],
                "attributes": [pk for pk in given.get(one["id"], []) if pk in known],
            }
            for one in data[stages.COMPONENTS]
        ]
    if kind == stages.KEY_QUESTIONS:
        asked = {one["component"]: one for one in entries}
        return [
            asked.get(one["id"], {"component": one["id"], "text": ""})
            for one in data[stages.COMPONENTS]
        ]
    return [_fitted(one, data) for one in entries] if kind in QUESTIONS else entries


def copy_subquestions(data: stages.Data) -> Entries:
    """Copy the sub-questions as validated questions."""
    return [
        {
            "component": one["component"],
            "text": one["text"],
            "attributes": one["attributes"],
            "from": [one["id"]],
        }
        for one in data[stages.SUB_QUESTIONS]
    ]


def _fitted(one: Entry, data: stages.Data) -> Entry:
    """A question without what is no longer there; its component is then to be chosen anew."""
    kept = dict(one)
    if one["component"] not in stages.by_id(data[stages.COMPONENTS]):
        kept["component"] = ""
    known = stages.by_id(data[stages.ATTRIBUTES])
    kept["attributes"] = [pk for pk in one["attributes"] if pk in known]
    if "from" in one:
        subs = stages.by_id(data[stages.SUB_QUESTIONS])
        kept["from"] = [pk for pk in one["from"] if pk in subs]
    return kept


def read(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    """Read the entries from a form and apply its button (save, merge, remove) to the ticked ones.

    Raises Invalid where fewer than two are ticked to be merged, or none to be removed.
    """
    do, picked = posted.get("do", SAVE), posted.getlist("pick")
    if do == COPY and kind == stages.VALIDATION:
        return copy_subquestions({name: one.data for name, one in found.items()})
    entries = _READ.get(kind, _read_questions)(kind, posted, found)
    if do == MERGE:
        return stages.merged(entries, picked)
    if do == REMOVE:
        if not picked:
            raise Invalid(_("Tick what is to be removed."), fields={"pick": _("One or more.")})
        return [one for one in entries if one.get("id") not in set(picked)]
    return entries


def _lines(posted: Posted, name: str) -> list[str]:
    return [line.strip() for line in str(posted.get(name, "")).splitlines() if line.strip()]


def _texts(posted: Posted, entries: Entries) -> Entries:
    """The entries with the words that the form has for them; an emptied one goes."""
    changed = [{**one, "text": posted.get(f"text-{one['id']}", one["text"])} for one in entries]
    return [one for one in changed if one["text"].strip()]


def _read_attributes(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    new = [
        {"text": line, "from": None, "author": pipeline.HERE, "kind": stages.PERSON}
        for line in _lines(posted, "new")
    ]
    return _texts(posted, found[kind].data) + new


def _read_components(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    return _texts(posted, found[kind].data) + [{"text": one} for one in _lines(posted, "new")]


def _read_clusters(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    """Fields ``place-ATTRIBUTE-COMPONENT`` hold the component in which it stands from now on."""
    held: dict[str, list[str]] = {one["id"]: [] for one in found[stages.COMPONENTS].data}
    for name in posted:
        if name.startswith("place-"):
            component = posted.get(name)
            if component != NOWHERE:
                held.setdefault(component, []).append(name.split("-")[1])
    return [{"component": name, "attributes": pks} for name, pks in held.items()]


def _read_key_questions(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    known = {one["component"]: one for one in found[kind].data}
    return [
        {
            **known.get(one["id"], {}),
            "component": one["id"],
            "text": posted.get(f"text-{one['id']}", ""),
        }
        for one in found[stages.COMPONENTS].data
    ]


def _read_questions(kind: str, posted: Posted, found: Mapping[str, Standing]) -> Entries:
    """Rows by their place in the form: ``text-N``, ``id-N``, ``component-N``, ``attr-N``."""
    data = {name: one.data for name, one in found.items()}
    sources = {one["id"]: one.get("from", []) for one in data[kind]}
    subs = stages.by_id(data[stages.SUB_QUESTIONS])
    rows = []
    for at in range(stages.MAX_QUESTIONS + 1):
        text = str(posted.get(f"text-{at}", "")).strip()
        if not text:
            continue
        pk = posted.get(f"id-{at}", "")
        row = {
            "text": text,
            "component": posted.get(f"component-{at}", ""),
            "attributes": list(posted.getlist(f"attr-{at}")),
        }
        if pk:
            row["id"] = pk
        if kind == stages.VALIDATION:
            given = posted.getlist(f"from-{at}") or sources.get(pk, [])
            row["from"] = [one for one in given if one in subs]
        rows.append(row)
    for row in rows:
        if not row["component"]:
            raise Invalid(_("A question has no component."), fields={"component": _("Choose one.")})
    return rows


_READ = {
    stages.ATTRIBUTES: _read_attributes,
    stages.COMPONENTS: _read_components,
    stages.CLUSTERS: _read_clusters,
    stages.KEY_QUESTIONS: _read_key_questions,
}
