"""The rows of runs whose type names no tables of its own, as files."""

from __future__ import annotations

from dataclasses import replace

from evaluation.models import (
    AnswerScore,
    CandidateScore,
    ItemLabel,
    ItemScore,
    Run,
    SystemScore,
    WorkerScore,
)
from evaluation.results.files import (
    BASE,
    ITEM,
    PLACE,
    RANKED,
    SYSTEM,
    WORKER,
    StoredTable,
    named,
    stored,
)

ANSWER = named(
    item_id="answer__item__key",
    worker="answer__worker__pseudonym",
    system="answer__system__name",
    prompt_strategy="answer__system__prompt_strategy",
    replicate="answer__replicate",
)
TEXT = named(
    candidate="candidate__key",
    topic="candidate__topic",
    system="candidate__system__name",
    prompt_strategy="candidate__system__prompt_strategy",
    style="candidate__style",
    origin="candidate__origin",
)
LABELS = StoredTable(
    ItemLabel,
    (
        *ITEM,
        *named(first_candidate="item__first__key", second_candidate="item__second__key"),
        *PLACE,
        *stored("label", "entropy", "n"),
        *stored("first", "neutral", "second", inside="posterior", prefix="p_"),
    ),
)
OTHERS: dict[str, StoredTable] = {
    "workers": StoredTable(WorkerScore, (*WORKER, *RANKED)),
    "systems": StoredTable(SystemScore, (*SYSTEM, *RANKED)),
    "texts": StoredTable(CandidateScore, (*TEXT, *RANKED)),
    "answers": StoredTable(AnswerScore, (*ANSWER, *BASE)),
    "items": StoredTable(ItemScore, (*ITEM, *BASE)),
    "labels": LABELS,
}


def found_tables(run: Run) -> dict[str, StoredTable]:
    """The tables that the run has rows in, each with the plain values that its rows hold beside."""
    found = {}
    for name, table in OTHERS.items():
        first = table.model.objects.filter(run=run).order_by("pk").first()
        if first is None:
            continue
        if table is LABELS:  # which have columns of their own
            found[name] = table
            continue
        held = [
            key
            for key, value in first.extra.items()
            if not isinstance(value, dict | list) and key not in table.paths
        ]
        found[name] = replace(table, columns=(*table.columns, *stored(*held, inside="extra")))
    return found
