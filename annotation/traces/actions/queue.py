"""The review queue of a source: a labels task whose items are the traces that were drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.authoring.actions import drafts, tasks
from annotation.authoring.actions.items import STEP, default_group
from annotation.chats.model import MAX_DOCUMENT, Chat, Turn, dump_chat, text_part
from annotation.chats.storage import TRACE_KEY, item_content, keep_chat
from annotation.models import Item, Task, Trace, TraceSource, User
from annotation.records.actions.audit import record
from annotation.task_types.labels.content import CONVERSATION
from annotation.traces import drawing
from annotation.traces.drawing import Facts
from annotation.traces.settings import SourceSettings, read_settings
from annotation.traces.tree import StoredSpan, build_chat
from crowdqc.errors import Conflict, Invalid

FLAGGED = 200  # of the latest traces that rules flagged, among which random draws are placed
OUTCOME_FIELDS: tuple[dict[str, Any], ...] = (
    {
        "name": "outcome",
        "label": "Outcome",
        "question": "Does this trace fail?",
        "kind": "choose_one",
        "required": True,
        "unsure": True,
        "options": [
            {"value": "pass", "label": "Pass"},
            {"value": "fail", "label": "Fail"},
        ],
    },
    {
        "name": "where",
        "label": "Wrong first",
        "question": "Where does it go wrong first?",
        "kind": "choose_turn",
        "among": "assistant",
        "required": True,
        "ask_if": [{"field": "outcome", "is": "is", "values": ["fail"]}],
    },
    {
        "name": "reason",
        "label": "Kind of failure",
        "question": "What kind of failure?",
        "kind": "choose_several",
        "required": False,
        "options": [
            {"value": "says_done", "label": "Says done, is not"},
            {"value": "wrong_tool", "label": "Wrong tool"},
            {"value": "wrong_fact", "label": "Wrong fact"},
            {"value": "error", "label": "Error not handled"},
            {"value": "other", "label": "Other"},
        ],
        "ask_if": [{"field": "outcome", "is": "is", "values": ["fail"]}],
    },
    {
        "name": "note",
        "label": "Note",
        "question": "Note",
        "kind": "long_text",
        "required": False,
    },
)


@transaction.atomic
def create_queue(*, by: User, source: TraceSource, reviews: int, title: str = "") -> Task:
    """Make the labels task in which people review a source's traces, ``reviews`` each; a draft.

    Raises Conflict where the source has a queue.
    """
    source = TraceSource.objects.select_for_update(of=("self",)).get(pk=source.pk)
    if source.task_id:
        raise Conflict(_("This source has a review queue already."))
    project = source.project
    title = drafts.as_title(title or _("Review of %(name)s") % {"name": source.name})
    task = tasks.create_task(by=by, project=project, type="labels", title=title)
    fields = {
        "redundancy": reviews,
        "items_per_assignment": 1,
        "instructions": _(
            "Read the conversation, with the steps that led to each answer. Decide whether it "
            "fails: whether the user did not get what they needed, or got something wrong."
        ),
        "settings": {
            "content": CONVERSATION,
            "hide_system": read_settings(source.settings).hide_system,
            "fields": [dict(one) for one in OUTCOME_FIELDS],
        },
    }
    tasks.edit_draft(by=by, task=task, fields=fields)
    set_queue(by=by, source=source, task=task)
    return task


@transaction.atomic
def set_queue(*, by: User, source: TraceSource, task: Task | None) -> None:
    """Let drawn traces become items of ``task``; None: no trace is drawn any more."""
    if task is not None:
        settings = read_settings(source.settings)
        fields = task.version_or_draft().settings.get("fields", [])
        if not any(one.get("name") == settings.outcome for one in fields):
            raise Invalid(
                _("A review queue is a labels task with the field that the source names."),
                fields={"task": _("It has no field “%(name)s”.") % {"name": settings.outcome}},
            )
    TraceSource.objects.filter(pk=source.pk).update(task=task)
    source.task = task
    record(
        by=by, project=source.project, action="traces.queue", on=source,
        task=None if task is None else task.pk,
    )  # fmt: skip


def add_to_queue(
    *, trace: Trace, spans: Sequence[StoredSpan], settings: SourceSettings, facts: Facts
) -> Item:
    """Make a drawn trace an item of its source's queue, in the version in force or the draft.

    Part of the transaction that settles it. The item has the conversation with its steps; whoever
    works sees neither where it came from nor what a judge said.
    """
    source = trace.source
    rows = Task.objects.select_for_update(no_key=True, of=("self",)).select_related("current")
    task = rows.get(trace_sources=source.pk)
    version = task.current or drafts.lock_draft(task, by=source.created_by)
    chat = _reviewable(build_chat(spans, hide_system=settings.hide_system, hide_judges=True))
    group = task.groups.filter(until__isnull=True).order_by("position", "pk").first()
    if group is None:
        group = default_group(task, by=source.created_by)
    last = task.items.aggregate(m=Max("position"))["m"] or 0
    content = item_content(keep_chat(source.project, chat), chat)
    content["settings"]["meta"] = _draw_of(trace)
    trace.item = Item.objects.create(
        task=task,
        group=group,
        key=f"{TRACE_KEY}{trace.pk}",
        position=last + STEP,
        since=version.number,
        redundancy=version.redundancy,
        priority=_priority_of(trace, settings, facts),
        **content,
    )
    return trace.item


def _priority_of(trace: Trace, settings: SourceSettings, facts: Facts) -> int:
    """How early it is handed out; random draws stand among those that rules flagged lately."""
    if trace.drawn_by != drawing.RANDOM:
        return drawing.priority_of(facts, trace.scores, fails_below=settings.fails_below)
    if all(rule.kind == drawing.RANDOM for rule in settings.rules):
        return 0
    rows = Trace.objects.filter(source=trace.source, state=Trace.State.QUEUED, item__isnull=False)
    flagged = rows.exclude(drawn_by=drawing.RANDOM).order_by("-settled_at")
    return drawing.mixed_priority(
        list(flagged.values_list("item__priority", flat=True)[:FLAGGED]),
        drawing.uniform(source_secret(trace.source), f"{trace.trace_id}/priority"),
    )


def source_secret(source: TraceSource) -> bytes:
    """What draws of a source rest on, which nobody outside can foresee."""
    return hashlib.sha256(f"{django_settings.SECRET_KEY}/traces/{source.pk}".encode()).digest()


def _draw_of(trace: Trace) -> dict[str, str]:
    """What exports say of a trace, so that its rate can be computed again; no worker sees it."""
    return {
        "trace_id": trace.trace_id,
        "source": trace.source.name,
        "drawn_by": trace.drawn_by,
        "rules": trace.stratum,
        "probability": "" if trace.inclusion is None else f"{trace.inclusion:.6g}",
    }


def _reviewable(chat: Chat) -> Chat:
    """A conversation that can be stored: with a turn, and below the limit of its size."""
    if not chat.turns:
        empty = Turn(role="tool", parts=(text_part("No messages were recorded, only steps."),))
        chat = chat.model_copy(update={"turns": (empty,)})
    if len(dump_chat(chat)) > MAX_DOCUMENT:
        spans = tuple(one.model_copy(update={"attributes": ""}) for one in chat.spans)
        chat = chat.model_copy(update={"spans": spans})
    cut = 0
    while len(dump_chat(chat)) > MAX_DOCUMENT and len(chat.turns) > 1:
        keep = len(chat.turns) // 2
        cut += len(chat.turns) - keep
        spans = tuple(
            one.model_copy(update={"turn": None}) if (one.turn or 0) > keep else one
            for one in chat.spans
        )
        chat = chat.model_copy(update={"turns": chat.turns[:keep], "spans": spans})
    return chat.model_copy(update={"notes": (*chat.notes, f"turns_cut:{cut}")}) if cut else chat
