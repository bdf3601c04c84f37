"""The stages of a checklist as plain data: their order, their checks, their ids, what is loose.

Chu, Lee, Park and Kim (InteractEval), 3.4: attributes -> components -> clusters -> key questions
-> sub-questions -> validation. The shapes are those of ``evaluation.models.ChecklistStage``; a
validated question has "from" besides: the ids of the sub-questions that it was made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.errors import Invalid

ATTRIBUTES, COMPONENTS, CLUSTERS = "attributes", "components", "clusters"
KEY_QUESTIONS, SUB_QUESTIONS, VALIDATION = "key_questions", "sub_questions", "validation"
ORDER = (ATTRIBUTES, COMPONENTS, CLUSTERS, KEY_QUESTIONS, SUB_QUESTIONS, VALIDATION)
LETTERS = {
    ATTRIBUTES: "a",
    COMPONENTS: "c",
    KEY_QUESTIONS: "q",
    SUB_QUESTIONS: "s",
    VALIDATION: "v",
}
MAX_COMPONENTS = 5  # section 3.4.1
MAX_ATTRIBUTE, MAX_COMPONENT, MAX_QUESTION = 1000, 80, 600
MAX_ATTRIBUTES, MAX_QUESTIONS = 600, 100
# What is wrong with an entry, whole sentences by what the entry is.
NO_WORDS = {
    "attribute": gettext_noop("An attribute has no words."),
    "component": gettext_noop("A component has no words."),
    "question": gettext_noop("A question has no words."),
}
TOO_LONG = {
    "attribute": gettext_noop("An attribute has %(length)s characters."),
    "component": gettext_noop("A component has %(length)s characters."),
    "question": gettext_noop("A question has %(length)s characters."),
}
UNKNOWN = {
    "attribute": gettext_noop("There is no attribute '%(id)s' in the stage before."),
    "component": gettext_noop("There is no component '%(id)s' in the stage before."),
    "sub-question": gettext_noop("There is no sub-question '%(id)s' in the stage before."),
}
TOO_MANY = {
    "attribute": gettext_noop("There are %(count)s attributes; %(most)s is the most."),
    "component": gettext_noop("There are %(count)s components; %(most)s is the most."),
    "question": gettext_noop("There are %(count)s questions; %(most)s is the most."),
}
SAME = {
    "component": gettext_noop("Two components say the same: '%(text)s'."),
    "question": gettext_noop("Two questions say the same: '%(text)s'."),
}
PERSON, MODEL = "person", "model"
Entry = dict[str, Any]
Entries = list[Entry]
Data = Mapping[str, Entries]  # stage -> its entries


def previous_stage(kind: str) -> str:
    """Return the stage before this one; "" for the first."""
    at = ORDER.index(kind)
    return ORDER[at - 1] if at else ""


def next_stage(kind: str) -> str:
    """Return the stage after this one; "" for the last."""
    at = ORDER.index(kind)
    return ORDER[at + 1] if at + 1 < len(ORDER) else ""


def by_id(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Index entries by their ids."""
    return {entry["id"]: entry for entry in entries}


def normalise_text(text: str) -> str:
    """Normalise a text for comparing: lower case and single spaces."""
    return " ".join(text.lower().split())


def check(kind: str, entries: Sequence[Mapping[str, Any]], data: Data) -> Entries:
    """Entries of a stage as they are stored, without ids for new ones; Invalid says what is wrong.

    ``data`` holds the stages before it. An entry that points at something that is not there (an
    unknown component, attribute or sub-question) is refused.
    """
    return _CHECKS[kind]([dict(entry) for entry in entries], data)


def _attributes(entries: Entries, data: Data) -> Entries:
    _check_number(entries, MAX_ATTRIBUTES, "attribute")
    return [
        _with_id(
            one,
            {
                "text": _text(one, MAX_ATTRIBUTE, "attribute"),
                "from": one.get("from"),
                "author": str(one.get("author", ""))[:160],
                "kind": MODEL if one.get("kind") == MODEL else PERSON,
            },
        )
        for one in entries
    ]


def _components(entries: Entries, data: Data) -> Entries:
    if not entries:
        raise Invalid(_("A checklist needs a component."), fields={"text": _("Name at least one.")})
    _check_number(entries, MAX_COMPONENTS, "component")
    found = [_with_id(one, {"text": _text(one, MAX_COMPONENT, "component")}) for one in entries]
    _different(found, "component")
    return found


