"""Names that people may bring along, and rows that hold them in places of every kind."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from annotation.formats.uploads.actions import keep_file
from annotation.formats.uploads.process import process
from annotation.models import (
    Hook,
    HookDelivery,
    ImportFile,
    Membership,
    Notice,
    Payment,
    PlatformEvent,
    Recruitment,
    Statement,
    Task,
    TaskVersion,
    Visit,
)
from evaluation.models import CallUse, LLMCall, Run, RunFigure

NASTY = (
    "0",
    "1",
    "2",
    "10",
    "100",
    "00",
    "0.0",
    "1.80",
    "100.00",
    "-1",
    "1e5",
    "2026",
    "2026-11-22",
    "None",
    "none",
    "null",
    "true",
    "True",
    "false",
    "nan",
    "NaN",
    "Infinity",
    "undefined",
    "id",
    "EUR",
    "USD",
    "GBP",
    "amount",
    "participant",
    "submission",
    "payment",
    "base",
    "bonus",
    "kind",
    "matched",
    "unknown",
    "status",
    "worker",
    "rows",
    "a",
    "e",
    "the",
    "stork",
    "storks",
    "yes",
    "no",
    "first",
    "second",
    "text",
    "photosynthesis",
    ".",
    ".*",
    "\\",
    "\\d+",
    "^",
    "$",
    "(",
    "[",
    "[erased]",
    "erased-1",
    "%",
    "%s",
    "{",
    "{}",
    "{0}",
    '"',
    "'",
    "''",
    "--",
    ";",
    ",",
    ":",
    "/",
    " ",
    "  x  ",
    "\t",
    "é",
    "e\u0301",
    "Ω",
    "ß",
    "漢",
    "🦆",
    "\u200b",
    "\u202e",
    "ﬁ",
    "Ａ",
    "İ",
    "DROP TABLE",
    "prolific:0",
    "panel-0:0",
    "heron-05",
    "q-001",
    "aqer",
    "draft",
    "open",
)
LETTERS = "ab01eo.-_:@ "


def names(number: int, seed: int) -> list[str]:
    """Different names: awkward ones, then short ones, many of which are parts of one another."""
    rng, found = random.Random(seed), dict.fromkeys(NASTY)
    while len(found) < number:
        size = rng.choice((1, 2, 2, 3, 3, 4, 6, 24))
        kind = rng.choice(("letters", "letters", "digits", "amount", "part"))
        if kind == "digits":
            made = "".join(rng.choices("0123456789", k=size))
        elif kind == "amount":
            made = f"{rng.randrange(200)}.{rng.randrange(100):02d}"
        elif kind == "part":
            made = rng.choice(list(found)) + rng.choice(LETTERS)
        else:
            made = "".join(rng.choices(LETTERS, k=size))
        found.setdefault(made[:80])
    return list(found)[:number]


def parts(every: Sequence[str], size: int) -> Iterator[list[str]]:
    return (list(every[start : start + size]) for start in range(0, len(every), size))


@dataclass(frozen=True)
class Planted:
    """What was put there: whose rows, and which of them name the person."""

    own_events: set[int]
    mixed_events: set[int]
    own_upload: int
    other_uploads: set[int]


def plant(task: Task, worker: Membership, other: Membership, called: Sequence[str]) -> Planted:
    """One recruitment a name: the worker came by it under this name, another under the next."""
    by = task.project.owner
    ways = Recruitment.objects.bulk_create(
        Recruitment(task=task, kind="panel", name=f"Panel {at}", currency="EUR", created_by=by)
        for at, _ in enumerate(called)
    )
    turned = [*called[1:], called[0]]
    visits, events, statements = [], [], []
    for way, own, their in zip(ways, called, turned, strict=True):
        visits += [
            Visit(recruitment=way, participant=own, session=their, worker=worker, bound="x"),
            Visit(recruitment=way, participant=their, session=own, worker=other, bound="y"),
        ]
        events += _events(way, own, their)
        statements.append(
            Statement(
                task=task,
                recruitment=way,
                digest=f"d{way.pk}",
                name=f"{own}.csv",
                by=by,
                rows=_rows(own, their, other),
            )
        )
    Visit.objects.bulk_create(visits)
    made = PlatformEvent.objects.bulk_create(events)
    Statement.objects.bulk_create(statements)
    _elsewhere(task, other, called)
    worker.external_id = called[0].strip() or "blank"
    worker.save(update_fields=["external_id"])
    uploads = _uploads(task, worker.external_id, called)
    own = {event.pk for event in made if event.event_id.startswith("own")}
    mixed = {event.pk for event in made if event.event_id.startswith("mixed")}
    return Planted(own, mixed, uploads[0], set(uploads[1:]))


def _events(way: Recruitment, own: str, their: str) -> list[PlatformEvent]:
    more = {own: own, "status": own, "amount": 100, "happened": 100.0, "reward": "100.00"}
    told = (
        ("own", {**more, "participant_id": own, "resource_id": their}),
        ("other", {**more, "participant_id": their, "resource_id": own}),
        # Sent about the other's submission, and under the person's id.
        ("mixed", {**more, "participant_id": own, "resource_id": own}),
        ("nobody", {**more, "participant_id": f"{own}{own}~", "resource_id": f"{own}~"}),
    )
    return [
        PlatformEvent(
            recruitment=way,
            event_id=f"{kind}-{way.pk}",
            kind="submission.status.change",
            payload=payload,
            note=f"About {own}",
            applied_at=timezone.now(),
        )
        for kind, payload in told
    ]


def _rows(own: str, their: str, other: Membership) -> list[dict[str, Any]]:
    payment = Payment.objects.filter(worker=other).values_list("pk", flat=True).first()
    row = {
        own: own,
        "kind": "base",
        "amount": "100.00",
        "currency": "EUR",
        "fee": "10.00",
        "more": "0.00",
        "more_fee": "0.10",
        "paid_at": "2026-11-10",
        "ours": "100.00",
        "worker": own,
        "outcome": "unknown",
        "waits": False,
        "books": True,
        "note": f"said of {own}",
    }
    return [
        {**row, "line": 1, "participant": own, "submission": their, "payment": None},
        {**row, "line": 2, "participant": their, "submission": own, "payment": None},
        {**row, "line": 3, "participant": own, "submission": their, "payment": payment or 10**9},
        {**row, "line": 4, "participant": f"{own}{own}~", "submission": "100~", "payment": None},
    ]


def _elsewhere(task: Task, other: Membership, called: Sequence[str]) -> None:
    """What others wrote and what was computed, with the names in it."""
    project, all_of_them = task.project, " ".join(called)
    hook = Hook.objects.create(
        project=project, url="https://example.org", secret_sealed=b"x", created_by=project.owner
    )
    now = timezone.now()
    HookDelivery.objects.bulk_create(
        HookDelivery(
            hook=hook,
            event_id=f"00000000-0000-0000-0000-{at:012d}",
            event="payment.done",
            payload={"data": {"amount": "100.00", name: name}},
            next_at=now,
            error=name,
        )
        for at, name in enumerate(called)
    )
    Notice.objects.create(
        user=project.owner, project=project, kind="x", text=all_of_them[:400], key=f"k{now}"
    )
    run = Run.objects.filter(project=project, state="done").first()
    assert run is not None
    RunFigure.objects.create(run=run, name="planted", data=[{name: name} for name in called])
    call = LLMCall.objects.create(
        project=project,
        model_name="m",
        key=f"planted-{now}",
        prompt="p@1",
        state="done",
        messages=[{"role": "user", "content": all_of_them}],
        text=all_of_them,
        value={"score": 1, "text": called[0]},
        finished_at=now,
    )
    answer = other.answers.first()
    assert answer is not None
    CallUse.objects.create(run=run, call=call, subject=f"answer:{answer.pk}")


def _uploads(task: Task, own: str, called: Sequence[str]) -> list[int]:
    """One upload with a row of the person, and some that hold their names elsewhere."""
    tables = (
        f'worker_id,item_id,answer\n"{_quoted(own)}",q-001,"Something"\nsomebody,q-001,Other\n',
        "worker_id,item_id,answer\n"
        + "".join(f'"somebody {at}",q-001,"{_quoted(one)}"\n' for at, one in enumerate(called)),
        "worker_id,item_id,answer\n"
        + "".join(f'"{_quoted(one)}~",q-001,100.00\n' for one in called),
    )
    assert isinstance(task.current, TaskVersion)
    made = [
        keep_file(
            by=task.project.owner,
            task=task,
            kind="answers",
            name=f"{at}.csv",
            content=table.encode(),
        )
        for at, table in enumerate(tables)
    ]
    for one in made:
        process(one.pk)
    day = timezone.now() - dt.timedelta(days=1)
    ImportFile.objects.filter(pk__in=[one.pk for one in made]).update(uploaded_at=day)
    return [one.pk for one in made]


def _quoted(text: str) -> str:
    return text.replace('"', '""')
