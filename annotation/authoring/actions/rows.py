"""Ordered rows of a draft, edited one by one: of its settings, and of a text's or topic's list."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext, pgettext

from annotation.authoring.actions.drafts import as_stored, edit_draft, lock_draft
from annotation.authoring.actions.items import place_item
from annotation.models import Item, ItemGroup, Task, TaskVersion, User
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count, plural

Rows = list[dict[str, Any]]
Change = Callable[[Rows], Rows]


def row_gone(noun: str) -> Conflict:
    """Make the Conflict to raise when the edited row was removed meanwhile."""
    return Conflict(
        gettext("This %(noun)s was removed meanwhile. Reload the page.")
        % {"noun": pgettext("noun", noun)}
    )


def row_at(rows: Rows, name: str, *, by: str = "name", noun: str = "line") -> int:
    """Return the index of the row of this name, from 0; Conflict if it was removed."""
    for at, row in enumerate(rows):
        if row[by] == name:
            return at
    raise row_gone(noun)


def shift_row(rows: Rows, name: str, step: int, *, by: str = "name", noun: str = "line") -> Rows:
    """Move the row of this name ``step`` places down; it stops at the ends."""
    at = row_at(rows, name, by=by, noun=noun)
    row = rows.pop(at)
    rows.insert(max(0, at + step), row)
    return rows


def drop_row(
    rows: Rows, name: str, *, by: str = "name", noun: str = "line", last: str = ""
) -> Rows:
    """Return the rows without the one of this name; Conflict (``last``) for the only row."""
    at = row_at(rows, name, by=by, noun=noun)
    if last and len(rows) == 1:
        raise Conflict(last)
    return rows[:at] + rows[at + 1 :]


@transaction.atomic
def change_rows(*, by: User, task: Task, name: str, change: Change) -> TaskVersion:
    """Change the rows of a setting in the draft; rows that stay as they are begin no version."""
    shown = task.versions.order_by("-number").first()
    if shown is not None and change(copy.deepcopy(shown.settings[name])) == shown.settings[name]:
        return shown
    draft = lock_draft(task, by=by)  # two fields saved at once stand in line
    rows = change(copy.deepcopy(draft.settings[name]))
    return edit_draft(by=by, task=task, fields={"settings": {name: rows}})


# Names of rows, by which answers are stored ------------------------------------------------------


def is_published_row(task: Task, setting: str, name: str) -> bool:
    """Whether a published version has the row called ``name``: its answers name it."""
    published = task.versions.filter(published_at__isnull=False)
    return any(
        name in {row["name"] for row in rows}
        for rows in published.values_list(f"settings__{setting}", flat=True)
    )


def rename_known(
    task: Task, before: str, now: str, values: Mapping[str, str] | None = None
) -> None:
    """Let known answers of the draft follow a row called otherwise, and its ``values`` renamed."""
    renamed = {old: new for old, new in (values or {}).items() if new}
    if now == before and not renamed:
        return
    items = task.items.filter(until__isnull=True, expected__has_key=before)
    changed = list(items.only("pk", "expected"))
    for item in changed:
        code = item.expected[before]
        code = renamed.get(code, code) if isinstance(code, str) else code
        item.expected = {
            now if key == before else key: code if key == before else kept
            for key, kept in item.expected.items()
        }
    Item.objects.bulk_update(changed, ["expected"], batch_size=500)


# The list of a group: the passages of a topic, the samples of a dimension ------------------------


def free_row_key(taken: set[str], prefix: str) -> str:
    """Return the first of prefix1, prefix2, ... that is free, and mark it as taken."""
    number = 1
    while f"{prefix}{number}" in taken:
        number += 1
    taken.add(f"{prefix}{number}")
    return f"{prefix}{number}"


def clean_listed(
    raw: Sequence[Mapping[str, Any]],
    *,
    where: str,
    noun: str,
    most: int,
    limits: Iterable[tuple[str, int]],
    check: Callable[[dict[str, str], str], None],
) -> list[dict[str, str]]:
    """Check the rows of a topic's list (passages, samples) and give each a key, for storing.

    ``limits``: field -> most characters; ``check`` raises Invalid for a row and what it is called.
    Invalid names the row that is wrong.
    """
    if len(raw) > most:
        raise Invalid(
            gettext("%(where)s has %(rows)s; %(most)s is the most.")
            % {"where": where, "rows": plural(len(raw), noun), "most": most},
            fields={f"{noun}s": gettext("%(most)s at most.") % {"most": most}},
        )
    taken = {str(row.get("key") or "").strip() for row in raw}
    found: list[dict[str, str]] = []
    used: set[str] = set()
    for number, row in enumerate(raw, 1):
        one = {name: as_stored(str(row.get(name) or "")).strip() for name, _ in limits}
        one["key"] = one["key"] or free_row_key(taken, noun[0])
        called = gettext("%(where)s, %(noun)s %(number)s") % {
            "where": where,
            "noun": pgettext("noun", noun),
            "number": number,
        }
        check(one, called)
        if one["key"] in used:
            raise Invalid(
                gettext("%(called)s: %(key)s is there twice.")
                % {"called": called, "key": one["key"]},
                fields={
                    f"{noun}s": gettext("Each %(noun)s once.") % {"noun": pgettext("noun", noun)}
                },
            )
        used.add(one["key"])
        found.append(one)
    return found


def check_lengths(row: Mapping[str, str], where: str, limits: Iterable[tuple[str, int]]) -> None:
    """Invalid for a field with more characters than its limit."""
    for name, most in limits:
        if len(row[name]) > most:
            raise Invalid(
                gettext(
                    "%(where)s has %(length)s characters as its %(name)s; %(most)s is the most."
                )
                % {
                    "where": where,
                    "length": count(len(row[name])),
                    "name": name,
                    "most": count(most),
                },
                fields={name: gettext("%(most)s characters at most.") % {"most": count(most)}},
            )


def live_group(task: Task, key: str, noun: str) -> ItemGroup:
    """Return the draft's group with this key; Conflict if it was removed."""
    group = task.groups.filter(key=key, until__isnull=True).first()
    if group is None:
        raise row_gone(noun)
    return group


def change_listed(
    *,
    by: User,
    task: Task,
    group: Callable[[], ItemGroup],
    change: Change,
    clean: Callable[[Rows], list[dict[str, str]]],
    save: Callable[[ItemGroup, Rows], ItemGroup],
) -> ItemGroup:
    """Change the list of a topic under the draft's lock, so that two edits cannot collide.

    ``group`` reads the topic again, ``save`` stores its changed rows. If nothing changes, no draft
    begins.
    """
    shown = group()
    if clean(change(copy.deepcopy(shown.passages))) == shown.passages:
        return shown
    lock_draft(task, by=by)
    live = group()
    return save(live, change(copy.deepcopy(live.passages)))


def move_group(*, by: User, task: Task, group: ItemGroup, step: int, noun: str) -> TaskVersion:
    """Move a group up (-1) or down (1) in the draft, which is returned; at the end it stays."""
    draft = lock_draft(task, by=by)
    rows = task.groups.in_version(draft.number).order_by("position", "pk")
    order = list(rows.values_list("pk", flat=True))
    if group.pk not in order:
        raise row_gone(noun)
    place_item(by=by, task=task, row=group, index=order.index(group.pk) + step)
    return draft