def _clusters(entries: Entries, data: Data) -> Entries:
    components, attributes = by_id(data[COMPONENTS]), by_id(data[ATTRIBUTES])
    given: dict[str, list[str]] = {}
    for one in entries:
        name = _known(one.get("component"), components, "component")
        ids = [_known(pk, attributes, "attribute") for pk in one.get("attributes", [])]
        if name in given:
            raise Invalid(
                _("Component '%(text)s' is there twice.") % {"text": components[name]["text"]}
            )
        given[name] = list(dict.fromkeys(ids))
    return [{"component": name, "attributes": given.get(name, [])} for name in components]


def _key_questions(entries: Entries, data: Data) -> Entries:
    components = by_id(data[COMPONENTS])
    given: dict[str, Entry] = {}
    for one in entries:
        name = _known(one.get("component"), components, "component")
        if name in given:
            raise Invalid(
                _("%(text)s has two key questions; it has one.")
                % {"text": components[name]["text"]}
            )
        given[name] = _with_id(one, {"component": name, "text": _question(one)})
    lacking = [entry["text"] for name, entry in components.items() if name not in given]
    if lacking:
        raise Invalid(
            _("%(text)s has no key question; every component has one.") % {"text": lacking[0]},
            fields={"text": _("One question a component.")},
        )
    return [given[name] for name in components]


def _sub_questions(entries: Entries, data: Data) -> Entries:
    components, attributes = by_id(data[COMPONENTS]), by_id(data[ATTRIBUTES])
    _check_number(entries, MAX_QUESTIONS, "question")
    if not entries:
        raise Invalid(_("There is no question."), fields={"text": _("Write at least one.")})
    found = [
        _with_id(
            one,
            {
                "component": _known(one.get("component"), components, "component"),
                "text": _question(one),
                "attributes": _ids(one.get("attributes", []), attributes, "attribute"),
            },
        )
        for one in entries
    ]
    _different(found, "question")
    order = list(components)
    return sorted(found, key=lambda one: order.index(one["component"]))


def _validation(entries: Entries, data: Data) -> Entries:
    subs = by_id(data[SUB_QUESTIONS])
    made = []
    for one in _sub_questions(entries, data):
        source = next(
            raw
            for raw in entries
            if normalise_text(str(raw["text"])) == normalise_text(one["text"])
        )
        made.append({**one, "from": _ids(source.get("from", []), subs, "sub-question")})
    return made


_CHECKS = {
    ATTRIBUTES: _attributes,
    COMPONENTS: _components,
    CLUSTERS: _clusters,
    KEY_QUESTIONS: _key_questions,
    SUB_QUESTIONS: _sub_questions,
    VALIDATION: _validation,
}


def _with_id(one: Entry, kept: Entry) -> Entry:
    return {"id": str(one["id"]), **kept} if one.get("id") else kept


def _text(one: Entry, most: int, what: str) -> str:
    found = " ".join(str(one.get("text") or "").split())
    if not found:
        raise Invalid(
            _(NO_WORDS[what]),
            fields={"text": _("Write it, or remove it.")},
        )
    if len(found) > most:
        raise Invalid(
            _(TOO_LONG[what]) % {"length": len(found)},
            fields={"text": _("%(most)s at most.") % {"most": most}},
        )
    return found


def _question(one: Entry) -> str:
    return _text(one, MAX_QUESTION, "question")


def _known(pk: Any, there: Mapping[str, Entry], what: str) -> str:
    if pk not in there:
        raise Invalid(_(UNKNOWN[what]) % {"id": pk})
    return str(pk)


def _ids(given: Iterable[Any], there: Mapping[str, Entry], what: str) -> list[str]:
    """Known ids, each once, in the order of the stage that they are of."""
    wanted = {_known(pk, there, what) for pk in given}
    return [pk for pk in there if pk in wanted]


def _check_number(entries: Entries, most: int, what: str) -> None:
    if len(entries) > most:
        raise Invalid(
            _(TOO_MANY[what]) % {"count": len(entries), "most": most},
            fields={"text": _("%(most)s at most.") % {"most": most}},
        )


def _different(entries: Entries, what: str) -> None:
    seen: set[str] = set()
    for one in entries:
        if normalise_text(one["text"]) in seen:
            raise Invalid(
                _(SAME[what]) % {"text": one["text"][:80]},
                fields={"text": _("Remove one.")},
            )
        seen.add(normalise_text(one["text"]))


def identify(kind: str, entries: Entries, earlier: Sequence[Entries]) -> Entries:
    """Give an id to every new entry; an entry equal to an earlier one keeps its id.

    So doing a stage again with the same outcome changes nothing; other new entries get a number
    that was never used.
    """
    letter = LETTERS.get(kind)
    if letter is None:
        return entries
    known: dict[tuple[Any, ...], str] = {}
    highest = 0
    for one in (entry for row in earlier for entry in row):
        known[_key(one)] = one["id"]
        highest = max(highest, int(one["id"][1:]))
    taken = {one["id"] for one in entries if one.get("id")}
    made = []
    for one in entries:
        pk = one.get("id") or known.get(_key(one), "")
        if not one.get("id") and (not pk or pk in taken):
            highest += 1
            pk = f"{letter}{highest}"
        taken.add(pk)
        made.append({"id": pk, **{name: value for name, value in one.items() if name != "id"}})
    return made


def _key(one: Entry) -> tuple[Any, ...]:
    return (
        one.get("from") if not isinstance(one.get("from"), list) else tuple(one["from"]),
        one.get("author"),
        one.get("component"),
        tuple(one.get("attributes", [])),
        one["text"],
    )


# What is loose ---------------------------------------------------------------------------------


def unplaced_attributes(data: Data) -> Entries:
    """Attributes that stand in no component."""
    held = {pk for one in data[CLUSTERS] for pk in one["attributes"]}
    return [one for one in data[ATTRIBUTES] if one["id"] not in held]


def repeated_attributes(data: Data) -> Entries:
    """Attributes that stand in several components."""
    held = Counter(pk for one in data[CLUSTERS] for pk in one["attributes"])
    return [one for one in data[ATTRIBUTES] if held[one["id"]] > 1]


def dropped(data: Data) -> Entries:
    """Return the sub-questions that no validated question was made from."""
    used = {pk for one in data[VALIDATION] for pk in one.get("from", [])}
    return [one for one in data[SUB_QUESTIONS] if one["id"] not in used]


def unused(kind: str, data: Data) -> Entries:
    """Return the attributes in components that no question of the stage names."""
    named = {pk for one in data[kind] for pk in one["attributes"]}
    held = {pk for one in data[CLUSTERS] for pk in one["attributes"]}
    return [one for one in data[ATTRIBUTES] if one["id"] in held - named]


def misplaced_questions(kind: str, data: Data) -> Entries:
    """List the questions whose attributes all belong to another component."""
    held: dict[str, set[str]] = {}
    for one in data[CLUSTERS]:
        for pk in one["attributes"]:
            held.setdefault(pk, set()).add(one["component"])
    return [
        one
        for one in data[kind]
        if any(pk in held and one["component"] not in held[pk] for pk in one["attributes"])
    ]


def merged(entries: Entries, ids: Sequence[str]) -> Entries:
    """Merge the entries with these ids into one: the first one's words, all origins.

    Raises Invalid for fewer than two that are there.
    """
    chosen = [one for one in entries if one.get("id") in set(ids)]
    if len(chosen) < 2:
        raise Invalid(_("Tick two or more to merge them."), fields={"merge": _("Two or more.")})
    first = dict(chosen[0])
    for name in ("attributes", "from"):
        if isinstance(first.get(name), list):
            first[name] = list(dict.fromkeys(pk for one in chosen for pk in one.get(name, [])))
    gone = {one["id"] for one in chosen[1:]}
    return [
        first if one.get("id") == first["id"] else one
        for one in entries
        if one.get("id") not in gone
    ]


def condition(attributes: Entries) -> dict[str, Any]:
    """Describe whose attributes these are: {"people", "models", "condition"} (section 4.2)."""
    people = len({one["author"] for one in attributes if one["kind"] == PERSON})
    models = len({one["author"] for one in attributes if one["kind"] == MODEL})
    if people and models:
        words = "people and models combined"
    elif people:
        words = "one person" if people == 1 else "several people"
    elif models:
        words = "one model" if models == 1 else "several models"
    else:
        words = "components written by hand"
    return {"people": people, "models": models, "condition": words}


def questions_of(data: Data) -> Entries:
    """Turn a finished checklist's validated questions into the entries of a version."""
    attributes, components = by_id(data[ATTRIBUTES]), by_id(data[COMPONENTS])
    return [
        {
            "name": f"q{number}",
            "text": one["text"],
            "component": components[one["component"]]["text"],
            "attributes": [
                {name: attributes[pk][name] for name in ("text", "author", "kind")}
                for pk in one["attributes"]
            ],
        }
        for number, one in enumerate(data[VALIDATION], 1)
    ]
